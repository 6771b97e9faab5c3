//! Options that cp or rsync have and this version does not carry. Where both have a letter, the message speaks for both.

use crate::cli::refused::Value::{No, Optional, Required};
use crate::cli::refused::{Refused, both, letter, long};

const DEFAULT: &str = "leave it out: parcp does that anyway";
const LINKS: &str = "symbolic links are copied as links; use cp -L or rsync -L to follow them";
const NO_BACKUP: &str = "use -n to keep existing files, or cp --backup";
const ORDER: &str = "use --delete, which removes after the copies";
const LOCAL: &str = "both sides are directories or nfs:// URLs; use rsync for remote hosts";
const DAEMON: &str = "use rsync for remote hosts";
const CHOWN: &str = "owners are copied as numbers; use chown afterwards";
const IN_PLACE: &str = "leave it out: files are written in place, unless --atomic is given";
const DELTA: &str = "leave it out: files that differ are copied whole, in ranges";
const OTHER_TREE: &str = "use rsync to compare with, copy from or link to a third tree";
const NAMES: &str = "use --exclude and --include";
const OUTPUT: &str = "use -v to list what is done, --stats for what it cost, or --report FILE for all of it as JSON";
const QUIET: &str = "leave it out: nothing but what went wrong is told without -v";
const PRESERVE: &str = "it is the default; use --no-preserve=LIST for what is not to be carried";
const SIZES: &str = "use find -size with --files-from";

