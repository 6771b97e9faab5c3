//! partar, the simulator and the demo through the binary, over NFSv3 on the loopback.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::cli_support::{Bench, NAMES, PARFS, Ran, Sim, assert_sample, send};

fn json(path: std::path::PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn an_archive_goes_to_a_served_directory_through_all_targets() {
    let bench = Bench::new();
    let dir = tempfile::tempdir().unwrap();
    let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--targets", "2", "--unlimited"]);
    assert_eq!(sim.url.matches("127.0.0.1:").count(), 2, "{}", sim.url);
    let ran = bench.run(&format!("xvf a.tar -C {} --report run.json", sim.url)).ok();
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), NAMES);
    assert_sample(dir.path());
    let report = json(bench.path("run.json"));
    let targets = report["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2);
    let written: u64 = targets.iter().map(|t| t["bytes"].as_u64().unwrap()).sum();
    assert_eq!(written, 10_005);
    assert!(targets.iter().all(|t| t["retransmitted"] == 0 && t["gone"] == false));
    // What finds out where the URL leads is asked before the job.
    assert!(targets.iter().all(|t| t["issued_iops"].as_u64() >= t["iops_total"].as_u64()), "{targets:?}");
}

#[test]
fn an_archive_on_a_target_is_made_and_added_to() {
    let bench = Bench::new();
    bench.run("xf a.tar -C out").ok();
    let sim = Sim::start(&["--targets", "2", "--unlimited"]);
    bench.run(&format!("-rf {}new.tar -C out top/a.txt", sim.url)).ok();
    bench.run(&format!("-rf {}new.tar -C out top/sub", sim.url)).ok();
    let ran = bench.run(&format!("-tf {}new.tar", sim.url)).ok();
    assert_eq!(ran.stdout, "top/a.txt\ntop/sub/\ntop/sub/b.log\n");
}

/// As GNU tar does, whether mktemp(1) made the file here or on an export.
#[test]
fn an_empty_file_is_an_archive_without_members() {
    let bench = Bench::new();
    bench.run("xf a.tar -C out").ok();
    let sim = Sim::start(&["--dir", bench.path("").to_str().unwrap(), "--unlimited"]);
    for (at, how) in [(String::new(), "-rf"), (sim.url.clone(), "-rf"), (sim.url.clone(), "-uf")] {
        fs::write(bench.path("empty.tar"), "").unwrap();
        bench.run(&format!("{how} {at}empty.tar -C out top/a.txt")).ok();
        assert_eq!(bench.run("-tf empty.tar").ok().stdout, "top/a.txt\n", "{how} {at}");
        assert_eq!(bench.path("empty.tar").metadata().unwrap().len(), 10_240);
    }
}

#[test]
fn the_simulator_reports_what_it_served_when_it_is_ended() {
    let bench = Bench::new();
    let report = bench.path("sim.json");
    // The last one makes way for this one, and not for one that cannot listen.
    let before = Sim::start(&["--unlimited", "--report", report.to_str().unwrap()]);
    let port = before.url.trim_start_matches("nfs://").trim_end_matches('/').to_owned();
    before.end();
    let taken = std::net::TcpListener::bind(&port).unwrap();
    let refused = Command::new(PARFS).args(["sim", "--listen", &port, "--report", report.to_str().unwrap()]).output();
    Ran::of(refused.unwrap()).failed("Cannot listen");
    drop(taken);
    assert!(fs::metadata(&report).unwrap().len() > 0);
    let sim = Sim::start(&["--unlimited", "--report", report.to_str().unwrap()]);
    bench.run(&format!("xf a.tar -C {}", sim.url)).ok();
    // What it serves, it still has.
    bench.run(&format!("xkf a.tar -C {}", sim.url)).failed("File exists");
    assert_eq!(sim.end(), (Some(0), String::new()));
    assert!(json(report)["targets"].is_array());
}

#[test]
fn a_simulator_may_serve_for_a_time() {
    let run = Command::new(PARFS).args(["sim", "--seconds", "0.05", "--live"]).stdin(Stdio::null()).output();
    let ran = Ran::of(run.unwrap()).ok();
    assert!(ran.stdout.starts_with("nfs://127.0.0.1:"), "{ran:?}");
}

