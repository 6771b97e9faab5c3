//! A tree that is nowhere: so many files of one size, so many in a directory, answered by arithmetic as a direct NFS mount answers.
//! For forecasts of what does not exist yet.
//!
//! Below the root is one directory, `tree`; in it are directories, and in these the files. A handle says which object it is, so
//! nothing is kept in memory, whatever the size. Pages of listings are as large as NFSv3's would be, READ gives bytes that are no
//! zeros. It can only be read: what changes is refused with ROFS, and answered by the shadow that a forecast puts over it.

use std::time::Duration;

use crate::base::{Name, Status, Time};
use crate::storage::Space;
use crate::storage::{
    Attr, Call, Cookie, Entry, Extras, Found, Handle, Kind, Limits, Mount, Node, Op, Out, Page, Tally, Want,
};

use super::nfs;
use super::page::Room;

/// What every byte of a file is.
const FILL: u8 = b'i';
/// The largest READ, WRITE and page: what an OCI mount target and the direct client agree on.
const IO_BYTES_MAX: u32 = 1 << 20;
/// The largest file: offsets are signed 64-bit numbers.
const SIZE_MAX: u64 = i64::MAX as u64;
/// All times: some second of 2023.
const TIME: Time = Time { secs: 1_700_000_000, nanos: 0 };
/// READDIRPLUS pages' verifier.
const VERIFIER: u64 = 1;
/// Digits of a directory's and of a file's number in its name: all names of a kind are equally long, and so are their entries.
const DIGITS: usize = 10;
/// No more directories, and no more files in one, than these digits count.
pub const ENTRIES_MAX: u64 = 10_u64.pow(DIGITS as u32);
/// What handles begin with.
const MARK: &[u8; 8] = b"imagined";

/// A uniform tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Directories; all but the last one are full.
    pub dirs: u64,
    /// Files in a full directory.
    pub files: u64,
    /// Files in the last directory.
    pub files_last: u64,
    /// Bytes of each file.
    pub size: u64,
}

impl Tree {
    /// No tree: an export with nothing in it.
    pub const NONE: Tree = Tree { dirs: 0, files: 0, files_last: 0, size: 0 };

    /// So many files, so many in a directory.
    pub fn new(files: u64, per_dir: u64, size: u64) -> Tree {
        let per_dir = per_dir.clamp(1, files.max(1));
        let dirs = files.div_ceil(per_dir);
        Tree { dirs, files: per_dir, files_last: files - dirs.saturating_sub(1) * per_dir, size }
    }

    /// The same with so many directories.
    pub fn with_dirs(self, dirs: u64) -> Tree {
        Tree { dirs, ..self }
    }

    /// Files in directory `dir`.
    pub fn files_in(&self, dir: u64) -> u64 {
        if dir + 1 == self.dirs { self.files_last } else { self.files }
    }

    /// Files of all directories.
    pub fn files_all(&self) -> u64 {
        self.dirs.saturating_sub(1).saturating_mul(self.files).saturating_add(self.files_last)
    }

    /// Bytes of all files.
    pub fn bytes_all(&self) -> u64 {
        self.files_all().saturating_mul(self.size)
    }

    /// Pages in which `tree` itself is listed.
    pub fn top_pages(&self, want: Want, bytes_max: u32) -> u64 {
        self.dirs.div_ceil(page_entries(&dir_name(0), want, bytes_max)).max(1)
    }
}

/// The name of the one directory below the root.
pub fn top_name() -> Name {
    Name::new(b"tree").expect("letters are a name")
}

/// The name of directory `dir`.
pub fn dir_name(dir: u64) -> Name {
    Name::new(format!("d{dir:0DIGITS$}").as_bytes()).expect("a letter and digits are a name")
}

/// The name of file `file` in its directory.
pub fn file_name(file: u64) -> Name {
    Name::new(format!("f{file:0DIGITS$}").as_bytes()).expect("a letter and digits are a name")
}

