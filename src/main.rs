//! One binary under several names: `partar` by its own name, or `parfs COMMAND`. And its allocator.

use std::process::ExitCode;

use parfs::cli::about::Build;

/// What a lane allocates is often freed by another one. musl's own malloc has one lock for all threads, and glibc's has each wait for the
/// lock of the one that allocated; `benches/static.sh` has what that costs. `system_malloc` is that bench's.
#[cfg(not(system_malloc))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BUILD: Build = Build {
    commit: option_env!("PARFS_COMMIT"),
    allocator: if cfg!(not(system_malloc)) { "mimalloc" } else { "the C library's" },
};

fn main() -> ExitCode {
    parfs::cli::run(std::env::args_os().collect(), BUILD).into()
}
