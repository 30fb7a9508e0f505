//! TLS of a receiver: certificate, key and client CA read once at the start, by rustls with the ring provider.

use super::error::ReceiverError;
use super::settings::{TlsSettings, TlsVersion};
use rustls::crypto::ring;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// An acceptor that offers `protocols` by ALPN, best first.
///
/// # Errors
/// [`ReceiverError::TlsFile`] names the file that cannot be used, [`ReceiverError::Tls`] what does not fit together.
pub(super) fn acceptor(
    settings: &TlsSettings,
    protocols: &[&[u8]],
) -> Result<TlsAcceptor, ReceiverError> {
    let chain = certificates("cert_file", &settings.cert_file)?;
    let key = PrivateKeyDer::from_pem_file(&settings.key_file)
        .map_err(|error| unreadable("key_file", &settings.key_file, &error))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions(settings.min_version))
        .map_err(|error| ReceiverError::Tls(error.to_string()))?;
    let builder = match &settings.client_ca_file {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates("client_ca_file", file)? {
                roots
                    .add(certificate)
                    .map_err(|error| ReceiverError::Tls(format!("client_ca_file: {error}")))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| ReceiverError::Tls(format!("client_ca_file: {error}")))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|error| ReceiverError::Tls(format!("cert_file, key_file: {error}")))?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn versions(min: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    static ONLY_1_3: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
    match min {
        TlsVersion::V1_2 => rustls::ALL_VERSIONS,
        TlsVersion::V1_3 => &ONLY_1_3,
    }
}

fn certificates(
    role: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, ReceiverError> {
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|error| unreadable(role, path, &error))?;
    if chain.is_empty() {
        let reason = "no certificate in it".to_owned();
        return Err(ReceiverError::TlsFile {
            role,
            path: path.to_owned(),
            reason,
        });
    }
    Ok(chain)
}

fn unreadable(
    role: &'static str,
    path: &Path,
    error: &rustls_pki_types::pem::Error,
) -> ReceiverError {
    use rustls_pki_types::pem::Error;
    // Only what cannot quote the file: some variants carry lines of it.
    let reason = match error {
        Error::Io(error) => error.to_string(),
        Error::NoItemsFound => "no such section in it".to_owned(),
        _ => "not valid PEM".to_owned(),
    };
    ReceiverError::TlsFile {
        role,
        path: path.to_owned(),
        reason,
    }
}
