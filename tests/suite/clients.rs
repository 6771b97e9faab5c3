//! Several kernel mounts of one export, as far as a local directory can stand for one: mounts that see late what is made through
//! another, and that hold on to old objects. Jobs over two to four of them give the tree that they give over one.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use parfs::base::Status;
use parfs::jobs::copy::{Delete, Verify};
use parfs::jobs::extract::{Existing, Options as Extracting};
use parfs::jobs::{copy, create, remove};
use parfs::mounts::LocalMount;
use parfs::storage::{AttrChange, Call, Extras, How, Limits, Mount, Node, Op, Shape, Spread, Tally, Volume};

use crate::copies;
use crate::creates;
use crate::edits::Editor;
use crate::nasty::Nasty;
use crate::remove::{operand, plant, plant_tree, remove_all};
use crate::tars::{self, Tar, extract, pipe, seekable};
use crate::tree::{Tree, assert_same, dump_dir, through_nfs};

/// How often a client does not see what another one has made.
const BLIND: u32 = 1;
/// A client that knew an object which was replaced through another.
const OLD: u32 = u32::MAX;

/// What each client knows of a path: 0 the truth, `OLD`, or how often it will still not see it.
type Known = BTreeMap<Vec<u8>, Vec<u32>>;

/// The server, as all clients see it.
#[derive(Default)]
struct World {
    known: Mutex<Known>,
    /// Up to where each client has written files that were made.
    written: Mutex<BTreeMap<Vec<u8>, Vec<u64>>>,
    /// Calls that a real client would have made on an old object, or that would have overwritten what another client wrote.
    wrong: Mutex<Vec<String>>,
    /// Calls that were not carried out for want of sight.
    unseen: Mutex<u64>,
}

/// One client's mount.
struct Client {
    inner: LocalMount,
    me: usize,
    clients: usize,
    world: Arc<World>,
}

fn path_of(node: &Node) -> Vec<u8> {
    let Node::Chain(chain) = node else { panic!("a way") };
    match &chain.parent {
        None => Vec::new(),
        Some((dir, name)) => [path_of(dir), b"/".to_vec(), name.as_bytes().to_vec()].concat(),
    }
}

fn join(dir: &Node, name: &parfs::base::Name) -> Vec<u8> {
    [path_of(dir), b"/".to_vec(), name.as_bytes().to_vec()].concat()
}

impl Client {
    /// Does this client see each directory on the way, and the object itself?
    fn sees(&self, call: &Call<'_>) -> bool {
        let mut known = self.world.known.lock().unwrap();
        let (dir, other) = call.dirs();
        let mut ways: Vec<Vec<u8>> = [dir, other, call.node()].into_iter().flatten().map(path_of).collect();
        if let Op::Rename { from_dir, from, .. } = &call.op {
            ways.push(join(from_dir, from));
        }
        let mut seen = true;
        for way in ways {
            let mut at = Vec::new();
            for part in way.split(|b| *b == b'/').skip(1) {
                at.extend([b"/", part].concat());
                match known.get_mut(&at).map(|known| &mut known[self.me]) {
                    Some(&mut OLD) if at == way && call.node().is_some_and(|node| path_of(node) == at) => {
                        let text = format!("{} of {} by client {}", call.proc(), at.escape_ascii(), self.me);
                        self.world.wrong.lock().unwrap().push(text);
                    }
                    Some(&mut OLD) | None | Some(0) => {}
                    Some(left) => {
                        *left -= 1; // it asks the server anew about the whole way
                        *self.world.unseen.lock().unwrap() += 1;
                        seen = false;
                    }
                }
            }
        }
        seen
    }

    /// A name has come to stand for another object.
    fn made(&self, path: Vec<u8>) {
        self.world.written.lock().unwrap().remove(&path);
        let mut known = self.world.known.lock().unwrap();
        let beneath = [&path[..], b"/"].concat();
        known.retain(|way, _| !way.starts_with(&beneath));
        let clients = self.clients;
        let all = known.entry(path).or_insert_with(|| vec![BLIND; clients]);
        for (client, state) in all.iter_mut().enumerate() {
            *state = match *state {
                _ if client == self.me => 0,
                0 | OLD => OLD,
                _ => BLIND,
            };
        }
    }

