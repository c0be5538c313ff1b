// SPDX-License-Identifier: GPL-2.0

//! Frames between a program's buffers and the stack.

use crate::{
    device::Tun,
    flags::{
        self,
        Kind, //
    },
    frame::{
        self,
        Layout,
        PI_LEN,
        VLAN_LEN,
        VLAN_OFFSET, //
    },
    queue::Queue,
    vnet, //
};
use kernel::{
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    net::{
        device::Device,
        receive::{
            Frame,
            Undelivered,
            ETH_HLEN, //
        },
        skbuff::{
            self,
            DropReason,
            SkBuff, //
        },
        sock::{
            Built,
            Sock, //
        },
        virtio_net::{
            Header,
            Tunnels, //
        }, //
    },
    prelude::*,
    sync::atomic::Relaxed,
    uapi, //
};

/// A frame that was not received: why, and what the writer is told.
struct Refused {
    skb: Option<SkBuff>,
    reason: DropReason,
    error: Error,
    /// Is it a drop to the statistics? Not where the writer is only asked to try again.
    counts: bool,
}

impl Refused {
    fn new(skb: SkBuff, reason: DropReason, error: Error) -> Self {
        Self {
            skb: Some(skb),
            reason,
            error,
            counts: true,
        }
    }

    /// Its virtio-net header does not fit it. There is another counter for that.
    fn malformed(skb: SkBuff) -> Self {
        Self {
            counts: false,
            ..Self::new(skb, DropReason::NOT_SPECIFIED, EINVAL)
        }
    }

    /// The queue's NAPI takes no frames.
    fn busy(skb: SkBuff) -> Self {
        Self {
            counts: false,
            ..Self::new(skb, DropReason::NOT_SPECIFIED, EBUSY)
        }
    }

    fn without_frame(error: Error) -> Self {
        Self {
            skb: None,
            reason: DropReason::NOT_SPECIFIED,
            error,
            counts: error != EAGAIN,
        }
    }
}

/// What was written with a frame.
struct Written {
    /// The device's, when it was.
    flags: u32,
    /// From the packet information, as it lies in memory.
    protocol: u16,
    header: Header,
    tunnels: Tunnels,
    /// The bytes of the frame.
    len: usize,
    /// More follows at once.
    more: bool,
}

impl Tun {
    /// A program writes one record, and perhaps `more` at once. Returns its length.
    pub(crate) fn write(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        from: &mut IovIterSource<'_>,
        nonblocking: bool,
        more: bool,
    ) -> Result<usize> {
        let total = from.len();
        let flags = dev.flags_now();
        let mut len = total;

        let mut protocol = (uapi::ETH_P_IP as u16).to_be();
        if flags & flags::NO_PI == 0 {
            len = len.checked_sub(PI_LEN).ok_or(EINVAL)?;
            let mut pi = [0; PI_LEN];
            if from.copy_from_iter(&mut pi) != PI_LEN {
                return Err(EFAULT);
            }
            protocol = frame::pi_protocol(pi);
        }
        let mut header = Header::ZERO;
        let mut header_len = 0;
        // Taken once: it may change meanwhile.
        let size = dev.header_size();
        if flags & flags::VNET_HDR != 0 {
            (header, header_len) = vnet::read(size, flags, from)?;
            len -= size as usize;
        }
        if Kind::of(flags) == Kind::Tap
            && (len < ETH_HLEN || (header_len != 0 && header_len < ETH_HLEN))
        {
            return Err(EINVAL);
        }
        let written = Written {
            flags,
            protocol,
            header,
            tunnels: vnet::tunnels(size),
            len,
            more,
        };

        match Self::build(dev, queue, flags, from, len, header_len, nonblocking)
            .and_then(|skb| Self::inject(dev, queue, skb, &written))
        {
            Ok(()) => Ok(total),
            Err(refused) => {
                if refused.counts {
                    dev.count_rx_dropped();
                }
                if let Some(skb) = refused.skb {
                    skb.drop_reason(refused.reason);
                }
                Err(refused.error)
            }
        }
    }

    /// Copies a frame into a new buffer, of which at least `header_len` bytes lie in one piece.
    fn build(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        flags: u32,
        from: &mut IovIterSource<'_>,
        len: usize,
        header_len: usize,
        nonblocking: bool,
    ) -> Result<SkBuff, Refused> {
        let kind = Kind::of(flags);
        let headroom = match kind {
            Kind::Tun => dev.headroom(),
            Kind::Tap => dev.headroom() + skbuff::ip_align(),
        };
        // A page where all is in user space and at hand: what the socket sends is not limited.
        if kind == Kind::Tap && nonblocking && queue.send_buffer() == i32::MAX {
            if let Some(built) = queue.build_skb(from, len) {
                return built.map_err(Refused::without_frame);
            }
        }
        // What a header says of the frame's own, or else as much as a page takes.
        let wanted = if header_len != 0 { header_len } else { len };
        let linear = wanted.min(skbuff::max_head(headroom));
        let mut skb = queue
            .alloc_skb(headroom, len, linear, nonblocking)
            .map_err(Refused::without_frame)?;
        match skb.copy_from_iter(from, len) {
            Ok(()) => Ok(skb),
            Err(_) => Err(Refused::new(skb, DropReason::SKB_UCOPY_FAULT, EFAULT)),
        }
    }

