//! Options that GNU rm has and this version does not carry.

use crate::cli::refused::Value::No;
use crate::cli::refused::{Refused, letter, long};

/// The table.
pub const REFUSED: &[Refused] = &[
    letter('i', "prompts", "use -I to be asked once, or rm to be asked before each removal"),
    long(&["no-preserve-root"], No, "parrm never removes '/'; use rm if it must be"),
    long(&["presume-input-tty"], No, "leave it out: there are no prompts without -I"),
];

#[cfg(test)]
mod tests {
    use super::super::low;
    use super::*;
    use crate::cli::refused::assert_all_named;

    #[test]
    fn every_refused_option_is_known_by_all_its_spellings_and_named() {
        low::command().debug_assert();
        assert_all_named(REFUSED, |args| low::parse(args).err());
    }
}
