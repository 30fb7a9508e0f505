//! What the traces of a run look like, and which of them the bench policies keep.

/// What makes a trace worth keeping, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Kept only by the coin.
    Ordinary,
    Error,
    Slow,
    /// A phrase in the prompt, found by a regex.
    Risky,
    Tokens,
    Vip,
    Flag,
    /// A phrase in an answer, found by `prompt_keyword` alone.
    Keyword,
}

/// Kinds that a policy keeps.
pub(crate) const KEPT: [Kind; 7] = [
    Kind::Error,
    Kind::Slow,
    Kind::Risky,
    Kind::Tokens,
    Kind::Vip,
    Kind::Flag,
    Kind::Keyword,
];

/// Which parts of a kept trace show why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Every part: the trace is kept however little of it a decision saw.
    Each,
    /// The last part: a decision that comes too early drops the trace.
    Last,
}

/// The traces of one run.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Second half of every trace id: unique for each run, not 0.
    pub(crate) run: u64,
    /// Spans of a trace.
    pub(crate) spans: u32,
    /// Parts it arrives in; a divisor of `spans`, at most 64. As many as spans: each span on its own.
    pub(crate) parts: u32,
    /// Spans of a request, rounded down to whole parts.
    pub(crate) per_request: u32,
    /// Other traces that begin between two parts of one.
    pub(crate) lag: u64,
    /// Prompt on each twelfth span. 2 KB make 450 B a span, two fifths of it prompts.
    pub(crate) prompt_bytes: usize,
    /// `service.name`, in turn.
    pub(crate) services: Vec<String>,
    /// Encoded as the Collector does it.
    pub(crate) backwards: bool,
    pub(crate) evidence: Evidence,
    /// Traces in a thousand that a policy other than the coin keeps.
    pub(crate) kept_permille: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            run: 1,
            spans: 60,
            parts: 4,
            per_request: 512,
            lag: 100,
            prompt_bytes: 2048,
            services: vec!["chat".to_owned()],
            backwards: false,
            evidence: Evidence::Each,
            kept_permille: 40,
        }
    }
}

impl Shape {
    pub(crate) fn id(&self, trace: u64) -> [u8; 16] {
        let mut id = [0; 16];
        // The number first: FNV mixes what comes early best.
        id[..8].copy_from_slice(&trace.to_be_bytes());
        id[8..].copy_from_slice(&self.run.to_be_bytes());
        id
    }

    /// The number of a trace of this run.
    pub(crate) fn number(&self, id: u128) -> Option<u64> {
        (id as u64 == self.run).then_some((id >> 64) as u64)
    }

    /// The span id of a span: never zero.
    pub(crate) fn span_id(trace: u64, span: u32) -> u64 {
        (trace << 16 | u64::from(span)) + 1
    }

    pub(crate) fn spans_of_part(&self) -> u32 {
        self.spans / self.parts
    }

    pub(crate) fn kind(&self, trace: u64) -> Kind {
        let draw = mix(self.run ^ mix(trace));
        if draw % 1000 >= self.kept_permille {
            return Kind::Ordinary;
        }
        KEPT[(draw >> 32) as usize % KEPT.len()]
    }

    /// Whether the bench policies with `ours` keep the trace.
    pub(crate) fn keeps(&self, trace: u64) -> bool {
        self.kind(trace) != Kind::Ordinary || one_percent(&self.id(trace))
    }

    /// Whether this part shows why the trace is kept.
    pub(crate) fn shows(&self, part: u32) -> bool {
        match self.evidence {
            Evidence::Each => true,
            Evidence::Last => part + 1 == self.parts,
        }
    }
}

/// splitmix64.
pub(crate) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The Collector's coin at 1 %: FNV-1a 64 over its default salt and the id.
fn one_percent(id: &[u8; 16]) -> bool {
    let bytes = b"default-hash-seed".iter().chain(id);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash <= 0x028f_5c28_f5c2_8f5f
}
