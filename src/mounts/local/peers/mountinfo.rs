//! The mounts of this host as /proc/self/mountinfo tells them (proc_pid_mountinfo(5)), and what an NFS mount says of itself.
//!
//! It promises: any text gives a list, bounded in length; a line that is none is passed over. Left out: what the mounts
//! show, which only opening them tells.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Bytes of a table read at most: the kernel allows 100,000 mounts (fs.mount-max), some 200 bytes each.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// Mounts taken from a table at most.
const ENTRIES_MAX: usize = 100_000;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Unique among the mounts there are now.
    pub id: u64,
    /// The mount that it is mounted on.
    pub parent: u64,
    /// Its file system's device, `major:minor`.
    pub device: (u32, u32),
    /// Where it is mounted.
    pub point: PathBuf,
    /// The type of its file system.
    pub fs: String,
    /// What is mounted; of NFS `host:/path`, a bind mount's path included.
    pub source: Vec<u8>,
    /// The options of the mount, and of its file system.
    pub options: [String; 2],
}

/// Where an NFS mount comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The server's name as it was mounted.
    pub host: String,
    /// The server's address, and its port if it is an odd one, where the options tell them.
    pub address: Option<String>,
    /// The directory there, without slashes at its end or twice.
    pub path: Vec<u8>,
}

