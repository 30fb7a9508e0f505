//! A connection's settings as librdkafka's.

use super::settings::{ConnectionSettings, Sasl};
use crate::client_tls::{Pem, TlsClientSettings, TlsVersion};
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;

/// A setting that librdkafka cannot honour or refuses, under the key it has in our config. Never holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) key: &'static str,
    pub(crate) text: String,
}

impl Misfit {
    fn new(key: &'static str, text: impl Into<String>) -> Self {
        Self {
            key,
            text: text.into(),
        }
    }
}

/// The longest time between two tries to reach a broker; short enough that a cluster that comes back is used at once.
const RECONNECT_MAX_MS: &str = "5000";

/// What producers and consumers have in common.
pub(crate) fn client_config(connection: &ConnectionSettings) -> Result<ClientConfig, Misfit> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", connection.brokers.join(","))
        .set("client.id", connection.client_id.as_str())
        .set(
            "topic.metadata.refresh.interval.ms",
            millis(connection.metadata_refresh),
        )
        .set(
            "connections.max.idle.ms",
            millis(connection.conn_idle_timeout),
        )
        .set("reconnect.backoff.max.ms", RECONNECT_MAX_MS)
        // It counts how spans fare; what librdkafka counts of itself goes nowhere.
        .set("statistics.interval.ms", "0");
    if connection.canonical_names {
        let only = "resolve_canonical_bootstrap_servers_only";
        config.set("client.dns.lookup", only);
    }
    let encrypted = connection.tls.as_ref().filter(|tls| !tls.insecure);
    let protocol = match (encrypted.is_some(), connection.sasl.is_some()) {
        (false, false) => "plaintext",
        (true, false) => "ssl",
        (false, true) => "sasl_plaintext",
        (true, true) => "sasl_ssl",
    };
    config.set("security.protocol", protocol);
    if let Some(tls) = encrypted {
        encrypt(&mut config, tls)?;
    }
    if let Some(sasl) = &connection.sasl {
        log_in(&mut config, sasl);
    }
    Ok(config)
}

/// Milliseconds, as text.
pub(crate) fn millis(time: std::time::Duration) -> String {
    time.as_millis().to_string()
}

fn log_in(config: &mut ClientConfig, sasl: &Sasl) {
    config
        .set("sasl.mechanism", sasl.mechanism.name())
        .set("sasl.username", sasl.username.reveal())
        .set("sasl.password", sasl.password.reveal());
}

fn encrypt(config: &mut ClientConfig, tls: &TlsClientSettings) -> Result<(), Misfit> {
    if tls.server_name_override.is_some() {
        let text = "librdkafka checks the broker's own name; leave it out";
        return Err(Misfit::new("tls.server_name_override", text));
    }
    if tls.include_system_ca_certs_pool && tls.ca.is_some() {
        let text = "librdkafka takes one set of authorities; put both into one file";
        return Err(Misfit::new("tls.include_system_ca_certs_pool", text));
    }
    // OpenSSL 3 speaks 1.2 and 1.3 unless it is told otherwise, and librdkafka has no key to tell it.
    if tls.min_version == Some(TlsVersion::V1_3) || tls.max_version == Some(TlsVersion::V1_2) {
        let text = "TLS 1.2 and 1.3 are both offered; leave it out";
        return Err(Misfit::new("tls.min_version", text));
    }
    let check = if tls.insecure_skip_verify {
        "false"
    } else {
        "true"
    };
    config.set("enable.ssl.certificate.verification", check);
    pem(config, tls.ca.as_ref(), "ssl.ca.location", "ssl.ca.pem");
    let certificate = ("ssl.certificate.location", "ssl.certificate.pem");
    pem(config, tls.cert.as_ref(), certificate.0, certificate.1);
    pem(config, tls.key.as_ref(), "ssl.key.location", "ssl.key.pem");
    Ok(())
}

fn pem(config: &mut ClientConfig, pem: Option<&Pem>, location: &str, inline: &str) {
    match pem {
        Some(Pem::File(path)) => {
            config.set(location, path.to_string_lossy());
        }
        Some(Pem::Inline(text)) => {
            config.set(inline, text.reveal());
        }
        None => {}
    }
}

/// Why a client cannot be made. librdkafka reads certificates here; what it says of them names files, not contents, but a
/// value that it does not take is not repeated: it may be a password.
pub(crate) fn misfit(error: &KafkaError) -> Misfit {
    match error {
        KafkaError::ClientCreation(text) => Misfit::new("tls", text.clone()),
        KafkaError::ClientConfig(_, _, key, _) => Misfit::new(
            "brokers",
            format!("librdkafka does not take what `{key}` would be"),
        ),
        _ => Misfit::new("brokers", "librdkafka cannot make a client"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::Mechanism;
    use crate::secret::Secret;

    fn connection() -> ConnectionSettings {
        ConnectionSettings {
            brokers: vec!["a:1".to_owned(), "b:2".to_owned()],
            ..ConnectionSettings::new()
        }
    }

    #[test]
    fn the_protocol_is_that_of_tls_and_sasl() {
        let check = |tls: Option<bool>, sasl: bool, expected: &str| {
            let connection = ConnectionSettings {
                tls: tls.map(|insecure| TlsClientSettings {
                    insecure,
                    ..TlsClientSettings::default()
                }),
                sasl: sasl.then(|| Sasl {
                    mechanism: Mechanism::ScramSha256,
                    username: Secret::new("u"),
                    password: Secret::new("p"),
                }),
                ..connection()
            };
            let config = client_config(&connection).unwrap();
            assert_eq!(config.get("security.protocol"), Some(expected));
            assert_eq!(config.get("bootstrap.servers"), Some("a:1,b:2"));
            assert_eq!(config.get("sasl.password").is_some(), sasl);
        };
        check(None, false, "plaintext");
        check(Some(true), false, "plaintext");
        check(Some(false), false, "ssl");
        check(None, true, "sasl_plaintext");
        check(Some(false), true, "sasl_ssl");
    }

    #[test]
    fn what_librdkafka_cannot_do_is_refused() {
        let check = |tls: TlsClientSettings, key: &str| {
            let connection = ConnectionSettings {
                tls: Some(tls),
                ..connection()
            };
            assert_eq!(client_config(&connection).unwrap_err().key, key);
        };
        let tls = TlsClientSettings::default;
        let ca = Some(Pem::File("ca.pem".into()));
        check(
            TlsClientSettings {
                server_name_override: Some("x".to_owned()),
                ..tls()
            },
            "tls.server_name_override",
        );
        check(
            TlsClientSettings {
                ca,
                include_system_ca_certs_pool: true,
                ..tls()
            },
            "tls.include_system_ca_certs_pool",
        );
        check(
            TlsClientSettings {
                min_version: Some(TlsVersion::V1_3),
                ..tls()
            },
            "tls.min_version",
        );
    }
}
