//! What the kernel's NFS client counted, as /proc/self/mountstats tells it (nfs's nfsiostat and mountstats(8) read the same):
//! procedures sent by each mount, with what they carried.
//!
//! It promises: any text gives counts, bounded in number; a line that is not understood is passed over. The counts are those of
//! a superblock: everything that any process did through it. NFSv4's operations are not taken for NFSv3's procedures.
//! Left out: NFSACL, which has no line of its own there.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::base::Proc;

use super::mountinfo::plain;

/// Bytes of the file read at most: some 3 KiB for each mount of NFS, a line for each other.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Mounts taken from it at most.
const MOUNTS_MAX: usize = 10_000;

/// Connections of one mount that are read; nconnect has at most 16.
const CONNECTIONS_MAX: usize = 64;

/// One procedure's counts since the mount was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Requests made.
    pub calls: u64,
    /// Times that they were put on the wire; more than `calls` where some were sent again.
    pub transmissions: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Requests that no answer came to within all their retries.
    pub timeouts: u64,
    /// Milliseconds that all of them waited to be sent.
    pub queue_ms: u64,
    /// Milliseconds from sending to the answer.
    pub rtt_ms: u64,
    /// Milliseconds from the request to its end; what waits and travels is in it.
    pub execute_ms: u64,
}

/// One TCP connection of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Its local port: mounts of one server that have one in common share it.
    pub port: u16,
    /// Requests sent on it.
    pub sends: u64,
    /// Requests that waited for a slot, summed up over all sends: divided by `sends` it is the mean.
    pub backlog: u64,
    /// The most slots that were in use at once.
    pub slots_used_max: u64,
}

/// What one mount sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Where it is mounted.
    pub point: PathBuf,
    procedures: [Sent; Proc::COUNT],
    /// Bytes of data that READs brought and WRITEs carried.
    pub read_bytes: u64,
    /// See `read_bytes`.
    pub write_bytes: u64,
    /// Its TCP connections.
    pub connections: Vec<Connection>,
    /// Seconds since it was mounted.
    pub age_s: u64,
    /// Files that were removed while a program had them open, and so got a name `.nfs...` until it closes them.
    pub silly_renames: u64,
    /// Answers that asked to try again later (NFS3ERR_JUKEBOX, RFC 1813 2.6).
    pub delays: u64,
}

impl Counts {
    fn new(point: PathBuf) -> Counts {
        let procedures = [Sent::default(); Proc::COUNT];
        let connections = Vec::new();
        Counts { point, procedures, read_bytes: 0, write_bytes: 0, connections, age_s: 0, silly_renames: 0, delays: 0 }
    }

    /// One procedure's counts.
    pub fn get(&self, proc: Proc) -> Sent {
        self.procedures[proc as usize]
    }

    /// What came since `before`; saturates at 0, which a mount made anew meanwhile gives.
    pub fn since(&self, before: &Counts) -> Counts {
        let mut now = self.clone();
        for (now, before) in now.procedures.iter_mut().zip(&before.procedures) {
            now.calls = now.calls.saturating_sub(before.calls);
            now.transmissions = now.transmissions.saturating_sub(before.transmissions);
            now.failed = now.failed.saturating_sub(before.failed);
            now.timeouts = now.timeouts.saturating_sub(before.timeouts);
            now.queue_ms = now.queue_ms.saturating_sub(before.queue_ms);
            now.rtt_ms = now.rtt_ms.saturating_sub(before.rtt_ms);
            now.execute_ms = now.execute_ms.saturating_sub(before.execute_ms);
        }
        now.read_bytes = now.read_bytes.saturating_sub(before.read_bytes);
        now.write_bytes = now.write_bytes.saturating_sub(before.write_bytes);
        now
    }

