//! The one place that judges what a repeated call may answer.
//!
//! A call whose reply was lost is sent again. Where the server remembers it (its duplicate request cache), it gets the
//! first answer. Where it does not (other port, other target, restart), the second try of a call that was carried out
//! finds its own work: CREATE finds EXIST, REMOVE finds NOENT. Here that is told from somebody else's work by looking.

use crate::base::{Name, Status};
use crate::storage::{Attr, AttrChange, Call, Found, How, Kind, Node, Op, Out, Special};

use super::NfsMount;
use super::retry::asked_for_another;

/// Turns the failure of a repeated call into success when the object shows that an earlier try did the work.
pub(super) fn judge(mount: &NfsMount, call: &mut Call<'_>) {
    match &mut call.op {
        // An empty file with the wanted attributes and no other name is what CREATE makes; if it was there before,
        // taking it for ours changes nothing but its name's owner of the work.
        Op::Create { dir, name, how: How::Guarded, change, out } if *out == Err(Status::Exist) => {
            let fits = |a: &Attr| a.kind == Kind::File && a.size == 0 && a.nlink == 1 && change.may_have_made(a);
            *out = own_work(mount, dir, name, out.clone(), fits);
        }
        Op::MkDir { dir, name, change, out } if *out == Err(Status::Exist) => {
            *out = own_work(mount, dir, name, out.clone(), |a| a.kind == Kind::Dir && change.may_have_made(a));
        }
        Op::MkNod { dir, name, special, change, out } if *out == Err(Status::Exist) => {
            let kind = kind_of(*special);
            *out =
                own_work(mount, dir, name, out.clone(), |a| a.kind == kind && a.nlink == 1 && change.may_have_made(a));
        }
        Op::Symlink { dir, name, target, change, out } if *out == Err(Status::Exist) => {
            let change = AttrChange { mode: None, ..*change };
            let fits = |a: &Attr| a.kind == Kind::Symlink && change.may_have_made(a);
            let found = own_work(mount, dir, name, out.clone(), fits);
            *out = found.and_then(|found| match read_link(mount, &found.node) {
                Ok(text) if text == *target => Ok(found),
                other => Err(unless_unknown(other, Status::Exist)),
            });
        }
        Op::Link { node, dir, name, out } if *out == Err(Status::Exist) => {
            let same = |a: &Attr| get_attr(mount, node).is_ok_and(|n| n.is_same_as(a));
            *out = own_work(mount, dir, name, Err(Status::Exist), same).map(|found| found.attr);
        }
        Op::Remove { out, .. } | Op::RmDir { out, .. } if *out == Err(Status::NoEnt) => *out = Ok(()),
        // What has the new name may be what had it before; without an id nobody can tell.
        Op::Rename { to_dir, to, fileid, out, .. } if *out == Err(Status::NoEnt) => {
            *out = match (
                own_work(mount, to_dir, to, Err(Status::NoEnt), |a| fileid.is_none_or(|id| a.fileid == id)),
                fileid,
            ) {
                (Ok(_), Some(_)) => Ok(()),
                (Ok(_), None) => Err(Status::NoReply),
                (Err(status), _) => Err(status),
            };
        }
        _ => {}
    }
}

fn own_work(
    mount: &NfsMount,
    dir: &Node,
    name: &Name,
    otherwise: Out<Found>,
    fits: impl Fn(&Attr) -> bool,
) -> Out<Found> {
    let looked = look_up(mount, dir, name).and_then(|found| {
        let attr = found.attr.map_or_else(|| get_attr(mount, &found.node), Ok)?;
        Ok((found, attr))
    });
    match looked {
        Ok((found, attr)) if fits(&attr) => Ok(Found { attr: Some(attr), ..found }),
        Err(status) if status.is_uncertain() => Err(asked_for_another(status)),
        _ => otherwise,
    }
}

/// The judgement `status`, unless looking got no answer: then nothing is known, and a target that is gone leaves the call
/// to the next one, which looks again. EXIST in its place would have the caller skip its own, still empty file.
fn unless_unknown<T>(looked: Out<T>, status: Status) -> Status {
    looked.err().filter(|s| s.is_uncertain()).map_or(status, asked_for_another)
}

fn kind_of(special: Special) -> Kind {
    match special {
        Special::Char(..) => Kind::Char,
        Special::Block(..) => Kind::Block,
        Special::Socket => Kind::Socket,
        Special::Fifo => Kind::Fifo,
    }
}

fn look_up(mount: &NfsMount, dir: &Node, name: &Name) -> Out<Found> {
    let mut calls = [Call::lookup(dir, name)];
    mount.perform_sent(&mut calls);
    calls[0].found()
}

fn get_attr(mount: &NfsMount, node: &Node) -> Out<Attr> {
    let mut calls = [Call::get_attr(node)];
    mount.perform_sent(&mut calls);
    calls[0].attr()
}

fn read_link(mount: &NfsMount, node: &Node) -> Out<Vec<u8>> {
    let mut calls = [Call::read_link(node)];
    mount.perform_sent(&mut calls);
    let [call] = calls;
    call.into_text()
}
