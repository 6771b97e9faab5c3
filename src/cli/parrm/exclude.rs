//! What `--exclude` may mean. What was removed is not to be had back, so a pattern leaves alone what any way to read it names: a
//! name or path at any depth, also on the way to the operand as that is typed, one below the operand (`/keep`, as rsync has it), the
//! path as the operand is typed, absolute, from the working directory, or from any directory on the way to the operand. Where none can
//! be right the run is refused.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::name::Shown;
use crate::cli::console::reason;
use crate::cli::host::Unclear::{self, Usage};
use crate::cli::lists;
use crate::cli::location::Location;
use crate::jobs::remove::{Against, Excluded, Place, Places, Reading};
use crate::jobs::select::Pattern;
use crate::mounts::nfs::Url;

use super::high::List;

/// Where patterns are read from.
struct Here {
    /// The working directory: as the kernel has it, and as the shell does.
    dirs: Vec<PathBuf>,
    has_urls: bool,
}

impl Here {
    /// Where links lead can be seen only from a directory that is reached by its path: below one that may not be searched, or where the path
    /// is too long, a pattern would keep less than it names.
    fn new(operands: &[OsString]) -> Result<Here, Unclear> {
        let id = |path: &Path| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
        let reached = std::env::current_dir().and_then(|dir| fs::metadata(&dir).map(|_| dir)).map_err(|error| {
            let why = reason(&error);
            Usage(format!(
                "--exclude: the working directory cannot be reached by its path ({why}), so that it cannot be told \
                           what patterns name; run this from another directory"
            ))
        })?;
        let mut dirs = vec![reached];
        let shells = std::env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(shells) =
            shells.filter(|path| !dirs.contains(path) && id(path).is_some_and(|it| Some(it) == id(Path::new("."))))
        {
            dirs.push(shells);
        }
        Ok(Here { dirs, has_urls: operands.iter().any(|operand| operand.as_bytes().starts_with(b"nfs://")) })
    }

    /// Where an operand is.
    fn place(&self, operand: &OsStr) -> Place {
        let paths = self.paths(operand);
        Place { ways: self.ways(operand, &paths), paths }
    }

    /// The ways to an operand: as it is typed, and from the working directory if it is below that. Of a URL its path.
    fn ways(&self, operand: &OsStr, paths: &[Vec<u8>]) -> Vec<Vec<u8>> {
        if let Ok(Location::Nfs(url, _)) = Location::parse(operand) {
            return vec![url.path];
        }
        let from = |dir: &PathBuf, path: &[u8]| {
            let way = Path::new(OsStr::from_bytes(path)).strip_prefix(dir).ok()?;
            Some(way.as_os_str().as_bytes().to_vec())
        };
        let from_here = self.dirs.iter().flat_map(|dir| paths.iter().filter_map(move |path| from(dir, path)));
        std::iter::once(operand.as_bytes().to_vec()).chain(from_here).collect()
    }

    /// The absolute paths of an operand: without `..` as a shell takes them, and by where the directory that it is in really is.
    fn paths(&self, operand: &OsStr) -> Vec<Vec<u8>> {
        if let Ok(Location::Nfs(url, _)) = Location::parse(operand) {
            return vec![url.path];
        }
        let mut places: Vec<PathBuf> = self.dirs.iter().map(|dir| plain(&dir.join(operand))).collect();
        let path = Path::new(operand);
        if let (Some(above), Some(name)) = (path.parent(), path.file_name())
            && let Ok(above) = Path::new(".").join(above).canonicalize()
        {
            places.push(above.join(name));
        }
        places.sort();
        places.dedup();
        places.into_iter().map(|path| path.into_os_string().into_vec()).collect()
    }
}

/// The path without `.` and, by its text alone, without `..`.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component::{CurDir, ParentDir};
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            CurDir => {}
            ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// What stays. An error names the pattern, and says what to write instead.
pub fn excluded(typed: Vec<Vec<u8>>, operands: &[OsString], list: Option<&List>) -> Result<Excluded, Unclear> {
    if typed.is_empty() {
        return Ok(Excluded::default());
    }
    let here = Here::new(operands)?;
    let mut all = Vec::new();
    for (of, text) in typed.iter().enumerate() {
        let why = |why: String| Usage(format!("pattern '{}' {why}", Shown(text)));
        all.extend(readings(of, text, &here).map_err(why)?);
    }
    let places = match list {
        None => {
            let place = |operand: &OsString| (trimmed(operand.as_bytes()).to_vec(), here.place(operand));
            Places { typed: operands.iter().map(place).collect(), base: Place::default() }
        }
        Some(_) => Places { typed: HashMap::new(), base: base(operands.first(), &here) },
    };
    Excluded::new(typed, &all, places).map_err(|error| Usage(error.to_string()))
}

fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&b| b != b'/').map_or(0, |last| last + 1);
    &path[..end]
}

/// What the paths of a list are relative to.
fn base(dir: Option<&OsString>, here: &Here) -> Place {
    let dir = dir.map_or(OsStr::new("."), OsString::as_os_str);
    let mut paths = here.paths(dir);
    if !dir.as_bytes().starts_with(b"nfs://") {
        // A list's paths lead through no symbolic link, but its directory may be one.
        paths.extend(Path::new(dir).canonicalize().map(|path| path.into_os_string().into_vec()));
    }
    Place { ways: here.ways(dir, &paths), paths }
}

/// All that `typed` may mean. An error says why it can mean nothing.
fn readings(of: usize, typed: &[u8], here: &Here) -> Result<Vec<Reading>, String> {
    check(typed)?;
    if typed == b"~" || typed.starts_with(b"~/") {
        return Err("is not clear: no shell has replaced its '~'; write $HOME, or ./~ for that name".into());
    }
    let Some(url) = typed.strip_prefix(b"nfs://") else {
        return of_path(of, typed, here);
    };
    if !here.has_urls {
        return Err("is a URL, and no operand is; write the path".into());
    }
    // Hosts are ways to an export, and an operand may name others of them than the pattern.
    let from = |text: &[u8], byte: u8| text.iter().position(|b| *b == byte);
    let path = from(url, b'/').map(|slash| &url[slash..]).ok_or("names no path")?;
    let mut readings = of_path(of, &decoded(path)?, here)?;
    if let Some((before, after)) = from(path, b'?').map(|mark| (&path[..mark], &path[mark + 1..]))
        && after.contains(&b'=')
    {
        let below = from(after, b'/').map_or(&b""[..], |slash| &after[slash..]);
        readings.extend(of_path(of, &decoded(&[before, below].concat())?, here)?);
    }
    readings.extend(shown(of, &parts(typed).join(&b'/')));
    Ok(readings)
}

/// A URL's path as a pattern.
fn decoded(path: &[u8]) -> Result<Vec<u8>, String> {
    let plain = |byte: &u8| match byte {
        b'?' | 0x80.. => format!("%{byte:02X}"),
        byte => char::from(*byte).into(),
    };
    let text: String = path.iter().map(plain).collect();
    let url = Url::parse(&format!("nfs://h{text}")).map_err(|error| error.to_string())?;
    check(&url.path)?;
    Ok(url.path)
}

fn check(pattern: &[u8]) -> Result<(), String> {
    lists::doubtful(&String::from_utf8_lossy(pattern)).map_or(Ok(()), |why| Err(format!("is not clear: {why}")))
}

fn parts(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect()
}

/// What a path may mean.
fn of_path(of: usize, text: &[u8], here: &Here) -> Result<Vec<Reading>, String> {
    let parts = parts(text);
    if parts.is_empty() {
        return Err("names nothing that could stay".into());
    }
    let (rooted, anchored) = (text.starts_with(b"/"), text.starts_with(b"/") || text.starts_with(b"./"));
    let mut readings = of_parts(of, &parts, rooted, anchored, here);
    // As git and others have it, `**` may also stand for no directory at all.
    let without: Vec<&[u8]> = parts.iter().copied().filter(|part| *part != b"**").collect();
    if without.len() < parts.len() && !without.is_empty() {
        readings.extend(of_parts(of, &without, rooted, anchored && parts[0] != b"**", here));
    }
    Ok(readings)
}

fn of_parts(of: usize, parts: &[&[u8]], rooted: bool, anchored: bool, here: &Here) -> Vec<Reading> {
    let text = parts.join(&b'/');
    let reading = |against, text: &[u8], anchored| {
        let pattern = Pattern { anchored, ..Pattern::exclude(text) };
        Reading { of, against, pattern }
    };
    let mut readings = vec![reading(Against::Below, &text, anchored)];
    if anchored || parts.len() > 1 {
        readings.extend(shown(of, &text));
    }
    // What begins with a wildcard is about no directory above the operand.
    if parts.len() > 1 && !parts[0].starts_with(b"*") {
        readings.push(reading(Against::Inside, &text, true));
    }
    let whole = match rooted {
        true => absolute(Vec::new(), parts),
        false => here.dirs.iter().flat_map(|dir| absolute(of_dir(dir), parts)).collect(),
    };
    readings.extend(whole.iter().map(|text| reading(Against::Whole, text, true)));
    readings
}

