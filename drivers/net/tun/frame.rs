// SPDX-License-Identifier: GPL-2.0

//! How a frame lies in a program's buffer: packet information, tag, frame.
//!
//! Only integers and slices here, no kernel objects.
//!
//! C header: [`include/uapi/linux/if_tun.h`](srctree/include/uapi/linux/if_tun.h)

use crate::flags;
use kernel::{
    net::skbuff::VlanTag,
    uapi, //
};

/// The size of the packet information: `struct tun_pi`.
pub(crate) const PI_LEN: usize = 4;

/// The size of a VLAN tag in a frame, which stands behind the two addresses.
pub(crate) const VLAN_LEN: usize = 4;
/// Where a VLAN tag stands.
pub(crate) const VLAN_OFFSET: usize = 12;

/// The packet information's flag for a buffer that does not hold the whole record.
const PKT_STRIP: u16 = uapi::TUN_PKT_STRIP as u16;

/// The packet information of a frame that a program reads. The protocol is as it lies in memory.
pub(crate) fn pi(protocol: u16, stripped: bool) -> [u8; PI_LEN] {
    let [a, b] = if stripped { PKT_STRIP } else { 0 }.to_ne_bytes();
    let [c, d] = protocol.to_ne_bytes();
    [a, b, c, d]
}

/// The protocol of the packet information that a program wrote, as it lies in memory.
pub(crate) fn pi_protocol(pi: [u8; PI_LEN]) -> u16 {
    let [_, _, c, d] = pi;
    u16::from_ne_bytes([c, d])
}

/// The tag as it stands in a frame.
pub(crate) fn tag_bytes(tag: VlanTag) -> [u8; VLAN_LEN] {
    let [a, b] = tag.proto.to_ne_bytes();
    let [c, d] = tag.tci.to_be_bytes();
    [a, b, c, d]
}

/// The protocol of a bare IP packet by its first byte, as it lies in memory.
pub(crate) fn ip_protocol(first: u8) -> Option<u16> {
    match first >> 4 {
        4 => Some((uapi::ETH_P_IP as u16).to_be()),
        6 => Some((uapi::ETH_P_IPV6 as u16).to_be()),
        _ => None,
    }
}

/// How long a record is, and what of it stands before the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Is there packet information?
    pub(crate) pi: bool,
    /// The frame with its tag.
    pub(crate) frame: usize,
    /// All of it: what a reader is told.
    pub(crate) total: usize,
}

impl Layout {
    /// The record for a frame of `len` bytes on a device with `flags`.
    #[inline]
    pub(crate) fn new(flags: u32, len: usize, tagged: bool) -> Self {
        let pi = flags & flags::NO_PI == 0;
        let frame = len + if tagged { VLAN_LEN } else { 0 };
        Self {
            pi,
            frame,
            total: frame + if pi { PI_LEN } else { 0 },
        }
    }
}