#[test]
fn wrong_options_of_the_simulator_and_the_demo_are_named() {
    let run = |line: &str| Ran::of(Command::new(PARFS).args(line.split_whitespace()).output().unwrap());
    run("sim --targets 0").failed("--targets");
    run("sim --dir /does-not-exist").failed("parfs sim: /does-not-exist: Cannot open: No such file or directory");
    // At once, not when what was measured is to be written, or never.
    run("sim --seconds 1 --report /does-not-exist/r")
        .failed("parfs sim: /does-not-exist/r: Cannot write: No such file or directory");
    let kept = std::env::current_exe().unwrap();
    run(&format!("sim --seconds 1 --report {}", kept.display())).failed("is there and is no report");
    run("sim --seconds 1 --targets 2 --fault gone:target=3,nth=1")
        .failed("parfs sim: --fault: target=3, and there are 2 targets");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let untold =
        Command::new(PARFS).args(["sim", "--seconds", "1"]).stdin(Stdio::null()).stdout(full).output().unwrap();
    assert_eq!(untold.status.code(), Some(2), "{untold:?}");
    run("sim --fault nonsense").failed("--fault");
    run("demo --scale 0").failed("--scale");
    run("demo --files 0").failed("--files");
}

#[test]
fn the_demo_compares_three_runs() {
    let run = Command::new(PARFS)
        .args(["demo", "--files", "300", "--scale", "10", "--latency", "0.1ms", "--targets", "2"])
        .output();
    let ran = Ran::of(run.unwrap()).ok();
    for part in ["one call at a time", "parallel, one target", "parallel, all targets", "speed-up", "partar xf"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

/// Whichever call of the first target is its last.
#[test]
fn a_target_that_dies_while_it_is_proven_leaves_no_name_and_no_time() {
    let bench = Bench::new();
    for nth in 1..=11 {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "data").unwrap();
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::open(dir.path()).unwrap().set_modified(old).unwrap();
        let fault = format!("gone:target=1,nth={nth}");
        let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--targets", "2", "--fault", &fault]);
        let ran = bench.run_as(&format!("parrm -f {}none?timeo=2&away=1", sim.url));
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["f"], "{fault}: {ran:?}");
        assert_eq!(fs::metadata(dir.path()).unwrap().modified().unwrap(), old, "{fault}: {ran:?}");
        assert!(!ran.stderr.contains("does not serve the same"), "{fault}: {ran:?}");
    }
}

/// MOUNT answers, and nobody serves NFS yet.
#[test]
fn a_wait_for_a_server_is_told_once() {
    let (bench, sim) = (Bench::new(), Sim::start(&["--unlimited"]));
    let port = sim.url.trim_end_matches('/').rsplit(':').next().unwrap();
    let url = format!("nfs://127.0.0.1/?mountport={port}&nfsport=1&away=5");
    let said = "nfs://127.0.0.1/: waiting for an answer\n";
    for line in [format!("partar -xf a.tar -C {url}"), format!("parcp out {url}"), format!("parrm -r --contents {url}")]
    {
        let ran = bench.run_as(&line);
        assert!(ran.status != Some(0) && ran.stderr.matches(said).count() == 1, "{line}: {ran:?}");
    }
}

/// Targets are shown to be one server's by a name that is made through one and found through the others; it is not to stay there.
#[test]
fn a_signal_before_the_job_leaves_no_name_on_the_server() {
    let bench = Bench::new();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "data").unwrap();
    let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--targets", "2", "--latency", "100ms"]);
    let names = || {
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.as_encoded_bytes().starts_with(b".parfs-")).collect::<Vec<_>>()
    };
    let before = fs::metadata(dir.path()).unwrap().modified().unwrap();
    for signal in [Signal::INT, Signal::TERM] {
        let mut child =
            bench.command_as("parcp", ["out", &format!("{}d", sim.url)]).stderr(Stdio::piped()).spawn().unwrap();
        while names().is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "it made no name");
            std::thread::sleep(Duration::from_millis(5));
        }
        send(&child, signal);
        assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
        assert_eq!(names(), [""; 0]);
        assert_eq!(fs::metadata(dir.path()).unwrap().modified().unwrap(), before);
        assert!(!dir.path().join("d").exists());
    }
}

