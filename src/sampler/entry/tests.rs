//! Tests of `entry`.

use super::*;
use proptest::prelude::*;

fn decision() -> impl Strategy<Value = Decision> {
    let evidence = proptest::sample::select(Evidence::ALL.to_vec());
    (
        any::<u128>(),
        proptest::option::of(0..u16::MAX),
        evidence,
        any::<(u32, u32)>(),
        proptest::collection::vec(any::<u64>(), 0..3),
        (
            proptest::option::of(any::<u16>()),
            proptest::collection::vec(0..=NEVER, 0..3),
            any::<bool>(),
            proptest::option::of(any::<(u64, u64)>()),
        ),
    )
        .prop_map(
            |(trace, policy, evidence, (first_second, last_second), thresholds, rare)| {
                let (child, grants, cached, amends) = rare;
                let amends = amends.map(|(dropped, pressure)| Amends { dropped, pressure });
                Decision {
                    trace: TraceId(trace),
                    policy,
                    evidence,
                    first_second,
                    last_second,
                    thresholds,
                    child,
                    grants,
                    cached,
                    amends,
                    amended_records: amends.unwrap_or_default(),
                }
            },
        )
}

fn place() -> impl Strategy<Value = PackedRef> {
    (
        0_u64..1 << 54,
        0_u32..1 << 26,
        0_u32..1 << 27,
        0_u32..1 << 21,
    )
        .prop_map(|(position, offset, length, spans)| {
            PackedRef::new(
                Ref {
                    position,
                    offset,
                    length,
                },
                spans,
            )
        })
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        (
            decision(),
            0..=NEVER,
            proptest::collection::vec(place(), 0..5)
        )
            .prop_map(|(d, threshold, refs)| Entry::Keep(d, threshold, refs)),
        (decision(), any::<[u64; 4]>()).prop_map(|(d, [first, last, spans, records])| {
            let extent = Extent {
                first,
                last,
                spans,
                records,
            };
            Entry::Drop(d, extent)
        }),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Entry::Snapshot),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Entry::Limits),
        (any::<[u8; 16]>(), proptest::collection::vec(place(), 0..5)).prop_map(|(id, places)| {
            let mut checkpoint = Checkpoint {
                id: id.to_vec(),
                ..Checkpoint::default()
            };
            checkpoint.set_places(&places);
            Entry::Undecided(Box::new(checkpoint))
        }),
    ]
}

proptest! {
    #[test]
    fn reads_what_it_wrote(entries in proptest::collection::vec(entry(), 0..6)) {
        let mut body = Vec::new();
        entries.iter().for_each(|entry| encode(entry, &mut body));
        let mut reader = Entries::new(&body);
        prop_assert_eq!(reader.by_ref().collect::<Vec<_>>(), entries);
        prop_assert!(!reader.broken());
    }

    #[test]
    fn any_bytes_are_taken(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        Entries::new(&body).for_each(drop);
    }
}

#[test]
fn a_drop_takes_at_most_64_bytes() {
    let decision = Decision {
        trace: TraceId(u128::MAX),
        policy: Some(300),
        evidence: Evidence::Pressure,
        first_second: 1_900_000_000,
        last_second: 1_900_003_600,
        thresholds: vec![3_600_000_000_000; 2],
        child: None,
        grants: vec![NEVER],
        cached: false,
        amends: None,
        amended_records: Amends::default(),
    };
    let mut body = Vec::new();
    encode(
        &Entry::Drop(
            decision,
            Extent {
                first: 1 << 50,
                last: (1 << 50) + (1 << 34),
                spans: 1 << 20,
                records: 0,
            },
        ),
        &mut body,
    );
    assert!(body.len() <= 64, "{}", body.len());
}