    fn line(&mut self, line: &str) {
        let Some((name, values)) = line.trim().split_once(':') else { return };
        let mut values = values.split_ascii_whitespace();
        let mut number = |skip: usize| values.nth(skip).and_then(|value| value.parse::<u64>().ok());
        match name {
            // Bytes that programs read and wrote, cached and direct; then those from and to the server.
            "bytes" => {
                self.read_bytes = number(4).unwrap_or(0);
                self.write_bytes = number(0).unwrap_or(0);
            }
            "age" => self.age_s = number(0).unwrap_or(0),
            // 27 counters (enum nfs_stat_eventcounters of Linux): the 22nd and the 25th.
            "events" => {
                self.silly_renames = number(21).unwrap_or(0);
                self.delays = number(2).unwrap_or(0);
            }
            "xprt" if self.connections.len() < CONNECTIONS_MAX => self.connections.extend(connection(values)),
            _ => {
                let Some(proc) = Proc::from_name(name).filter(|proc| proc.is_nfs3()) else { return };
                // Requests, transmissions, timeouts, bytes out, bytes in, three times in ms, and, since Linux 5.3, errors.
                let (Some(calls), Some(transmissions)) = (number(0), number(0)) else { return };
                let mut next = |skip| number(skip).unwrap_or(0);
                let (timeouts, queue_ms, rtt_ms, execute_ms) = (next(0), next(2), next(0), next(0));
                let failed = next(0);
                self.procedures[proc as usize] =
                    Sent { calls, transmissions, failed, timeouts, queue_ms, rtt_ms, execute_ms };
            }
        }
    }
}

/// `tcp 866 0 2 0 0 32 32 0 32 0 2 0 0`: port, binds, connects, seconds of connecting, seconds idle, sends, receives, unknown xids,
/// requests in flight, in the backlog (both summed up over all sends), slots; then what waits to be sent and for an answer.
fn connection<'a>(mut values: impl Iterator<Item = &'a str>) -> Option<Connection> {
    values.next().filter(|kind| *kind == "tcp")?;
    let numbers: Vec<u64> = values.map_while(|value| value.parse().ok()).collect();
    let at = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let port = u16::try_from(*numbers.first()?).ok()?;
    Some(Connection { port, sends: at(5), backlog: at(9), slots_used_max: at(10) })
}

/// `device 10.0.1.2:/export mounted on /mnt/a with fstype nfs statvers=1.1`: the mount point, when it is NFS of version 3.
fn heading(line: &[u8]) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let text = line.strip_prefix(b"device ")?;
    // Both names are escaped, so neither has a space in it.
    let mut words = text.split(|&b| b == b' ');
    let _source = words.next()?;
    let on: Vec<&[u8]> = words.by_ref().take(2).collect();
    let point = words.next()?;
    let with: Vec<&[u8]> = words.take(3).collect();
    let is_nfs = on == [b"mounted".as_slice(), b"on"] && with == [b"with".as_slice(), b"fstype", b"nfs"];
    is_nfs.then(|| PathBuf::from(OsString::from_vec(plain(point))))
}

/// The counts of all mounts of NFSv3 in `text`, in its order.
pub fn parse(text: &[u8]) -> Vec<Counts> {
    let mut all: Vec<Counts> = Vec::new();
    let mut current: Option<Counts> = None;
    for line in text.split(|&b| b == b'\n') {
        if line.starts_with(b"device ") {
            all.extend(current.take());
            current = heading(line).filter(|_| all.len() < MOUNTS_MAX).map(Counts::new);
        } else if let (Some(counts), Ok(line)) = (&mut current, std::str::from_utf8(line)) {
            counts.line(line);
        }
    }
    all.extend(current);
    all
}

/// What the mount at `point` sent so far; none when it is no mount of NFSv3, or nothing is told.
pub fn of(point: &Path) -> Option<Counts> {
    // Of mounts at one point the last covers the others.
    read().ok()?.into_iter().rfind(|counts| counts.point == point)
}

