//! Which context a condition is meant for, when only its paths say so.
//!
//! As the Collector does it: every path names its context; the innermost one counts, unless a function or a constant of the
//! condition is not known there: then the innermost around it that knows them.

use super::ast::{Argument, Call, Key, LambdaBody, Node, Path, Test};
use super::error::OttlError;
use super::functions::FUNCTIONS;
use super::parser;
use super::paths::Context;

/// From the inside out.
const INNERMOST_FIRST: [Context; 4] = [
    Context::SpanEvent,
    Context::Span,
    Context::Scope,
    Context::Resource,
];

/// Reads a condition whose paths all begin with the name of a context.
///
/// # Errors
/// When it is not OTTL, a path names no context, or there is no path to tell it from.
pub fn infer_context(text: &str) -> Result<Context, OttlError> {
    let tree = parser::parse(text)?;
    let mut hints = Hints::default();
    hints.test(&tree);
    let mut inner = None;
    for path in &hints.paths {
        let Some(own) = named(path) else {
            let message = "a path must begin with its context here: `resource.`, `scope.`, `span.` or `spanevent.`";
            return Err(OttlError::at(text, path.at, message));
        };
        inner = INNERMOST_FIRST
            .into_iter()
            .find(|context| *context == own || Some(*context) == inner);
    }
    let Some(inner) = inner else {
        let message = "no path tells the context; name it with `context: span`, or another";
        return Err(OttlError::at(text, 0, message));
    };
    let knows = |context: &Context| hints.are_known_in(*context);
    let found = if knows(&inner) {
        Some(inner)
    } else {
        let sees_inner = |context: &Context| context.sees(inner);
        INNERMOST_FIRST.into_iter().filter(sees_inner).find(knows)
    };
    found.ok_or_else(|| {
        OttlError::at(
            text,
            0,
            "no context has all functions and constants that it uses",
        )
    })
}

/// The context that a path begins with.
fn named(path: &Path) -> Option<Context> {
    let [first, _, ..] = path.segments.as_slice() else {
        return None;
    };
    let named = Context::SpanEvent.named(&first.name);
    named.filter(|_| first.keys.is_empty())
}

#[derive(Default)]
struct Hints<'t> {
    paths: Vec<&'t Path>,
    functions: Vec<&'t str>,
    constants: bool,
    locals: Vec<&'t str>,
}

impl<'t> Hints<'t> {
    fn are_known_in(&self, context: Context) -> bool {
        let has = |name: &&str| {
            FUNCTIONS.iter().any(|function| {
                function.name == *name && function.context.is_none_or(|only| only == context)
            })
        };
        // All constants are of spans.
        let constants = matches!(context, Context::Span | Context::SpanEvent);
        self.functions.iter().all(has) && (constants || !self.constants)
    }

    fn test(&mut self, test: &'t Test) {
        match test {
            Test::Or(parts) | Test::And(parts) => parts.iter().for_each(|part| self.test(part)),
            Test::Not(inner) => self.test(inner),
            Test::Compare(left, _, right) => {
                self.node(left);
                self.node(right);
            }
            Test::Const(_) => {}
            Test::Call(call) => self.call(call),
        }
    }

    fn node(&mut self, node: &'t Node) {
        match node {
            Node::Enum { .. } => self.constants = true,
            Node::List(items) => items.iter().for_each(|item| self.node(item)),
            Node::Map(pairs) => pairs.iter().for_each(|(_, value)| self.node(value)),
            Node::Path(path) => self.path(path),
            Node::Call(call) => self.call(call),
            Node::Negative(inner) => self.node(inner),
            Node::Math(first, more) => {
                self.node(first);
                more.iter().for_each(|(_, node)| self.node(node));
            }
            Node::Lambda(lambda) => {
                let outer = self.locals.len();
                self.locals
                    .extend(lambda.parameters.iter().map(|name| &**name));
                match &lambda.body {
                    LambdaBody::Node(node) => self.node(node),
                    LambdaBody::Test(test) => self.test(test),
                }
                self.locals.truncate(outer);
            }
            Node::Nil
            | Node::Int(_)
            | Node::Float(_)
            | Node::Text(_)
            | Node::Bytes(_)
            | Node::Bool(_) => {}
        }
    }

    fn path(&mut self, path: &'t Path) {
        let first = path.segments.first().map_or("", |segment| &*segment.name);
        if !self.locals.contains(&first) {
            self.paths.push(path);
        }
        path.segments
            .iter()
            .for_each(|segment| self.keys(&segment.keys));
    }

    fn call(&mut self, call: &'t Call) {
        self.functions.push(&call.name);
        let values = call.arguments.iter().map(|Argument { value, .. }| value);
        values.for_each(|value| self.node(value));
        self.keys(&call.keys);
    }

    fn keys(&mut self, keys: &'t [Key]) {
        for key in keys {
            if let Key::Node(node) = key {
                self.node(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_path_counts() {
        let check = |text: &str, expected: Option<Context>| {
            assert_eq!(infer_context(text).ok(), expected, "{text}");
        };
        check(
            r#"resource.attributes["a"] == "b""#,
            Some(Context::Resource),
        );
        check(r#"scope.name == "lib""#, Some(Context::Scope));
        check(
            r#"instrumentation_scope.name == "lib""#,
            Some(Context::Scope),
        );
        check(
            r#"resource.attributes["a"] == "b" and span.name == "x""#,
            Some(Context::Span),
        );
        check(
            r#"span.name == "x" or spanevent.name == "y" or scope.name == "z""#,
            Some(Context::SpanEvent),
        );
        check(
            r#"IsRootSpan() and resource.attributes["a"] == "b""#,
            Some(Context::Span),
        );
        check(
            r#"resource.attributes["a"] == SPAN_KIND_SERVER"#,
            Some(Context::SpanEvent),
        );
        check(
            r#"span.attributes[resource.attributes["a"]] == "b""#,
            Some(Context::Span),
        );
        check(r#"IsRootSpan() and spanevent.name == "x""#, None);
        check("true", None);
        check(r#"attributes["a"] == "b""#, None);
        check(r#"name == "b" and span.name == "a""#, None);
        check("status.code == 2", None);
        check("span.name ==", None);
    }
}
