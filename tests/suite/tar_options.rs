//! Every option of GNU tar 1.34, in a table: it is carried, or ends the run with 2 and a message that names it and says what to use.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, UNIX_EPOCH};

use super::cli_support::{Bench, Ran, Sim};

/// The long options of `tar --usage`.
const GNU_TAR: &str = "--absolute-names --acls --add-file --after-date --anchored --append --atime-preserve --auto-compress --backup \
--block-number --blocking-factor --bzip2 --catenate --check-device --check-links --checkpoint --checkpoint-action --clamp-mtime \
--compare --compress --concatenate --confirmation --create --delay-directory-restore --delete --dereference --diff --directory \
--exclude --exclude-backups --exclude-caches --exclude-caches-all --exclude-caches-under --exclude-from --exclude-ignore \
--exclude-ignore-recursive --exclude-tag --exclude-tag-all --exclude-tag-under --exclude-vcs --exclude-vcs-ignores --extract --file \
--files-from --force-local --format --full-time --get --group --group-map --gunzip --gzip --hard-dereference --help \
--hole-detection --ignore-case --ignore-command-error --ignore-failed-read --ignore-zeros --incremental --index-file --info-script \
--interactive --keep-directory-symlink --keep-newer-files --keep-old-files --label --level --list --listed-incremental --lzip --lzma \
--lzop --mode --mtime --multi-volume --new-volume-script --newer --newer-mtime --no-acls --no-anchored --no-auto-compress \
--no-check-device --no-delay-directory-restore --no-ignore-case --no-ignore-command-error --no-null --no-overwrite-dir \
--no-quote-chars --no-recursion --no-same-owner --no-same-permissions --no-seek --no-selinux --no-unquote --no-verbatim-files-from \
--no-wildcards --no-wildcards-match-slash --no-xattrs --null --numeric-owner --occurrence --old-archive --one-file-system \
--one-top-level --overwrite --overwrite-dir --owner --owner-map --pax-option --portability --posix --preserve-order \
--preserve-permissions --quote-chars --quoting-style --read-full-records --record-size --recursion --recursive-unlink --remove-files \
--restrict --rmt-command --rsh-command --same-order --same-owner --same-permissions --seek --selinux --show-defaults \
--show-omitted-dirs --show-snapshot-field-ranges --show-stored-names --show-transformed-names --skip-old-files --sort --sparse \
--sparse-version --starting-file --strip-components --suffix --tape-length --test-label --to-command --to-stdout --totals --touch \
--transform --uncompress --ungzip --unlink-first --unquote --update --usage --use-compress-program --utc --verbatim-files-from \
--verbose --verify --version --volno-file --warning --wildcards --wildcards-match-slash --xattrs --xattrs-exclude --xattrs-include \
--xform --xz --zstd";

