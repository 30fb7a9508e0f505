//! What the `kafka` receiver, exporter and log have in common (the Collector's `configkafka`): brokers, TLS, user.

use std::time::Duration;

use super::fields::Fields;
use super::item::Item;
use super::tls;
use crate::kafka::{ConnectionSettings, Encoding, Mechanism, NOT_BUILT, Sasl};
use crate::secret::Secret;

const MECHANISMS: [(&str, Mechanism); 3] = [
    ("PLAIN", Mechanism::Plain),
    ("SCRAM-SHA-256", Mechanism::ScramSha256),
    ("SCRAM-SHA-512", Mechanism::ScramSha512),
];
const OTHER_LOGINS: &str =
    "use `sasl` with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or `tls` certificates";

/// Whether this build has Kafka at all.
pub(crate) fn is_built(item: &Item<'_>) -> bool {
    if cfg!(not(feature = "kafka")) {
        item.error(NOT_BUILT);
    }
    cfg!(feature = "kafka")
}

/// The connection; `None` when it has errors.
pub(crate) fn connection(fields: &mut Fields<'_>) -> Option<ConnectionSettings> {
    let mut connection = ConnectionSettings::new();
    let brokers = fields.get("brokers").map(|item| brokers(&item));
    if let Some(id) = fields.string("client_id").filter(|id| !id.is_empty()) {
        connection.client_id = id;
    }
    fields.no_effect("protocol_version", "the brokers are asked what they speak");
    connection.canonical_names = fields
        .boolean("resolve_canonical_bootstrap_servers_only")
        .unwrap_or(false);
    if let Some(time) = milliseconds(fields, "conn_idle_timeout") {
        connection.conn_idle_timeout = time;
    }
    if let Some(mut metadata) = fields.fields("metadata") {
        if let Some(time) = milliseconds(&mut metadata, "refresh_interval") {
            connection.metadata_refresh = time;
        }
        metadata.no_effect("full", "only the topics in use are asked for");
        metadata.no_effect("retry", "brokers are asked again without end");
    }
    let encrypted = fields.get("tls").map(|item| tls_of(&item));
    let login = fields.get("auth").map(|item| auth(&item));
    connection.brokers = brokers.unwrap_or(Some(connection.brokers))?;
    connection.tls = encrypted.map_or(Some(None), |tls| tls.map(Some))?;
    connection.sasl = login.unwrap_or(Some(None))?;
    Some(connection)
}

fn tls_of(item: &Item<'_>) -> Option<crate::exporters::TlsClientSettings> {
    let tls = tls::client(item)?;
    let mut good = true;
    let mut refuse = |holds: bool, message: &str| {
        if holds {
            item.error(message);
            good = false;
        }
    };
    refuse(
        tls.server_name_override.is_some(),
        "`server_name_override` is not supported here: the broker's own name is checked",
    );
    refuse(
        tls.include_system_ca_certs_pool && tls.ca.is_some(),
        "`include_system_ca_certs_pool` beside a CA is not supported here: put all authorities into one file",
    );
    refuse(
        tls.min_version == Some(crate::exporters::TlsVersion::V1_3)
            || tls.max_version == Some(crate::exporters::TlsVersion::V1_2),
        "TLS 1.2 and 1.3 are both offered to brokers: leave `min_version` and `max_version` out",
    );
    good.then_some(tls)
}

/// At least one `host:port`.
fn brokers(item: &Item<'_>) -> Option<Vec<String>> {
    let list = item.list();
    let good = |item: &Item<'_>| {
        let text = item.string()?;
        let (host, port) = text.rsplit_once(':').unwrap_or((&text, "9092"));
        let good = !host.is_empty()
            && port.parse::<u16>().is_ok_and(|port| port > 0)
            && !text.contains(|c: char| c.is_whitespace() || c == ',' || c == '/');
        if !good {
            item.error(format!("expected `host:port` of a broker{}", item.shown()));
        }
        good.then_some(text)
    };
    let brokers: Vec<String> = list.iter().filter_map(good).collect();
    if item.list_is_empty() {
        item.error("expected at least one `host:port`");
    }
    (!brokers.is_empty() && brokers.len() == list.len()).then_some(brokers)
}

/// `Some(None)`: nothing is asked for.
#[allow(
    clippy::option_option,
    reason = "a block with errors is not an absent one"
)]
fn auth(item: &Item<'_>) -> Option<Option<Sasl>> {
    let mut fields = item.fields()?;
    let sasl = fields.get("sasl");
    let plain = fields.get("plain_text");
    fields.not_yet("kerberos", OTHER_LOGINS);
    fields.not_yet("tls", "write `tls` beside `auth`");
    match (sasl, plain) {
        (Some(sasl), None) => login(&sasl, None).map(Some),
        (None, Some(plain)) => login(&plain, Some(Mechanism::Plain)).map(Some),
        (Some(_), Some(_)) => {
            item.error("`sasl` and `plain_text` exclude each other");
            None
        }
        (None, None) => Some(None),
    }
}

fn login(item: &Item<'_>, mechanism: Option<Mechanism>) -> Option<Sasl> {
    let mut fields = item.fields()?;
    let mechanism = match mechanism {
        Some(mechanism) => Some(mechanism),
        None => {
            fields.no_effect("version", "the brokers are asked what they speak");
            fields.not_yet("aws_msk", OTHER_LOGINS);
            fields.not_yet("oauthbearer_token_source", OTHER_LOGINS);
            let named = "`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`";
            fields
                .require("mechanism", named)
                .and_then(|item| item.one_of(&MECHANISMS))
        }
    };
    let username = fields.require("username", "the user's name");
    let password = fields.require("password", "the user's password");
    Some(Sasl {
        mechanism: mechanism?,
        username: Secret::new(username?.string()?),
        password: Secret::new(password?.string()?),
    })
}

/// `encoding` of a signal.
pub(crate) fn encoding(fields: &mut Fields<'_>) -> Option<Encoding> {
    fields.one_of(
        "encoding",
        &[
            ("otlp_proto", Encoding::OtlpProto),
            ("otlp_json", Encoding::OtlpJson),
        ],
    )
}

/// A topic's name, as brokers take it.
pub(crate) fn topic(item: &Item<'_>) -> Option<String> {
    let text = item.string()?;
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let good =
        (1..=249).contains(&text.len()) && text.chars().all(legal) && text != "." && text != "..";
    if !good {
        item.error(format!(
            "expected a topic's name: letters, digits, `.`, `_` and `-`{}",
            item.shown()
        ));
    }
    good.then_some(text)
}

/// A time that librdkafka has in milliseconds: from one to its longest, an hour.
pub(crate) fn milliseconds(fields: &mut Fields<'_>, key: &'static str) -> Option<Duration> {
    const HOUR: Duration = Duration::from_secs(3600);
    let item = fields.get(key)?;
    let time = item.duration()?;
    let good = (Duration::from_millis(1)..=HOUR).contains(&time);
    if !good {
        item.error("expected a duration from `1ms` to `1h`");
    }
    good.then_some(time)
}

/// Blocks of signals that are not ours.
pub(crate) fn other_signals(fields: &mut Fields<'_>, why: &str) {
    for signal in ["metrics", "profiles"] {
        fields.no_effect(signal, why);
    }
    fields.not_yet("topic", "write it below `traces` or `logs`");
    fields.not_yet("encoding", "write it below `traces` or `logs`");
}
