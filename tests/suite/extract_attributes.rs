//! Extended attributes and ACLs of members: which are set, on what, in which order, and what is said where they are not.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use parfs::archive::write::{self, Format};
use parfs::archive::{Member, MemberKind};
use parfs::base::{Proc, Status, Time};
use parfs::jobs::XattrMasks;
use parfs::jobs::acl;
use parfs::jobs::extract::{Existing, Options};
use parfs::mounts::MemoryMount;
use parfs::storage::faults::Which;
use parfs::storage::{Call, Extras, Faults, Limits, Mount, Node, Op, Spread, Tally, Tapped, Trace, Volume};

use crate::ask::Ask;
use crate::tars::{Ran, crew, extract, pipe, seekable, volume};
use crate::tree::{dump, node_at};

const ACCESS: &str = "user::rw-,user:1234:rwx,group::r--,mask::rwx,other::r--";
const DEFAULT: &str = "user::rwx\ngroup::r-x\nother::---\n";

fn member(path: &str, kind: MemberKind) -> Member {
    let mtime = Time { secs: 1_500_000_000, nanos: 5 };
    let xattrs = ["security.capability", "security.selinux", "trusted.t", "user.x", "user.y"];
    let xattrs = if kind == MemberKind::Symlink { &xattrs[..3] } else { &xattrs[..] };
    let xattrs = xattrs.iter().map(|name| (name.as_bytes().to_vec(), format!("{path} {name}\0").into_bytes()));
    Member { path: path.into(), kind, mode: 0o640, mtime, xattrs: xattrs.collect(), ..Member::default() }
}

