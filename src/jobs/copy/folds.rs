//! Destinations that take two spellings of a name for one, as those that do not tell upper from lower case. Of two of the source's objects
//! whose names are one there, one would be lost, as cp and rsync lose it; and what has its name in another spelling there is no name that the
//! destination alone has, to be deleted.
//!
//! Nothing says beforehand that a file system is such a one (PATHCONF does, but neither a kernel's mount nor this host's file systems pass it
//! on). So it is found out where it begins to matter: when a name that was not listed is there all the same, by one LOOKUP in a run. By names
//! alone: exFAT by FUSE gives each spelling a file id of its own.

use crate::base::name::Shown;
use crate::base::{Name, Status};
use crate::storage::{Attr, Call, Cookie, Entry, Node, Out, Route, Want};

use super::ctx::{Ctx, On, Trouble};
use super::dir::Dir;

/// Why an object is not copied that has found its name taken, though the directory was listed without it: by another one of the source. None
/// where somebody has made it meanwhile, or where the source has it in this spelling alone by now.
pub(super) fn is_taken(ctx: &Ctx<'_>, route: Route, dir: &Dir, name: &Name, is: &Attr) -> Option<Trouble> {
    let parent = &dir.made().node;
    if !folds(ctx, route, parent, name) {
        return None;
    }
    let (mut is_listed, mut other) = (false, None);
    let lower = lower(name);
    let listed = list(ctx, route, parent, |entry: &Entry| {
        is_listed |= entry.name == *name;
        if entry.fileid == is.fileid || lower.is_some() && self::lower(&entry.name) == lower {
            other = Some(entry.name.clone());
        }
        !is_listed
    });
    let other = other.filter(|_| !is_listed && listed.is_ok());
    if let Some(other) = &other {
        dir.respell(other.clone());
        let asked = ctx.source.one(ctx.source.route(), Call::lookup(&dir.source, other));
        if asked.status() == Err(Status::NoEnt) {
            return None;
        }
    }
    let other = other.map_or(String::new(), |other| format!(" ('{}')", Shown(other.as_bytes())));
    let text = "the destination has another of the source's objects by this name";
    let rest = "it takes both spellings for one, as where upper and lower case are the same; not copied";
    Some(Trouble::Refused(On::Target, format!("{text}{other}: {rest}")))
}

/// Does the target take two spellings for one name? By one that is there: it is there in its other case, too, and not both are listed. Asked once
/// in a run.
pub(super) fn folds(ctx: &Ctx<'_>, route: Route, parent: &Node, name: &Name) -> bool {
    let Some(other) = in_other_case(name) else { return ctx.folds.get().is_some_and(|folds| *folds) };
    let ask = || {
        if ctx.target.look_up(route, parent, &other).is_err() {
            return false;
        }
        let mut listed = 0;
        let end = list(ctx, route, parent, |entry| {
            listed += u32::from(entry.name == *name || entry.name == other);
            listed < 2
        });
        end.is_ok() && listed < 2
    };
    *ctx.folds.get_or_init(ask)
}

fn lower(name: &Name) -> Option<String> {
    std::str::from_utf8(name.as_bytes()).ok().map(str::to_lowercase)
}

/// The name with each letter in its other case; none where it has no letters.
fn in_other_case(name: &Name) -> Option<Name> {
    let text = std::str::from_utf8(name.as_bytes()).ok()?;
    let turned = text.chars().flat_map(|c| {
        let (upper, lower) = (c.is_lowercase().then(|| c.to_uppercase()), c.is_uppercase().then(|| c.to_lowercase()));
        let same = (upper.is_none() && lower.is_none()).then_some(c);
        upper.into_iter().flatten().chain(lower.into_iter().flatten()).chain(same)
    });
    let turned: String = turned.collect();
    (turned != text).then(|| Name::new(turned.as_bytes()).ok()).flatten()
}

/// Lists a directory of the target for as long as `goes_on` says so.
fn list(ctx: &Ctx<'_>, route: Route, parent: &Node, mut goes_on: impl FnMut(&Entry) -> bool) -> Out<()> {
    let mut from = Cookie::default();
    loop {
        let call = Call::read_dir(parent, from, Want::Names, ctx.page_bytes());
        let page = ctx.target.one(route, call).take_page()?;
        if !page.entries.iter().all(&mut goes_on) || page.end || page.is_stuck(from) {
            return Ok(());
        }
        if ctx.is_stopped() {
            return Err(Status::Cancelled);
        }
        from = page.next;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_another_case() {
        let other = |text: &[u8]| in_other_case(&Name::new(text).unwrap()).map(|name| name.to_string());
        for (name, turned) in [("Makefile", "mAKEFILE"), (".parfs.0a", ".PARFS.0A"), ("\u{e9}t\u{e9}", "\u{c9}T\u{c9}")]
        {
            assert_eq!(other(name.as_bytes()).as_deref(), Some(turned));
        }
        assert_eq!(other(b"123.-_"), None);
        assert_eq!(other(b"a\xff"), None);
    }
}
