//! When to try again: exponential backoff with jitter, under what the server asked for.
//!
//! Source: the Collector's `retry_on_failure` (exporterhelper): the n-th delay is drawn evenly from
//! `interval * (1 ± randomization_factor)`, the interval grows by `multiplier` up to `max_interval`; a server's delay is
//! a minimum. Jitter comes from a seeded generator, so that tests are exact. What waits is the cursor.

use crate::clock::{Nanos, SharedClock};
use std::time::Duration;

/// The Collector's default.
const INITIAL_INTERVAL: Duration = Duration::from_secs(5);
/// The Collector's default.
const RANDOMIZATION_FACTOR: f64 = 0.5;
/// The Collector's default.
const MULTIPLIER: f64 = 1.5;
/// The Collector's default.
const MAX_INTERVAL: Duration = Duration::from_secs(30);

/// Settings of zero must not make a busy loop.
const SHORTEST_DELAY: Duration = Duration::from_millis(10);

/// `retry_on_failure`, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrySettings {
    /// Whether a batch is tried again at all.
    pub enabled: bool,
    /// The first delay before jitter.
    pub initial_interval: Duration,
    /// Jitter, as a share of the delay: 0 is none, 0.5 is half more or less. Within 0..=1.
    pub randomization_factor: f64,
    /// Growth of the delay from one try to the next, at least 1.
    pub multiplier: f64,
    /// The largest delay before jitter.
    pub max_interval: Duration,
    /// Time from the first failure after which a batch is given up; `None`: never.
    pub max_elapsed_time: Option<Duration>,
}

impl RetrySettings {
    /// The Collector's defaults, but without an end: a default never loses data (design.md section 3).
    #[must_use]
    pub fn collector() -> Self {
        Self {
            enabled: true,
            initial_interval: INITIAL_INTERVAL,
            randomization_factor: RANDOMIZATION_FACTOR,
            multiplier: MULTIPLIER,
            max_interval: MAX_INTERVAL,
            max_elapsed_time: None,
        }
    }
}

/// The delays of one batch, from its first failure to its success or its end.
#[derive(Debug)]
pub struct Backoff {
    settings: RetrySettings,
    clock: SharedClock,
    random: SplitMix,
    interval: f64,
    started: Nanos,
}

impl Backoff {
    /// A backoff whose time (`max_elapsed_time`) runs from now. Different exporters should have different seeds, so
    /// that they do not come back all at once.
    #[must_use]
    pub fn new(settings: &RetrySettings, seed: u64, clock: SharedClock) -> Self {
        let started = clock.monotonic();
        let interval = first_interval(settings);
        Self {
            settings: settings.clone(),
            clock,
            random: SplitMix(seed),
            interval,
            started,
        }
    }

    /// How long to wait before the next try, at least `server_asked`. `None`: give the batch up, because retry is off
    /// or the next try would come after `max_elapsed_time`.
    pub fn next(&mut self, server_asked: Option<Duration>) -> Option<Duration> {
        if !self.settings.enabled {
            return None;
        }
        let delay = self
            .jittered()
            .max(server_asked.unwrap_or_default())
            .max(SHORTEST_DELAY);
        self.interval = (self.interval * self.settings.multiplier)
            .min(self.settings.max_interval.as_secs_f64());
        match self.settings.max_elapsed_time {
            Some(end) if self.elapsed().saturating_add(delay) > end => None,
            _ => Some(delay),
        }
    }

    /// Starts anew after a success: the first interval, and a full `max_elapsed_time`.
    pub fn reset(&mut self) {
        self.interval = first_interval(&self.settings);
        self.started = self.clock.monotonic();
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.monotonic().saturating_sub(self.started))
    }

    fn jittered(&mut self) -> Duration {
        let spread = self.settings.randomization_factor.clamp(0.0, 1.0);
        let factor = 1.0 - spread + 2.0 * spread * self.random.unit();
        Duration::try_from_secs_f64(self.interval * factor).unwrap_or(self.settings.max_interval)
    }
}

/// `max_interval` holds for the first delay, too.
fn first_interval(settings: &RetrySettings) -> f64 {
    settings
        .initial_interval
        .min(settings.max_interval)
        .as_secs_f64()
}

