//! Certificates made for one test.

use crate::exporters::{Pem, Secret};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// An authority that signs.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

/// A certificate with its key, both PEM.
pub(super) struct Identity {
    pub(super) cert: String,
    pub(super) key: String,
}

impl Authority {
    /// Each by its own name: an issuer of the same name with another key would be a bad signature.
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    pub(super) fn sign(&self, name: &str) -> Identity {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity {
            cert,
            key: key.serialize_pem(),
        }
    }

    pub(super) fn as_setting(&self) -> Option<Pem> {
        Some(Pem::Inline(Secret::new(self.pem.clone())))
    }
}

impl Identity {
    pub(super) fn as_settings(&self) -> (Option<Pem>, Option<Pem>) {
        let inline = |text: &String| Some(Pem::Inline(Secret::new(text.clone())));
        (inline(&self.cert), inline(&self.key))
    }

    /// What a server made with rustls takes.
    pub(super) fn server_config(&self, client_ca: Option<&Authority>) -> rustls::ServerConfig {
        use rustls_pki_types::pem::PemObject;
        use rustls_pki_types::{CertificateDer, PrivateKeyDer};
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let certs = vec![CertificateDer::from_pem_slice(self.cert.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let mut roots = rustls::RootCertStore::empty();
                roots
                    .add(CertificateDer::from_pem_slice(ca.pem.as_bytes()).unwrap())
                    .unwrap();
                let roots = std::sync::Arc::new(roots);
                builder.with_client_cert_verifier(
                    rustls::server::WebPkiClientVerifier::builder_with_provider(roots, provider)
                        .build()
                        .unwrap(),
                )
            }
        };
        builder.with_single_cert(certs, key).unwrap()
    }
}
