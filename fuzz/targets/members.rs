//! Any bytes as an archive, read to its end as a file and as a pipe. Nothing panics or hangs, both say the same, no member holds
//! more than the bytes there were, and what a member says can be written again and read back.

#![no_main]

use std::io::Cursor;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use parfs::archive::write::{self, Format};
use parfs::archive::{Archive, Input, Member, MemberKind, Options};
use parfs_fuzz::{Pipe, believed};

/// Members and the data of each; checks what `Member` promises.
fn read(input: Input, options: Options, bytes: usize) -> Vec<(Member, Vec<u8>)> {
    let mut archive = Archive::new(input, options);
    let mut members = Vec::new();
    let mut buf = vec![0; 3000];
    // Each step passes a block, and the first and last may not.
    for _ in 0..bytes / 512 + 3 {
        match archive.next() {
            Ok(None) => return members,
            Err(_) => {}
            Ok(Some(member)) => {
                check(&member, bytes);
                let mut data = Vec::new();
                while let Ok(n @ 1..) = archive.read(&mut buf) {
                    data.extend_from_slice(&buf[..n]);
                }
                assert!(data.len() as u64 <= member.stored && data.len() <= bytes);
                members.push((member, data));
            }
        }
    }
    panic!("more steps than blocks");
}

fn check(member: &Member, bytes: usize) {
    let xattrs: usize = member.xattrs.iter().map(|(name, value)| name.len() + value.len()).sum();
    let acls = [&member.acl_access, &member.acl_default].into_iter().flatten().map(Vec::len).sum::<usize>();
    let names = [&member.path, &member.link, &member.uname, &member.gname].into_iter().map(Vec::len);
    assert!(names.max() <= Some(bytes) && xattrs + acls <= bytes, "more than there was");
    let Some(segments) = &member.segments else {
        let size = if member.kind == MemberKind::File { member.stored } else { 0 };
        return assert_eq!((member.size, member.stored), (size, size));
    };
    assert!(segments.len() <= bytes && segments.iter().map(|s| s.len).sum::<u64>() == member.stored);
    assert!(segments.iter().all(|s| s.len > 0 && s.offset + s.len <= member.size));
    assert!(segments.windows(2).all(|pair| pair[0].offset + pair[0].len <= pair[1].offset));
}

/// What is read can be written and is then read the same, but for a slash at the end of a directory's name.
fn check_written(member: &Member) {
    let mut bytes = Vec::new();
    if write::header(member, Format::Pax, false, &mut bytes).is_err() {
        return;
    }
    assert_eq!(bytes.len() % 512, 0);
    let mut member = member.clone();
    if member.kind == MemberKind::Dir && !member.path.ends_with(b"/") {
        member.path.push(b'/');
    }
    let mut archive = Archive::new(Input::Seekable(Arc::new(bytes)), Options::default());
    assert_eq!(archive.next().expect("what was written is an archive").as_ref(), Some(&member));
}

fuzz_target!(|bytes: &[u8]| {
    for bytes in [bytes.to_vec(), believed(bytes)] {
        for ignore_zeros in [false, true] {
            let options = Options { ignore_zeros };
            let members = read(Input::Seekable(Arc::new(bytes.clone())), options, bytes.len());
            let pipe = Input::Pipe(Box::new(Pipe(Cursor::new(bytes.clone()))));
            assert_eq!(members, read(pipe, options, bytes.len()));
            members.iter().for_each(|(member, _)| check_written(member));
        }
    }
});
