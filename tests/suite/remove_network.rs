//! Removal over a network that misbehaves, from one, two and three targets: each run ends with nothing left or says what is, none
//! hangs; and the books.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parfs::base::Proc;
use parfs::jobs::remove::Options;
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{NfsMount, Url, Usage, attach};
use parfs::sim::{Config, Server};
use parfs::storage::{Ledger, Mount, Spread, Tally, Tap, Tapped, Volume};

use crate::network::{LONG, QUICK, SHORT, free, watchdog};
use crate::remove::{Ran, operand, plant_tree, remove_all};
use crate::tars::crew;
use crate::tree::dump;

const DIRS: usize = 6;
const FILES: usize = 20;
const PLACES: [&str; 8] = [
    "nth=9",
    "every=31",
    "p=0.03,seed=5",
    "proc=REMOVE,nth=5",
    "proc=REMOVE,every=17",
    "proc=RMDIR,nth=3",
    "proc=READDIRPLUS,nth=2",
    "proc=LOOKUP,nth=1",
];

#[derive(Clone, Debug)]
struct Case {
    targets: usize,
    faults: Vec<String>,
    lanes: usize,
    spread: Spread,
    replay_max: usize,
    patience: &'static str,
}

impl Case {
    fn new(targets: usize, fault: String) -> Case {
        let patience = match () {
            () if fault.starts_with("gone") => SHORT,
            () if fault.starts_with("lost-reply") => QUICK,
            () => LONG,
        };
        Case { targets, faults: vec![fault], lanes: 4, spread: Spread::RoundRobin, replay_max: 4096, patience }
    }
}

struct Outcome {
    ran: Ran,
    /// Objects left, the root not counted.
    left: Vec<String>,
    asked: Tally,
    issued: Tally,
    served: Tally,
    struck: u64,
    gone: usize,
    memory: Arc<MemoryMount>,
}

fn sum(tallies: impl IntoIterator<Item = Tally>) -> Tally {
    tallies.into_iter().sum()
}

fn issued(mounts: &[Arc<NfsMount>]) -> Tally {
    sum(mounts.iter().map(|mount| mount.issued().unwrap()))
}

fn run(case: &Case) -> Outcome {
    let memory = Arc::new(MemoryMount::new());
    plant_tree(&*memory, "top", DIRS, FILES);
    let restarted = memory.clone();
    let config = Config {
        targets: case.targets,
        ceiling: free(),
        replay_max: case.replay_max,
        faults: case.faults.iter().map(|text| text.parse().unwrap()).collect(),
        on_restart: Some(Arc::new(move || restarted.restart())),
        ..Config::default()
    };
    let server = Server::start(memory.clone(), config).unwrap();
    let mounts =
        attach(&Url::parse(&format!("{}?uid=0&gid=0&{}", server.url(), case.patience)).unwrap(), Usage::Writes)
            .unwrap();
    let (attached, served_before) = (issued(&mounts), sum(server.served()));
    let ledger = Arc::new(Ledger::default());
    let tapped = mounts.iter().map(|mount| {
        let taps: Vec<Arc<dyn Tap>> = vec![ledger.clone()];
        Arc::new(Tapped::new(mount.clone(), taps)) as Arc<dyn Mount>
    });
    let volume = Volume::new(tapped.collect(), case.spread);
    let operands = [Ok(operand(&volume, "top"))];
    let ran = remove_all(&volume, operands.into_iter(), &Options::default(), &crew(case.lanes, 4));
    Outcome {
        ran,
        left: dump(&*memory).into_keys().filter(|path| !path.is_empty()).collect(),
        asked: ledger.tally(),
        issued: issued(&mounts) - attached,
        served: sum(server.served()) - served_before,
        struck: server.report().faults.values().sum(),
        gone: volume.gone().len(),
        memory,
    }
}

/// Runs the cases, several at once, for they mostly wait.
fn each(cases: &[Case], body: impl Fn(&Case, Outcome, &str) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let context = format!("removal with {case:?}");
                    let watched = watchdog(&context);
                    body(case, run(case), &context);
                    drop(watched);
                }
            });
        }
    });
}

fn cases(kind: &str, suffix: &str) -> Vec<Case> {
    let all = |targets| PLACES.map(|place| Case::new(targets, format!("{kind}:{place}{suffix}")));
    [1, 2, 3].into_iter().flat_map(all).collect()
}

/// Everything is gone, each object once, and the job asked for nothing more than without faults.
fn assert_all_gone(outcome: &Outcome, context: &str) {
    assert!(outcome.struck > 0, "{context}: the fault never struck");
    assert!(outcome.ran.failures.is_empty(), "{context}: {:?}", outcome.ran.failures);
    assert!(outcome.left.is_empty(), "{context}: {:?}", outcome.left);
    let summary = &outcome.ran.summary;
    assert_eq!((summary.files, summary.dirs), ((DIRS * (FILES + 1)) as u64, (2 * DIRS + 1) as u64), "{context}");
    assert_eq!((summary.relisted, &summary.stopped), (0, &None), "{context}");
    let told: BTreeSet<&String> = outcome.ran.told.iter().collect();
    assert_eq!(told.len(), outcome.ran.told.len(), "{context}");
}

fn whole() -> Tally {
    let calm = Case { faults: vec![], ..Case::new(1, String::new()) };
    run(&calm).asked
}

