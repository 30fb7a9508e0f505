//! The process as the system sees it.

use crate::admin::inventory::{BUILD_INFO, CPU_SECONDS, RSS, UPTIME};
use crate::admin::page::Page;
use crate::admin::sources::Sources;
use crate::clock::SECOND;
use rustix::time::{ClockId, clock_gettime};

pub(super) fn fill(page: &Page, sources: &Sources) {
    let up = sources.clock.monotonic().saturating_sub(sources.started);
    page.count(&UPTIME, &[], up / SECOND);
    page.gauge(&CPU_SECONDS, &[], cpu_seconds());
    page.amount(&RSS, &[], resident_bytes().unwrap_or_default());
    page.amount(&BUILD_INFO, &[env!("CARGO_PKG_VERSION")], 1);
}

#[allow(clippy::cast_precision_loss, reason = "exact for 285 million years")]
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / SECOND as f64
}

/// `VmRSS` of proc(5), which counts in KiB; `None` where there is no proc.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells() {
        let rss = resident_bytes().unwrap();
        assert!((1 << 20..1 << 40).contains(&rss), "{rss}");
        let before = cpu_seconds();
        let mut sum = 0_u64;
        while cpu_seconds() - before < 0.001 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(cpu_seconds() > before);
    }
}