    /// A client completes the page that its range begins in with zeros, where that lies beyond what it knows of the file.
    fn wrote(&self, node: &Node, offset: u64, count: u64) {
        let mut written = self.world.written.lock().unwrap();
        let ends = written.entry(path_of(node)).or_insert_with(|| vec![0; self.clients]);
        let page = 4096;
        let others = ends.iter().enumerate().any(|(client, end)| client != self.me && *end > 0);
        if others && ends[self.me] < offset && !offset.is_multiple_of(page) {
            let text = format!("WRITE of {} at {offset} by client {}", path_of(node).escape_ascii(), self.me);
            self.world.wrong.lock().unwrap().push(text);
        }
        ends[self.me] = ends[self.me].max(offset + count);
    }

    fn looked(&self, path: &[u8]) {
        let clients = self.clients;
        // Of what was there before anybody knows nothing.
        if let Some(known) = self.world.known.lock().unwrap().get_mut(path) {
            known.resize(clients, 0);
            known[self.me] = 0;
        }
    }

    fn note(&self, call: &Call<'_>) {
        match &call.op {
            Op::Create { dir, name, out: Ok(_), .. }
            | Op::MkDir { dir, name, out: Ok(_), .. }
            | Op::Symlink { dir, name, out: Ok(_), .. }
            | Op::MkNod { dir, name, out: Ok(_), .. }
            | Op::Link { dir, name, out: Ok(_), .. } => self.made(join(dir, name)),
            Op::SetAttr { node, change, out: Ok(_) } if change.size == Some(0) => {
                self.world.written.lock().unwrap().remove(&path_of(node));
            }
            Op::Write { node, offset, out: Ok(written), .. } => self.wrote(node, *offset, written.count.into()),
            Op::Rename { to_dir, to, out: Ok(()), .. } => self.made(join(to_dir, to)),
            Op::Lookup { dir, name, out: Ok(_) } => {
                let path = join(dir, name);
                let old = self.world.known.lock().unwrap().get(&path).is_some_and(|known| known[self.me] == OLD);
                if old {
                    let text = format!("LOOKUP of {} by client {}", path.escape_ascii(), self.me);
                    self.world.wrong.lock().unwrap().push(text);
                }
                self.looked(&path);
            }
            Op::ReadDir { dir, out: Ok(page), .. } => {
                page.entries.iter().for_each(|entry| self.looked(&join(dir, &entry.name)));
            }
            _ => {}
        }
    }
}

impl Mount for Client {
    fn root(&self) -> Node {
        self.inner.root()
    }

    fn limits(&self) -> Limits {
        let shape = Shape { lanes: 8, window: 4 };
        Limits { dirs_locked: true, shape, extras: Extras::default(), ..self.inner.limits() }
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls {
            if self.sees(call) {
                self.inner.perform(std::slice::from_mut(call));
                self.note(call);
            } else {
                call.fail(Status::NoEnt);
                call.unseen = true;
            }
        }
    }

    fn refresh(&self, dir: &Node) {
        let dir = path_of(dir);
        let is_in = |way: &[u8]| way.rsplitn(2, |b| *b == b'/').nth(1) == Some(&dir[..]);
        let mut known = self.world.known.lock().unwrap();
        known.iter_mut().filter(|(way, _)| is_in(way)).for_each(|(_, known)| known[self.me] = 0);
    }

    fn issued(&self) -> Option<Tally> {
        self.inner.issued()
    }

    fn label(&self) -> String {
        format!("client {}", self.me)
    }
}

/// A volume of clients of one directory.
struct Clients {
    volume: Volume,
    world: Arc<World>,
}

