//! Sources and overrides to a checked [`Config`], or to everything that is wrong with them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::decoder::Decoder;
use super::diagnostic::{Diagnostic, Severity};
use super::duplicates;
use super::expand::{self, Env};
use super::gates;
use super::item::Item;
use super::merge::{merge, nest, unflatten};
use super::node::{Node, Place, Value};
use super::secret;
use super::service;
use super::settings::Config;
use super::sources::Sources;
use super::yaml;

/// One config file.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// As messages name it.
    pub name: String,
    /// Where relative paths of keyword files begin.
    pub directory: PathBuf,
    /// The YAML text.
    pub text: String,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The text may hold credentials.
        f.debug_struct("Source")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// A text that is no file.
    #[must_use]
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            directory: PathBuf::new(),
            text: text.into(),
        }
    }

    /// What `--config` names: a file (`PATH`, `file:PATH`), a text (`yaml:key::key: value`) or a variable that holds one
    /// (`env:NAME`), as the Collector's providers read them.
    ///
    /// # Errors
    /// As [`Source::read`]; the variable is not set; the place is one that nobody reads here.
    pub fn locate(name: &str, env: Env<'_>) -> Result<Self, Box<Diagnostic>> {
        match name.split_once(':') {
            Some(("yaml", text)) => Ok(Self::text("--config yaml:", text)),
            Some(("env", variable)) => env(variable)
                .map(|text| Self::text(name, text))
                .ok_or_else(|| message_only(name, "the variable is not set".to_owned())),
            Some((scheme @ ("http" | "https"), _)) => Err(message_only(
                // An address may carry a password.
                &format!("--config {scheme}"),
                "is not read from there: save it to a file and name that".to_owned(),
            )),
            _ => Self::read(name),
        }
    }

    /// Reads a file, named as on the command line; `file:PATH` is taken as the Collector takes it.
    ///
    /// # Errors
    /// The user's: the file cannot be read, is larger than 4 MiB or is not UTF-8.
    pub fn read(name: &str) -> Result<Self, Box<Diagnostic>> {
        let path = Path::new(name.strip_prefix("file:").unwrap_or(name));
        let refuse = |message: String| message_only(name, message);
        let limit = u64::try_from(yaml::MAX_BYTES).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let opened = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
        opened.map_err(|error| refuse(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8".to_owned()))?;
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self {
            name: path.display().to_string(),
            directory,
            text,
        })
    }
}

/// A config that can be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// What has no effect, or another one than expected.
    pub warnings: Vec<Diagnostic>,
}

/// Everything that a command line says about the config.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layers<'a> {
    /// Merged in order, mappings key by key.
    pub sources: &'a [Source],
    /// Laid on top: `key.path=value`, `key::path=value`.
    pub overrides: &'a [String],
    /// Values of `--feature-gates`: `+a,-b,c`.
    pub feature_gates: &'a [String],
}

/// [`load_layers`] without feature gates.
///
/// # Errors
/// As there.
pub fn load(
    sources: &[Source],
    overrides: &[String],
    env: Env<'_>,
) -> Result<Loaded, Vec<Diagnostic>> {
    let layers = Layers {
        sources,
        overrides,
        ..Layers::default()
    };
    load_layers(layers, env)
}

/// Merges the sources, lays the overrides on top, expands `${env:NAME}` and checks everything.
///
/// # Errors
/// The user's: all findings of the run, errors and warnings, in the order of the files.
pub fn load_layers(layers: Layers<'_>, env: Env<'_>) -> Result<Loaded, Vec<Diagnostic>> {
    let Layers {
        sources,
        overrides,
        feature_gates,
    } = layers;
    let mut texts = Sources::default();
    let mut trees = Vec::new();
    let mut broken = Vec::new();
    for source in sources {
        match read(&mut texts, source) {
            Ok(tree) => trees.push(tree),
            Err(found) => broken.push(*found),
        }
    }
    for text in overrides {
        match read_override(&mut texts, text) {
            Ok(tree) => trees.push(tree),
            Err(found) => broken.push(*found),
        }
    }
    if !broken.is_empty() {
        return Err(broken);
    }
    let mut decoder = Decoder::new(&texts);
    decoder.gates = gates::parse(&decoder, feature_gates);
    let config = check(&decoder, trees, env);
    let found = decoder.finish();
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    match config {
        Some(config) if !found.iter().any(is_error) => Ok(Loaded {
            config,
            warnings: found,
        }),
        _ => Err(found),
    }
}

fn check(decoder: &Decoder<'_>, trees: Vec<Node>, env: Env<'_>) -> Option<Config> {
    let start = Place {
        file: 0,
        line: 1,
        column: 1,
    };
    let mut root = Node::new(start, Value::Null);
    for mut tree in trees {
        if !matches!(tree.value, Value::Map(_) | Value::Null) {
            decoder.error(
                tree.place,
                "",
                format!(
                    "expected a mapping with `receivers`, `service` and so on, found {}",
                    tree.kind()
                ),
            );
            continue;
        }
        duplicates::refuse(decoder, &mut tree, "");
        if root.is_null() {
            root = tree;
        } else if !tree.is_null() {
            // An empty file says nothing.
            merge(&mut root, tree);
        }
    }
    if root.is_null() && !decoder.has_findings() {
        decoder.error_help(
            start,
            "",
            "the config is empty",
            "name a config file with `--config`",
        );
    }
    if root.is_null() {
        return None;
    }
    expand::expand(decoder, &mut root, "", env);
    service::decode(
        &Item {
            decoder,
            node: &root,
            path: String::new(),
        },
        env,
    )
}

fn read(texts: &mut Sources, source: &Source) -> Result<Node, Box<Diagnostic>> {
    let file = texts.add(&source.name, &source.directory, &source.text);
    match yaml::parse(&source.text, file) {
        Ok(tree) => {
            let mut tree = unflatten(tree);
            secret::mark(&mut tree);
            texts.show(file, secret::lines(&tree, &source.text));
            Ok(tree)
        }
        Err(yaml::Broken { place, message }) => Err(Box::new(texts.diagnostic(
            Severity::Error,
            place,
            "",
            message,
        ))),
    }
}

fn read_override(texts: &mut Sources, text: &str) -> Result<Node, Box<Diagnostic>> {
    const SHAPE: &str = "expected `key.path=value` or `key::path=value`";
    // Without `=` the whole may be a secret.
    let (path, value) = text
        .split_once('=')
        .ok_or_else(|| message_only("--set", SHAPE.to_owned()))?;
    let file = texts.add(&format!("--set {path}"), Path::new(""), value);
    let node = yaml::parse(value, file).map_err(|broken| {
        Box::new(texts.diagnostic(Severity::Error, broken.place, "", broken.message))
    })?;
    let place = Place {
        file,
        line: 1,
        column: 1,
    };
    let mut tree =
        nest(path, node, place).ok_or_else(|| message_only("--set", SHAPE.to_owned()))?;
    secret::mark(&mut tree);
    texts.show(file, secret::lines(&tree, value));
    Ok(tree)
}

fn message_only(file: &str, message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic {
        severity: Severity::Error,
        file: file.to_owned(),
        line: 0,
        column: 0,
        key: String::new(),
        message,
        help: None,
        source: None,
    })
}
