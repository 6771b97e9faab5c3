//! Buffers of I/Os: owned, aligned as direct I/O needs it, and at one address while a kernel uses them.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// What direct I/O asks for at most of the file systems that are known; a page.
pub const ALIGN: usize = 4096;

/// A buffer of a fixed capacity, of which a part at the start is in use. It moves without its bytes moving.
#[derive(Debug)]
pub struct Buf {
    bytes: NonNull<u8>,
    layout: Layout,
    /// Where the part in use begins.
    start: usize,
    len: usize,
}

// SAFETY: the bytes belong to this value alone, as a Vec's do.
unsafe impl Send for Buf {}

impl Buf {
    /// Zeros, at a multiple of `align` (a power of two; at least a page). None where there is no such layout, or no memory.
    pub fn zeroed(capacity: usize, align: usize) -> Option<Buf> {
        let layout = Layout::from_size_align(capacity.max(1), align.max(ALIGN)).ok()?;
        // SAFETY: the layout is not of size 0.
        let bytes = unsafe { alloc_zeroed(layout) };
        Some(Buf { bytes: NonNull::new(bytes)?, layout, start: 0, len: capacity })
    }

    /// Bytes that it can hold.
    pub fn capacity(&self) -> usize {
        self.layout.size()
    }

    /// Uses the first `len` bytes; the capacity at most.
    pub fn set_len(&mut self, len: usize) {
        (self.start, self.len) = (0, len.min(self.layout.size()));
    }

    /// Uses no longer the first `n` bytes of what is in use: what is left of an I/O.
    pub fn advance(&mut self, n: usize) {
        let n = n.min(self.len);
        (self.start, self.len) = (self.start + n, self.len - n);
    }

    /// Where the part in use lies, for a kernel that writes into it while this value is kept.
    pub fn address(&self) -> *mut u8 {
        // SAFETY: `start` is within the allocation.
        unsafe { self.bytes.as_ptr().add(self.start) }
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nothing else has the bytes.
        unsafe { dealloc(self.bytes.as_ptr(), self.layout) }
    }
}

impl Deref for Buf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes from `start` on are within the allocation, which was zeroed and belongs to this value.
        unsafe { std::slice::from_raw_parts(self.address(), self.len) }
    }
}

impl DerefMut for Buf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the value is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.address(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_and_at_one_address() {
        let mut buf = Buf::zeroed(100_000, 65536).unwrap();
        let address = buf.address();
        assert_eq!((address as usize % 65536, buf.len(), buf.capacity()), (0, 100_000, 100_000));
        buf.set_len(3);
        buf.copy_from_slice(b"abc");
        let moved = std::thread::spawn(move || buf).join().unwrap();
        assert_eq!((moved.address() == address, &moved[..]), (true, &b"abc"[..]));
        let mut left = moved;
        left.advance(1);
        assert_eq!(&left[..], b"bc");
        left.set_len(3);
        assert_eq!(&left[..], b"abc");
        assert!(Buf::zeroed(1, 3 * ALIGN).is_none());
    }
}
