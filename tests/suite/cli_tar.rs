//! partar's modes beside plain extraction, through the binary: listing, comparing, to standard output, names that change, the index.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, UNIX_EPOCH};

use super::cli_support::{Bench, NAMES, Ran, header, run_with, sample_tar};

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn members_are_listed_by_name_from_any_input() {
    let bench = Bench::new();
    assert_eq!(lines(&bench.run("tf a.tar").ok().stdout), NAMES);
    assert_eq!(lines(&bench.run_with("t", &sample_tar()).ok().stdout), NAMES);
    fs::write(bench.path("a.zst"), zstd::encode_all(&sample_tar()[..], 1).unwrap()).unwrap();
    assert_eq!(lines(&bench.run("--list --zstd -f a.zst").ok().stdout), NAMES);
    assert_eq!(lines(&bench.run("tf a.tar --wildcards *.log").ok().stdout), ["top/sub/b.log"]);
    assert_eq!(lines(&bench.run("tf a.tar top/sub --exclude=*.log").ok().stdout), ["top/sub/"]);
    fs::write(bench.path("names"), "top/a.txt\ntop/link\n").unwrap();
    assert_eq!(lines(&bench.run("tf a.tar -T names").ok().stdout), ["top/a.txt", "top/link"]);
    assert_eq!(bench.run("tf a.tar -N 2020-09-14").ok().stdout, "");
    assert_eq!(lines(&bench.run("tf a.tar --newer 2020-09-13").ok().stdout), NAMES);
    let ran = bench.run("tf a.tar nothing top/a.txt").failed("partar: nothing: Not found in archive");
    assert_eq!(ran.stdout, "top/a.txt\n");
    bench.run("tf names").failed("This does not look like a tar archive");
}

