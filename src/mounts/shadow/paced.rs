//! How long a target takes for what it is not asked: as long as it would be if it were, in the time of the rehearsal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::price::Ceiling;
use crate::base::{Pace, PriceList};
use crate::storage::throttle::Clock;
use crate::storage::{Call, Mount, Shape, Tally};

/// A target: it serves one call after the other, each for its price, and what it has served is there a latency later.
pub struct Server {
    pace: Arc<Pace>,
    clock: Clock,
    price: PriceList,
    /// When the rehearsal's time is 0.
    origin: Instant,
}

impl Server {
    /// One of these ceilings and prices, whose time is `pace`'s.
    pub fn new(pace: &Arc<Pace>, ceiling: Ceiling, price: PriceList) -> Server {
        Server { pace: pace.clone(), clock: Clock::new(ceiling, price.clone()), price, origin: Instant::now() }
    }
}

/// A mount of it.
#[derive(Clone)]
pub struct Paced {
    /// Mounts of one target share what it gives.
    pub server: Arc<Server>,
    /// Answer time when it is idle.
    pub latency: Duration,
    /// How it is best driven then, where it is not the one that was measured.
    pub shape: Option<Shape>,
}

impl Paced {
    /// False when the rehearsal goes on without its time.
    pub fn is_followed(&self) -> bool {
        !self.server.pace.is_over()
    }

    /// When these are answered that come now; none where nothing is sent for them. `real` says what else than itself a call is.
    pub fn book(&self, calls: &[Call<'_>], real: &dyn Mount) -> Option<Duration> {
        let Server { pace, clock, price, origin } = &*self.server;
        let (mut sent, mut cost, mut bytes) = (0, 0, 0);
        for call in calls {
            let tally = if call.proc().is_nfs3() { Tally::of(call) } else { real.lower(call) };
            sent += tally.calls();
            cost += tally.price(price);
            bytes += tally.bytes();
        }
        let now = *origin + pace.now();
        (sent > 0).then(|| clock.book_all(now, cost, bytes).saturating_duration_since(*origin) + self.latency)
    }

    /// Waits until then.
    pub fn wait(&self, until: Option<Duration>) {
        until.into_iter().for_each(|until| self.server.pace.wait(until));
    }

    /// Asks what really takes its time, and is answered then.
    pub fn ask<R>(&self, until: Option<Duration>, ask: impl FnOnce() -> R) -> R {
        self.server.pace.wait_for(until.unwrap_or_default(), ask)
    }
}
