//! Any bytes as an archive, extracted into memory where some names are taken, with options that the first two bytes choose.
//! Nothing panics or hangs, all budget is given back, every member is accounted for, and what is not the archive's is left alone.

#![no_main]

use std::io::Cursor;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use parfs::archive::{Archive, Input};
use parfs::base::Name;
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::XattrMasks;
use parfs::jobs::extract::{Existing, Options, Owner, Owners, extract};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, How, Mount, Node, Shape, Spread, Volume};
use parfs_fuzz::{Pipe, believed};

struct Few;

impl Owners for Few {
    fn uid(&self, name: &[u8]) -> Option<u32> {
        assert!(name.len() <= 256, "asked for a name that nobody can have");
        (name == b"root").then_some(0)
    }
    fn gid(&self, name: &[u8]) -> Option<u32> {
        self.uid(name)
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn made(mount: &MemoryMount, call: Call<'_>) -> Node {
    let mut calls = [call];
    mount.perform(&mut calls);
    calls[0].found().expect("an empty tree takes it").node
}

/// `kept` is outside what any member may reach: the destination is beside it. In the destination some names are taken.
fn stage(mount: &MemoryMount) -> Node {
    let (none, root) = (AttrChange::default(), mount.root());
    let mode = AttrChange { mode: Some(0o755), ..none };
    made(mount, Call::create(&root, &name("kept"), How::Guarded, AttrChange { mode: Some(0o600), ..none }));
    let to = made(mount, Call::mkdir(&root, &name("to"), mode));
    made(mount, Call::symlink(&to, &name("up"), b"..", none));
    made(mount, Call::create(&to, &name("f"), How::Guarded, mode));
    let dir = made(mount, Call::mkdir(&to, &name("d"), mode));
    made(mount, Call::symlink(&dir, &name("s"), b"/", none));
    to
}

/// The memory, seen from the destination.
struct Below(MemoryMount, Node);

impl Mount for Below {
    fn root(&self) -> Node {
        self.1.clone()
    }
    fn limits(&self) -> parfs::storage::Limits {
        self.0.limits()
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        self.0.perform(calls);
    }
    fn issued(&self) -> Option<parfs::storage::Tally> {
        None
    }
    fn label(&self) -> String {
        self.0.label()
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&[first, second], archive)) = bytes.split_first_chunk::<2>() else { return };
    let archive = believed(archive);
    let options = Options {
        existing: [Existing::Replace, Existing::Keep, Existing::Skip, Existing::Overwrite][usize::from(first & 3)],
        owner: [Owner::Keep, Owner::FromArchive { numeric: false }][usize::from(first >> 2 & 1)],
        resume: first >> 3 & 1 == 1,
        xattrs: first >> 4 & 1 == 1,
        acls: first >> 5 & 1 == 1,
        selinux: first >> 6 & 1 == 1,
        xattr_masks: XattrMasks::new(&["*".to_string()], &[]).expect("a pattern"),
        strip_components: usize::from(second & 1),
        mtime: second >> 1 & 1 == 0,
        dirs_max: if second >> 2 & 1 == 1 { 2 } else { 1000 },
        range_bytes: 4096,
        ..Options::default()
    };
    let crew = Crew::new(Shape { lanes: 1 + usize::from(second >> 3 & 1), window: 3 }, 1 << 20).expect("threads");
    let mount = MemoryMount::with_capacity(64 << 20, 10_000);
    let to = stage(&mount);
    let mount = Arc::new(Below(mount, to));
    let volume = Volume::new(vec![mount.clone() as Arc<dyn Mount>], Spread::default());
    let input = match second >> 4 & 1 {
        0 => Input::Seekable(Arc::new(archive)),
        _ => Input::Pipe(Box::new(Pipe(Cursor::new(archive)))),
    };
    let mut archive = Archive::new(input, parfs::archive::Options::default());
    let summary = extract(&volume, &mut archive, &options, &Few, &crew, &Live::default(), &|_, _| {});
    assert_eq!(crew.budget().held(), 0);
    assert!(summary.stopped.is_none());
    let made = summary.files + summary.dirs + summary.links + summary.skipped;
    assert!(made <= summary.members, "{summary:?}");
    // `kept` and the way to the destination are as they were.
    let root = mount.0.root();
    let mut calls = [Call::lookup(&root, &name("kept")), Call::lookup(&root, &name("to"))];
    mount.0.perform(&mut calls);
    let attr = calls[0].found().expect("it is there").attr.expect("memory tells attributes");
    assert_eq!((attr.size, attr.mode, attr.nlink), (0, 0o600, 1));
    assert!(calls[1].found().is_ok());
});
