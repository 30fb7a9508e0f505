//! Free ports. Below the range that the kernel gives to clients, so that nobody takes one between our look and its use.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 20_000;
/// Below Linux's default `ip_local_port_range`, 32768.
const COUNT: u16 = 12_000;

/// Steps of this process; processes start apart by their id.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port on 127.0.0.1 that nobody listens on, given out once by this process.
pub(crate) fn free() -> u16 {
    let start = (std::process::id() % 300) * 40;
    for _ in 0..COUNT {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = FIRST + u16::try_from((start + step) % u32::from(COUNT)).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port from {FIRST} on");
}
