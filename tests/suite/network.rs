//! Extraction over a network that misbehaves: each fault that the simulator knows, onto one, two and three targets, for an
//! archive of small objects and for a file in ranges. Each run ends with the whole tree or says what is missing; none
//! hangs, none is silent. And the books: what was sent is what was served, replayed or dropped.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use parfs::base::Proc;
use parfs::base::price::Ceiling;
use parfs::jobs::extract::Options;
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{NfsMount, Url, Usage, attach};
use parfs::sim::{Config, Server, TargetReport};
use parfs::storage::{Ledger, Mount, Spread, Tally, Tapped, Volume};

use crate::tars::{Ran, Tar, crew, extract, pipe, seekable, volume};
use crate::tree::{Tree, dump};

const TARGETS: [usize; 3] = [1, 2, 3];
/// Where silence is the fault: of 0.3 s it loses a call, of 1 s a target.
pub const SHORT: &str = "timeo=3&retrans=8&away=1";
/// Where single replies are lost: several in a row and a busy machine's pause are not to be taken for a target's end.
pub const QUICK: &str = "timeo=3&retrans=20&away=60";
/// Elsewhere a busy machine's pause must not be taken for one.
pub const LONG: &str = "timeo=200&retrans=8&away=60";
/// No case takes a tenth of it.
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// Cases mostly wait for time-outs, so several go at once.
const CASES_AT_ONCE: usize = 6;

/// An archive, how it is extracted, and what has to come of it.
struct Tape {
    name: &'static str,
    bytes: Vec<u8>,
    options: Options,
    expected: Tree,
    members: usize,
    /// Without faults.
    asked: Tally,
}

impl Tape {
    fn new(name: &'static str, tar: Tar) -> Tape {
        let options = Options { mode_mask: 0, range_bytes: 256 << 10, ..Options::default() };
        let (bytes, memory) = (tar.bytes(), Arc::new(MemoryMount::new()));
        let ran = extract(&volume(&memory), seekable(bytes.clone()), &options, &crew(1, 1)).clean();
        let (expected, members) = (dump(&*memory), ran.done.len());
        let mut tape = Tape { name, bytes, options, expected, members, asked: Tally::default() };
        let case = Case { faults: vec![], lanes: 1, ..Case::new(1, String::new()) };
        tape.asked = run(&tape, &case).asked[0];
        tape
    }

    /// Small files, links and directories.
    fn small() -> Tape {
        let mut tar = Tar::default().dir("./");
        for d in 0..4 {
            tar = tar.dir_mode(&format!("./d{d}/"), 0o700 + d).symlink(&format!("./d{d}/s"), "f0");
            for f in 0..9 {
                tar = tar.file(&format!("./d{d}/f{f}"), vec![b'a' + d as u8; f * 1111]);
            }
            tar = tar.link(&format!("./d{d}/h"), &format!("./d{d}/f3")).special(&format!("./d{d}/p"), b'6');
        }
        Tape::new("small", tar)
    }

    /// One file in eight ranges of four writes.
    fn big() -> Tape {
        let data: Vec<u8> = (0..2_000_001u32).map(|i| (i * 7 / 5 % 251) as u8).collect();
        Tape::new("big", Tar::default().dir("./").file("./big", data))
    }
}

/// One run onto a server with faults.
#[derive(Clone, Debug)]
struct Case {
    targets: usize,
    faults: Vec<String>,
    lanes: usize,
    spread: Spread,
    /// Of the duplicate request cache.
    replay_max: usize,
}

impl Case {
    fn new(targets: usize, fault: String) -> Case {
        Case { targets, faults: vec![fault], lanes: 4, spread: Spread::LeastLoaded, replay_max: 4096 }
    }
}

/// What came of it. Lists have an entry for each target.
struct Outcome {
    ran: Ran,
    tree: Tree,
    asked: Vec<Tally>,
    /// By the job, and by attaching before it.
    issued: Vec<Tally>,
    attached: Vec<Tally>,
    retransmitted: Vec<u64>,
    served: Vec<Tally>,
    replayed: Vec<u64>,
    reports: Vec<TargetReport>,
    struck: u64,
    gone: usize,
}

pub fn free() -> Ceiling {
    Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO }
}

fn serve(memory: &Arc<MemoryMount>, case: &Case) -> Server {
    let restarted = memory.clone();
    let config = Config {
        targets: case.targets,
        ceiling: free(),
        replay_max: case.replay_max,
        faults: case.faults.iter().map(|text| text.parse().unwrap()).collect(),
        on_restart: Some(Arc::new(move || restarted.restart())),
        ..Config::default()
    };
    Server::start(memory.clone(), config).unwrap()
}

