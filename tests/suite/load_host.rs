//! `parfs load`'s options that name something of the host: users, priorities of I/O, patterns in files, directories of files, state files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use rustix::process::{getgid, getuid};

use super::cli_support::{PARFS, Ran, Sim};
use super::load::{Loads, document};

#[test]
fn files_are_the_users_that_is_named() {
    let loads = Loads::new();
    fs::set_permissions(loads.path("."), fs::Permissions::from_mode(0o777)).unwrap();
    let (own, group) = (getuid(), getgid());
    let (uid, gid) = if own.is_root() { (65534, 65533) } else { (own.as_raw(), group.as_raw()) };
    for engine in ["psync", "posixaio", "libaio"] {
        loads.json(&format!(
            "--name={engine} --size=16k --rw=write --create_on_open=1 --ioengine={engine} --uid={uid} --gid={gid}"
        ));
        let made = fs::metadata(loads.path(format!("{engine}.0.0"))).unwrap();
        assert_eq!((made.uid(), made.gid()), (uid, gid), "{engine}");
    }
    if own.is_root() {
        fs::write(loads.path("roots"), [0; 4096]).unwrap();
        fs::set_permissions(loads.path("roots"), fs::Permissions::from_mode(0o600)).unwrap();
        let ran = loads.run(&format!("--output-format=json --name=a --filename=roots --uid={uid}"));
        assert_eq!((ran.status, &document(&ran)["jobs"][0]["error"]), (Some(1), &13.into()), "{ran:?}");
        loads.json("--name=a --filename=roots");
    } else {
        let ran = loads.run("--output-format=json --name=a --size=4k --uid=0");
        assert_eq!((ran.status, &document(&ran)["jobs"][0]["error"]), (Some(1), &1.into()), "{ran:?}");
    }
}

/// As of a container whose number of processes is limited.
#[test]
fn clones_for_which_there_is_no_thread_are_told() {
    if !getuid().is_root() {
        return; // it would take what the user has running into account
    }
    let loads = Loads::new();
    // Another user may not reach where this program was built.
    // By cp: a program that this process writes may be open in another test's child when it is to run.
    assert!(std::process::Command::new("cp").arg(PARFS).arg(loads.path("parfs")).status().unwrap().success());
    fs::set_permissions(loads.path("."), fs::Permissions::from_mode(0o777)).unwrap();
    let run = "ulimit -u 20; exec timeout -k 1 100 ./parfs load --output-format=json --name=a --ioengine=null --size=4k --numjobs=60";
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=61234", "--clear-groups", "bash", "-c", run]).current_dir(loads.path("."));
    let ran = Ran::of(command.stdin(std::process::Stdio::null()).output().unwrap());
    assert!(ran.stderr.contains("fio: pthread_create: Resource temporarily unavailable"), "{ran:?}");
    let jobs = document(&ran)["jobs"].as_array().unwrap().clone();
    let failed = jobs.iter().filter(|job| job["error"] == 11).count();
    assert!(jobs.len() == 60 && (1..60).contains(&failed), "{ran:?}");
    assert_eq!(ran.status, Some(failed as i32), "{ran:?}");
}

#[test]
fn over_nfs_the_calls_have_the_identity() {
    let (loads, dir) = (Loads::new(), tempfile::tempdir().unwrap());
    let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--unlimited"]);
    let line = "--size=4k --rw=write --create_on_open=1 --ioengine=nfs";
    let identity = if getuid().is_root() { "--uid=7 --gid=8" } else { "" };
    loads.json(&format!("--name=a {line} --nfs_url={} {identity}", sim.url));
    let made = fs::metadata(dir.path().join("a.0.0")).unwrap();
    let wanted = if getuid().is_root() { (7, 8) } else { (getuid().as_raw(), getgid().as_raw()) };
    assert_eq!((made.uid(), made.gid()), wanted);
}

/// A command of the job has what its thread has.
#[test]
fn the_priority_is_the_threads() {
    let loads = Loads::new();
    for (line, said) in [
        ("--prio=6", "best-effort: prio 6"),
        ("--prioclass=3", "idle"),
        ("--prioclass=2 --prio=1", "best-effort: prio 1"),
    ] {
        loads.json(&format!("--name=a --size=4k --exec_prerun=ionice {line}"));
        assert_eq!(fs::read_to_string(loads.path("a.prerun.txt")).unwrap().trim(), said, "{line}");
    }
}

