//! One matcher for all keywords of all policies, over the text that a prompt or an answer really is.
//!
//! Text is looked at raw and unescaped (JSON escapes, surrogate pairs, JSON inside JSON up to three levels), with case
//! folded. Nothing here prints or keeps a keyword or a match beyond the bit that says which policy it belongs to.

mod casefold;
mod grams;
mod letters;
mod matcher;
mod unescape;

pub(crate) use matcher::{KeywordMatcher, Scratch};