fn archive(members: &[(Member, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (member, data) in members {
        let size = data.len() as u64;
        write::header(&Member { stored: size, size, ..member.clone() }, Format::Pax, false, &mut bytes).unwrap();
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len() + write::padding(size), 0);
    }
    let end = write::end(bytes.len() as u64, 512);
    [bytes, end].concat()
}

/// A tree with attributes on everything that can have them.
fn sample() -> Vec<u8> {
    let big = vec![b'b'; 700_000];
    let mut file = member("d/file", MemberKind::File);
    file.acl_access = Some(ACCESS.into());
    let mut dir = Member { mode: 0o550, ..member("d/", MemberKind::Dir) };
    dir.acl_default = Some(DEFAULT.into());
    let link = Member { link: b"d/file".to_vec(), xattrs: Vec::new(), ..member("hard", MemberKind::HardLink) };
    archive(&[
        (dir, b""),
        (file, b"data"),
        (member("d/big", MemberKind::File), &big),
        (Member { link: b"x".to_vec(), ..member("d/sym", MemberKind::Symlink) }, b""),
        (Member { xattrs: Vec::new(), ..member("fifo", MemberKind::Fifo) }, b""),
        (link, b""),
        (member("./", MemberKind::Dir), b""),
    ])
}

fn options() -> Options {
    Options { mode_mask: 0, range_bytes: 256 << 10, ..Options::default() }
}

fn names(mount: &MemoryMount, path: &str) -> Vec<String> {
    let way: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let names = mount.list_xattrs(&node_at(mount, &way)).unwrap();
    names.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
}

fn memory(bytes: &[u8], options: &Options) -> (Arc<MemoryMount>, Ran) {
    let mount = Arc::new(MemoryMount::new());
    let ran = extract(&volume(&mount), pipe(bytes.to_vec()), options, &crew(4, 4));
    (mount, ran)
}

#[test]
fn nothing_is_set_unless_asked_for_and_then_by_the_masks() {
    let masks = |include: &[&str], exclude: &[&str]| {
        let text = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
        XattrMasks::new(&text(include), &text(exclude)).unwrap()
    };
    let xattrs = Options { xattrs: true, ..options() };
    let cases: [(Options, &[&str]); 5] = [
        (options(), &[]),
        (xattrs.clone(), &["user.x", "user.y"]),
        (
            Options { xattr_masks: masks(&["*"], &["user.y", "*.selinux"]), ..xattrs },
            &["security.capability", "trusted.t", "user.x"],
        ),
        (Options { selinux: true, ..options() }, &["security.selinux"]),
        (Options { acls: true, ..options() }, &[]),
    ];
    for (options, expected) in cases {
        let (mount, ran) = memory(&sample(), &options);
        ran.clean();
        let tree = dump(&*mount);
        for path in ["", "d", "d/file", "d/big"] {
            let names: Vec<String> =
                names(&mount, path).into_iter().filter(|name| !name.starts_with("system.")).collect();
            assert_eq!(names, expected, "{path:?}");
        }
        for name in expected {
            let value = mount.get_xattr(&node_at(&*mount, &["d", "file"]), name).unwrap();
            assert_eq!(value, format!("d/file {name}\0").as_bytes());
        }
        let of_links = expected.iter().filter(|name| !name.starts_with("user."));
        assert_eq!(names(&mount, "d/sym"), of_links.copied().collect::<Vec<_>>());
        assert_eq!(names(&mount, "fifo"), [""; 0]);
        assert_eq!(tree["d"].mode, 0o550);
        assert!(tree.values().all(|object| object.mtime == Time { secs: 1_500_000_000, nanos: 5 }));
    }
}

#[test]
fn acls_are_set_and_inherited_ones_taken_away() {
    let mount = Arc::new(MemoryMount::new());
    // As if these had inherited one: they are there, and are overwritten.
    extract(&volume(&mount), pipe(sample()), &options(), &crew(1, 1)).clean();
    let bytes = acl::from_text(DEFAULT.as_bytes(), None).unwrap();
    for way in [&["d"][..], &["d", "file"], &["d", "big"], &["fifo"]] {
        mount.set_xattr(&node_at(&*mount, way), acl::ACCESS, &bytes).unwrap();
    }
    mount.set_xattr(&mount.root(), acl::DEFAULT, &bytes).unwrap();
    let options = Options { acls: true, existing: Existing::Overwrite, ..options() };
    extract(&volume(&mount), pipe(sample()), &options, &crew(4, 4)).clean();
    let tree = dump(&*mount);
    assert_eq!(tree["d/file"].xattrs[acl::ACCESS], acl::from_text(ACCESS.as_bytes(), None).unwrap());
    assert_eq!(tree["d"].xattrs[acl::DEFAULT], bytes);
    for (path, expected) in [("d", 1), ("d/big", 0), ("fifo", 0), ("", 0), ("hard", 1)] {
        assert_eq!(tree[path].xattrs.len(), expected, "{path:?}");
    }
    // A directory that is left as it is keeps its own.
    mount.set_xattr(&mount.root(), acl::DEFAULT, &bytes).unwrap();
    let keep = Options { existing: Existing::Skip, ..options };
    extract(&volume(&mount), pipe(sample()), &keep, &crew(4, 4)).clean();
    assert_eq!(dump(&*mount)[""].xattrs.len(), 1);
}

/// A change of owner takes capabilities away, a change of mode changes an ACL; the time says that all is complete.
#[test]
fn attributes_come_after_the_owner_and_the_acl_after_them_and_the_time_last() {
    let mut file = Member { mode: 0o4755, ..member("file", MemberKind::File) };
    file.acl_access = Some(ACCESS.into());
    let masks = XattrMasks::new(&["*".to_string()], &[]).unwrap();
    let options = Options { xattrs: true, xattr_masks: masks, acls: true, ..options() };
    for size in [4, 700_000] {
        let trace = Arc::new(Trace::new(1000));
        let mount = Arc::new(MemoryMount::new());
        let tapped = Arc::new(Tapped::new(mount, vec![trace.clone()])) as Arc<dyn Mount>;
        let volume = Volume::new(vec![tapped], Spread::default());
        extract(&volume, seekable(archive(&[(file.clone(), &vec![b'x'; size])])), &options, &crew(1, 8)).clean();
        let mut procs: Vec<Proc> = trace.seen().iter().map(|seen| seen.proc).collect();
        procs.retain(|proc| !matches!(proc, Proc::Write | Proc::Commit));
        let set = [Proc::SetXattr; 6];
        assert_eq!(procs, [&[Proc::Create, Proc::SetAttr][..], &set, &[Proc::SetAttr]].concat());
    }
}

/// The modes that objects are asked to have, in order.
#[derive(Default)]
struct Modes(Mutex<Vec<(Proc, Option<u32>)>>);

impl parfs::storage::Tap for Modes {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        if let Op::Create { change, .. } | Op::MkDir { change, .. } | Op::SetAttr { change, .. } = &call.op {
            self.0.lock().unwrap().push((call.proc(), change.mode));
        }
        Ok(())
    }
}

