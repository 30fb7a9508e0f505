//! Free ports, each given to one test program alone and for as long as it runs: below the range that the kernel gives to
//! clients, and under a lock in the temporary directory. So nobody takes one between our look and its use, or while the
//! server that has it is dead.

use parking_lot::Mutex;
use std::fs::{self, File};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u16 = 10_000;
/// Below Linux's default `ip_local_port_range`, 32768.
const COUNT: u16 = 22_000;

/// Steps of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// Locks of the ports that this process has had, until it ends.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A port on 127.0.0.1 that nobody listens on, and that no other test program gets.
pub(crate) fn free() -> u16 {
    let locks = std::env::temp_dir().join("tailwater-test-ports");
    fs::create_dir_all(&locks).unwrap();
    // Processes start apart by their id; where they meet, the locks tell them apart.
    let start = std::process::id() % 300 * 70;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + u16::try_from((start + step) % u32::from(COUNT)).unwrap();
        let lock = File::create(locks.join(port.to_string())).unwrap();
        if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            HELD.lock().push(lock);
            return port;
        }
    }
    panic!("no free port from {FIRST} on");
}