/// All ids are root's, as in memory.
fn mounts(server: &Server, case: &Case) -> Vec<Arc<NfsMount>> {
    let is = |kind: &str| case.faults.iter().any(|fault| fault.starts_with(kind));
    let patience = match () {
        () if is("gone") => SHORT,
        () if is("lost-reply") || is("delay") => QUICK,
        () => LONG,
    };
    let url = format!("{}?uid=0&gid=0&wsize=64k&{patience}", server.url());
    attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap()
}

fn issued(mounts: &[Arc<NfsMount>]) -> Vec<Tally> {
    mounts.iter().map(|mount| mount.issued().unwrap()).collect()
}

fn run(tape: &Tape, case: &Case) -> Outcome {
    let memory = Arc::new(MemoryMount::new());
    let server = serve(&memory, case);
    let mounts = mounts(&server, case);
    let attached = issued(&mounts);
    let ledgers: Vec<Arc<Ledger>> = mounts.iter().map(|_| Arc::default()).collect();
    let tapped = mounts.iter().zip(&ledgers).map(|(mount, ledger)| {
        let taps: Vec<Arc<dyn parfs::storage::Tap>> = vec![ledger.clone()];
        Arc::new(Tapped::new(mount.clone(), taps)) as Arc<dyn Mount>
    });
    let volume = Volume::new(tapped.collect(), case.spread);
    let ran = extract(&volume, pipe(tape.bytes.clone()), &tape.options, &crew(case.lanes, 4));
    let report = server.report();
    Outcome {
        ran,
        tree: dump(&*memory),
        asked: ledgers.iter().map(|ledger| ledger.tally()).collect(),
        issued: issued(&mounts),
        attached,
        retransmitted: mounts.iter().map(|mount| mount.retransmitted()).collect(),
        served: server.served(),
        replayed: server.replayed(),
        struck: report.faults.values().sum(),
        reports: report.targets,
        gone: volume.gone().len(),
    }
}

impl Outcome {
    /// Of one target: calls answered, sent again, carried out, replayed, dropped.
    fn books(&self, target: usize) -> (u64, u64, u64, u64, u64) {
        let (issued, served) = (self.issued[target].calls(), self.served[target].calls());
        (issued, self.retransmitted[target], served, self.replayed[target], self.reports[target].dropped)
    }

    /// Law 4, where each request that was sent reached the server.
    fn assert_balanced(&self, context: &str) {
        for target in 0..self.served.len() {
            let (issued, again, served, replayed, dropped) = self.books(target);
            assert_eq!(issued + again, served + replayed + dropped, "{context}, target {target}");
        }
    }

    /// What remains of law 4 where connections were cut: requests that the server never read were sent too. Each call
    /// that has an answer was served or replayed, and nothing was served that was not sent.
    fn assert_within(&self, context: &str) {
        for target in 0..self.served.len() {
            let (issued, again, served, replayed, dropped) = self.books(target);
            assert!(issued <= served + replayed, "{context}, target {target}: {:?}", self.books(target));
            let reached = served + replayed + dropped;
            assert!(reached <= issued + again, "{context}, target {target}: {:?}", self.books(target));
        }
    }

    /// All went well and the tree is whole; the fault did strike.
    fn assert_whole(&self, tape: &Tape, context: &str) {
        assert!(self.struck > 0, "{context}: the fault never struck");
        assert!(self.ran.failures.is_empty(), "{context}: {:?}", self.ran.failures);
        assert_eq!((&self.ran.summary.archive_error, &self.ran.summary.stopped), (&None, &None), "{context}");
        assert_eq!(self.ran.done.len() as u64, self.ran.summary.members, "{context}");
        assert!(self.tree == tape.expected, "{context}: {:?}", difference(&self.tree, &tape.expected));
    }
}

/// The paths at which two trees differ.
fn difference(tree: &Tree, expected: &Tree) -> BTreeSet<String> {
    let paths = tree.keys().chain(expected.keys());
    paths.filter(|path| tree.get(*path) != expected.get(*path)).cloned().collect()
}

