//! Where the last whole record of a file ends.
//!
//! A process that was killed in the middle of a write leaves a torn record. It was never acknowledged to the cursor,
//! which sends it again, so that cutting it off loses nothing.

use super::settings::FileFormat;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// One read backwards; a line is rarely longer.
const CHUNK: u64 = 64 << 10;

/// Bytes of whole records in `file`, which is `len` bytes long.
pub(crate) fn whole_length(file: &File, len: u64, format: FileFormat) -> io::Result<u64> {
    match format {
        FileFormat::Json => whole_lines(file, len),
        FileFormat::Proto => whole_frames(file, len),
    }
}

/// Up to the last line's end.
fn whole_lines(file: &File, len: u64) -> io::Result<u64> {
    let mut buffer = Vec::new();
    let mut end = len;
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        buffer.resize(usize::try_from(end - start).unwrap_or_default(), 0);
        file.read_exact_at(&mut buffer, start)?;
        if let Some(at) = memchr::memrchr(b'\n', &buffer) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// From length to length.
fn whole_frames(file: &File, len: u64) -> io::Result<u64> {
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(0))?;
    let mut whole = 0_u64;
    loop {
        let mut prefix = [0; 4];
        match reader.read_exact(&mut prefix) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(whole),
            other => other?,
        }
        let size = u32::from_be_bytes(prefix);
        let next = whole.saturating_add(4).saturating_add(u64::from(size));
        if next > len {
            return Ok(whole);
        }
        reader.seek_relative(i64::from(size))?;
        whole = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn whole(bytes: &[u8], format: FileFormat) -> u64 {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        whole_length(&file, bytes.len() as u64, format).unwrap()
    }

    #[test]
    fn ends_behind_the_last_line() {
        let check =
            |bytes: &[u8], expected: u64| assert_eq!(whole(bytes, FileFormat::Json), expected);
        check(b"", 0);
        check(b"{}\n", 3);
        check(b"{}\n{\"a\":", 3);
        check(b"{\"a\":", 0);
        check(b"\n", 1);
        let long = [b"{}\n".as_slice(), &vec![b'x'; 200_000]].concat();
        check(&long, 3);
        check(&[long.as_slice(), b"\n"].concat(), 200_004);
        check(&vec![b'x'; 65_536], 0);
    }

    proptest! {
        #![proptest_config(crate::cases::cases(64))]

        #[test]
        fn ends_behind_the_last_frame(
            frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..10), cut in 0_usize..50
        ) {
            let mut bytes = Vec::new();
            let mut ends = vec![0];
            for frame in &frames {
                bytes.extend(u32::try_from(frame.len()).unwrap().to_be_bytes());
                bytes.extend(frame);
                ends.push(bytes.len());
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            let expected = ends.into_iter().rfind(|end| *end <= bytes.len()).unwrap();
            prop_assert_eq!(whole(&bytes, FileFormat::Proto), expected as u64);
        }
    }
}
