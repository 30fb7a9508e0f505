//! Re-encodes OTLP messages as the Go Collector writes them: fields in falling order, repeated ones in their own order.
//!
//! Works on the wire alone, so unknown fields survive. For tests and benchmarks only; panics on malformed bytes.

/// The OTLP messages that have messages inside.
#[derive(Clone, Copy)]
pub enum Kind {
    Request,
    ResourceSpans,
    Resource,
    ScopeSpans,
    Scope,
    Span,
    Event,
    Link,
    KeyValue,
    AnyValue,
    Array,
    Map,
    Leaf,
}

fn child(kind: Kind, number: u64) -> Kind {
    match (kind, number) {
        (Kind::Request, 1) => Kind::ResourceSpans,
        (Kind::ResourceSpans, 1) => Kind::Resource,
        (Kind::ResourceSpans, 2) => Kind::ScopeSpans,
        (Kind::ScopeSpans, 1) => Kind::Scope,
        (Kind::ScopeSpans, 2) => Kind::Span,
        (Kind::Resource, 1)
        | (Kind::Scope | Kind::Event, 3)
        | (Kind::Span, 9)
        | (Kind::Link, 4)
        | (Kind::Map, 1) => Kind::KeyValue,
        (Kind::Span, 11) => Kind::Event,
        (Kind::Span, 13) => Kind::Link,
        (Kind::KeyValue, 2) | (Kind::Array, 1) => Kind::AnyValue,
        (Kind::AnyValue, 5) => Kind::Array,
        (Kind::AnyValue, 6) => Kind::Map,
        _ => Kind::Leaf,
    }
}

/// `message` with every level's fields in falling order.
pub fn backwards(kind: Kind, message: &[u8]) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < message.len() {
        let start = at;
        let tag = varint(message, &mut at);
        let number = tag >> 3;
        let field = match tag & 7 {
            0 => {
                varint(message, &mut at);
                message[start..at].to_vec()
            }
            1 => take(message, start, &mut at, 8),
            5 => take(message, start, &mut at, 4),
            2 => {
                let length = usize::try_from(varint(message, &mut at)).unwrap();
                let payload = &message[at..at + length];
                at += length;
                let payload = match child(kind, number) {
                    Kind::Leaf => payload.to_vec(),
                    inner => backwards(inner, payload),
                };
                let mut field = Vec::new();
                put(&mut field, tag);
                put(&mut field, payload.len() as u64);
                field.extend(payload);
                field
            }
            other => panic!("wire type {other}"),
        };
        fields.push((number, field));
    }
    fields.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    fields.into_iter().flat_map(|(_, field)| field).collect()
}

fn take(message: &[u8], start: usize, at: &mut usize, n: usize) -> Vec<u8> {
    *at += n;
    message[start..*at].to_vec()
}

fn varint(message: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = message[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    unreachable!()
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