/// How many entries with names as long as this one fit a page; the first one always does.
fn page_entries(name: &Name, want: Want, bytes_max: u32) -> u64 {
    let mut room = Room::new(want, bytes_max);
    (0..).take_while(|_| room.take(name.as_bytes())).count().max(1) as u64
}

/// An object of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Root,
    Top,
    Dir(u64),
    File(u64, u64),
}

impl Object {
    fn node(self) -> Node {
        let (dir, file) = match self {
            Object::Root => (0, 0),
            Object::Top => (1, 0),
            Object::Dir(dir) => (dir + 2, 0),
            Object::File(dir, file) => (dir + 2, file + 1),
        };
        let bytes = [&MARK[..], &dir.to_be_bytes(), &file.to_be_bytes()].concat();
        Node::Handle(Handle::new(&bytes).expect("24 bytes are a handle"))
    }

    fn is_dir(self) -> bool {
        !matches!(self, Object::File(..))
    }
}

/// A view of an imagined export.
#[derive(Clone, Debug)]
pub struct ImaginedMount {
    tree: Tree,
    root: Object,
    latency: Duration,
    /// The largest READ and WRITE.
    transfer_max: u32,
    /// Stands for the file system: two exports are two.
    fsid: u64,
    label: String,
}

impl ImaginedMount {
    /// An export of the file system `fsid` with `tree` in it, whose target answers a window of calls in `latency`. It
    /// suggests the shape that such a target is driven with; the time is for the shadow or tap to take.
    pub fn new(tree: Tree, latency: Duration, fsid: u64, label: &str) -> ImaginedMount {
        ImaginedMount { tree, root: Object::Root, latency, transfer_max: IO_BYTES_MAX, fsid, label: label.into() }
    }

    /// The same, with READs and WRITEs of so many bytes at most; the direct client asks for no more than a MiB.
    pub fn with_transfers(self, bytes_max: u64) -> ImaginedMount {
        ImaginedMount { transfer_max: u32::try_from(bytes_max).unwrap_or(u32::MAX).min(IO_BYTES_MAX), ..self }
    }

    /// The same, attached at the directory `tree`.
    pub fn at_top(self) -> ImaginedMount {
        ImaginedMount { root: Object::Top, ..self }
    }

    fn has_top(&self) -> bool {
        self.tree.dirs > 0
    }

    fn object(&self, node: &Node) -> Out<Object> {
        let Node::Handle(handle) = node else { return Err(Status::BadHandle) };
        let rest = handle.as_bytes().strip_prefix(MARK).ok_or(Status::BadHandle)?;
        let rest: [u8; 16] = rest.try_into().map_err(|_| Status::BadHandle)?;
        let bits = u128::from_be_bytes(rest);
        let (dir, file) = ((bits >> 64) as u64, bits as u64);
        let object = match (dir, file) {
            (0, 0) => Object::Root,
            (1, 0) => Object::Top,
            (2.., 0) => Object::Dir(dir - 2),
            (2.., _) => Object::File(dir - 2, file - 1),
            _ => return Err(Status::BadHandle),
        };
        let is_there = match object {
            Object::Root => true,
            Object::Top => self.has_top(),
            Object::Dir(dir) => dir < self.tree.dirs,
            Object::File(dir, file) => dir < self.tree.dirs && file < self.tree.files_in(dir),
        };
        if is_there { Ok(object) } else { Err(Status::Stale) }
    }

    fn attr_of(&self, object: Object) -> Attr {
        let (mode, size, fileid) = match object {
            Object::Root => (0o755, 4096, 1),
            Object::Top => (0o755, 4096, 2),
            Object::Dir(dir) => (0o755, 4096, 3 + dir),
            // Behind the directories, and far below the ids that a shadow invents.
            Object::File(dir, file) => (0o644, self.tree.size, 3 + self.tree.dirs + dir * self.tree.files + file),
        };
        let children = match object {
            Object::Root => u64::from(self.has_top()),
            Object::Top => self.tree.dirs,
            _ => 0,
        };
        Attr {
            kind: if object.is_dir() { Kind::Dir } else { Kind::File },
            mode,
            nlink: if object.is_dir() { u32::try_from(children + 2).unwrap_or(1) } else { 1 },
            uid: 0,
            gid: 0,
            size,
            used: size,
            rdev: (0, 0),
            fsid: self.fsid,
            fileid,
            atime: TIME,
            mtime: TIME,
            ctime: TIME,
        }
    }

