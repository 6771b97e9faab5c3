//! What this build is, for `parfs --version`.
//!
//! Promises: the first line is the program and its version alone, for scripts; each further line is `word: what`.
//! Leaves out the commands' own version lines, which are their models' form.

use crate::load::options::ENGINES;

/// What only the binary's own crate knows. It is handed over, so that a new commit does not compile the library anew.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// What `git describe` said when `packaging/build` ran; a plain `cargo build` is told none.
    pub commit: Option<&'static str>,
    /// Whose `malloc` Rust's code uses.
    pub allocator: &'static str,
}

/// Compressions of archives, by their programs' names.
const ARCHIVES: &str = "gzip bzip2 xz zstd lz4";

const LIBC: &str = if cfg!(target_env = "musl") { "musl" } else { "glibc" };

const LINKED: &str = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };

const PROFILE: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

/// What `parfs --version` prints.
pub fn text(build: Build) -> String {
    let commit = build.commit.filter(|commit| !commit.is_empty()).unwrap_or("not told to the build");
    format!(
        "parfs {}\ncommit: {commit}\nbuild: {PROFILE}, {} {}\nC library: {LIBC}, {LINKED}\nallocator: {}\n\
         archives: {ARCHIVES}\nengines: {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        build.allocator,
        ENGINES.join(" "),
    )
}
