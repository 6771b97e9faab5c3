//! Where the command lines of README and docs/ are run: a directory for each document, with what they take to be there, a simulator, and
//! the one table of what stands in for hosts, paths and sizes.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use super::cli_support::{PARFS, Sim};

/// What the documents say, and what is run in its place: hosts are targets of one simulator that serves `srv`, directories are below the
/// document's own, sizes and times are small.
const REPLACED: &[(&str, &str)] = &[
    ("10.0.0.5", "{target1}"),
    ("10.0.0.6", "{target2}"),
    ("10.0.0.7", "{target3}"),
    ("10.0.0.8", "{target4}"),
    ("10.0.0.9", "{target5}"),
    ("10.0.0.10", "{target6}"),
    ("10.0.0.11", "{target7}"),
    ("10.0.0.12", "{target8}"),
    ("/mnt/fss", "{dir}/mnt/fss"),
    ("/mnt/mt1", "{dir}/mnt/mt1"),
    ("/mnt/mt2", "{dir}/mnt/mt2"),
    ("/mnt/old", "{dir}/mnt/old"),
    ("/mnt/destination", "{dir}/mnt/destination"),
    ("/source/folder", "{dir}/source/folder"),
    ("/destination/folder", "{dir}/destination/folder"),
    ("/destination", "{dir}/destination"),
    ("/backup", "{dir}/backup"),
    ("/data", "{dir}/data"),
    ("/fss", "{dir}/mnt/fss"),
    ("/path", "{dir}/path"),
    ("packaging/jobs", "{dir}/jobs"),
    ("tests/data/hosts/usual", "{repository}/tests/data/hosts/usual"),
    // What lasts until it is ended, or as long as it is told.
    ("parfs sim", "parfs sim --seconds 0.1"),
    ("parfs demo", "parfs demo --files 300 --scale 10 --latency 0.1ms"),
    // A recorded host whose mounts have nothing wrong.
    (
        "parfs doctor --watch 10 /mnt/fss",
        "parfs doctor --root {repository}/tests/data/hosts/healthy --watch 1 /mnt/mt1",
    ),
    ("parfs doctor --depth 3 /mnt/fss", "parfs doctor --root {repository}/tests/data/hosts/healthy --depth 3 /mnt/mt1"),
    ("parfs doctor", "parfs doctor --root {repository}/tests/data/hosts/healthy"),
    ("--runtime=8", "--runtime=1"),
    ("--runtime=180", "--runtime=1"),
    ("--runtime=60", "--runtime=1"),
    ("--ramp_time=2", "--ramp_time=0"),
    ("--scale 1,2,4,8", "--scale 1,2"),
    ("--scale-ceilings 0.05", "--scale-ceilings 0.02"),
    // A tree of a few files is to feel the budget.
    ("--max-iops 20000", "--max-iops 100"),
    ("--size=32m", "--size=1m"),
    ("-size=8G", "-size=1m"),
    ("--size=1g", "--size=1m"),
    // The file system of a test need not have O_DIRECT.
    ("--direct=1", "--direct=0"),
    ("--numjobs=8", "--numjobs=2"),
    ("--iodepth=32", "--iodepth=4"),
];

/// Of the simulator, as a share of OCI's: low enough to bind also on a machine that is busy.
const CEILINGS: &str = "0.02";

/// Where a document's commands run: its directory, its simulator, and the table for both.
pub struct World {
    dir: tempfile::TempDir,
    table: Vec<(&'static str, String)>,
    _sim: Sim,
}

impl World {
    pub fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        plant(dir.path());
        let served = dir.path().join("srv");
        let sim = Sim::start(&["--dir", served.to_str().unwrap(), "--targets", "8", "--scale", CEILINGS]);
        let targets: Vec<&str> = sim.url.trim_start_matches("nfs://").trim_end_matches('/').split(',').collect();
        assert_eq!(targets.len(), 8, "{}", sim.url);
        let fill = |with: &str| {
            let with = with.replace("{dir}", dir.path().to_str().unwrap());
            let with = with.replace("{repository}", env!("CARGO_MANIFEST_DIR"));
            (1..=8).fold(with, |with, i| with.replace(&format!("{{target{i}}}"), targets[i - 1]))
        };
        let table = REPLACED.iter().map(|(what, with)| (*what, fill(with))).collect();
        World { table, dir, _sim: sim }
    }