fn clients(dir: &Path, n: usize) -> Clients {
    let world = Arc::new(World::default());
    let mounts = (0..n).map(|me| -> Arc<dyn Mount> {
        let (inner, world) = (LocalMount::open(dir).unwrap(), world.clone());
        Arc::new(Client { inner, me, clients: n, world })
    });
    Clients { volume: Volume::new(mounts.collect(), Spread::default()), world }
}

impl Clients {
    /// Panics when a call would have hit an old object.
    fn assert_right(&self, context: &str) {
        let wrong = self.world.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{context}: {:?}", &wrong[..wrong.len().min(10)]);
    }
}

const SHAPES: [(usize, usize); 3] = [(1, 4), (4, 4), (16, 2)];

fn archive() -> Tar {
    let mut tar = Tar::default().dir("top/");
    for d in 0..12 {
        tar = tar.dir(&format!("top/d{d}/"));
        for f in 0..9 {
            tar = tar.file(&format!("top/d{d}/f{f}"), vec![d as u8; 100 * f]);
        }
        tar = tar.symlink(&format!("top/d{d}/s"), "f0").link(&format!("top/l{d}"), &format!("top/d{d}/f1"));
    }
    let tar = (0..60).fold(tar.dir("flat/"), |tar, i| tar.file(&format!("flat/{i}"), vec![7; 10 + i]));
    let deep = (0..30).fold(tar, |tar, i| {
        let dir = format!("deep/{}", "d/".repeat(i));
        tar.dir(&dir).file(&format!("{dir}f"), "deep")
    });
    deep.file("big", vec![5; 3_500_000]).sparse("holes", 9_000_000, &[(5, &[1; 900_000]), (8_000_000, &[2; 900_000])])
}

/// The tree, less the root's time, which no member sets.
fn below(dir: &Path) -> Tree {
    let mut tree = dump_dir(dir);
    tree.remove("");
    tree
}

fn extracting(existing: Existing) -> Extracting {
    Extracting { range_bytes: 1 << 20, existing, ..Extracting::default() }
}

#[test]
fn an_extraction_gives_the_tree_that_it_gives_over_one_mount() {
    let one = tempfile::tempdir().unwrap();
    let volume = tars::volume(&Arc::new(LocalMount::open(one.path()).unwrap()));
    extract(&volume, pipe(archive().bytes()), &extracting(Existing::Keep), &tars::crew(4, 4)).clean();
    let expected = below(one.path());
    let mut unseen = 0;
    for n in 2..=4 {
        for shape in SHAPES {
            let dir = tempfile::tempdir().unwrap();
            let clients = clients(dir.path(), n);
            let context = format!("{n} mounts, {shape:?}");
            // The second and third time over what is there, replaced and written over.
            for existing in [Existing::Keep, Existing::Replace, Existing::Overwrite] {
                let input = if existing == Existing::Keep { pipe } else { seekable };
                let crew = tars::crew(shape.0, shape.1);
                extract(&clients.volume, input(archive().bytes()), &extracting(existing), &crew).clean();
                assert_same(&expected, &below(dir.path()), &format!("{context}, {existing:?}"));
                clients.assert_right(&context);
            }
            let resume = Extracting { resume: true, ..extracting(Existing::Replace) };
            extract(&clients.volume, pipe(archive().bytes()), &resume, &tars::crew(shape.0, shape.1)).clean();
            assert_same(&expected, &below(dir.path()), &format!("{context}, resumed"));
            clients.assert_right(&context);
            unseen += *clients.world.unseen.lock().unwrap();
        }
    }
    assert!(unseen > 0, "some calls met a mount that did not see the way");
}