/// Where a server's link leads is not known here: it is not copied for that, and takes the place of nothing that it may lead to.
#[test]
fn a_symbolic_link_of_a_server_is_itself_or_refused() {
    let (bench, dir) = (Bench::new(), tempfile::tempdir().unwrap());
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("d")).unwrap();
    fs::create_dir_all(at("else")).unwrap();
    fs::write(at("d/f"), "data").unwrap();
    for (link, text) in [("lnk", "d"), ("lf", "d/f"), ("far", "/d"), ("gone", "no"), ("else/f", "../d/f")] {
        std::os::unix::fs::symlink(text, at(link)).unwrap();
    }
    let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--unlimited", "--targets", "2"]);
    let url = |name: &str| format!("{}{name}", sim.url);
    let told = |command: &str, text: &str| {
        let ran = bench.run_as(command);
        assert!(ran.status == Some(1) && ran.stderr.contains(text), "{ran:?}");
    };
    for source in ["lnk", "lnk/", "lnk/.", "lf", "gone", "far"] {
        told(&format!("parcp {} new", url(source)), "name what it leads to");
    }
    assert!(fs::symlink_metadata(bench.path("new")).is_err());
    told(&format!("parcp {} new", url("d/f/")), "Not a directory");
    fs::create_dir(bench.path("into")).unwrap();
    for _ in 0..2 {
        bench.run_as(&format!("parcp -t into {} {} {}", url("lnk"), url("gone"), url("far"))).ok();
        assert!(["lnk", "gone", "far"].iter().all(|link| bench.path("into").join(link).is_symlink()));
    }
    told(&format!("parcp -t into {}", url("lnk/")), "name what it leads to");
    let other = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--unlimited"]);
    for target in [url("d"), format!("{}d", other.url), at("d").display().to_string()] {
        told(&format!("parcp -t {target} {}", url("else/f")), "remove it first");
        // Kept as it is.
        bench.run_as(&format!("parcp -n -t {target} {}", url("else/f"))).ok();
        assert_eq!(fs::read(at("d/f")).unwrap(), b"data");
    }
    // As of a tree.
    fs::write(bench.path("names"), "f\n").unwrap();
    fs::write(bench.path("into/f"), "was a file").unwrap();
    bench.run_as(&format!("parcp --files-from=names {} into", url("else"))).ok();
    assert!(bench.path("into/f").is_symlink());
}

/// A directory of this host that is served by two addresses.
struct Served {
    dir: tempfile::TempDir,
    sim: Sim,
}

impl Served {
    fn start() -> Served {
        let dir = tempfile::tempdir().unwrap();
        let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--unlimited", "--targets", "2"]);
        Served { dir, sim }
    }

    /// Two of its names, of which none tells that it is the other.
    fn pairs(&self) -> [(String, String); 3] {
        let hosts = self.sim.url.trim_start_matches("nfs://").trim_end_matches('/').split_once(',').unwrap();
        let urls = [hosts.0, hosts.1].map(|host| format!("nfs://{host}"));
        let here = self.dir.path().display().to_string();
        let [first, second] = urls;
        [(first.clone(), second), (first.clone(), here.clone()), (here, first)]
    }
}

/// A source in the destination of another, by another address of the server or by a path of this host.
#[test]
fn no_source_of_a_run_is_deleted_for_another() {
    let served = Served::start();
    let at = |name: &str| served.dir.path().join(name);
    for (to, from) in served.pairs() {
        for path in ["y/dst", "dst/x"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("y/dst/f"), "new").unwrap();
        fs::write(at("dst/x/only"), "precious").unwrap();
        fs::write(at("dst/extra"), "goes").unwrap();
        let ran = Bench::new().run_as(&format!("parcp --delete -t {to}/ {from}/y/dst {from}/dst/x"));
        assert!(ran.status == Some(1) && ran.stderr.contains("it is the source, or cannot be told from it"), "{ran:?}");
        let there = ["dst/x/only", "x/only", "dst/f", "dst/extra"].map(|path| at(path).exists());
        assert_eq!(there, [true, true, true, false], "{to} {from}: {ran:?}");
        for name in ["y", "dst", "x"] {
            fs::remove_dir_all(at(name)).unwrap();
        }
    }
}

