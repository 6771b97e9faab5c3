//! `partar -c` that is killed, or stopped, before it has written all: what the first leaves is not taken for a whole archive.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use rustix::process::Signal;

use super::cli_support::{Bench, send};

/// One that packs nothing, one whose pieces could be an archive's end too, one that is written by a program.
const PACKED: [&str; 3] = ["", "-z ", "-I cat "];

/// A run that has written some of `new.tar` and waits for further names.
fn halfway(bench: &Bench, packed: &str) -> (Child, ChildStdin) {
    let mut child = bench.command(&format!("{packed}-cf new.tar -T -")).stdin(Stdio::piped()).spawn().unwrap();
    let mut names = child.stdin.take().unwrap();
    // More than it looks at ahead of what it reads.
    names.write_all("part\n".repeat(700).as_bytes()).unwrap();
    await_some(bench, &mut child);
    (child, names)
}

/// Until something was written.
fn await_some(bench: &Bench, child: &mut Child) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while fs::metadata(bench.path("new.tar")).map_or(0, |meta| meta.len()) == 0 {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "nothing was written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("part"), vec![7; 20 << 10]).unwrap();
    bench
}

/// GNU tar misses no end behind a member, only what is missing of one.
#[test]
fn a_killed_run_leaves_an_archive_that_ends_within_a_file() {
    // What a program's pipe has taken of it ends anywhere.
    for packed in &PACKED[..2] {
        let bench = bench();
        let (mut child, _names) = halfway(&bench, packed);
        child.kill().unwrap();
        child.wait().unwrap();
        let cut = if *packed == "-z " { "unexpected end of file" } else { "Unexpected EOF in archive" };
        bench.run("tf new.tar").failed(cut);
    }
}

/// Nor where others follow that have no data.
#[test]
fn what_has_no_data_does_not_end_it() {
    let bench = bench();
    fs::write(bench.path("none"), "").unwrap();
    let mut child = bench.command("-cf new.tar -T -").stdin(Stdio::piped()).spawn().unwrap();
    let mut names = child.stdin.take().unwrap();
    // Pieces of 1 MiB end behind all three of these.
    names.write_all("part\nnone\nnone\n".repeat(300).as_bytes()).unwrap();
    await_some(&bench, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    bench.run("tf new.tar").failed("Unexpected EOF in archive");
}

#[test]
fn a_run_that_a_signal_stops_leaves_what_it_has_written() {
    for packed in PACKED.into_iter().chain(["-j ", "--zstd "]) {
        let bench = bench();
        let (mut child, names) = halfway(&bench, packed);
        send(&child, Signal::INT);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("a second one ends at once") {
            assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{packed}: {said}");
        }
        // It may wait for a name.
        drop(names);
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{packed}: {said}");
        let listed = bench.run("tf new.tar").failed("");
        assert!(listed.stdout.starts_with("part\npart\n"), "{packed}: {said} {listed:?}");
        bench.run("-xf new.tar -C out").failed("");
        // Programs that only unpack miss something too.
        let archive = fs::read(bench.path("new.tar")).unwrap();
        let unpacked = match packed {
            "-z " => MultiGzDecoder::new(&archive[..]).read_to_end(&mut Vec::new()),
            "-j " => MultiBzDecoder::new(&archive[..]).read_to_end(&mut Vec::new()),
            "--zstd " => zstd::Decoder::new(&archive[..]).unwrap().read_to_end(&mut Vec::new()),
            _ => continue,
        };
        assert!(unpacked.is_err(), "{packed}");
    }
}
