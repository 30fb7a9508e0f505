//! Where a piece lies in the log.

/// The place of one piece: the spans of one trace in one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ref {
    /// Position of the record (embedded: of the frame, in bytes since the log began; Kafka: the offset).
    pub position: u64,
    /// Where the piece's bytes begin, counted from `position` (embedded) or in the record's value (Kafka).
    pub offset: u32,
    /// Length of the piece in bytes: a whole `TracesData` message (one or more `resource_spans`).
    pub length: u32,
}
