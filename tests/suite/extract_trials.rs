//! What a trial beside GNU tar and bsdtar found: odd archives through the binary.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::cli_support::Bench;
use super::tars::{MTIME, Tar};

fn set_mode(at: &Path, mode: u32) {
    fs::set_permissions(at, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(at: &Path) -> u32 {
    fs::metadata(at).unwrap().mode() & 0o7777
}

/// Without -p special bits are not restored, which is not to say that they are taken away: a shared tree inherits its group by them.
#[test]
fn bits_that_are_not_restored_are_left_as_they_are() {
    let bench = Bench::new();
    let tar = Tar::default().dir_mode("d/", 0o755).dir_mode("d/new/", 0o755).dir_mode("e/", 0o2755);
    fs::write(bench.path("d.tar"), tar.file("d/new/f", "x").bytes()).unwrap();
    fs::create_dir(bench.out().join("d")).unwrap();
    set_mode(&bench.out().join("d"), 0o2775);
    bench.run("-xf d.tar -C out --no-same-permissions --no-same-owner").ok();
    assert_eq!(["d", "d/new", "e"].map(|at| mode(&bench.out().join(at)) & 0o7000), [0o2000, 0o2000, 0]);
    // Given away, where the tests run as root: then nothing tells the mode that a directory was made with.
    fs::create_dir(bench.path("new")).unwrap();
    bench.run("-xf d.tar -C new --no-same-permissions").ok();
    assert_eq!(["d", "d/new", "e"].map(|at| mode(&bench.path("new").join(at)) & 0o7000), [0, 0, 0]);
    set_mode(&bench.path("new"), 0o2755);
    bench.run_as("parrm -r new/d new/e").ok();
    bench.run("-xf d.tar -C new --no-same-permissions").ok();
    assert_eq!(["d", "d/new", "e"].map(|at| mode(&bench.path("new").join(at)) & 0o7000), [0o2000; 3]);
    // With -p the archive's are set.
    bench.run("-xpf d.tar -C out --no-same-owner").ok();
    assert_eq!(["d", "d/new", "e"].map(|at| mode(&bench.out().join(at)) & 0o7000), [0, 0, 0o2000]);
    // GNU tar sets none where it has made a directory with just that mode, and what it inherited stays.
    let tar = Tar::default().dir_mode("own/", 0o700).dir_mode("all/", 0o755).dir_mode("all/own/", 0o700);
    fs::write(bench.path("own.tar"), tar.file("own/f", "x").bytes()).unwrap();
    bench.run("-xpf own.tar -C new --no-same-owner").ok();
    assert_eq!(["own", "all", "all/own"].map(|at| mode(&bench.path("new").join(at))), [0o2700, 0o755, 0o2700]);
    // One that is filled is made wider than that, and is not left so; nor where its bits are not told, as root gives it away.
    let modes = [0, 0o100, 0o300, 0o400, 0o500];
    let tar = modes.iter().fold(Tar::default(), |tar, mode| tar.dir_mode(&format!("m{mode:o}/"), *mode));
    fs::write(bench.path("modes.tar"), tar.bytes()).unwrap();
    fs::create_dir(bench.path("modes")).unwrap();
    bench.run("-xf modes.tar -C modes").ok();
    assert_eq!(modes.map(|is| mode(&bench.path("modes").join(format!("m{is:o}"))) & 0o777), modes);
}

/// A run that was killed has given a directory its set-group-id bit; what the next one makes below it is as after one run.
#[test]
fn bits_that_a_run_before_has_set_are_not_passed_on() {
    let bench = Bench::new();
    let tar = Tar::default().dir_mode("top/", 0o2775).dir_mode("top/own/", 0o700).dir_mode("top/all/", 0o755);
    let tar = tar.dir_mode("top/all/own/", 0o700).file("top/own/f", "x").file("top/path/f", "x");
    fs::write(bench.path("top.tar"), tar.bytes()).unwrap();
    let is = |root: &Path| ["", "own", "all", "all/own"].map(|at| mode(&root.join("top").join(at)));
    bench.run("-xpf top.tar -C out --no-same-owner").ok();
    let whole = is(&bench.out());
    assert_eq!(whole, [0o2775, 0o700, 0o755, 0o700]);
    for (options, new) in [("--no-same-owner", "1"), ("", "2"), ("-m", "3")] {
        let root = bench.path(new);
        fs::create_dir_all(root.join("top")).unwrap();
        set_mode(&root.join("top"), 0o2775);
        bench.run(&format!("-xpf top.tar -C {new} {options}")).ok();
        assert_eq!(is(&root), whole, "{options}");
    }
}

#[test]
fn a_hard_link_that_is_there_is_kept_without_an_error() {
    let bench = Bench::new();
    fs::write(bench.path("h.tar"), Tar::default().file("f", "x").link("h", "f").bytes()).unwrap();
    bench.run("-xf h.tar -C out").ok();
    bench.run("-xkf h.tar -C out h").ok();
    bench.run("-xkf h.tar -C out").failed("partar: f: CREATE: File exists");
    fs::remove_file(bench.out().join("h")).unwrap();
    fs::write(bench.out().join("h"), "other").unwrap();
    bench.run("-xkf h.tar -C out h").failed("partar: h: LINK: File exists");
    assert_eq!(fs::read(bench.out().join("h")).unwrap(), b"other");
}

/// The member that replaces the link's target is the first in its directory, which nobody has looked at when the link is made.
#[test]
fn a_hard_link_leads_to_what_was_there_before_a_later_member_replaces_it() {
    for (options, c, y) in
        [("", "old", "new"), ("-U", "old", "new"), ("--overwrite", "new", "new"), ("-k", "old", "old")]
    {
        let bench = Bench::new();
        fs::write(bench.path("h.tar"), Tar::default().link("c", "a/b/y").file("a/b/y", "new").bytes()).unwrap();
        fs::create_dir_all(bench.out().join("a/b")).unwrap();
        fs::write(bench.out().join("a/b/y"), "old").unwrap();
        let ran = bench.run(&format!("-xf h.tar -C out {options}"));
        if options == "-k" {
            ran.failed("partar: a/b/y: CREATE: File exists")
        } else {
            ran.ok()
        };
        let is = ["c", "a/b/y"].map(|at| fs::read_to_string(bench.out().join(at)).unwrap());
        assert_eq!(is, [c, y], "{options}");
    }
}

/// An archive of a whole directory has a member for the destination.
#[test]
fn bits_of_the_destination_itself_are_left_as_they_are() {
    let bench = Bench::new();
    fs::write(bench.path("d.tar"), Tar::default().dir_mode("./", 0o4750).file("./f", "x").bytes()).unwrap();
    for (had, options, has) in [
        (0o2775, "--no-same-permissions --no-same-owner", 0o2750),
        (0o1777, "--no-same-permissions --no-same-owner", 0o1750),
        (0o755, "--no-same-permissions --no-same-owner", 0o750),
        (0o2775, "-p --no-same-owner", 0o4750),
        (0o2775, "--keep-old-files --no-same-permissions", 0o2775),
    ] {
        set_mode(&bench.out(), had);
        bench.run_as("parrm -r out/f --force").ok();
        bench.run(&format!("-xf d.tar -C out {options}")).ok();
        assert_eq!(mode(&bench.out()), has, "{had:o} {options}");
    }
}

/// What is made for a path in a directory of the archive has nothing of that directory's bits.
#[test]
fn a_directory_that_only_a_path_names_inherits_nothing() {
    let bench = Bench::new();
    let tar = Tar::default().dir_mode("b/", 0o2755).file("b/a/f", "x");
    fs::write(bench.path("b.tar"), tar.bytes()).unwrap();
    bench.run("-xpf b.tar -C out --no-same-owner").ok();
    assert_eq!(["b", "b/a"].map(|at| mode(&bench.out().join(at)) & 0o7000), [0o2000, 0]);
}

#[test]
fn a_directory_that_is_there_is_kept_as_newer_files_are() {
    let bench = Bench::new();
    fs::write(bench.path("d.tar"), Tar::default().dir_mode("d/", 0o777).bytes()).unwrap();
    fs::create_dir(bench.out().join("d")).unwrap();
    set_mode(&bench.out().join("d"), 0o700);
    bench.run("-xpf d.tar -C out --keep-newer-files --no-same-owner").ok();
    assert_eq!(mode(&bench.out().join("d")), 0o700);
    // What is no directory, by its time.
    fs::write(bench.path("d.tar"), Tar::default().dir("e/").file("e/f", "x").dir("n/").bytes()).unwrap();
    for (name, secs) in [("e", MTIME - 1), ("n", MTIME + 1)] {
        let file = fs::File::create(bench.out().join(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(secs)).unwrap();
    }
    bench.run("-xf d.tar -C out --keep-newer-files --no-same-owner").ok();
    assert_eq!(fs::read_to_string(bench.out().join("e/f")).unwrap(), "x");
    assert!(bench.out().join("n").is_file());
}

/// As in GNU tar: the last of two members decides, or the first where nothing of what is there is changed.
#[test]
fn a_directory_that_is_stored_twice() {
    let bench = Bench::new();
    let tar = Tar::default().dir_mode("d/", 0o700).dir_mode("d/", 0o755);
    fs::write(bench.path("d.tar"), tar.bytes()).unwrap();
    for (options, has) in
        [("", 0o755), ("--overwrite", 0o755), ("-k", 0o700), ("--skip-old-files", 0o700), ("--keep-newer-files", 0o755)]
    {
        bench.run(&format!("-xpf d.tar -C out --no-same-owner {options}")).ok();
        assert_eq!(mode(&bench.out().join("d")), has, "{options}");
        fs::remove_dir(bench.out().join("d")).unwrap();
    }
}

/// A file is written into what is there; a link or a device cannot be, and takes the place of an empty directory.
#[test]
fn what_is_not_written_into_replaces_an_empty_directory_with_overwrite() {
    let bench = Bench::new();
    fs::write(bench.path("l.tar"), Tar::default().dir("d/").symlink("d", "elsewhere").bytes()).unwrap();
    bench.run("-xf l.tar -C out --overwrite --no-same-owner").ok();
    assert_eq!(fs::read_link(bench.out().join("d")).unwrap(), Path::new("elsewhere"));
    fs::write(bench.path("f.tar"), Tar::default().dir("e/").file("e", "x").bytes()).unwrap();
    bench.run("-xf f.tar -C out --overwrite --no-same-owner").ended(2, "e: CREATE: Is a directory");
}

/// The files of two members may be names of one file, from a tree that was made smaller by links: written into at once, it would have some
/// of either.
#[test]
fn files_that_are_one_on_disk_are_two_again_with_overwrite() {
    let bench = Bench::new();
    let mut tar = Tar::default();
    let bytes = |of: char| of.to_string().repeat(if of == 'p' { 300_000 } else { 200_000 });
    for i in 0..40 {
        tar = tar.file(&format!("p{i}"), bytes('p')).file(&format!("q{i}"), bytes('q'));
        fs::write(bench.out().join(format!("p{i}")), "old").unwrap();
        fs::hard_link(bench.out().join(format!("p{i}")), bench.out().join(format!("q{i}"))).unwrap();
    }
    fs::hard_link(bench.out().join("p0"), bench.path("elsewhere")).unwrap();
    fs::write(bench.path("h.tar"), tar.bytes()).unwrap();
    bench.run("-xf h.tar -C out --overwrite").ok();
    for (i, of) in (0..40).flat_map(|i| [(i, 'p'), (i, 'q')]) {
        let is = fs::read_to_string(bench.out().join(format!("{of}{i}"))).unwrap();
        assert!(is == bytes(of), "{of}{i}: {} bytes, {} of them are others", is.len(), is.replace(of, "").len());
    }
    // One of its names was written into, as asked.
    let is = fs::read_to_string(bench.path("elsewhere")).unwrap();
    assert!(is == bytes('p') || is == bytes('q'));
    // A name that the archive has twice is written into twice.
    let twice = Tar::default().file("p0", "one").file("q0", "two").file("p0", "three").bytes();
    fs::remove_file(bench.out().join("q0")).unwrap();
    fs::hard_link(bench.out().join("p0"), bench.out().join("q0")).unwrap();
    fs::hard_link(bench.out().join("p0"), bench.path("third")).unwrap();
    fs::write(bench.path("twice.tar"), twice).unwrap();
    bench.run("-xf twice.tar -C out --overwrite -P 1 --window 1").ok();
    let read = |at| fs::read_to_string(bench.path(at)).unwrap();
    assert_eq!([read("out/p0"), read("out/q0"), read("third")], ["three", "two", "three"]);
}

/// Ranges of a large file are written in any order: what the cut leaves would have holes, and its size would hide them.
#[test]
fn a_large_file_that_the_archive_does_not_have_whole_is_emptied() {
    let bench = Bench::new();
    let data: Vec<u8> = (0..6_u32 << 20).flat_map(u32::to_le_bytes).collect();
    let mut bytes = Tar::default().file("big", &data).bytes();
    bytes.truncate(17 << 20);
    fs::write(bench.path("cut.tar"), bytes).unwrap();
    bench.run("-xf cut.tar -C out").ended(2, "big: ");
    assert_eq!(fs::metadata(bench.out().join("big")).unwrap().len(), 0);
}

#[test]
fn an_owner_beyond_32_bits_is_told() {
    let bench = Bench::new();
    let mut bytes = Tar::default().file("f", "x").bytes();
    let mut header = tar::Header::new_gnu();
    header.as_mut_bytes().copy_from_slice(&bytes[..512]);
    header.as_old_mut().uid = [0x80, 0, 1, 0, 0, 0, 0, 0];
    header.set_cksum();
    bytes[..512].copy_from_slice(header.as_bytes());
    fs::write(bench.path("u.tar"), bytes).unwrap();
    // As of GNU tar 1.34, this is no success.
    bench.run("-tf u.tar").ended(2, "f: uid 1099511627776 is outside 32 bits; 65534 (nobody) is taken");
}

/// What would have taken the directory's place is skipped: what the archive has for it after that does not change its time.
#[test]
fn a_directory_that_is_not_replaced_keeps_its_time() {
    let bench = Bench::new();
    let tar = Tar::default().dir("d/").file("d/a", "a").file("d", "file").file("d/b", "b");
    fs::write(bench.path("d.tar"), tar.bytes()).unwrap();
    bench.run("-xf d.tar -C out --skip-old-files --no-same-owner").ok();
    assert_eq!(fs::read_to_string(bench.out().join("d/b")).unwrap(), "b");
    assert_eq!(fs::metadata(bench.out().join("d")).unwrap().mtime(), MTIME as i64 + 1);
}

/// GNU tar tells one of them with -v alone, and the other always.
#[test]
fn what_is_left_as_it_is_is_told() {
    let bench = Bench::new();
    fs::write(bench.path("d.tar"), Tar::default().file("a", "a").file("b", "b").file("c", "c").bytes()).unwrap();
    for name in ["a", "c"] {
        fs::write(bench.out().join(name), "newer").unwrap();
    }
    let of = |stderr: &str| -> Vec<String> {
        stderr.lines().filter_map(|line| line.strip_prefix("partar: ")).map(String::from).collect()
    };
    for (options, stdout, told) in [
        ("-xf d.tar -C out --skip-old-files", "", vec![]),
        ("-xvf d.tar -C out --skip-old-files", "b\n", vec!["a: skipping existing file", "c: skipping existing file"]),
        ("-xf d.tar -C out --skip-old-files --strip-components=1 -v", "", vec![]),
        (
            "-xf d.tar -C out --keep-newer-files",
            "",
            vec!["Current 'a' is newer or same age", "Current 'c' is newer or same age"],
        ),
    ] {
        fs::remove_file(bench.out().join("b")).ok();
        let ran = bench.run(options).ok();
        assert_eq!(
            (&ran.stdout[..], of(&ran.stderr)),
            (stdout, told.into_iter().map(String::from).collect()),
            "{ran:?}"
        );
        assert_eq!(fs::read(bench.out().join("a")).unwrap(), b"newer");
    }
}
