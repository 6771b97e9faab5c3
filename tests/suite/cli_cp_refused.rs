//! parcp: what is refused before anything is touched, and the words that come near to it.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use super::cli_support::{Bench, Ran, Sim};
use super::tree::{assert_same, dump_dir};

/// rsync's `-rt` is cp's `-r -t SRC`: what was meant as the source would be cleared.
#[test]
fn nothing_is_deleted_where_t_stands_among_other_letters() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("src/B")).unwrap();
    fs::create_dir(bench.path("B")).unwrap();
    fs::write(bench.path("src/B/precious"), "1").unwrap();
    fs::write(bench.path("B/f"), "2").unwrap();
    let before = dump_dir(&bench.path("."));
    for line in
        ["-rpt src B --delete", "-rt src B --delete-excluded", "--delete -at src B", "-rtv src B --delete --dry-run"]
    {
        bench.run_as(&format!("parcp {line}")).failed("--target-directory=DIR");
        assert_same(&before, &dump_dir(&bench.path(".")), line);
    }
    // Without a deletion it is cp's, and so is a -t alone.
    bench.run_as("parcp -rt B src").ok();
    bench.run_as("parcp -r --delete -t B src").ok();
    assert!(bench.path("B/src/B/precious").exists() && bench.path("B/f").exists());
}

/// What is not there was meant as the destination.
#[test]
fn a_t_alone_that_may_be_rsyncs_is_told() {
    let bench = Bench::new();
    fs::create_dir(bench.path("src")).unwrap();
    let words = "parcp: B: cannot stat: No such file or directory; -t is cp's, and makes 'src' the destination: for rsync's leave it \
                 out, as times are kept";
    bench.run_as("parcp -t src B --delete").ended(1, words);
    let ran = bench.run_as("parcp -t src B").ended(1, "parcp: B: cannot stat: No such file or directory");
    assert!(!ran.stderr.contains("rsync"), "{}", ran.stderr);
}

/// rsync leaves the mount points out.
#[test]
fn one_file_system_twice_is_refused() {
    let bench = Bench::new();
    fs::create_dir(bench.path("s")).unwrap();
    for words in ["-xx", "-a -x -x", "-ax --one-file-system"] {
        bench.run_as(&format!("parcp {words} s d")).failed("parcp: -x given twice is not in this version");
    }
    assert!(!bench.path("d").exists());
    bench.run_as("parcp -x --restore s d").ok();
}

/// As by cp since coreutils 9.3 and 9.5.
#[test]
fn update_has_words() {
    for (words, is) in [
        ("--update=none", "old"),
        ("--update=older", "old"),
        ("--update", "old"),
        ("--update=all", "new"),
        ("-u --update=all", "new"),
        ("-u -n", "old"),
    ] {
        let bench = Bench::new();
        // The destination's file is the newer one.
        fs::create_dir(bench.path("s")).unwrap();
        fs::write(bench.path("s/f"), "new").unwrap();
        fs::File::options().write(true).open(bench.path("s/f")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        fs::create_dir(bench.path("d")).unwrap();
        fs::write(bench.path("d/f"), "old").unwrap();
        bench.run_as(&format!("parcp {words} s d")).ok();
        assert_eq!(fs::read_to_string(bench.path("d/f")).unwrap(), is, "{words}");
        bench.run_as("parcp --update=none-fail s d").failed("use none, and --verify-only");
    }
}

#[test]
fn what_is_no_file_is_not_replaced_by_one() {
    let bench = Bench::new();
    let fifo = bench.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    bench.run_as("parcp a.tar fifo").ended(1, "'fifo' is a device, FIFO or socket");
    assert!(!fs::symlink_metadata(&fifo).unwrap().is_file());
}

/// Where nothing would be written into it, it is equal or replaced like any entry: the same command twice is one run.
#[test]
fn a_fifo_is_copied_onto_a_fifo() {
    let bench = Bench::new();
    let make = |name: &str, bits| {
        let mode = rustix::fs::Mode::from_raw_mode(bits);
        rustix::fs::mknodat(rustix::fs::CWD, bench.path(name), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    make("s", 0o640);
    let meta = |name: &str| fs::symlink_metadata(bench.path(name)).unwrap();
    for _ in 0..2 {
        bench.run_as("parcp s p").ok();
        bench.run_as("parcp --verify-only s p").ok();
        bench.run_as("parcp --dry-run s p").ok();
    }
    let is = |name: &str| (meta(name).file_type(), meta(name).mode(), meta(name).modified().unwrap());
    assert_eq!(is("s"), is("p"));
    make("other", 0o600);
    bench.run_as("parcp --verify-only s other").ended(1, "");
    bench.run_as("parcp s other").ok();
    assert_eq!(is("s"), is("other"));
    symlink("a.tar", bench.path("link")).unwrap();
    bench.run_as("parcp link other").ended(1, "'other' is a device, FIFO or socket");
    // From a server too.
    let sim = Sim::start(&["--dir", bench.path(".").to_str().unwrap(), "--unlimited"]);
    for _ in 0..2 {
        bench.run_as(&format!("parcp {}s p", sim.url)).ok();
    }
    bench.run_as(&format!("parcp {}a.tar p", sim.url)).ended(1, "'p' is a device, FIFO or socket");
}

/// What /dev/stdout is: here no link but the bench's own is ever in danger.
#[test]
fn no_link_into_proc_is_replaced_by_a_file() {
    let bench = Bench::new();
    fs::write(bench.path("printed"), "before").unwrap();
    for (name, to) in [("so", "/proc/self/fd/1"), ("stdout", "so"), ("gone", "/proc/self/fd/999"), ("fd", "/dev/fd/1")]
    {
        symlink(to, bench.path(name)).unwrap();
        let printed = fs::File::options().append(true).open(bench.path("printed")).unwrap();
        let output = bench.command_as("parcp", ["a.tar", name]).stdout(printed).output().unwrap();
        Ran::of(output)
            .ended(1, &format!("parcp: '{name}' is a symbolic link into /proc, which is not written to; use cp"));
        assert_eq!(fs::read_link(bench.path(name)).unwrap().to_str(), Some(to));
    }
    assert_eq!(fs::read_to_string(bench.path("printed")).unwrap(), "before");
    // Any other link is replaced, as by rsync.
    symlink("printed", bench.path("link")).unwrap();
    bench.run_as("parcp a.tar link").ok();
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_file());
}
