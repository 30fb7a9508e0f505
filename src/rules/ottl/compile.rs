//! From the tree to what is evaluated: paths and functions are looked up, arguments checked, literals folded.

use super::arguments::arguments_of;
use super::ast::{self, LambdaBody as AstBody, Node};
use super::compare::compare;
use super::convert::literal_map;
use super::error::{EvalError, OttlError};
use super::expression::{Argument, Call, Expr, Key, Lambda, LambdaBody, Test};
use super::functions::{Body, FUNCTIONS, Function, Prepared};
use super::lexer::Comparison;
use super::paths::{Context, Field, resolve};
use super::value::{ListKind, Value};
use std::borrow::Cow;

/// What the names of a condition mean where it stands.
pub(super) struct Compiler<'t> {
    pub(super) text: &'t str,
    pub(super) context: Context,
    /// The parameters of the lambdas around, outermost first.
    pub(super) locals: Vec<String>,
}

type Compiled<T> = Result<T, OttlError>;

const ENUMS: &[(&str, i64)] = &[
    ("SPAN_KIND_UNSPECIFIED", 0),
    ("SPAN_KIND_INTERNAL", 1),
    ("SPAN_KIND_SERVER", 2),
    ("SPAN_KIND_CLIENT", 3),
    ("SPAN_KIND_PRODUCER", 4),
    ("SPAN_KIND_CONSUMER", 5),
    ("STATUS_CODE_UNSET", 0),
    ("STATUS_CODE_OK", 1),
    ("STATUS_CODE_ERROR", 2),
];

