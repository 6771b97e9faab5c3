//! Huge pages, which are left away where lanes allocate: the allocator has pages of 64 KiB for each lane and size of object, of which
//! many are hardly begun. As parts of huge pages they took 2.3 times the memory (the forecast of a copy of a million files over nfs://:
//! 432 MB, else 185) and no less time.

use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};

/// This process does without from now on.
pub fn leave_away() {
    // A kernel without them needs no telling.
    let _ = disable_transparent_huge_pages(true);
}

/// Lets `start` start a program, which is to have them as it would without us: a process inherits what its parent does without.
pub fn restored<R>(start: impl FnOnce() -> R) -> R {
    let without = transparent_huge_pages_are_disabled().unwrap_or(false);
    let restored = without && disable_transparent_huge_pages(false).is_ok();
    let started = start();
    if restored {
        leave_away();
    }
    started
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_what_its_parent_does_without() {
        let without = || transparent_huge_pages_are_disabled().unwrap();
        leave_away();
        assert!(without());
        assert_eq!(restored(|| (without(), 7)), (false, 7));
        assert!(without());
    }
}
