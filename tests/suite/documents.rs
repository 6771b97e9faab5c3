//! README and docs/ through the binary. Every command line of an `sh` block is run as it is printed, in order, in one directory for each
//! document, with what `REPLACED` says put in the place of hosts, paths and sizes; and what is shown of its output has the words and
//! columns of what it prints. Left out: what a marker says is not run, and why.
//!
//! Markers are comments right above a block: `not run: REASON`; `exits N`, of each line of the block; `output`, of a `text` block: it is
//! what the block above prints, numbers aside, and a line `...` stands for any lines; `file: NAME`, of any other block: the lines that
//! follow find it as that file.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cli_support::{PARFS, Sim};

/// What the documents say, and what is run in its place: hosts are targets of one simulator that serves `srv`, directories are below the
/// document's own, sizes and times are small.
const REPLACED: [(&str, &str); 35] = [
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
    ("--runtime=180", "--runtime=1"),
    ("--runtime=60", "--runtime=1"),
    ("--ramp_time=10", "--ramp_time=0"),
    ("size=8G", "size=1m"),
    ("--size=1g", "--size=1m"),
    // The file system of a test need not have O_DIRECT.
    ("--direct=1", "--direct=0"),
    ("--numjobs=8", "--numjobs=2"),
    ("--iodepth=32", "--iodepth=4"),
];

/// Blocks of commands that are not run, at most: each needs root, a kernel's mounts, the network or another's tool.
const NOT_RUN_MAX: usize = 14;

/// `text` blocks that begin with a command, and the tests that hold them: `cli_plan`, `plan` and `doctor`.
const HELD_ELSEWHERE: [&str; 6] = [
    "parfs plan capacity ",
    "parfs plan load ",
    "parfs plan volume ",
    "parfs plan --files ",
    "parfs plan --latency 1ms extract -xf app.tar ",
    "parfs doctor --root tests/data/hosts/usual",
];

/// Units that a number changes with its size.
const UNITS: [&str; 20] = [
    "ns", "us", "ms", "s", "min", "h", "d", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "B/s", "kB/s", "MB/s",
    "GB/s", "KiB/s",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The names of README and of what is in docs/, from the root, each with its text.
pub fn all() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.into_iter().map(|name| (name.clone(), fs::read_to_string(root().join(name)).unwrap())).collect()
}

/// All of their text, for the tests that look for one block.
pub fn text() -> String {
    all().into_iter().map(|(_, text)| text).collect()
}

/// A fenced block, with what the comments above it say.
#[derive(Debug, Default)]
struct Block {
    /// Of the opening fence, from 1.
    line: usize,
    language: String,
    text: String,
    not_run: Option<String>,
    exits: i32,
    is_output: bool,
    file: Option<String>,
}

impl Block {
    fn mark(&mut self, marker: &str) -> Result<(), String> {
        match marker.split_once(' ').unwrap_or((marker, "")) {
            // `tidy` holds that .ci/run runs these, and these only.
            (".ci/run", "runs these") => self.not_run = Some("by .ci/run".to_owned()),
            ("not", reason) if reason.len() > "run: why".len() => {
                self.not_run = reason.strip_prefix("run: ").map(String::from)
            }
            ("exits", status) => self.exits = status.parse().map_err(|e| format!("{marker}: {e}"))?,
            ("output", "") => self.is_output = true,
            ("file:", name) => self.file = Some(name.to_owned()),
            ("doctor:" | "figures:", _) => {}
            _ => return Err(format!("no marker: {marker}")),
        }
        Ok(())
    }

    /// The command lines, without comments, with continued lines joined.
    fn commands(&self) -> Vec<String> {
        let mut commands = vec![];
        let mut begun = String::new();
        for line in self.text.lines() {
            begun += without_comment(line).trim();
            match begun.strip_suffix('\\') {
                Some(more) => begun = more.trim_end().to_owned() + " ",
                None => commands.push(std::mem::take(&mut begun)),
            }
        }
        commands.retain(|command| !command.is_empty());
        commands
    }
}

/// The line up to a `#` that begins a word outside quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('#', None) if before.is_whitespace() => return &line[..at],
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut found: Vec<Block> = vec![];
    let mut open: Option<Block> = None;
    let mut next = Block::default();
    for (number, line) in text.lines().enumerate() {
        if let Some(mut block) = open.take() {
            match line {
                "```" => found.push(block),
                _ => {
                    block.text += line;
                    block.text.push('\n');
                    open = Some(block);
                }
            }
        } else if let Some(language) = line.strip_prefix("```") {
            let block = Block { line: number + 1, language: language.to_owned(), ..std::mem::take(&mut next) };
            open = Some(block);
        } else if let Some(marker) = line.strip_prefix("<!-- ") {
            let marker =
                marker.strip_suffix(" -->").ok_or_else(|| format!("line {}: the comment does not end", number + 1))?;
            next.mark(marker).map_err(|error| format!("line {}: {error}", number + 1))?;
        } else if !line.is_empty() {
            next = Block::default();
        }
    }
    match open {
        Some(block) => Err(format!("line {}: the block does not end", block.line)),
        None => Ok(found),
    }
}

