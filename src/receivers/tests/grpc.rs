//! OTLP/gRPC, end to end.

use super::grpc_client::{EXPORT, call};
use super::recorder::{BUDGET, Recorder, destination, eventually};
use crate::otlp::{Accepted, IntakeBudget, Refusal, count_spans};
use crate::receivers::rpc_status::{ProtoDuration, RetryInfo, RpcStatus};
use crate::receivers::{OtlpGrpc, OtlpGrpcSettings, ReceiverStats, RefusalReason, Transport, bind};
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Code;
use tonic::codec::CompressionEncoding::{Gzip, Zstd};
use tonic::transport::{Channel, Endpoint};

pub(super) struct Running {
    pub(super) address: SocketAddr,
    pub(super) channel: Channel,
    pub(super) recorder: Arc<Recorder>,
    pub(super) budget: IntakeBudget,
    pub(super) stats: Arc<ReceiverStats>,
    shutdown: CancellationToken,
    server: JoinHandle<()>,
}

pub(super) async fn start(
    recorder: Arc<Recorder>,
    budget: u64,
    settings: OtlpGrpcSettings,
) -> Running {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let destination = destination(&recorder, budget);
    let (budget, stats) = (destination.budget.clone(), destination.stats.clone());
    let shutdown = CancellationToken::new();
    let receiver = OtlpGrpc::new(settings, destination).unwrap();
    let server = TaskTracker::new().spawn(receiver.serve(listener, shutdown.clone()));
    let channel = Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect()
        .await
        .unwrap();
    Running {
        address,
        channel,
        recorder,
        budget,
        stats,
        shutdown,
        server,
    }
}

async fn start_small(recorder: Arc<Recorder>, limit: u64) -> Running {
    start(
        recorder,
        BUDGET,
        OtlpGrpcSettings {
            max_recv_msg_size: limit,
            ..OtlpGrpcSettings::default()
        },
    )
    .await
}

