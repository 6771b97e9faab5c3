//! Members side by side: what one says is not the next one's, and how many go into the archive together.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;

use parfs::archive::{Archive, Input, Member, MemberKind};
use parfs::base::Proc;
use parfs::jobs::create::{Attributes, Options};
use parfs::jobs::{XattrMasks, acl};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Mount};

use crate::ask::Ask;
use crate::copies::{counted, crew};
use crate::creates::{file_on, shared, stream, whole};
use crate::nasty::{put, set};

fn described(archive: Vec<u8>) -> Vec<Member> {
    let mut reader = Archive::new(Input::Seekable(Arc::new(archive)), Default::default());
    std::iter::from_fn(|| reader.next().unwrap()).skip(1).collect()
}

#[test]
fn a_member_says_nothing_of_the_one_before() {
    let mount = MemoryMount::new();
    let root = mount.root();
    let owner = |uid, gid| AttrChange { uid: Some(uid), gid: Some(gid), ..AttrChange::default() };
    let first = mount.file(&root, "a much longer name than all that follow it", b"data");
    set(&mount, &first, owner(5, 6));
    mount.symlink(&root, "b", b"a text").unwrap();
    let c = mount.file(&root, "c", b"");
    set(&mount, &c, owner(5, 7));
    mount.link(&first, &root, "d").unwrap();
    mount.dir(&root, "e");
    let f = mount.file(&root, "f", b"");
    set(&mount, &f, owner(8, 7));
    let g = mount.file(&root, "g", b"");
    set(&mount, &g, owner(9, 7));
    let mount: Arc<dyn Mount> = Arc::new(mount);
    let options = Options { sort_by_name: true, ..Options::default() };
    let is: Vec<_> = described(stream(whole(&shared(vec![mount.clone()])), &options, &crew(2, 2)).clean().archive)
        .into_iter()
        .map(|m| {
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (text(m.path), m.kind, m.stored, text(m.link), text(m.uname), text(m.gname), (m.uid, m.gid))
        })
        .collect();
    let long = "./a much longer name than all that follow it";
    let member = |path: &str, kind, stored, link: &str, (uid, gid)| {
        (path.to_owned(), kind, stored, link.to_owned(), format!("u{uid}"), format!("g{gid}"), (uid, gid))
    };
    let want = [
        member(long, MemberKind::File, 4, "", (5, 6)),
        member("./b", MemberKind::Symlink, 0, "a text", (0, 0)),
        member("./c", MemberKind::File, 0, "", (5, 7)),
        member("./d", MemberKind::HardLink, 0, long, (5, 6)),
        member("./e/", MemberKind::Dir, 0, "", (0, 0)),
        member("./f", MemberKind::File, 0, "", (8, 7)),
        member("./g", MemberKind::File, 0, "", (9, 7)),
    ];
    assert_eq!(is, want);
    // A name that is given holds for all, whoever they are of.
    let attributes = Attributes { owner: Some((b"who".to_vec(), 9)), ..Attributes::default() };
    let given = Options { attributes, ..options };
    for m in described(stream(whole(&shared(vec![mount])), &given, &crew(2, 2)).clean().archive) {
        assert_eq!((&m.uname[..], m.uid, m.gname), (&b"who"[..], 9, format!("g{}", m.gid).into_bytes()));
    }
}

/// Files with data are few in a piece, so that all lanes get some; without, a piece is a WRITE of 256 headers.
/// As GNU tar 1.34 stores them: an ACL as a text for --acls, as an attribute for --xattrs; patterns choose among attributes.
#[test]
fn attributes_are_stored_as_patterns_say() {
    const ACL: &str = "system.posix_acl_access";
    let mount = MemoryMount::new();
    let file = mount.file(&mount.root(), "f", b"");
    let acl = acl::from_text(b"user::rw-\nuser:7:r--\ngroup::r--\nmask::r--\nother::---\n", None).unwrap();
    mount.set_xattr(&file, ACL, &acl).unwrap();
    for name in ["user.a", "user.b", "trusted.t", "security.selinux"] {
        mount.set_xattr(&file, name, b"value\0").unwrap();
    }
    let volume = shared(vec![Arc::new(mount) as Arc<dyn Mount>]);
    let masks = |include: &[&str], exclude: &[&str]| {
        let text = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
        XattrMasks::new(&text(include), &text(exclude)).unwrap()
    };
    let xattrs = Options { xattrs: true, ..Options::default() };
    let all = ["security.selinux", ACL, "trusted.t", "user.a", "user.b"];
    let cases: [(Options, bool, &[&str]); 7] = [
        (Options::default(), false, &[]),
        (Options { acls: true, ..Options::default() }, true, &[]),
        (Options { selinux: true, ..Options::default() }, false, &all[..1]),
        (xattrs.clone(), false, &all),
        (Options { acls: true, ..xattrs.clone() }, true, &all),
        (Options { xattr_masks: masks(&["user.*", "trusted.*"], &["*.b"]), ..xattrs.clone() }, false, &all[2..4]),
        (Options { acls: true, xattr_masks: masks(&[], &["*.?", "system.*"]), ..xattrs }, true, &all[..1]),
    ];
    for (at, (options, has_text, names)) in cases.into_iter().enumerate() {
        let stored = described(stream(whole(&volume), &options, &crew(1, 1)).clean().archive).remove(0);
        let is: Vec<String> = stored.xattrs.into_iter().map(|(name, _)| String::from_utf8(name).unwrap()).collect();
        assert_eq!(
            (stored.acl_access.is_some(), is),
            (has_text, names.iter().map(ToString::to_string).collect()),
            "{at}"
        );
    }
}

#[test]
fn what_holds_no_data_goes_out_by_the_hundreds() {
    // The directory is a member as well.
    for (files, data, pieces) in [(1023, &b""[..], 4), (1024, b"", 5), (640, b"data", 10), (641, b"data", 11)] {
        let mount = MemoryMount::new();
        for i in 0..files {
            let node = mount.file(&mount.root(), format!("f{i}"), b"");
            if !data.is_empty() {
                put(&mount, &node, 0, data);
            }
        }
        let (target, ledger) = counted(Arc::new(MemoryMount::new()));
        let operands = whole(&shared(vec![Arc::new(mount) as Arc<dyn Mount>]));
        let made = file_on(&target, operands, b"", &Options::default(), &crew(3, 2)).clean();
        assert_eq!(made.summary.members, files + 1);
        assert_eq!(
            ledger.tally().get(Proc::Write).calls,
            pieces + 2,
            "{files} files: pieces, the archive's end and its head"
        );
    }
}
