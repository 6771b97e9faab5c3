//! The host's files beneath a root: `/`, or a directory with copies of them.
//!
//! It promises: a file is read up to a limit and never written; one that cannot be read is remembered with what cannot be judged
//! without it, and nothing fails. Left out: keeping symbolic links beneath the root; who recorded the tree knows what is in it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use crate::cli::console::reason;

/// Bytes of one of the kernel's tables that are read: 100,000 mounts (fs.mount-max), some 200 bytes each, or 3 KiB for a mount of NFS.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// Names of one directory of /proc or /sys that are read: processes are at most 4,194,304 (pid_max), most hosts have some hundred.
const NAMES_MAX: usize = 100_000;

/// The directory of a recorded tree that has what tools printed.
const TOOLS: &str = "tools";

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotRead {
    /// The file or the tool.
    pub what: String,
    /// Why.
    pub reason: String,
    /// What is not judged without it.
    pub lost: String,
}

/// Where the host's files are.
#[derive(Debug)]
pub struct Root {
    dir: PathBuf,
    not_read: RefCell<Vec<NotRead>>,
}

impl Root {
    /// The tree in `dir`.
    pub fn new(dir: &Path) -> Root {
        Root { dir: dir.into(), not_read: RefCell::default() }
    }

    /// Is it the running host's own, so that its tools may be asked?
    pub fn is_live(&self) -> bool {
        self.dir == Path::new("/")
    }

    /// Where the host's `path` is.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.dir.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let path = self.path(path);
        // What is no file could keep its reader waiting.
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::other("Not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(&path)?.take(TABLE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Remembers what could not be read; once for each.
    pub fn miss(&self, what: &str, reason: &str, lost: &str) {
        let missed = NotRead { what: what.into(), reason: reason.into(), lost: lost.into() };
        let mut all = self.not_read.borrow_mut();
        if !all.iter().any(|known| known.what == missed.what) {
            all.push(missed);
        }
    }

    /// A file that every host of this kind has. Without it what `lost` says is not judged.
    pub fn read(&self, path: &str, lost: &str) -> Option<Vec<u8>> {
        self.bytes(path).map_err(|error| self.miss(path, &reason(&error), lost)).ok()
    }

    /// A file that a host need not have, as it is; what cannot be read is as what is not there.
    pub fn may_bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.bytes(path).ok()
    }

    /// As `may_bytes`, a line of text.
    pub fn may_read(&self, path: &str) -> Option<String> {
        Some(trimmed(&self.may_bytes(path)?))
    }

    /// As `read`, a line of text.
    pub fn text(&self, path: &str, lost: &str) -> Option<String> {
        Some(trimmed(&self.read(path, lost)?))
    }

    /// As `read`, whole numbers with blanks between.
    pub fn numbers(&self, path: &str, lost: &str) -> Option<Vec<u64>> {
        let text = self.text(path, lost)?;
        let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| !numbers.is_empty());
        if numbers.is_none() {
            self.miss(path, "No number", lost);
        }
        numbers
    }

    /// As `read`, one whole number.
    pub fn number(&self, path: &str, lost: &str) -> Option<u64> {
        self.numbers(path, lost)?.first().copied()
    }

    /// As `may_read`, one whole number.
    pub fn may_number(&self, path: &str) -> Option<u64> {
        self.may_read(path)?.parse().ok()
    }

    /// The names in a directory, in order; none where it is not there.
    pub fn names(&self, path: &str) -> Option<Vec<OsString>> {
        let entries = fs::read_dir(self.path(path)).ok()?;
        let mut names: Vec<OsString> =
            entries.filter_map(|entry| Some(entry.ok()?.file_name())).take(NAMES_MAX).collect();
        names.sort();
        Some(names)
    }

    /// What a tool that only looks prints; of a recorded tree, what it printed then: `tools/NAME`.
    pub fn tool(&self, name: &str, args: &[&str], lost: &str) -> Option<String> {
        let shown = [&[name], args].concat().join(" ");
        let printed = if self.is_live() { run(name, args) } else { self.bytes(&format!("{TOOLS}/{name}")) };
        match printed {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) => {
                self.miss(&shown, &reason(&error), lost);
                None
            }
        }
    }

    /// What could not be read, so far.
    pub fn not_read(&self) -> Vec<NotRead> {
        self.not_read.borrow().clone()
    }
}

fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_string()
}

fn run(name: &str, args: &[&str]) -> io::Result<Vec<u8>> {
    let output = Command::new(name).args(args).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or_default();
    Err(io::Error::other(if first.is_empty() { output.status.to_string() } else { first.to_string() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_remembered_once_and_nothing_fails() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("sys/d")).unwrap();
        fs::write(dir.path().join("sys/n"), "4096 131072\t6291456\n").unwrap();
        fs::write(dir.path().join("sys/bad"), "4096 many\n").unwrap();
        let root = Root::new(dir.path());
        assert_eq!(root.numbers("/sys/n", "x"), Some(vec![4096, 131_072, 6_291_456]));
        assert_eq!((root.number("/sys/n", "x"), root.may_number("/sys/n")), (Some(4096), None));
        assert_eq!((root.may_read("/sys/none"), root.not_read()), (None, vec![]));
        assert_eq!(root.text("/sys/none", "colour"), None);
        assert_eq!(root.text("/sys/none", "again"), None);
        assert_eq!((root.number("/sys/bad", "size"), root.read("/sys/d", "dir")), (None, None));
        let said: Vec<String> =
            root.not_read().into_iter().map(|n| format!("{}: {}; {}", n.what, n.reason, n.lost)).collect();
        assert_eq!(
            said,
            [
                "/sys/none: No such file or directory; colour",
                "/sys/bad: No number; size",
                "/sys/d: Not a regular file; dir"
            ]
        );
        assert_eq!(root.names("/sys").unwrap(), ["bad", "d", "n"]);
        assert_eq!(root.names("/none"), None);
    }

    #[test]
    fn tools_of_a_recorded_tree_are_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        assert_eq!(root.tool("echo", &["x"], "nothing"), None);
        fs::create_dir(dir.path().join(TOOLS)).unwrap();
        fs::write(dir.path().join("tools/echo"), "recorded").unwrap();
        assert_eq!(root.tool("echo", &["x"], "nothing").as_deref(), Some("recorded"));
        let live = Root::new(Path::new("/"));
        assert_eq!(live.tool("echo", &["x"], "nothing").as_deref(), Some("x\n"));
        assert_eq!(live.tool("false", &[], "nothing"), None);
        assert!(live.not_read()[0].reason.contains('1'), "{:?}", live.not_read());
    }
}
