//! The command lines that the file-storage tools of the field document or that public scripts use, as written: only paths are
//! replaced. The binary is called by its link, and the tree that it leaves is compared field by field.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::cli_support::{Bench, Ran};
use super::tree::{assert_same, dump_dir};

/// A tree of files, hard and symbolic links, a fifo and odd modes, with times in the past.
fn plant(root: &Path) {
    fs::create_dir_all(root.join("docs/deep")).unwrap();
    fs::create_dir(root.join("logs")).unwrap();
    for (name, bytes) in [("a.txt", 5), ("docs/b.bin", 300_000), ("docs/deep/c", 0), ("logs/x.log", 9), ("y.error", 3)]
    {
        fs::write(root.join(name), vec![b'x'; bytes]).unwrap();
    }
    fs::hard_link(root.join("a.txt"), root.join("docs/same")).unwrap();
    symlink("../a.txt", root.join("docs/link")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, 0o640.into(), 0).unwrap();
    for (name, mode) in [("a.txt", 0o600), ("docs/b.bin", 0o4755), ("docs", 0o2750), ("logs", 0o1777), ("", 0o711)] {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (i, name) in ["a.txt", "docs/b.bin", "logs/x.log", "docs/deep", "docs", "logs", ""].iter().enumerate() {
        let time = UNIX_EPOCH + Duration::new(1_000_000_000 + i as u64, 123_456_789);
        fs::File::open(root.join(name)).unwrap().set_modified(time).unwrap();
    }
}

/// A source that is planted, and a place for the destination, by absolute paths.
struct Paths {
    bench: Bench,
    source: PathBuf,
    destination: PathBuf,
}

impl Paths {
    fn new() -> Paths {
        let bench = Bench::new();
        let (source, destination) = (bench.path("source/folder"), bench.path("destination"));
        fs::create_dir_all(&source).unwrap();
        plant(&source);
        Paths { bench, source, destination }
    }

    /// Runs the line with SRC and DST replaced.
    fn run(&self, line: &str) -> Ran {
        let line = line.replace("SRC", self.source.to_str().unwrap());
        let ran = self.bench.run_as(&line.replace("DST", self.destination.to_str().unwrap())).ok();
        assert_eq!(ran.stdout, "", "{line}");
        ran
    }

    /// The line's run leaves the source's tree, and says nothing.
    fn copies(&self, line: &str) {
        assert_eq!(self.run(line).stderr, "", "{line}");
        assert_same(&dump_dir(&self.source), &dump_dir(&self.destination), line);
    }

    fn at(&self, name: &str) -> PathBuf {
        self.destination.join(name)
    }
}

/// Lines 1 and 8: a slash, or a slash and a dot, behind the source makes no difference, nor that the destination is there.
#[test]
fn a_folder_is_mapped_onto_a_folder() {
    for line in ["parcp -P 16 SRC DST", "parcp -P 16 SRC/. DST", "parcp -P 16 SRC/ DST"] {
        let paths = Paths::new();
        paths.copies(line);
        let ino = fs::metadata(paths.at("docs/b.bin")).unwrap().ino();
        paths.copies(line);
        assert_eq!(fs::metadata(paths.at("docs/b.bin")).unwrap().ino(), ino, "{line}");
        let paths = Paths::new();
        fs::create_dir(&paths.destination).unwrap();
        paths.copies(line);
    }
}

/// A mount point with a snapshot of what is in it.
fn mount(bench: &Bench) -> (PathBuf, PathBuf) {
    let mount = bench.path("mount");
    let snapshot = mount.join(".snapshot/SNAP");
    fs::create_dir_all(&snapshot).unwrap();
    plant(&snapshot);
    fs::create_dir(mount.join(".snapshot/OTHER")).unwrap();
    fs::create_dir_all(mount.join("new/dir")).unwrap();
    fs::write(mount.join("new/dir/file"), "later").unwrap();
    fs::write(mount.join("a.txt"), "changed").unwrap();
    fs::write(mount.join("logs"), "a file now").unwrap();
    (mount, snapshot)
}

/// Line 4: a snapshot is put back, and what came after it goes; the snapshots stay.
#[test]
fn a_snapshot_is_restored_in_place() {
    let bench = Bench::new();
    let (mount, snapshot) = mount(&bench);
    let ran = bench.run_as(&format!("parcp --delete {0}/.snapshot/SNAP {0}", mount.display())).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    assert!(mount.join(".snapshot/OTHER").is_dir());
    let wanted = dump_dir(&snapshot);
    fs::rename(mount.join(".snapshot"), bench.path("snapshots")).unwrap();
    // The rename changed the time of the mount's root.
    fs::File::open(&mount).unwrap().set_modified(UNIX_EPOCH + Duration::new(1_000_000_006, 123_456_789)).unwrap();
    assert_same(&wanted, &dump_dir(&mount), "restored");
}

/// Line 5: the list is one bare word without a newline; what it excludes is neither copied nor deleted.
#[test]
fn a_snapshot_is_restored_but_for_what_is_excluded() {
    let bench = Bench::new();
    let (mount, _) = mount(&bench);
    fs::write(bench.path("FILE"), "docs").unwrap();
    fs::create_dir_all(mount.join("new/docs")).unwrap();
    fs::create_dir_all(mount.join("docs/mine")).unwrap();
    let line = format!("parcp --delete --exclude-from=FILE {0}/.snapshot/SNAP {0}", mount.display());
    assert_eq!(bench.run_as(&line).ok().stderr, "");
    let mut names: Vec<_> = fs::read_dir(&mount).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".snapshot", "a.txt", "dangling", "docs", "fifo", "logs", "new", "y.error"]);
    assert!(mount.join("docs/mine").is_dir() && mount.join("new/docs").is_dir() && !mount.join("new/dir").exists());
    assert_eq!(fs::read(mount.join("a.txt")).unwrap(), b"xxxxx");
}

