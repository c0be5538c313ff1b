// SPDX-License-Identifier: GPL-2.0

//! Frames on their way from a driver into the stack.
//!
//! C headers: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h),
//! [`include/linux/etherdevice.h`](srctree/include/linux/etherdevice.h)

use super::{
    device::{
        Device,
        Private, //
    },
    napi::Backlog,
    skbuff::{
        DropReason,
        SkBuff, //
    },
    sock::Offer, //
};
use crate::{
    bindings,
    prelude::*,
    sync::{
        bh,
        rcu, //
    }, //
};

/// Why a frame could not be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undelivered {
    /// The device is down.
    Down,
    /// The backlog takes no frames at present.
    Busy,
}

/// The length of an Ethernet header.
pub const ETH_HLEN: usize = bindings::ETH_HLEN as usize;

/// A frame that a device is about to receive.
///
/// It refers to the device, which the lifetime keeps. Made by [`Device::frame`], it becomes a
/// received one by a protocol ([`ethernet`](Self::ethernet) or [`protocol`](Self::protocol)) and
/// [`deliver`](Self::deliver), or falls back to an [`SkBuff`] to be dropped.
///
/// # Examples
///
/// ```
/// use kernel::net::{device::{Device, Private}, skbuff::{DropReason, SkBuff}};
///
/// fn receive<T: Private>(dev: &Device<T>, skb: SkBuff) -> Result {
///     let mut frame = dev.frame(skb).ethernet().map_err(|skb| {
///         skb.drop_reason(DropReason::HDR_TRUNC);
///         ENOMEM
///     })?;
///     frame.finish_headers(0);
///     frame.deliver().map_err(|skb| {
///         skb.drop_reason(DropReason::DEV_READY);
///         EIO
///     })
/// }
/// ```
#[must_use = "deliver the frame or drop it with a reason"]
pub struct Frame<'dev, T: Private> {
    skb: SkBuff,
    dev: &'dev Device<T>,
}

impl<T: Private> Device<T> {
    /// A frame for this device to receive.
    #[inline]
    pub fn frame(&self, mut skb: SkBuff) -> Frame<'_, T> {
        skb.set_dev(self.as_raw());
        Frame { skb, dev: self }
    }
}

