//! Members whose names lead out of the place that they are put in: what partar takes off them, tells and refuses is what GNU tar 1.34 does.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::process::Command;

use crate::cli_support::{Bench, PARFS, Ran};
use crate::tars::Tar;

const OF_MEMBERS: &str = "partar: Removing leading `/' from member names\n";
const OF_LINKS: &str = "partar: Removing leading `/' from hard link targets\n";

/// `absolute.tar`, `dots.tar` and `root.tar`.
fn bench() -> Bench {
    let bench = Bench::new();
    let put = |name: &str, tar: Tar| fs::write(bench.path(name), tar.bytes()).unwrap();
    let absolute = Tar::default().dir("/d/").file("/d/f", "f").link("/d/h", "/d/f").symlink("/d/s", "/d/f");
    put("absolute.tar", absolute.file("rel/x", "x").file("//two/y", "y"));
    let dots = Tar::default().file("../a", "a").file("a/../b", "b").file("ok", "ok").file("..", "c").file("/../z", "z");
    put("dots.tar", dots.link("l", "../ok").link("m", "x/../../none"));
    put("root.tar", Tar::default().dir("/").file("/f", "f"));
    bench
}

/// Runs with an empty `out` as the destination; the files that are then in it.
fn extracted(bench: &Bench, line: &str) -> (Ran, String) {
    fs::remove_dir_all(bench.out()).unwrap();
    fs::create_dir(bench.out()).unwrap();
    let ran = bench.run(&format!("-C out {line}"));
    let walk = walkdir::WalkDir::new(bench.out()).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = walk.filter(|entry| !entry.file_type().is_dir());
    let names = files.map(|entry| entry.path().strip_prefix(bench.out()).unwrap().display().to_string());
    (ran, names.collect::<Vec<_>>().join(" "))
}

#[test]
fn absolute_members_are_extracted_below_the_destination() {
    let bench = bench();
    let (ran, names) = extracted(&bench, "-xvf absolute.tar");
    let ran = ran.ok();
    assert_eq!(names, "d/f d/h d/s rel/x two/y");
    assert_eq!(ran.stdout, "/d/\n/d/f\n/d/h\n/d/s\nrel/x\n//two/y\n");
    let told = [OF_MEMBERS, OF_LINKS, "partar: Removing leading `//' from member names\n"].concat();
    assert!(ran.stderr.starts_with(&told), "{ran:?}");
    assert_eq!(fs::read_link(bench.path("out/d/s")).unwrap().to_str(), Some("/d/f"));
    assert_eq!(fs::read(bench.path("out/d/h")).unwrap(), b"f");
    // The slash goes before components do, and behind what expressions make of the name.
    assert_eq!(extracted(&bench, "-xf absolute.tar --strip-components=1").1, "f h s x y");
    let (ran, names) = extracted(&bench, "-xf absolute.tar --transform=s,^/d,/e, --exclude=s");
    assert_eq!((names.as_str(), ran.ok().stderr), ("e/f e/h rel/x two/y", told));
    let (ran, names) = extracted(&bench, "-xf absolute.tar --transform=s,^/*,,");
    assert_eq!((names.as_str(), ran.ok().stderr.as_str()), ("d/f d/h d/s rel/x two/y", ""));
    assert_eq!(
        extracted(&bench, "-xf absolute.tar --one-top-level=top").1,
        "top/d/f top/d/h top/d/s top/rel/x top/two/y"
    );
    // What expressions put before a name leads out no more than what the archive does.
    assert_eq!(extracted(&bench, "-xf a.tar --transform=s,^,../,").1, "top/a.txt top/link top/sub/b.log");
    let (ran, names) = extracted(&bench, "-xf root.tar");
    assert_eq!((names.as_str(), ran.ok().stderr.as_str()), ("f", OF_MEMBERS));
    let ran = bench.run("-xOf absolute.tar").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("fxy", told_of(&["/", "//"])));
}

