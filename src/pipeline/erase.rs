//! Takes the payload of one trace out of a log that no daemon has open.

use super::start_error::StartError;
use crate::config::settings::Config;
use crate::log::{Directory, Erased, Signal, StoreKind, StoredPiece, erase as erase_pieces};
use crate::otlp::{TraceId, Trusting, scan_as, scrub};

/// Writes over all that the log of `config` holds of a trace but ids and times. Its entries stay, and what was not
/// delivered of it counts as erased.
///
/// # Errors
/// When the log is in use, or is in memory and nowhere else, or cannot be read or written.
pub fn erase(config: &Config, trace: TraceId) -> Result<Erased, StartError> {
    let Some(first) = config.instances.first() else {
        return Ok(Erased::default());
    };
    let settings = &first.sampler.log;
    if settings.store == StoreKind::Memory {
        return Err(StartError::NothingToErase);
    }
    let directory = Directory::open(settings)?;
    let scrubbed = |signal: Signal, piece: &StoredPiece| {
        let scanned = scan_as(signal, &piece.body, &mut Trusting).ok()?;
        let own = scanned.traces().any(|id| id == trace) && !piece.erased;
        own.then(|| scrub(signal, &piece.body).ok()).flatten()
    };
    Ok(erase_pieces(&directory, &scrubbed)?)
}
