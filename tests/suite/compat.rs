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

/// Runs a line of a shell in the bench's directory, where `partar` is found.
fn shell(bench: &Bench, line: &str) -> Ran {
    let path = format!("{}:{}", bench.path("").display(), std::env::var("PATH").unwrap());
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(format!("umask 022; {line}")).current_dir(bench.path("")).env("PATH", path);
    Ran::of(command.output().unwrap())
}

fn planted(bench: &Bench, name: &str) -> PathBuf {
    fs::create_dir_all(bench.path(name)).unwrap();
    plant(&bench.path(name));
    bench.path(name)
}

/// Line 2: from one host's tree to another's, through a pipe.
#[test]
fn a_tree_goes_through_a_pipe() {
    let bench = Bench::new();
    let apps = planted(&bench, "apps");
    let ran = shell(&bench, "partar pcf - apps -P 32 | (cd out && partar pxf - -P 32)").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    assert_same(&dump_dir(&apps), &dump_dir(&bench.path("out/apps")), "line 2");
}

/// Line 3: an absolute name is stored without what leads to the root, which is told.
#[test]
fn an_absolute_tree_goes_through_a_pipe() {
    let bench = Bench::new();
    let apps = planted(&bench, "apps");
    let line = format!("partar pcf - {} -P 32 | (cd out && partar pxf - -P 32)", apps.display());
    let ran = shell(&bench, &line).ok();
    assert!(ran.stderr.starts_with("partar: Removing leading `/' from member names\n"), "{ran:?}");
    let below = bench.out().join(apps.strip_prefix("/").unwrap());
    assert_same(&dump_dir(&apps), &dump_dir(&below), "line 3");
}

/// Line 9: the archive here or elsewhere, the tree here or below -C.
#[test]
fn archives_are_made_here_and_elsewhere() {
    let bench = Bench::new();
    let example = planted(&bench, "example");
    let elsewhere = planted(&bench, "test/example");
    fs::write(elsewhere.join("more"), "").unwrap();
    let made = |line: &str, archive: &str, expected: &Path| {
        assert_eq!(shell(&bench, line).ok().stderr, "", "{line}");
        let extracted = bench.path("extracted");
        fs::create_dir(&extracted).unwrap();
        bench.run(&format!("pxf {archive} -C extracted")).ok();
        assert_same(&dump_dir(expected), &dump_dir(&extracted.join("example")), line);
        fs::remove_dir_all(extracted).unwrap();
    };
    made("partar pcf example.tar example", "example.tar", &example);
    let test = bench.path("test");
    made(&format!("partar pcf example.tar example -C {}", test.display()), "example.tar", &elsewhere);
    made(&format!("partar pcf {}/example.tar example", test.display()), "test/example.tar", &example);
}

/// Line 10: what is excluded stands behind the operands.
#[test]
fn patterns_behind_the_operands_exclude() {
    let bench = Bench::new();
    planted(&bench, "mydir");
    let line = "partar pcf - mydir --exclude '*.log*' --exclude '*.error*' | partar xf - -C out";
    assert_eq!(shell(&bench, line).ok().stderr, "");
    assert!(bench.path("out/mydir/docs/deep/c").exists() && bench.path("out/mydir/logs").is_dir());
    assert!(!bench.path("out/mydir/logs/x.log").exists() && !bench.path("out/mydir/y.error").exists());
}

/// Line 11: packed by gzip, which any gzip unpacks.
#[test]
fn a_packed_archive_leaves_out_a_name() {
    let bench = Bench::new();
    let path2 = planted(&bench, "path1/path2");
    fs::create_dir(path2.join("testing")).unwrap();
    fs::write(path2.join("testing/x"), "").unwrap();
    shell(&bench, &format!("partar pczf name.tar.gz {} --exclude=testing", path2.display())).ok();
    let mut tar = Vec::new();
    let packed = fs::File::open(bench.path("name.tar.gz")).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(packed), &mut tar).unwrap();
    let mut archive = tar::Archive::new(&tar[..]);
    let names: Vec<PathBuf> = archive.entries().unwrap().map(|e| e.unwrap().path().unwrap().into_owned()).collect();
    let below = path2.strip_prefix("/").unwrap();
    assert!(names.contains(&below.join("docs/b.bin")) && !names.contains(&below.join("testing")), "{names:?}");
}

/// What comes along from GNU tar, cp, rm and rsync is carried, or refused by its name with what to use instead.
#[test]
fn habits_of_other_tools_are_carried_or_named() {
    let bench = Bench::new();
    let carried_or_named = |line: &str, option: &str| {
        fs::create_dir_all(bench.path("in/d")).unwrap();
        fs::create_dir_all(bench.path("gone")).unwrap();
        fs::write(bench.path("in/d/f"), "f").unwrap();
        let line = line.replace("OPTION", option);
        let ran = bench.run_as(&line);
        let name = option.split(['=', ' ']).next().unwrap();
        let is_named = ran.stderr.contains(name) && ran.stderr.contains(" is not in this version; ");
        assert!(ran.status == Some(0) || ran.status == Some(2) && is_named, "{line}: {ran:?}");
        ran.status == Some(0)
    };
    let refused = |line: &str, options: &str| {
        options.split_whitespace().filter(|option| !carried_or_named(line, option)).collect::<Vec<_>>().join(" ")
    };
    let create = "-v -z -j -J --zstd --lz4 -a -Igzip -S -h -p --sort=name --owner=root --group=root --mode=a+r --mtime=2001-01-01 \
                  --numeric-owner --xattrs --acls --selinux --one-file-system --newer=2001-01-01 --format=ustar --format=gnu --format=pax \
                  --totals --absolute-names --null --exclude=x --exclude-from=/dev/null -X/dev/null -T/dev/null --transform=s/a/b/ --wildcards \
                  --remove-files";
    assert_eq!(refused("partar -cf o.tar OPTION in", create), "--remove-files");
    let extract = "-v -p -m -k --overwrite --keep-newer-files --skip-old-files --unlink-first --strip-components=1 -O --transform=s/a/b/ \
                   --numeric-owner --no-same-owner --no-same-permissions --xattrs --acls --selinux --totals --null --wildcards --exclude=x -S";
    for option in extract.split_whitespace() {
        fs::remove_dir_all(bench.out()).unwrap();
        fs::create_dir(bench.out()).unwrap();
        assert!(carried_or_named("partar -xf a.tar -C out OPTION", option), "{option}");
    }
    let copy = "-a -r -p -d -H -X -A -S -u -n -L -x -v --preserve=mode --reflink=auto --sparse=auto --sparse=always --sparse=never --exclude=x \
                --exclude-from=/dev/null --include=x --files-from=/dev/null --checksum --size-only --ignore-times --delete --dry-run \
                --bwlimit=1G --stats --info=progress2 --progress --restore";
    assert_eq!(refused("parcp OPTION in copy", copy), "-L");
    assert!(carried_or_named("parcp --delete OPTION in copy", "--max-delete=5"));
    let remove = "-r -R -f -d -v -I --one-file-system --preserve-root --dry-run --exclude=x -i --no-preserve-root";
    assert_eq!(refused("parrm OPTION gone", remove), "-i --no-preserve-root");
}