impl Compiler<'_> {
    pub(super) fn refuse(&self, at: usize, message: impl Into<String>) -> OttlError {
        OttlError::at(self.text, at, message)
    }

    pub(super) fn test(&mut self, test: &ast::Test) -> Compiled<Test> {
        Ok(match test {
            ast::Test::Const(value) => Test::Const(*value),
            ast::Test::Not(inner) => match self.test(inner)? {
                Test::Const(value) => Test::Const(!value),
                inner => Test::Not(Box::new(inner)),
            },
            ast::Test::And(parts) => self.join(parts, false)?,
            ast::Test::Or(parts) => self.join(parts, true)?,
            ast::Test::Call(call) => Test::Call(self.call(call)?),
            ast::Test::Compare(left, operator, right) => self.comparison(left, *operator, right)?,
        })
    }

    /// `and` (`decisive` false) or `or` (true). A constant that decides makes the whole constant, wherever it stands.
    fn join(&mut self, parts: &[ast::Test], decisive: bool) -> Compiled<Test> {
        let mut left = Vec::new();
        let mut decided = false;
        for part in parts {
            match self.test(part)? {
                Test::Const(value) => decided |= value == decisive,
                part => left.push(part),
            }
        }
        if decided || left.is_empty() {
            return Ok(Test::Const(decided == decisive));
        }
        Ok(match left.pop() {
            Some(only) if left.is_empty() => only,
            last => {
                left.extend(last);
                if decisive {
                    Test::Or(left)
                } else {
                    Test::And(left)
                }
            }
        })
    }

    fn comparison(&mut self, left: &Node, operator: Comparison, right: &Node) -> Compiled<Test> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        if let (Some(a), Some(b)) = (left.literal(), right.literal()) {
            return Ok(Test::Const(compare(a, b, operator).unwrap_or(false)));
        }
        let equal = match operator {
            Comparison::Eq => true,
            Comparison::Ne => false,
            _ => return Ok(Test::Compare(left, operator, right)),
        };
        Ok(match (left, right) {
            (Expr::Path(Field::Attributes(of), mut keys), Expr::Literal(Value::Text(text)))
                if matches!(keys.as_slice(), [Key::Text(_)]) =>
            {
                let key = match keys.pop() {
                    Some(Key::Text(key)) => key,
                    _ => Vec::new(),
                };
                Test::AttributeIs {
                    of,
                    key,
                    text: text.into_owned(),
                    equal,
                }
            }
            (left, right) => Test::Compare(left, operator, right),
        })
    }

    pub(super) fn expr(&mut self, node: &Node) -> Compiled<Expr> {
        Ok(Expr::Literal(match node {
            Node::Nil => Value::Nil,
            Node::Int(value) => Value::Int(*value),
            Node::Float(value) => Value::Double(*value),
            Node::Text(text) => Value::text(text.clone()),
            Node::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.clone())),
            Node::Bool(value) => Value::Bool(*value),
            Node::Enum { name, at } => self.constant(name, *at)?,
            Node::List(items) => return self.list(items),
            Node::Map(entries) => return self.map(entries),
            Node::Path(path) => return self.path(path),
            Node::Call(call) => return Ok(Expr::Call(Box::new(self.call(call)?))),
            Node::Negative(inner) => return Ok(Expr::Negative(Box::new(self.expr(inner)?))),
            Node::Math(first, more) => {
                let first = Box::new(self.expr(first)?);
                let more: Compiled<Vec<_>> = more
                    .iter()
                    .map(|(operator, node)| Ok((*operator, self.expr(node)?)))
                    .collect();
                return Ok(Expr::Math(first, more?));
            }
            Node::Lambda(lambda) => {
                return Err(self.refuse(
                    lambda.at,
                    "a lambda can only be an argument that asks for one",
                ));
            }
        }))
    }

    fn constant(&self, name: &str, at: usize) -> Compiled<Value<'static>> {
        let known = match self.context {
            Context::Span | Context::SpanEvent => ENUMS,
            Context::Resource | Context::Scope => &[],
        };
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(Value::Int(*value)),
            None => Err(self
                .refuse(at, format!("`{name}` is not a constant here"))
                .with_known(name, known.iter().map(|(name, _)| *name).collect())),
        }
    }

    pub(super) fn exprs(&mut self, nodes: &[Node]) -> Compiled<Vec<Expr>> {
        nodes.iter().map(|node| self.expr(node)).collect()
    }

    fn list(&mut self, items: &[Node]) -> Compiled<Expr> {
        let items = self.exprs(items)?;
        if items.iter().all(|item| item.literal().is_some()) {
            let values = items.iter().filter_map(Expr::literal).cloned().collect();
            return Ok(Expr::Literal(Value::list(values, ListKind::Raw)));
        }
        Ok(Expr::List(items))
    }

    fn map(&mut self, pairs: &[(Vec<u8>, Node)]) -> Compiled<Expr> {
        let mut entries: Vec<(Vec<u8>, Expr)> = Vec::new();
        for (key, node) in pairs {
            let value = self.expr(node)?;
            // The last of a repeated key counts.
            entries.retain(|(known, _)| known != key);
            entries.push((key.clone(), value));
        }
        if entries.iter().all(|(_, value)| value.literal().is_some()) {
            let values = entries
                .iter()
                .filter_map(|(key, value)| {
                    Some((Cow::Owned(key.clone()), value.literal()?.clone()))
                })
                .collect();
            let map = literal_map(values).map_err(|error| self.refuse(0, error.to_string()))?;
            return Ok(Expr::Literal(map));
        }
        Ok(Expr::Map(entries))
    }

    fn path(&mut self, path: &ast::Path) -> Compiled<Expr> {
        let mut keys = Vec::new();
        for segment in &path.segments {
            keys.extend(self.keys(&segment.keys)?);
        }
        let first = path.segments.first().map_or("", |segment| &*segment.name);
        if let Some(slot) = self
            .locals
            .iter()
            .rposition(|name| name == first && name != "_")
        {
            if path.segments.len() > 1 {
                let message = format!("`{first}` is a lambda's parameter and has no parts");
                return Err(self.refuse(path.at, message));
            }
            return Ok(Expr::Local(slot, keys));
        }
        let field = resolve(self.text, self.context, path)?;
        if field == Field::TraceState && keys.len() > 1 {
            return Err(self.refuse(path.at, "`trace_state` takes exactly one key"));
        }
        Ok(Expr::Path(field, keys))
    }

    fn keys(&mut self, keys: &[ast::Key]) -> Compiled<Vec<Key>> {
        keys.iter()
            .map(|key| {
                Ok(match key {
                    ast::Key::Text(text) => Key::Text(text.clone()),
                    ast::Key::Int(value) => Key::Int(*value),
                    ast::Key::Node(node) => Key::Expr(self.expr(node)?),
                })
            })
            .collect()
    }

    fn function(&self, call: &ast::Call) -> Compiled<&'static Function> {
        let here = |function: &&Function| function.context.is_none_or(|only| only == self.context);
        let known = FUNCTIONS.iter().filter(here);
        match known.clone().find(|function| function.name == call.name) {
            Some(function) => Ok(function),
            None => Err(self
                .refuse(call.at, format!("`{}` is not a function here", call.name))
                .with_known(&call.name, known.map(|function| function.name).collect())),
        }
    }

    fn call(&mut self, call: &ast::Call) -> Compiled<Call> {
        let function = self.function(call)?;
        let prepare = match function.body {
            Body::Refused(reason) => {
                let message = format!("`{}` cannot be used: {reason}", function.name);
                return Err(self.refuse(call.at, message));
            }
            Body::Done(prepare, _) => prepare,
        };
        let mut compiled = Call {
            function,
            arguments: arguments_of(self, function, call)?,
            prepared: Prepared::None,
            keys: self.keys(&call.keys)?,
        };
        prepare(&mut compiled)
            .map_err(|message| self.refuse(call.at, format!("`{}`: {message}", function.name)))?;
        Ok(compiled)
    }

    pub(super) fn lambda(&mut self, lambda: &ast::Lambda) -> Compiled<Lambda> {
        for (index, name) in lambda.parameters.iter().enumerate() {
            let before = lambda.parameters.get(..index).unwrap_or_default();
            if name != "_" && before.contains(name) {
                return Err(self.refuse(lambda.at, format!("two parameters are named `{name}`")));
            }
        }
        let outer = self.locals.len();
        self.locals.extend(lambda.parameters.iter().cloned());
        let body = match &lambda.body {
            AstBody::Node(node) => self.expr(node).map(LambdaBody::Expr),
            AstBody::Test(test) => self.test(test).map(LambdaBody::Test),
        };
        self.locals.truncate(outer);
        Ok(Lambda {
            parameters: lambda.parameters.len(),
            body: body?,
        })
    }

    /// A literal that a parameter cannot take.
    pub(super) fn unfit(&self, at: usize, error: EvalError) -> OttlError {
        self.refuse(at, error.to_string())
    }
}

impl Argument {
    pub(super) fn exprs(&self) -> &[Expr] {
        match self {
            Self::Exprs(exprs) => exprs,
            _ => &[],
        }
    }
}
