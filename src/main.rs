//! One binary under several names: `partar` by its own name, or `parfs COMMAND`. And its allocator.

use std::process::ExitCode;

use parfs::cli::about::Build;

/// musl's own malloc has one lock for all threads; `benches/static.sh` has what that costs. `system_malloc` is that bench's.
#[cfg(all(target_env = "musl", not(system_malloc)))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BUILD: Build = Build {
    commit: option_env!("PARFS_COMMIT"),
    allocator: if cfg!(all(target_env = "musl", not(system_malloc))) { "mimalloc" } else { "the C library's" },
};

fn main() -> ExitCode {
    parfs::cli::run(std::env::args_os().collect(), BUILD).into()
}
