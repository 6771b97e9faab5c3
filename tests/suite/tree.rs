//! Reads a whole tree through a mount into values that can be compared.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use parfs::base::{Name, Time};
use parfs::storage::{Attr, Call, Cookie, Kind, Mount, Node, Op, Want};

/// One object, without what differs from run to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub kind: Kind,
    pub mode: u32,
    pub uid: u32,
    /// Of files.
    pub size: u64,
    pub mtime: Time,
    /// A symlink's text.
    pub target: Vec<u8>,
    /// Of a file's content.
    pub hash: u64,
    pub nlink: u32,
    /// The first path of the same file.
    pub first: String,
    pub rdev: (u32, u32),
}

/// Path below the root ("" is the root) to object.
pub type Tree = BTreeMap<String, Object>;

/// The tree with times left out, for what does not set them all.
pub fn timeless(mut tree: Tree) -> Tree {
    tree.values_mut().for_each(|object| object.mtime = Time::default());
    tree
}

/// Reads the tree below the root. Panics on any error.
pub fn dump(mount: &dyn Mount) -> Tree {
    let root = mount.root();
    let attr = one(mount, Call::get_attr(&root)).attr().unwrap();
    let (mut tree, mut firsts) = (Tree::new(), BTreeMap::new());
    tree.insert(String::new(), object(mount, &root, &attr, String::new()));
    let mut todo = vec![(String::new(), root)];
    while let Some((path, dir)) = todo.pop() {
        for name in names(mount, &dir) {
            let found = one(mount, Call::lookup(&dir, &name)).found().unwrap();
            let attr = one(mount, Call::get_attr(&found.node)).attr().unwrap();
            let path = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
            if attr.kind == Kind::Dir {
                todo.push((path.clone(), found.node.clone()));
            }
            tree.insert(path.clone(), object(mount, &found.node, &attr, path.clone()));
            if attr.kind != Kind::Dir && attr.nlink > 1 {
                firsts.entry(attr.fileid).or_insert_with(Vec::new).push(path);
            }
        }
    }
    for paths in firsts.values() {
        let first = paths.iter().min().unwrap();
        paths.iter().for_each(|path| tree.get_mut(path).unwrap().first.clone_from(first));
    }
    tree
}

/// Reads a file's content.
pub fn content(mount: &dyn Mount, path: &str) -> Vec<u8> {
    let mut node = mount.root();
    for name in path.split('/') {
        node = one(mount, Call::lookup(&node, &Name::new(name.as_bytes()).unwrap())).found().unwrap().node;
    }
    let mut content = Vec::new();
    read(mount, &node, |data| content.extend_from_slice(data));
    content
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

fn object(mount: &dyn Mount, node: &Node, attr: &Attr, path: String) -> Object {
    let mut hasher = DefaultHasher::new();
    if attr.kind == Kind::File {
        read(mount, node, |data| hasher.write(data));
    }
    let target = match one(mount, Call::read_link(node)).op {
        Op::ReadLink { out, .. } if attr.kind == Kind::Symlink => out.unwrap(),
        _ => Vec::new(),
    };
    let is_dir = attr.kind == Kind::Dir;
    Object {
        kind: attr.kind,
        mode: if attr.kind == Kind::Symlink { 0 } else { attr.mode },
        uid: attr.uid,
        size: if attr.kind == Kind::File { attr.size } else { 0 },
        mtime: attr.mtime,
        target,
        hash: hasher.finish(),
        nlink: if is_dir { 0 } else { attr.nlink },
        first: path,
        rdev: if matches!(attr.kind, Kind::Char | Kind::Block) { attr.rdev } else { (0, 0) },
    }
}

fn read(mount: &dyn Mount, node: &Node, mut each: impl FnMut(&[u8])) {
    let mut offset = 0;
    loop {
        let Op::Read { buf, out, .. } = one(mount, Call::read(node, offset, 1 << 20, Vec::new())).op else {
            unreachable!()
        };
        let end = out.unwrap();
        each(&buf);
        offset += buf.len() as u64;
        if end {
            return;
        }
        assert!(!buf.is_empty(), "a read that is not at the end gives data");
    }
}
