//! Listening sockets, bound before anything starts so that a taken port stops the daemon early.

use super::error::ReceiverError;
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, lookup_host};

/// Binds `endpoint` (`host:port`; port 0 takes a free one, see [`TcpListener::local_addr`]). As in Go, no host is every
/// address, and a name with several addresses is bound at one of them, IPv4 first.
///
/// # Errors
/// [`ReceiverError::Bind`] when no address of the host can be listened on.
pub async fn bind(endpoint: &str) -> Result<TcpListener, ReceiverError> {
    let failed = |source| ReceiverError::Bind {
        endpoint: endpoint.to_owned(),
        source,
    };
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the host has no address");
    for address in addresses(endpoint).await.map_err(failed)? {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

async fn addresses(endpoint: &str) -> io::Result<Vec<SocketAddr>> {
    if let Some(port) = endpoint.strip_prefix(':') {
        // The IPv6 one takes IPv4 connections too, where the system has IPv6.
        let mut both: Vec<_> = lookup_host(format!("[::]:{port}")).await?.collect();
        both.extend(lookup_host(format!("0.0.0.0:{port}")).await?);
        return Ok(both);
    }
    let mut all: Vec<_> = lookup_host(endpoint).await?.collect();
    all.sort_by_key(SocketAddr::is_ipv6);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpStream};

    #[tokio::test]
    async fn port_zero_becomes_known_and_a_taken_port_is_an_error() {
        let first = bind("127.0.0.1:0").await.unwrap();
        let taken = first.local_addr().unwrap().to_string();
        assert!(
            matches!(bind(&taken).await, Err(ReceiverError::Bind { endpoint, .. }) if endpoint == taken)
        );
        assert!(bind("no port").await.is_err());
    }

    #[tokio::test]
    async fn every_spelling_of_this_machine_is_reached_by_ipv4() {
        for endpoint in ["localhost:0", ":0", "0.0.0.0:0", "127.0.0.1:0"] {
            let listener = bind(endpoint).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            assert!(
                TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok(),
                "{endpoint}"
            );
        }
    }
}
