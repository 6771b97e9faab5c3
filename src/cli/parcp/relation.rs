//! What must not be copied: a directory onto or into itself, or out of what `--delete` is about to clear.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::name::SNAPSHOT;
use crate::base::name::Shown;
use crate::cli::console::reason;
use crate::cli::location::{is_absent, real};
use crate::jobs::copy::Options;
use crate::mounts::nfs::Url;

/// How a source and a destination lie to each other; the paths are those of the inner below the outer.
#[derive(Debug, PartialEq, Eq)]
pub enum Relation {
    /// Neither is in the other, as far as can be told.
    Apart,
    /// They are one.
    Same,
    /// The destination is in the source.
    Inside(Vec<u8>),
    /// The source is in the destination.
    Around(Vec<u8>),
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// Of a directory and a path that need not exist, on this host. `is_one` is asked of an object of the source's side and one of
/// the destination's with one number on two devices: two mounts may show one file system.
pub fn local(source: &Path, destination: &Path, is_one: &dyn Fn(&Path, &Path) -> bool) -> Relation {
    let (from, to) = match (real(source), canonical(destination)) {
        (Ok(from), Ok(to)) => (from, to),
        // What is not there is told when it is looked for.
        (Err(error), _) | (_, Err(error)) if is_absent(&error) => return Relation::Apart,
        (Err(error), _) | (_, Err(error)) => return Relation::Unknown(reason(&error)),
    };
    let id = |path: &Path| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let are_one = |source: &Path, destination: &Path| match (id(source), id(destination)) {
        (Some(ours), Some(theirs)) => ours == theirs || (ours.1 == theirs.1 && is_one(source, destination)),
        // By a path that cannot be searched.
        _ => source == destination,
    };
    if are_one(&from, &to) {
        return Relation::Same;
    }
    let below =
        |inner: &Path, outer: &Path| inner.strip_prefix(outer).ok().map(|path| path.as_os_str().as_bytes().to_vec());
    // By ids, for a directory may be mounted at two places.
    let around = to.ancestors().skip(1).find(|above| are_one(&from, above));
    if let Some(path) = around.and_then(|above| below(&to, above)) {
        return Relation::Inside(path);
    }
    let around = from.ancestors().skip(1).find(|above| are_one(above, &to));
    around.and_then(|above| below(&from, above)).map_or(Relation::Apart, Relation::Around)
}

/// Of a symbolic link that is copied as one onto another, if they are that: what it leads to is nothing to it.
pub fn link(source: &Path, destination: &Path, is_one: &dyn Fn(&Path, &Path) -> bool) -> Option<Relation> {
    let meta = |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_symlink);
    let (from, to) = (meta(source)?, meta(destination)?);
    let are_one = from.ino() == to.ino() && (from.dev() == to.dev() || is_one(source, destination));
    Some(if are_one { Relation::Same } else { Relation::Apart })
}

/// `real`; the last name need not exist.
fn canonical(path: &Path) -> io::Result<PathBuf> {
    real(path).or_else(|error| {
        let Some(name) = path.file_name().filter(|_| is_absent(&error)) else { return Err(error) };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(real(parent)?.join(name))
    })
}

/// Of two URLs: of one server when they share a host, by whatever name.
pub fn nfs(source: &Url, destination: &Url) -> Relation {
    if !source.shares_host(destination) {
        return Relation::Apart;
    }
    let parts = |url: &Url| -> Vec<Vec<u8>> {
        let parts = url.path.split(|&b| b == b'/').filter(|part| !part.is_empty() && *part != b".");
        parts.map(<[u8]>::to_vec).collect()
    };
    let (from, to) = (parts(source), parts(destination));
    if from == to {
        Relation::Same
    } else if let Some(path) = to.strip_prefix(&from[..]) {
        Relation::Inside(path.join(&b'/'))
    } else {
        from.strip_prefix(&to[..]).map_or(Relation::Apart, |path| Relation::Around(path.join(&b'/')))
    }
}

