//! Component ids as file names: `otlp/backend` and anything else a config may say.

/// Letters, digits, `-` and `_` stand for themselves, every other byte as `%XX`.
pub(crate) fn escape(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The id behind a name; a name that [`escape`] never made comes back as well as it can.
pub(crate) fn unescape(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, later)) = rest.split_first() {
        let code = (first == b'%').then(|| later.first_chunk::<2>()).flatten();
        let code = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() {
            later.get(2..).unwrap_or_default()
        } else {
            later
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_become_one_plain_name() {
        for (id, name) in [
            ("otlp/x", "otlp%2Fx"),
            ("..", "%2E%2E"),
            ("a%2F", "a%252F"),
            ("é", "%C3%A9"),
        ] {
            assert_eq!((escape(id).as_str(), unescape(name).as_str()), (name, id));
        }
    }

    proptest! {
        #[test]
        fn every_id_comes_back(id in ".*") {
            prop_assert_eq!(unescape(&escape(&id)), id);
        }
    }
}
