//! Runs from where a path does not lead: what cannot be told from there removes nothing. And one server under two names.

use std::fs;
use std::process::{Command, Stdio};

use super::cli_support::{Bench, Ran, Sim};
use super::tree::{assert_same, dump_dir};

/// Runs shell commands in a directory whose path no call takes: more than 4,096 bytes. `$b` is the bench.
fn far_down(bench: &Bench, commands: &str) -> Ran {
    let name = "n".repeat(250);
    let way = format!("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do mkdir -p {name}; cd -P {name}; done");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("set -e; {way}; {commands}")).env("b", bench.path("")).current_dir(bench.path(""));
    Ran::of(shell.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn from_a_directory_without_a_path_nothing_is_removed_that_a_pattern_may_name() {
    let bench = Bench::new();
    let plant = "mkdir t; echo 1 >t/keep; echo 2 >t/go; ln -s t l";
    let ran = far_down(&bench, &format!("{plant}; set +e; $b/parrm --exclude l/keep t; echo $?; cat t/keep t/go"));
    assert_eq!(ran.stdout, "2\n1\n2\n", "{ran:?}");
    assert!(ran.stderr.contains("cannot be reached by its path"), "{ran:?}");
    // Without patterns it is a directory like any other.
    assert_eq!(far_down(&bench, "$b/parrm -r t; ls").ok().stdout, "l\n");
}

#[test]
fn from_a_directory_without_a_path_nothing_is_deleted_around_the_source() {
    let bench = Bench::new();
    let plant = "mkdir -p s/sub; echo 1 >s/f; echo 2 >s/sub/g";
    let ran = far_down(&bench, &format!("{plant}; set +e; $b/parcp --delete s/sub s; echo $?; cat s/f"));
    assert_eq!(ran.stdout, "1\n1\n", "{ran:?}");
    assert!(ran.stderr.contains("it cannot be told whether the source 's/sub' is in the destination 's'"), "{ran:?}");
    assert_eq!(far_down(&bench, "$b/parcp s copy; cat copy/sub/g").ok().stdout, "2\n");
}

#[test]
fn what_the_source_is_in_is_not_deleted_by_another_name_of_its_server() {
    let (sim, bench) = (Sim::start(&["--unlimited"]), Bench::new());
    fs::create_dir_all(bench.path("e/s/sub")).unwrap();
    fs::write(bench.path("e/s/f"), "1").unwrap();
    fs::write(bench.path("e/s/sub/g"), "2").unwrap();
    let url = sim.url.trim_end_matches('/');
    let other = url.replace("127.0.0.1", "localhost");
    bench.run_as(&format!("parcp e {url}/e")).ok();
    for to in ["e/s", "e"] {
        let line = format!("parcp --delete {url}/e/s/sub {other}/{to}");
        bench.run_as(&line).ended(1, "--delete would remove the source 'nfs://127.0.0.1");
        bench.run_as(&format!("parcp --verify-only e {url}/e")).ok();
    }
    // What is left out is not deleted, nor is anything around a part of the source.
    bench.run_as(&format!("parcp --delete {url}/e/s {other}/e/s/new")).ended(1, "into itself");
    bench.run_as(&format!("parcp --delete --exclude sub {url}/e/s/sub {other}/e/s")).ok();
    bench.run_as(&format!("parcp {url}/e is")).ok();
    assert!(!bench.path("is/s/f").exists() && bench.path("is/s/sub/g").exists());
}

#[test]
fn archives_are_made_and_added_to_where_no_path_leads() {
    let bench = Bench::new();
    let ran = far_down(
        &bench,
        "mkdir t; echo 1 >t/f; echo 2 >g; $b/partar -cf a.tar t; $b/partar -rf a.tar g; $b/partar -tf a.tar",
    );
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "t/\nt/f\ng\n", ""));
    let ran = far_down(&bench, "ln -s t l; $b/partar -cf a.tar l/f; $b/partar -chf b.tar t; $b/partar -tf b.tar");
    assert_eq!(ran.status, Some(2), "what a link leads to is not gone after there: {ran:?}");
    // A directory that was removed: what is named by its whole path is elsewhere.
    let mut shell = Command::new("sh");
    let gone = "set -e; mkdir w; cd w; rmdir ../w; mkdir ../w; ../partar -cf - -C \"$b\" a.tar | ../partar -tf -";
    shell
        .arg("-c")
        .arg(gone.replace("../partar", "\"$b\"/partar"))
        .env("b", bench.path(""))
        .current_dir(bench.path(""));
    let ran = Ran::of(shell.stdin(Stdio::null()).output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "a.tar\n", ""));
}

