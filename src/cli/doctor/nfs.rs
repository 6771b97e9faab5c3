//! The host's mounts of NFS as its kernel has them: one for each superblock, for that is what has connections, locks and counters.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::Proc;
use crate::mounts::local::peers::mountinfo::{Entry, Export, Table};
use crate::mounts::local::peers::mountstats::{self, Counts, Sent};

use super::fstab::{self, Line};
use super::root::Root;
use super::words::shell;

/// Answers that make a mean; of fewer one slow answer would be the figure.
const ANSWERS_MIN: u64 = 20;

/// Bytes that READ and WRITE carry at most on Linux (NFS_MAX_FILE_IO_SIZE).
pub const IO_BYTES_MAX: u64 = 1 << 20;

/// One superblock of NFS.
#[derive(Clone, Debug)]
pub struct Client {
    /// The mount that it is known by: the first of its mounts.
    pub entry: Entry,
    /// Where else it is mounted.
    pub further: Vec<PathBuf>,
    /// What is mounted.
    pub export: Export,
    /// What the kernel counted; of NFSv3 only.
    pub counts: Option<Counts>,
    /// What /etc/fstab says of its first mount.
    pub typed: Option<Line>,
    /// The server's number of the file system.
    pub fsid: Option<String>,
}

/// All of them, with what else /etc/fstab names.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    /// In the order of the kernel's table.
    pub all: Vec<Client>,
    /// The mounts of NFS in /etc/fstab.
    pub fstab: Vec<Line>,
}

/// `NV SERVER PORT DEV FSID FSC`, one line for each superblock (fs/nfs/client.c): the file system's number of this device.
fn fsid_of(volumes: &str, device: (u32, u32)) -> Option<String> {
    let device = format!("{}:{}", device.0, device.1);
    let line = volumes.lines().find(|line| line.split_whitespace().nth(3) == Some(&device))?;
    let fsid = line.split_whitespace().nth(4)?;
    // A server that sends none shows zeros, as any other might.
    (fsid.len() <= 33 && fsid != "0:0").then(|| fsid.to_string())
}

impl Clients {
    /// What the host's files say.
    pub fn read(root: &Root, table: &Table) -> Clients {
        let fstab = fstab::parse(&root.may_bytes("/etc/fstab").unwrap_or_default());
        let mut clients = Clients { all: Vec::new(), fstab };
        for (entry, export) in table.nfs() {
            if let Some(known) = clients.all.iter_mut().find(|known| known.entry.device == entry.device) {
                known.further.push(entry.point.clone());
                continue;
            }
            let typed = clients.fstab.iter().find(|line| line.point == entry.point).cloned();
            let (counts, fsid, further) = (None, None, Vec::new());
            clients.all.push(Client { entry: entry.clone(), further, export, counts, typed, fsid });
        }
        if clients.all.is_empty() {
            return clients;
        }
        let counts = root.read("/proc/self/mountstats", "what the mounts sent, and how fast the servers answered");
        let counts = mountstats::parse(&counts.unwrap_or_default());
        let volumes =
            root.text("/proc/fs/nfsfs/volumes", "whether mounts show one file system, by the servers' numbers");
        for client in &mut clients.all {
            client.counts = counts.iter().rfind(|counts| counts.point == client.entry.point).cloned();
            client.fsid = fsid_of(volumes.as_deref().unwrap_or_default(), client.entry.device);
        }
        clients
    }

    /// Leaves those out that hold none of `paths`, and show nothing that one of them shows.
    pub fn keep(&mut self, table: &Table, paths: &[PathBuf]) {
        let held: Vec<_> = paths.iter().filter_map(|path| Some(table.holding(path)?.device)).collect();
        let exports: Vec<Vec<u8>> = self
            .all
            .iter()
            .filter(|client| held.contains(&client.entry.device))
            .map(|client| client.export.path.clone())
            .collect();
        self.all.retain(|client| exports.contains(&client.export.path));
    }

    /// How far the nearest of them is.
    pub fn rtt(&self) -> Option<Duration> {
        self.all.iter().filter_map(Client::rtt).min()
    }

    /// The command that mounts all of a server anew: they share its connections.
    pub fn mount_anew(&self, target: &str) -> String {
        let of_target = self.all.iter().filter(|client| client.target() == target);
        let points = of_target.flat_map(|client| std::iter::once(&client.entry.point).chain(&client.further));
        let points: Vec<String> = points.map(|point| shell(point.as_os_str().as_encoded_bytes())).collect();
        let mounts: Vec<String> = points.iter().map(|point| format!("mount {point}")).collect();
        format!("umount {} && {}", points.join(" "), mounts.join(" && "))
    }

