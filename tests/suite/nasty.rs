//! A tree of everything that copies get wrong, built through any mount.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use parfs::base::{Status, Time};
use parfs::storage::{AttrChange, Call, How, Kind, Mount, Node, SetTime, Special, Stable};

use crate::ask::Ask;
use crate::random::Random;

/// How large the tree is; what a mount or this process cannot make is left out by itself.
#[derive(Clone, Copy, Debug)]
pub struct Nasty {
    /// Files with several names.
    pub linked_files: usize,
    /// Their names together.
    pub links: usize,
    /// Directories that those lie in.
    pub link_dirs: usize,
    pub sparse_bytes: u64,
    /// Directories within each other, each with a name of 200 bytes: 21 of them are longer than PATH_MAX.
    pub deep: usize,
    /// Objects that only root may make or read: devices, other owners, mode 000.
    pub root: bool,
    /// Times that nfstime3 has no numbers for.
    pub far_times: bool,
}

impl Nasty {
    /// As issue 3 has it.
    pub const FULL: Nasty = Nasty {
        linked_files: 10_000,
        links: 100_000,
        link_dirs: 100,
        sparse_bytes: 5 << 30,
        deep: 30,
        root: true,
        far_times: true,
    };

    /// The same with fewer of each.
    pub const SMALL: Nasty =
        Nasty { linked_files: 40, links: 400, link_dirs: 7, sparse_bytes: 64 << 20, ..Nasty::FULL };

    /// What this process can make of it.
    pub fn allowed(self) -> Nasty {
        Nasty { root: self.root && rustix::process::geteuid().is_root(), ..self }
    }

    /// Builds it in the mount's root, which is empty.
    pub fn build(&self, mount: &dyn Mount) {
        let root = mount.root();
        self.links(mount, &at(mount, &root, "links"));
        self.sparse(mount, &at(mount, &root, "sparse"));
        names(mount, &at(mount, &root, "names"));
        self.deep(mount, &at(mount, &root, "deep"));
        self.modes(mount, &at(mount, &root, "modes"));
        self.times(mount, &at(mount, &root, "times"));
        self.kinds(mount, &at(mount, &root, "kinds"));
        sizes(mount, &at(mount, &root, "sizes"));
        xattrs(mount, &at(mount, &root, "xattrs"));
        let dirs = ["links", "sparse", "names", "deep", "modes", "times", "kinds", "sizes", "xattrs"];
        for (i, dir) in dirs.into_iter().enumerate() {
            let node = mount.lookup(&root, dir).unwrap().node;
            set_time(mount, &node, past(1_000 + i as i64));
        }
        set_time(mount, &root, past(999));
    }

    /// Every file has a name of its own and names in other directories, dealt out like cards.
    fn links(&self, mount: &dyn Mount, dir: &Node) {
        let dirs: Vec<Node> = (0..self.link_dirs).map(|i| mount.dir(dir, format!("d{i}"))).collect();
        let mut nodes = Vec::new();
        for i in 0..self.linked_files {
            let node = mount.file(&dirs[i % dirs.len()], format!("f{i}"), format!("content {i}").as_bytes());
            set_time(mount, &node, past(i as i64));
            nodes.push(node);
        }
        for i in self.linked_files..self.links {
            // 7919 is prime to the number of files, so that every file gets some.
            let file = i * 7919 % self.linked_files;
            mount.link(&nodes[file], &dirs[(i / 3) % dirs.len()], format!("l{i}")).unwrap();
        }
        for (i, dir) in dirs.iter().enumerate() {
            set_time(mount, dir, past(i as i64));
        }
    }

    fn sparse(&self, mount: &dyn Mount, dir: &Node) {
        let mut random = Random(5);
        let island = random.bytes(70_000);
        let sparse = mount.file(dir, "islands", b"");
        for i in 0..4 {
            put(mount, &sparse, self.sparse_bytes / 5 * i + 4096 * i, &island);
        }
        set(mount, &sparse, AttrChange { size: Some(self.sparse_bytes), ..time(past(1)) });
        let hole = mount.file(dir, "all hole", b"");
        set(mount, &hole, AttrChange { size: Some(self.sparse_bytes), ..time(past(2)) });
        let end = mount.file(dir, "data at the end", b"");
        put(mount, &end, self.sparse_bytes - 3, b"end");
        set_time(mount, &end, past(3));
        let zeros = mount.file(dir, "zeros that are stored", &vec![0; 100_000]);
        set_time(mount, &zeros, past(4));
    }

