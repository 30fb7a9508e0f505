//! Files in, printed answers out: every file has its answer beside it.

use std::fs;
use std::path::{Path, PathBuf};

use tailwater::config::{Source, load};

use super::env;

pub(crate) fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/config")
        .join(name)
}

/// The YAML files of a directory; none when there is no such directory.
pub(crate) fn files(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory(name)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    files.sort();
    files
}

/// What is printed for a file: `ok` and warnings, or everything that is wrong.
fn answer(path: &Path) -> (bool, String) {
    let mut source = Source::read(path.to_str().unwrap()).unwrap();
    source.name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let (good, found) = match load(&[source], &[], &env) {
        Ok(loaded) => (true, loaded.warnings),
        Err(found) => (false, found),
    };
    let lines: Vec<String> = found.iter().map(|found| format!("{found}\n")).collect();
    (good, lines.concat())
}

/// Compares with the stored answer. `TAILWATER_BLESS=1` writes it anew, to be read in the diff.
fn compare(path: &Path, got: &str) -> Option<String> {
    let stored = path.with_extension("txt");
    if std::env::var_os("TAILWATER_BLESS").is_some() {
        fs::write(&stored, got).unwrap();
    }
    let expected = fs::read_to_string(&stored).unwrap_or_default();
    (got != expected).then(|| format!("{}\n--- stored\n{expected}--- got\n{got}", path.display()))
}

#[test]
fn bad_files_print_the_stored_answers() {
    let files = files("bad");
    assert!(files.len() >= 40, "{}", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let (good, got) = answer(&path);
        assert!(!good, "{} was taken", path.display());
        assert!(!got.contains("canary"), "a secret shows:\n{got}");
        wrong.extend(compare(&path, &got));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn good_files_are_taken_with_the_stored_warnings() {
    let mut wrong = Vec::new();
    assert!(files("good").len() >= 8);
    for path in files("good") {
        let (good, got) = answer(&path);
        assert!(good, "{} was refused:\n{got}", path.display());
        assert!(!got.contains("canary"), "a secret shows:\n{got}");
        wrong.extend(compare(&path, &got));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
