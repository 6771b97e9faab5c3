//! `parfs plan`: what it forecasts is what runs then report, procedure by procedure, and it changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::cli_support::{Bench, PARFS, Ran, Sim};
use super::documents;

/// Calls by side and procedure.
type Calls = BTreeMap<(String, String), u64>;

fn plan(bench: &Bench, line: &str) -> Ran {
    let mut command = std::process::Command::new(PARFS);
    command.arg("plan").args(line.split_whitespace()).current_dir(bench.path(""));
    Ran::of(command.output().unwrap())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").into()
}

fn count(calls: &mut Calls, role: &Value, procedures: &Value) {
    for one in procedures.as_array().unwrap() {
        *calls.entry((text(role), text(&one["procedure"]))).or_default() += one["calls"].as_u64().unwrap();
    }
}

fn forecast(ran: &Ran) -> Calls {
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut calls = Calls::new();
    document["sides"].as_array().unwrap().iter().for_each(|side| count(&mut calls, &side["role"], &side["procedures"]));
    calls
}

fn fact(bench: &Bench) -> Calls {
    let document: Value = serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
    let mut calls = Calls::new();
    for target in document["targets"].as_array().unwrap().iter().filter(|target| target["is_nfs"] == true) {
        count(&mut calls, &target["role"], &target["procedures"]);
    }
    calls
}

/// A tree with small files, a large one, an empty one, links of both kinds and directories in directories.
fn plant(top: &Path) {
    for dir in 0..6 {
        let dir = top.join(format!("d{dir}/e/f"));
        fs::create_dir_all(&dir).unwrap();
        for file in 0..30 {
            fs::write(dir.join(format!("{file}")), vec![b'x'; 700 * file]).unwrap();
        }
        std::os::unix::fs::symlink("0", dir.join("link")).unwrap();
    }
    fs::write(top.join("large"), vec![b'l'; 5 << 20]).unwrap();
    fs::hard_link(top.join("large"), top.join("again")).unwrap();
}

/// All paths below a directory with their sizes and times, sorted.
fn dump(top: &Path) -> Vec<String> {
    let walk = walkdir::WalkDir::new(top).sort_by_file_name().into_iter().map(Result::unwrap);
    walk.map(|entry| {
        let meta = entry.path().symlink_metadata().unwrap();
        format!("{} {} {:?}", entry.path().display(), meta.len(), meta.modified().unwrap())
    })
    .collect()
}

/// Forecasts a job, runs it, and holds one against the other.
#[track_caller]
pub fn holds(bench: &Bench, served: &Path, what: &str, program: &str, line: &str) {
    let before = (dump(served), dump(&bench.path("")));
    let planned = plan(bench, &format!("--json {what} {line}")).ok();
    assert_eq!((dump(served), dump(&bench.path(""))), before, "a forecast changed something: {what} {line}");
    bench.run_as(&format!("{program} --report run.json {line}")).ok();
    assert_eq!(forecast(&planned), fact(bench), "{what} {line}");
    fs::remove_file(bench.path("run.json")).unwrap();
}

