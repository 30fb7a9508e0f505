//! The length-prefixed message of a unary gRPC call.
//!
//! Source: gRPC over HTTP/2, "Length-Prefixed-Message": one byte of flags, four of length, the message.

use super::fault::Fault;
use crate::otlp::Refusal;
use bytes::{Buf, Bytes};

/// Flag and length.
pub(super) const PREFIX: u64 = 5;

/// One message as it came.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Compressed as `grpc-encoding` says.
    pub(super) compressed: bool,
    /// What follows the prefix; not copied.
    pub(super) payload: Bytes,
}

/// Length of the body, from its first piece; a message over `limit` is refused before the rest arrives.
pub(super) fn expected_body(first: &[u8], limit: u64) -> Result<Option<u64>, Fault> {
    let Some((_, length)) = prefix(first) else {
        return Ok(None);
    };
    if length > limit {
        return Err(Refusal::TooLarge {
            bytes: length,
            limit,
        }
        .into());
    }
    Ok(Some(length + PREFIX))
}

/// Takes the prefix off a whole body that must hold exactly one message.
pub(super) fn single_message(mut body: Bytes) -> Result<Message, Fault> {
    let Some((flags, length)) = prefix(&body) else {
        return Err(Fault::malformed("the gRPC message is cut short"));
    };
    body.advance(5);
    match (body.len() as u64).cmp(&length) {
        std::cmp::Ordering::Less => Err(Fault::malformed("the gRPC message is cut short")),
        std::cmp::Ordering::Greater => Err(Fault::malformed(
            "more than one message in a unary gRPC call",
        )),
        std::cmp::Ordering::Equal if flags > 1 => {
            Err(Fault::malformed("unknown gRPC message flags"))
        }
        std::cmp::Ordering::Equal => Ok(Message {
            compressed: flags == 1,
            payload: body,
        }),
    }
}

fn prefix(bytes: &[u8]) -> Option<(u8, u64)> {
    let [flags, length @ ..] = *bytes.first_chunk::<5>()?;
    Some((flags, u64::from(u32::from_be_bytes(length))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_whole_message_and_nothing_else() {
        let ok = |compressed, payload: &'static [u8]| {
            Ok(Message {
                compressed,
                payload: Bytes::from_static(payload),
            })
        };
        let cut = || Err(Fault::malformed("the gRPC message is cut short"));
        let check = |body: &'static [u8], expected| {
            assert_eq!(single_message(Bytes::from_static(body)), expected)
        };
        check(&[0, 0, 0, 0, 0], ok(false, b""));
        check(&[0, 0, 0, 0, 2, 7, 8], ok(false, &[7, 8]));
        check(&[1, 0, 0, 0, 1, 7], ok(true, &[7]));
        check(&[], cut());
        check(&[0, 0, 0, 0], cut());
        check(&[0, 0, 0, 0, 2, 7], cut());
        check(&[0, 255, 255, 255, 255, 7], cut());
        check(
            &[0, 0, 0, 0, 1, 7, 8],
            Err(Fault::malformed(
                "more than one message in a unary gRPC call",
            )),
        );
        check(
            &[2, 0, 0, 0, 1, 7],
            Err(Fault::malformed("unknown gRPC message flags")),
        );
    }

    #[test]
    fn a_declared_length_over_the_limit_is_refused_from_the_prefix_alone() {
        assert_eq!(expected_body(&[0, 0, 0, 0, 9, 1], 9), Ok(Some(14)));
        assert_eq!(
            expected_body(&[0, 0, 0, 0, 10], 9),
            Err(Refusal::TooLarge {
                bytes: 10,
                limit: 9
            }
            .into())
        );
        assert_eq!(expected_body(&[0, 0, 0], 9), Ok(None));
    }
}
