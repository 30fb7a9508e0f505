//! The part of the grammar that has values: literals, sums, paths, calls.

use super::ast::{Argument, Call, Key, MathOp, Node, Path, Segment};
use super::lexer::Token;
use super::parser::{Parsed, Parser};

impl Parser<'_> {
    /// Any value.
    pub(super) fn node(&mut self) -> Parsed<Node> {
        self.deeper(Self::any_node)
    }

    fn any_node(&mut self) -> Parsed<Node> {
        let literal = match self.peek() {
            Some(Token::Nil) => Node::Nil,
            Some(Token::Bytes(bytes)) => Node::Bytes(bytes.clone()),
            Some(Token::Text(text)) => Node::Text(text.clone()),
            Some(Token::Bool(value)) => Node::Bool(*value),
            Some(Token::Mark(b'{')) => return self.map(),
            Some(Token::Mark(b'[')) => return self.list(),
            Some(Token::Mark(b'(')) if self.is_lambda() => return self.lambda(),
            Some(Token::Upper(name)) if !self.is_call() => {
                let node = Node::Enum {
                    name: name.clone(),
                    at: self.at(),
                };
                if matches!(self.peek_at(1), Some(Token::Lower(_))) {
                    return self.fail("expected a value; a function is called with `(`");
                }
                node
            }
            _ => return self.sum(),
        };
        self.next += 1;
        Ok(literal)
    }

    fn list(&mut self) -> Parsed<Node> {
        self.expect(b'[')?;
        let mut items = Vec::new();
        if !self.mark(b']') {
            loop {
                items.push(self.node()?);
                if self.mark(b']') {
                    break;
                }
                if !self.mark(b',') {
                    return self.fail("expected `,` or `]`");
                }
            }
        }
        Ok(Node::List(items))
    }

    /// Commas between pairs may be left out, as in the Collector.
    fn map(&mut self) -> Parsed<Node> {
        self.expect(b'{')?;
        let mut pairs = Vec::new();
        while !self.mark(b'}') {
            let Some(Token::Text(key)) = self.peek() else {
                return self.fail("expected a key in quotes or `}`");
            };
            let key = key.clone();
            self.next += 1;
            self.expect(b':')?;
            pairs.push((key, self.node()?));
            self.mark(b',');
        }
        Ok(Node::Map(pairs))
    }

    fn sum(&mut self) -> Parsed<Node> {
        self.chain(Self::product, |token| match token {
            Token::Plus => Some(MathOp::Add),
            Token::Minus => Some(MathOp::Sub),
            _ => None,
        })
    }

    fn product(&mut self) -> Parsed<Node> {
        self.chain(Self::factor, |token| match token {
            Token::Times => Some(MathOp::Mul),
            Token::Over => Some(MathOp::Div),
            _ => None,
        })
    }

    fn chain(
        &mut self,
        part: fn(&mut Self) -> Parsed<Node>,
        operator: fn(&Token) -> Option<MathOp>,
    ) -> Parsed<Node> {
        let first = part(self)?;
        let mut more = Vec::new();
        while let Some(operator) = self.peek().and_then(operator) {
            self.next += 1;
            more.push((operator, part(self)?));
        }
        Ok(if more.is_empty() {
            first
        } else {
            Node::Math(Box::new(first), more)
        })
    }

    fn factor(&mut self) -> Parsed<Node> {
        let negative = match self.peek() {
            Some(Token::Minus) => Some(true),
            Some(Token::Plus) => Some(false),
            _ => None,
        };
        self.next += usize::from(negative.is_some());
        let grouped = self.peek() == Some(&Token::Mark(b'('));
        let node = if grouped {
            self.next += 1;
            let node = self.deeper(Self::sum)?;
            self.expect(b')')?;
            node
        } else {
            self.operand()?
        };
        Ok(match (negative, node) {
            (Some(true), Node::Int(value)) if !grouped => Node::Int(value.wrapping_neg()),
            (Some(true), Node::Float(value)) if !grouped => Node::Float(-value),
            (Some(true), node) => Node::Negative(Box::new(node)),
            (_, node) => node,
        })
    }

    fn operand(&mut self) -> Parsed<Node> {
        let number = match self.peek() {
            Some(Token::Int(value)) => Node::Int(*value),
            Some(Token::Float(value)) => Node::Float(*value),
            Some(Token::Upper(_)) if self.is_call() => return self.call().map(Node::Call),
            Some(Token::Lower(_)) if self.is_call() => {
                return self.refuse(
                    "editors change telemetry; a condition takes converters, whose names begin with a capital",
                );
            }
            Some(Token::Lower(_)) => return self.path().map(Node::Path),
            _ => return self.fail("expected a value"),
        };
        self.next += 1;
        Ok(number)
    }

    /// A name, which may be several tokens, and `(`.
    fn is_call(&self) -> bool {
        let mut ahead = 1;
        while matches!(self.peek_at(ahead), Some(Token::Upper(_) | Token::Lower(_))) {
            ahead += 1;
        }
        self.peek_at(ahead) == Some(&Token::Mark(b'('))
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(Token::Upper(part) | Token::Lower(part)) = self.peek() {
            name.push_str(part);
            self.next += 1;
        }
        name
    }

    fn call(&mut self) -> Parsed<Call> {
        let at = self.at();
        let name = self.name();
        self.expect(b'(')?;
        let mut arguments = Vec::new();
        if !self.mark(b')') {
            loop {
                arguments.push(self.argument()?);
                if self.mark(b')') {
                    break;
                }
                if !self.mark(b',') {
                    return self.fail("expected `,` or `)`");
                }
            }
        }
        Ok(Call {
            name,
            at,
            arguments,
            keys: self.keys()?,
        })
    }

    fn argument(&mut self) -> Parsed<Argument> {
        let at = self.at();
        let start = self.next;
        let mut name = None;
        if matches!(self.peek(), Some(Token::Lower(_))) {
            let written = self.name();
            if self.takes(&Token::Equal) {
                name = Some(written);
            } else {
                self.next = start;
            }
        }
        Ok(Argument {
            name,
            at,
            value: self.node()?,
        })
    }

    fn path(&mut self) -> Parsed<Path> {
        let at = self.at();
        let mut segments = Vec::new();
        loop {
            let Some(Token::Lower(name)) = self.peek() else {
                return self.fail("expected a path's next name");
            };
            let name = name.clone();
            self.next += 1;
            let keys = self.keys()?;
            segments.push(Segment { name, keys });
            if !self.mark(b'.') {
                return Ok(Path { at, segments });
            }
        }
    }

    fn keys(&mut self) -> Parsed<Vec<Key>> {
        let mut keys = Vec::new();
        while self.mark(b'[') {
            let literal = match self.peek() {
                Some(Token::Text(text)) => Some(Key::Text(text.clone())),
                Some(Token::Int(value)) => Some(Key::Int(*value)),
                _ => None,
            };
            keys.push(match literal {
                Some(key) => {
                    self.next += 1;
                    key
                }
                None => Key::Node(self.deeper(Self::sum)?),
            });
            self.expect(b']')?;
        }
        Ok(keys)
    }
}
