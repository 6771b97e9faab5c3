//! From objects to members: names as they go into the archive, attributes as the options want them, hard links.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::archive::{Member, MemberKind};
use crate::base::Failure;
use crate::base::name::Shown;
use crate::storage::{Attr, Kind};

use super::super::first_met::FirstMet;
use super::super::inside::{Of, TakenOff};
use super::super::transform::Part;
use super::ctx::Ctx;
use super::entry::{Entry, FileKey, More};
use super::piece::Fate;

/// Files all names of which have come that are remembered for a while: more than a page has names.
const COMPLETE_MAX: usize = 1 << 14;

const NAMELESS: &str = "its name in the archive would be empty; not dumped";

/// Makes members, in the archive's order.
pub(super) struct Maker {
    /// Multiply linked files: the first name's member, and how many names have not come.
    links: HashMap<FileKey, Link>,
    /// Those of which all names have come, the first of them first: where several trees are stored, one may hold them again, and a page of
    /// a listing may repeat names of the one before.
    complete: VecDeque<FileKey>,
    /// What was taken off names and told.
    taken_off: TakenOff,
    full: bool,
    /// The latest member: the buffers of its path and of its owner's names are the next one's.
    member: Member,
    /// Whose names those of the latest member's owner and group are.
    named: Option<(u32, u32)>,
}

/// The first name of a multiply linked file.
struct Link {
    path: Vec<u8>,
    /// Names that have not come.
    left: u32,
    first: FirstMet,
    /// What becomes of it.
    fate: Arc<Fate>,
}

impl Link {
    /// All names of its file have come, and this is another one.
    fn is_over(&self, attr: &Attr) -> bool {
        self.left == 0 && self.first.is_succeeded_by(attr)
    }
}

/// A member, and what it shares with others.
pub(super) struct Made<'m> {
    pub member: &'m Member,
    /// What becomes of its data, where other names of the file are to hear of it.
    pub fate: Option<Arc<Fate>>,
    /// It is another name of the file with this fate.
    pub link_to: Option<Arc<Fate>>,
}

impl Maker {
    pub fn new() -> Maker {
        Maker {
            links: HashMap::new(),
            complete: VecDeque::new(),
            taken_off: TakenOff::default(),
            full: false,
            member: Member::default(),
            named: None,
        }
    }