/// Runs `body` for each case, several at once. A case that hangs ends the whole test run with its name.
fn each(tape: &Tape, cases: &[Case], body: impl Fn(&Case, Outcome, &str) + Sync) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..CASES_AT_ONCE {
            scope.spawn(|| {
                while let Some((number, case)) = cases.iter().enumerate().nth(next.fetch_add(1, Ordering::SeqCst)) {
                    let context = format!("{} with {case:?}", tape.name);
                    let watched = watchdog(&context);
                    let work = || body(case, run(tape, case), &context);
                    if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
                        failed.lock().unwrap().insert(number, panic);
                    }
                    drop(watched);
                }
            });
        }
    });
    if let Some((_, panic)) = failed.into_inner().unwrap().pop_first() {
        std::panic::resume_unwind(panic);
    }
}

/// Ends the process with `context` unless it is dropped in time. Nothing less ends a thread that hangs.
pub fn watchdog(context: &str) -> mpsc::Sender<()> {
    let (alive, watched) = mpsc::channel();
    let context = context.to_string();
    std::thread::spawn(move || {
        if watched.recv_timeout(HANGS_AFTER) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = writeln!(std::io::stderr(), "HANGS: {context}");
            std::process::abort();
        }
    });
    alive
}

/// Where faults strike in the archive of small objects: early, in the middle, in each kind of work, and at random.
const IN_SMALL: [&str; 8] = [
    "nth=9",
    "every=37",
    "p=0.03,seed=5",
    "proc=CREATE,nth=5",
    "proc=MKDIR,nth=3",
    "proc=LINK,nth=2",
    "proc=SYMLINK,nth=1",
    "proc=SETATTR,every=19",
];
/// The same in the file in ranges.
const IN_BIG: [&str; 5] =
    ["proc=WRITE,nth=6", "proc=WRITE,every=11", "proc=COMMIT,nth=3", "proc=SETATTR,nth=1", "p=0.05,seed=5"];

/// Each place, on each number of targets.
fn cases(kind: &str, suffix: &str, places: &[&str]) -> Vec<Case> {
    let all = |targets| places.iter().map(move |place| Case::new(targets, format!("{kind}:{place}{suffix}")));
    TARGETS.into_iter().flat_map(all).collect()
}

/// Every run over the faults of one kind ends with the whole tree; `books` looks at the rest. Unless the server lost data, the
/// job hears of nothing: it asks what it asks without faults, and nothing that it asks fails.
fn heals(kind: &str, suffix: &str, lanes: usize, books: impl Fn(&Outcome, &str) + Sync) {
    for (tape, places) in [(Tape::small(), &IN_SMALL[..]), (Tape::big(), &IN_BIG[..])] {
        let cases: Vec<Case> = cases(kind, suffix, places).into_iter().map(|case| Case { lanes, ..case }).collect();
        each(&tape, &cases, |_, outcome, context| {
            outcome.assert_whole(&tape, context);
            assert_eq!(outcome.gone, 0, "{context}");
            if kind != "restart" {
                assert_eq!(outcome.asked.iter().copied().sum::<Tally>(), tape.asked, "{context}");
            }
            books(&outcome, context);
        });
    }
}

#[test]
fn split_replies_are_joined() {
    heals("split", "", 4, |outcome, context| {
        outcome.assert_balanced(context);
        assert_eq!(outcome.retransmitted.iter().sum::<u64>(), 0, "{context}");
    });
}

#[test]
fn duplicate_replies_are_dropped() {
    heals("duplicate", "", 4, |outcome, context| {
        outcome.assert_balanced(context);
        assert_eq!(outcome.retransmitted.iter().sum::<u64>(), 0, "{context}");
    });
}

#[test]
fn late_replies_are_waited_for() {
    heals("delay", ",ms=15", 4, |outcome, context| outcome.assert_balanced(context));
}

/// JUKEBOX is an answer: each is issued, served and failed, and the call is issued anew.
#[test]
fn busy_servers_are_asked_again() {
    heals("jukebox", "", 4, |outcome, context| {
        outcome.assert_balanced(context);
        let failed = |tallies: &[Tally]| -> u64 {
            tallies.iter().map(|tally| tally.iter().map(|(_, count)| count.failed).sum::<u64>()).sum()
        };
        // Of attaching, too, when it was met. There each other target says that a name is gone.
        let refused = outcome.struck + outcome.issued.len() as u64 - 1;
        assert_eq!((failed(&outcome.issued), failed(&outcome.served)), (refused, refused), "{context}");
    });
}

/// One lane: when a connection is given up, all that was sent on it has been read.
#[test]
fn lost_replies_are_asked_for_again_and_the_books_balance() {
    heals("lost-reply", "", 1, |outcome, context| {
        outcome.assert_balanced(context);
        assert!(outcome.retransmitted.iter().sum::<u64>() >= outcome.struck, "{context}");
    });
}

