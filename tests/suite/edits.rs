//! Random trees, and random edits of them, by a seed: what happens to a tree between two runs of a sync.
//!
//! Each edit of a file's data gives it a time of its own, so that no sync depends on the clock's resolution.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use parfs::storage::{AttrChange, Cookie, Kind, Mount, Node, Special, Want};

use crate::ask::Ask;
use crate::nasty::{past, put, set, time};
use crate::random::Random;

/// Who edits: the seed's numbers, and the count that names and times are made of.
pub struct Editor {
    pub random: Random,
    count: i64,
    /// Files may have several names.
    links: bool,
}

/// An object in a tree: its directory, its name there, itself.
#[derive(Clone)]
struct Place {
    dir: Node,
    name: Vec<u8>,
    node: Node,
    kind: Kind,
    depth: usize,
}

/// What an edit may do; each once in so many.
const EDITS: [&str; 14] = [
    "add file",
    "add dir",
    "add symlink",
    "add fifo",
    "remove",
    "grow",
    "truncate",
    "rewrite",
    "touch",
    "chmod",
    "chown",
    "change type",
    "rename",
    "relink",
];

impl Editor {
    pub fn new(seed: u64) -> Editor {
        println!("seed {seed}"); // shown when a test fails
        Editor { random: Random(seed), count: 0, links: true }
    }

    /// Every file has one name.
    pub fn without_links(self) -> Editor {
        Editor { links: false, ..self }
    }

    /// Fills the mount's root with about `objects` objects.
    pub fn plant(&mut self, mount: &dyn Mount, objects: usize) {
        let mut dirs = vec![mount.root()];
        for _ in 0..objects {
            let dir = self.random.pick(&dirs);
            match self.random.below(10) {
                0 | 1 => dirs.push(self.add_dir(mount, &dir)),
                2 => self.add_symlink(mount, &dir),
                3 if self.random.below(3) == 0 => self.add_fifo(mount, &dir),
                4 if self.links => {
                    let to = self.random.pick(&dirs);
                    let node = self.add_file(mount, &dir);
                    let name = self.name();
                    mount.link(&node, &to, name).unwrap();
                }
                _ => drop(self.add_file(mount, &dir)),
            }
        }
        for place in places(mount).iter().filter(|place| place.kind == Kind::Dir) {
            self.stamp(mount, &place.node);
        }
        self.stamp(mount, &mount.root());
    }

