//! Further names of files that are at the target already.

use crate::base::{Proc, Status};
use crate::crew::Due;
use crate::storage::{Attr, AttrChange, Call, Kind, Node, Route};

use super::Deed;
use super::batch::{self, Known, end, give_up};
use super::ctx::{Ctx, On, Trouble, add};
use super::decide::{self, Verdict};
use super::delete;
use super::make;
use super::task::{At, Object, Task};

/// Makes the object another name of `there`, which has file id `known_id` if that is known.
pub(super) fn run(
    ctx: &Ctx<'_>,
    route: Route,
    known: Known,
    (there, known_id): (Node, Option<u64>),
    due: &mut Vec<Due<Task>>,
) {
    if let At::Present(_, is) = &known.object.at {
        match is_same(ctx, route, (&there, known_id), is) {
            Ok(true) => {
                add(&ctx.counts.unchanged, 1);
                return end(ctx, known.object, None, due);
            }
            Ok(_) if decide::is_kept(ctx.by(), &known.attr, is) => {
                add(&ctx.counts.kept, 1);
                return end(ctx, known.object, None, due);
            }
            Ok(_) => {
                if let Some(taken) = ctx.taken(&known.object.dir, Some(&known.object.name), is) {
                    if decide::verdict(ctx.by(), &known.attr, is) == Verdict::Equal {
                        // As where it is the first of its names that is met.
                        add(&ctx.counts.unchanged, 1);
                        return end(ctx, known.object, None, due);
                    }
                    return give_up(ctx, known.object, taken, due);
                }
                if is.kind == Kind::Dir {
                    ctx.links.put_back(&known.attr, (there, known_id));
                    return delete::replace(ctx, known, due);
                }
            }
            Err(status) => {
                return give_up(ctx, known.object, Trouble::Call(On::Target, Proc::GetAttr, status), due);
            }
        }
    }
    match link(ctx, route, &known, (&there, known_id)) {
        Ok(()) => {
            known.object.dir.gain();
            add(&ctx.counts.hard_links, 1);
            ctx.tell(Deed::Linked, &known.object.dir, Some(&known.object.name));
            end(ctx, known.object, None, due);
        }
        // The target's limit is lower than the source's, or it makes no links, here or for this caller: the name begins another file.
        Err((Proc::Link, status @ (Status::MLink | Status::Perm | Status::XDev | Status::NotSupp))) => {
            let (key, why) = match status {
                Status::MLink => ("links", "some files have more names than the destination allows".to_owned()),
                _ => ("no links", format!("the destination does not make some hard links ({}: {status})", Proc::Link)),
            };
            ctx.warn_once(key, || format!("{why}; they were copied more than once"));
            let routes = batch::Routes { source: ctx.source.route(), target: route };
            match is_copy(ctx, &known) {
                true => batch::set_attributes(ctx, routes, vec![(known, AttrChange::default())], due),
                false => make::run(ctx, routes, vec![make::Item::new(known)], due),
            }
        }
        // Another program has put other files in the place of all its names: this one is the first again.
        Err((Proc::Link, status @ (Status::Stale | Status::NoEnt))) if is_gone(ctx, route, (&there, known_id)) => {
            ctx.links.forget(&known.attr, &there);
            batch::retry(ctx, known.object, Trouble::Call(On::Target, Proc::Link, status), due);
        }
        Err((_, Status::Exist)) => {
            let trouble = Trouble::Call(On::Target, Proc::Link, Status::Exist);
            ctx.links.put_back(&known.attr, (there, known_id));
            let appeared = matches!(known.object.at, At::Absent);
            batch::retry(ctx, Box::new(Object { appeared, ..*known.object }), trouble, due);
        }
        Err(error) => give_up(ctx, known.object, Trouble::on_target(error), due),
    }
}

/// Is the file gone that was to get another name?
fn is_gone(ctx: &Ctx<'_>, route: Route, (there, fileid): (&Node, Option<u64>)) -> bool {
    match ctx.target.one(route, Call::get_attr(there)).attr() {
        Ok(is) => fileid.is_some_and(|fileid| fileid != is.fileid),
        Err(status) => matches!(status, Status::Stale | Status::NoEnt),
    }
}

/// Is what is there the same file? Two file systems have files of the same ids, so those of one name must be of one file system (a list may
/// name one twice), and where the target has several, all. Of several kernel mounts nothing is known of that: one file system has an id for each.
fn is_same(ctx: &Ctx<'_>, route: Route, there: (&Node, Option<u64>), is: &Attr) -> Result<bool, Status> {
    let (node, fileid) = there;
    let several_mounts = ctx.target.volume.mounts().len() > 1;
    let is_sure = several_mounts || is.nlink > 1 && !ctx.links.has_several_fs();
    match fileid {
        Some(fileid) if fileid != is.fileid || is_sure => Ok(fileid == is.fileid),
        _ => {
            let attr = ctx.target.one(route, Call::get_attr(node)).attr()?;
            Ok(attr.fileid == is.fileid && (is_sure || attr.fsid == is.fsid))
        }
    }
}

/// Is what has the name there a copy already, be it a file of its own? An earlier run may have left that, for the same reason.
fn is_copy(ctx: &Ctx<'_>, known: &Known) -> bool {
    let (object, attr) = (&known.object, &known.attr);
    let At::Present(_, is) = &object.at else { return false };
    let is_equal = || decide::verdict(ctx.by(), attr, is) == Verdict::Equal && ctx.meets(attr, is);
    object.tries == 0 && !object.differs && is_equal()
}

fn link(
    ctx: &Ctx<'_>,
    route: Route,
    known: &Known,
    (there, known_id): (&Node, Option<u64>),
) -> Result<(), (Proc, Status)> {
    let (dir, name) = (known.object.dir.clone(), known.object.name.clone());
    let parent = &dir.made().node;
    let is_new = matches!(known.object.at, At::Absent);
    let route = if is_new { route } else { ctx.target.volume.route_replacing(route) };
    let one = |call: Call<'_>| {
        let call = ctx.target.one(route, call);
        call.status().map_err(|status| (call.proc(), status))
    };
    if is_new {
        return one(Call::link(there, parent, &name));
    }
    // What is there goes when it is known that the target makes this link: it may be a good copy.
    let aside = ctx.mark.aside(&name);
    match one(Call::link(there, parent, &aside)) {
        Err((_, Status::Exist)) => {
            one(Call::remove(parent, &aside))?;
            one(Call::link(there, parent, &aside))?;
        }
        done => done?,
    }
    // The failure that is told is the cause. Where another run has made the name meanwhile, both are names of one file: rename(2) does
    // nothing then, and says that it did.
    let renamed = one(Call::rename_of(known_id, (parent, &aside), (parent, &name)));
    match (renamed, one(Call::remove(parent, &aside))) {
        (Ok(()), Err(error @ (_, status))) if status != Status::NoEnt => Err(error),
        (renamed, _) => renamed,
    }
}
