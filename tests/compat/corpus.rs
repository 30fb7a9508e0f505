//! Runs all cases of a folder, several at a time, and prints where they differ from what was recorded.

use super::accepted::{self, ACCEPTED};
use super::answer::Answer;
use super::case::Case;
use super::difference::differences;
use super::driver;
use super::version::Version;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Cases wait most of their time, so that more than the cores run at once.
const AT_ONCE: usize = 16;
/// Lines that are printed of one case.
const LINES: usize = 6;
const CHARACTERS: usize = 300;

/// A folder of cases, and the folders of answers: the first that has one for a case counts.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) cases: PathBuf,
    pub(crate) answers: Vec<PathBuf>,
    pub(crate) version: Version,
}

impl Corpus {
    /// Fails with a list of what differs and is not accepted. `COMPAT_ONLY` in the environment picks cases by name.
    pub(crate) fn check(&self) {
        let only = std::env::var("COMPAT_ONLY").unwrap_or_default();
        let names: Vec<String> = names(&self.cases)
            .into_iter()
            .filter(|name| name.contains(&only))
            .collect();
        assert!(!names.is_empty(), "no cases in {}", self.cases.display());
        let waiting = Mutex::new(names.iter());
        let failed = Mutex::new(BTreeMap::new());
        std::thread::scope(|threads| {
            for _ in 0..AT_ONCE {
                threads.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .unwrap();
                    loop {
                        let Some(name) = waiting.lock().next() else {
                            break;
                        };
                        let found = runtime.block_on(self.one(name));
                        if !found.is_empty() {
                            failed.lock().insert(name.clone(), found);
                        }
                    }
                });
            }
        });
        let failed = failed.into_inner();
        Self::note(&failed);
        self.report(&names, &failed, only.is_empty());
    }

    async fn one(&self, name: &str) -> Vec<String> {
        let file = format!("{name}.json");
        let case = Case::read(&self.cases.join(&file));
        assert_eq!(case.name, name, "{file}");
        let answer = self.answers.iter().map(|folder| folder.join(&file));
        let Some(answer) = answer.into_iter().find(|file| file.exists()) else {
            return vec!["no recorded answer".to_owned()];
        };
        let got = driver::run(&case, self.version).await;
        let found = differences(&case, &Answer::read(&answer), &got);
        accepted::unexplained(self.name, name, &found)
    }

    /// Names of what differs, one a line, to the file that `COMPAT_FAILED` names.
    fn note(failed: &BTreeMap<String, Vec<String>>) {
        if let Ok(file) = std::env::var("COMPAT_FAILED") {
            let names: String = failed.keys().map(|name| format!("{name}\n")).collect();
            std::fs::write(file, names).unwrap();
        }
    }

    fn report(&self, names: &[String], failed: &BTreeMap<String, Vec<String>>, all: bool) {
        for (name, lines) in failed {
            eprintln!("{}: {name}", self.name);
            lines
                .iter()
                .take(LINES)
                .for_each(|line| eprintln!("    {}", short(line)));
            if lines.len() > LINES {
                eprintln!("    ... {} more", lines.len() - LINES);
            }
        }
        let unknown = ACCEPTED.iter().filter(|row| {
            row.runs.contains(&self.name) && !names.iter().any(|name| name == row.case)
        });
        let unknown: Vec<_> = unknown.map(|row| row.case).filter(|_| all).collect();
        let (bad, total) = (failed.len(), names.len());
        eprintln!("{}: {total} cases, {bad} differ", self.name);
        assert!(unknown.is_empty(), "accepted, but no case: {unknown:?}");
        assert_eq!(bad, 0, "of {total} cases of {}", self.name);
    }
}

/// The beginning of the first line.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(CHARACTERS).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "json"))
        .map(|file| file.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}
