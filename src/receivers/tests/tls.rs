//! TLS on both receivers, with certificates made for the test.

use super::grpc_client::{EXPORT, call};
use super::recorder::{BUDGET, Recorder, destination};
use crate::receivers::{
    OtlpGrpc, OtlpGrpcSettings, OtlpHttp, OtlpHttpSettings, TlsSettings, TlsVersion, bind,
};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// A CA, a server and a client that it signed, as PEM files.
struct Files {
    directory: TempDir,
    ca: String,
    client: (String, String),
}

fn files() -> Files {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &ca)
            .unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = signed("localhost");
    std::fs::write(directory.path().join("cert.pem"), certificate).unwrap();
    std::fs::write(directory.path().join("key.pem"), key).unwrap();
    std::fs::write(directory.path().join("ca.pem"), ca.pem()).unwrap();
    std::fs::write(directory.path().join("empty.pem"), "secret").unwrap();
    let client = signed("client");
    Files {
        directory,
        ca: ca.pem(),
        client,
    }
}

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn settings(&self, mutual: bool, min_version: TlsVersion) -> TlsSettings {
        TlsSettings {
            cert_file: self.path("cert.pem"),
            key_file: self.path("key.pem"),
            client_ca_file: mutual.then(|| self.path("ca.pem")),
            min_version,
        }
    }
}

async fn serve_grpc(tls: TlsSettings) -> SocketAddr {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let settings = OtlpGrpcSettings {
        tls: Some(tls),
        ..OtlpGrpcSettings::default()
    };
    let receiver = OtlpGrpc::new(settings, destination(&Recorder::accepting(), BUDGET)).unwrap();
    TaskTracker::new().spawn(receiver.serve(listener, CancellationToken::new()));
    address
}

async fn serve_http(tls: TlsSettings) -> SocketAddr {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let settings = OtlpHttpSettings {
        tls: Some(tls),
        ..OtlpHttpSettings::default()
    };
    let receiver = OtlpHttp::new(settings, destination(&Recorder::accepting(), BUDGET)).unwrap();
    TaskTracker::new().spawn(receiver.serve(listener, CancellationToken::new()));
    address
}

/// Does a gRPC call get through?
async fn grpc_works(address: SocketAddr, files: &Files, with_identity: bool) -> bool {
    let mut tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&files.ca))
        .domain_name("localhost");
    if with_identity {
        tls = tls.identity(Identity::from_pem(&files.client.0, &files.client.1));
    }
    let endpoint = Endpoint::from_shared(format!("https://{address}"))
        .unwrap()
        .tls_config(tls)
        .unwrap();
    let Ok(channel) = endpoint.connect().await else {
        return false;
    };
    call(&channel, EXPORT, None, Bytes::from_static(b"x"))
        .await
        .is_ok()
}

/// Status of a post over TLS, if it gets through, and the HTTP version it went over.
async fn http_post(
    address: SocketAddr,
    files: &Files,
    with_identity: bool,
    http2: bool,
    versions: &[&'static SupportedProtocolVersion],
) -> Option<(u16, http::Version)> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(files.ca.as_bytes()).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let config = if with_identity {
        let chain = vec![CertificateDer::from_pem_slice(files.client.0.as_bytes()).unwrap()];
        config
            .with_client_auth_cert(
                chain,
                PrivateKeyDer::from_pem_slice(files.client.1.as_bytes()).unwrap(),
            )
            .unwrap()
    } else {
        config.with_no_client_auth()
    };
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only();
    let connector = if http2 {
        connector.enable_http2().build()
    } else {
        connector.enable_http1().build()
    };
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let request = Request::post(format!("https://localhost:{}/v1/traces", address.port()))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(b"{}")))
        .unwrap();
    let answer = client.request(request).await.ok()?;
    Some((answer.status().as_u16(), answer.version()))
}

#[tokio::test]
async fn grpc_with_and_without_client_certificates() {
    let files = files();
    let plain = serve_grpc(files.settings(false, TlsVersion::V1_2)).await;
    assert!(grpc_works(plain, &files, false).await);
    let mutual = serve_grpc(files.settings(true, TlsVersion::V1_3)).await;
    assert!(grpc_works(mutual, &files, true).await);
    assert!(!grpc_works(mutual, &files, false).await);
}

#[tokio::test]
async fn http_over_both_versions_with_and_without_client_certificates() {
    const ALL: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12, &rustls::version::TLS13];
    let files = files();
    let address = serve_http(files.settings(false, TlsVersion::V1_2)).await;
    assert_eq!(
        http_post(address, &files, false, false, ALL).await,
        Some((200, http::Version::HTTP_11))
    );
    assert_eq!(
        http_post(address, &files, false, true, ALL).await,
        Some((200, http::Version::HTTP_2))
    );
    let mutual = serve_http(files.settings(true, TlsVersion::V1_2)).await;
    assert_eq!(
        http_post(mutual, &files, true, false, ALL).await,
        Some((200, http::Version::HTTP_11))
    );
    assert_eq!(http_post(mutual, &files, false, false, ALL).await, None);
}

#[tokio::test]
async fn the_lowest_version_is_kept() {
    const OLD: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
    let files = files();
    let lenient = serve_http(files.settings(false, TlsVersion::V1_2)).await;
    assert!(
        http_post(lenient, &files, false, false, OLD)
            .await
            .is_some()
    );
    let strict = serve_http(files.settings(false, TlsVersion::V1_3)).await;
    assert!(http_post(strict, &files, false, false, OLD).await.is_none());
}

#[test]
fn files_that_cannot_be_used_are_named_and_not_quoted() {
    let files = files();
    let good = || files.settings(true, TlsVersion::V1_2);
    let check = |tls: TlsSettings, expected: &str| {
        let settings = OtlpGrpcSettings {
            tls: Some(tls),
            ..OtlpGrpcSettings::default()
        };
        let error = OtlpGrpc::new(settings, destination(&Recorder::accepting(), BUDGET))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(expected) && !error.contains("secret"),
            "{error}"
        );
    };
    check(
        TlsSettings {
            cert_file: files.path("none"),
            ..good()
        },
        "cannot read cert_file /",
    );
    check(
        TlsSettings {
            cert_file: files.path("empty.pem"),
            ..good()
        },
        "empty.pem: no certificate in it",
    );
    check(
        TlsSettings {
            key_file: files.path("cert.pem"),
            ..good()
        },
        "cannot read key_file /",
    );
    check(
        TlsSettings {
            client_ca_file: Some(files.path("empty.pem")),
            ..good()
        },
        "cannot read client_ca_file /",
    );
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(files.path("other.pem"), other.signing_key.serialize_pem()).unwrap();
    check(
        TlsSettings {
            key_file: files.path("other.pem"),
            ..good()
        },
        "TLS settings do not work together",
    );
}
