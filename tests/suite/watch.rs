//! A run is watched: progress as JSON, Prometheus, SIGUSR1, the log. The archive comes through a pipe that the test holds, so that the run
//! lasts as long as it is looked at. Some of its members wait with it, for reading is ahead of writing.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cli_support::{Bench, Sim, header};

/// Files of the archive, of 64 KiB each.
const FILES: usize = 128;

/// An archive and where its last file begins.
fn archive() -> (Vec<u8>, usize) {
    let mut tar = tar::Builder::new(Vec::new());
    let data = vec![b'x'; 64 << 10];
    for i in 0..FILES {
        let header = header(format!("f{i}").as_bytes(), tar::EntryType::Regular, 0o644, data.len());
        tar.append(&header, &data[..]).unwrap();
    }
    let bytes = tar.into_inner().unwrap();
    (bytes, (FILES - 1) * (512 + data.len()))
}

/// An extraction that waits for the rest of its archive.
struct Waiting {
    child: Child,
    stderr: BufReader<ChildStderr>,
    rest: Vec<u8>,
}

impl Waiting {
    fn start(bench: &Bench, line: &str) -> Waiting {
        let mut child = bench.command(line).stdin(Stdio::piped()).spawn().unwrap();
        let (mut bytes, last) = archive();
        let rest = bytes.split_off(last);
        child.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Waiting { child, stderr, rest }
    }

    /// The next line of stderr that `wanted` takes.
    fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "stderr ended");
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Gives it the rest, and waits for its end.
    fn end(mut self) {
        let mut stdin = self.child.stdin.take().unwrap();
        stdin.write_all(&self.rest).unwrap();
        drop(stdin);
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

/// Objects of a progress document.
fn objects(line: &str) -> Option<u64> {
    serde_json::from_str::<Value>(line).ok()?["objects"].as_u64()
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn progress_is_a_document_a_line() {
    let bench = Bench::new();
    let mut run = Waiting::start(&bench, "-xf - -C out --progress=json");
    let seen = json(&run.line(|line| objects(line) > Some(0)));
    assert_eq!(
        (&seen["event"], &seen["program"], &seen["failures"]),
        (&"progress".into(), &"partar".into(), &0.into())
    );
    assert!(seen["objects"].as_u64() < Some(FILES as u64), "{seen}");
    assert!(seen["seconds"].as_f64().unwrap() > 0.0 && seen["targets"][0]["calls"].as_u64().unwrap() > 0, "{seen}");
    run.end();
}

#[test]
fn prometheus_reads_what_the_targets_were_asked() {
    let bench = Bench::new();
    let served = tempfile::tempdir().unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap()]);
    let mut run = Waiting::start(&bench, &format!("-xf - -C {} --metrics 127.0.0.1:0", sim.url));
    let told = run.line(|line| line.contains("http://"));
    let address =
        told.trim_end().strip_prefix("partar: metrics are at http://").unwrap().strip_suffix("/metrics").unwrap();
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let target = sim.url.strip_prefix("nfs://").unwrap().split('/').next().unwrap();
    let labels = format!("program=\"partar\",target=\"{target}\",role=\"\",procedure=\"CREATE\"");
    let created = format!("parfs_calls_total{{{labels}}} ");
    let mut text = ask("/metrics");
    while !text.contains(&created) {
        text = ask("/metrics");
    }
    for part in
        ["HTTP/1.0 200 OK\r\n", "# TYPE parfs_calls_total counter\n", "parfs_failures_total{program=\"partar\"} 0\n"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains(&format!("parfs_call_latency_seconds{{{labels},quantile=\"0.99\"}} 0.")), "{text}");
    assert!(ask("/").starts_with("HTTP/1.0 404 "));
    let taken = bench.run(&format!("-xf a.tar -C out --metrics {address}"));
    assert!(taken.status == Some(2) && taken.stderr.contains("Address already in use"), "{taken:?}");
    assert_eq!(fs::read_dir(bench.out()).unwrap().count(), 0, "nothing was done");
    run.end();
    let nonsense = bench.run("-xf a.tar -C out --metrics here");
    assert!(nonsense.status == Some(2) && nonsense.stderr.contains("HOST:PORT"), "{nonsense:?}");
}