#[tokio::test]
async fn requests_arrive_as_sent_and_are_answered() {
    let run = start(Recorder::accepting(), BUDGET, OtlpGrpcSettings::default()).await;
    let large = Bytes::from(
        (0..3_000_000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect::<Vec<_>>(),
    );
    for message in [Bytes::new(), Bytes::from_static(b"\x0a\x02\x12\x00"), large] {
        for compression in [None, Some(Gzip), Some(Zstd)] {
            assert_eq!(
                call(&run.channel, EXPORT, compression, message.clone())
                    .await
                    .unwrap(),
                Bytes::new()
            );
            assert_eq!(run.recorder.requests.lock().pop(), Some(message.clone()));
        }
    }
    let stats = run.stats.of(Transport::Grpc);
    assert_eq!(
        (stats.requests(), stats.accepted_spans(), stats.bytes()),
        (9, 9, 3 * 3_000_004)
    );
    assert_eq!(run.budget.used(), 0);
}

#[tokio::test]
async fn bad_spans_are_a_partial_success() {
    let accepted = Accepted {
        spans: 3,
        rejected: 2,
        reason: "trace id of 15 bytes".to_owned(),
    };
    let run = start(
        Recorder::answering(Ok(accepted)),
        BUDGET,
        OtlpGrpcSettings::default(),
    )
    .await;
    let answer = call(&run.channel, EXPORT, None, Bytes::new())
        .await
        .unwrap();
    let partial = ExportTraceServiceResponse::decode(answer)
        .unwrap()
        .partial_success
        .unwrap();
    assert_eq!(
        (partial.rejected_spans, partial.error_message.as_str()),
        (2, "trace id of 15 bytes")
    );
    let stats = run.stats.of(Transport::Grpc);
    assert_eq!((stats.accepted_spans(), stats.refused_spans()), (3, 2));
}

#[tokio::test]
async fn every_refusal_has_its_status() {
    let second = Duration::from_millis(1500);
    let table = [
        (
            Refusal::Malformed("no".to_owned()),
            Code::InvalidArgument,
            None,
        ),
        (
            Refusal::TooLarge { bytes: 9, limit: 8 },
            Code::ResourceExhausted,
            None,
        ),
        (
            Refusal::Full {
                reason: "log",
                retry_after: second,
            },
            Code::ResourceExhausted,
            Some((1, 500_000_000)),
        ),
        (Refusal::Stopping, Code::Unavailable, None),
        (
            Refusal::Log("EIO".to_owned()),
            Code::Unavailable,
            Some((5, 0)),
        ),
    ];
    // Two spans.
    let request = Bytes::from_static(&[0x0a, 6, 0x12, 4, 0x12, 0, 0x12, 0]);
    assert_eq!(count_spans(&request), 2);
    for (refusal, code, retry) in table {
        let run = start(
            Recorder::answering(Err(refusal.clone())),
            BUDGET,
            OtlpGrpcSettings::default(),
        )
        .await;
        let status = call(&run.channel, EXPORT, None, request.clone())
            .await
            .unwrap_err();
        assert_eq!(
            (status.code(), status.message()),
            (code, refusal.to_string().as_str())
        );
        assert_eq!(retry_of(&status), retry, "{refusal}");
        let stats = run.stats.of(Transport::Grpc);
        assert_eq!(
            (
                stats.refused(RefusalReason::from(&refusal)),
                stats.refused_spans()
            ),
            (1, 2)
        );
        assert_eq!(run.budget.used(), 0);
    }
}

fn retry_of(status: &tonic::Status) -> Option<(i64, i32)> {
    if status.details().is_empty() {
        return None;
    }
    let details = RpcStatus::decode(status.details()).unwrap();
    assert_eq!(
        (details.code, details.message.as_str()),
        (status.code() as i32, status.message())
    );
    assert_eq!(
        details.details[0].type_url,
        "type.googleapis.com/google.rpc.RetryInfo"
    );
    let ProtoDuration { seconds, nanos } = RetryInfo::decode(details.details[0].value.as_slice())
        .unwrap()
        .retry_delay
        .unwrap();
    Some((seconds, nanos))
}

#[tokio::test]
async fn the_size_limit_is_exact_for_wire_and_inflated_bytes() {
    let run = start_small(Recorder::accepting(), 100_000).await;
    for compression in [None, Some(Gzip), Some(Zstd)] {
        assert!(
            call(&run.channel, EXPORT, compression, vec![0; 100_000])
                .await
                .is_ok(),
            "{compression:?}"
        );
        let status = call(&run.channel, EXPORT, compression, vec![0; 100_001])
            .await
            .unwrap_err();
        assert_eq!(
            (status.code(), status.details()),
            (Code::ResourceExhausted, &[][..]),
            "{compression:?}"
        );
    }
    assert_eq!(run.recorder.taken().len(), 3);
    assert_eq!(
        run.stats
            .of(Transport::Grpc)
            .refused(RefusalReason::TooLarge),
        3
    );
    assert_eq!(run.budget.used(), 0);
}

#[tokio::test]
async fn a_full_budget_refuses_with_a_retry_and_recovers() {
    let recorder = Recorder::closed();
    let run = start(recorder.clone(), 1_000_000, OtlpGrpcSettings::default()).await;
    let holding = TaskTracker::new().spawn({
        let channel = run.channel.clone();
        async move { call(&channel, EXPORT, None, vec![0; 900_000]).await }
    });
    let budget = run.budget.clone();
    eventually("the first request is held", || budget.used() == 900_005).await;
    for (compression, size) in [
        (None, 200_000),
        (Some(Gzip), 200_000),
        (Some(Zstd), 200_000),
    ] {
        let status = call(&run.channel, EXPORT, compression, vec![0; size])
            .await
            .unwrap_err();
        assert_eq!(
            (status.code(), retry_of(&status)),
            (Code::ResourceExhausted, Some((1, 0))),
            "{compression:?}"
        );
        assert_eq!(run.budget.used(), 900_005, "{compression:?}");
    }
    recorder.open();
    assert!(holding.await.unwrap().is_ok());
    assert!(
        call(&run.channel, EXPORT, None, vec![0; 200_000])
            .await
            .is_ok()
    );
    assert_eq!(run.budget.used(), 0);
    assert_eq!(
        run.stats.of(Transport::Grpc).refused(RefusalReason::Full),
        3
    );
}

#[tokio::test]
async fn other_services_are_unimplemented() {
    let run = start(Recorder::accepting(), BUDGET, OtlpGrpcSettings::default()).await;
    for path in [
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        "/opentelemetry.proto.collector.trace.v1.TraceService/Import",
    ] {
        let status = call(&run.channel, path, None, Bytes::new())
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented, "{path}");
    }
    assert!(run.recorder.taken().is_empty());
}

