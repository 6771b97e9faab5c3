//! What was typed: parrm's options as GNU rm spells them, parsed and not yet understood. Touches nothing of the host.

use std::ffi::OsString;

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser};

use crate::cli::flags::{ParallelFlags, TellFlags, complaint};
use crate::cli::refused;

use super::refused::REFUSED;

const USAGE: &str = "parrm [OPTION...] PATH|nfs://HOST/EXPORT/PATH...\n       \
                     parrm --files-from FILE [OPTION...] [DIR]";

const AFTER_HELP: &str = "\
Trees are removed with or without -r. Symbolic links are removed, never followed; the way to an
operand may lead through them. Never removed, and told: '/', '.' and '..' as the last name, the
empty name, and the root of a mounted file system or export. A .snapshot in such a root is
never entered. There are no prompts without -I. A run that was stopped is finished by running
it again; with --older-than, a directory that it had removed something from is no longer old,
and stays until it is.

An operand may be an NFSv3 export's that parrm speaks to by itself:
  nfs://HOST[:PORT][,HOST2...]/export/dir?uid=0&gid=0&nconnect=4
Several hosts are mount targets of one export; the work is spread over them.

Exit status: 0 all done; 1 something could not be removed or was refused; 2 a usage error;
130 or 143 stopped by SIGINT or SIGTERM, after what was under way is finished.

Examples:
  parrm -P 32 /mnt/fss/old
  parrm --dry-run --older-than 30d 'nfs://10.0.0.5,10.0.0.6/export/scratch/tmp'
  find . -name '*.o' -print0 | parrm --files-from - --null";

/// parrm's command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "parrm",
    about = "Removes trees with many NFS operations in flight, as rm -r does with one",
    override_usage = USAGE,
    after_help = AFTER_HELP,
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true,
    infer_long_args = true,
    max_term_width = 110
)]
#[allow(missing_docs)] // the help texts are the docs
pub struct Low {
    /// What to remove, with everything in it
    #[arg(value_name = "PATH")]
    pub operands: Vec<OsString>,

    #[command(flatten)]
    pub manner: RemoveFlags,
    #[command(flatten)]
    pub choice: ChoiceFlags,
    #[command(flatten)]
    pub parallel: ParallelSection,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// How operands are removed.
#[derive(Clone, Debug, Args)]
#[allow(missing_docs)]
pub struct RemoveFlags {
    /// Remove directories with what is in them (default)
    #[arg(short = 'r', short_alias = 'R', long)]
    pub recursive: bool,
    /// What is not there is no error; takes -I back
    #[arg(short = 'f', long, overrides_with_all = ["once", "interactive"])]
    pub force: bool,
    /// Remove directories only when they are empty, unless -r is given; in a list, what is in one may come
    /// before it
    #[arg(short = 'd', long)]
    pub dir: bool,
    /// Remove what is in the operands, and keep them
    #[arg(long)]
    pub contents: bool,
    /// Ask once before more than three operands or a tree are removed
    #[arg(short = 'I', overrides_with_all = ["force", "interactive"])]
    pub once: bool,
    /// never, or once (-I)
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always",
          value_parser = interactive, overrides_with_all = ["once"])]
    pub interactive: Option<Ask>,
    /// Leave directories of other file systems than the operand's alone
    #[arg(short = 'x', long)]
    pub one_file_system: bool,
    /// '/' is never removed (default); with =all, nor is any operand on another device than its parent, nor its contents
    #[arg(long, value_name = "all", num_args = 0..=1, require_equals = true, default_missing_value = "",
          value_parser = preserve_root)]
    pub preserve_root: Option<bool>,
    /// Remove nothing; show what would be removed, and what it would cost
    #[arg(long)]
    pub dry_run: bool,
}

