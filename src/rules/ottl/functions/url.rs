//! `URL`: the parts of an address, as Go's `net/url` finds them, under the names of the semantic conventions.

use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Bytes, ListKind, Out, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::Ipv6Addr;

const BROKEN: EvalError = EvalError::Invalid("a text is no URL");

type Found<T> = Result<T, EvalError>;

/// Where a byte may stand unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Host,
    Path,
    User,
    Fragment,
    Query,
}

/// What Go keeps of a URL.
#[derive(Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    has_authority: bool,
    path: Vec<u8>,
    raw_path: Vec<u8>,
    query: Option<Vec<u8>>,
    fragment: Vec<u8>,
    raw_fragment: Vec<u8>,
}

pub(super) fn url<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let text = call.text(scene, 0)?;
    if text.is_empty() {
        return Err(BROKEN);
    }
    if let Some(query) = text.strip_prefix(b"?") {
        return queries(query);
    }
    let url = Url::parse(&text)?;
    let (host, port) = host_and_port(&url.host);
    let mut entries: Vec<(Bytes<'a>, Value<'a>)> = Vec::new();
    let mut put = |name: &'static str, value: Value<'a>| {
        entries.push((Cow::Borrowed(name.as_bytes()), value));
    };
    put("url.original", Value::text(url.shown()));
    put("url.domain", Value::text(host));
    put("url.scheme", Value::text(url.scheme.clone()));
    put("url.path", Value::text(url.path.clone()));
    if !port.is_empty() {
        let port = std::str::from_utf8(port)
            .ok()
            .and_then(|port| port.parse().ok());
        put("url.port", Value::Port(port.ok_or(BROKEN)?));
    }
    if !url.fragment.is_empty() {
        put("url.fragment", Value::text(url.fragment.clone()));
    }
    if let Some((name, password)) = &url.user {
        put(
            "url.user_info",
            Value::text(shown_user(name, password.as_deref())),
        );
        if !name.is_empty() {
            put("url.username", Value::text(name.clone()));
        }
        if let Some(password) = password {
            put("url.password", Value::text(password.clone()));
        }
    }
    if let Some(query) = url.query.as_ref().filter(|query| !query.is_empty()) {
        put("url.query", Value::text(query.clone()));
    }
    if let Some(dot) = url.path.iter().rposition(|byte| *byte == b'.')
        && let Some(extension) = url.path.get(dot + 1..).filter(|text| !text.is_empty())
    {
        put("url.extension", Value::text(extension));
    }
    Ok(Value::map(entries, true))
}

