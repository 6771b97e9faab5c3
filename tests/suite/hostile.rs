//! Archives that want to harm: names that escape, links as detours, members in each other's way. Nothing outside the
//! destination changes, and the outcome is the same for every shape, time and mount.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::path::Path;
use std::sync::Arc;

use parfs::jobs::extract::Options;
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Kind, Mount};

use crate::tars::{MTIME, Tar, crew, extract, pipe, seekable, volume};
use crate::tree::{content, dump};

/// An archive, the objects it must leave (`path=content`, `path->target`, `path/`), and the members that must fail.
struct Case {
    name: &'static str,
    tar: Tar,
    objects: Vec<String>,
    failures: Vec<&'static str>,
}

fn case(name: &'static str, tar: Tar, objects: &[&str], failures: &[&'static str]) -> Case {
    let mut objects: Vec<String> = objects.iter().map(ToString::to_string).collect();
    objects.sort();
    Case { name, tar, objects, failures: failures.to_vec() }
}

fn cases() -> Vec<Case> {
    [escapes(), last_names(), links(), oddities()].into_iter().flatten().collect()
}

fn escapes() -> Vec<Case> {
    let new = Tar::default;
    let big = |n: u8| vec![n; 700_000];
    vec![
        case(
            "names",
            new()
                .file("../escape", "x")
                .file("/abs", "x")
                .file("a/../../b", "x")
                .dir("..")
                .file("ok", "ok")
                .file("a\\..", "y"),
            &["ok=ok", "a\\\\..=y", "abs=x"],
            &[
                "..: Member name contains '..'",
                "../escape: Member name contains '..'",
                "a/../../b: Member name contains '..'",
            ],
        ),
        case(
            "through a symlink",
            new()
                .symlink("d", "..")
                .file("d/x", "x")
                .dir("d/sub/")
                .symlink("d/y", "z")
                .link("d/z", "ok")
                .file("ok", "ok"),
            &["d->..", "ok=ok"],
            &[
                "d/sub: would be written through the symbolic link 'd'",
                "d/x: would be written through the symbolic link 'd'",
                "d/y: would be written through the symbolic link 'd'",
                "d/z: would be written through the symbolic link 'd'",
            ],
        ),
        case(
            "symlink over a full directory",
            new().file("d/x", "x").symlink("d", "..").file("d/y", "y"),
            &["d/", "d/x=x", "d/y=y"],
            &["d: CREATE: Is a directory"],
        ),
        case(
            "symlink over an empty directory, then through it",
            new().dir("d/").symlink("d", "..").file("d/x", "x").file("d/e/x", "x"),
            &["d->.."],
            &[
                "d/e/x: would be written through the symbolic link 'd'",
                "d/x: would be written through the symbolic link 'd'",
            ],
        ),
        case(
            "directory over a symlink",
            new().symlink("d", "..").file("d/no", "x").dir("d/").file("d/x", "x").file("d/e/y", "y"),
            &["d/", "d/x=x", "d/e/", "d/e/y=y"],
            &["d/no: would be written through the symbolic link 'd'"],
        ),
        case(
            "file over a symlink",
            new().symlink("f", "../victim").file("f", "mine").symlink("big", "../victim").file("big", big(1)),
            &["f=mine", "big=700000"],
            &[],
        ),
    ]
}

fn last_names() -> Vec<Case> {
    let new = Tar::default;
    let big = |n: u8| vec![n; 700_000];
    vec![
        case(
            "hard links out",
            new()
                .symlink("s", "..")
                .link("a", "s/victim")
                .link("b", "../victim")
                .link("c", "/etc/passwd")
                .link("d", "s"),
            &["s->..", "d->.."],
            &[
                "a: its target would be reached through the symbolic link 's'",
                "b: its target 'victim': LOOKUP: No such file or directory",
                "c: its target 'etc/passwd': LOOKUP: No such file or directory",
            ],
        ),
        case(
            "hard link to a symlink, then written to",
            new().symlink("s", "../victim").link("h", "s").file("h", "mine").link("d", "s").file("d/x", "x"),
            &["s->../victim", "h=mine", "d->../victim"],
            &["d/x: would be written through the symbolic link 'd'"],
        ),
        case(
            "the last of a name wins",
            new()
                .file("f", "1")
                .file("f", "2")
                .symlink("f", "3")
                .file("f", "4")
                .file("g", big(1))
                .file("g", big(2))
                .file("g", "5"),
            &["f=4", "g=5"],
            &[],
        ),
        case(
            "the last of a large name wins",
            new().file("g", "0").file("g", big(7)).file("h", big(1)).file("h", big(2)),
            &["g=700000", "h=700000"],
            &[],
        ),
    ]
}