    fn attr(&self, node: &Node) -> Out<Attr> {
        Ok(self.attr_of(self.object(node)?))
    }

    fn dir(&self, node: &Node) -> Out<Object> {
        let object = self.object(node)?;
        if object.is_dir() { Ok(object) } else { Err(Status::NotDir) }
    }

    /// How many entries a directory has.
    fn entries(&self, dir: Object) -> u64 {
        match dir {
            Object::Root => u64::from(self.has_top()),
            Object::Top => self.tree.dirs,
            Object::Dir(dir) => self.tree.files_in(dir),
            Object::File(..) => 0,
        }
    }

    /// An entry of a directory that has more than `at`.
    fn entry(&self, dir: Object, at: u64) -> (Name, Object) {
        match dir {
            Object::Root | Object::File(..) => (top_name(), Object::Top),
            Object::Top => (dir_name(at), Object::Dir(at)),
            Object::Dir(dir) => (file_name(at), Object::File(dir, at)),
        }
    }

    fn lookup(&self, dir: &Node, name: &Name) -> Out<Found> {
        let dir = self.dir(dir)?;
        // All names but that of `tree` are a letter and the entry's number.
        let digits = std::str::from_utf8(name.as_bytes()).ok().and_then(|text| text.get(1..));
        let at = if dir == Object::Root { Some(0) } else { digits.and_then(|digits| digits.parse().ok()) };
        let found = at.filter(|at| *at < self.entries(dir)).map(|at| self.entry(dir, at));
        let (_, object) = found.filter(|(there, _)| there == name).ok_or(Status::NoEnt)?;
        Ok(Found { node: object.node(), attr: Some(self.attr_of(object)) })
    }

    fn read(&self, node: &Node, (offset, count): (u64, u32), buf: &mut Vec<u8>) -> Out<bool> {
        buf.clear();
        let object = self.object(node)?;
        if object.is_dir() {
            return Err(Status::IsDir);
        }
        let left = self.tree.size.saturating_sub(offset);
        let bytes = left.min(u64::from(count.min(self.transfer_max)));
        buf.resize(usize::try_from(bytes).unwrap_or(0), FILL);
        Ok(bytes == left)
    }

    fn read_dir(&self, dir: &Node, from: Cookie, want: Want, bytes_max: u32) -> Out<Page> {
        let dir = self.dir(dir)?;
        if from.position > 0 && from.verifier != VERIFIER {
            return Err(Status::BadCookie);
        }
        let all = self.entries(dir);
        let first = from.position.min(all);
        let end = match all - first {
            0 => first,
            left => first + left.min(page_entries(&self.entry(dir, first).0, want, bytes_max)),
        };
        let entries = (first..end)
            .map(|at| {
                let (name, object) = self.entry(dir, at);
                let attr = self.attr_of(object);
                let plus = want != Want::Names;
                Entry {
                    name,
                    fileid: attr.fileid,
                    position: at + 1,
                    node: plus.then(|| object.node()),
                    attr: plus.then_some(attr),
                    kind: plus.then_some(attr.kind),
                }
            })
            .collect();
        Ok(Page { above: None, entries, next: Cookie { position: end, verifier: VERIFIER, ..from }, end: end == all })
    }

    fn space(&self) -> Space {
        let files = self.tree.files_all().saturating_add(self.tree.dirs).saturating_add(2);
        // There is always room: this is no question of a forecast.
        let (free_bytes, free_files) = (1 << 60, 1 << 40);
        Space {
            total_bytes: self.tree.bytes_all().saturating_add(free_bytes),
            free_bytes,
            available_bytes: free_bytes,
            total_files: files.saturating_add(free_files),
            free_files,
            available_files: free_files,
        }
    }