/// The text without its octal escapes: `\040` is a space.
pub fn plain(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let octal = |digits: &[u8]| {
            let digit = |b: &u8| (b'0'..=b'7').contains(b).then(|| u32::from(b - b'0'));
            digits
                .iter()
                .try_fold(0u32, |value, b| Some(value * 8 + digit(b)?))
                .and_then(|value| u8::try_from(value).ok())
        };
        match after.get(..3).filter(|_| first == b'\\').and_then(octal) {
            Some(byte) => {
                out.push(byte);
                rest = &after[3..];
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    out
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`, with any number of optional fields.
fn entry(line: &[u8]) -> Option<Entry> {
    let mut fields = line.split(|&b| b == b' ');
    let (id, parent) = (number(fields.next()?)?, number(fields.next()?)?);
    let mut device = fields.next()?.splitn(2, |&b| b == b':');
    let device = (number(device.next()?)?, number(device.next()?)?);
    let _root = fields.next()?; // of NFS always `/`: what a bind mount shows is in its source
    let point = PathBuf::from(OsString::from_vec(plain(fields.next()?)));
    let mount_options = text(fields.next()?);
    fields.find(|field| *field == b"-")?;
    let (fs, source) = (text(&plain(fields.next()?)), plain(fields.next()?));
    let options = [mount_options, text(fields.next().unwrap_or_default())];
    Some(Entry { id, parent, device, point, fs, source, options })
}

/// A path without slashes at its end or twice; the root is `/`.
pub fn tidy(path: &[u8]) -> Vec<u8> {
    let parts = path.split(|&b| b == b'/').filter(|part| !part.is_empty());
    let tidy: Vec<u8> = parts.flat_map(|part| [b"/", part].concat()).collect();
    if tidy.is_empty() { b"/".to_vec() } else { tidy }
}

/// What is behind `inner`'s first names, which are `outer`; empty when they are one.
pub fn below(inner: &[u8], outer: &[u8]) -> Option<Vec<u8>> {
    let rest = if outer == b"/" { inner } else { inner.strip_prefix(outer)? };
    match rest {
        [] => Some(Vec::new()),
        [b'/', rest @ ..] => Some(rest.to_vec()),
        _ => None,
    }
}

/// `path` and the names `way` below it.
pub fn joined(path: &[u8], way: &[u8]) -> Vec<u8> {
    tidy(&[path, b"/", way].concat())
}

impl Entry {
    /// The value of an option of its file system: `addr` of `addr=10.0.0.5`.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options[1].split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// Is this option, which has no value, set?
    pub fn has(&self, name: &str) -> bool {
        self.options[1].split(',').any(|option| option == name)
    }

    /// Nothing can be written through it.
    pub fn is_read_only(&self) -> bool {
        self.options.iter().any(|options| options.split(',').any(|option| option == "ro"))
    }

    /// The number that stat(2) gives for its device.
    pub fn device_number(&self) -> u64 {
        rustix::fs::makedev(self.device.0, self.device.1)
    }

    /// The export, when it is a mount of NFS: version 3 or 4.
    pub fn export(&self) -> Option<Export> {
        if !matches!(self.fs.as_str(), "nfs" | "nfs4") {
            return None;
        }
        let colon = self.source.windows(2).position(|two| two == b":/")?;
        let (host, path) = (text(&self.source[..colon]), tidy(&self.source[colon + 1..]));
        // 2049 is NFS's own (RFC 1813 4.2).
        let port = self.option("port").filter(|port| !matches!(*port, "0" | "2049"));
        let address = self.option("addr").map(|address| match port {
            Some(port) => format!("{address} port {port}"),
            None => address.to_string(),
        });
        Some(Export { host, address, path })
    }
}

/// All mounts, in the order they were made in.
#[derive(Clone, Debug, Default)]
pub struct Table(Vec<Entry>);

impl Table {
    /// The mounts of `text`.
    pub fn parse(text: &[u8]) -> Table {
        Table(text.split(|&b| b == b'\n').filter_map(entry).take(ENTRIES_MAX).collect())
    }

    /// Is each line of `text` a mount, of which every process has one?
    pub fn is_whole(text: &[u8]) -> bool {
        let mut lines = text.split(|&b| b == b'\n').filter(|line| !line.is_empty()).peekable();
        lines.peek().is_some() && lines.all(|line| entry(line).is_some())
    }

    /// The mounts that this process sees.
    pub fn read() -> io::Result<Table> {
        let mut text = Vec::new();
        File::open("/proc/self/mountinfo")?.take(TABLE_BYTES_MAX).read_to_end(&mut text)?;
        Ok(Table::parse(&text))
    }

    /// The mount of this id.
    pub fn get(&self, id: u64) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.id == id)
    }

    /// The mounts of NFS that no other mount lies on top of.
    pub fn nfs(&self) -> impl Iterator<Item = (&Entry, Export)> {
        let covers: HashSet<(u64, &Path)> =
            self.0.iter().filter(|on| on.parent != on.id).map(|on| (on.parent, on.point.as_path())).collect();
        let exports = self.0.iter().filter_map(|entry| Some((entry, entry.export()?)));
        exports.filter(move |(entry, _)| !covers.contains(&(entry.id, entry.point.as_path())))
    }

    /// The mount that holds `path`, which is absolute and without symbolic links; of several at one point the last.
    pub fn holding(&self, path: &Path) -> Option<&Entry> {
        let inner = tidy(path.as_os_str().as_bytes());
        let depth = |entry: &Entry| {
            let outer = tidy(entry.point.as_os_str().as_bytes());
            below(&inner, &outer).map(|_| outer.len())
        };
        self.0
            .iter()
            .filter_map(|entry| Some((depth(entry)?, entry)))
            .max_by_key(|(depth, _)| *depth)
            .map(|found| found.1)
    }

    /// The mounts in the directory `path` and further below.
    pub fn within(&self, path: &Path) -> impl Iterator<Item = &Entry> {
        let outer = tidy(path.as_os_str().as_bytes());
        let is_within = move |entry: &&Entry| {
            below(&tidy(entry.point.as_os_str().as_bytes()), &outer).is_some_and(|rest| !rest.is_empty())
        };
        self.0.iter().filter(is_within)
    }

    /// Where something is mounted.
    pub fn points(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|entry| entry.point.as_path())
    }

    /// True when something is mounted at `point`.
    pub fn has_point(&self, point: &Path) -> bool {
        self.0.iter().any(|entry| entry.point == point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded on Linux 6.12: two targets, a bind mount, two mounts that share nothing but the address, a name with a space.
    const RECORDED: &[u8] = br"19 1 0:17 / /bed/job rw,relatime - hostfs none rw,sync,/dev/shm/view
36 1 0:22 / /mnt/mt1 rw,relatime - nfs 10.0.1.2:/mnt/export rw,vers=3,rsize=1048576,hard,nolock,nosharecache,proto=tcp,port=2049,timeo=6000,retrans=2,sec=sys,mountaddr=10.0.1.2,mountvers=3,mountport=20048,mountproto=tcp,local_lock=all,addr=10.0.1.2
37 1 0:23 / /mnt/mt2 rw,relatime shared:4 master:1 - nfs 10.0.2.2:/mnt/export rw,vers=3,hard,port=2049,sec=sys,addr=10.0.2.2
38 1 0:22 / /mnt/bind rw,relatime - nfs 10.0.1.2:/mnt/export/a rw,vers=3,hard,port=2049,sec=sys,addr=10.0.1.2
39 1 0:24 / /mnt/b2 rw,relatime - nfs 10.0.1.2:/mnt/export rw,vers=3,sec=sys,addr=10.0.1.2
40 1 0:25 / /mnt/b3 ro,relatime - nfs 10.0.1.2:/mnt/export ro,vers=3,sec=sys,addr=10.0.1.2
41 1 0:26 / /mnt/sp\040ace rw,relatime - nfs 10.0.1.2:/mnt/export/a rw,vers=3,port=2049,sec=sys,addr=10.0.1.2
";

    #[test]
    fn recorded_mounts_are_read() {
        let table = Table::parse(RECORDED);
        let nfs: Vec<(String, String)> =
            table.nfs().map(|(entry, export)| (entry.point.display().to_string(), text(&export.path))).collect();
        let expected = [
            ("/mnt/mt1", "/mnt/export"),
            ("/mnt/mt2", "/mnt/export"),
            ("/mnt/bind", "/mnt/export/a"),
            ("/mnt/b2", "/mnt/export"),
            ("/mnt/b3", "/mnt/export"),
            ("/mnt/sp ace", "/mnt/export/a"),
        ];
        assert_eq!(nfs, expected.map(|(point, path)| (point.to_string(), path.to_string())));
        let entry = |id| table.get(id).unwrap();
        assert!(entry(40).is_read_only() && !entry(36).is_read_only());
        assert_eq!(entry(36).export().unwrap().address.as_deref(), Some("10.0.1.2"));
        assert_eq!(entry(36).option("addr"), Some("10.0.1.2")); // and not mountaddr
        assert_eq!((entry(38).device_number(), entry(36).device_number()), (22, 22));
        assert_eq!(entry(37).option("sec"), Some("sys"));
    }

    #[test]
    fn exports_are_split_at_their_host() {
        let of = |fs: &str, source: &str| {
            let line = format!("1 2 0:3 / /m rw - {fs} {source} rw");
            Table::parse(line.as_bytes()).get(1).unwrap().export().map(|e| (e.host, text(&e.path), e.address))
        };
        let is = |host: &str, path: &str| Some((host.to_string(), path.to_string(), None));
        assert_eq!(of("nfs4", "h:/"), is("h", "/"));
        assert_eq!(of("nfs", "[fe80::1]:/a//b/"), is("[fe80::1]", "/a/b"));
        assert_eq!(of("nfs", "fe80::1:/a"), is("fe80::1", "/a"));
        assert_eq!((of("nfs", "h"), of("ext4", "h:/a"), of("fuse.nfs", "h:/a")), (None, None, None));
    }

    #[test]
    fn covered_mounts_are_left_out_and_those_within_found() {
        let text = b"1 1 0:1 / / rw - tmpfs none rw\n2 1 0:2 / /m rw - nfs h:/a rw\n3 2 0:3 / /m rw - nfs h:/b rw\n\
                     4 3 0:4 / /m/d/sub rw - tmpfs none rw\n";
        let table = Table::parse(text);
        assert_eq!(table.nfs().map(|(entry, _)| entry.id).collect::<Vec<_>>(), [3]);
        let within = |path: &str| table.within(Path::new(path)).next().map(|entry| entry.id);
        assert_eq!(
            (within("/m"), within("/m/d/"), within("/m/d/sub"), within("/m/dd")),
            (Some(4), Some(4), None, None)
        );
        assert_eq!(table.within(Path::new("/")).count(), 3);
        let holding = |path: &str| table.holding(Path::new(path)).map(|entry| entry.id);
        assert_eq!(
            (holding("/"), holding("/m"), holding("/mm/"), holding("/m/d/sub/x"), holding("/m/d")),
            (Some(1), Some(3), Some(1), Some(4), Some(3))
        );
        assert_eq!((Table::default().holding(Path::new("/")).map(|entry| entry.id), table.0.len()), (None, 4));
    }

    #[test]
    fn paths_below_others() {
        let of = |inner: &str, outer: &str| below(inner.as_bytes(), outer.as_bytes()).map(|rest| text(&rest));
        assert_eq!(
            (of("/a/b/c", "/a"), of("/a", "/a"), of("/a", "/")),
            (Some("b/c".into()), Some("".into()), Some("a".into()))
        );
        assert_eq!((of("/ab", "/a"), of("/a", "/a/b")), (None, None));
    }

    #[test]
    fn hostile_lines_are_passed_over() {
        let long = [b"5 1 0:9 / /".as_slice(), &vec![b'x'; 1 << 20], b" rw - nfs h:/a rw"].concat();
        let texts: [&[u8]; 9] = [
            b"",
            b"\n\n",
            b"1",
            b"99999999999999999999999 1 0:1 / / rw - nfs h:/a rw",
            b"1 1 01 / / rw - nfs h:/a rw",
            b"1 1 0:1 / / rw nfs h:/a rw",
            b"1 1 0:1 / / rw -",
            b"1 1 0:1 / / rw - nfs",
            b"-1 1 0:1 / /\\999\\04 rw - nfs h:/a",
        ];
        for text in texts {
            assert!(Table::parse(text).0.is_empty(), "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(Table::parse(&long).0.len(), 1);
        assert_eq!(plain(br"\040\0401\777\12\"), br"  1\777\12\");
        assert!(Table::parse(&b"1 1 0:1 / / rw - nfs h:/a rw\n".repeat(ENTRIES_MAX + 5)).0.len() == ENTRIES_MAX);
        let own = Table::read().unwrap();
        assert!(own.get(own.0[0].id).is_some());
    }
}
