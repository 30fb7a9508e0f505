//! Positions of a log in Kafka: a record's offset and its partition in one number.
//!
//! Positions grow with offsets within a partition and differ between partitions, so that one cache serves all that a
//! process owns. The low ten bits are the partition; to the counters of MiB a record is as long as a KiB.

const SHIFT: u32 = 10;

/// Partitions that positions can tell apart.
pub(crate) const PARTITIONS_MAX: u16 = 1 << SHIFT;

/// The position of a record. Offsets are never negative; beyond 2^44 (at a million a second, half a year's) they would
/// not fit a ref.
pub(crate) fn position(partition: u16, offset: i64) -> u64 {
    u64::try_from(offset).unwrap_or_default() << SHIFT | u64::from(partition)
}

/// The offset of a record.
pub(crate) fn offset_of(position: u64) -> i64 {
    i64::try_from(position >> SHIFT).unwrap_or(i64::MAX)
}

/// The partition of a record.
pub(crate) fn partition_of(position: u64) -> u16 {
    u16::try_from(position & (u64::from(PARTITIONS_MAX) - 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_its_parts() {
        for (partition, offset) in [(0, 0), (7, 1), (1023, 1 << 40)] {
            let position = position(partition, offset);
            assert_eq!(
                (partition_of(position), offset_of(position)),
                (partition, offset)
            );
            assert!(position < 1 << 54, "a packed ref holds it");
        }
        assert!(position(1023, 5) < position(0, 6));
    }
}