/// A source that is where another one is copied to, in part or as a whole, or where it is copied to itself.
#[test]
fn nothing_is_deleted_in_what_is_a_source() {
    let served = Served::start();
    let at = |name: &str| served.dir.path().join(name);
    for (to, from) in served.pairs() {
        let spared = "or cannot be told from";
        for (sources, is_whole, told) in [
            // By a link, or it would be refused as the other's destination.
            (format!("{from}/s1 {from}/lnk/"), true, spared),
            (format!("{from}/s1 {from}/d/s1/sub"), false, spared),
            (format!("{from}/s1 {from}/d/s1/extra"), true, spared),
            (format!("{from}/d/s1/"), true, spared),
            // One that is not copied may be anywhere.
            (format!("{from}/s1 {from}/d/s1"), true, "--ignore-errors deletes all the same"),
            (format!("{from}/s1 {from}/none/there"), true, "--ignore-errors deletes all the same"),
        ] {
            if sources.contains("lnk") && from.starts_with("nfs://") {
                continue;
            }
            for path in ["s1/sub", "d/s1/sub/x", "d/s1/s1", "d/other"] {
                fs::create_dir_all(at(path)).unwrap();
            }
            std::os::unix::fs::symlink("d/s1", at("lnk")).unwrap();
            // A directory that is in a file's place is deleted no more than what is beside it.
            for path in ["d/s1/sub/data", "d/s1/sub/x/data", "d/s1/extra", "d/gone", "s1/sub/new", "s1/sub/x"] {
                fs::write(at(path), "precious").unwrap();
            }
            let is_one = !sources.contains(' ');
            let mapped = if is_one { format!("{to}/d/") } else { format!("-t {to}/d") };
            let command = if is_one { format!("{sources} {mapped}") } else { format!("{mapped} {sources}") };
            let ran = Bench::new().run_as(&format!("parcp --delete {command}"));
            assert!(ran.status == Some(1) && ran.stderr.contains(told), "{command}: {ran:?}");
            assert!(told != spared || !ran.stderr.contains("--ignore-errors"), "{command}: {ran:?}");
            // A file holds the names that it is one of.
            let stays = !sources.ends_with("/extra");
            assert!(
                ["sub/data", "sub/x/data"].iter().all(|path| at("d/s1").join(path).exists() == stays),
                "{command}: {ran:?}"
            );
            assert!(!is_whole || at("d/s1/extra").exists(), "{command}: {ran:?}");
            fs::remove_file(at("lnk")).unwrap();
            for name in ["s1", "d"] {
                fs::remove_dir_all(at(name)).unwrap();
            }
        }
    }
}

/// What its copy clears to make room is what a file is in: by a URL and a path nobody sees that beforehand.
#[test]
fn a_single_file_stays_where_its_copy_replaces_a_directory() {
    let served = Served::start();
    let at = |name: &str| served.dir.path().join(name);
    for (to, from) in served.pairs() {
        fs::create_dir_all(at("dst/x/y")).unwrap();
        fs::write(at("dst/x/y/x"), "precious").unwrap();
        let ran = Bench::new().run_as(&format!("parcp --delete {from}/dst/x/y/x {to}/dst"));
        assert!(ran.status == Some(1) && ran.stderr.contains("dst/x/y: it is the source"), "{ran:?}");
        assert_eq!(fs::read(at("dst/x/y/x")).unwrap(), b"precious", "{ran:?}");
        // From elsewhere it takes the directory's place, and each path is told as it is.
        fs::write(at("x"), "new").unwrap();
        let would = Bench::new().run_as(&format!("parcp --delete --dry-run {from}/x {to}/dst"));
        assert!(would.stdout.contains(&format!("would remove '{to}/dst/x/y/x'")), "{would:?}");
        let ran = Bench::new().run_as(&format!("parcp --delete {from}/x {to}/dst"));
        assert_eq!((ran.status, fs::read(at("dst/x")).unwrap()), (Some(0), b"new".to_vec()), "{ran:?}");
        fs::remove_dir_all(at("dst")).unwrap();
    }
}

/// A source that is refused is one all the same: what --ignore-errors lets go is what could not be read.
#[test]
fn a_refused_source_stays_with_ignore_errors() {
    let served = Served::start();
    let at = |name: &str| served.dir.path().join(name);
    for (to, from) in served.pairs() {
        for path in ["s1", "d/s1/old/s1", "d/s1/gone"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        fs::write(at("d/s1/old/s1/data"), "precious").unwrap();
        // It has the name of another source, and nobody sees by it that it is in that one's destination.
        let sources = format!("{from}/s1 {from}/d/s1/old/s1");
        let ran = Bench::new().run_as(&format!("parcp --delete --ignore-errors -t {to}/d {sources}"));
        assert!(ran.status == Some(1) && ran.stderr.contains("would be copied over what"), "{ran:?}");
        assert!(at("d/s1/old/s1/data").exists() && !at("d/s1/gone").exists(), "{ran:?}");
        fs::remove_dir_all(at("d")).unwrap();
    }
}
