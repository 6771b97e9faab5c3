//! Which extended attributes and ACLs of a member its object gets.
//!
//! As GNU tar: `user.*` unless patterns say otherwise; with ACLs wanted, an object whose member has none gets none, also
//! not what it would inherit from its directory.

use crate::archive::{Member, MemberKind};
use crate::base::name::Shown;

use super::super::acl;
use super::owners::Ids;
use super::{Options, Owner};

/// SELinux's context.
const SELINUX: &[u8] = b"security.selinux";

/// What an object gets beside mode, owner and time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extra {
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Attribute and value; none: it is taken away.
    pub acls: Vec<(&'static [u8], Option<Vec<u8>>)>,
    /// Why the member's ACL cannot be set.
    pub bad: Option<String>,
}

impl Extra {
    /// What the member asks for, by the options; none where nothing is to be done. Takes the member's attributes.
    pub fn of(member: &mut Member, options: &Options, ids: &Ids<'_>) -> Option<Extra> {
        let mut extra = Extra::default();
        if member.kind == MemberKind::HardLink {
            return None;
        }
        let mut acls = [member.acl_access.take().map(Acl::Text), member.acl_default.take().map(Acl::Text)];
        for (name, value) in std::mem::take(&mut member.xattrs) {
            match &name[..] {
                // The text goes first: it has names. Without `--acls` they are attributes, which patterns may include.
                acl::ACCESS if options.acls => acls[0] = acls[0].take().or(Some(Acl::Bytes(value))),
                acl::DEFAULT if options.acls => acls[1] = acls[1].take().or(Some(Acl::Bytes(value))),
                SELINUX if options.selinux => extra.xattrs.push((name, value)),
                _ if options.xattrs && options.xattr_masks.sets(&name) => extra.xattrs.push((name, value)),
                _ => {}
            }
        }
        if options.acls && member.kind != MemberKind::Symlink {
            let kinds =
                [acl::ACCESS, acl::DEFAULT].into_iter().take(if member.kind == MemberKind::Dir { 2 } else { 1 });
            for (kind, acl) in kinds.zip(acls) {
                match acl.map(|acl| acl.bytes(options, ids)).transpose() {
                    Ok(value) => extra.acls.push((kind, value)),
                    Err(reason) => extra.bad = Some(reason),
                }
            }
        }
        let is_due = !extra.xattrs.is_empty() || !extra.acls.is_empty() || extra.bad.is_some();
        is_due.then_some(extra)
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> u64 {
        let xattrs = self.xattrs.iter().map(|(name, value)| name.len() + value.len() + 48);
        let acls = self.acls.iter().map(|(_, value)| value.as_ref().map_or(0, Vec::len) + 48);
        xattrs.chain(acls).sum::<usize>() as u64
    }

    /// The bits of a mode that an object with these is not to have before its ACL is set: with one they are its mask, and whom the ACL
    /// shuts out would be let in (GNU tar and cp make it for its owner alone).
    pub fn shuts_out(&self) -> u32 {
        let has_acl = self.acls.iter().any(|(name, value)| *name == acl::ACCESS && value.is_some());
        if has_acl { 0o070 } else { 0 }
    }

    /// True if something of the archive is in it.
    pub fn sets(&self) -> bool {
        !self.xattrs.is_empty() || self.acls.iter().any(|(_, value)| value.is_some())
    }
}

enum Acl {
    Text(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Acl {
    fn bytes(self, options: &Options, ids: &Ids<'_>) -> Result<Vec<u8>, String> {
        let text = match self {
            Acl::Bytes(bytes) => return Ok(bytes),
            Acl::Text(text) => text,
        };
        let numeric = options.owner == Owner::FromArchive { numeric: true };
        let by_number = if numeric { acl::from_text(&text, None).ok() } else { None };
        // Names are all that GNU tar stores of users it knows.
        let bytes = by_number.map_or_else(|| acl::from_text(&text, Some(ids.owners())), Ok);
        bytes.map_err(|reason| {
            let text = Shown(&text[..text.len().min(200)]).to_string();
            format!("extracted, but its ACL cannot be set: {reason} (ACL '{text}')")
        })
    }
}
