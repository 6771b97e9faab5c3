//! What was typed: partar's options as GNU tar spells them, parsed and not yet understood. Touches nothing of the host.

use std::ffi::OsString;

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser};

use crate::base::units;
use crate::cli::flags::{ParallelFlags, TellFlags, complaint};
use crate::cli::{old_style, refused};

use super::refused::REFUSED;

const USAGE: &str = "partar -x [-f ARCHIVE] [-C DIR|nfs://HOST/EXPORT] [OPTION...] [MEMBER...]\n       \
                     partar pxf ARCHIVE [-P N] ...";

const AFTER_HELP: &str = "\
A target is a directory or an NFSv3 export that partar speaks to by itself:
  nfs://HOST[:PORT][,HOST2...]/export/dir?uid=0&gid=0&nconnect=4
Several hosts are mount targets of one export; the work is spread over them.

Exit status: 0 all done; 2 a usage error, a fatal error, or any member failed;
130 or 143 stopped by SIGINT or SIGTERM, after what was under way is finished.

Examples:
  partar pxf backup.tar.zst -C /mnt/fss -P 32
  partar -xvf patch.tar -C 'nfs://10.0.0.5,10.0.0.6/export/apps' --report run.json
  ssh host 'tar cf - apps' | partar pxf - -P 32";

/// partar's command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "partar",
    about = "Extracts tar archives with many NFS operations in flight, as GNU tar does with one",
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
    /// Extract the archive's members (the only mode of this version)
    #[arg(short = 'x', long, visible_alias = "get")]
    pub extract: bool,

    /// The archive; '-' or no -f at all is standard input
    #[arg(short = 'f', long, value_name = "ARCHIVE", allow_hyphen_values = true)]
    pub file: Vec<OsString>,

    /// Where to extract: a directory that exists, or an nfs:// URL
    #[arg(short = 'C', long, visible_alias = "cd", value_name = "DIR|URL", allow_hyphen_values = true)]
    pub directory: Vec<OsString>,

    /// Members to extract, each with everything beneath it; all when none is named
    #[arg(value_name = "MEMBER")]
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
    pub limits: LimitFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// The codec is found by content; a flag that says otherwise earns a note.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Compression (found by the archive's content; the flags are checked against it)")]
#[allow(missing_docs)]
pub struct CodecFlags {
    /// gzip
    #[arg(short = 'z', long, alias = "gunzip", alias = "ungzip")]
    pub gzip: bool,
    /// bzip2
    #[arg(short = 'j', long)]
    pub bzip2: bool,
    /// xz
    #[arg(short = 'J', long)]
    pub xz: bool,
    /// zstd
    #[arg(long)]
    pub zstd: bool,
    /// lz4
    #[arg(long)]
    pub lz4: bool,
    /// By content, which is always so when reading
    #[arg(short = 'a', long)]
    pub auto_compress: bool,
}

/// Modes, owners and times.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Attributes")]
#[allow(missing_docs)]
pub struct AttributeFlags {
    /// Exactly the archive's modes (default for root); without it the umask is taken off
    #[arg(short = 'p', long, alias = "same-permissions", overrides_with = "no_same_permissions")]
    pub preserve_permissions: bool,
    /// Take the umask off the modes (default unless root)
    #[arg(long)]
    pub no_same_permissions: bool,
    /// The archive's owners and groups (default for root)
    #[arg(long, overrides_with = "no_same_owner")]
    pub same_owner: bool,
    /// Own what is extracted (default unless root)
    #[arg(short = 'o', long)]
    pub no_same_owner: bool,
    /// Owners by the archive's numbers, not by its names
    #[arg(long)]
    pub numeric_owner: bool,
    /// Leave the modification times at the time of extraction
    #[arg(short = 'm', long)]
    pub touch: bool,
    /// Extended attributes, ACLs and SELinux contexts are never restored
    #[arg(long, hide = true, alias = "no-acls", alias = "no-selinux")]
    pub no_xattrs: bool,
    /// Sparse members always keep their holes
    #[arg(short = 'S', long, hide = true)]
    pub sparse: bool,
}

