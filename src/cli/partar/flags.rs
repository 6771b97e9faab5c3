//! partar's options by group, as the parser knows them. What they mean is said elsewhere.

use std::ffi::OsString;

use clap::Args;

use crate::base::units;
use crate::cli::flags::{ParallelFlags, TellFlags};

/// What is done; one of them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What to do (one of them)")]
#[allow(missing_docs)] // the help texts are the docs
pub struct ModeFlags {
    /// Make an archive
    #[arg(short = 'c', long)]
    pub create: bool,
    /// Extract members
    #[arg(short = 'x', long, visible_alias = "get")]
    pub extract: bool,
    /// List members
    #[arg(short = 't', long)]
    pub list: bool,
    /// Compare members with files
    #[arg(short = 'd', long, alias = "compare")]
    pub diff: bool,
    /// Append files to an archive that is there
    #[arg(short = 'r', long)]
    pub append: bool,
    /// Append files that are newer than the archive's
    #[arg(short = 'u', long)]
    pub update: bool,
}

/// How the archive is packed. When it is read, this is found by content; a flag that says otherwise earns a note.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Compression (when reading it is found by content)")]
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
    /// By the archive's name
    #[arg(short = 'a', long)]
    pub auto_compress: bool,
    /// Not by the archive's name
    #[arg(long, overrides_with = "auto_compress")]
    pub no_auto_compress: bool,
    /// Through this command, with its arguments; when reading with -d
    #[arg(short = 'I', long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub use_compress_program: Vec<OsString>,
    /// How hard to compress, in the codec's own levels
    #[arg(long, value_name = "N")]
    pub level: Option<u32>,
}

/// Modes, owners, times and what else files have.
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
    #[arg(long, overrides_with_all = ["no_same_owner", "o"])]
    pub same_owner: bool,
    /// Own what is extracted (default unless root)
    #[arg(long)]
    pub no_same_owner: bool,
    /// When extracting: as --no-same-owner
    #[arg(short = 'o', overrides_with = "same_owner")]
    pub o: bool,
    /// Owners by numbers, not by names
    #[arg(long)]
    pub numeric_owner: bool,
    /// Leave the modification times at the time of extraction
    #[arg(short = 'm', long)]
    pub touch: bool,
    /// Store: this owner for all, as NAME, NUMBER or NAME:NUMBER
    #[arg(long, value_name = "NAME[:UID]", allow_hyphen_values = true)]
    pub owner: Option<OsString>,
    /// Store: this group for all
    #[arg(long, value_name = "NAME[:GID]", allow_hyphen_values = true)]
    pub group: Option<OsString>,
    /// Store: change the modes, as chmod does
    #[arg(long, value_name = "CHANGES", allow_hyphen_values = true)]
    pub mode: Option<OsString>,
    /// Store: this time for all, or that of a file (/FILE or ./FILE)
    #[arg(long, value_name = "DATE|FILE", allow_hyphen_values = true)]
    pub mtime: Option<OsString>,
    /// Store: --mtime only for what is later
    #[arg(long)]
    pub clamp_mtime: bool,
    /// Extended attributes
    #[arg(long, overrides_with = "no_xattrs")]
    pub xattrs: bool,
    /// Only extended attributes whose names match [default: user.* when extracting, all when storing]
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true, overrides_with = "no_xattrs")]
    pub xattrs_include: Vec<String>,
    /// No extended attributes whose names match
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true, overrides_with = "no_xattrs")]
    pub xattrs_exclude: Vec<String>,
    /// No extended attributes (default)
    #[arg(long, overrides_with_all = ["xattrs", "xattrs_include", "xattrs_exclude"])]
    pub no_xattrs: bool,
    /// Access control lists
    #[arg(long, overrides_with = "no_acls")]
    pub acls: bool,
    /// No access control lists (default)
    #[arg(long, overrides_with = "acls")]
    pub no_acls: bool,
    /// SELinux contexts
    #[arg(long, overrides_with = "no_selinux")]
    pub selinux: bool,
    /// No SELinux contexts (default)
    #[arg(long, overrides_with = "selinux")]
    pub no_selinux: bool,
    /// Leave out holes; those of an archive are kept in any case
    #[arg(short = 'S', long)]
    pub sparse: bool,
}

