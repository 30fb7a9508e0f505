//! Services whose spans do not wait for their trace: `services.NAME.mode`.
//!
//! With `head` a coin over the trace id is tossed before the log: losers never reach it, winners leave at once. With `off`
//! everything leaves at once. The rules never see such spans. What was stored under other settings meets the mode again
//! when it is folded, so that the same spans have the same end whenever the log is read. Pure: a function of the service, the
//! trace and the settings.

use super::evidence::Evidence;
use crate::log::{ServiceId, Services};
use crate::otlp::{ALWAYS, NEVER, TraceId, randomness_of};
use crate::rules::{Coin, DEFAULT_SALT};

/// How the spans of a service are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ServiceMode {
    /// With their trace, by the rules.
    #[default]
    Tail,
    /// By a coin before the log; a share of the traces in percent.
    Head(f64),
    /// Not at all: everything leaves.
    Off,
}

/// A service that has a mode of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Passage {
    Head(HeadCoin),
    Off,
}

impl Passage {
    /// Under which threshold spans of the trace leave; `None`: they do not.
    pub(crate) fn threshold(&self, trace: TraceId) -> Option<u64> {
        match self {
            Self::Head(coin) => coin.threshold(trace),
            Self::Off => Some(ALWAYS),
        }
    }

    pub(crate) fn evidence(&self) -> Evidence {
        match self {
            Self::Head(_) => Evidence::Head,
            Self::Off => Evidence::Off,
        }
    }
}

/// The coin of the policy `probabilistic` with the default salt, so that both keep the same traces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeadCoin {
    coin: Coin,
    /// Thresholds are written into spans, so they must be what was applied.
    by_randomness: bool,
}

impl HeadCoin {
    fn threshold(&self, trace: TraceId) -> Option<u64> {
        let consistent = self.coin.consistent;
        let keeps = match self.by_randomness {
            true => randomness_of(trace) >= consistent,
            false => self.coin.keeps(trace),
        };
        // A hash may keep what the 56 bits of a threshold cannot tell.
        keeps.then_some(consistent.min(NEVER - 1))
    }
}

/// The modes of all services; the same for all pipelines of a process.
#[derive(Debug, Default)]
pub struct ServiceModes {
    /// By the service's number; `None`: at the tail.
    by_id: Vec<Option<Passage>>,
}

impl ServiceModes {
    /// Each named service gets an account of its own. `by_randomness`: thresholds are those of consistent sampling.
    pub fn new<'a>(
        modes: impl IntoIterator<Item = (&'a str, ServiceMode)>,
        services: &Services,
        by_randomness: bool,
    ) -> Self {
        let mut by_id = Vec::new();
        for (name, mode) in modes {
            let passage = match mode {
                ServiceMode::Tail => continue,
                ServiceMode::Off => Passage::Off,
                ServiceMode::Head(percentage) => Passage::Head(HeadCoin {
                    coin: Coin::new(percentage, DEFAULT_SALT),
                    by_randomness,
                }),
            };
            let id = services.reserve(name).0 as usize;
            by_id.resize(by_id.len().max(id + 1), None);
            if let Some(slot) = by_id.get_mut(id) {
                *slot = Some(passage);
            }
        }
        Self { by_id }
    }

    /// Every service is sampled at the tail.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(crate) fn of(&self, service: ServiceId) -> Option<&Passage> {
        self.by_id.get(service.0 as usize)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{MemorySettings, OnFull};

    fn services() -> Services {
        Services::new(&MemorySettings {
            total: 1 << 20,
            per_service_default: 1 << 20,
            per_service: vec![],
            on_full: OnFull::Spill,
            on_full_of: vec![],
        })
    }

    #[test]
    fn a_service_has_the_mode_that_its_name_has() {
        let services = services();
        let modes = [
            ("all", ServiceMode::Off),
            ("tail", ServiceMode::Tail),
            ("none", ServiceMode::Head(0.0)),
            ("half", ServiceMode::Head(50.0)),
        ];
        let modes = ServiceModes::new(modes, &services, false);
        let check = |name: &str, expected: Option<(Evidence, usize)>| {
            let passage = modes.of(services.intern(name));
            let leave = |passage: &Passage| {
                let leaves = |trace: &u128| {
                    passage
                        .threshold(TraceId(trace.wrapping_mul(SPREAD)))
                        .is_some()
                };
                (passage.evidence(), (1..=1000).filter(leaves).count())
            };
            assert_eq!(passage.map(leave), expected, "{name}");
        };
        check("all", Some((Evidence::Off, 1000)));
        check("tail", None);
        check("none", Some((Evidence::Head, 0)));
        check("half", Some((Evidence::Head, HALF)));
        check("another", None);
        check("other", None);
    }

    /// Ids must differ in more than their last bytes, or their hashes are alike.
    const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    /// Of the 1000 ids, those that the Collector's `probabilistic` keeps at 50 percent.
    const HALF: usize = 516;

    #[test]
    fn the_threshold_is_the_one_that_was_applied() {
        let services = services();
        let coin = [("a", ServiceMode::Head(25.0))];
        let modes = ServiceModes::new(coin, &services, true);
        let passage = modes.of(services.intern("a")).unwrap();
        let quarter = 3 << 54;
        for (randomness, expected) in [(quarter - 1, None), (quarter, Some(quarter)), (0, None)] {
            let trace = TraceId(0xabc << 56 | u128::from(randomness));
            assert_eq!(passage.threshold(trace), expected, "{randomness:x}");
        }
    }
}
