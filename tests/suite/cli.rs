//! partar through the binary, on directories of this host: GNU tar's habits, messages and exit statuses.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::cli_support::{Bench, NAMES, PARFS, Ran, assert_sample, header, sample_tar, send};

#[test]
fn every_spelling_of_the_command_line_extracts() {
    for line in ["xf a.tar -C out", "pxfC a.tar out -P 4", "-xf a.tar --directory=out", "-C out -x --file a.tar -P2"] {
        let bench = Bench::new();
        let ran = bench.run(line).ok();
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{line}");
        assert_sample(&bench.out());
    }
}

#[test]
fn an_archive_comes_through_a_pipe() {
    for line in ["pxf - -P 32 -C out", "-x -C out", "x -C out"] {
        let bench = Bench::new();
        bench.run_with(line, &sample_tar()).ok();
        assert_sample(&bench.out());
    }
}

#[test]
fn without_a_directory_it_extracts_here() {
    let bench = Bench::new();
    bench.run("xf a.tar").ok();
    assert_sample(&bench.path("."));
}

#[test]
fn it_is_called_by_a_link_or_by_its_name_as_a_command() {
    for name in ["partar", "tar"] {
        let bench = Bench::new();
        let (archive, out) = (bench.path("a.tar"), bench.out());
        let output = Command::new(PARFS).arg(name).arg("xf").arg(&archive).arg("-C").arg(&out).output().unwrap();
        Ran::of(output).ok();
        assert_sample(&out);
    }
    let bench = Bench::new();
    symlink(PARFS, bench.path("parload")).unwrap();
    let output = Command::new(bench.path("parload")).arg("x").output().unwrap();
    Ran::of(output).ended(1, "unable to open 'x' job file");
    let parfs = |arg: &str| Ran::of(Command::new(PARFS).arg(arg).output().unwrap());
    parfs("plan").failed("Usage: parfs plan");
    parfs("nothing").failed("there is no command 'nothing'");
    let version = parfs("--version").ok().stdout;
    let mut lines = version.lines();
    assert_eq!(lines.next(), Some(concat!("parfs ", env!("CARGO_PKG_VERSION"))), "scripts read the first line");
    let told: Vec<&str> = lines.map(|line| line.split_once(": ").expect("word: what").0).collect();
    assert_eq!(told, ["commit", "build", "C library", "allocator", "archives", "engines"]);
    Ran::of(Command::new(PARFS).output().unwrap()).failed("Usage: parfs COMMAND");
}

#[test]
fn compressed_archives_are_known_by_their_content() {
    let bench = Bench::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&sample_tar()).unwrap();
    fs::write(bench.path("a.tgz"), gzip.finish().unwrap()).unwrap();
    fs::write(bench.path("a.zst"), zstd::encode_all(&sample_tar()[..], 1).unwrap()).unwrap();
    for line in ["xzf a.tgz", "xf a.tgz", "xf a.zst", "-x --zstd -f a.zst", "xaf a.zst"] {
        let ran = bench.run(&format!("{line} -C out")).ok();
        assert_eq!(ran.stderr, "", "{line}");
        assert_sample(&bench.out());
        fs::remove_dir_all(bench.path("out/top")).unwrap();
    }
    let ran = bench.run("xJf a.tgz -C out").ok();
    assert_eq!(ran.stderr, "partar: a.tgz: is gzip by its content, not xz as -J says\n");
    assert_sample(&bench.out());
}

#[test]
fn names_are_listed_in_archive_order_and_quoted() {
    let bench = Bench::new();
    let ran = bench.run("xvf a.tar -C out -P 4").ok();
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), NAMES);
    for part in ["5 members", "Procedure", "CREATE", "of 50,000", "Bound by"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let mut tar = tar::Builder::new(Vec::new());
    tar.append(&header(b"a\nb\\c\xff", tar::EntryType::Regular, 0o644, 0), &b""[..]).unwrap();
    fs::write(bench.path("odd.tar"), tar.into_inner().unwrap()).unwrap();
    assert_eq!(bench.run("xvf odd.tar -C out").ok().stdout, "a\\nb\\\\c\\377\n");
    assert!(bench.out().join(std::ffi::OsStr::from_bytes(b"a\nb\\c\xff")).exists());
}

#[test]
fn a_listing_that_nobody_reads_is_no_error() {
    let bench = Bench::new();
    let mut command = bench.command("xvf a.tar -C out");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Ran::of(command.stdout(writer).output().unwrap()).ok();
    assert_sample(&bench.out());
}

