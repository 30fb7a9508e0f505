//! What the group's offset of a partition carries beside the offset: where a restart begins, and how far each exporter is.
//!
//! It is committed with the decisions, in one transaction. Brokers hold 4 KiB of metadata for an offset
//! (`offset.metadata.max.bytes`); a position takes some hundred bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use prost::Message;

/// Before the text, so that nobody takes another program's metadata for it.
const MAGIC: &str = "tw1:";

/// Named values.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Points {
    #[prost(message, repeated, tag = "1")]
    points: Vec<Point>,
}

#[derive(Clone, PartialEq, Eq, Message)]
struct Point {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

impl Points {
    /// What a committed offset carries; nothing when it is not ours.
    pub(super) fn parse(metadata: &str) -> Self {
        metadata
            .strip_prefix(MAGIC)
            .and_then(|text| STANDARD_NO_PAD.decode(text).ok())
            .and_then(|bytes| Self::decode(&bytes[..]).ok())
            .unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        format!("{MAGIC}{}", STANDARD_NO_PAD.encode(self.encode_to_vec()))
    }

    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.points.iter().find(|point| point.name == name);
        found.map(|point| &point.value[..])
    }

    pub(super) fn set(&mut self, name: &str, value: &[u8]) {
        let value = value.to_vec();
        match self.points.iter_mut().find(|point| point.name == name) {
            Some(point) => point.value = value,
            None => self.points.push(Point {
                name: name.to_owned(),
                value,
            }),
        }
    }

    /// Forgets whose owner is not among `names`.
    pub(super) fn keep_only(&mut self, names: &[String]) {
        self.points.retain(|point| names.contains(&point.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a broker takes unless it is told otherwise.
    const METADATA_MAX: usize = 4096;

    #[test]
    fn values_come_back() {
        let mut points = Points::default();
        points.set("decide", b"one");
        points.set("deliver", b"");
        points.set("decide", b"two");
        let mut again = Points::parse(&points.text());
        assert_eq!(again, points);
        assert_eq!(again.get("decide"), Some(&b"two"[..]));
        assert_eq!(again.get("other"), None);
        again.keep_only(&["deliver".to_owned()]);
        assert_eq!(again.get("decide"), None);
        for foreign in ["", "tw1:?", "tw1:AAAA", "another program's"] {
            assert_eq!(Points::parse(foreign), Points::default(), "{foreign}");
        }
    }

    #[test]
    fn a_dozen_exporters_fit() {
        let mut points = Points::default();
        for n in 0..12 {
            points.set(&format!("deliver/traces > otlp/number-{n}"), &[0xff; 130]);
        }
        assert!(
            points.text().len() < METADATA_MAX,
            "{}",
            points.text().len()
        );
    }
}
