//! The levels at which a text is looked at: as it lies, and with its escapes undone up to three times.

use super::unescape::unescape;

/// JSON inside JSON, three levels: tool arguments in a message in `output.value` (recorded).
pub(super) const LEVELS: usize = 3;

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) folded: Vec<u8>,
    plain: Vec<u8>,
    next: Vec<u8>,
}

impl Scratch {
    /// Undoes the escapes of `text` level by level; `look` has each, and a buffer of its own.
    pub(super) fn unescaped(&mut self, text: &[u8], look: &mut impl FnMut(&[u8], &mut Vec<u8>)) {
        let Self {
            folded,
            plain,
            next,
        } = self;
        plain.clear();
        let mut more = unescape(text, plain);
        for level in 1..=LEVELS {
            look(plain, folded);
            if level == LEVELS || !more || memchr::memchr(b'\\', plain).is_none() {
                return;
            }
            next.clear();
            more = unescape(plain, next);
            std::mem::swap(plain, next);
        }
    }
}

/// It looks like JSON: every backslash in it is an escape.
pub(super) fn is_json(text: &[u8]) -> bool {
    matches!(
        text.iter().find(|byte| !byte.is_ascii_whitespace()),
        Some(b'{' | b'[' | b'"')
    )
}
