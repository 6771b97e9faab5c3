//! Whether written data is safe. Leaves out: writing it again, which takes who still has it.

use super::{Stable, Verifier, Written};

/// What of written data is not safe before a COMMIT that answers the same verifier (RFC 1813 3.3.7, 3.3.21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unstable {
    /// All is safe.
    #[default]
    Nothing,
    /// Some was taken by this instance of the server.
    Since(Verifier),
    /// The server's instance changed meanwhile: some of it may be lost.
    Broken,
}

impl Unstable {
    /// Of both together.
    pub fn and(self, other: Unstable) -> Unstable {
        match (self, other) {
            (Unstable::Nothing, x) | (x, Unstable::Nothing) => x,
            (Unstable::Since(a), Unstable::Since(b)) if a == b => self,
            _ => Unstable::Broken,
        }
    }
}

impl From<Written> for Unstable {
    fn from(written: Written) -> Unstable {
        if written.stable == Stable::Unstable { Unstable::Since(written.verifier) } else { Unstable::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two targets may have an instance each: what is unstable on both is not safe by a COMMIT on one.
    #[test]
    fn data_under_two_verifiers_is_never_taken_as_safe() {
        let (a, b) = (Unstable::Since(1), Unstable::Since(2));
        assert_eq!(a.and(a), a);
        assert_eq!(Unstable::Nothing.and(b), b);
        assert_eq!(a.and(Unstable::Nothing), a);
        for broken in [a.and(b), a.and(b).and(b), b.and(Unstable::Broken)] {
            assert_eq!(broken, Unstable::Broken);
        }
    }
}
