//! Options that GNU tar has and this version does not carry.

use crate::cli::refused::Value::{No, Optional, Required};
use crate::cli::refused::{Refused, both, long};

const CREATE: &str = "use GNU tar to create archives";
const CREATING: &str = "leave it out: it is about creating archives";
const DEFAULT: &str = "leave it out: partar does that anyway";
const NO_TAPES: &str = "tapes and multi-volume archives are not read; give one file or a pipe";
const PIPE: &str = "decompress in a pipe: PROGRAM -dc ARCHIVE | partar -xf -";
const GNU_TAR: &str = "use GNU tar";
const GNU_AFTER: &str = "extract without it, or use GNU tar";
const INCREMENTAL: &str = "use GNU tar to restore incremental archives";
const ATTRIBUTES: &str = "NFSv3 carries no extended attributes; use GNU tar where they are needed";
const MATCHING: &str = "patterns match as GNU tar matches them by default";
const DIRECTORIES: &str = "an existing directory keeps what is in it and takes the archive's mode and time";
const READ_ALL: &str = "the whole archive is read in its order";

/// The table.
pub const REFUSED: &[Refused] = &[
    both('c', &["create"], No, CREATE),
    both('t', &["list"], No, "use GNU tar to list archives"),
    both('d', &["diff", "compare"], No, "use GNU tar to compare archives"),
    both('r', &["append"], No, "use GNU tar to append to archives"),
    both('u', &["update"], No, "use GNU tar to update archives"),
    both('A', &["catenate", "concatenate"], No, "use GNU tar to join archives"),
    long(&["delete"], No, "use GNU tar to delete members"),
    long(&["test-label"], No, GNU_TAR),
    both('T', &["files-from"], Required, "name the members as operands"),
    long(&["null", "no-null", "verbatim-files-from", "no-verbatim-files-from"], No, "name the members as operands"),
    both('O', &["to-stdout"], No, "use GNU tar to write members to stdout"),
    long(&["to-command"], Required, "use GNU tar to feed members to a command"),
    both('I', &["use-compress-program"], Required, PIPE),
    both('Z', &["compress", "uncompress"], No, PIPE),
    long(&["lzip", "lzma", "lzop"], No, PIPE),
    long(&["no-auto-compress"], No, "the codec is found by the archive's content"),
    long(&["keep-newer-files"], No, "use --skip-old-files to keep all existing files, or GNU tar"),
    long(
        &["keep-directory-symlink"],
        No,
        "a symbolic link in a directory's place is replaced; use GNU tar to follow it",
    ),
    both('U', &["unlink-first"], No, DEFAULT),
    long(&["recursive-unlink"], No, "remove the directories first, or use GNU tar"),
    long(&["overwrite-dir", "no-overwrite-dir"], No, DIRECTORIES),
    long(&["one-top-level"], Optional, "make the directory and give it with -C"),
    long(&["transform", "xform"], Required, "use --strip-components, or GNU tar"),
    long(&["absolute-names"], No, "a leading '/' is always taken off member names, and -P is the number of threads"),
    long(&["xattrs", "acls", "selinux"], No, ATTRIBUTES),
    long(&["xattrs-include", "xattrs-exclude"], Required, ATTRIBUTES),
    long(&["owner", "group", "mode", "mtime", "sort", "owner-map", "group-map"], Required, CREATING),
    both('H', &["format"], Required, CREATING),
    both('V', &["label"], Required, CREATING),
    long(&["posix", "old-archive", "portability", "clamp-mtime", "remove-files", "hard-dereference"], No, CREATING),
    long(&["pax-option", "add-file", "sparse-version", "hole-detection"], Required, CREATING),
    long(&["one-file-system", "check-device", "no-check-device", "ignore-failed-read"], No, CREATING),
    long(&["exclude-vcs", "exclude-vcs-ignores", "exclude-backups"], No, "use --exclude with the patterns"),
    long(&["exclude-caches", "exclude-caches-all", "exclude-caches-under"], No, CREATING),
    long(&["exclude-tag", "exclude-tag-all", "exclude-tag-under"], Required, CREATING),
    long(&["exclude-ignore", "exclude-ignore-recursive"], Required, CREATING),
    both('h', &["dereference"], No, CREATING),
    both('l', &["check-links"], No, CREATING),
    both('N', &["newer", "after-date"], Required, GNU_AFTER),
    long(&["newer-mtime"], Required, GNU_AFTER),
    both('W', &["verify"], No, CREATING),
    both('g', &["listed-incremental"], Required, INCREMENTAL),
    both('G', &["incremental"], No, INCREMENTAL),
    long(&["level"], Required, INCREMENTAL),
    both('K', &["starting-file"], Required, "name the members as operands"),
    both('L', &["tape-length"], Required, NO_TAPES),
    both('M', &["multi-volume"], No, NO_TAPES),
    both('F', &["info-script", "new-volume-script"], Required, NO_TAPES),
    long(&["volno-file", "rsh-command", "rmt-command"], Required, NO_TAPES),
    both('b', &["blocking-factor"], Required, "leave it out: any blocking is read"),
    long(&["record-size"], Required, "leave it out: any blocking is read"),
    both('n', &["seek"], No, DEFAULT),
    long(&["no-seek"], No, "give the archive through a pipe: partar -xf - < ARCHIVE"),
    long(&["force-local"], No, DEFAULT),
    both('s', &["preserve-order", "same-order"], No, READ_ALL),
    both('R', &["block-number"], No, GNU_AFTER),
    both('w', &["interactive", "confirmation"], No, "there are no prompts; name the members as operands"),
    long(&["occurrence"], Optional, READ_ALL),
    long(&["backup"], Optional, "use -k or --skip-old-files to keep existing files"),
    long(&["suffix"], Required, "use -k or --skip-old-files to keep existing files"),
    long(&["checkpoint"], Optional, "use --progress"),
    long(&["checkpoint-action"], Required, "use --progress"),
    long(&["index-file"], Required, "redirect standard output"),
    long(&["quoting-style", "quote-chars", "no-quote-chars"], Required, "names are shown in GNU tar's 'escape' style"),
    long(&["show-transformed-names", "show-stored-names", "show-omitted-dirs", "show-defaults"], No, GNU_AFTER),
    long(&["full-time", "utc"], No, "use GNU tar to list archives"),
    long(&["warning"], Required, "all warnings are shown"),
    long(&["ignore-command-error", "no-ignore-command-error"], No, GNU_TAR),
    long(&["delay-directory-restore"], No, DEFAULT),
    long(&["no-delay-directory-restore"], No, "directories get their mode and time at the end: others write into them"),
    long(&["atime-preserve"], Optional, CREATING),
    long(&["recursion"], No, DEFAULT),
    long(&["no-recursion"], No, "name a directory's members one by one, or use GNU tar"),
    long(&["anchored", "no-anchored", "ignore-case", "no-ignore-case"], No, MATCHING),
    long(&["wildcards-match-slash", "no-wildcards-match-slash"], No, MATCHING),
    long(&["unquote", "no-unquote"], No, MATCHING),
    long(&["restrict"], No, DEFAULT),
];

#[cfg(test)]
mod tests {
    use super::super::low;
    use super::*;
    use crate::cli::refused::assert_all_named;

    #[test]
    fn every_refused_option_is_known_by_all_its_spellings_and_named() {
        low::command().debug_assert();
        assert_all_named(REFUSED, |args| low::parse([vec!["-x".into()], args].concat()).err());
    }
}
