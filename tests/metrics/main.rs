//! The metrics page of a running pipeline: every metric of the table and nothing else, and a ledger that adds up.

#![allow(clippy::unwrap_used, reason = "all of it is a test")]

mod harness;
mod inventory;
mod lag;
mod ledger;
mod owners;
mod pages;
#[path = "../support/ports.rs"]
mod ports;
mod scrape;
mod unreadable;
