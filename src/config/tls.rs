//! `tls` blocks of servers and clients (the Collector's `configtls`).

use std::path::PathBuf;

use super::fields::Fields;
use super::item::Item;
use crate::exporters::{Pem, Secret, TlsClientSettings, TlsVersion};
use crate::receivers::{TlsSettings, TlsVersion as ServerTlsVersion};

const VERSIONS: [(&str, TlsVersion); 2] = [("1.2", TlsVersion::V1_2), ("1.3", TlsVersion::V1_3)];
const NO_PEM: &str = "write the text into a file and name it with the `_file` key";
const CHOSEN: &str = "leave it out: rustls offers only suites and curves that are safe today";

/// `tls` of a receiver. `None` when there is no TLS or it has errors.
pub(crate) fn server(item: &Item<'_>) -> Option<TlsSettings> {
    let mut fields = item.fields()?;
    let cert = fields.require("cert_file", "a PEM file with the certificate");
    let key = fields.require("key_file", "a PEM file with the private key");
    let (cert, key) = (
        cert.and_then(|item| item.string()),
        key.and_then(|item| item.string()),
    );
    let client_ca_file = fields.string("client_ca_file").map(PathBuf::from);
    let min_version = version(&mut fields, "min_version").unwrap_or(TlsVersion::V1_2);
    let max_version = version(&mut fields, "max_version");
    check_versions(item, Some(min_version), max_version);
    for pem in ["cert_pem", "key_pem", "ca_pem"] {
        fields.not_yet(pem, NO_PEM);
    }
    fields.not_yet("tpm", "use a key file");
    fields.not_yet("cipher_suites", CHOSEN);
    fields.not_yet("curve_preferences", CHOSEN);
    fields.no_effect("reload_interval", "certificates are read at start");
    fields.no_effect("client_ca_file_reload", "certificates are read at start");
    fields.no_effect(
        "ca_file",
        "it is for clients; `client_ca_file` asks clients for certificates",
    );
    fields.no_effect("include_system_ca_certs_pool", "it is for clients");
    let min_version = match min_version {
        TlsVersion::V1_2 => ServerTlsVersion::V1_2,
        TlsVersion::V1_3 => ServerTlsVersion::V1_3,
    };
    Some(TlsSettings {
        cert_file: cert?.into(),
        key_file: key?.into(),
        client_ca_file,
        min_version,
    })
}

/// `tls` of an exporter.
pub(crate) fn client(item: &Item<'_>) -> Option<TlsClientSettings> {
    let mut fields = item.fields()?;
    let settings = TlsClientSettings {
        insecure: fields.boolean("insecure").unwrap_or(false),
        insecure_skip_verify: fields.boolean("insecure_skip_verify").unwrap_or(false),
        ca: pem(&mut fields, "ca_file", "ca_pem"),
        include_system_ca_certs_pool: fields
            .boolean("include_system_ca_certs_pool")
            .unwrap_or(false),
        cert: pem(&mut fields, "cert_file", "cert_pem"),
        key: pem(&mut fields, "key_file", "key_pem"),
        server_name_override: fields
            .string("server_name_override")
            .filter(|name| !name.is_empty()),
        min_version: version(&mut fields, "min_version"),
        max_version: version(&mut fields, "max_version"),
    };
    fields.not_yet("tpm", "use a key file");
    fields.not_yet("cipher_suites", CHOSEN);
    fields.not_yet("curve_preferences", CHOSEN);
    fields.no_effect("reload_interval", "certificates are read at start");
    check_versions(item, settings.min_version, settings.max_version);
    if settings.cert.is_some() != settings.key.is_some() {
        item.error("a client certificate needs both `cert_file` and `key_file`");
    }
    Some(settings)
}

fn version(fields: &mut Fields<'_>, key: &'static str) -> Option<TlsVersion> {
    let item = fields.get(key)?;
    match item.string()?.as_str() {
        "" => None,
        "1.0" | "1.1" => {
            item.error("TLS 1.0 and 1.1 are not offered: expected `\"1.2\"` or `\"1.3\"`");
            None
        }
        _ => item.one_of(&VERSIONS),
    }
}

fn check_versions(item: &Item<'_>, min: Option<TlsVersion>, max: Option<TlsVersion>) {
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        item.error("`min_version` is above `max_version`");
    }
}

fn pem(fields: &mut Fields<'_>, file: &'static str, inline: &'static str) -> Option<Pem> {
    let path = fields.string(file).filter(|path| !path.is_empty());
    let text = fields.string(inline).filter(|text| !text.is_empty());
    if path.is_some() && text.is_some() {
        fields
            .item()
            .error(format!("`{file}` and `{inline}` exclude each other"));
    }
    path.map(|path| Pem::File(path.into()))
        .or(text.map(|text| Pem::Inline(Secret::new(text))))
}
