//! OTLP/JSON: to protobuf at the edge, and back for the exporters that print.
//!
//! One table (`schema`) describes the trace messages; `parse` and `print` walk it in both directions, with no
//! objects in between. A new OTLP field is one line of the table.
//!
//! Source: OTLP specification 1.x, "JSON Protobuf Encoding", and the Collector's pdata (v0.161), which also reads
//! snake_case names, enum names and numbers as strings.

mod decode;
mod error;
mod number;
mod parse;
mod print;
mod scalar;
mod schema;
#[cfg(test)]
mod tests;
mod value;
mod writer;

pub use error::{JsonError, PrintError};
#[cfg(test)]
pub(crate) use parse::from_json;
pub use parse::from_json_as;
#[cfg(test)]
pub(crate) use print::to_json;
pub use print::to_json_as;