/// Command lines that end well and do what the options say; what each does is tested where it is at home.
const CARRIED: [&str; 71] = [
    "--create --file o.tar in",
    "--append --file old.tar in",
    "--update --file old.tar in",
    "--extract --file a.tar --directory out",
    "--get --file a.tar -C out",
    "--list --file a.tar",
    "--diff --file own.tar",
    "--compare --file own.tar",
    "-cf o.tar in --acls --xattrs --selinux",
    "-xf a.tar -C out --no-acls --no-xattrs --no-selinux",
    "-xf a.tar -C out --xattrs-include=user.* --xattrs-exclude=user.x",
    "-cf o.tar --absolute-names in",
    "-cf o.tar --add-file=in",
    "-cf o.tar in --after-date 2001-01-01",
    "-cf o.tar in --newer 2001-01-01",
    "-cf o.tar in --newer-mtime ./a.tar",
    "-xf a.tar -C out --anchored --exclude a.txt --no-anchored --exclude b.log",
    "-xf a.tar -C out --ignore-case TOP --no-ignore-case",
    "-xf a.tar -C out --wildcards t*p --no-wildcards top",
    "-xf a.tar -C out --no-wildcards-match-slash --exclude x --wildcards-match-slash --exclude y",
    "-cf o.tar in --exclude=x --exclude-from=list --exclude-vcs --exclude-backups",
    "-caf o.tgz in",
    "--auto-compress -cf o.txz in",
    "--no-auto-compress -cf o.tgz in",
    "-cf o.tar in --blocking-factor=1",
    "-cf o.tar in --record-size=1024",
    "-cf o.tar --bzip2 in",
    "-cf o.tar --xz in",
    "-cf o.tar --zstd in",
    "-cf o.tar --gzip --level=1 in",
    "-xf a.tgz -C out --gunzip",
    "-xf a.tgz -C out --ungzip",
    "-cf o.tar in --mtime=2001-01-01 --clamp-mtime",
    "-cf o.tar in --owner=root:7 --group=:8 --mode=go-w",
    "-cf o.tar in --dereference",
    "-cf o.tar in --hard-dereference",
    "-cf o.tar in --one-file-system",
    "-cf o.tar in --sort=name",
    "-cf o.tar in --sparse",
    "-cf o.tar in --format=gnu",
    "-cf o.tar in --posix",
    "-cf o.tar in --label=text",
    "-cf o.tar in --numeric-owner",
    "-cf o.tar --files-from list",
    "-cf o.tar --null --verbatim-files-from -T list0",
    "-cf o.tar --no-null --no-verbatim-files-from -T list",
    "-cf o.tar --no-unquote in --unquote in",
    "-cf o.tar --no-recursion in --recursion in",
    "-cf o.tar in --transform=s/in/out/",
    "-xf a.tar -C out --xform s/top/other/",
    "-xf a.tar -C out --strip-components=1",
    "-xf a.tar -C out --one-top-level",
    "-xf a.tar -C out --one-top-level=x/y",
    "-xf a.tar -C out --delay-directory-restore --seek --force-local --read-full-records",
    "-xf a.tar -C out --ignore-zeros",
    "-xf a.tar -C out --keep-newer-files",
    "-xf a.tar -C out --keep-old-files",
    "-xf a.tar -C out --skip-old-files",
    "-xf a.tar -C out --overwrite",
    "-xf a.tar -C out --unlink-first",
    "-xf a.tar -C out --no-same-owner --no-same-permissions",
    "-xf a.tar -C out --preserve-permissions",
    "-xf a.tar -C out --same-permissions",
    "-xf a.tar -C out --touch",
    "-xf a.tar --to-stdout",
    "-xf a.tar -C out --totals --verbose",
    "-tf a.tar --verbose --full-time --utc",
    "-cf o.tar in --use-compress-program=cat",
    "-xf a.tar -C out --use-compress-program ./pass",
    "--help",
    "--version",
];

/// Options that only root may see carried out as they are meant.
const FOR_ROOT: &str = "-xf a.tar -C out --same-owner";

fn bench() -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.path("in")).unwrap();
    fs::write(bench.path("in/f"), "f").unwrap();
    fs::write(bench.path("list"), "in\n").unwrap();
    fs::write(bench.path("list0"), "in\0").unwrap();
    fs::write(bench.path("pass"), "#!/bin/sh\nexec cat\n").unwrap();
    fs::set_permissions(bench.path("pass"), fs::Permissions::from_mode(0o755)).unwrap();
    bench.run("-cf old.tar list").ok();
    bench.run("-cf own.tar in").ok();
    bench.run("-czf a.tgz in").ok();
    bench
}

fn options(line: &str) -> impl Iterator<Item = &str> {
    let long = line.split_whitespace().filter(|word| word.starts_with("--"));
    long.map(|word| word.split_once('=').map_or(word, |(option, _)| option))
}

