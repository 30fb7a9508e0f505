//! A model's name to its family and version: `gpt-4o-mini-2024-07-18` is `gpt-4o-mini` of `2024-07-18`.
//!
//! Both are parts of the name as it stands. What routes a name (`openai/`, `models/`, `us.anthropic.`, `ft:`) belongs to
//! neither. A name whose end is no version is all family.

/// The parts of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelName<'a> {
    /// What the versions have in common.
    pub family: &'a [u8],
    /// A date, a number of three digits, `latest`, a tag; empty when there is none.
    pub version: &'a [u8],
}

/// Words before a dot that name a vendor or a region of Bedrock.
const VENDORS: &[&[u8]] = &[
    b"us",
    b"eu",
    b"apac",
    b"global",
    b"anthropic",
    b"amazon",
    b"meta",
    b"mistral",
    b"cohere",
    b"ai21",
    b"deepseek",
    b"openai",
    b"stability",
    b"qwen",
];

impl<'a> ModelName<'a> {
    /// Takes a name apart.
    #[must_use]
    pub fn of(name: &'a [u8]) -> Self {
        let mut name = last_of(name, b'/');
        if let Some(tuned) = name.strip_prefix(b"ft:") {
            // `ft:BASE:ORGANISATION:NAME:ID`
            name = tuned.split(|byte| *byte == b':').next().unwrap_or(tuned);
        }
        while let Some(dot) = name.iter().position(|byte| *byte == b'.') {
            let (vendor, rest) = name.split_at(dot);
            if !VENDORS.contains(&vendor) {
                break;
            }
            name = rest.get(1..).unwrap_or_default();
        }
        let cut = boundary(name);
        let (family, version) = name.split_at_checked(cut).unwrap_or((name, &[]));
        Self {
            family,
            version: version.get(1..).unwrap_or_default(),
        }
    }
}

fn last_of(name: &[u8], byte: u8) -> &[u8] {
    name.rsplit(|other| *other == byte)
        .find(|part| !part.is_empty())
        .unwrap_or(name)
}

/// Where the family ends: at the joint before the version, or at the end of the name.
fn boundary(name: &[u8]) -> usize {
    let joints = (1..name.len()).filter(|at| matches!(name.get(*at), Some(b'-' | b'@' | b':')));
    joints
        .filter(|at| {
            name.get(at + 1..)
                .is_some_and(|rest| is_version(rest, name.get(*at) == Some(&b':')))
        })
        .min()
        .unwrap_or(name.len())
}

/// A whole end of a name that says which one of a family.
fn is_version(text: &[u8], tag: bool) -> bool {
    let (text, has_tag) = match text.iter().position(|byte| *byte == b':') {
        Some(colon) => (text.get(..colon).unwrap_or_default(), true),
        None => (text, false),
    };
    if tag {
        return !text.is_empty() && !has_tag;
    }
    // `20240620-v1` of Bedrock.
    let text = match text.iter().rposition(|byte| *byte == b'-') {
        Some(dash) if text.get(dash + 1) == Some(&b'v') && digits(text.get(dash + 2..)) => {
            text.get(..dash).unwrap_or_default()
        }
        _ => text,
    };
    text == b"latest"
        || is_date(text)
        || (digits(Some(text)) && matches!(text.len(), 3 | 4 | 6 | 8))
}

fn digits(text: Option<&[u8]>) -> bool {
    text.is_some_and(|text| !text.is_empty() && text.iter().all(u8::is_ascii_digit))
}

/// `2024-07-18`, or `08-2024` and `05-20` as Cohere and Google write months and days.
fn is_date(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b'-');
    let lengths: [usize; 3] = std::array::from_fn(|_| {
        parts
            .next()
            .filter(|part| digits(Some(part)))
            .map_or(0, <[u8]>::len)
    });
    parts.next().is_none()
        && matches!(lengths, [4, 2, 2] | [2, 4, 0] | [2, 2, 0])
        && text.iter().filter(|byte| **byte == b'-').count()
            == lengths.iter().filter(|n| **n > 0).count() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_names_apart() {
        for (name, family, version) in [
            ("gpt-4o-mini-2024-07-18", "gpt-4o-mini", "2024-07-18"),
            ("gpt-4o-mini", "gpt-4o-mini", ""),
            ("gpt-4-0613", "gpt-4", "0613"),
            ("gpt-4-32k", "gpt-4-32k", ""),
            ("gpt-5", "gpt-5", ""),
            ("claude-sonnet-4-5", "claude-sonnet-4-5", ""),
            (
                "claude-sonnet-4-5-20250929",
                "claude-sonnet-4-5",
                "20250929",
            ),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku", "latest"),
            (
                "claude-3-5-sonnet@20240620",
                "claude-3-5-sonnet",
                "20240620",
            ),
            (
                "us.anthropic.claude-3-5-sonnet-20240620-v1:0",
                "claude-3-5-sonnet",
                "20240620-v1:0",
            ),
            ("anthropic.claude-v2", "claude-v2", ""),
            ("openai/gpt-4o-2024-05-13", "gpt-4o", "2024-05-13"),
            ("models/gemini-2.0-flash-001", "gemini-2.0-flash", "001"),
            (
                "gemini-2.5-pro-preview-05-06",
                "gemini-2.5-pro-preview",
                "05-06",
            ),
            ("command-r-08-2024", "command-r", "08-2024"),
            ("mistral-large-2411", "mistral-large", "2411"),
            (
                "meta-llama/Llama-3.1-8B-Instruct",
                "Llama-3.1-8B-Instruct",
                "",
            ),
            ("llama3:8b", "llama3", "8b"),
            (
                "ft:gpt-4o-mini-2024-07-18:org::id",
                "gpt-4o-mini",
                "2024-07-18",
            ),
            ("text-embedding-3-small", "text-embedding-3-small", ""),
            ("text-embedding-004", "text-embedding", "004"),
            ("", "", ""),
            ("-", "-", ""),
            ("a/", "a", ""),
            ("0613", "0613", ""),
        ] {
            let read = ModelName::of(name.as_bytes());
            let read = (
                String::from_utf8_lossy(read.family).into_owned(),
                String::from_utf8_lossy(read.version).into_owned(),
            );
            assert_eq!(read, (family.to_owned(), version.to_owned()), "{name}");
        }
    }
}