/// An archive is packed in several gzip members, and each ends where a member of the archive does.
#[test]
fn a_packed_archive_that_is_cut_or_damaged_between_its_parts_is_an_error() {
    let bench = Bench::new();
    let noise = |seed: u64| (0..300_000u64).map(move |i| ((i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8);
    for file in 0..20 {
        fs::write(bench.path(format!("out/{file}")), noise(file << 32).collect::<Vec<u8>>()).unwrap();
    }
    bench.run("-czf whole.tgz --sort=name out").ok();
    let whole = fs::read(bench.path("whole.tgz")).unwrap();
    let starts = |at: &usize| whole[*at..].starts_with(b"\x1f\x8b\x08\x04");
    let second = (1..whole.len()).find(starts).expect("several members");
    let members = lines(&bench.run("-tf whole.tgz").ok().stdout).len();
    let mut damaged = whole.clone();
    damaged[second] ^= 1;
    for (name, bytes, why) in [
        ("cut.tgz", &whole[..second], "The archive has no end"),
        ("damaged.tgz", &damaged, "what follows a gzip member is none"),
    ] {
        fs::write(bench.path(name), bytes).unwrap();
        let listed = bench.run(&format!("-tf {name}")).failed(why);
        assert!((2..members).contains(&lines(&listed.stdout).len()), "{}", listed.stdout);
        fs::create_dir(bench.path("to")).unwrap();
        bench.run(&format!("-xf {name} -C to")).failed(why);
        assert!(
            fs::read(bench.path("to/out/0")).unwrap() == noise(0).collect::<Vec<u8>>(),
            "what is whole is extracted"
        );
        fs::remove_dir_all(bench.path("to")).unwrap();
        bench.run_with("-t", bytes).failed(why);
    }
}

#[test]
fn what_an_operand_lacks_is_named() {
    let bench = Bench::new();
    bench.run("-cf x.tar -C nope src").failed("partar: nope: Cannot open: No such file or directory");
    let unset = bench.command_of(["-cf", "x.tar", ""]).output().unwrap();
    Ran::of(unset).failed("partar: '': Cannot stat: No such file or directory");
}

/// As of a script whose variable is unset.
#[test]
fn a_pattern_that_is_empty_excludes_nothing() {
    let bench = Bench::new();
    fs::write(bench.path("out/f"), "x").unwrap();
    fs::write(bench.path("patterns"), "\n").unwrap();
    for options in ["--exclude=", "--exclude=./", "--anchored --exclude=", "--no-wildcards --exclude=", "-X patterns"] {
        bench.run(&format!("-cf x.tar -C out {options} .")).ok();
        assert_eq!(bench.run("-tf x.tar").ok().stdout, "./\n./f\n", "{options}");
        assert_eq!(bench.run(&format!("-tf x.tar {options}")).ok().stdout, "./\n./f\n", "{options}");
    }
}

/// Members are there under the names that they would get.
/// Of a name that is in the archive twice the later time counts, wherever it stands: as GNU tar.
#[test]
fn what_is_updated_is_newer_than_any_member_of_its_name() {
    let bench = Bench::new();
    let dated = |day: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(day * 86_400);
        fs::write(bench.path("f"), day.to_string()).unwrap();
        fs::File::open(bench.path("f")).unwrap().set_modified(time).unwrap();
    };
    for (day, command) in [(20, "-cf x.tar f"), (10, "-rf x.tar f"), (15, "-uf x.tar f"), (21, "-uf x.tar f")] {
        dated(day);
        bench.run(command).ok();
    }
    assert_eq!(bench.run("-tf x.tar").ok().stdout.lines().count(), 3);
}

#[test]
fn what_is_updated_is_known_by_its_name_in_the_archive() {
    let bench = Bench::new();
    fs::write(bench.path("out/f"), "x").unwrap();
    bench.run("-cf x.tar out").ok();
    let update = "-uf x.tar --transform s,^,new/, out";
    for _ in 0..2 {
        bench.run(update).ok();
        assert_eq!(bench.run("-tf x.tar").ok().stdout, "out/\nout/f\nnew/out/\nnew/out/f\n");
    }
}

#[test]
fn what_is_in_no_directory_cannot_be_compared() {
    let bench = Bench::new();
    fs::write(bench.path("out/top"), "").unwrap();
    let told = bench.run("-df a.tar -C out").failed("partar: top/a.txt: Cannot stat: Not a directory");
    assert!(told.stdout.contains("top: File type differs"), "{told:?}");
    assert_eq!(told.stderr.lines().count(), 5, "{told:?}");
}

#[test]
fn a_directory_that_is_none_is_told_once() {
    let bench = Bench::new();
    fs::write(bench.path("names"), "a\nb\nc\n").unwrap();
    let whole = bench.path("a.tar").display().to_string();
    for (dir, said) in [
        ("nope", "partar: nope: Cannot open: No such file or directory"),
        ("nfs://", "partar: nfs://: 'nfs://' names no export path; write nfs://host/export"),
        ("nfs://127.0.0.1:1/e", "partar: nfs://127.0.0.1:1/e: Cannot mount: 127.0.0.1:1: cannot reach MOUNT"),
    ] {
        for names in ["-T names", "a b c", "-C sub a -C ../sub b"] {
            let told = bench.run(&format!("-cf x.tar -C {dir} {names}")).failed("Exiting with failure status");
            let about = |line: &&str| line.starts_with(said) || line.contains("/sub: ");
            assert_eq!(told.stderr.lines().filter(about).count() + 1, told.stderr.lines().count(), "{told:?}");
            assert!(names.contains("sub") || told.stderr.lines().count() == 2, "{told:?}");
        }
    }
    // Also when it comes again behind another one.
    let [nope, gone, out] = ["nope", "gone", "out"].map(|dir| bench.path(dir).display().to_string());
    for dirs in
        [format!("-C {nope} a -C {out} b -C {nope} c"), format!("-C {nope} a -C {gone} b -C {nope} c -C {gone} d")]
    {
        let told = bench.run(&format!("-cf x.tar {dirs}")).failed("/nope: Cannot open: No such file or directory");
        assert_eq!(told.stderr.lines().count(), 3, "{told:?}");
    }
    // What is not in it is stored all the same.
    let told = bench
        .run(&format!("--absolute-names -cf x.tar -C nope a {whole} b {whole}"))
        .failed("partar: nope: Cannot open");
    assert_eq!(told.stderr.lines().count(), 2, "{told:?}");
    assert_eq!(bench.run("-tf x.tar").ok().stdout, format!("{whole}\n{whole}\n"));
}

/// As in GNU tar 1.34.
#[test]
fn a_pattern_with_a_dot_is_about_names_with_a_dot() {
    let bench = Bench::new();
    bench.run("-xf a.tar").ok();
    let stored = |line: &str| {
        bench.run(&format!("-cf o.tar --sort=name {line}")).ok();
        bench.run("-tf o.tar").ok().stdout.replace('\n', " ")
    };
    let all = "top/ top/a.txt top/link top/sub/ top/sub/b.log ";
    assert_eq!(stored("--exclude=./top top"), all);
    assert_eq!(stored("--exclude=./sub top"), all);
    assert_eq!(stored("--exclude=./top ./top"), "");
    assert_eq!(stored("--exclude=./sub -C top ."), "./ ./a.txt ./link ");
    assert_eq!(stored("--exclude=sub ./top"), "./top/ ./top/a.txt ./top/link ");
    bench.run("-tf a.tar --exclude=./top/sub").ok();
    assert_eq!(bench.run("-tf a.tar --exclude=./top/sub").ok().stdout.lines().count(), NAMES.len());
}

/// As GNU tar 1.34: without a name in it an operand is about everything. What it finds by their order alone (`top top/sub`) is found in any.
#[test]
fn operands_without_names_and_within_each_other_are_found() {
    let bench = Bench::new();
    for operand in ["", ".", "./"] {
        for more in [&[][..], &["--wildcards"]] {
            let args = ["-tf", "a.tar"].iter().chain(more).chain([&operand]);
            let ran = Ran::of(bench.command_of(args).output().unwrap()).ok();
            assert_eq!(ran.stdout.lines().count(), NAMES.len(), "{operand} {more:?}");
        }
    }
    for operands in ["top/sub top/sub/b.log", "top/sub/b.log top/sub", "top/sub/.", "top/sub top/sub"] {
        assert_eq!(bench.run(&format!("-tf a.tar {operands}")).ok().stdout, "top/sub/\ntop/sub/b.log\n", "{operands}");
    }
}

#[test]
fn a_directory_in_which_nothing_is_done_has_to_be_there() {
    let bench = Bench::new();
    for mode in ["-tf", "-xOf"] {
        for (dirs, said) in [
            ("-C nope", "partar: nope: Cannot open: No such file or directory"),
            ("-C out -C nope", "partar: out/nope: Cannot open: No such file or directory"),
            ("-C a.tar", "partar: a.tar: Cannot open: Not a directory"),
        ] {
            let ran = bench.run(&format!("{mode} a.tar {dirs}")).failed(said);
            assert!(ran.stdout.is_empty() && ran.stderr.contains("Error is not recoverable"), "{ran:?}");
        }
        bench.run(&format!("{mode} none.tar -C nope")).failed("none.tar: Cannot open");
        bench.run(&format!("{mode} a.tar -C out -C ..")).ok();
    }
}

#[test]
fn columns_are_gnu_tars() {
    let bench = Bench::new();
    let owner = format!("{}/{}", rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let size = |size: &str| format!("{owner} {size:>width$}", width = 19 - owner.len() - 1);
    let ran = bench.run("-tvf a.tar --utc --numeric-owner").ok();
    assert_eq!(ran.stderr, "");
    let expected = [
        format!("drwxr-xr-x {} 2020-09-13 12:26 top/", size("0")),
        format!("-rw-rw-rw- {} 2020-09-13 12:26 top/a.txt", size("5")),
        format!("drwxr-xr-x {} 2020-09-13 12:26 top/sub/", size("0")),
        format!("-rw-r----- {} 2020-09-13 12:26 top/sub/b.log", size("10000")),
        format!("lrwxrwxrwx {} 2020-09-13 12:26 top/link -> a.txt", size("0")),
    ];
    assert_eq!(lines(&ran.stdout), expected);
    let mut command = bench.command("-tvvf a.tar --full-time top/a.txt");
    let local = Ran::of(command.env("TZ", "UTC-3").output().unwrap()).ok().stdout;
    assert!(local.contains(" 2020-09-13 15:26:40 top/a.txt"), "{local}");
}

#[test]
fn a_label_is_listed_first() {
    let bench = Bench::new();
    bench.run("-cf l.tar -V backup out").ok();
    assert_eq!(bench.run("-tf l.tar").ok().stdout, "backup\nout/\n");
    let long = bench.run("-tvf l.tar").ok();
    assert!(long.stdout.starts_with("V--------- 0/0               0 ") && long.stderr.is_empty(), "{long:?}");
    assert_eq!(bench.run("-xf l.tar -C out").ok().stderr, "");
}

#[test]
fn files_go_to_standard_output() {
    let bench = Bench::new();
    assert_eq!(bench.run("-xOf a.tar top/a.txt").ok().stdout, "alpha");
    let ran = bench.run("xOvf a.tar top/a.txt top/link").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("alpha", "top/a.txt\ntop/link\n"));
    assert_eq!(bench.run_with("xO", &sample_tar()).ok().stdout.len(), 10_005);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.command("xOf a.tar");
    // As GNU tar, by SIGPIPE: a script that asks for it with pipefail hears that not all was read.
    let unread = Ran::of(command.stdout(writer).output().unwrap());
    assert_eq!((unread.status, unread.stderr.as_str()), (Some(141), ""));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unread = Ran::of(bench.command("-tf a.tar").stdout(writer).output().unwrap());
    assert_eq!((unread.status, unread.stderr.as_str()), (Some(141), ""));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.command("xOf a.tar --index a.idx");
    let unread = Ran::of(command.stdout(writer).output().unwrap());
    assert!(unread.status == Some(141) && unread.stderr.contains("no index is kept"), "{unread:?}");
    assert!(fs::read_dir(bench.path("")).unwrap().all(|it| !it.unwrap().file_name().to_string_lossy().contains("idx")));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = bench.command("xOf a.tar");
    Ran::of(command.stdout(full).output().unwrap()).failed("stdout: No space left on device");
    let cut = run_with(bench.command("xO"), &sample_tar()[..4_000]).failed("Unexpected EOF");
    assert!(cut.stdout.starts_with("alphabbb"), "{cut:?}");
}

/// The messages are those of GNU tar 1.34, and their order the archive's.
#[test]
fn what_differs_is_told_in_gnu_tars_words() {
    let bench = Bench::new();
    let at = |name: &str| bench.path(format!("out/d/{name}"));
    fs::create_dir_all(at("sub")).unwrap();
    for name in ["cont", "equal", "gone", "mode", "mtime", "size", "type"] {
        fs::write(at(name), format!("hello {name}")).unwrap();
        fs::File::open(at(name)).unwrap().set_modified(UNIX_EPOCH + Duration::new(1_000_000_000, 5)).unwrap();
    }
    fs::write(at("large"), vec![b'x'; 5_000_000]).unwrap();
    fs::hard_link(at("equal"), at("zlink")).unwrap();
    fs::hard_link(at("equal"), at("zother")).unwrap();
    symlink("equal", at("sym")).unwrap();
    bench.run("-cf o.tar --sort=name -C out d").ok();
    let clean = bench.run("-df o.tar -C out").ok();
    assert_eq!((clean.stdout.as_str(), clean.stderr.as_str()), ("", ""));
    assert!(bench.run("-dvf o.tar -C out").ok().stdout.contains("d/large\n"));

    fs::rename(bench.path("out/d"), bench.path("out/e")).unwrap();
    bench.run("-df o.tar -C out").ended(1, "d/cont: Warning: Cannot stat");
    let ran = bench.run("-df o.tar -C out --transform s/^d/e/").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    let ran = bench.run("-df o.tar -C out --transform s/^d/e/ --transform s/^equal/none/s").ended(1, "");
    assert_eq!(ran.stdout, "e/sym: Symlink differs\n");
    fs::rename(bench.path("out/e"), bench.path("out/d")).unwrap();

    let dated = |name: &str, text: &[u8]| {
        let time = fs::metadata(at(name)).unwrap().modified().unwrap();
        fs::write(at(name), text).unwrap();
        fs::File::open(at(name)).unwrap().set_modified(time).unwrap();
    };
    dated("cont", b"hellO cont");
    let mut large = vec![b'x'; 5_000_000];
    large[4_999_999] = b'y';
    dated("large", &large);
    dated("size", b"hello");
    fs::remove_file(at("gone")).unwrap();
    fs::set_permissions(at("mode"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(at("sub"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::File::open(at("mtime")).unwrap().set_modified(UNIX_EPOCH).unwrap();
    fs::remove_file(at("type")).unwrap();
    fs::create_dir(at("type")).unwrap();
    fs::remove_file(at("sym")).unwrap();
    symlink("mode", at("sym")).unwrap();
    fs::remove_file(at("zother")).unwrap();
    fs::copy(at("equal"), at("zother")).unwrap();
    for line in ["-df o.tar -C out", "-df o.tar -C out -P 4 --window 2"] {
        let ran = bench.run(line).ended(1, "partar: d/gone: Warning: Cannot stat: No such file or directory\n");
        let expected = [
            "d/cont: Contents differ",
            "d/large: Contents differ",
            "d/mode: Mode differs",
            "d/mtime: Mod time differs",
            "d/size: Size differs",
            "d/sub: Mode differs",
            "d/sym: Symlink differs",
            "d/type: File type differs",
            "d/zother: Not linked to d/equal",
        ];
        assert_eq!(lines(&ran.stdout), expected, "{line}");
    }
    let piped = run_with(bench.command("-d -C out d/large"), &fs::read(bench.path("o.tar")).unwrap());
    assert_eq!(piped.ended(1, "").stdout, "d/large: Contents differ\n");
    bench.run("-df o.tar -C out d/equal d/none").failed("d/none: Not found in archive");
    let report = bench.run("-df o.tar -C out --report run.json").ended(1, "").stdout;
    let json: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
    assert_eq!(json["compared"]["different"], lines(&report).len() + 1);
}

#[test]
fn names_change_on_their_way() {
    let bench = Bench::new();
    let found = |line: &str| {
        fs::remove_dir_all(bench.out()).unwrap();
        fs::create_dir(bench.out()).unwrap();
        bench.run(&format!("{line} -C out")).ok();
        let walk = walkdir::WalkDir::new(bench.out()).min_depth(1).sort_by_file_name();
        let files = walk.into_iter().map(Result::unwrap).filter(|e| !e.file_type().is_dir());
        files.map(|e| e.path().strip_prefix(bench.out()).unwrap().display().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("-xf a.tar --transform=s/top/new/"), "new/a.txt new/link new/sub/b.log");
    assert_eq!(found("-xf a.tar --xform s,^top/,, --transform=s/a/b/g"), "b.txt link sub/b.log");
    assert_eq!(fs::read_link(bench.path("out/link")).unwrap().to_str().unwrap(), "b.txt");
    assert_eq!(found("-xf a.tar --strip-components=1 --transform=s,^,x/y/,"), "y/top/a.txt y/top/link y/top/sub/b.log");
    assert_eq!(found("-xf a.tar --one-top-level"), "a/top/a.txt a/top/link a/top/sub/b.log");
    assert_eq!(found("-xf a.tar --one-top-level=top"), "top/a.txt top/link top/sub/b.log");
    assert_eq!(found("-xf a.tar --one-top-level=n/m --strip-components=1"), "n/m/a.txt n/m/link n/m/sub/b.log");
    assert_eq!(found("-xf a.tar --newer-mtime 2020-09-14"), "");
    fs::copy(bench.path("a.tar"), bench.path("odd")).unwrap();
    bench.run("-xf odd --one-top-level").failed("--one-top-level=DIR");
    bench.run("-xf a.tar --one-top-level=../x").failed("--one-top-level");
}

#[test]
fn what_is_newer_is_kept() {
    let bench = Bench::new();
    bench.run("-xf a.tar -C out").ok();
    let put = |name: &str, secs: u64| {
        fs::write(bench.path(name), "mine").unwrap();
        fs::File::open(bench.path(name)).unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(secs)).unwrap();
    };
    put("out/top/a.txt", 1_600_000_001);
    put("out/top/sub/b.log", 1_599_999_999);
    let ran = bench.run("-xf a.tar -C out --keep-newer-files").ok();
    let told = |name| format!("partar: Current 'top/{name}' is newer or same age\n");
    assert_eq!(ran.stderr, ["a.txt", "link"].map(told).concat());
    assert_eq!(fs::read(bench.path("out/top/a.txt")).unwrap(), b"mine");
    assert_eq!(fs::metadata(bench.path("out/top/sub/b.log")).unwrap().len(), 10_000);
    put("out/top/a.txt", 1_600_000_000);
    bench.run("-xmf a.tar -C out --keep-newer-files").ok();
    assert_eq!(fs::read(bench.path("out/top/a.txt")).unwrap(), b"mine");
    // Directories are to be unlinked as well, and these have something in them.
    bench.run("-xUf a.tar -C out").failed("partar: top/sub: RMDIR: Directory not empty");
    assert_eq!(fs::read(bench.path("out/top/a.txt")).unwrap(), b"alpha");
}

/// An archive whose unwanted members are damaged: only what goes by the index gets past them.
#[test]
fn an_index_leads_to_the_members_that_are_wanted() {
    let bench = Bench::new();
    bench.run("-tf a.tar --index a.idx").ok();
    assert_eq!(fs::metadata(bench.path("a.idx")).unwrap().mode() & 0o111, 0);
    let time = fs::metadata(bench.path("a.tar")).unwrap().modified().unwrap();
    let mut damaged = sample_tar();
    // The header of top/a.txt, the second member.
    damaged[512..1024].fill(b'?');
    let damage = || {
        fs::write(bench.path("a.tar"), &damaged).unwrap();
        fs::File::options().append(true).open(bench.path("a.tar")).unwrap().set_modified(time).unwrap();
    };
    damage();
    bench.run("-xf a.tar -C out top/sub").failed("Skipping to next header");
    fs::remove_dir_all(bench.path("out/top")).unwrap();
    let ran = bench.run("-xf a.tar -C out top/sub --index a.idx").ok();
    assert_eq!((ran.stderr.as_str(), fs::metadata(bench.path("out/top/sub/b.log")).unwrap().len()), ("", 10_000));
    assert_eq!(bench.run("-tf a.tar --index a.idx --wildcards *link").ok().stdout, "top/link\n");
    assert_eq!(bench.run("-xOf a.tar --index a.idx top/sub/b.log").ok().stdout.len(), 10_000);
    bench.run("-tf a.tar --index a.idx top/a.txt").failed("bad checksum");
    // Before the archive that is there is emptied.
    let before = std::fs::read(bench.path("a.tar")).unwrap();
    bench.run("-czf a.tar --index b.idx out").failed("--index is for files that are not compressed");
    assert!(std::fs::read(bench.path("a.tar")).unwrap() == before);

    // Another archive, or damage: told, and made anew.
    fs::write(bench.path("a.tar"), sample_tar()).unwrap();
    let ran = bench.run("-tf a.tar --index a.idx top/link").ok();
    assert!(ran.stderr.contains("a.idx: not used: it is of another archive"), "{ran:?}");
    assert_eq!(bench.run("-tf a.tar --index a.idx top/link").ok().stderr, "");
    let mut index = fs::read(bench.path("a.idx")).unwrap();
    let last = index.len() - 1;
    index[last] ^= 1;
    fs::write(bench.path("a.idx"), &index).unwrap();
    let ran = bench.run("-tf a.tar --index a.idx top/link").ok();
    assert!(ran.stderr.contains("it is damaged"), "{ran:?}");
    assert_eq!(bench.run("-tf a.tar --index a.idx top/link").ok().stderr, "");
    fs::write(bench.path("a.idx"), "text").unwrap();
    bench.run("-tf a.tar --index a.idx top/link").ended(2, "is there and is no index");
}

#[test]
fn an_index_is_made_with_the_archive_and_kept_only_whole() {
    let bench = Bench::new();
    bench.run("-cf o.tar --index o.idx a.tar out").ok();
    assert_eq!(bench.run("-tf o.tar --index o.idx out").ok().stdout, "out/\n");
    assert_eq!(
        fs::read_dir(bench.path("."))
            .unwrap()
            .filter(|e| { e.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp") })
            .count(),
        0
    );
    fs::write(bench.path("cut.tar"), &sample_tar()[..4_000]).unwrap();
    bench.run("-tf cut.tar --index c.idx").failed("c.idx: no index is kept");
    assert!(!bench.path("c.idx").exists());
    bench.run("-czf o.tgz --index z.idx out").failed("files that are not compressed");
    bench.run_with("-t --index p.idx", &sample_tar()).failed("--index is for archives that are files");
    bench.run("-tf a.tar --index a.tar").failed("--index is a file of its own");
    let mut tar = tar::Builder::new(Vec::new());
    let mut global = header(b"g", tar::EntryType::XGlobalHeader, 0o644, 12);
    global.set_cksum();
    tar.append(&global, &b"12 comment=x"[..]).unwrap();
    tar.append(&header(b"a", tar::EntryType::Regular, 0o644, 1), &b"1"[..]).unwrap();
    fs::write(bench.path("g.tar"), tar.into_inner().unwrap()).unwrap();
    bench.run("-tf g.tar --index g.idx").failed("g.idx: no index is kept");
}

#[test]
fn an_index_is_written_over_nothing_but_an_index() {
    let bench = Bench::new();
    let archive = fs::read(bench.path("a.tar")).unwrap();
    fs::write(bench.path("notes"), "mine").unwrap();
    for index in ["./a.tar", "out/../a.tar"] {
        bench.run(&format!("-tf a.tar --index {index}")).ended(2, "is the archive");
    }
    bench.run("-cf ./a.tar out --index a.tar").ended(2, "is the archive");
    bench.run("-tf a.tar --index notes").ended(2, "notes: is there and is no index");
    bench.run("-cf b.tar out --index notes").ended(2, "notes: is there and is no index");
    assert!(!bench.path("b.tar").exists());
    assert!(fs::read(bench.path("a.tar")).unwrap() == archive);
    assert_eq!(fs::read(bench.path("notes")).unwrap(), b"mine");
    bench.run("-tf a.tar --index i").ok();
    fs::write(bench.path("a.tar"), [&archive[..], &[0; 512]].concat()).unwrap();
    bench.run("-tf a.tar --index i").ok();
}

#[test]
fn an_archive_that_is_there_is_kept_when_the_command_line_is_refused() {
    let bench = Bench::new();
    for (line, said) in [
        ("-caf x.tar.lzma out", "x.tar.lzma: by its name it is for lzma"),
        ("-czf x.tgz --level=99 out", "--level=99"),
        ("-cf x.tar --level=5 out", "--level needs"),
        // As GNU tar: it is said of the command line, and not of each member that has such a thing.
        ("-cf x.tar --xattrs --format=gnu out", "--xattrs can be used only on POSIX archives"),
        ("-cf x.tar --acls --format=ustar out", "--acls can be used only on POSIX archives"),
        ("-cf x.tar --selinux --format=gnu out", "--selinux can be used only on POSIX archives"),
        ("-cf x.tar -S --format=ustar out", "GNU features wanted on incompatible archive format"),
    ] {
        let name = line.split(' ').nth(1).unwrap();
        fs::write(bench.path(name), "an older archive").unwrap();
        bench.run(line).ended(2, said);
        assert_eq!(fs::read(bench.path(name)).unwrap(), b"an older archive", "{line}");
    }
}

#[test]
fn a_program_that_ends_too_early_fails_the_archive() {
    let bench = Bench::new();
    fs::write(bench.path("out/large"), vec![7; 4 << 20]).unwrap();
    for program in ["head -c 100", "head -c 100 >/dev/null", "exit 3;", "no-such-program"] {
        let args = ["-I", program, "-cf", "x.tar.x", "out"];
        let ran = Ran::of(bench.command_of(args).output().unwrap());
        ran.ended(2, program.split([' ', ';']).next().unwrap());
    }
}

#[test]
fn operands_of_creation_are_what_gnu_tar_takes_them_for() {
    let bench = Bench::new();
    fs::create_dir(bench.path("dir")).unwrap();
    fs::write(bench.path("dir/file"), "text").unwrap();
    std::os::unix::fs::symlink("dir", bench.path("link")).unwrap();
    // The link itself, not what it leads to.
    bench.run("-cf b.tar link/ dir//").ok();
    assert_eq!(lines(&bench.run("-tf b.tar").ok().stdout), ["link", "dir/", "dir/file"]);
    // What a name that ends so is of is a directory.
    bench.run("-cf d.tar dir/file/.").ended(2, "Cannot stat: Not a directory");
    bench.run("-cf d.tar dir/none/.").ended(2, "Cannot stat: No such file or directory");
    // An unset variable is not the directory that one is in.
    let empty = bench.command_of(["-cf", "c.tar", "dir/file", ""]).output().unwrap();
    Ran::of(empty).failed("Cannot stat: No such file or directory");
    assert_eq!(lines(&bench.run("-tf c.tar").ok().stdout), ["dir/file"]);
}

/// Archives that were put one behind the other are one with -i alone.
#[test]
fn what_is_written_over_behind_an_end_is_told() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        fs::write(bench.path(name), name.repeat(20_000)).unwrap();
        bench.run(&format!("-cf {name}.tar {name}")).ok();
    }
    let both = [fs::read(bench.path("a.tar")).unwrap(), fs::read(bench.path("b.tar")).unwrap()].concat();
    fs::write(bench.path("both.tar"), &both).unwrap();
    assert_eq!(bench.run("-rif both.tar c").ok().stderr, "");
    assert_eq!(bench.run("-tif both.tar").ok().stdout, "a\nb\nc\n");
    fs::write(bench.path("both.tar"), &both).unwrap();
    bench.run("-rf both.tar c").ended(0, "is no part of it and may be written over");
    assert_eq!(bench.run("-tf both.tar").ok().stdout, "a\nc\n");
    // Nothing is cut off; and where nothing is added, it is as it was.
    assert_eq!(fs::metadata(bench.path("both.tar")).unwrap().len(), both.len() as u64);
    fs::write(bench.path("both.tar"), &both).unwrap();
    bench.run("-uf both.tar a").ended(0, "is no part of it");
    assert_eq!(bench.run("-tif both.tar").ok().stdout, "a\nb\n");
    // Zeros are what fills a record, of whatever length.
    bench.run("-b 512 -cf wide.tar a").ok();
    assert_eq!(bench.run("-rf wide.tar c").ok().stderr, "");
}

/// As GNU tar does.
#[test]
fn options_and_the_archives_name_may_be_in_the_environment() {
    let bench = Bench::new();
    let with = |options: &str, line: &str| {
        let mut command = bench.command(line);
        Ran::of(command.env("TAR_OPTIONS", options).env("TAPE", "a.tar").output().unwrap())
    };
    for (options, line) in [("", "tf a.tar"), (" ", "t"), ("-f a.tar --", "t"), ("--exclude='no such'", "-t")] {
        assert_eq!(lines(&with(options, line).ok().stdout), NAMES, "{options} {line}");
    }
    let name = NAMES.iter().find(|name| !name.ends_with('/')).unwrap();
    let ran = with(&format!("--exclude=\"{name}\""), "tf a.tar").ok();
    assert_eq!(lines(&ran.stdout).len(), NAMES.len() - 1, "{ran:?}");
    with("-v a", "tf a.tar").ended(2, "non-option arguments in TAR_OPTIONS");
    with("-v '", "tf a.tar").ended(2, "cannot split TAR_OPTIONS");
    with("--bogus", "tf a.tar").ended(2, "in TAR_OPTIONS");
}

/// It is told, and what is extracted is not what was stored: as GNU tar, all modes that read end with 2.
#[test]
fn a_header_without_its_numbers_is_no_success() {
    let bench = Bench::new();
    let mut header = tar::Header::new_ustar();
    header.set_path("f").unwrap();
    header.set_entry_type(tar::EntryType::Regular);
    let fields = [header.as_old().mode.as_ptr(), header.as_old().mtime.as_ptr()];
    let [mode, mtime] = fields.map(|field| field as usize - header.as_bytes().as_ptr() as usize);
    for (at, field, bytes) in [(mode, "mode", &[b' '; 8][..]), (mtime, "mtime", b"yesterday   ")] {
        let mut block = *header.as_bytes();
        block[at..at + bytes.len()].copy_from_slice(bytes);
        let mut flawed = tar::Header::from_byte_slice(&block).clone();
        flawed.set_cksum();
        fs::write(bench.path("flawed.tar"), [&flawed.as_bytes()[..], &[0; 1024]].concat()).unwrap();
        for line in ["-tf flawed.tar", "-xf flawed.tar -C out", "-df flawed.tar -C out", "-xOf flawed.tar"] {
            bench.run(line).ended(2, &format!("f: no number in the {field} field"));
        }
        assert!(bench.out().join("f").exists());
    }
}

/// As of GNU tar: no name has a NUL in it.
#[test]
fn a_list_turns_into_one_of_nuls_at_its_first() {
    let bench = Bench::new();
    for name in ["a", "b\nc", "d e"] {
        fs::write(bench.path("out").join(name), "").unwrap();
    }
    fs::write(bench.path("list"), "a\nd e\0b\nc\0").unwrap();
    bench.run("-cf turned.tar -C out -T list").ok();
    assert_eq!(lines(&bench.run("-tf turned.tar").ok().stdout), ["a", "d e", "b\\nc"]);
}