impl AttributeFlags {
    /// Are extended attributes wanted? A pattern says so too.
    pub fn wants_xattrs(&self) -> bool {
        self.xattrs || !self.xattrs_include.is_empty() || !self.xattrs_exclude.is_empty()
    }
}

/// What happens to names that exist. One of them can be said; one on the command line goes before one of `TAR_OPTIONS`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Existing files (default: removed and made anew)")]
#[allow(missing_docs)]
pub struct ExistingFlags {
    /// Keep them; each is an error
    #[arg(short = 'k', long)]
    pub keep_old_files: bool,
    /// Keep them silently
    #[arg(long)]
    pub skip_old_files: bool,
    /// Keep those that are newer than the archive's
    #[arg(long)]
    pub keep_newer_files: bool,
    /// Write into them
    #[arg(long)]
    pub overwrite: bool,
    /// Remove them first
    #[arg(short = 'U', long)]
    pub unlink_first: bool,
    /// Go on after an interrupted run: skip files whose size and time are the archive's, links and devices likewise
    #[arg(long)]
    pub resume: bool,
}

/// What of [`ExistingFlags`] excludes each other, by their names in the parser.
pub const EXISTING: [&str; 5] = ["keep_old_files", "skip_old_files", "keep_newer_files", "overwrite", "unlink_first"];

impl ExistingFlags {
    /// Of those only this one, or none.
    pub fn leave(&mut self, one: Option<&str>) {
        let ExistingFlags { keep_old_files, skip_old_files, keep_newer_files, overwrite, unlink_first, .. } = self;
        let flags = [keep_old_files, skip_old_files, keep_newer_files, overwrite, unlink_first];
        EXISTING.into_iter().zip(flags).for_each(|(id, flag)| *flag &= one == Some(id));
    }
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
    /// Leave out what version control systems keep for themselves
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub exclude_vcs: Vec<bool>,
    /// Leave out backups and lock files of editors
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub exclude_backups: Vec<bool>,
    /// Names from FILE, one a line
    #[arg(short = 'T', long, value_name = "FILE", allow_hyphen_values = true)]
    pub files_from: Vec<OsString>,
    /// Names of the lists that follow end in NULs and are nothing but names
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub null: Vec<bool>,
    /// Names of the lists that follow end in newlines (default)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_null: Vec<bool>,
    /// Lines of the lists that follow are names, also those that begin with a dash
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub verbatim_files_from: Vec<bool>,
    /// A line '-C DIR' of a list says where the names behind it are (default)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_verbatim_files_from: Vec<bool>,
    /// A name, also one that begins with a dash
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub add_file: Vec<OsString>,
    /// Backslashes in names begin escapes, as in \n (default)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub unquote: Vec<bool>,
    /// Backslashes in names are themselves
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_unquote: Vec<bool>,
    /// What is beneath the directories that follow, too (default)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub recursion: Vec<bool>,
    /// The directories that follow, without what is beneath them
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_recursion: Vec<bool>,
    /// Change names by sed's s/PATTERN/WITH/FLAGS
    #[arg(long, visible_alias = "xform", value_name = "EXPRESSION", allow_hyphen_values = true)]
    pub transform: Vec<OsString>,
    /// Take N leading directories off the names
    #[arg(long, value_name = "N", value_parser = elements)]
    pub strip_components: Option<usize>,
    /// Extract into a directory of the archive's name, or DIR
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub one_top_level: Option<OsString>,
    /// Only files newer than DATE, or than a file (/FILE or ./FILE)
    #[arg(short = 'N', long, alias = "after-date", value_name = "DATE|FILE", allow_hyphen_values = true)]
    pub newer: Vec<OsString>,
    /// The same, whatever else of them has changed later
    #[arg(long, value_name = "DATE|FILE", allow_hyphen_values = true)]
    pub newer_mtime: Vec<OsString>,
    /// Keep a leading / of names (-c, -t)
    #[arg(long)]
    pub absolute_names: bool,
    /// Read on after blocks of zeros (joined archives)
    #[arg(short = 'i', long)]
    pub ignore_zeros: bool,
    /// Keep where members are in FILE, and read only what is asked for
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub index: Option<OsString>,
    /// Pipes are always read to full records
    #[arg(short = 'B', long, hide = true)]
    pub read_full_records: bool,
    /// Directories get their times at the end in any case
    #[arg(long, hide = true)]
    pub delay_directory_restore: bool,
    /// Files are sought in where they can be in any case
    #[arg(short = 'n', long, hide = true)]
    pub seek: bool,
    /// The archive is a file of this host also where its name has a colon
    #[arg(long)]
    pub force_local: bool,
}

