// SPDX-License-Identifier: GPL-2.0

//! What netlink says of a device beyond what it says of all: `IFLA_TUN_`.
//!
//! C header: [`include/uapi/linux/if_link.h`](srctree/include/uapi/linux/if_link.h)

use crate::{
    device::Tun,
    flags, //
};
use kernel::{
    net::{
        device::Device,
        link::{
            space,
            Info, //
        }, //
    },
    prelude::*,
    uapi, //
};

/// The bytes of all attributes: five of one byte, four of four.
pub(crate) const SIZE: usize = 5 * space(1) + 4 * space(4);

/// Writes the attributes of a device, which may change meanwhile.
pub(crate) fn fill(dev: &Device<Tun>, info: &mut Info<'_>) -> Result {
    let flags = dev.flags_now();
    let has = |flag| u8::from(flags & flag != 0);

    info.put_u8(uapi::IFLA_TUN_TYPE, (flags & flags::TYPE) as u8)?;
    let owner = dev.owner();
    if owner.is_some() {
        info.put_u32(uapi::IFLA_TUN_OWNER, owner.to_user())?;
    }
    let group = dev.group();
    if group.is_some() {
        info.put_u32(uapi::IFLA_TUN_GROUP, group.to_user())?;
    }
    info.put_u8(uapi::IFLA_TUN_PI, 1 - has(flags::NO_PI))?;
    info.put_u8(uapi::IFLA_TUN_VNET_HDR, has(flags::VNET_HDR))?;
    info.put_u8(uapi::IFLA_TUN_PERSIST, has(flags::PERSIST))?;
    info.put_u8(uapi::IFLA_TUN_MULTI_QUEUE, has(flags::MULTI_QUEUE))?;
    if flags & flags::MULTI_QUEUE != 0 {
        info.put_u32(uapi::IFLA_TUN_NUM_QUEUES, dev.count())?;
        info.put_u32(uapi::IFLA_TUN_NUM_DISABLED_QUEUES, dev.disabled_count())?;
    }
    Ok(())
}
