//! A condition as it is written, before names and types are looked at.

use super::lexer::Comparison;

/// What is true or false.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    Or(Vec<Test>),
    And(Vec<Test>),
    Not(Box<Test>),
    Compare(Node, Comparison, Node),
    Const(bool),
    Call(Call),
}

/// What has a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Nil,
    Int(i64),
    Float(f64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    Bool(bool),
    Enum {
        name: String,
        at: usize,
    },
    List(Vec<Node>),
    Map(Vec<(Vec<u8>, Node)>),
    Path(Path),
    Call(Call),
    Negative(Box<Node>),
    /// Flat, so that a long sum is no deep tree.
    Math(Box<Node>, Vec<(MathOp, Node)>),
    Lambda(Box<Lambda>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MathOp {
    Add,
    Sub,
    Mul,
    Div,
}

/// A converter's call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) arguments: Vec<Argument>,
    pub(super) keys: Vec<Key>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) at: usize,
    pub(super) value: Node,
}

/// `a.b["k"][0]`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    pub(super) at: usize,
    pub(super) segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) keys: Vec<Key>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Key {
    Text(Vec<u8>),
    Int(i64),
    Node(Node),
}

/// `(a, _) => body`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lambda {
    pub(super) at: usize,
    /// `_` where a parameter is not used.
    pub(super) parameters: Vec<String>,
    pub(super) body: LambdaBody,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum LambdaBody {
    Node(Node),
    Test(Test),
}
