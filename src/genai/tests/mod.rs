//! The dialects against recordings and against hostile input.

mod played;
mod recordings;
mod rules;
mod seen;
mod spans;
mod table;
mod traces;