#[test]
fn laws_2_and_3_what_is_forecast_is_what_runs_ask_and_issue() {
    for targets in ["1", "3"] {
        let served = tempfile::tempdir().unwrap();
        let bench = Bench::new();
        plant(&bench.path("tree"));
        bench.run("-cf tree.tar tree").ok();
        fs::create_dir_all(served.path().join("in")).unwrap();
        let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--targets", targets, "--unlimited"]);
        let url = sim.url.trim_end_matches('/');
        let holds = |what, program, line: &str| holds(&bench, served.path(), what, program, line);
        holds("extract", "partar", &format!("-xf tree.tar -C {url}/in"));
        holds("extract", "partar", &format!("-xf tree.tar -C {url}/in")); // over what is there
        holds("create", "partar", &format!("-cf back.tar -C {url}/in tree"));
        holds("create", "partar", &format!("-cf {url}/in/back.tar tree"));
        for codec in ["-z", "-j", "-J", "--zstd", "--lz4"] {
            holds("create", "partar", &format!("{codec} -cf packed.tar -C {url}/in?rsize=65536 tree"));
        }
        holds("extract", "partar", &format!("-xf {url}/in/back.tar -C out"));
        holds("copy", "parcp", &format!("-a tree {url}/copy"));
        holds("copy", "parcp", &format!("-a tree {url}/copy/")); // nothing to do, or one level deeper
        holds("copy", "parcp", &format!("-a {url}/in/tree {url}/twice"));
        holds("copy", "parcp", &format!("-a {url}/in/tree local"));
        // How much these hold is known by reading them alone.
        holds("copy", "parcp", &format!("-a /proc/sys/fs/inotify {url}/made-up"));
        holds("create", "partar", &format!("-cf {url}/in/made-up.tar -C /proc/sys/fs inotify"));
        holds("copy", "parcp", &format!("--verify-only -a {url}/in/tree {url}/twice"));
        holds("copy", "parcp", &format!("--verify-only -c -a {url}/in/tree local"));
        holds("remove", "parrm", &format!("-rf {url}/copy {url}/twice"));
        // What is in another operand is gone when its turn comes.
        for operands in ["t t", "t t/b", "t/b t t/b/c", "t t/b/c/d", "t/b t/b/1", "t/b/c t/b/c t/b"] {
            fs::create_dir_all(served.path().join("t/b/c")).unwrap();
            (0..9).for_each(|i| fs::write(served.path().join(format!("t/b/{i}")), "").unwrap());
            let line: Vec<String> = operands.split(' ').map(|name| format!("{url}/{name}")).collect();
            holds("remove", "parrm", &format!("-rf {}", line.join(" ")));
        }
        assert!(!served.path().join("twice").exists() && bench.path("local/large").exists());
    }
}

/// Whether a file ends in a hole a forecast does not know: it reads none.
#[test]
fn a_copy_without_times_of_files_with_holes_is_forecast() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    fs::create_dir(bench.path("s")).unwrap();
    for (name, data, size) in
        [("end", 40 << 10, 100 << 10), ("whole", 100 << 10, 100 << 10), ("large", 2 << 20, 5 << 20)]
    {
        fs::write(bench.path("s").join(name), vec![b'x'; data]).unwrap();
        fs::File::options().write(true).open(bench.path("s").join(name)).unwrap().set_len(size).unwrap();
    }
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    for (line, dir) in [("-r --no-preserve=timestamps", "a"), ("-a", "b"), ("-a", "b"), ("-a -I", "b")] {
        holds(&bench, served.path(), "copy", "parcp", &format!("{line} s/ {url}/{dir}"));
    }
    // In how many pieces a large one of a server is written is known by reading it alone.
    let line = format!("-r --no-preserve=timestamps --exclude large {url}/a/ {url}/c");
    holds(&bench, served.path(), "copy", "parcp", &line);
    assert_eq!(fs::metadata(served.path().join("c/end")).unwrap().len(), 100 << 10);
}

/// What takes the place of a file is given that one's mode, and owner, by calls that there are in any case.
#[test]
fn what_replaces_older_files_is_forecast() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let plant = |top: &Path, secs: u64| {
        fs::create_dir_all(top).unwrap();
        for (name, mode, size) in [("a", 0o600, 9), ("b", 0o4755, 70_000), ("c", 0o664, 5 << 20), ("d", 0o2711, 0)] {
            let data = vec![b'x'; size + usize::try_from(secs).unwrap()];
            fs::write(top.join(name), data).unwrap();
            fs::set_permissions(top.join(name), fs::Permissions::from_mode(mode)).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(secs);
            fs::File::options().write(true).open(top.join(name)).unwrap().set_modified(time).unwrap();
        }
    };
    plant(&bench.path("s"), 5);
    let url = sim.url.trim_end_matches('/');
    for arguments in ["", "?uid=0&gid=0", "?uid=1000&gid=1000&gids=50"] {
        for keeps in ["mode", "ownership", "mode,ownership", "mode,timestamps", "mode,ownership,timestamps"] {
            for way in ["-u", "--atomic", "--size-only"] {
                let _ = fs::remove_dir_all(served.path().join("d"));
                plant(&served.path().join("d"), 1);
                fs::set_permissions(served.path().join("d"), fs::Permissions::from_mode(0o777)).unwrap();
                let line = format!("-a {way} --no-preserve={keeps} s/ {url}/d{arguments}");
                holds(&bench, served.path(), "copy", "parcp", &line);
            }
        }
    }
}

