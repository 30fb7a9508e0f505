//! Which partition owns a trace: bit-equal to what the Collector's Kafka exporter computes.

use super::TraceId;

const OFFSET_BASIS: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

/// FNV-1a 32 of the lower-case hex trace id, as Sarama's hash partitioner reads it: the absolute value of the hash as
/// a signed number, modulo `partitions` (which must not be 0).
#[must_use]
pub fn partition_of(trace: TraceId, partitions: u16) -> u16 {
    let hash = trace.hex().iter().fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(PRIME)
    });
    let positive = hash.cast_signed().unsigned_abs();
    #[allow(clippy::cast_possible_truncation, reason = "a remainder of a u16")]
    let partition = (positive % u32::from(partitions)) as u16;
    partition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_sarama_and_librdkafka() {
        // Independent computation and rdkafka delivery reports agreed on these.
        let vectors = [
            ("0102030405060708090a0b0c0d0e0f10", 6, 2, 14),
            ("4bf92f3577b34da6a3ce929d0e0e4736", 6, 6, 46),
            ("00000000000000000000000000000001", 6, 6, 14),
            ("ffffffffffffffffffffffffffffffff", 3, 3, 59),
            ("5b8efff798038103d269b633813fc60c", 1, 5, 25),
        ];
        for (hex, of_8, of_12, of_64) in vectors {
            let id = TraceId::from_hex(hex).unwrap();
            assert_eq!(
                [
                    partition_of(id, 8),
                    partition_of(id, 12),
                    partition_of(id, 64)
                ],
                [of_8, of_12, of_64],
                "{hex}"
            );
        }
    }
}
