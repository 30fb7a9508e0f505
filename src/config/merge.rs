//! Several sources into one tree: later ones win, mappings are merged key by key, everything else is replaced. A key with
//! nothing behind it takes away what stood there, as in the Collector.

use super::node::{Entry, Node, Place, Value};

/// Lays `over` on `base`.
pub(crate) fn merge(base: &mut Node, over: Node) {
    match (&mut base.value, over) {
        (
            Value::Map(entries),
            Node {
                value: Value::Map(added),
                ..
            },
        ) => {
            for entry in added {
                match entries.iter_mut().find(|known| known.key == entry.key) {
                    Some(known) => {
                        known.key_place = entry.key_place;
                        merge(&mut known.node, entry.node);
                    }
                    None => entries.push(entry),
                }
            }
        }
        (_, over) => *base = over,
    }
}

/// The tree that a `--set` path and value stand for. `None` when the path is empty or has an empty key.
///
/// Keys are separated by `.` or `::` (the Collector takes both).
pub(crate) fn nest(path: &str, value: Node, place: Place) -> Option<Node> {
    below(&path.replace("::", "."), ".", value, place)
}

/// A tree whose topmost keys may be paths, `processors::batch::timeout: 1s`: the Collector reads them so, and a config
/// on the command line is written so.
pub(crate) fn unflatten(tree: Node) -> Node {
    let Value::Map(entries) = &tree.value else {
        return tree;
    };
    if !entries.iter().any(|entry| entry.key.contains("::")) {
        return tree;
    }
    let (place, mut root) = (tree.place, Node::new(tree.place, Value::Map(Vec::new())));
    let Value::Map(entries) = tree.value else {
        return root;
    };
    for entry in entries {
        let nested = if entry.key.contains("::") {
            below(&entry.key, "::", entry.node.clone(), entry.key_place)
        } else {
            None
        };
        let layer = nested.unwrap_or_else(|| Node::new(place, Value::Map(vec![entry])));
        merge(&mut root, layer);
    }
    root
}

/// `value` below nested mappings; `None` when a key is empty.
fn below(path: &str, separator: &str, value: Node, place: Place) -> Option<Node> {
    path.rsplit(separator)
        .map(str::trim)
        .try_fold(value, |node, key| {
            let entry = Entry {
                key: key.to_owned(),
                key_place: place,
                node,
            };
            (!key.is_empty()).then(|| Node::new(place, Value::Map(vec![entry])))
        })
}

#[cfg(test)]
mod tests {
    use super::super::yaml;
    use super::*;

    fn show(node: &Node) -> String {
        match &node.value {
            Value::Null | Value::Faulty => "null".into(),
            Value::Bool(v) => v.to_string(),
            Value::Int(v) => v.to_string(),
            Value::Float(v) => v.to_string(),
            Value::Str(v) => v.clone(),
            Value::Seq(items) => {
                format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(","))
            }
            Value::Map(entries) => {
                let pair = |e: &Entry| format!("{}:{}", e.key, show(&e.node));
                format!(
                    "{{{}}}",
                    entries.iter().map(pair).collect::<Vec<_>>().join(",")
                )
            }
        }
    }

    fn tree(text: &str) -> Node {
        yaml::parse(text, 0).unwrap_or_else(|broken| panic!("{broken:?}"))
    }

    #[test]
    fn later_wins() {
        let check = |base: &str, over: &str, expected: &str| {
            let mut base = tree(base);
            merge(&mut base, tree(over));
            assert_eq!(show(&base), expected);
        };
        check(
            "{a: 1, b: {c: 2, d: 3}}",
            "{b: {c: 9, e: 4}}",
            "{a:1,b:{c:9,d:3,e:4}}",
        );
        check("{a: [1, 2]}", "{a: [3]}", "{a:[3]}");
        check("{a: {b: 1}}", "{a: 5}", "{a:5}");
        check("{a: 5}", "{a: {b: 1}}", "{a:{b:1}}");
        check("{a: {b: 1}}", "{a: }", "{a:null}");
        check("{a: {b: 1, c: 2}}", "{a: {b: }}", "{a:{b:null,c:2}}");
        check("", "{a: 1}", "{a:1}");
    }

    #[test]
    fn topmost_keys_may_be_paths() {
        let check = |text: &str, expected: &str| {
            assert_eq!(show(&unflatten(tree(text))), expected, "{text}");
        };
        check("a::b::c: 1", "{a:{b:{c:1}}}");
        check("{a: {x: 1}, a::b: 2, a::x: 3}", "{a:{x:3,b:2}}");
        check("{a: {b::c: 1}}", "{a:{b::c:1}}");
        check("a::: 1", "{a:::1}");
        check("[1]", "[1]");
        check("", "null");
        check("{a.b: 1, c: 2}", "{a.b:1,c:2}");
    }

    #[test]
    fn nests_paths() {
        let place = Place {
            file: 0,
            line: 1,
            column: 1,
        };
        let check = |path: &str, expected: Option<&str>| {
            let got = nest(path, tree("7"), place).map(|node| show(&node));
            assert_eq!(got.as_deref(), expected, "{path}");
        };
        check("a", Some("{a:7}"));
        check("a.b.c", Some("{a:{b:{c:7}}}"));
        check("a::b/1::c", Some("{a:{b/1:{c:7}}}"));
        check("", None);
        check("a..b", None);
        check(".a", None);
    }
}
