//! The host's mounts of NFS as its kernel has them: one for each superblock, for that is what has connections, locks and counters.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::Proc;
use crate::mounts::local::peers::mountinfo::{Entry, Export, Table, below};
use crate::mounts::local::peers::mountstats::{self, Counts, Sent};

use super::fstab::{self, Line};
use super::mounts::NCONNECT;
use super::options::{self, Options};
use super::places::{Place, Places};
use super::root::Root;
use super::words::shell;

/// Answers that make a mean; of fewer one slow answer would be the figure.
const ANSWERS_MIN: u64 = 20;

/// Bytes that READ and WRITE carry at most on Linux (NFS_MAX_FILE_IO_SIZE).
pub const IO_BYTES_MAX: u64 = 1 << 20;

/// One more mount of a superblock.
#[derive(Clone, Debug)]
pub struct Further {
    /// Its line of the kernel's table.
    pub entry: Entry,
    /// What it shows.
    pub export: Export,
    /// What /etc/fstab says of it as a mount of NFS.
    pub typed: Option<Line>,
    /// `mount POINT` finds it in /etc/fstab, if only as a bind mount.
    pub is_in_fstab: bool,
    /// It shows a directory of another mount: a bind mount, which is no mount of an export.
    pub is_part: bool,
    /// What else is there.
    place: Place,
}

/// One superblock of NFS.
#[derive(Clone, Debug)]
pub struct Client {
    /// The mount that it is known by: the first of its mounts.
    pub entry: Entry,
    /// Where else it is mounted.
    pub further: Vec<Further>,
    /// What is mounted.
    pub export: Export,
    /// What the kernel counted; of NFSv3 only.
    pub counts: Option<Counts>,
    /// What /etc/fstab says of its first mount.
    pub typed: Option<Line>,
    /// The server's number of the file system.
    pub fsid: Option<String>,
    /// What else is where it is mounted.
    place: Place,
}

/// All of them, with what else /etc/fstab names.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    /// In the order of the kernel's table.
    pub all: Vec<Client>,
    /// The mounts of NFS in /etc/fstab.
    pub fstab: Vec<Line>,
    /// Where anything is mounted, or is to be by /etc/fstab.
    taken: HashSet<PathBuf>,
    /// What `keep` left out: it shares the connections of what is kept all the same.
    left_out: Vec<Client>,
}

/// `NV SERVER PORT DEV FSID FSC`, one line for each superblock (fs/nfs/client.c): the file systems' numbers by device.
fn fsids(volumes: &str) -> HashMap<&str, &str> {
    let mut fsids = HashMap::new();
    for line in volumes.lines() {
        let mut words = line.split_whitespace().skip(3);
        if let (Some(device), Some(fsid)) = (words.next(), words.next()) {
            fsids.entry(device).or_insert(fsid);
        }
    }
    // A server that sends none shows zeros, as any other might.
    fsids.retain(|_, fsid| fsid.len() <= 33 && *fsid != "0:0");
    fsids
}

/// The mounts in the kernel's table whose root is not the file system's own: bind mounts of a directory. Of NFS Linux shows `/` there
/// and has the directory in the source (nfs_show_path); other kernels may not.
fn bound(table: &[u8]) -> HashSet<u64> {
    let id = |line: &[u8]| {
        let mut fields = line.split(|&b| b == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        fields.nth(2).filter(|root| *root != b"/").map(|_| id)
    };
    table.split(|&b| b == b'\n').filter_map(id).collect()
}

/// A mount that is to be mounted anew.
struct Again<'a> {
    point: &'a Path,
    /// What mounts it again; none of a bind mount that /etc/fstab does not have.
    command: Option<String>,
    place: &'a Place,
}

/// Why it cannot be unmounted and mounted again by a command, where those of `all` are with it.
fn bar(again: &Again<'_>, all: &[&Path]) -> Option<String> {
    let point = shown(again.point);
    if again.point == Path::new("/") {
        return Some(format!("{point} cannot be unmounted: its options change with the next boot"));
    }
    if again.place.is_crossed {
        return Some(format!(
            "the kernel mounted {point} by itself: its options are those of the mount that it is below"
        ));
    }
    if again.place.within.iter().any(|within| within == again.point) {
        return Some(format!("several are mounted on {point}, one over the other: unmount them by hand"));
    }
    if let Some(within) = again.place.within.iter().find(|within| !all.contains(&within.as_path())) {
        return Some(format!(
            "{} is mounted below {point}: it has to be unmounted before, and mounted after",
            shown(within)
        ));
    }
    again.command.is_none().then(|| format!("{point} is a bind mount that /etc/fstab does not have"))
}

