//! What was typed: partar's options as GNU tar spells them, parsed and not yet understood. Touches nothing of the host.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

use crate::cli::flags::complaint;
use crate::cli::{old_style, refused};

use super::flags::{
    AttributeFlags, ChoiceFlags, CodecFlags, CreationFlags, EXISTING, ExistingFlags, LimitFlags, MatchingFlags,
    ModeFlags, OutputFlags,
};
use super::refused::REFUSED;
use super::words::{self, Word};

const USAGE: &str = "partar -c|-x|-t|-d|-r|-u [-f ARCHIVE] [-C DIR|nfs://HOST/EXPORT] [OPTION...] [NAME...]\n       \
                     partar pcf ARCHIVE [-P N] NAME...";

const AFTER_HELP: &str = "\
A target is a directory or an NFSv3 export that partar speaks to by itself:
  nfs://HOST[:PORT][,HOST2...]/export/dir?uid=0&gid=0&nconnect=4
Several hosts are mount targets of one export; the work is spread over them.

Exit status: 0 all done; 1 members differ (-d), or files changed while they were
read (-c, -r, -u); 2 a usage error, a fatal error, or any member failed; 130 or
143 stopped by SIGINT or SIGTERM, after what was under way is finished.

Examples:
  partar pcf - apps -P 32 | ssh host 'cd /mnt/fss; partar pxf - -P 32'
  partar pxf backup.tar.zst -C /mnt/fss -P 32
  partar -xvf patch.tar -C 'nfs://10.0.0.5,10.0.0.6/export/apps' --report run.json
  partar -tvf backup.tar.zst --wildcards '*.conf'";

/// partar's command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "partar",
    about = "Makes, lists, compares and extracts tar archives as GNU tar does, with many file operations in flight",
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
    #[command(flatten)]
    pub mode: ModeFlags,

    /// The archive; '-' or no -f at all is standard input or output
    #[arg(short = 'f', long, value_name = "ARCHIVE", allow_hyphen_values = true, help_heading = "Where")]
    pub file: Vec<OsString>,

    /// Where to extract, or where the names that follow are: a directory that exists, or an nfs:// URL
    #[arg(
        short = 'C',
        long,
        visible_alias = "cd",
        value_name = "DIR|URL",
        allow_hyphen_values = true,
        help_heading = "Where"
    )]
    pub directory: Vec<OsString>,

    /// Files to store, or members to act on, each with everything beneath it
    #[arg(value_name = "NAME", help_heading = "Where")]
    pub members: Vec<OsString>,

    #[command(flatten)]
    pub codec: CodecFlags,
    #[command(flatten)]
    pub attributes: AttributeFlags,
    #[command(flatten)]
    pub existing: ExistingFlags,
    #[command(flatten)]
    pub choice: ChoiceFlags,
    #[command(flatten)]
    pub matching: MatchingFlags,
    #[command(flatten)]
    pub creation: CreationFlags,
    #[command(flatten)]
    pub limits: LimitFlags,
    #[command(flatten)]
    pub output: OutputFlags,

    /// Names, lists and what is said of those that follow, in their order.
    #[arg(skip)]
    pub words: Vec<Word>,
    /// The options that were given, by their names in the parser.
    #[arg(skip)]
    pub given: Vec<String>,
}

/// The parser with every option that GNU tar has.
pub fn command() -> Command {
    refused::add(Low::command(), REFUSED)
}

/// The help text.
pub fn help() -> String {
    command().render_help().to_string()
}

/// Parses what follows the program's name. An error is a message in tar's form, without the program's name.
#[cfg(test)]
pub fn parse(args: Vec<OsString>) -> Result<Low, String> {
    parse_after(Vec::new(), args)
}

/// What is said of files that exist, in order.
fn said_of_existing(matches: &ArgMatches) -> Vec<&'static str> {
    let given = EXISTING.into_iter().filter(|id| matches.get_flag(id));
    let mut said: Vec<_> = given.map(|id| (matches.indices_of(id).and_then(Iterator::last), id)).collect();
    said.sort_unstable();
    said.into_iter().map(|(_, id)| id).collect()
}

