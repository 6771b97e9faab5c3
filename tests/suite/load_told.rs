//! `parfs load` through the binary: idle processors, what --debug tells line by line, rates in bits.
//! Leaves out the numbers' forms, which are `load`'s own tests, and real fio, which tests/fio/run compares with.

use std::collections::BTreeSet;
use std::fs;

use super::load::{Loads, document};

/// Lines of --debug of this type: what stands behind the thread.
#[track_caller]
fn traced<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let head = format!("{kind:<8} ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&head));
    let split = |line: &'a str| {
        let (thread, said) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(thread.parse::<u32>().is_ok(), "{line}");
        said.trim_start()
    };
    lines.map(split).collect()
}

#[test]
fn idle_processors_are_told() {
    let loads = Loads::new();
    let line = "--disk_util=0 --name=a --ioengine=null --size=1m --rw=read";
    for (what, per_cpu) in [("system", false), ("percpu", true)] {
        let ran = loads.run(&format!("--output-format=json --idle-prof={what} {line}")).ok();
        let (jobs, text) = ran.stdout.split_once("  \"cpu_idleness\" : {\n").unwrap_or_else(|| panic!("{ran:?}"));
        assert!(jobs.ends_with("\n  ],\n") && text.ends_with("\n  }\n}\n"), "behind the jobs, and last: {ran:?}");
        let keys: Vec<&str> = text.lines().filter_map(|line| line.split('"').nth(1)).collect();
        let [first, cpus @ .., mean, deviation] = &keys[..] else { panic!("{keys:?}") };
        assert_eq!([*first, *mean, *deviation], ["system", "unit_mean", "unit_stddev"]);
        assert!(cpus.iter().all(|key| key.strip_prefix("cpu-").is_some_and(|n| n.parse::<u32>().is_ok())), "{keys:?}");
        assert_eq!(!cpus.is_empty(), per_cpu, "{keys:?}");
        let idleness = &document(&ran)["cpu_idleness"];
        let of = |key: &str| idleness[key].as_f64().unwrap();
        assert!(of("unit_mean") > 0.0 && (0.0..=100.0).contains(&of("system")), "{idleness}");
        let sum: f64 = cpus.iter().map(|key| of(key)).sum();
        assert!(!per_cpu || (sum / cpus.len() as f64 - of("system")).abs() < 1e-3, "{idleness}");
        let ran = loads.run(&format!("--idle-prof={what} {line}")).ok();
        let (_, told) = ran.stdout.split_once("\n\nCPU idleness:\n  system: ").unwrap_or_else(|| panic!("{ran:?}"));
        assert_eq!(told.contains("%\n  percpu: "), per_cpu, "{ran:?}");
        assert!(told.contains("%\n  unit work: mean=") && ran.stderr.is_empty(), "{ran:?}");
    }
    assert!(loads.json(line).get("cpu_idleness").is_none());
}

#[test]
fn a_calibration_runs_no_job() {
    let loads = Loads::new();
    let ran = loads.run("--idle-prof=calibrate --name=a --size=64k --rw=write").ok();
    assert!(ran.stdout.starts_with("CPU idleness:\n  unit work: mean=") && ran.stdout.lines().count() == 2, "{ran:?}");
    let ran = loads.run("--output=told --output-format=json --idle-prof calibrate").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    assert!(fs::read_to_string(loads.path("told")).unwrap().contains("us, stddev="));
    let left: Vec<_> = fs::read_dir(loads.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["told"]);
    loads.run("--idle-prof=most --name=a --size=64k").ended(1, "incorrect idle-prof option: most");
    let steps = "--idle-prof=system --sweep bs=4k,8k --name=a --size=64k --ioengine=null";
    loads.run(steps).ended(1, "--idle-prof is of one run");
}

