//! Escapes of Go's quoted strings, as the Collector's parser reads them: `\xff` is the character U+00FF, not a byte.

/// The meaning of what stands between two double quotes; `None` when an escape is not Go's or a line ends inside.
pub(super) fn unquote(inside: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\n' => return None,
            b'\\' => rest = escape(rest, &mut out)?,
            _ => out.push(byte),
        }
    }
    Some(out)
}

fn escape<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (&kind, after) = rest.split_first()?;
    let plain = match kind {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'"' => kind,
        b'x' => {
            let (value, after) = digits(after, 2, 16)?;
            push(char::from(u8::try_from(value).ok()?), out);
            return Some(after);
        }
        b'u' | b'U' => {
            let (value, after) = digits(after, if kind == b'u' { 4 } else { 8 }, 16)?;
            push(char::from_u32(value)?, out);
            return Some(after);
        }
        b'0'..=b'7' => {
            let (value, after) = digits(rest, 3, 8)?;
            push(char::from(u8::try_from(value).ok()?), out);
            return Some(after);
        }
        _ => return None,
    };
    out.push(plain);
    Some(after)
}

fn push(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn digits(rest: &[u8], count: usize, radix: u32) -> Option<(u32, &[u8])> {
    let (digits, after) = rest.split_at_checked(count)?;
    let mut value = 0_u32;
    for digit in digits {
        value = value.checked_mul(radix)? + char::from(*digit).to_digit(radix)?;
    }
    Some((value, after))
}
