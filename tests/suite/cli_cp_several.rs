//! parcp of several operands: what one of them must not do to another, and what they share.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps};

use super::cli_support::{Bench, Sim};
use super::tree::{assert_same, dump_dir};

#[test]
fn no_source_is_deleted_in_the_destination_of_another() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("top/s/a")).unwrap();
    fs::create_dir_all(bench.path("top/d/a/b")).unwrap();
    fs::create_dir_all(bench.path("top/d/x/d")).unwrap();
    fs::create_dir_all(bench.path("top/x")).unwrap();
    fs::write(bench.path("top/s/a/f"), "1").unwrap();
    fs::write(bench.path("top/s/b"), "1").unwrap();
    fs::write(bench.path("top/d/a/b/precious"), "2").unwrap();
    symlink("precious", bench.path("top/d/a/b/link")).unwrap();
    symlink("d", bench.path("top/alias")).unwrap();
    let before = dump_dir(&bench.path("top"));
    for (line, said) in [
        (
            "-t top/d top/s/a top/d/a/b",
            "--delete would remove the source 'top/d/a/b', which is in the destination 'top/d/a'",
        ),
        ("-t top/d top/d/a/b top/s/a", "--delete would remove the source 'top/d/a/b'"),
        ("-n -t top/d top/s/a top/d/a/b", "--delete would remove the source 'top/d/a/b'"),
        ("-t top/d top/s/a top/alias/a/b", "--delete would remove the source 'top/alias/a/b'"),
        ("-t top/alias top/s/a top/d/a/b", "--delete would remove the source 'top/d/a/b'"),
        ("-t top/d top/s/a top/d/a/b/precious", "--delete would remove the source 'top/d/a/b/precious'"),
        ("-t top/d top/s/a top/d/a/b/link", "--delete would remove the source 'top/d/a/b/link'"),
        ("-t top/d top/s/a top/d/a/b/.", "--delete would remove the source 'top/d/a/b/.'"),
        ("-t top/d top/s/a top/d/a/.", "which is the destination of another source"),
        (
            "-t top/d top/x/. top/d/a/b",
            "--delete would remove the source 'top/d/a/b', which is in the destination 'top/d'",
        ),
        ("--exclude a -t top/d/x top/s top/d", "--delete would remove the source 'top/d' in part: 'top/d/x/s'"),
    ] {
        let line = line.replace("-n ", "--dry-run ");
        bench.run_as(&format!("parcp --delete {line}")).ended(1, said);
        assert_same(&before, &dump_dir(&bench.path("top")), &line);
    }
    // What is left out is not deleted, and neighbours are nothing to one another.
    bench.run_as("parcp --delete --exclude b -t top/d top/s/a top/d/a/b").ok();
    assert!(bench.path("top/d/a/b/precious").exists() && bench.path("top/d/a/f").exists());
    bench.run_as("parcp --delete -t top/x top/s/a top/d/a/b").ok();
    assert!(bench.path("top/x/b/precious").exists());
    // A link in the destination that leads to another source is replaced, and is no way there.
    symlink(bench.path("top/s/b"), bench.path("top/x/to")).unwrap();
    fs::write(bench.path("top/s/to"), "3").unwrap();
    bench.run_as("parcp --delete -t top/x top/s/to top/s/b").ok();
    assert!(bench.path("top/x/to").symlink_metadata().unwrap().is_file() && bench.path("top/s/b").exists());
}

#[test]
fn no_source_is_deleted_in_the_destination_of_another_on_one_server() {
    let sim = Sim::start(&["--unlimited"]);
    let bench = Bench::new();
    fs::create_dir_all(bench.path("e/s/a")).unwrap();
    fs::create_dir_all(bench.path("e/d/a/b")).unwrap();
    fs::write(bench.path("e/d/a/b/precious"), "2").unwrap();
    let url = sim.url.trim_end_matches('/');
    bench.run_as(&format!("parcp e {url}/e")).ok();
    for (sources, said) in [
        (format!("{url}/e/s/a {url}/e/d/a/b"), "--delete would remove the source 'nfs:"),
        (format!("{url}/e/d/a/b {url}/e/s/a"), "--delete would remove the source 'nfs:"),
        (format!("{url}/e/s/a {url}/e/d/a/b/precious"), "--delete would remove the source 'nfs:"),
    ] {
        bench.run_as(&format!("parcp --delete -t {url}/e/d {sources}")).ended(1, said);
    }
    bench.run_as(&format!("parcp --verify-only e {url}/e")).ok();
}