#[test]
fn a_signal_asks_how_far_it_is() {
    let bench = Bench::new();
    let mut run = Waiting::start(&bench, "-xf - -C out --progress");
    // It watches signals by the time it shows progress.
    run.line(|line| line.contains(" members, "));
    kill_process(Pid::from_child(&run.child), Signal::USR1).unwrap();
    let told = run.line(|line| line.contains(", after "));
    assert!(told.starts_with("partar: ") && told.contains(" members, ") && told.ends_with(" s\n"), "{told}");
    run.end();
}

#[test]
fn the_log_has_the_beginning_every_failure_and_the_end() {
    let bench = Bench::new();
    fs::write(bench.path("file"), "text").unwrap();
    bench.run("-xf a.tar -C out --log log").ok();
    let ran = bench.run_as("parcp -r --log log file missing out/top");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let text = fs::read_to_string(bench.path("log")).unwrap();
    let lines: Vec<Value> = text.lines().map(json).collect();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events[..3], ["begin", "end", "begin"], "{text}");
    assert_eq!((&lines[0]["program"], &lines[0]["arguments"][5]), (&"partar".into(), &"--log".into()));
    assert_eq!((&lines[1]["exit_status"], &lines[1]["failures"]), (&0.into(), &0.into()));
    let failed = lines.iter().find(|line| line["event"] == "failure").unwrap();
    assert!(failed["path"].as_str().unwrap().ends_with("missing"), "{failed}");
    let end = lines.last().unwrap();
    assert_eq!((&end["event"], &end["exit_status"], &end["failures"]), (&"end".into(), &1.into(), &1.into()), "{end}");
    assert!(ran.stderr.contains("missing"), "{ran:?}");
    assert_eq!(ran.stderr.matches("missing").count(), 1, "told once: {ran:?}");

    let full = bench.run_as("parcp --log /dev/full file copy");
    assert!(
        full.status == Some(1) && full.stderr.contains("/dev/full: Cannot write: No space left on device"),
        "{full:?}"
    );
    let unopened = bench.run_as("parrm --log no/log file");
    assert!(unopened.status == Some(1) && unopened.stderr.contains("no/log: Cannot open"), "{unopened:?}");
    assert!(bench.path("file").exists(), "nothing was done");
    let before = fs::read(bench.path("a.tar")).unwrap();
    bench.run("-cf a.tar file --log no/log").failed("no/log: Cannot open");
    assert!(fs::read(bench.path("a.tar")).unwrap() == before, "an archive that is there is not emptied");
}

/// A second watch of one run would find the port taken.
#[test]
fn a_run_is_watched_once_whatever_it_does() {
    let bench = Bench::new();
    bench.run("-xf a.tar -C out").ok();
    let lines = [
        "-cf n.tar -C out .",
        "-rf n.tar -C out .",
        "-uf n.tar -C out .",
        "-tf a.tar",
        "-df a.tar -C out",
        "-xOf a.tar",
    ];
    for (at, line) in lines.iter().enumerate() {
        let ran = bench.run(&format!("{line} --metrics 0 --log log{at}")).ok();
        assert_eq!(ran.stderr.matches("metrics are at").count(), 1, "{line}: {}", ran.stderr);
        let text = fs::read_to_string(bench.path(format!("log{at}"))).unwrap();
        assert_eq!((text.matches("\"begin\"").count(), text.matches("\"end\"").count()), (1, 1), "{line}: {text}");
    }
}

#[test]
fn nothing_is_told_into_the_archive() {
    let bench = Bench::new();
    fs::write(bench.path("file"), "text").unwrap();
    let before = fs::read(bench.path("a.tar")).unwrap();
    for option in ["--report", "--log"] {
        for mode in ["-tf", "-xf", "-df", "-rf"] {
            let own = format!("{option} is a file of its own");
            bench.run(&format!("{mode} a.tar {option} a.tar")).failed(&own);
            bench.run(&format!("{mode} a.tar {option} ./a.tar")).failed(&own);
        }
        assert!(fs::read(bench.path("a.tar")).unwrap() == before, "{option}");
        bench.run(&format!("-cf new.tar {option} new.tar file")).failed("is a file of its own");
        assert!(!bench.path("new.tar").exists());
    }
}

