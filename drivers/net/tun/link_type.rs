// SPDX-License-Identifier: GPL-2.0

//! How long the addresses of a link-layer type are: `TUNSETLINK`.
//!
//! C header: [`include/uapi/linux/if_arp.h`](srctree/include/uapi/linux/if_arp.h)

use kernel::{
    prelude::*,
    uapi, //
};

/// The bytes of an address of a type (`ARPHRD_`); 0 where it has none or is not known.
pub(crate) fn address_len(kind: u16) -> u8 {
    match u32::from(kind) {
        uapi::ARPHRD_TUNNEL6 | uapi::ARPHRD_IP6GRE => 16,
        uapi::ARPHRD_IEEE802154 | uapi::ARPHRD_IEEE802154_MONITOR | uapi::ARPHRD_6LOWPAN => 8,
        uapi::ARPHRD_NETROM => 7,
        uapi::ARPHRD_ETHER | uapi::ARPHRD_FDDI | uapi::ARPHRD_HIPPI | uapi::ARPHRD_IEEE802 => 6,
        uapi::ARPHRD_ROSE => 5,
        uapi::ARPHRD_TUNNEL | uapi::ARPHRD_SIT | uapi::ARPHRD_IPGRE => 4,
        uapi::ARPHRD_LOCALTLK => 1,
        _ => 0,
    }
}

#[kunit_tests(rust_tun_link_type)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        assert_eq!(address_len(uapi::ARPHRD_ETHER as u16), 6);
        assert_eq!(address_len(uapi::ARPHRD_SIT as u16), 4);
        assert_eq!(address_len(uapi::ARPHRD_NONE as u16), 0);
        assert_eq!(address_len(uapi::ARPHRD_PPP as u16), 0);
        assert_eq!(address_len(12345), 0);
    }
}
