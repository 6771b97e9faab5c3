//! Lists that options name: patterns, one a line, and paths, ended by newlines or NULs. What is read is bounded.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;

use super::console::reason;
use super::host::Unclear::{self, Fatal, Usage};
use crate::base::name::Shown;

/// A file of patterns has at most this many bytes.
const PATTERNS_BYTES_MAX: u64 = 64 << 20;

/// One path of a list has at most this many bytes: 16 times what Linux takes.
const PATH_BYTES_MAX: u64 = 64 << 10;

fn cannot(call: &str, file: &OsStr, error: &io::Error) -> String {
    format!("{}: Cannot {call}: {}", Shown(file.as_bytes()), reason(error))
}

/// The file, or standard input for `-`.
fn open(file: &OsStr) -> Result<Box<dyn Read + Send>, String> {
    if file == "-" {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(File::open(file).map_err(|error| cannot("open", file, &error))?))
}

/// The lines of a file that are not empty, or with `null` what NULs end; the last needs no end. `stdin_taken` says what else reads
/// standard input.
pub fn patterns(file: &OsString, null: bool, stdin_taken: Option<&str>) -> Result<Vec<Vec<u8>>, Unclear> {
    if let (true, Some(taken)) = (file == "-", stdin_taken) {
        return Err(Usage(taken.into()));
    }
    let source = open(file).map_err(Fatal)?;
    let mut text = Vec::new();
    let read = source.take(PATTERNS_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| Fatal(cannot("read", file, &error)))?;
    if text.len() as u64 > PATTERNS_BYTES_MAX {
        let shown = Shown(file.as_bytes());
        return Err(Fatal(format!("{shown}: has more than {PATTERNS_BYTES_MAX} bytes of patterns")));
    }
    let end = if null { 0 } else { b'\n' };
    Ok(text.split(|&b| b == end).filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Why a pattern is likely to mean something else than it says, if that is so, and what to write instead.
pub fn doubtful(pattern: &str) -> Option<&'static str> {
    if pattern.ends_with('\r') {
        return Some("it ends in a carriage return, as lines do in lists from DOS; make the list with newlines alone");
    }
    if pattern.contains('\0') {
        return Some("it has a NUL in it, as lists that find -print0 makes; make the list with newlines");
    }
    if pattern.starts_with('\u{feff}') {
        return Some("it begins with a byte order mark; make the list without it");
    }
    let has_up = pattern.replace('\\', "").split('/').any(|part| part == "..");
    has_up.then_some("'..' is not followed; write the path without it")
}

/// The paths of a list, read as they are asked for. Ends after an error.
pub struct Paths {
    from: BufReader<Box<dyn Read + Send>>,
    file: OsString,
    end: u8,
    /// The last path must be ended, too.
    whole: bool,
    /// A NUL says that the list is one of NULs from there on.
    turns: bool,
    failed: bool,
}

impl Paths {
    /// The list in `file`, each path ended by a NUL with `null`, else by a newline.
    pub fn open(file: &OsStr, null: bool) -> Result<Paths, String> {
        let from = BufReader::with_capacity(256 << 10, open(file)?);
        Ok(Paths {
            from,
            file: file.into(),
            end: if null { 0 } else { b'\n' },
            whole: false,
            turns: false,
            failed: false,
        })
    }

    /// The same list, of which a last path without its NUL is an error: what wrote it may have been cut off, and the path with it. One
    /// that newlines end is taken as it is, for editors write such.
    pub fn whole(self) -> Paths {
        Paths { whole: self.end == 0, ..self }
    }

    /// The same list, which NULs end from the first on that is met, as for GNU tar: no path has one in it.
    pub fn turning(self) -> Paths {
        Paths { turns: true, ..self }
    }

    /// What comes before the next end, and that.
    fn read_path(&mut self) -> io::Result<Vec<u8>> {
        let mut path = Vec::new();
        if !self.turns || self.end == 0 {
            (&mut self.from).take(PATH_BYTES_MAX + 1).read_until(self.end, &mut path)?;
            return Ok(path);
        }
        while path.len() as u64 <= PATH_BYTES_MAX {
            let there = self.from.fill_buf()?;
            let end = there.iter().position(|&byte| byte == b'\n' || byte == 0);
            let taken = end.map_or(there.len(), |at| at + 1);
            path.extend_from_slice(&there[..taken]);
            let last = end.map(|at| there[at]);
            self.from.consume(taken);
            if let Some(last) = last {
                self.end = last;
                break;
            }
            if taken == 0 {
                break;
            }
        }
        Ok(path)
    }

    fn read(&mut self) -> Result<Option<Vec<u8>>, String> {
        let mut path = self.read_path().map_err(|error| cannot("read", &self.file, &error))?;
        let ended = path.pop_if(|last| *last == self.end).is_some();
        if path.len() as u64 > PATH_BYTES_MAX {
            let hint = if self.end == 0 { "; is it a list of lines, without NULs?" } else { "" };
            return Err(format!("{}: a path has more than {PATH_BYTES_MAX} bytes{hint}", Shown(self.file.as_bytes())));
        }
        if self.whole && !ended && !path.is_empty() {
            let (file, path) = (Shown(self.file.as_bytes()), Shown(&path));
            return Err(format!(
                "{file}: its last path, '{path}', has no NUL behind it; write the list anew, it may be cut off"
            ));
        }
        Ok((ended || !path.is_empty()).then_some(path))
    }
}

impl Iterator for Paths {
    type Item = Result<Vec<u8>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            match self.read() {
                Ok(None) => return None,
                Ok(Some(path)) if path.is_empty() => {}
                Ok(Some(path)) => return Some(Ok(path)),
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_patterns_is_one_bare_word_or_lines() {
        let dir = tempfile::tempdir().unwrap();
        for (text, expected) in [("*.log", vec!["*.log"]), ("a\n\nb\n", vec!["a", "b"]), ("", vec![])] {
            let file = dir.path().join("patterns");
            std::fs::write(&file, text).unwrap();
            let got = patterns(&file.into_os_string(), false, None).unwrap();
            assert_eq!(got, expected.iter().map(|p| p.as_bytes().to_vec()).collect::<Vec<_>>());
        }
        let file = dir.path().join("patterns");
        std::fs::write(&file, "a\nb\0c").unwrap();
        assert_eq!(patterns(&file.into_os_string(), true, None).unwrap(), [b"a\nb".to_vec(), b"c".to_vec()]);
        let missing = patterns(&dir.path().join("none").into_os_string(), false, None).unwrap_err();
        assert!(matches!(missing, Fatal(text) if text.ends_with("Cannot open: No such file or directory")));
        assert_eq!(patterns(&"-".into(), false, Some("taken")).unwrap_err(), Usage("taken".into()));
    }

    #[test]
    fn patterns_that_are_likely_mistaken_are_known() {
        for pattern in ["x\r", "\r", "x\0", "keep\0precious\0", "\u{feff}x", "..", "../x", "a/../x", "a/..", "a/\\../x"]
        {
            assert!(doubtful(pattern).is_some(), "{pattern:?}");
        }
        for pattern in ["x", "a..", "..a/x", "a/...", "/a", "a\rb"] {
            assert_eq!(doubtful(pattern), None, "{pattern:?}");
        }
    }

    #[test]
    fn paths_end_in_newlines_or_nuls_and_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("list").into_os_string();
        let all = |text: &[u8], null| {
            std::fs::write(&file, text).unwrap();
            Paths::open(&file, null).unwrap().collect::<Vec<_>>()
        };
        assert_eq!(all(b"a b\n\nc/d", false), [Ok(b"a b".to_vec()), Ok(b"c/d".to_vec())]);
        assert_eq!(all(b"a\nb\0\0c", true), [Ok(b"a\nb".to_vec()), Ok(b"c".to_vec())]);
        assert_eq!(all(b"", false), []);
        let long = all(&[b'x'; 200_000], true);
        assert!(matches!(&long[..], [Err(text)] if text.contains("without NULs")), "{long:?}");
        let turning = |text: &[u8]| {
            std::fs::write(&file, text).unwrap();
            Paths::open(&file, false).unwrap().turning().collect::<Vec<_>>()
        };
        let names = |names: &[&str]| names.iter().map(|name| Ok(name.as_bytes().to_vec())).collect::<Vec<_>>();
        assert_eq!(turning(b"a\nd\0b\nc\0"), names(&["a", "d", "b\nc"]));
        assert_eq!(turning(b"a\n\nd"), names(&["a", "d"]));
        assert!(matches!(&turning(&[b'x'; 200_000])[..], [Err(_)]));
        let whole = |text: &[u8], null| {
            std::fs::write(&file, text).unwrap();
            Paths::open(&file, null).unwrap().whole().collect::<Vec<_>>()
        };
        assert_eq!(whole(b"a\0b\0", true), [Ok(b"a".to_vec()), Ok(b"b".to_vec())]);
        assert!(matches!(&whole(b"a\0b/c", true)[..], [Ok(_), Err(text)] if text.contains("'b/c', has no NUL")));
        assert_eq!(whole(b"a\nb", false), [Ok(b"a".to_vec()), Ok(b"b".to_vec())]);
        assert!(Paths::open(dir.path().join("none").as_os_str(), false).is_err());
    }
}
