//! Reads a whole tree through a mount into values that can be compared, field by field.
//!
//! Not compared: atimes (reading changes them), ctimes, sizes and link counts of directories (the file system's own),
//! modes of symlinks (Linux has none).

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};

use parfs::base::{Name, Time};
use parfs::mounts::LocalMount;
use parfs::storage::{Attr, Beyond, Call, Cookie, Kind, Mount, Node, Op, Sought, Want};

/// A block of zeros is the same stored and as a hole.
const BLOCK_BYTES: u64 = 4096;
/// A file with fewer unstored bytes than this is not judged for its holes: file systems round in their own ways.
const HOLES_MIN: u64 = 4 << 20;
/// What a copy may store beyond its original, for the rounding of its islands of data.
const HOLES_SLACK: u64 = 2 << 20;

/// Bytes of storage. Never unequal: file systems round; [`differences`] judges them.
#[derive(Clone, Copy, Debug)]
pub struct Used(pub u64);

impl PartialEq for Used {
    fn eq(&self, _: &Used) -> bool {
        true
    }
}

impl Eq for Used {}

/// One object, without what differs from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub kind: Kind,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Of files.
    pub size: u64,
    /// Of files.
    pub used: Used,
    pub mtime: Time,
    /// A symlink's text.
    pub target: Vec<u8>,
    /// Of a file's content.
    pub hash: u64,
    pub nlink: u32,
    /// The first path of the same file.
    pub first: String,
    pub rdev: (u32, u32),
    /// Where the mount has them.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Path below the root ("" is the root) to object. In paths, bytes that are not UTF-8, control characters and backslashes
/// that could be taken for these are written `\ooo`.
pub type Tree = BTreeMap<String, Object>;

/// The tree with times left out, for what does not set them all.
pub fn timeless(mut tree: Tree) -> Tree {
    tree.values_mut().for_each(|object| object.mtime = Time::default());
    tree
}

/// The tree as NFSv3 can carry it. nfstime3 has 32 unsigned bits of seconds (RFC 1813 2.5), so that a time before 1970 arrives as
/// 1970-01-01 and one after 2106-02-07 as the last one there is; NFSv3 has no extended attributes and no ACLs.
pub fn through_nfs(mut tree: Tree) -> Tree {
    for object in tree.values_mut() {
        object.mtime = object.mtime.on_the_wire();
        object.xattrs.clear();
    }
    tree
}

/// Reads the tree below the root. Panics on any error.
pub fn dump(mount: &dyn Mount) -> Tree {
    dump_at(mount, &[])
}

/// Reads the tree of a real directory.
pub fn dump_dir(path: &std::path::Path) -> Tree {
    dump(&LocalMount::open(path).unwrap())
}

/// Reads the tree below `way`.
pub fn dump_at(mount: &dyn Mount, way: &[&str]) -> Tree {
    let root = node_at(mount, way);
    let attr = one(mount, Call::get_attr(&root)).attr().unwrap();
    let (mut tree, mut names_of, mut hashes) = (Tree::new(), HashMap::new(), HashMap::new());
    tree.insert(String::new(), object(mount, &root, &attr, &mut hashes));
    let mut todo = vec![(String::new(), root)];
    while let Some((path, dir)) = todo.pop() {
        for name in names(mount, &dir) {
            let found = one(mount, Call::lookup(&dir, &name)).found().unwrap();
            let attr = one(mount, Call::get_attr(&found.node)).attr().unwrap();
            let path = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
            let old = tree.insert(path.clone(), object(mount, &found.node, &attr, &mut hashes));
            assert!(old.is_none(), "listed twice: {path}");
            if attr.kind == Kind::Dir {
                todo.push((path, found.node));
            } else {
                names_of.entry(attr.fileid).or_insert_with(Vec::new).push(path);
            }
        }
    }
    for paths in names_of.values() {
        let first = paths.iter().min().unwrap();
        paths.iter().for_each(|path| tree.get_mut(path).unwrap().first.clone_from(first));
    }
    tree
}