#[test]
fn every_option_of_gnu_tar_is_carried_or_named_with_what_to_use() {
    let mut carried: BTreeSet<&str> = CARRIED.iter().flat_map(|line| options(line)).collect();
    carried.extend(options(FOR_ROOT));
    for line in CARRIED {
        let ran = bench().run(line).ok();
        assert!(!ran.stderr.contains("is not in this version"), "{line}: {ran:?}");
    }
    let bench = bench();
    for option in GNU_TAR.split_whitespace().filter(|option| !carried.contains(option)) {
        // In the mode that it is about; a value does no harm to those that have none, for they are refused first.
        for line in ["-cf o.tar in", "-xf a.tar -C out"] {
            let mut ran = bench.run(&format!("{line} {option}"));
            if !ran.stderr.contains(" is not in this version; ") {
                ran = bench.run(&format!("{line} {option}=1"));
            }
            let ran = ran.failed(" is not in this version; ");
            assert!(ran.stderr.starts_with("partar: ") && ran.stderr.contains(option), "{option}: {ran:?}");
        }
    }
    // What is not GNU tar's is unknown.
    bench.run("-xf a.tar --colour").failed("unrecognized option '--colour'");
}

#[test]
fn owners_are_the_archives_where_that_is_asked_for() {
    // The sample is the caller's own.
    bench().run(FOR_ROOT).ok();
}

/// What is partar's own, or says something in GNU tar's mode, is not passed over in silence.
#[test]
fn an_option_that_does_nothing_is_refused_by_name() {
    let bench = bench();
    for (line, option) in [
        ("-cf o.tar in --resume", "--resume"),
        ("-xf a.tar --level=3", "--level"),
        ("-rf old.tar in --label=x", "--label"),
        ("-df own.tar --one-top-level", "--one-top-level"),
        ("-df own.tar --index=i", "--index"),
    ] {
        bench.run(line).failed(&format!("partar: {option} does nothing with -"));
    }
    bench.run("-cf o.tar -o in").failed("-o is the v7 format when creating");
}

