//! Histograms in Prometheus' text format. The client's own would count observations; ours are counted where they happen
//! and are whole at each scrape.

use super::inventory::Metric;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a histogram has counted: values at or below each bound, their number and their sum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) buckets: Vec<(u64, u64)>,
    pub(super) number: u64,
    pub(super) sum: u64,
}

impl Counted {
    /// Adds another histogram of the same bounds.
    pub(super) fn add(&mut self, (buckets, number, sum): (Vec<(u64, u64)>, u64, u64)) {
        if self.buckets.is_empty() {
            self.buckets = buckets;
        } else {
            for (own, (_, count)) in self.buckets.iter_mut().zip(buckets) {
                own.1 += count;
            }
        }
        self.number += number;
        self.sum += sum;
    }
}

/// The histograms of a page, by name.
#[derive(Debug, Default)]
pub(super) struct Histograms(BTreeMap<String, String>);

impl Histograms {
    pub(super) fn set(
        &mut self,
        metric: &Metric,
        name: &str,
        labels: &[(&str, &str)],
        counted: &Counted,
    ) {
        let labels: String = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\","))
            .collect();
        let mut text = format!("# HELP {name} {}\n# TYPE {name} histogram\n", metric.help);
        let mut line = |le: &str, count: u64| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}_bucket{{{labels}le=\"{le}\"}} {count}");
        };
        for (bound, count) in &counted.buckets {
            line(&bound.to_string(), *count);
        }
        line("+Inf", counted.number);
        let own = match labels.trim_end_matches(',') {
            "" => String::new(),
            labels => format!("{{{labels}}}"),
        };
        let _ = writeln!(text, "{name}_sum{own} {}", counted.sum);
        let _ = writeln!(text, "{name}_count{own} {}", counted.number);
        self.0.insert(name.to_owned(), text);
    }

    pub(super) fn text(&self) -> String {
        self.0.values().map(|text| format!("\n{text}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::inventory::LATE_AGE;
    use super::*;

    #[test]
    fn writes_what_prometheus_reads() {
        let mut counted = Counted::default();
        counted.add((vec![(0, 1), (5, 2)], 3, 40));
        counted.add((vec![(0, 0), (5, 1)], 1, 4));
        let mut histograms = Histograms::default();
        histograms.set(&LATE_AGE, "age", &[("scope", "x")], &counted);
        let text = histograms.text();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let expected = [
            "# TYPE age histogram",
            "age_bucket{scope=\"x\",le=\"0\"} 1",
            "age_bucket{scope=\"x\",le=\"5\"} 3",
            "age_bucket{scope=\"x\",le=\"+Inf\"} 4",
            "age_sum{scope=\"x\"} 44",
            "age_count{scope=\"x\"} 4",
        ];
        assert_eq!(lines, expected);
    }
}
