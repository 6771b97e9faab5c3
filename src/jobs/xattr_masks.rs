//! Which extended attributes archives get and give.

use super::acl;
use super::select::{self, BadPattern, Set};

/// Which extended attributes are taken, by patterns of their names.
#[derive(Clone, Debug, Default)]
pub struct XattrMasks {
    include: Set,
    exclude: Set,
}

impl XattrMasks {
    /// `--xattrs-include` and `--xattrs-exclude`.
    pub fn new(include: &[String], exclude: &[String]) -> Result<XattrMasks, BadPattern> {
        Ok(XattrMasks { include: select::whole(include)?, exclude: select::whole(exclude)? })
    }

    /// True for an attribute that an object of an archive gets: without include patterns those of users alone.
    pub fn sets(&self, name: &[u8]) -> bool {
        self.takes(name, name.starts_with(b"user."))
    }

    /// True for an attribute that an archive gets: without include patterns all but what is the file system's own, to which ACLs do
    /// not belong. GNU tar has that too, and the file system of the other side no use for it.
    pub fn stores(&self, name: &[u8]) -> bool {
        self.takes(name, !name.starts_with(b"system.") || [acl::ACCESS, acl::DEFAULT].contains(&name))
    }

    /// An include pattern matches it, or `usual` where there are none, and no exclude pattern.
    fn takes(&self, name: &[u8], usual: bool) -> bool {
        let included = if self.include.is_empty() { usual } else { self.include.is_match(name) };
        included && !self.exclude.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_gnu_tars() {
        let masks = |include: &[&str], exclude: &[&str]| {
            let text = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
            XattrMasks::new(&text(include), &text(exclude)).unwrap()
        };
        let default = masks(&[], &[]);
        assert!(default.sets(b"user.x") && default.stores(b"security.capability") && default.stores(acl::DEFAULT));
        assert!(!default.sets(b"security.capability") && !default.stores(b"system.nfs4_acl"));
        let all = masks(&["*"], &["user.b*"]);
        assert!(all.sets(b"security.capability") && all.sets(b"user.a/c") && all.sets(b"user.\xff"));
        assert!(!all.sets(b"user.b") && !all.stores(b"user.bc") && all.stores(b"system.nfs4_acl"));
        let one = masks(&["user.a?"], &[]);
        assert!(one.sets(b"user.ab") && !one.sets(b"user.a") && !one.sets(b"xuser.ab") && !one.sets(b"user.ab/c"));
        assert!(XattrMasks::new(&["[[=a=]]".to_string()], &[]).is_err());
    }
}