    fn deep(&self, mount: &dyn Mount, dir: &Node) {
        let mut way = vec![dir.clone()];
        for i in 0..self.deep {
            let name = [vec![b'a' + (i % 26) as u8; 197], format!("{i:03}").into_bytes()].concat();
            way.push(mount.dir(&way[i], name));
            let file = mount.file(&way[i], "beside", format!("{i}").as_bytes());
            set_time(mount, &file, past(i as i64));
        }
        let leaf = mount.file(&way[self.deep], "leaf", b"the deepest");
        set_time(mount, &leaf, past(7));
        for (i, dir) in way.iter().enumerate().skip(1).rev() {
            set_time(mount, dir, past(i as i64));
        }
    }

    fn modes(&self, mount: &dyn Mount, dir: &Node) {
        for bits in [0o4755, 0o2755, 0o6711, 0o1644, 0o7777, 0o400, 0o600, 0o666] {
            let file = mount.file(dir, format!("f{bits:o}"), b"mode");
            set(mount, &file, AttrChange { mode: Some(bits), ..time(past(1)) });
        }
        for bits in [0o1777, 0o2775, 0o500, 0o700, 0o3770] {
            let sub = mount.dir(dir, format!("d{bits:o}"));
            let inside = mount.file(&sub, "inside", b"read-only directories have content");
            set_time(mount, &inside, past(2));
            set(mount, &sub, AttrChange { mode: Some(bits), ..time(past(3)) });
        }
        if !self.root {
            return;
        }
        let none = mount.file(dir, "f0", b"not even its owner");
        set(mount, &none, AttrChange { mode: Some(0), ..time(past(4)) });
        let sub = mount.dir(dir, "d0");
        let inside = mount.file(&sub, "inside", b"of a closed directory");
        set_time(mount, &inside, past(5));
        set(mount, &sub, AttrChange { mode: Some(0), ..time(past(6)) });
        let mine = AttrChange { uid: Some(12_345), gid: Some(54_321), mode: Some(0o6755), ..time(past(7)) };
        set(mount, &mount.file(dir, "another's", b"set-id and given away"), mine);
        let link = mount.symlink(dir, "another's link", b"f400").unwrap().node;
        set(mount, &link, AttrChange { mode: None, ..mine });
        set(mount, &mount.dir(dir, "another's dir"), mine);
        let high = AttrChange { uid: Some(u32::MAX - 1), gid: Some(u32::MAX - 1), ..time(past(8)) };
        set(mount, &mount.file(dir, "the highest ids", b""), high);
    }

    fn times(&self, mount: &dyn Mount, dir: &Node) {
        let mut times = vec![
            Time { secs: 0, nanos: 0 },
            Time { secs: 0, nanos: 1 },
            Time { secs: 1, nanos: 999_999_999 },
            Time { secs: i64::from(i32::MAX), nanos: 500_000_000 },
            Time { secs: i64::from(i32::MAX) + 1, nanos: 3 },
            Time { secs: 1_600_000_000, nanos: 123_456_789 },
        ];
        if self.far_times {
            times.push(Time { secs: -315_619_200, nanos: 987_654_321 }); // 1960-01-01
            times.push(Time { secs: -1, nanos: 1 });
            times.push(Time { secs: 7_258_118_400, nanos: 5 }); // 2200-01-01; ext4 reaches 2446, xfs 2486
            times.push(Time { secs: i64::from(u32::MAX) + 1, nanos: 0 });
        }
        for (i, at) in times.into_iter().enumerate() {
            for kind in ["file", "dir", "link"] {
                let node = match kind {
                    "file" => mount.file(dir, format!("file{i}"), b"x"),
                    "dir" => mount.dir(dir, format!("dir{i}")),
                    _ => mount.symlink(dir, format!("link{i}"), b"x").unwrap().node,
                };
                set_time(mount, &node, at);
            }
        }
    }

    fn kinds(&self, mount: &dyn Mount, dir: &Node) {
        let mut specials = vec![("fifo", Special::Fifo), ("socket", Special::Socket)];
        if self.root {
            specials.extend([("null", Special::Char(1, 3)), ("loop", Special::Block(7, 300))]);
        }
        for (i, (name, special)) in specials.into_iter().enumerate() {
            let made = mount.mknod(dir, name, special, AttrChange { mode: Some(0o640), ..AttrChange::default() });
            match made {
                // Some containers let root make no devices.
                Err(Status::Perm) if matches!(special, Special::Char(..) | Special::Block(..)) => continue,
                made => set_time(mount, &made.unwrap().node, past(i as i64)),
            }
            let other = mount.lookup(dir, name).unwrap().node;
            mount.link(&other, dir, format!("{name}, once more")).unwrap();
        }
        for (i, target) in
            [&b"dangling"[..], b"..", b"/", b"fifo", b"\xff\xfe\n", &[b'x'; 4095], b"trailing/"].iter().enumerate()
        {
            let link = mount.symlink(dir, format!("symlink{i}"), target).unwrap().node;
            set_time(mount, &link, past(i as i64));
        }
        let twice = mount.lookup(dir, "symlink0").unwrap().node;
        mount.link(&twice, dir, "symlink0, once more").unwrap();
    }
}

