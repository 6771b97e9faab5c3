//! What `partar` tells and stores, and with what status it ends, where GNU tar 1.34 was found to do otherwise: each case was run with both.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::os::unix::fs::symlink;

use parfs::archive::write::{Format, header};
use parfs::archive::{Member, MemberKind};

use crate::cli_support::{Bench, Ran};

/// Lines of stderr without the program's name, and without the one that ends a failed run.
fn told(ran: &Ran) -> Vec<&str> {
    let lines = ran.stderr.lines().filter_map(|line| line.strip_prefix("partar: "));
    lines.filter(|line| !line.starts_with("Exiting with")).collect()
}

/// GNU tar takes the names in a directory that the archive has for operands, which have to be there; others were there when they were listed.
#[test]
fn a_link_that_leads_nowhere_is_missing_where_the_archive_has_its_directory() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("d/new")).unwrap();
    fs::write(bench.path("d/a"), "a").unwrap();
    bench.run("-cf old.tar d").ok();
    for link in ["d/l", "d/new/l"] {
        symlink("nowhere", bench.path(link)).unwrap();
    }
    fs::copy(bench.path("old.tar"), bench.path("new.tar")).unwrap();
    let ran = bench.run("-uhf old.tar --sort=name d").failed("d/l: Cannot stat: No such file or directory");
    assert_eq!(told(&ran).len(), 2, "{ran:?}");
    fs::rename(bench.path("d"), bench.path("e")).unwrap();
    bench.run("-uhf new.tar e").ended(1, "e/l: File removed before we read it");
    bench.run("-uhf old.tar --transform=s,e,d, e").ended(1, "e/l: File removed before we read it");
}

#[test]
fn what_would_be_in_a_file_cannot_be_compared() {
    let bench = Bench::new();
    bench.run("-xf a.tar -C out").ok();
    fs::remove_dir_all(bench.path("out/top/sub")).unwrap();
    let missing = [
        "top/sub: Warning: Cannot stat: No such file or directory",
        "top/sub/b.log: Warning: Cannot stat: No such file or directory",
    ];
    assert_eq!(told(&bench.run("-df a.tar -C out").ended(1, "")), missing);
    symlink("nowhere", bench.path("out/top/sub")).unwrap();
    bench.run("-df a.tar -C out").ended(1, "top/sub/b.log: Warning: Cannot stat: ");
    fs::remove_file(bench.path("out/top/sub")).unwrap();
    fs::write(bench.path("out/top/sub"), "").unwrap();
    let ran = bench.run("-df a.tar -C out").failed("partar: top/sub/b.log: Cannot stat: Not a directory\n");
    assert_eq!(ran.stdout, "top/sub: File type differs\n");
    fs::rename(bench.path("out/top"), bench.path("out/was")).unwrap();
    fs::write(bench.path("out/top"), "").unwrap();
    bench.run("-df a.tar -C out").failed("partar: top/link: Cannot readlink: Not a directory\n");
    bench
        .run("-df a.tar -C out --strip-components=1")
        .ended(1, "partar: sub/b.log: Warning: Cannot stat: No such file");
}

#[test]
fn a_long_names_block_has_roots_names_unless_owners_are_numbers() {
    let names = [(false, &b"who"[..]), (false, b""), (true, b"")];
    for (numeric, owner) in names {
        let (uname, gname) = (owner.to_vec(), owner.to_vec());
        let member = Member { path: vec![b'x'; 101], kind: MemberKind::File, uname, gname, ..Member::default() };
        let mut blocks = Vec::new();
        header(&member, Format::Gnu, numeric, &mut blocks).unwrap();
        let name = |at: usize| blocks[at..at + 32].split(|byte| *byte == 0).next().unwrap();
        let root: &[u8] = if numeric { b"" } else { b"root" };
        assert_eq!((&blocks[..13], name(265), name(297)), (&b"././@LongLink"[..], root, root), "{owner:?} {numeric}");
        assert_eq!((name(1024 + 265), name(1024 + 297)), (owner, owner));
    }
    let bench = Bench::new();
    fs::write(bench.path("y".repeat(101)), "").unwrap();
    for (more, is_root) in [("--owner=:5 --group=:6", true), ("--numeric-owner", false)] {
        bench.run(&format!("-cf o.tar --format=gnu {more} {}", "y".repeat(101))).ok();
        assert_eq!(fs::read(bench.path("o.tar")).unwrap()[265..].starts_with(b"root"), is_root, "{more}");
    }
}

