//! Every recording gives the record that stands beside it, in both orders of fields.

use super::played::{Played, play, traces};
use crate::genai::Dialects;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[path = "../../../tests/support/backwards.rs"]
#[allow(
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "shared with other tests"
)]
mod backwards;

/// The requests of each case in a folder, in order.
fn cases(folder: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut out: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if let Some((case, _)) = name
            .strip_suffix(".pb")
            .and_then(|name| name.rsplit_once('.'))
        {
            out.entry(case.to_owned()).or_default().push(path);
        }
    }
    out.values_mut().for_each(|paths| paths.sort());
    out
}

/// Folders with a recording.
fn folders(root: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            folders(&path, out);
        } else if path.ends_with("expected.yaml") {
            out.push(root.to_owned());
        }
    }
}

/// Every recorded request.
pub(super) fn requests() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llm");
    let mut all = Vec::new();
    folders(&root, &mut all);
    let paths = all
        .iter()
        .flat_map(|folder| cases(folder))
        .flat_map(|(_, paths)| paths);
    paths.map(|path| std::fs::read(path).unwrap()).collect()
}

/// What differs, by path.
fn differences(path: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or_default()
                };
                differences(&format!("{path}/{key}"), &of(a), &of(b), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{at}"), a, b, out);
            }
        }
        _ if expected == found => {}
        _ => out.push(format!("{path}: expected {expected}, found {found}")),
    }
}

#[test]
fn every_recording_gives_its_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llm");
    let dialects = Dialects::with("").unwrap();
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    folders(&root, &mut all);
    assert!(all.len() >= 40, "{} folders", all.len());
    for folder in &all {
        let text = std::fs::read_to_string(folder.join("expected.yaml")).unwrap();
        let expected: BTreeMap<String, Value> = serde_saphyr::from_str(&text).unwrap();
        let cases = cases(folder);
        assert!(cases.keys().eq(expected.keys()), "{}", folder.display());
        for (case, paths) in cases {
            let requests: Vec<Vec<u8>> = paths
                .iter()
                .map(|path| std::fs::read(path).unwrap())
                .collect();
            let forward: Vec<Played> = requests
                .iter()
                .flat_map(|request| play(&dialects, request))
                .collect();
            let backward: Vec<Played> = requests
                .iter()
                .flat_map(|request| {
                    play(
                        &dialects,
                        &backwards::backwards(backwards::Kind::Request, request),
                    )
                })
                .collect();
            let name = format!("{}/{case}", folder.strip_prefix(&root).unwrap().display());
            assert_eq!(forward, backward, "{name}: fields backwards");
            differences(
                &name,
                &expected[&case],
                &traces(&dialects, &forward),
                &mut wrong,
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
