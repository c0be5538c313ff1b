// SPDX-License-Identifier: GPL-2.0

//! The addresses that the reader of a TAP device wants frames for: `TUNSETTXFILTER`.
//!
//! A few are compared; the rest, which have to be multicast, leave a bit each in a mask, found by
//! the CRC of the address, and so may let others pass that have the same.
//!
//! Written with the RTNL and read by transmit without a lock: while it changes, it is off.
//!
//! C header: [`include/uapi/linux/if_tun.h`](srctree/include/uapi/linux/if_tun.h)

use kernel::{
    net::{
        rtnl,
        skbuff::SkBuff, //
    },
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
    uapi, //
};

/// The bytes of an address.
const LEN: usize = uapi::ETH_ALEN as usize;
/// How many are compared.
const EXACT: usize = 8;
/// Bits of the mask.
const BITS: u32 = 64;

/// An address.
pub(crate) type Address = [u8; LEN];

/// Does the address name a group?
fn is_multicast(address: &Address) -> bool {
    address[0] & 1 != 0
}

/// The CRC of Ethernet, the most significant bit first.
fn crc(address: &Address) -> u32 {
    address.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc, |crc, bit| {
            let carry = (crc >> 31) ^ u32::from(byte >> bit & 1);
            (crc << 1) ^ if carry != 0 { 0x04c1_1db7 } else { 0 }
        })
    })
}

/// The bit of an address in the mask: the upper six of its CRC.
fn bit(address: &Address) -> u64 {
    1 << (crc(address) / (u32::MAX / BITS + 1))
}

fn pack(address: &Address) -> u64 {
    let [a, b, c, d, e, f] = *address;
    u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
}

/// The addresses of a device.
pub(crate) struct AddressFilter {
    /// How many of `exact` count; 0 lets everything pass.
    count: Atomic<u32>,
    exact: [Atomic<u64>; EXACT],
    mask: Atomic<u64>,
}

impl AddressFilter {
    /// Everything passes.
    pub(crate) fn new() -> Self {
        Self {
            count: Atomic::new(0),
            exact: core::array::from_fn(|_| Atomic::new(0)),
            mask: Atomic::new(0),
        }
    }

    /// Lets everything pass.
    pub(crate) fn clear(&self, _rtnl: &mut rtnl::Held) {
        self.count.store(0, Relaxed);
    }

    /// Lets these pass, and with `all_multicast` all groups. Returns how many are compared.
    ///
    /// 0, and everything passes, where one that is not compared is no group.
    pub(crate) fn set(
        &self,
        addresses: &[Address],
        all_multicast: bool,
        _rtnl: &mut rtnl::Held,
    ) -> u32 {
        // Off before anything else changes: who reads a new value below has seen this one.
        self.count.store(0, Relaxed);
        let (exact, hashed) = addresses.split_at(addresses.len().min(EXACT));
        for (slot, address) in self.exact.iter().zip(exact) {
            slot.store(pack(address), Release);
        }
        if !hashed.iter().all(is_multicast) {
            self.mask.store(0, Release);
            return 0;
        }
        let mask = if all_multicast {
            u64::MAX
        } else {
            hashed.iter().fold(0, |mask, address| mask | bit(address))
        };
        self.mask.store(mask, Release);
        let count = exact.len() as u32;
        self.count.store(count, Release);
        count
    }

    /// Does a frame pass, by its destination?
    #[inline]
    pub(crate) fn admits(&self, skb: &SkBuff) -> bool {
        let count = self.count.load(Acquire);
        count == 0 || skb.head().is_some_and(|to| self.finds(&to, count))
    }

    fn finds(&self, to: &Address, count: u32) -> bool {
        let packed = pack(to);
        let exact = self.exact.iter().take(count as usize);
        exact.into_iter().any(|slot| slot.load(Relaxed) == packed)
            || (is_multicast(to) && self.mask.load(Relaxed) & bit(to) != 0)
    }
}

#[kunit_tests(rust_tun_address_filter)]
mod tests {
    use super::*;

    const UNICAST: Address = [2, 0, 0, 0, 0, 1];
    const GROUP: Address = [1, 0, 0x5e, 0, 0, 1];

    fn admits(filter: &AddressFilter, to: Address) -> Result<bool> {
        let mut skb = SkBuff::new(64, GFP_KERNEL)?;
        let copied = skb.extend_from_slice(&to);
        let admits = filter.admits(&skb);
        skb.consume();
        copied.map(|()| admits)
    }

    /// As `ether_crc()` has it for two addresses.
    #[test]
    fn the_crc_is_the_one_of_ethernet() {
        assert_eq!(crc(&[0xff; 6]) >> 26, 0x3f);
        assert_eq!(crc(&GROUP) >> 26, 0x1f);
        assert_eq!(bit(&[0xff; 6]).count_ones(), 1);
    }

    #[test]
    fn a_few_are_compared() -> Result {
        let filter = AddressFilter::new();
        assert!(admits(&filter, GROUP)?);
        let mut rtnl = rtnl::lock();
        assert_eq!(filter.set(&[UNICAST], false, &mut rtnl), 1);
        assert!(admits(&filter, UNICAST)?);
        assert!(!admits(&filter, GROUP)?);
        assert!(!admits(&filter, [0xff; 6])?);
        assert_eq!(filter.set(&[UNICAST], true, &mut rtnl), 1);
        assert!(admits(&filter, GROUP)?);
        assert!(!admits(&filter, [2, 0, 0, 0, 0, 2])?);
        filter.clear(&mut rtnl);
        assert!(admits(&filter, [2, 0, 0, 0, 0, 2])?);
        Ok(())
    }

    #[test]
    fn the_rest_have_to_be_groups() -> Result {
        let filter = AddressFilter::new();
        let mut rtnl = rtnl::lock();
        let mut list = [UNICAST; EXACT + 1];
        list[EXACT] = GROUP;
        assert_eq!(filter.set(&list, false, &mut rtnl), EXACT as u32);
        assert!(admits(&filter, GROUP)?);
        assert!(!admits(&filter, [2, 0, 0, 0, 0, 2])?);
        list[EXACT] = [2, 0, 0, 0, 0, 2];
        assert_eq!(filter.set(&list, false, &mut rtnl), 0);
        assert!(admits(&filter, [2, 0, 0, 0, 0, 3])?);
        Ok(())
    }

    #[test]
    fn a_frame_without_an_address_does_not_pass() -> Result {
        let filter = AddressFilter::new();
        let skb = SkBuff::new(64, GFP_KERNEL)?;
        assert!(filter.admits(&skb));
        filter.set(&[UNICAST], true, &mut rtnl::lock());
        assert!(!filter.admits(&skb));
        skb.consume();
        Ok(())
    }
}
