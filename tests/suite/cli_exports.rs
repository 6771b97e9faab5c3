//! Command lines that name many directories of one export: its targets are connected to once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parfs::mounts::LocalMount;
use parfs::mounts::nfs::{Site, Url, Usage};
use parfs::sim::{Config, Server};
use parfs::storage::{Call, Mount};

use super::cli_support::{Bench, Ran, Sim};

const DIRS: usize = 80;

/// Files in directories of their own, as paths below `dir`.
fn plant(dir: &Path) -> Vec<String> {
    let plant = |i: usize| {
        fs::create_dir(dir.join(format!("d{i}"))).unwrap();
        let path = format!("d{i}/f{i}");
        fs::write(dir.join(&path), path.as_bytes()).unwrap();
        path
    };
    (0..DIRS).map(plant).collect()
}

/// Runs one of the programs where it may have `files` open at a time.
fn limited(bench: &Bench, files: usize, program: &str, args: &[String]) -> Ran {
    let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(bench.path(program)).args(args).current_dir(bench.path("."));
    Ran::of(command.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn operands_in_many_directories_of_an_export_share_its_connections() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    let paths = plant(served.path());
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--targets", "2", "--unlimited"]);
    let urls = |paths: &[String]| paths.iter().map(|path| format!("{}{path}", sim.url)).collect::<Vec<_>>();
    let copies = [urls(&paths), vec!["out".into()]].concat();
    limited(&bench, 40, "parcp", &copies).ok();
    for (i, path) in paths.iter().enumerate() {
        assert_eq!(fs::read_to_string(bench.out().join(format!("f{i}"))).unwrap(), *path);
    }
    // What is not there is told of itself, amid the others.
    let operands = [urls(&paths), urls(&["none/f".into(), "d0/none".into()])].concat();
    let ran = limited(&bench, 40, "parrm", &operands).ended(1, "none/f: ");
    assert!(ran.stderr.contains("d0/none: ") && ran.stderr.lines().count() == 2, "{ran:?}");
    assert!(paths.iter().all(|path| !served.path().join(path).exists()));
    assert_eq!(fs::read_dir(served.path()).unwrap().count(), DIRS);
}

/// Directory after directory each would wait for five answers at least, and a list for those of each window that looks for them.
#[test]
fn operands_in_many_directories_are_removed_at_once() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--latency", "20ms"]);
    for by_list in [false, true] {
        let paths = plant(served.path());
        fs::write(bench.path("list"), paths.join("\n")).unwrap();
        let operands = match by_list {
            true => vec!["--files-from=list".into(), sim.url.clone()],
            false => paths.iter().map(|path| format!("{}{path}", sim.url)).collect(),
        };
        let report = [vec!["--report=report".into()], operands].concat();
        Ran::of(bench.command_as("parrm", &report).output().unwrap()).ok();
        let report: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("report")).unwrap()).unwrap();
        let seconds = report["seconds"].as_f64().unwrap();
        assert_eq!(report["removed"]["files"], DIRS);
        assert!(seconds < DIRS as f64 * 0.020 / 2.0, "by a list: {by_list}: {seconds}");
        (0..DIRS).for_each(|i| fs::remove_dir(served.path().join(format!("d{i}"))).unwrap());
    }
}

/// What one of them leaves of another must not be by chance.
#[test]
fn operands_in_each_other_are_removed_one_after_the_other() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--latency", "2ms"]);
    for _ in 0..5 {
        plant(served.path());
        let run = |paths: &[&str]| {
            let urls: Vec<String> = paths.iter().map(|path| format!("{}{path}", sim.url)).collect();
            Ran::of(bench.command_as("parrm", [vec!["-r".into()], urls].concat()).output().unwrap())
        };
        run(&["d9/f9", "d1/f1", "d1", "d2/f2", "d2"]).ok();
        for paths in [["d3", "d3/f3"], ["d4/f4", "d4/f4"], ["d5/f5", "./d5/f5"]] {
            let ran = run(&["d0/f0", paths[0], "d8/f8", paths[1], "d0"]);
            let ran = ran.ended(1, &format!("{}: LOOKUP: No such file or directory", paths[1]));
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
            fs::create_dir_all(served.path().join("d0")).unwrap();
            ["d0/f0", "d8/f8"].iter().for_each(|path| fs::write(served.path().join(path), "").unwrap());
        }
        fs::read_dir(served.path()).unwrap().for_each(|dir| fs::remove_dir_all(dir.unwrap().path()).unwrap());
    }
}

#[test]
fn each_file_system_of_a_server_is_attached_once() {
    let root = Arc::new(LocalMount::open(Path::new("/")).unwrap());
    let server = Server::start(root, Config { targets: 2, ..Config::default() }).unwrap();
    let mut site = Site::default();
    let mut attach = |path: &str| {
        let url = Url { path: path.into(), ..Url::parse(&server.url()).unwrap() };
        site.attach(&url, Usage::Reads).unwrap()
    };
    let (usr, proc, bin, kernel) = (attach("/usr"), attach("/proc"), attach("/usr/bin"), attach("/proc/sys"));
    for (mounts, beside, is_shared) in [(&usr, &bin, true), (&usr, &proc, false), (&proc, &kernel, true)] {
        let shared = mounts.iter().zip(beside).map(|(one, other)| one.shares_target(other));
        assert_eq!(shared.collect::<Vec<_>>(), [is_shared; 2]);
    }
    // What is asked through one is not the other's.
    let before = bin[0].ledger().tally();
    let mut calls = [Call::get_attr(&usr[0].root())];
    usr[0].perform(&mut calls);
    assert_eq!(bin[0].ledger().tally(), before);
}

