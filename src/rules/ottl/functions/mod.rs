//! The converters: what `pkg/ottl` v0.161.0 registers for conditions, each done or refused with its reason.
//!
//! A function is a row of [`FUNCTIONS`]: name, parameters, a check at load, the work at evaluation. None reads a clock,
//! draws a random number or does I/O when it is evaluated. Results are bounded in bytes.

mod access;
mod case;
mod csv;
mod decode;
mod duration;
mod entries;
mod format;
mod format_value;
mod hashes;
mod identity;
mod json;
mod kinds;
mod lambdas;
mod lists;
mod murmur3;
mod network;
mod parse;
mod patterns;
mod severity;
mod sort;
mod table;
mod texts;
mod times;
mod url;

use super::error::EvalError;
use super::evaluate::Scene;
use super::expression::Call;
use super::paths::Context;
use super::time_layout::Layout;
use super::value::{Out, Value};
use base64::engine::GeneralPurpose;
use regex::bytes::Regex;
use std::net::IpAddr;

pub(super) use case::camel;
pub(super) use table::FUNCTIONS;
pub(super) use texts::hex;

/// Bytes of a text or list that a function may build: a prompt of a span fits, a bomb does not.
pub(super) const MAX_RESULT: usize = 16 << 20;

/// A row of the table.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// The only context that has it; `None`: all.
    pub(super) context: Option<Context>,
    pub(super) body: Body,
}

/// An argument that a function takes; names are those of the Collector's Go fields, which named arguments refer to.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) optional: bool,
}

/// What an argument must be. A literal is checked at load, the rest when it is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Text,
    Int,
    Double,
    Bool,
    Map,
    List,
    Time,
    Duration,
    /// Anything that has a text; likewise below.
    TextLike,
    IntLike,
    DoubleLike,
    BoolLike,
    BytesLike,
    LiteralText,
    LiteralBool,
    LiteralTexts,
    /// A list in brackets, of anything.
    Values,
    /// A list in brackets, of texts.
    Texts,
    /// A list in brackets or a value that is a list, of what has a text.
    TextLikes,
    /// A lambda of so many parameters.
    Lambda(usize),
}

/// Looks at literal arguments at load.
pub(super) type Prepare = fn(&mut Call) -> Result<(), String>;
/// Computes the value.
pub(super) type Run = for<'a> fn(&Scene<'a>, &'a Call) -> Out<'a>;

#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    Done(Prepare, Run),
    /// Why it cannot be used in a condition.
    Refused(&'static str),
}

/// What was made of literal arguments at load.
pub(super) enum Prepared {
    None,
    Regex(Box<Regex>),
    Networks(Vec<(IpAddr, u8)>),
    Layout(Box<Layout>),
    Base64(Box<GeneralPurpose>),
    Encoding(&'static encoding_rs::Encoding),
    Severities(severity::Levels),
    Value(Value<'static>),
}

/// An error when so many bytes are too many.
pub(super) fn fits(bytes: usize) -> Result<(), EvalError> {
    if bytes > MAX_RESULT {
        return Err(EvalError::TooLarge(MAX_RESULT));
    }
    Ok(())
}
