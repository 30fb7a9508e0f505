//! The JSON schema against the files of this directory, with a validator that is not ours.

use std::fs;

use tailwater::config::json_schema;

use super::answers::{directory, files};

#[test]
fn takes_good_files_and_refuses_unknown_keys() {
    let schema = serde_json::from_str(&json_schema()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let read = |path: &std::path::Path| {
        let text = fs::read_to_string(path).unwrap();
        serde_saphyr::from_str::<serde_json::Value>(&text)
    };
    let samples = [directory("../..").join("config.yaml")];
    for path in files("good")
        .into_iter()
        .chain(files("../../pipelines"))
        .chain(samples)
    {
        // JSON has no infinity.
        let Ok(config) = read(&path) else { continue };
        let errors: Vec<String> = validator
            .iter_errors(&config)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
    for name in [
        "unknown-key",
        "unknown-receiver-key",
        "misspelt-headers",
        "duration-without-unit",
        "status-codes",
    ] {
        let path = files("bad")
            .into_iter()
            .find(|path| path.ends_with(format!("{name}.yaml")))
            .unwrap();
        assert!(!validator.is_valid(&read(&path).unwrap()), "{name}");
    }
}