    /// The member of an entry; none for what is not stored, which is told.
    pub fn member(&mut self, ctx: &Ctx<'_>, entry: &mut Entry) -> Option<Made<'_>> {
        let attr = entry.attr;
        let is_archive = |archive: &FileKey| archive.2 == attr.fileid && *archive == entry.key();
        if attr.kind == Kind::File && ctx.options.archive.as_ref().is_some_and(is_archive) {
            ctx.warn(format!("{}: file is the archive; not dumped", Shown(&entry.path)));
            return None;
        }
        let kind = match attr.kind {
            Kind::File => MemberKind::File,
            Kind::Dir => MemberKind::Dir,
            Kind::Symlink => MemberKind::Symlink,
            Kind::Fifo => MemberKind::Fifo,
            Kind::Char => MemberKind::Char,
            Kind::Block => MemberKind::Block,
            Kind::Socket => {
                ctx.warn(format!("{}: socket ignored", Shown(&entry.path)));
                return None;
            }
        };
        let path = std::mem::take(&mut self.member.path);
        let path = self.name(ctx, &entry.path, Part::Member, path);
        if path.is_empty() {
            // Nothing is lost with a directory's own name.
            match kind {
                MemberKind::Dir => ctx.warn(format!("{}: {NAMELESS}", Shown(&entry.path))),
                _ => ctx.failed(Failure::refused(&entry.path, NAMELESS)),
            }
            return None;
        }
        self.describe(ctx, entry, kind, path);
        if kind == MemberKind::Symlink {
            let link = std::mem::take(&mut entry.link);
            self.member.link = ctx.options.transform.as_ref().map_or(link.clone(), |t| t.apply(&link, Part::Symlink));
        }
        // Where links are followed, a file with one name may be met again through any of them.
        let may_come_again = attr.nlink > 1 || entry.tree.follow.is_some() && kind == MemberKind::File;
        if may_come_again && kind != MemberKind::Dir && !ctx.options.hard_dereference {
            return Some(self.link(ctx, entry));
        }
        Some(Made { member: &self.member, fate: None, link_to: None })
    }

    /// The entry's header does not fit the format: other names of the file are no links to it.
    pub fn forget(&mut self, entry: &Entry) {
        self.links.remove(&entry.key());
    }

    /// Makes the entry the latest member.
    fn describe(&mut self, ctx: &Ctx<'_>, entry: &mut Entry, kind: MemberKind, path: Vec<u8>) {
        let Attr { mode, uid, gid, size, mtime, rdev, .. } = entry.attr;
        let said = &ctx.options.attributes;
        let member = &mut self.member;
        if self.named != Some((uid, gid)) {
            let of = |said: &Option<(Vec<u8>, u32)>, name: &dyn Fn() -> Vec<u8>| match said {
                _ if ctx.options.attributes.numeric => Vec::new(),
                Some((name, _)) => name.clone(),
                None => name(),
            };
            member.uname = of(&said.owner, &|| ctx.names.user(uid));
            member.gname = of(&said.group, &|| ctx.names.group(gid));
            self.named = Some((uid, gid));
        }
        let is_file = kind == MemberKind::File;
        let size = if is_file { size } else { 0 };
        let mode = match &said.mode {
            Some(change) => change.apply(mode, kind == MemberKind::Dir),
            None => mode,
        };
        // Field by field: one made anew is moved into its place, some 400 bytes for each member.
        member.path = path;
        member.kind = kind;
        member.link.clear();
        (member.size, member.stored) = (size, size);
        member.mode = mode & 0o7777;
        member.uid = said.owner.as_ref().map_or(uid, |(_, uid)| *uid);
        member.gid = said.group.as_ref().map_or(gid, |(_, gid)| *gid);
        member.mtime = said.mtime.filter(|&given| !said.clamp_mtime || mtime > given).unwrap_or(mtime);
        member.dev = if matches!(kind, MemberKind::Char | MemberKind::Block) { rdev } else { (0, 0) };
        (member.segments, member.acl_access, member.acl_default) = (None, None, None);
        member.xattrs.clear();
        if let Some(more) = entry.more.as_deref_mut() {
            let More { xattrs, acl_access, acl_default, segments, held } = std::mem::take(more);
            more.held = held;
            (member.xattrs, member.acl_access, member.acl_default) = (xattrs, acl_access, acl_default);
            member.segments = segments.filter(|_| is_file);
            member.stored = member.segments.as_ref().map_or(size, |segments| segments.iter().map(|s| s.len).sum());
        }
    }

    /// Makes a further name of a multiply linked file a hard link to the first.
    fn link(&mut self, ctx: &Ctx<'_>, entry: &Entry) -> Made<'_> {
        let key = entry.key();
        let fate: Arc<Fate> = Arc::default();
        let nlink = entry.attr.nlink;
        if self.links.get(&key).is_some_and(|link| link.fate.has_no_data() || link.is_over(&entry.attr)) {
            self.links.remove(&key);
        }
        let mut link_to = None;
        if let Some(Link { path, left, fate, .. }) = self.links.get_mut(&key) {
            let first = path.clone();
            link_to = Some(fate.clone());
            // With links followed, there are more names than the file has.
            let was = *left;
            *left = was.saturating_sub(u32::from(entry.tree.follow.is_none()));
            if was > 0 && *left == 0 {
                self.complete.push_back(key);
                if !ctx.options.several && self.complete.len() > COMPLETE_MAX {
                    self.forget_complete();
                }
            }
            let link = self.name(ctx, &first, Part::HardLink, Vec::new());
            let member = &mut self.member;
            (member.kind, member.link) = (MemberKind::HardLink, link);
            (member.size, member.stored, member.segments) = (0, 0, None);
        } else if self.has_room(ctx) {
            let path = entry.path.clone();
            let left = nlink.saturating_sub(1);
            let link = Link { path, left, first: FirstMet::new(&entry.attr), fate: fate.clone() };
            if left == 0 {
                // Found through a link it may come again; files with several names, whose names do come, go before it.
                self.complete.push_back(key.clone());
            }
            self.links.insert(key, link);
        } else if !std::mem::replace(&mut self.full, true) {
            let which = if entry.tree.follow.is_some() { "that links may lead to" } else { "with several names" };
            ctx.warn(format!(
                "more than {} files {which} at once; further names of some are stored as files of their own",
                ctx.options.links_max
            ));
        }
        Made { member: &self.member, fate: Some(fate), link_to }
    }

    /// Is there room for the names of one file more? Those that are complete make it.
    fn has_room(&mut self, ctx: &Ctx<'_>) -> bool {
        while self.links.len() >= ctx.options.links_max {
            if !self.forget_complete() {
                return false;
            }
        }
        true
    }

    /// Forgets a file all names of which have come; false if there is none. Another one may have its number by now.
    fn forget_complete(&mut self) -> bool {
        while let Some(key) = self.complete.pop_front() {
            if self.links.get(&key).is_some_and(|link| link.left == 0) {
                self.links.remove(&key);
                return true;
            }
        }
        false
    }

    /// The name in the archive of the object, or of a link to it, of this path; in `room` where that is possible.
    fn name(&mut self, ctx: &Ctx<'_>, path: &[u8], part: Part, mut room: Vec<u8>) -> Vec<u8> {
        let is_link = part == Part::HardLink;
        let taken_off = if ctx.options.absolute_names { None } else { Some(&mut self.taken_off) };
        let of = if is_link { Of::HardLink } else { Of::Member };
        let mut name = match ctx.name_of(path, part) {
            Cow::Owned(name) => name,
            Cow::Borrowed(name) => {
                room.clear();
                room.extend_from_slice(name);
                room
            }
        };
        if let Some(taken_off) = taken_off {
            let of_path = taken_off.tell(path, of);
            // Unlike a member's name, which is stored as expressions make it, where a link leads is looked at once more by GNU tar: it is
            // to be what the member's name is where that is extracted.
            let of_link = if is_link { taken_off.take_off(&mut name, of) } else { None };
            of_path.into_iter().chain(of_link).for_each(|told| ctx.warn(told));
        }
        name
    }
}
