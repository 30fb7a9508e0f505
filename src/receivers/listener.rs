//! Listening sockets, bound before anything starts so that a taken port stops the daemon early.

use super::error::ReceiverError;
use std::io;
use tokio::net::{TcpListener, lookup_host};

/// Binds `endpoint` (`host:port`; port 0 takes a free one, see [`TcpListener::local_addr`]).
///
/// # Errors
/// [`ReceiverError::Bind`] when no address of the host can be listened on.
pub async fn bind(endpoint: &str) -> Result<TcpListener, ReceiverError> {
    let failed = |source| ReceiverError::Bind { endpoint: endpoint.to_owned(), source };
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the host has no address");
    for address in lookup_host(endpoint).await.map_err(failed)? {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn port_zero_becomes_known_and_a_taken_port_is_an_error() {
        let first = bind("127.0.0.1:0").await.unwrap();
        let taken = first.local_addr().unwrap().to_string();
        assert!(matches!(bind(&taken).await, Err(ReceiverError::Bind { endpoint, .. }) if endpoint == taken));
        assert!(bind("no port").await.is_err());
    }
}