    /// Hands a frame to the stack.
    fn inject(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        mut skb: SkBuff,
        written: &Written,
    ) -> Result<(), Refused> {
        let frame = match Kind::of(written.flags) {
            Kind::Tun => {
                let protocol = if written.flags & flags::NO_PI == 0 {
                    Some(written.protocol)
                } else {
                    skb.first_byte().and_then(frame::ip_protocol)
                };
                let Some(protocol) = protocol else {
                    return Err(Refused::new(skb, DropReason::NOT_SPECIFIED, EINVAL));
                };
                let frame = dev.frame(skb).protocol(protocol);
                Self::apply(dev, frame, written)?
            }
            Kind::Tap => Self::apply_ethernet(dev, dev.frame(skb), written)?,
        };
        Self::deliver(dev, queue, frame, written.len, written.more)
    }

    /// Does to a frame what its virtio-net header says.
    #[inline]
    fn apply<'dev>(
        dev: &'dev Device<Self>,
        mut frame: Frame<'dev, Self>,
        written: &Written,
    ) -> Result<Frame<'dev, Self>, Refused> {
        let endian = vnet::endian(written.flags);
        if written
            .header
            .apply(&mut frame, written.tunnels, endian)
            .is_err()
        {
            dev.frame_errors.fetch_add(1, Relaxed);
            return Err(Refused::malformed(frame.into_skb()));
        }
        Ok(frame)
    }

    /// The same for one with an Ethernet header, which is taken off.
    #[inline]
    fn apply_ethernet<'dev>(
        dev: &'dev Device<Self>,
        mut frame: Frame<'dev, Self>,
        written: &Written,
    ) -> Result<Frame<'dev, Self>, Refused> {
        let truncated = |skb| Refused::new(skb, DropReason::HDR_TRUNC, ENOMEM);
        if !frame.pull_ethernet() {
            return Err(truncated(frame.into_skb()));
        }
        Self::apply(dev, frame, written)?
            .ethernet()
            .map_err(truncated)
    }

    /// The last steps of a received frame.
    #[inline]
    fn deliver(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        mut frame: Frame<'_, Self>,
        len: usize,
        more: bool,
    ) -> Result<(), Refused> {
        let index = queue.index();
        frame.finish_headers(index as u16);
        // Dissecting costs: only where there is a choice of queues.
        let hash = if !dev.steering.is_set() && dev.count() > 1 && !queue.is_disabled() {
            frame.symmetric_hash()
        } else {
            0
        };
        if queue.backlog.is_in_use() {
            frame
                .queue(&queue.backlog, more)
                .map_err(|(skb, why)| match why {
                    Undelivered::Down => Refused::new(skb, DropReason::DEV_READY, EIO),
                    Undelivered::Busy => Refused::busy(skb),
                })?;
        } else {
            frame
                .deliver()
                .map_err(|skb| Refused::new(skb, DropReason::DEV_READY, EIO))?;
        }
        dev.count_rx(len);
        if hash != 0 {
            dev.learn_flow(hash, index);
        }
        Ok(())
    }

    /// A frame of a batch that vhost-net built. It is Ethernet, whatever the device is.
    pub(crate) fn write_built(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        built: Built<'_>,
        more: bool,
    ) -> Result {
        let len = built.len();
        if len < ETH_HLEN {
            return Err(EINVAL);
        }
        let header = built.header();
        let skb = built.into_skb()?;
        let written = Written {
            flags: dev.flags_now(),
            protocol: 0,
            header,
            tunnels: vnet::tunnels(dev.header_size()),
            len,
            more,
        };
        Self::apply_ethernet(dev, dev.frame(skb), &written)
            .and_then(|frame| Self::deliver(dev, queue, frame, len, more))
            .map_err(|refused| {
                if let Some(skb) = refused.skb {
                    skb.drop_reason(refused.reason);
                }
                refused.error
            })
    }

    /// Copies a frame to a program's buffer and ends it. Returns the length of the whole record,
    /// which may be more than the buffer has.
    #[inline]
    pub(crate) fn read(dev: &Device<Self>, skb: SkBuff, to: &mut IovIterDest<'_>) -> Result<usize> {
        match Self::copy_out(dev, &skb, to) {
            Ok(total) => {
                skb.consume();
                Ok(total)
            }
            Err(e) => {
                skb.drop_reason(DropReason::NOT_SPECIFIED);
                Err(e)
            }
        }
    }

    #[inline]
    fn copy_out(dev: &Device<Self>, skb: &SkBuff, to: &mut IovIterDest<'_>) -> Result<usize> {
        let tag = skb.vlan_tag();
        let flags = dev.flags_now();
        let layout = Layout::new(flags, dev.header_size(), skb.len(), tag.is_some());
        if layout.pi {
            if to.len() < PI_LEN {
                return Err(EINVAL);
            }
            let pi = frame::pi(skb.protocol(), to.len() < layout.total);
            if to.copy_to_iter(&pi) != PI_LEN {
                return Err(EFAULT);
            }
        }
        if layout.header != 0 {
            let inserted = tag.map_or(0, |_| VLAN_LEN);
            let header = vnet::describe(dev, flags, skb, inserted)?;
            vnet::write(layout.header, vnet::has_tunnels(dev), &header, to)?;
        }

        // A fault while copying the frame itself is not reported, as programs know it.
        let mut offset = 0;
        let mut room = true;
        if let Some(tag) = tag {
            offset = VLAN_OFFSET;
            let bytes = frame::tag_bytes(tag);
            room = skb.copy_to_iter(0, to, VLAN_OFFSET).is_ok()
                && !to.is_empty()
                && to.copy_to_iter(&bytes) == bytes.len()
                && !to.is_empty();
        }
        if room {
            let _ = skb.copy_to_iter(offset, to, skb.len().saturating_sub(offset));
        }
        dev.count_tx(1, layout.frame);
        Ok(layout.total)
    }
}