#[test]
fn patterns_are_read_from_files() {
    let loads = Loads::new();
    fs::write(loads.path("three"), "abc").unwrap();
    fs::write(loads.path("long"), (0..600).map(|at| (at % 251) as u8).collect::<Vec<u8>>()).unwrap();
    let written = |pattern: &str| {
        loads.json(&format!("--name=a --filename=f --size=4k --rw=write --buffer_pattern={pattern}"));
        fs::read(loads.path("f")).unwrap()
    };
    assert_eq!(&written("0x01'three'")[..8], b"\x01abc\x01abc", "as fio 3.33");
    assert_eq!(&written("\"it's\"'three'")[..8], b"it'sabci");
    assert_eq!(&written("'three'0x02")[..5], b"abc\x02a");
    let long = written("'long'");
    assert_eq!((long[511], long[512]), ((511 % 251) as u8, 0), "512 bytes of it, as fio 3.33");
    loads.json("--name=a --filename=f --size=4k --rw=write --verify=pattern --verify_pattern='three'");
    assert_eq!(&fs::read(loads.path("f")).unwrap()[..4], b"abca");
    fs::write(loads.path("three"), "abd").unwrap();
    let ran = loads.run("--name=a --filename=f --size=4k --rw=read --verify=pattern --verify_pattern='three'");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    fs::write(loads.path("empty"), "").unwrap();
    for (pattern, said) in
        [("'none'", "fio: none: No such file"), ("'empty'", "it is empty"), ("'three", "' is missing in")]
    {
        let ran = loads.run(&format!("--name=a --size=4k --rw=write --buffer_pattern={pattern}"));
        assert!(ran.status == Some(1) && ran.stderr.contains(said), "{pattern}: {ran:?}");
    }
}

#[test]
fn all_files_below_a_directory_are_the_jobs() {
    let loads = Loads::new();
    fs::create_dir_all(loads.path("o/p")).unwrap();
    fs::write(loads.path("o/a"), [0; 8192]).unwrap();
    fs::write(loads.path("o/p/b"), [0; 4096]).unwrap();
    fs::write(loads.path("c"), [0; 4096]).unwrap();
    symlink("a", loads.path("o/l")).unwrap();
    let reads =
        |line: &str| loads.json(&format!("--name=a --opendir=o {line}"))["jobs"][0]["read"]["total_ios"].as_u64();
    assert_eq!([reads(""), reads("--filename=c"), reads("--openfiles=1")], [Some(3), Some(4), Some(3)]);
    fs::create_dir(loads.path("empty")).unwrap();
    for (dir, said) in [("none", "fio: none: No such file"), ("empty", "there is no file in it")] {
        let ran = loads.run(&format!("--name=a --opendir={dir}"));
        assert!(ran.status == Some(1) && ran.stderr.contains(said), "{dir}: {ran:?}");
    }
}

