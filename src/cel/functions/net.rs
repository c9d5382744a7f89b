//! IP addresses and blocks of them.

use super::{
    call::{Arguments, Cost, Size, Work, no_overload},
    library,
};
use crate::cel::{
    error::Error,
    value::{Cidr, Val, parse_ip},
};
use std::net::IpAddr;

type Result<T> = std::result::Result<T, Error>;

const TEXT: Cost = Cost::new(Work::Steps(1), Size::AtMost(50));

/// A question to an address.
macro_rules! asks {
    ($question:expr) => {
        |a| Ok(Val::Bool($question(&a.ip(0)?)))
    };
}

library! {
    Network;
    "ip": "The IP address that a text says, or the address of a block. No zones, no leading zeros, no IPv4 in IPv6.", "when the text is no such address" {
        "ip(string) -> ip" => |a| parse_ip(a.str(0)?).map(Val::Ip).map_err(|error| error.in_argument(0)), Cost::READ;
        "cidr.ip() -> ip" => |a| Ok(Val::Ip(a.cidr(0)?.address)), Cost::FLAT;
    }
    "isIP": "Whether `ip` would not fail for this text.", "" {
        "isIP(string) -> bool" => |a| Ok(Val::Bool(parse_ip(a.str(0)?).is_ok())), Cost::READ;
    }
    "ip.isCanonical": "Whether the address is written the one way that printing it gives.", "when the text is no address" {
        "ip.isCanonical(string) -> bool" => is_canonical, Cost::READ;
    }
    "family": "4 or 6.", "" {
        "ip.family() -> int" => |a| Ok(Val::Int(if a.ip(0)?.is_ipv4() { 4 } else { 6 })), Cost::FLAT;
    }
    "isUnspecified": "Whether the address is 0.0.0.0 or ::.", "" {
        "ip.isUnspecified() -> bool" => asks!(IpAddr::is_unspecified), Cost::FLAT;
    }
    "isLoopback": "Whether the address is in 127.0.0.0/8 or is ::1.", "" {
        "ip.isLoopback() -> bool" => asks!(IpAddr::is_loopback), Cost::FLAT;
    }
    "isLinkLocalMulticast": "Whether the address is in 224.0.0.0/24 or ff02::/16, or another such block of scope 2.", "" {
        "ip.isLinkLocalMulticast() -> bool" => asks!(is_link_local_multicast), Cost::FLAT;
    }
    "isLinkLocalUnicast": "Whether the address is in 169.254.0.0/16 or fe80::/10.", "" {
        "ip.isLinkLocalUnicast() -> bool" => asks!(is_link_local_unicast), Cost::FLAT;
    }
    "isGlobalUnicast": "Whether the address is none of the special ones: unspecified, loopback, multicast, link-local, broadcast.", "" {
        "ip.isGlobalUnicast() -> bool" => asks!(is_global_unicast), Cost::FLAT;
    }
    "string": "The text of the address or block.", "" {
        "string(ip) -> string" => |a| { let text = a.ip(0)?.to_string(); a.make_text(text) }, TEXT;
        "string(cidr) -> string" => |a| { let text = a.cidr(0)?.to_string(); a.make_text(text) }, TEXT;
    }
    "cidr": "The block of IP addresses that a text says, as in `10.0.0.0/8`.", "when the text is no such block" {
        "cidr(string) -> cidr" => |a| Cidr::parse(a.str(0)?).map(Val::Cidr).map_err(|error| error.in_argument(0)), Cost::READ;
    }
    "isCIDR": "Whether `cidr` would not fail for this text.", "" {
        "isCIDR(string) -> bool" => |a| Ok(Val::Bool(Cidr::parse(a.str(0)?).is_ok())), Cost::READ;
    }
    "containsIP": "Whether the address is in the block.", "when the text is no address" {
        "cidr.containsIP(string) -> bool" => contains_ip, Cost::READ;
        "cidr.containsIP(ip) -> bool" => contains_ip, Cost::FLAT;
    }
    "containsCIDR": "Whether every address of the other block is in the block.", "when the text is no block" {
        "cidr.containsCIDR(string) -> bool" => contains_cidr, Cost::READ;
        "cidr.containsCIDR(cidr) -> bool" => contains_cidr, Cost::FLAT;
    }
    "prefixLength": "How many leading bits the addresses of the block share.", "" {
        "cidr.prefixLength() -> int" => |a| Ok(Val::Int(a.cidr(0)?.bits.into())), Cost::FLAT;
    }
    "masked": "The block with the bits after the prefix set to zero.", "" {
        "cidr.masked() -> cidr" => |a| Ok(Val::Cidr(a.cidr(0)?.masked())), Cost::FLAT;
    }
}

fn is_canonical<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    let address = parse_ip(text).map_err(|error| error.in_argument(0))?;
    Ok(Val::Bool(address.to_string() == text))
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn is_global_unicast(address: &IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !(broadcast
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}

fn contains_ip<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let address = match a.value(1)? {
        Val::Ip(address) => address,
        Val::String(text) => parse_ip(&text).map_err(|error| error.in_argument(1))?,
        _ => return Err(no_overload()),
    };
    Ok(Val::Bool(a.cidr(0)?.contains(address)))
}

fn contains_cidr<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let block = match a.value(1)? {
        Val::Cidr(block) => block,
        Val::String(text) => Cidr::parse(&text).map_err(|error| error.in_argument(1))?,
        _ => return Err(no_overload()),
    };
    Ok(Val::Bool(a.cidr(0)?.contains_block(block)))
}
