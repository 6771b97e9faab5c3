//! The shadow's own answers: to calls that would change something, and to all calls on what those would have made.

mod beyond;

use std::sync::atomic::Ordering;

use crate::base::{Name, Status};
use crate::storage::Space;
use crate::storage::{
    Attr, AttrChange, Call, Cookie, Found, How, Kind, Limits, Mount, Node, Op, Out, Page, Special, Stable, Written,
};

use super::ShadowMount;
use super::world::{Given, Known, Made, Memory, Seen, World, apply, extend};

/// What every byte reads as: not zero, so that no block is taken for a hole.
pub(super) const FILL: u8 = 0xdb;

/// Where something is made: the volume's root, the directory if that is invented, a real one that gives its group, and its key.
struct Spot {
    root: Option<Attr>,
    parent: Option<Made>,
    real: Option<Attr>,
    above: u64,
}

/// What RFC 1813 says of READ and WRITE on something that is not a regular file.
fn only_files(kind: Kind) -> Result<(), Status> {
    match kind {
        Kind::File => Ok(()),
        Kind::Dir => Err(Status::IsDir),
        _ => Err(Status::Inval),
    }
}

/// How much of `data` a WRITE takes, and where that ends.
pub(super) fn written_up_to(limits: Limits, offset: u64, data: &[u8]) -> Result<(u32, u64), Status> {
    let count = data.len().min(limits.write_max as usize) as u32;
    let end = offset.checked_add(data.len() as u64).filter(|&end| end <= limits.size_max).ok_or(Status::FBig)?;
    Ok((count, end - (data.len() as u64 - u64::from(count))))
}

/// The question's outcome when it was a LOOKUP.
fn looked_up(question: Option<Call<'_>>) -> Option<Out<Found>> {
    question.map(|call| call.found())
}

impl ShadowMount {
    /// Fills in the outcome; `question` is what was asked of the real mount for it.
    pub(super) fn answer(&self, call: &mut Call<'_>, question: Option<Call<'_>>) {
        match &mut call.op {
            Op::Null { out } => *out = Ok(()),
            Op::GetAttr { node, out } => *out = self.made_attr(node),
            Op::SetAttr { node, change, out } => *out = self.set_attr(node, change),
            Op::Lookup { dir, name, out } => *out = self.lookup(dir, name),
            // RFC 1813 3.3.4: LOOKUP and DELETE have a meaning for directories only, EXECUTE for the rest.
            Op::Access { node, want, out } => {
                *out = self.made_attr(node).map(|attr| *want & if attr.kind == Kind::Dir { 0x1f } else { 0x2d });
            }
            Op::ReadLink { node, out } => *out = self.read_link(node),
            Op::Read { node, offset, count, buf, attr, out } => {
                *out = self.read(node, (*offset, *count), buf, attr, question);
            }
            Op::Write { node, offset, data, stable, out } => *out = self.write(node, *offset, data, *stable),
            Op::Create { dir, name, how, change, out } => {
                *out = self.create(dir, name, *how, change, looked_up(question));
            }
            Op::MkDir { dir, name, change, out } => {
                *out = self.make(dir, name, Kind::Dir, change, looked_up(question), |_| ());
            }
            Op::Symlink { dir, name, target, change, out } => {
                let size = target.len() as u64;
                *out = self.make(dir, name, Kind::Symlink, change, looked_up(question), |attr| attr.size = size);
            }
            Op::MkNod { dir, name, special, change, out } => {
                *out = self.mknod(dir, name, *special, change, looked_up(question));
            }
            Op::Remove { dir, name, out } => *out = self.remove(dir, name, looked_up(question)),
            Op::RmDir { dir, name, out } => *out = self.rmdir(dir, name, question),
            Op::Rename { from_dir, from, to_dir, to, out, .. } => {
                *out = self.rename((from_dir, from), (to_dir, to), looked_up(question));
            }
            Op::Link { node, dir, name, out } => *out = self.link(node, dir, name, looked_up(question)),
            Op::ReadDir { dir, from, out, .. } => *out = self.read_dir(dir, *from),
            Op::FsStat { out, .. } => *out = space(question),
            Op::FsInfo { node, out } => *out = self.made_attr(node).map(|_| self.limits()),
            Op::PathConf { node, out } => *out = self.made_attr(node).map(|_| self.limits().name_max),
            Op::Commit { node, out, .. } => {
                let kind = self.world.made(node).map_or(Kind::File, |made| made.kind);
                *out = only_files(kind).map(|()| self.world.verifier);
            }
            Op::Beyond(beyond) => self.beyond(beyond, looked_up(question)),
        }
    }

