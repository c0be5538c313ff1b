// SPDX-License-Identifier: GPL-2.0

//! How a frame lies in a program's buffer: packet information, virtio-net header, tag, frame.
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
    /// The bytes of the virtio-net header; 0 for none.
    pub(crate) header: i32,
    /// The frame with its tag.
    pub(crate) frame: usize,
    /// All of it: what a reader is told.
    pub(crate) total: usize,
}

impl Layout {
    /// The record for a frame of `len` bytes on a device with `flags`, and with headers of
    /// `header` bytes where those ask for one.
    #[inline]
    pub(crate) fn new(flags: u32, header: i32, len: usize, tagged: bool) -> Self {
        let pi = flags & flags::NO_PI == 0;
        let header = if flags & flags::VNET_HDR != 0 {
            header
        } else {
            0
        };
        let frame = len + if tagged { VLAN_LEN } else { 0 };
        Self {
            pi,
            header,
            frame,
            total: frame + header as usize + if pi { PI_LEN } else { 0 },
        }
    }
}

#[kernel::macros::kunit_tests(rust_tun_frame)]
mod tests {
    use super::*;

    #[test]
    fn layout_counts_what_is_there() {
        for (flags, tagged, total) in [
            (0, false, 104),
            (0, true, 108),
            (flags::NO_PI, false, 100),
            (flags::NO_PI, true, 104),
            (flags::NO_PI | flags::VNET_HDR, false, 112),
            (flags::VNET_HDR, true, 120),
        ] {
            let layout = Layout::new(flags, 12, 100, tagged);
            assert_eq!(layout.total, total);
            assert_eq!(layout.pi, flags & flags::NO_PI == 0);
            assert_eq!(layout.frame, 100 + if tagged { VLAN_LEN } else { 0 });
        }
    }

    #[test]
    fn pi_is_flags_then_protocol() {
        let ip = (uapi::ETH_P_IP as u16).to_be();
        assert_eq!(pi(ip, false), [0, 0, 0x08, 0x00]);
        assert_eq!(u16::from_ne_bytes([pi(ip, true)[0], pi(ip, true)[1]]), 1);
        assert_eq!(pi_protocol(pi(ip, true)), ip);
    }

    #[test]
    fn protocol_is_by_version() {
        assert_eq!(ip_protocol(0x45), Some(0x0800_u16.to_be()));
        assert_eq!(ip_protocol(0x60), Some(0x86dd_u16.to_be()));
        for version in [0, 1, 3, 5, 7, 15] {
            assert_eq!(ip_protocol(version << 4), None);
        }
    }

    #[test]
    fn tag_is_in_network_order() {
        let tag = VlanTag {
            proto: (uapi::ETH_P_8021Q as u16).to_be(),
            tci: 0x6123,
        };
        assert_eq!(tag_bytes(tag), [0x81, 0x00, 0x61, 0x23]);
    }
}
