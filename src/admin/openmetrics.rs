//! The page in Prometheus' two text formats. Exemplars stand in OpenMetrics alone.
//!
//! Most families come as Prometheus text 0.0.4, those of model calls as OpenMetrics; each is put into the other form line
//! by line. Names of samples are the same in both. A counter whose name does not end in `_total` (the Collector's) cannot be
//! one in OpenMetrics: there its type is `unknown`.

/// What a scraper asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// What an `Accept` header asks for. Prometheus lists all that it can read, best first.
    pub(super) fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Prometheus text as OpenMetrics, without the line at its end.
pub(super) fn to_openmetrics(text: &str) -> String {
    let (mut out, mut help) = (String::with_capacity(text.len()), None);
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some((name, kind)) = type_of(line) {
            let (family, kind) = match (kind, name.strip_suffix("_total")) {
                ("counter", Some(family)) => (family, kind),
                ("counter", None) => (name, "unknown"),
                (kind, _) => (name, kind),
            };
            if let Some((_, text)) = help.take() {
                let text = text.replace('"', "\\\"");
                push(&mut out, &["# HELP ", family, " ", &text]);
            }
            push(&mut out, &["# TYPE ", family, " ", kind]);
        } else {
            push(&mut out, &[line]);
        }
    }
    out
}

/// OpenMetrics as Prometheus text.
pub(super) fn to_prometheus(text: &str) -> String {
    let (mut out, mut help) = (String::with_capacity(text.len()), None);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some((family, kind)) = type_of(line) {
            let suffix = if kind == "counter" { "_total" } else { "" };
            if let Some((_, text)) = help.take() {
                push(&mut out, &["# HELP ", family, suffix, " ", text]);
            }
            push(&mut out, &["# TYPE ", family, suffix, " ", kind]);
        } else if !line.starts_with('#') {
            push(&mut out, &[without_exemplar(line)]);
        }
    }
    out
}

fn type_of(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("# TYPE ")?.split_once(' ')
}

fn push(out: &mut String, parts: &[&str]) {
    out.extend(parts.iter().copied());
    out.push('\n');
}

/// The sample itself: what is before a `#` that stands in no label's value.
fn without_exemplar(line: &str) -> &str {
    let (mut quoted, mut escaped) = (false, false);
    let end = line.find(|c| {
        let (was_escaped, was_quoted) = (escaped, quoted);
        escaped = was_quoted && !was_escaped && c == '\\';
        if c == '"' && !was_escaped {
            quoted = !quoted;
        }
        c == '#' && !was_quoted
    });
    end.and_then(|end| line.get(..end))
        .unwrap_or(line)
        .trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_formats() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.2";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        for other in ["", "*/*", "text/plain"] {
            assert_eq!(Format::accepted(other), Format::Prometheus, "{other}");
        }
    }

    #[test]
    fn counters_and_help_become_openmetrics() {
        let text = "\n# HELP a_total It's \"a\".\n# TYPE a_total counter\na_total{x=\"1\"} 2\n\n\
                    # TYPE b counter\nb 3\n# TYPE c histogram\nc_bucket{le=\"1\"} 1\n";
        let expected = "# HELP a It's \\\"a\\\".\n# TYPE a counter\na_total{x=\"1\"} 2\n\
                        # TYPE b unknown\nb 3\n# TYPE c histogram\nc_bucket{le=\"1\"} 1\n";
        assert_eq!(to_openmetrics(text), expected);
    }

    #[test]
    fn exemplars_and_units_are_left_out_of_prometheus_text() {
        let text = "# HELP a A.\n# TYPE a counter\na_total 2 # {trace_id=\"1\"} 1.0\n\
                    # HELP b_seconds B.\n# TYPE b_seconds histogram\n# UNIT b_seconds seconds\n\
                    b_seconds_bucket{le=\"1.0\",m=\"x # {\\\" # y\"} 1 # {trace_id=\"1\"} 0.5 7.0\n# EOF\n";
        let expected = "# HELP a_total A.\n# TYPE a_total counter\na_total 2\n\
                        # HELP b_seconds B.\n# TYPE b_seconds histogram\n\
                        b_seconds_bucket{le=\"1.0\",m=\"x # {\\\" # y\"} 1\n";
        assert_eq!(to_prometheus(text), expected);
    }
}