#[tokio::test]
async fn shutdown_finishes_what_is_in_flight() {
    let recorder = Recorder::closed();
    let run = start(recorder.clone(), BUDGET, OtlpGrpcSettings::default()).await;
    let calls = TaskTracker::new();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let channel = run.channel.clone();
            calls.spawn(async move { call(&channel, EXPORT, None, vec![0; 1000]).await })
        })
        .collect();
    let budget = run.budget.clone();
    eventually("all are in flight", || budget.used() == 20 * 1005).await;
    run.shutdown.cancel();
    eventually("the port is closed", || {
        std::net::TcpStream::connect(run.address).is_err()
    })
    .await;
    assert!(!run.server.is_finished());
    recorder.open();
    for call in waiting {
        assert!(call.await.unwrap().is_ok());
    }
    run.server.await.unwrap();
    assert_eq!((recorder.taken().len(), run.budget.used()), (20, 0));
}

#[tokio::test]
async fn a_stuck_submit_does_not_hold_the_shutdown_up() {
    let settings = OtlpGrpcSettings {
        drain_timeout: Duration::from_millis(100),
        ..OtlpGrpcSettings::default()
    };
    let run = start(Recorder::closed(), BUDGET, settings).await;
    let stuck = TaskTracker::new().spawn({
        let channel = run.channel.clone();
        async move { call(&channel, EXPORT, None, vec![0; 1000]).await }
    });
    let budget = run.budget.clone();
    eventually("it is in flight", || budget.used() == 1005).await;
    run.shutdown.cancel();
    run.server.await.unwrap();
    assert!(stuck.await.unwrap().is_err());
}

#[tokio::test]
async fn an_old_or_idle_connection_is_replaced_without_a_failed_call() {
    let keepalive = crate::receivers::GrpcKeepalive {
        max_connection_age: Some(Duration::from_millis(100)),
        max_connection_idle: Some(Duration::from_millis(30)),
        ..Default::default()
    };
    let run = start(
        Recorder::accepting(),
        BUDGET,
        OtlpGrpcSettings {
            keepalive,
            ..Default::default()
        },
    )
    .await;
    for wait in [0, 200, 5, 5, 100, 0] {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        assert!(call(&run.channel, EXPORT, None, vec![0; 10]).await.is_ok());
    }
}

#[tokio::test]
async fn a_64_mib_message_is_refused_from_its_prefix() {
    let run = start(Recorder::accepting(), BUDGET, OtlpGrpcSettings::default()).await;
    let status = call(&run.channel, EXPORT, None, vec![0; 64 << 20])
        .await
        .unwrap_err();
    assert_eq!(
        (status.code(), status.details()),
        (Code::ResourceExhausted, &[][..])
    );
    assert_eq!(
        status.message(),
        "request of 67108864 bytes is over the limit of 16777216"
    );
    assert_eq!(run.budget.used(), 0);
    assert!(
        call(&run.channel, EXPORT, None, vec![0; 10]).await.is_ok(),
        "the connection goes on"
    );
}

#[tokio::test]
async fn what_was_acknowledged_during_a_shutdown_was_taken() {
    let run = start(Recorder::accepting(), BUDGET, OtlpGrpcSettings::default()).await;
    let senders = TaskTracker::new();
    let sending: Vec<_> = (0..8_u32)
        .map(|sender| {
            let channel = run.channel.clone();
            senders.spawn(async move {
                let mut acknowledged = Vec::new();
                for n in 0_u32.. {
                    let message = Bytes::from([sender.to_be_bytes(), n.to_be_bytes()].concat());
                    match call(&channel, EXPORT, None, message.clone()).await {
                        Ok(_) => acknowledged.push(message),
                        Err(_) => break,
                    }
                }
                acknowledged
            })
        })
        .collect();
    let recorder = run.recorder.clone();
    eventually("there is load", || recorder.requests.lock().len() > 200).await;
    run.shutdown.cancel();
    run.server.await.unwrap();
    let taken: std::collections::HashSet<_> = recorder.taken().into_iter().collect();
    for sender in sending {
        assert!(
            sender
                .await
                .unwrap()
                .iter()
                .all(|message| taken.contains(message))
        );
    }
    assert_eq!(run.budget.used(), 0);
}
