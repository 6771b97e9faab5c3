//! The command lines that the file-storage tools of the field document or that public scripts use, as written: only paths are
//! replaced. The binary is called by its link; what it leaves is looked at.

use std::fs;

use super::cli_support::Bench;

/// `parrm -P 16 /path`; `parrm -rf dir`.
#[test]
fn parrm_with_threads_and_as_rm_is_called() {
    let bench = Bench::new();
    let plant = |name: &str| {
        fs::create_dir_all(bench.path(name).join("d/e")).unwrap();
        (0..20).for_each(|i| fs::write(bench.path(name).join(format!("d/e/{i}")), "x").unwrap());
    };
    plant("path");
    bench.run_as(&format!("parrm -P 16 {}", bench.path("path").display())).ok();
    assert!(!bench.path("path").exists());
    plant("dir");
    bench.run_as("parrm -rf dir").ok();
    assert!(!bench.path("dir").exists() && bench.path("out").exists());
}