#[test]
fn names_of_one_file_in_several_sources_are_names_of_one_file() {
    let bench = Bench::new();
    for dir in ["s/x", "s/y", "s/z", "d", "e", "f"] {
        fs::create_dir_all(bench.path(dir)).unwrap();
    }
    fs::write(bench.path("s/x/a"), "q").unwrap();
    fs::write(bench.path("s/z/q"), "other").unwrap();
    fs::hard_link(bench.path("s/x/a"), bench.path("s/y/b")).unwrap();
    fs::hard_link(bench.path("s/x/a"), bench.path("s/x/c")).unwrap();
    let names = |paths: &[&str]| -> Vec<(u64, u64)> {
        let meta = paths.iter().map(|path| fs::metadata(bench.path(path)).unwrap());
        meta.map(|meta| (meta.ino(), meta.nlink())).collect()
    };
    let one = |paths: &[&str]| {
        let names = names(paths);
        assert!(names.iter().all(|name| *name == (names[0].0, paths.len() as u64)), "{paths:?}: {names:?}");
    };
    // Once more, all is there.
    for _ in 0..2 {
        bench.run_as("parcp -t d s/x/a s/y/b s/z/q s/x/c").ok();
        one(&["d/a", "d/b", "d/c"]);
    }
    bench.run_as("parcp -t d --verify-only s/x/a s/y/b s/z/q s/x/c").ok();
    bench.run_as("parcp -t e s/y s/x/.").ok();
    one(&["e/y/b", "e/a", "e/c"]);
    // Each directory of an export is a run of its own.
    let sim = Sim::start(&["--unlimited", "--targets", "2"]);
    let url = sim.url.trim_end_matches('/');
    bench.run_as(&format!("parcp s/z {url}/o")).ok();
    bench.run_as(&format!("parcp -t {url}/o s/x s/y")).ok();
    bench.run_as(&format!("parcp -t f {url}/o/y {url}/o/x")).ok();
    one(&["f/y/b", "f/x/a", "f/x/c"]);
}

#[test]
fn contents_that_clear_what_other_sources_bring_are_refused() {
    let bench = Bench::new();
    for (file, text) in [("s/a/f", "1"), ("x/y", "2"), ("z/w", "3"), ("d/old", "4")] {
        fs::create_dir_all(bench.path(file).parent().unwrap()).unwrap();
        fs::write(bench.path(file), text).unwrap();
    }
    let before = dump_dir(&bench.path("d"));
    for sources in ["s/a x/.", "x/. s/a", "x/. z/.", "s/a/f x/."] {
        let said = "--delete would remove what other sources bring to 'd', which gets the contents of 'x/.'";
        bench.run_as(&format!("parcp --delete -t d {sources}")).ended(1, said);
        assert_same(&before, &dump_dir(&bench.path("d")), sources);
    }
    // One that is away for a while has brought something all the same.
    for sources in ["x/. gone/f", "gone/. x/."] {
        bench.run_as(&format!("parcp --delete -t d {sources}")).ended(1, "--delete would remove what other sources");
        assert_same(&before, &dump_dir(&bench.path("d")), sources);
    }
    bench.run_as("parcp --verify-only -t d x/. z/.").ended(1, "--verify-only compares the contents of one source");
    bench.run_as("parcp -t d s/a x/. z/.").ok();
    assert!(bench.path("d/a/f").exists() && bench.path("d/y").exists() && bench.path("d/w").exists());
    bench.run_as("parcp --delete --exclude a -t d x/.").ok();
    assert!(bench.path("d/a/f").exists() && bench.path("d/y").exists() && !bench.path("d/w").exists());
}

#[test]
fn a_link_that_leads_to_its_own_copy_is_copied_again() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("s")).unwrap();
    fs::create_dir_all(bench.path("d")).unwrap();
    symlink(bench.path("d/to"), bench.path("s/to")).unwrap();
    fs::write(bench.path("d/file"), "1").unwrap();
    symlink(bench.path("d/file"), bench.path("s/file")).unwrap();
    for _ in 0..2 {
        bench.run_as("parcp -t d s/to").ok();
        assert_eq!(fs::read_link(bench.path("d/to")).unwrap(), bench.path("d/to"));
    }
    // What a link leads to is not replaced by it.
    bench.run_as("parcp -t d s/file").ended(1, "are the same file");
    assert_eq!(fs::read(bench.path("d/file")).unwrap(), b"1");
}

