//! `examples/embed.rs`: the library in a process of somebody else's (this one), with the buffer in memory.

use crate::support::daemon::Place;
use crate::support::fixtures;
use crate::support::recipe::{ALL, Recipe};
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};

#[allow(dead_code, reason = "its `main` is for the command line")]
#[path = "../../examples/embed.rs"]
mod example;

#[tokio::test(flavor = "multi_thread")]
async fn the_example_delivers_what_was_submitted() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ALL, &[&sink]).memory());
    let fixture = fixtures::protobuf().remove(0);
    let config = place.path().join("config.yaml");
    let accepted = example::embed(config.to_str().unwrap(), fixture.bytes)
        .await
        .unwrap();
    let expected = flatten([&fixture.message]);
    assert_eq!(
        (accepted.spans, accepted.rejected),
        (expected.len() as u64, 0)
    );
    assert_same(&expected, &sink.spans(), "the embedded pipeline");
}
