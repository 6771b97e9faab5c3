//! How directories end: the last attributes of those that have any due, and a look whether those that something was put into are where they
//! are to be, in one window.

use std::sync::Arc;

use crate::base::{Cause, Failure};
use crate::crew::Ticket;
use crate::storage::Call;

use super::super::moved::{self, Filled};
use super::ctx::Ctx;
use super::dirs::Dir;
use super::finish::{self, Due};

/// What is left to be done about a directory.
pub(super) struct Ending {
    dir: Arc<Dir>,
    due: Option<Due>,
    filled: Option<Filled>,
}

impl Ending {
    /// None where nothing is.
    pub fn of(ctx: &Ctx<'_>, dir: &Arc<Dir>) -> Option<Ending> {
        let (due, filled) = (dir.finish(ctx), dir.filled());
        (due.is_some() || filled.is_some()).then(|| Ending { dir: dir.clone(), due, filled })
    }
}

/// Ends them, in one window.
pub(super) fn run(ctx: &Ctx<'_>, endings: Vec<Ending>, ticket: Ticket<'_>) {
    let route = ctx.volume.route();
    let (mut setting, mut dues, mut looked, mut filled) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Ending { dir, due, filled: is } in endings {
        if let Some(is) = is {
            looked.push(dir.clone());
            filled.push(is);
        }
        if let Some(due) = due {
            setting.push(dir);
            dues.push(due);
        }
    }
    let mut looks: Vec<Call<'_>> = filled.iter().map(Filled::look).collect();
    let ends = finish::all_beside(ctx, route, &dues, &mut looks);
    let judged = looked.into_iter().zip(moved::judge(ctx.port, route, &filled, &looks));
    let mut lost: Vec<(Arc<Dir>, Cause)> = judged.filter_map(|(dir, is)| Some((dir, is.err()?))).collect();
    let report = ctx.crew.report();
    for (dir, end) in setting.into_iter().zip(ends) {
        if lost.iter().any(|(at, cause)| Arc::ptr_eq(at, &dir) && matches!(cause, Cause::Refused(_))) {
            continue;
        }
        // Of two calls that failed the first is told.
        lost.retain(|(at, _)| !Arc::ptr_eq(at, &dir) || end.is_ok());
        match end {
            Ok(false) => {}
            Ok(true) => report.add(finish::owner_refused(&dir.path())),
            Err(cause) => report.add(Failure { path: dir.path(), cause }),
        }
    }
    lost.into_iter().for_each(|(dir, cause)| report.add(Failure { path: dir.path(), cause }));
    drop(ticket);
}