    fn attr_of(&self, made: Made) -> Attr {
        let known = self.world.memory().objects.get(made.id).copied();
        known.unwrap_or_else(|| World::new_attr(self.world.root(&*self.real), made, None, &AttrChange::default()))
    }

    fn made_attr(&self, node: &Node) -> Out<Attr> {
        Ok(self.attr_of(self.world.made(node).ok_or(Status::BadHandle)?))
    }

    fn found(&self, made: Made) -> Found {
        Found { node: self.world.node(made), attr: Some(self.attr_of(made)) }
    }

    /// Changes what is remembered of an invented object.
    fn update(&self, made: Made, change: impl FnOnce(&mut Attr)) -> Attr {
        if let Some(known) = self.world.memory().objects.get_mut(made.id) {
            change(known);
            return *known;
        }
        let mut attr = self.attr_of(made);
        change(&mut attr);
        self.world.memory().objects.insert(made.id, &attr);
        attr
    }

    /// Changes the size that is remembered of a real file.
    fn resize(&self, node: &Node, change: impl FnOnce(&mut Attr)) {
        let key = node.key();
        if self.idle && self.seen(node).is_none() {
            // It was not noted, and may be read back.
            if let Ok(attr) = self.real_attr(node) {
                self.world.memory().real.insert(key, Seen { attr, resized: false });
            }
        }
        if let Some(seen) = self.world.memory().real.get_mut(key) {
            change(&mut seen.attr);
            seen.resized = true;
        }
    }

    fn set_attr(&self, node: &Node, change: &AttrChange) -> Out<Option<Attr>> {
        if change.size.is_some_and(|size| size > self.limits().size_max) {
            return Err(Status::FBig);
        }
        let Some(made) = self.world.made(node) else {
            if change.size.is_some() {
                self.resize(node, |attr| apply(attr, change));
            }
            if change.mode.is_some() || change.gid.is_some() {
                let Given { mode, gid } = *self.world.memory().parents.renew(node.key(), Given::default);
                let given = Given { mode: change.mode.or(mode), gid: change.gid.or(gid) };
                self.world.memory().parents.insert(node.key(), given);
            }
            if let Some(mode) = change.mode
                && self.world.memory().set_mode(node.key(), mode & 0o7777)
            {
                self.world.opens.store(true, Ordering::Relaxed);
            }
            return Ok(None);
        };
        if change.size.is_some() {
            only_files(made.kind)?;
        }
        if made.kind == Kind::Symlink && change.mode.is_some() {
            return Err(Status::NotSupp); // Linux: a symlink's mode cannot be changed
        }
        Ok(Some(self.update(made, |attr| apply(attr, change))))
    }

    /// An error unless the directory is one, as far as that is known.
    fn dir(&self, dir: &Node) -> Result<(), Status> {
        let other = self.world.made(dir).is_some_and(|made| made.kind != Kind::Dir);
        if other { Err(Status::NotDir) } else { Ok(()) }
    }

    /// What stands under a name, for lack of a question put to the real mount.
    fn under(&self, dir: &Node, name: &Name) -> Option<Known> {
        let key = dir.key_of(name);
        let memory = self.world.memory();
        let forgotten = memory.names.forgot && self.is_made(dir);
        memory.names.get(key).copied().or_else(|| forgotten.then(|| Known::Made(self.world.forgotten(key))))
    }

    fn set_name(&self, dir: &Node, name: &Name, known: Known) {
        let (above, key) = (dir.key(), dir.key_of(name));
        self.world.memory().set_name(above, key, known);
    }

    fn lookup(&self, dir: &Node, name: &Name) -> Out<Found> {
        self.dir(dir)?;
        match self.under(dir, name) {
            Some(Known::Made(made)) => Ok(self.found(made)),
            _ => Err(Status::NoEnt),
        }
    }

