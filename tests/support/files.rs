//! What lies in the files of a directory.

use std::path::Path;

/// A text stands in any file below.
pub(crate) fn text_is_in(path: &Path, text: &str) -> bool {
    path.read_dir().unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return text_is_in(&path, text);
        }
        let bytes = std::fs::read(path).unwrap();
        memchr::memmem::find(&bytes, text.as_bytes()).is_some()
    })
}
