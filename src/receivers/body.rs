//! A request body into one `Bytes`, charged to the budget as it arrives.
//!
//! Invariants: never more than the limit is held; a body that fits into one frame is not copied; a sender that falls
//! silent is given up after the idle time, so that it cannot keep its share of the budget.

use super::fault::Fault;
use crate::otlp::{Refusal, Reservation};
use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::time::timeout;

/// What a body may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// Bytes on the wire.
    pub(super) max_bytes: u64,
    /// Longest silence between two pieces.
    pub(super) idle: Duration,
}

/// Reads `body` whole. `expect` sees the first piece and says how long the body will be, if that is known, or why it is
/// refused at once.
pub(super) async fn collect<B: Body<Data = Bytes> + Unpin>(
    body: &mut B,
    limits: BodyLimits,
    held: &mut Reservation,
    expect: impl Fn(&[u8]) -> Result<Option<u64>, Fault>,
) -> Result<Bytes, Fault> {
    let Some(first) = next(body, limits, held).await? else {
        return Ok(Bytes::new());
    };
    let expected = expect(&first)?.unwrap_or(0).min(limits.max_bytes);
    let Some(second) = next(body, limits, held).await? else {
        return Ok(first);
    };
    let known = usize::try_from(expected).unwrap_or(usize::MAX);
    let mut whole = BytesMut::with_capacity(known.max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    drop((first, second));
    while let Some(piece) = next(body, limits, held).await? {
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// The next piece of data, already charged; `None` at the end.
async fn next<B: Body<Data = Bytes> + Unpin>(
    body: &mut B,
    limits: BodyLimits,
    held: &mut Reservation,
) -> Result<Option<Bytes>, Fault> {
    loop {
        let frame = timeout(limits.idle, body.frame())
            .await
            .map_err(|_| Fault::Stalled)?;
        let Some(frame) = frame else { return Ok(None) };
        let Ok(data) = frame.map_err(|_| Fault::Gone)?.into_data() else {
            continue;
        };
        if data.is_empty() {
            continue;
        }
        let bytes = held.bytes().saturating_add(data.len() as u64);
        if bytes > limits.max_bytes {
            return Err(Refusal::TooLarge {
                bytes,
                limit: limits.max_bytes,
            }
            .into());
        }
        if !held.grow(data.len() as u64) {
            return Err(Fault::budget_full());
        }
        return Ok(Some(data));
    }
}

/// Reads and forgets what is left of a refused body, up to `most` bytes and for at most `patience`, so that an HTTP/1.1
/// sender that is still writing gets to read the answer instead of a reset connection.
pub(super) async fn discard<B: Body<Data = Bytes> + Unpin>(
    body: &mut B,
    most: u64,
    patience: Duration,
) {
    let reading = async {
        let mut left = most;
        while let Some(Ok(frame)) = body.frame().await {
            let size = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(size) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    let _ = timeout(patience, reading).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::IntakeBudget;
    use http_body::Frame;
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    struct Pieces(VecDeque<Bytes>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }
    }

    fn pieces(sizes: &[usize]) -> Pieces {
        Pieces(sizes.iter().map(|size| vec![7; *size].into()).collect())
    }

    const LIMITS: BodyLimits = BodyLimits {
        max_bytes: 100,
        idle: Duration::from_secs(1),
    };

    #[tokio::test]
    async fn bodies_are_bounded_by_limit_and_budget() {
        let check = async |sizes: &[usize], budget: u64, expected: Result<usize, Fault>| {
            let budget = IntakeBudget::new(budget);
            let mut held = budget.reservation();
            let outcome = collect(&mut pieces(sizes), LIMITS, &mut held, |_| Ok(None)).await;
            assert_eq!(outcome.map(|body| body.len()), expected, "{sizes:?}");
            assert!(budget.used() <= LIMITS.max_bytes);
            drop(held);
            assert_eq!(budget.used(), 0);
        };
        let too_large = |bytes| Err(Refusal::TooLarge { bytes, limit: 100 }.into());
        check(&[], 1000, Ok(0)).await;
        check(&[0, 0], 1000, Ok(0)).await;
        check(&[100], 1000, Ok(100)).await;
        check(&[101], 1000, too_large(101)).await;
        check(&[1, 0, 50, 49], 1000, Ok(100)).await;
        check(&[1, 50, 50, 1000], 1000, too_large(101)).await;
        check(&[40, 40], 79, Err(Fault::budget_full())).await;
        check(&[40, 40], 80, Ok(80)).await;
    }

    #[tokio::test]
    async fn one_piece_is_not_copied() {
        let mut body = pieces(&[50]);
        let sent = body.0[0].as_ptr();
        let mut held = IntakeBudget::new(100).reservation();
        let got = collect(&mut body, LIMITS, &mut held, |_| Ok(Some(50)))
            .await
            .unwrap();
        assert_eq!((got.as_ptr(), got.len()), (sent, 50));
    }

    #[tokio::test]
    async fn an_announced_refusal_reads_no_further() {
        let mut body = pieces(&[1, 1]);
        let mut held = IntakeBudget::new(100).reservation();
        let outcome = collect(&mut body, LIMITS, &mut held, |_| {
            Err(Fault::malformed("no"))
        })
        .await;
        assert_eq!((outcome, body.0.len()), (Err(Fault::malformed("no")), 1));
        discard(&mut body, 100, Duration::from_secs(1)).await;
        assert!(body.0.is_empty());
    }
}
