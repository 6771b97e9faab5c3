//! How a command ended, in one enum with one conversion to an exit status. Scripts read nothing else.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All was done.
    Success,
    /// parcp, parrm: something failed, is left undone or differs; cp's, rm's and diff's 1.
    Partly,
    /// A usage error; of partar also a fatal error and any object that failed: GNU tar's 2.
    Failure,
    /// `parfs load`: fio's number of failed jobs, or 128 after a signal.
    Code(u8),
    /// Stopped by this signal, in order: 128 and the signal's number, as a shell reports it.
    Signal(i32),
}

/// Why a run ended before it did anything, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// For people.
    pub text: String,
    /// How it ends.
    pub exit: Exit,
}

impl Fatal {
    /// The command line cannot be carried out as it was typed.
    pub fn usage(text: String) -> Fatal {
        Fatal { text, exit: Exit::Failure }
    }
}

/// Something could not be opened or done.
impl From<String> for Fatal {
    fn from(text: String) -> Fatal {
        Fatal { text, exit: Exit::Partly }
    }
}

impl Exit {
    /// Nobody reads what goes to stdout: as a program ends by SIGPIPE, which this one ignores.
    pub const UNREAD: Exit = Exit::Signal(13);

    /// The number that the process ends with.
    pub fn number(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Partly => 1,
            Exit::Failure => 2,
            Exit::Code(code) => code,
            Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_tar_and_the_shell() {
        let ends = [Exit::Success, Exit::Partly, Exit::Failure, Exit::Signal(2), Exit::Signal(15)];
        assert_eq!(ends.map(Exit::number), [0, 1, 2, 130, 143]);
    }
}