#[test]
fn lists_with_nuls_are_no_lists_of_patterns() {
    let bench = Bench::new();
    for dir in ["s", "d"] {
        fs::create_dir(bench.path(dir)).unwrap();
        fs::write(bench.path(dir).join("keep"), dir.repeat(dir.len() + usize::from(dir == "s"))).unwrap();
    }
    fs::write(bench.path("d/precious"), "d").unwrap();
    fs::write(bench.path("ex"), "keep\0precious\0").unwrap();
    let before = dump_dir(&bench.path("d"));
    bench.run_as("parrm -r --exclude-from ex d").failed("has a NUL in it");
    bench.run_as("parcp --delete --exclude-from ex s d").failed("has a NUL in it");
    assert_same(&before, &dump_dir(&bench.path("d")), "nothing was removed");
    // With NULs between names the patterns have them, too.
    fs::write(bench.path("names"), "keep\0new\0").unwrap();
    fs::write(bench.path("s/new"), "s").unwrap();
    bench.run_as("parcp -0 --files-from names --exclude-from ex s d").ok();
    assert_eq!(fs::read(bench.path("d/keep")).unwrap(), b"d");
    assert!(bench.path("d/new").exists());
    // find lists the directory itself first.
    fs::write(bench.path("found"), ".\n./keep\n./new\n").unwrap();
    bench.run_as("parcp --files-from found s d").ok();
    assert_eq!(fs::read(bench.path("d/keep")).unwrap(), b"ss");
    let sim = Sim::start(&["--unlimited"]);
    bench.run_as(&format!("parcp s/keep {}/none/", sim.url.trim_end_matches('/'))).ended(1, "Not a directory");
}

/// As for GNU tar: below an operand it is gone, as an operand it fails.
#[test]
fn a_link_to_nothing_that_is_followed_is_told_as_gone() {
    let bench = Bench::new();
    fs::create_dir(bench.path("t")).unwrap();
    fs::write(bench.path("t/a"), "a").unwrap();
    std::os::unix::fs::symlink("nothing", bench.path("t/l")).unwrap();
    let gone = "partar: t/l: File removed before we read it\n";
    assert_eq!(bench.run_as("partar -chf a.tar t").ended(1, gone).stderr, gone);
    assert_eq!(bench.run_as("partar -tf a.tar").ok().stdout, "t/\nt/a\n");
    bench.run_as("partar -chf a.tar t/l").ended(2, "partar: t/l: Cannot stat: No such file or directory");
    std::os::unix::fs::symlink("loop", bench.path("t/loop")).unwrap();
    bench.run_as("partar -chf a.tar t").ended(2, "partar: t/loop: Cannot stat: Too many levels of symbolic links");
}

/// As by GNU tar: what is reached again through a link is a link in the archive, whatever number of names the file has.
#[test]
fn files_that_links_lead_to_again_are_hard_links() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("t/other")).unwrap();
    fs::write(bench.path("t/a"), "a").unwrap();
    fs::hard_link(bench.path("t/a"), bench.path("t/b")).unwrap();
    fs::write(bench.path("t/x"), "x").unwrap();
    fs::write(bench.path("outside"), "o").unwrap();
    fs::write(bench.path("t/other/f"), "f").unwrap();
    for (text, name) in [("a", "c"), ("x", "y"), ("../outside", "o1"), ("../outside", "o2"), ("other", "same")] {
        std::os::unix::fs::symlink(text, bench.path("t").join(name)).unwrap();
    }
    let links = |options: &str| {
        bench.run_as(&format!("partar -chf a.tar --sort=name {options} t")).ok();
        let listed = bench.run_as("partar -tvf a.tar").ok().stdout;
        let links: Vec<String> = listed.lines().filter_map(|l| Some(l[l.find(" t/")? + 1..].to_string())).collect();
        links.into_iter().filter(|line| line.contains(" link to ")).collect::<Vec<_>>()
    };
    let all =
        ["t/b link to t/a", "t/c link to t/a", "t/o2 link to t/o1", "t/same/f link to t/other/f", "t/y link to t/x"];
    assert_eq!(links(""), all);
    assert_eq!(links("--hard-dereference"), [""; 0]);
    bench.run_as("partar -chf a.tar --sort=name t").ok();
    bench.run_as("partar -xf a.tar -C out").ok();
    assert_eq!(fs::read(bench.out().join("t/o2")).unwrap(), b"o");
}