fn links() -> Vec<Case> {
    let new = Tar::default;
    vec![
        case(
            "file in the way of a directory, then not",
            new().file("a", "file").file("a/b", "b").dir("a/").file("a/c", "c").file("a", "again"),
            &["a/", "a/c=c"],
            &["a/b: no directory 'a': MKDIR: Not a directory", "a: CREATE: Is a directory"],
        ),
        case(
            "a directory over others",
            new()
                .file("a", "a")
                .dir("a/")
                .file("a/x", "x")
                .symlink("b", "..")
                .dir("b/")
                .file("b/x", "x")
                .special("c", b'6')
                .dir("c/")
                .file("d", "d")
                .link("e", "d")
                .dir("e/")
                .file("e/x", "x"),
            &["a/", "a/x=x", "b/", "b/x=x", "c/", "d=d", "e/", "e/x=x"],
            &[],
        ),
        case(
            "a link keeps what its target was",
            new().file("t", "old").link("l", "t").file("t", "new").link("m", "t"),
            &["l=old", "m=new", "t=new"],
            &[],
        ),
        case(
            "links to themselves, forwards, and in chains",
            new()
                .file("a", "a")
                .link("a", "a")
                .link("b", "a")
                .link("c", "b")
                .link("d", "c")
                .link("e", "later")
                .file("later", "x"),
            &["a=a", "b=a", "c=a", "d=a", "later=x"],
            &["e: its target 'later': LOOKUP: No such file or directory"],
        ),
        case(
            "a link over others",
            new()
                .file("a", "a")
                .file("b", "b")
                .link("b", "a")
                .symlink("c", "x")
                .link("c", "a")
                .dir("d/")
                .link("d", "a"),
            &["a=a", "b=a", "c=a", "d=a"],
            &[],
        ),
    ]
}

fn oddities() -> Vec<Case> {
    let new = Tar::default;
    vec![
        case(
            "a link through a file, to a directory, to nothing",
            new().file("f", "f").dir("d/").link("a", "f/x").link("b", "nothing").link("c", "./"),
            &["f=f", "d/"],
            &[
                "a: its target 'f/x': LOOKUP: Not a directory",
                "b: its target 'nothing': LOOKUP: No such file or directory",
                "c: its target is the destination itself",
            ],
        ),
        case(
            "directories that shut themselves",
            new()
                .dir_mode("x/", 0)
                .file("x/f", "f")
                .dir_mode("x/y/", 0)
                .file("x/y/f", "f")
                .dir_mode("x/y/", 0)
                .file("x/y/g", "g"),
            &["x/", "x/f=f", "x/y/", "x/y/f=f", "x/y/g=g"],
            &[],
        ),
        case(
            "the destination under other kinds",
            new().file("./", "x").symlink(".", "..").file(".//.", "x").file("ok", "ok"),
            &["ok=ok"],
            &[".//.: the destination itself is a directory", ".: the destination itself is a directory"],
        ),
        case(
            "what was planted before",
            new().file("planted/x", "x").dir("planted2/").file("planted2/x", "x").file("planted3", "mine"),
            &["planted->..", "planted2/", "planted2/x=x", "planted3=mine"],
            &["planted/x: would be written through the symbolic link 'planted'"],
        ),
    ]
}

fn plant() -> Vec<u8> {
    Tar::default().symlink("planted", "..").symlink("planted2", "..").symlink("planted3", "../victim").bytes()
}

fn objects(mount: &dyn Mount) -> Vec<String> {
    let mut objects: Vec<String> = dump(mount)
        .into_iter()
        .filter(|(path, _)| !path.is_empty())
        .map(|(path, object)| match object.kind {
            Kind::Dir => format!("{path}/"),
            Kind::Symlink => format!("{path}->{}", String::from_utf8_lossy(&object.target)),
            _ if object.size > 1000 => format!("{path}={}", object.size),
            _ => format!("{path}={}", String::from_utf8_lossy(&content(mount, &path))),
        })
        .collect();
    objects.sort();
    objects
}

fn run(case: &Case, mount: &Arc<impl Mount + 'static>, shape: (usize, usize), piped: bool, dirs_max: usize) {
    let options = Options { mode_mask: 0, range_bytes: 100_000, dirs_max, ..Options::default() };
    let planted = case.name == "what was planted before";
    if planted {
        extract(&volume(mount), seekable(plant()), &options, &crew(1, 1)).clean();
    }
    let bytes = case.tar.bytes();
    let input = if piped { pipe(bytes) } else { seekable(bytes) };
    let ran = extract(&volume(mount), input, &options, &crew(shape.0, shape.1));
    let mut failures: Vec<&str> = case.failures.clone();
    failures.sort_unstable();
    let mut said = ran.failures.clone();
    said.sort_unstable();
    assert_eq!(said, failures, "{}, {shape:?}", case.name);
    assert_eq!(objects(&**mount), case.objects, "{}, {shape:?}", case.name);
}

#[test]
fn every_case_on_memory_is_the_same_every_time() {
    for case in cases() {
        for shape in [(1, 1), (16, 4), (4, 1), (2, 64)] {
            for round in 0..25 {
                run(&case, &Arc::new(MemoryMount::new()), shape, round % 2 == 0, if round % 5 == 0 { 1 } else { 1000 });
            }
        }
    }
}

