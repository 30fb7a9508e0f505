//! Addresses: `host:port` of a listener, URLs of an exporter.

use super::item::Item;

/// A listener's `host:port`; the host may be empty (all interfaces), the port 0 (any free one).
pub(crate) fn listen(item: &Item<'_>) -> Option<String> {
    let text = item.string()?;
    match host_port(&text) {
        Some(_) => Some(text),
        None => {
            let help = "for example `localhost:4317`, `0.0.0.0:4317` or `[::1]:4317`";
            item.error_help(
                format!(
                    "expected `host:port` with a port from 0 to 65535{}",
                    item.shown()
                ),
                help,
            );
            None
        }
    }
}

/// Host (without brackets) and port.
pub(crate) fn host_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner
            .strip_suffix(']')
            .filter(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())?,
        None if host.contains(':') => return None,
        None => host,
    };
    let clean = host
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c));
    let digits = port.chars().all(|c| c.is_ascii_digit());
    Some((host, port.parse().ok()?)).filter(|_| clean && digits)
}

/// A gRPC target: `host:port`, `http://`, `https://`, `dns:///host:port`, `unix:///path`.
pub(crate) fn grpc_target(item: &Item<'_>) -> Option<String> {
    let text = item.string()?;
    let bare = ["http://", "https://", "dns:///", "dns:"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let good = if let Some(path) = text.strip_prefix("unix:") {
        !path.trim_start_matches('/').is_empty()
    } else {
        let bare = bare.unwrap_or(&text).trim_end_matches('/');
        host_port(bare).is_some_and(|(host, port)| !host.is_empty() && port > 0)
    };
    if !good {
        let help =
            "for example `collector:4317`, `https://collector:4317` or `unix:///run/otlp.sock`";
        item.error_help(
            format!(
                "expected `host:port` of an OTLP gRPC server{}",
                item.shown()
            ),
            help,
        );
    }
    good.then_some(text)
}

/// An `http://` or `https://` URL.
pub(crate) fn http_url(item: &Item<'_>) -> Option<String> {
    let text = item.string()?;
    let has_scheme = ["http", "https"]
        .iter()
        .any(|scheme| text.starts_with(&format!("{scheme}://")));
    let host = text
        .parse::<http::Uri>()
        .ok()
        .and_then(|uri| uri.host().map(|host| !host.is_empty()));
    let good = has_scheme && host == Some(true);
    if !good {
        let help = "for example `http://collector:4318` or `https://collector.example:4318`";
        item.error_help(
            format!("expected an `http://` or `https://` URL{}", item.shown()),
            help,
        );
    }
    good.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        let check = |text: &str, expected: Option<(&str, u16)>| {
            assert_eq!(host_port(text), expected, "{text}")
        };
        check("localhost:4317", Some(("localhost", 4317)));
        check("0.0.0.0:0", Some(("0.0.0.0", 0)));
        check(":4317", Some(("", 4317)));
        check("[::1]:4317", Some(("::1", 4317)));
        check("[::1:4317", None);
        check("[x]:4317", None);
        check("::1:4317", None);
        check("localhost", None);
        check("localhost:", None);
        check("localhost:65536", None);
        check("localhost:+1", None);
        check("http://localhost:1", None);
        check("a b:1", None);
        check("", None);
    }
}