/// Lines 6 and 7: what is restored lands in a root that has more in it, which stays.
#[test]
fn a_restored_directory_lands_in_a_root() {
    for exclude in ["", "--exclude-from=FILE "] {
        let paths = Paths::new();
        fs::write(paths.bench.path("FILE"), "*.log\ny.error\n").unwrap();
        fs::create_dir_all(paths.at("etc/there")).unwrap();
        fs::create_dir(paths.at("docs")).unwrap();
        fs::write(paths.at("docs/own"), "").unwrap();
        assert_eq!(paths.run(&format!("parcp {exclude}SRC DST/")).stderr, "");
        assert!(paths.at("etc/there").is_dir() && paths.at("docs/own").exists() && paths.at("docs/deep/c").exists());
        assert_eq!(paths.at("y.error").exists(), exclude.is_empty());
        assert_eq!(paths.at("logs/x.log").exists(), exclude.is_empty());
        assert!(paths.at("logs").is_dir());
    }
    // The root directory itself, in a rehearsal: a name that no host has would be made in it.
    let bench = Bench::new();
    let name = format!("parfs-test-{}", std::process::id());
    fs::create_dir(bench.path("RESTORE_DIR")).unwrap();
    fs::write(bench.path("RESTORE_DIR").join(&name), "x").unwrap();
    let ran = bench.run_as("parcp --dry-run RESTORE_DIR /").ok();
    assert!(ran.stdout.contains(&format!("'RESTORE_DIR/{name}' -> '/{name}'")), "{ran:?}");
    assert!(!Path::new("/").join(name).exists());
}

/// Line 12: patterns of a list are names and shell patterns, at any depth; an absolute path excludes nothing, and is told.
#[test]
fn a_list_excludes_names_and_patterns() {
    let paths = Paths::new();
    fs::create_dir(&paths.destination).unwrap();
    fs::write(paths.bench.path("list.txt"), "*.log\ndeep\n").unwrap();
    let list = paths.bench.path("list.txt");
    assert_eq!(paths.run(&format!("parcp --exclude-from={} SRC DST", list.display())).stderr, "");
    assert!(!paths.at("logs/x.log").exists() && !paths.at("docs/deep").exists());
    assert!(paths.at("docs/same").exists() && paths.at("y.error").exists());
    fs::write(&list, format!("{}/docs\n", paths.source.display())).unwrap();
    let ran = paths.run(&format!("parcp --exclude-from={} SRC DST", list.display()));
    assert!(ran.stderr.contains("excludes nothing: it is an absolute path"), "{ran:?}");
    assert_same(&dump_dir(&paths.source), &dump_dir(&paths.destination), "nothing is excluded");
}

/// Line 13: as a cron job would, again and again.
#[test]
fn a_restore_is_kept_up_to_date() {
    let paths = Paths::new();
    paths.copies("parcp -P 16 --restore SRC/ DST");
    fs::remove_file(paths.source.join("docs/b.bin")).unwrap();
    fs::write(paths.source.join("logs/x.log"), "longer than it was").unwrap();
    fs::rename(paths.source.join("docs/deep"), paths.source.join("moved")).unwrap();
    paths.run("parcp -P 16 --restore SRC/ DST");
    assert!(paths.at("docs/b.bin").exists() && paths.at("docs/deep/c").exists() && paths.at("moved/c").exists());
    paths.copies("parcp -P 16 --restore --delete SRC/ DST");
    paths.copies("parcp -P 16 --restore --delete SRC/ DST");
}

/// Line 14: `parrm -P 16 /path`; `parrm -rf dir`.
#[test]
fn parrm_with_threads_and_as_rm_is_called() {
    let paths = Paths::new();
    paths.copies("parcp SRC DST");
    paths.run("parrm -P 16 DST");
    assert!(!paths.destination.exists());
    fs::create_dir(paths.bench.path("dir")).unwrap();
    plant(&paths.bench.path("dir"));
    paths.run("parrm -rf dir");
    assert!(!paths.bench.path("dir").exists() && paths.source.join("a.txt").exists());
}