/// A query alone: each name with the list of its values.
fn queries<'a>(text: &[u8]) -> Out<'a> {
    let mut names: Vec<(Vec<u8>, Vec<Value<'a>>)> = Vec::new();
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    for pair in text
        .split(|byte| *byte == b'&')
        .filter(|pair| !pair.is_empty())
    {
        if pair.contains(&b';') {
            return Err(BROKEN);
        }
        let (name, value) = cut(pair, b'=').unwrap_or((pair, b""));
        let (name, value) = (
            unescape(name, Place::Query)?,
            unescape(value, Place::Query)?,
        );
        let place = *places.entry(name.clone()).or_insert(names.len());
        match names.get_mut(place) {
            Some((_, values)) => values.push(Value::text(value)),
            None => names.push((name, vec![Value::text(value)])),
        }
    }
    if names.is_empty() {
        return Ok(Value::map(Vec::new(), true));
    }
    let names = names
        .into_iter()
        .map(|(name, values)| (Cow::Owned(name), Value::list(values, ListKind::Raw)))
        .collect();
    let entry = (Cow::Borrowed(&b"query"[..]), Value::map(names, true));
    Ok(Value::map(vec![entry], true))
}

fn cut(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == at)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

impl Url {
    fn parse(text: &[u8]) -> Found<Self> {
        let (text, fragment) = cut(text, b'#').unwrap_or((text, b""));
        if text.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
            return Err(BROKEN);
        }
        let mut url = Self::default();
        if text != b"*" {
            url.parts(text)?;
        } else {
            url.path = text.to_vec();
        }
        url.fragment = unescape(fragment, Place::Fragment)?;
        if escape(&url.fragment, Place::Fragment) != fragment {
            url.raw_fragment = fragment.to_vec();
        }
        Ok(url)
    }

    fn parts(&mut self, text: &[u8]) -> Found<()> {
        let (scheme, mut rest) = scheme(text)?;
        self.scheme = scheme.to_ascii_lowercase();
        if let Some((before, query)) = cut(rest, b'?') {
            self.query = Some(query.to_vec());
            rest = before;
        }
        if !rest.starts_with(b"/") {
            if !self.scheme.is_empty() {
                self.opaque = rest.to_vec();
                return Ok(());
            }
            let segment = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
            if segment.contains(&b':') {
                return Err(BROKEN);
            }
        }
        let authority =
            rest.starts_with(b"//") && (!self.scheme.is_empty() || !rest.starts_with(b"///"));
        if authority {
            let after = rest.get(2..).unwrap_or_default();
            let end = after
                .iter()
                .position(|byte| *byte == b'/')
                .unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            self.authority(authority)?;
            self.has_authority = true;
            rest = path;
        }
        self.path = unescape(rest, Place::Path)?;
        if escape(&self.path, Place::Path) != rest {
            self.raw_path = rest.to_vec();
        }
        Ok(())
    }

    fn authority(&mut self, text: &[u8]) -> Found<()> {
        let Some(at) = text.iter().rposition(|byte| *byte == b'@') else {
            self.host = host(text)?;
            return Ok(());
        };
        let (user, rest) = text.split_at(at);
        self.host = host(rest.get(1..).unwrap_or_default())?;
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !user.iter().all(fits) {
            return Err(BROKEN);
        }
        self.user = Some(match cut(user, b':') {
            Some((name, password)) => (
                unescape(name, Place::User)?,
                Some(unescape(password, Place::User)?),
            ),
            None => (unescape(user, Place::User)?, None),
        });
        Ok(())
    }

    /// The address put together again.
    fn shown(&self) -> Vec<u8> {
        let mut out = self.scheme.clone();
        if !out.is_empty() {
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.show_hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if let Some(query) = &self.query {
            out.push(b'?');
            out.extend_from_slice(query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(kept(&self.raw_fragment, &self.fragment, Place::Fragment));
        }
        out
    }

    fn show_hierarchy(&self, out: &mut Vec<u8>) {
        let named = !self.host.is_empty() || self.user.is_some();
        let begins = named || !self.scheme.is_empty() && self.has_authority;
        if begins && (named || !self.path.is_empty()) {
            out.extend_from_slice(b"//");
        }
        if let Some((name, password)) = &self.user {
            out.extend(shown_user(name, password.as_deref()));
            out.push(b'@');
        }
        out.extend(escape(&self.host, Place::Host));
        let path = kept(&self.raw_path, &self.path, Place::Path);
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        let segment = path.split(|byte| *byte == b'/').next().unwrap_or_default();
        if out.is_empty() && segment.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}

/// The escaped text as it came, when it is well escaped; else escaped anew.
fn kept(raw: &[u8], text: &[u8], place: Place) -> Vec<u8> {
    let fits = |byte: &u8| b"!$&'()*+,;=:@[]%".contains(byte) || is_plain(*byte, place);
    if !raw.is_empty() && raw.iter().all(fits) {
        return raw.to_vec();
    }
    if text == b"*" && place == Place::Path {
        return text.to_vec();
    }
    escape(text, place)
}

fn shown_user(name: &[u8], password: Option<&[u8]>) -> Vec<u8> {
    let mut out = escape(name, Place::User);
    if let Some(password) = password {
        out.push(b':');
        out.extend(escape(password, Place::User));
    }
    out
}

fn scheme(text: &[u8]) -> Found<(&[u8], &[u8])> {
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err(BROKEN),
            b':' => return cut(text, b':').ok_or(BROKEN),
            _ => break,
        }
    }
    Ok((b"", text))
}

fn host(text: &[u8]) -> Found<Vec<u8>> {
    let port = if let Some(inner) = text.strip_prefix(b"[") {
        let end = inner.iter().rposition(|byte| *byte == b']').ok_or(BROKEN)?;
        let (address, rest) = inner.split_at(end);
        let address = std::str::from_utf8(address).map_err(|_| BROKEN)?;
        let address = address
            .split_once("%25")
            .map_or(address, |(address, _)| address);
        address.parse::<Ipv6Addr>().map_err(|_| BROKEN)?;
        rest.get(1..).unwrap_or_default()
    } else {
        match text.iter().position(|byte| *byte == b':') {
            Some(at) => text.get(at..).unwrap_or_default(),
            None => b"",
        }
    };
    match port {
        [] => {}
        [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {}
        _ => return Err(BROKEN),
    }
    unescape(text, Place::Host)
}

/// Host name without brackets, and the digits of the port.
fn host_and_port(host: &[u8]) -> (&[u8], &[u8]) {
    let (name, port) = match host.iter().rposition(|byte| *byte == b':') {
        Some(at)
            if host
                .get(at + 1..)
                .is_some_and(|port| port.iter().all(u8::is_ascii_digit)) =>
        {
            (
                host.get(..at).unwrap_or_default(),
                host.get(at + 1..).unwrap_or_default(),
            )
        }
        _ => (host, &b""[..]),
    };
    let inner = name
        .strip_prefix(b"[")
        .and_then(|name| name.strip_suffix(b"]"));
    (inner.unwrap_or(name), port)
}

fn is_plain(byte: u8, place: Place) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    match place {
        Place::Host => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Place::Path => b"$&+,/:;=@".contains(&byte),
        Place::User => b"$&+,;=".contains(&byte),
        Place::Fragment => b"$&+,/:;=?@!()*".contains(&byte),
        Place::Query => false,
    }
}

fn escape(text: &[u8], place: Place) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if is_plain(byte, place) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}

fn unescape(text: &[u8], place: Place) -> Found<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2).ok_or(BROKEN)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(BROKEN);
                }
                let digits = std::str::from_utf8(digits).map_err(|_| BROKEN)?;
                let value = u8::from_str_radix(digits, 16).map_err(|_| BROKEN)?;
                if place == Place::Host && value < 0x80 && !digits.eq_ignore_ascii_case("25") {
                    return Err(BROKEN);
                }
                out.push(value);
                rest = after;
            }
            b'+' if place == Place::Query => out.push(b' '),
            byte if place == Place::Host && byte < 0x80 && !is_plain(byte, place) => {
                return Err(BROKEN);
            }
            byte => out.push(byte),
        }
    }
    Ok(out)
}
