//! parrm's patterns and ages through the binary: what they leave alone, and what is told of those that mean nothing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::cli_rm::{left, plant};
use super::cli_support::{Bench, Ran, Sim};

/// What any reading of a pattern names stays: GNU tar's, rsync's, and paths as the operand was typed.
#[test]
fn a_pattern_that_may_be_meant_in_several_ways_leaves_more_alone() {
    let bench = Bench::new();
    let whole = bench.path("zz/keep").display().to_string();
    for pattern in ["keep", "./keep", "/keep", "keep/", "/keep/", "**/keep", "zz/keep", "./zz/keep", "zz/ke?p/", &whole]
    {
        for operand in ["zz", "./zz/", &bench.path("zz").display().to_string()] {
            fs::create_dir_all(bench.path("zz/keep")).unwrap();
            fs::write(bench.path("zz/keep/f"), "").unwrap();
            fs::write(bench.path("zz/keeper"), "").unwrap();
            bench.run_as(&format!("parrm --exclude={pattern} {operand}")).ok();
            assert_eq!(left(&bench, "zz"), ["keep", "keep/f"], "{pattern} {operand}");
        }
    }
    bench.run_as("parrm --exclude=/ zz").ended(2, "names nothing that could stay");
    assert!(bench.path("zz/keep/f").exists());
    bench.run_as("parrm --exclude=zz/ zz").ok();
    assert!(bench.path("zz/keep/f").exists());
}

/// `p/x` and `p/y` in a bench, of which `--exclude=pattern operand` may remove `p/y` alone.
fn keeps_x(bench: &Bench, flags: &str, pattern: &str, operand: &str) -> Ran {
    fs::create_dir_all(bench.path("p")).unwrap();
    for name in ["p/x", "p/y"] {
        fs::write(bench.path(name), name).unwrap();
    }
    let ran = bench.run_as(&format!("parrm {flags}--exclude={pattern} {operand}"));
    assert!(bench.path("p/x").exists(), "{flags}{pattern} {operand} {ran:?}");
    ran
}

#[test]
fn a_pattern_is_also_an_absolute_path_or_one_from_further_up() {
    let bench = Bench::new();
    let here = bench.path("").canonicalize().unwrap();
    let name = here.file_name().unwrap().to_str().unwrap();
    let here = here.to_str().unwrap();
    symlink(".", bench.path("alias")).unwrap();
    for (pattern, operand) in [
        (format!("{here}/p/x"), "p".to_string()),
        (format!("{here}/p/x"), format!("../{name}/p")),
        (format!("{here}/p/[x]"), "alias/p".into()),
        (format!("{here}//./p/x"), "./p/".into()),
        (format!("{here}/alias/p/x"), "p".into()),
        (format!("{here}/*/x"), "p".into()),
        ("p/x".into(), format!("{here}/p")),
        ("./p/x".into(), format!("{here}/p")),
        ("alias/p/x".into(), format!("{here}/p")),
        ("/p/x".into(), format!("{here}/p")),
        (format!("{name}/p/x"), format!("{here}/p")),
        ("p//x".into(), "p".into()),
        ("p/**/x".into(), "p".into()),
    ] {
        for flags in ["", "--contents ", "--dry-run "] {
            let ran = keeps_x(&bench, flags, &pattern, &operand).ok();
            assert_eq!(bench.path("p/y").exists(), flags == "--dry-run ", "{flags}{pattern} {operand}");
            assert!(!ran.stderr.contains("left nothing alone"), "{ran:?}");
        }
    }
    // Of a list's paths too.
    fs::write(bench.path("p/y"), "").unwrap();
    fs::write(bench.path("list"), "p\n").unwrap();
    bench.run_as(&format!("parrm --files-from list --exclude {here}/p/x alias/.")).ok();
    assert_eq!(left(&bench, "p"), ["x"]);
}

#[test]
fn an_operand_that_a_pattern_names_is_left_alone_and_that_is_told() {
    let bench = Bench::new();
    let here = bench.path("").canonicalize().unwrap();
    let here = here.to_str().unwrap();
    for pattern in [format!("{here}/p"), format!("{here}/p/"), here.into(), format!("{here}/?"), "/*".into()] {
        for flags in ["", "--contents "] {
            let ran = keeps_x(&bench, flags, &pattern, "p").ok();
            let told =
                format!("p: left alone with all that is in it: pattern '{pattern}' names it, or a directory above");
            assert!(ran.stderr.contains(&told) && bench.path("p/y").exists(), "{ran:?}");
        }
    }
}

