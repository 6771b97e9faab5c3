//! One call at a time on any mount, for tests: each function is a procedure and returns its outcome.

use parfs::base::Name;
use parfs::storage::Space;
use parfs::storage::{
    Attr, AttrChange, Beyond, Call, Cookie, Entry, Found, How, Lent, Limits, Mount, Node, Op, Out, Page, Sought,
    Special, Stable, Verifier, Want, Written,
};

/// A name that is one.
pub fn name(text: impl AsRef<[u8]>) -> Name {
    Name::new(text.as_ref()).expect("a good name")
}

/// A change of the mode alone.
pub fn mode(bits: u32) -> AttrChange {
    AttrChange { mode: Some(bits), ..AttrChange::default() }
}

/// A change of the size alone.
pub fn size(bytes: u64) -> AttrChange {
    AttrChange { size: Some(bytes), ..AttrChange::default() }
}

/// Takes the outcome of a call of the kind that the pattern names.
macro_rules! outcome {
    ($mount:expr, $call:expr, $op:ident) => {{
        let mut calls = [$call];
        $mount.perform(&mut calls);
        let [call] = calls;
        match call.op {
            Op::$op { out, .. } => out,
            other => panic!("another operation came back: {other:?}"),
        }
    }};
}

/// The same for what is beyond NFSv3.
macro_rules! outcome_beyond {
    ($mount:expr, $call:expr, $op:ident) => {{
        let mut calls = [$call];
        $mount.perform(&mut calls);
        let [call] = calls;
        match call.op {
            Op::Beyond(Beyond::$op { out, .. }) => out,
            other => panic!("another operation came back: {other:?}"),
        }
    }};
}

