//! What removal once did wrong.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;

use parfs::jobs::remove::Options;
use parfs::mounts::MemoryMount;

use crate::remove::{operand, paths, plant, remove_all, remove_paths};
use crate::remove_odd::with_mounts;
use crate::tars::{crew, volume};
use crate::tree::dump;

/// A list named a mount point, and all that was mounted there went.
#[test]
fn mount_points_of_a_list_are_refused() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["a/", "a/mnt/", "a/mnt/f", "mnt/", "mnt/d/", "mnt/d/f", "b/", "b/f"]);
    let odd = with_mounts(&memory, false);
    let options = Options { mounts_stay: true, ..Options::default() };
    let ran = remove_paths(&odd, &["mnt", "a/mnt", "b", "mnt/d"], &options, &crew(2, 2));
    assert_eq!(
        ran.failures,
        ["a/mnt: it is the root of a mounted file system", "mnt: it is the root of a mounted file system"]
    );
    // What is in one may be named.
    assert_eq!(paths(&dump(&*memory)), ["a", "a/mnt", "a/mnt/f", "mnt"].into());
    let mut emptied = operand(&*memory, "a/mnt");
    emptied.contents = true;
    remove_all(&volume(&odd), [Ok(emptied)].into_iter(), &options, &crew(2, 2)).clean();
    assert_eq!(paths(&dump(&*memory)), ["a", "a/mnt", "mnt"].into());
}
