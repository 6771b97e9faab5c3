//! Runs that are asked to end while a limit holds what they have in hand.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::cli_support::{Bench, Sim, send};

/// Begins `command`, which a limit holds for a quarter of an hour and more, ends it by SIGINT and returns its exit status.
#[track_caller]
fn ended(bench: &Bench, command: &str) -> Option<i32> {
    let (program, args) = command.split_once(' ').unwrap();
    let mut child = bench.command_as(program, args.split(' ')).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("lanes of"), "{line}");
    // What is held then waits for its turn; a signal that comes before that finds less to end.
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "{command}: nothing held it");
    send(&child, Signal::INT);
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{command}: it goes on");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("a second one ends at once"), "{rest}");
    child.wait().unwrap().code()
}

#[test]
fn a_run_that_a_limit_holds_ends_when_it_is_asked_to() {
    let bench = Bench::new();
    fs::write(bench.path("big"), vec![7; 4 << 20]).unwrap();
    fs::create_dir(bench.path("t")).unwrap();
    (0..500).for_each(|i| fs::write(bench.path(format!("t/{i}")), "").unwrap());
    bench.run("cf big.tar big").ok();
    for command in [
        "parcp -vv --bwlimit=4k big copy",
        "partar -vv --bwlimit=4k -xf big.tar -C out",
        "partar -vv --bwlimit=4k -cf new.tar big",
        "parrm -vv --max-iops=4 -r t",
    ] {
        assert_eq!(ended(&bench, command), Some(130), "{command}");
    }
    assert!(fs::read_dir(bench.path("t")).unwrap().count() > 0);
}

/// Each window of what a lane has in hand may be put off anew.
#[test]
fn a_run_that_a_busy_server_puts_off_ends_soon() {
    let bench = Bench::new();
    fs::write(bench.path("big"), vec![7; 40 << 20]).unwrap();
    bench.run("cf big.tar big").ok();
    for command in ["partar -xf big.tar -C", "parcp big"] {
        let sim = Sim::start(&["--unlimited", "--fault", "jukebox:proc=WRITE"]);
        let (program, args) = command.split_once(' ').unwrap();
        let mut child = bench.command_as(program, args.split(' ').chain([sim.url.as_str()])).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        send(&child, Signal::INT);
        let asked = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{command}");
        assert!(asked.elapsed() < Duration::from_secs(10), "{command}: {:?}", asked.elapsed());
    }
}
