// SPDX-License-Identifier: GPL-2.0

//! Frames from a program's buffer to the stack.
//!
//! A frame is built in one of three ways: in pieces as the buffer has them, where the queue was
//! attached so (`IFF_NAPI_FRAGS`); in the task's own page, where it is small and the writer will
//! not sleep, so that an XDP program can see it first; or in memory that is charged to the socket
//! before it is there.

use crate::{
    device::Tun,
    flags::{
        self,
        Kind, //
    },
    frame::{
        self,
        PI_LEN, //
    },
    queue::Queue,
    vnet,
    xdp::Outcome, //
};
use kernel::{
    iov::IovIterSource,
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
            Batch,
            Built,
            Offer,
            Sock, //
        },
        virtio_net::{
            Header,
            Tunnels, //
        },
        xdp::{
            self,
            Buff,
            Context,
            Place, //
        }, //
    },
    prelude::*,
    sync::{
        atomic::Relaxed,
        bh,
        rcu, //
    },
    uapi, //
};

/// The bytes that are copied of a frame whose pages are offered, where it does not say.
const GOOD_COPY: usize = 128;

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

    /// Ends the frame, and counts it as the writer's kind does.
    fn settle(self, dev: &Device<Tun>, counts: bool) -> Error {
        if counts && self.counts {
            dev.count_rx_dropped();
        }
        if let Some(skb) = self.skb {
            skb.drop_reason(self.reason);
        }
        self.error
    }
}

/// What was written with a frame, and how.
struct Written {
    /// The device's, when it was.
    flags: u32,
    /// From the packet information, as it lies in memory.
    protocol: u16,
    header: Header,
    /// The bytes of the frame's own headers, as the virtio-net header has them; 0 for unknown.
    header_len: usize,
    tunnels: Tunnels,
    /// The bytes of the frame.
    len: usize,
    nonblocking: bool,
    /// More follows at once.
    more: bool,
    /// Is it built in pieces?
    frags: bool,
}

impl Written {
    fn kind(&self) -> Kind {
        Kind::of(self.flags)
    }
}

/// A frame that was built.
struct Made {
    skb: SkBuff,
    /// Has a program seen it?
    seen: bool,
    /// Has it the writer's pages?
    offered: bool,
}

impl Made {
    fn copied(skb: SkBuff) -> Self {
        Self {
            skb,
            seen: false,
            offered: false,
        }
    }
}

impl Tun {
    /// A program writes one record, and perhaps `more` at once. Returns its length.
    ///
    /// With an `offer` its pages may be taken instead of copied.
    pub(crate) fn write(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        from: &mut IovIterSource<'_>,
        offer: Option<Offer<'_>>,
        nonblocking: bool,
        more: bool,
    ) -> Result<usize> {
        let total = from.len();
        let flags = dev.flags_now();
        // Taken once: it may change meanwhile.
        let size = dev.header_size();
        let mut written = Written {
            flags,
            protocol: (uapi::ETH_P_IP as u16).to_be(),
            header: Header::ZERO,
            header_len: 0,
            tunnels: vnet::tunnels(size),
            len: total,
            nonblocking,
            more,
            frags: queue.backlog.builds_frags(),
        };

        if flags & flags::NO_PI == 0 {
            written.len = total.checked_sub(PI_LEN).ok_or(EINVAL)?;
            let mut pi = [0; PI_LEN];
            if from.copy_from_iter(&mut pi) != PI_LEN {
                return Err(EFAULT);
            }
            written.protocol = frame::pi_protocol(pi);
        }
        if flags & flags::VNET_HDR != 0 {
            (written.header, written.header_len) = vnet::read(size, flags, from)?;
            written.len -= size as usize;
        }
        let too_short = |len| len < ETH_HLEN;
        if written.kind() == Kind::Tap
            && (too_short(written.len)
                || (written.header_len != 0 && too_short(written.header_len)))
        {
            return Err(EINVAL);
        }

        Self::build(dev, queue, from, &offer, &written)
            .and_then(|made| match made {
                Some(made) => Self::inject(dev, queue, made, offer, &written),
                None => Ok(()),
            })
            .map_err(|refused| refused.settle(dev, true))?;
        Ok(total)
    }