#[test]
fn replies_that_come_too_late_are_asked_for_again() {
    let tape = Tape::small();
    let cases = cases("delay", ",ms=700", &["nth=9", "proc=CREATE,nth=5", "proc=LINK,nth=2", "proc=MKDIR,nth=3"]);
    let cases: Vec<Case> = cases.into_iter().map(|case| Case { lanes: 1, ..case }).collect();
    each(&tape, &cases, |_, outcome, context| {
        outcome.assert_whole(&tape, context);
        outcome.assert_balanced(context);
        assert!(outcome.retransmitted.iter().sum::<u64>() > 0, "{context}");
    });
}

#[test]
fn lost_replies_among_many_lanes() {
    heals("lost-reply", "", 8, |outcome, context| outcome.assert_within(context));
}

#[test]
fn resets_after_the_work() {
    heals("reset", "", 4, |outcome, context| outcome.assert_within(context));
}

#[test]
fn resets_before_the_work() {
    heals("reset-before", "", 4, |outcome, context| {
        outcome.assert_within(context);
        assert_eq!(outcome.reports.iter().map(|report| report.dropped).sum::<u64>(), outcome.struck, "{context}");
    });
}

/// A server that remembers no answers does the work twice, or finds it done.
#[test]
fn work_done_twice_counts_once() {
    for (tape, places) in [(Tape::small(), &IN_SMALL[..]), (Tape::big(), &IN_BIG[..])] {
        for kind in ["reset", "lost-reply"] {
            let cases: Vec<Case> = cases(kind, "", places).into_iter().filter(|case| case.targets < 3).collect();
            let cases: Vec<Case> = cases.into_iter().map(|case| Case { replay_max: 0, ..case }).collect();
            each(&tape, &cases, |_, outcome, context| {
                outcome.assert_whole(&tape, context);
                outcome.assert_within(context);
                assert_eq!(outcome.asked.iter().copied().sum::<Tally>(), tape.asked, "{context}");
                assert_eq!(outcome.replayed.iter().sum::<u64>(), 0, "{context}");
            });
        }
    }
}

#[test]
fn restarts_lose_what_was_not_committed() {
    heals("restart", "", 4, |outcome, context| outcome.assert_within(context));
    // Windows are under way at every target when the server dies; none of them may be carried out afterwards.
    let (tape, seeds) = (Tape::small(), 0..40);
    let cases: Vec<Case> = seeds.map(|seed| Case::new(3, format!("restart:p=0.04,seed={seed}"))).collect();
    each(&tape, &cases, |_, outcome, context| outcome.assert_whole(&tape, context));
}

/// All at once, with work done twice because no answer is remembered across a restart.
#[test]
fn many_misfortunes_together() {
    for tape in [Tape::small(), Tape::big()] {
        let mut cases = Vec::new();
        for (targets, seed) in [(1, 1), (2, 2), (3, 3), (1, 4), (2, 5), (3, 6)] {
            let kinds = ["split", "jukebox", "duplicate", "reset", "reset-before", "restart", "lost-reply"];
            let fault = |(i, kind): (usize, &&str)| {
                let (p, ms) = if i < 3 { (0.05, "") } else { (0.012, "") };
                format!("{kind}:p={p},seed={}{ms}", seed * 100 + i)
            };
            let faults = kinds.iter().enumerate().map(fault).collect();
            cases.push(Case { targets, faults, lanes: 4, spread: Spread::RoundRobin, replay_max: 4096 });
        }
        each(&tape, &cases, |_, outcome, context| {
            outcome.assert_whole(&tape, context);
            outcome.assert_within(context);
        });
    }
}

#[test]
fn the_others_go_on_when_one_target_goes_away() {
    for (tape, proc, last) in [(Tape::small(), Proc::Create, 8), (Tape::big(), Proc::Write, 5)] {
        let mut cases = Vec::new();
        for targets in [2, 3] {
            for (target, nth) in [(1, 3), (2, 1), (2, last)] {
                let fault = format!("gone:target={target},proc={proc},nth={nth}");
                cases.push(Case { spread: Spread::RoundRobin, ..Case::new(targets, fault) });
            }
        }
        let faults = vec![format!("gone:target=1,proc={proc},nth=4"), format!("gone:target=3,proc={proc},nth=3")];
        cases.push(Case { targets: 3, faults, lanes: 4, spread: Spread::RoundRobin, replay_max: 4096 });
        each(&tape, &cases, |case, outcome, context| {
            outcome.assert_whole(&tape, context);
            assert_eq!(outcome.gone, case.faults.len(), "{context}");
            for (target, report) in outcome.reports.iter().enumerate() {
                let (issued, again, served, replayed, dropped) = outcome.books(target);
                if report.listening {
                    assert_eq!((issued + again, dropped), (served + replayed, 0), "{context}, target {target}");
                } else {
                    // What was in flight when it went was issued; whether it arrived nobody knows.
                    assert!(issued + again >= served + replayed, "{context}, target {target}");
                }
            }
        });
    }
}

