mod carried;
mod chains;
mod property;
mod recorded;
