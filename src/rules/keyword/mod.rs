//! One matcher for all keywords of all policies, over the text that a prompt or an answer really is.
//!
//! Text is looked at raw and unescaped (JSON escapes, surrogate pairs, JSON inside JSON up to three levels), with case
//! folded. Nothing here prints or keeps a keyword or a match beyond the bit that says which policy it belongs to.

mod boundary;
mod casefold;
mod expressions;
mod grams;
mod letters;
mod levels;
mod matcher;
mod unescape;

pub(crate) use expressions::Expressions;
pub(crate) use levels::Scratch;
pub(crate) use matcher::{Keyword, KeywordMatcher};
