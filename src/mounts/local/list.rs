//! READDIR and READDIRPLUS: pages of getdents64, whose positions are the cookies.
//!
//! A listing that goes on where it stopped reads on without seeking: on file systems that count entries (tmpfs before
//! Linux 6.6) a seek after entries were removed would skip others.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, StatxFlags, statat, statx, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use crate::base::name::is_silly;
use crate::base::{Name, Status};
use crate::storage::{Attr, Chain, Cookie, DotDot, Entry, Kind, Node, Out, Page, Want};

use super::super::page::Room;
use super::LocalMount;
use super::convert::{ITSELF, attr, kind_of, status};
use super::descriptors::{Held, Use};

/// Bytes asked of getdents64 at once: twice glibc's, so that a page of a kernel NFS mount is few calls.
const GETDENTS_BYTES: usize = 64 << 10;

/// Entries looked at for each getdents64 so that an NFS client asks for the next ones with their attributes: more than 8
/// (NFS_READDIR_CACHE_USAGE_THRESHOLD, Linux 5.18 on; one is enough before). Without, it goes on with READDIR, and each REMOVE would
/// be preceded by a LOOKUP, both under the directory's lock.
const LOOKED_AT: usize = 12;

thread_local! {
    /// What getdents64 writes into, kept for as long as the thread lives: memory that is in the processor's cache from the directory before.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Names for which there is room at once: what most directories have.
const AHEAD_USUAL: usize = 32;

/// How long CLEAR removes at most, so that a run can be stopped: large files, or a file system that asks a server, take milliseconds
/// each. Looked at after as many as removal has in a window; a page of some 330 takes tmpfs 1 to 2 ms.
const CLEAR_MAX: Duration = Duration::from_millis(10);
const CLEAR_LOOKS: u64 = 32;

/// A name read ahead.
struct Ahead {
    name: Name,
    fileid: u64,
    /// Where to go on after it.
    position: u64,
    /// The type, from file systems that keep it in the directory.
    kind: Option<Kind>,
}

/// A directory that is being listed.
#[derive(Default)]
pub(super) struct Listing {
    /// Read from the kernel, not yet returned.
    ahead: VecDeque<Ahead>,
    /// The position after the last entry returned.
    at: u64,
    /// The kernel has no more.
    end: bool,
    /// The kernel was asked for some.
    begun: bool,
    /// Its `..`, where the kernel listed it since the start.
    above: Option<DotDot>,
}

impl Listing {
    fn go(&mut self, fd: &OwnedFd, position: u64) -> Result<(), Status> {
        // Position 0 is always read anew: what was read ahead may be old.
        if position != self.at || (position == 0 && self.begun) {
            rustix::fs::seek(fd, SeekFrom::Start(position)).map_err(status)?;
            self.ahead.clear();
            (self.at, self.end) = (position, false);
        }
        Ok(())
    }

    /// The next entry, not taken yet; none at the end.
    fn peek(&mut self, fd: &OwnedFd, look: bool) -> Result<Option<&Ahead>, Status> {
        while self.ahead.is_empty() && !self.end {
            self.fill(fd, |_, _| false)?;
            if look {
                self.look(fd);
            }
        }
        Ok(self.ahead.front())
    }

    /// Reads what one getdents64 brings, less what is `done` with: said by its name and its type, if that is known.
    fn fill(&mut self, fd: &OwnedFd, done: impl FnMut(&CStr, Option<Kind>) -> bool) -> Result<(), Status> {
        self.begun = true;
        BUFFER.with_borrow_mut(|buf| {
            buf.reserve(GETDENTS_BYTES);
            self.fill_from(RawDir::new(fd, &mut buf.spare_capacity_mut()[..GETDENTS_BYTES]), done)
        })
    }

    fn fill_from(
        &mut self,
        mut dir: RawDir<'_, &OwnedFd>,
        mut done: impl FnMut(&CStr, Option<Kind>) -> bool,
    ) -> Result<(), Status> {
        loop {
            match dir.next() {
                None => {
                    self.end = true;
                    return Ok(());
                }
                Some(Err(Errno::INTR)) => continue,
                // Linux: a directory that was removed while it was open.
                Some(Err(Errno::NOENT)) => {
                    self.end = true;
                    return Ok(());
                }
                Some(Err(errno)) => return Err(status(errno)),
                Some(Ok(entry)) => {
                    let (name, position) = (entry.file_name(), entry.next_entry_cookie());
                    let kind = match entry.file_type() {
                        FileType::Unknown => None,
                        kind => Some(kind_of(kind)),
                    };
                    if name.to_bytes() == b".." {
                        self.above = Some(DotDot { fileid: entry.ino(), position });
                    } else if name.to_bytes() == b"." {
                    } else if done(name, kind) {
                        self.passed(position);
                    } else {
                        // The kernel lets no such name through; a broken file system under FUSE might.
                        let name = Name::new(name.to_bytes()).map_err(|_| Status::Io)?;
                        if self.ahead.is_empty() {
                            self.ahead.reserve(AHEAD_USUAL);
                        }
                        self.ahead.push_back(Ahead { name, fileid: entry.ino(), position, kind });
                    }
                }
            }
            if dir.is_buffer_empty() {
                return Ok(());
            }
        }
    }

    /// Looks at some of what was read, in the kernel's own memory.
    fn look(&self, fd: &OwnedFd) {
        let flags = ITSELF | AtFlags::STATX_DONT_SYNC;
        for ahead in self.ahead.iter().take(LOOKED_AT) {
            let _known = statx(fd, ahead.name.as_bytes(), flags, StatxFlags::TYPE);
        }
    }

    /// An entry was dealt with at once. Where others wait before it, they are where the listing goes on.
    fn passed(&mut self, position: u64) {
        if self.ahead.is_empty() {
            self.at = position;
        }
    }

    fn take(&mut self) -> Option<Ahead> {
        let ahead = self.ahead.pop_front()?;
        self.at = ahead.position;
        Some(ahead)
    }
}

impl LocalMount {
    pub(super) fn read_dir(&self, dir: &Node, from: Cookie, want: Want, bytes_max: u32) -> Out<Page> {
        let chain = self.chain(dir)?;
        let listed = self.listing(chain)?;
        let Held::List(fd, listing) = &*listed else { return Err(Status::ServerFault) };
        let mut listing = listing.lock().unwrap_or_else(PoisonError::into_inner);
        listing.go(fd, from.position)?;
        let mut room = Room::new(want, bytes_max.min(self.limits.list_max));
        // Who wants attributes looks at each entry.
        let look = self.nfs && want == Want::Types;
        listing.peek(fd, look)?;
        let entries = Vec::with_capacity(room.entries().min(listing.ahead.len()));
        let above = listing.above.take().filter(|_| from.position == 0);
        let mut page = Page { above, entries, next: from, end: false };
        loop {
            let Some(ahead) = listing.peek(fd, look)? else {
                page.end = true;
                break;
            };
            if !room.take(ahead.name.as_bytes()) {
                break;
            }
            let Some(ahead) = listing.take() else { break };
            page.next = Cookie { position: ahead.position, ..from };
            if let Some(entry) = entry(self, chain, fd, ahead, want) {
                page.entries.push(entry);
            }
        }
        let full = page.entries.is_empty() && !page.end && page.next == from;
        self.listed(chain, fd, &mut listing, page.end);
        if full { Err(Status::TooSmall) } else { Ok(page) }
    }

    /// CLEAR: the first page as `read_dir` would part it, less what is removed at once, from the kernel's buffer.
    pub(super) fn clear(&self, dir: &Node, bytes_max: u32, gone: &mut u64) -> Out<Page> {
        let chain = self.chain(dir)?;
        let listed = self.listing(chain)?;
        let Held::List(fd, listing) = &*listed else { return Err(Status::ServerFault) };
        let mut listing = listing.lock().unwrap_or_else(PoisonError::into_inner);
        listing.go(fd, 0)?;
        let mut room = Room::new(Want::Types, bytes_max.min(self.limits.list_max));
        // Open files are closed before they go, which needs their names; what failed once is not tried with all the others.
        let mut stuck = self.descriptors.has_files();
        let start = Instant::now();
        let (mut left, mut full) = (0, false);
        while !full && !listing.end {
            listing.fill(fd, |name, kind| {
                full = full || !room.take(name.to_bytes());
                let goes =
                    !full && !stuck && kind.is_some_and(|kind| kind != Kind::Dir) && goes_unseen(name.to_bytes());
                let done = goes && retry_on_intr(|| unlinkat(fd, name, AtFlags::empty())).is_ok();
                *gone += u64::from(done);
                let late = done && gone.is_multiple_of(CLEAR_LOOKS) && start.elapsed() > CLEAR_MAX;
                stuck |= goes && !done || late;
                left += usize::from(!full && !done);
                done
            })?;
        }
        let mut entries = Vec::with_capacity(left);
        let taken = (0..left).map_while(|_| listing.take());
        entries.extend(taken.filter_map(|ahead| entry(self, chain, fd, ahead, Want::Types)));
        self.listed(chain, fd, &mut listing, !full);
        if full && left == 0 && *gone == 0 {
            return Err(Status::TooSmall);
        }
        Ok(Page { above: None, entries, next: Cookie { position: listing.at, ..Cookie::default() }, end: !full })
    }

    /// A page was read: the last one, or one of several.
    fn listed(&self, chain: &Arc<Chain>, fd: &OwnedFd, listing: &mut Listing, ended: bool) {
        match ended {
            true => self.unlist(chain, listing),
            false => self.keep_beside(chain, fd),
        }
    }

    fn listing(&self, chain: &Arc<Chain>) -> Result<Arc<Held>, Status> {
        if let Some(held) = self.descriptors.get(chain, Use::List) {
            return Ok(held);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = match &chain.parent {
            // What lists a directory serves as the directory itself: an opening less. An NFS client is asked by `.` (view.rs).
            Some((parent, name)) if !self.nfs && self.descriptors.get(chain, Use::Dir).is_none() => {
                let up = self.dir(self.chain(parent)?)?;
                self.open_at(up.fd(), name.as_bytes(), flags, Mode::empty())
            }
            _ => self.open_at(self.dir(chain)?.fd(), b".", flags, Mode::empty()),
        };
        let fd = fd.map_err(status)?;
        if self.number(&fd).map_err(status)?.is_some_and(|number| !chain.enter(number)) {
            return Err(Status::Stale);
        }
        Ok(self.descriptors.keep(chain, Use::List, Held::List(fd, Mutex::default())))
    }

    /// The directory's descriptor, if one is open. Lanes that are in the directory go on in it, whatever becomes of its name.
    pub(super) fn open_dir(&self, chain: &Chain) -> Option<Arc<Held>> {
        self.descriptors.get_any(chain, if self.nfs { &[Use::Dir] } else { &[Use::Dir, Use::List] })
    }

    /// A directory of several pages gets a descriptor beside the one that lists it: what the kernel holds for a large listing
    /// (overlayfs: all names) is to be let go of at its end, and the directory is not.
    fn keep_beside(&self, chain: &Arc<Chain>, listed: &OwnedFd) {
        if !self.nfs
            && chain.parent.is_some()
            && self.descriptors.get(chain, Use::Dir).is_none()
            // One that may be read and not searched: what is called in it says so.
            && let Ok(fd) = self.open_at(listed.as_fd(), b".", OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
        {
            self.descriptors.keep(chain, Use::Dir, Held::Dir(fd));
        }
    }

    /// A listing has ended. Where its descriptor is the directory's only one it stays.
    fn unlist(&self, chain: &Arc<Chain>, listing: &mut Listing) {
        if self.nfs || chain.parent.is_none() || self.descriptors.get(chain, Use::Dir).is_some() {
            self.descriptors.take(chain, Use::List);
        } else {
            listing.ahead = VecDeque::new(); // its room
        }
    }
}

/// May what has this name be removed without anybody's having seen it? No way elsewhere is believed of a broken file system; and who has
/// a file open is told.
fn goes_unseen(name: &[u8]) -> bool {
    !name.contains(&b'/') && !is_silly(name)
}

/// An entry, with its type or attributes if they are wanted; none when its type cannot be told, for the object is gone. For the type
/// alone the object is asked only where the directory does not know it.
fn entry(mount: &LocalMount, dir: &Arc<Chain>, fd: &OwnedFd, ahead: Ahead, want: Want) -> Option<Entry> {
    let Ahead { name, fileid, position, kind } = ahead;
    let asked: Option<Attr> = match (want, kind) {
        (Want::Names, _) | (Want::Types, Some(_)) => None,
        (Want::Types, None) | (Want::Attributes, _) => match statat(fd, name.as_bytes(), ITSELF) {
            Ok(stat) => Some(attr(&stat)),
            Err(Errno::NOENT) if want == Want::Types => return None,
            Err(_) => None, // its LOOKUP will say why, also that it is gone, which a job may have to tell
        },
    };
    let known = asked.map(|attr| attr.kind).or(kind);
    // Who asks for types wants to go on into directories; for the rest a node would be two allocations each.
    let spared = want == Want::Types && asked.is_none() && known.is_some_and(|kind| kind != Kind::Dir);
    let node = (!spared).then(|| match asked {
        Some(attr) => mount.met(dir, name.clone(), (attr.fsid, attr.fileid)),
        None => Node::child(dir, name.clone()),
    });
    let kind = known.filter(|_| want != Want::Names);
    Some(Entry { name, fileid, position, node, attr: asked, kind })
}
