//! `parfs doctor` on recorded hosts, through the binary: what it says, as text and as JSON, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::cli_support::{PARFS, Ran};
use super::documents;

/// A host of tests/data/hosts.
fn host(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hosts").join(name)
}

fn doctor(root: &Path, args: &[&str]) -> Ran {
    Ran::of(
        Command::new(PARFS).arg("doctor").arg("--root").arg(root).args(args).env_remove("COLUMNS").output().unwrap(),
    )
}

/// What was printed, when nothing but that was, and it ended so.
#[track_caller]
fn printed(ran: Ran, status: i32) -> String {
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(status), ""), "{}", ran.stdout);
    ran.stdout
}

#[test]
fn a_healthy_host() {
    insta::assert_snapshot!("doctor_healthy", printed(doctor(&host("healthy"), &[]), 0));
    insta::assert_snapshot!("doctor_healthy_json", printed(doctor(&host("healthy"), &["--json"]), 0));
}

#[test]
fn a_host_with_many_faults() {
    insta::assert_snapshot!("doctor_faulty", printed(doctor(&host("faulty"), &[]), 1));
    insta::assert_snapshot!("doctor_faulty_json", printed(doctor(&host("faulty"), &["--json"]), 1));
}

#[test]
fn a_host_with_little_to_read() {
    insta::assert_snapshot!("doctor_bare", printed(doctor(&host("bare"), &[]), 0));
    insta::assert_snapshot!("doctor_bare_json", printed(doctor(&host("bare"), &["--json"]), 0));
    let empty = tempfile::tempdir().unwrap();
    insta::assert_snapshot!("doctor_empty", printed(doctor(empty.path(), &[]), 0));
}

/// The kinds and names of what was looked at, and the checks that found something.
fn outline(ran: Ran) -> Vec<String> {
    let document: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(document["exit_status"], Value::from(ran.status.unwrap()));
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let subject = |subject: &Value| {
        let checks = subject["findings"].as_array().unwrap().iter().map(|finding| text(&finding["check"]));
        format!("{} {}: {}", text(&subject["kind"]), text(&subject["name"]), checks.collect::<Vec<_>>().join(" "))
    };
    document["subjects"].as_array().unwrap().iter().map(subject).collect()
}

#[test]
fn paths_choose_what_is_looked_at() {
    let at = |paths: &[&str]| outline(doctor(&host("faulty"), &[&["--json"], paths].concat()));
    // The mount of the path, those that may show the same export, and the directories; no disks.
    let nfs = at(&["/mnt/apps/logs"]);
    let kinds: Vec<&str> = nfs.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "mount /mnt/apps",
            "mount /mnt/apps3",
            "mount /mnt/noac",
            "export /apps",
            "export /apps",
            "directory /mnt/apps/logs",
            "transport tcp",
            "host db-7"
        ]
    );
    assert_eq!(nfs[5], "directory /mnt/apps/logs: nfs_files");
    // What the file system's device is made of.
    let disks = at(&["--depth", "0", "/proc/../"]);
    let names: Vec<&str> = disks.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(names, ["directory /", "transport tcp", "device sda", "device all", "host db-7"]);
}

#[test]
fn files_of_removed_names_are_told() {
    let ran = doctor(&host("faulty"), &["--depth", "1", "/mnt/apps"]);
    let found = "2 files of removed names: /mnt/apps/logs/.nfs00000000004e1f0300000a21 (open by java 4711),";
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(found), "{}", ran.stdout);
    assert!(text.contains("3 directories, 6 entries"), "{}", ran.stdout);
}

#[test]
fn large_directories_are_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("flat")).unwrap();
    (0..10_001).for_each(|i| drop(fs::File::create(dir.path().join("flat").join(i.to_string())).unwrap()));
    let ran = doctor(dir.path(), &["/"]);
    assert!(ran.stdout.contains("1 directory over 10,000 entries: /flat (10,001)"), "{ran:?}");
    // Of a file, the directory that it is in.
    let ran = doctor(dir.path(), &["/flat/7"]);
    assert!(ran.stdout.contains("File /flat/7: the directory that it is in"), "{ran:?}");
    assert!(ran.stdout.contains("1 directory over 10,000 entries: /flat (10,001)"), "{ran:?}");
    assert_eq!(ran.status, Some(1));
    assert!(!doctor(dir.path(), &["--depth", "0", "/"]).stdout.contains("over 10,000"));
}

