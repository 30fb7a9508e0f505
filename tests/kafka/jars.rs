//! Apache Kafka's jars, fetched by Maven once for each user and release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const POM: &str = include_str!("pom.xml");

/// The directory with the jars. Fails the test when they cannot be had.
pub(crate) fn directory() -> &'static Path {
    static JARS: OnceLock<PathBuf> = OnceLock::new();
    JARS.get_or_init(|| {
        let jars = cache().join(format!("apache-kafka-{}", version()));
        if !jars.exists() {
            fetch(&jars);
        }
        jars
    })
}

fn version() -> &'static str {
    let (_, rest) = POM.split_once("<kafka>").unwrap();
    rest.split('<').next().unwrap()
}

fn cache() -> PathBuf {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    given.unwrap_or_else(home).join("tailwater-tests")
}

fn fetch(jars: &Path) {
    let parent = jars.parent().unwrap();
    fs::create_dir_all(parent).unwrap();
    let work = tempfile::tempdir_in(parent).unwrap();
    fs::write(work.path().join("pom.xml"), POM).unwrap();
    let output = Command::new("mvn")
        .args(["-B", "-q", "dependency:copy-dependencies"])
        .args(["-DincludeScope=runtime", "-DoutputDirectory=jars"])
        .current_dir(work.path())
        .stdin(Stdio::null())
        .output()
        .expect("Maven is needed to fetch Apache Kafka (Debian: maven)");
    assert!(
        output.status.success(),
        "Maven: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    // Another process may have been faster.
    if let Err(error) = fs::rename(work.path().join("jars"), jars) {
        assert!(jars.exists(), "{error}");
    }
}
