//! Several runs that add to one archive at once: one after the other, and nothing of any is lost.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

use rustix::fs::{FlockOperation, flock};

use super::cli_support::{Bench, Ran};

#[test]
fn an_archive_is_added_to_by_one_run_at_a_time() {
    let bench = Bench::new();
    let names: Vec<String> = (0..8).map(|i| format!("f{i}")).collect();
    for name in &names {
        fs::write(bench.path(name), name.repeat(100_000)).unwrap();
    }
    // Also where none of them finds an archive.
    for archive in ["a.tar", "new.tar"] {
        let runs = names.iter().enumerate().map(|(i, name)| {
            let how = if i % 2 == 0 { "-rf" } else { "-uf" };
            bench.command(&format!("{how} {archive} {name}")).spawn().unwrap()
        });
        let runs: Vec<_> = runs.collect();
        for run in runs {
            let ran = Ran::of(run.wait_with_output().unwrap()).ok();
            let waited =
                ran.stderr == format!("partar: {archive}: another run adds to it; waiting until that has ended\n");
            assert!(ran.stderr.is_empty() || waited, "{ran:?}");
        }
        let listed = bench.run(&format!("-tf {archive}")).ok().stdout;
        let mut added: Vec<&str> = listed.lines().filter(|line| names.iter().any(|name| name == line)).collect();
        added.sort_unstable();
        assert_eq!(added, names, "{listed}");
        bench.run(&format!("-df {archive} f0 f7")).ok();
    }
}

#[test]
fn who_waits_for_an_archive_is_told_so() {
    let bench = Bench::new();
    fs::write(bench.path("f"), "f").unwrap();
    let archive = File::options().write(true).open(bench.path("a.tar")).unwrap();
    flock(&archive, FlockOperation::LockExclusive).unwrap();
    let mut run = bench.command("-rf a.tar f").spawn().unwrap();
    let mut stderr = BufReader::new(run.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "partar: a.tar: another run adds to it; waiting until that has ended\n");
    assert!(run.try_wait().unwrap().is_none());
    drop(archive);
    assert!(run.wait().unwrap().success());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(bench.run("-tf a.tar").ok().stdout.ends_with("\nf\n"));
    // What only reads waits for nobody.
    let archive = File::options().write(true).open(bench.path("a.tar")).unwrap();
    flock(&archive, FlockOperation::LockExclusive).unwrap();
    bench.run("-tf a.tar").ok();
}