/// Where a document's commands run: its directory, its simulator, and the table for both.
struct World {
    dir: tempfile::TempDir,
    table: Vec<(&'static str, String)>,
    _sim: Sim,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        plant(dir.path());
        let served = dir.path().join("srv");
        let sim = Sim::start(&["--dir", served.to_str().unwrap(), "--targets", "8", "--latency", "0.1ms"]);
        let targets: Vec<&str> = sim.url.trim_start_matches("nfs://").trim_end_matches('/').split(',').collect();
        assert_eq!(targets.len(), 8, "{}", sim.url);
        let fill = |with: &str| {
            let with = with.replace("{dir}", dir.path().to_str().unwrap());
            let with = with.replace("{repository}", env!("CARGO_MANIFEST_DIR"));
            (1..=8).fold(with, |with, i| with.replace(&format!("{{target{i}}}"), targets[i - 1]))
        };
        let table = REPLACED.map(|(what, with)| (what, fill(with))).to_vec();
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
    fn run(&self, command: &str, exits: i32) -> Result<String, String> {
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

/// What the documents take to be there.
fn plant(dir: &Path) {
    let make = |name: &str| fs::create_dir_all(dir.join(name)).unwrap();
    for name in ["here", "bin", "jobs", "mnt/mt1", "mnt/mt2", "destination", "backup"] {
        make(name);
    }
    for name in ["export/apps", "export/scratch/tmp", "fss", "backup", "new", "b"] {
        make(&format!("srv/{name}"));
    }
    for name in [
        "here/apps",
        "here/app",
        "here/folder",
        "far/apps",
        "data",
        "source/folder",
        "mnt/old/data",
        "mnt/fss/apps",
        "mnt/fss/app",
        "mnt/fss/old-release",
        "mnt/fss/cache",
        "mnt/fss/.snapshot/daily/apps",
        "srv/a/src",
        "srv/export/apps/app",
        "srv/export/scratch/tmp/old",
        "path",
    ] {
        tree(&dir.join(name));
    }
    for name in ["partar", "parcp", "parrm", "parload", "parfs", "fio"] {
        symlink(PARFS, dir.join("bin").join(name)).unwrap();
    }
    // Another host is another directory here; jq reads what it is given.
    let far = format!("#!/bin/sh\nshift\ncd '{}' && exec sh -c \"$*\"\n", dir.join("far").display());
    for (name, script) in [("ssh", far.as_str()), ("jq", "#!/bin/sh\nexec cat\n")] {
        let path = dir.join("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    for job in fs::read_dir(root().join("packaging/jobs")).unwrap() {
        let job = job.unwrap();
        let text = fs::read_to_string(job.path()).unwrap();
        let text =
            text.replace("size=8G", "size=1m").replace("runtime=180", "runtime=1").replace("nrfiles=2500", "nrfiles=5");
        fs::write(dir.join("jobs").join(job.file_name()), text.replace("direct=1", "direct=0")).unwrap();
    }
}

/// The word with each number as `#`.
fn numbers(word: &str) -> String {
    let mut out = String::new();
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        let goes_on = [',', '.'].contains(&c) && chars.peek().is_some_and(char::is_ascii_digit) && out.ends_with('#');
        match c.is_ascii_digit() || goes_on {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.push(c),
        }
    }
    out
}

/// The words of a line with each number, and the unit behind it, as `#`; a time of two parts (`3 min 21 s`) is one.
fn shape(line: &str) -> String {
    let mut words: Vec<String> = vec![];
    let mut is_part = false;
    for word in line.split_whitespace() {
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        match words.last_mut() {
            Some(number) if number.ends_with('#') && UNITS.contains(&bare) => {
                *number += &word[bare.len()..];
                is_part = ["h", "min"].contains(&bare);
            }
            _ if is_part && word.starts_with(|c: char| c.is_ascii_digit()) => is_part = false,
            _ => words.push(numbers(word)),
        }
    }
    words.join(" ")
}

/// Whether the shown lines are printed, in order; else the first that is not.
fn shows(shown: &str, printed: &str) -> Result<(), String> {
    let mut lines = printed.lines().map(shape);
    for line in shown.lines().filter(|line| *line != "...") {
        let wanted = shape(line);
        if !lines.any(|line| line == wanted) {
            return Err(format!("shown, and not printed there: {line}\n  (as {wanted})\nprinted:\n{printed}"));
        }
    }
    Ok(())
}

/// Runs a document's blocks; what is wrong with it.
fn run(text: &str) -> Vec<String> {
    let blocks = match blocks(text) {
        Ok(blocks) => blocks,
        Err(error) => return vec![error],
    };
    let world = World::new();
    let mut wrong = vec![];
    let mut printed = None;
    for block in &blocks {
        let ended = match block.language.as_str() {
            _ if block.file.is_some() => {
                let name = block.file.as_ref().unwrap();
                fs::write(world.dir.path().join("here").join(name), &block.text).map_err(|e| format!("{name}: {e}"))
            }
            "sh" if block.not_run.is_some() => Ok(()),
            "sh" => {
                let outputs: Result<Vec<_>, _> =
                    block.commands().iter().map(|command| world.run(command, block.exits)).collect();
                outputs.map(|outputs| printed = Some(outputs.concat()))
            }
            "text" if block.is_output => match &printed {
                Some(printed) => shows(&block.text, printed),
                None => Err("there is no block above that was run".to_owned()),
            },
            "text" => match block.text.strip_prefix("$ ") {
                Some(line) if !HELD_ELSEWHERE.iter().any(|held| line.starts_with(held)) => {
                    Err("no test holds this command; write it as sh with its output".to_owned())
                }
                _ => Ok(()),
            },
            other => Err(format!("'{other}' is neither sh nor text")),
        };
        if let Err(error) = ended {
            wrong.push(format!("line {}: {error}", block.line));
        }
    }
    wrong
}

#[test]
fn every_command_line_runs_as_it_is_printed() {
    let documents = all();
    assert!(documents.len() > 5, "{documents:?}");
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = documents.iter().map(|(name, text)| (name, scope.spawn(|| run(text)))).collect();
        let named = runs.into_iter().map(|(name, run)| (name, run.join().unwrap()));
        named.flat_map(|(name, wrong)| wrong.into_iter().map(move |error| format!("{name}: {error}"))).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn few_blocks_are_not_run_and_each_says_why() {
    let mut reasons = vec![];
    for (name, text) in all() {
        for block in blocks(&text).unwrap() {
            reasons.extend(block.not_run.map(|reason| format!("{name}:{}: {reason}", block.line)));
        }
    }
    assert!((1..=NOT_RUN_MAX).contains(&reasons.len()), "{}", reasons.join("\n"));
}

#[test]
fn this_test_fails_when_a_document_is_wrong() {
    let document = |block: &str| format!("# Title\n\nText.\n\n{block}\n\nMore.\n");
    assert_eq!(run(&document("```sh\nparcp apps b   # as is\nparrm \\\n  b\n```")), [""; 0]);
    assert_eq!(run(&document("<!-- exits 2 -->\n```sh\nparrm\n```")), [""; 0]);
    let shown = "```sh\nparcp --stats apps b 2>&1 | head -1\n```\n<!-- output -->\n```text\n";
    let line = "copied 8 files, 3 directories, 2.90 kB of 11 objects in 0.00 s: 9 objects, 2 MB a second\n```";
    assert_eq!(run(&document(&format!("{shown}{line}"))), [""; 0]);
    for (block, said) in [
        ("```sh\nparrm --nonsense apps\n```", "--nonsense"),
        ("```sh\nparfs plan capacity --targets 1 | false\n```", "ended with"),
        ("```sh\nparrm /etc/nothing-there\n```", "'/etc/nothing-there' is a path of this machine"),
        ("```sh\nparrm\n", "the block does not end"),
        ("<!-- not run: -->\n```sh\nparrm\n```", "no marker"),
        ("<!-- ouput -->\n```text\n```", "no marker"),
        ("```text\n$ parcp a b\n```", "no test holds this command"),
        ("```c\n```", "neither sh nor text"),
        ("<!-- output -->\n```text\n```", "no block above"),
        (&format!("{shown}copied nothing\n```"), "shown, and not printed there: copied nothing"),
    ] {
        let wrong = run(&document(block));
        assert!(wrong.len() == 1 && wrong[0].contains(said), "{block}: {wrong:?}");
    }
    assert_eq!(shape("2  32  3 min 21 s  IOPS  49,998  0.0"), shape("1  16  21 s  IOPS  9  1.5"));
    assert_eq!(shape("5 B of 10.0.0.5: 1.5 MB/s,"), "# of #: #,");
}
