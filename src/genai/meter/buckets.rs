//! Bounds of the histograms: those that the conventions advise, with more behind them where models take longer.

/// Tokens: powers of four (`gen_ai.client.token.usage`).
pub(super) const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// Seconds of a call: powers of two (`gen_ai.client.operation.duration`), three more for models that reason.
pub(super) const DURATION: [f64; 17] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84,
    327.68, 655.36,
];

/// Seconds to a first token (`gen_ai.server.time_to_first_token`), with those that Envoy adds.
pub(super) const FIRST_TOKEN: [f64; 21] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    15.0, 20.0, 30.0, 45.0, 60.0,
];

/// Seconds a token (`gen_ai.server.time_per_output_token`).
pub(super) const PER_TOKEN: [f64; 13] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5,
];

/// Scores: most evaluators judge from 0 to 1, some to 5 or 10.
pub(super) const SCORE: [f64; 13] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0, 5.0, 10.0,
];