/// Which of them, as fio 3.33 takes it: those ahead of nrfiles= on a line; of a directory the first that it has.
#[test]
fn no_more_files_than_nrfiles_behind_their_names_are_changed() {
    let loads = Loads::new();
    let made = |line: &str| {
        loads.json(&format!("{line} --rw=write --size=32k"));
        let sizes = ["k1", "k2", "k3"].map(|name| fs::metadata(loads.path(name)).map_or(0, |file| file.len() >> 10));
        ["k1", "k2", "k3"].iter().for_each(|name| drop(fs::remove_file(loads.path(name))));
        sizes
    };
    assert_eq!(made("--name=a --filename=k1:k2 --nrfiles=1"), [32, 0, 0]);
    assert_eq!(made("--name=a --nrfiles=1 --filename=k1:k2"), [16, 16, 0]);
    assert_eq!(made("--name=a --filename=k1:k2 --nrfiles=1 --filename=k3"), [16, 16, 0]);
    assert_eq!(made("--name=a --filename=k1:k2:k3 --nrfiles=2 --openfiles=3 --numjobs=2"), [16, 16, 0]);
    for (text, sizes) in [
        ("[a]\nfilename=k1:k2\nnrfiles=1\n", [16, 16, 0]),
        ("[global]\nfilename=k1:k2\n[a]\nnrfiles=1\n", [32, 0, 0]),
        ("[global]\nnrfiles=1\n[a]\nfilename=k1:k2\n", [16, 16, 0]),
    ] {
        fs::write(loads.path("j.fio"), format!("{text}rw=write\nsize=32k\n")).unwrap();
        assert_eq!(made("j.fio --section=a"), sizes, "{text}");
    }
    loads.run("--name=a --filename=k1 --nrfiles=0 --size=4k").ended(1, "a job without files");
    fs::create_dir_all(loads.path("o/p")).unwrap();
    ["o/a", "o/p/b", "o/c", "o/d"].iter().for_each(|name| fs::write(loads.path(name), "old").unwrap());
    loads.json("--name=a --opendir=o --nrfiles=2 --rw=read --size=128k");
    let sizes = ["o/a", "o/p/b", "o/c", "o/d"].map(|name| fs::metadata(loads.path(name)).unwrap().len());
    assert_eq!(sizes.iter().filter(|size| **size == 3).count(), 2, "{sizes:?}");
    assert_eq!(sizes.iter().filter(|size| **size == 64 << 10).count(), 2, "{sizes:?}");
    loads.json("--name=a --nrfiles=1 --opendir=o --rw=read --size=256k");
    assert!(
        ["o/a", "o/p/b", "o/c", "o/d"].iter().all(|name| fs::metadata(loads.path(name)).unwrap().len() == 64 << 10)
    );
}

#[test]
fn a_stream_is_no_file() {
    let loads = Loads::new();
    let ran = loads.run("--name=a --filename=- --size=4k --rw=write");
    assert!(ran.status == Some(1) && ran.stderr.contains("'filename=-' is not supported here"), "{ran:?}");
    assert!(!loads.path("-").exists());
    fs::create_dir(loads.path("d")).unwrap();
    loads.json("--name=a --directory=d --filename=- --size=4k --rw=write");
}

/// As in fio the I/O was done; what cannot be prepared is not begun.
#[test]
fn a_command_that_fails_afterwards_is_told() {
    let loads = Loads::new();
    let ran = loads.run("--name=a --size=4k --rw=write --exec_postrun=false");
    assert!(ran.status == Some(0) && ran.stderr.contains("fio: exec_postrun=false: "), "{ran:?}");
    assert!(ran.stdout.contains("err= 0"), "{ran:?}");
    let job = "--name=b --size=4k --rw=write --exec_prerun=false --exec_postrun=true";
    loads.run(job).ended(1, "fio: exec_prerun=false: ");
    assert!(!loads.path("b.postrun.txt").exists(), "which follows what was begun");
}

/// Measured of fio 3.33: what a job began with is ended ahead of what removes its files, and also where it only makes them.
#[test]
fn commands_run_around_what_is_only_made_and_see_its_files() {
    let loads = Loads::new();
    let said = |name: &str| fs::read_to_string(loads.path(name)).unwrap();
    for more in ["", "--create_only=1", "--create_only=1 --unlink=1", "--unlink=1"] {
        loads.run(&format!("--name=a --size=4k --rw=write --exec_prerun=ls --exec_postrun=ls {more}")).ok();
        assert!(said("a.prerun.txt").contains("a.prerun.txt"), "{more}");
        assert!(said("a.postrun.txt").contains("a.0.0"), "{more}");
        ["a.prerun.txt", "a.postrun.txt"].iter().for_each(|name| fs::remove_file(loads.path(name)).unwrap());
    }
    let failing = loads.run("--name=a --size=4k --rw=write --create_only=1 --exec_prerun=false --exec_postrun=ls");
    assert!(failing.status == Some(1) && !loads.path("a.postrun.txt").exists(), "{failing:?}");
}

/// As in fio, of jobs that continue_on_error= lets go on, also where they had nothing to go on with.
#[test]
fn errors_are_counted_of_jobs_without_io() {
    let loads = Loads::new();
    let ran = loads.run(
        "--output-format=json --continue_on_error=all --name=a --size=4k --create_only=1 --name=b --filename=nothing --size=0",
    );
    let jobs = document(&ran)["jobs"].clone();
    for job in [0, 1] {
        assert_eq!((&jobs[job]["total_err"], &jobs[job]["first_error"]), (&0.into(), &0.into()), "{ran:?}");
    }
}

