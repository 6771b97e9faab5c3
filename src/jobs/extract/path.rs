//! A member's path as names below the destination. What would leave it cannot get past here.

use std::rc::Rc;

use crate::base::Name;

/// The longest path, in bytes; 16 times what Linux takes in one piece.
pub(in crate::jobs) const PATH_BYTES_MAX: usize = 64 << 10;

/// The most components of a path.
pub(in crate::jobs) const DEPTH_MAX: usize = 4096;

/// Where a member goes.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::jobs) enum Place {
    /// Below the destination; never empty.
    Below(Vec<Name>),
    /// The destination itself: `./`.
    Root,
    /// Nowhere: all its components were stripped.
    Stripped,
}

/// Splits `path`, without its first `strip` components (`.` counts as one, as in GNU tar); the error says what is wrong
/// with it.
pub(in crate::jobs) fn place(path: &[u8], strip: usize) -> Result<Place, String> {
    if path.is_empty() {
        return Err("empty name".into());
    }
    if path.starts_with(b"/") {
        return Err("absolute name, would be outside the destination".into());
    }
    if path.len() > PATH_BYTES_MAX {
        return Err(format!("path is longer than {PATH_BYTES_MAX} bytes"));
    }
    let mut names = Vec::new();
    let mut left = 0;
    for (i, part) in path.split(|b| *b == b'/').filter(|p| !p.is_empty()).enumerate() {
        let stripped = i < strip;
        left += usize::from(!stripped);
        if part == b"." {
            continue;
        }
        let name = Name::new(part).map_err(|e| e.to_string())?;
        if !stripped {
            names.push(name);
        }
    }
    match names.len() {
        0 if left == 0 => Ok(Place::Stripped),
        0 => Ok(Place::Root),
        n if n > DEPTH_MAX => Err(format!("path has more than {DEPTH_MAX} components")),
        _ => Ok(Place::Below(names)),
    }
}

/// The directory of the last path, which most often is the next one's: its bytes up to its last slash, and the names that came of
/// them. For paths that are all placed with the same `strip`.
#[derive(Default)]
pub(super) struct Beside(Option<(Vec<u8>, Rc<[Name]>)>);

/// A path's bytes up to its last slash, and the rest.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.split_at(path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1))
}

impl Beside {
    /// Where `path` goes, if it is beside the last one: the names above, and its own. Others are for [`place`].
    pub fn find(&self, path: &[u8]) -> Option<(Rc<[Name]>, Name)> {
        let (bytes, above) = self.0.as_ref()?;
        let (dir, own) = split(path);
        let name = if dir == &bytes[..] && path.len() <= PATH_BYTES_MAX { Name::new(own).ok() } else { None };
        Some((above.clone(), name?))
    }

    /// Notes that `path` goes to its own name below the names `above`.
    pub fn note(&mut self, path: &[u8], above: &[Name]) {
        let (dir, own) = split(path);
        // The last name of `a/` and `a/.` is what is before.
        if Name::new(own).is_ok() {
            self.0 = Some((dir.to_vec(), above.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(names: &[&str]) -> Result<Place, String> {
        Ok(Place::Below(names.iter().map(|n| Name::new(n.as_bytes()).unwrap()).collect()))
    }

    #[test]
    fn what_is_beside_goes_where_it_would_alone() {
        let paths: [&[u8]; 14] = [
            b"a/b/c", b"a/b/d", b"a/b/", b"a/b/.", b"a/b/..", b"a//b/e", b"a/b/f", b"g", b"h", b"", b"/", b"/i",
            b"./j", b"./k",
        ];
        for strip in 0..3 {
            let (mut beside, mut found) = (Beside::default(), 0);
            for path in paths {
                let alone = place(path, strip);
                if let Some((above, name)) = beside.find(path) {
                    found += 1;
                    assert_eq!(alone, Ok(Place::Below([&above[..], &[name]].concat())), "{path:?}");
                } else if let Ok(Place::Below(names)) = &alone {
                    beside.note(path, &names[..names.len() - 1]);
                }
            }
            assert_eq!(found, [3, 2, 1][strip], "{strip}");
        }
        let mut beside = Beside::default();
        let long = |own: usize| [[&b"x".repeat(250)[..], b"/"].concat().repeat(261), b"y".repeat(own)].concat();
        beside.note(&long(1), &[]);
        assert!(beside.find(&long(1)).is_some());
        assert!(long(100).len() > PATH_BYTES_MAX && beside.find(&long(100)).is_none());
    }

    #[test]
    fn paths_stay_below() {
        assert_eq!(place(b"./a//b/./c/", 0), below(&["a", "b", "c"]));
        assert_eq!(place(b"./a/b", 1), below(&["a", "b"]));
        assert_eq!(place(b"a/b/c", 2), below(&["c"]));
        assert_eq!(place(b"./", 0), Ok(Place::Root));
        assert_eq!(place(b"a/b", 2), Ok(Place::Stripped));
        let (long, deep) = (vec![b'x'; 1021], b"d/".repeat(DEPTH_MAX + 1));
        for bad in [&b"/etc"[..], b"a/../b", b"..", b"", b"a\0b", &long, &deep] {
            assert!(place(bad, 0).is_err());
        }
        assert!(place(b"../a", 1).is_err());
        assert!(place(&deep[2..], 0).is_ok());
    }
}