#[test]
fn nothing_is_changed_by_looking() {
    let seen = |dir: &Path| {
        let entries = walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().map(|entry| entry.unwrap());
        let state = |entry: walkdir::DirEntry| {
            let is = entry.path().symlink_metadata().unwrap();
            (entry.path().to_path_buf(), is.modified().unwrap(), is.len(), is.permissions())
        };
        entries.map(state).collect::<Vec<_>>()
    };
    let before = seen(&host("faulty"));
    doctor(&host("faulty"), &["--depth", "9", "/"]);
    assert_eq!(seen(&host("faulty")), before);
}

#[test]
fn a_watched_host_that_sends_nothing_is_told_so() {
    let ran = doctor(&host("healthy"), &["--watch", "1", "/mnt/mt1"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "Watching 10.0.0.5, 10.0.0.6 ...\n");
    let shown = "0 IOPS (0.0 % of 50,000), at most 0 (0.0 %) in a second";
    assert!(ran.stdout.contains("Target 10.0.0.5, watched for 1 s") && ran.stdout.contains(shown), "{}", ran.stdout);
    let none = doctor(&host("faulty"), &["--watch", "1", "/u01"]);
    assert!(none.stdout.contains("--watch: No mount of NFS"), "{none:?}");
}

#[test]
fn levels_without_a_path_to_list_are_refused() {
    let ran = doctor(&host("faulty"), &["--depth", "5"]);
    assert!(ran.stderr.contains("PATH"), "{ran:?}");
    assert_eq!(ran.status, Some(2));
}

/// Copies a host's file into `dir`.
fn copied(name: &str, file: &str, dir: &Path) -> PathBuf {
    let to = dir.join(file);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(host(name).join(file), &to).unwrap();
    to
}

#[test]
fn a_target_near_its_ceiling_is_told() {
    let dir = tempfile::tempdir().unwrap();
    copied("usual", "proc/self/mountinfo", dir.path());
    let counters = copied("usual", "proc/self/mountstats", dir.path());
    let mut child = Command::new(PARFS)
        .args(["doctor", "--watch", "2", "--json", "--root"])
        .arg(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "Watching 10.0.0.5 ...\n");
    // The counters have been read. Since then 100,000 files were made: 400,000 IOPS in two seconds, however these are cut.
    let before = fs::read_to_string(&counters).unwrap();
    let after = before.replace("CREATE: 20102 20102", "CREATE: 120102 120102");
    assert_ne!(before, after);
    fs::write(dir.path().join("new"), after).unwrap();
    fs::rename(dir.path().join("new"), &counters).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let target = document["subjects"].as_array().unwrap().iter().find(|subject| subject["kind"] == "target").unwrap();
    let (iops, peak) = (target["facts"]["iops"].as_f64().unwrap(), target["facts"]["iops_peak"].as_f64().unwrap());
    // A busy machine may take longer than two seconds.
    assert!(iops <= 201_000.0 && peak <= 800_000.0 && peak >= iops && iops > 40_000.0, "{iops} {peak}");
    assert_eq!(target["findings"][0]["check"], "iops_ceiling");
    assert_eq!((ran.status, &target["findings"][0]["severity"]), (Some(1), &Value::from("warning")));
}

#[test]
fn wrong_command_lines_are_refused() {
    let healthy = host("healthy");
    for (args, said) in [
        (&["/none"][..], "/none: Cannot be looked at: No such file or directory"),
        (&["--watch", "0"], "from 1 second to a day"),
        (&["--depth", "x", "/"], "--depth"),
        (&["--latency", "0", "/"], "from 1us to a minute"),
        (&["-P", "0"], "0 is not in 1..=1024"),
        (&["--nonsense"], "--nonsense"),
    ] {
        doctor(&healthy, args).failed(said);
    }
    doctor(&healthy.join("etc/fstab"), &[]).failed("No directory");
}

/// The block in docs/ is what the binary says.
#[test]
fn documents_show_real_output() {
    let documents = documents::text();
    let (_, after) = documents.split_once("<!-- doctor: begin -->\n").expect("a document marks the block");
    let (block, _) = after.split_once("<!-- doctor: end -->").expect("the block ends");
    let said = printed(doctor(&host("usual"), &[]), 1);
    let command = "$ parfs doctor --root tests/data/hosts/usual\n";
    assert_eq!(block, format!("```text\n{command}{said}```\n"), "the block is to be this output");
}

/// A host of these files.
fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// The commands and lines that are printed for this finding of this subject; none where there is no such finding.
fn fixes(root: &Path, subject: &str, check: &str) -> Option<Vec<String>> {
    let document: Value = serde_json::from_str(&doctor(root, &["--json"]).stdout).unwrap();
    let subjects = document["subjects"].as_array().unwrap();
    let subject = subjects.iter().find(|is| is["name"] == subject).unwrap_or_else(|| panic!("{document:#}"));
    let finding = subject["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == check)?;
    Some(finding["fix"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_string()).collect())
}

#[track_caller]
fn fixed(root: &tempfile::TempDir, subject: &str, check: &str, expected: &[&str]) {
    assert_eq!(fixes(root.path(), subject, check).as_deref().unwrap_or_default(), expected);
}

/// A host with one disk: files of its directory in /sys/block.
fn with_disk(name: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let files: Vec<(String, &str)> =
        files.iter().map(|(file, text)| (format!("sys/block/{name}/{file}"), *text)).collect();
    written(&files.iter().map(|(file, text)| (file.as_str(), *text)).collect::<Vec<_>>())
}

#[test]
fn ordinary_disks_are_well() {
    let ssd = [
        ("device/queue_depth", "32"),
        ("device/state", "running"),
        ("queue/rotational", "0"),
        ("queue/scheduler", "[mq-deadline] none"),
        ("queue/nr_requests", "32"),
        ("queue/read_ahead_kb", "128"),
        ("mq/0/nr_tags", "32"),
    ];
    let checks =
        |root: &Path| outline(doctor(root, &["--json"])).into_iter().find(|is| is.starts_with("device sd")).unwrap();
    let sata = with_disk("sda", &[&ssd[..], &[("device/vendor", "ATA     ")]].concat());
    assert_eq!(checks(sata.path()), "device sda: ");
    let network = with_disk("sda", &[&ssd[..], &[("device/vendor", "ORACLE")]].concat());
    assert_eq!(checks(network.path()), "device sda: scheduler queue_depth nr_requests");
    // The same plugged in by USB, which the place of the device tells.
    let place = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/block";
    fs::create_dir_all(network.path().join(place)).unwrap();
    fs::rename(network.path().join("sys/block/sda"), network.path().join(place).join("sda")).unwrap();
    let link = Path::new("../..").join(place).join("sda");
    std::os::unix::fs::symlink(link, network.path().join("sys/block/sda")).unwrap();
    assert_eq!(checks(network.path()), "device sda: ");
}

#[test]
fn nvme_is_told_what_its_kernel_takes() {
    let nvme = [("queue/nr_requests", "31"), ("queue/read_ahead_kb", "128"), ("mq/0/nr_tags", "31")];
    let none = with_disk("nvme0n1", &[&nvme[..], &[("queue/scheduler", "[none] kyber")]].concat());
    assert_eq!(fixes(none.path(), "nvme0n1", "nr_requests"), None);
    fs::write(none.path().join("sys/block/nvme0n1/mq/0/nr_tags"), "63").unwrap();
    fixed(&none, "nvme0n1", "nr_requests", &["echo 63 > /sys/block/nvme0n1/queue/nr_requests"]);
    let kyber = with_disk("nvme0n1", &[&nvme[..], &[("queue/scheduler", "none [kyber]")]].concat());
    fixed(&kyber, "nvme0n1", "nr_requests", &["echo 128 > /sys/block/nvme0n1/queue/nr_requests"]);
    let lost = with_disk("nvme0n1", &[&nvme[..], &[("device/state", "connecting")]].concat());
    let commands =
        ["journalctl -k --grep nvme0", "nvme list-subsys   # controllers, how they are reached, and their states"];
    fixed(&lost, "nvme0n1", "state", &commands);
}

#[test]
fn names_of_disks_are_quoted_in_commands() {
    let root = with_disk("sdb;touch x", &[("queue/read_ahead_kb", "0"), ("device/state", "offline")]);
    fixed(&root, "sdb;touch x", "read_ahead", &["echo 128 > '/sys/block/sdb;touch x/queue/read_ahead_kb'"]);
    let state = fixes(root.path(), "sdb;touch x", "state").unwrap();
    assert_eq!(state[0], "journalctl -k --grep 'sdb;touch x'");
    assert_eq!(state[2], "echo running > '/sys/block/sdb;touch x/device/state'");
}