/// The others under way are waited for, and are no reason of their own.
#[test]
fn the_first_io_above_max_latency_is_told() {
    let loads = Loads::new();
    let ran = loads.run("--name=a --size=64k --ioengine=libaio --iodepth=8 --max_latency=1us");
    assert!(ran.status == Some(1) && ran.stderr.matches("exceeds specified max").count() == 1, "{ran:?}");
}

#[test]
fn a_list_of_logs_is_refused_by_name() {
    let loads = Loads::new();
    loads.run("--name=a --numjobs=2 --read_iolog=l1:l2").ended(1, "a list of logs is not shared out");
}

/// As in fio: a name that is misspelt makes no file, and no good result.
#[test]
fn what_is_only_read_has_to_be_there_where_nothing_gives_its_size() {
    let loads = Loads::new();
    fs::write(loads.path("j.0.0"), [0; 20_000]).unwrap();
    for line in ["--filename=j.0.0:zz", "--filename=j.0.0:zz --size=100%", "--nrfiles=2"] {
        let ran = loads.run(&format!("--name=j {line}"));
        assert!(ran.status == Some(1) && ran.stdout.contains("No such file or directory"), "{line}: {ran:?}");
    }
    assert!(!loads.path("zz").exists() && !loads.path("j.0.1").exists());
    loads.run("--name=j --filename=j.0.0:zz --rw=randrw").ok();
    loads.run("--name=j --filename=j.0.0:yy --size=64k").ok();
    assert!(loads.path("zz").exists() && loads.path("yy").exists());
}

#[test]
fn a_mapping_is_made_safe_range_by_range() {
    let loads = Loads::new();
    let json = loads.json("--name=j --rw=write --size=64k --ioengine=mmap --sync_file_range=write:2");
    assert_eq!(json["jobs"][0]["write"]["total_ios"], 16);
}

#[test]
fn a_state_file_says_how_far_a_job_came() {
    let loads = Loads::new();
    let line = "--name=a --filename=f --size=64k --verify=crc32c";
    loads.json(&format!("{line} --rw=randwrite --number_ios=5"));
    let state = loads.path("local-a-0-verify.state");
    assert!(state.exists(), "saved unless verify_state_save=0, as fio does");
    loads.run(&format!("{line} --rw=randread")).stderr.find("verify: bad").expect("the rest was never written");
    let ios = |json: serde_json::Value| json["jobs"][0]["read"]["total_ios"].as_u64();
    assert_eq!(ios(loads.json(&format!("{line} --rw=randread --verify_state_load=1"))), Some(5));
    assert_eq!(ios(loads.json(&format!("{line} --rw=randwrite --verify_only --verify_state_load=1"))), Some(5));
    fs::remove_file(&state).unwrap();
    let ran = loads.run(&format!("{line} --rw=randread --verify_state_load=1"));
    assert!(ran.status == Some(1) && ran.stderr.contains("local-a-0-verify.state: No such file"), "{ran:?}");
    fs::write(&state, "text").unwrap();
    let ran = loads.run(&format!("{line} --rw=randread --verify_state_load=1"));
    assert!(ran.status == Some(1) && ran.stderr.contains("is not a state file"), "{ran:?}");
    fs::remove_file(&state).unwrap();
    loads.json(&format!("{line} --rw=write --verify_state_save=0"));
    assert!(!state.exists());
    fs::create_dir(loads.path("aux")).unwrap();
    loads.json(&format!("--aux-path=aux {line} --rw=write"));
    assert!(loads.path("aux/local-a-0-verify.state").exists() && !state.exists());
}

/// As in fio the job has done its work.
#[test]
fn a_state_that_cannot_be_saved_is_told() {
    let loads = Loads::new();
    let ran = loads.run("--aux-path=none --name=a --size=16k --rw=write --verify=crc32c");
    assert!(
        ran.status == Some(0) && ran.stderr.contains("verify state: none/local-a-0-verify.state: No such"),
        "{ran:?}"
    );
}