/// How patterns that follow are matched.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Patterns (of what follows)")]
#[allow(missing_docs)]
pub struct MatchingFlags {
    /// Names are shell patterns (default for --exclude)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub wildcards: Vec<bool>,
    /// Names and patterns are what they are (default for names)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_wildcards: Vec<bool>,
    /// Patterns begin where names begin (default for names)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub anchored: Vec<bool>,
    /// Patterns begin after any slash (default for --exclude)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_anchored: Vec<bool>,
    /// Upper and lower case are the same
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub ignore_case: Vec<bool>,
    /// Upper and lower case differ (default)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_ignore_case: Vec<bool>,
    /// Wildcards match slashes (default)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub wildcards_match_slash: Vec<bool>,
    /// Wildcards match no slash
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub no_wildcards_match_slash: Vec<bool>,
}

/// What is stored and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Creation")]
#[allow(missing_docs)]
pub struct CreationFlags {
    /// ustar, gnu or pax [default: pax, where ustar does not do]
    #[arg(short = 'H', long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The same as --format=pax
    #[arg(long)]
    pub posix: bool,
    /// Members of a directory by 'name', or 'none' (default): as it lists them
    #[arg(long, value_name = "ORDER")]
    pub sort: Option<String>,
    /// Stay in the file system that a name is in
    #[arg(long)]
    pub one_file_system: bool,
    /// Store what symbolic links point at
    #[arg(short = 'h', long)]
    pub dereference: bool,
    /// Store each name of a file as a file of its own
    #[arg(long)]
    pub hard_dereference: bool,
    /// Begin with a volume label
    #[arg(short = 'V', long, value_name = "TEXT", allow_hyphen_values = true)]
    pub label: Option<OsString>,
    /// Pad to records of N times 512 bytes [default: 20]
    #[arg(short = 'b', long, value_name = "N", overrides_with = "record_size")]
    pub blocking_factor: Option<OsString>,
    /// Pad to records of SIZE bytes
    #[arg(long, value_name = "SIZE", overrides_with = "blocking_factor")]
    pub record_size: Option<OsString>,
}

/// How much at once.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Parallel work")]
#[allow(missing_docs)]
pub struct LimitFlags {
    #[command(flatten)]
    pub parallel: ParallelFlags,
    /// Stay below SIZE bytes a second on each mount target, and on each file system of this host's disks (64k, 10MiB, 1GB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub bwlimit: Option<u64>,
}

/// What is told.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
#[allow(missing_docs)]
pub struct OutputFlags {
    /// Tell members as they are finished (-t: in columns), and what the run cost on stderr; twice: also how it was set up
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Extract files to standard output
    #[arg(short = 'O', long)]
    pub to_stdout: bool,
    /// List times in full
    #[arg(long)]
    pub full_time: bool,
    /// List times in UTC
    #[arg(long)]
    pub utc: bool,
    /// Print the bytes of the archive and the speed at the end
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
