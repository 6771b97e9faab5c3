//! Results as text: fio's JSON, its human report, its terse lines.
//!
//! Promises: each is a document of its own and complete; keys, their order and the kinds of numbers are fio 3.42's.
//! Leaves out: streams, and when what is printed.

pub mod json;
pub mod machine;
pub mod normal;
pub mod number;
pub mod status;
pub mod terse;

#[cfg(test)]
mod sample;