    /// The command with the table put in; an error if a path of this machine is left.
    fn replaced(&self, command: &str) -> Result<String, String> {
        // What is left of the document's own words shows what the table has nothing for.
        let (mut out, mut left) = (String::new(), String::new());
        let mut at = 0;
        while at < command.len() {
            let (before, rest) = (command[..at].chars().next_back(), &command[at..]);
            let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "-_.".contains(c));
            let fits = |what: &str| {
                let is_within = joins(before) || (what.starts_with('/') && before == Some('/'));
                !is_within && rest.strip_prefix(what).is_some_and(|rest| !joins(rest.chars().next()))
            };
            let best = self.table.iter().filter(|(what, _)| fits(what)).max_by_key(|(what, _)| what.len());
            if let Some((what, with)) = best {
                out += with;
                left.push('R');
                at += what.len();
            } else {
                let c = rest.chars().next().unwrap();
                out.push(c);
                left.push(c);
                at += c.len_utf8();
            }
        }
        let mut words = left.split(|c: char| c.is_whitespace() || "'\"=,:;()<>|".contains(c));
        match words.find(|word| word.starts_with('/') && !word.starts_with("//") && *word != "/dev/null") {
            Some(word) => Err(format!("'{word}' is a path of this machine; the table has no other for it")),
            None => Ok(out),
        }
    }

    /// What the documents call hosts and paths, in place of what was put there.
    fn as_written(&self, output: &str) -> String {
        let mut pairs: Vec<_> = self.table.iter().filter(|(what, _)| what.starts_with(['1', '/'])).collect();
        pairs.sort_by_key(|(_, with)| std::cmp::Reverse(with.len()));
        pairs.into_iter().fold(output.to_owned(), |text, (what, with)| text.replace(with, what))
    }

    /// Runs one command line in a shell; what it printed on both streams.
    pub fn run(&self, command: &str, exits: i32) -> Result<String, String> {
        let line = self.replaced(command)?;
        let path = self.dir.path().join("printed");
        let printed = File::create(&path).unwrap();
        // The limit is for a program that waits for what does not come.
        let status = Command::new("timeout")
            .args(["120", "bash", "-o", "pipefail", "-c", &line])
            .current_dir(self.dir.path().join("here"))
            .env("PATH", format!("{}:/usr/bin:/bin", self.dir.path().join("bin").display()))
            .env("LC_ALL", "C")
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .stdout(printed.try_clone().unwrap())
            .stderr(printed)
            .status()
            .unwrap();
        let output = self.as_written(&String::from_utf8_lossy(&fs::read(path).unwrap()));
        match status.code() == Some(exits) {
            true => Ok(output),
            false => Err(format!("{command}\n  as {line}\n  ended with {status}, not {exits}:\n{output}")),
        }
    }
}

/// Files of 100 bytes to some KiB, and one that `--exclude '*.log'` leaves out, in each of a few directories.
fn tree(dir: &Path) {
    for sub in ["conf", "lib"] {
        fs::create_dir_all(dir.join(sub)).unwrap();
        for file in ["a.conf", "b.log", "c.o", "d"] {
            fs::write(dir.join(sub).join(file), file.repeat(100)).unwrap();
        }
    }
}

/// What the documents take to be there: empty directories, and trees.
const EMPTY: &[&str] = &[
    "here",
    "bin",
    "jobs",
    "backup",
    "destination",
    "mnt/destination",
    "mnt/fss/dir",
    "mnt/mt1/app",
    "srv/backup",
    "srv/fss",
    "srv/new",
    "srv/b",
];
const TREES: &[&str] = &[
    "data",
    "far/apps",
    "here/app",
    "here/apps",
    "here/example",
    "mnt/fss/.snapshot/daily/apps",
    "mnt/fss/.snapshot/daily/cache",
    "mnt/fss/.snapshot/daily/dir",
    "mnt/fss/.snapshot/daily/old-release",
    "mnt/fss/app",
    "mnt/fss/apps",
    "mnt/fss/cache",
    "mnt/mt1/a",
    "mnt/old/data",
    "path/example",
    "source/folder",
    "srv/a/src",
    "srv/export/apps/app",
    "srv/export/scratch/tmp/old",
];

fn plant(dir: &Path) {
    EMPTY.iter().for_each(|name| fs::create_dir_all(dir.join(name)).unwrap());
    TREES.iter().for_each(|name| tree(&dir.join(name)));
    for name in ["partar", "parcp", "parrm", "parload", "parfs", "fio"] {
        symlink(PARFS, dir.join("bin").join(name)).unwrap();
    }
    for (archive, of) in [("app.tar.zst", "app"), ("patch.tar.zst", "app"), ("patch.tar", "app"), ("apps.tar", "apps")]
    {
        let made =
            Command::new(dir.join("bin/partar")).args(["-caf", archive, of]).current_dir(dir.join("here")).status();
        assert!(made.unwrap().success(), "{archive}");
    }
    // Another host is another directory here; jq reads what it is given.
    let far = format!("#!/bin/sh\nshift\ncd '{}' && exec sh -c \"$*\"\n", dir.join("far").display());
    for (name, script) in [("ssh", far.as_str()), ("jq", "#!/bin/sh\nexec cat\n")] {
        let path = dir.join("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    for job in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/jobs")).unwrap() {
        let job = job.unwrap();
        let text = fs::read_to_string(job.path()).unwrap();
        let text =
            text.replace("size=8G", "size=1m").replace("runtime=180", "runtime=1").replace("nrfiles=2500", "nrfiles=5");
        fs::write(dir.join("jobs").join(job.file_name()), text.replace("direct=1", "direct=0")).unwrap();
    }
}
