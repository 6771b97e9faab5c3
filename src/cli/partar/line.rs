//! What a line of a list of names means, and a backslash in a name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::base::name::Shown;
use crate::cli::host::Unclear::{self, Fatal, Usage};
use crate::cli::lists::Paths;

use super::environ;
use super::words::{State, Taken};

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A name, as it is meant.
    Name(Vec<u8>),
    /// `-C DIR`: where the names behind it are.
    Dir(Vec<u8>),
    /// No name, and why: those behind it are as good as ever.
    Refused(String),
}

/// The lines of a list under these switches, read as they are asked for.
pub fn all(
    file: &OsStr,
    state: State,
    stdin_taken: Taken,
) -> Result<impl Iterator<Item = Result<Line, String>> + use<>, Unclear> {
    if let (true, Some(taken)) = (file == "-", stdin_taken) {
        return Err(Usage(taken.into()));
    }
    let paths = Paths::open(file, state.null).map_err(Fatal)?.turning();
    let file = file.to_os_string();
    Ok(paths.map(move |path| Ok(line(&file, path?, state))))
}

fn line(file: &OsStr, path: Vec<u8>, state: State) -> Line {
    if state.verbatim {
        // Nothing but a name: as of GNU tar, its escapes are its own.
        return Line::Name(path);
    }
    // As for GNU tar, blanks before an option are none of it; those before a name are.
    let typed = path.trim_ascii_start();
    if !typed.starts_with(b"-") {
        return Line::Name(state.name(&path));
    }
    let after = |option: &[u8]| typed.strip_prefix(option).map(|value| word(value.trim_ascii_start()));
    let dir = after(b"-C").or_else(|| after(b"--directory=")).or_else(|| after(b"--directory "));
    if let Some(dir) = dir.filter(|dir| !dir.is_empty()) {
        return Line::Dir(dir);
    }
    if let Some(name) = after(b"--add-file=").filter(|name| !name.is_empty()) {
        return Line::Name(state.name(&name));
    }
    let (file, path) = (Shown(file.as_bytes()), Shown(&path));
    Line::Refused(format!(
        "{file}: '{path}' is taken for an option, which a list cannot have; use --verbatim-files-from for names like this"
    ))
}

/// An option's value without its quotes, as in a shell; one that is no single word is meant as it stands.
fn word(value: &[u8]) -> Vec<u8> {
    match environ::split(value).unwrap_or_default().as_slice() {
        [word] => word.as_bytes().to_vec(),
        _ => value.to_vec(),
    }
}

/// A name without its escapes, as GNU tar reads them: C's letters, octal digits, `\\`; what is none stays.
pub fn unquoted(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let (b'\\', [next, after @ ..]) = (*byte, behind) else {
            out.push(*byte);
            continue;
        };
        rest = after;
        match next {
            b'\\' => out.push(b'\\'),
            b'a' => out.push(0x07),
            b'b' => out.push(0x08),
            b'f' => out.push(0x0c),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(0x0b),
            b'?' => out.push(0x7f),
            b'0'..=b'7' => {
                let mut value = u32::from(next - b'0');
                for _ in 0..2 {
                    let [digit @ b'0'..=b'7', after @ ..] = rest else { break };
                    value = value * 8 + u32::from(digit - b'0');
                    rest = after;
                }
                out.push((value & 0xff) as u8);
            }
            _ => out.extend([b'\\', *next]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_before_an_option_are_none_of_it() {
        let line = |typed: &str, verbatim| {
            let mut state = State::default();
            state.verbatim = verbatim;
            line(OsStr::new("list"), typed.into(), state)
        };
        assert_eq!(line(" \t-C dir", false), Line::Dir(b"dir".into()));
        assert_eq!(line("  --add-file=f", false), Line::Name(b"f".into()));
        assert!(matches!(line(" --null", false), Line::Refused(_)));
        assert_eq!(line("  f", false), Line::Name(b"  f".into()));
        assert_eq!(line("  -C dir", true), Line::Name(b"  -C dir".into()));
    }

    #[test]
    fn escapes_are_those_of_gnu_tar() {
        for (typed, meant) in
            [(r"a\\b\n\t\141\0\?\q\", b"a\\b\n\ta\0\x7f\\q\\".as_slice()), (r"\1011\400", b"A1\0"), ("", b"")]
        {
            assert_eq!(unquoted(typed.as_bytes()), meant, "{typed}");
        }
    }
}