#[test]
fn existing_files_are_replaced_kept_skipped_or_written_into() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("out/top")).unwrap();
    let (file, other) = (bench.path("out/top/a.txt"), bench.path("other"));
    let put = || {
        // The other name shows whether the file was written into or replaced.
        let _gone = fs::remove_file(&file);
        fs::write(&other, "old").unwrap();
        fs::hard_link(&other, &file).unwrap();
    };
    let state = || (fs::read_to_string(&file).unwrap(), fs::read_to_string(&other).unwrap());
    let was = |a: &str, b: &str| (a.to_string(), b.to_string());

    put();
    bench.run("xf a.tar -C out top/a.txt").ok();
    assert_eq!(state(), was("alpha", "old"));
    put();
    bench.run("xkf a.tar -C out top/a.txt").failed("partar: top/a.txt: ");
    assert_eq!(state(), was("old", "old"));
    let ran = bench.run("xf a.tar -C out --skip-old-files top/a.txt").ok();
    assert_eq!((state(), ran.stderr.as_str()), (was("old", "old"), ""));
    bench.run("xf a.tar -C out --overwrite top/a.txt").ok();
    assert_eq!(state(), was("alpha", "alpha"));
}

#[test]
fn a_failure_is_told_once_and_the_rest_is_extracted() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("out/top")).unwrap();
    fs::write(bench.path("out/top/a.txt"), "old").unwrap();
    let ran = bench.run("xkf a.tar -C out").failed("partar: top/a.txt: ");
    assert!(ran.stderr.contains("File exists"), "{ran:?}");
    assert!(ran.stderr.ends_with("partar: Exiting with failure status due to previous errors\n"), "{ran:?}");
    assert_eq!(fs::read_to_string(bench.path("out/top/a.txt")).unwrap(), "old");
    assert_eq!(fs::metadata(bench.path("out/top/sub/b.log")).unwrap().len(), 10_000);
}

#[test]
fn members_are_chosen_stripped_and_left_out() {
    let bench = Bench::new();
    let extracted = |line: &str| {
        fs::remove_dir_all(bench.out()).unwrap();
        fs::create_dir(bench.out()).unwrap();
        bench.run(&line.replacen("a.tar", "a.tar -C out", 1)).ok();
        let walk = walkdir::WalkDir::new(bench.out()).min_depth(1).sort_by_file_name();
        let files = walk.into_iter().map(Result::unwrap).filter(|e| !e.file_type().is_dir());
        files.map(|e| e.path().strip_prefix(bench.out()).unwrap().display().to_string()).collect::<Vec<_>>().join(" ")
    };
    fs::write(bench.path("patterns"), "*.log").unwrap();
    assert_eq!(extracted("xf a.tar"), "top/a.txt top/link top/sub/b.log");
    assert_eq!(extracted("xf a.tar --strip-components=1"), "a.txt link sub/b.log");
    assert_eq!(extracted("xf a.tar --exclude *.log"), "top/a.txt top/link");
    assert_eq!(extracted("xf a.tar -X patterns --exclude link"), "top/a.txt");
    assert_eq!(extracted("xf a.tar top/sub"), "top/sub/b.log");
    assert_eq!(extracted("xf a.tar --wildcards *.log"), "top/sub/b.log");
    bench.run("xf a.tar -C out nothing top/a.txt").failed("partar: nothing: Not found in archive");
    assert_eq!(fs::read(bench.path("out/top/a.txt")).unwrap(), b"alpha");
}

#[test]
fn modes_follow_the_umask_unless_they_are_to_be_exact() {
    for (flag, file, dir) in [("-p", 0o666, 0o755), ("--no-same-permissions", 0o640, 0o750)] {
        let bench = Bench::new();
        let shell = "umask 027; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.arg("-c").arg(shell).arg(bench.path("partar")).args(["-xf", "a.tar", "-C", "out", flag]);
        Ran::of(command.current_dir(bench.path(".")).output().unwrap()).ok();
        let mode = |name: &str| fs::metadata(bench.path(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("out/top/a.txt"), mode("out/top")), (file, dir), "{flag}");
    }
}

#[test]
fn times_are_the_archives_or_now() {
    let bench = Bench::new();
    bench.run("xf a.tar -C out").ok();
    for name in ["out/top", "out/top/a.txt", "out/top/sub"] {
        assert_eq!(fs::metadata(bench.path(name)).unwrap().mtime(), 1_600_000_000, "{name}");
    }
    bench.run("xmf a.tar -C out").ok();
    assert_ne!(fs::metadata(bench.path("out/top/a.txt")).unwrap().mtime(), 1_600_000_000);
}