/// The commands that unmount these and mount them again: the deepest is unmounted first, and mounted last. Connections end with the last
/// mount that has them, so all are unmounted before one is mounted. One that is busy stays; what did go is mounted again whatever became
/// of the others, so each has a line of its own. Where a mount would stay down, words stand in place of commands.
fn anew(mut mounts: Vec<Again<'_>>) -> Vec<String> {
    let quoted = |point: &Path| shell(point.as_os_str().as_encoded_bytes());
    let depth = |point: &Path| point.components().count();
    mounts.sort_by_key(|again| std::cmp::Reverse(depth(again.point)));
    let points: Vec<&Path> = mounts.iter().map(|again| again.point).collect();
    let bars: Vec<String> = mounts.iter().filter_map(|again| bar(again, &points)).collect();
    if !bars.is_empty() {
        return bars.into_iter().map(|bar| format!("# By hand, or at the next boot: {bar}")).collect();
    }
    let umount = format!("umount {}", points.iter().map(|point| quoted(point)).collect::<Vec<_>>().join(" "));
    mounts.sort_by_key(|again| depth(again.point));
    let commands: Vec<(&Path, String)> =
        mounts.into_iter().filter_map(|again| Some((again.point, again.command?))).collect();
    if let [(_, command)] = &commands[..] {
        return vec![format!("{umount} && {command}")];
    }
    let mount = |(point, command): (&Path, String)| format!("mountpoint -q {} || {command}", quoted(point));
    std::iter::once(umount).chain(commands.into_iter().map(mount)).collect()
}

impl Further {
    fn again(&self) -> Again<'_> {
        let point = self.entry.point.as_path();
        let command = match (self.is_in_fstab, self.is_part) {
            (true, _) => Some(format!("mount {}", shell(point.as_os_str().as_encoded_bytes()))),
            (false, true) => None,
            (false, false) => {
                let options = Options::of(&self.entry, self.typed.as_ref());
                Some(options.command(&self.entry.source, point.as_os_str().as_encoded_bytes()))
            }
        };
        Again { point, command, place: &self.place }
    }
}