/// GNU tar writes through a link that is there, or compares what it leads to.
#[test]
fn links_that_are_there_are_not_followed_in_silence() {
    let bench = bench();
    fs::create_dir(bench.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", bench.path("out/top")).unwrap();
    for (line, instead) in [
        ("xhf a.tar -C out", "replaced by what the archive has there"),
        ("-xf a.tar -C out --dereference", "replaced by what the archive has there"),
        ("-dhf own.tar", "compared as one"),
    ] {
        let ran = bench.run(line).failed(" is not in this version; leave it out: a symbolic link that is there is ");
        assert!(ran.stderr.starts_with("partar: --dereference (-h) with -") && ran.stderr.contains(instead), "{ran:?}");
    }
    assert!(fs::symlink_metadata(bench.path("out/top")).unwrap().is_symlink());
    assert_eq!(fs::read_dir(bench.path("elsewhere")).unwrap().count(), 0);
}

/// As for GNU tar, in either order.
#[test]
fn a_known_suffix_goes_before_a_codecs_letter() {
    let bench = bench();
    let (gzip, xz): (&[u8], &[u8]) = (&[0x1f, 0x8b], &[0xfd, b'7', b'z']);
    for (line, magic) in [
        ("cJaf y.tgz in", gzip),
        ("caJf y.tgz in", gzip),
        ("-caf y.tgz in --zstd", gzip),
        ("cazf y.tar.xz in", xz),
        ("czaf y.tar.xz in", xz),
        ("cazf y.tar in", gzip),
        ("czaf y.unknown in", gzip),
        ("-czaf y.tar.xz in --no-auto-compress", gzip),
        ("-czf y.tar.xz in", gzip),
        ("-a -I gzip -cf y.tar.xz in", xz),
        ("-I gzip -a -cf y.tar.xz in --level=1", xz),
        ("-a -I gzip -cf y.tar in", gzip),
        ("-I gzip -a -cf y.tar.xz in --no-auto-compress", gzip),
        ("-J -a -I xz -cf y.tgz in", gzip),
        ("-z -I gzip -cf y.tar.xz in", gzip),
        ("-a -I xz -cf y.tar.lz in", xz),
    ] {
        bench.run(line).ok();
        let name = line.split(' ').find(|word| word.starts_with("y.")).unwrap();
        assert!(fs::read(bench.path(name)).unwrap().starts_with(magic), "{line}");
    }
}

/// As GNU tar, whose options may all be in `TAR_OPTIONS`: in a mode that they are not about, its manual says nothing of them.
#[test]
fn options_of_other_modes_may_be_given() {
    let bench = bench();
    let existing = ["-k", "--skip-old-files", "--keep-newer-files", "--overwrite", "-U"];
    let stores = "--owner=nobody --group=7 --mode=600 --mtime=2020-01-01 --clamp-mtime --format=gnu --sort=name --one-file-system \
                  --hard-dereference --record-size=1024 -S";
    let shows = "--full-time --utc";
    let extracts = "-m -p -O --no-same-owner --delay-directory-restore";
    let carries = "--acls --selinux --xattrs-include=user.* --xattrs-exclude=user.x";
    for (line, idle) in [
        ("-cf o.tar in", format!("{extracts} --one-top-level --strip-components=1 -i {shows}")),
        ("-rf old.tar list", format!("{extracts} --one-top-level --strip-components=1 {shows}")),
        (
            "-tf a.tar",
            format!("{stores} -h {extracts} -o --one-top-level --strip-components=1 --transform=s/a/b/ {carries}"),
        ),
        ("-xf a.tar -C out", format!("{stores} {shows}")),
        ("-df own.tar", format!("{stores} {extracts} -o {carries} {shows}")),
    ] {
        let plain = bench.run(line).ok();
        let is_extraction = line.starts_with("-x");
        for one in existing.iter().filter(|_| !is_extraction).copied().chain([""]) {
            let options = format!("{idle} {one}");
            let ran = Ran::of(bench.command(line).env("TAR_OPTIONS", &options).output().unwrap()).ok();
            assert_eq!((&ran.stdout, &ran.stderr), (&plain.stdout, &plain.stderr), "{line}: {options}");
            bench.run(&format!("{line} {options}")).ok();
        }
    }
    let plain = bench.run("-cf p.tar in").ok();
    assert!(
        plain.stderr.is_empty() && fs::read(bench.path("p.tar")).unwrap() == fs::read(bench.path("o.tar")).unwrap()
    );
    bench.run("-df own.tar").ok();
}

/// As in GNU tar, to which a volume label is a member that nothing is extracted of.
#[test]
fn a_volume_label_may_be_an_operand() {
    let bench = bench();
    bench.run("-cf l.tar -V backup in").ok();
    assert_eq!(bench.run("-tf l.tar backup").ok().stdout, "backup\n");
    assert_eq!(bench.run("-xOf l.tar backup").ok().stdout, "");
    bench.run("-xf l.tar -C out backup in/f").ok();
    bench.run("-df l.tar backup in").ok();
    bench.run("-xf l.tar -C out backu").failed("partar: backu: Not found in archive");
}

/// GNU tar stores the name that the host has for it.
#[test]
fn an_owner_by_its_number_has_its_name() {
    let bench = bench();
    for (owner, told) in [("0", "root/root"), (":0", "root/root"), ("4000000000", "4000000000/4000000000")] {
        bench.run(&format!("-cf o.tar --owner={owner} --group={owner} in/f")).ok();
        let long = bench.run("-tvf o.tar").ok().stdout;
        assert!(long.contains(&format!(" {told} ")), "{owner}: {long}");
        let long = bench.run("--numeric-owner -tvf o.tar").ok().stdout;
        assert!(!long.contains("root"), "{owner}: {long}");
    }
}

/// As GNU tar: a format of whole seconds says nothing of what is within one, and pax's, in which a time without a fraction has none, does.
#[test]
fn a_change_within_the_second_is_one_to_what_has_fractions() {
    let bench = Bench::new();
    // Longer than a header's field: its member has a pax header, or a long name of GNU tar's, whatever its time is.
    let name = "n".repeat(120);
    let dated = |millis: u64| {
        fs::write(bench.path(&name), millis.to_string()).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(millis);
        fs::File::open(bench.path(&name)).unwrap().set_modified(time).unwrap();
    };
    for (format, members) in [("pax", 2), ("gnu", 1)] {
        for (millis, command) in [(5000, "-c"), (5500, "-u")] {
            dated(millis);
            bench.run(&format!("{command} --format={format} -f {format}.tar {name}")).ok();
        }
        assert_eq!(bench.run(&format!("-tf {format}.tar")).ok().stdout.lines().count(), members, "{format}");
    }
}

/// As for GNU tar, but for patterns behind all operands, which are about none there.
#[test]
fn a_pattern_is_about_the_operands_behind_it() {
    let bench = Bench::new();
    for dir in ["a", "b", "c/d"] {
        fs::create_dir_all(bench.path(dir)).unwrap();
        fs::write(bench.path(dir).join("x"), "x").unwrap();
        fs::write(bench.path(dir).join("y"), "y").unwrap();
    }
    fs::write(bench.path("names"), "a\nb\n").unwrap();
    fs::write(bench.path("patterns"), "y\n").unwrap();
    for (line, stored) in [
        ("--exclude=x a --exclude=y b", "a/ a/y b/"),
        ("a --exclude=x b", "a/ a/x a/y b/ b/y"),
        ("a --exclude=x b --exclude=y c", "a/ a/x a/y b/ b/y c/ c/d/"),
        ("a -X patterns b -C c d", "a/ a/x a/y b/ b/x d/ d/x"),
        ("-T names --exclude=d c --add-file=a/x", "a/ a/x a/y b/ b/x b/y c/ a/x"),
        ("c --exclude=x -T names", "c/ c/d/ c/d/x c/d/y a/ a/y b/ b/y"),
        // Behind all.
        ("a b --exclude=x", "a/ a/y b/ b/y"),
        ("a --exclude=y b --exclude=x", "a/ a/y b/"),
        ("d -C c --exclude=x", "d/ d/y"),
    ] {
        bench.run(&format!("-cf o.tar --sort=name {line}")).ok();
        let listed = bench.run("-tf o.tar").ok().stdout;
        assert_eq!(listed.split_whitespace().collect::<Vec<_>>().join(" "), stored, "{line}");
    }
    // All that reads an archive takes them for all members, as GNU tar.
    bench.run("-cf o.tar --sort=name a b").ok();
    assert_eq!(bench.run("-tf o.tar a --exclude=x b").ok().stdout, "a/\na/y\nb/\nb/y\n");
}

#[test]
fn a_directory_of_which_no_name_is_left_is_that_of_one_top_level() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("app/sub")).unwrap();
    fs::write(bench.path("app/sub/a.txt"), "alpha").unwrap();
    for (dir, mode, secs) in [("app/sub", 0o750, 2), ("app", 0o700, 1)] {
        let path = bench.path(dir);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        fs::File::open(&path).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(secs)).unwrap();
    }
    bench.run("-cf o.tar app").ok();
    let attributes = |line: &str| {
        bench.run(&format!("{line} -C out")).ok();
        let top = fs::metadata(bench.path("out/n/top")).unwrap();
        fs::remove_dir_all(bench.path("out/n")).unwrap();
        (top.mode() & 0o7777, top.mtime())
    };
    // With two names off, the last directory that has no name left says how it is: GNU tar's result.
    assert_eq!(attributes("-xf o.tar --strip-components=1 --one-top-level=n/top"), (0o700, 1));
    assert_eq!(attributes("-xf o.tar --strip-components=2 --one-top-level=n/top"), (0o750, 2));
    // Without that directory, there is nothing that it would stand for.
    bench.run("-xf o.tar --strip-components=2 -C out").ok();
    assert_eq!(fs::read(bench.path("out/a.txt")).unwrap(), b"alpha");
}

