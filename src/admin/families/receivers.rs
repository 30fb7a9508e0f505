//! What came in, and what was refused at the door.

use crate::admin::inventory::{
    ACCEPTED_POINTS, ACCEPTED_RECORDS, ACCEPTED_SPANS, KAFKA_DEAD_LETTERS, KAFKA_LAG, KAFKA_LOST,
    KAFKA_PARTITIONS, KAFKA_REBALANCES, RECEIVED_BYTES, REFUSED_POINTS, REFUSED_RECORDS,
    REFUSED_REQUESTS, REFUSED_SPANS, REQUESTS,
};
use crate::admin::page::Page;
use crate::admin::sources::Sources;
use crate::receivers::{KafkaStats, RefusalReason, Transport};

pub(super) fn fill(page: &Page, sources: &Sources) {
    for receiver in &sources.receivers {
        for transport in Transport::ALL {
            let stats = receiver.stats.of(transport);
            let labels = [receiver.id.as_str(), transport.label()];
            page.count(&ACCEPTED_SPANS, &labels, stats.accepted_spans());
            page.count(&REFUSED_SPANS, &labels, stats.refused_spans());
            page.count(&ACCEPTED_RECORDS, &labels, stats.accepted_records());
            page.count(&REFUSED_RECORDS, &labels, stats.refused_records());
            page.count(&ACCEPTED_POINTS, &labels, stats.accepted_points());
            page.count(&REFUSED_POINTS, &labels, stats.refused_points());
            page.count(&REQUESTS, &labels, stats.requests());
            page.count(&RECEIVED_BYTES, &labels, stats.bytes());
            for reason in RefusalReason::ALL {
                let labels = [receiver.id.as_str(), transport.label(), reason.label()];
                page.count(&REFUSED_REQUESTS, &labels, stats.refused(reason));
            }
        }
        kafka(page, &receiver.id, receiver.stats.kafka());
    }
}

/// Nothing where no partition ever came.
fn kafka(page: &Page, receiver: &str, stats: &KafkaStats) {
    if stats.rebalances() == 0 {
        return;
    }
    page.amount(&KAFKA_LAG, &[receiver], stats.lag());
    page.amount(&KAFKA_PARTITIONS, &[receiver], stats.partitions());
    page.count(&KAFKA_REBALANCES, &[receiver], stats.rebalances());
    page.count(&KAFKA_LOST, &[receiver], stats.lost());
    page.count(&KAFKA_DEAD_LETTERS, &[receiver], stats.dead_lettered());
}
