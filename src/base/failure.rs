//! One object's failure: which object, which call, why. Every layer above `storage` speaks of errors with this.

use std::fmt;
use std::io;

use super::name::Shown;
use super::{Proc, Status};

/// Why one object failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A call on storage failed.
    Call(Proc, Status),
    /// parfs refused to do it, for this reason (an escape from the destination, a type that cannot be made).
    Refused(String),
}

/// The failure of one object. Prints as `path: CREATE: No space left on device`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The object's path as its user knows it (where a member was to be put, the path below the operand), as bytes; empty where the cause
    /// says what it is about.
    pub path: Vec<u8>,
    /// What went wrong.
    pub cause: Cause,
}

impl Failure {
    /// A failed call on `path`.
    pub fn call(path: &[u8], proc: Proc, status: Status) -> Failure {
        Failure { path: path.to_vec(), cause: Cause::Call(proc, status) }
    }

    /// A refusal of `path`.
    pub fn refused(path: &[u8], reason: impl Into<String>) -> Failure {
        Failure { path: path.to_vec(), cause: Cause::Refused(reason.into()) }
    }

    /// True for what could not be done only because the run was stopped.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.cause, Cause::Call(_, Status::Cancelled))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", Shown(&self.path))?;
        }
        self.cause.fmt(f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Call(proc, status) => write!(f, "{proc}: {status}"),
            Cause::Refused(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Failure {}

/// What `strerror` says of an error, without Rust's "(os error 2)".
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].into(),
        None => text,
    }
}
