//! Options that cp or rsync have and this version does not carry. Where both have a letter, the message speaks for both.

use crate::cli::refused::Value::{No, Optional, Required};
use crate::cli::refused::{Refused, both, letter, long};

const DEFAULT: &str = "leave it out: parcp does that anyway";
const LINKS: &str = "symbolic links are copied as links; use cp -L or rsync -L to follow them";
const SOME_LINKS: &str = "symbolic links are copied as links, all of them; use rsync to tell them apart";
const LINKS_KEPT: &str = "leave it out: symbolic links are copied as links";
const NO_BACKUP: &str = "use -n to keep existing files, or cp or rsync --backup";
const ORDER: &str = "use --delete, which removes after the copies";
const LOCAL: &str = "both sides are directories or nfs:// URLs; use rsync for remote hosts";
const DAEMON: &str = "use rsync for remote hosts";
const NO_REMOTE: &str = "leave it out: it is about remote hosts, and both sides are directories or nfs:// URLs";
const CHOWN: &str = "owners are copied as numbers; use chown afterwards";
const IN_PLACE: &str = "leave it out: files are written in place, unless --atomic is given";
const DELTA: &str = "leave it out: files that differ are copied whole, in ranges";
const OTHER_TREE: &str = "use rsync to compare with, copy from or link to a third tree";
const NAMES: &str = "use --exclude and --include";
const OUTPUT: &str = "use -v to list what is done, --stats for what it cost, or --report FILE for all of it as JSON";
const LOG: &str = "use --log FILE, which has a JSON document a line";
const BUFFERS: &str = "leave it out: messages go to stderr, a line at a time";
const SHOWN: &str = "leave it out: sizes are shown for people, and names as they are";
const SPECIALS: &str = "leave it out: special files are copied as such";
const QUIET: &str = "leave it out: nothing but what went wrong is told without -v";
const PRESERVE: &str = "it is the default; use --no-preserve=LIST for what is not to be carried";
const SIZES: &str = "use find -size with --files-from";