/// Why this is refused, if it is. `snapshots`: a `.snapshot` in the destination's root is never touched.
pub fn refusal(
    relation: &Relation,
    options: &Options,
    snapshots: bool,
    source: &[u8],
    destination: &[u8],
) -> Option<String> {
    let (source, destination) = (Shown(source), Shown(destination));
    let excluded = |path: &[u8]| !options.rules.allow_way(path);
    match relation {
        Relation::Apart => None,
        Relation::Same => Some(format!("'{source}' and '{destination}' are the same file")),
        Relation::Inside(path) if excluded(path) => None,
        Relation::Inside(_) => Some(format!("cannot copy a directory, '{source}', into itself, '{destination}'")),
        Relation::Unknown(why) => options.delete.map(|_| {
            format!(
                "it cannot be told whether the source '{source}' is in the destination '{destination}' ({why}), where --delete \
                 would remove it; run this from a directory that is reached by its path"
            )
        }),
        Relation::Around(path) => {
            let delete = options.delete?;
            let in_snapshots = snapshots && path.split(|b| *b == b'/').next() == Some(SNAPSHOT);
            let is_safe = in_snapshots || (!delete.excluded && excluded(path));
            let refusal = || {
                format!(
                    "--delete would remove the source '{source}', which is in the destination '{destination}'; exclude \
                     it, or move it out"
                )
            };
            (!is_safe).then(refusal)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::copy::Delete;
    use crate::jobs::select::Rules;

    #[test]
    fn directories_are_told_apart_through_links_and_before_they_exist() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::create_dir(at("c")).unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let of = |from: &str, to: &str| local(&at(from), &at(to), &|_, _| panic!("one device"));
        assert_eq!(of("a", "c"), Relation::Apart);
        assert_eq!(of("a", "c/new"), Relation::Apart);
        assert_eq!((of("a", "link"), of("a/.", "a/b/..")), (Relation::Same, Relation::Same));
        assert_eq!(
            (of("a", "link/b"), of("a", "a/new")),
            (Relation::Inside(b"b".into()), Relation::Inside(b"new".into()))
        );
        assert_eq!(of("link/b", "a"), Relation::Around(b"b".into()));
        assert_eq!(of("a", "ab"), Relation::Apart);
        assert!(matches!(of("a", "/"), Relation::Around(_)));
    }

    #[test]
    fn what_cannot_be_told_is_refused_only_where_something_would_be_deleted() {
        let unknown = Relation::Unknown("Permission denied".into());
        let deleting = Options { delete: Some(Delete::default()), ..Options::default() };
        assert_eq!(refusal(&unknown, &Options::default(), false, b"s", b"d"), None);
        assert!(refusal(&unknown, &deleting, false, b"s", b"d").unwrap().contains("(Permission denied)"));
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(real(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn links_are_compared_and_not_what_they_lead_to() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "").unwrap();
        for (to, link) in [("b", "a"), ("b", "b"), ("file", "c")] {
            std::os::unix::fs::symlink(at(to), at(link)).unwrap();
        }
        fs::hard_link(at("a"), at("d")).unwrap();
        let of = |from: &str, to: &str| link(&at(from), &at(to), &|_, _| panic!("one device"));
        assert_eq!((of("a", "b"), of("b", "c")), (Some(Relation::Apart), Some(Relation::Apart)));
        assert_eq!((of("a", "a"), of("a", "d")), (Some(Relation::Same), Some(Relation::Same)));
        assert_eq!((of("c", "file"), of("file", "c"), of("c", "none")), (None, None, None));
    }

    #[test]
    fn urls_are_compared_by_host_and_path() {
        let of = |from: &str, to: &str| nfs(&Url::parse(from).unwrap(), &Url::parse(to).unwrap());
        assert_eq!(of("nfs://10.0.0.1/a", "nfs://10.0.0.2/a"), Relation::Apart);
        assert_eq!(of("nfs://10.0.0.1:2049/a", "nfs://10.0.0.1:2050/a"), Relation::Apart);
        assert_eq!(of("nfs://10.0.0.1:2049/a", "nfs://10.0.0.1/a"), Relation::Same);
        assert_eq!(of("nfs://h/a//b", "nfs://i,h/a/./b/"), Relation::Same);
        assert_eq!(of("nfs://h/a", "nfs://h/a/b/c"), Relation::Inside(b"b/c".into()));
        assert_eq!(of("nfs://h/a/.snapshot/x", "nfs://h/a"), Relation::Around(b".snapshot/x".into()));
        assert_eq!(of("nfs://h/a", "nfs://h/ab"), Relation::Apart);
    }

    #[test]
    fn what_would_eat_itself_is_refused_unless_it_is_excluded() {
        let refused =
            |relation, options: &Options, snapshots| refusal(&relation, options, snapshots, b"s", b"d").is_some();
        let plain = Options::default();
        let rules = Rules::new(&[(false, "backup".into())]).unwrap();
        let excluding = Options { rules: rules.clone(), ..Options::default() };
        assert!(refused(Relation::Same, &excluding, true));
        assert!(refused(Relation::Inside(b"x/backup/y".into()), &plain, false));
        assert!(!refused(Relation::Inside(b"x/backup/y".into()), &excluding, false));
        let around = |path: &[u8]| Relation::Around(path.into());
        assert!(!refused(around(b"restore"), &plain, false));
        let deleting = Options { delete: Some(Delete::default()), rules, ..Options::default() };
        assert!(refused(around(b"restore"), &deleting, true));
        assert!(!refused(around(b"backup/restore"), &deleting, false));
        assert!(
            !refused(around(b".snapshot/daily"), &deleting, true) && refused(around(b".snapshot/x"), &deleting, false)
        );
        let all = Options { delete: Some(Delete { excluded: true, ..Delete::default() }), ..deleting };
        assert!(refused(around(b"backup/restore"), &all, false));
    }
}
