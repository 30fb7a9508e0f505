//! Keys with numbers in them as the table writes them: `evaluations.3.evaluation.name` is `evaluations.{i}.evaluation.name`
//! of number 3. On the stack, and never as many places as the number says: numbers are the sender's choice.

/// Longer than any key of the table.
const LONGEST: usize = 96;

/// A key with `{i}` and `{j}` for its numbers.
#[derive(Debug)]
pub(super) struct FamilyKey {
    bytes: [u8; LONGEST],
    length: usize,
    /// The first number.
    pub(super) number: u32,
}

impl FamilyKey {
    /// `None` when no family begins so, or the key has no number or is longer than any.
    pub(super) fn of(families: &[Box<[u8]>], key: &[u8]) -> Option<Self> {
        if !families.iter().any(|prefix| key.starts_with(prefix)) {
            return None;
        }
        let mut out = Self {
            bytes: [0; LONGEST],
            length: 0,
            number: 0,
        };
        let mut numbers = 0;
        for (place, part) in key.split(|byte| *byte == b'.').enumerate() {
            if place > 0 {
                out.push(b".")?;
            }
            if part.is_empty() || !part.iter().all(u8::is_ascii_digit) {
                out.push(part)?;
                continue;
            }
            if numbers == 0 {
                out.number = std::str::from_utf8(part).ok()?.parse().ok()?;
            }
            out.push(if numbers == 0 { b"{i}" } else { b"{j}" })?;
            numbers += 1;
        }
        (numbers > 0).then_some(out)
    }

    fn push(&mut self, part: &[u8]) -> Option<()> {
        let end = self.length + part.len();
        self.bytes.get_mut(self.length..end)?.copy_from_slice(part);
        self.length = end;
        Some(())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_letters() {
        let families = [b"a."[..].into()];
        for (key, expected) in [
            ("a.0.b", Some(("a.{i}.b", 0))),
            ("a.17.b.2.c", Some(("a.{i}.b.{j}.c", 17))),
            ("a.4294967295", Some(("a.{i}", u32::MAX))),
            ("a.4294967296", None),
            ("a.b", None),
            ("b.0", None),
            ("a.1x", None),
            ("a..1", Some(("a..{i}", 1))),
        ] {
            let read = FamilyKey::of(&families, key.as_bytes());
            let read = read
                .as_ref()
                .map(|key| (std::str::from_utf8(key.as_bytes()).unwrap(), key.number));
            assert_eq!(read, expected, "{key}");
        }
        let long = format!("a.1.{}", "x".repeat(100));
        assert!(FamilyKey::of(&families, long.as_bytes()).is_none());
    }
}