#[test]
fn what_is_left_out_need_not_be_there() {
    let bench = Bench::new();
    fs::write(bench.path("b.txt"), "b").unwrap();
    fs::write(bench.path("list"), "gone.log\n").unwrap();
    for line in [
        "--exclude=*.log b.txt gone.log sub/gone.log",
        "--exclude=gone* b.txt gone.log/",
        "--exclude=*.log b.txt -T list",
    ] {
        bench.run(&format!("-cf o.tar {line}")).ok();
        assert_eq!(bench.run("-tf o.tar").ok().stdout, "b.txt\n", "{line}");
    }
    // Where it would be has to be there.
    bench.run("-cf o.tar -C nowhere --exclude=*.log gone.log").ended(2, "partar: nowhere: Cannot open");
    let sim = Sim::start(&[]);
    let url = &sim.url;
    bench.run(&format!("-cf o.tar --exclude=*.log {url}gone.log b.txt -C {url} sub/gone.log")).ok();
    bench.run("-cf o.tar --exclude=*.log b.txt gone").ended(2, "partar: gone: Cannot stat: No such file or directory");
}

/// As GNU tar: each new name in a directory changes its time.
#[test]
fn a_directory_that_the_archive_has_is_not_stored_anew() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("d/e")).unwrap();
    fs::write(bench.path("d/f"), "f").unwrap();
    bench.run("-cf u.tar d").ok();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    let touch = |name: &str| fs::File::open(bench.path(name)).unwrap().set_modified(later).unwrap();
    let listed = || {
        let mut names: Vec<String> = bench.run("-tf u.tar").ok().stdout.lines().map(String::from).collect();
        names.sort();
        names.join(" ")
    };
    fs::write(bench.path("d/e/new"), "new").unwrap();
    ["d", "d/e"].into_iter().for_each(touch);
    bench.run("-uf u.tar d").ok();
    assert_eq!(listed(), "d/ d/e/ d/e/new d/f");
    // What is a file in the archive would be in the way of what is in the directory.
    fs::remove_file(bench.path("d/f")).unwrap();
    fs::create_dir(bench.path("d/f")).unwrap();
    for _ in 0..2 {
        bench.run("-uf u.tar d").ok();
        assert_eq!(listed(), "d/ d/e/ d/e/new d/f d/f/");
    }
}

