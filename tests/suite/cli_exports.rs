//! Command lines that name many directories of one export: its targets are connected to once.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use parfs::mounts::LocalMount;
use parfs::mounts::nfs::{Site, Url, Usage};
use parfs::sim::{Config, Server};

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
pub fn limited(bench: &Bench, files: usize, program: &str, args: &[String]) -> Ran {
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
}