/// The same, where options come `before` it that are of the new style.
pub fn parse_after(before: Vec<OsString>, args: Vec<OsString>) -> Result<Low, String> {
    let mut command = command();
    let takes_value = |letter: u8| {
        let known = command.get_arguments().find(|arg| arg.get_short() == Some(char::from(letter)));
        known.is_some_and(|arg| arg.get_action().takes_values())
    };
    let args = old_style::rewrite(args, takes_value)?;
    let alone = (!before.is_empty()).then(|| args.clone());
    let mut matched = |words: Vec<OsString>| {
        let typed = std::iter::once(OsString::from("partar")).chain(words);
        command.try_get_matches_from_mut(typed).map_err(|error| complaint(&command, &error))
    };
    let matches = matched(before.into_iter().chain(args).collect())?;
    refused::check(&matches, REFUSED)?;
    let mut existing = said_of_existing(&matches);
    if let (true, Some(args)) = (existing.len() > 1, alone) {
        let typed = said_of_existing(&matched(args)?);
        existing = if typed.is_empty() { existing } else { typed };
    }
    if let [first, second, ..] = existing[..] {
        return Err(format!("'--{}' cannot be used with '--{}'", second.replace('_', "-"), first.replace('_', "-")));
    }
    let mut low = Low::from_arg_matches(&matches).map_err(|error| complaint(&command, &error))?;
    low.existing.leave(existing.first().copied());
    low.words = words::in_order(&matches);
    let given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let ids = command.get_arguments().map(|arg| arg.get_id().as_str());
    low.given = ids.filter(given).map(str::to_string).collect();
    Ok(low)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn low(line: &str) -> Low {
        parse(line.split_whitespace().map(OsString::from).collect()).unwrap()
    }

    #[test]
    fn old_and_new_styles_mean_the_same() {
        for line in ["pxf - -P 32", "-pxf - -P32", "-x -p --file=- --parallel 32", "xpfP - 32", "-P 32 -xpf -"] {
            let low = low(line);
            assert!(low.mode.extract && low.attributes.preserve_permissions, "{line}");
            assert_eq!((low.file, low.limits.parallel.parallel), (vec![OsString::from("-")], Some(32)), "{line}");
        }
    }

    #[test]
    fn options_may_follow_operands_until_two_dashes() {
        let low = low("-xf a.tar m1 --exclude *.log m2 -C /d -- -v --exclude");
        assert_eq!(low.members, ["m1", "m2", "-v", "--exclude"]);
        assert_eq!((low.choice.exclude, low.directory), (vec!["*.log".into()], vec!["/d".into()]));
        assert_eq!(low.output.verbose, 0);
    }

    #[test]
    fn the_last_of_contrary_options_counts() {
        let a = low("-x --same-owner --no-same-owner").attributes;
        assert!(a.no_same_owner && !a.same_owner);
        let a = low("-x --no-same-owner -o --same-owner").attributes;
        assert!(!a.no_same_owner && !a.o && a.same_owner);
        let a = low("-x --same-owner -o").attributes;
        assert!(a.o && !a.same_owner);
        let a = low("-x --no-same-permissions -p").attributes;
        assert!(a.preserve_permissions && !a.no_same_permissions);
        assert!(low("-x --progress --no-progress").output.tell.progress.is_none());
    }

    /// As GNU tar 1.34: a file that one of them keeps is not given up for the other.
    #[test]
    fn one_thing_is_said_of_files_that_exist() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let said = |before, line| parse_after(words(before), words(line)).map(|low| low.existing);
        assert_eq!(said("", "-xk --overwrite").unwrap_err(), "'--overwrite' cannot be used with '--keep-old-files'");
        assert_eq!(
            said("-U", "-x --skip-old-files --keep-newer-files").unwrap_err(),
            "'--keep-newer-files' cannot be used with '--skip-old-files'"
        );
        assert!(said("-k --overwrite", "-x").is_err());
        let e = said("-k", "-x --overwrite").unwrap();
        assert!(e.overwrite && !e.keep_old_files);
        assert!(said("-k", "-xkk --keep-old-files").unwrap().keep_old_files);
    }

    #[test]
    fn unambiguous_abbreviations_are_taken() {
        let low = low("--get --strip=2 --no-same-o --exclude=x --keep-old -f a");
        assert_eq!((low.choice.strip_components, low.choice.exclude), (Some(2), vec!["x".into()]));
        assert!(low.attributes.no_same_owner && low.existing.keep_old_files);
    }

    #[test]
    fn names_need_not_be_text() {
        let name = OsString::from_vec(b"a\xff.tar".to_vec());
        let low = parse(vec!["xf".into(), name.clone(), name.clone()]).unwrap();
        assert_eq!((low.file, low.members), (vec![name.clone()], vec![name]));
    }
}
