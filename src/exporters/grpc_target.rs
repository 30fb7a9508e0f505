//! `endpoint` of a gRPC exporter: the forms of gRPC's naming that a Collector's file may hold.
//!
//! A port is required, as the Collector requires it. Every address behind a name is tried in order; what connects is
//! kept (`pick_first`).

use super::error::Problem;
use std::path::PathBuf;

const KEY: &str = "endpoint";

/// Where a channel leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GrpcTarget {
    /// `host:port`, brackets kept around an IPv6 address.
    Tcp {
        authority: String,
        scheme: Option<Scheme>,
    },
    /// A socket of this machine.
    Unix(PathBuf),
}

/// A scheme that says whether TLS is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Off.
    Http,
    /// On, `insecure` or not.
    Https,
}

impl GrpcTarget {
    pub(crate) fn parse(endpoint: &str) -> Result<Self, Problem> {
        if let Some(path) = endpoint.strip_prefix("unix:") {
            return unix(path);
        }
        if let Some(rest) = endpoint.strip_prefix("http://") {
            return tcp(rest, Some(Scheme::Http));
        }
        if let Some(rest) = endpoint.strip_prefix("https://") {
            return tcp(rest, Some(Scheme::Https));
        }
        match endpoint.split_once("://") {
            None => tcp(endpoint.strip_prefix("dns:").unwrap_or(endpoint), None),
            Some(("dns" | "passthrough", rest)) => match rest.split_once('/') {
                None | Some(("", _)) => tcp(rest.trim_start_matches('/'), None),
                Some(_) => Err(Problem::new(
                    KEY,
                    "a name server of its own is not supported; write dns:///host:port",
                )),
            },
            Some(_) => Err(Problem::new(
                KEY,
                "unknown scheme; use host:port, http, https, dns:/// or unix://",
            )),
        }
    }
}

fn unix(path: &str) -> Result<GrpcTarget, Problem> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        return Err(Problem::new(KEY, "the path of the unix socket is missing"));
    }
    Ok(GrpcTarget::Unix(PathBuf::from(path)))
}

fn tcp(address: &str, scheme: Option<Scheme>) -> Result<GrpcTarget, Problem> {
    let Some((host, port)) = address.rsplit_once(':') else {
        return Err(Problem::new(KEY, "the port is missing: host:port"));
    };
    if port.parse::<u16>().is_err() {
        return Err(Problem::new(
            KEY,
            "the port is not a number from 0 to 65535: host:port, without a path",
        ));
    }
    // `:4317` is this machine, as for Go.
    let host = if host.is_empty() { "localhost" } else { host };
    if host.contains(':') && !host.starts_with('[') {
        return Err(Problem::new(
            KEY,
            "an IPv6 address stands in brackets: [::1]:4317",
        ));
    }
    let authority = format!("{host}:{port}");
    if authority.contains('@') || authority.parse::<http::uri::Authority>().is_err() {
        return Err(Problem::new(KEY, "is not host:port"));
    }
    Ok(GrpcTarget::Tcp { authority, scheme })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_forms_of_grpc_naming() {
        let check = |endpoint: &str, expected: GrpcTarget| {
            assert_eq!(GrpcTarget::parse(endpoint).unwrap(), expected, "{endpoint}");
        };
        let tcp = |authority: &str, scheme| GrpcTarget::Tcp {
            authority: authority.to_owned(),
            scheme,
        };
        check("collector:4317", tcp("collector:4317", None));
        check(":4317", tcp("localhost:4317", None));
        check("[::1]:4317", tcp("[::1]:4317", None));
        check(
            "http://collector:4317",
            tcp("collector:4317", Some(Scheme::Http)),
        );
        check(
            "https://collector:443",
            tcp("collector:443", Some(Scheme::Https)),
        );
        check("dns:///collector:4317", tcp("collector:4317", None));
        check("dns:collector:4317", tcp("collector:4317", None));
        check("dns://collector:4317", tcp("collector:4317", None));
        check("passthrough:///10.0.0.1:4317", tcp("10.0.0.1:4317", None));
        check(
            "unix:///run/otlp.sock",
            GrpcTarget::Unix("/run/otlp.sock".into()),
        );
        check(
            "unix:run/otlp.sock",
            GrpcTarget::Unix("run/otlp.sock".into()),
        );
    }

    #[test]
    fn refuses_the_rest_without_repeating_it() {
        let check = |endpoint: &str, expected: &str| {
            let error = GrpcTarget::parse(endpoint)
                .unwrap_err()
                .of("otlp")
                .to_string();
            assert!(error.contains(expected), "{endpoint}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        };
        check("", "port is missing");
        check("collector", "port is missing");
        check("collector:otlp", "not a number");
        check("http://collector:4317/v1/traces", "not a number");
        check("collector:70000", "not a number");
        check("user:hunter2@collector:4317", "IPv6");
        check("hunter2@collector:4317", "not host:port");
        check("::1:4317", "brackets");
        check("xds:///collector:4317", "unknown scheme");
        check("dns://8.8.8.8/collector:4317", "name server");
        check("unix://", "path of the unix socket");
        check("col lector:4317", "not host:port");
    }
}