    /// Makes `count` edits; returns what they were.
    pub fn edit(&mut self, mount: &dyn Mount, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| {
                let what = self.random.pick(&EDITS);
                let done = self.one(mount, what);
                println!("{done}");
                done
            })
            .collect()
    }

    fn one(&mut self, mount: &dyn Mount, what: &str) -> String {
        let places = places(mount);
        let dirs: Vec<Node> = std::iter::once(mount.root())
            .chain(places.iter().filter(|p| p.kind == Kind::Dir).map(|p| p.node.clone()))
            .collect();
        let dir = self.random.pick(&dirs);
        match what {
            "add file" => drop(self.add_file(mount, &dir)),
            "add dir" => drop(self.add_dir(mount, &dir)),
            "add symlink" => self.add_symlink(mount, &dir),
            "add fifo" => self.add_fifo(mount, &dir),
            _ if places.is_empty() => return format!("{what}: nothing is there"),
            _ => {
                let wanted: Vec<&Place> = places.iter().filter(|p| suits(what, p.kind)).collect();
                if wanted.is_empty() {
                    return format!("{what}: nothing suits");
                }
                let place = self.random.pick(&wanted).clone();
                self.change(mount, what, &place, &dirs);
                return format!("{what}: {}", String::from_utf8_lossy(&place.name));
            }
        }
        what.into()
    }

    fn change(&mut self, mount: &dyn Mount, what: &str, place: &Place, dirs: &[Node]) {
        let size = mount.get_attr(&place.node).unwrap().size;
        match what {
            "remove" => remove(mount, place),
            "grow" => {
                let more = self.data();
                put(mount, &place.node, size, &more);
                self.stamp(mount, &place.node);
            }
            "truncate" => {
                set(mount, &place.node, AttrChange { size: Some(size / 2), ..AttrChange::default() });
                self.stamp(mount, &place.node);
            }
            "rewrite" => {
                let data = self.random.bytes(usize::try_from(size).unwrap());
                put(mount, &place.node, 0, &data);
                self.stamp(mount, &place.node);
            }
            "touch" => self.stamp(mount, &place.node),
            "chmod" => {
                let mode = Some(self.random.pick(&[0o700, 0o711, 0o755, 0o750, 0o777, 0o1777, 0o4755]));
                set(mount, &place.node, AttrChange { mode, ..AttrChange::default() });
            }
            "chown" => {
                let own = mount.get_attr(&place.node).unwrap();
                let may = rustix::process::geteuid().is_root();
                let (uid, gid) = if may { (self.id(), self.id()) } else { (own.uid, own.gid) };
                set(mount, &place.node, AttrChange { uid: Some(uid), gid: Some(gid), ..AttrChange::default() });
            }
            "change type" => self.change_type(mount, place),
            "rename" => {
                let (to, name) = (self.random.pick(dirs), self.name());
                // A directory does not go beneath itself; then it stays.
                let _ = mount.rename(&place.dir, &place.name, &to, &name);
            }
            "relink" => self.relink(mount, place, dirs),
            _ => unreachable!("{what}"),
        }
    }

    /// The name stands for another kind of object from now on.
    fn change_type(&mut self, mount: &dyn Mount, place: &Place) {
        remove(mount, place);
        let other: Vec<Kind> =
            [Kind::File, Kind::Dir, Kind::Symlink].into_iter().filter(|kind| *kind != place.kind).collect();
        let node = match self.random.pick(&other) {
            Kind::File => {
                let data = self.data();
                let node = mount.file(&place.dir, &place.name, b"");
                put(mount, &node, 0, &data);
                node
            }
            Kind::Dir => {
                let node = mount.dir(&place.dir, &place.name);
                self.add_file(mount, &node);
                node
            }
            _ => mount.symlink(&place.dir, &place.name, b"now a link").unwrap().node,
        };
        self.stamp(mount, &node);
    }

    /// The name becomes another one's, or a file of its own.
    fn relink(&mut self, mount: &dyn Mount, place: &Place, dirs: &[Node]) {
        if mount.get_attr(&place.node).unwrap().nlink > 1 && self.random.below(2) == 0 {
            let data = mount.content(&place.node).unwrap();
            mount.remove(&place.dir, &place.name).unwrap();
            let node = mount.file(&place.dir, &place.name, b"");
            put(mount, &node, 0, &data);
            self.stamp(mount, &node);
        } else {
            let (to, name) = (self.random.pick(dirs), self.name());
            if self.links {
                mount.link(&place.node, &to, name).unwrap();
            }
        }
    }

    fn add_file(&mut self, mount: &dyn Mount, dir: &Node) -> Node {
        let (name, data) = (self.name(), self.data());
        let node = mount.file(dir, name, b"");
        put(mount, &node, 0, &data);
        self.stamp(mount, &node);
        node
    }

    fn add_dir(&mut self, mount: &dyn Mount, dir: &Node) -> Node {
        let name = self.name();
        mount.dir(dir, name)
    }

    fn add_symlink(&mut self, mount: &dyn Mount, dir: &Node) {
        let (name, target) = (self.name(), self.name());
        let node = mount.symlink(dir, name, &target).unwrap().node;
        self.stamp(mount, &node);
    }

    fn add_fifo(&mut self, mount: &dyn Mount, dir: &Node) {
        let name = self.name();
        let node = mount.mknod(dir, name, Special::Fifo, AttrChange::default()).unwrap().node;
        self.stamp(mount, &node);
    }

    /// A name that no other object has.
    fn name(&mut self) -> Vec<u8> {
        self.count += 1;
        let tail = self.random.pick(&[&b""[..], b"\n", b"\xff", b" x", b"\\", b"'"]);
        [format!("{}", self.count).as_bytes(), tail].concat()
    }

    fn id(&mut self) -> u32 {
        self.random.pick(&[0, 1, 1000, 65_534])
    }

    /// Mostly small, sometimes several WRITEs, sometimes nothing.
    fn data(&mut self) -> Vec<u8> {
        let bytes = match self.random.below(8) {
            0 => 0,
            1 => 100_000 + self.random.below(1 << 21),
            _ => 1 + self.random.below(10_000),
        };
        self.random.bytes(bytes as usize)
    }

    fn stamp(&mut self, mount: &dyn Mount, node: &Node) {
        self.count += 1;
        set(mount, node, time(past(self.count)));
    }
}

/// Whether an edit of this name can be made of such an object.
fn suits(what: &str, kind: Kind) -> bool {
    match what {
        "grow" | "truncate" | "rewrite" | "relink" => kind == Kind::File,
        "chmod" => kind != Kind::Symlink,
        _ => true,
    }
}

fn remove(mount: &dyn Mount, place: &Place) {
    if place.kind != Kind::Dir {
        return mount.remove(&place.dir, &place.name).unwrap();
    }
    for inside in below(mount, &place.node, 0) {
        if inside.depth == 0 {
            remove(mount, &inside);
        }
    }
    mount.rmdir(&place.dir, &place.name).unwrap();
}

/// Everything in the tree, in an order that depends on names alone.
fn places(mount: &dyn Mount) -> Vec<Place> {
    below(mount, &mount.root(), 0)
}

fn below(mount: &dyn Mount, dir: &Node, depth: usize) -> Vec<Place> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut from = Cookie::default();
    loop {
        let page = mount.read_dir(dir, from, Want::Names, 1 << 16).unwrap();
        names.extend(page.entries.iter().map(|entry| entry.name.as_bytes().to_vec()));
        if page.end {
            break;
        }
        from = page.next;
    }
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let node = mount.lookup(dir, &name).unwrap().node;
        let kind = mount.get_attr(&node).unwrap().kind;
        all.push(Place { dir: dir.clone(), name, node: node.clone(), kind, depth });
        if kind == Kind::Dir {
            all.extend(below(mount, &node, depth + 1));
        }
    }
    all
}
