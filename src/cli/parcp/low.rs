//! What was typed: parcp's options as cp and rsync spell them, parsed and not yet understood. Touches nothing of the host.

use std::ffi::{OsStr, OsString};

use clap::builder::{PossibleValue, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser};

use crate::cli::flags::{ParallelFlags, TellFlags, complaint};
use crate::cli::refused;
use crate::jobs::copy::Existing;

use super::preserve::{self, Keep};
use super::rate;
use super::refused::REFUSED;

const USAGE: &str = "parcp [OPTION...] SRC DST\n       parcp [OPTION...] SRC... DIR\n       \
                     parcp [OPTION...] -t DIR SRC...";

const AFTER_HELP: &str = "\
One SRC is mapped onto DST: what is in the directory SRC lands in DST, whether or not DST
exists, with or without a '/' or '/.' behind SRC. Several SRC, or -t, land below DIR under
their own names; one that ends in '/.' has none, and nothing is copied over what another SRC
has brought. A SRC that is one symbolic link to a directory is that directory (one that an
nfs:// URL names is refused, but with -t); all other links are copied as links.

Trees are copied whole, and everything that can be is preserved: modes, times, hard and
symbolic links, holes, special files, owners as root, extended attributes and ACLs where both
sides have them. A file whose size and time are the source's is left alone, so a run that was
stopped is finished by running it again, and a file gets its time last, when its data is safe.
A .snapshot in the root of a file system is never entered, counted as extra, or deleted.

SRC and DST may be NFSv3 exports that parcp speaks to by itself:
  nfs://HOST[:PORT][,HOST2...]/export/dir?uid=0&gid=0&nconnect=4
Several hosts are mount targets of one export; the work is spread over them.

Exit status: 0 all done; 1 something failed or, with --verify-only, differs; 2 a usage error;
130 or 143 stopped by SIGINT or SIGTERM, after what was under way is finished.

Examples:
  parcp -P 32 /data /mnt/fss/data
  parcp --delete --exclude-from=list.txt /mnt/fss/.snapshot/daily /mnt/fss
  parcp --restore 'nfs://10.0.0.5/a/src' 'nfs://10.0.0.6,10.0.0.7/b/dst' --report run.json";

/// parcp's command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "parcp",
    about = "Copies trees with many NFS operations in flight, as cp -a or rsync do with one",
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
    /// What to copy, and where to
    #[arg(value_name = "SRC... DST")]
    pub operands: Vec<OsString>,
    /// Copy all SRC below DIR
    #[arg(short = 't', long, value_name = "DIR", allow_hyphen_values = true)]
    pub target_directory: Option<OsString>,
    /// Copy only the paths listed in FILE ('-': standard input), one a line, relative to the one SRC
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub files_from: Option<OsString>,
    /// The paths of --files-from end in NULs, as find -print0 writes them
    #[arg(short = '0', long, visible_alias = "from0")]
    pub null: bool,

    #[command(flatten)]
    pub attributes: AttributeFlags,
    #[command(flatten)]
    pub data: DataFlags,
    #[command(flatten)]
    pub compare: CompareFlags,
    #[command(flatten)]
    pub choice: ChoiceFlags,
    #[command(flatten)]
    pub delete: DeleteFlags,
    #[command(flatten)]
    pub check: CheckFlags,
    #[command(flatten)]
    pub parallel: ParallelSection,
    #[command(flatten)]
    pub output: OutputFlags,

    /// The options about attributes, in the order given.
    #[arg(skip)]
    pub keeps: Vec<Keep>,
    /// The options about what is left out, in the order given.
    #[arg(skip)]
    pub rules: Vec<RuleArg>,
    /// `-t` stood behind other letters.
    #[arg(skip)]
    pub bundled_t: bool,
}

/// One of --exclude, --include, --exclude-from and --include-from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct RuleArg {
    pub include: bool,
    /// The value is a file of patterns.
    pub is_file: bool,
    pub value: OsString,
}

/// Which attributes are carried. The last of contrary options counts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Attributes (default: all that can be)")]
#[allow(missing_docs)]
pub struct AttributeFlags {
    /// All of them (default)
    #[arg(short = 'a', long)]
    pub archive: bool,
    /// Trees (default)
    #[arg(short = 'r', long)]
    pub recursive: bool,
    /// Modes, owners and times (default)
    #[arg(short = 'p')]
    pub mode_ownership_timestamps: bool,
    /// Symbolic and hard links as links (default)
    #[arg(short = 'd')]
    pub no_dereference_links: bool,
    /// -a -H -x: a file system as it was
    #[arg(long)]
    pub restore: bool,
    /// Hard links (default)
    #[arg(short = 'H', long)]
    pub hard_links: bool,
    /// Extended attributes (default where both sides have them); a warning where they cannot be
    #[arg(short = 'X', long)]
    pub xattrs: bool,
    /// POSIX ACLs (default where both sides have them); a warning where they cannot be
    #[arg(short = 'A', long)]
    pub acls: bool,
    /// mode, ownership, timestamps, links, xattr, all [default with no LIST: the first three]
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "mode,ownership,timestamps", value_parser = preserve::word)]
    pub preserve: Vec<preserve::Word>,
    /// Leave these attributes to be those of new files
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = preserve::word)]
    pub no_preserve: Vec<preserve::Word>,
    /// Make directories of other file systems than SRC's, and do not enter them
    #[arg(short = 'x', long, action = clap::ArgAction::Count)]
    pub one_file_system: u8,
}

