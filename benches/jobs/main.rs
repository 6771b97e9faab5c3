//! Removal and copies: `cargo bench --bench jobs` (with `-- --quick`: fewer files, same lines).
//!
//! First a table of whole runs against simulated mount targets at 1 ms, the server and the client each a process of its own on
//! this machine's processors: what share of the ceiling that binds is reached, at what price for each file, with what client
//! CPU for each RPC and what peak memory. Then the memory of jobs of 5,000,000 files on a tree that is made up (see
//! `tests/suite/imagined.rs`). `-- --table` and `-- --memory` choose one of the two.

#![allow(clippy::print_stdout)] // a bench prints

mod archives;
mod child;
mod memory;
mod table;

#[allow(dead_code)] // the suite asks it for more
#[path = "../../tests/suite/imagined.rs"]
mod imagined;

/// The program's own (`src/main.rs`): with the C library's, each READ's buffer comes from the kernel anew, and a copy of one large file
/// between targets took the client twice the processor time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first().map(|(role, rest)| (role.as_str(), rest)) {
        Some(("serve", rest)) => return child::serve(rest),
        Some(("work", rest)) => return child::work(rest),
        Some(("imagine", rest)) => return memory::imagine(rest),
        _ => {}
    }
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let all = !has("--table") && !has("--memory");
    let only = child::given(&arguments, "--only").unwrap_or_default();
    if all || has("--table") {
        table::run(has("--quick"), only);
        archives::run(has("--quick"), only);
    }
    if all || has("--memory") {
        memory::run(has("--quick"), only);
    }
}
