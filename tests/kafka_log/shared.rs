//! One broker for all tests that do it no harm.

use crate::broker::Broker;
use crate::support::ports;
use tokio::sync::OnceCell;

/// What brokers do every ten seconds (the end of transactions whose owner died) is done every second, and a user other
/// than the tests' own can be kept out of a topic.
pub(crate) const SETTINGS: &str = "\
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true";

/// It ends with the process.
pub(crate) async fn broker() -> &'static Broker {
    static BROKER: OnceCell<Broker> = OnceCell::const_new();
    BROKER
        .get_or_init(|| async {
            let mut broker = Broker::stopped(ports::free(), SETTINGS).share();
            broker.resume().await;
            broker
        })
        .await
}
