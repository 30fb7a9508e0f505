//! Addresses: membership of a network, and the Community ID of a flow.

use super::super::convert;
use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::value::{Out, Value};
use super::Prepared;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use std::net::{IpAddr, Ipv6Addr};

/// Literal networks are read at load.
pub(super) fn prepare_networks(call: &mut Call) -> Result<(), String> {
    let exprs = call.exprs(1);
    let literals: Vec<_> = exprs
        .iter()
        .filter_map(|expr| match expr.literal() {
            Some(Value::Text(text)) => Some(network(text)),
            _ => None,
        })
        .collect();
    if literals.len() == exprs.len() {
        let networks: Option<Vec<_>> = literals.into_iter().collect();
        let networks = networks.ok_or("a network is an address and a prefix length, 10.0.0.0/8")?;
        call.prepared = Prepared::Networks(networks);
    }
    Ok(())
}

/// An address as Go parses it: no zone, and an IPv4 address inside IPv6 is an IPv4 address.
fn address(text: &[u8]) -> Option<IpAddr> {
    let address: IpAddr = std::str::from_utf8(text).ok()?.parse().ok()?;
    Some(address.to_canonical())
}

fn network(text: &[u8]) -> Option<(IpAddr, u8)> {
    let text = std::str::from_utf8(text).ok()?;
    let (address, bits) = text.split_once('/')?;
    if bits.is_empty() || !bits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bits: u8 = bits.parse().ok()?;
    let address: IpAddr = address.parse().ok()?;
    match address {
        IpAddr::V4(_) => (bits <= 32).then_some((address, bits)),
        IpAddr::V6(v6) if bits <= 128 => Some(match v6.to_ipv4_mapped() {
            Some(v4) if bits >= 96 => (IpAddr::V4(v4), bits - 96),
            _ => (address, bits),
        }),
        IpAddr::V6(_) => None,
    }
}

fn holds((network, bits): (IpAddr, u8), address: IpAddr) -> bool {
    let beyond = |whole: u32| whole.saturating_sub(u32::from(bits));
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let differ = a.to_bits() ^ b.to_bits();
            differ.checked_shr(beyond(32)).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let differ = a.to_bits() ^ b.to_bits();
            differ.checked_shr(beyond(128)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// What is no address is in no network.
pub(super) fn is_in_cidr<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let Some(address) = address(&call.text(scene, 0)?) else {
        return Ok(Value::Bool(false));
    };
    if let Prepared::Networks(networks) = &call.prepared {
        let found = networks.iter().any(|network| holds(*network, address));
        return Ok(Value::Bool(found));
    }
    for expr in call.exprs(1) {
        let text = convert::text(&expr.eval(scene)?)?;
        let network = network(&text).ok_or(EvalError::Invalid("a text is no network"))?;
        if holds(network, address) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// The protocol's number; TCP where none is named.
fn protocol<'a>(scene: &Scene<'a>, call: &'a Call) -> Result<u8, EvalError> {
    match &*call.text_or(scene, 4, b"TCP")? {
        b"ICMP" => Ok(1),
        b"TCP" => Ok(6),
        b"UDP" => Ok(17),
        b"RSVP" => Ok(46),
        b"ICMP6" => Ok(58),
        b"SCTP" => Ok(132),
        _ => Err(EvalError::Invalid("a protocol has no number here")),
    }
}

fn port<'a>(scene: &Scene<'a>, call: &'a Call, index: usize) -> Result<u16, EvalError> {
    u16::try_from(call.int(scene, index)?)
        .map_err(|_| EvalError::Invalid("a number is not between 0 and 65535"))
}

/// One end of a flow; IPv4 sorts before IPv6.
fn end<'a>(
    scene: &Scene<'a>,
    call: &'a Call,
    index: usize,
) -> Result<(usize, Vec<u8>, u16), EvalError> {
    let text = call.text(scene, index)?;
    let port = port(scene, call, index + 1)?;
    let bytes = match address(&text).ok_or(EvalError::Invalid("a text is no address"))? {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => Ipv6Addr::octets(&address).to_vec(),
    };
    Ok((bytes.len(), bytes, port))
}

/// Version 1 of the Community ID flow hash.
pub(super) fn community_id<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (source, destination) = (end(scene, call, 0)?, end(scene, call, 2)?);
    let protocol = protocol(scene, call)?;
    let seed = if call.has(5) {
        port(scene, call, 5)?
    } else {
        0
    };
    let (first, second) = if source <= destination {
        (source, destination)
    } else {
        (destination, source)
    };
    let mut flow = seed.to_be_bytes().to_vec();
    flow.extend(first.1);
    flow.extend(second.1);
    flow.extend([protocol, 0]);
    flow.extend(first.2.to_be_bytes());
    flow.extend(second.2.to_be_bytes());
    let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, &flow);
    Ok(Value::text(format!("1:{}", STANDARD.encode(hash))))
}