    fn read_link(&self, node: &Node) -> Out<Vec<u8>> {
        let attr = self.made_attr(node)?;
        let bytes = usize::try_from(attr.size).unwrap_or(0).clamp(1, 4095);
        if attr.kind == Kind::Symlink { Ok(vec![FILL; bytes]) } else { Err(Status::Inval) }
    }

    fn read(
        &self,
        node: &Node,
        (offset, count): (u64, u32),
        buf: &mut Vec<u8>,
        told: &mut Option<Attr>,
        question: Option<Call<'_>>,
    ) -> Out<bool> {
        buf.clear();
        *told = None;
        let attr = match (self.world.made(node), self.seen(node), question) {
            (Some(made), ..) => self.attr_of(made),
            (None, Some(seen), _) => seen.attr,
            (None, None, Some(question)) => {
                self.note(&question);
                question.attr()?
            }
            // It was remembered when this call was looked at, and another lane's calls have taken its place since.
            (None, None, None) => self.real_attr(node)?,
        };
        only_files(attr.kind)?;
        let left = attr.size.saturating_sub(offset);
        let bytes = left.min(u64::from(count.min(self.limits().read_max)));
        buf.resize(usize::try_from(bytes).unwrap_or(0), FILL);
        let tells = self.world.tells.get().is_some_and(|tells| if bytes == left { tells.at_end } else { tells.before });
        *told = tells.then_some(attr);
        Ok(bytes == left)
    }

    fn write(&self, node: &Node, offset: u64, data: &[u8], stable: Stable) -> Out<Written> {
        let (count, end) = written_up_to(self.limits(), offset, data)?;
        match self.world.made(node) {
            Some(made) => {
                only_files(made.kind)?;
                self.update(made, |attr| extend(attr, end, count.into()));
            }
            None => self.resize(node, |attr| extend(attr, end, count.into())),
        }
        let stable = if stable == Stable::Unstable { stable } else { Stable::FileSync };
        Ok(Written { count, stable, verifier: self.world.verifier })
    }

    /// An error unless the name of this key is free, as far as is known.
    fn free(memory: &mut Memory, key: u64, real: Option<Out<Found>>) -> Result<(), Status> {
        // Of a name that was forgotten nothing is said: it would stop what is made for the first time.
        match (memory.names.get(key), real) {
            (Some(Known::Gone), _) | (None, None | Some(Err(Status::NoEnt))) => Ok(()),
            (Some(_), _) => Err(Status::Exist),
            (None, Some(Ok(found))) => {
                if let Some(attr) = found.attr {
                    memory.names.insert(key, Known::Real(attr.kind));
                }
                Err(Status::Exist)
            }
            (None, Some(Err(status))) => Err(status),
        }
    }

    fn make(
        &self,
        dir: &Node,
        name: &Name,
        kind: Kind,
        change: &AttrChange,
        real: Option<Out<Found>>,
        more: impl FnOnce(&mut Attr),
    ) -> Out<Found> {
        self.dir(dir)?;
        let (mut at, key) = (self.spot(dir), dir.key_of(name));
        if at.parent.is_none() && change.gid.is_none() {
            at.real = self.dir_by(at.root, dir);
        }
        let (made, attr) = self.make_in(&mut self.world.memory(), (&at, key), (kind, change), real, more)?;
        Ok(Found { node: self.world.node(made), attr: Some(attr) })
    }

    fn spot(&self, dir: &Node) -> Spot {
        Spot { root: self.world.root(&*self.real), parent: self.world.made(dir), real: None, above: dir.key() }
    }

    /// A real directory as far as it may give its group to what is made in it, with what `root` has else; asked for once.
    fn dir_by(&self, root: Option<Attr>, dir: &Node) -> Option<Attr> {
        let key = dir.key();
        let mut known = self.world.memory().parents.get(key).copied().unwrap_or_default();
        if known.mode.is_none() || known.gid.is_none() {
            let is = self.real_attr(dir).ok()?;
            known = Given { mode: known.mode.or(Some(is.mode)), gid: known.gid.or(Some(is.gid)) };
            self.world.memory().parents.insert(key, known);
        }
        Some(Attr { mode: known.mode?, gid: known.gid?, ..root? })
    }

