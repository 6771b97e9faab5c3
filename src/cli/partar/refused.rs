//! Options that GNU tar has and this version does not carry.

use crate::cli::refused::Value::{No, Optional, Required};
use crate::cli::refused::{Refused, both, long};

const NO_TAPES: &str = "tapes and multi-volume archives are not read or written; give one file or a pipe";
const PIPE: &str = "use -I PROGRAM";
const GNU_TAR: &str = "use GNU tar";
const GNU_AFTER: &str = "run without it, or use GNU tar";
const INCREMENTAL: &str = "use --newer or -u, or GNU tar for incremental archives";
const DIRECTORIES: &str = "an existing directory keeps what is in it and takes the archive's mode and time";
const READ_ALL: &str = "the whole archive is read in its order";
const OLD_FORMAT: &str = "use --format=ustar";
const TAGS: &str = "use --exclude with the directories' names";

/// The table.
pub const REFUSED: &[Refused] = &[
    both('A', &["catenate", "concatenate"], No, "join the files and read them with -i, or use GNU tar"),
    long(&["delete"], No, "use GNU tar to delete members"),
    long(&["test-label"], No, "use -t: it shows a label first"),
    long(&["to-command"], Required, "use -O, or GNU tar to feed members to a command"),
    both('Z', &["compress", "uncompress"], No, PIPE),
    long(&["lzip", "lzma", "lzop"], No, PIPE),
    long(
        &["keep-directory-symlink"],
        No,
        "a symbolic link in a directory's place is replaced; use GNU tar to follow it",
    ),
    long(&["recursive-unlink"], No, "remove the directories first, or use GNU tar"),
    long(&["no-overwrite-dir", "overwrite-dir"], No, DIRECTORIES),
    long(&["owner-map", "group-map"], Required, "use --owner and --group, or GNU tar"),
    long(&["old-archive", "portability"], No, OLD_FORMAT),
    long(&["remove-files"], No, "remove them with parrm when the archive is safe"),
    long(&["pax-option"], Required, "use --mtime and --clamp-mtime for archives that are to be equal, or GNU tar"),
    long(&["sparse-version"], Required, "leave it out: sparse files of the pax format are of version 1.0"),
    long(
        &["hole-detection"],
        Required,
        "leave it out: holes are found by SEEK_HOLE, or by zeros where that does not do",
    ),
    long(&["check-device", "no-check-device"], No, INCREMENTAL),
    long(&["ignore-failed-read"], No, "a file that cannot be read is told, left out, and makes the exit status 2"),
    long(&["exclude-vcs-ignores"], No, "use -X with the ignore files, or GNU tar"),
    long(&["exclude-caches", "exclude-caches-all", "exclude-caches-under"], No, TAGS),
    long(&["exclude-tag", "exclude-tag-all", "exclude-tag-under"], Required, TAGS),
    long(&["exclude-ignore", "exclude-ignore-recursive"], Required, "use -X with the files' patterns, or GNU tar"),
    both('l', &["check-links"], No, GNU_AFTER),
    both('W', &["verify"], No, "use -d on the archive when it is made"),
    both('g', &["listed-incremental"], Required, INCREMENTAL),
    both('G', &["incremental"], No, INCREMENTAL),
    both('K', &["starting-file"], Required, "name the members as operands"),
    both('L', &["tape-length"], Required, NO_TAPES),
    both('M', &["multi-volume"], No, NO_TAPES),
    both('F', &["info-script", "new-volume-script"], Required, NO_TAPES),
    long(&["volno-file", "rsh-command", "rmt-command"], Required, NO_TAPES),
    long(&["no-seek"], No, "give the archive through a pipe: partar -xf - < ARCHIVE"),
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
    long(&["show-transformed-names", "show-stored-names"], No, "names are shown as they are in the archive"),
    long(&["show-omitted-dirs", "show-defaults", "show-snapshot-field-ranges"], No, GNU_AFTER),
    long(&["warning"], Required, "all warnings are shown"),
    long(&["ignore-command-error", "no-ignore-command-error"], No, GNU_TAR),
    long(&["no-delay-directory-restore"], No, "directories get their mode and time at the end: others write into them"),
    long(&["atime-preserve"], Optional, "mount with noatime where it matters"),
    long(&["restrict"], No, "leave it out: nothing that is extracted or listed runs a command"),
    long(&["usage"], No, "use --help"),
];

/// Of `-h` in a mode that reads: GNU tar follows links that are there, and what a script put behind one of them would go elsewhere.
pub fn dereference(letter: char) -> String {
    let instead = if letter == 'x' { "replaced by what the archive has there" } else { "compared as one" };
    format!(
        "--dereference (-h) with -{letter} is not in this version; leave it out: a symbolic link that is there is {instead}, or use GNU \
         tar to follow it"
    )
}

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