#[test]
fn what_cannot_be_opened_is_fatal() {
    let bench = Bench::new();
    let fatal = "partar: Error is not recoverable: exiting now\n";
    let ran = bench.run("xf none.tar -C out").failed("partar: none.tar: Cannot open: No such file or directory\n");
    assert!(ran.stderr.ends_with(fatal), "{ran:?}");
    bench.run("xf a.tar -C none").failed("partar: none: Cannot open: No such file or directory\n");
    bench.run("xf a.tar -C a.tar").failed("partar: a.tar: Cannot open: Not a directory\n");
    bench.run("xf out").failed("partar: out: Cannot read: Is a directory\n");
    bench.run("xf a.tar -C out -X none").failed("partar: none: Cannot open: No such file or directory\n");
    bench.run("xf a.tar -C nfs://127.0.0.1:1/e").failed("partar: nfs://127.0.0.1:1/e: Cannot mount: ");
}

#[test]
fn what_is_no_archive_or_ends_early_is_said() {
    let bench = Bench::new();
    fs::write(bench.path("text.tar"), "no archive\n".repeat(1000)).unwrap();
    bench.run("xf text.tar -C out").failed("This does not look like a tar archive");
    for cut in [2_000, 5_000] {
        let _absent = fs::remove_dir_all(bench.path("out/top"));
        fs::write(bench.path("cut.tar"), &sample_tar()[..cut]).unwrap();
        bench.run("xf cut.tar -C out").failed("Unexpected EOF in archive");
        assert_eq!(fs::read(bench.path("out/top/a.txt")).unwrap(), b"alpha", "{cut}");
        let _absent = fs::remove_dir_all(bench.path("out/top"));
        bench.run_with("xf - -C out", &sample_tar()[..cut]).failed("Unexpected EOF in archive");
        assert_eq!(fs::read(bench.path("out/top/a.txt")).unwrap(), b"alpha", "{cut}");
    }
}

fn report(bench: &Bench) -> Value {
    serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap()
}