/// How data is copied.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Data")]
#[allow(missing_docs)]
pub struct DataFlags {
    /// Share blocks where the file systems can: auto (default) or never
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always",
          value_parser = reflink)]
    pub reflink: Option<bool>,
    /// Holes: auto (where the source has some, default), always (for every block of zeros) or never
    #[arg(long, value_name = "WHEN", value_parser = SparseWords, hide_possible_values = true)]
    pub sparse: Option<crate::jobs::copy::Sparse>,
    /// --sparse=always
    #[arg(short = 'S')]
    pub sparse_always: bool,
    /// Write files under a temporary name and rename them when they are complete
    #[arg(long)]
    pub atomic: bool,
}

/// What counts as equal, and what happens to files that are there.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "Files that are there (default: left alone when size and time are the source's, else made equal)"
)]
#[allow(missing_docs)]
pub struct CompareFlags {
    /// Compare their bytes
    #[arg(short = 'c', long, overrides_with_all = ["size_only", "ignore_times"])]
    pub checksum: bool,
    /// Compare their sizes only
    #[arg(long, overrides_with_all = ["checksum", "ignore_times"])]
    pub size_only: bool,
    /// Copy all of them again
    #[arg(short = 'I', long, overrides_with_all = ["checksum", "size_only"])]
    pub ignore_times: bool,
    /// Leave those alone that are newer than the source's: older (default with no WHEN); all of them: none, as -n; or none: all
    #[arg(short = 'u', long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "older",
          value_parser = update, overrides_with = "no_clobber")]
    pub update: Option<Existing>,
    /// Leave all of them alone
    #[arg(short = 'n', long, overrides_with = "update")]
    pub no_clobber: bool,
    /// Go on after an interrupted run (default: any run does)
    #[arg(long)]
    pub resume: bool,
}

impl CompareFlags {
    /// Files that are not the source's may stay as they are.
    pub fn keeps_some(&self) -> bool {
        self.existing() != Existing::Replace || self.size_only
    }

    /// What happens to files that are there and differ.
    pub fn existing(&self) -> Existing {
        if self.no_clobber { Existing::Keep } else { self.update.unwrap_or_default() }
    }
}

/// What is copied. The first pattern that matches decides, as in rsync.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "Choice (names or shell patterns, as rsync matches them below SRC; for each name the first that matches decides)"
)]
#[allow(missing_docs)]
pub struct ChoiceFlags {
    /// Leave out what matches, and what is below it, on both sides
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub exclude: Vec<OsString>,
    /// Leave out what matches a pattern of FILE, one a line; lines that begin with '#' or ';' are comments
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub exclude_from: Vec<OsString>,
    /// Do not leave out what matches; what is in it is decided by its own name
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub include: Vec<OsString>,
    /// Do not leave out what matches a pattern of FILE
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub include_from: Vec<OsString>,
}

/// Removing what the source lacks.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Deletion")]
#[allow(missing_docs)]
pub struct DeleteFlags {
    /// Remove from DST what SRC lacks, after the copies, unless SRC could not be read everywhere
    #[arg(long)]
    pub delete: bool,
    /// Also remove what SRC lacks and the patterns leave out (implies --delete)
    #[arg(long)]
    pub delete_excluded: bool,
    /// Remove no more than N objects; if there are more, that is told and the exit status is 1
    #[arg(long, value_name = "N", value_parser = max_delete, allow_hyphen_values = true)]
    pub max_delete: Option<u64>,
    /// Remove also when SRC could not be read everywhere
    #[arg(long)]
    pub ignore_errors: bool,
}

/// Looking instead of, or after, copying.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Checks")]
#[allow(missing_docs)]
pub struct CheckFlags {
    /// Change nothing; show what would be done, and what it would cost
    #[arg(long)]
    pub dry_run: bool,
    /// Read back what was written and compare
    #[arg(long)]
    pub verify: bool,
    /// Change nothing; compare data and attributes, and list the differences. Options that say how files are written may stay
    #[arg(long, overrides_with = "verify")]
    pub verify_only: bool,
}

