//! Watches attributes go by and tells, at the end of a span, whether a known library wrote it: the part of the work that
//! every span pays for. One look-up for each attribute and one for the span's name; nothing is kept of a value.

use super::anomaly::Anomalies;
use super::dialects::{Dialects, KeyEntry, Marks, Test};
use super::draft::Draft;
use super::fold_text::unquoted;
use super::record::SpanRecord;
use super::words::Stand;
use crate::otlp::{AnyValue, Cursor, SpanBytes, SpanHead};

/// Finds the spans of one request that are about models, and reads them.
#[derive(Debug)]
pub struct Spotter<'d> {
    dialects: &'d Dialects,
    /// What the attributes of the present span have set.
    marks: Marks,
    /// The present resource is a gateway's.
    gateway: bool,
    scope: ScopeInHand,
    anomalies: Anomalies,
}

/// The scope of the span before: most spans have the same.
#[derive(Debug, Default)]
struct ScopeInHand {
    /// Address and length tell one message of a request from another.
    message: (usize, usize),
    marks: Marks,
}

impl<'d> Spotter<'d> {
    /// For one request: scopes are told apart by where they lie in it.
    #[must_use]
    pub fn new(dialects: &'d Dialects) -> Self {
        Self {
            dialects,
            marks: 0,
            gateway: false,
            scope: ScopeInHand::default(),
            anomalies: Anomalies::default(),
        }
    }

    /// Values that were left out so far.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.anomalies
    }

    /// A resource begins.
    pub fn begin_resource(&mut self) {
        self.gateway = false;
    }

    /// An attribute of the present resource.
    pub fn resource_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        if key == b"service.name"
            && let AnyValue::Str(name) = value
        {
            self.gateway |= self.dialects.gateways.contains(name);
        }
    }

    /// A span begins.
    #[inline]
    pub fn begin_span(&mut self) {
        self.marks = 0;
    }

    /// An attribute of the present span.
    #[inline]
    pub fn span_attribute(&mut self, key: &[u8], value: AnyValue<'_>) {
        if let Some(entry) = self.dialects.key(key) {
            self.marks |= entry.marks;
            if !entry.values.is_empty() {
                self.marks |= value_marks(entry, value);
            }
        }
    }

    /// The present span is sound: what it says, when a known library wrote it.
    #[inline]
    pub fn end_span<'a>(
        &mut self,
        head: &SpanHead,
        bytes: &SpanBytes<'a>,
    ) -> Option<SpanRecord<&'a [u8]>>
    where
        'd: 'a,
    {
        let own = (bytes.scope_spans.as_ptr().addr(), bytes.scope_spans.len());
        if self.scope.message != own {
            self.scope = ScopeInHand {
                message: own,
                marks: self.dialects.scope(scope_name(bytes.scope_spans)),
            };
        }
        let name = self.dialects.span_name(bytes.name);
        let marks = self.marks | self.scope.marks | name.map_or(0, |name| name.marks);
        if marks == 0 {
            return None;
        }
        self.read(marks, head, bytes)
    }

    /// The present log record is sound: the evaluations that it reports. Whatever else it says of a call, the call's span
    /// says itself.
    pub fn end_record<'a>(&mut self, record: &'a [u8]) -> Option<SpanRecord<&'a [u8]>>
    where
        'd: 'a,
    {
        if self.marks == 0 {
            return None;
        }
        let test = *self.dialects.test(self.marks)?;
        Draft::judged(self.dialects, test, record, &mut self.anomalies)
    }

    fn read<'a>(
        &mut self,
        mut marks: Marks,
        head: &SpanHead,
        bytes: &SpanBytes<'a>,
    ) -> Option<SpanRecord<&'a [u8]>>
    where
        'd: 'a,
    {
        /// `SpanKind` SERVER.
        const SERVER: u32 = 2;
        if head.kind == SERVER {
            marks |= self.dialects.server;
        }
        let mut test: Test = *self.dialects.test(marks)?;
        if self.gateway && test.stand != Stand::Engine {
            test.stand = Stand::Gateway;
        }
        Some(Draft::read(
            self.dialects,
            test,
            head,
            bytes,
            &mut self.anomalies,
        ))
    }
}

#[cold]
fn value_marks(entry: &KeyEntry, value: AnyValue<'_>) -> Marks {
    let AnyValue::Str(text) = value else {
        return 0;
    };
    let text = unquoted(text);
    entry
        .values
        .iter()
        .filter(|(wanted, _)| **wanted == *text)
        .fold(0, |marks, (_, bit)| marks | bit)
}

/// The name of the scope of a `ScopeSpans` message; empty when it has none.
fn scope_name(scope_spans: &[u8]) -> &[u8] {
    let mut name: &[u8] = &[];
    // The message was walked by the scan: an error cannot come up here, and would only end the walk.
    let mut cursor = Cursor::new(scope_spans);
    while let Ok(Some((number, field))) = cursor.next() {
        if let (1, Ok(scope)) = (number, field.bytes()) {
            let mut inner = Cursor::new(scope);
            while let Ok(Some((number, field))) = inner.next() {
                if let (1, Ok(text)) = (number, field.bytes()) {
                    name = text;
                }
            }
        }
    }
    name
}