#[test]
fn the_report_tells_what_was_done_and_what_it_cost() {
    let bench = Bench::new();
    bench.run("xf a.tar -C out -P 3 --window 2 --report run.json").ok();
    let report = report(&bench);
    assert_eq!((&report["schema"], &report["program"]), (&1.into(), &"partar".into()));
    assert_eq!((&report["exit_status"], &report["failures"]), (&0.into(), &0.into()));
    let extracted = &report["extracted"];
    for (what, count) in [("members", 5), ("files", 2), ("dirs", 2), ("bytes", 10_005)] {
        assert_eq!(extracted[what], Value::from(count), "{what}");
    }
    assert_eq!(report["shape"], serde_json::json!({"lanes": 3, "window": 2}));
    let target = &report["targets"][0];
    let procedures = target["procedures"].as_array().unwrap();
    let of = |name: &str| procedures.iter().find(|p| p["procedure"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!((&of("CREATE")["calls"], &of("WRITE")["bytes"]), (&2.into(), &10_005.into()));
    let shares: f64 = procedures.iter().map(|p| p["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    assert!(report["bound"]["because"].is_string());
}

/// A throttle waits before it lets a window through, so no run can be faster than its limit.
#[test]
fn limits_hold_each_target() {
    for (flag, figure, limit) in [("--max-iops=300", "iops_per_s", 300.0), ("--bwlimit=100kB", "bytes_per_s", 100e3)] {
        let bench = Bench::new();
        bench.run(&format!("xf a.tar -C out --report run.json {flag}")).ok();
        let rate = report(&bench)["targets"][0][figure].as_f64().unwrap();
        assert!(rate > 0.0 && rate <= limit, "{flag}: {rate}");
        assert_sample(&bench.out());
    }
}

#[test]
fn the_report_is_written_also_when_the_run_fails() {
    let bench = Bench::new();
    bench.run("xf none.tar -C out --report run.json").failed("none.tar");
    let fatal = report(&bench);
    assert_eq!(fatal["exit_status"], Value::from(2));
    assert!(fatal["fatal"].as_str().unwrap().contains("none.tar"));
    fs::create_dir_all(bench.path("out/top")).unwrap();
    fs::write(bench.path("out/top/a.txt"), "old").unwrap();
    bench.run("xkf a.tar -C out --report run.json").failed("top/a.txt");
    let failed = report(&bench);
    assert_eq!((&failed["failures"], &failed["failed"][0]["path"]), (&1.into(), &"top/a.txt".into()));
    bench.run("xf a.tar -C out --report none/run.json").failed("partar: none/run.json: Cannot write: ");
}

#[test]
fn a_file_without_a_name_in_the_archive_is_told_and_a_directory_is_none_the_worse() {
    let bench = Bench::new();
    bench.run("-xf a.tar -C out").ok();
    let said = "top/a.txt: its name in the archive would be empty; not dumped";
    bench.run("-cf n.tar --transform s,^top/a.txt$,, -C out top").failed(said);
    assert!(!bench.run("-tf n.tar").ok().stdout.contains("a.txt"));
    let ran = bench.run("-cf n.tar --transform s,^top$,, -C out top").ok();
    assert!(ran.stderr.contains("top: its name in the archive would be empty; not dumped"), "{ran:?}");
}

#[test]
fn totals_and_progress_are_told_where_they_are_asked_for() {
    let bench = Bench::new();
    let ran = bench.run("xf a.tar -C out --totals --progress").ok();
    assert!(ran.stderr.lines().last().unwrap().starts_with("Total bytes read: "), "{ran:?}");
    // As GNU tar 1.34: whole records, of a file of one member too.
    fs::write(bench.path("z"), vec![0; 30_000]).unwrap();
    for (line, said) in [
        ("--totals -cf z.tar z", "written: 40960 (40KiB,"),
        ("--totals -czf z.tgz z", "written: 40960 (40KiB,"),
        ("--totals -tf z.tar", "read: 40960 (40KiB,"),
        ("--totals -tf z.tgz", "read: 40960 (40KiB,"),
        ("--totals -xOf z.tar", "read: 40960 (40KiB,"),
    ] {
        let ran = bench.run(line).ok();
        assert!(ran.stderr.contains(&format!("Total bytes {said}")), "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_signal_ends_the_run_in_order() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let bench = Bench::new();
        let mut command = bench.command("-xvvf - -C out --report run.json");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&sample_tar()[..1536]).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Signals are watched by the time the setup is told.
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains("lanes of"), "{line}");
        send(&child, signal);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status), "{rest}");
        assert!(rest.contains("a second one ends at once"), "{rest}");
        let report = report(&bench);
        assert_eq!(report["exit_status"], Value::from(status));
        assert!(report["stopped"].is_string(), "{report}");
        drop(stdin);
    }
}

/// A run that waits for its archive, started with SIGHUP ignored, and its stderr behind the line that tells its setup.
fn under_nohup(bench: &Bench) -> (std::process::Child, BufReader<std::process::ChildStderr>) {
    let line = format!("trap '' HUP; exec {} -xvvf - -C out", bench.path("partar").display());
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(bench.path(".")).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(&sample_tar()[..1536]).unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut String::new()).unwrap();
    (child, stderr)
}

#[test]
fn a_hangup_that_is_ignored_stays_so() {
    let bench = Bench::new();
    let (mut child, _stderr) = under_nohup(&bench);
    send(&child, Signal::HUP);
    child.stdin.take().unwrap().write_all(&sample_tar()[1536..]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_sample(&bench.out());
}

#[test]
fn two_signals_at_once_are_one() {
    let bench = Bench::new();
    let (mut child, mut stderr) = under_nohup(&bench);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    let mut told = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut told).unwrap();
    assert!(matches!(child.wait().unwrap().code(), Some(130 | 143)), "{told}");
    assert!(told.contains("stopped: "), "it came to its end: {told}");
}

#[test]
fn a_report_replaces_no_device_and_is_as_private_as_the_umask_says() {
    let bench = Bench::new();
    let ran = bench.run("xf a.tar -C out --report /dev/stdout").ok();
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["exit_status"], 0);
    // Through a symbolic link, which stays one.
    symlink("real.json", bench.path("link.json")).unwrap();
    fs::write(bench.path("real.json"), "").unwrap();
    let umask = format!("umask 077; exec {} xf a.tar -C out --report link.json", bench.path("partar").display());
    let output = Command::new("sh").arg("-c").arg(umask).current_dir(bench.path(".")).output().unwrap();
    Ran::of(output).ok();
    assert!(fs::symlink_metadata(bench.path("link.json")).unwrap().is_symlink());
    assert_eq!(fs::metadata(bench.path("real.json")).unwrap().permissions().mode() & 0o777, 0o600);
    // A fifo that nobody reads would block: one with a reader is written to and stays.
    let fifo = bench.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::read(fifo).unwrap())
    };
    bench.run("xf a.tar -C out --report fifo").ok();
    assert_eq!(serde_json::from_slice::<Value>(&reader.join().unwrap()).unwrap()["exit_status"], 0);
    assert!(!fs::metadata(&fifo).unwrap().is_file());
}

