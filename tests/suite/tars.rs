//! Builds archives with any names, and extracts them in one line.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use parfs::archive::{self, Archive, Input};
use parfs::base::Time;
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::extract::{self, Options, Owners, Summary};
use parfs::storage::{Mount, Shape, Spread, Volume};

/// The time that members get unless told otherwise.
pub const MTIME: u64 = 1_600_000_000;

/// An archive under construction. Names go in unchecked.
#[derive(Clone, Default)]
pub struct Tar(Vec<u8>);

/// A member's header fields.
pub struct Entry<'a> {
    pub typeflag: u8,
    pub path: &'a str,
    pub link: &'a str,
    pub mode: u32,
    pub mtime: u64,
    pub data: &'a [u8],
}

impl Tar {
    /// Adds a member; long names by GNU's extension.
    pub fn add(mut self, entry: Entry<'_>) -> Tar {
        for (flag, name) in [(b'L', entry.path), (b'K', entry.link)] {
            if name.len() > 100 {
                self = self.raw(&Entry {
                    typeflag: flag,
                    path: "././@LongLink",
                    link: "",
                    mode: 0,
                    mtime: 0,
                    data: name.as_bytes(),
                });
            }
        }
        self.raw(&entry)
    }

    fn raw(mut self, entry: &Entry<'_>) -> Tar {
        let mut header = tar::Header::new_gnu();
        let put = |field: &mut [u8], text: &str| {
            let n = text.len().min(field.len());
            field[..n].copy_from_slice(&text.as_bytes()[..n]);
        };
        put(&mut header.as_old_mut().name, entry.path);
        put(&mut header.as_old_mut().linkname, entry.link);
        header.set_mode(entry.mode);
        header.set_mtime(entry.mtime);
        header.set_uid(1000);
        header.set_gid(100);
        header.set_size(entry.data.len() as u64);
        header.set_entry_type(tar::EntryType::new(entry.typeflag));
        if matches!(entry.typeflag, b'3' | b'4') {
            header.set_device_major(7).unwrap();
            header.set_device_minor(9).unwrap();
        }
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(entry.data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub fn file(self, path: &str, data: impl AsRef<[u8]>) -> Tar {
        self.file_at(path, data, MTIME)
    }

    pub fn file_at(self, path: &str, data: impl AsRef<[u8]>, mtime: u64) -> Tar {
        self.add(Entry { typeflag: b'0', path, link: "", mode: 0o644, mtime, data: data.as_ref() })
    }

    pub fn dir(self, path: &str) -> Tar {
        self.dir_mode(path, 0o755)
    }

    pub fn dir_mode(self, path: &str, mode: u32) -> Tar {
        self.add(Entry { typeflag: b'5', path, link: "", mode, mtime: MTIME + 1, data: b"" })
    }

    pub fn symlink(self, path: &str, target: &str) -> Tar {
        self.add(Entry { typeflag: b'2', path, link: target, mode: 0o777, mtime: MTIME + 2, data: b"" })
    }

    pub fn link(self, path: &str, target: &str) -> Tar {
        self.add(Entry { typeflag: b'1', path, link: target, mode: 0o644, mtime: MTIME, data: b"" })
    }

    /// A fifo ('6') or a device ('3', '4').
    pub fn special(self, path: &str, typeflag: u8) -> Tar {
        self.add(Entry { typeflag, path, link: "", mode: 0o600, mtime: MTIME + 3, data: b"" })
    }

    /// A sparse file of pax format 1.0 with these (offset, data) segments.
    pub fn sparse(mut self, path: &str, size: u64, segments: &[(u64, &[u8])]) -> Tar {
        let mut data = format!("{}\n", segments.len());
        segments.iter().for_each(|(offset, d)| data += &format!("{offset}\n{}\n", d.len()));
        let mut data = data.into_bytes();
        data.resize(data.len().next_multiple_of(512), 0);
        segments.iter().for_each(|(_, d)| data.extend_from_slice(d));
        let records = [("major", "1"), ("minor", "0"), ("name", path), ("realsize", &size.to_string())];
        let records: String = records.iter().map(|(key, value)| record(&format!("GNU.sparse.{key}"), value)).collect();
        self = self.raw(&Entry { typeflag: b'x', path: "pax", link: "", mode: 0, mtime: 0, data: records.as_bytes() });
        self.file("GNUSparseFile.0/x", data)
    }

    /// The whole archive with its end.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.0.clone();
        bytes.resize(bytes.len() + 1024, 0);
        bytes
    }
}

/// A pax record, whose length counts itself.
fn record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut len = rest;
    while len != rest + len.to_string().len() {
        len = rest + len.to_string().len();
    }
    format!("{len} {key}={value}\n")
}

/// The time of this many seconds.
pub fn at(secs: u64) -> Time {
    Time { secs: i64::try_from(secs).unwrap(), nanos: 0 }
}

/// Nobody has a name.
pub struct Nobody;

impl Owners for Nobody {
    fn uid(&self, _name: &[u8]) -> Option<u32> {
        None
    }
    fn gid(&self, _name: &[u8]) -> Option<u32> {
        None
    }
}

/// What an extraction said.
#[derive(Debug)]
pub struct Ran {
    pub summary: Summary,
    pub failures: Vec<String>,
    pub done: Vec<String>,
}

impl Ran {
    /// Panics unless all went well.
    pub fn clean(self) -> Ran {
        assert!(self.failures.is_empty(), "{:?}", self.failures);
        assert_eq!(self.summary.archive_error, None);
        assert_eq!(self.summary.stopped, None);
        self
    }
}

/// A crew of this shape that may hold 64 MiB.
pub fn crew(lanes: usize, window: usize) -> Crew {
    Crew::new(Shape { lanes, window }, 64 << 20).unwrap()
}

/// A volume of one mount.
pub fn volume(mount: &Arc<impl Mount + 'static>) -> Volume {
    Volume::new(vec![mount.clone() as Arc<dyn Mount>], Spread::default())
}

/// The input as a file that can be read anywhere.
pub fn seekable(bytes: Vec<u8>) -> Input {
    Input::Seekable(Arc::new(bytes))
}

/// The input as a pipe.
pub fn pipe(bytes: Vec<u8>) -> Input {
    Input::Pipe(Box::new(Cursor::new(bytes)))
}

/// Extracts `input`; checks that the paths told are as many as the members made.
pub fn extract(volume: &Volume, input: Input, options: &Options, crew: &Crew) -> Ran {
    let mut archive = Archive::new(input, archive::Options::default());
    let done = Mutex::new(Vec::new());
    let tell = |path: &[u8], fate| {
        if fate == extract::Fate::Made {
            done.lock().unwrap().push(String::from_utf8_lossy(path).into_owned());
        }
    };
    let summary = extract::extract(volume, &mut archive, options, &Nobody, crew, &Live::default(), &tell);
    let failures = crew.report().failures().iter().map(ToString::to_string).collect();
    assert_eq!(crew.budget().held(), 0, "all permits are given back");
    Ran { summary, failures, done: done.into_inner().unwrap() }
}
