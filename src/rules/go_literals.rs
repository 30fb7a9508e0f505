//! Characters that Go's syntax reads as they are and Rust's does not.
//!
//! A brace that is no repetition (`a{`, `{x}`), a bracket inside of a class (`[[a]`), what Rust has for operations on classes
//! (`&&`, `--`, `~~`), and what stands between `\Q` and `\E`.

/// The expression with those characters escaped.
pub(super) fn escaped(expression: &str) -> String {
    let mut out = String::with_capacity(expression.len() + 8);
    let mut rest = expression;
    // Inside of a class; `Some(true)` at its first character, where `]` is one of the class.
    let mut class = None;
    while !rest.is_empty() {
        let (text, length) = if let Some(quoted) = rest.strip_prefix("\\Q") {
            let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            (regex_syntax::escape(text), rest.len() - after.len())
        } else if rest.starts_with('\\') {
            class = class.map(|_| false);
            as_it_stands(rest, 2)
        } else {
            match class {
                None => outside(rest, &mut class),
                Some(first) => inside(rest, first, &mut class),
            }
        };
        out.push_str(&text);
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

/// The next characters and their length.
fn as_it_stands(rest: &str, characters: usize) -> (String, usize) {
    let text: String = rest.chars().take(characters).collect();
    let length = text.len();
    (text, length)
}

/// The next characters behind a backslash.
fn escape(rest: &str) -> (String, usize) {
    let (text, length) = as_it_stands(rest, 1);
    (format!("\\{text}"), length)
}

fn outside(rest: &str, class: &mut Option<bool>) -> (String, usize) {
    if rest.starts_with('{') && !is_repetition(rest) {
        return escape(rest);
    }
    if rest.starts_with('[') {
        *class = Some(true);
        return as_it_stands(rest, if rest.starts_with("[^") { 2 } else { 1 });
    }
    as_it_stands(rest, 1)
}

fn inside(rest: &str, first: bool, class: &mut Option<bool>) -> (String, usize) {
    *class = Some(false);
    if rest.starts_with("[:")
        && let Some(end) = rest.find(":]")
    {
        return as_it_stands(rest, end + 2);
    }
    if rest.starts_with(']') && !first {
        *class = None;
        return as_it_stands(rest, 1);
    }
    match rest.get(..2) {
        // A range up to the minus sign.
        Some("--") if !first => ("-\\-".into(), 2),
        _ if first && rest.starts_with('-') => escape(rest),
        _ if rest.starts_with(['[', ']', '&', '~']) => escape(rest),
        _ => as_it_stands(rest, 1),
    }
}

/// `{2}`, `{2,}` or `{2,3}` begins here.
fn is_repetition(rest: &str) -> bool {
    let Some((inside, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return false;
    };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}