/// `-h` is tar's --dereference where tar's options are; elsewhere it is plan's.
#[test]
fn a_jobs_own_h_is_the_jobs() {
    let bench = Bench::new();
    fs::write(bench.path("file"), "text").unwrap();
    std::os::unix::fs::symlink("file", bench.path("link")).unwrap();
    for line in [
        "--json create -h -cf o.tar link",
        "create --json --targets 1 -hcf o.tar link",
        "create --json -chf o.tar link",
    ] {
        let planned: Value = serde_json::from_str(&plan(&bench, line).ok().stdout).unwrap();
        assert!(text(&planned["summary"]).contains("1 files"), "{line}: {planned}");
    }
    for line in ["create --help", "copy -h", "remove -h"] {
        assert!(plan(&bench, line).ok().stdout.contains("Usage: parfs plan"), "{line}");
    }
}

/// Targets named alone at first and then together are one side: what one target was asked is not counted for two.
#[test]
fn operands_on_targets_apart_and_then_together_are_counted_once() {
    let served = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--targets", "3", "--unlimited"]);
    let hosts = sim.url.trim_start_matches("nfs://").split('/').next().unwrap();
    let [a, b, c] = hosts.split(',').collect::<Vec<_>>()[..] else { panic!("three targets: {hosts}") };
    for order in [[a.into(), b.into(), format!("{a},{b}")], [format!("{a},{b}"), format!("{b},{c}"), c.into()]] {
        let top = ["a", "b", "c"].map(|top| served.path().join(top));
        top.iter().for_each(|top| plant(top));
        let [first, second, third] = order;
        let line = format!("-rf nfs://{first}/a nfs://{second}/b nfs://{third}/c");
        let document: Value =
            serde_json::from_str(&plan(&bench, &format!("--json remove {line}")).ok().stdout).unwrap();
        assert_eq!(document["sides"].as_array().unwrap().len(), 1, "{document}");
        holds(&bench, served.path(), "remove", "parrm", &line);
        assert!(!top[2].exists());
    }
}

#[test]
fn what_a_job_is_to_stay_below_is_forecast() {
    let served = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    plant(&served.path().join("tree"));
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    for (job, limit, seconds) in [
        (format!("remove -rf {url}/tree"), "--max-iops 1000", 0.5),
        // 7 MB.
        (format!("copy -a {url}/tree {url}/copy"), "--bwlimit 1000", 5.0),
        (format!("create -cf back.tar -C {url}/ tree"), "--bwlimit 2MB", 2.5),
    ] {
        let (what, line) = job.split_once(' ').unwrap();
        let planned = |limit: &str| -> (String, f64) {
            let ran = plan(&bench, &format!("--json --latency 1ms {what} {limit} {line}")).ok();
            let document: Value = serde_json::from_str(&ran.stdout).unwrap();
            let point = &document["forecast"][0];
            (text(&point["bound"]), point["seconds"].as_f64().unwrap())
        };
        let (free, held) = (planned(""), planned(limit));
        assert!(free.0 != "limit asked for" && free.1 < seconds, "{job}: {free:?}");
        assert!(held.0 == "limit asked for" && held.1 > seconds, "{job}: {held:?}");
    }
}

/// 25 files of 5,000 bytes, ten in a directory: what `--files 25 --size 5000 --per-dir 10` is about.
fn plant_uniform(top: &Path) {
    for file in 0..25 {
        let dir = top.join(format!("dir{}", file / 10));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("file{file}")), [b'x'; 5000]).unwrap();
    }
}

#[test]
fn an_imagined_tree_costs_what_a_real_one_of_its_shape_then_does() {
    let served = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    plant_uniform(&bench.path("tree"));
    bench.run("-cf tree.tar tree").ok();
    fs::create_dir(served.path().join("in")).unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    for (what, program, line) in [
        ("extract", "partar", format!("-xf tree.tar -C {url}/in")),
        ("create", "partar", format!("-cf back.tar -C {url}/in tree")),
        ("copy", "parcp", format!("-a {url}/in/tree {url}/copy")),
        ("remove", "parrm", format!("-rf {url}/copy")),
    ] {
        let planned = plan(&bench, &format!("--json --files 25 --size 5000 --per-dir 10 {what} -P 2 --window 3")).ok();
        bench.run_as(&format!("{program} --report run.json {line}")).ok();
        assert_eq!(forecast(&planned), fact(&bench), "{what} {line}");
    }
}

