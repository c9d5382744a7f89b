//! IP addresses and blocks of them, as strict as Kubernetes: no leading zeros, no zones, no IPv4 in IPv6.

use super::{Error, ErrorKind};
use std::{fmt, net::IpAddr};

/// A block of IP addresses; the address keeps the bits outside the block: `10.1.2.3/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The address before the slash.
    pub address: IpAddr,
    /// How many leading bits the addresses of the block share.
    pub bits: u8,
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The address that `text` says.
pub(in crate::cel) fn parse_ip(text: &str) -> Result<IpAddr, Error> {
    let address: IpAddr = text.parse().map_err(|_| invalid(format!("`{text}` is no IP address")))?;
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(invalid(format!("`{text}` is an IPv4 address in IPv6, which is not allowed")))
        }
        _ => Ok(address),
    }
}

impl Cidr {
    /// The block that `text` says: `10.0.0.0/8`.
    pub fn parse(text: &str) -> Result<Cidr, Error> {
        let wrong =
            || invalid(format!("`{text}` is no block of IP addresses: it should look like 10.0.0.0/8"));
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address = parse_ip(address)?;
        let canonical =
            bits == "0" || (!bits.starts_with('0') && bits.bytes().all(|byte| byte.is_ascii_digit()));
        let bits = bits.parse().ok().filter(|_| canonical).ok_or_else(wrong)?;
        let block = Cidr { address, bits };
        if bits > block.width() { Err(wrong()) } else { Ok(block) }
    }

    fn width(self) -> u8 {
        if self.address.is_ipv4() { 32 } else { 128 }
    }

    /// Whether `address` is in the block.
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Cidr { address, bits: self.bits }.masked().address == self.masked().address
    }

    /// Whether every address of `other` is in the block.
    pub fn contains_block(self, other: Cidr) -> bool {
        other.bits >= self.bits && self.contains(other.address)
    }

    /// The same block with the bits outside it set to zero.
    #[must_use]
    pub fn masked(self) -> Cidr {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4((u32::from(v4) & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6((u128::from(v6) & mask).into())
            }
        };
        Cidr { address, bits: self.bits }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}