#[test]
fn a_pattern_that_names_a_directory_above_an_operand_keeps_it() {
    let bench = Bench::new();
    for operand in ["p/x", "p/y"] {
        let ran = keeps_x(&bench, "", "p", operand).ok();
        assert!(ran.stderr.contains("pattern 'p' names it, or a directory above it"), "{ran:?}");
        assert!(bench.path("p/y").exists());
    }
}

#[test]
fn a_pattern_that_can_mean_nothing_ends_the_run_before_anything_goes() {
    let bench = Bench::new();
    for (pattern, said) in [
        ("../trial/p/x", "'..' is not followed; write the path without it"),
        ("p/sub/../x", "pattern 'p/sub/../x' is not clear"),
        ("~/p/x", "write $HOME"),
        ("nfs://127.0.0.1/p/x", "no operand is; write the path"),
        ("./", "names nothing that could stay"),
    ] {
        keeps_x(&bench, "", pattern, "p").failed(said);
        assert!(bench.path("p/y").exists(), "{pattern}");
    }
    for (list, said) in
        [(&b"x\r\n"[..], "'x\\r' is not clear: it ends in a carriage return"), (b"\xef\xbb\xbfx", "byte order")]
    {
        fs::write(bench.path("list"), list).unwrap();
        bench.run_as("parrm --exclude-from list p").failed(said);
        assert_eq!(left(&bench, "p"), ["x", "y"]);
    }
}

#[test]
fn a_pattern_with_a_path_that_kept_nothing_is_told() {
    let bench = Bench::new();
    for pattern in ["q/x", "/nowhere/p/x"] {
        let told = format!("parrm: pattern '{pattern}' of --exclude has left nothing alone\n");
        assert_eq!(told_of(&bench, pattern), told);
    }
    for pattern in ["none", "*/none", "/x", "p/x", "*.o", "[!a]z", "no ne"] {
        assert_eq!(told_of(&bench, pattern), "", "{pattern}");
    }
}

/// What is told of `pattern` beside one that keeps what is to stay.
fn told_of(bench: &Bench, pattern: &str) -> String {
    fs::create_dir_all(bench.path("p")).unwrap();
    ["p/x", "p/y"].iter().for_each(|name| fs::write(bench.path(name), "").unwrap());
    let ran = bench.command_as("parrm", ["--exclude=x", "--exclude", pattern, "p"]).output().unwrap();
    Ran::of(ran).ok().stderr
}

#[test]
fn a_pattern_in_another_programs_words_that_kept_nothing_is_told() {
    let bench = Bench::new();
    for pattern in ["{keep,y}", "{*.o,y}", "!y", "!*.o", "y ", " y", "y\t", "y /", "*/{y,z}"] {
        let shown = pattern.replace('\t', "\\t");
        let told = format!("parrm: pattern '{shown}' of --exclude has left nothing alone\n");
        assert_eq!(told_of(&bench, pattern), told);
    }
    // These are names, and where one is there it stays.
    for name in ["{keep,y}", "!y", "y "] {
        fs::create_dir_all(bench.path("p")).unwrap();
        fs::write(bench.path("p").join(name), "").unwrap();
        assert_eq!(told_of(&bench, name), "");
        fs::remove_file(bench.path("p").join(name)).unwrap();
        assert_eq!(left(&bench, "p"), ["x"]);
    }
}

#[test]
fn patterns_of_exports_are_urls_or_paths() {
    let bench = Bench::new();
    let served = tempfile::tempdir().unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--targets", "2", "--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    let (operand, pattern) = (format!("{url}/e/p"), format!("{url}/e/p/x"));
    let first = "nfs://127.0.0.1/e/p/x".to_string();
    for pattern in [pattern.as_str(), &first, "/e/p/x", "/p/x", "p/x", "e/p/x", "/x", &format!("{url}/e//p/[x]")] {
        for flags in ["", "--contents "] {
            fs::create_dir_all(served.path().join("e/p")).unwrap();
            ["x", "y"].iter().for_each(|name| fs::write(served.path().join("e/p").join(name), "").unwrap());
            bench.run_as(&format!("parrm {flags}--exclude={pattern} {operand}")).ok();
            let is_there = ["x", "y"].map(|name| served.path().join("e/p").join(name).exists());
            assert_eq!(is_there, [true, false], "{flags}{pattern}");
        }
    }
    let ran = bench.run_as(&format!("parrm --exclude={url}/e {operand}")).ok();
    assert!(ran.stderr.contains("left alone") && served.path().join("e/p/x").exists(), "{ran:?}");
    fs::write(bench.path("list"), "p/x\n").unwrap();
    bench.run_as(&format!("parrm --files-from list --exclude={url}/e/p/x {url}/e")).ok();
    assert!(served.path().join("e/p/x").exists());
    // A URL that is none is a usage error, and nothing of the rest goes.
    bench.run_as(&format!("parrm a.tar {operand} nfs://127.0.0.1:2049")).failed("names no export path");
    assert!(bench.path("a.tar").exists() && served.path().join("e/p/x").exists());
}