    /// Puts a frame into a buffer. `None` where a program took it.
    #[inline]
    fn build(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        from: &mut IovIterSource<'_>,
        offer: &Option<Offer<'_>>,
        written: &Written,
    ) -> Result<Option<Made>, Refused> {
        let len = written.len;
        let align = match written.kind() {
            Kind::Tun => 0,
            Kind::Tap => skbuff::ip_align(),
        };
        let headroom = dev.headroom() + align;
        let most = skbuff::max_head(headroom);
        // What a header says of the frame's own, or else as much as a page takes.
        let wanted = |unknown| match written.header_len {
            0 => unknown,
            len => len,
        };
        if offer.is_some() && !written.frags {
            let copied = wanted(GOOD_COPY).min(most);
            if from.pages_after(copied, usize::MAX) <= skbuff::MAX_FRAGS {
                let mut skb = queue
                    .alloc_skb(headroom, copied, copied, written.nonblocking)
                    .map_err(Refused::without_frame)?;
                return match skb.take_pages(from) {
                    Ok(()) => Ok(Some(Made {
                        offered: true,
                        ..Made::copied(skb)
                    })),
                    Err(_) => Err(Refused::new(skb, DropReason::SKB_UCOPY_FAULT, EFAULT)),
                };
            }
        }
        let pad = skbuff::pad() + skbuff::ip_align();
        if !written.frags
            && written.kind() == Kind::Tap
            && written.nonblocking
            && queue.send_buffer() == i32::MAX
            && Buff::fits(len, pad + xdp::HEADROOM)
        {
            return Self::build_in_page(dev, queue, from, pad, written);
        }
        let skb = if written.frags {
            queue
                .backlog
                .alloc_frags(dev, from, len)
                .map_err(|e| Refused {
                    counts: e != EBUSY,
                    ..Refused::without_frame(e)
                })
        } else {
            queue
                .alloc_skb(headroom, len, wanted(len).min(most), written.nonblocking)
                .map_err(Refused::without_frame)
        };
        let mut skb = skb?;
        match skb.copy_from_iter(from, len) {
            Ok(()) => Ok(Some(Made::copied(skb))),
            Err(_) => Err(Refused::new(skb, DropReason::SKB_UCOPY_FAULT, EFAULT)),
        }
    }

    /// Puts a frame into the task's page, and shows it to the program if there is one.
    #[inline]
    fn build_in_page(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        from: &mut IovIterSource<'_>,
        pad: usize,
        written: &Written,
    ) -> Result<Option<Made>, Refused> {
        let expected = dev.xdp.is_set();
        let pad = if expected { pad + xdp::HEADROOM } else { pad };
        let mut place = Place::new();
        let mut buff =
            Buff::read(&mut place, from, written.len, pad).map_err(Refused::without_frame)?;
        // Segments are for the program to see when there is a buffer; so is a frame for which
        // nobody left room.
        let seen = expected && !written.header.is_segmented();
        if seen {
            match Self::run_native(dev, queue, buff) {
                Some(passed) => buff = passed,
                None => return Ok(None),
            }
        }
        let mut skb = buff.into_skb().map_err(Refused::without_frame)?;
        queue.charge(&mut skb);
        Ok(Some(Made {
            seen,
            ..Made::copied(skb)
        }))
    }