#[test]
fn an_imagined_tree_is_refused_by_name_where_it_is_unclear() {
    let bench = Bench::new();
    for (line, named) in [
        ("--files 10 copy", "--size"),
        ("--size 10k copy", "--files"),
        ("--per-dir 10 remove out", "--files"),
        ("--files 0 --size 1 copy", "above 0"),
        ("--files many --size 1 copy", "'many' is not a number such as 1000, 190k or 10M"),
        ("--files 10 --size 1 extract -xf a.tar", "unexpected argument '-x'"),
        ("--files 10 --size 1 remove out", "unexpected argument 'out'"),
        ("--files 1000000000000 --size 1T copy", "a tree may have 9223372 TB"),
        ("--files 1000 --size 16777216T extract", "a tree may have 9223372 TB"),
        // Headers and padding are more than the files.
        ("--files 9000000000000000 --per-dir 1M --size 513 extract", "more bytes than an archive can have"),
        ("--files 9000000000000000 --per-dir 1M --size 513 create", "more bytes than an archive can have"),
        ("--files 30000 --per-dir 10900 --size 24M create", "which takes too long: say fewer in a directory"),
        ("--files 100M --per-dir 100M --size 1 remove", "--per-dir says how many"),
    ] {
        plan(&bench, line).failed(named);
    }
    let ran = plan(&bench, "--files 1 --size 1 --targets 3 --svg plan.svg remove").ok();
    assert!(ran.stdout.starts_with("a tree of 1 file of 1 B, 1 in a directory: 1 directory, 1 B\n"), "{ran:?}");
    assert!(ran.stdout.contains("\n3 ") && bench.path("plan.svg").exists(), "{ran:?}");
}

#[test]
fn a_forecast_tells_time_bounds_and_the_fact_beside_it() {
    let served = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    plant(&served.path().join("tree"));
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--latency", "1ms"]);
    let line = format!("remove -rf {}tree", sim.url);
    let ran = plan(&bench, &format!("--json --latency 1ms --targets 1,2 --svg plan.svg {line}")).ok();
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&document["schema"], document["forecast"].as_array().unwrap().len()), (&Value::from(1), 2));
    assert!(
        document["forecast"][0]["seconds"].as_f64().unwrap() >= document["forecast"][1]["seconds"].as_f64().unwrap()
    );
    // Down three directories, a file, and up again with an RMDIR each.
    assert!(document["sides"][0]["chain"].as_u64().unwrap() >= 4 + 4, "{document}");
    assert!(fs::read_to_string(bench.path("plan.svg")).unwrap().contains("mount targets"));
    let serial = document["serial_seconds"].as_f64().unwrap();
    assert!(serial > document["forecast"][0]["seconds"].as_f64().unwrap());
    bench.run_as(&format!("parrm --report run.json -rf {}tree", sim.url)).ok();
    plant(&served.path().join("tree"));
    let ran = plan(&bench, &format!("--explain run.json {line}")).ok();
    let all: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("IOPS in all")).collect();
    assert!(all.len() == 1 && all[0].ends_with("1.000"), "{}", ran.stdout);
    assert!(ran.stdout.contains("time on 1 target "), "{}", ran.stdout);
    let ran = plan(&bench, &format!("--json --explain run.json {line}")).ok();
    let explained = &serde_json::from_str::<Value>(&ran.stdout).unwrap()["explained"];
    assert_eq!((&explained["targets"], &explained["iops"]["fact"]), (&Value::from(1), &explained["iops"]["forecast"]));
    let removed = explained["procedures"].as_array().unwrap().iter().find(|of| of["procedure"] == "REMOVE").unwrap();
    assert!(removed["fact"].as_u64().unwrap() > 0 && removed["fact"] == removed["forecast"], "{explained}");
    assert!(explained["seconds"]["fact"].as_f64().unwrap() > 0.0, "{explained}");
    assert!(explained.get("unfinished").is_none(), "{explained}");
    // A run that did not do all of it is told for what it is; a dry run did nothing.
    let report = fs::read_to_string(bench.path("run.json")).unwrap();
    let stopped = report.replacen("\"stopped\": null", "\"stopped\": \"stopped: 3 objects were removed\"", 1);
    assert_ne!(stopped, report);
    fs::write(bench.path("run.json"), stopped).unwrap();
    let ran = plan(&bench, &format!("--explain run.json {line}")).ok();
    let note = "The fact is of a run that is not complete: stopped: 3 objects were removed\n";
    assert!(ran.stdout.contains(note), "{}", ran.stdout);
    bench.run_as(&format!("parrm --dry-run --report dry.json -rf {}tree", sim.url)).ok();
    let refused = plan(&bench, &format!("--explain dry.json {line}"));
    assert!(
        refused.status == Some(2) && refused.stderr.contains("dry.json: is the report of a dry run"),
        "{refused:?}"
    );
}

