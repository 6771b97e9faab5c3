//! Directories with a default ACL, beside cp and GNU tar: what nobody asked a mode for is as the ACL has it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, getxattr, mknodat, setxattr};

use super::cli_support::{Bench, Ran};
use super::nasty::acl;

const ACCESS: &str = "system.posix_acl_access";

/// Names below `out` and their modes, once `commands` have run there by a shell of umask 027; `$b` is the bench.
fn modes(bench: &Bench, default: u16, commands: &str) -> Vec<(String, u32)> {
    let out = bench.out();
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    setxattr(&out, "system.posix_acl_default", &acl(default), XattrFlags::empty()).unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("set -e; umask 027; cd out; {commands}")).env("b", bench.path(""));
    Ran::of(shell.current_dir(bench.path("")).stdin(Stdio::null()).output().unwrap()).ok();
    let (mut found, mut dirs) = (Vec::new(), vec![out.clone()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
            let is = entry.metadata().unwrap();
            if is.is_dir() {
                dirs.push(entry.path());
            }
            found.push((entry.path().strip_prefix(&out).unwrap().display().to_string(), is.mode() & 0o7777));
        }
    }
    found.sort();
    found
}

#[test]
fn a_copy_whose_mode_is_not_kept_is_as_the_acl_has_it() {
    let bench = Bench::new();
    for (dir, mode) in [("s", 0o755), ("s/sub", 0o751), ("s/shut", 0o555)] {
        fs::create_dir(bench.path(dir)).unwrap();
        for (file, mode) in [("f", 0o664), ("g", 0o600), ("h", 0o777)] {
            fs::write(bench.path(dir).join(file), file).unwrap();
            fs::set_permissions(bench.path(dir).join(file), PermissionsExt::from_mode(mode)).unwrap();
        }
        fs::set_permissions(bench.path(dir), PermissionsExt::from_mode(mode)).unwrap();
    }
    for default in [0o770, 0o750, 0o777, 0o700, 0o570, 0o450] {
        let by_cp = modes(&bench, default, "cp -r ../s/. .");
        assert_eq!(by_cp.len(), 11);
        for options in ["", "--atomic", "--verify", "--no-preserve=all", "-S"] {
            let line = format!("$b/parcp --no-preserve=mode {options} ../s .");
            assert_eq!(modes(&bench, default, &line), by_cp, "{default:o} {options}");
        }
        // The ACL that is inherited goes, for the source has none, and leaves nothing of what it allowed.
        let bare: Vec<_> = modes(&bench, default, "$b/parcp --no-preserve=mode -A ../s .");
        for (name, mode) in bare {
            let source = fs::metadata(bench.path("s").join(&name)).unwrap().mode() & 0o7777;
            assert_eq!(mode, source & !0o027, "{default:o} {name}");
        }
    }
}

/// A tree whose objects, of all kinds that have ACLs, have one that lets a user in: what there is of them.
fn plant_acls(bench: &Bench) -> [&'static str; 4] {
    fs::create_dir_all(bench.path("s/sub")).unwrap();
    fs::write(bench.path("s/f"), "f").unwrap();
    let fifo = Mode::from_raw_mode(0o600);
    mknodat(CWD, bench.path("s/fifo"), FileType::Fifo, fifo, 0).unwrap();
    let all = ["s", "s/sub", "s/f", "s/fifo"];
    for name in all {
        setxattr(bench.path(name), ACCESS, &acl(0o770), XattrFlags::empty()).unwrap();
    }
    all
}

fn access_acl(bench: &Bench, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 200];
    let len = getxattr(bench.path(name), ACCESS, &mut value[..]).ok()?;
    Some(value[..len].to_vec())
}

/// The umask is of modes, and the bits of a group are an ACL's mask.
#[test]
fn an_acl_that_is_carried_without_the_mode_is_kept_as_it_is() {
    let bench = Bench::new();
    let all = plant_acls(&bench);
    let is_kept = |to: &str, what: &str| {
        for name in all {
            let at = name.replacen('s', to, 1);
            assert_eq!(access_acl(&bench, &at), Some(acl(0o770)), "{what}: {at}");
        }
    };
    for default in [0o770, 0o750, 0o700, 0o450] {
        modes(&bench, default, "$b/parcp -a --no-preserve=mode -A ../s t");
        is_kept("out/t", "new");
        modes(&bench, default, "mkdir -p t/sub; chmod 500 t/sub t; $b/parcp -a --no-preserve=mode -A ../s t");
        is_kept("out/t", "there already");
    }
    Ran::of(run(&bench, "umask 027; ./parcp -a --no-preserve=mode -A s t")).ok();
    is_kept("t", "without a default");
}

fn run(bench: &Bench, commands: &str) -> std::process::Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", commands]).current_dir(bench.path("")).stdin(Stdio::null()).output().unwrap()
}

/// In a chroot, say. What the kernel has no call for is told.
#[test]
fn acls_are_kept_or_their_loss_is_told_without_proc() {
    let bench = Bench::new();
    let all = plant_acls(&bench);
    let without_proc = "exec unshare -m sh -c 'mount -t tmpfs none /proc && echo begun && exec";
    let ran = Ran::of(run(&bench, &format!("{without_proc} ./parcp -aA s t'")));
    if !ran.stdout.contains("begun") {
        return; // a host that lets nobody make namespaces
    }
    let is_kept = |name: &&str| access_acl(&bench, &name.replacen('s', "t", 1)) == Some(acl(0o770));
    assert!(all[..3].iter().all(is_kept), "{ran:?}");
    // That has to be opened, or named in /proc.
    let ran = ran.ended(1, "fifo: ");
    assert!(ran.stderr.ends_with(": Function not implemented\n") && ran.stderr.lines().count() == 1, "{ran:?}");
}

#[test]
fn a_directory_that_is_only_in_paths_is_as_the_acl_has_it() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("s/above/dir")).unwrap();
    fs::write(bench.path("s/above/dir/f"), "f").unwrap();
    bench.run("-cf in.tar -C s above/dir/f").ok();
    for default in [0o770, 0o750, 0o777, 0o700] {
        let by_tar = modes(&bench, default, "tar -xf ../in.tar");
        assert_eq!(modes(&bench, default, "$b/partar -xf ../in.tar"), by_tar, "{default:o}");
        let top = by_tar.iter().find(|(name, _)| name == "above").unwrap().1;
        let own = modes(&bench, default, "$b/partar -xf ../in.tar --one-top-level=top");
        assert_eq!(own[0], ("top".to_string(), top), "{default:o}");
    }
}
