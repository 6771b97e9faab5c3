//! One binary under several names: `partar` by its own name, or `parfs COMMAND`.

use std::process::ExitCode;

/// musl's own malloc has one lock for all threads; `benches/static.sh` has what that costs. `system_malloc` is that bench's.
#[cfg(all(target_env = "musl", not(system_malloc)))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    parfs::cli::run(std::env::args_os().collect()).into()
}
