//! README and docs/ through the binary. Every command line of an `sh` block is run as it is printed, in order, in one directory for each
//! document, with what `documents_world` says put in the place of hosts, paths and sizes; and what is shown of its output has the words and
//! columns of what it prints. Left out: what a marker says is not run, and why.
//!
//! Markers are comments right above a block: `not run: REASON`; `exits N`, of each line of the block; `output`, of a `text` block: it is
//! what the block above prints, numbers aside, and a line `...` stands for any lines; `exact output`: to the letter; `meanwhile: COMMAND`,
//! run before the block: what somebody else does there.

use std::fs;
use std::path::PathBuf;

use super::documents_world::World;

/// Blocks of commands that are not run, at most: each needs root, a kernel's mounts, the network or another's tool.
const NOT_RUN_MAX: usize = 6;

/// `text` blocks that begin with a command, and the tests that hold them: `cli_plan`, `plan` and `doctor`.
const HELD_ELSEWHERE: &[&str] = &[
    "parfs plan capacity ",
    "parfs plan load ",
    "parfs plan volume ",
    "parfs plan --files ",
    "parfs plan --latency 1ms extract -xf app.tar ",
    "parfs doctor --root tests/data/hosts/usual",
];

/// Units that a number changes with its size.
const UNITS: &[&str] = &[
    "ns", "us", "ms", "s", "min", "h", "d", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "B/s", "kB/s", "MB/s",
    "GB/s", "KiB/s",
];

/// What binds a row of a table.
const BOUNDS: &[&str] = &["  IOPS", "  bandwidth", "  latency x depth"];

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
    is_exact: bool,
    meanwhile: Vec<String>,
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
            ("exact", "output") => (self.is_output, self.is_exact) = (true, true),
            ("meanwhile:", command) => self.meanwhile.push(command.to_owned()),
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
    // What bound a run is another thing in one as small as a test's, in a sentence or as the last column.
    if line.starts_with("Bound by ") {
        return "Bound by".to_owned();
    }
    let line = BOUNDS.iter().find_map(|bound| line.strip_suffix(bound)).unwrap_or(line);
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

/// The shapes of lines; those that follow one of the same shape, as rows of a table do, are left out.
fn shapes<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut shapes: Vec<String> = lines.map(shape).collect();
    shapes.dedup();
    shapes
}

/// Whether the shown lines are printed one behind the other, with anything in the place of `...`; else what is not.
fn shows(shown: &str, printed: &str) -> Result<(), String> {
    let all = shapes(printed.lines());
    let mut from = 0;
    for part in shown.lines().collect::<Vec<_>>().split(|line| *line == "...") {
        let wanted = shapes(part.iter().copied());
        match all[from..].windows(wanted.len().max(1)).position(|lines| lines == wanted) {
            _ if wanted.is_empty() => {}
            Some(at) => from += at + wanted.len(),
            None => return Err(format!("shown, and not printed so: {part:#?}\nas {wanted:#?}\nprinted:\n{printed}")),
        }
    }
    Ok(())
}

/// Runs the block's lines; what they print.
fn run_block(world: &World, block: &Block) -> Result<String, String> {
    for command in &block.meanwhile {
        world.run(command, 0)?;
    }
    let outputs: Result<Vec<_>, _> = block.commands().iter().map(|command| world.run(command, block.exits)).collect();
    Ok(outputs?.concat())
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
        let ended = match (block.language.as_str(), &printed) {
            ("sh", _) if block.not_run.is_some() => Ok(()),
            ("sh", _) => run_block(&world, block).map(|output| printed = Some(output)),
            ("text", None) if block.is_output => Err("there is no block above that was run".to_owned()),
            ("text", Some(printed)) if block.is_exact && *printed != block.text => {
                Err(format!("this is not what is printed:\n{printed}"))
            }
            ("text", Some(printed)) if block.is_output => shows(&block.text, printed),
            ("text", _) => match block.text.strip_prefix("$ ") {
                Some(line) if !HELD_ELSEWHERE.iter().any(|held| line.starts_with(held)) => {
                    Err("no test holds this command; write it as sh with its output".to_owned())
                }
                _ => Ok(()),
            },
            (other, _) => Err(format!("'{other}' is neither sh nor text")),
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
    let lines = "```sh\nprintf '%s\\n' a b c\n```\n<!-- output -->\n```text\n";
    assert_eq!(run(&document(&format!("{lines}a\n...\nc\n```"))), [""; 0]);
    for (block, said) in [
        (&*format!("{lines}a\nc\n```"), "shown, and not printed so"),
        ("```sh\nparrm --nonsense apps\n```", "--nonsense"),
        ("```sh\nparfs plan capacity --targets 1 | false\n```", "ended with"),
        ("```sh\nparrm /etc/nothing-there\n```", "'/etc/nothing-there' is a path of this machine"),
        ("```sh\nparrm\n", "the block does not end"),
        ("<!-- not run: -->\n```sh\nparrm\n```", "no marker"),
        ("<!-- ouput -->\n```text\n```", "no marker"),
        ("```text\n$ parcp a b\n```", "no test holds this command"),
        ("```c\n```", "neither sh nor text"),
        ("<!-- output -->\n```text\n```", "no block above"),
        (&format!("{shown}copied nothing\n```"), "shown, and not printed so"),
    ] {
        let wrong = run(&document(block));
        assert!(wrong.len() == 1 && wrong[0].contains(said), "{block}: {wrong:?}");
    }
    assert_eq!(shape("2  32  3 min 21 s  IOPS  49,998  0.0"), shape("1  16  21 s  IOPS  9  1.5"));
    assert_eq!(shape("5 B of 10.0.0.5: 1.5 MB/s,"), "# of #: #,");
}

/// What docs/troubleshooting.md has in the first column of its tables, the programs have in their texts: each part between `…`.
#[test]
fn messages_are_those_of_the_programs() {
    let sources = walkdir::WalkDir::new(root().join("src")).into_iter().map(Result::unwrap);
    let sources = sources.filter(|entry| entry.file_name().to_string_lossy().ends_with(".rs"));
    let text: String = sources.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect();
    // A text that goes on in the next line leaves out the line's end and the blanks that begin the next.
    let joined = text.split("\\\n").map(str::trim_start).collect::<String>();
    let document = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let cells =
        document.lines().filter_map(|line| line.strip_prefix("| `")).map(|line| line.split(" |").next().unwrap());
    let messages: Vec<&str> = cells.flat_map(|cell| cell.split('`').step_by(2)).filter(|part| *part != ", ").collect();
    assert!(messages.len() > 40, "{messages:?}");
    let parts = messages.iter().flat_map(|message| message.split('…')).map(|part| part.trim_matches([' ', ':']));
    let missing: Vec<&str> = parts.filter(|part| !joined.contains(part)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
