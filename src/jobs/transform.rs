//! `--transform`: sed's replacement expressions on members' names.

/// Replacement expressions, applied in order.
#[derive(Clone, Debug, Default)]
pub struct Transform {}