#[test]
fn names_that_cannot_be_listed_are_a_failure() {
    let bench = Bench::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = bench.command("xvf a.tar -C out").stdout(full).output().unwrap();
    Ran::of(output).failed("partar: stdout: No space left on device");
    assert_sample(&bench.out());
}

/// A checksum stands behind what it is of: what was extracted by then is not to be believed.
#[test]
fn damaged_compressed_data_makes_what_came_before_doubtful() {
    use std::io::Write;
    let bench = Bench::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(&sample_tar()).unwrap();
    let mut packed = gzip.finish().unwrap();
    let at = packed.len() - 6; // of the checksum
    packed[at] ^= 1;
    fs::write(bench.path("bad.tgz"), &packed).unwrap();
    let ran = bench.run("xf bad.tgz -C out").ended(2, "what came before this was found may be wrong too");
    assert!(ran.stderr.contains("extracted anew from a good copy, not with --resume"), "{ran:?}");
    // What reads it did not begin.
    let ran = bench.run("xf a.tar -C out -I parfs-no-such-program").ended(2, "ended with status 127");
    assert!(!ran.stderr.contains("may be wrong too"), "{ran:?}");
    // One that ends early is none of these.
    fs::write(bench.path("cut.tgz"), &packed[..packed.len() / 2]).unwrap();
    let ran = bench.run("xf cut.tgz -C out").ended(2, "");
    assert!(!ran.stderr.contains("may be wrong too"), "{ran:?}");
}

#[test]
fn what_nothing_is_left_of_is_not_written_either() {
    let bench = Bench::new();
    let of = |line: &str| bench.run(line).ok().stdout;
    assert_eq!(of("-xOf a.tar --strip-components=1 top/a.txt"), "alpha");
    assert_eq!(of("-xOf a.tar --strip-components=2 top/a.txt"), "");
    assert_eq!(of("-xOf a.tar --strip-components=1 --transform s,top/,, top/a.txt"), "");
}

/// Names that are typed may be other people's: by a glob, or in a loop.
#[test]
fn what_was_typed_gives_a_terminal_no_commands() {
    let bench = Bench::new();
    let name = "e\u{1b}]0;T\u{7}\u{1b}[31mX";
    for line in [
        "partar -tf NAME",
        "partar -xf a.tar -C NAME",
        "partar -cf nodir/NAME a.tar",
        "partar -tf a.tar --NAME",
        "parrm NAME",
    ] {
        let mut words = line.split(' ').map(|word| word.replace("NAME", name));
        let program = words.next().unwrap();
        let ran = Ran::of(bench.command_as(&program, words).output().unwrap());
        assert_ne!(ran.status, Some(0), "{line}");
        assert!(ran.stderr.contains("\\033[31mX") && !ran.stderr.contains('\u{1b}'), "{line}: {}", ran.stderr);
    }
}

/// As of any program with commands: `help COMMAND` is `COMMAND --help`, and each tells its version.
#[test]
fn help_takes_a_command_and_each_command_tells_its_version() {
    let parfs = |line: &str| Ran::of(Command::new(PARFS).args(line.split_whitespace()).output().unwrap());
    for command in ["partar", "cp", "parrm", "plan", "doctor", "load", "sim", "demo", "plan capacity", "plan copy"] {
        let help = parfs(&format!("help {command}")).ok().stdout;
        assert_eq!(help, parfs(&format!("{command} --help")).ok().stdout, "{command}");
    }
    assert_eq!(parfs("plan help volume").ok().stdout, parfs("plan volume --help").ok().stdout);
    for all in ["help", "help help", "help --help"] {
        assert_eq!(parfs(all).ok().stdout, parfs("--help").ok().stdout, "{all}");
    }
    parfs("help nothing").failed("there is no command 'nothing'");
    parfs("help tar cp").failed("there is no command 'cp' of 'tar'");
    for command in ["plan", "plan capacity", "plan volume", "plan load", "doctor", "sim", "demo"] {
        for option in ["--version", "-V"] {
            let version = parfs(&format!("{command} {option}")).ok().stdout;
            assert_eq!(version.trim_end(), format!("parfs {command} {}", env!("CARGO_PKG_VERSION")));
        }
    }
}