/// The table.
pub const REFUSED: &[Refused] = &[
    // cp's, or of both.
    both('L', &["dereference", "copy-links"], No, LINKS),
    letter('R', "recursive or relative", "use -r for trees; for rsync's --relative use --files-from"),
    both(
        'f',
        &["force"],
        No,
        "leave it out: what is in the way of a file is replaced; for rsync's --filter use --exclude and --include",
    ),
    both('i', &["interactive"], No, "there are no prompts; use -n to keep existing files, -v to list what is copied"),
    long(&["itemize-changes"], No, OUTPUT),
    both(
        'l',
        &["link"],
        No,
        "leave it out: symbolic links are copied as links; use cp -l for hard links in place of copies",
    ),
    long(&["links"], No, LINKS_KEPT),
    both('s', &["symbolic-link"], No, "use cp -s to make symbolic links instead of copies"),
    both('b', &["backup"], Optional, NO_BACKUP),
    long(&["suffix", "backup-dir"], Required, NO_BACKUP),
    long(
        &["attributes-only"],
        No,
        "a re-run sets attributes alone where size and time are equal; use cp to copy no data",
    ),
    long(&["copy-contents"], No, "special files are copied as such; use cp"),
    long(&["parents"], No, "use --files-from, which keeps the paths"),
    long(&["remove-destination"], No, "use --atomic, which replaces files rather than write into them"),
    long(&["strip-trailing-slashes"], No, "leave it out: a slash behind SRC makes no difference"),
    both('T', &["no-target-directory"], No, "leave it out: one SRC is always mapped onto DST"),
    long(&["temp-dir"], Required, "leave it out: files are written in place, or with --atomic beside their places"),
    both('Z', &["context"], Optional, "SELinux contexts are left to the file system's policy"),
    long(&["no-dereference"], No, DEFAULT),
    long(&["debug"], Optional, "use -vv to see how the run is set up"),
    long(
        &["keep-directory-symlink"],
        No,
        "a symbolic link in a directory's place is replaced; use cp --keep-directory-symlink to follow it",
    ),
    // rsync's.
    both('q', &["quiet"], No, QUIET),
    long(&["no-motd"], No, NO_REMOTE),
    long(&["msgs2stderr", "no-msgs2stderr"], No, BUFFERS),
    long(&["stderr"], Optional, BUFFERS),
    long(&["outbuf"], Required, BUFFERS),
    long(&["human-readable", "no-human-readable", "8-bit-output"], No, SHOWN),
    letter('h', "help or human-readable", "use --help; sizes are always shown for people"),
    long(&["log-file", "log-file-format"], Required, LOG),
    long(&["out-format", "log-format"], Required, OUTPUT),
    long(&["list-only"], No, "use --dry-run -v for what would be copied, find or partar -t for what is there"),
    long(
        &["inc-recursive", "no-inc-recursive", "i-r", "no-i-r"],
        No,
        "leave it out: trees are listed while they are copied",
    ),
    long(&["relative", "no-implied-dirs"], No, "use --files-from, which keeps the paths"),
    long(&["no-relative"], No, "leave it out, and name SRC with a slash behind it"),
    long(&["mkpath"], No, "use mkdir -p for the directories above DST"),
    both(
        'k',
        &["copy-dirlinks"],
        No,
        "symbolic links are copied as links; use rsync -k to follow those to directories",
    ),
    both('K', &["keep-dirlinks"], No, "a symbolic link in a directory's place is replaced; use rsync -K to follow it"),
    long(&["copy-unsafe-links", "safe-links", "munge-links", "insecure-links"], No, SOME_LINKS),
    both('o', &["owner"], No, PRESERVE),
    both('g', &["group"], No, PRESERVE),
    both('D', &["devices", "specials"], No, SPECIALS),
    long(
        &["no-devices", "no-specials"],
        No,
        "special files are copied as such; use --exclude, or rsync, to leave them out",
    ),
    long(&["copy-devices", "write-devices"], No, "devices are copied as such; use dd for what is on them"),
    long(&["perms", "times"], No, PRESERVE),
    both('E', &["executability"], No, PRESERVE),
    both('O', &["omit-dir-times"], No, "use --no-preserve=timestamps to leave all times"),
    both('J', &["omit-link-times"], No, "use --no-preserve=timestamps to leave all times"),
    both('U', &["atimes"], No, "leave it out: times of access are carried with those of modification"),
    long(&["open-noatime"], No, "leave it out, and mount the source with noatime if reading is not to change it"),
    both('N', &["crtimes"], No, "no file system lets the time of birth be set"),
    long(
        &["no-perms", "no-owner", "no-group", "no-times"],
        No,
        "use --no-preserve=LIST with mode, ownership or timestamps",
    ),
    long(&["no-links"], No, "symbolic links are copied as links; use --exclude, or rsync, to leave them out"),
    long(&["no-recursive"], No, "leave out -r and -a: without them directories are left out"),
    long(&["super", "no-super"], No, "leave it out: owners are carried when root copies, and not else"),
    long(&["fake-super"], No, "use partar, which stores owners in the archive without being root"),
    long(&["numeric-ids"], No, DEFAULT),
    long(&["usermap", "groupmap", "chown"], Required, CHOWN),
    long(&["chmod"], Required, "modes are copied as they are; use chmod afterwards"),
    long(&["copy-as"], Required, "run parcp as that user, or give uid= and gid= in the nfs:// URL"),
    long(&["preallocate"], No, "leave it out: files get their space as they are written"),
    long(
        &["fsync"],
        No,
        "leave it out: over NFS what counts as written was acknowledged as stable; elsewhere use sync(1)",
    ),
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
        &["compress-choice", "zc", "compress-level", "zl", "compress-threads", "zt", "skip-compress"],
        Required,
        "leave it out: nothing is compressed",
    ),
    both('e', &["rsh"], Required, LOCAL),
    long(
        &["rsync-path", "remote-option", "address", "port", "sockopts", "password-file", "early-input", "protocol"],
        Required,
        DAEMON,
    ),
    long(&["iconv"], Required, "names are copied byte by byte; use rsync --iconv, or convmv afterwards"),
    long(&["secluded-args", "protect-args", "old-args", "trust-sender"], No, NO_REMOTE),
    both('4', &["ipv4"], No, "write the address into the nfs:// URL"),
    both('6', &["ipv6"], No, "write the address into the nfs:// URL"),
    long(&["blocking-io", "daemon", "server", "sender"], No, DAEMON),
    long(&["timeout", "contimeout"], Required, "give timeo= and away= in the nfs:// URL"),
    long(&["existing", "ignore-non-existing"], No, "use rsync to copy only what is there"),
    long(&["ignore-existing"], No, "use -n (--no-clobber)"),
    long(&["remove-source-files"], No, "copy with --verify, then use parrm"),
    long(&["del", "delete-before", "delete-during", "delete-delay", "delete-after"], No, ORDER),
    long(&["ignore-missing-args"], No, "name only what is there"),
    long(&["delete-missing-args"], No, "name only what is there, and remove the rest with parrm"),
    long(&["max-size", "min-size"], Required, SIZES),
    long(&["partial"], No, "leave it out: what was copied of a file stays, and a re-run makes it equal"),
    long(&["partial-dir"], Required, "use --atomic"),
    long(&["delay-updates"], No, "use --atomic, which renames each file when it is complete"),
    both(
        'm',
        &["prune-empty-dirs"],
        No,
        "empty directories are copied too; use find -type d -empty -delete afterwards",
    ),
    both('y', &["fuzzy"], No, DELTA),
    long(&["compare-dest", "copy-dest", "link-dest"], Required, OTHER_TREE),
    both('C', &["cvs-exclude"], No, NAMES),
    letter('F', "filter files", NAMES),
    long(&["filter"], Required, NAMES),
    long(
        &["dirs", "old-dirs", "old-d"],
        No,
        "directories are copied with what is in them; use rsync -d to make them alone",
    ),
    both('@', &["modify-window"], Required, "times must be equal; use --size-only where a file system rounds them"),
    long(&["max-alloc"], Required, "leave it out: memory is bounded, whatever the tree"),
    long(&["stop-after", "time-limit", "stop-at"], Required, "use timeout(1) and run it again: it goes on"),
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

    #[test]
    fn what_cp_and_rsync_mean_by_an_option_is_what_the_message_is_about() {
        let said = |line: &str| low::parse(line.split(' ').map(Into::into).collect()).err().unwrap_or_default();
        for (line, says) in [
            ("--chmod=u+w s d", "chmod afterwards"),
            ("--temp-dir=/tmp s d", "--temp-dir is not in this version; leave it out"),
            ("--stderr=all s d", "leave it out: messages"),
            ("--outbuf=L s d", "leave it out: messages"),
            ("--debug=ALL s d", "use -vv"),
            ("--protect-args s d", "it is about remote hosts"),
            ("--links s d", "leave it out: symbolic links are copied as links"),
            ("--itemize-changes s d", "use -v to list"),
            ("--log-file=f s d", "use --log FILE"),
            ("--backup-dir=b s d", "rsync --backup"),
            ("--inc-recursive s d", "leave it out"),
            ("--fsync s d", "leave it out"),
            ("-f rule s d", "for rsync's --filter use --exclude"),
        ] {
            let message = said(line);
            assert!(message.contains(says), "{line}: {message}");
        }
    }
}
