//! Why there is no connection, as a fixed phrase.
//!
//! Errors of the network stack arrive as chains of boxes; an operator needs the one link that says what to do. Nothing
//! of a chain is repeated, so that no text of the far side gets into a log.

use rustls::{AlertDescription, CertificateError};
use std::error::Error;
use std::io::ErrorKind;

/// Deep enough for any real chain, and an end for a crooked one.
const DEEPEST: usize = 16;
/// What a TLS 1.3 server does that misses our certificate, too: its alert comes after the handshake.
const CLOSED: &str = "the connection was closed by the server";
const NO_CERTIFICATE: &str =
    "TLS: the server wants a client certificate (tls.cert_file, tls.key_file)";
const REFUSED_HANDSHAKE: &str = "TLS: the server refused the handshake";

/// The phrase for the first link of the chain that says something.
pub(crate) fn phrase(error: &(dyn Error + 'static)) -> &'static str {
    links(error)
        .find_map(known)
        .unwrap_or("the connection failed")
}

/// All links: `io::Error` hides what it wraps from `source`.
pub(crate) fn links<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| next_link(*error)).take(DEEPEST)
}

fn next_link<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
    {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn known(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls_phrase(tls));
    }
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        return io_phrase(io.kind());
    }
    if error.is::<tonic::TimeoutExpired>() {
        return Some("no answer in time");
    }
    if let Some(http) = error.downcast_ref::<hyper::Error>() {
        let closed = http.is_canceled() || http.is_closed() || http.is_incomplete_message();
        return closed.then_some(CLOSED);
    }
    by_text(&error.to_string())
}

/// Errors whose type is private (the resolver's) or lost on the way (HTTP/2 keeps only the text of an I/O error).
fn by_text(text: &str) -> Option<&'static str> {
    match text.strip_prefix("received fatal alert: ") {
        Some("CertificateRequired") => Some(NO_CERTIFICATE),
        Some(_) => Some(REFUSED_HANDSHAKE),
        None => (text == "dns error").then_some("the name of the host cannot be resolved"),
    }
}

fn io_phrase(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::ConnectionRefused => Some("connection refused"),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some(CLOSED),
        ErrorKind::TimedOut => Some("no connection in time"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Some("the host cannot be reached")
        }
        ErrorKind::NotFound => Some("the socket does not exist"),
        ErrorKind::PermissionDenied => Some("no permission to connect"),
        _ => None,
    }
}

fn tls_phrase(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(why) => certificate_phrase(why),
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => NO_CERTIFICATE,
        rustls::Error::AlertReceived(
            AlertDescription::UnknownCA | AlertDescription::BadCertificate,
        ) => "TLS: the server does not accept our certificate",
        rustls::Error::AlertReceived(_) => REFUSED_HANDSHAKE,
        rustls::Error::InvalidMessage(_) => {
            "TLS: the server does not speak TLS (tls.insecure: true for plain text)"
        }
        _ => "TLS: the handshake failed",
    }
}

fn certificate_phrase(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::UnknownIssuer => {
            "TLS: the server's certificate is from an unknown issuer (tls.ca_file)"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "TLS: the server's certificate has expired"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "TLS: the server's certificate is for another name (tls.server_name_override)"
        }
        _ => "TLS: the server's certificate is not valid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn finds_the_link_that_says_something() {
        let check = |error: io::Error, expected: &str| assert_eq!(phrase(&error), expected);
        check(
            io::Error::from(ErrorKind::ConnectionRefused),
            "connection refused",
        );
        check(
            io::Error::other(io::Error::from(ErrorKind::TimedOut)),
            "no connection in time",
        );
        let tls = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        check(
            io::Error::other(io::Error::new(ErrorKind::InvalidData, tls)),
            "TLS: the server's certificate is from an unknown issuer (tls.ca_file)",
        );
        check(
            io::Error::other("canary text of a server"),
            "the connection failed",
        );
        let alert = rustls::Error::AlertReceived(AlertDescription::CertificateRequired).to_string();
        check(
            io::Error::new(ErrorKind::InvalidData, alert),
            NO_CERTIFICATE,
        );
    }
}