/// What is not there, or not whole, is named, or something above it is.
#[test]
fn what_the_last_target_takes_along_is_told() {
    for (tape, places) in [
        (Tape::small(), &["proc=CREATE,nth=5", "proc=MKDIR,nth=2", "proc=LINK,nth=1", "nth=60", "nth=120"][..]),
        (Tape::big(), &["proc=CREATE,nth=2", "proc=WRITE,nth=2", "proc=WRITE,nth=20", "proc=SETATTR,nth=1"][..]),
    ] {
        let mut cases = Vec::new();
        for place in places {
            // The name made to prove that targets are the same is the first CREATE.
            let place = if *place == "proc=CREATE,nth=2" { "proc=CREATE,nth=1" } else { place };
            cases.push(Case::new(1, format!("gone:{place}")));
        }
        let each_goes = |proc: Proc| (1..=2).map(|target| format!("gone:target={target},proc={proc},nth=3")).collect();
        let proc = if tape.name == "big" { Proc::Write } else { Proc::SetAttr };
        cases.push(Case {
            targets: 2,
            faults: each_goes(proc),
            lanes: 4,
            spread: Spread::RoundRobin,
            replay_max: 4096,
        });
        each(&tape, &cases, |case, outcome, context| {
            let Outcome { ran, tree, .. } = &outcome;
            assert_eq!((outcome.struck, outcome.gone), (case.targets as u64, case.targets), "{context}");
            assert!(!ran.failures.is_empty(), "{context}");
            assert_eq!(ran.summary.archive_error, None, "{context}");
            // A directory is done when it is made, and may fail once more when its time is set.
            assert!(ran.done.len() + ran.failures.len() >= ran.summary.members as usize, "{context}");
            assert_eq!(ran.summary.members as usize, tape.members, "{context}");
            let named: BTreeSet<&str> = ran.failures.iter().map(|text| path_of(text)).collect();
            let (expected, tree) = (&tape.expected, tree);
            for path in difference(tree, expected) {
                let told = path.is_empty() || named.iter().any(|named| is_beneath(&path, named));
                // Another name of the same file, in the same directory, failed: the file has a link less.
                let linked = expected.get(&path).is_some_and(|object| object.nlink > 1);
                let shared = linked && named.iter().any(|named| is_beneath(named, &path[..2]));
                assert!(told || shared, "{context}: {path} is not told among {named:?}");
            }
            for text in &ran.failures {
                assert!(text.contains("No mount target is left"), "{context}: {text}");
            }
        });
    }
}

/// A failure reads "path: what failed".
fn path_of(failure: &str) -> &str {
    failure.split(": ").next().unwrap().trim_start_matches("./").trim_end_matches('/')
}

fn is_beneath(path: &str, dir: &str) -> bool {
    path == dir || path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

/// Without faults the books are exact: what is asked does not depend on targets, lanes or spread (law 1), is what is
/// issued, call by call and byte by byte, and is what is served (law 4).
#[test]
fn without_faults_asked_is_issued_is_served() {
    for tape in [Tape::small(), Tape::big()] {
        for targets in [1, 2, 4] {
            for (lanes, spread) in [(1, Spread::First), (4, Spread::RoundRobin), (16, Spread::LeastLoaded)] {
                let case = Case { targets, faults: vec![], lanes, spread, replay_max: 4096 };
                let context = format!("{} with {case:?}", tape.name);
                let watched = watchdog(&context);
                let outcome = run(&tape, &case);
                drop(watched);
                assert!(outcome.tree == tape.expected, "{context}");
                for target in 0..targets {
                    let job: Tally = [outcome.asked[target], outcome.attached[target]].into_iter().sum();
                    assert_eq!(job, outcome.issued[target], "{context}");
                    assert_eq!(outcome.served[target], outcome.issued[target], "{context}");
                }
                assert_eq!(outcome.retransmitted.iter().sum::<u64>() + outcome.replayed.iter().sum::<u64>(), 0);
                let asked: Tally = outcome.asked.iter().copied().sum();
                assert_eq!(asked, tape.asked, "{context}");
            }
        }
    }
}