#[test]
fn the_answer_time_is_measured_unless_it_is_given() {
    let served = tempfile::tempdir().unwrap();
    let bench = Bench::new();
    plant(&served.path().join("tree"));
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--latency", "5ms"]);
    let latency = |options: &str| {
        let ran = plan(&bench, &format!("--json {options} remove -rf {}tree", sim.url)).ok();
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        document["sides"][0]["latency_us"].as_u64().unwrap()
    };
    // Read from a histogram, whose bucket may begin below; what this host adds is not bounded.
    assert!(latency("--measure") >= 4_800 && latency("") >= 4_800);
    assert_eq!(latency("--latency 1ms"), 1_000);
    plan(&bench, "--measure remove -rf out").failed("--measure: nothing of this job is on NFS");
    let unreachable = plan(&bench, "--measure remove -rf nfs://127.0.0.1:1/x").ended(1, "Connection refused");
    assert!(
        !unreachable.stderr.contains("--measure") && !unreachable.stderr.contains("os error"),
        "{}",
        unreachable.stderr
    );
    plan(&bench, "--measure --latency 1ms remove -rf out").failed("cannot be used with");
    plan(&bench, "--measure --files 1 --size 1 remove").failed("cannot be used with");
}

#[test]
fn what_cannot_be_forecast_is_refused_by_name() {
    let bench = Bench::new();
    plan(&bench, "extract -tf a.tar").failed("changes nothing");
    plan(&bench, "extract -cf b.tar out").failed("'parfs plan create'");
    plan(&bench, "extract -xf none.tar -C out").failed("none.tar: Cannot open");
    plan(&bench, "remove").failed("missing operand");
    plan(&bench, "--targets 0 remove out").failed("a whole number, 1 to 1024");
    plan(&bench, "--explain a.tar remove -r out").failed("no report of a run");
    plan(&bench, "burn out").failed("burn");
    // On this host's disk there is no target, which is said.
    let ran = plan(&bench, "remove -rfv out").ok();
    assert!(ran.stdout.contains("nothing of this is on NFS") && bench.out().exists(), "{ran:?}");
    // Nor is an index kept; an archive by a link is the file that it leads to.
    plan(&bench, "extract -xf a.tar -C out --index idx").ok();
    std::os::unix::fs::symlink("a.tar", bench.path("by-link.tar")).unwrap();
    std::os::unix::fs::symlink("nothing.tar", bench.path("by-dangling.tar")).unwrap();
    for archive in ["by-link.tar", "by-dangling.tar"] {
        plan(&bench, &format!("create -cf {archive} out")).ok();
    }
    plan(&bench, "create -cf slash.tar/ out").failed("slash.tar/: Cannot open");
    let names = fs::read_dir(bench.path("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let new: Vec<String> = names.filter(|name| name.starts_with("idx") || name.starts_with("nothing")).collect();
    assert!(new.is_empty(), "{new:?}");
    // A question is not asked, nothing is listed by name, no report is written.
    let ran = plan(&bench, "remove -rvI --report r.json out a.tar").ok();
    assert!(!ran.stdout.contains("removed") && !bench.path("r.json").exists(), "{ran:?}");
}

#[test]
fn a_picture_replaces_a_picture_and_nothing_else() {
    let bench = Bench::new();
    let archive = fs::read(bench.path("a.tar")).unwrap();
    let tree = "--files 1 --size 1 --svg";
    plan(&bench, "--svg a.tar extract -xf a.tar -C out").failed("a.tar: is there and no SVG, so it is not replaced");
    assert_eq!(fs::read(bench.path("a.tar")).unwrap(), archive);
    fs::write(bench.path("old.svg"), "<?xml version=\"1.0\"?>\n<!-- old --><svg/>").unwrap();
    fs::write(bench.path("empty.svg"), "").unwrap();
    for name in ["old.svg", "empty.svg", "new.svg", "new.svg"] {
        plan(&bench, &format!("{tree} {name} remove")).ok();
        assert!(fs::read_to_string(bench.path(name)).unwrap().starts_with("<svg "), "{name}");
    }
    plan(&bench, &format!("{tree} no/new.svg remove")).failed("no/new.svg: Cannot write");
    let masked = format!("umask 027; exec {} plan --svg masked.svg remove a.tar", env!("CARGO_BIN_EXE_parfs"));
    let ran = std::process::Command::new("sh").args(["-c", &masked]).current_dir(bench.path(".")).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(fs::metadata(bench.path("masked.svg")).unwrap().permissions().mode() & 0o777, 0o640);
    plan(&bench, &format!("{tree} . remove")).failed(".: Cannot write");
}

#[test]
fn a_report_of_another_job_is_not_compared() {
    let bench = Bench::new();
    bench.run("-cf tree.tar --report create.json a.tar").ok();
    bench.run("-xf tree.tar --report extract.json -C out").ok();
    bench.run_as("parcp --report copy.json a.tar b.tar").ok();
    bench.run_as("parrm --report remove.json b.tar").ok();
    let jobs = [("extract", "partar -x"), ("create", "partar -c"), ("copy", "parcp"), ("remove", "parrm")];
    for (asked, program) in jobs {
        for (of, other) in jobs {
            let ran = plan(&bench, &format!("--explain {of}.json --files 1 --size 1 {asked}"));
            if of == asked {
                ran.ok();
            } else {
                ran.failed(&format!("{of}.json: is the report of {other}, and the forecast is of {program}"));
            }
        }
    }
    fs::File::create(bench.path("large.json")).unwrap().set_len((64 << 20) + 1).unwrap();
    plan(&bench, "--explain large.json --files 1 --size 1 copy").failed("large.json: is too large");
}

/// What of a report is compared, by its sides' numbers of targets.
fn report_on(sides: [(&str, usize); 2]) -> String {
    let target = |(role, iops): (&str, u64)| serde_json::json!({"role": role, "is_nfs": true, "iops_total": iops, "procedures": []});
    let targets = sides.into_iter().flat_map(|(role, n)| std::iter::repeat_n((role, 7), n)).map(target);
    let targets: Vec<Value> = targets.collect();
    serde_json::json!({"schema": 1, "program": "parcp", "seconds": 1.0, "targets": targets}).to_string()
}

#[test]
fn a_fact_of_unlike_sides_and_other_prices_is_compared_with_its_like() {
    let bench = Bench::new();
    let explained = |options: &str, sides| -> (Value, String) {
        fs::write(bench.path("run.json"), report_on(sides)).unwrap();
        let line = format!("{options} --targets 1,4 --explain run.json --files 10000 --size 4k copy");
        let text = plan(&bench, &line).ok().stdout;
        (serde_json::from_str(&plan(&bench, &format!("--json {line}")).ok().stdout).unwrap(), text)
    };
    // The destination is what binds, whatever the source has.
    let seconds = |of: &Value| of["seconds"].as_f64().unwrap();
    let (document, text) = explained("", [("source", 4), ("destination", 1)]);
    let forecast = &document["explained"]["seconds"]["forecast"];
    let [one, four] = [0, 1].map(|at| seconds(&document["forecast"][at]));
    assert!((forecast.as_f64().unwrap() - one).abs() < 0.05 * one && one > 3.0 * four, "{document}");
    assert!(text.contains("\ntime on 1 destination target, 4 source targets "), "{text}");
    let by_role = serde_json::json!({"destination": 1, "source": 4});
    assert_eq!((&document["explained"]["targets_by_role"], &document["explained"]["targets"]), (&by_role, &4.into()));
    let (even, text) = explained("", [("source", 4), ("destination", 4)]);
    assert_eq!(even["explained"]["seconds"]["forecast"], even["forecast"][1]["seconds"]);
    assert!(text.contains("\ntime on 4 targets ") && text.contains("\nIOPS in all  "), "{text}");
    // A report's IOPS are of OCI's list.
    let profile = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/profiles/oci-fss.toml")).unwrap();
    let dear = profile.replacen("\nCREATE = 4", "\nCREATE = 400", 1);
    assert_ne!(dear, profile);
    fs::write(bench.path("dear.toml"), dear).unwrap();
    let (priced, text) = explained("--profile dear.toml", [("source", 4), ("destination", 4)]);
    assert_ne!(priced["sides"], even["sides"]);
    assert_eq!(priced["explained"]["iops"], even["explained"]["iops"]);
    assert!(text.contains("\nIOPS in all, by OCI's list "), "{text}");
}

#[test]
fn targets_are_told_in_their_order_once_and_lanes_are_such_as_a_job_takes() {
    let bench = Bench::new();
    let ran = plan(&bench, "--json --files 1 --size 1 --targets 8,1,4,1 remove").ok();
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let points = document["forecast"].as_array().unwrap();
    assert_eq!(points.iter().map(|point| &point["targets"]).collect::<Vec<_>>(), [1, 4, 8]);
    for files in ["1k", "2M"] {
        let line = format!("--files {files} --size 1 --latency 100ms --targets 8 extract -P 1 --window 1");
        let ran = plan(&bench, &line).ok();
        assert!(ran.stdout.contains("round trips are what binds: -P "), "{ran:?}");
        let (_, lanes) = ran.stdout.split_once(" -P ").unwrap();
        let lanes: usize = lanes.split([' ', ',']).next().unwrap().parse().unwrap();
        assert_eq!(lanes == 1024, files == "2M", "{ran:?}");
    }
}

/// What depends on the lanes' luck: the rate of a target, and the time, to some hundredths.
fn is_alike(shown: &str, told: &str) -> bool {
    let number = |text: &str| text.replace(',', "").parse::<f64>().ok().filter(|_| text.contains([',', '.']));
    let near = |(a, b): (f64, f64)| (a - b).abs() <= 0.03 * a.abs();
    shown == told || number(shown).zip(number(told)).is_some_and(near)
}

/// The blank-separated words of a block, with the addresses and what depends on the lanes' luck taken out.
fn words(block: &str) -> Vec<String> {
    let lines = block.lines().map(|line| match line.split_once(" written; ") {
        Some((before, after)) => {
            let (_, calls) = before.split_once(": ").unwrap();
            format!("{calls} {}", after.split_once(" round trips").unwrap().1)
        }
        None => line.into(),
    });
    lines.flat_map(|line| line.split_whitespace().map(String::from).collect::<Vec<_>>()).collect()
}

/// The example in docs/ is what is printed for such an archive.
#[test]
fn documents_show_a_forecast_as_it_is_printed() {
    let documents = documents::text();
    let command = "$ parfs plan --latency 1ms extract -xf app.tar -C nfs://10.0.0.5,10.0.0.6/\n";
    let (_, block) = documents.split_once(&format!("```text\n{command}")).expect("a document shows a forecast");
    let (shown, _) = block.split_once("```").unwrap();
    let bench = Bench::new();
    for dir in 0..50 {
        let dir = bench.path(format!("app/d{dir}"));
        fs::create_dir_all(&dir).unwrap();
        (0..100).for_each(|file| fs::write(dir.join(format!("f{file}")), [b'x'; 4096]).unwrap());
    }
    bench.run("-cf app.tar app").ok();
    let sim = Sim::start(&["--targets", "2", "--unlimited"]);
    let ran = plan(&bench, &format!("--latency 1ms extract -xf app.tar -C {}", sim.url)).ok();
    let (told, shown) = (words(&ran.stdout), words(shown));
    let table = shown.iter().position(|word| word == "Targets").expect("what targets take");
    assert_eq!(told[..table], shown[..table], "{}", ran.stdout);
    let alike = told.len() == shown.len() && shown.iter().zip(&told).all(|(shown, told)| is_alike(shown, told));
    assert!(alike, "{}", ran.stdout);
}
