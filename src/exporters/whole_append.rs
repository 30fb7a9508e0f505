//! Appends whole records to a file: after a failed write the file ends where it ended before.
//!
//! Invariant: a reader that stops at `len` sees only whole records. What a failed write left behind is cut off at once;
//! where even that fails, before the next record.

use std::fs::File;
use std::io::{self, Write};

/// A file that is open for appending.
pub(crate) trait Target: Write {
    /// Shortens the file to `len` bytes.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

impl Target for File {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// The end of the file.
#[derive(Debug)]
pub(crate) struct WholeAppend<T> {
    target: T,
    len: u64,
    torn: bool,
}

impl<T: Target> WholeAppend<T> {
    /// `target` holds `len` bytes of whole records; what is beyond is cut off before the first write.
    pub(crate) fn new(target: T, len: u64, torn: bool) -> Self {
        Self { target, len, torn }
    }

    /// Bytes of whole records.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn target(&self) -> &T {
        &self.target
    }

    /// Appends `record`, or leaves the file as it was.
    pub(crate) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        if self.torn {
            self.target.cut(self.len)?;
            self.torn = false;
        }
        match self.target.write_all(record) {
            Ok(()) => {
                self.len = self
                    .len
                    .saturating_add(u64::try_from(record.len()).unwrap_or(u64::MAX));
                Ok(())
            }
            Err(error) => {
                self.torn = self.target.cut(self.len).is_err();
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A disk that takes `room` bytes before it is full, and refuses the first cuts.
    struct Full {
        bytes: Vec<u8>,
        room: usize,
        refused_cuts: u8,
    }

    impl Write for Full {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            let taken = buf.len().min(self.room);
            if taken == 0 && !buf.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= taken;
            self.bytes.extend(&buf[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Full {
        fn cut(&mut self, len: u64) -> io::Result<()> {
            if self.refused_cuts > 0 {
                self.refused_cuts -= 1;
                return Err(io::ErrorKind::Other.into());
            }
            self.bytes.truncate(usize::try_from(len).unwrap());
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn the_file_holds_exactly_what_succeeded(
            records in proptest::collection::vec((1_usize..20, 0_usize..30, 0_u8..3), 1..20)
        ) {
            let mut file = WholeAppend::new(Full { bytes: vec![], room: 0, refused_cuts: 0 }, 0, false);
            let mut expected = Vec::new();
            for (n, (len, room, refused_cuts)) in records.into_iter().enumerate() {
                file.target.room = room;
                file.target.refused_cuts = refused_cuts;
                let record = vec![u8::try_from(n).unwrap(); len];
                if file.append(&record).is_ok() {
                    expected.extend(record);
                }
                prop_assert_eq!(file.len(), expected.len() as u64);
                prop_assert!(file.target.bytes.starts_with(&expected));
                prop_assert!(file.torn || file.target.bytes.len() == expected.len());
            }
        }
    }
}
