//! Letters beyond ASCII whose form matters: those that a keyword may be met in another form of.
//!
//! Text without them need not be folded at all; only ASCII case is then ignored in comparing. For keywords in English these
//! are full-width, styled and circled letters, ligatures and odd spaces; for Chinese ones a few compatibility characters.
//! Invariant: a text in which these letters are folded, and no others, holds a keyword (ASCII case ignored) just where
//! the folded text does.

use super::casefold::{letters_folding_to, parts_of};
use std::collections::HashSet;

/// Looked at together: a vector's work.
const CHUNK: usize = 32;
/// Stretches of first bytes that a chunk is compared with; more are merged.
const RANGES: usize = 3;

/// The letters that matter to a set of keywords.
#[derive(Debug, Default)]
pub(super) struct Letters {
    /// First bytes of the letters, and what lies between: a quick look at many bytes.
    ranges: [(u8, u8); RANGES],
    /// By first byte (from 0xc0), a bit for each second byte (from 0x80). Exact but for the letters of three and four
    /// bytes, where it stands for 64 and more: folding one too many changes nothing.
    pairs: Pairs,
    any: bool,
}

#[derive(Debug)]
struct Pairs([u64; 64]);

impl Default for Pairs {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Letters {
    /// The letters that fold to something that a keyword holds. `keywords` are folded.
    pub(super) fn of<'a>(keywords: impl Iterator<Item = &'a [u8]>) -> Self {
        let (mut held, mut accents) = (HashSet::new(), HashSet::new());
        for keyword in keywords {
            for c in String::from_utf8_lossy(keyword).chars() {
                // A letter may come in parts.
                held.insert(c);
                held.extend(parts_of(c));
                accents.extend(parts_of(c).skip(1).filter(|part| !part.is_ascii()));
            }
        }
        let mut out = Self::default();
        let mut firsts = Vec::new();
        let folding = held.iter().flat_map(|c: &char| letters_folding_to(*c));
        for letter in folding.copied().chain(accents) {
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes);
            out.pairs.0[usize::from(bytes[0] & 0x3f)] |= 1 << (bytes[1] & 0x3f);
            firsts.push(bytes[0]);
        }
        firsts.sort_unstable();
        firsts.dedup();
        out.any = !firsts.is_empty();
        out.ranges = ranges(&firsts);
        out
    }

    /// Where the first letter that matters begins, or something that looks like one.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        if !self.any {
            return None;
        }
        let mut at = 0;
        let mut chunks = text.chunks_exact(CHUNK);
        for chunk in &mut chunks {
            if self.may_hold(chunk)
                && let Some(found) = self.find_slowly(text, at, at + CHUNK)
            {
                return Some(found);
            }
            at += CHUNK;
        }
        self.find_slowly(text, at, text.len())
    }

    /// Whether one of the bytes is in a range.
    #[inline(always)]
    fn may_hold(&self, chunk: &[u8]) -> bool {
        // Without a branch for each byte the compiler makes vectors of it.
        chunk.iter().fold(0, |high, byte| high | byte) >= 0x80
            && self.ranges.iter().any(|(first, width)| {
                let inside = |byte: &u8| u8::from(byte.wrapping_sub(*first) <= *width);
                chunk.iter().fold(0, |any, byte| any | inside(byte)) != 0
            })
    }

    fn find_slowly(&self, text: &[u8], from: usize, to: usize) -> Option<usize> {
        (from..to).find(|at| {
            let (first, second) = (text[*at], text.get(at + 1).copied().unwrap_or_default());
            first >= 0xc0
                && second & 0xc0 == 0x80
                && self.pairs.0[usize::from(first & 0x3f)] >> (second & 0x3f) & 1 == 1
        })
    }
}

/// At most [`RANGES`] stretches, each as its first byte and its width, that cover the sorted bytes: the narrowest gaps
/// are covered as well. Unused ones repeat the last.
fn ranges(bytes: &[u8]) -> [(u8, u8); RANGES] {
    let mut stretches: Vec<(u8, u8)> = bytes.iter().map(|byte| (*byte, *byte)).collect();
    while stretches.len() > RANGES {
        let gap = |at: &usize| stretches[at + 1].0 - stretches[*at].1;
        let Some(narrowest) = (0..stretches.len() - 1).min_by_key(gap) else {
            break;
        };
        stretches[narrowest].1 = stretches.remove(narrowest + 1).1;
    }
    let mut out = [(0, 0); RANGES];
    let last = stretches.last().copied().unwrap_or_default();
    for (slot, (first, end)) in out
        .iter_mut()
        .zip(stretches.into_iter().chain(std::iter::repeat(last)))
    {
        *slot = (first, end - first);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matter(keyword: &str) -> String {
        let letters = Letters::of(std::iter::once(keyword.as_bytes()));
        let matters = |c: &char| letters.find(c.to_string().as_bytes()).is_some();
        ('\u{80}'..='\u{1ffff}').filter(matters).collect()
    }

    #[test]
    fn letters_matter_when_a_keyword_holds_their_folding() {
        for (keyword, must) in [
            ("ask", "ßſ\u{212a}ａⓢ"),
            ("it", "İ"),
            ("請", "\u{fabb}"),
            ("é", "É\u{301}ｅ"),
            ("да", "ДА"),
            ("σ", "Σς"),
            ("𐐨", "𐐀"),
        ] {
            let found = matter(keyword);
            assert!(must.chars().all(|c| found.contains(c)), "{keyword}");
        }
        assert!(!matter("ask").contains(['É', '\u{301}']));
    }

    #[test]
    fn a_letter_is_found_wherever_it_stands() {
        let letters = Letters::of(std::iter::once(&b"ask"[..]));
        for before in 0..100 {
            for after in [0, 1, 40] {
                for filler in ["a", "请"] {
                    let text = [
                        &filler.repeat(before)[..],
                        "\u{212a}",
                        &filler.repeat(after),
                    ]
                    .concat();
                    let at = before * filler.len();
                    assert_eq!(letters.find(text.as_bytes()), Some(at), "{text}");
                }
            }
        }
        assert_eq!(letters.find("a请é\u{e2}".repeat(50).as_bytes()), None);
        assert_eq!(letters.find(b"\xc3"), None);
    }

    #[test]
    fn few_ranges_cover_all_bytes() {
        for bytes in [
            &[][..],
            &[0xc3],
            &[0xc3, 0xc5, 0xe1, 0xe2],
            &[0xc2, 0xd0, 0xe1, 0xef, 0xf0],
        ] {
            let ranges = ranges(bytes);
            for byte in bytes {
                let covers = |(first, width): &(u8, u8)| byte.wrapping_sub(*first) <= *width;
                assert!(ranges.iter().any(covers), "{byte:x}");
            }
        }
    }
}
