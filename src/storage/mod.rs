//! The one idea: everything done to storage is a [`Call`], everything that carries out calls is a [`Mount`].
//!
//! Knows no back end and no wire format. What wraps a mount (count, slow down, fail, record) is a [`Tap`].

pub(crate) mod anew;
pub(crate) mod answer;
pub(crate) mod attr;
pub mod beyond;
pub mod call;
pub mod faults;
mod late;
pub(crate) mod ledger;
mod locked;
pub(crate) mod lowered;
pub(crate) mod mount;
pub(crate) mod node;
pub(crate) mod tap;
pub(crate) mod throttle;
pub(crate) mod trace;
pub(crate) mod trail;
pub(crate) mod unstable;
pub mod volume;

pub use anew::{Anew, Changer};
pub(crate) use answer::NO_PROGRESS;
pub use answer::{Cookie, DotDot, Entry, Found, Out, Page, Space, Verifier, Written};
pub use attr::{Attr, AttrChange, Kind, SetTime};
pub use beyond::{Beyond, Copied, Extras, Left, Lent, NO_XATTR, Rule, Sought, Was};
pub use call::{Call, How, Op, Special, Stable, Want};
pub use faults::Faults;
pub use ledger::{Ledger, Tally};
pub use locked::locked;
pub use lowered::Lowered;
pub use mount::{Limits, Mount, Shape};
pub(crate) use node::Errand;
pub use node::{Chain, Handle, Node};
pub use tap::{Tap, Tapped};
pub use throttle::Throttle;
pub use trace::Trace;
pub use trail::Trail;
pub use unstable::Unstable;
pub use volume::{Promise, Route, Spread, Volume};