    /// The servers' addresses, each once.
    pub fn targets(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.all.iter().map(Client::target).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Procedures that a server answers from its memory, so that their time is mostly the way.
const NEAR: [Proc; 4] = [Proc::GetAttr, Proc::Access, Proc::Lookup, Proc::FsStat];

impl Client {
    /// The version that is spoken: `3`, `4.1`.
    pub fn version(&self) -> &str {
        self.entry.option("vers").unwrap_or(if self.entry.fs == "nfs4" { "4" } else { "3" })
    }

    /// Is it NFSv4, whose operations are others?
    pub fn is_v4(&self) -> bool {
        self.version().starts_with('4')
    }

    /// The server's address, or its name where the kernel does not tell that.
    pub fn target(&self) -> &str {
        self.export.address.as_deref().unwrap_or(&self.export.host)
    }

    /// `server:/export`.
    pub fn source(&self) -> String {
        crate::base::name::Shown(&self.entry.source).to_string()
    }

    /// Its first mount point, as people read it.
    pub fn point(&self) -> String {
        shown(&self.entry.point)
    }

    /// How many TCP connections it has: what is counted, else what was asked for.
    pub fn connections(&self) -> u64 {
        let counted = self.counts.as_ref().map(|counts| counts.connections.len() as u64).filter(|n| *n > 0);
        counted.or_else(|| self.entry.option("nconnect")?.parse().ok()).unwrap_or(1).max(1)
    }

    /// Options `rsize`, `wsize`: the bytes of one READ or WRITE.
    pub fn io_bytes(&self, option: &str) -> Option<u64> {
        self.entry.option(option)?.parse().ok().filter(|bytes| *bytes > 0)
    }

    /// How fast the server answers what it need not look for; none before it answered often enough.
    pub fn rtt(&self) -> Option<Duration> {
        let counts = self.counts.as_ref()?;
        let sum = NEAR.iter().map(|proc| counts.get(*proc)).fold(Sent::default(), |mut sum, sent| {
            sum.calls = sum.calls.saturating_add(sent.calls);
            sum.rtt_ms = sum.rtt_ms.saturating_add(sent.rtt_ms);
            sum
        });
        mean(sum.rtt_ms, sum.calls)
    }

    /// How fast it answers this procedure; none before it did so often enough.
    pub fn rtt_of(&self, proc: Proc) -> Option<Duration> {
        let sent = self.counts.as_ref()?.get(proc);
        mean(sent.rtt_ms, sent.calls)
    }

    /// The command that mounts it anew; most options cannot be changed by a remount (nfs(5)).
    pub fn mount_anew(&self) -> String {
        let point = shell(self.entry.point.as_os_str().as_encoded_bytes());
        format!("umount {point} && mount {point}")
    }

    /// The version that it is to have: its own, and NFSv3 for what is older.
    pub fn spoken(&self) -> &str {
        if self.is_v4() { self.version() } else { "3" }
    }

    /// The line of /etc/fstab that it should have, and the command that uses it.
    pub fn fix(&self) -> Vec<String> {
        vec![fstab::advised(&self.entry, self.spoken()), self.mount_anew()]
    }
}

fn mean(ms: u64, calls: u64) -> Option<Duration> {
    // The sum is told in whole milliseconds: of zero nothing can be said.
    (calls >= ANSWERS_MIN && ms > 0).then(|| Duration::from_secs_f64(ms as f64 / calls as f64 / 1e3))
}

/// A path as people read it.
pub fn shown(path: &Path) -> String {
    crate::base::name::Shown(path.as_os_str().as_encoded_bytes()).to_string()
}

/// Is this text an address, and no name?
pub fn is_address(text: &str) -> bool {
    text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_systems_number_is_found_by_device() {
        let volumes = "NV SERVER   PORT DEV          FSID                              FSC\n\
            v3 0a000005  801 0:52         9f3c01e24:0                       no \n\
            v3 0a000006  801 0:53         0:0                               no \n\
            v3 short\n";
        assert_eq!(fsid_of(volumes, (0, 52)).as_deref(), Some("9f3c01e24:0"));
        assert_eq!((fsid_of(volumes, (0, 53)), fsid_of(volumes, (0, 5)), fsid_of("", (0, 1))), (None, None, None));
    }
}
