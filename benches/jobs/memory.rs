//! What jobs of 5,000,000 files hold in memory.

use std::sync::Arc;
use std::time::Duration;

use parfs::base::Proc;
use parfs::base::units::grouped;
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::copy::{self, Side, What};
use parfs::storage::{Mount, Spread, Volume};
use serde_json::{Value, json};

use super::child::{self, Role, memory_peak_bytes, number};
use super::imagined::{Imagined, Plan};

/// The goal for both jobs, in bytes.
const PEAK_BYTES_MAX: u64 = 300_000_000;

fn plan(arguments: &[String]) -> Plan {
    let get = |key: &str, default: f64| number(arguments, key, default) as u64;
    Plan {
        dirs: get("dirs", 1.0),
        fan: get("fan", 1.0),
        files: get("files", 1.0),
        reverse: false,
        empty: false,
        latency: Duration::from_micros(get("latency_us", 0.0)),
    }
}

fn volume(plan: Plan) -> (Arc<Imagined>, Volume) {
    let mount = Arc::new(Imagined::new(plan));
    let shared: Arc<dyn Mount> = mount.clone();
    (mount, Volume::new(vec![shared], Spread::default()))
}

/// Does one job on made-up trees and prints what it took: `remove`, `fresh`, `same`, `reverse`,
/// `delete` (the source is empty).
pub fn imagine(arguments: &[String]) {
    let plan = plan(arguments);
    let job = arguments[0].as_str();
    let (source, from) = volume(Plan { empty: job == "delete", ..plan });
    let (target, to) = volume(Plan { empty: job == "fresh", reverse: job == "reverse", ..plan });
    let crew = Crew::new(source.limits().shape, 128 << 20).expect("threads");
    let before = memory_peak_bytes();
    let (seconds, waited, joined, objects) = if job == "remove" {
        let done = child::remove_below(&from, "", &crew);
        (done.elapsed, done.waited_most, 0, done.files + done.dirs)
    } else {
        let side = |volume| Side { volume, way: Vec::new(), fs_root: true, shown: b"side".to_vec() };
        let delete = (job == "delete").then(copy::Delete::default);
        let options = copy::Options { delete, ..copy::Options::default() };
        let done = copy::copy(&side(&from), &side(&to), What::Tree, &options, &crew, &Live::default(), None);
        (done.elapsed, done.waited_most, done.joined_most, done.objects + done.deleted)
    };
    assert_eq!(crew.report().count(), 0, "{:?}", crew.report().failures().first());
    let report = json!({"seconds": seconds.as_secs_f64(), "waited": waited, "joined": joined, "objects": objects,
        "lookups": target.count(Proc::Lookup), "files": plan.all_files(), "depth": plan.depth(),
        "before": before, "memory": memory_peak_bytes()});
    println!("{report}");
}

/// The table; of its lines those whose label contains `only`.
pub fn run(quick: bool, only: &str) {
    let part = if quick { 10 } else { 1 };
    println!("\nmemory: {} files on a tree that is made up, 16 lanes with windows of 4.\n", grouped(5_000_000 / part));
    println!(
        "{:<44} {:>7} {:>7} {:>9} {:>9} {:>9} {:>8}",
        "run", "s", "MB mem", "waiting", "compared", "LOOKUPs", "B/level"
    );
    let shapes = [
        ("500 directories of 10,000", format!("dirs=501 fan=500 files={}", 10_000 / part)),
        ("1,000,000 of 5, 10 levels", format!("dirs={} fan=4 files=5", 1_000_000 / part)),
        ("one directory", format!("dirs=1 files={}", 5_000_000 / part)),
        ("1,000,000 in one directory", format!("dirs={} fan=1000000 files=5", 1_000_000 / part)),
        ("a chain of 10,000", format!("dirs={} fan=1 files=5", 10_000 / part)),
    ];
    for job in ["remove", "fresh", "same", "reverse", "delete"] {
        for (shape, arguments) in &shapes {
            let label = format!("{job}, {shape}");
            if label.contains(only) {
                let latency = std::env::var("LATENCY_US").map_or(String::new(), |us| format!("latency_us={us}"));
                show(&label, &[job, arguments, &latency].join(" "));
            }
        }
    }
}

fn show(label: &str, arguments: &str) {
    let words: Vec<String> = ["imagine"].into_iter().chain(arguments.split_whitespace()).map(String::from).collect();
    let role = Role::start(&words);
    let report: Value = serde_json::from_str(&role.line).expect("the child reports in JSON");
    role.end();
    let get = |key: &str| report[key].as_u64().expect("a number");
    assert!(get("objects") >= get("files"), "{label}: {report}");
    let (memory, depth) = (get("memory"), get("depth"));
    let level = if depth > 1000 { grouped((memory - get("before")) / depth) } else { String::new() };
    println!(
        "{label:<44} {:>7.1} {:>7.0} {:>9} {:>9} {:>9} {level:>8}  goal {} MB: {}",
        report["seconds"].as_f64().expect("seconds"),
        memory as f64 / 1e6,
        grouped(get("waited")),
        grouped(get("joined")),
        grouped(get("lookups")),
        PEAK_BYTES_MAX / 1_000_000,
        if memory < PEAK_BYTES_MAX { "met" } else { "MISSED" },
    );
}
