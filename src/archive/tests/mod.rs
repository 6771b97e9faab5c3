//! The archive reader on archives made by the `tar` crate and block by block. Every archive is read as a file and as a
//! pipe that gives few bytes at a time; both must say the same.

mod codecs;
mod formats;
mod hostile;
mod packing;
mod reading;
mod sparse;
mod writing;

use std::io::{self, Read};
use std::sync::Arc;

use tar::{EntryType, Header};

use super::*;
use crate::base::Time;

/// All that an archive gives: members with their data, errors and warnings as text.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    members: Vec<(Member, Vec<u8>)>,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Seen {
    fn paths(&self) -> Vec<&str> {
        self.members.iter().map(|(m, _)| std::str::from_utf8(&m.path).unwrap()).collect()
    }

    fn only(&self) -> &Member {
        assert_eq!((self.members.len(), &self.errors[..], &self.warnings[..]), (1, &[][..], &[][..]));
        &self.members[0].0
    }
}

/// A member of which nothing may be left in the next one that is put into it.
fn of_before() -> Member {
    let text = || b"before".to_vec();
    Member {
        path: text(),
        kind: MemberKind::Char,
        stored: 7,
        size: 8,
        mode: 0o7777,
        uid: 9,
        gid: 10,
        uname: text(),
        gname: text(),
        mtime: Time { secs: 11, nanos: 12 },
        link: text(),
        dev: (13, 14),
        segments: Some(vec![Segment { offset: 15, len: 16 }]),
        xattrs: vec![(text(), text())],
        acl_access: Some(text()),
        acl_default: Some(text()),
    }
}

/// Reads to the end. A hostile archive can make no more steps than it has blocks.
fn drain(archive: &mut Archive, steps_max: usize) -> Seen {
    let mut seen = Seen::default();
    let mut buf = [0; 700];
    for _ in 0..=steps_max {
        let mut member = of_before();
        let next = archive.next_in(&mut member);
        seen.warnings.extend(archive.take_warnings().told());
        match next {
            Ok(false) => {
                assert!(matches!(archive.next(), Ok(None)));
                return seen;
            }
            Err(e) => seen.errors.push(e.to_string()),
            Ok(true) => {
                let mut data = Vec::new();
                loop {
                    match archive.read(&mut buf) {
                        Ok(0) => break,
                        Ok(n) => data.extend_from_slice(&buf[..n]),
                        Err(e) => {
                            assert!(e.is_fatal());
                            seen.errors.push(e.to_string());
                            break;
                        }
                    }
                }
                seen.members.push((member, data));
            }
        }
    }
    panic!("more than {steps_max} steps");
}

/// A pipe that gives at most 13 bytes at a time and is interrupted now and then.
struct Dribble(io::Cursor<Vec<u8>>, bool);

impl Read for Dribble {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = buf.len().min(13);
        self.0.read(&mut buf[..n])
    }
}

fn pipe(bytes: &[u8]) -> Input {
    Input::Pipe(Box::new(Dribble(io::Cursor::new(bytes.to_vec()), false)))
}

fn file(bytes: &[u8]) -> Input {
    Input::Seekable(Arc::new(bytes.to_vec()))
}

fn read_with(bytes: &[u8], options: Options) -> Seen {
    let steps_max = bytes.len() / 512 + 3;
    let seen = drain(&mut Archive::new(file(bytes), options), steps_max);
    let piped = drain(&mut Archive::new(pipe(bytes), options), steps_max);
    assert_eq!(seen, piped);
    seen
}

fn read(bytes: &[u8]) -> Seen {
    read_with(bytes, Options::default())
}

const END: [u8; 1024] = [0; 1024];

fn header(path: &str, kind: u8, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(EntryType::new(kind));
    header.set_size(size);
    header.set_mode(0o640);
    header.set_uid(1000);
    header.set_gid(100);
    header.set_mtime(1_000_000_000);
    header.set_cksum();
    header
}

fn padded(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    data.resize(data.len().next_multiple_of(512), 0);
    data
}

/// A header block with this kind, and `data` behind it.
fn entry(path: &str, kind: u8, data: &[u8]) -> Vec<u8> {
    [header(path, kind, data.len() as u64).as_bytes(), &padded(data)[..]].concat()
}

/// A block changed after its checksum was set gets a new one.
fn changed(mut header: Header, change: impl FnOnce(&mut [u8; 512])) -> Vec<u8> {
    change(header.as_mut_bytes());
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn records(records: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let len = (1..).map(|digits| rest + digits).find(|len| len.to_string().len() + rest == *len).unwrap();
        out.extend_from_slice(format!("{len} {key}={value}\n").as_bytes());
    }
    out
}

fn pax(kind: u8, pairs: &[(&str, &str)]) -> Vec<u8> {
    entry("pax", kind, &records(pairs))
}
