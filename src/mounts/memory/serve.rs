//! What each procedure does to the file system in memory.

use std::sync::Arc;

use crate::base::{Name, Status, Time};
use crate::storage::Space;
use crate::storage::{
    Attr, AttrChange, Call, Cookie, Entry, Found, How, Kind, Mount, Node, Op, Out, Page, Special, Stable, Verifier,
    Want, Written,
};

use super::super::page::Room;
use super::MemoryMount;
use super::data::{self, Data, SIZE_MAX};
use super::tree::{Body, Inode, State, Tree};

/// A symlink's target is shorter than a path may be.
const TARGET_MAX: usize = 4095;

impl MemoryMount {
    pub(super) fn serve(&self, call: &mut Call<'_>) {
        match &mut call.op {
            Op::Null { out } => *out = Ok(()),
            Op::GetAttr { node, out } => *out = self.inode(node).map(|inode| inode.attr(self.instance)),
            Op::SetAttr { node, change, out } => *out = self.set_attr(node, change),
            Op::Lookup { dir, name, out } => *out = self.lookup(dir, name),
            Op::Access { node, want, out } => *out = self.access(node, *want),
            Op::ReadLink { node, out } => *out = self.read_link(node),
            Op::Read { node, offset, count, buf, attr, out } => {
                *out = self.read(node, *offset, *count, buf);
                *attr = self.inode(node).ok().map(|inode| inode.attr(self.instance));
            }
            Op::Write { node, offset, data, stable, out } => *out = self.write(node, *offset, data, *stable),
            Op::Create { dir, name, how, change, out } => *out = self.create(dir, name, *how, change),
            Op::MkDir { dir, name, change, out } => *out = self.make(dir, name, change, 0o755, Body::Dir),
            Op::Symlink { dir, name, target, change, out } => *out = self.symlink(dir, name, target, change),
            Op::MkNod { dir, name, special, change, out } => *out = self.mknod(dir, name, *special, change),
            Op::Remove { dir, name, out } => *out = self.remove(dir, name, false),
            Op::RmDir { dir, name, out } => *out = self.remove(dir, name, true),
            Op::Rename { from_dir, from, to_dir, to, out, .. } => *out = self.rename(from_dir, from, to_dir, to),
            Op::Link { node, dir, name, out } => *out = self.link(node, dir, name),
            Op::ReadDir { dir, from, want, bytes_max, out } => *out = self.read_dir(dir, *from, *want, *bytes_max),
            Op::FsStat { node, out } => *out = self.inode(node).map(|_| -> Space { self.quota.space() }),
            Op::FsInfo { node, out } => *out = self.inode(node).map(|_| self.limits()),
            Op::PathConf { node, out } => *out = self.inode(node).map(|_| self.limits().name_max),
            Op::Commit { node, out, .. } => *out = self.commit(node),
            Op::Beyond(beyond) => self.serve_beyond(beyond),
        }
    }

    fn found(&self, inode: &Inode) -> Found {
        Found { node: self.node(inode.id), attr: Some(inode.attr(self.instance)) }
    }

    fn set_attr(&self, node: &Node, change: &AttrChange) -> Out<Option<Attr>> {
        let inode = self.inode(node)?;
        if change.size.is_some() {
            self.tree_mut().take_capabilities(inode.id);
        }
        {
            let mut state = inode.write();
            if let Some(size) = change.size {
                self.resize(&mut state, size)?;
            }
            if state.kind() == Kind::Symlink && change.mode.is_some() {
                return Err(Status::NotSupp); // Linux: a symlink's mode cannot be changed
            }
            state.apply(change, Time::now());
        }
        Ok(Some(inode.attr(self.instance)))
    }

    fn resize(&self, state: &mut State, size: u64) -> Result<(), Status> {
        match &mut state.body {
            Body::File(..) if size > SIZE_MAX => Err(Status::FBig),
            Body::File(..) if state.nlink == 0 => Err(Status::Stale),
            Body::File(data, _) => {
                data.resize(&self.quota, size);
                state.take_set_ids();
                state.changed(Time::now());
                Ok(())
            }
            Body::Dir => Err(Status::IsDir),
            Body::Symlink(_) | Body::Special(..) => Err(Status::Inval),
        }
    }