/// It is no absent target, which would be waited for.
#[test]
fn a_limit_of_open_files_that_leaves_none_for_a_connection_is_told_soon() {
    let (bench, sim) = (Bench::new(), Sim::start(&["--targets", "2", "--unlimited"]));
    fs::create_dir(bench.path("t")).unwrap();
    (0..20).for_each(|i| fs::write(bench.path(format!("t/{i}")), "data").unwrap());
    let start = Instant::now();
    let run = &|files: usize| {
        let args = ["-r".into(), "t".into(), format!("{}t{files}", sim.url)];
        limited(&bench, files, "parcp", &args)
    };
    let ended: Vec<Ran> = std::thread::scope(|scope| {
        let runs: Vec<_> = (6..18).map(|files| scope.spawn(move || run(files))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let said = "No connection can be made: too many files are open; raise the limit of open files (ulimit -n)";
    for part in ["cannot reach MOUNT: ", "FSINFO: "] {
        let said = format!("{part}{said}");
        assert!(ended.iter().any(|ran| ran.status == Some(1) && ran.stderr.contains(&said)), "{said}: {ended:#?}");
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// Neither is this, and signals are heard meanwhile: such a run waited for the target for minutes, and had to be killed.
#[test]
fn a_limit_of_threads_that_leaves_none_for_a_connection_is_told_soon() {
    if !rustix::process::geteuid().is_root() {
        return; // it would take what the user has running into account
    }
    let (bench, sim) = (Bench::new(), Sim::start(&["--unlimited"]));
    // Another user may not reach where this program was built. By cp, for what this process writes may be open in another test's child.
    assert!(Command::new("cp").args([bench.path("parcp"), bench.path("own-parcp")]).status().unwrap().success());
    fs::set_permissions(bench.path("."), fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(bench.path("t")).unwrap();
    for threads in 1..4 {
        let script = format!("ulimit -u {threads}; exec -a parcp ./own-parcp t {}t", sim.url);
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "60", "setpriv", "--reuid=61235", "--clear-groups", "bash", "-c", &script]);
        let ran = Ran::of(command.current_dir(bench.path(".")).stdin(Stdio::null()).output().unwrap());
        ran.ended(1, "FSINFO: No connection can be made: no thread can be started; raise ulimit -u");
    }
}

/// A kernel that can make fewer connections than it wants uses those that it has.
#[test]
fn a_target_is_spoken_to_over_the_connections_that_there_are_descriptors_for() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--latency", "1ms"]);
    let mut fewer = 0;
    for files in 8..16 {
        let dir = served.path().join(files.to_string());
        fs::create_dir(&dir).unwrap();
        (0..500).for_each(|i| fs::write(dir.join(i.to_string()), "").unwrap());
        let ran = limited(&bench, files, "parrm", &["-r".into(), format!("{}{files}", sim.url)]);
        assert!(!ran.stderr.contains("REMOVE: "), "{files}: {ran:?}");
        if ran.stderr.contains("1 of 2 connections were used: no file can be opened for more") {
            fewer += 1;
            assert!(ran.stderr.lines().count() == 1 && !dir.exists(), "{files}: {ran:?}");
            ran.ok();
        }
    }
    assert!(fewer > 0);
}

#[test]
fn what_is_removed_by_a_url_is_named_without_its_arguments() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    fs::create_dir(served.path().join("d")).unwrap();
    fs::write(served.path().join("d/f"), "").unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let (url, arguments) = (&sim.url, "?uid=0&gid=0&nconnect=1");
    let ran = bench.run_as(&format!("parrm -rv {url}d{arguments} {url}none{arguments}"));
    let ran = ran.ended(1, &format!("parrm: {url}none: "));
    assert_eq!(ran.stdout, format!("removed '{url}d/f'\nremoved directory '{url}d'\n"));
}

#[test]
fn groups_that_a_server_is_not_told_of_are_told_once() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (bench, sim) = (Bench::new(), Sim::start(&["--unlimited"]));
    let run = |groups: u32, argument: &str| {
        let groups = (2000..2000 + groups).map(|gid| gid.to_string()).collect::<Vec<_>>().join(",");
        let (first, second) = (format!("{}a{argument}", sim.url), format!("{}b/c{argument}", sim.url));
        let mut command = Command::new("setpriv");
        command.arg("--groups").arg(groups).arg(bench.path("parrm")).args(["-f", &first, &second]);
        Ran::of(command.output().unwrap()).ok().stderr
    };
    let said = "this user is in 20 groups, and a server is told 16 of them";
    assert_eq!(run(20, "").matches(said).count(), 1);
    assert_eq!(run(20, "?gids=2001,2002") + &run(20, "?uid=0&gid=0") + &run(16, ""), "");
}
