// SPDX-License-Identifier: GPL-2.0

//! Which offloads a program may allow, and which go together: `TUNSETOFFLOAD`.
//!
//! Only bits here, no kernel objects.
//!
//! C header: [`include/uapi/linux/if_tun.h`](srctree/include/uapi/linux/if_tun.h)

use kernel::{
    net::device::Features,
    prelude::*,
    uapi, //
};

const CSUM: u64 = uapi::TUN_F_CSUM as u64;
const TSO4: u64 = uapi::TUN_F_TSO4 as u64;
const TSO6: u64 = uapi::TUN_F_TSO6 as u64;
const TSO_ECN: u64 = uapi::TUN_F_TSO_ECN as u64;
const UFO: u64 = uapi::TUN_F_UFO as u64;
const USO4: u64 = uapi::TUN_F_USO4 as u64;
const USO6: u64 = uapi::TUN_F_USO6 as u64;
const USO: u64 = USO4 | USO6;
const TUNNEL: u64 = uapi::TUN_F_UDP_TUNNEL_GSO as u64;
const TUNNEL_CSUM: u64 = uapi::TUN_F_UDP_TUNNEL_GSO_CSUM as u64;

/// The features that a program asks for by `TUN_F_` bits.
///
/// `EINVAL` for bits that are not known, or not alone: so a program finds out what there is.
pub(crate) fn requested(bits: u64) -> Result<Features> {
    let has = |bit| bits & bit == bit;
    let mut known = 0;
    let mut features = Features::NONE;

    // Nothing goes without the checksum.
    if has(CSUM) {
        // The stack does not make fragments of UDP any more, but programs still ask for it.
        known |= CSUM | UFO;
        features = features | Features::HW_CSUM;
        for (bit, feature) in [(TSO4, Features::TSO), (TSO6, Features::TSO6)] {
            if has(bit) {
                known |= bit | TSO_ECN;
                features = features | feature;
            }
        }
        if has(TSO_ECN) && known & TSO_ECN != 0 {
            features = features | Features::TSO_ECN;
        }
        // Both or none.
        if has(USO) {
            known |= USO;
            features = features | Features::GSO_UDP_L4;
        }
        // Inside a tunnel only what is allowed outside of one.
        let plain = Features::TSO | Features::TSO6 | Features::GSO_UDP_L4;
        if has(TUNNEL) && features & plain != Features::NONE {
            known |= TUNNEL | TUNNEL_CSUM;
            features = features | Features::GSO_UDP_TUNNEL;
            if has(TUNNEL_CSUM) {
                features = features | Features::GSO_UDP_TUNNEL_CSUM;
            }
        }
    }
    if bits & !known != 0 {
        return Err(EINVAL);
    }
    Ok(features)
}

#[kunit_tests(rust_tun_offload)]
mod tests {
    use super::*;

    #[test]
    fn none_is_none() -> Result {
        assert_eq!(requested(0)?, Features::NONE);
        Ok(())
    }

    #[test]
    fn nothing_without_the_checksum() {
        for bit in 1..64 {
            assert_eq!(requested(1 << bit).err(), Some(EINVAL));
        }
    }

    #[test]
    fn alone_or_together() -> Result {
        assert_eq!(requested(CSUM)?, Features::HW_CSUM);
        assert_eq!(requested(CSUM | UFO)?, Features::HW_CSUM);
        assert_eq!(requested(CSUM | TSO4)?, Features::HW_CSUM | Features::TSO);
        assert_eq!(
            requested(CSUM | TSO6 | TSO_ECN)?,
            Features::HW_CSUM | Features::TSO6 | Features::TSO_ECN
        );
        assert_eq!(
            requested(CSUM | USO)?,
            Features::HW_CSUM | Features::GSO_UDP_L4
        );
        assert_eq!(
            requested(CSUM | USO | TUNNEL | TUNNEL_CSUM)?,
            Features::HW_CSUM
                | Features::GSO_UDP_L4
                | Features::GSO_UDP_TUNNEL
                | Features::GSO_UDP_TUNNEL_CSUM
        );
        Ok(())
    }

    #[test]
    fn what_lacks_its_other_half_is_refused() {
        for bits in [
            CSUM | TSO_ECN,
            CSUM | USO4,
            CSUM | USO6,
            CSUM | TUNNEL,
            CSUM | TSO4 | TUNNEL_CSUM,
            CSUM | 1 << 9,
            CSUM | 1 << 63,
        ] {
            assert_eq!(requested(bits).err(), Some(EINVAL));
        }
    }
}
