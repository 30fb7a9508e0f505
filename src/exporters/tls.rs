//! `tls` of a client as a rustls config, with the Collector's meaning.
//!
//! Everything that can be wrong (a missing file, a key that does not fit) is found here, at start. The protocols (ALPN)
//! are the connector's.

use super::error::Problem;
use crate::client_tls::{Pem, TlsClientSettings, TlsVersion};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedProtocolVersion,
    version,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::sync::Arc;

/// The config for `tls`; for a client that wants TLS, whatever `insecure` says.
pub(crate) fn client_config(tls: &TlsClientSettings) -> Result<ClientConfig, Problem> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions(tls)?)
        .map_err(|e| Problem::new("tls", e.to_string()))?;
    let builder = if tls.insecure_skip_verify {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
    } else {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(tls)?), provider)
            .build()
            .map_err(|e| Problem::new("tls.ca_file", e.to_string()))?;
        builder.with_webpki_verifier(verifier)
    };
    match (&tls.cert, &tls.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(cert), Some(key)) => builder
            .with_client_auth_cert(certificates("tls.cert_file", cert)?, private_key(key)?)
            .map_err(|e| {
                Problem::new(
                    "tls.cert_file",
                    format!("certificate and key cannot be used: {e}"),
                )
            }),
        (Some(_), None) => Err(Problem::new(
            "tls.key_file",
            "is missing: cert_file needs its key",
        )),
        (None, Some(_)) => Err(Problem::new(
            "tls.cert_file",
            "is missing: key_file needs its certificate",
        )),
    }
}

/// `server_name_override` as a checked name.
pub(crate) fn server_name(tls: &TlsClientSettings) -> Result<Option<ServerName<'static>>, Problem> {
    let Some(name) = &tls.server_name_override else {
        return Ok(None);
    };
    ServerName::try_from(name.clone()).map(Some).map_err(|_| {
        Problem::new(
            "tls.server_name_override",
            "is neither a DNS name nor an IP address",
        )
    })
}

fn versions(tls: &TlsClientSettings) -> Result<Vec<&'static SupportedProtocolVersion>, Problem> {
    let min = tls.min_version.unwrap_or(TlsVersion::V1_2);
    let max = tls.max_version.unwrap_or(TlsVersion::V1_3);
    if min > max {
        return Err(Problem::new("tls.min_version", "is above max_version"));
    }
    let known = [
        (TlsVersion::V1_3, &version::TLS13),
        (TlsVersion::V1_2, &version::TLS12),
    ];
    Ok(known
        .into_iter()
        .filter(|(v, _)| (min..=max).contains(v))
        .map(|(_, known)| known)
        .collect())
}

fn roots(tls: &TlsClientSettings) -> Result<RootCertStore, Problem> {
    let mut roots = RootCertStore::empty();
    if let Some(ca) = &tls.ca {
        for certificate in certificates("tls.ca_file", ca)? {
            roots
                .add(certificate)
                .map_err(|e| Problem::new("tls.ca_file", format!("unusable certificate: {e}")))?;
        }
    }
    if tls.ca.is_none() || tls.include_system_ca_certs_pool {
        // Some roots of a system may be odd; what counts is that there are some.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if roots.is_empty() {
        return Err(Problem::new(
            "tls.ca_file",
            "is not set, and this machine has no root certificates; set it, or install ca-certificates",
        ));
    }
    Ok(roots)
}

fn certificates(key: &'static str, pem: &Pem) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let bytes = read(key, pem)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(Problem::new(key, "holds no PEM certificate")),
    }
}

fn private_key(pem: &Pem) -> Result<PrivateKeyDer<'static>, Problem> {
    let bytes = read("tls.key_file", pem)?;
    PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|_| Problem::new("tls.key_file", "holds no PEM private key"))
}

fn read(key: &'static str, pem: &Pem) -> Result<Vec<u8>, Problem> {
    match pem {
        Pem::Inline(text) => Ok(text.reveal().as_bytes().to_vec()),
        Pem::File(path) => std::fs::read(path)
            .map_err(|e| Problem::io(key, format!("cannot read {}", path.display()), e)),
    }
}

/// `insecure_skip_verify`: any certificate will do; the handshake is still checked to be made with its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
