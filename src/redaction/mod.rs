//! What is taken out of spans and log records before they leave: by field class (prompt, answer, system, ...) and by attribute key.
//!
//! A [`Redactor`] takes a piece (a `TracesData` or `LogsData` message) and gives the piece as it may leave. Pure: the same bytes and
//! settings give the same bytes. Rules never see what it writes: it runs behind the decision. What it cannot read it
//! does not let pass: the caller gets an error and must leave the piece out. Which keys hold which class is the dialect
//! table's knowledge; what is not in it is named by the operator.

mod act;
mod class;
mod flattened;
mod json_cut;
mod json_parts;
mod json_walk;
mod keys;
mod owner;
mod record;
mod redactor;
mod settings;
#[cfg(test)]
mod tests;
mod value_parts;
mod walk;

pub use class::FieldClass;
pub use redactor::Redactor;
pub use settings::{Action, AttributeRule, RedactSettings};