/// What happens to names that exist. The last of them counts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Existing files (default: removed and made anew)")]
#[allow(missing_docs)]
pub struct ExistingFlags {
    /// Keep them; each is an error
    #[arg(short = 'k', long, overrides_with_all = ["skip_old_files", "overwrite"])]
    pub keep_old_files: bool,
    /// Keep them silently
    #[arg(long, overrides_with_all = ["keep_old_files", "overwrite"])]
    pub skip_old_files: bool,
    /// Write into them
    #[arg(long, overrides_with_all = ["keep_old_files", "skip_old_files"])]
    pub overwrite: bool,
    /// Go on after an interrupted run: skip files whose size and time are the archive's
    #[arg(long)]
    pub resume: bool,
}

/// Which members, under which names.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Members")]
#[allow(missing_docs)]
pub struct ChoiceFlags {
    /// Leave out members that match the shell pattern
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub exclude: Vec<OsString>,
    /// Leave out members that match a pattern of FILE, one a line
    #[arg(short = 'X', long, value_name = "FILE", allow_hyphen_values = true)]
    pub exclude_from: Vec<OsString>,
    /// MEMBER operands are shell patterns
    #[arg(long, overrides_with = "no_wildcards")]
    pub wildcards: bool,
    /// MEMBER operands are names (default)
    #[arg(long)]
    pub no_wildcards: bool,
    /// Take N leading directories off the names
    #[arg(long, value_name = "N", value_parser = elements)]
    pub strip_components: Option<usize>,
    /// Read on after blocks of zeros (joined archives)
    #[arg(short = 'i', long)]
    pub ignore_zeros: bool,
    /// Pipes are always read to full records
    #[arg(short = 'B', long, hide = true)]
    pub read_full_records: bool,
}

/// How much at once.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Parallel work")]
#[allow(missing_docs)]
pub struct LimitFlags {
    #[command(flatten)]
    pub parallel: ParallelFlags,
    /// Stay below SIZE bytes a second on each mount target (64k, 10MiB, 1GB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub bwlimit: Option<u64>,
}

/// What is told.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
#[allow(missing_docs)]
pub struct OutputFlags {
    /// List members on stdout as they are finished, and what the run cost on stderr; twice: also how it was set up
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print the bytes read and the speed at the end
    #[arg(long)]
    pub totals: bool,
    #[command(flatten)]
    pub tell: TellFlags,
}

fn elements(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "Invalid number of elements".into())
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = units::parse_bytes(text).map_err(|error| error.to_string())?;
    if bytes == 0 { Err("a size above 0".into()) } else { Ok(bytes) }
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
pub fn parse(args: Vec<OsString>) -> Result<Low, String> {
    let mut command = command();
    let takes_value = |letter: u8| {
        let known = command.get_arguments().find(|arg| arg.get_short() == Some(char::from(letter)));
        known.is_some_and(|arg| arg.get_action().takes_values())
    };
    let args = old_style::rewrite(args, takes_value)?;
    let typed = std::iter::once(OsString::from("partar")).chain(args);
    let matches = command.try_get_matches_from_mut(typed).map_err(|error| complaint(&command, &error))?;
    refused::check(&matches, REFUSED)?;
    Low::from_arg_matches(&matches).map_err(|error| complaint(&command, &error))
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
            assert!(low.extract && low.attributes.preserve_permissions, "{line}");
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
        let a = low("-x -o --same-owner").attributes;
        assert!(!a.no_same_owner && a.same_owner);
        let a = low("-x --no-same-permissions -p").attributes;
        assert!(a.preserve_permissions && !a.no_same_permissions);
        let e = low("-xk --skip-old-files --overwrite").existing;
        assert!(e.overwrite && !e.keep_old_files && !e.skip_old_files);
        let e = low("-x --overwrite -k").existing;
        assert!(e.keep_old_files && !e.overwrite);
        assert!(!low("-x --progress --no-progress").output.tell.progress);
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
