//! The coin of `head` services at intake: the spans of losers go before a request is laid out for the log.
//!
//! Losers are acknowledged and counted by service, and never reach the log. They are counted once the rest of their
//! request is in it: a sender repeats what was refused, and the coin falls the same way again.

use super::service_modes::{Passage, ServiceModes};
use crate::log::{ServiceId, Services};
use crate::otlp::{Scan, SpanPlace, index};
use std::sync::atomic::Ordering;

/// What a coin has left of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tossed {
    /// Which of the request's sound spans are left.
    winners: Vec<u32>,
    pub(super) losers: Losers,
}

/// Spans by service.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Losers(Vec<(ServiceId, u64)>);

impl Tossed {
    /// Takes the losers out of a scan; `None` when no service of the request has a coin. `services` are those of its
    /// resources.
    pub(super) fn of(
        modes: &ServiceModes,
        scan: &mut Scan,
        services: &[ServiceId],
    ) -> Option<Self> {
        let has_coin = |service: &ServiceId| matches!(modes.of(*service), Some(Passage::Head(_)));
        if modes.is_empty() || !services.iter().any(has_coin) {
            return None;
        }
        let mut winners = Vec::with_capacity(scan.spans.len());
        let mut losers = Losers::default();
        let mut number = 0;
        let Scan { spans, scopes, .. } = scan;
        let service_of = |span: &SpanPlace| {
            let scope = scopes.get(span.scope as usize)?;
            services.get(scope.resource as usize).copied()
        };
        spans.retain(|span| {
            let service = service_of(span).unwrap_or(ServiceId(0));
            let wins = modes
                .of(service)
                .is_none_or(|passage| passage.threshold(span.trace).is_some());
            if wins {
                winners.push(index(number));
            } else {
                losers.add(service);
            }
            number += 1;
            wins
        });
        Some(Self { winners, losers })
    }

    /// From places among the winners to places among all.
    pub(super) fn among_all(&self, order: &mut [u32]) {
        for place in order {
            *place = self.winners.get(*place as usize).copied().unwrap_or(*place);
        }
    }
}

impl Losers {
    fn add(&mut self, service: ServiceId) {
        match self.0.iter_mut().find(|(other, _)| *other == service) {
            Some((_, spans)) => *spans += 1,
            None => self.0.push((service, 1)),
        }
    }

    /// They are gone for good.
    pub(super) fn count(&self, services: &Services) {
        for (service, spans) in &self.0 {
            let account = services.account(*service);
            account.lost_coin.fetch_add(*spans, Ordering::Relaxed);
        }
    }
}