#[test]
fn a_report_is_of_a_run_that_came_to_its_end() {
    let bench = Bench::new();
    bench.run("-xf a.tar -C out --report run.json").ok();
    assert!(fs::metadata(bench.path("run.json")).unwrap().len() > 0);
    let mut run = Waiting::start(&bench, "-xf - -C out --progress=json --report run.json");
    run.line(|line| objects(line) > Some(0));
    assert_eq!(fs::metadata(bench.path("run.json")).unwrap().len(), 0, "that was another run's");
    run.end();
    assert_eq!(json(&fs::read_to_string(bench.path("run.json")).unwrap())["exit_status"], 0);
    // By a link to a file that is not there yet.
    symlink("../new.json", bench.path("out/by.json")).unwrap();
    symlink("out/by.json", bench.path("by.json")).unwrap();
    bench.run("-tf a.tar --report by.json").ok();
    assert!(fs::symlink_metadata(bench.path("out/by.json")).unwrap().is_symlink());
    assert_eq!(json(&fs::read_to_string(bench.path("new.json")).unwrap())["exit_status"], 0);
    let unwritten = bench.run_as("parrm --report no/run.json a.tar");
    assert!(unwritten.status == Some(1) && unwritten.stderr.contains("no/run.json: Cannot write"), "{unwritten:?}");
    assert!(bench.path("a.tar").exists(), "nothing was done");
}

/// What a schema has to say against documents that were written.
fn validator(name: &str) -> jsonschema::Validator {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/schema").join(name);
    jsonschema::validator_for(&json(&fs::read_to_string(path).unwrap())).unwrap()
}

#[track_caller]
fn valid(validator: &jsonschema::Validator, document: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
}

#[test]
fn reports_and_logs_are_as_their_schemas_say() {
    let bench = Bench::new();
    let served = tempfile::tempdir().unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap()]);
    let (report, events) = (validator("report-1.json"), validator("events-1.json"));
    for line in [
        format!("partar -xf a.tar -C {}", sim.url),
        "partar -xf a.tar -C out".into(),
        "partar -cf b.tar out".into(),
        "partar -tf b.tar".into(),
        "partar -xOf b.tar".into(),
        "partar -df a.tar -C out".into(),
        "partar -xf missing.tar".into(),
        format!("parcp -r out/top missing {}copy", sim.url),
        format!("parcp -r {}copy/ back", sim.url),
        format!("parcp -r --dry-run {}copy/ {}copied", sim.url, sim.url),
        format!("parrm -r {}copy", sim.url),
        "parrm -r out back missing".into(),
    ] {
        let ran = bench.run_as(&format!("{line} --report run.json --log log"));
        assert!(ran.status.is_some(), "{ran:?}");
        let mut document = json(&fs::read_to_string(bench.path("run.json")).unwrap());
        valid(&report, &document);
        // A schema that takes anything would be of no use.
        document["new"] = 1.into();
        assert!(!report.is_valid(&document), "{line}");
        fs::remove_file(bench.path("run.json")).unwrap();
    }
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(log.lines().count() > 24 && log.contains("\"failure\""), "{log}");
    log.lines().for_each(|line| valid(&events, &json(line)));
    let mut run = Waiting::start(&bench, &format!("-xf - -C {} --progress=json", sim.url));
    valid(&events, &json(&run.line(|line| objects(line) > Some(0))));
    run.end();
}

#[test]
fn what_a_simulator_served_is_as_its_schema_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("served.json");
    let faults = ["--fault", "lost-reply:proc=CREATE,nth=1", "--targets", "2", "--report"];
    let sim = Sim::start(&[&faults[..], &[path.to_str().unwrap()]].concat());
    let bench = Bench::new();
    bench.run_as(&format!("partar -xf a.tar -C {}", sim.url)).ok();
    assert_eq!(sim.end().0, Some(0));
    let schema = validator("sim-1.json");
    let mut document = json(&fs::read_to_string(&path).unwrap());
    valid(&schema, &document);
    assert_eq!((&document["schema"], document["targets"].as_array().unwrap().len()), (&1.into(), 2));
    assert!(document["targets"][0]["procedures"].as_object().is_some_and(|procedures| !procedures.is_empty()));
    document["targets"][0]["new"] = 1.into();
    assert!(!schema.is_valid(&document));
}
