//! The redactor against messages that are made of known parts, in every form in which libraries write them, in spans and in
//! log records.

mod forms;
mod parts;
mod property;
mod recorded;
mod records;
mod table;

pub(super) use forms::json;
