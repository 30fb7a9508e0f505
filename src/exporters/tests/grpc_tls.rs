//! `otlp` over TLS: who is trusted, and who is not.

use super::certificates::Authority;
use super::grpc::transport;
use super::grpc_server::{GrpcServer, Script};
use super::spans::{assert_discreet, outgoing};
use crate::exporters::{OtlpGrpcSettings, SendError, Sent, TlsClientSettings};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

const ANY: &str = "127.0.0.1:0";

async fn send(endpoint: &str, tls: TlsClientSettings) -> Result<Sent, SendError> {
    let outcome = transport(OtlpGrpcSettings {
        tls,
        ..OtlpGrpcSettings::new(endpoint)
    })
    .send(outgoing(1))
    .await;
    assert_discreet(&outcome);
    outcome
}

fn refused(phrase: &str) -> Result<Sent, SendError> {
    Err(SendError::retry(format!("gRPC: {phrase}")))
}

#[tokio::test]
async fn only_a_server_that_is_known_gets_the_spans() {
    let (authority, stranger) = (Authority::new("ours"), Authority::new("theirs"));
    let identity = authority.sign("localhost");
    let tls = ServerTlsConfig::new().identity(Identity::from_pem(&identity.cert, &identity.key));
    let script = Script::default();
    let server = GrpcServer::start_at(ANY.parse().unwrap(), &script, Some(tls));
    let by_name = format!("localhost:{}", server.address.port());
    let by_address = format!("https://127.0.0.1:{}", server.address.port());

    let trusting = TlsClientSettings {
        ca: authority.as_setting(),
        ..TlsClientSettings::default()
    };
    assert_eq!(send(&by_name, trusting.clone()).await, Ok(Sent::All));
    let insecure_with_ca = TlsClientSettings {
        insecure: true,
        ..trusting.clone()
    };
    assert_eq!(
        send(&by_name, insecure_with_ca).await,
        Ok(Sent::All),
        "a CA counts more than insecure"
    );
    let overridden = TlsClientSettings {
        server_name_override: Some("localhost".to_owned()),
        ..trusting.clone()
    };
    assert_eq!(send(&by_address, overridden).await, Ok(Sent::All));
    let careless = TlsClientSettings {
        insecure_skip_verify: true,
        ..TlsClientSettings::default()
    };
    assert_eq!(send(&by_address, careless).await, Ok(Sent::All));
    assert_eq!(script.received().len(), 4);

    let wrong_ca = TlsClientSettings {
        ca: stranger.as_setting(),
        ..TlsClientSettings::default()
    };
    let unknown = "TLS: the server's certificate is from an unknown issuer (tls.ca_file)";
    assert_eq!(send(&by_name, wrong_ca).await, refused(unknown));
    let other_name = "TLS: the server's certificate is for another name (tls.server_name_override)";
    assert_eq!(send(&by_address, trusting).await, refused(other_name));
    let plain = TlsClientSettings {
        insecure: true,
        ..TlsClientSettings::default()
    };
    assert!(matches!(
        send(&by_name, plain).await,
        Err(SendError::Retry { .. })
    ));
    assert_eq!(script.received().len(), 4, "none of these got through");
}

#[tokio::test]
async fn a_server_may_ask_for_our_certificate() {
    let authority = Authority::new("ours");
    let identity = authority.sign("localhost");
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(&identity.cert, &identity.key))
        .client_ca_root(Certificate::from_pem(&authority.pem));
    let script = Script::default();
    let server = GrpcServer::start_at(ANY.parse().unwrap(), &script, Some(tls));
    let endpoint = format!("localhost:{}", server.address.port());

    let without = TlsClientSettings {
        ca: authority.as_setting(),
        ..TlsClientSettings::default()
    };
    let outcome = send(&endpoint, without.clone()).await;
    // The server's alert comes after the handshake, and may be lost behind the end of the connection.
    let wanted = "TLS: the server wants a client certificate (tls.cert_file, tls.key_file)";
    let closed = "the connection was closed by the server";
    assert!(
        outcome == refused(wanted) || outcome == refused(closed),
        "{outcome:?}"
    );
    let (cert, key) = authority.sign("client").as_settings();
    assert_eq!(
        send(
            &endpoint,
            TlsClientSettings {
                cert,
                key,
                ..without.clone()
            }
        )
        .await,
        Ok(Sent::All)
    );
    let (cert, key) = Authority::new("theirs").sign("client").as_settings();
    let foreign = send(
        &endpoint,
        TlsClientSettings {
            cert,
            key,
            ..without
        },
    )
    .await;
    assert!(
        matches!(foreign, Err(SendError::Retry { .. })),
        "{foreign:?}"
    );
    assert_eq!(script.received().len(), 1);
}

#[tokio::test]
async fn a_plain_server_is_not_taken_for_a_secure_one() {
    let server = GrpcServer::start(&Script::default());
    let careless = TlsClientSettings {
        insecure_skip_verify: true,
        ..TlsClientSettings::default()
    };
    let outcome = send(&server.address.to_string(), careless).await;
    assert_eq!(
        outcome,
        refused("TLS: the server does not speak TLS (tls.insecure: true for plain text)")
    );
}
