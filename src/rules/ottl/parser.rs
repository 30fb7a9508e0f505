//! The grammar: tokens to a tree.
//!
//! Where the grammar is ambiguous (`(` opens a sum or a condition) the first reading that fits wins, as in the
//! Collector. Depth and work are bounded, so that no text takes the parser long or overflows the stack. What is
//! reported is the mistake farthest to the right.

use super::ast::{Lambda, LambdaBody, Node, Test};
use super::error::OttlError;
use super::lexer::{Spot, Token, tokens};

/// Bytes of one condition; nobody writes a hundredth of it.
const MAX_TEXT: usize = 64 << 10;
/// Nested parentheses, calls and lists. Each level takes some hundred bytes of stack in a debug build.
const MAX_DEPTH: u32 = 128;
/// Nodes tried; trying twice at each level of nested lambdas would double the work at each level.
const MAX_STEPS: u32 = 200_000;

/// No tree; what is wrong stands in the parser.
#[derive(Debug)]
pub(super) struct NoFit;

pub(super) type Parsed<T> = Result<T, NoFit>;

/// Where the parser is and the farthest mistake it has met.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    tokens: Vec<Spot>,
    pub(super) next: usize,
    depth: u32,
    steps: u32,
    farthest: usize,
    mistake: String,
}

/// Reads a whole condition.
pub(super) fn parse(text: &str) -> Result<Test, OttlError> {
    if text.len() > MAX_TEXT {
        let message = format!("a condition is longer than {MAX_TEXT} bytes");
        return Err(OttlError::at(text, 0, message));
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        next: 0,
        depth: 0,
        steps: 0,
        farthest: 0,
        mistake: String::new(),
    };
    let test = parser.test();
    if let Ok(test) = test {
        if parser.peek().is_none() {
            return Ok(test);
        }
        let _: Parsed<()> = parser.fail("expected `and`, `or` or the end of the condition");
    }
    let at = parser.byte_of(parser.farthest);
    Err(OttlError::at(text, at, parser.mistake))
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|spot| &spot.token)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.next + ahead).map(|spot| &spot.token)
    }

    fn byte_of(&self, index: usize) -> usize {
        self.tokens
            .get(index)
            .map_or(self.text.len(), |spot| spot.at)
    }

    /// The byte where the next token begins.
    pub(super) fn at(&self) -> usize {
        self.byte_of(self.next)
    }

    pub(super) fn fail<T>(&mut self, mistake: impl Into<String>) -> Parsed<T> {
        if self.next > self.farthest || self.mistake.is_empty() {
            self.farthest = self.next;
            self.mistake = mistake.into();
        }
        Err(NoFit)
    }

    /// A mistake in what is grammatical: it is reported whatever comes behind it.
    pub(super) fn refuse<T>(&mut self, mistake: impl Into<String>) -> Parsed<T> {
        self.steps = MAX_STEPS;
        self.farthest = self.next;
        self.mistake = mistake.into();
        Err(NoFit)
    }

    pub(super) fn takes(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    pub(super) fn mark(&mut self, mark: u8) -> bool {
        self.takes(&Token::Mark(mark))
    }

    pub(super) fn expect(&mut self, mark: u8) -> Parsed<()> {
        if self.mark(mark) {
            return Ok(());
        }
        self.fail(format!("expected `{}`", char::from(mark)))
    }

    /// Runs one level deeper.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.steps >= MAX_STEPS {
            return self.fail("the condition is too complex");
        }
        self.steps += 1;
        if self.depth >= MAX_DEPTH {
            return self.refuse(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Tries a reading and goes back where it does not fit.
    fn attempt<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let start = self.next;
        let result = inner(self);
        if result.is_err() {
            self.next = start;
        }
        result
    }

    fn test(&mut self) -> Parsed<Test> {
        let mut terms = vec![self.term()?];
        while self.takes(&Token::Or) {
            terms.push(self.term()?);
        }
        Ok(alone(terms, Test::Or))
    }

    fn term(&mut self) -> Parsed<Test> {
        let mut tests = vec![self.signed_test()?];
        while self.takes(&Token::And) {
            tests.push(self.signed_test()?);
        }
        Ok(alone(tests, Test::And))
    }

    fn signed_test(&mut self) -> Parsed<Test> {
        let negative = self.takes(&Token::Not);
        let test = self.deeper(Self::one_test)?;
        Ok(if negative {
            Test::Not(Box::new(test))
        } else {
            test
        })
    }

    fn one_test(&mut self) -> Parsed<Test> {
        if self.peek() != Some(&Token::Mark(b'(')) {
            return self.comparison();
        }
        if let Ok(test) = self.attempt(Self::comparison) {
            return Ok(test);
        }
        self.expect(b'(')?;
        let test = self.test()?;
        self.expect(b')')?;
        Ok(test)
    }

    /// A comparison, or what is a condition alone: `true`, `false`, a call.
    fn comparison(&mut self) -> Parsed<Test> {
        let left = self.node()?;
        if let Some(Token::Compare(operator)) = self.peek() {
            let operator = *operator;
            self.next += 1;
            return Ok(Test::Compare(left, operator, self.node()?));
        }
        match left {
            Node::Bool(value) => Ok(Test::Const(value)),
            Node::Call(call) => Ok(Test::Call(call)),
            _ => self.fail("expected a comparison (`==`, `!=`, `<`, `<=`, `>`, `>=`)"),
        }
    }

    /// `(a, _) =>` begins here.
    pub(super) fn is_lambda(&self) -> bool {
        let mut ahead = 1;
        if self.peek_at(ahead) != Some(&Token::Mark(b')')) {
            loop {
                if !matches!(
                    self.peek_at(ahead),
                    Some(Token::Lower(_) | Token::Underscore)
                ) {
                    return false;
                }
                ahead += 1;
                match self.peek_at(ahead) {
                    Some(Token::Mark(b',')) => ahead += 1,
                    Some(Token::Mark(b')')) => break,
                    _ => return false,
                }
            }
        }
        self.peek_at(ahead + 1) == Some(&Token::Arrow)
    }

    pub(super) fn lambda(&mut self) -> Parsed<Node> {
        let at = self.at();
        let mut parameters = Vec::new();
        while !self.takes(&Token::Arrow) {
            match self.peek() {
                Some(Token::Lower(name)) => parameters.push(name.clone()),
                Some(Token::Underscore) => parameters.push("_".into()),
                _ => {}
            }
            self.next += 1;
        }
        let value = self.attempt(|parser| {
            let node = parser.node()?;
            match parser.peek() {
                Some(Token::Or | Token::And | Token::Compare(_)) => Err(NoFit),
                _ => Ok(node),
            }
        });
        let body = match value {
            Ok(Node::Lambda(_)) => return self.refuse("a lambda cannot result in another lambda"),
            Ok(node) => LambdaBody::Node(node),
            Err(NoFit) => LambdaBody::Test(self.test()?),
        };
        Ok(Node::Lambda(Box::new(Lambda {
            at,
            parameters,
            body,
        })))
    }
}

/// The only one, or all of them joined.
fn alone(mut tests: Vec<Test>, join: fn(Vec<Test>) -> Test) -> Test {
    match tests.pop() {
        Some(only) if tests.is_empty() => only,
        Some(last) => {
            tests.push(last);
            join(tests)
        }
        None => Test::Const(true),
    }
}
