//! Files that the kernel makes up while they are read, whose sizes say nothing of what they hold.

use std::fs;
use std::path::Path;

use super::cli_support::Bench;

/// Where there is no /sys, as in some containers, /proc has to do.
fn of_a_page() -> Option<&'static str> {
    Some("/sys/devices/virtual/net/lo/mtu").filter(|path| fs::metadata(path).is_ok_and(|is| is.len() >= 4096))
}

#[test]
fn what_the_kernel_makes_up_is_copied_as_it_reads() {
    let bench = Bench::new();
    fs::write(bench.path("empty"), "").unwrap();
    for from in ["/proc/version"].into_iter().chain(of_a_page()) {
        for flags in ["", "--atomic", "--verify"] {
            let ran =
                bench.run_as(&format!("parcp {flags} --report run.json {from} {}/file", bench.out().display())).ok();
            assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{from} {flags}");
            let copy = bench.path("out/file");
            assert_eq!(fs::read(&copy).unwrap(), fs::read(from).unwrap(), "{from} {flags}");
            let report: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
            assert_eq!(report["copied"]["bytes"], fs::metadata(&copy).unwrap().len(), "{from} {flags}");
            fs::remove_file(copy).unwrap();
        }
    }
    // A directory whose files would be known by name alone, and others that are empty indeed.
    bench.run_as("parcp -r /proc/sys/fs/inotify copy").ok();
    for entry in fs::read_dir("/proc/sys/fs/inotify").unwrap() {
        let path = entry.unwrap().path();
        let copy = bench.path("copy").join(path.file_name().unwrap());
        assert_eq!(fs::read(&copy).unwrap(), fs::read(&path).unwrap(), "{}", path.display());
    }
    // Nothing tells that what it holds is what it held.
    let mtime = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let one = bench.path("copy/max_user_watches");
    bench.run_as("parcp -r --verify-only /proc/sys/fs/inotify copy --no-preserve=timestamps").ok();
    fs::write(&one, "").unwrap();
    bench.run_as("parcp -r --verify-only /proc/sys/fs/inotify copy --no-preserve=timestamps").ended(1, "");
    fs::File::options()
        .write(true)
        .open(&one)
        .unwrap()
        .set_modified(mtime(Path::new("/proc/sys/fs/inotify/max_user_watches")))
        .unwrap();
    bench.run_as("parcp -r --checksum /proc/sys/fs/inotify copy").ok();
    assert_eq!(fs::read(&one).unwrap(), fs::read("/proc/sys/fs/inotify/max_user_watches").unwrap());
    bench.run_as("parcp empty copy/empty").ok();
    assert_eq!(fs::read(bench.path("copy/empty")).unwrap(), b"");
    bench.run_as("parcp /proc/self/mem out/none").ended(1, "/proc/self/mem: READ: ");
}

#[test]
fn archives_have_what_the_kernel_makes_up() {
    let bench = Bench::new();
    let mut line = "-cf o.tar -C / proc/version proc/sys/fs/inotify".to_string();
    let page = of_a_page();
    page.iter().for_each(|path| line += &format!(" {}", &path[1..]));
    let ran = bench.run(&line).ok();
    assert_eq!(ran.stderr, "");
    bench.run("-xf o.tar -C out").ok();
    for path in ["/proc/version", "/proc/sys/fs/inotify/max_user_watches"].into_iter().chain(page) {
        let there = bench.out().join(path.trim_start_matches('/'));
        assert_eq!(fs::read(there).unwrap(), fs::read(Path::new(path)).unwrap(), "{path}");
    }
    bench.run("-cf o.tar -C / proc/self/mem").failed("proc/self/mem: READ: ");
}
