//! Operands: which directory each is in, and which are refused whatever the options say. It looks before anything is
//! removed; what is removed later is reached by descriptors and handles from that directory, whatever a path then means.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use crate::base::Name;
use crate::base::name::SNAPSHOT;
use crate::cli::console::reason;
use crate::jobs::remove::IS_ROOT;
use crate::mounts::local::peers::mountinfo::Table;
use crate::mounts::nfs::Url;

const IS_DOT: &str = "refusing to remove '.' or '..'; name the directory from the one above it";
const IS_MOUNT: &str = "it is the root of a mounted file system; --contents removes what is in it";
const IS_OTHER_DEVICE: &str = "it is on another device than its parent, which --preserve-root=all refuses";

/// The directory that operands are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parent {
    /// Of this host.
    Dir(PathBuf),
    /// The URL of a directory.
    Nfs(Box<Url>),
}

impl Parent {
    /// The directory of this host, if it is one.
    pub fn dir(&self) -> Option<&Path> {
        match self {
            Parent::Dir(path) => Some(path),
            Parent::Nfs(_) => None,
        }
    }
}

/// An operand that may be removed, as far as can be told before its volume is open.
#[derive(Debug, PartialEq, Eq)]
pub struct Placed {
    /// The directory it is in; for a whole export the export.
    pub parent: Parent,
    /// Its name there; none for a whole export.
    pub name: Option<Name>,
    /// It is the root of a mounted file system.
    pub fs_root: bool,
    /// It was written with a slash behind it, and must be a directory.
    pub slash: bool,
}

/// What the options say that matters here.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Rule {
    pub contents: bool,
    pub same_device: bool,
    pub force: bool,
}

/// The path without the slashes at its end, and whether there were any. Empty for the root directory.
fn without_slashes(path: &[u8]) -> (&[u8], bool) {
    let end = path.iter().rposition(|&b| b != b'/').map_or(0, |last| last + 1);
    (&path[..end], end < path.len())
}

/// The last component, and what is before it.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let start = path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    (&path[..start], &path[start..])
}

fn name(bytes: &[u8]) -> Result<Name, String> {
    if matches!(bytes, b"." | b"..") {
        return Err(IS_DOT.into());
    }
    Name::new(bytes).map_err(|error| error.to_string())
}

/// The device and inode of this host's root directory, which may be reached by other paths: it may be mounted elsewhere, too.
pub fn host_root() -> std::io::Result<(u64, u64)> {
    fs::metadata("/").map(|root| (root.dev(), root.ino()))
}