    fn lookup(&self, dir: &Node, name: &Name) -> Out<Found> {
        let tree = self.tree();
        let id = tree.dir(self.id(dir)?)?.get(name).ok_or(Status::NoEnt)?;
        let inode = tree.inode(id)?.clone();
        drop(tree);
        Ok(self.found(&inode))
    }

    /// RFC 1813 3.3.4: LOOKUP and DELETE have a meaning for directories only, EXECUTE for the rest.
    fn access(&self, node: &Node, want: u32) -> Out<u32> {
        let granted = if self.inode(node)?.read().kind() == Kind::Dir { 0x1f } else { 0x2d };
        Ok(want & granted)
    }

    fn read_link(&self, node: &Node) -> Out<Vec<u8>> {
        match &self.inode(node)?.read().body {
            Body::Symlink(target) => Ok(target.to_vec()),
            _ => Err(Status::Inval),
        }
    }

    fn read(&self, node: &Node, offset: u64, count: u32, buf: &mut Vec<u8>) -> Out<bool> {
        buf.clear();
        match &self.inode(node)?.read().body {
            Body::File(data, _) => Ok(data.read(offset, count.min(self.limits().read_max), buf)),
            Body::Dir => Err(Status::IsDir),
            Body::Symlink(_) | Body::Special(..) => Err(Status::Inval),
        }
    }