/// How much at once.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Parallel work")]
#[allow(missing_docs)]
pub struct ParallelSection {
    #[command(flatten)]
    pub flags: ParallelFlags,
    /// Write no more than RATE a second to all of DST's targets together: KiB, or with a suffix as 10M, 1.5G, 64KB
    #[arg(long, value_name = "RATE", value_parser = rate::parse)]
    pub bwlimit: Option<u64>,
}

/// What is told.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
#[allow(missing_docs)]
pub struct OutputFlags {
    /// List on stdout what is copied and deleted, and what the run cost on stderr; twice: also how it was set up
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print what the run did and cost at the end
    #[arg(long)]
    pub stats: bool,
    /// progress2 is --progress, stats is --stats
    #[arg(long, value_name = "FLAGS", value_delimiter = ',', value_parser = info)]
    pub info: Vec<Info>,
    #[command(flatten)]
    pub tell: TellFlags,
}

/// What `--info` can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Info {
    Progress,
    Stats,
}

fn info(text: &str) -> Result<Info, String> {
    match text.trim_end_matches(['1', '2', '3']) {
        "progress" => Ok(Info::Progress),
        "stats" => Ok(Info::Stats),
        _ => Err("progress2 or stats; use -v to list what is copied".into()),
    }
}

fn max_delete(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a count of objects, 0 or more".into())
}

fn reflink(text: &str) -> Result<bool, String> {
    match text {
        "auto" => Ok(true),
        "never" => Ok(false),
        "always" => Err("that blocks are shared cannot be promised; use --reflink=auto".into()),
        _ => Err("auto or never".into()),
    }
}

fn update(text: &str) -> Result<Existing, String> {
    match text {
        "older" => Ok(Existing::UnlessNewer),
        "all" => Ok(Existing::Replace),
        "none" => Ok(Existing::Keep),
        "none-fail" => Err("files that are there are no failure; use none, and --verify-only for what differs".into()),
        _ => Err("older, all or none".into()),
    }
}

fn sparse(text: &str) -> Result<crate::jobs::copy::Sparse, String> {
    use crate::jobs::copy::Sparse;
    match text {
        "auto" => Ok(Sparse::Auto),
        "always" => Ok(Sparse::Always),
        "never" => Ok(Sparse::Never),
        _ => Err("auto, always or never".into()),
    }
}

/// The words, for completions; what is none of them is told as [`sparse`] tells it.
#[derive(Clone)]
struct SparseWords;

impl TypedValueParser for SparseWords {
    type Value = crate::jobs::copy::Sparse;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Self::Value, clap::Error> {
        sparse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(["auto", "always", "never"].into_iter().map(PossibleValue::new)))
    }
}

/// The parser with the options that cp and rsync have.
pub fn command() -> Command {
    refused::add(Low::command(), REFUSED)
}

/// The help text.
pub fn help() -> String {
    command().render_help().to_string()
}

/// Parses what follows the program's name. An error is a message in cp's form, without the program's name.
pub fn parse(args: Vec<OsString>) -> Result<Low, String> {
    let mut command = command();
    let bundled_t = bundles_t(&command, &args);
    let typed = std::iter::once(OsString::from("parcp")).chain(args);
    let matches = command.try_get_matches_from_mut(typed).map_err(|error| complaint(&command, &error))?;
    refused::check(&matches, REFUSED)?;
    let mut low = Low::from_arg_matches(&matches).map_err(|error| complaint(&command, &error))?;
    low.rules = rules(&matches);
    low.keeps = preserve::in_order(&matches);
    low.bundled_t = bundled_t;
    Ok(low)
}

/// Is there a `t` behind other letters, as in `-rt`, which is a habit of rsync's? What other options have as their value is not looked at.
fn bundles_t(command: &Command, args: &[OsString]) -> bool {
    let takes_next = |arg: &Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
    let mut args = args.iter().map(|arg| arg.as_encoded_bytes()).take_while(|arg| *arg != b"--");
    while let Some(arg) = args.next() {
        if let Some(long) = arg.strip_prefix(b"--") {
            let is_meant = |arg: &&Arg| arg.get_long().is_some_and(|name| name.as_bytes().starts_with(long));
            if command.get_arguments().find(is_meant).is_some_and(takes_next) {
                args.next();
            }
            continue;
        }
        let letters = arg.strip_prefix(b"-").unwrap_or_default();
        for (at, letter) in letters.iter().enumerate() {
            if *letter == b't' && at > 0 {
                return true;
            }
            let is_meant = |arg: &&Arg| arg.get_short() == Some(char::from(*letter));
            if command.get_arguments().find(is_meant).is_some_and(takes_next) {
                if at + 1 == letters.len() {
                    args.next();
                }
                break;
            }
        }
    }
    false
}

