//! Random calls on `MemoryMount`, the model, and on `LocalMount`, side by side: the outcomes and the trees must agree.
//!
//! Not compared: what the model leaves to the server (default owners, directory sizes, times that were not set).

use std::collections::BTreeMap;

use parfs::base::Time;
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Attr, AttrChange, Found, How, Kind, Mount, Node, Out, SetTime, Special, Stable, Want};

use super::ask::Ask;
use super::random::Random;

/// Times set on purpose lie before this; the clock's do not.
const PAST: i64 = 1_200_000_000;

/// What both must agree on.
#[derive(Debug, PartialEq)]
struct Agreed {
    kind: Kind,
    mode: Option<u32>,
    nlink: Option<u32>,
    size: Option<u64>,
    rdev: (u32, u32),
    mtime: Option<Time>,
}

struct Pair {
    model: MemoryMount,
    local: LocalMount,
    dir_nlink: bool,
}

impl Pair {
    fn agreed(&self, attr: &Attr) -> Agreed {
        let dir = attr.kind == Kind::Dir;
        Agreed {
            kind: attr.kind,
            mode: (attr.kind != Kind::Symlink).then_some(attr.mode),
            nlink: (!dir || self.dir_nlink).then_some(attr.nlink),
            size: (!dir).then_some(attr.size),
            rdev: attr.rdev,
            mtime: (attr.mtime.secs < PAST).then_some(attr.mtime),
        }
    }

    fn both<T>(&self, ask: impl Fn(&dyn Mount) -> T) -> (T, T) {
        (ask(&self.model), ask(&self.local))
    }

    /// The outcomes must agree; those of an object found are compared by its attributes.
    fn found(&self, (model, local): (Out<Found>, Out<Found>), what: &str) -> Option<Two> {
        match (model, local) {
            (Ok(model), Ok(local)) => {
                let two = Two(model.node, local.node);
                self.same_attr(&two, what);
                Some(two)
            }
            (model, local) => {
                assert_eq!(model.map(|_| ()), local.map(|_| ()), "{what}");
                None
            }
        }
    }

    fn same_attr(&self, two: &Two, what: &str) {
        let (model, local) = (self.model.get_attr(&two.0), self.local.get_attr(&two.1));
        assert_eq!(model.map(|attr| self.agreed(&attr)), local.map(|attr| self.agreed(&attr)), "{what}");
    }

    /// Goes a random way down from the root.
    fn walk(&self, random: &mut Random) -> Two {
        let mut at = Two(self.model.root(), self.local.root());
        for _ in 0..random.below(4) {
            let name = a_name(random);
            let model = self.model.lookup(&at.0, &name);
            let local = self.local.lookup(&at.1, &name);
            match self.found((model, local), "walk") {
                Some(down) => at = down,
                None => break,
            }
        }
        at
    }
}

/// An object's nodes in the model and in the local mount.
#[derive(Clone)]
struct Two(Node, Node);

fn a_name(random: &mut Random) -> String {
    random.pick(&["a", "b", "c", "d", "a longer name"]).into()
}

fn a_change(random: &mut Random, bits: &[u32]) -> AttrChange {
    let mut change = AttrChange::default();
    if random.below(2) == 0 {
        change.mode = Some(random.pick(bits));
    }
    if random.below(3) == 0 {
        let secs = 1_000_000_000 + random.below(1000) as i64;
        change.mtime = SetTime::At(Time { secs, nanos: random.below(1_000_000_000) as u32 });
    }
    change
}

// The owner keeps his rights, so that the test needs no root; set-id bits of files fall off at different moments.
const FILE_MODES: [u32; 4] = [0o644, 0o600, 0o777, 0o664];
const DIR_MODES: [u32; 4] = [0o755, 0o700, 0o1777, 0o2750];

fn step(pair: &Pair, random: &mut Random) -> String {
    let dir = pair.walk(random);
    let at = a_name(random);
    match random.below(12) {
        0..=2 => {
            let how = random.pick(&[How::Guarded, How::Unchecked, How::Unchecked]);
            let mut change = a_change(random, &FILE_MODES);
            change.size = random.pick(&[None, None, Some(0), Some(10), Some(70_000)]);
            let what = format!("CREATE {at} {how:?} {change:?}");
            let model = pair.model.create(&dir.0, &at, how, change);
            pair.found((model, pair.local.create(&dir.1, &at, how, change)), &what);
            what
        }
        3 | 4 => {
            let change = a_change(random, &DIR_MODES);
            let what = format!("MKDIR {at} {change:?}");
            let model = pair.model.mkdir(&dir.0, &at, change);
            pair.found((model, pair.local.mkdir(&dir.1, &at, change)), &what);
            what
        }
        5 => {
            let what = format!("SYMLINK or MKNOD {at}");
            if random.below(2) == 0 {
                let (model, local) = (pair.model.symlink(&dir.0, &at, b"a"), pair.local.symlink(&dir.1, &at, b"a"));
                pair.found((model, local), &what);
            } else {
                let (special, change) = (random.pick(&[Special::Fifo, Special::Socket]), a_change(random, &FILE_MODES));
                let model = pair.model.mknod(&dir.0, &at, special, change);
                pair.found((model, pair.local.mknod(&dir.1, &at, special, change)), &what);
            }
            what
        }
        6..=8 => name_step(pair, random, &dir, &at),
        9 => {
            let mut change = a_change(random, &[0o755, 0o700, 0o744, 0o711]);
            change.size = random.pick(&[None, None, None, Some(5), Some(200_000)]);
            let what = format!("SETATTR {change:?}");
            let model = pair.model.set_attr(&dir.0, change).map(|_| ());
            assert_eq!(model, pair.local.set_attr(&dir.1, change).map(|_| ()), "{what}");
            pair.same_attr(&dir, &what);
            what
        }
        _ => data_step(pair, random, &dir),
    }
}