/// The splitmix64 generator: eight lines, well spread from any seed.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly from `0.0..1.0`; 53 bits are what an f64 holds.
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, SECOND};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn at_zero() -> Arc<ManualClock> {
        Arc::new(ManualClock::at(0))
    }

    fn plain() -> RetrySettings {
        RetrySettings {
            randomization_factor: 0.0,
            ..RetrySettings::collector()
        }
    }

    #[test]
    fn grows_to_the_maximum_and_never_ends_by_default() {
        let mut backoff = Backoff::new(&plain(), 1, at_zero());
        let delays: Vec<f64> = (0..8)
            .map(|_| backoff.next(None).unwrap().as_secs_f64())
            .collect();
        assert_eq!(delays, [5.0, 7.5, 11.25, 16.875, 25.3125, 30.0, 30.0, 30.0]);
        assert!((0..10_000).all(|_| backoff.next(None).is_some()));
        backoff.reset();
        assert_eq!(backoff.next(None), Some(Duration::from_secs(5)));
    }

    #[test]
    fn the_server_is_asked_for_a_minimum() {
        let check = |asked: u64, expected: u64| {
            let mut backoff = Backoff::new(&plain(), 1, at_zero());
            assert_eq!(
                backoff.next(Some(Duration::from_secs(asked))),
                Some(Duration::from_secs(expected))
            );
        };
        check(0, 5);
        check(4, 5);
        check(6, 6);
        check(600, 600);
    }

    #[test]
    fn ends_when_the_next_try_would_come_too_late() {
        let settings = RetrySettings {
            max_elapsed_time: Some(Duration::from_secs(20)),
            ..plain()
        };
        let clock = at_zero();
        let mut backoff = Backoff::new(&settings, 1, clock.clone());
        assert_eq!(backoff.next(None), Some(Duration::from_secs(5)));
        clock.advance(12 * SECOND);
        assert_eq!(
            backoff.next(None),
            Some(Duration::from_millis(7_500)),
            "12 + 7.5 is within 20"
        );
        clock.advance(SECOND);
        assert_eq!(backoff.next(None), None, "13 + 11.25 is not");
        backoff.reset();
        assert_eq!(
            backoff.next(Some(Duration::from_secs(21))),
            None,
            "nor is what the server asked for"
        );
    }

    #[test]
    fn zero_is_not_a_busy_loop() {
        let settings = RetrySettings {
            initial_interval: Duration::ZERO,
            max_interval: Duration::ZERO,
            ..plain()
        };
        assert_eq!(
            Backoff::new(&settings, 1, at_zero()).next(None),
            Some(SHORTEST_DELAY)
        );
    }

    #[test]
    fn off_means_no_second_try() {
        let settings = RetrySettings {
            enabled: false,
            ..plain()
        };
        assert_eq!(
            Backoff::new(&settings, 1, at_zero()).next(Some(Duration::from_secs(1))),
            None
        );
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix(1_234_567);
        // The published first outputs for this seed.
        let outputs: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            outputs,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    proptest! {
        #[test]
        fn every_delay_is_within_its_jitter(
            seed: u64, initial_ms in 1_u64..60_000, factor in 0.0..1.0_f64, multiplier in 1.0..10.0_f64,
            max_ms in 1_u64..600_000, asked in proptest::option::of(0_u64..100_000),
        ) {
            let settings = RetrySettings {
                enabled: true,
                initial_interval: Duration::from_millis(initial_ms),
                randomization_factor: factor,
                multiplier,
                max_interval: Duration::from_millis(max_ms),
                max_elapsed_time: None,
            };
            let asked = asked.map(Duration::from_millis);
            let mut backoff = Backoff::new(&settings, seed, at_zero());
            let mut again = Backoff::new(&settings, seed, at_zero());
            let mut base = settings.initial_interval.min(settings.max_interval).as_secs_f64();
            for _ in 0..20 {
                let delay = backoff.next(asked).unwrap();
                prop_assert_eq!(Some(delay), again.next(asked), "the same seed draws the same");
                let floor = asked.unwrap_or_default().max(SHORTEST_DELAY).as_secs_f64();
                prop_assert!(delay.as_secs_f64() >= (base * (1.0 - factor)).max(floor) - 1e-6);
                prop_assert!(delay.as_secs_f64() <= (base * (1.0 + factor)).max(floor) + 1e-6);
                base = (base * multiplier).min(settings.max_interval.as_secs_f64());
            }
        }

        #[test]
        fn the_total_wait_never_passes_the_limit(seed: u64, limit_s in 1_u64..600) {
            let settings =
                RetrySettings { max_elapsed_time: Some(Duration::from_secs(limit_s)), ..RetrySettings::collector() };
            let clock = at_zero();
            let mut backoff = Backoff::new(&settings, seed, clock.clone());
            let mut waited = Duration::ZERO;
            while let Some(delay) = backoff.next(None) {
                clock.advance(u64::try_from(delay.as_nanos()).unwrap());
                waited += delay;
                prop_assert!(waited <= Duration::from_secs(limit_s));
            }
        }
    }
}
