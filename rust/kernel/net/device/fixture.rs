// SPDX-License-Identifier: GPL-2.0

//! A device for the suites of this folder: it ends what it is given and counts it.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::{
    Device,
    Name,
    Operations,
    Private,
    Setup,
    Table,
    Unregistered,
    Verdict, //
};
use crate::{
    bindings,
    error::to_result,
    net::{
        link,
        namespace::Namespace,
        rtnl,
        skbuff::SkBuff, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        bh, //
    },
};
use core::ptr::null_mut;

/// The private data of the device.
pub(in crate::net) struct Sink;

impl Private for Sink {
    const NETLINK_REFUSAL: &'static CStr = c"made by a test";

    fn setup(setup: &mut Setup<'_, Self>) {
        setup.ethernet().random_address();
    }
}

pub(in crate::net) struct SinkOps;

#[vtable]
impl Operations for SinkOps {
    type Private = Sink;

    fn open(dev: &Device<Sink>, rtnl: &mut rtnl::Held) -> Result {
        dev.start_all_queues(rtnl);
        Ok(())
    }

    fn stop(dev: &Device<Sink>, rtnl: &mut rtnl::Held) {
        dev.stop_all_queues(rtnl);
    }

    fn start_xmit(_: &Device<Sink>, skb: SkBuff, _: &bh::Disabled) -> Verdict {
        skb.consume();
        Verdict::Sent
    }
}

pub(in crate::net) static SINK: Table<SinkOps> = Table::new();
pub(in crate::net) static LINK: link::Ops<Sink> = link::Ops::new(c"kunit-sink");

/// The device, registered with two queues, until it is dropped. Not for two tests at a time.
pub(in crate::net) struct Fixture {
    dev: Option<ARef<Device<Sink>>>,
    _link: link::Registration<Sink>,
}

impl Fixture {
    pub(in crate::net) fn new() -> Result<Self> {
        let link = LINK.register()?;
        let mut rtnl = rtnl::lock();
        let name = Name::new(b"sink%d")?;
        let private = Ok::<_, Error>(Sink);
        let dev = Unregistered::new(&SINK, &LINK, Namespace::init(), &name, 2, private)?
            .register(&mut rtnl)?;
        Ok(Self {
            dev: Some(dev),
            _link: link,
        })
    }

    pub(in crate::net) fn dev(&self) -> &Device<Sink> {
        // PANIC: Only `drop` takes it.
        self.dev.as_ref().unwrap()
    }

    /// Brings it up.
    pub(in crate::net) fn up(&self) -> Result {
        let _rtnl = rtnl::lock();
        // SAFETY: The RTNL is held, the device registered.
        to_result(unsafe { bindings::dev_open(self.dev().as_raw(), null_mut()) })
    }

    /// Brings it down.
    pub(in crate::net) fn down(&self) {
        let _rtnl = rtnl::lock();
        // SAFETY: The RTNL is held, the device registered.
        unsafe { bindings::netif_close(self.dev().as_raw()) };
    }

    /// How many frames the stack got and had no use for.
    pub(in crate::net) fn unhandled(&self) -> u64 {
        let mut stats = pin_init::zeroed();
        // SAFETY: The device is there, and `stats` valid for writes.
        unsafe { (*bindings::dev_get_stats(self.dev().as_raw(), &raw mut stats)).rx_dropped }
    }

    /// A frame of a protocol that nobody listens for.
    pub(in crate::net) fn frame() -> Result<SkBuff> {
        let mut skb = SkBuff::new(64, GFP_KERNEL)?;
        let mut bytes = [0xff; 60];
        bytes[12..14].copy_from_slice(&0x88b5_u16.to_be_bytes());
        if let Err(e) = skb.extend_from_slice(&bytes) {
            skb.consume();
            return Err(e);
        }
        Ok(skb)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let mut rtnl = rtnl::lock();
        if let Some(dev) = self.dev.take() {
            dev.unregister(&mut rtnl);
        }
    }
}