#[test]
fn each_io_is_told_and_no_document_is_torn() {
    let loads = Loads::new();
    let line =
        "--disk_util=0 --name=a --rw=randwrite --bs=4k --size=32k --ioengine=libaio --iodepth=4 --fsync=8 --numjobs=2";
    let ran = loads.run(&format!("--debug=io --output-format=json {line}")).ok();
    assert_eq!(document(&ran)["jobs"][1]["write"]["total_ios"], 8);
    let said = traced(&ran.stderr, "io");
    assert!(ran.stderr.starts_with("fio: set debug option io\n"), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), said.len() + 1, "{ran:?}");
    // Of one clone: eight blocks, each queued and complete once, and a sync.
    for step in ["queue", "complete"] {
        let ios: BTreeSet<&str> = said
            .iter()
            .filter(|said| said.starts_with(step) && said.ends_with(",ddir=1,file=a.0.0"))
            .filter_map(|said| said.split_once(": off=").map(|(_, what)| what))
            .collect();
        let wanted = (0..8).map(|block| match block {
            0 => "0x0,len=0x1000,ddir=1,file=a.0.0".to_owned(),
            block => format!("{:#x},len=0x1000,ddir=1,file=a.0.0", block * 4096),
        });
        assert_eq!(ios.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), wanted.collect(), "{step}: {ran:?}");
        let is_sync = |said: &&&str| said.starts_with(step) && said.contains("len=0x0,ddir=3,file=a.1.0");
        assert_eq!(said.iter().filter(is_sync).count(), 0, "no write is behind the eighth: {ran:?}");
    }
    assert_eq!(said.iter().filter(|said| **said == "load ioengine libaio").count(), 2);
    assert!(said.iter().any(|said| said.starts_with("getevents: ")), "{ran:?}");
    let synced = loads.run(&format!("--debug=io {} --fsync=2 --numjobs=1", line.replace("--fsync=8", ""))).ok();
    let syncs = traced(&synced.stdout, "io").into_iter().filter(|said| said.contains("off=0x0,len=0x0,ddir=3")).count();
    // Queued and complete: after two, four and six of eight writes.
    assert_eq!((syncs, synced.stderr.as_str()), (6, ""), "{synced:?}");
    assert!(loads.run(line).ok().stdout.lines().all(|line| !line.starts_with("io ")));
}

/// As fio's own test of seeds (t/random_seed.py) reads them.
#[test]
fn seeds_and_random_offsets_are_told() {
    let loads = Loads::new();
    let seeds = |options: &str| {
        let line =
            format!("--debug=random --name=r --ioengine=null --filesize=32k --rw=randread --output=out {options}");
        loads.run(&line).ok();
        let text = fs::read_to_string(loads.path("out")).unwrap();
        let said = traced(&text, "random");
        let number =
            |head: &str| said.iter().find_map(|said| said.strip_prefix(head)).unwrap().parse::<usize>().unwrap();
        let seeds: Vec<String> =
            said.iter().filter(|said| said.starts_with("rand_seeds[")).map(|said| said.to_string()).collect();
        assert_eq!(seeds.len(), number("FIO_RAND_NR_OFFS="), "{text}");
        let from_system = said.contains(&"using system RNG for random seeds");
        assert_eq!(from_system, options.ends_with("randrepeat=0"), "{text}");
        let offsets: BTreeSet<u64> =
            said.iter().filter_map(|said| said.strip_prefix("off rand ")).map(|n| n.parse().unwrap()).collect();
        assert_eq!(offsets, (0..8).map(|block| block * 4096).collect(), "{text}");
        seeds
    };
    assert_eq!(seeds("--randrepeat=1"), seeds("--allrandrepeat=1"));
    assert_ne!(seeds("--randrepeat=0"), seeds("--allrandrepeat=0"));
    assert_eq!(seeds("--randrepeat=0 --randseed=12345"), seeds("--randrepeat=1 --randseed=12345"));
    assert_ne!(seeds("--randseed=12345"), seeds("--randseed=67890"));
    let sequential = loads.run("--debug=random --name=r --ioengine=null --size=32k --rw=read").ok();
    assert!(!sequential.stdout.contains("off rand"), "{sequential:?}");
}

#[test]
fn types_of_debug_that_are_not_here_are_refused() {
    let loads = Loads::new();
    for (word, said) in [("mem", "debug mask mem not found; there are io, random, all"), ("io,", "debug mask  not")] {
        let ran = loads.run(&format!("--debug={word} --name=a --size=64k --rw=write")).ended(1, said);
        assert!(ran.stdout.is_empty() && !loads.path("a.0.0").exists(), "{ran:?}");
    }
    assert_eq!(loads.run("--debug=help").ok().stdout, "fio: dumping debug options:io,random,all\n");
}

#[test]
fn rates_are_told_in_bits_and_documents_are_not() {
    let loads = Loads::new();
    let line = "--disk_util=0 --name=a --ioengine=null --size=1m --rw=read --unit_base=1";
    let ran = loads.run(line).ok();
    let behind = |text: &str| ran.stdout.split_once(text).unwrap_or_else(|| panic!("{text}: {ran:?}")).1;
    let rate = behind(", BW=").split_once(" (").unwrap();
    assert!(rate.0.ends_with("ibit/s") && rate.1.split_once(")(1024KiB/").unwrap().0.ends_with("bit/s"), "{ran:?}");
    let group: Vec<&str> = behind("   READ: bw=").split(", ").collect();
    assert!(
        group[0].contains("ibit/s (") && group[1].contains("ibit/s-") && group[2] == "io=1024KiB (1049kB)",
        "{ran:?}"
    );
    let document = loads.json(line);
    let read = &document["jobs"][0]["read"];
    let rate = read["io_bytes"].as_u64().unwrap() * 1000 / read["runtime"].as_u64().unwrap();
    assert_eq!((read["bw_bytes"].as_u64(), read["bw"].as_u64()), (Some(rate), Some(rate / 1024)), "{read}");
}
