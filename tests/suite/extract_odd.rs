//! Archives that name one thing in several ways: what else is there is left alone, and what is told is so.

use std::fs;
use std::time::{Duration, SystemTime};

use super::cli_support::{Bench, header};

#[test]
fn a_directory_that_a_file_replaces_does_not_change_how_others_are_treated() {
    let bench = Bench::new();
    let mut tar = tar::Builder::new(Vec::new());
    for (path, kind) in [
        ("q/", tar::EntryType::Directory),
        ("e/g", tar::EntryType::Regular),
        ("q", tar::EntryType::Regular),
        ("r/f", tar::EntryType::Regular),
        ("e/h", tar::EntryType::Regular),
    ] {
        tar.append(&header(path.as_bytes(), kind, 0o755, 0), &b""[..]).unwrap();
    }
    fs::write(bench.path("odd.tar"), tar.into_inner().unwrap()).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_500_000_000);
    for dir in ["r", "e"] {
        fs::create_dir(bench.out().join(dir)).unwrap();
        fs::File::open(bench.out().join(dir)).unwrap().set_modified(old).unwrap();
    }
    bench.run("-xf odd.tar -C out").ok();
    assert!(bench.out().join("q").is_file());
    for dir in ["r", "e"] {
        let is = fs::metadata(bench.out().join(dir)).unwrap();
        assert!(is.modified().unwrap() > old, "{dir}: no member asks for its time, and a file was made in it");
    }
}

#[test]
fn an_operand_of_which_all_is_excluded_is_found_by_an_index_too() {
    let bench = Bench::new();
    bench.run("-tf a.tar --index a.idx").ok();
    for line in ["-tf a.tar top/sub --exclude top/sub", "-xf a.tar -C out top/sub --exclude b.log --exclude sub"] {
        for index in ["", "--index a.idx"] {
            let ran = bench.run(&format!("{line} {index}")).ok();
            assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{line} {index}");
        }
    }
    bench.run("-tf a.tar --index a.idx none").ended(2, "none: Not found in archive");
}

#[test]
fn a_comparison_names_the_target_that_a_hard_link_lacks() {
    let bench = Bench::new();
    for name in ["one", "two"] {
        fs::write(bench.path(name), "text").unwrap();
    }
    fs::remove_file(bench.path("two")).unwrap();
    fs::hard_link(bench.path("one"), bench.path("two")).unwrap();
    bench.run("-cf links.tar one two").ok();
    fs::remove_file(bench.path("one")).unwrap();
    let ran = bench.run("-df links.tar two").ended(1, "");
    assert_eq!(ran.stderr, "partar: two: its target 'one': Warning: Cannot stat: No such file or directory\n");
}
