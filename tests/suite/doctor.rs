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

#[test]
fn a_table_of_mounts_that_is_none_is_told() {
    let proc = tempfile::tempdir().unwrap();
    fs::create_dir_all(proc.path().join("proc/self")).unwrap();
    for text in ["", "garbage\n", "64 27 0:45 / /mnt/fss rw,relatime shared:33 - nfs"] {
        fs::write(proc.path().join("proc/self/mountinfo"), text).unwrap();
        let told = printed(doctor(proc.path(), &[]), 0);
        assert!(told.contains("Not all of it is mounts"), "{text}: {told}");
    }
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

/// One below it that cannot be listed is told and no more; the PATH itself was asked for.
#[test]
fn a_path_that_cannot_be_listed_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
    assert_eq!(doctor(dir.path(), &["/d"]).status, Some(0));
    let ran = doctor(dir.path(), &["/d", "/link"]);
    assert!(ran.stdout.contains("Directory /d") && !ran.stdout.contains("Directory /link"), "{ran:?}");
    assert!(ran.stdout.contains("/link: No such file or directory (its directories)"), "{ran:?}");
    assert_eq!(ran.status, Some(2));
    assert_eq!(outline(doctor(dir.path(), &["--json", "/link"])).len(), 2);
}

#[test]
fn an_fstab_that_is_missing_is_told() {
    let dir = tempfile::tempdir().unwrap();
    copied("usual", "proc/self/mountinfo", dir.path());
    let told = "/etc/fstab: No such file or directory (what is to be mounted at boot, and how)";
    assert!(doctor(dir.path(), &[]).stdout.contains(told));
    copied("usual", "etc/fstab", dir.path());
    assert!(!doctor(dir.path(), &[]).stdout.contains("/etc/fstab: No such"));
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

/// A host with these mounts of NFS (id, device, point, source, options) and this /etc/fstab.
fn mounted(mounts: &[[&str; 5]], fstab: &str) -> tempfile::TempDir {
    let line = |[id, device, point, source, options]: &[&str; 5]| {
        format!("{id} 20 {device} / {point} rw,relatime - nfs {source} {options}\n")
    };
    written(&[("proc/self/mountinfo", &mounts.iter().map(line).collect::<String>()), ("etc/fstab", fstab)])
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

/// The commands for a mount that /etc/fstab does not have: with the options that `line` would have.
fn by_hand(line: &str) -> String {
    let fields: Vec<&str> = line.split(' ').collect();
    let source = if fields[1].contains('[') { format!("'{}'", fields[1]) } else { fields[1].to_string() };
    format!("umount {0} && mount -t nfs -o {1} {source} {0}", fields[2], fields[4])
}

const USUAL: &str = "rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,\
    mountaddr=10.0.0.5,mountvers=3,mountport=2048,mountproto=tcp,local_lock=none,addr=10.0.0.5";

#[test]
fn a_mount_that_shares_a_superblock_keeps_its_own_export() {
    let first = ["36", "0:52", "/mnt/fss", "10.0.0.5:/export/a", USUAL];
    let other = ["37", "0:52", "/mnt/fss/sub", "10.0.0.5:/export/b", USUAL];
    let bind = ["38", "0:52", "/mnt/bind", "10.0.0.5:/export/a/dir", USUAL];
    let root = mounted(&[first, other, bind], "");
    let apart =
        "umount /mnt/fss/sub && mount -t nfs -o vers=3,hard,proto=tcp,nosharecache 10.0.0.5:/export/b /mnt/fss/sub";
    fixed(&root, "/export/a", "shared_superblock", &[apart]);
    assert!(doctor(root.path(), &[]).stdout.contains("The server has these exports on one file system"));
    // A bind mount of a directory, by its source or by its root.
    let root = mounted(&[first, bind], "");
    fixed(&root, "/export/a", "shared_superblock", &[]);
    let table = mounted(&[first], "");
    let line = format!("38 20 0:52 /dir /mnt/bind rw - nfs 10.0.0.5:/export/a {USUAL}\n");
    let file = table.path().join("proc/self/mountinfo");
    fs::write(&file, fs::read_to_string(&file).unwrap() + &line).unwrap();
    fixed(&table, "/export/a", "shared_superblock", &[]);
    // What /etc/fstab has as a mount of its own is one, with what was typed for it.
    let root = mounted(&[first, bind], "10.0.0.5:/export/a/dir /mnt/bind nfs nofail,ro,mountport=2048 0 0\n");
    let apart =
        "umount /mnt/bind && mount -t nfs -o vers=3,ro,mountport=2048,nosharecache 10.0.0.5:/export/a/dir /mnt/bind";
    fixed(&root, "/export/a", "shared_superblock", &[apart]);
}

#[test]
fn a_line_of_fstab_keeps_what_was_typed() {
    let options = USUAL.replace("wsize=1048576", "wsize=65536").replace("hard", "soft,noac").replace("rw,", "rw,sync,");
    let typed = "_netdev,nofail,x-systemd.automount,bg,mountport=2048,noac,soft,wsize=65536,actimeo=0,lookupcache=none";
    let fstab = format!("nas:/a /mnt/a nfs {typed} 0 0\n");
    let root = mounted(&[["36", "0:52", "/mnt/a", "nas:/a", &options]], &fstab);
    let line = |options: &str| format!("/etc/fstab: nas:/a /mnt/a nfs {options} 0 0");
    let anew = "umount /mnt/a && mount /mnt/a";
    fixed(&root, "/mnt/a", "wsize", &[&line(&typed.replace("wsize=65536,", "")), anew]);
    fixed(&root, "/mnt/a", "noac", &[&line(&typed.replace("noac,", "")), anew]);
    let hard = typed.replace("soft,", "") + ",hard";
    fixed(&root, "/mnt/a", "soft", &[&line(&hard), anew]);
    fixed(&root, "/mnt/a", "nconnect", &[&line(&format!("{typed},nconnect=16")), anew]);
    // Of what nobody typed, the kernel's table says what was asked for.
    let root = mounted(&[["36", "0:52", "/mnt/a", "nas:/a", &options.replace("none,addr", "all,addr")]], "");
    let of = line("vers=3,soft,noac,proto=tcp,local_lock=all");
    fixed(&root, "/mnt/a", "wsize", &[&of, &by_hand(&of)]);
}

#[test]
fn the_deepest_mount_is_unmounted_first() {
    let first = ["36", "0:52", "/mnt/fss", "10.0.0.5:/a", USUAL];
    let bind = ["37", "0:52", "/mnt/fss/sub/b", "10.0.0.5:/a/b", USUAL];
    let other = ["38", "0:53", "/mnt/fss/sub", "10.0.0.5:/b", USUAL];
    let root = mounted(&[first, bind, other], "");
    let line = "/etc/fstab: 10.0.0.5:/a /mnt/fss nfs vers=3,hard,proto=tcp,nconnect=16 0 0";
    let lost = "# By hand, or at the next boot: /mnt/fss/sub/b is a bind mount that /etc/fstab does not have";
    fixed(&root, "/mnt/fss", "nconnect", &[line, lost]);
    let root = mounted(&[first, bind, other], "/mnt/fss/b /mnt/fss/sub/b none bind 0 0\n");
    let mount = |path: &str, point: &str| {
        let options = "vers=3,hard,proto=tcp,nconnect=16";
        format!("mountpoint -q {point} || mount -t nfs -o {options} 10.0.0.5:{path} {point}")
    };
    let umount = "umount /mnt/fss/sub/b /mnt/fss/sub /mnt/fss";
    let again = [mount("/a", "/mnt/fss"), mount("/b", "/mnt/fss/sub")];
    let bind = "mountpoint -q /mnt/fss/sub/b || mount /mnt/fss/sub/b";
    fixed(&root, "/mnt/fss", "nconnect", &[line, umount, &again[0], &again[1], bind]);
}

/// All mounts of a server would name all of them.
#[test]
fn commands_that_are_about_all_mounts_of_a_server_stand_once() {
    let mount = |at: usize| {
        [format!("{}", 36 + at), format!("0:{}", 52 + at), format!("/mnt/m{at}"), format!("10.0.0.5:/e{at}")]
    };
    let all: Vec<_> = (0..3).map(mount).collect();
    let mounts: Vec<[&str; 5]> = all.iter().map(|[id, dev, at, source]| [&**id, dev, at, source, USUAL]).collect();
    let root = mounted(&mounts, "");
    let commands = |at: &str| fixes(root.path(), at, "nconnect").unwrap().len();
    assert_eq!([commands("/mnt/m1"), commands("/mnt/m2")], [1, 1]);
    assert!(commands("/mnt/m0") > 1);
    assert_eq!(doctor(root.path(), &[]).stdout.matches("The commands stand with /mnt/m0.").count(), 2);
}

/// Connections are the server's, so a PATH on one mount has all of them in its commands.
#[test]
fn a_path_on_one_mount_has_all_that_share_its_connections_mounted_anew() {
    let first = ["36", "0:52", "/mnt/a", "10.0.0.5:/a", USUAL];
    let root = mounted(&[first, ["37", "0:53", "/mnt/b", "10.0.0.5:/b", USUAL]], "");
    fs::create_dir_all(root.path().join("mnt/a")).unwrap();
    let found = doctor(root.path(), &["/mnt/a"]).stdout;
    assert!(found.contains("umount /mnt/a /mnt/b") && found.contains("mountpoint -q /mnt/b || mount "), "{found}");
}

#[test]
fn the_transport_and_the_security_of_a_mount_stay() {
    let of = |options: &str| mounted(&[["36", "0:52", "/mnt/a", "[fd00::1]:/x", options]], "");
    let line = |options: &str| format!("/etc/fstab: [fd00::1]:/x /mnt/a nfs {options} 0 0");
    let root = of("rw,vers=3,rsize=65536,wsize=65536,hard,proto=tcp6,nconnect=16,addr=fd00::1");
    fixed(
        &root,
        "/mnt/a",
        "rsize",
        &[&line("vers=3,hard,proto=tcp6,nconnect=16"), &by_hand(&line("vers=3,hard,proto=tcp6,nconnect=16"))],
    );
    let root = of("rw,vers=3,hard,proto=udp6,timeo=20,sec=krb5,addr=fd00::1");
    fixed(
        &root,
        "/mnt/a",
        "proto",
        &[&line("vers=3,hard,proto=tcp6,sec=krb5"), &by_hand(&line("vers=3,hard,proto=tcp6,sec=krb5"))],
    );
    let root = of("ro,vers=3,soft,proto=rdma,port=20049,sec=krb5,noac,addr=fd00::1");
    fixed(
        &root,
        "/mnt/a",
        "soft",
        &[
            &line("vers=3,ro,proto=rdma,port=20049,sec=krb5,noac,hard"),
            &by_hand(&line("vers=3,ro,proto=rdma,port=20049,sec=krb5,noac,hard")),
        ],
    );
    assert_eq!(fixes(root.path(), "/mnt/a", "nconnect"), None);
    let options = "vers=3,nosuid,nodev,hard,proto=rdma,port=20049,sec=krb5";
    let table = format!("36 20 0:52 / /mnt/a rw,nosuid,nodev - nfs [fd00::1]:/x rw,{options},addr=fd00::1\n");
    let root =
        written(&[("proc/self/mountinfo", &table), ("etc/fstab", "[fd00::1]:/x /mnt/a nfs proto=rdma,nconnect=16\n")]);
    assert_eq!(fixes(root.path(), "/mnt/a", "nconnect_shared"), None);
    fs::remove_file(root.path().join("etc/fstab")).unwrap();
    let beside = format!("mkdir -p /mnt/a-2 && mount -t nfs -o {options},nosharecache '[fd00::1]:/x' /mnt/a-2");
    fixed(&root, "/x", "one_mount", &[&beside]);
    let root = mounted(&[["36", "0:52", "/mnt/a", "10.0.0.5:/x", USUAL]], "10.0.0.6:/x /mnt/b nfs noauto\n");
    let beside = "mkdir -p /mnt/a-2 && mount -t nfs -o vers=3,hard,proto=tcp,nconnect=16 10.0.0.6:/x /mnt/a-2";
    fixed(&root, "/x", "one_mount", &[beside]);
}

#[test]
fn an_odd_port_is_no_part_of_the_address() {
    let ways = |address: &str, port: &str| {
        let options = format!("rw,vers=3,hard,proto=tcp,port={port},addr={address}");
        let root = mounted(&[["36", "0:52", "/mnt/a", "nas:/a", &options]], "");
        let counts = "device nas:/a mounted on /mnt/a with fstype nfs statvers=1.1\n\tage:\t9\n\tper-op statistics\n\
            \t     GETATTR: 5000 5100 3 1 1 1 5000 5000 0\n";
        fs::write(root.path().join("proc/self/mountstats"), counts).unwrap();
        fixes(root.path(), "/mnt/a", "retransmissions").expect("it was told")
    };
    let rest = "   # retrans, rto, mss of each connection";
    let of = ways("10.0.0.7", "20500");
    assert_eq!(of[..2], ["tracepath 10.0.0.7".to_string(), format!("ss -tin dst 10.0.0.7 dport = :20500{rest}")]);
    assert_eq!(ways("10.0.0.7", "2049")[1], format!("ss -tin dst 10.0.0.7{rest}"));
    let of = ways("fd00::1", "20500");
    assert_eq!(of[..2], ["tracepath fd00::1".to_string(), format!("ss -tin dst '[fd00::1]' dport = :20500{rest}")]);
    assert_eq!(ways("$(reboot)", "0")[0], "tracepath '$(reboot)'");
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
    fs::write(sata.path().join("sys/block/sda/queue/scheduler"), "\n").unwrap();
    assert_eq!(checks(sata.path()), "device sda: ", "one without a name is none");
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

#[test]
fn a_line_for_another_export_is_not_the_mounts() {
    let first = ["36", "0:52", "/mnt/a", "10.0.0.5:/a", USUAL];
    let line = "/etc/fstab: 10.0.0.5:/a /mnt/a nfs vers=3,hard,proto=tcp,nconnect=16 0 0";
    for other in ["10.0.0.9:/other", "10.0.0.9:/a"] {
        let root = mounted(&[first], &format!("{other} /mnt/a nfs ro,soft 0 0\n"));
        fixed(&root, "/mnt/a", "nconnect", &[line, &by_hand(line)]);
    }
    // Linux shows the address that the server was first found by; what is mounted is what was typed.
    let root = mounted(&[["36", "0:52", "/mnt/a", "10.0.0.9:/a", USUAL]], "10.0.0.9:/a /mnt/a nfs ro 0 0\n");
    let line = "/etc/fstab: 10.0.0.9:/a /mnt/a nfs ro,nconnect=16 0 0";
    fixed(&root, "/mnt/a", "nconnect", &[line, "umount /mnt/a && mount /mnt/a"]);
}

#[test]
fn nothing_is_mounted_over_what_is_there() {
    let mounts = [
        ["36", "0:52", "/mnt/a", "10.0.0.5:/a", USUAL],
        ["37", "0:53", "/mnt/a-2", "10.0.0.9:/b", &USUAL.replace("10.0.0.5", "10.0.0.9")],
    ];
    let root = mounted(&mounts, "/dev/sdb1 /mnt/a-3 xfs defaults 0 0\n");
    let commands = fixes(root.path(), "/a", "one_mount").unwrap();
    assert!(commands[0].starts_with("mkdir -p /mnt/a-4 && ") && commands[0].ends_with(" /mnt/a-4"), "{commands:?}");
}

#[test]
fn a_size_that_the_next_mount_will_have_is_told() {
    let root =
        mounted(&[["36", "0:52", "/mnt/a", "nas:/a", USUAL]], "nas:/a /mnt/a nfs rsize=65536,wsize=2097152 0 0\n");
    let told = doctor(root.path(), &[]).stdout;
    let is_warned = |option: &str| told.contains(&format!("warning  {option}:"));
    assert!(
        told.contains("the next mount will be with less") && told.contains("It is the largest there is today"),
        "{told}"
    );
    assert_eq!(["rsize", "wsize"].map(is_warned), [true, false], "{told}");
    // 0 is none.
    let root = mounted(&[["36", "0:52", "/mnt/a", "nas:/a", USUAL]], "nas:/a /mnt/a nfs rsize=0 0 0\n");
    assert!(!doctor(root.path(), &[]).stdout.contains("will be with less"));
}

#[test]
fn the_state_of_a_xen_disk_is_its_connections() {
    let usual = [("queue/scheduler", "[none]"), ("queue/nr_requests", "256"), ("queue/read_ahead_kb", "128")];
    let root = with_disk("xvda", &[&usual[..], &[("device/state", "Connected"), ("mq/0/nr_tags", "256")]].concat());
    assert_eq!(fixes(root.path(), "xvda", "state"), None);
}

/// The other path to a volume is no device that anything lies on.
#[test]
fn a_path_on_one_of_two_paths_to_a_volume_tells_of_both() {
    let table = "27 1 8:48 / /data rw,relatime shared:1 - ext4 /dev/sdd rw\n28 1 8:80 / /own rw - ext4 /dev/sdf rw\n";
    let mut files = vec![("proc/self/mountinfo".to_string(), table)];
    for (name, number, wwid) in [("sdd", "8:48", "naa.7"), ("sde", "8:64", "naa.7"), ("sdf", "8:80", "naa.8")] {
        for (file, text) in [("dev", number), ("device/wwid", wwid), ("device/state", "running")] {
            files.push((format!("sys/block/{name}/{file}"), text));
        }
    }
    let root = written(&files.iter().map(|(file, text)| (file.as_str(), *text)).collect::<Vec<_>>());
    for (dir, found) in [("data", true), ("own", false)] {
        fs::create_dir(root.path().join(dir)).unwrap();
        let told = doctor(root.path(), &[&format!("/{dir}")]).stdout;
        assert_eq!(told.contains("no_multipath: sdd, sde are one volume"), found, "{told}");
    }
}