impl<T: Private> Frame<'_, T> {
    /// The buffer.
    #[inline]
    pub fn skb(&self) -> &SkBuff {
        &self.skb
    }

    /// The buffer, taken back.
    #[inline]
    pub fn into_skb(self) -> SkBuff {
        self.skb
    }

    /// Is there an Ethernet header? It is made linear, and what follows it is the network header.
    #[inline]
    #[must_use]
    pub fn pull_ethernet(&mut self) -> bool {
        let there = self.skb.may_pull(ETH_HLEN);
        if there {
            self.skb.set_network_header(ETH_HLEN);
        }
        there
    }

    /// Takes the Ethernet header off, and the protocol and the kind of receiver from it.
    ///
    /// Gives the buffer back if it does not hold one.
    #[inline]
    pub fn ethernet(mut self) -> Result<Self, SkBuff> {
        if !self.skb.may_pull(ETH_HLEN) {
            return Err(self.skb);
        }
        let raw = self.skb.as_raw();
        // SAFETY: The header is linear; the buffer is ours.
        let proto = unsafe { bindings::eth_type_trans(raw, self.dev.as_raw()) };
        self.skb.set_protocol(proto);
        Ok(self)
    }

    /// Sets the protocol of a frame without a link-layer header, as it lies in memory.
    #[inline]
    pub fn protocol(mut self, proto: u16) -> Self {
        self.skb.set_network_header(0);
        self.skb.set_protocol(proto);
        self
    }

    /// The writer's pages were `taken`, and are released with the frame, or else copied, and it is
    /// told at once.
    #[inline]
    pub fn settle(&mut self, offer: Offer<'_>, taken: bool) {
        if taken {
            offer.attach(&mut self.skb);
        } else {
            offer.complete_copied();
        }
    }

    /// See [`SkBuff::finish_headers`].
    #[inline]
    pub fn finish_headers(&mut self, rx_queue: u16) {
        self.skb.finish_headers(rx_queue)
    }

    /// See [`Borrowed::symmetric_hash`](super::skbuff::Borrowed::symmetric_hash).
    #[inline]
    pub fn symmetric_hash(&self) -> u32 {
        self.skb.symmetric_hash()
    }

    /// Hands the frame to the stack, on this CPU, before it returns.
    ///
    /// Gives the buffer back if the device is down. Process context or softirq.
    #[inline]
    pub fn deliver(self) -> Result<(), SkBuff> {
        let _rcu = rcu::read_lock();
        // Under RCU, so that a device that goes down meanwhile stays until the stack is done:
        // unregistering closes it, clears IFF_UP and waits for a grace period.
        if !self.dev.is_up() {
            return Err(self.skb);
        }
        let _bh = bh::disable();
        // SAFETY: The buffer is given up; its device is up.
        unsafe { bindings::netif_receive_skb(self.skb.into_raw().as_ptr()) };
        Ok(())
    }

    /// Leaves the frame to a NAPI poll, and, unless `more` follows at once, asks for one.
    ///
    /// Gives the buffer back with the reason if the device is down, or if the backlog takes no
    /// frames. Process context or softirq.
    #[inline]
    pub fn queue(self, backlog: &Backlog, more: bool) -> Result<(), (SkBuff, Undelivered)> {
        let _rcu = rcu::read_lock();
        if !self.dev.is_up() {
            return Err((self.skb, Undelivered::Down));
        }
        backlog
            .push(self.dev, self.skb, more)
            .map_err(|skb| (skb, Undelivered::Busy))
    }

    /// Hands the frame to the stack together with those that wait in `backlog`, attached with
    /// [`Mode::Gather`](super::napi::Mode::Gather); or has it wait while `more` follow at once and
    /// fewer than `most` do.
    ///
    /// Gives the buffer back if the device is down. Process context or softirq.
    #[inline]
    pub fn gather(
        self,
        backlog: &Backlog,
        rx_queue: u16,
        most: u32,
        more: bool,
    ) -> Result<(), SkBuff> {
        if !more && !backlog.has_waiting() {
            return self.deliver();
        }
        let _rcu = rcu::read_lock();
        if !self.dev.is_up() {
            return Err(self.skb);
        }
        backlog.gather(self.dev, self.skb, rx_queue, most, more, &bh::disable());
        Ok(())
    }

    /// Hands a frame that was built in pieces to GRO: see [`Backlog::alloc_frags`].
    ///
    /// Gives the buffer back with the reason: `EIO` where the device is down, `EBUSY` where the
    /// context takes none, `ENOMEM` where the headers do not lie in one piece.
    pub fn deliver_frags(self, backlog: &Backlog) -> Result<(), (SkBuff, Error)> {
        backlog.deliver_frags(self.dev, self.skb)
    }

    /// Ends it as a drop.
    #[inline]
    pub fn drop_reason(self, reason: DropReason) {
        self.skb.drop_reason(reason)
    }
}

#[kunit_tests(rust_net_receive)]
mod tests {
    use super::*;
    use crate::net::device::fixture::Fixture;

    #[test]
    fn a_device_that_is_down_gives_the_frame_back() -> Result {
        let fixture = Fixture::new()?;
        let Ok(frame) = fixture.dev().frame(Fixture::frame()?).ethernet() else {
            return Err(EINVAL);
        };
        let Err(skb) = frame.deliver() else {
            return Err(EINVAL);
        };
        assert_eq!(skb.len(), 60 - ETH_HLEN);
        skb.consume();
        assert_eq!(fixture.unhandled(), 0);
        Ok(())
    }

    #[test]
    fn the_stack_gets_the_frame() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let Ok(mut frame) = fixture.dev().frame(Fixture::frame()?).ethernet() else {
            return Err(EINVAL);
        };
        assert_eq!(frame.skb.protocol(), 0x88b5_u16.to_be());
        frame.finish_headers(0);
        assert!(frame.deliver().is_ok());
        assert_eq!(fixture.unhandled(), 1);
        Ok(())
    }

    #[test]
    fn too_short_for_ethernet() -> Result {
        let fixture = Fixture::new()?;
        let mut skb = SkBuff::new(16, GFP_KERNEL)?;
        let extended = skb.extend_from_slice(&[0; ETH_HLEN - 1]);
        match fixture.dev().frame(skb).ethernet() {
            Ok(frame) => {
                frame.drop_reason(DropReason::HDR_TRUNC);
                return Err(EINVAL);
            }
            Err(skb) => {
                assert_eq!(skb.len(), ETH_HLEN - 1);
                skb.drop_reason(DropReason::HDR_TRUNC);
            }
        }
        extended
    }

    #[test]
    fn protocol_without_a_header() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let frame = fixture.dev().frame(Fixture::frame()?);
        let mut frame = frame.protocol(0x88b5_u16.to_be());
        frame.finish_headers(1);
        assert_eq!(frame.skb.len(), 60);
        assert!(frame.deliver().is_ok());
        assert_eq!(fixture.unhandled(), 1);
        Ok(())
    }
}
