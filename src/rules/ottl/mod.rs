//! OTTL conditions: the Collector's language, without its objects.
//!
//! A condition is parsed, checked and folded at load, and evaluated over the bytes of a span: what it asks for is looked up,
//! nothing is decoded as a whole. Meaning, nil, errors and the several kinds of lists are those of `pkg/ottl` v0.161.0,
//! whose answers the tests hold. Where the Collector crashes there is an error here; what is no pure function of the trace
//! is refused at load (`functions::FUNCTIONS` is the table). Policies, modes of errors and spans are others' business,
//! except the walk over one span in `policy`.

mod arguments;
mod arithmetic;
mod ast;
mod built;
mod compare;
mod compile;
mod condition;
mod convert;
mod error;
mod evaluate;
mod expression;
mod fields;
mod functions;
mod index;
mod infer;
mod json_text;
mod lexer;
mod nodes;
mod parser;
mod paths;
mod policy;
mod quoted;
#[cfg(test)]
mod tests;
mod time;
mod time_layout;
mod trace_state;
mod value;
mod view;
mod wire;

pub use condition::Condition;
pub use error::{EvalError, OttlError, Place, UnknownName};
pub use infer::infer_context;
pub(crate) use json_text::attribute_text;
pub use paths::Context;
pub use policy::{ErrorMode, Evaluated, Outcome, evaluate_policy};
pub use view::SpanView;
