//! Protobuf written front to back, message lengths filled in when they are known.

/// Protobuf wire types that OTLP uses.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;
const FIXED32: u32 = 5;

/// A growing message.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: Vec<u8>,
}

/// Where an open message's content begins; one byte for its length stands before it.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub(super) struct Open(usize);

impl Writer {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            out: Vec::with_capacity(bytes),
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    pub(super) fn varint_field(&mut self, number: u32, value: u64) {
        self.tag(number, VARINT);
        self.varint(value);
    }

    pub(super) fn fixed64_field(&mut self, number: u32, value: u64) {
        self.tag(number, FIXED64);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn fixed32_field(&mut self, number: u32, value: u32) {
        self.tag(number, FIXED32);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn bytes_field(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, BYTES);
        self.varint(bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn open(&mut self, number: u32) -> Open {
        self.tag(number, BYTES);
        self.out.push(0);
        Open(self.out.len())
    }

    /// Writes the length before the content, which moves when the length needs more than the one byte kept for it:
    /// a handful of copies over the whole nesting of a span.
    pub(super) fn close(&mut self, Open(start): Open) {
        let end = self.out.len();
        let mut length = [0; 10];
        let digits = encode_varint((end - start) as u64, &mut length);
        let extra = digits.len() - 1;
        if extra > 0 {
            self.out.resize(end + extra, 0);
            self.out.copy_within(start..end, start + extra);
        }
        if let Some(place) = self.out.get_mut(start - 1..start + extra) {
            place.copy_from_slice(digits);
        }
    }

    fn tag(&mut self, number: u32, wire_type: u32) {
        self.varint(u64::from(number << 3 | wire_type));
    }

    fn varint(&mut self, value: u64) {
        let mut space = [0; 10];
        self.out.extend_from_slice(encode_varint(value, &mut space));
    }
}

fn encode_varint(mut value: u64, space: &mut [u8; 10]) -> &[u8] {
    let mut used = 0;
    for place in space.iter_mut() {
        used += 1;
        *place = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            break;
        }
        *place |= 0x80;
    }
    space.get(..used).unwrap_or(&[])
}