#[test]
fn links_are_listed_as_they_would_be_extracted() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("a/b")).unwrap();
    fs::write(bench.path("a/b/f"), "f").unwrap();
    fs::hard_link(bench.path("a/b/f"), bench.path("a/b/h")).unwrap();
    symlink("../f", bench.path("a/b/s")).unwrap();
    bench.run("-cf l.tar --sort=name a").ok();
    let leads = |more: &str| {
        let ran = bench.command(&format!("-tvf l.tar {more}")).output().map(Ran::of).unwrap().ok();
        let ends = ran.stdout.lines().filter_map(|line| line.split_once(" a/b/").map(|(_, end)| end.to_owned()));
        ends.filter(|end| end.starts_with(['h', 's'])).collect::<Vec<_>>()
    };
    assert_eq!(leads(""), ["h link to a/b/f", "s -> ../f"]);
    assert_eq!(leads("--strip-components=1"), ["h link to b/f", "s -> ../f"]);
    assert_eq!(leads("--strip-components=9"), ["h link to ", "s -> ../f"]);
    assert_eq!(leads("--transform=s,f$,g,"), ["h link to a/b/g", "s -> ../g"]);
    assert_eq!(leads("--transform=s,f$,g,S"), ["h link to a/b/g", "s -> ../f"]);
    assert_eq!(leads("--strip-components=2 --transform=s,^,Q/,"), ["h link to b/f", "s -> Q/../f"]);
    assert_eq!(leads("--transform=s,^a,/Q,h"), ["h link to Q/b/f", "s -> ../f"]);
    assert_eq!(leads("--transform=s,.*,,h"), ["h link to .", "s -> "]);
    assert_eq!(bench.run("-tf l.tar --transform=s,^,Q/,").ok().stdout, "a/\na/b/\na/b/f\na/b/h\na/b/s\n");
}

#[test]
fn files_that_are_passed_over_are_told_by_their_own_paths() {
    let bench = Bench::new();
    bench.run("-xf a.tar -C out --strip-components=1").ok();
    bench.run("-xf a.tar -C out --one-top-level=Q").ok();
    for (more, own) in [
        ("--strip-components=1", ["a.txt", "sub/b.log", "link"]),
        ("--one-top-level=Q", ["Q/top/a.txt", "Q/top/sub/b.log", "Q/top/link"]),
        ("--transform=s,^,/Q//,", ["Q//top/a.txt", "Q//top/sub/b.log", "Q//top/link"]),
    ] {
        let ran = bench.run(&format!("-xvf a.tar -C out --skip-old-files {more}")).ok();
        let skipped: Vec<&str> =
            told(&ran).into_iter().filter_map(|line| line.strip_suffix(": skipping existing file")).collect();
        assert_eq!(skipped, own, "{more}");
        let ran = bench.run(&format!("-xf a.tar -C out --keep-newer-files {more}")).ok();
        let newer = own.map(|path| format!("Current '{path}' is newer or same age"));
        assert!(newer.iter().all(|line| told(&ran).contains(&&line[..])), "{ran:?}");
    }
}