#[test]
fn what_the_transport_heals_the_job_never_hears_of() {
    let asked = whole();
    for (kind, suffix) in
        [("split", ""), ("duplicate", ""), ("jukebox", ""), ("delay", ",ms=15"), ("reset", ""), ("reset-before", "")]
    {
        each(&cases(kind, suffix), |_, outcome, context| {
            assert_all_gone(&outcome, context);
            assert_eq!((outcome.asked, outcome.gone), (asked, 0), "{context}");
        });
    }
}

#[test]
fn lost_replies_and_restarts() {
    let asked = whole();
    for kind in ["lost-reply", "restart"] {
        each(&cases(kind, ""), |_, outcome, context| {
            assert_all_gone(&outcome, context);
            assert_eq!((outcome.asked, outcome.gone), (asked, 0), "{context}");
        });
    }
}

/// A server that remembers no answers says NOENT to what it has removed already.
#[test]
fn work_done_twice_counts_once() {
    for kind in ["reset", "lost-reply"] {
        let cases: Vec<Case> = cases(kind, "").into_iter().map(|case| Case { replay_max: 0, ..case }).collect();
        each(&cases, |_, outcome, context| assert_all_gone(&outcome, context));
    }
}

#[test]
fn the_others_go_on_when_one_target_goes_away() {
    let mut cases = Vec::new();
    for targets in [2, 3] {
        for place in ["proc=REMOVE,nth=4", "proc=REMOVE,nth=30", "proc=RMDIR,nth=1", "proc=READDIRPLUS,nth=2"] {
            cases.push(Case::new(targets, format!("gone:target=2,{place}")));
        }
    }
    let both = ["gone:target=1,proc=REMOVE,nth=5", "gone:target=3,proc=REMOVE,nth=20"].map(String::from);
    cases.push(Case { faults: both.into(), ..Case::new(3, "gone".into()) });
    each(&cases, |case, outcome, context| {
        assert_all_gone(&outcome, context);
        assert_eq!(outcome.gone, case.faults.len(), "{context}");
    });
}

#[test]
fn the_last_target_s_end_is_told_once_and_another_run_goes_on() {
    let places =
        ["proc=LOOKUP,nth=1", "proc=READDIRPLUS,nth=3", "proc=REMOVE,nth=2", "proc=REMOVE,nth=90", "proc=RMDIR,nth=5"];
    let cases: Vec<Case> = places.map(|place| Case::new(1, format!("gone:{place}"))).into();
    each(&cases, |_, outcome, context| {
        let Outcome { ran, left, memory, .. } = outcome;
        assert_eq!(ran.failures.len(), 1, "{context}: {:?}", ran.failures);
        assert!(ran.failures[0].contains("No mount target is left"), "{context}: {:?}", ran.failures);
        assert!(ran.summary.stopped.unwrap().starts_with("no mount target is left"), "{context}");
        assert!(!left.is_empty(), "{context}");
        crate::remove::remove_paths(&memory, &["top"], &Options::default(), &crew(2, 2)).clean();
        assert_eq!(dump(&*memory).len(), 1, "{context}");
    });
}

/// A removal that is never answered may still come true, so no other target is asked: it is a failure, named.
#[test]
fn removals_that_are_never_answered_are_named() {
    const IMPATIENT: &str = "timeo=1&retrans=1&away=30";
    for proc in [Proc::Remove, Proc::RmDir] {
        let nths = (1..=3).map(|n| format!("lost-reply:target=2,proc={proc},every={n}"));
        let cases: Vec<Case> = nths.map(|fault| Case { patience: IMPATIENT, ..Case::new(2, fault) }).collect();
        each(&cases, |_, outcome, context| {
            let Outcome { ran, memory, left, .. } = outcome;
            let silent = |text: &String| text.contains("The server never answered this call");
            assert!(ran.failures.iter().all(silent), "{context}: {:?}", ran.failures);
            assert!(outcome.struck > 0, "{context}");
            // What is left is above what is named, or named.
            for path in &left {
                let named = ran.failures.iter().any(|text| {
                    let failed = text.split(": ").next().unwrap();
                    failed == path || failed.starts_with(&format!("{path}/"))
                });
                assert!(named, "{context}: {path}");
            }
            assert_eq!(left.is_empty(), ran.failures.is_empty() || ran.failures.iter().all(|f| f.starts_with("top:")));
            let options = Options { force: true, ..Options::default() };
            crate::remove::remove_paths(&memory, &["top"], &options, &crew(2, 2)).clean();
            assert_eq!(dump(&*memory).len(), 1, "{context}");
        });
    }
}

/// Laws 1, 3 and 4: what is asked does not depend on targets, lanes or spread, and is what is issued and served.
#[test]
fn without_faults_asked_is_issued_is_served() {
    let expected = whole();
    for targets in [1, 2, 4] {
        for (lanes, spread) in [(1, Spread::First), (4, Spread::RoundRobin), (16, Spread::LeastLoaded)] {
            let case = Case { faults: vec![], lanes, spread, ..Case::new(targets, String::new()) };
            let context = format!("{case:?}");
            let watched = watchdog(&context);
            let outcome = run(&case);
            drop(watched);
            assert!(outcome.left.is_empty(), "{context}");
            assert_eq!(outcome.asked, expected, "{context}");
            assert_eq!(outcome.issued, outcome.asked, "{context}");
            assert_eq!(outcome.served, outcome.issued, "{context}");
        }
    }
}
