//! The tracestate of a span as a sampler reads it, changes it and writes it back: `ot` first, in it `rv`, `th`, then what
//! else it has, then the other members in their order.

use super::sampling::{NEVER, SamplingState, threshold_digits};
use super::trace_state::{OT, Ot, last_ot, sampling_members};
use std::borrow::Cow;

/// A tracestate taken apart. Digits that are not changed are written as they came.
#[derive(Debug, Default)]
pub(crate) struct SampledState<'a> {
    state: SamplingState,
    randomness: Option<Cow<'a, str>>,
    threshold: Option<Cow<'a, str>>,
    unknown: Vec<(&'a str, &'a str)>,
    others: Vec<(&'a str, &'a str)>,
}

impl<'a> SampledState<'a> {
    /// Reads a tracestate. `false`: it is malformed, and this is what could be read of it.
    pub(crate) fn read(text: &'a [u8]) -> (Self, bool) {
        let members = match std::str::from_utf8(text) {
            Ok("") => return (Self::default(), true),
            Ok(text) => sampling_members(text),
            Err(_) => None,
        };
        let Some(members) = members else {
            return (Self::default(), false);
        };
        let ot = last_ot(&members);
        let others = members.into_iter().filter(|(key, _)| *key != OT).collect();
        let whole = ot.is_some();
        let Ot {
            state,
            randomness,
            threshold,
            unknown,
        } = ot.unwrap_or_default();
        let read = Self {
            state,
            randomness: randomness.map(Cow::Borrowed),
            threshold: threshold.map(Cow::Borrowed),
            unknown,
            others,
        };
        (read, whole)
    }

    pub(crate) fn randomness(&self) -> Option<u64> {
        self.state.randomness
    }

    pub(crate) fn threshold(&self) -> Option<u64> {
        self.state.threshold
    }

    pub(crate) fn set_randomness(&mut self, randomness: u64) {
        self.state.randomness = Some(randomness);
        self.randomness = Some(format!("{randomness:014x}").into());
    }

    pub(crate) fn clear_threshold(&mut self) {
        (self.state.threshold, self.threshold) = (None, None);
    }

    /// Sets the threshold, unless the one that is there is stricter.
    pub(crate) fn raise_threshold(&mut self, threshold: u64) {
        if self.state.threshold.is_some_and(|own| own > threshold) || threshold >= NEVER {
            return;
        }
        self.state.threshold = Some(threshold);
        self.threshold = Some(threshold_digits(threshold).into());
    }

    /// The text.
    pub(crate) fn write(&self) -> String {
        let own = [("rv", &self.randomness), ("th", &self.threshold)];
        let own = own
            .iter()
            .filter_map(|(key, digits)| Some((*key, digits.as_deref()?)));
        let fields: Vec<String> = own
            .chain(self.unknown.iter().copied())
            .map(|(key, value)| format!("{key}:{value}"))
            .collect();
        let ot = (!fields.is_empty()).then(|| format!("{OT}={}", fields.join(";")));
        let others = self
            .others
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        ot.into_iter().chain(others).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_it_read_in_its_order() {
        let check = |text: &str, expected: (&str, bool)| {
            let (state, whole) = SampledState::read(text.as_bytes());
            assert_eq!((&*state.write(), whole), expected, "{text}");
        };
        check("", ("", true));
        check("a=b", ("a=b", true));
        check(
            " a=b,,ot=zz:1;th:C0;rv:FFFFFFFFFFFFFF ",
            ("ot=rv:FFFFFFFFFFFFFF;th:C0;zz:1,a=b", true),
        );
        check("a=b,ot=th:xyz", ("a=b", false));
        check("a", ("", false));
    }

    #[test]
    fn thresholds_only_rise() {
        let check = |text: &str, threshold, expected: &str| {
            let (mut state, _) = SampledState::read(text.as_bytes());
            state.raise_threshold(threshold);
            assert_eq!(state.write(), expected, "{text}");
        };
        check("", 0, "ot=th:0");
        check("ot=th:c", 0, "ot=th:c");
        check("ot=th:80", 1 << 55, "ot=th:8");
        check("ot=th:8,a=b", 3 << 54, "ot=th:c,a=b");
        check("ot=th:8", NEVER, "ot=th:8");
    }

    #[test]
    fn randomness_has_fourteen_digits() {
        let (mut state, _) = SampledState::read(b"ot=th:8");
        state.set_randomness(0x2a);
        state.clear_threshold();
        assert_eq!(state.write(), "ot=rv:0000000000002a");
        assert_eq!((state.randomness(), state.threshold()), (Some(0x2a), None));
    }
}
