//! Further names of files that are at the target already.

use crate::base::{Name, Proc, Status};
use crate::crew::Due;
use crate::storage::{Call, Kind, Node, Route};

use super::batch::{self, Known, end, give_up};
use super::ctx::{Ctx, On, Trouble, add};
use super::delete;
use super::make;
use super::task::{At, Task};
use super::{Deed, decide};

/// Makes the object another name of `there`, which has file id `known_id` if that is known.
pub(super) fn run(
    ctx: &Ctx<'_>,
    route: Route,
    known: Known,
    (there, known_id): (Node, Option<u64>),
    due: &mut Vec<Due<Task>>,
) {
    let mut alike = false;
    if let At::Present(_, is) = &known.object.at {
        let fileid = match known_id {
            Some(fileid) => Ok(fileid),
            None => ctx.target.one(route, Call::get_attr(&there)).attr().map(|attr| attr.fileid),
        };
        alike = fileid == Ok(is.fileid);
        match fileid {
            // A file with one name has no other; its file id is that of a file of another file system.
            Ok(fileid) if fileid == is.fileid && is.nlink > 1 => {
                add(&ctx.counts.unchanged, 1);
                return end(ctx, known.object, None, due);
            }
            Ok(_) if decide::is_kept(ctx.options, &known.attr, is) => {
                add(&ctx.counts.kept, 1);
                return end(ctx, known.object, None, due);
            }
            Ok(_) if is.kind == Kind::Dir => {
                ctx.links.put_back(&known.attr, (there, known_id));
                return delete::replace(ctx, known, due);
            }
            Ok(_) => {}
            Err(status) => {
                return give_up(ctx, known.object, Trouble::Call(On::Target, Proc::GetAttr, status), due);
            }
        }
    }
    match link(ctx, route, &known, &there, alike) {
        Ok(()) => {
            known.object.dir.touch();
            add(&ctx.counts.hard_links, 1);
            ctx.tell(Deed::Linked, &known.object.dir, Some(&known.object.name));
            end(ctx, known.object, None, due);
        }
        // The target's limit is lower than the source's: this name begins another file.
        Err((_, Status::MLink)) => {
            ctx.warn_once("links", || {
                "some files have more names than the destination allows; they were copied more than once".into()
            });
            let routes = batch::Routes { source: ctx.source.route(), target: route };
            make::run(ctx, routes, vec![make::Item::new(known)], due);
        }
        Err((_, Status::Exist)) => {
            let trouble = Trouble::Call(On::Target, Proc::Link, Status::Exist);
            ctx.links.put_back(&known.attr, (there, known_id));
            batch::retry(ctx, known.object, trouble, due);
        }
        Err(error) => give_up(ctx, known.object, Trouble::on_target(error), due),
    }
}

/// `alike`: what is there may be the same file, for all its file id says.
fn link(ctx: &Ctx<'_>, route: Route, known: &Known, there: &Node, alike: bool) -> Result<(), (Proc, Status)> {
    let (parent, name) = (&known.object.dir.made().node, &known.object.name);
    let one = |call: Call<'_>| {
        let call = ctx.target.one(route, call);
        call.status().map_err(|status| (call.proc(), status))
    };
    if matches!(known.object.at, At::Absent) {
        if ctx.options.atomic && !known.object.dir.is_fresh() {
            // What a killed run left where this name was the first of the file; mostly there is nothing.
            ctx.target.one(route, Call::remove(parent, &make::aside(name)));
        }
        return one(Call::link(there, parent, name));
    }
    // What is there goes when the link is made: not every target makes links, and a file has so many names at most.
    let aside: Name = make::aside(name);
    match one(Call::link(there, parent, &aside)) {
        Err((_, Status::Exist)) => {
            one(Call::remove(parent, &aside))?;
            one(Call::link(there, parent, &aside))?;
        }
        done => done?,
    }
    let renamed = one(Call::rename(parent, &aside, parent, name));
    if renamed.is_err() || alike {
        // A failure that is told is the cause; a name left over is used up by the next run. RENAME to another name of the same file
        // does nothing.
        ctx.target.one(route, Call::remove(parent, &aside));
    }
    renamed
}
