//! JSON schema of the config (draft 2020-12), for editors: `tailwater schema`.
//!
//! The tables of this module are the one description of the keys for people and editors; a test compares them, key by
//! key, with what the decoder asks for. The schema is wider than the decoder: it takes a `${env:NAME}` everywhere and
//! leaves ranges and what holds between keys to `tailwater validate`.

mod call_rules;
mod delivery;
mod exporters;
mod kafka;
mod policies;
mod processors;
mod receivers;
mod redact;
mod rules_page;
mod sampler;
mod service;
mod shape;

pub use rules_page::rules_reference;
pub(crate) use shape::{Key, Shape};

/// The schema as pretty-printed JSON.
#[must_use]
pub fn json_schema() -> String {
    let mut schema = service::ROOT.json();
    if let Some(object) = schema.as_object_mut() {
        let mut definitions = serde_json::Map::new();
        service::ROOT.definitions(&mut definitions);
        object.insert("$defs".to_owned(), definitions.into());
        let draft = "https://json-schema.org/draft/2020-12/schema";
        object.insert("$schema".to_owned(), draft.into());
        object.insert("title".to_owned(), "Tailwater config".into());
    }
    format!("{schema:#}\n")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::super::fields::asked;
    use super::super::{Source, load};
    use super::*;

    type Keys = BTreeMap<String, BTreeSet<String>>;

    /// `policies[3]` to `policies[]`, `otlp/two` to `otlp`, any service to the name that stands for free ones.
    fn normal(path: &str) -> String {
        let mut out = String::new();
        for part in path.split('.') {
            let (name, index) = part
                .split_once('[')
                .map_or((part, ""), |(name, _)| (name, "[]"));
            let kind = name.split('/').next().unwrap_or_default();
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(match name {
                _ if out.ends_with(".services.") => "traces",
                name if name.starts_with("prometheus/") => name,
                _ => kind,
            });
            out.push_str(index);
        }
        out
    }

    fn asked_by_the_decoder() -> Keys {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config/good");
        let mut keys = Keys::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let source = Source::read(path.to_str().unwrap()).unwrap();
            let env = |name: &str| {
                Some(if name == "POLICIES" {
                    "[]".to_owned()
                } else {
                    "4317".to_owned()
                })
            };
            let (_, asked) = asked::while_running(|| load(&[source], &[], &env));
            for (path, known) in asked {
                // Pipelines of logs and metrics have the keys of one of traces.
                let path = path.replace(".pipelines.logs", ".pipelines.traces");
                let path = path.replace(".pipelines.metrics", ".pipelines.traces");
                keys.entry(normal(&path))
                    .or_default()
                    .extend(known.into_iter().map(ToOwned::to_owned));
            }
        }
        keys
    }

    #[test]
    fn has_the_keys_that_the_decoder_asks_for() {
        let mut tables = Keys::new();
        service::ROOT.keys("", &mut tables);
        let decoder = asked_by_the_decoder();
        for (path, known) in &decoder {
            assert_eq!(
                tables.get(path),
                Some(known),
                "left: the table, right: the decoder, at `{path}`"
            );
        }
        // The leaves below `not` are the table of the leaves above it.
        let seen =
            |path: &&String| decoder.contains_key(*path) || path.contains(".not_sub_policy.");
        let unseen: Vec<&String> = tables.keys().filter(|path| !seen(path)).collect();
        assert!(
            unseen.is_empty(),
            "in the tables, but in no file of tests/config/good: {unseen:?}"
        );
    }

    #[test]
    fn is_json() {
        let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
        assert!(schema["properties"]["service"]["properties"]["pipelines"].is_object());
    }
}
