//! `otlphttp` over TLS.

use super::certificates::Authority;
use super::http::{to, transport};
use super::http_server::{HttpServer, Script};
use super::spans::{assert_discreet, outgoing};
use crate::exporters::{ExporterKind, ExporterSettings, Secret, build};
use crate::exporters::{OtlpHttpSettings, Pem, SendError, Sent, TlsClientSettings, TlsVersion};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

const ANY: &str = "127.0.0.1:0";

async fn send(port: u16, tls: TlsClientSettings) -> Result<Sent, SendError> {
    let http = OtlpHttpSettings {
        tls,
        ..to(format!("https://localhost:{port}"))
    };
    let outcome = transport(http).send(outgoing(1)).await;
    assert_discreet(&outcome);
    outcome
}

fn trusting(authority: &Authority) -> TlsClientSettings {
    TlsClientSettings {
        ca: authority.as_setting(),
        ..TlsClientSettings::default()
    }
}

#[tokio::test]
async fn only_a_server_that_is_known_gets_the_spans() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("theirs"));
    let script = Script::default();
    let mut config = authority.sign("localhost").server_config(None);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let server = HttpServer::start_at(ANY.parse().unwrap(), &script, Some(config));
    let port = server.address.port();
    assert_eq!(send(port, trusting(&authority)).await, Ok(Sent::All));
    assert_eq!(
        script.received().pop().unwrap().version,
        http::Version::HTTP_2
    );
    let old = TlsClientSettings {
        max_version: Some(TlsVersion::V1_2),
        ..trusting(&authority)
    };
    assert_eq!(send(port, old).await, Ok(Sent::All));
    let unknown = "HTTP: TLS: the server's certificate is from an unknown issuer (tls.ca_file)";
    assert_eq!(
        send(port, trusting(&stranger)).await,
        Err(SendError::retry(unknown))
    );
    assert_eq!(script.received().len(), 2);
}

#[tokio::test]
async fn a_server_may_ask_for_our_certificate() {
    let authority = Authority::new("ours");
    let script = Script::default();
    let config = authority.sign("localhost").server_config(Some(&authority));
    let server = HttpServer::start_at(ANY.parse().unwrap(), &script, Some(config));
    let port = server.address.port();
    assert!(matches!(
        send(port, trusting(&authority)).await,
        Err(SendError::Retry { .. })
    ));
    let (cert, key) = authority.sign("client").as_settings();
    assert_eq!(
        send(
            port,
            TlsClientSettings {
                cert,
                key,
                ..trusting(&authority)
            }
        )
        .await,
        Ok(Sent::All)
    );
    assert_eq!(
        script.received().pop().unwrap().version,
        http::Version::HTTP_11
    );
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "one story, told in order")]
async fn bad_tls_settings_are_found_at_start() {
    let authority = Authority::new("ours");
    let identity = authority.sign("client");
    let other = authority.sign("other");
    let (cert, key) = identity.as_settings();
    let (_, foreign_key) = other.as_settings();
    let inline = |text: &str| Some(Pem::Inline(Secret::new(text)));
    let check = |tls: TlsClientSettings, expected: &str| {
        let http = OtlpHttpSettings {
            tls,
            ..to("https://collector")
        };
        let settings = ExporterSettings::new("otlphttp", ExporterKind::OtlpHttp(http));
        let clock = Arc::new(crate::clock::ManualClock::at(0));
        let error = build(&settings, &TaskTracker::new(), clock)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(expected) && !error.contains("canary"),
            "{error}"
        );
    };
    let base = trusting(&authority);
    let missing = Some(Pem::File("/nowhere/ca.pem".into()));
    check(
        TlsClientSettings {
            ca: missing,
            ..base.clone()
        },
        "tls.ca_file: cannot read /nowhere/ca.pem: No such file",
    );
    check(
        TlsClientSettings {
            ca: inline("canary"),
            ..base.clone()
        },
        "tls.ca_file: holds no PEM certificate",
    );
    check(
        TlsClientSettings {
            cert: cert.clone(),
            ..base.clone()
        },
        "tls.key_file: is missing",
    );
    check(
        TlsClientSettings {
            key: key.clone(),
            ..base.clone()
        },
        "tls.cert_file: is missing",
    );
    check(
        TlsClientSettings {
            cert: cert.clone(),
            key: inline("canary"),
            ..base.clone()
        },
        "no PEM private key",
    );
    check(
        TlsClientSettings {
            cert,
            key: foreign_key,
            ..base.clone()
        },
        "certificate and key cannot be used",
    );
    let name = Some("not a name".to_owned());
    check(
        TlsClientSettings {
            server_name_override: name,
            ..base.clone()
        },
        "server_name_override",
    );
    let (min_version, max_version) = (Some(TlsVersion::V1_3), Some(TlsVersion::V1_2));
    check(
        TlsClientSettings {
            min_version,
            max_version,
            ..base
        },
        "tls.min_version: is above max_version",
    );
}
