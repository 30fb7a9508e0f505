//! The metrics page of a running pipeline: every metric of the table and nothing else, and a ledger that adds up.

mod harness;
mod inventory;
mod lag;
mod ledger;
mod pages;
mod scrape;
