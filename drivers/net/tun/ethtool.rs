// SPDX-License-Identifier: GPL-2.0

//! What `ethtool` shows and sets.
//!
//! C header: [`include/linux/ethtool.h`](srctree/include/linux/ethtool.h)

use crate::{
    device::{
        Tun,
        MAX_QUEUES, //
    },
    flags::Kind,
    VERSION, //
};
use kernel::{
    net::{
        device::Device,
        ethtool::{
            Channels,
            DriverInfo,
            LinkSettings,
            Operations,
            Table, //
        }, //
    },
    prelude::*, //
};

pub(crate) static TABLE: Table<Ethtool> = Table::new();

/// The operations.
pub(crate) struct Ethtool;

#[vtable]
impl Operations for Ethtool {
    type Private = Tun;

    const LINK_IS_CARRIER: bool = true;
    const SOFTWARE_TIMESTAMPS: bool = true;

    fn driver_info(dev: &Device<Tun>, info: &mut DriverInfo) {
        let bus = match Kind::of(dev.flags_now()) {
            Kind::Tun => "tun",
            Kind::Tap => "tap",
        };
        info.set_driver("tun").set_version(VERSION).set_bus(bus);
    }

    fn message_mask(dev: &Device<Tun>) -> u32 {
        dev.messages()
    }

    fn set_message_mask(dev: &Device<Tun>, mask: u32) {
        dev.set_messages(mask)
    }

    fn channels(dev: &Device<Tun>) -> Channels {
        Channels {
            combined: dev.count(),
            max_combined: if dev.is_multi_queue() {
                MAX_QUEUES as u32
            } else {
                1
            },
        }
    }

    fn rx_frames(dev: &Device<Tun>) -> u32 {
        dev.rx_frames()
    }

    fn set_rx_frames(dev: &Device<Tun>, frames: u32) -> Result {
        dev.set_rx_frames(frames);
        Ok(())
    }

    fn link_settings(dev: &Device<Tun>) -> LinkSettings {
        *dev.link.lock()
    }

    fn set_link_settings(dev: &Device<Tun>, settings: &LinkSettings) -> Result {
        *dev.link.lock() = *settings;
        Ok(())
    }
}
