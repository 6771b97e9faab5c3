//! ioprio_set(2) and sched_setscheduler(2), for which no safe crate has a function.
#![allow(unsafe_code)]

use rustix::io::Errno;

/// linux/ioprio.h.
const WHO_PROCESS: libc::c_int = 1;
const CLASS_SHIFT: u32 = 13;

/// Gives the calling thread's I/O this class (0 to 3) and priority (0 to 7).
pub(super) fn set(class: u8, level: u8) -> Result<(), Errno> {
    let value = libc::c_int::from(class) << CLASS_SHIFT | libc::c_int::from(level);
    // SAFETY: three integers by value; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, value) };
    done(result == 0)
}

/// The calling thread runs only where nothing else wants to; no right is needed for that.
pub(super) fn set_idle() -> Result<(), Errno> {
    // The kernel's struct sched_param: the priority, which has to be 0. Not the library's function, which musl only has by name.
    let param: libc::c_int = 0;
    // SAFETY: a pointer to a live integer, which is what the call reads; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const param) };
    done(result == 0)
}

/// What came of a call of this thread.
fn done(is_ok: bool) -> Result<(), Errno> {
    if is_ok { Ok(()) } else { Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)) }
}

#[cfg(test)]
pub(super) fn of_thread() -> libc::c_long {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_thread_has_what_was_set() {
        std::thread::spawn(|| {
            super::set(2, 6).unwrap();
            assert_eq!(super::of_thread(), 2 << 13 | 6);
            super::set(5, 0).unwrap_err();
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_class_is_the_lowest() {
        std::thread::spawn(|| {
            super::set_idle().unwrap();
            // SAFETY: an integer by value; 0 is the calling thread.
            assert_eq!(unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }, libc::c_long::from(libc::SCHED_IDLE));
        })
        .join()
        .unwrap();
    }
}