/// Is something mounted at `path`, be it a directory of the same device (a bind mount)? False where the kernel does not say: before
/// Linux 5.8.
fn is_mounted(path: &Path) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    statx(CWD, path, flags, StatxFlags::empty()).is_ok_and(|is| is.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// The ways from a directory, by names, to all that is mounted below it now.
#[derive(Clone, Debug, Default)]
pub struct Points(HashSet<Vec<Name>>);

impl Points {
    /// Below `base`, which is absolute and without symbolic links, by the mounts of `table`.
    pub fn below(base: &Path, table: &Table) -> Points {
        let way = |point: &Path| -> Option<Vec<Name>> {
            let below = point.strip_prefix(base).ok()?;
            below.iter().map(|part| Name::new(part.as_bytes()).ok()).collect()
        };
        Points(table.within(base).filter_map(|entry| way(&entry.point)).collect())
    }

    /// Refuses a way to one of them, and into the snapshots of one.
    pub fn check(&self, way: &[Name]) -> Result<(), String> {
        let is_snapshots = |at: usize| way[at].as_bytes() == SNAPSHOT && self.0.contains(&way[..at]);
        match self.0.contains(way) {
            true => Err("it is the root of a mounted file system".into()),
            false if (1..way.len()).any(is_snapshots) => Err(super::plan::IS_SNAPSHOTS.into()),
            false => Ok(()),
        }
    }
}

/// Is there a slash behind what is no directory, be it a link that leads nowhere? To look at that fails as at what is not there, which GNU rm's
/// -f ignores.
pub fn cannot_be(operand: &Path) -> bool {
    use ErrorKind::{NotADirectory, NotFound};
    let slash = operand.as_os_str().as_bytes().ends_with(b"/");
    slash && matches!(fs::symlink_metadata(operand), Err(error) if matches!(error.kind(), NotADirectory | NotFound))
}

/// Where the local path `operand` is. An error says why it is refused.
pub fn local(operand: &OsStr, rule: Rule) -> Result<Placed, String> {
    let (path, slash) = without_slashes(operand.as_bytes());
    if operand.is_empty() {
        return Err("the empty name is no file's".into());
    }
    if path.is_empty() {
        return Err(IS_ROOT.into());
    }
    let (before, last) = split(path);
    let name = name(last)?;
    let parent: &[u8] = match without_slashes(before) {
        (b"", false) => b".",
        (b"", true) => b"/",
        (parent, _) => parent,
    };
    let parent = Path::new(OsStr::from_bytes(parent));
    let mut placed = Placed { parent: Parent::Dir(parent.into()), name: Some(name), fs_root: false, slash };
    let there = match fs::symlink_metadata(OsStr::from_bytes(path)) {
        Ok(there) => there,
        // The job says so, or not, as -f has it.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(placed),
        Err(error) => return Err(format!("Cannot stat: {}", reason(&error))),
    };
    if !there.is_dir() {
        return if slash { Err("Not a directory".into()) } else { Ok(placed) };
    }
    let cannot = |error: std::io::Error| format!("Cannot stat its parent: {}", reason(&error));
    let (root, above) = (host_root().map_err(cannot)?, fs::metadata(parent).map_err(cannot)?);
    if (there.dev(), there.ino()) == root {
        return Err(IS_ROOT.into());
    }
    placed.fs_root = there.dev() != above.dev() || is_mounted(Path::new(OsStr::from_bytes(path)));
    check_root(placed.fs_root, rule)?;
    Ok(placed)
}

/// Refuses the root of a file system where it is to be refused.
pub fn check_root(fs_root: bool, rule: Rule) -> Result<(), String> {
    match fs_root {
        true if rule.same_device => Err(IS_OTHER_DEVICE.into()),
        true if !rule.contents => Err(IS_MOUNT.into()),
        _ => Ok(()),
    }
}

/// Where the object of `url` is. Whether it is an export's root is known when its parent was mounted.
pub fn nfs(url: &Url) -> Result<Placed, String> {
    let (path, slash) = without_slashes(&url.path);
    let parts: Vec<&[u8]> = path.split(|&b| b == b'/').filter(|part| !part.is_empty()).collect();
    let Some((last, above)) = parts.split_last() else {
        return Ok(Placed { parent: Parent::Nfs(Box::new(url.clone())), name: None, fs_root: true, slash });
    };
    let name = name(last)?;
    if above.iter().any(|part| *part == b"..") {
        return Err("'..' in a URL is not followed; write the path without it".into());
    }
    let parent = Url { path: [b"/".as_slice(), &above.join(&b'/')].concat(), ..url.clone() };
    Ok(Placed { parent: Parent::Nfs(Box::new(parent)), name: Some(name), fs_root: false, slash })
}

/// A path of a list as the way below the directory that it is relative to, and whether it must be a directory, as a slash behind it
/// says; below `/` it may begin with a slash.
pub fn way(path: &[u8], base_is_root: bool) -> Result<(Vec<Name>, bool), String> {
    if path.starts_with(b"/") && !base_is_root {
        return Err("an absolute path; the list's paths are relative to the directory given, or else to the working \
                    directory: give / to use it"
            .into());
    }
    let parts = path.split(|&b| b == b'/').filter(|part| !part.is_empty() && *part != b".");
    let way: Vec<Name> = parts
        .map(|part| if part == b".." { Err("'..' is not followed".to_string()) } else { name(part) })
        .collect::<Result<_, _>>()?;
    let must_be_dir = path.ends_with(b"/") || path.ends_with(b"/.");
    if way.is_empty() { Err("it is the directory that the list is relative to".into()) } else { Ok((way, must_be_dir)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Rule = Rule { contents: false, same_device: false, force: false };

    fn refusal(operand: &str) -> String {
        local(OsStr::new(operand), PLAIN).unwrap_err()
    }

    #[test]
    fn what_rm_refuses_is_refused() {
        for operand in ["/", "//", "/proc/self/root/"] {
            // A symbolic link with a slash behind is refused as such.
            assert!([IS_ROOT, "Not a directory"].contains(&refusal(operand).as_str()), "{operand}");
        }
        assert_eq!(refusal("/"), IS_ROOT);
        for operand in [".", "..", "./", "a/.", "a/..", "../..", "/."] {
            assert_eq!(refusal(operand), IS_DOT, "{operand}");
        }
        assert_eq!(refusal(""), "the empty name is no file's");
        assert_eq!(refusal(&"x".repeat(1021)), "name is longer than 1020 bytes");
    }

    #[test]
    fn mount_points_are_refused_but_for_their_contents() {
        // /proc is a file system of its own on every Linux.
        assert_eq!(refusal("/proc"), IS_MOUNT);
        let rule = Rule { contents: true, same_device: false, force: false };
        assert!(local(OsStr::new("/proc"), rule).unwrap().fs_root);
        let rule = Rule { contents: true, same_device: true, force: false };
        assert_eq!(local(OsStr::new("/proc"), rule).unwrap_err(), IS_OTHER_DEVICE);
    }

    /// A bind mount has the device of what is around it, so that nothing but the kernel's word tells it.
    #[test]
    fn what_is_mounted_is_known_on_one_device_too() {
        let dir = tempfile::tempdir().unwrap();
        assert!(is_mounted(Path::new("/proc")));
        assert!(!is_mounted(dir.path()) && !is_mounted(&dir.path().join("absent")));
        let table = Table::parse(
            b"30 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 30 8:1 /home /a/b/mnt rw - ext4 /dev/sda1 rw\n\
              32 31 8:1 /x /a/b/mnt/in rw - ext4 /dev/sda1 rw\n33 30 8:1 / /a/bc rw - ext4 /dev/sda1 rw\n",
        );
        let points = Points::below(Path::new("/a/b"), &table);
        let is = |path: &str| points.check(&way(path.as_bytes(), false).unwrap().0).is_err();
        assert!(is("mnt") && is("./mnt/") && is("mnt//in"));
        assert!(!is("mnt/f") && !is("in") && !is("bc") && !is("a"));
        assert!(Points::below(Path::new("/"), &table).check(&way(b"a/bc", false).unwrap().0).is_err());
    }

    #[test]
    fn an_operand_is_a_name_in_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        std::os::unix::fs::symlink("d", dir.path().join("link")).unwrap();
        let at = |name: &str| local(dir.path().join(name).as_os_str(), PLAIN);
        let placed = |name: &str, slash| Placed {
            parent: Parent::Dir(dir.path().into()),
            name: Some(Name::new(name.as_bytes()).unwrap()),
            fs_root: false,
            slash,
        };
        assert_eq!(at("d").unwrap(), placed("d", false));
        assert_eq!(at("d//").unwrap(), placed("d", true));
        assert_eq!(at("link").unwrap(), placed("link", false));
        assert_eq!(at("absent").unwrap(), placed("absent", false));
        assert_eq!(at("link/").unwrap_err(), "Not a directory");
        assert_eq!(local(OsStr::new("x"), PLAIN).unwrap().parent, Parent::Dir(".".into()));
    }

    #[test]
    fn a_url_is_split_at_its_last_name() {
        let at = |text: &str| nfs(&Url::parse(text).unwrap());
        let parts = |text: &str| {
            let placed = at(text).unwrap();
            let Parent::Nfs(url) = placed.parent else { panic!("{text}") };
            (String::from_utf8(url.path).unwrap(), placed.name.map(|name| name.to_string()), placed.slash)
        };
        assert_eq!(parts("nfs://h/e/a/b"), ("/e/a".into(), Some("b".into()), false));
        assert_eq!(parts("nfs://h/e//b/"), ("/e".into(), Some("b".into()), true));
        assert_eq!(parts("nfs://h/e"), ("/".into(), Some("e".into()), false));
        assert_eq!(parts("nfs://h/"), ("/".into(), None, true));
        assert!(at("nfs://h/e/.").is_err() && at("nfs://h/e/..").is_err() && at("nfs://h/../e").is_err());
    }

    #[test]
    fn a_listed_path_is_a_way_below_its_directory() {
        let of = |path: &str, root| way(path.as_bytes(), root).map(|(way, must_be_dir)| (way.len(), must_be_dir));
        assert_eq!((of("./a//b/", false), of("/a/b", true)), (Ok((2, true)), Ok((2, false))));
        assert_eq!((of("a/.", false), of("./a.", false)), (Ok((1, true)), Ok((1, false))));
        for path in ["/a", "a/../b", "..", ".", "./"] {
            assert!(of(path, false).is_err(), "{path}");
        }
    }
}