/// What is removed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Choice")]
#[allow(missing_docs)]
pub struct ChoiceFlags {
    /// Leave what matches the shell pattern alone, and the directories it is in
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub exclude: Vec<OsString>,
    /// Leave what matches a pattern of FILE alone, one a line
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub exclude_from: Vec<OsString>,
    /// Only what was modified before: 2w, 30d, 12h, 45m, 90s ago, or YYYY-MM-DD[ HH:MM[:SS]] in UTC
    #[arg(long, value_name = "AGE", allow_hyphen_values = true)]
    pub older_than: Option<String>,
    /// Remove the paths listed in FILE ('-': standard input), one a line, relative to DIR or the working directory
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub files_from: Option<OsString>,
    /// The paths of --files-from end in NULs, the last one too, as find -print0 writes them
    #[arg(short = '0', long)]
    pub null: bool,
}

/// How much at once.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Parallel work")]
#[allow(missing_docs)]
pub struct ParallelSection {
    #[command(flatten)]
    pub flags: ParallelFlags,
}

/// What is told.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
#[allow(missing_docs)]
pub struct OutputFlags {
    /// List on stdout what is removed, and what the run cost on stderr; twice: also how it was set up
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    #[command(flatten)]
    pub tell: TellFlags,
}

/// When to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ask {
    Never,
    Once,
}

fn interactive(text: &str) -> Result<Ask, String> {
    match text {
        "never" | "no" | "none" => Ok(Ask::Never),
        "once" => Ok(Ask::Once),
        "always" | "yes" => Err("a prompt before each removal is not in this version; use --interactive=once".into()),
        _ => Err("never or once".into()),
    }
}

/// True for `all`.
fn preserve_root(text: &str) -> Result<bool, String> {
    match text {
        "" => Ok(false),
        "all" => Ok(true),
        _ => Err("all, or nothing".into()),
    }
}

/// The parser with every option that GNU rm has.
pub fn command() -> Command {
    refused::add(Low::command(), REFUSED)
}

/// The help text.
pub fn help() -> String {
    command().render_help().to_string()
}

/// Parses what follows the program's name. An error is a message in rm's form, without the program's name.
pub fn parse(args: Vec<OsString>) -> Result<Low, String> {
    let mut command = command();
    let typed = std::iter::once(OsString::from("parrm")).chain(args);
    let matches = command.try_get_matches_from_mut(typed).map_err(|error| complaint(&command, &error))?;
    refused::check(&matches, REFUSED)?;
    Low::from_arg_matches(&matches).map_err(|error| complaint(&command, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn low(line: &str) -> Low {
        parse(line.split_whitespace().map(OsString::from).collect()).unwrap()
    }

    fn refusal(line: &str) -> String {
        parse(line.split_whitespace().map(OsString::from).collect()).unwrap_err()
    }

    #[test]
    fn the_spellings_of_scripts_are_taken() {
        for line in ["-P 16 /path", "-P16 /path", "/path --parallel=16", "/path --lanes 16", "-rf /path -P 16"] {
            let low = low(line);
            assert_eq!((low.operands, low.parallel.flags.parallel), (vec!["/path".into()], Some(16)), "{line}");
        }
        let low = low("-rfdvx dir -- -f");
        assert!(low.manner.recursive && low.manner.force && low.manner.dir && low.manner.one_file_system);
        assert_eq!((low.operands, low.output.verbose), (vec!["dir".into(), "-f".into()], 1));
    }

    #[test]
    fn the_last_of_i_and_f_counts() {
        let asks = |line: &str| {
            let manner = low(line).manner;
            (manner.once, manner.force, manner.interactive)
        };
        assert_eq!(asks("-fI a"), (true, false, None));
        assert_eq!(asks("-If a"), (false, true, None));
        assert_eq!(asks("-I --interactive=never a"), (false, false, Some(Ask::Never)));
        assert_eq!(asks("--interactive=once -f a"), (false, true, None));
    }

    #[test]
    fn prompts_for_each_file_are_refused_by_name() {
        assert!(refusal("-i a").starts_with("-i is not in this version; "), "{}", refusal("-i a"));
        for line in ["--interactive a", "--interactive=always a"] {
            assert!(refusal(line).contains("use --interactive=once"), "{}", refusal(line));
        }
        assert!(refusal("--no-preserve-root a").starts_with("--no-preserve-root is not"));
        assert_eq!(low("--preserve-root=all a").manner.preserve_root, Some(true));
        assert!(refusal("--preserve-root=some a").contains("all, or nothing"));
    }
}
