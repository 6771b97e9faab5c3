//! Words that every other module uses: procedures, statuses, names, times, prices. Uses nothing of parfs.

pub(crate) mod bell;
pub(crate) mod failure;
pub mod hash;
pub(crate) mod memo;
pub mod name;
pub mod pace;
pub mod price;
pub(crate) mod proc;
pub(crate) mod status;
pub mod time;
pub(crate) mod unbroken;
pub mod units;
pub(crate) mod warnings;

pub(crate) use bell::Bell;
pub use failure::{Cause, Failure, reason};
pub(crate) use memo::Memo;
pub use name::{BadName, Name};
pub use pace::Pace;
pub use price::PriceList;
pub use proc::Proc;
pub use status::Status;
pub use time::Time;
pub(crate) use unbroken::Unbroken;
pub use warnings::Warnings;
