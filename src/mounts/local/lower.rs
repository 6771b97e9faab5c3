//! What a call costs on a kernel's NFSv3 mount: the procedures that Linux's client sends for the system calls that this
//! mount makes of it. What plans count with, and what the mount says it has issued.
//!
//! The numbers are from /proc/self/mountstats on Linux 6.12 (and 6.1 where it differs) with one mount, caches dropped before each
//! job, as tests/kernel/run repeats it. Other versions are taken for the nearest. Left out: NFSACL's calls (one for each
//! directory that something is made in, on mounts without noacl), which mountstats does not list; what other programs' changes
//! make the client ask again (those of the run's other mounts come with the call); READs ahead.

use crate::base::{Proc, Status};
use crate::storage::{AttrChange, Beyond, Call, Errand, Found, How, Kind, Node, Op, SetTime, Tally};

use super::peers::mountinfo::Table;

/// Linux from here on opens a new file on NFSv3 by CREATE alone (nfs_atomic_open_v23). Before, LOOKUP goes first, so that
/// O_EXCL, which is CREATE and SETATTR, costs no more.
const CREATE_ALONE_SINCE: (u32, u32) = (6, 10);

/// A kernel's client of one NFSv3 mount.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// The kernel's version.
    release: (u32, u32),
    /// The largest READ and WRITE.
    read_max: u64,
    write_max: u64,
    /// What new objects belong to.
    owner: (u32, u32),
    /// Opening what is there asks for its attributes (close-to-open), unless the mount says `nocto`.
    asks_on_opening: bool,
}

/// Where nothing is said of them: the most that Linux sends.
const PAYLOAD_MAX: u64 = 1 << 20;