    /// Runs the program, if there still is one. `None` where it took the frame.
    #[inline]
    fn run_native<'a>(
        dev: &Device<Self>,
        queue: &'a Sock<Queue>,
        mut buff: Buff<'a>,
    ) -> Option<Buff<'a>> {
        let bh = bh::disable();
        let rcu = rcu::read_lock();
        let Some(program) = dev.xdp.read(&rcu) else {
            return Some(buff);
        };
        Context::with(&bh, |ctx| {
            let action = buff.run(program, &queue.rx_queue, ctx);
            match Self::act(dev, program, buff, action, ctx, &bh) {
                Outcome::Passed(buff) => Some(buff),
                Outcome::Dropped(_) => None,
                Outcome::Taken { redirected } => {
                    if redirected {
                        ctx.flush();
                    }
                    None
                }
            }
        })
    }

    /// Hands a frame to the stack, unless a program that has not seen it takes it.
    fn inject(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        made: Made,
        offer: Option<Offer<'_>>,
        written: &Written,
    ) -> Result<(), Refused> {
        let Made {
            mut skb,
            seen,
            offered,
        } = made;
        let mut frame = match written.kind() {
            Kind::Tun => {
                let protocol = if written.flags & flags::NO_PI == 0 {
                    Some(written.protocol)
                } else {
                    skb.first_byte().and_then(frame::ip_protocol)
                };
                let Some(protocol) = protocol else {
                    return Err(Refused::new(skb, DropReason::NOT_SPECIFIED, EINVAL));
                };
                Self::apply(dev, dev.frame(skb).protocol(protocol), written)?
            }
            Kind::Tap => Self::apply_ethernet(dev, dev.frame(skb), written)?,
        };
        // Not before, so that a writer who sees an error was told nothing else.
        if let Some(offer) = offer {
            frame.settle(offer, offered);
        }
        frame.finish_headers(queue.index() as u16);
        if !seen && dev.xdp.is_set() {
            let bh = bh::disable();
            let rcu = rcu::read_lock();
            if let Some(program) = dev.xdp.read(&rcu) {
                match program.run_generic(frame.into_skb(), &bh) {
                    Some(skb) => frame = dev.frame(skb),
                    None => return Ok(()),
                }
            }
        }
        Self::deliver(dev, queue, frame, written)
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
        frame: Frame<'_, Self>,
        written: &Written,
    ) -> Result<(), Refused> {
        let index = queue.index();
        // Dissecting costs: only where there is a choice of queues.
        let hash = if !dev.steering.is_set() && dev.count() > 1 && !queue.is_disabled() {
            frame.symmetric_hash()
        } else {
            0
        };
        let rx_frames = dev.rx_frames();
        let down = |skb| Refused::new(skb, DropReason::DEV_READY, EIO);
        if written.frags {
            frame
                .deliver_frags(&queue.backlog)
                .map_err(|(skb, e)| match e {
                    EIO => down(skb),
                    EBUSY => Refused::busy(skb),
                    _ => Refused::new(skb, DropReason::NOT_SPECIFIED, e),
                })?;
        } else if queue.backlog.is_in_use() {
            frame
                .queue(&queue.backlog, written.more)
                .map_err(|(skb, why)| match why {
                    Undelivered::Down => down(skb),
                    Undelivered::Busy => Refused::busy(skb),
                })?;
        } else if rx_frames == 0 {
            frame.deliver().map_err(down)?;
        } else {
            frame
                .gather(&queue.backlog, index as u16, rx_frames, written.more)
                .map_err(down)?;
        }
        dev.count_rx(written.len);
        if hash != 0 {
            dev.learn_flow(hash, index);
        }
        Ok(())
    }

    /// Frames that vhost-net built: Ethernet, whatever the device is. What one of them runs into
    /// does not concern the others, nor the sender.
    pub(crate) fn write_batch(dev: &Device<Self>, queue: &Sock<Queue>, mut batch: Batch<'_>) {
        let bh = bh::disable();
        let rcu = rcu::read_lock();
        Context::with(&bh, |ctx| {
            let mut redirected = false;
            while let Some(built) = batch.next() {
                redirected |= Self::write_built(dev, queue, built, &mut batch, ctx, &bh, &rcu);
            }
            if redirected {
                ctx.flush();
            }
        });
        drop(rcu);
        drop(bh);
        // What programs dropped goes last, when nobody waits for it.
        drop(batch);
    }

    /// One of them. Returns whether it was redirected.
    #[inline]
    fn write_built(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        built: Built<'_>,
        batch: &mut Batch<'_>,
        ctx: &Context,
        bh: &bh::Disabled,
        rcu: &rcu::Guard,
    ) -> bool {
        let len = built.len();
        if len < ETH_HLEN {
            return false;
        }
        let header = built.header();
        let mut buff = built.into_buff();
        let program = dev.xdp.read(rcu);
        if let Some(program) = program.filter(|_| !header.is_segmented()) {
            let action = buff.run(program, &queue.rx_queue, ctx);
            match Self::act(dev, program, buff, action, ctx, bh) {
                Outcome::Passed(passed) => buff = passed,
                Outcome::Dropped(dropped) => {
                    batch.recycle(dropped);
                    return false;
                }
                Outcome::Taken { redirected } => return redirected,
            }
        }
        let Ok(skb) = buff.into_skb() else {
            return false;
        };
        let written = Written {
            flags: dev.flags_now(),
            protocol: 0,
            header,
            header_len: 0,
            tunnels: vnet::tunnels(dev.header_size()),
            len,
            nonblocking: true,
            more: batch.has_more(),
            frags: false,
        };
        let delivered =
            Self::apply_ethernet(dev, dev.frame(skb), &written).and_then(|mut frame| {
                frame.finish_headers(queue.index() as u16);
                if let Some(program) = program.filter(|_| header.is_segmented()) {
                    match program.run_generic(frame.into_skb(), bh) {
                        Some(skb) => frame = dev.frame(skb),
                        None => return Ok(()),
                    }
                }
                Self::deliver(dev, queue, frame, &written)
            });
        if let Err(refused) = delivered {
            refused.settle(dev, false);
        }
        false
    }
}
