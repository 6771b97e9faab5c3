//! Manual pages and completions are those of the command lines. `PARFS_WRITE_PAGES=1 cargo test pages` writes them anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use parfs::cli::pages;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The file is `wanted`, or becomes it when pages are to be written.
fn hold(path: &Path, wanted: &str) {
    if std::env::var_os("PARFS_WRITE_PAGES").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, wanted).unwrap();
    }
    let is = fs::read_to_string(path).unwrap_or_default();
    let at = is.lines().zip(wanted.lines()).position(|(is, wanted)| is != wanted);
    let line = at.unwrap_or(is.lines().count().min(wanted.lines().count()));
    assert!(
        is == wanted,
        "{} is not what the command line says, from line {}: {:?}\nPARFS_WRITE_PAGES=1 cargo test pages",
        path.display(),
        line + 1,
        wanted.lines().nth(line)
    );
}

/// The day of the version.
const DATE: &str = "2026-11-21";

/// What an apostrophe is in pages; each part of clap_mangen's begins with it, a page needs it once.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// The part of a page that is written by hand, with what it includes.
fn written(name: &str) -> String {
    let dir = root().join("man/written");
    let text = fs::read_to_string(dir.join(format!("{name}.roff"))).unwrap();
    let line = |line: &str| match line.strip_prefix(".\\\" INCLUDE ") {
        Some(file) => fs::read_to_string(dir.join(file)).unwrap(),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn rendered(render: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    render(&mut bytes).unwrap();
    // Two breaks around a blank line are more than a paragraph needs, and a warning of mandoc's.
    String::from_utf8(bytes).unwrap().replace(APOSTROPHE, "").replace(".br\n\n.br\n", ".br\n")
}

/// Headings of groups of options are below OPTIONS, and keep their case.
fn options(man: &Man, command: &Command) -> String {
    let mut text = rendered(|to| man.render_options_section(to));
    for heading in command.get_arguments().filter_map(|arg| arg.get_help_heading()) {
        for quoted in [format!("\"{}\"", heading.to_uppercase()), heading.to_uppercase()] {
            text = text.replace(&format!(".SH {quoted}\n"), &format!(".SS \"{heading}\"\n"));
        }
    }
    if text.contains("\n.SH OPTIONS\n") || text.starts_with(".SH OPTIONS\n") {
        text
    } else {
        format!(".SH OPTIONS\n{text}")
    }
}

fn page(name: &'static str, command: &Command) -> String {
    let man = Man::new(command.clone());
    let written = written(name);
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let version = concat!("parfs ", env!("CARGO_PKG_VERSION"));
    let mut text = format!("{APOSTROPHE}.TH {} 1 {DATE} \"{version}\" \"parfs Manual\"\n", name.to_uppercase());
    text += &format!(".SH NAME\n{} \\- {about}\n", name.replace('-', "\\-"));
    let Some((before, after)) = written.split_once(".\\\" OPTIONS\n") else { return text + &written };
    text += &rendered(|to| man.render_synopsis_section(to));
    text + before + &options(&man, command) + after
}

#[test]
fn pages_are_those_of_the_command_lines() {
    let mut names = vec![("parfs", pages::parfs())];
    names.extend(pages::pages());
    for (name, command) in &names {
        let mut command = command.clone();
        command.build();
        hold(&root().join(format!("man/{name}.1")), &page(name, &command));
    }
    let known = |file: &str, ending: &str| names.iter().any(|(name, _)| file == format!("{name}{ending}"));
    for (dir, ending) in [("man", ".1"), ("man/written", ".roff")] {
        for entry in fs::read_dir(root().join(dir)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            assert!(!file.ends_with(ending) || known(&file, ending), "{dir}/{file} is the page of no command");
        }
    }
}

/// Every option that a page has is told of in a sentence, and so is each value of a job of parload.
#[test]
fn every_option_is_described() {
    for (name, command) in pages::pages() {
        let dumb =
            |arg: &&clap::Arg| !arg.is_hide_set() && arg.get_help().is_none_or(|help| help.to_string().is_empty());
        let dumb: Vec<_> = command.get_arguments().filter(dumb).map(|arg| arg.get_id().to_string()).collect();
        assert!(dumb.is_empty(), "{name}: {dumb:?}");
    }
}

#[test]
fn completions_are_those_of_the_command_lines() {
    for mut command in pages::programs() {
        let name = command.get_name().to_owned();
        for (shell, file) in
            [(Shell::Bash, name.clone()), (Shell::Zsh, format!("_{name}")), (Shell::Fish, format!("{name}.fish"))]
        {
            let mut bytes = Vec::new();
            clap_complete::generate(shell, &mut command, &name, &mut bytes);
            let dir = root().join("packaging/completions").join(shell.to_string());
            let text = String::from_utf8(bytes).unwrap();
            hold(&dir.join(file), &if shell == Shell::Bash { as_other_tools(&text) } else { text });
        }
    }
}

/// Options are offered for a word that begins as one, as other commands do: for any other the commands there are, and where there are none,
/// files.
///
/// Where nothing is offered readline completes the names of files by itself (`complete -o default`): those with blanks or stars in them too, and
/// with a slash behind directories. What `compgen -f` prints is cut at each blank.
fn as_other_tools(text: &str) -> String {
    let (mut commands, mut is_option) = (String::new(), false);
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        if let Some(words) = line.trim_start().strip_prefix("opts=\"").and_then(|line| line.strip_suffix('"')) {
            let words: Vec<&str> = words.split(' ').filter(|word| !word.starts_with('-')).collect();
            commands = words.join(" ");
        }
        let offers = line.trim_start() == "COMPREPLY=( $(compgen -W \"${opts}\" -- \"${cur}\") )";
        let is_of_options = std::mem::replace(&mut is_option, line.contains("if [[ ${cur} == -* ||"));
        let text = match line.trim_start() {
            _ if is_option => "if [[ ${cur} == -* ]] ; then".to_owned(),
            _ if offers && !is_of_options && commands.is_empty() => "COMPREPLY=()".to_owned(),
            _ if offers && !is_of_options => format!("COMPREPLY=( $(compgen -W \"{commands}\" -- \"${{cur}}\") )"),
            other => other.replace("COMPREPLY=($(compgen -f \"${cur}\"))", "COMPREPLY=()"),
        };
        format!("{}{text}\n", &line[..indent])
    };
    text.lines().map(line).collect()
}

/// What bash itself offers for the last word of a command line.
fn offered(words: &[&str]) -> Vec<String> {
    let name = words[0];
    let last = words.len() - 1;
    let before = words.len().checked_sub(2).map_or("", |at| words[at]);
    let script = format!(
        "source {}/packaging/completions/bash/{name}; COMP_WORDS=({}); COMP_CWORD={last}; \
         _{name} {name} '{}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        root().display(),
        words.iter().map(|word| format!("'{word}' ")).collect::<String>(),
        words[last],
    );
    let out = process::Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
    assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// As typed: readline works on a pipe too.
#[test]
fn bash_completes_names_with_blanks_and_of_directories() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("my dir")).unwrap();
    for file in ["b c", "st*r x", "my dir/in side"] {
        fs::write(dir.path().join(file), "").unwrap();
    }
    let typed = [
        "parcp --exclude-from b\t",
        "parcp --exclude-from my\t",
        "parcp --exclude-from my\\ dir/\t",
        "parcp --report st\t",
        "parcp --report=b\t",
        "parcp --dr\t --progress li\t b\t",
    ];
    let script = root().join("packaging/completions/bash/parcp");
    let before = format!("source '{}'; parcp() {{ printf '<%s>' \"$@\" >> said; echo >> said; }}\n", script.display());
    let mut bash = process::Command::new("bash");
    bash.args(["--norc", "--noprofile", "-i"])
        .env("INPUTRC", "/dev/null")
        .env("TERM", "dumb")
        .env("HISTFILE", "/dev/null");
    bash.current_dir(dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = super::cli_support::run_with(bash, (before + &typed.join("\n") + "\nexit 0\n").as_bytes());
    let said = fs::read_to_string(dir.path().join("said")).unwrap_or_default();
    let expected = [
        "<--exclude-from><b c>",
        "<--exclude-from><my dir/>",
        "<--exclude-from><my dir/in side>",
        "<--report><st*r x>",
        "<--report=b c>",
        "<--dry-run><--progress><line><b c>",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{ran:?}");
}

#[test]
fn bash_offers_options_and_commands() {
    assert_eq!(offered(&["partar", "--extr"]), ["--extract"]);
    assert_eq!(offered(&["parcp", "--dry"]), ["--dry-run"]);
    assert_eq!(offered(&["parload", "--iodepth_batch_complete_mi"]), ["--iodepth_batch_complete_min"]);
    assert_eq!(offered(&["parload", "--rw", "randw"]), ["randwrite"]);
    assert_eq!(offered(&["parfs", "doc"]), ["doctor"]);
    assert_eq!(offered(&["parfs", "plan", "cap"]), ["capacity"]);
    assert_eq!(offered(&["parfs", "plan", "--targets", "1,4", "ex"]), ["extract"]);
    assert_eq!(offered(&["parfs", "plan", "copy", "--dry"]), ["--dry-run"]);
    // What is known and refused is not offered.
    assert_eq!(offered(&["partar", "--multi-vol"]), [""]);
}

/// Of an empty word other tools offer commands, or files.
#[test]
fn options_are_offered_for_a_dash_only() {
    for program in ["partar", "parcp", "parrm", "parload"] {
        assert_eq!(offered(&[program, ""]), [""]);
        assert_eq!(offered(&[program, "a", ""]), [""]);
        assert!(offered(&[program, "-"]).len() > 10);
        assert!(offered(&[program, "a", "-"]).len() > 10);
    }
    assert_eq!(offered(&["parfs", "plan", "copy", ""]), [""]);
    let commands = offered(&["parfs", ""]);
    assert!(commands.iter().all(|word| !word.starts_with('-')), "{commands:?}");
    assert!(["tar", "plan", "demo", "help"].iter().all(|word| commands.iter().any(|is| is == word)), "{commands:?}");
}

/// All that can be planned, in each shell.
#[test]
fn each_word_of_plan_is_offered() {
    const WORDS: [&str; 8] = ["extract", "create", "copy", "remove", "capacity", "volume", "load", "help"];
    assert_eq!(offered(&["parfs", "plan", ""]), WORDS);
    let read = |file: &str| fs::read_to_string(root().join("packaging/completions").join(file)).unwrap();
    let (zsh, fish) = (read("zsh/_parfs"), read("fish/parfs.fish"));
    let zsh = zsh.split("\n_parfs__subcmd__plan_commands() {").nth(1).unwrap().split("\n}\n").next().unwrap();
    for word in WORDS {
        assert!(zsh.contains(&format!("\n'{word}:")), "{word}: {zsh}");
        let offers = |line: &str| line.contains("using_subcommand plan;") && line.contains(&format!(" -a \"{word}\""));
        assert!(fish.lines().any(offers), "{word}");
    }
}
