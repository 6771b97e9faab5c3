//! What this build is, for `parfs --version`.
//!
//! Promises: the first line is the program and its version alone, for scripts; each further line is `word: what`.
//! Leaves out the commands' own version lines, which are their models' form.

use crate::load::options::ENGINES;

/// Compressions of archives, by their programs' names.
const ARCHIVES: &str = "gzip bzip2 xz zstd lz4";

/// The allocator that `main` takes: musl's own has one lock for all threads.
const ALLOCATOR: &str = if cfg!(target_env = "musl") { "mimalloc" } else { "the C library's" };

const LIBC: &str = if cfg!(target_env = "musl") { "musl" } else { "glibc" };

const LINKED: &str = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };

/// What `parfs --version` prints. The commit is what `packaging/build` told the compiler; a plain `cargo build` tells none.
pub fn text() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let commit = option_env!("PARFS_COMMIT").filter(|commit| !commit.is_empty()).unwrap_or("not told to the build");
    let built = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!(
        "parfs {version}\ncommit: {commit}\nbuild: {built}, {} {}\nC library: {LIBC}, {LINKED}\nallocator: {ALLOCATOR}\n\
         archives: {ARCHIVES}\nengines: {}",
        std::env::consts::ARCH,
        std::env::consts::OS,
        ENGINES.join(" "),
    )
}
