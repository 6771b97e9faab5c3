//! A local directory or kernel mount.