/// Before an ACL is there its mask would be the group's rights, and a program that is not whole yet is not to be run with another's.
#[test]
fn nobody_is_let_in_before_the_acl_is_set_nor_runs_what_is_not_whole() {
    let acl = Some(ACCESS.as_bytes().to_vec());
    let file = Member { mode: 0o4674, acl_access: acl.clone(), ..member("d/file", MemberKind::File) };
    let dir = Member { mode: 0o775, acl_access: acl, ..member("d/", MemberKind::Dir) };
    let plain = Member { mode: 0o6755, xattrs: Vec::new(), ..member("d/plain", MemberKind::File) };
    let bytes = archive(&[(dir, b""), (file, b"data"), (plain, b"data")]);
    let all = Options { acls: true, ..options() };
    for lost in [false, true] {
        let modes = Arc::new(Modes::default());
        let chance = if lost { 1_000_000 } else { 0 };
        let refusing = Faults::new(Which::Random { seed: 0, per_million: chance }, Status::NotSupp);
        let mount = Arc::new(MemoryMount::new());
        let tapped = Arc::new(Tapped::new(mount, vec![modes.clone(), Arc::new(OnXattrs(refusing))]));
        extract(&volume(&tapped), pipe(bytes.clone()), &all, &crew(1, 1)).clean();
        let seen = modes.0.lock().unwrap().clone();
        let made: Vec<_> = seen.iter().filter(|(proc, _)| *proc != Proc::SetAttr).collect();
        let (create, mkdir) = (Proc::Create, Proc::MkDir);
        assert_eq!(made, [&(mkdir, Some(0o705)), &(create, Some(0o604)), &(create, Some(0o755))]);
        let set = |mode| seen.contains(&(Proc::SetAttr, Some(mode)));
        assert!(set(0o4604) && set(0o705) && set(0o6755), "{seen:?}");
        // Without ACLs the mode is all that is left to say it by.
        assert_eq!((set(0o4674), set(0o775)), (lost, lost), "{seen:?}");
    }
}

/// Memory without extended attributes.
struct Bare(MemoryMount);

impl Mount for Bare {
    fn root(&self) -> Node {
        self.0.root()
    }
    fn limits(&self) -> Limits {
        Limits { extras: Extras::default(), ..self.0.limits() }
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        assert!(calls.iter().all(|call| !matches!(call.proc(), Proc::SetXattr | Proc::RemoveXattr)));
        self.0.perform(calls);
    }
    fn issued(&self) -> Option<Tally> {
        None
    }
    fn label(&self) -> String {
        self.0.label()
    }
}

