//! The redactor against messages that are made of known parts, in every form in which libraries write them.

mod forms;
mod parts;
mod property;
mod recorded;
mod table;

pub(super) use forms::json;
