//! A call's arguments, by place or by name, checked against what the function takes.

use super::ast::{self, Node};
use super::compile::Compiler;
use super::convert;
use super::error::OttlError;
use super::expression::{Argument, Expr};
use super::functions::camel;
use super::functions::{Function, Kind, Parameter};
use super::value::Value;

/// The arguments in the order of the parameters.
pub(super) fn arguments_of(
    compiler: &mut Compiler<'_>,
    function: &'static Function,
    call: &ast::Call,
) -> Result<Vec<Argument>, OttlError> {
    let mut out: Vec<Argument> = function
        .parameters
        .iter()
        .map(|_| Argument::Absent)
        .collect();
    let mut named = false;
    for (index, argument) in call.arguments.iter().enumerate() {
        let slot = match &argument.name {
            Some(name) => {
                named = true;
                by_name(compiler, function, name, argument.at)?
            }
            None if named => {
                return Err(compiler.refuse(
                    argument.at,
                    "an argument without a name after one with a name",
                ));
            }
            None => index,
        };
        let Some(parameter) = function.parameters.get(slot) else {
            return Err(compiler.refuse(argument.at, count_message(function, call.arguments.len())));
        };
        let value = one(compiler, parameter, argument)?;
        match out.get_mut(slot) {
            Some(place @ Argument::Absent) => *place = value,
            _ => {
                return Err(
                    compiler.refuse(argument.at, format!("`{}` is given twice", parameter.name))
                );
            }
        }
    }
    let missing = function
        .parameters
        .iter()
        .zip(&out)
        .any(|(parameter, argument)| !parameter.optional && matches!(argument, Argument::Absent));
    if missing {
        return Err(compiler.refuse(call.at, count_message(function, call.arguments.len())));
    }
    Ok(out)
}

fn count_message(function: &Function, given: usize) -> String {
    let names: Vec<String> = function
        .parameters
        .iter()
        .map(|parameter| {
            let mark = if parameter.optional { "?" } else { "" };
            format!("{}{mark}", parameter.name)
        })
        .collect();
    format!(
        "`{}({})` got {given} arguments",
        function.name,
        names.join(", ")
    )
}

fn by_name(
    compiler: &Compiler<'_>,
    function: &Function,
    name: &str,
    at: usize,
) -> Result<usize, OttlError> {
    let wanted = camel(name.as_bytes());
    function
        .parameters
        .iter()
        .position(|parameter| parameter.name.as_bytes() == wanted)
        .ok_or_else(|| {
            let known = function
                .parameters
                .iter()
                .map(|parameter| parameter.name)
                .collect();
            compiler
                .refuse(at, format!("`{}` has no argument `{name}`", function.name))
                .with_known(name, known)
        })
}

fn one(
    compiler: &mut Compiler<'_>,
    parameter: &Parameter,
    argument: &ast::Argument,
) -> Result<Argument, OttlError> {
    let at = argument.at;
    let node = &argument.value;
    let must = |compiler: &Compiler<'_>, what: &str| {
        compiler.refuse(at, format!("`{}` must be {what}", parameter.name))
    };
    match (parameter.kind, node) {
        (Kind::Lambda(arity), Node::Lambda(lambda)) => {
            if lambda.parameters.len() != arity {
                return Err(must(compiler, &format!("a lambda of {arity} parameters")));
            }
            compiler.lambda(lambda).map(Argument::Lambda)
        }
        (Kind::Lambda(_), _) => Err(must(compiler, "a lambda: `(a, b) => ...`")),
        (Kind::LiteralText, Node::Text(_)) | (Kind::LiteralBool, Node::Bool(_)) => {
            compiler.expr(node).map(Argument::Expr)
        }
        (Kind::LiteralText, _) => Err(must(compiler, "a text in quotes")),
        (Kind::LiteralBool, _) => Err(must(compiler, "true or false")),
        (Kind::LiteralTexts, Node::List(items))
            if items.iter().all(|item| matches!(item, Node::Text(_))) =>
        {
            compiler.exprs(items).map(Argument::Exprs)
        }
        (Kind::LiteralTexts, _) => Err(must(compiler, "a list of texts in quotes")),
        (Kind::Values | Kind::Texts | Kind::TextLikes, Node::List(items)) => {
            let exprs = compiler.exprs(items)?;
            for expr in &exprs {
                check(compiler, parameter.kind, expr, at)?;
            }
            Ok(Argument::Exprs(exprs))
        }
        (Kind::Values | Kind::Texts, _) => Err(must(compiler, "a list in brackets")),
        (Kind::TextLikes, Node::Nil) => Err(must(compiler, "a list")),
        (kind, node) => {
            let expr = compiler.expr(node)?;
            if kind != Kind::TextLikes {
                check(compiler, kind, &expr, at)?;
            }
            Ok(Argument::Expr(expr))
        }
    }
}

/// A literal must be what the parameter takes; anything else is known at evaluation only.
fn check(compiler: &Compiler<'_>, kind: Kind, expr: &Expr, at: usize) -> Result<(), OttlError> {
    let Some(value) = expr.literal() else {
        return Ok(());
    };
    let result = match kind {
        Kind::Text | Kind::Texts => convert::text(value).map(drop),
        Kind::Int => convert::int(value).map(drop),
        Kind::Double => convert::double(value).map(drop),
        Kind::Bool => convert::bool(value).map(drop),
        Kind::Map => convert::map(value).map(drop),
        Kind::List => convert::list(value).map(drop),
        Kind::Time => convert::time(value).map(drop),
        Kind::Duration => convert::duration(value).map(drop),
        Kind::TextLike | Kind::TextLikes => convert::text_like(value).map(drop),
        Kind::IntLike => convert::int_like(value).map(drop),
        Kind::DoubleLike => convert::double_like(value).map(drop),
        Kind::BoolLike => convert::bool_like(value).map(drop),
        Kind::BytesLike => convert::bytes_like(value).map(drop),
        Kind::Any
        | Kind::Values
        | Kind::LiteralText
        | Kind::LiteralBool
        | Kind::LiteralTexts
        | Kind::Lambda(_) => Ok(()),
    };
    let _: &Value<'static> = value;
    result.map_err(|error| compiler.unfit(at, error))
}