fn names(mount: &dyn Mount, dir: &Node) {
    let longest = [b'n'; 255];
    let odd: [&[u8]; 18] = [
        b"new\nline",
        b"\n",
        b"quote'\"`$(x)",
        b"\xff\xfe invalid",
        b"\xc3",
        b" ",
        b" leading and trailing ",
        b"-rf",
        b"--",
        b"*",
        b"back\\slash",
        b"back\\134slash",
        b"tab\t\x01\x7f\x1b[31m",
        b"...",
        b".hidden",
        "\u{fc}ml\u{e4}ut".as_bytes(),
        "u\u{308}mlaut".as_bytes(),
        &longest,
    ];
    for (i, name) in odd.iter().enumerate() {
        let node = if i % 3 == 2 { mount.dir(dir, name) } else { mount.file(dir, name, name) };
        if i % 3 == 2 {
            let inside = mount.file(&node, name, b"inside");
            set_time(mount, &inside, past(i as i64));
        }
        set_time(mount, &node, past(i as i64));
    }
}

/// Around the sizes where one WRITE, one block and one range end.
fn sizes(mount: &dyn Mount, dir: &Node) {
    let mut random = Random(6);
    let sizes = [0, 1, 4095, 4096, 4097, 65_536, 65_537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (4 << 20) + 1];
    for size in sizes {
        let file = mount.file(dir, format!("{size}"), b"");
        put(mount, &file, 0, &random.bytes(size));
        set_time(mount, &file, past(size as i64));
    }
    let empty = mount.dir(dir, "empty directory");
    set_time(mount, &empty, past(1));
}

fn xattrs(mount: &dyn Mount, dir: &Node) {
    let (file, sub) = (mount.file(dir, "file", b"x"), mount.dir(dir, "dir"));
    let both = mount.file(dir, "bare", b"none");
    set_time(mount, &both, past(9));
    if mount.limits().extras.xattrs {
        let large = vec![7; 2000];
        for (node, name, value) in [
            (&file, &b"user.comment"[..], &b"text\0\xff"[..]),
            (&file, b"user.empty", b""),
            (&file, b"user.large", &large),
            (&sub, b"user.of a directory", b"d"),
            (&file, b"system.posix_acl_access", &acl(0o640)),
            (&sub, b"system.posix_acl_access", &acl(0o750)),
            (&sub, b"system.posix_acl_default", &acl(0o770)),
        ] {
            let mut calls = [Call::set_xattr(node, name, value)];
            mount.perform(&mut calls);
            match calls[0].status() {
                Ok(()) | Err(Status::NotSupp) => {} // a file system without ACLs, or without user attributes
                Err(status) => panic!("{}: {status}", String::from_utf8_lossy(name)),
            }
        }
    }
    set_time(mount, &file, past(1));
    set_time(mount, &sub, past(2));
}

/// An ACL as Linux keeps it (acl(5), version 2): the owner, user 1234, the group, the mask and others.
pub fn acl(mode: u16) -> Vec<u8> {
    const ANY: u32 = u32::MAX;
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, bits, id) in [(1u16, mode >> 6, ANY), (2, 6, 1234), (4, 5, ANY), (16, mode >> 3, ANY), (32, mode, ANY)] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend((bits & 7).to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// A time long before any clock's, each with other nanoseconds.
pub fn past(n: i64) -> Time {
    Time { secs: 1_100_000_000 + n, nanos: (n as u32 + 1).wrapping_mul(7_654_321) % 1_000_000_000 }
}

/// A change of the mtime alone.
pub fn time(at: Time) -> AttrChange {
    AttrChange { mtime: SetTime::At(at), ..AttrChange::default() }
}

pub fn set_time(mount: &dyn Mount, node: &Node, at: Time) {
    set(mount, node, time(at));
}

pub fn set(mount: &dyn Mount, node: &Node, change: AttrChange) {
    mount.set_attr(node, change).unwrap();
}

/// Writes all of `data`, in as many WRITEs as it takes.
pub fn put(mount: &dyn Mount, node: &Node, offset: u64, data: &[u8]) {
    let mut done = 0;
    while done < data.len() {
        let written = mount.write(node, offset + done as u64, &data[done..], Stable::FileSync).unwrap();
        done += written.count as usize;
    }
}

fn at(mount: &dyn Mount, root: &Node, name: &str) -> Node {
    let made = mount.mkdir(root, name, AttrChange { mode: Some(0o755), ..AttrChange::default() });
    let node = made.unwrap().node;
    assert_eq!(mount.get_attr(&node).unwrap().kind, Kind::Dir);
    assert_eq!(mount.create(root, name, How::Guarded, AttrChange::default()).unwrap_err(), Status::Exist);
    node
}
