//! Further names of files that are at the target already.

use crate::base::{Name, Proc, Status};
use crate::crew::Due;
use crate::storage::{Call, Kind, Node, Route};

use super::batch::{self, Known, end, give_up};
use super::ctx::{Ctx, On, Trouble, add};
use super::delete;
use super::make;
use super::task::{At, Task};
use super::{Deed, Existing};

/// Makes the object another name of `there`, which has file id `fileid` if that is known.
pub(super) fn run(
    ctx: &Ctx<'_>,
    route: Route,
    known: Known,
    (there, fileid): (Node, Option<u64>),
    due: &mut Vec<Due<Task>>,
) {
    if let At::Present(_, is) = &known.object.at {
        let fileid = match fileid {
            Some(fileid) => Ok(fileid),
            None => ctx.target.one(route, Call::get_attr(&there)).attr().map(|attr| attr.fileid),
        };
        match fileid {
            Ok(fileid) if fileid == is.fileid => {
                add(&ctx.counts.unchanged, 1);
                return end(ctx, known.object, None, due);
            }
            Ok(_) if ctx.options.existing == Existing::Keep => {
                add(&ctx.counts.kept, 1);
                return end(ctx, known.object, None, due);
            }
            Ok(_) if is.kind == Kind::Dir => return delete::replace(ctx, known, due),
            Ok(_) => {}
            Err(status) => {
                return give_up(ctx, known.object, Trouble::Call(On::Target, Proc::GetAttr, status), due);
            }
        }
    }
    match link(ctx, route, &known, &there) {
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
            batch::retry(ctx, known.object, trouble, due);
        }
        Err(error) => give_up(ctx, known.object, Trouble::on_target(error), due),
    }
}

fn link(ctx: &Ctx<'_>, route: Route, known: &Known, there: &Node) -> Result<(), (Proc, Status)> {
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
    if ctx.options.atomic {
        let aside: Name = make::aside(name);
        match one(Call::link(there, parent, &aside)) {
            Err((_, Status::Exist)) => {
                one(Call::remove(parent, &aside))?;
                one(Call::link(there, parent, &aside))?;
            }
            done => done?,
        }
        return one(Call::rename(parent, &aside, parent, name));
    }
    match one(Call::remove(parent, name)) {
        Ok(()) | Err((_, Status::NoEnt)) => one(Call::link(there, parent, name)),
        failed => failed,
    }
}