/// A name may be any bytes, and so may a pattern.
#[test]
fn a_pattern_that_is_no_text_leaves_what_it_names_alone() {
    let bench = Bench::new();
    let at = |bytes: &[u8]| bench.path(OsStr::from_bytes(bytes));
    let line = |args: &[&[u8]]| {
        fs::create_dir_all(at(b"t\xff/d")).unwrap();
        for name in [&b"t\xff/\xff"[..], b"t\xff/d/\xffx", b"t\xff/goes"] {
            fs::write(at(name), "").unwrap();
        }
        let ran = bench.command_as("parrm", args.iter().map(|arg| OsStr::from_bytes(arg))).output().unwrap();
        assert!(ran.status.success() && !at(b"t\xff/goes").exists(), "{ran:?}");
        [at(b"t\xff/\xff").exists(), at(b"t\xff/d/\xffx").exists()]
    };
    let whole = [bench.path("").canonicalize().unwrap().as_os_str().as_bytes(), b"/t\xff/d/"].concat();
    fs::write(bench.path("patterns"), b"\xff\n\xff?\n").unwrap();
    for (option, pattern, kept) in [
        (&b"--exclude"[..], &b"\xff"[..], [true, false]),
        (b"--exclude", b"\xff*", [true, true]),
        (b"--exclude", b"t\xff/d", [false, true]),
        (b"--exclude", &whole, [false, true]),
        (b"--exclude", b"d/\xffx", [false, true]),
        (b"--exclude-from", b"patterns", [true, true]),
    ] {
        assert_eq!(line(&[option, pattern, b"t\xff"]), kept, "{}", pattern.escape_ascii());
    }
    let (served, sim) =
        (bench.path("served"), Sim::start(&["--dir", bench.path(".").to_str().unwrap(), "--unlimited"]));
    fs::create_dir_all(&served).unwrap();
    fs::write(served.join(OsStr::from_bytes(b"\xff")), "").unwrap();
    fs::write(served.join("goes"), "").unwrap();
    for pattern in [[sim.url.as_bytes(), b"served/\xff"].concat(), [sim.url.as_bytes(), b"served/%ff"].concat()] {
        let args = [&b"--exclude"[..], &pattern, sim.url.as_bytes()];
        let args = [args[0], args[1], &[args[2], b"served"].concat()].map(OsStr::from_bytes).map(ToOwned::to_owned);
        let ran = bench.command_as("parrm", args).output().unwrap();
        assert!(ran.status.success() && served.join(OsStr::from_bytes(b"\xff")).exists(), "{ran:?}");
        assert!(!served.join("goes").exists());
    }
}

#[test]
fn patterns_and_ages_leave_things_alone() {
    let bench = Bench::new();
    plant(&bench, "t");
    fs::write(bench.path("patterns"), "deep").unwrap();
    bench.run_as("parrm t --exclude *.log --exclude-from patterns").ok();
    assert_eq!(left(&bench, "t"), ["b.log", "sub", "sub/c.log", "sub/deep", "sub/deep/d"]);
    let old = fs::File::options().write(true).open(bench.path("t/b.log")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
    bench.run_as("parrm t --older-than 2001-09-09").ok();
    assert!(bench.path("t/b.log").exists());
    bench.run_as("parrm t --older-than 30d").ok();
    assert_eq!(left(&bench, "t"), ["sub", "sub/c.log", "sub/deep", "sub/deep/d"]);
    bench.run_as("parrm t --older-than yesterday").ended(2, "neither a span");
    bench.run_as("parrm t --contents").ok();
    assert_eq!(left(&bench, "t"), Vec::<String>::new());
}