/// What makes `is` another tree than `want`, one line for each field.
pub fn differences(want: &Tree, is: &Tree) -> Vec<String> {
    let mut found: Vec<String> =
        is.keys().filter(|path| !want.contains_key(*path)).map(|path| format!("{path}: should not be")).collect();
    for (path, want) in want {
        let Some(is) = is.get(path) else {
            found.push(format!("{path}: is missing"));
            continue;
        };
        let mut field = |name: &str, same: bool, values: &dyn Fn() -> String| {
            if !same {
                found.push(format!("{path}: {name}: {}", values()));
            }
        };
        macro_rules! fields {
            ($($name:ident),*) => {
                $(field(stringify!($name), want.$name == is.$name, &|| format!("{:?}, not {:?}", is.$name, want.$name));)*
            };
        }
        fields!(kind, mode, uid, gid, size, mtime, target, hash, nlink, first, rdev, xattrs);
        let holes = want.size.saturating_sub(want.used.0);
        let filled = holes >= HOLES_MIN && is.used.0 > want.used.0 + HOLES_SLACK;
        field("holes", !filled, &|| format!("{} bytes are stored, not {}", is.used.0, want.used.0));
    }
    found
}

/// Panics unless the trees are the same; names the first differences.
pub fn assert_same(want: &Tree, is: &Tree, context: &str) {
    let found = differences(want, is);
    assert!(found.is_empty(), "{context}: {} differences\n{}", found.len(), found[..found.len().min(20)].join("\n"));
}

/// Reads a file's content.
pub fn content(mount: &dyn Mount, path: &str) -> Vec<u8> {
    let node = node_at(mount, &path.split('/').collect::<Vec<_>>());
    let mut content = Vec::new();
    read(mount, &node, 0, u64::MAX, |_, data| content.extend_from_slice(data));
    content
}

/// The object at the end of a way from the root.
pub fn node_at(mount: &dyn Mount, way: &[&str]) -> Node {
    way.iter().fold(mount.root(), |node, name| one(mount, Call::lookup(&node, &unshown(name))).found().unwrap().node)
}

/// The name that is shown so.
fn unshown(text: &str) -> Name {
    let (mut rest, mut bytes) = (text.as_bytes(), Vec::new());
    while let [first, after @ ..] = rest {
        let (byte, left) = match (first, after) {
            (b'\\', [digit @ b'0'..=b'3', ..]) => {
                (after[1..3].iter().fold(digit - b'0', |byte, digit| byte * 8 + (digit - b'0')), &after[3..])
            }
            (b'\\', [letter, left @ ..]) => {
                let known =
                    [(b'a', 7), (b'b', 8), (b't', 9), (b'n', 10), (b'v', 11), (b'f', 12), (b'r', 13), (b'\\', b'\\')];
                (known.iter().find(|(of, _)| of == letter).unwrap().1, left)
            }
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = left;
    }
    Name::new(&bytes).unwrap()
}

#[test]
fn what_is_shown_is_one_name_and_no_other() {
    for name in [
        &b"plain"[..],
        b"\\",
        b"\\134",
        b"\xff",
        b"\\\xff",
        b"\\377",
        b"\n\t\r\x0b",
        b"\\n",
        b"\\13\x01",
        b"a\\b\xc3\xa9",
    ] {
        let name = Name::new(name).unwrap();
        assert_eq!(unshown(&name.to_string()), name);
    }
}

fn one<'a>(mount: &dyn Mount, call: Call<'a>) -> Call<'a> {
    let mut calls = [call];
    mount.perform(&mut calls);
    let [call] = calls;
    call
}

fn names(mount: &dyn Mount, dir: &Node) -> Vec<Name> {
    let (mut names, mut from) = (Vec::new(), Cookie::default());
    loop {
        let page = one(mount, Call::read_dir(dir, from, Want::Names, 65536)).take_page().unwrap();
        names.extend(page.entries.into_iter().map(|entry| entry.name));
        if page.end {
            return names;
        }
        from = page.next;
    }
}