/// As the operand is typed.
fn shown(of: usize, text: &[u8]) -> Option<Reading> {
    let pattern = Pattern { anchored: true, ..Pattern::exclude(text) };
    Some(Reading { of, against: Against::Shown, pattern })
}

/// A directory's path as literal parts of a pattern.
fn of_dir(dir: &Path) -> Vec<Vec<u8>> {
    parts(dir.as_os_str().as_bytes()).into_iter().map(escaped).collect()
}

/// The absolute pattern of `parts` below `dir`; also with the symbolic links on its way followed, as far as it has no wildcards.
fn absolute(dir: Vec<Vec<u8>>, parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let is_name = parts.len() == 1 && !dir.is_empty();
    let parts: Vec<Vec<u8>> = dir.into_iter().chain(parts.iter().map(|part| part.to_vec())).collect();
    let mut all = vec![parts.join(&b'/')];
    if is_name {
        return all;
    }
    let literal: Vec<Vec<u8>> = parts.iter().map_while(|part| literal(part)).collect();
    // What it names may be a symbolic link itself, or what that leads to.
    for most in [literal.len(), literal.len().saturating_sub(1)] {
        let found = (1..=most).rev().find_map(|n| {
            let named = literal[..n].join(&b'/');
            let path = Path::new("/").join(OsStr::from_bytes(&named)).canonicalize().ok()?;
            Some([of_dir(&path), parts[n..].to_vec()].concat().join(&b'/'))
        });
        all.extend(found.filter(|found| !found.is_empty()));
    }
    all.sort();
    all.dedup();
    all
}

/// What a part without wildcards names.
fn literal(part: &[u8]) -> Option<Vec<u8>> {
    let (mut text, mut rest) = (Vec::new(), part.iter());
    while let Some(byte) = rest.next() {
        match byte {
            b'*' | b'?' | b'[' => return None,
            b'\\' => text.extend(rest.next()),
            byte => text.push(*byte),
        }
    }
    Some(text)
}

fn escaped(part: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| {
        let special = matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\');
        special.then_some(b'\\').into_iter().chain([*byte])
    };
    part.iter().flat_map(escape).collect()
}

/// Of the patterns that kept nothing, those that name a path without wildcards, and those that look like another program's.
pub fn unmet(excluded: &Excluded) -> Vec<String> {
    let is_foreign = |text: &str| text.starts_with('!') || text.contains(['{', '}']) || text.trim() != text;
    let is_told = |typed: &&[u8]| {
        let typed = String::from_utf8_lossy(typed);
        let text = typed.trim_matches('/');
        (text.contains('/') && literal(text.as_bytes()).is_some()) || is_foreign(text)
    };
    let unmet = excluded.unmet().filter(is_told).take(UNMET_MAX);
    unmet.map(|typed| format!("pattern '{}' of --exclude has left nothing alone", Shown(typed))).collect()
}

