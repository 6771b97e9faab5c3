//! What a job will cost and how long it will take, before it runs.

pub mod course;
pub mod forecast;
