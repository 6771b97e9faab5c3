//! What takes the place of a file, rather than being written into it, is as that was in all that is not carried.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;
use std::time::Duration;

use parfs::base::price::Ceiling;
use parfs::jobs::copy::{Compare, Existing, Options, Preserve};
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::sim::{Config, Server};
use parfs::storage::{AttrChange, Call, Mount, Op};

use crate::ask::{Ask, mode};
use crate::copies::{asked, assert_asked, crew, run, volume};
use crate::nasty::{acl, past, put, set, set_time};
use crate::remove_odd::{Odd, pass};
use crate::tree::{content, node_at};

const SIZES: [usize; 2] = [3, 3 << 20];
const ACL: &[u8] = b"system.posix_acl_access";

fn memory() -> Arc<MemoryMount> {
    Arc::new(MemoryMount::new())
}

/// Ways that files are not written into: by -u, --size-only and --atomic, and where they have other names.
fn ways() -> [(Options, bool); 4] {
    let plain = || Options { range_bytes: 1 << 20, is_root: true, ..Options::default() };
    [
        (Options { existing: Existing::UnlessNewer, ..plain() }, false),
        (Options { compare: Compare::Size, ..plain() }, false),
        (Options { atomic: true, ..plain() }, false),
        (plain(), true),
    ]
}

/// A file of these attributes.
fn planted(mount: &MemoryMount, data: &[u8], bits: u32, owner: (u32, u32), n: i64) {
    let node = mount.file(&mount.root(), "f", b"");
    put(mount, &node, 0, data);
    set(mount, &node, AttrChange { uid: Some(owner.0), gid: Some(owner.1), ..AttrChange::default() });
    set(mount, &node, mode(bits));
    set_time(mount, &node, past(n));
}

/// A source and a target, whose file is the older one.
fn sides(size: usize, bits: u32, linked: bool) -> (Arc<MemoryMount>, Arc<MemoryMount>) {
    let (from, to) = (memory(), memory());
    planted(&from, &vec![7; size], 0o644, (1, 2), 9);
    planted(&to, b"was", bits, (7, 8), 1);
    if size == 3 {
        put(&*to, &node_at(&*to, &["f"]), 3, b"more");
        set_time(&*to, &node_at(&*to, &["f"]), past(1));
    }
    if linked {
        to.link(&node_at(&*to, &["f"]), &to.root(), "other").unwrap();
    }
    (from, to)
}

/// Served to root, whom it believes.
fn served(mount: &Arc<MemoryMount>) -> (Server, Arc<dyn Mount>) {
    let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    let server = Server::start(mount.clone(), Config { targets: 1, ceiling, ..Config::default() }).unwrap();
    let view = attach(&Url::parse(&format!("{}?uid=0", server.url())).unwrap(), Usage::Writes).unwrap().remove(0);
    (server, view)
}

fn keeping(options: &Options, keeps: (bool, bool)) -> Options {
    let preserve = Preserve { mode: keeps.0, acls: keeps.0, uid: keeps.1, gid: keeps.1, ..Preserve::ALL };
    Options { preserve, ..options.clone() }
}

fn is(mount: &MemoryMount) -> (u32, (u32, u32)) {
    let mut calls = [Call::get_attr(&node_at(mount, &["f"]))];
    mount.perform(&mut calls);
    let attr = calls[0].attr().unwrap();
    (attr.mode, (attr.uid, attr.gid))
}

#[test]
fn a_file_that_is_replaced_keeps_the_mode_and_owner_that_are_not_carried() {
    for ((options, linked), size) in ways().into_iter().flat_map(|way| SIZES.map(|size| (way.clone(), size))) {
        for (keeps, bits, want) in [
            ((false, false), 0o600, (0o600, (7, 8))),
            ((false, false), 0o6711, (0o6711, (7, 8))),
            ((true, false), 0o600, (0o644, (7, 8))),
            ((false, true), 0o600, (0o600, (1, 2))),
            ((false, true), 0o4700, (0o700, (1, 2))),
        ] {
            let context = format!("{options:?} {linked} {size} {keeps:?} {bits:o}");
            let (from, to) = sides(size, bits, linked);
            run(&volume(vec![from.clone()]), &volume(vec![to.clone()]), &keeping(&options, keeps), &crew(2, 3)).clean();
            assert_eq!((is(&to), content(&*to, "f").len()), (want, size), "{context}");
            // Over the wire it is so, and costs what carrying all does; set-id bits are one more change of the mode that is due.
            let whole = |keeps| {
                let (from, to) = sides(size, bits, linked);
                let (_server, view) = served(&to);
                let (_, tally, ran) = asked(&(from as Arc<dyn Mount>), &view, &keeping(&options, keeps), (1, 1));
                ran.clean();
                (tally, is(&to))
            };
            let (tally, over_nfs) = whole(keeps);
            assert_eq!(over_nfs, want, "{context}");
            assert_asked(whole((true, true)).0, tally, &context);
        }
    }
}

/// What is written into loses its set-id bits, unless root writes.
#[test]
fn set_id_bits_are_kept_for_root_alone() {
    for (is_root, want) in [(true, 0o4755), (false, 0o755)] {
        let (from, to) = sides(3, 0o4755, false);
        let options = Options { atomic: true, is_root, ..keeping(&Options::default(), (false, false)) };
        run(&volume(vec![from]), &volume(vec![to.clone()]), &options, &crew(1, 1)).clean();
        assert_eq!(is(&to), (want, (7, 8)));
    }
}

/// The mode that is kept is an ACL's mask: without the ACL it would be the group's.
#[test]
fn a_file_that_is_replaced_keeps_its_acl_with_its_mode() {
    for ((options, linked), size) in ways().into_iter().flat_map(|way| SIZES.map(|size| (way.clone(), size))) {
        let (from, to) = sides(size, 0o660, linked);
        let value = acl(4);
        let set_acl = |mount: &MemoryMount| {
            let node = node_at(mount, &["f"]);
            let mut calls = [Call::set_xattr(&node, ACL, &value)];
            mount.perform(&mut calls);
            assert_eq!(calls[0].status(), Ok(()));
        };
        set_acl(&to);
        let was = is(&to);
        // Before there is a byte in it.
        let odd = Odd::new(&to, |mount, call| {
            if let Op::Write { node, .. } = &call.op {
                let mut calls = [Call::get_xattr(node, ACL)];
                mount.perform(&mut calls);
                let [call] = calls;
                assert!(call.into_xattr().is_ok(), "written into without its ACL");
            }
            pass(mount, call);
        });
        run(&volume(vec![from]), &volume(vec![odd]), &keeping(&options, (false, false)), &crew(2, 3)).clean();
        let node = node_at(&*to, &["f"]);
        let mut calls = [Call::get_xattr(&node, ACL)];
        to.perform(&mut calls);
        let [call] = calls;
        assert_eq!((call.into_xattr(), is(&to), content(&*to, "f").len()), (Ok(value.clone()), was, size));
    }
}
