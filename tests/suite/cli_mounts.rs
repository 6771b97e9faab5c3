//! `--mounts` and `--no-spread` where there is no NFS mount: refused before anything is changed, or of no consequence. What they
//! do on real mounts is tested by tests/kernel/mounts.sh.

use std::fs;

use crate::cli_support::{Bench, assert_sample};

#[test]
fn naming_mounts_that_are_of_no_use_ends_with_2_before_anything_is_changed() {
    let bench = Bench::new();
    fs::create_dir(bench.path("kept")).unwrap();
    fs::write(bench.path("kept/file"), "x").unwrap();
    let said = "--mounts: no operand is on out";
    bench.run_as("partar -xf a.tar -C out --mounts out,kept").ended(2, said);
    bench.run_as("parcp kept out/new --mounts out,kept").ended(2, said);
    bench.run_as("parcp -t out kept/file kept --mounts out,kept").ended(2, said);
    bench.run_as("parrm kept --mounts out,kept").ended(2, said);
    bench.run_as("parrm -f kept/file kept --mounts out --mounts kept").ended(2, said);
    bench.run_as("parrm --files-from a.tar --mounts out kept").ended(2, said);
    bench.run_as("parrm --dry-run kept --mounts /nowhere/at/all").ended(2, "no operand is on /nowhere/at/all");
    assert_eq!(fs::read(bench.path("kept/file")).unwrap(), b"x");
    assert_eq!(fs::read_dir(bench.out()).unwrap().count(), 0);
}

#[test]
fn contradictions_about_mounts_are_usage_errors() {
    let bench = Bench::new();
    for line in ["partar -xf a.tar -C out", "parcp a.tar out", "parrm a.tar"] {
        bench
            .run_as(&format!("{line} --mounts /m --no-spread"))
            .ended(2, "--mounts and --no-spread contradict each other");
        bench.run_as(&format!("{line} --mounts /m,")).ended(2, "has an empty name in it");
        bench.run_as(&format!("{line} --mounts")).ended(2, "--mounts");
    }
    assert!(bench.path("a.tar").exists() && fs::read_dir(bench.out()).unwrap().count() == 0);
}

#[test]
fn directories_that_are_on_no_nfs_mount_are_done_as_they_are() {
    let bench = Bench::new();
    for spread in ["", " --no-spread"] {
        let ran = bench.run_as(&format!("partar -xvf a.tar -C out --report run.json{spread}")).ok();
        assert!(!ran.stderr.contains("one file system") && !ran.stderr.contains("Kernel"), "{}", ran.stderr);
        assert_sample(&bench.out());
        let report = fs::read_to_string(bench.path("run.json")).unwrap();
        assert!(!report.contains("\"kernel\""), "{report}");
        bench.run_as(&format!("parcp out/top copy{spread}")).ok();
        bench.run_as(&format!("parrm copy out/top{spread}")).ok();
        assert_eq!(fs::read_dir(bench.out()).unwrap().count(), 0);
    }
}
