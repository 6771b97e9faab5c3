//! Words that every other module uses: procedures, statuses, names, times, prices. Uses nothing of parfs.

pub mod failure;
pub mod hash;
pub mod memo;
pub mod name;
pub mod price;
pub mod proc;
pub mod status;
pub mod time;
pub mod units;

pub use failure::{Cause, Failure, reason};
pub use memo::Memo;
pub use name::{BadName, Name};
pub use price::PriceList;
pub use proc::Proc;
pub use status::Status;
pub use time::Time;
