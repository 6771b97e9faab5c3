//! One binary under several names: `partar` by its own name, or `parfs COMMAND`. And its allocator.

use std::process::ExitCode;

use parfs::cli::about::Build;

/// What a lane allocates is often freed by another one. musl's own malloc has one lock for all threads, and glibc's has each wait for the
/// lock of the one that allocated; `benches/static.sh` has what that costs. `system_malloc` is that bench's.
#[cfg(not(system_malloc))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the first thread mostly has.
const STACK_BYTES: usize = 8 << 20;

const BUILD: Build = Build {
    commit: option_env!("PARFS_COMMIT"),
    allocator: if cfg!(not(system_malloc)) { "mimalloc" } else { "the C library's" },
};

fn main() -> ExitCode {
    let run = || parfs::cli::run(std::env::args_os().collect(), BUILD);
    // A signal is the first thread's where that does not block it, and its handler runs there alone: not while the thread waits in the kernel
    // for a mount whose server does not answer. So this one waits for the other, which signals interrupt.
    let other = std::thread::Builder::new().name("main".into()).stack_size(STACK_BYTES).spawn(run);
    match other.map(|thread| thread.join()) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        // No more threads are to be had, as the run will say.
        Err(_) => run().into(),
    }
}