    /// Makes what the name of this key stands for.
    fn make_in(
        &self,
        memory: &mut Memory,
        (at, key): (&Spot, u64),
        (kind, change): (Kind, &AttrChange),
        real: Option<Out<Found>>,
        more: impl FnOnce(&mut Attr),
    ) -> Out<(Made, Attr)> {
        ShadowMount::free(memory, key, real)?;
        let made = self.world.new_made(kind);
        let parent = at.parent.map_or(at.real.as_ref(), |parent| memory.objects.get(parent.id));
        let mut attr = World::new_attr(at.root, made, parent, change);
        more(&mut attr);
        memory.objects.insert(made.id, &attr);
        memory.set_name(at.above, key, Known::Made(made));
        Ok((made, attr))
    }

    fn create(&self, dir: &Node, name: &Name, how: How, change: &AttrChange, real: Option<Out<Found>>) -> Out<Found> {
        if change.size.is_some_and(|size| size > self.limits().size_max) {
            return Err(Status::FBig);
        }
        let set = if matches!(how, How::Exclusive(_)) { AttrChange::default() } else { *change };
        let made = self.make(dir, name, Kind::File, &set, real.clone(), |_| ());
        if made != Err(Status::Exist) || how != How::Unchecked {
            return made;
        }
        // RFC 1813 3.3.8: of the attributes only the size is applied to a file that is there.
        let size = AttrChange { size: change.size, ..AttrChange::default() };
        match (self.known(dir, name), real) {
            (Some(Known::Made(made)), _) if made.kind == Kind::File => {
                if change.size.is_some() {
                    self.update(made, |attr| apply(attr, &size));
                }
                Ok(self.found(made))
            }
            (Some(Known::Real(Kind::File)), Some(Ok(mut found))) => {
                if let (Some(attr), true) = (&mut found.attr, change.size.is_some()) {
                    apply(attr, &size);
                    let seen = Seen { attr: *attr, resized: true };
                    self.world.memory().real.insert(found.node.key(), seen);
                }
                Ok(found)
            }
            _ => made,
        }
    }

    fn mknod(
        &self,
        dir: &Node,
        name: &Name,
        special: Special,
        change: &AttrChange,
        real: Option<Out<Found>>,
    ) -> Out<Found> {
        let (kind, rdev) = match special {
            Special::Char(major, minor) => (Kind::Char, (major, minor)),
            Special::Block(major, minor) => (Kind::Block, (major, minor)),
            Special::Socket => (Kind::Socket, (0, 0)),
            Special::Fifo => (Kind::Fifo, (0, 0)),
        };
        self.make(dir, name, kind, change, real, |attr| attr.rdev = rdev)
    }

    fn remove(&self, dir: &Node, name: &Name, real: Option<Out<Found>>) -> Out<()> {
        self.dir(dir)?;
        if let (None, Some(found)) = (self.known(dir, name), real) {
            let kind = found?.attr.map_or(Kind::File, |attr| attr.kind);
            self.set_name(dir, name, Known::Real(kind));
        }
        match self.gives_up(dir, name, Kind::File)? {
            Kind::Dir => Err(Status::IsDir),
            _ => self.give_up(dir, name),
        }
    }

    fn rmdir(&self, dir: &Node, name: &Name, page: Option<Call<'_>>) -> Out<()> {
        self.dir(dir)?;
        if self.gives_up(dir, name, Kind::Dir)? != Kind::Dir {
            return Err(Status::NotDir);
        }
        match page.map(|mut page| page.take_page()) {
            Some(Ok(page)) if !page.entries.is_empty() => return Err(Status::NotEmpty),
            // What may not be listed may be removed all the same: it is believed empty, as the job believes it.
            None | Some(Ok(_) | Err(Status::Access)) => {}
            Some(Err(status)) => return Err(status),
        }
        self.give_up(dir, name)?;
        if self.shared && matches!(dir, Node::Handle(_)) {
            let mut memory = self.world.memory();
            if let Some(&key) = memory.dirs.get(dir.key_of(name)) {
                memory.gone.insert(key, ());
            }
        }
        Ok(())
    }