/// `one` and `two`, of which some names are alike and some are not, and `out`.
fn sources(bench: &Bench) {
    for (file, text) in [
        ("one/f", "first"),
        ("one/sub/g", "first"),
        ("one/was-dir/k", "first"),
        ("one/was-file", "first"),
        ("one/same", "same"),
        ("one/mode", "same"),
        ("two/f", "second, longer"),
        ("two/sub/g", "second, longer"),
        ("two/sub/new", "new"),
        ("two/was-dir", "second"),
        ("two/was-file/k", "second"),
        ("two/same", "same"),
        ("two/mode", "same"),
        ("two/names/a", "second"),
        ("one/marked", "same"),
        ("two/marked", "same"),
        ("out/f", "there before"),
    ] {
        fs::create_dir_all(bench.path(file).parent().unwrap()).unwrap();
        fs::write(bench.path(file), text).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(bench.path(file)).unwrap().set_modified(time).unwrap();
    }
    fs::write(bench.path("one/name"), "first").unwrap();
    fs::hard_link(bench.path("two/names/a"), bench.path("two/name")).unwrap();
    fs::set_permissions(bench.path("two/mode"), fs::Permissions::from_mode(0o600)).unwrap();
    for (dir, text) in [("one", "x"), ("two", "y")] {
        symlink(text, bench.path(dir).join("link")).unwrap();
        symlink("z", bench.path(dir).join("alike")).unwrap();
        // Two made one after the other have one time only where no tick of the kernel's clock comes between.
        let time = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, bench.path(dir).join("alike"), &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
}

#[test]
fn what_one_source_has_brought_is_not_replaced_by_another() {
    let bench = Bench::new();
    sources(&bench);
    // Where the file system has none, that is not tested.
    let marked = fs::File::open(bench.path("two/marked")).unwrap();
    let _none = rustix::fs::fsetxattr(&marked, "user.of", b"second", rustix::fs::XattrFlags::empty());
    let local = ["one/.".to_string(), "two/.".to_string()];
    let sims = ["one", "two"].map(|source| {
        let sim = Sim::start(&["--unlimited"]);
        bench.run_as(&format!("parcp {source} {}", sim.url)).ok();
        sim
    });
    let remote = [sims[0].url.clone(), sims[1].url.clone()];
    let list =
        fs::read_dir(bench.path("one")).unwrap().map(|entry| format!("one/{}", entry.unwrap().file_name().display()));
    let by_name = [list.collect::<Vec<_>>().join(" "), "two/.".into()];
    for (n, [first, second]) in [local, remote, by_name].into_iter().enumerate() {
        let out = format!("out{n}");
        bench.run_as(&format!("parcp out/. {out}")).ok();
        let line = format!("parcp -t {out} {first} {second}");
        // And once more, when all that may be is there.
        for _ in 0..2 {
            let ran = bench.run_as(&line).ended(1, "f: would be copied over what");
            for name in ["f", "sub/g", "was-dir", "was-file", "mode", "link", "name"] {
                let said = format!("/{name}: would be copied over what '");
                let theirs = format!("/{name}' is copied to");
                let told = ran.stderr.lines().any(|line| line.contains(&said) && line.contains(&theirs));
                assert!(told, "{name} of {line}: {}", ran.stderr);
            }
            assert_eq!(ran.stderr.matches("would be copied").count(), 7, "{}", ran.stderr);
        }
        for (file, text) in [("f", "first"), ("sub/g", "first"), ("was-dir/k", "first"), ("sub/new", "new")] {
            assert_eq!(fs::read_to_string(bench.path(&out).join(file)).unwrap(), text, "{line}");
        }
        assert_eq!(fs::read_link(bench.path(&out).join("link")).unwrap().as_os_str(), "x");
        let marked = rustix::fs::getxattr(bench.path(&out).join("marked"), "user.of", &mut [0; 16][..]);
        assert!(marked.is_err(), "{line}");
        assert_eq!(fs::read_to_string(bench.path(&out).join("names/a")).unwrap(), "second");
    }
    // A directory of an export goes below under its name: it is not replaced as a whole either.
    fs::create_dir_all(bench.path("three")).unwrap();
    fs::write(bench.path("three/sub"), "third").unwrap();
    let ran =
        bench.run_as(&format!("parcp -t out {}sub three/.", sims[0].url)).ended(1, "/sub: would be copied over what");
    assert_eq!(fs::read_to_string(bench.path("out/sub/g")).unwrap(), "first", "{}", ran.stderr);
    // What another run has brought is replaced, as ever.
    bench.run_as("parcp -t out0 two/f two/mode").ok();
    assert_eq!(fs::read_to_string(bench.path("out0/f")).unwrap(), "second, longer");
}

/// A file below directories whose path is longer than one system call takes.
fn plant_deep(dir: &Path, text: &str) {
    let mode = rustix::fs::Mode::from_raw_mode(0o755);
    let mut at: OwnedFd = fs::File::open(dir).unwrap().into();
    for level in 0..20 {
        let name = format!("{level:0>250}");
        let _there_before = rustix::fs::mkdirat(&at, &*name, mode);
        at = rustix::fs::openat(&at, &*name, OFlags::RDONLY, mode).unwrap();
    }
    let file = rustix::fs::openat(&at, "f", OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, mode).unwrap();
    rustix::io::write(&file, text.as_bytes()).unwrap();
}

#[test]
fn what_no_other_source_has_brought_is_replaced_however_deep_it_is() {
    let bench = Bench::new();
    for dir in ["one", "two", "three", "to"] {
        fs::create_dir(bench.path(dir)).unwrap();
    }
    fs::write(bench.path("one/g"), "first").unwrap();
    plant_deep(&bench.path("to"), "before");
    plant_deep(&bench.path("two"), "of the second");
    plant_deep(&bench.path("three"), "of the third source");
    bench.run_as("parcp -t to one/. two/.").ok();
    let ran = bench.run_as("parcp --verify-only two to").ended(1, "");
    assert_eq!(ran.stdout, "g: only in the destination\n");
    bench.run_as("parcp -t to two/. three/.").ended(1, "/f: would be copied over what 'two/.");
}

/// Writes files with these texts, all of one time.
fn plant_alike(bench: &Bench, files: &[(&str, &str)]) {
    for (file, text) in files {
        fs::create_dir_all(bench.path(file).parent().unwrap()).unwrap();
        fs::write(bench.path(file), text).unwrap();
        set_time(bench, file, 1_000_000_000);
    }
}

fn set_time(bench: &Bench, file: &str, secs: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(secs);
    fs::File::options().write(true).open(bench.path(file)).unwrap().set_modified(time).unwrap();
}

fn names_of_one(bench: &Bench, names: &[&str]) {
    let inodes: Vec<u64> = names.iter().map(|name| fs::metadata(bench.path(name)).unwrap().ino()).collect();
    assert!(inodes.iter().all(|inode| *inode == inodes[0]), "{names:?}: {inodes:?}");
}

/// What a killed run left, or what a source was not copied to, is nobody's.
#[test]
fn what_is_there_and_is_no_copy_of_another_source_is_replaced() {
    let bench = Bench::new();
    plant_alike(&bench, &[("one/f", "first"), ("two/f", "second"), ("d/f", "second, but cut")]);
    set_time(&bench, "d/f", 1_000_000_001);
    set_time(&bench, "two/f", 1_000_000_002);
    bench.run_as("parcp -u -t d one/. two/.").ok();
    assert_eq!(fs::read_to_string(bench.path("d/f")).unwrap(), "second");
    // A link in a source leads out of it.
    plant_alike(&bench, &[("else/g", "alike"), ("three/sub/g", "the third's"), ("e/sub/g", "alike")]);
    symlink("../else", bench.path("one/sub")).unwrap();
    bench.run_as("parcp --include=sub/ --exclude=sub -t e one/. three/.").ok();
    assert_eq!(fs::read_to_string(bench.path("e/sub/g")).unwrap(), "the third's");
}

/// They may hold something else: a file's other names are not made from them, whichever of them a lane meets first.
#[test]
fn what_is_alike_in_two_sources_is_no_name_of_one_file() {
    let bench = Bench::new();
    plant_alike(&bench, &[("one/p", "AAAA"), ("two/p", "BBBB")]);
    for place in ["two/s/t/u", "two/sub"] {
        fs::create_dir_all(bench.path(place)).unwrap();
        fs::hard_link(bench.path("two/p"), bench.path(place).join("q")).unwrap();
    }
    for (n, options) in ["", "-n", "-u", "-P 1", "--atomic"].into_iter().enumerate() {
        for run in 0..2 {
            let out = format!("d{n}{run}");
            fs::create_dir(bench.path(&out)).unwrap();
            bench.run_as(&format!("parcp {options} -t {out} one/. two/.")).ok();
            for (name, text) in [("p", "AAAA"), ("s/t/u/q", "BBBB"), ("sub/q", "BBBB")] {
                let path = bench.path(&out).join(name);
                assert_eq!(fs::read_to_string(path).unwrap(), text, "{options} {name}");
            }
            names_of_one(&bench, &[&format!("{out}/sub/q"), &format!("{out}/s/t/u/q")]);
        }
    }
}

#[test]
fn old_names_of_another_sources_file_are_left_to_it() {
    let bench = Bench::new();
    plant_alike(&bench, &[("one/f2", "AAAA"), ("two/h", "AAAA"), ("d/f2", "AAAA")]);
    fs::create_dir(bench.path("two/sub")).unwrap();
    fs::hard_link(bench.path("two/h"), bench.path("two/sub/h2")).unwrap();
    fs::hard_link(bench.path("d/f2"), bench.path("d/h")).unwrap();
    fs::set_permissions(bench.path("two/h"), fs::Permissions::from_mode(0o600)).unwrap();
    bench.run_as("parcp -t d one/. two/.").ok();
    let mode = |name: &str| fs::metadata(bench.path("d").join(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("f2"), mode("h"), mode("sub/h2")), (0o644, 0o600, 0o600));
    names_of_one(&bench, &["d/h", "d/sub/h2"]);
}

/// A source's directory may be in another source: its names are met twice, and are names of one file all the same.
#[test]
fn names_that_are_met_twice_are_names_of_one_file() {
    let bench = Bench::new();
    for (n, (links, sources, names)) in [
        (["a/sub/f", "a/g"], "a/sub/. a/.", vec!["f", "sub/f", "g"]),
        (["a/x/f", "a/y/g"], "a/x a/.", vec!["x/f", "y/g"]),
        (["a/sub/f", "a/sub/g"], "a/. a/sub/.", vec!["sub/f", "sub/g", "f", "g"]),
    ]
    .into_iter()
    .enumerate()
    {
        let (top, out) = (format!("s{n}"), format!("d{n}"));
        let [first, second] = links.map(|link| format!("{top}/{link}"));
        plant_alike(&bench, &[(&first, "one")]);
        fs::create_dir_all(bench.path(&second).parent().unwrap()).unwrap();
        fs::hard_link(bench.path(&first), bench.path(&second)).unwrap();
        fs::create_dir(bench.path(&out)).unwrap();
        let sources: Vec<String> = sources.split(' ').map(|source| format!("{top}/{source}")).collect();
        bench.run_as(&format!("parcp -t {out} {}", sources.join(" "))).ok();
        let names: Vec<String> = names.iter().map(|name| format!("{out}/{name}")).collect();
        names_of_one(&bench, &names.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// What is in a directory is meant by a URL as by a path.
#[test]
fn a_source_that_ends_in_a_dot_has_no_name() {
    let sim = Sim::start(&["--unlimited"]);
    let bench = Bench::new();
    plant_alike(&bench, &[("e/one/f", "1"), ("e/two/g", "2")]);
    let url = sim.url.trim_end_matches('/');
    bench.run_as(&format!("parcp e {url}/e")).ok();
    fs::create_dir(bench.path("d")).unwrap();
    bench.run_as(&format!("parcp -t d {url}/e/one/. {url}/e/two/. {url}/e/two")).ok();
    let there: Vec<_> = dump_dir(&bench.path("d")).into_keys().collect();
    assert!(bench.path("d/f").exists() && bench.path("d/g").exists() && bench.path("d/two/g").exists(), "{there:?}");
    assert!(!bench.path("d/one").exists());
}
