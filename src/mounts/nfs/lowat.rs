//! SO_RCVLOWAT, which neither std nor the socket crates set: the transport's one file with `unsafe`.
#![allow(unsafe_code)]

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Makes a receive on `stream` sleep until `bytes` bytes are there, or the end (socket(7); Linux).
pub(super) fn set(stream: &TcpStream, bytes: usize) -> io::Result<()> {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open for as long as `stream` is borrowed, and the option's value is a C int that lives
    // through the call, which copies it.
    let result = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const value).cast(), len)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
