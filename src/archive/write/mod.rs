//! Writing archives: the blocks in front of a member's data, and those at the end.

/// The archive's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// POSIX.1-1988: what does not fit is refused.
    Ustar,
    /// GNU tar's: long names in blocks of their own, large numbers in base 256.
    Gnu,
    /// POSIX.1-2001: ustar, and extended headers where they are needed.
    #[default]
    Pax,
}
