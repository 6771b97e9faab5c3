//! What `partar` tells and stores, and with what status it ends, where GNU tar 1.34 was found to do otherwise: each case was run with both.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::os::unix::fs::symlink;

use crate::cli_support::{Bench, Ran};

/// Lines of stderr without the program's name, and without the one that ends a failed run.
fn told(ran: &Ran) -> Vec<&str> {
    let lines = ran.stderr.lines().filter_map(|line| line.strip_prefix("partar: "));
    lines.filter(|line| !line.starts_with("Exiting with")).collect()
}

/// GNU tar takes the names in a directory that the archive has for operands, which have to be there; others were there when they were listed.
#[test]
fn a_link_that_leads_nowhere_is_missing_where_the_archive_has_its_directory() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("d/new")).unwrap();
    fs::write(bench.path("d/a"), "a").unwrap();
    bench.run("-cf old.tar d").ok();
    for link in ["d/l", "d/new/l"] {
        symlink("nowhere", bench.path(link)).unwrap();
    }
    fs::copy(bench.path("old.tar"), bench.path("new.tar")).unwrap();
    let ran = bench.run("-uhf old.tar --sort=name d").failed("d/l: Cannot stat: No such file or directory");
    assert_eq!(told(&ran).len(), 2, "{ran:?}");
    fs::rename(bench.path("d"), bench.path("e")).unwrap();
    bench.run("-uhf new.tar e").ended(1, "e/l: File removed before we read it");
}
