//! Groups that a user carries: those that it is a member of, and no others. Whoever is not root cannot take another user's part, and the
//! rest of what is here is left out then.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use parfs::base::{Name, Proc, Status};
use parfs::jobs::copy::{Options, Preserve, User, Verify};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, Extras, How, Kind, Limits, Mount, Node, Op, Tally};

use super::cli_support::{Bench, PARFS, Ran, Sim};
use super::copies::asked;
use super::plan::holds;

/// A tree of root's: of groups that the user has, and of one that it has not.
fn plant(bench: &Bench) {
    fs::create_dir_all(bench.path("s/dir")).unwrap();
    for (name, gid, mode) in
        [("own", 50, 0o2755), ("first", 1000, 0o644), ("other", 77, 0o2755), ("dir", 50, 0o2755), ("dir/in", 50, 0o644)]
    {
        let path = bench.path("s").join(name);
        if name != "dir" {
            fs::write(&path, name).unwrap();
        }
        chown(&path, None, Some(gid)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Group and mode of what is there, with the set-id bits.
fn is(dir: &Path, name: &str) -> (u32, u32) {
    let meta = fs::metadata(dir.join(name)).unwrap();
    (meta.gid(), meta.mode() & 0o7777)
}

/// As user 1000, with group 1000 and group 50.
fn as_user(bench: &Bench, line: &str) -> Ran {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=1000", "--regid=1000", "--groups", "1000,50", "./parfs"]).args(line.split_whitespace());
    Ran::of(command.current_dir(bench.path("")).stdin(Stdio::null()).output().unwrap())
}

#[test]
fn a_user_carries_the_groups_that_it_is_a_member_of() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = Bench::new();
    plant(&bench);
    // Another user may not reach where this program was built.
    fs::copy(PARFS, bench.path("parfs")).unwrap();
    fs::set_permissions(bench.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    chown(bench.out(), Some(1000), Some(1000)).unwrap();
    let ran = as_user(&bench, "cp -a s out/d").ok();
    assert_eq!(ran.stderr, "");
    let d = bench.path("out/d");
    assert_eq!((is(&d, "own"), is(&d, "first"), is(&d, "other")), ((50, 0o2755), (1000, 0o644), (1000, 0o755)));
    assert_eq!((is(&d, "dir"), is(&d, "dir/in")), ((50, 0o2755), (50, 0o644)));
    assert_eq!(as_user(&bench, "cp -av s out/d/").ok().stdout, "", "nothing is left to be done");
    // Of what is there the group is mended, and the bit that this takes is set again.
    chown(d.join("own"), None, Some(1000)).unwrap();
    as_user(&bench, "cp -a s out/d/").ok();
    assert_eq!(is(&d, "own"), (50, 0o2755));
    as_user(&bench, "cp -a --no-preserve=ownership s out/e").ok();
    assert_eq!(is(&bench.path("out/e"), "own").0, 1000);
}

/// Linux takes the bits off when one who is not root sets a file's size.
#[test]
fn a_user_s_sparse_file_keeps_its_set_id_bits() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = Bench::new();
    let file = bench.path("s/f");
    fs::create_dir(bench.path("s")).unwrap();
    fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
    chown(&file, Some(1000), Some(1000)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o6755)).unwrap();
    fs::copy(PARFS, bench.path("parfs")).unwrap();
    fs::set_permissions(bench.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    chown(bench.out(), Some(1000), Some(1000)).unwrap();
    as_user(&bench, "cp s out/cp").ok();
    as_user(&bench, "tar -S -cf out/s.tar s").ok();
    as_user(&bench, "tar -xpf out/s.tar -C out").ok();
    assert_eq!((is(&bench.path("out/cp"), "f").1, is(&bench.path("out/s"), "f").1), (0o6755, 0o6755));
}

/// As in directories below it, and in rsync; cp fails.
#[test]
fn a_user_fills_a_destination_that_is_to_be_read_only() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = Bench::new();
    for dir in ["one", "two"] {
        fs::create_dir(bench.path(dir)).unwrap();
        fs::write(bench.path(dir).join(dir), "text").unwrap();
    }
    fs::set_permissions(bench.path("one"), fs::Permissions::from_mode(0o555)).unwrap();
    fs::copy(PARFS, bench.path("parfs")).unwrap();
    fs::set_permissions(bench.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["", "d"] {
        fs::create_dir_all(bench.out().join(name)).unwrap();
        chown(bench.out().join(name), Some(1000), Some(1000)).unwrap();
    }
    as_user(&bench, "cp -t out/d one/. two/.").ok();
    fs::remove_file(bench.path("out/d/one")).unwrap();
    fs::set_permissions(bench.path("out/d"), fs::Permissions::from_mode(0o555)).unwrap();
    as_user(&bench, "cp one out/d").ok();
    assert_eq!(is(&bench.path("out"), "d").1, 0o555);
    assert!(bench.path("out/d/one").exists() && bench.path("out/d/two").exists());
    // A directory that names are copied below is nothing of the source's.
    as_user(&bench, "cp -t out/d two/two one/one ./parfs").ended(1, "Permission denied");
}

/// The groups that are sent (AUTH_SYS) are those of the URL.
#[test]
fn a_user_of_a_url_carries_the_groups_of_the_url() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = Bench::new();
    plant(&bench);
    let sim = Sim::start(&["--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    let line = format!("s {url}/d?uid=1000&gid=1000&gids=50");
    // The forecast knows who makes what, and so which of it is to be given a group.
    holds(&bench, &bench.out(), "copy", "parcp", &line);
    holds(&bench, &bench.out(), "copy", "parcp", &line);
    bench.run_as(&format!("parcp {url}/d back")).ok();
    let back = bench.path("back");
    assert_eq!((is(&back, "own").0, is(&back, "dir").0, is(&back, "dir/in").0), (50, 50, 50));
    assert_eq!(is(&back, "other").0, 1000);
}

/// As Linux's server for a user: a group that comes with CREATE or MKDIR is dropped (nfsd_create_setattr), and one that is set takes
/// set-id bits that come with it from what is no directory (nfsd_sanitize_attrs). Group 51 it does not know.
struct Linux(MemoryMount);

impl Mount for Linux {
    fn root(&self) -> Node {
        self.0.root()
    }
    fn limits(&self) -> Limits {
        Limits { extras: Extras::default(), ..self.0.limits() }
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls.iter_mut() {
            match &mut call.op {
                Op::Create { change, .. } | Op::MkDir { change, .. } => change.gid = None,
                Op::SetAttr { change, .. } if change.gid == Some(51) => {
                    call.fail(Status::Perm);
                    continue;
                }
                Op::SetAttr { node, change, .. } if change.gid.is_some() => {
                    let mut is = [Call::get_attr(node)];
                    self.0.perform(&mut is);
                    let is = is[0].attr().unwrap();
                    if is.kind != Kind::Dir {
                        change.mode = Some(change.mode.unwrap_or(is.mode) & !0o6000);
                    }
                }
                _ => {}
            }
            self.0.perform(std::slice::from_mut(call));
        }
    }
    fn issued(&self) -> Option<Tally> {
        None
    }
    fn label(&self) -> String {
        self.0.label()
    }
}

fn made(mount: &dyn Mount, name: &str, mode: u32, gid: u32) {
    let (root, name) = (mount.root(), Name::new(name.as_bytes()).unwrap());
    let change = AttrChange { mode: Some(mode), gid: Some(gid), ..AttrChange::default() };
    let mut calls = [match name.as_bytes().starts_with(b"dir") {
        true => Call::mkdir(&root, &name, change),
        false => Call::create(&root, &name, How::Guarded, change),
    }];
    mount.perform(&mut calls);
    calls[0].status().unwrap();
}

#[test]
fn a_group_is_given_by_a_call_of_its_own_and_what_is_refused_is_not_asked_again() {
    let source: Arc<dyn Mount> = Arc::new(MemoryMount::new());
    let objects =
        [("plain", 0o644, 50), ("set", 0o2755, 50), ("other", 0o644, 77), ("odd", 0o644, 51), ("dir", 0o2755, 50)];
    objects.iter().for_each(|(name, mode, gid)| made(&*source, name, *mode, *gid));
    let target: Arc<dyn Mount> = Arc::new(Linux(MemoryMount::new()));
    let user = User { uid: 0, groups: [0, 50, 51].into(), carried: true };
    let preserve = Preserve { uid: false, gid: false, ..Preserve::ALL };
    let options = Options { preserve, user: Some(user), ..Options::default() };
    let (_, first, ran) = asked(&source, &target, &options, (1, 1));
    ran.clean();
    let is = |name: &str| {
        let (root, name) = (target.root(), Name::new(name.as_bytes()).unwrap());
        let mut calls = [Call::lookup(&root, &name)];
        target.perform(&mut calls);
        let attr = calls[0].found().unwrap().attr.unwrap();
        (attr.gid, attr.mode)
    };
    assert_eq!((is("plain"), is("set"), is("dir")), ((50, 0o644), (50, 0o2755), (50, 0o2755)));
    assert_eq!((is("other").0, is("odd").0), (0, 0));
    // The last one of each object and of the root, one for each group that may be the user's, and no second for the one that was refused.
    assert_eq!(first.get(Proc::SetAttr).calls, 6 + 4);
    let (_, again, ran) = asked(&source, &target, &options, (1, 1));
    assert_eq!(ran.clean().deeds, Vec::<String>::new());
    assert_eq!(again.get(Proc::SetAttr).calls, 1, "only the group that was refused is asked for, once in a run");
    // What is there and has another group is given it, and keeps its set-gid bit.
    for name in ["plain", "set", "dir"] {
        let mut calls = [Call::lookup(&target.root(), &Name::new(name.as_bytes()).unwrap())];
        target.perform(&mut calls);
        let node = calls[0].found().unwrap().node;
        let change = AttrChange { gid: Some(7), ..AttrChange::default() };
        target.perform(&mut [Call::set_attr(&node, change)]);
    }
    let (_, _, differs) = asked(&source, &target, &Options { verify: Verify::Only, ..options.clone() }, (1, 1));
    let differing = ["dir", "odd", "plain", "set"].map(|name| format!("Differs(\"group\") {name}"));
    assert_eq!(differs.deeds, differing);
    let (_, _, ran) = asked(&source, &target, &options, (1, 1));
    assert_eq!(ran.clean().deeds, ["Attributes dir", "Attributes plain", "Attributes set"]);
    assert_eq!((is("plain"), is("set"), is("dir")), ((50, 0o644), (50, 0o2755), (50, 0o2755)));
}
