//! Servers whose pages repeat names of the page before: hard links are not lost by that.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;

use parfs::jobs::create::Options;
use parfs::mounts::MemoryMount;
use parfs::storage::{Call, Cookie, Mount, Op, Page, Want};

use crate::ask::Ask;
use crate::copies;
use crate::creates::{shared, stream, whole};
use crate::remove_odd::{Odd, entries, pass};
use crate::tars::{crew, extract, pipe, volume};
use crate::tree::{assert_same, dump};

/// Four names a page, the first two of which are the last two of the page before.
fn repeating(mount: &dyn Mount, call: &mut Call<'_>) {
    let Op::ReadDir { dir, from, want, out, .. } = &mut call.op else { return pass(mount, call) };
    *out = entries(mount, dir, *want).map(|all| {
        let at = from.position as usize;
        let some: Vec<_> = all.entries.iter().skip(at.saturating_sub(2)).take(4).cloned().collect();
        let next = Cookie { position: (at.saturating_sub(2) + some.len()) as u64, ..Cookie::default() };
        Page { above: None, end: next.position >= all.entries.len() as u64, entries: some, next }
    });
}

/// Files of three names each, some names next to each other, some far apart.
fn source() -> Arc<MemoryMount> {
    let memory = Arc::new(MemoryMount::new());
    let (root, mut files) = (memory.root(), Vec::new());
    let dir = memory.dir(&root, "d");
    for at in 0..9 {
        let file = memory.file(&root, format!("a{at}"), format!("file {at}").as_bytes());
        memory.link(&file, &root, format!("a{at}x")).unwrap();
        files.push(file);
    }
    for (at, file) in files.iter().enumerate() {
        let (dir, name) = if at % 2 == 0 { (&root, format!("z{at}")) } else { (&dir, format!("m{at}")) };
        memory.link(file, dir, name).unwrap();
    }
    memory
}

#[test]
fn hard_links_are_carried_all_the_same() {
    let from = source();
    let odd = Odd::new(&from, repeating);
    assert!(entries(&*odd, &odd.root(), Want::Names).unwrap().entries.len() > 24, "names are repeated");
    for atomic in [false, true] {
        let to = Arc::new(MemoryMount::new());
        let options = parfs::jobs::copy::Options { atomic, ..copies::sync() };
        copies::run(&volume(&odd), &volume(&to), &options, &copies::crew(2, 2)).clean();
        assert_same(&dump(&*from), &dump(&*to), "copied");
    }
    let source = shared(vec![odd.clone() as _]);
    let made = stream(whole(&source), &Options::default(), &crew(2, 2)).clean();
    let to = Arc::new(MemoryMount::new());
    extract(&volume(&to), pipe(made.archive), &parfs::jobs::extract::Options::default(), &crew(2, 2)).clean();
    let (want, is) = (dump(&*from), dump(&*to));
    for (path, object) in &want {
        assert_eq!(is[path].nlink, object.nlink, "{path}");
    }
}