/// The table.
pub const REFUSED: &[Refused] = &[
    // cp's, or of both.
    both('L', &["dereference", "copy-links"], No, LINKS),
    letter('R', "recursive or relative", "use -r for trees; rsync's --relative is not carried, use --files-from"),
    both('f', &["force"], No, "leave it out: what is in the way of a file is replaced"),
    both(
        'i',
        &["interactive", "itemize-changes"],
        No,
        "there are no prompts; use -n to keep existing files, -v to list",
    ),
    both(
        'l',
        &["link", "links"],
        No,
        "symbolic links are copied as links; use cp -l to make hard links instead of copies",
    ),
    both(
        's',
        &["symbolic-link", "secluded-args", "protect-args"],
        No,
        "use cp -s to make symbolic links instead of copies",
    ),
    both('b', &["backup"], Optional, NO_BACKUP),
    long(&["suffix"], Required, NO_BACKUP),
    long(
        &["attributes-only"],
        No,
        "a re-run sets attributes alone where size and time are equal; use cp to copy no data",
    ),
    long(&["copy-contents"], No, "special files are copied as such; use cp"),
    long(&["parents"], No, "use --files-from, which keeps the paths"),
    long(&["remove-destination"], No, "use --atomic, which replaces files rather than write into them"),
    long(&["strip-trailing-slashes"], No, "leave it out: a slash behind SRC makes no difference"),
    both('T', &["no-target-directory", "temp-dir"], No, "leave it out: one SRC is always mapped onto DST"),
    both('Z', &["context"], Optional, "SELinux contexts are left to the file system's policy"),
    long(&["no-dereference"], No, DEFAULT),
    long(&["debug", "keep-directory-symlink"], No, "use -vv to see how the run is set up"),
    // rsync's.
    both('q', &["quiet"], No, QUIET),
    long(
        &["no-motd", "msgs2stderr", "stderr", "outbuf", "human-readable", "no-human-readable", "8-bit-output"],
        No,
        OUTPUT,
    ),
    letter('h', "help or human-readable", "use --help; sizes are always shown for people"),
    long(&["log-file", "log-file-format", "out-format", "log-format"], Required, OUTPUT),
    long(&["list-only"], No, "use --dry-run"),
    long(&["relative", "no-relative", "no-implied-dirs", "mkpath"], No, "use --files-from, which keeps the paths"),
    both('k', &["copy-dirlinks"], No, LINKS),
    both('K', &["keep-dirlinks"], No, "a symbolic link in a directory's place is replaced; use rsync -K to follow it"),
    long(&["copy-unsafe-links", "safe-links", "munge-links"], No, LINKS),
    both('o', &["owner"], No, PRESERVE),
    both('g', &["group"], No, PRESERVE),
    both('D', &["devices", "specials", "copy-devices", "write-devices"], No, "special files are copied as such"),
    long(&["perms", "times"], No, PRESERVE),
    both('E', &["executability"], No, PRESERVE),
    both('O', &["omit-dir-times"], No, "use --no-preserve=timestamps to leave all times"),
    both('J', &["omit-link-times"], No, "use --no-preserve=timestamps to leave all times"),
    both('U', &["atimes"], No, "leave it out: times of access are carried with those of modification"),
    long(&["open-noatime"], No, "leave it out, and mount the source with noatime if reading is not to change it"),
    both('N', &["crtimes"], No, "no file system lets the time of birth be set"),
    long(&["no-perms", "no-owner", "no-group", "no-times", "no-links", "no-recursive"], No, "use --no-preserve=LIST"),
    long(&["super", "fake-super", "no-super"], No, "owners are carried as root, and not else"),
    long(&["numeric-ids"], No, DEFAULT),
    long(&["usermap", "groupmap", "chown", "chmod"], Required, CHOWN),
    long(&["preallocate", "fsync"], No, "what counts as written was acknowledged as stable"),
    both('W', &["whole-file"], No, DELTA),
    long(&["no-whole-file"], No, DELTA),
    long(&["inplace"], No, IN_PLACE),
    long(&["append", "append-verify"], No, DELTA),
    both('B', &["block-size"], Required, DELTA),
    long(
        &["checksum-choice", "cc", "checksum-seed"],
        Required,
        "use -c (--checksum), which compares the bytes themselves",
    ),
    both('z', &["compress"], No, "leave it out: nothing goes through a pipe that could be compressed"),
    long(
        &["compress-choice", "zc", "compress-level", "zl", "skip-compress"],
        Required,
        "leave it out: nothing is compressed",
    ),
    both('e', &["rsh"], Required, LOCAL),
    long(
        &["rsync-path", "remote-option", "address", "port", "sockopts", "password-file", "protocol", "iconv"],
        Required,
        DAEMON,
    ),
    both('4', &["ipv4"], No, "write the address into the nfs:// URL"),
    both('6', &["ipv6"], No, "write the address into the nfs:// URL"),
    long(&["blocking-io", "daemon", "server", "sender"], No, DAEMON),
    long(&["timeout", "contimeout"], Required, "give timeo= and away= in the nfs:// URL"),
    long(&["existing", "ignore-non-existing"], No, "use rsync to copy only what is there"),
    long(&["ignore-existing"], No, "use -n (--no-clobber)"),
    long(&["remove-source-files"], No, "copy with --verify, then use parrm"),
    long(&["del", "delete-before", "delete-during", "delete-delay", "delete-after", "delete-missing-args"], No, ORDER),
    long(&["ignore-missing-args"], No, "name only what is there"),
    long(&["max-size", "min-size"], Required, SIZES),
    long(&["partial"], No, "leave it out: what was copied of a file stays, and a re-run makes it equal"),
    long(&["partial-dir"], Required, "use --atomic"),
    long(&["delay-updates"], No, "use --atomic, which renames each file when it is complete"),
    both('m', &["prune-empty-dirs"], No, "directories are copied also when they are empty"),
    both('y', &["fuzzy"], No, DELTA),
    long(&["compare-dest", "copy-dest", "link-dest"], Required, OTHER_TREE),
    both('C', &["cvs-exclude"], No, NAMES),
    letter('F', "filter files", NAMES),
    long(&["filter"], Required, NAMES),
    long(&["dirs", "old-dirs", "old-d"], No, "directories are copied with what is in them"),
    both('@', &["modify-window"], Required, "times must be equal; use --size-only where a file system rounds them"),
    long(
        &["max-alloc", "stop-after", "time-limit", "stop-at"],
        Required,
        "use timeout(1) and run it again: it goes on",
    ),
    long(&["write-batch", "only-write-batch", "read-batch"], Required, "use partar to carry a tree in a file"),
];

#[cfg(test)]
mod tests {
    use super::super::low;
    use super::*;
    use crate::cli::refused::assert_all_named;

    #[test]
    fn every_refused_option_is_known_by_all_its_spellings_and_named() {
        low::command().debug_assert();
        assert_all_named(REFUSED, |args| low::parse(args).err());
    }
}