#[test]
fn every_case_on_a_directory_changes_nothing_outside() {
    for case in cases() {
        for shape in [(1, 1), (16, 4)] {
            for round in 0..5 {
                let outer = tempfile::tempdir().unwrap();
                let (inner, victim) = (outer.path().join("inner"), outer.path().join("victim"));
                std::fs::create_dir(&inner).unwrap();
                std::fs::write(&victim, "untouched").unwrap();
                let mount = Arc::new(LocalMount::open(&inner).unwrap());
                run(&case, &mount, shape, round % 2 == 0, if round == 4 { 1 } else { 1000 });
                assert_eq!(std::fs::read(&victim).unwrap(), b"untouched", "{}", case.name);
                assert_eq!(names(outer.path()), ["inner", "victim"], "{}", case.name);
                open_up(&inner);
            }
        }
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Lets the temporary directory be removed by those who are not root.
fn open_up(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            open_up(&entry.path());
        }
    }
}

#[test]
fn absurd_members_are_refused_and_the_rest_goes_on() {
    let long = "n".repeat(1021);
    let deep = "d/".repeat(5000);
    let text = "t".repeat(5000);
    let tar = Tar::default().file(&long, "x").file(&deep, "x").dir(&deep).symlink("s", &text).file("ok", "ok").bytes();
    let mount = Arc::new(MemoryMount::new());
    let ran = extract(&volume(&mount), seekable(tar), &Options::default(), &crew(4, 4));
    assert_eq!(ran.failures.len(), 4, "{:?}", ran.failures);
    assert_eq!(objects(&*mount), ["ok=ok"]);
    assert_eq!(dump(&*mount)["ok"].mtime, crate::tars::at(MTIME));
}

#[test]
fn any_damage_to_an_archive_ends_in_a_report() {
    let whole = Tar::default().dir("d/").file("d/f", vec![1; 3000]).symlink("d/s", "f").link("d/l", "d/f").bytes();
    for at in (0..whole.len()).step_by(67) {
        for (shape, cut) in [((1, 1), true), ((4, 2), false)] {
            let mut bytes = whole.clone();
            if cut {
                bytes.truncate(at)
            } else {
                bytes[at] ^= 0x55
            }
            let mount = Arc::new(MemoryMount::new());
            let ran = extract(&volume(&mount), pipe(bytes), &Options::default(), &crew(shape.0, shape.1));
            let names = ["", "d", "d/f", "d/s", "d/l"];
            let complete = dump(&*mount).len() == names.len();
            let told =
                ran.summary.archive_error.is_some() || !ran.failures.is_empty() || !ran.summary.warnings.is_empty();
            assert!(complete || told || !cut || at % 512 == 0, "cut at {at}: {ran:?}");
        }
    }
}

/// 2^60 bytes are 2^38 ranges: more than can be begun one by one.
#[test]
fn a_size_beyond_the_archives_end_ends_soon_on_any_input() {
    let mut header = tar::Header::new_gnu();
    header.set_path("big").unwrap();
    header.set_mode(0o644);
    header.set_mtime(MTIME);
    header.set_size(1 << 60);
    header.set_cksum();
    let mut bytes = Tar::default().file("ok", "ok").bytes();
    bytes.truncate(1024);
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + 10_000, b'x');
    for input in [seekable(bytes.clone()), pipe(bytes)] {
        let mount = Arc::new(MemoryMount::new());
        let ran = extract(&volume(&mount), input, &Options::default(), &crew(2, 2));
        assert!(ran.failures.len() == 1 && ran.failures[0].contains("incomplete"), "{ran:?}");
        assert!(ran.summary.archive_error.is_some(), "{ran:?}");
        let tree = dump(&*mount);
        assert_eq!(tree["ok"].mtime, crate::tars::at(MTIME));
        assert!(tree.get("big").is_none_or(|big| big.mtime != crate::tars::at(MTIME)), "does not look complete");
    }
}

/// What is told of a name or record is bounded: an archive that packs well can have thousands of 16 MiB.
#[test]
fn what_is_said_of_long_names_is_short() {
    let long = "n".repeat(300_000);
    let record = format!("{} mtime={long}\n", long.len() + 14);
    let bad_time =
        crate::tars::Entry { typeflag: b'x', path: "p", link: "", mode: 0, mtime: 0, data: record.as_bytes() };
    let tar = Tar::default().file(&long, "x").add(bad_time).file("ok", "ok").bytes();
    let mount = Arc::new(MemoryMount::new());
    let ran = extract(&volume(&mount), seekable(tar), &Options::default(), &crew(2, 2));
    assert_eq!((ran.failures.len(), ran.summary.warnings.len()), (1, 1), "{:?}", ran.summary);
    assert!(ran.failures[0].len() < 10_000 && ran.summary.warnings[0].len() < 10_000);
    assert_eq!(objects(&*mount), ["ok=ok"]);
}