    /// The kind of the object whose name is to go; of an unknown one it is what the job believes.
    fn gives_up(&self, dir: &Node, name: &Name, believed: Kind) -> Out<Kind> {
        let forgotten = self.world.forgotten(dir.key_of(name));
        match self.under(dir, name) {
            Some(Known::Gone) => Err(Status::NoEnt),
            None if self.is_made(dir) => Err(Status::NoEnt),
            None => Ok(believed),
            Some(Known::Made(made)) if made == forgotten => Ok(believed),
            Some(Known::Made(made)) => Ok(made.kind),
            Some(Known::Real(kind)) => Ok(kind),
        }
    }

    fn give_up(&self, dir: &Node, name: &Name) -> Out<()> {
        if let Some(Known::Made(made)) = self.under(dir, name) {
            self.update(made, |attr| attr.nlink = attr.nlink.saturating_sub(1));
        }
        self.set_gone(dir, name);
        Ok(())
    }

    fn set_gone(&self, dir: &Node, name: &Name) {
        self.set_name(dir, name, Known::Gone);
        if !self.is_made(dir) {
            let key = dir.key();
            self.world.memory().emptied.insert(key, ());
        }
    }

    fn rename(&self, from: (&Node, &Name), to: (&Node, &Name), real: Option<Out<Found>>) -> Out<()> {
        self.dir(from.0)?;
        self.dir(to.0)?;
        let moved = match (self.under(from.0, from.1), real) {
            (Some(Known::Made(made)), _) => made,
            (None | Some(Known::Real(_)), Some(found)) => {
                let attr = found?.attr.ok_or(Status::NoEnt)?;
                let made = self.world.new_made(attr.kind);
                self.world.memory().objects.insert(made.id, &Attr { fileid: made.id, ..attr });
                made
            }
            _ => return Err(Status::NoEnt),
        };
        self.set_gone(from.0, from.1);
        self.set_name(to.0, to.1, Known::Made(moved));
        Ok(())
    }

    fn link(&self, node: &Node, dir: &Node, name: &Name, real: Option<Out<Found>>) -> Out<Option<Attr>> {
        self.dir(dir)?;
        ShadowMount::free(&mut self.world.memory(), dir.key_of(name), real)?;
        let Some(made) = self.world.made(node) else {
            // Another name of a real file; of one that came by nothing is asked for it. Directories have one only.
            let is_dir = || self.real_attr(node).is_ok_and(|attr| attr.kind == Kind::Dir);
            if self.seen(node).is_none() && is_dir() {
                return Err(Status::IsDir);
            }
            let made = self.world.new_made(Kind::File);
            self.set_name(dir, name, Known::Made(made));
            return Ok(None);
        };
        if made.kind == Kind::Dir {
            return Err(Status::IsDir);
        }
        self.set_name(dir, name, Known::Made(made));
        Ok(Some(self.update(made, |attr| attr.nlink = attr.nlink.saturating_add(1))))
    }

    /// Nothing is in an invented directory, as far as listings tell.
    pub(super) fn read_dir(&self, dir: &Node, from: Cookie) -> Out<Page> {
        self.dir(dir)?;
        Ok(Page { above: None, entries: Vec::new(), next: from, end: true })
    }
}

/// The real mount's space, asked for an invented object's sake.
fn space(question: Option<Call<'_>>) -> Out<Space> {
    match question.map(|call| call.op) {
        Some(Op::FsStat { out, .. }) => out,
        _ => Err(Status::ServerFault),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mounts::MemoryMount;
    use crate::storage::{How, Stable};

    /// What is remembered of a file may go between the look at a call and its answer: other lanes meet other files.
    #[test]
    fn a_file_that_was_forgotten_meanwhile_is_asked_for_again() {
        let real = Arc::new(MemoryMount::new());
        let name = Name::new(b"f").unwrap();
        let mut calls = [Call::create(&real.root(), &name, How::Guarded, AttrChange::default())];
        real.perform(&mut calls);
        let node = calls[0].found().unwrap().node;
        real.perform(&mut [Call::write(&node, 0, b"data", Stable::FileSync)]);
        let shadow = ShadowMount::new(real).unopened();
        let mut call = Call::read(&node, 0, 10, Vec::new());
        shadow.answer(&mut call, None);
        let Op::Read { buf, out, .. } = call.op else { panic!("another call") };
        assert_eq!((buf.len(), out), (4, Ok(true)));
    }
}
