//! `--mode`: changes of permissions, octal or symbolic as chmod takes them.

/// A change of permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {}
