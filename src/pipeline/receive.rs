//! The receivers of a pipeline: all ports are bound before anything starts, so that a taken port is an error at start.

use super::start_error::StartError;
use crate::config::settings::ReceiverSettings;
use crate::otlp::{IntakeBudget, SourceId, Submit};
use crate::receivers::{Destination, OtlpGrpc, OtlpHttp, ReceiverStats, Ways, bind};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A receiver that has its port and does not serve yet.
pub(super) struct Bound {
    server: Server,
    listener: TcpListener,
    /// `otlp/edge grpc`, and where it listens.
    pub(super) name: String,
    pub(super) address: SocketAddr,
}

enum Server {
    Grpc(Box<OtlpGrpc>),
    Http(Box<OtlpHttp>),
}

/// Where all receivers of a process deliver to.
#[derive(Clone)]
pub(super) struct Intakes {
    pub(super) submit: Arc<dyn Submit>,
    /// In front of it, by receivers that redact.
    pub(super) redacting: Vec<(String, Arc<dyn Submit>)>,
    pub(super) budget: IntakeBudget,
    /// What is passed on is charged here.
    pub(super) relays: IntakeBudget,
    /// By receiver, what it takes and where that goes.
    pub(super) ways: Vec<(String, Ways)>,
    /// By receiver.
    pub(super) stats: Vec<(String, Arc<ReceiverStats>)>,
}

impl Intakes {
    pub(super) fn destination(&self, receiver: &str) -> Destination {
        let stats = self
            .stats
            .iter()
            .find(|(id, _)| id == receiver)
            .map(|(_, stats)| stats.clone());
        let redacting = self.redacting.iter().find(|(id, _)| id == receiver);
        let submit = redacting.map_or(&self.submit, |(_, submit)| submit);
        let ways = self.ways.iter().find(|(id, _)| id == receiver);
        let ways = ways.map(|(_, ways)| ways.clone());
        Destination {
            source: SourceId::of(receiver),
            ways: ways.unwrap_or_default(),
            submit: submit.clone(),
            budget: self.budget.clone(),
            stats: stats.unwrap_or_default(),
        }
    }
}

pub(super) async fn bind_all(
    receivers: &[ReceiverSettings],
    into: &Intakes,
) -> Result<Vec<Bound>, StartError> {
    let mut bound = Vec::new();
    for receiver in receivers {
        if let Some(settings) = &receiver.grpc {
            let listener = bind(&settings.endpoint).await?;
            let grpc = OtlpGrpc::new(settings.clone(), into.destination(&receiver.id))?;
            let server = Server::Grpc(Box::new(grpc));
            bound.push(Bound::new(
                server,
                listener,
                format!("{} grpc", receiver.id),
            )?);
        }
        if let Some(settings) = &receiver.http {
            let listener = bind(&settings.endpoint).await?;
            let http = OtlpHttp::new(settings.clone(), into.destination(&receiver.id))?;
            let server = Server::Http(Box::new(http));
            bound.push(Bound::new(
                server,
                listener,
                format!("{} http", receiver.id),
            )?);
        }
    }
    Ok(bound)
}

impl Bound {
    fn new(server: Server, listener: TcpListener, name: String) -> Result<Self, StartError> {
        let address = listener.local_addr()?;
        Ok(Self {
            server,
            listener,
            name,
            address,
        })
    }

    /// Serves until `stop`, then finishes what is in flight.
    pub(super) fn serve(self, tracker: &TaskTracker, stop: CancellationToken) {
        tracing::info!(receiver = self.name, address = %self.address, "listening");
        match self.server {
            Server::Grpc(server) => drop(tracker.spawn(server.serve(self.listener, stop))),
            Server::Http(server) => drop(tracker.spawn(server.serve(self.listener, stop))),
        }
    }
}
