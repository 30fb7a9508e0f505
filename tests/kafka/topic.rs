//! Topics as other clients see them: records put in, records read, offsets that a group has committed.

use crate::broker::Broker;
use crate::support::wait::PATIENCE;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use rdkafka::ClientConfig;
use rdkafka::Message;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::message::Headers;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// One question to a broker; it is asked again.
const ASK: Duration = Duration::from_secs(20);

/// A record as it lies in a topic.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) partition: i32,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Vec<u8>,
    pub(crate) headers: BTreeMap<String, String>,
}

impl Stored {
    pub(crate) fn request(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(self.value.as_slice()).unwrap()
    }
}

fn client(broker: &Broker) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.address());
    config
}

/// Puts records into a topic, and waits until the broker has them.
pub(crate) fn put(broker: &Broker, topic: &str, partition: i32, values: &[Vec<u8>]) {
    let producer: BaseProducer = client(broker).create().unwrap();
    for value in values {
        let record = BaseRecord::<[u8], [u8]>::to(topic)
            .partition(partition)
            .payload(value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(PATIENCE).unwrap();
}

/// Every record that the topic has now.
pub(crate) fn all(broker: &Broker, topic: &str) -> Vec<Stored> {
    let mut config = client(broker);
    let consumer: BaseConsumer = config
        .set("group.id", "none")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let (ends, end) = (known_ends(&consumer, topic), Instant::now() + 3 * PATIENCE);
    let mut list = TopicPartitionList::new();
    for partition in ends.keys() {
        list.add_partition_offset(topic, *partition, Offset::Beginning)
            .unwrap();
    }
    consumer.assign(&list).unwrap();
    let total: i64 = ends.values().map(|(low, high)| high - low).sum();
    let mut stored = Vec::new();
    while i64::try_from(stored.len()).unwrap() < total {
        assert!(Instant::now() < end, "{} of {total}", stored.len());
        // An error may be a connection that is made anew.
        let Some(Ok(message)) = consumer.poll(ASK) else {
            continue;
        };
        let headers = message.headers().map(|headers| {
            let text = |value: Option<&[u8]>| {
                String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
            };
            headers
                .iter()
                .map(|header| (header.key.to_owned(), text(header.value)))
                .collect()
        });
        stored.push(Stored {
            partition: message.partition(),
            key: message.key().map(<[u8]>::to_vec),
            value: message.payload().unwrap_or_default().to_vec(),
            headers: headers.unwrap_or_default(),
        });
    }
    stored
}

/// The end of a partition.
pub(crate) fn end(broker: &Broker, topic: &str, partition: i32) -> i64 {
    let consumer: BaseConsumer = client(broker).create().unwrap();
    known_ends(&consumer, topic)[&partition].1
}

/// [`ends`], asked for until a broker answers.
fn known_ends(consumer: &BaseConsumer, topic: &str) -> BTreeMap<i32, (i64, i64)> {
    let end = Instant::now() + 3 * PATIENCE;
    loop {
        match ends(consumer, topic) {
            Ok(ends) => return ends,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
    }
}

/// First offset and end of each partition.
fn ends(consumer: &BaseConsumer, topic: &str) -> KafkaResult<BTreeMap<i32, (i64, i64)>> {
    let metadata = consumer.fetch_metadata(Some(topic), ASK)?;
    let partitions = metadata.topics()[0].partitions();
    let end = |partition: i32| {
        let ends = consumer.fetch_watermarks(topic, partition, ASK)?;
        Ok((partition, ends))
    };
    partitions
        .iter()
        .map(|partition| end(partition.id()))
        .collect()
}

/// Whether a group has committed the end of every partition that has records.
pub(crate) fn is_read(broker: &Broker, topic: &str, group: &str) -> bool {
    let mut config = client(broker);
    let consumer: BaseConsumer = config.set("group.id", group).create().unwrap();
    let Ok(ends) = ends(&consumer, topic) else {
        return false;
    };
    let mut list = TopicPartitionList::new();
    for partition in ends.keys() {
        list.add_partition(topic, *partition);
    }
    let Ok(committed) = consumer.committed_offsets(list, ASK) else {
        return false;
    };
    ends.iter().all(|(partition, (low, high))| {
        let at = committed
            .find_partition(topic, *partition)
            .unwrap()
            .offset();
        low == high || at == Offset::Offset(*high)
    })
}
