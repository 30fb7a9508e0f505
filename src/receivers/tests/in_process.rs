//! Requests from the same process.

use super::recorder::{Recorder, destination};
use crate::otlp::{Accepted, Refusal};
use crate::receivers::{InProcess, RefusalReason, Transport};
use bytes::Bytes;

#[tokio::test]
async fn the_same_path_and_the_same_limits() {
    let recorder = Recorder::accepting();
    let destination = destination(&recorder, 1000);
    let handle = InProcess::new(destination.clone());
    let request = Bytes::from_static(b"request");
    assert_eq!(
        handle.submit(request.clone()).await,
        Ok(Accepted {
            spans: 1,
            ..Accepted::default()
        })
    );
    assert_eq!(recorder.taken(), [request]);
    assert!(matches!(
        handle.submit(vec![0; 1001].into()).await,
        Err(Refusal::Full { .. })
    ));
    let stats = destination.stats.of(Transport::InProcess);
    assert_eq!(
        (
            stats.requests(),
            stats.accepted_spans(),
            stats.refused(RefusalReason::Full)
        ),
        (2, 1, 1)
    );
    assert_eq!(destination.budget.used(), 0);
}