#[test]
fn where_there_are_none_one_warning_says_so() {
    let all = Options { xattrs: true, acls: true, ..options() };
    let mount = Arc::new(Bare(MemoryMount::new()));
    let ran = extract(&volume(&mount), pipe(sample()), &all, &crew(4, 4)).clean();
    assert_eq!(ran.summary.warnings.len(), 1);
    assert!(ran.summary.warnings[0].contains("are not set"), "{:?}", ran.summary.warnings);
    // A file system may say so only when it is asked.
    let refusing = Faults::new(Which::Random { seed: 0, per_million: 1_000_000 }, Status::NotSupp);
    let mount = Arc::new(Tapped::new(Arc::new(MemoryMount::new()), vec![Arc::new(OnXattrs(refusing))]));
    let ran = extract(&volume(&mount), pipe(sample()), &all, &crew(4, 4)).clean();
    assert_eq!((ran.summary.warnings.len(), ran.summary.members), (1, 7));
    // Nothing is lost where nothing was there.
    let plain = archive(&[(Member { xattrs: Vec::new(), ..member("f", MemberKind::File) }, b"1")]);
    let mount = Arc::new(Bare(MemoryMount::new()));
    assert_eq!(extract(&volume(&mount), pipe(plain), &all, &crew(1, 1)).clean().summary.warnings, [""; 0]);
}

/// Faults of calls about extended attributes only.
struct OnXattrs(Faults);

impl parfs::storage::Tap for OnXattrs {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        match call.proc() {
            Proc::SetXattr | Proc::RemoveXattr => self.0.admit(call),
            _ => Ok(()),
        }
    }
}

#[test]
fn what_cannot_be_set_is_a_failure_of_its_member_which_is_there_all_the_same() {
    let all = Options { xattrs: true, acls: true, ..options() };
    let refusing = Faults::new(Which::Random { seed: 0, per_million: 1_000_000 }, Status::Perm);
    let mount = Arc::new(MemoryMount::new());
    let tapped = Arc::new(Tapped::new(mount.clone(), vec![Arc::new(OnXattrs(refusing))]));
    let ran = extract(&volume(&tapped), pipe(sample()), &all, &crew(4, 4));
    let failures: BTreeMap<&str, &str> = ran.failures.iter().filter_map(|f| f.split_once(": ")).collect();
    assert_eq!(failures.keys().copied().collect::<Vec<_>>(), [".", "d", "d/big", "d/file", "fifo"]);
    assert_eq!(ran.failures.len(), 5);
    assert!(failures["d/file"].contains("extracted, but its extended attribute user.x cannot be set"), "{failures:?}");
    assert!(failures["fifo"].contains("extracted, but its ACL cannot be set"), "{failures:?}");
    assert_eq!(dump(&*mount)["d/file"].mtime, Time { secs: 1_500_000_000, nanos: 5 });

    let mut file = member("file", MemberKind::File);
    file.acl_access = Some(b"user::rwx,user:nobody-of-this-name:r--,group::r--,mask::r--,other::---".to_vec());
    let (mount, ran) = memory(&archive(&[(file, b"data")]), &all);
    assert!(ran.failures[0].contains("unknown user 'nobody-of-this-name'"), "{:?}", ran.failures);
    assert_eq!(names(&mount, "file"), ["user.x", "user.y"]);
}

/// Attributes of directories wait until the end, but not without a limit.
#[test]
fn directories_with_large_attributes_are_finished_early_and_end_the_same() {
    let value = vec![b'v'; 60_000];
    let dirs: Vec<(Member, &[u8])> = (0..800)
        .map(|i| {
            let xattrs = vec![(b"user.large".to_vec(), value.clone())];
            (Member { xattrs, mode: 0o700, ..member(&format!("d{i}/"), MemberKind::Dir) }, &b""[..])
        })
        .collect();
    let again = (Member { xattrs: Vec::new(), ..member("d0/late", MemberKind::File) }, &b"1"[..]);
    let bytes = archive(&[dirs, vec![again]].concat());
    let (mount, ran) = memory(&bytes, &Options { xattrs: true, ..options() });
    ran.clean();
    let tree = dump(&*mount);
    for i in 0..800 {
        let dir = &tree[format!("d{i}").as_str()];
        assert_eq!((&dir.xattrs[&b"user.large"[..]], dir.mtime.secs), (&value, 1_500_000_000), "{i}");
    }
}
