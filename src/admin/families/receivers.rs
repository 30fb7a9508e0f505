//! What came in, and what was refused at the door.

use crate::admin::inventory::{
    ACCEPTED_SPANS, RECEIVED_BYTES, REFUSED_REQUESTS, REFUSED_SPANS, REQUESTS,
};
use crate::admin::page::Page;
use crate::admin::sources::Sources;
use crate::receivers::{RefusalReason, Transport};

pub(super) fn fill(page: &Page, sources: &Sources) {
    for receiver in &sources.receivers {
        for transport in Transport::ALL {
            let stats = receiver.stats.of(transport);
            let labels = [receiver.id.as_str(), transport.label()];
            page.count(&ACCEPTED_SPANS, &labels, stats.accepted_spans());
            page.count(&REFUSED_SPANS, &labels, stats.refused_spans());
            page.count(&REQUESTS, &labels, stats.requests());
            page.count(&RECEIVED_BYTES, &labels, stats.bytes());
            for reason in RefusalReason::ALL {
                let labels = [receiver.id.as_str(), transport.label(), reason.label()];
                page.count(&REFUSED_REQUESTS, &labels, stats.refused(reason));
            }
        }
    }
}
