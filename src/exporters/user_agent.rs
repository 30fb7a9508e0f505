//! How we name ourselves to a server, in the form of the Collector: `product/version (os/arch)`.

use std::env::consts::{ARCH, OS};

pub(crate) fn user_agent() -> String {
    format!("tailwater/{} ({OS}/{ARCH})", env!("CARGO_PKG_VERSION"))
}