    fn write(&self, node: &Node, offset: u64, data: &[u8], stable: Stable) -> Out<Written> {
        let inode = self.inode(node)?;
        let data = &data[..data.len().min(self.limits().write_max as usize)];
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > SIZE_MAX) {
            return Err(Status::FBig);
        }
        let pieces = data::pieces(offset, data);
        let verifier = self.verifier();
        let mut state = inode.write();
        let gone = state.nlink == 0;
        let count = match &mut state.body {
            Body::File(..) if gone => return Err(Status::Stale),
            Body::File(content, _) => content.write(&self.quota, pieces, stable)?,
            Body::Dir => return Err(Status::IsDir),
            Body::Symlink(_) | Body::Special(..) => return Err(Status::Inval),
        };
        if count > 0 {
            state.changed(Time::now());
        }
        let stable = if stable == Stable::Unstable { stable } else { Stable::FileSync };
        Ok(Written { count: count as u32, stable, verifier: *verifier })
    }

    fn commit(&self, node: &Node) -> Out<Verifier> {
        let inode = self.inode(node)?;
        let verifier = self.verifier();
        match &mut inode.write().body {
            Body::File(data, _) => data.commit(),
            Body::Dir => return Err(Status::IsDir),
            Body::Symlink(_) | Body::Special(..) => return Err(Status::Inval),
        }
        Ok(*verifier)
    }

    fn create(&self, dir: &Node, name: &Name, how: How, change: &AttrChange) -> Out<Found> {
        let (verifier, none) = match how {
            How::Exclusive(verifier) => (Some(verifier), AttrChange::default()),
            How::Unchecked | How::Guarded => (None, *change),
        };
        if change.size.is_some_and(|size| size > SIZE_MAX) {
            return Err(Status::FBig);
        }
        match self.make(dir, name, &none, 0o644, Body::File(Data::default(), verifier.map(Box::new))) {
            Err(Status::Exist) => self.create_existing(dir, name, how, change),
            made => made,
        }
    }

    /// CREATE of a name that is there (RFC 1813 3.3.8): of the attributes only the size is applied, as servers do.
    fn create_existing(&self, dir: &Node, name: &Name, how: How, change: &AttrChange) -> Out<Found> {
        let found = self.lookup(dir, name)?;
        let inode = self.inode(&found.node)?;
        {
            let mut state = inode.write();
            match (&state.body, how) {
                (Body::File(..), How::Unchecked) => {
                    change.size.map_or(Ok(()), |size| self.resize(&mut state, size))?;
                }
                (Body::File(_, made_by), How::Exclusive(verifier)) if made_by.as_deref() == Some(&verifier) => {}
                _ => return Err(Status::Exist),
            }
        }
        Ok(self.found(&inode))
    }

    fn symlink(&self, dir: &Node, name: &Name, target: &[u8], change: &AttrChange) -> Out<Found> {
        match target {
            b"" => Err(Status::NoEnt),
            _ if target.len() > TARGET_MAX => Err(Status::NameTooLong),
            _ if target.contains(&0) => Err(Status::Inval),
            _ => {
                let change = AttrChange { mode: None, ..*change };
                self.make(dir, name, &change, 0o777, Body::Symlink(target.into()))
            }
        }
    }

    fn mknod(&self, dir: &Node, name: &Name, special: Special, change: &AttrChange) -> Out<Found> {
        let (kind, rdev) = match special {
            Special::Char(major, minor) => (Kind::Char, (major, minor)),
            Special::Block(major, minor) => (Kind::Block, (major, minor)),
            Special::Socket => (Kind::Socket, (0, 0)),
            Special::Fifo => (Kind::Fifo, (0, 0)),
        };
        self.make(dir, name, change, 0o644, Body::Special(kind, rdev))
    }

    /// Makes an object: `mode` is its mode unless the change has one.
    fn make(&self, dir: &Node, name: &Name, change: &AttrChange, mode: u32, body: Body) -> Out<Found> {
        let dir = self.id(dir)?;
        let now = Time::now();
        let mut tree = self.tree_mut();
        if tree.dir(dir)?.get(name).is_some() {
            return Err(Status::Exist);
        }
        let parent = tree.inode(dir)?.clone();
        let (dir_mode, dir_gid) = {
            let parent = parent.read();
            (parent.mode, parent.gid)
        };
        self.quota.take_file()?;
        let is_dir = matches!(body, Body::Dir);
        let nlink = if is_dir { 2 } else { 1 };
        let mut state = State { mode, nlink, uid: 0, gid: 0, atime: now, mtime: now, ctime: now, body };
        if dir_mode & 0o2000 != 0 {
            state.gid = dir_gid; // System V's way: the group, and the bit itself for directories, go down the tree
        }
        state.apply(change, now);
        if dir_mode & 0o2000 != 0 && is_dir {
            state.mode |= 0o2000;
        }
        if let (Body::File(data, _), Some(size)) = (&mut state.body, change.size) {
            data.resize(&self.quota, size);
        }
        let inode = tree.add(state, dir);
        tree.dir_mut(dir)?.insert(name, inode.id);
        let mut parent = parent.write();
        parent.changed(now);
        parent.nlink += u32::from(is_dir);
        drop(parent);
        drop(tree);
        Ok(self.found(&inode))
    }

    fn remove(&self, dir: &Node, name: &Name, want_dir: bool) -> Out<()> {
        let dir = self.id(dir)?;
        let now = Time::now();
        let mut tree = self.tree_mut();
        let id = tree.dir(dir)?.get(name).ok_or(Status::NoEnt)?;
        match (tree.is_dir(id), want_dir) {
            (true, false) => return Err(Status::IsDir),
            (false, true) => return Err(Status::NotDir),
            (true, true) if !tree.dir(id)?.is_empty() => return Err(Status::NotEmpty),
            _ => {}
        }
        tree.dir_mut(dir)?.remove(name);
        self.unlink(&mut tree, id, now)?;
        let mut parent = tree.inode(dir)?.write();
        parent.changed(now);
        parent.nlink -= u32::from(want_dir);
        Ok(())
    }

    /// One name of the object was taken away; the object goes with its last.
    fn unlink(&self, tree: &mut Tree, id: u64, now: Time) -> Result<(), Status> {
        let inode = tree.inode(id)?.clone();
        let mut state = inode.write();
        state.ctime = now;
        state.nlink = if tree.is_dir(id) { 0 } else { state.nlink - 1 };
        if state.nlink == 0 {
            if let Body::File(data, _) = &mut state.body {
                data.resize(&self.quota, 0);
            }
            self.quota.give_file();
            tree.forget(id);
        }
        Ok(())
    }

    /// RFC 1813 3.3.14, with the errors in the order in which Linux finds them.
    fn rename(&self, from_dir: &Node, from: &Name, to_dir: &Node, to: &Name) -> Out<()> {
        let (from_dir, to_dir) = (self.id(from_dir)?, self.id(to_dir)?);
        let now = Time::now();
        let mut tree = self.tree_mut();
        tree.dir(to_dir)?;
        let id = tree.dir(from_dir)?.get(from).ok_or(Status::NoEnt)?;
        let is_dir = tree.is_dir(id);
        if is_dir && tree.is_beneath(to_dir, id) {
            return Err(Status::Inval);
        }
        let replaced = tree.dir(to_dir)?.get(to);
        if let Some(old) = replaced {
            match (is_dir, tree.is_dir(old)) {
                (_, true) if tree.is_beneath(from_dir, old) => return Err(Status::NotEmpty),
                _ if old == id => return Ok(()), // two names of one object: nothing is done
                (true, false) => return Err(Status::NotDir),
                (false, true) => return Err(Status::IsDir),
                (true, true) if !tree.dir(old)?.is_empty() => return Err(Status::NotEmpty),
                _ => {}
            }
            tree.dir_mut(to_dir)?.remove(to);
            self.unlink(&mut tree, old, now)?;
        }
        tree.dir_mut(from_dir)?.remove(from);
        tree.dir_mut(to_dir)?.insert(to, id);
        tree.inode(id)?.write().ctime = now;
        if is_dir {
            tree.set_parent(id, to_dir);
        }
        let moved = u32::from(is_dir);
        let mut parent = tree.inode(from_dir)?.write();
        parent.changed(now);
        parent.nlink -= moved;
        drop(parent);
        let mut parent = tree.inode(to_dir)?.write();
        parent.changed(now);
        parent.nlink = parent.nlink + moved - u32::from(is_dir && replaced.is_some());
        Ok(())
    }

    fn link(&self, node: &Node, dir: &Node, name: &Name) -> Out<Option<Attr>> {
        let (id, dir) = (self.id(node)?, self.id(dir)?);
        let now = Time::now();
        let mut tree = self.tree_mut();
        let inode: Arc<Inode> = tree.inode(id)?.clone();
        if tree.dir(dir)?.get(name).is_some() {
            return Err(Status::Exist);
        }
        if tree.is_dir(id) {
            return Err(Status::IsDir);
        }
        {
            let mut state = inode.write();
            state.nlink = state.nlink.checked_add(1).ok_or(Status::MLink)?;
            state.ctime = now;
        }
        tree.dir_mut(dir)?.insert(name, id);
        tree.inode(dir)?.write().changed(now);
        drop(tree);
        Ok(Some(inode.attr(self.instance)))
    }

    fn read_dir(&self, dir: &Node, from: Cookie, want: Want, bytes_max: u32) -> Out<Page> {
        let tree = self.tree();
        let dir = tree.dir(self.id(dir)?)?;
        if from.position != 0 && from.verifier != self.instance {
            return Err(Status::BadCookie);
        }
        let mut room = Room::new(want, bytes_max.min(self.limits().list_max));
        let plus = want != Want::Names;
        let next = Cookie { verifier: self.instance, ..from };
        let mut page = Page { above: dir.dotdot(from.position), entries: Vec::new(), next, end: true };
        for (position, name, fileid) in dir.after(from.position) {
            if !room.take(name.as_bytes()) {
                page.end = false;
                break;
            }
            let attr = if plus { Some(tree.inode(fileid)?.attr(self.instance)) } else { None };
            let node = plus.then(|| self.node(fileid));
            page.entries.push(Entry { name: name.clone(), fileid, position, node, attr, kind: attr.map(|a| a.kind) });
            page.next.position = position;
        }
        if page.entries.is_empty() && !page.end { Err(Status::TooSmall) } else { Ok(page) }
    }
}
