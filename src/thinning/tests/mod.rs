//! Thinning against the same done to prost's types, and single cases.

mod property;
mod table;
mod traces;