impl Clients {
    /// What the host's files say.
    pub fn read(root: &Root, table: &Table) -> Clients {
        let text = root.read("/etc/fstab", "what is to be mounted at boot, and how").unwrap_or_default();
        let fstab = fstab::parse(&text);
        let points = fstab::points(&text);
        let taken = points.iter().cloned().chain(table.points().map(Path::to_path_buf)).collect();
        let mut clients = Clients { all: Vec::new(), fstab, taken, left_out: Vec::new() };
        // A line for another export is not this mount's, which was made by hand.
        let typed = |clients: &Clients, entry: &Entry, export: &Export| {
            let is_elsewhere = |line: &Line| {
                // Linux shows the address that a server was first found by (NFSv4.1 knows it by several).
                if line.host == export.host {
                    return false;
                }
                let at = entry.option("addr").and_then(address);
                at.zip(address(&line.host)).is_some_and(|(at, typed)| at != typed)
            };
            let is_its = |line: &&Line| line.point == entry.point && line.path == export.path && !is_elsewhere(line);
            clients.fstab.iter().find(is_its).cloned()
        };
        let bound = bound(&root.may_bytes("/proc/self/mountinfo").unwrap_or_default());
        let places = Places::of(table);
        for (entry, export) in table.nfs() {
            let typed = typed(&clients, entry, &export);
            let is_elses = typed.is_none() && clients.fstab.iter().any(|line| line.point == entry.point);
            let place = places.place(entry, &export, typed.is_some() || points.contains(&entry.point));
            let entry = entry.clone();
            if let Some(known) = clients.all.iter_mut().find(|known| known.entry.device == entry.device) {
                let (is_in_fstab, is_part) = (!is_elses && points.contains(&entry.point), bound.contains(&entry.id));
                known.further.push(Further { entry, export, typed, is_in_fstab, is_part, place });
                continue;
            }
            let (counts, fsid, further) = (None, None, Vec::new());
            clients.all.push(Client { entry, further, export, counts, typed, fsid, place });
        }
        clients.all.iter_mut().for_each(Client::tell_parts);
        if clients.all.is_empty() {
            return clients;
        }
        let counts = root.read("/proc/self/mountstats", "what the mounts sent, and how fast the servers answered");
        let counts = mountstats::parse(&counts.unwrap_or_default());
        // Of several at one point the last, which is the one that is seen.
        let counts: HashMap<&Path, &Counts> = counts.iter().map(|counts| (counts.point.as_path(), counts)).collect();
        let volumes =
            root.text("/proc/fs/nfsfs/volumes", "whether mounts show one file system, by the servers' numbers");
        let fsids = fsids(volumes.as_deref().unwrap_or_default());
        for client in &mut clients.all {
            let (major, minor) = client.entry.device;
            client.counts = counts.get(client.entry.point.as_path()).copied().cloned();
            client.fsid = fsids.get(&*format!("{major}:{minor}")).map(|fsid| fsid.to_string());
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
        let all = std::mem::take(&mut self.all);
        (self.all, self.left_out) = all.into_iter().partition(|client| exports.contains(&client.export.path));
    }

    /// How far the nearest of them is.
    pub fn rtt(&self) -> Option<Duration> {
        self.all.iter().filter_map(Client::rtt).min()
    }

    /// The commands that mount all of a server anew: they share its connections.
    pub fn mount_anew(&self, target: &str) -> Vec<String> {
        let mut mounts = Vec::new();
        for client in self.all.iter().chain(&self.left_out).filter(|client| client.target() == target) {
            mounts.push(client.again(&client.connected(client.options())));
            mounts.extend(client.further.iter().map(Further::again));
        }
        anew(mounts)
    }

    /// A mount point beside that of `client`, the `nth` of its export, where nothing is mounted or is to be.
    pub fn point_beside(&self, client: &Client, nth: u64) -> Vec<u8> {
        let point = client.entry.point.as_os_str().as_encoded_bytes();
        let numbered = (nth..).map(|n| [point, format!("-{n}").as_bytes()].concat());
        let mut free = numbered.filter(|point| !self.taken.contains(Path::new(OsStr::from_bytes(point))));
        free.next().expect("numbers do not end before what is mounted does")
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
        options::version(&self.entry)
    }

    /// Is it NFSv4, whose operations are others?
    pub fn is_v4(&self) -> bool {
        self.version().starts_with('4')
    }

    /// The server's address, or its name where the kernel does not tell that.
    pub fn target(&self) -> &str {
        self.export.address.as_deref().unwrap_or(&self.export.host)
    }

    /// As `target`, without a port: a word for commands.
    pub fn address(&self) -> &str {
        self.entry.option("addr").unwrap_or(&self.export.host)
    }

    /// Its port, where it is not NFS's own (RFC 1813 4.2).
    pub fn port(&self) -> Option<u16> {
        self.entry.option("port")?.parse().ok().filter(|port| !matches!(port, 0 | 2049))
    }

    /// Requests go over TCP, and not over UDP or RDMA.
    pub fn is_tcp(&self) -> bool {
        self.entry.option("proto").is_none_or(|proto| proto.starts_with("tcp"))
    }

    /// `server:/export`.
    pub fn source(&self) -> String {
        crate::base::name::Printable(&self.entry.source).to_string()
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

    /// How it is mounted again: by its line of /etc/fstab, or with these options where it has none.
    fn again(&self, options: &Options) -> Again<'_> {
        let point = self.entry.point.as_os_str().as_encoded_bytes();
        let command = match self.typed {
            Some(_) => format!("mount {}", shell(point)),
            None => options.command(&self.entry.source, point),
        };
        Again { point: &self.entry.point, command: Some(command), place: &self.place }
    }

    /// The commands that mount it anew, with what else of it lies below; most options cannot be changed by a remount (nfs(5)).
    fn mount_anew(&self, options: &Options) -> Vec<String> {
        let within = self.further.iter().filter(|further| further.entry.point.starts_with(&self.entry.point));
        anew(std::iter::once(self.again(options)).chain(within.map(Further::again)).collect())
    }

    /// The version that it is to have: its own, and NFSv3 for what is older.
    pub fn spoken(&self) -> &str {
        if self.is_v4() { self.version() } else { "3" }
    }

    /// What was asked for when it was mounted.
    pub fn options(&self) -> Options {
        Options::of(&self.entry, self.typed.as_ref())
    }

    /// With the connections that are advised; only TCP has them. nfs(5) speaks of transports "such as TCP", and Linux before 6.9 does not
    /// look at nconnect over RDMA.
    pub fn connected(&self, options: Options) -> Options {
        if self.is_tcp() { options.with(&format!("nconnect={NCONNECT}")) } else { options }
    }

    /// The line of /etc/fstab with these options.
    pub fn line(&self, options: &Options) -> String {
        options.line(&self.entry, self.typed.as_ref())
    }

    /// That line, and the commands that use it.
    pub fn fix(&self, options: &Options) -> Vec<String> {
        std::iter::once(self.line(options)).chain(self.mount_anew(options)).collect()
    }

    /// The command that mounts `source` beside it, as it is mounted; over TCP where it goes over UDP.
    pub fn beside(&self, source: &[u8], point: &[u8], is_shared: bool) -> String {
        // A new mount has no sizes to keep, on the largest of which client and server agree, and need not give up as this one may.
        let own = ["rsize", "wsize", "soft", "softerr", "timeo", "retrans"];
        let options = self.options().guarded(&self.entry).without(&own).version(self.spoken());
        let mut options = self.connected(options);
        if self.entry.option("proto").is_some_and(|proto| proto.starts_with("udp")) {
            options = options.over_tcp().with(&format!("nconnect={NCONNECT}"));
        }
        if source != self.entry.source {
            // They name the one server whose mount daemon was to be asked.
            options = options.without(&["mountaddr", "mounthost"]);
        }
        if !is_shared {
            options = options.without(&["sharecache"]).with("nosharecache");
        }
        format!("mkdir -p {} && {}", shell(point), options.command(source, point))
    }

    /// Tells which of its further mounts show a directory of another one. The kernel names that directory in the source, as if it were
    /// an export; /etc/fstab knows better where it has the mount.
    fn tell_parts(&mut self) {
        let paths: Vec<Vec<u8>> = std::iter::once(&self.export)
            .chain(self.further.iter().map(|f| &f.export))
            .map(|e| e.path.clone())
            .collect();
        for further in &mut self.further {
            let is_below =
                paths.iter().any(|path| below(&further.export.path, path).is_some_and(|way| !way.is_empty()));
            further.is_part |= is_below && further.typed.is_none();
        }
    }
}

fn mean(ms: u64, calls: u64) -> Option<Duration> {
    // The sum is told in whole milliseconds: of zero nothing can be said.
    (calls >= ANSWERS_MIN && ms > 0).then(|| Duration::from_secs_f64(ms as f64 / calls as f64 / 1e3))
}

/// A path as people read it.
pub fn shown(path: &Path) -> String {
    crate::base::name::Printable(path.as_os_str().as_encoded_bytes()).to_string()
}

/// The address that this text is, if it is no name.
fn address(text: &str) -> Option<IpAddr> {
    text.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Is this text an address, and no name?
pub fn is_address(text: &str) -> bool {
    address(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_is_unmounted_first_and_mounted_last() {
        let of = |mounts: &[&'static str], within: &[&str], is_crossed: bool| {
            let place = Place { within: within.iter().map(PathBuf::from).collect(), is_crossed };
            let command = |point: &str| Some(format!("mount {}", shell(point.as_bytes())));
            let again =
                |point: &&'static str| Again { point: Path::new(*point), command: command(point), place: &place };
            anew(mounts.iter().map(again).collect())
        };
        assert_eq!(
            of(&["/a", "/a/b/c", "/d"], &[], false),
            [
                "umount /a/b/c /a /d",
                "mountpoint -q /a || mount /a",
                "mountpoint -q /d || mount /d",
                "mountpoint -q /a/b/c || mount /a/b/c"
            ]
        );
        let has_words = |words: Vec<String>| words.iter().all(|line| line.starts_with("# By hand"));
        assert!(has_words(of(&["/"], &[], false)) && has_words(of(&["/a"], &["/a/disk"], false)));
        assert!(has_words(of(&["/a"], &["/a"], false)) && has_words(of(&["/a"], &[], true)));
        assert_eq!(of(&["/a[b]"], &[], false), ["umount '/a[b]' && mount '/a[b]'"]);
    }

    #[test]
    fn bind_mounts_of_directories_are_told_by_their_root() {
        let table = b"1 0 0:5 / /m rw - nfs h:/a rw\n2 1 0:5 /x /b rw - nfs h:/a rw\n3 1\n\nx 1 0:5 /x\n";
        assert_eq!(bound(table), HashSet::from([2]));
    }

    #[test]
    fn the_file_systems_number_is_found_by_device() {
        let volumes = "NV SERVER   PORT DEV          FSID                              FSC\n\
            v3 0a000005  801 0:52         9f3c01e24:0                       no \n\
            v3 0a000006  801 0:53         0:0                               no \n\
            v3 short\n";
        let of = |device| fsids(volumes).get(device).copied();
        assert_eq!((of("0:52"), of("0:53"), of("0:5")), (Some("9f3c01e24:0"), None, None));
        assert!(fsids("").is_empty());
    }
}
