//! One binary under several names.
fn main() {}
