// SPDX-License-Identifier: GPL-2.0

//! The flags of `TUNSETIFF`, and which go together.
//!
//! C header: [`include/uapi/linux/if_tun.h`](srctree/include/uapi/linux/if_tun.h)

use kernel::{
    prelude::*,
    uapi, //
};

/// A layer-3 device.
pub(crate) const TUN: u32 = uapi::IFF_TUN;
/// A layer-2 device.
pub(crate) const TAP: u32 = uapi::IFF_TAP;
/// No carrier at first.
pub(crate) const NO_CARRIER: u32 = uapi::IFF_NO_CARRIER;
/// Writes are delivered by a NAPI poll.
pub(crate) const NAPI: u32 = uapi::IFF_NAPI;
/// With [`NAPI`]: they are built there, in pieces as they were written.
pub(crate) const NAPI_FRAGS: u32 = uapi::IFF_NAPI_FRAGS;
/// Stop the tx queue when the ring is full.
pub(crate) const BACKPRESSURE: u32 = uapi::IFF_BACKPRESSURE;
/// More than one queue.
pub(crate) const MULTI_QUEUE: u32 = uapi::IFF_MULTI_QUEUE;
/// `TUNSETQUEUE`: into use.
pub(crate) const ATTACH_QUEUE: u32 = uapi::IFF_ATTACH_QUEUE;
/// `TUNSETQUEUE`: out of use. `TUNGETIFF`: it is.
pub(crate) const DETACH_QUEUE: u32 = uapi::IFF_DETACH_QUEUE;
/// Frames have a virtio-net header.
pub(crate) const VNET_HDR: u32 = uapi::IFF_VNET_HDR;
/// The fields of that header have the least significant byte first. Not to be seen.
pub(crate) const VNET_LE: u32 = 0x8000_0000;
/// They have the most significant byte first, unless [`VNET_LE`] is set. Not to be seen.
pub(crate) const VNET_BE: u32 = 0x4000_0000;
/// The device stays when its last file closes.
pub(crate) const PERSIST: u32 = uapi::IFF_PERSIST;
/// Frames carry no packet information.
pub(crate) const NO_PI: u32 = uapi::IFF_NO_PI;
/// `TUNGETIFF`: the file has no socket filter. The same bit as [`NO_PI`].
pub(crate) const NOFILTER: u32 = uapi::IFF_NOFILTER;
/// Accepted and kept, without effect.
pub(crate) const ONE_QUEUE: u32 = uapi::IFF_ONE_QUEUE;
/// Only make a device, do not join one.
pub(crate) const EXCL: u32 = uapi::IFF_TUN_EXCL;

/// The type of a device.
pub(crate) const TYPE: u32 = TUN | TAP;
/// The bits of a request that name a type, those of none that there is included.
pub(crate) const TYPE_MASK: u32 = 0xf;

/// What a request can ask of a device, and a later one can change.
pub(crate) const FEATURES: u32 =
    NO_PI | ONE_QUEUE | VNET_HDR | MULTI_QUEUE | NAPI | NAPI_FRAGS | BACKPRESSURE;

/// The answer to `TUNGETFEATURES`.
pub(crate) const SUPPORTED: u32 = TUN | TAP | NO_CARRIER | FEATURES;

/// The two kinds of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// IP packets.
    Tun,
    /// Ethernet frames.
    Tap,
}

impl Kind {
    /// The kind that a request to make a device asks for: TUN where it names both. `EINVAL` where
    /// it names none.
    pub(crate) fn requested(flags: u32) -> Result<Self> {
        if flags & TUN != 0 {
            Ok(Self::Tun)
        } else if flags & TAP != 0 {
            Ok(Self::Tap)
        } else {
            Err(EINVAL)
        }
    }

    /// The kind of a device with these flags.
    #[inline]
    pub(crate) fn of(flags: u32) -> Self {
        if flags & TYPE == TAP {
            Self::Tap
        } else {
            Self::Tun
        }
    }

    /// Its flag.
    pub(crate) fn flag(self) -> u32 {
        match self {
            Self::Tun => TUN,
            Self::Tap => TAP,
        }
    }

    /// The name of a device that was not given one.
    pub(crate) fn name_pattern(self) -> &'static [u8] {
        match self {
            Self::Tun => b"tun%d",
            Self::Tap => b"tap%d",
        }
    }
}

/// The device's flags with its features replaced by those of a request.
pub(crate) fn with_features(device: u32, request: u32) -> u32 {
    (device & !FEATURES) | (request & FEATURES)
}

/// The flags as `TUNGETIFF` and sysfs show them.
pub(crate) fn visible(device: u32) -> u32 {
    device & (FEATURES | PERSIST | TYPE)
}

#[kunit_tests(rust_tun_flags)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_tun_where_a_request_names_both() -> Result {
        assert_eq!(Kind::requested(TUN)?, Kind::Tun);
        assert_eq!(Kind::requested(TAP | NO_PI)?, Kind::Tap);
        assert_eq!(Kind::requested(TUN | TAP)?, Kind::Tun);
        assert_eq!(Kind::requested(NO_PI).err(), Some(EINVAL));
        Ok(())
    }

    #[test]
    fn kind_and_flag_are_inverse() {
        for kind in [Kind::Tun, Kind::Tap] {
            assert_eq!(Kind::of(kind.flag() | FEATURES | PERSIST), kind);
        }
    }

    #[test]
    fn a_request_replaces_features_and_nothing_else() {
        let device = TAP | PERSIST | NO_PI | ONE_QUEUE;
        assert_eq!(
            with_features(device, TUN | EXCL | BACKPRESSURE),
            TAP | PERSIST | BACKPRESSURE
        );
        assert_eq!(with_features(device, 0), TAP | PERSIST);
        assert_eq!(with_features(device | VNET_LE, 0), TAP | PERSIST | VNET_LE);
    }

    #[test]
    fn what_is_not_kept_is_not_shown() {
        assert_eq!(
            visible(TAP | PERSIST | NO_CARRIER | EXCL | VNET_LE | VNET_BE),
            TAP | PERSIST
        );
        assert_eq!(visible(TUN | FEATURES), TUN | FEATURES);
    }

    #[test]
    fn supported_is_what_programs_know() {
        assert_eq!(SUPPORTED, 0x71f3);
    }
}