    fn serve(&self, op: &mut Op<'_>) {
        match op {
            Op::Null { out } => *out = Ok(()),
            Op::GetAttr { node, out } => *out = self.attr(node),
            Op::Lookup { dir, name, out } => *out = self.lookup(dir, name),
            // RFC 1813 3.3.4: LOOKUP, MODIFY, EXTEND and DELETE of a directory, of a file READ; root may do the rest as well.
            Op::Access { node, want, out } => {
                *out = self.attr(node).map(|attr| *want & if attr.kind == Kind::Dir { 0x1f } else { 0x0d });
            }
            Op::ReadLink { node, out } => *out = self.object(node).and(Err(Status::Inval)),
            Op::Read { node, offset, count, buf, attr, out } => {
                *out = self.read(node, (*offset, *count), buf);
                *attr = self.attr(node).ok();
            }
            Op::ReadDir { dir, from, want, bytes_max, out } => *out = self.read_dir(dir, *from, *want, *bytes_max),
            Op::FsStat { node, out } => *out = self.object(node).map(|_| self.space()),
            Op::FsInfo { node, out } => *out = self.object(node).map(|_| self.limits()),
            Op::PathConf { node, out } => *out = self.object(node).map(|_| self.limits().name_max),
            _ => {}
        }
    }
}

impl Mount for ImaginedMount {
    fn root(&self) -> Node {
        self.root.node()
    }

    fn limits(&self) -> Limits {
        Limits {
            read_max: self.transfer_max,
            write_max: self.transfer_max,
            list_max: self.transfer_max,
            name_max: 255,
            size_max: SIZE_MAX,
            shape: nfs::shape(self.latency),
            extras: Extras::default(),
            dirs_locked: false,
        }
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls.iter_mut() {
            self.serve(&mut call.op);
            if call.status() == Err(Status::Pending) {
                call.fail(if call.proc().is_nfs3() { Status::RoFs } else { Status::NotSupp });
            }
        }
    }

    /// As a direct mount: what NFSv3 has no procedure for is refused without asking.
    fn lower(&self, call: &Call<'_>) -> Tally {
        if call.proc().is_nfs3() { Tally::of(call) } else { Tally::default() }
    }

    /// It sends nothing; the shadow over it counts what would be sent.
    fn issued(&self) -> Option<Tally> {
        None
    }