/// GNU tar tells of a member by the name that it has when it is put there.
#[test]
fn what_is_not_extracted_is_told_by_its_place() {
    let bench = Bench::new();
    for (options, place) in [
        ("--strip-components=1", ""),
        ("--transform=s,^top/,,", ""),
        ("--transform=s,^top,a/b, --strip-components=1", "b/"),
        ("--one-top-level=new", "new/top/"),
        ("", "top/"),
    ] {
        bench.run(&format!("-xf a.tar -C out {options}")).ok();
        let ran = bench.run(&format!("-xkf a.tar -C out {options}")).failed("File exists");
        let failed = [("a.txt", "CREATE"), ("link", "SYMLINK"), ("sub/b.log", "CREATE")];
        assert_eq!(told(&ran), failed.map(|(name, call)| format!("{place}{name}: {call}: File exists")), "{options}");
        fs::remove_dir_all(bench.out().join(place).join("sub")).unwrap();
        fs::write(bench.out().join(place).join("sub"), "").unwrap();
        let ran = bench.run(&format!("-xkf a.tar -C out {options} top/sub")).failed("File exists");
        let below = format!("{place}sub/b.log: no directory '{place}sub': MKDIR: File exists");
        assert_eq!(told(&ran), [format!("{place}sub: MKDIR: File exists"), below], "{options}");
        fs::remove_file(bench.out().join(place).join("sub")).unwrap();
    }
}

#[test]
fn a_name_that_does_not_fit_is_told_as_it_would_be_stored() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("d/e")).unwrap();
    fs::write(bench.path("d/e/f"), "f").unwrap();
    let long = "x".repeat(101);
    let ran = bench.run(&format!("-cf u.tar --format=ustar --transform=s,^d/e/f,{long}, d")).failed("");
    assert_eq!(told(&ran), [format!("{long}: file name is too long (cannot be split); not dumped")]);
    let ran = bench.run(&format!("-cf u.tar --format=ustar --transform=s,^d/e$,{long}, d")).failed("");
    assert_eq!(told(&ran), [format!("{long}/: file name is too long (cannot be split); not dumped")]);
    assert_eq!(bench.run("-tf u.tar").ok().stdout, "d/\nd/e/f\n");
}

/// GNU tar has a name where the `-C` before it leads: the first one in the working directory.
#[test]
fn names_are_not_extracted_into_the_directory_of_others() {
    let bench = Bench::new();
    for mode in ["-x", "-d"] {
        for parted in [
            "top/a.txt -C out top/sub",
            "-T list -C out top/sub",
            "top/a.txt -C out -T list",
            "top/a.txt -C out",
            "-T list -C out",
            "-C out top/a.txt -C top",
            "top/sub -C out --exclude x",
        ] {
            fs::write(bench.path("list"), "top/link\n").unwrap();
            bench
                .run(&format!("{mode}f a.tar {parted}"))
                .ended(2, "is behind names, and -C is about names that follow it");
        }
    }
    bench.run("xfC a.tar out top/a.txt -C none").ended(2, "-C 'none' is behind names");
    assert!(!bench.path("top").exists() && !bench.path("out/top").exists());
    bench.run("-xf a.tar -C out top/a.txt").ok();
    bench.run("xfC a.tar out top/sub --exclude x").ok();
    assert!(bench.path("out/top/a.txt").exists() && bench.path("out/top/sub/b.log").exists());
}

/// As GNU tar 1.34: in UTC there is a time to be listed; `--full-time` alone lists names.
#[test]
fn times_in_utc_are_listed_without_v() {
    let bench = Bench::new();
    let long = bench.run("-tvf a.tar --utc").ok().stdout;
    assert!(long.contains(" 2020-09-13 12:26 top/a.txt\n"), "{long}");
    assert_eq!(bench.run("-tf a.tar --utc").ok().stdout, long);
    let full = bench.run("-tf a.tar --utc --full-time top/a.txt").ok().stdout;
    assert!(full.ends_with(" 2020-09-13 12:26:40 top/a.txt\n"), "{full}");
    assert_eq!(bench.run("-tf a.tar --full-time top/a.txt").ok().stdout, "top/a.txt\n");
}