/// As GNU tar 1.34: by their own names, not for what they are in. What is read is left out with its directory.
#[test]
fn what_others_keep_for_themselves_is_stored_where_a_name_leads_into_it() {
    let bench = Bench::new();
    for dir in ["src/.git/hooks/CVS", "old~/in"] {
        fs::create_dir_all(bench.path(dir)).unwrap();
    }
    for file in [
        "src/.git/hooks/f",
        "src/.git/config",
        "src/.gitignore",
        "src/a",
        "src/a~",
        "old~/in/f",
        "src/.git/hooks/CVS/e",
    ] {
        fs::write(bench.path(file), "x").unwrap();
    }
    let stored = |line: &str| {
        bench.run(&format!("-cf vcs.tar --sort=name {line}")).ok();
        bench.run("-tf vcs.tar").ok().stdout
    };
    let vcs = "--exclude-vcs";
    for (line, is) in [
        ("src/.git/hooks", "src/.git/hooks/\nsrc/.git/hooks/f\n"),
        ("src/.git/hooks/CVS/e", "src/.git/hooks/CVS/e\n"),
        ("src/.git", ""),
        ("src/.git/", ""),
        ("-C src .git", ""),
        ("src/.gitignore", ""),
        ("src", "src/\nsrc/a\nsrc/a~\n"),
        ("src/a src/.git/config", "src/a\nsrc/.git/config\n"),
        ("--exclude=.git src/.git/hooks", ""),
    ] {
        assert_eq!(stored(&format!("{vcs} {line}")), is, "{line}");
    }
    let backups = "--exclude-backups";
    for (line, is) in [("old~", ""), ("old~/in", "old~/in/\nold~/in/f\n"), ("src/a src/a~", "src/a\n")] {
        assert_eq!(stored(&format!("{backups} {line}")), is, "{line}");
    }
    bench.run("-cf all.tar --sort=name src").ok();
    assert_eq!(bench.run("-tf all.tar --exclude-vcs").ok().stdout, "src/\nsrc/a\nsrc/a~\n");
}
