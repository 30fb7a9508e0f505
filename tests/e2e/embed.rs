//! `examples/embed.rs`: the library in a process of somebody else's, with the buffer in memory.

use crate::support::daemon::{Place, run_to_end};
use crate::support::fixtures;
use crate::support::recipe::{ALL, Recipe};
use crate::support::sink::Sink;
use crate::support::spans::{assert_same, flatten};
use std::fs;
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn the_example_delivers_what_was_submitted() {
    let sink = Sink::grpc();
    let place = Place::new(&Recipe::new(ALL, &[&sink]).memory());
    let fixture = fixtures::protobuf().remove(0);
    let request = place.path().join("request.pb");
    fs::write(&request, &fixture.bytes).unwrap();
    // Built without a limit in time, so that running it can have one.
    let build = ["build", "--quiet", "--locked", "--example", "embed"];
    assert!(Command::new(env!("CARGO")).args(build).status().unwrap().success());
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--locked", "--example", "embed", "--"]);
    command.arg(place.path().join("config.yaml")).arg(request);
    let (code, printed) = tokio::task::spawn_blocking(move || run_to_end(&mut command)).await.unwrap();
    let expected = flatten([&fixture.message]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains(&format!("{} spans accepted, 0 rejected", expected.len())), "{printed}");
    assert_same(&expected, &sink.spans(), "the embedded pipeline");
}