#[test]
fn a_copy_gives_the_tree_that_it_gives_over_one_mount() {
    let (from, source) = copies::local();
    let nasty = Nasty { sparse_bytes: 8 << 20, far_times: false, ..Nasty::SMALL }.allowed();
    nasty.build(&*source);
    let expected = through_nfs(dump_dir(from.path()));
    for n in 2..=4 {
        for shape in SHAPES {
            for atomic in [false, true] {
                let dir = tempfile::tempdir().unwrap();
                let (reading, writing) = (clients(from.path(), n), clients(dir.path(), n));
                let context = format!("{n} mounts, {shape:?}, atomic {atomic}");
                let options = copy::Options { atomic, range_bytes: 1 << 20, ..copy::Options::default() };
                copies::run(&reading.volume, &writing.volume, &options, &copies::crew(shape.0, shape.1)).clean();
                assert_same(&expected, &dump_dir(dir.path()), &context);
                writing.assert_right(&context);
                let verify = copy::Options { verify: Verify::Only, ..options };
                let ran =
                    copies::run(&reading.volume, &writing.volume, &verify, &copies::crew(shape.0, shape.1)).clean();
                assert_eq!(ran.summary.differences, 0, "{context}: {:?}", ran.deeds);
            }
        }
    }
}

/// Edits of the source, each synced by other mounts than it was made by: names change what they stand for.
#[test]
fn syncs_after_edits_never_act_on_old_objects() {
    for seed in 1..=4 {
        let ((from, source), dir) = (copies::local(), tempfile::tempdir().unwrap());
        let mut editor = Editor::new(seed);
        editor.plant(&*source, 50);
        let writing = clients(dir.path(), 3);
        for round in 0..4 {
            let context = format!("seed {seed}, round {round}");
            for atomic in [false, true] {
                let delete = Some(Delete::default());
                let options = copy::Options { atomic, delete, range_bytes: 1 << 20, ..copy::Options::default() };
                let reading = copies::volume(vec![source.clone()]);
                copies::run(&reading, &writing.volume, &options, &copies::crew(8, 4)).clean();
                assert_same(&through_nfs(dump_dir(from.path())), &dump_dir(dir.path()), &context);
                writing.assert_right(&context);
                editor.edit(&*source, 12);
            }
        }
    }
}

#[test]
fn a_removal_leaves_nothing() {
    for n in 2..=4 {
        for shape in SHAPES {
            let dir = tempfile::tempdir().unwrap();
            let clients = clients(dir.path(), n);
            // Made through the clients themselves, so that they know different parts of it.
            plant_tree(&clients.volume, "top", 10, 12);
            plant(&clients.volume, &["wide/"]);
            (0..2000).for_each(|i| plant(&clients.volume, &[&format!("wide/{i}")]));
            let operands = ["top", "wide"].map(|path| Ok(operand(&clients.volume, path)));
            let crew = tars::crew(shape.0, shape.1);
            let ran = remove_all(&clients.volume, operands.into_iter(), &remove::Options::default(), &crew);
            assert_eq!(ran.failures, Vec::<String>::new(), "{n} mounts, {shape:?}");
            assert_eq!((ran.summary.files, ran.summary.dirs), (2000 + 10 * 13, 22));
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{n} mounts, {shape:?}");
        }
    }
}

/// Pieces of an archive begin at any block: through another mount zeros were written over the end of the piece before.
#[test]
fn an_archive_on_several_mounts_is_written_through_one() {
    let (from, source) = copies::local();
    for file in 0..300 {
        std::fs::write(from.path().join(format!("f{file}")), vec![file as u8; 700 * file]).unwrap();
    }
    for (n, shape) in (2..=4).flat_map(|n| SHAPES.map(|shape| (n, shape))) {
        let dir = tempfile::tempdir().unwrap();
        let writing = clients(dir.path(), n);
        let name = parfs::base::Name::new(b"a.tar").unwrap();
        let mut calls = [Call::create(&writing.volume.root(), &name, How::Guarded, AttrChange::default())];
        writing.volume.perform(&mut calls);
        let node = calls[0].found().unwrap().node;
        let output = create::Output::File { volume: &writing.volume, node, at: 0 };
        let operands = creates::whole(&creates::shared(vec![source.clone() as _]));
        let crew = copies::crew(shape.0, shape.1);
        let (summary, failures, _) = creates::run(operands, output, None, &create::Options::default(), &crew);
        assert_eq!((failures.len(), summary.archive_error), (0, None), "{failures:?}");
        writing.assert_right(&format!("{n} mounts, {shape:?}"));
    }
}