/// The procedures by their names.
#[allow(missing_docs)]
pub trait Ask: Mount {
    fn get_attr(&self, node: &Node) -> Out<Attr> {
        outcome!(self, Call::get_attr(node), GetAttr)
    }
    fn set_attr(&self, node: &Node, change: AttrChange) -> Out<Option<Attr>> {
        outcome!(self, Call::set_attr(node, change), SetAttr)
    }
    fn lookup(&self, dir: &Node, at: impl AsRef<[u8]>) -> Out<Found> {
        outcome!(self, Call::lookup(dir, &name(at)), Lookup)
    }
    fn access(&self, node: &Node, want: u32) -> Out<u32> {
        outcome!(self, Call::access(node, want), Access)
    }
    fn read_link(&self, node: &Node) -> Out<Vec<u8>> {
        outcome!(self, Call::read_link(node), ReadLink)
    }
    fn read(&self, node: &Node, offset: u64, count: u32) -> Out<(Vec<u8>, bool)> {
        let mut calls = [Call::read(node, offset, count, b"old content".to_vec())];
        self.perform(&mut calls);
        let [call] = calls;
        match call.op {
            Op::Read { buf, out, .. } => {
                assert!(out.is_ok() || buf.is_empty(), "a failed READ leaves no bytes");
                out.map(|end| (buf, end))
            }
            other => panic!("another operation came back: {other:?}"),
        }
    }
    fn write(&self, node: &Node, offset: u64, data: &[u8], stable: Stable) -> Out<Written> {
        outcome!(self, Call::write(node, offset, data, stable), Write)
    }
    fn create(&self, dir: &Node, at: impl AsRef<[u8]>, how: How, change: AttrChange) -> Out<Found> {
        outcome!(self, Call::create(dir, &name(at), how, change), Create)
    }
    fn mkdir(&self, dir: &Node, at: impl AsRef<[u8]>, change: AttrChange) -> Out<Found> {
        outcome!(self, Call::mkdir(dir, &name(at), change), MkDir)
    }
    fn symlink(&self, dir: &Node, at: impl AsRef<[u8]>, target: &[u8]) -> Out<Found> {
        outcome!(self, Call::symlink(dir, &name(at), target, AttrChange::default()), Symlink)
    }
    fn mknod(&self, dir: &Node, at: impl AsRef<[u8]>, special: Special, change: AttrChange) -> Out<Found> {
        outcome!(self, Call::mknod(dir, &name(at), special, change), MkNod)
    }
    fn remove(&self, dir: &Node, at: impl AsRef<[u8]>) -> Out<()> {
        outcome!(self, Call::remove(dir, &name(at)), Remove)
    }
    fn rmdir(&self, dir: &Node, at: impl AsRef<[u8]>) -> Out<()> {
        outcome!(self, Call::rmdir(dir, &name(at)), RmDir)
    }
    fn rename(&self, from_dir: &Node, from: impl AsRef<[u8]>, to_dir: &Node, to: impl AsRef<[u8]>) -> Out<()> {
        outcome!(self, Call::rename(from_dir, &name(from), to_dir, &name(to)), Rename)
    }
    fn link(&self, node: &Node, dir: &Node, at: impl AsRef<[u8]>) -> Out<Option<Attr>> {
        outcome!(self, Call::link(node, dir, &name(at)), Link)
    }
    fn read_dir(&self, dir: &Node, from: Cookie, want: Want, bytes_max: u32) -> Out<Page> {
        outcome!(self, Call::read_dir(dir, from, want, bytes_max), ReadDir)
    }
    fn fs_stat(&self, node: &Node) -> Out<Space> {
        outcome!(self, Call::fs_stat(node), FsStat)
    }
    fn fs_info(&self, node: &Node) -> Out<Limits> {
        outcome!(self, Call::fs_info(node), FsInfo)
    }
    fn path_conf(&self, node: &Node) -> Out<u32> {
        outcome!(self, Call::path_conf(node), PathConf)
    }
    fn commit(&self, node: &Node) -> Out<Verifier> {
        outcome!(self, Call::commit(node, 0, 0), Commit)
    }
    fn seek(&self, node: &Node, offset: u64, what: Sought) -> Out<u64> {
        outcome_beyond!(self, Call::seek(node, offset, what), Seek)
    }
    fn copy(&self, from: &Lent, from_offset: u64, node: &Node, offset: u64, count: u64) -> Out<u64> {
        outcome_beyond!(self, Call::copy(from, from_offset, node, offset, count), Copy)
    }
    fn io_advise(&self, node: &Node) -> Out<()> {
        outcome_beyond!(self, Call::io_advise(node), IoAdvise)
    }
    fn list_xattrs(&self, node: &Node) -> Out<Vec<Vec<u8>>> {
        outcome_beyond!(self, Call::list_xattrs(node), ListXattrs)
    }
    fn get_xattr(&self, node: &Node, at: impl AsRef<[u8]>) -> Out<Vec<u8>> {
        outcome_beyond!(self, Call::get_xattr(node, at.as_ref()), GetXattr)
    }
    fn set_xattr(&self, node: &Node, at: impl AsRef<[u8]>, value: &[u8]) -> Out<()> {
        outcome_beyond!(self, Call::set_xattr(node, at.as_ref(), value), SetXattr)
    }
    fn remove_xattr(&self, node: &Node, at: impl AsRef<[u8]>) -> Out<()> {
        outcome_beyond!(self, Call::remove_xattr(node, at.as_ref()), RemoveXattr)
    }

    /// A new file with this content, safe.
    fn file(&self, dir: &Node, at: impl AsRef<[u8]>, data: &[u8]) -> Node {
        let node = self.create(dir, at, How::Guarded, AttrChange::default()).expect("a new file").node;
        if !data.is_empty() {
            let written = self.write(&node, 0, data, Stable::FileSync).expect("written");
            assert_eq!(written.count as usize, data.len());
        }
        node
    }

    /// A new directory.
    fn dir(&self, dir: &Node, at: impl AsRef<[u8]>) -> Node {
        self.mkdir(dir, at, AttrChange::default()).expect("a new directory").node
    }

    /// A file's whole content, by READs of 64 KiB.
    fn content(&self, node: &Node) -> Out<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let (bytes, end) = self.read(node, all.len() as u64, 64 << 10)?;
            assert!(end || !bytes.is_empty(), "a READ before the end brings bytes");
            all.extend(bytes);
            if end {
                return Ok(all);
            }
        }
    }

    /// All entries, by pages of `bytes_max`.
    fn list(&self, dir: &Node, want: Want, bytes_max: u32) -> Out<Vec<Entry>> {
        let mut all = Vec::new();
        let mut from = Cookie::default();
        loop {
            let page = self.read_dir(dir, from, want, bytes_max)?;
            assert!(page.end || page.next != from, "a page that is not the last goes on");
            all.extend(page.entries);
            if page.end {
                return Ok(all);
            }
            from = page.next;
        }
    }
}

impl<M: Mount + ?Sized> Ask for M {}
