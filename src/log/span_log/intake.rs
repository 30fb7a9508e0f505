//! Taking a request: what is refused at the door, and who is charged while it is on its way.

use super::core::Core;
use super::queue::{Pending, frame_len_of, window_bytes_of};
use crate::log::account::IntakeCharge;
use crate::log::api::{Append, Appended, Block};
use crate::log::checksum::crc32c_of;
use crate::log::errors::{AppendError, RETRY_AFTER_DISK};
use crate::log::settings::OnFull;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;

/// Memory is freed by decisions, which come every second.
const RETRY_AFTER_MEMORY: Duration = Duration::from_secs(1);

impl<A> Core<A> {
    /// Queues the request, or answers it.
    pub(super) fn take(&self, request: Append<A>) -> Appended {
        let (answer, appended) = oneshot::channel();
        match self.admit(&request.blocks) {
            Ok(()) => {
                if let Err(refused) = self.queue.push(self.charged(request, answer)) {
                    self.refuse(refused.answer, AppendError::Stopping);
                }
            }
            Err(error) => self.refuse(answer, error),
        }
        appended
    }

    /// Answers with a refusal.
    pub(super) fn refuse(&self, answer: super::core::Answer, error: AppendError) {
        self.counters.refuse(&error);
        // A sender that no longer waits has given up on it.
        drop(answer.send(Err(error)));
    }

    fn admit(&self, blocks: &[Block]) -> Result<(), AppendError> {
        let (bytes, limit) = (frame_len_of(blocks), self.stream.max_batch());
        if bytes > limit {
            return Err(AppendError::TooLarge { bytes, limit });
        }
        for block in blocks {
            let account = self.services.account(block.service);
            let refusal = if account.on_full == OnFull::Refuse && account.is_full() {
                AppendError::Full {
                    reason: "service memory",
                    retry_after: RETRY_AFTER_MEMORY,
                }
            } else if account.over_share.load(Ordering::Relaxed) {
                AppendError::Full {
                    reason: "log share",
                    retry_after: RETRY_AFTER_DISK,
                }
            } else {
                continue;
            };
            account.refused.fetch_add(1, Ordering::Relaxed);
            return Err(refusal);
        }
        Ok(())
    }

    fn charged(&self, request: Append<A>, answer: super::core::Answer) -> Pending<A> {
        let window_bytes = window_bytes_of(&request);
        let Append {
            meta,
            blocks,
            attachment,
            attachment_bytes,
            reservation,
        } = request;
        let total: u64 = blocks.iter().map(|block| block.bytes.len() as u64).sum();
        let mut block_charges = Vec::with_capacity(blocks.len());
        let mut charges = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let account = self.services.account(block.service);
            let bytes = block.bytes.len() as u64;
            // The attachment is everybody's: each service bears it in proportion to its bytes.
            let part = u128::from(attachment_bytes) * u128::from(bytes) / u128::from(total.max(1));
            charges.push(IntakeCharge::new(
                account.clone(),
                u64::try_from(part).unwrap_or(u64::MAX),
            ));
            block_charges.push(IntakeCharge::new(account, bytes));
        }
        let parts: Vec<&[u8]> = blocks.iter().map(|block| &*block.bytes).collect();
        Pending {
            checksum: crc32c_of(&parts),
            meta,
            blocks,
            attachment,
            window_bytes,
            reservation,
            block_charges,
            charges,
            answer,
        }
    }
}