    fn label(&self) -> String {
        self.label.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::storage::AttrChange;

    fn one<'a>(mount: &ImaginedMount, call: Call<'a>) -> Call<'a> {
        let mut calls = [call];
        mount.perform(&mut calls);
        let [call] = calls;
        call
    }

    /// All entries of a directory, and in how many pages they came.
    fn list(mount: &ImaginedMount, dir: &Node, want: Want, bytes_max: u32) -> (Vec<Entry>, u64) {
        let (mut from, mut all, mut pages) = (Cookie::default(), Vec::new(), 0);
        loop {
            let page = one(mount, Call::read_dir(dir, from, want, bytes_max)).take_page().unwrap();
            all.extend(page.entries);
            pages += 1;
            if page.end {
                return (all, pages);
            }
            from = page.next;
        }
    }

    fn mount(tree: Tree) -> ImaginedMount {
        ImaginedMount::new(tree, Duration::from_millis(1), 7, "imagined")
    }

    #[test]
    fn a_tree_has_the_files_that_were_asked_for() {
        let tree = Tree::new(2_501, 1000, 9);
        assert_eq!(tree, Tree { dirs: 3, files: 1000, files_last: 501, size: 9 });
        assert_eq!((tree.files_all(), tree.bytes_all()), (2_501, 9 * 2_501));
        assert_eq!(Tree::new(5, 1000, 1), Tree { dirs: 1, files: 5, files_last: 5, size: 1 });
        assert_eq!(Tree::new(2_000, 1000, 1).files_last, 1000);
        let mount = mount(tree);
        let (top, _) = list(&mount, &mount.root(), Want::Attributes, 65_536);
        assert_eq!(top.len(), 1);
        let (dirs, _) = list(&mount, top[0].node.as_ref().unwrap(), Want::Types, 65_536);
        let of = |dir: &Entry| list(&mount, dir.node.as_ref().unwrap(), Want::Attributes, 65_536).0;
        let files: Vec<Vec<Entry>> = dirs.iter().map(of).collect();
        assert_eq!(files.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 1000, 501]);
        let ids: BTreeSet<u64> = top.iter().chain(&dirs).chain(files.iter().flatten()).map(|e| e.fileid).collect();
        assert_eq!(ids.len(), 1 + 3 + 2_501);
        // What a listing told is what LOOKUP and GETATTR tell.
        for (dir, files) in dirs.iter().zip(&files) {
            let (last, dir) = (files.last().unwrap(), dir.node.as_ref().unwrap());
            let found = one(&mount, Call::lookup(dir, &last.name)).found().unwrap();
            assert_eq!((Some(&found.node), found.attr), (last.node.as_ref(), last.attr));
            assert_eq!(one(&mount, Call::get_attr(&found.node)).attr().ok(), last.attr);
            let next = file_name(files.len() as u64);
            assert_eq!(one(&mount, Call::lookup(dir, &next)).found(), Err(Status::NoEnt));
        }
    }

    #[test]
    fn pages_are_bounded_as_nfs_bounds_them_and_foretold() {
        let mount = mount(Tree::new(3_000, 1, 9)).at_top();
        for (want, bytes_max) in
            [(Want::Attributes, 65_536), (Want::Types, 8192), (Want::Names, 8192), (Want::Names, 1)]
        {
            let (entries, pages) = list(&mount, &mount.root(), want, bytes_max);
            assert_eq!((entries.len(), pages), (3_000, mount.tree.top_pages(want, bytes_max)), "{want:?} {bytes_max}");
        }
        // 64 KiB less a head of 104 bytes, in entries of 200: 24 + 164 and a name of 11 in 12.
        assert_eq!(mount.tree.top_pages(Want::Attributes, 65_536), 3_000_u64.div_ceil(327));
        assert_eq!(Tree::NONE.top_pages(Want::Names, 4096), 1);
    }

    #[test]
    fn files_are_read_and_nothing_is_changed() {
        let mount = mount(Tree::new(2, 1, 3 << 20));
        let file = Object::File(1, 0).node();
        let Op::Read { buf, attr, out, .. } = one(&mount, Call::read(&file, (3 << 20) - 5, 100, Vec::new())).op else {
            panic!("a READ")
        };
        assert_eq!((buf, out, attr.map(|attr| attr.size)), (vec![FILL; 5], Ok(true), Some(3 << 20)));
        let Op::Read { buf, out, .. } = one(&mount, Call::read(&file, 0, u32::MAX, Vec::new())).op else {
            panic!("a READ")
        };
        assert_eq!((buf.len(), out), (1 << 20, Ok(false)));
        assert_eq!(one(&mount, Call::read(&mount.root(), 0, 1, Vec::new())).status(), Err(Status::IsDir));
        let root = mount.root();
        assert_eq!(one(&mount, Call::remove(&root, &top_name())).status(), Err(Status::RoFs));
        assert_eq!(one(&mount, Call::mkdir(&root, &file_name(0), AttrChange::default())).status(), Err(Status::RoFs));
        assert_eq!(one(&mount, Call::list_xattrs(&file)).status(), Err(Status::NotSupp));
        let nothing = self::mount(Tree::NONE);
        assert_eq!(one(&nothing, Call::get_attr(&file)).status(), Err(Status::Stale));
        assert!(list(&nothing, &nothing.root(), Want::Names, 4096).0.is_empty());
    }
}