/// The kernel's version; 0.0 where it does not say.
fn release() -> (u32, u32) {
    let uname = rustix::system::uname();
    let text = uname.release().to_string_lossy();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

impl Client {
    /// The client behind the file system of this device number, when that is an NFSv3 mount; those of NFSv4 have a type of their
    /// own.
    pub fn of(device: u64) -> Option<Client> {
        let table = Table::read().ok()?;
        let (entry, _) = table.nfs().find(|(entry, _)| entry.fs == "nfs" && entry.device_number() == device)?;
        let max = |name| entry.option(name).and_then(|bytes| bytes.parse().ok()).filter(|&bytes: &u64| bytes > 0);
        Some(Client {
            release: release(),
            read_max: max("rsize").unwrap_or(PAYLOAD_MAX),
            write_max: max("wsize").unwrap_or(PAYLOAD_MAX),
            owner: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
            asks_on_opening: !entry.has("nocto"),
        })
    }

    /// True where opening a directory to list it asks for its attributes, so that the listing is of now.
    pub fn asks_on_opening(&self) -> bool {
        self.asks_on_opening
    }

    /// True where a file that need not be proved new costs a procedure less than one made with O_EXCL.
    pub fn creates_alone(&self) -> bool {
        self.release >= CREATE_ALONE_SINCE
    }

    /// The procedures of a call: of one that was carried out, as far as its outcome tells; else of one that succeeds. `fresh` says
    /// that its directory, or the directory it is about, is one that this process made, or what it looks for, which may be open as well; of
    /// READ and LINK, that the client has in memory what it asks for (`remembered`).
    pub fn lower(&self, call: &Call<'_>, fresh: bool) -> Tally {
        let mut tally = call.anew.tally();
        let ok = matches!(call.status(), Ok(()) | Err(Status::Pending));
        let mut add = |proc: Proc, times: u64| (0..times).for_each(|_| tally.count(proc, 0, false));
        match &call.op {
            Op::Null { .. } => {}
            Op::Beyond(beyond) => self.beyond(beyond, ok).into_iter().for_each(|(proc, times)| add(proc, times)),
            // Whatever the client remembers, the mount has it ask (AT_STATX_FORCE_SYNC).
            Op::GetAttr { .. } | Op::FsInfo { .. } | Op::PathConf { .. } => add(Proc::GetAttr, 1),
            Op::Read { node, offset, count, buf, out, .. } => {
                let asks = ok && !is_again(node, *offset, out.is_ok());
                if *offset == 0 {
                    self.opening(node, Errand::Read, asks).into_iter().for_each(|(proc, times)| add(proc, times));
                }
                let bytes = if out.is_ok() { buf.len() as u64 } else { u64::from(*count) };
                parts(&mut tally, Proc::Read, if asks && !fresh { bytes } else { 0 }, self.read_max);
            }
            Op::Write { node, offset, data, .. } => {
                if *offset == 0 && is_opened(node, Errand::Written) {
                    self.opening(node, Errand::Written, ok).into_iter().for_each(|(proc, times)| add(proc, times));
                }
                parts(&mut tally, Proc::Write, data.len() as u64, self.write_max);
            }
            Op::Create { how, change, .. } => {
                add(Proc::Create, 1);
                let settings = match how {
                    How::Guarded if fresh && self.creates_alone() && !has_set_id(change) => self.due(change),
                    How::Guarded => 1 + self.due(change),
                    How::Exclusive(_) => 2,
                    How::Unchecked => self.due(change),
                };
                add(Proc::SetAttr, if ok { settings } else { 0 });
            }
            Op::MkDir { change, .. } => {
                add(Proc::MkDir, 1);
                // The mount asks right away whether something may be made in it.
                add(Proc::Access, u64::from(ok));
                // mkdir(2) takes no set-id bits.
                let bits = u64::from(has_set_id(change));
                add(Proc::SetAttr, if ok { self.due(change) + bits } else { 0 });
            }
            Op::Symlink { change, .. } | Op::MkNod { change, .. } => {
                add(call.proc(), 1);
                add(Proc::SetAttr, if ok { self.due(change) } else { 0 });
            }
            Op::Link { .. } => {
                add(Proc::Link, 1);
                // Whether the file may be written to (may_linkat): again after each LINK that changed its count of names.
                add(Proc::Access, u64::from(ok || !fresh));
            }
            Op::SetAttr { node, change, .. } => {
                if change.size.is_some() && is_opened(node, Errand::Sized) {
                    self.opening(node, Errand::Sized, ok).into_iter().for_each(|(proc, times)| add(proc, times));
                }
                add(Proc::SetAttr, settings(change, fresh));
            }
            Op::ReadDir { dir, from, .. } => {
                if from.position == 0 {
                    // That of opening (close-to-open), or the mount's own, so that the listing is of now.
                    add(Proc::GetAttr, 1);
                    add(Proc::Access, u64::from(is_asked(dir, Errand::Listed)));
                }
                // The first page comes with attributes whatever is asked for.
                add(if from.position == 0 { Proc::ReadDirPlus } else { call.proc() }, 1);
            }
            Op::Commit { .. } => {
                add(Proc::Commit, 1);
                add(Proc::GetAttr, 1); // the file was opened for what is committed
            }
            Op::Lookup { out, .. } => {
                // A name that this client has made, or holds open, it knows (nfs_do_lookup_revalidate).
                add(Proc::Lookup, u64::from(!(fresh && out.is_ok())));
                // The first to look into a directory asks whether it may (nfs_permission).
                add(Proc::Access, u64::from(!fresh && out.as_ref().is_ok_and(is_entered)));
            }
            Op::Access { .. } | Op::ReadLink { .. } | Op::Remove { .. } | Op::RmDir { .. } => add(call.proc(), 1),
            Op::Rename { .. } | Op::FsStat { .. } => add(call.proc(), 1),
        }
        tally
    }

    /// For IO_ADVISE a file that is not open is opened; nothing else that NFSv3 lacks sends anything.
    fn beyond(&self, beyond: &Beyond<'_>, ok: bool) -> [(Proc, u64); 2] {
        match beyond {
            Beyond::IoAdvise { node: node @ Node::Chain(chain), .. } if !chain.was_opened() => {
                self.opening(node, Errand::Advised, ok)
            }
            _ => [(Proc::GetAttr, 0), (Proc::Access, 0)],
        }
    }

    /// What opening a file asks: its attributes (close-to-open, nfs_lookup_verify_inode), and, once for each object, whether it may be
    /// read or written, which is one question (nfs_do_access).
    fn opening(&self, node: &Node, by: Errand, ok: bool) -> [(Proc, u64); 2] {
        let asks = u64::from(self.asks_on_opening);
        [(Proc::GetAttr, asks), (Proc::Access, u64::from(ok && is_asked(node, by)))]
    }

    /// The SETATTRs that give a new object what making it could not: its owner, its times, its size.
    fn due(&self, change: &AttrChange) -> u64 {
        let gives =
            change.uid.is_some_and(|uid| uid != self.owner.0) || change.gid.is_some_and(|gid| gid != self.owner.1);
        // chown takes set-id bits off.
        let bits = gives && has_set_id(change);
        let size = change.size.is_some_and(|size| size != 0);
        [gives, bits, size, has_times(change)].into_iter().map(u64::from).sum()
    }
}

/// The SETATTRs of one that is asked for: one for each system call. A directory of ours has the mode that it was made with.
fn settings(change: &AttrChange, fresh: bool) -> u64 {
    let owner = change.uid.or(change.gid).is_some();
    let mode = change.mode.is_some() && (owner || !fresh);
    [owner, mode, change.size.is_some(), has_times(change)].into_iter().map(u64::from).sum()
}

fn has_times(change: &AttrChange) -> bool {
    change.atime != SetTime::Keep || change.mtime != SetTime::Keep
}

fn has_set_id(change: &AttrChange) -> bool {
    change.mode.is_some_and(|mode| mode & 0o7000 != 0)
}

/// The requests that carry `bytes`.
fn parts(tally: &mut Tally, proc: Proc, bytes: u64, max: u64) {
    let mut left = bytes;
    while left > 0 {
        let part = left.min(max);
        tally.count(proc, part, false);
        left -= part;
    }
}

/// Is the node one that this process made, as far as that is known? A node of no mount is one that a rehearsal imagines.
pub(super) fn is_fresh(node: &Node) -> bool {
    match node {
        Node::Chain(chain) => chain.fresh.load(std::sync::atomic::Ordering::Relaxed),
        Node::Handle(_) => true,
    }
}

/// Is what a LOOKUP has found known to be of this process's making, by its directory or itself?
pub(super) fn is_ours(lookup: &Call<'_>) -> bool {
    let Op::Lookup { dir, out, .. } = &lookup.op else { return false };
    is_fresh(dir) || out.as_ref().is_ok_and(|found| matches!(found.node, Node::Handle(_)))
}

/// Does this have the client ask whether the object may be used? Of what a rehearsal has made that is one for files that are read.
fn is_asked(node: &Node, by: Errand) -> bool {
    match node {
        Node::Chain(chain) => chain.is_first_asked(by),
        Node::Handle(_) => by == Errand::Read,
    }
}

/// Is a file read that the client has read before? It keeps that, as long as opening the file shows it to be what it was.
fn is_again(node: &Node, offset: u64, done: bool) -> bool {
    offset == 0 && matches!(node, Node::Chain(chain) if chain.was_whole(done))
}

/// Was a directory found that nobody has looked into?
fn is_entered(found: &Found) -> bool {
    found.attr.is_some_and(|attr| attr.kind == Kind::Dir) && is_asked(&found.node, Errand::Found)
}

/// Does this open a file to be written? What was made is open.
fn is_opened(node: &Node, by: Errand) -> bool {
    match node {
        Node::Chain(chain) => chain.is_first_opened(by),
        Node::Handle(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::LocalMount;
    use super::super::convert::attr;
    use super::*;
    use crate::base::{Name, Time};
    use crate::storage::{Attr, Cookie, Handle, Mount, Special, Stable, Want};

    const NEW: Client =
        Client { release: (6, 12), read_max: 1 << 20, write_max: 64 << 10, owner: (0, 0), asks_on_opening: true };
    const OLD: Client = Client { release: (6, 1), ..NEW };

    fn named(call: &Call<'_>, client: &Client, fresh: bool) -> Vec<(&'static str, u64, u64)> {
        client.lower(call, fresh).iter().map(|(proc, count)| (proc.name(), count.calls, count.bytes)).collect()
    }

    fn node() -> Node {
        Node::root_chain(0)
    }

    fn name() -> Name {
        Name::new(b"n").unwrap()
    }

    /// A file that this process made.
    fn made() -> Node {
        let node = node();
        let Node::Chain(chain) = &node else { unreachable!() };
        chain.is_first_opened(Errand::Made);
        node
    }

    /// What a rehearsal has made.
    fn imagined() -> Node {
        Node::Handle(Handle::new(b"x").unwrap())
    }

    fn found(dir: &Node, node: &Node, kind: Kind) -> Call<'static> {
        let mut call = Call::lookup(dir, &name());
        if let Op::Lookup { out, .. } = &mut call.op {
            let any = attr(&rustix::fs::stat(".").unwrap());
            *out = Ok(Found { node: node.clone(), attr: Some(Attr { kind, ..any }) });
        }
        call
    }

    fn change() -> AttrChange {
        AttrChange { mode: Some(0o644), uid: Some(0), gid: Some(0), ..AttrChange::default() }
    }

    #[test]
    fn a_small_file_costs_three_procedures_to_make_and_three_to_read() {
        let create = Call::create(&node(), &name(), How::Guarded, change());
        assert_eq!(named(&create, &NEW, true), [("CREATE", 1, 0)]);
        for (client, fresh) in [(NEW, false), (OLD, true)] {
            assert_eq!(named(&create, &client, fresh), [("SETATTR", 1, 0), ("CREATE", 1, 0)]);
        }
        let given = AttrChange { uid: Some(7), mode: Some(0o4755), ..change() };
        let create = Call::create(&node(), &name(), How::Guarded, given);
        assert_eq!(named(&create, &NEW, true), [("SETATTR", 3, 0), ("CREATE", 1, 0)]);
        let file = made();
        let write = Call::write(&file, 0, &[0; 5000], Stable::FileSync);
        assert_eq!(named(&write, &NEW, true), [("WRITE", 1, 5000)]);
        let time = AttrChange { mtime: SetTime::At(Time::default()), ..AttrChange::default() };
        assert_eq!(named(&Call::set_attr(&node(), time), &NEW, true), [("SETATTR", 1, 0)]);
        let read = Call::read(&node(), 0, 5000, Vec::new());
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0), ("ACCESS", 1, 0), ("READ", 1, 5000)]);
    }

    #[test]
    fn what_was_carried_out_costs_what_its_outcome_tells() {
        let mut create = Call::create(&node(), &name(), How::Guarded, change());
        create.fail(Status::Exist);
        assert_eq!(named(&create, &NEW, false), [("CREATE", 1, 0)]);
        let mut read = Call::read(&node(), 0, 5000, Vec::new());
        if let Op::Read { buf, out, .. } = &mut read.op {
            (*buf, *out) = (vec![0; 7], Ok(true));
        }
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0), ("ACCESS", 1, 0), ("READ", 1, 7)]);
        read.fail(Status::Access);
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0)]);
    }

    #[test]
    fn large_payloads_are_cut_as_the_mount_says() {
        let data = vec![0; 150 << 10];
        let write = Call::write(&node(), 0, &data, Stable::Unstable);
        let tally = NEW.lower(&write, false).get(Proc::Write);
        assert_eq!((tally.calls, tally.bytes, tally.blocks_extra), (3, 150 << 10, 1 + 1));
        let read = Call::read(&node(), 1 << 20, 1 << 20, Vec::new());
        assert_eq!(named(&read, &NEW, false), [("READ", 1, 1 << 20)]);
    }

    #[test]
    fn directories_and_the_rest() {
        let mkdir = Call::mkdir(&node(), &name(), AttrChange { mode: Some(0o755), ..AttrChange::default() });
        assert_eq!(named(&mkdir, &NEW, false), [("ACCESS", 1, 0), ("MKDIR", 1, 0)]);
        let last = AttrChange { mode: Some(0o755), mtime: SetTime::Now, ..AttrChange::default() };
        assert_eq!(named(&Call::set_attr(&node(), last), &NEW, true), [("SETATTR", 1, 0)]);
        assert_eq!(named(&Call::set_attr(&node(), last), &NEW, false), [("SETATTR", 2, 0)]);
        let page = |position, want| Call::read_dir(&node(), Cookie { position, ..Cookie::default() }, want, 4096);
        let first = [("GETATTR", 1, 0), ("ACCESS", 1, 0), ("READDIRPLUS", 1, 0)];
        assert_eq!(named(&page(0, Want::Names), &NEW, false), first);
        assert_eq!(named(&page(9, Want::Names), &NEW, false), [("READDIR", 1, 0)]);
        assert_eq!(named(&page(9, Want::Types), &NEW, false), [("READDIRPLUS", 1, 0)]);
        assert_eq!(named(&Call::remove(&node(), &name()), &NEW, false), [("REMOVE", 1, 0)]);
        let fifo = Call::mknod(&node(), &name(), Special::Fifo, change());
        assert_eq!(named(&fifo, &NEW, false), [("MKNOD", 1, 0)]);
        let mut link = Call::link(&node(), &node(), &name());
        assert_eq!(named(&link, &NEW, false), [("ACCESS", 1, 0), ("LINK", 1, 0)]);
        link.fail(Status::Exist);
        assert_eq!(named(&link, &NEW, false), [("ACCESS", 1, 0), ("LINK", 1, 0)]);
        assert_eq!(named(&link, &NEW, true), [("LINK", 1, 0)]);
        assert_eq!(named(&Call::get_attr(&node()), &NEW, false), [("GETATTR", 1, 0)]);
        assert!(Client::of(u64::MAX).is_none());
    }

    #[test]
    fn a_file_that_was_there_is_opened_once_to_be_written() {
        let empty = AttrChange { size: Some(0), ..AttrChange::default() };
        let (set, write) = (
            |node: &Node| Call::set_attr(node, empty),
            |node: &Node, at| Call::write(node, at, b"data", Stable::FileSync),
        );
        // Counted before and after it is the same call.
        let cut = node();
        for _ in 0..2 {
            assert_eq!(named(&set(&cut), &NEW, false), [("GETATTR", 1, 0), ("SETATTR", 1, 0), ("ACCESS", 1, 0)]);
        }
        assert_eq!(named(&write(&cut, 0), &NEW, false), [("WRITE", 1, 4)]);
        let written = node();
        for _ in 0..2 {
            let first = [("GETATTR", 1, 0), ("ACCESS", 1, 0), ("WRITE", 1, 4)];
            assert_eq!(named(&write(&written, 0), &NEW, false), first);
        }
        assert_eq!(named(&write(&written, 4), &NEW, false), [("WRITE", 1, 4)]);
        assert_eq!(named(&set(&written), &NEW, false), [("SETATTR", 1, 0)]);
        // What may be done with it was asked when it was read.
        let compared = node();
        named(&Call::read(&compared, 0, 9, Vec::new()), &NEW, false);
        assert_eq!(named(&write(&compared, 0), &NEW, false), [("GETATTR", 1, 0), ("WRITE", 1, 4)]);
        for ours in [made(), imagined()] {
            assert_eq!(named(&set(&ours), &NEW, false), [("SETATTR", 1, 0)]);
            assert_eq!(named(&write(&ours, 0), &NEW, false), [("WRITE", 1, 4)]);
            let read = Call::read(&ours, 0, 9, Vec::new());
            assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0), ("ACCESS", 1, 0), ("READ", 1, 9)]);
        }
        // What it has read it has in memory the second time, until it is to forget it.
        let Node::Chain(chain) = &compared else { unreachable!() };
        let mut read = Call::read(&compared, 0, 9, Vec::new());
        chain.note_whole();
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0)]);
        if let Op::Read { buf, out, .. } = &mut read.op {
            (*buf, *out) = (vec![0; 9], Ok(true));
        }
        // Counted after it: that was the first.
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0), ("ACCESS", 1, 0), ("READ", 1, 9)]);
        chain.note_whole();
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0)]);
        chain.forget_whole();
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0), ("ACCESS", 1, 0), ("READ", 1, 9)]);
        // By another name it may be opened at once, and its data is there.
        assert_eq!(named(&Call::read(&node(), 0, 9, Vec::new()), &NEW, true), [("GETATTR", 1, 0), ("ACCESS", 1, 0)]);
        // Before it is compared the client forgets what it has of it, for which it is opened as well.
        let verified = node();
        let advise = Call::io_advise(&verified);
        assert_eq!(named(&advise, &NEW, false), [("GETATTR", 1, 0), ("ACCESS", 1, 0)]);
        let read = Call::read(&verified, 0, 9, Vec::new());
        assert_eq!(named(&read, &NEW, false), [("GETATTR", 1, 0), ("READ", 1, 9)]);
        assert_eq!(named(&Call::io_advise(&made()), &NEW, false), []);
        assert_eq!(named(&Call::io_advise(&imagined()), &NEW, false), []);
        let without = Client { asks_on_opening: false, ..NEW };
        assert_eq!(named(&write(&node(), 0), &without, false), [("ACCESS", 1, 0), ("WRITE", 1, 4)]);
    }

    #[test]
    fn whether_a_directory_may_be_entered_is_asked_once() {
        let (dir, up) = (node(), node());
        for _ in 0..2 {
            assert_eq!(named(&found(&up, &dir, Kind::Dir), &NEW, false), [("LOOKUP", 1, 0), ("ACCESS", 1, 0)]);
        }
        let list = Call::read_dir(&dir, Cookie::default(), Want::Types, 4096);
        assert_eq!(named(&list, &NEW, false), [("GETATTR", 1, 0), ("READDIRPLUS", 1, 0)]);
        assert_eq!(named(&found(&up, &node(), Kind::File), &NEW, false), [("LOOKUP", 1, 0)]);
    }

    #[test]
    fn a_name_that_this_process_made_is_looked_up_in_the_client_s_memory() {
        let ours = found(&imagined(), &node(), Kind::File);
        assert!(is_ours(&ours) && is_ours(&found(&node(), &imagined(), Kind::File)));
        assert!(!is_ours(&found(&node(), &node(), Kind::File)));
        assert_eq!(named(&ours, &NEW, true), []);
        let mut none = Call::lookup(&imagined(), &name());
        none.fail(Status::NoEnt);
        assert_eq!(named(&none, &NEW, true), [("LOOKUP", 1, 0)]);
    }

    #[test]
    fn what_mounts_beside_each_other_ask_anew_is_in_what_they_issued() {
        let place = tempfile::tempdir().unwrap();
        let mut one = LocalMount::open(place.path()).unwrap();
        let mut other = one.beside(std::fs::File::open(place.path()).unwrap().into(), place.path()).unwrap();
        (one.client, other.client) = (Some(NEW), Some(NEW));
        let name = |text: &str| Name::new(text.as_bytes()).unwrap();
        let issued = |mount: &LocalMount| {
            let tally = mount.issued().unwrap();
            [Proc::Lookup, Proc::Access].map(|proc| tally.get(proc).calls)
        };
        let create = |mount: &LocalMount, text: &str| {
            let call = Call::create(&mount.root(), &name(text), How::Guarded, change());
            mount.perform(&mut [call]);
        };
        ["a", "b"].iter().for_each(|text| create(&one, text));
        assert_eq!(issued(&one), [0, 0]);
        // The directory is new to the other mount; then each notices what the other changed.
        ["c", "d"].iter().for_each(|text| create(&other, text));
        assert_eq!(issued(&other), [1, 1]);
        create(&one, "e");
        assert_eq!(issued(&one), [0, 1]);
        let mut removes = ["a", "b"].map(|text| Call::remove(&one.root(), &name(text)));
        one.perform(&mut removes);
        assert!(removes.iter().all(|call| call.status().is_ok()));
        assert_eq!(issued(&one), [2, 1]);
        // Who counts a call later has the same.
        assert_eq!(one.lower(&removes[0]).get(Proc::Lookup).calls, 1);
    }
}