fn rules(matches: &ArgMatches) -> Vec<RuleArg> {
    let kinds = [
        ("exclude", false, false),
        ("exclude_from", false, true),
        ("include", true, false),
        ("include_from", true, true),
    ];
    let mut all = Vec::new();
    for (id, include, is_file) in kinds {
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let values = matches.get_many::<OsString>(id).into_iter().flatten();
        let rule = |value: &OsString| RuleArg { include, is_file, value: value.clone() };
        all.extend(matches.indices_of(id).into_iter().flatten().zip(values.map(rule)));
    }
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, rule)| rule).collect()
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
    fn the_command_lines_of_scripts_are_taken() {
        for line in ["-P 16 /s /d", "/s /d -P16", "/s --parallel 16 /d", "/s /d --lanes=16"] {
            let low = low(line);
            assert_eq!(
                (low.operands, low.parallel.flags.parallel),
                (vec!["/s".into(), "/d".into()], Some(16)),
                "{line}"
            );
        }
        let low = low("--delete --exclude-from=FILE M/.snapshot/S M -apHXASx --restore");
        assert!(low.delete.delete && low.attributes.restore && low.attributes.one_file_system == 1);
        assert_eq!(low.rules, [RuleArg { include: false, is_file: true, value: "FILE".into() }]);
    }

    #[test]
    fn rules_keep_their_order_among_each_other() {
        let rules = low("--include a --exclude-from f s --exclude b d --include-from=g --exclude=c").rules;
        let order: Vec<_> = rules.iter().map(|r| (r.include, r.is_file, r.value.to_str().unwrap())).collect();
        let expected =
            [(true, false, "a"), (false, true, "f"), (false, false, "b"), (true, true, "g"), (false, false, "c")];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_last_of_contrary_options_counts() {
        let compare = |line: &str| {
            let c = low(line).compare;
            (c.checksum, c.size_only, c.ignore_times, c.existing())
        };
        assert_eq!(compare("-c --size-only s d"), (false, true, false, Existing::Replace));
        assert_eq!(compare("-I -c -u -n s d"), (true, false, false, Existing::Keep));
        for (line, existing) in [
            ("-u s d", Existing::UnlessNewer),
            ("-vun s d", Existing::Keep),
            ("-nuv s d", Existing::UnlessNewer),
            ("--update s d", Existing::UnlessNewer),
            ("--update=older s d", Existing::UnlessNewer),
            ("--update=none s d", Existing::Keep),
            ("-u --update=all s d", Existing::Replace),
            ("-n --update=all s d", Existing::Replace),
        ] {
            assert_eq!(compare(line), (false, false, false, existing), "{line}");
        }
        assert!(low("--verify --verify-only s d").check.verify_only);
    }

    #[test]
    fn a_t_behind_other_letters_is_known() {
        for line in
            ["-rt s d", "-avt s d", "-rtv s d", "s -rpt d", "--exclude x -rt s d", "-P 3 -rt s d", "--delete -rt s d"]
        {
            assert!(low(line).bundled_t, "{line}");
        }
        for line in
            ["-t d s", "-td s", "-r -t d s", "--exclude -rt s d", "--exclude=-rt s d", "--preserve -t d s", "-- -rt d"]
        {
            assert!(!low(line).bundled_t, "{line}");
        }
    }

    #[test]
    fn completions_offer_words_that_are_taken() {
        let command = super::command();
        let sparse = command.get_arguments().find(|arg| arg.get_long() == Some("sparse")).unwrap();
        let words: Vec<_> = sparse.get_possible_values().iter().map(|word| word.get_name().to_owned()).collect();
        assert_eq!(words, ["auto", "always", "never"]);
        for word in words {
            assert!(low(&format!("--sparse={word} s d")).data.sparse.is_some());
        }
    }

    #[test]
    fn words_are_checked() {
        use crate::jobs::copy::Sparse;
        assert_eq!(low("--reflink=auto --sparse=always s d").data.sparse, Some(Sparse::Always));
        for (line, said) in [
            ("--reflink s d", "--reflink=auto"),
            ("--reflink=always s d", "--reflink=auto"),
            ("--sparse=some s d", "auto, always or never"),
            ("--update=none-fail s d", "use none, and --verify-only"),
            ("--update=never s d", "older, all or none"),
            ("-no-D s d", "invalid option -- '-'"),
            ("--info=name s d", "progress2 or stats"),
            ("--preserve=context s d", "SELinux"),
            ("--preserve=colour s d", "colour"),
            ("--max-delete=-1 s d", "--max-delete"),
            ("-L s d", "-L (--dereference) is not in this version"),
            ("-R s d", "-R is not in this version"),
        ] {
            assert!(refusal(line).contains(said), "{line}: {}", refusal(line));
        }
        assert_eq!(low("--info=progress2,stats s d").output.info, [Info::Progress, Info::Stats]);
    }
}
