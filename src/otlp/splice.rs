//! Writes a message again with some of its fields left out or replaced; all others are copied as they stand, in their
//! order. A message of which nothing is changed is not copied at all.

use super::wire::put_field_header;
use std::ops::Range;

/// A message in the making. Ranges are given in ascending order.
#[derive(Debug)]
pub(crate) struct Splice<'a> {
    message: &'a [u8],
    /// Everything of the message before this is written, or left out.
    done: usize,
    out: Option<Vec<u8>>,
}

impl<'a> Splice<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self {
            message,
            done: 0,
            out: None,
        }
    }

    /// Leaves these bytes out.
    pub(crate) fn cut(&mut self, range: &Range<usize>) {
        let message = self.message;
        let before = message.get(self.done..range.start).unwrap_or_default();
        self.out().extend_from_slice(before);
        self.done = range.end;
    }

    /// Writes a length-delimited field (number 1 to 15) where the last cut was.
    pub(crate) fn put(&mut self, number: u8, body: &[u8]) {
        let out = self.out();
        put_field_header(out, number, body.len());
        out.extend_from_slice(body);
    }

    /// Writes a field in the place of another one.
    pub(crate) fn replace(&mut self, range: &Range<usize>, number: u8, body: &[u8]) {
        self.cut(range);
        self.put(number, body);
    }

    /// Goes to the end of the message, where [`Self::put`] appends.
    pub(crate) fn go_to_end(&mut self) {
        self.cut(&(self.message.len()..self.message.len()));
    }

    /// The new message; `None` when it is the old one.
    pub(crate) fn finish(mut self) -> Option<Vec<u8>> {
        if self.out.is_some() {
            self.go_to_end();
        }
        self.out
    }

    fn out(&mut self) -> &mut Vec<u8> {
        let room = self.message.len() + ROOM;
        self.out.get_or_insert_with(|| Vec::with_capacity(room))
    }
}

/// What a few added attributes take.
const ROOM: usize = 128;

#[cfg(test)]
mod tests {
    use super::super::raw_fields::raw_fields;
    use super::*;

    /// Fields 1, 2, 1, 3 with a byte each.
    const MESSAGE: &[u8] = &[0x0a, 1, 7, 0x12, 1, 8, 0x0a, 1, 9, 0x1a, 1, 5];

    fn edited(edit: impl Fn(&mut Splice<'_>, u32, &Range<usize>)) -> Option<Vec<u8>> {
        let mut splice = Splice::new(MESSAGE);
        for field in raw_fields(MESSAGE) {
            let field = field.unwrap();
            edit(&mut splice, field.number, &field.range);
        }
        splice.finish()
    }

    #[test]
    fn changes_what_it_is_told_to() {
        assert_eq!(edited(|_, _, _| {}), None);
        let cut = edited(|splice, number, range| {
            if number == 1 {
                splice.cut(range);
            }
        });
        assert_eq!(cut.as_deref(), Some(&[0x12, 1, 8, 0x1a, 1, 5][..]));
        let replaced = edited(|splice, number, range| {
            if number == 2 {
                splice.replace(range, 4, &[]);
            }
        });
        assert_eq!(
            replaced.as_deref(),
            Some(&[0x0a, 1, 7, 0x22, 0, 0x0a, 1, 9, 0x1a, 1, 5][..])
        );
    }

    #[test]
    fn appends_at_the_end() {
        let mut splice = Splice::new(MESSAGE);
        splice.go_to_end();
        splice.put(5, &[1, 2]);
        let expected = [MESSAGE, &[0x2a, 2, 1, 2]].concat();
        assert_eq!(splice.finish(), Some(expected));
    }

    #[test]
    fn broken_framing_ends_the_walk() {
        let fields: Vec<_> = raw_fields(&[0x0a, 1, 7, 0x0a, 9]).collect();
        assert!(matches!(fields[..], [Ok(_), Err(_)]));
    }
}
