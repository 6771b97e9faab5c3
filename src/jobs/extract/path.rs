//! A member's path as names below the destination. What would leave it cannot get past here.

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

#[cfg(test)]
mod tests {
    use super::*;

    fn below(names: &[&str]) -> Result<Place, String> {
        Ok(Place::Below(names.iter().map(|n| Name::new(n.as_bytes()).unwrap()).collect()))
    }

    #[test]
    fn paths_stay_below() {
        assert_eq!(place(b"./a//b/./c/", 0), below(&["a", "b", "c"]));
        assert_eq!(place(b"./a/b", 1), below(&["a", "b"]));
        assert_eq!(place(b"a/b/c", 2), below(&["c"]));
        assert_eq!(place(b"./", 0), Ok(Place::Root));
        assert_eq!(place(b"a/b", 2), Ok(Place::Stripped));
        let (long, deep) = (vec![b'x'; 256], b"d/".repeat(DEPTH_MAX + 1));
        for bad in [&b"/etc"[..], b"a/../b", b"..", b"", b"a\0b", &long, &deep] {
            assert!(place(bad, 0).is_err());
        }
        assert!(place(b"../a", 1).is_err());
        assert!(place(&deep[2..], 0).is_ok());
    }
}