/// What all mounts of NFSv3 sent so far.
pub fn read() -> io::Result<Vec<Counts>> {
    let mut text = Vec::new();
    File::open("/proc/self/mountstats")?.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
    Ok(parse(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded on Linux 6.12, with lines left out, and other numbers for the bytes.
    const RECORDED: &[u8] = br"device rootfs mounted on / with fstype rootfs
device 10.0.1.2:/mnt/export mounted on /mnt/mt1 with fstype nfs statvers=1.1
	opts:	rw,vers=3,rsize=1048576,hard,nolock,proto=tcp
	age:	0
	sec:	flavor=1,pseudoflavor=1
	events:	1 4 0 0 1 2 10 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	bytes:	11 12 13 14 4096 8192 1 2
	RPC iostats version: 1.1  p/v: 100003/3 (nfs)
	xprt:	tcp 866 0 2 0 0 32 32 0 32 0 2 0 0
	xprt:	tcp 867 0 2 0 0 32 32 0 32 0 2 0 0
	per-op statistics
	        NULL: 1 1 0 44 24 0 0 0 0
	     GETATTR: 3 5 1 264 336 0 10 10 2
	       MKDIR: 2 2 0 252 520 0 20 20
	 READDIRPLUS: 18446744073709551615 1 0 0 0 0 0 0 0

device 10.0.2.2:/mnt/export mounted on /mnt/sp\040ace with fstype nfs statvers=1.1
	     GETATTR: 7 7 0 168 224 0 0 0 0
device h:/x mounted on /mnt/four with fstype nfs4 statvers=1.1
	     GETATTR: 9 9 0 168 224 0 0 0 0
";

    #[test]
    fn recorded_counts_are_read() {
        let all = parse(RECORDED);
        assert_eq!(all.iter().map(|c| c.point.to_str().unwrap()).collect::<Vec<_>>(), ["/mnt/mt1", "/mnt/sp ace"]);
        let first = &all[0];
        assert_eq!(
            first.get(Proc::GetAttr),
            Sent { calls: 3, transmissions: 5, failed: 2, timeouts: 1, queue_ms: 0, rtt_ms: 10, execute_ms: 10 }
        );
        assert_eq!(
            first.get(Proc::MkDir),
            Sent { calls: 2, transmissions: 2, rtt_ms: 20, execute_ms: 20, ..Sent::default() }
        );
        assert_eq!(first.get(Proc::ReadDirPlus).calls, u64::MAX);
        assert_eq!((first.read_bytes, first.write_bytes), (4096, 8192));
        let of_port = |port| Connection { port, sends: 32, backlog: 0, slots_used_max: 2 };
        assert_eq!(first.connections, [of_port(866), of_port(867)]);
        assert_eq!((first.age_s, first.silly_renames, first.delays), (0, 0, 0));
        assert_eq!(all[1].get(Proc::GetAttr).calls, 7);
    }

    #[test]
    fn differences_do_not_wrap() {
        let all = parse(RECORDED);
        let delta = all[0].since(&all[1]);
        assert_eq!((delta.get(Proc::GetAttr).calls, delta.get(Proc::MkDir).calls), (0, 2));
        assert_eq!(all[1].since(&all[1]).get(Proc::GetAttr), Sent::default());
    }

    #[test]
    fn hostile_texts_give_what_there_is() {
        for text in [
            b"".as_slice(),
            b"device ",
            b"device a mounted on",
            b"device a mounted on /m with fstype",
            b"	GETATTR: 1 1",
            b"device a mounted on /m with fstype xfs\n	GETATTR: 1 1 0",
        ] {
            assert!(parse(text).is_empty(), "{}", String::from_utf8_lossy(text));
        }
        let of = |lines: &str| {
            let text = format!("device a:/ mounted on /m with fstype nfs statvers=1.1\n{lines}");
            parse(text.as_bytes()).remove(0)
        };
        assert_eq!(
            of("GETATTR: 99999999999999999999999 1 0\nGETATTR: -1 2\nGETATTR:\nbytes: x\nxprt: tcp 99999\n:::"),
            of("")
        );
        assert_eq!(of(&"xprt: tcp 5\n".repeat(1000)).connections.len(), CONNECTIONS_MAX);
        let counted = of(
            "age: 77\nevents: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26\nxprt: udp 5 1\nxprt: tcp 9",
        );
        assert_eq!((counted.age_s, counted.silly_renames, counted.delays), (77, 21, 24));
        assert_eq!(counted.connections, [Connection { port: 9, ..Connection::default() }]);
        let many = b"device a:/ mounted on /m with fstype nfs statvers=1.1\n".repeat(MOUNTS_MAX + 10);
        assert_eq!(parse(&many).len(), MOUNTS_MAX);
    }
}
