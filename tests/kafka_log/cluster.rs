//! Three nodes of Apache Kafka, each broker and controller: one cluster, for one test at a time.

use crate::broker::Broker;
use crate::support::ports;
use std::fmt::Write as _;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

const NODES: usize = 3;

const ASK: Duration = Duration::from_secs(10);

const SETTINGS: &str = "\
default.replication.factor=3
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=2
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
replica.lag.time.max.ms=10000
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=1000
unclean.leader.election.interval.ms=1000";

pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Broker>,
}

impl Cluster {
    /// The cluster, with all of its nodes. It ends with the process.
    pub(crate) async fn alone() -> MutexGuard<'static, Self> {
        static CLUSTER: OnceCell<Mutex<Cluster>> = OnceCell::const_new();
        let made = || async { Mutex::new(Self::start().await) };
        let mut cluster = CLUSTER.get_or_init(made).await.lock().await;
        for node in 0..NODES {
            // A test that failed has left it so.
            if !cluster.nodes[node].runs() {
                cluster.resume(node).await;
            }
        }
        cluster
    }

    async fn start() -> Self {
        let controllers: [u16; NODES] = std::array::from_fn(|_| ports::free());
        let voters = controllers.iter().zip(1..);
        let voters: Vec<String> = voters
            .map(|(port, id)| format!("{id}@127.0.0.1:{port}"))
            .collect();
        let voters = voters.join(",");
        let nodes = controllers.into_iter().zip(1..).map(|(controller, id)| {
            let mut settings = SETTINGS.to_owned();
            write!(
                settings,
                "\nnode.id={id}\ncontroller.quorum.voters={voters}"
            )
            .unwrap();
            Broker::stopped(controller, &settings).share()
        });
        let mut cluster = Self {
            nodes: nodes.collect(),
        };
        cluster.nodes.iter_mut().for_each(Broker::spawn);
        cluster.nodes[0].answers(NODES).await;
        cluster
    }

    /// All of them, as a config has them.
    pub(crate) fn addresses(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(Broker::address).collect();
        addresses.join("', '")
    }

    /// Starts a node again and waits until it is one of the cluster.
    pub(crate) async fn resume(&mut self, node: usize) {
        self.nodes[node].spawn();
        self.nodes[node].answers(NODES).await;
    }

    /// The node (an index) that leads a partition, and those that have all of it.
    /// Nobody, when the node that is asked does not know.
    pub(crate) fn leader(&self, asked: usize, topic: &str, partition: i32) -> (usize, Vec<usize>) {
        let nobody = (NODES, Vec::new());
        let admin = self.nodes[asked].admin();
        let metadata = admin.inner().fetch_metadata(Some(topic), ASK);
        let Ok(metadata) = metadata else {
            return nobody;
        };
        let partitions = metadata.topics()[0].partitions();
        let Some(found) = partitions.iter().find(|one| one.id() == partition) else {
            return nobody;
        };
        let node = |id: i32| usize::try_from(id - 1).unwrap_or(NODES);
        let in_sync = found.isr().iter().map(|id| node(*id)).collect();
        (node(found.leader()), in_sync)
    }
}