/// As much as is then extracted, and what is then told.
#[test]
fn a_forecast_knows_what_is_taken_off() {
    let bench = bench();
    let plan = |line: &str| {
        let mut command = Command::new(PARFS);
        command.args("plan extract".split(' ')).args(line.split(' ')).current_dir(bench.path(""));
        Ran::of(command.output().unwrap())
    };
    for line in ["-xf absolute.tar", "-xf absolute.tar --strip-components=1", "-xf dots.tar", "-xf root.tar"] {
        let line = format!("{line} -C out");
        let (would, did) = (plan(&line), bench.run(&format!("{line} --report run.json")));
        let told = |ran: &Ran| {
            let told = ran.stderr.lines().filter(|line| line.contains("Removing leading") || line.contains("'..'"));
            told.map(|line| line.split_once(": ").unwrap().1.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(told(&would), told(&did), "{would:?} {did:?}");
        let report: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
        let is = |what: &str| report["extracted"][what].as_u64().unwrap();
        let (files, dirs, links) = (is("files"), is("dirs"), is("links"));
        let would_be = format!("({files} files, {dirs} directories, {links} links)");
        assert!(would.stdout.contains(&would_be), "{line}: {would_be} {would:?}");
    }
}

/// What is told where only these are taken off, with a hard link's target after the first.
fn told_of(prefixes: &[&str]) -> String {
    let mut told: Vec<String> =
        prefixes.iter().map(|prefix| format!("partar: Removing leading `{prefix}' from member names\n")).collect();
    told.insert(1, OF_LINKS.into());
    told.concat()
}

#[test]
fn members_with_dots_are_refused_and_nothing_is_outside() {
    let bench = bench();
    for line in ["-xf dots.tar", "-xf dots.tar --strip-components=1", "-xf dots.tar --transform=s,[.][.]/,,"] {
        let (ran, names) = extracted(&bench, line);
        let is_stripped = line.contains("strip");
        assert_eq!(names, if is_stripped { "" } else { "l ok" }, "{line}: {ran:?}");
        let mut ran = ran.failed("Exiting with failure status");
        for refused in ["../a", "a/../b", "..", "/../z"] {
            ran = ran.failed(&format!("partar: {refused}: Member name contains '..'\n"));
        }
    }
    let told = "Removing leading `../' from hard link targets";
    assert!(extracted(&bench, "-xf dots.tar").0.stderr.contains(told));
    assert!(["a", "b", "z", "none"].iter().all(|name| !bench.path(name).exists()));
    let ran = bench.run("-xOf dots.tar").failed("../a: Member name contains '..'");
    assert_eq!(ran.stdout, "ok");
    // Those that are not meant are not told of.
    let (ran, names) = extracted(&bench, "-xf dots.tar ok");
    assert_eq!((names.as_str(), ran.ok().stderr.as_str()), ("ok", ""));
}

#[test]
fn listings_and_comparisons_tell_what_is_taken_off() {
    let bench = bench();
    let ran = bench.run("-tf absolute.tar").ok();
    assert_eq!(ran.stdout, "/d/\n/d/f\n/d/h\n/d/s\nrel/x\n//two/y\n");
    assert_eq!(ran.stderr, told_of(&["/", "//"]));
    let ran = bench.run("-tvf absolute.tar").ok();
    assert!(ran.stdout.contains("/d/h link to d/f\n") && ran.stdout.contains("/d/s -> /d/f\n"), "{ran:?}");
    let ran = bench.run("-tvf absolute.tar --absolute-names").ok();
    assert!(ran.stdout.contains("/d/h link to /d/f\n") && ran.stderr.is_empty(), "{ran:?}");
    assert_eq!(bench.run("-tf dots.tar").ok().stdout, "../a\na/../b\nok\n..\n/../z\nl\nm\n");

    // Of the caller's own.
    fs::create_dir_all(bench.path("out/d")).unwrap();
    fs::write(bench.path("out/d/f"), "f").unwrap();
    fs::write(bench.path("out/d/y"), "y").unwrap();
    fs::hard_link(bench.path("out/d/f"), bench.path("out/d/h")).unwrap();
    bench.run("-cf own.tar --sort=name --absolute-names --transform=s,^d,/d, -C out d").ok();
    let ran = bench.run("-df own.tar -C out").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", [OF_MEMBERS, OF_LINKS].concat().as_str()));
    fs::write(bench.path("out/d/f"), "long").unwrap();
    fs::remove_file(bench.path("out/d/y")).unwrap();
    let ran = bench.run("-dvf own.tar -C out").ended(1, "partar: d/y: Warning: Cannot stat");
    assert!(ran.stdout.contains("/d/f\nd/f: Mod time differs\nd/f: Size differs\n/d/h\n"), "{ran:?}");
    fs::write(bench.path("out/f"), "long").unwrap();
    let ran = bench.run("-df own.tar -C out --strip-components=1").ended(1, "partar: y: Warning: Cannot stat");
    assert!(ran.stdout.contains("f: Mod time differs\nf: Size differs\n"), "{ran:?}");
    // Members with `..` are compared where GNU tar looks for them, which is not outside.
    let ran = bench.run("-df dots.tar -C out").ended(1, "partar: z: Warning: Cannot stat");
    assert!(ran.stdout.contains(".: File type differs\n") && ran.stderr.contains("partar: a: Warning"), "{ran:?}");
    for (line, letter) in [("-xf a.tar", 'x'), ("-df a.tar", 'd')] {
        let refused = format!("--absolute-names is about creating and listing: with -{letter} ");
        assert!(bench.run(&format!("{line} --absolute-names")).failed(&refused).stderr.contains("use -C / for"));
    }
}

/// What they make of a name is stored, and what leads out of a place is taken off when it is extracted.
#[test]
fn expressions_are_about_what_is_left_of_stored_names() {
    let bench = Bench::new();
    let src = bench.path("src");
    fs::create_dir(&src).unwrap();
    fs::write(src.join("a"), "a").unwrap();
    fs::hard_link(src.join("a"), src.join("b")).unwrap();
    let at = src.to_str().unwrap();
    std::os::unix::fs::symlink(format!("{at}/a"), src.join("s")).unwrap();
    let whole = at.trim_start_matches('/');
    let top = whole.split('/').next().unwrap();
    let below = &whole[top.len()..];
    for (expression, dir, link_dir, symlink_dir) in [
        (format!("s,^{whole},release,"), "release", "release", at.to_owned()),
        ("s,^,pre/,".into(), &*format!("pre/{whole}"), &*format!("pre/{whole}"), format!("pre/{at}")),
        ("s,^/,,h".into(), whole, whole, whole.to_owned()),
        (format!("s,{top},H,RHs"), whole, whole, format!("/H{below}")),
        (format!("s,^{top},H,rSH"), &*format!("H{below}"), whole, at.to_owned()),
        (format!("s,^{top},/opt,"), &*format!("/opt{below}"), &*format!("opt{below}"), at.to_owned()),
        (format!("s,^{top},../opt,"), &*format!("../opt{below}"), &*format!("opt{below}"), at.to_owned()),
    ] {
        let ran = bench.run(&format!("-cvf t.tar --sort=name --transform={expression} {at}")).ok();
        assert!(ran.stderr.starts_with(&[OF_MEMBERS, OF_LINKS].concat()), "{expression}: {ran:?}");
        assert_eq!(ran.stdout, format!("{at}/\n{at}/a\n{at}/b\n{at}/s\n"), "{expression}");
        let listed = bench.run("-tvf t.tar --absolute-names").ok().stdout;
        // Behind the time of day.
        let name = |line: &str| line.split_once(':').unwrap().1[3..].to_owned();
        let names: Vec<String> = listed.lines().map(name).collect();
        let expected = format!("{dir}/\n{dir}/a\n{dir}/b link to {link_dir}/a\n{dir}/s -> {symlink_dir}/a");
        assert_eq!(names.join("\n"), expected, "{expression}");
        // What is there under the name that it gets is not stored again.
        let update = format!("-uf t.tar --transform={expression} {at}");
        bench.run(&update).ok();
        assert_eq!(bench.run("-tf t.tar").ok().stdout.lines().count(), 4, "{expression}");
    }
    let (ran, names) = extracted(&bench, "-xf t.tar --exclude=s");
    assert!(ran.stderr.contains("Member name contains '..'") && names.is_empty(), "{ran:?}");
    bench.run(&format!("-cf t.tar --transform=s,^{top},/opt, {at}")).ok();
    assert_eq!(extracted(&bench, "-xf t.tar --exclude=s").1, format!("opt{below}/a opt{below}/b"));
    // With names that are kept, expressions are about them as they are.
    bench.run(&format!("-cf t.tar --sort=name --absolute-names --transform=s,^{at},release, {at}")).ok();
    assert_eq!(bench.run("-tf t.tar").ok().stdout, "release/\nrelease/a\nrelease/b\nrelease/s\n");
}

#[test]
fn operands_and_patterns_have_the_slash_of_the_member() {
    let bench = bench();
    let listed = |line: &str| bench.run(&format!("-tf absolute.tar {line}")).ok().stdout.replace('\n', " ");
    assert_eq!(listed("/d"), "/d/ /d/f /d/h /d/s ");
    assert_eq!(listed("/d/"), "/d/ /d/f /d/h /d/s ");
    assert_eq!(listed("/d/f rel"), "/d/f rel/x ");
    assert_eq!(listed("/"), "/d/ /d/f /d/h /d/s //two/y ");
    assert_eq!(listed("--wildcards /*/f"), "/d/f ");
    for line in ["-tf absolute.tar d", "-xf absolute.tar -C out d/f", "-tf absolute.tar /rel"] {
        bench.run(line).failed(": Not found in archive");
    }
    for (pattern, left) in [
        ("/d/f", "/d/ /d/h /d/s rel/x //two/y "),
        ("d/f", "/d/ /d/h /d/s rel/x //two/y "),
        ("/d*", "rel/x //two/y "),
        ("/*", "rel/x "),
        ("/rel", "/d/ /d/f /d/h /d/s rel/x //two/y "),
    ] {
        assert_eq!(listed(&format!("--exclude={pattern}")), left, "{pattern}");
    }
    assert_eq!(listed("--anchored --exclude=d --exclude=rel"), "/d/ /d/f /d/h /d/s //two/y ");
    // What is stored is named as it was typed while patterns are asked.
    let whole = bench.path("in");
    fs::create_dir_all(whole.join("sub")).unwrap();
    fs::write(whole.join("f"), "f").unwrap();
    let whole = whole.display();
    bench.run(&format!("-cf o.tar --exclude={whole}/sub {whole}")).ok();
    assert!(!bench.run("-tf o.tar").ok().stdout.contains("sub"));
}
