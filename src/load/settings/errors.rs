//! Which errors end a job.
//!
//! Promises: errnos by name or number; an errno that this system does not have is an error.
//! Leaves out: counting them.

use super::super::job::BadJob;
use super::OnErrors;
use super::asked::Asked;

pub(super) fn on_errors(asked: &Asked<'_>) -> Result<OnErrors, BadJob> {
    let word = asked.word("continue_on_error");
    let one_of = |words: &[&str]| words.contains(&word);
    let mut on_errors = OnErrors {
        read: one_of(&["read", "io", "all", "1"]),
        write: one_of(&["write", "io", "all", "1"]),
        verify: one_of(&["verify", "all", "1"]),
        ignored: [vec![libc::EIO, libc::EILSEQ], vec![libc::EIO, libc::EILSEQ], vec![libc::EIO, libc::EILSEQ]],
        dump: asked.is("error_dump"),
    };
    let Some(text) = asked.text("ignore_error") else { return Ok(on_errors) };
    let lists: Vec<&str> = text.split(',').collect();
    if lists.len() > 3 {
        return Err(asked.bad("ignore_error", "there are more lists than kinds of errors (read, write, verify)"));
    }
    let OnErrors { read, write, verify, ignored, .. } = &mut on_errors;
    for ((list, goes_on), ignored) in lists.iter().zip([read, write, verify]).zip(ignored) {
        let errnos: Result<Vec<i32>, String> =
            list.split(':').map(str::trim).filter(|word| !word.is_empty()).map(errno).collect();
        let errnos = errnos.map_err(|reason| asked.bad("ignore_error", reason))?;
        if !errnos.is_empty() {
            (*goes_on, *ignored) = (true, errnos);
        }
    }
    Ok(on_errors)
}

macro_rules! errnos {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// What a file system or a network can answer.
const ERRNOS: &[(&str, i32)] = errnos! {
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR
    EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS
    ENOTEMPTY ELOOP EWOULDBLOCK EREMOTE EPROTO EBADMSG EOVERFLOW EILSEQ EOPNOTSUPP ENOTSUP EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH
    ENETRESET ECONNABORTED ECONNRESET ENOBUFS ENOTCONN ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN
    EREMOTEIO EDQUOT ENOMEDIUM ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED
};

/// Linux has none above.
const ERRNO_MAX: i32 = 4095;

fn errno(word: &str) -> Result<i32, String> {
    let named = ERRNOS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    let hexadecimal = word.strip_prefix("0x").map(|digits| i32::from_str_radix(digits, 16).ok());
    // fio takes a negative number as its absolute.
    let number = || hexadecimal.unwrap_or_else(|| word.trim_start_matches('-').parse().ok());
    let found = named.or_else(number).filter(|number| (1..=ERRNO_MAX).contains(number));
    found.ok_or_else(|| format!("Unknown error {word}, please use number value"))
}