/// Patterns that are told to have kept nothing, at most.
const UNMET_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// What `pattern` keeps of the operand, seen from /data/u.
    fn excluded_by(pattern: &str, operand: &str) -> Excluded {
        let here = Here { dirs: vec!["/data/u".into()], has_urls: operand.starts_with("nfs://") };
        let places = Places {
            typed: [(trimmed(operand.as_bytes()).to_vec(), here.place(OsStr::new(operand)))].into(),
            base: Place::default(),
        };
        Excluded::new(vec![pattern.into()], &readings(0, pattern.as_bytes(), &here).unwrap(), places).unwrap()
    }

    /// Does `pattern` keep what is at `below` in the operand, seen from /data/u?
    fn keeps(pattern: &str, operand: &str, below: &str) -> bool {
        let excluded = excluded_by(pattern, operand);
        let shown = format!("{}/{below}", operand.trim_end_matches('/'));
        assert_eq!(excluded.unmet().count(), 1);
        let has = excluded.has(shown.as_bytes(), below.as_bytes());
        assert_eq!(excluded.unmet().count(), usize::from(!has));
        has
    }

    #[test]
    fn what_any_reading_names_stays() {
        for (pattern, operand) in [
            ("x", "p"),
            ("/x", "p"),
            ("./x", "/nowhere/p"),
            ("p/x", "p"),
            ("p//x", "p"),
            ("p/./x/", "./p/"),
            ("**/x", "p"),
            ("p/**/x", "p"),
            ("/data/u/p/x", "p"),
            ("//data/u/./p/x", "../u/p"),
            ("/data/*/x", "p"),
            ("/data/u/p/?", "p"),
            ("p/x", "/data/u/p"),
            ("u/p/x", "/data/u/p"),
            ("/p/x", "/data/u/p"),
            ("/data/u/p", "p"),
            ("p", "p/q"),
            ("/data", "p"),
            ("nfs://h/p/x", "nfs://h/p"),
            ("nfs://h,i/p/x", "nfs://i/p?uid=0"),
            ("nfs://h/p?uid=0/x", "nfs://h/p?uid=0"),
            ("nfs://h/p/x?uid=0", "nfs://h/p"),
            ("nfs://h/%70/[x]", "nfs://h/p/"),
            ("/e/p/x", "nfs://h/e/p"),
            ("/p/x", "nfs://h/e/p"),
            ("nfs://h/e/p", "nfs://h/e/p"),
        ] {
            assert!(keeps(pattern, operand, "x"), "{pattern} {operand}");
        }
        assert!(keeps("./x", "/data", "u/x") && keeps("./u/x", "/data", "u/x"));
    }

    #[test]
    fn what_no_reading_names_goes() {
        for (pattern, operand, below) in [
            ("y", "p", "x"),
            ("/x", "p", "y/x"),
            ("/u", "/data/u/p", "x"),
            ("/cache", "/var/cache/p", "x"),
            ("**/cache", "/nowhere/p", "x"),
            ("/data/u/p/x", "/data/u/q", "x"),
            ("p/x", "p", "y"),
            ("/data/u/q", "p", "x"),
            ("nfs://h/p/y", "nfs://h/p", "x"),
        ] {
            assert!(!keeps(pattern, operand, below), "{pattern} {operand} {below}");
        }
    }

    /// The pattern that the operand is said to be left alone by, empty if it is not said; none where it goes.
    fn kept_whole(pattern: &str, operand: &str) -> Option<String> {
        let name = operand.trim_end_matches('/').rsplit('/').next().unwrap();
        let excluded = excluded_by(pattern, operand);
        let kept = excluded.operand(operand.as_bytes(), Some(name.as_bytes()));
        kept.map(|told| String::from_utf8(told.unwrap_or_default().to_vec()).unwrap())
    }

    #[test]
    fn an_operand_stays_that_leads_through_what_a_pattern_names() {
        for pattern in ["keep", "keep/", "**/keep", "k*p", "?eep", "[j-l]eep"] {
            for operand in
                ["t/keep/in", "./keep//in/", "t/./keep/in/f", "../v/keep/f", "/srv/keep/in", "nfs://h/e/keep/in?uid=0"]
            {
                assert_eq!(kept_whole(pattern, operand).as_deref(), Some(pattern), "{operand}");
            }
            for operand in ["p/x", "../u/p", "t/keeper/in", "nfs://h/e/in"] {
                assert_eq!(kept_whole(pattern, operand), None, "{pattern} {operand}");
            }
        }
        for (operand, told) in [("/data/u/p", Some("data")), ("../u/p", None), ("./p", None), ("p", None)] {
            assert_eq!(kept_whole("data", operand).as_deref(), told, "{operand}");
        }
        // A host is no directory.
        assert_eq!(kept_whole("keep", "nfs://keep/e/in"), None);
        // Its own name is what was given, and nothing to tell.
        assert_eq!(kept_whole("keep", "t/keep").as_deref(), Some(""));
    }

    #[test]
    fn directories_names_are_no_wildcards() {
        assert_eq!(of_dir(Path::new("/a[b]/c*")), [b"a\\[b\\]".to_vec(), b"c\\*".to_vec()]);
        assert_eq!((literal(b"a\\[b\\]").as_deref(), literal(b"a[b]")), (Some(&b"a[b]"[..]), None));
    }

    #[test]
    fn what_can_mean_nothing_is_refused() {
        let here = Here { dirs: vec!["/data/u".into()], has_urls: false };
        let why = |pattern: &str| readings(0, pattern.as_bytes(), &here).unwrap_err();
        for pattern in ["../u/p/x", "p/q/../x", "x\r", "~/x", "~"] {
            assert!(why(pattern).starts_with("is not clear: "), "{pattern}");
        }
        for pattern in ["", "/", "//", ".", "./", "/./"] {
            assert_eq!(why(pattern), "names nothing that could stay", "{pattern}");
        }
        assert!(why("nfs://h/p/x").contains("write the path"));
        let here = Here { has_urls: true, ..here };
        for pattern in ["nfs://h", "nfs://h/", "nfs://h/p/../x", "nfs://h/p/%2e%2e/x"] {
            assert!(readings(0, pattern.as_bytes(), &here).is_err(), "{pattern}");
        }
    }
}