/// Takes names away, moves them, adds them.
fn name_step(pair: &Pair, random: &mut Random, dir: &Two, at: &str) -> String {
    match random.below(3) {
        0 => {
            let what = format!("REMOVE or RMDIR {at}");
            if random.below(2) == 0 {
                assert_eq!(pair.model.remove(&dir.0, at), pair.local.remove(&dir.1, at), "{what}");
            } else {
                assert_eq!(pair.model.rmdir(&dir.0, at), pair.local.rmdir(&dir.1, at), "{what}");
            }
            what
        }
        1 => {
            let (to_dir, to) = (pair.walk(random), a_name(random));
            let what = format!("RENAME {at} {to}");
            let model = pair.model.rename(&dir.0, at, &to_dir.0, &to);
            assert_eq!(model, pair.local.rename(&dir.1, at, &to_dir.1, &to), "{what}");
            what
        }
        _ => {
            let object = pair.walk(random);
            let what = format!("LINK {at}");
            let model = pair.model.link(&object.0, &dir.0, at).map(|_| ());
            assert_eq!(model, pair.local.link(&object.1, &dir.1, at).map(|_| ()), "{what}");
            what
        }
    }
}

fn data_step(pair: &Pair, random: &mut Random, file: &Two) -> String {
    let offset = random.below(100_000);
    let what = format!("data at {offset}");
    let data = vec![random.below(3) as u8; random.below(150_000) as usize];
    let stable = random.pick(&[Stable::Unstable, Stable::FileSync]);
    let model = pair.model.write(&file.0, offset, &data, stable).map(|written| (written.count, written.stable));
    let local = pair.local.write(&file.1, offset, &data, stable).map(|written| (written.count, written.stable));
    assert_eq!(model, local, "{what}");
    if random.below(2) == 0 {
        assert_eq!(pair.model.commit(&file.0).map(|_| ()), pair.local.commit(&file.1).map(|_| ()), "{what}");
    }
    let (offset, count) = (random.below(200_000), random.below(200_000) as u32);
    assert!(pair.model.read(&file.0, offset, count) == pair.local.read(&file.1, offset, count), "{what}: READ");
    assert_eq!(pair.model.read_link(&file.0), pair.local.read_link(&file.1), "{what}: READLINK");
    what
}

/// The tree as a map from path to what must agree, and content.
fn tree(pair: &Pair, mount: &dyn Mount, bytes_max: u32) -> BTreeMap<String, (Agreed, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut todo = vec![(String::new(), mount.root())];
    while let Some((path, dir)) = todo.pop() {
        for entry in mount.list(&dir, Want::Attributes, bytes_max).expect("a listing") {
            let (node, attr) = (entry.node.expect("a node"), entry.attr.expect("attributes"));
            let path = format!("{path}/{}", entry.name);
            let content = match attr.kind {
                Kind::File => mount.content(&node).expect("content"),
                Kind::Symlink => mount.read_link(&node).expect("a target"),
                Kind::Dir => {
                    todo.push((path.clone(), node));
                    Vec::new()
                }
                _ => Vec::new(),
            };
            assert!(all.insert(path, (pair.agreed(&attr), content)).is_none(), "listed twice");
        }
    }
    all
}

fn run(seed: u64, steps: usize, descriptors_max: usize) {
    println!("seed {seed}, {descriptors_max} descriptors");
    let guard = tempfile::tempdir().unwrap();
    let local = LocalMount::open_with(guard.path(), descriptors_max).unwrap();
    let mut pair = Pair { model: MemoryMount::new(), local, dir_nlink: false };
    pair.local.dir(&pair.local.root(), "probe");
    pair.dir_nlink = pair.local.get_attr(&pair.local.root()).unwrap().nlink == 3;
    pair.local.rmdir(&pair.local.root(), "probe").unwrap();
    let root = AttrChange { mode: Some(0o755), ..AttrChange::default() };
    let both = pair.both(|mount| mount.set_attr(&mount.root(), root).map(|_| ()));
    assert_eq!(both, (Ok(()), Ok(())));
    let mut random = Random(seed);
    for i in 0..steps {
        let what = step(&pair, &mut random);
        println!("{i}: {what}");
        if i % 100 == 99 || i + 1 == steps {
            let (model, local) = (tree(&pair, &pair.model, 700), tree(&pair, &pair.local, 700));
            assert!(model.keys().eq(local.keys()), "step {i}: {:?} {:?}", model.keys(), local.keys());
            for (path, is) in &model {
                assert_eq!(is.0, local[path].0, "step {i}: {path}");
                assert!(is.1 == local[path].1, "step {i}: content of {path}");
            }
        }
    }
}

#[test]
fn local_mount_does_what_the_model_does() {
    // Seeds are fixed, so that a failure is everyone's; the output names the one that failed.
    for seed in 0..12 {
        run(seed, 500, if seed % 2 == 0 { 256 } else { 1 });
    }
}