fn object(mount: &dyn Mount, node: &Node, attr: &Attr, hashes: &mut HashMap<u64, u64>) -> Object {
    let is_file = attr.kind == Kind::File;
    let hash = match is_file {
        true => *hashes.entry(attr.fileid).or_insert_with(|| hash(mount, node, attr.size)),
        false => 0,
    };
    let target = match one(mount, Call::read_link(node)).op {
        Op::ReadLink { out, .. } if attr.kind == Kind::Symlink => out.unwrap(),
        _ => Vec::new(),
    };
    Object {
        kind: attr.kind,
        mode: if attr.kind == Kind::Symlink { 0 } else { attr.mode },
        uid: attr.uid,
        gid: attr.gid,
        size: if is_file { attr.size } else { 0 },
        used: Used(if is_file { attr.used } else { 0 }),
        mtime: attr.mtime,
        target,
        hash,
        nlink: if attr.kind == Kind::Dir { 0 } else { attr.nlink },
        first: String::new(),
        rdev: if matches!(attr.kind, Kind::Char | Kind::Block) { attr.rdev } else { (0, 0) },
        xattrs: if mount.limits().extras.xattrs { xattrs(mount, node) } else { BTreeMap::new() },
    }
}

/// All that a caller may read, less the labels that a security module gives each file by its own rules.
fn xattrs(mount: &dyn Mount, node: &Node) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let Op::Beyond(Beyond::ListXattrs { out, .. }) = one(mount, Call::list_xattrs(node)).op else { unreachable!() };
    let names = out.unwrap().into_iter().filter(|name| name != b"security.selinux");
    names
        .map(|name| match one(mount, Call::get_xattr(node, &name)).op {
            Op::Beyond(Beyond::GetXattr { out, .. }) => (name.clone(), out.unwrap()),
            _ => unreachable!(),
        })
        .collect()
}

/// Of the blocks that are not all zeros, and their places: holes are zeros.
fn hash(mount: &dyn Mount, node: &Node, size: u64) -> u64 {
    let mut sum = 0u64;
    let mut each = |offset: u64, data: &[u8]| {
        for (i, block) in data.chunks(BLOCK_BYTES as usize).enumerate() {
            if block.iter().any(|b| *b != 0) {
                let mut hasher = DefaultHasher::new();
                hasher.write_u64(offset / BLOCK_BYTES + i as u64);
                hasher.write(block);
                sum = sum.wrapping_add(hasher.finish());
            }
        }
    };
    if !mount.limits().extras.holes {
        read(mount, node, 0, u64::MAX, each);
        return sum;
    }
    let mut at = 0;
    while at < size {
        let Some(data) = seek(mount, node, at, Sought::Data) else { break };
        let hole = seek(mount, node, data, Sought::Hole).unwrap_or(size);
        // Whole blocks, so that their hashes are those of a mount without SEEK.
        let (from, to) = (data / BLOCK_BYTES * BLOCK_BYTES, hole.next_multiple_of(BLOCK_BYTES));
        read(mount, node, from.max(at), to, &mut each);
        at = to;
    }
    sum
}

fn seek(mount: &dyn Mount, node: &Node, offset: u64, what: Sought) -> Option<u64> {
    match one(mount, Call::seek(node, offset, what)).op {
        Op::Beyond(Beyond::Seek { out, .. }) => out.ok(),
        _ => unreachable!(),
    }
}

/// Reads from `offset`, which is a whole number of blocks, to `end` or the file's.
fn read(mount: &dyn Mount, node: &Node, offset: u64, end: u64, mut each: impl FnMut(u64, &[u8])) {
    let (mut offset, mut data) = (offset, Vec::new());
    while offset < end {
        let count = u32::try_from(end - offset).unwrap_or(u32::MAX).min(1 << 20);
        let Op::Read { buf, out, .. } = one(mount, Call::read(node, offset, count, data)).op else { unreachable!() };
        let last = out.unwrap();
        each(offset, &buf);
        offset += buf.len() as u64;
        if last {
            return;
        }
        assert!(
            (buf.len() as u64).is_multiple_of(BLOCK_BYTES) && !buf.is_empty(),
            "a READ before the end brings whole blocks"
        );
        data = buf;
    }
}
