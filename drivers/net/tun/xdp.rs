// SPDX-License-Identifier: GPL-2.0

//! XDP on TAP devices: programs on what is written, and frames that are redirected here.
//!
//! C header: [`include/net/xdp.h`](srctree/include/net/xdp.h)

use crate::{
    device::Tun,
    queue::Queue, //
};
use kernel::{
    cpu::CpuId,
    net::{
        device::Device,
        rtnl,
        sock::Sock,
        vhost::Packet,
        xdp::{
            Action,
            Buff,
            Context,
            Frame,
            Program,
            ProgramRef,
            XmitBatch, //
        }, //
    },
    prelude::*,
    sync::{
        bh,
        rcu, //
    }, //
};

/// What became of a frame that a program saw.
pub(crate) enum Outcome<'a> {
    /// It goes on.
    Passed(Buff<'a>),
    /// It is to be dropped, and is counted.
    Dropped(Buff<'a>),
    /// It is somewhere else, or was lost on the way there; redirected ones need a flush.
    Taken { redirected: bool },
}

impl Tun {
    /// A user sets the program, or takes it away.
    pub(crate) fn set_xdp(dev: &Device<Self>, program: Option<Program>, rtnl: &mut rtnl::Held) {
        let announce = program.is_some();
        if let Some(old) = dev.xdp.replace(program, rtnl) {
            old.put();
        }
        for queue in Iterator::chain(dev.enabled(rtnl), dev.parked(rtnl)) {
            queue.announce_xdp(announce);
        }
    }

    /// Does with a frame what its program said.
    // Called, it would move each frame through memory twice.
    #[inline(always)]
    pub(crate) fn act<'a>(
        dev: &Device<Self>,
        program: &ProgramRef,
        buff: Buff<'a>,
        action: Action,
        ctx: &Context,
        bh: &bh::Disabled,
    ) -> Outcome<'a> {
        match action {
            Action::Pass => Outcome::Passed(buff),
            Action::Tx | Action::Redirect => Outcome::Taken {
                redirected: Self::send(dev, program, buff, action, ctx, bh),
            },
            Action::Drop | Action::Aborted | Action::Unknown(_) => {
                if action != Action::Drop {
                    program.report(dev, action);
                }
                dev.count_rx_dropped();
                Outcome::Dropped(buff)
            }
        }
    }

    /// Sends a frame back or elsewhere. Returns whether it was redirected.
    fn send(
        dev: &Device<Self>,
        program: &ProgramRef,
        buff: Buff<'_>,
        action: Action,
        ctx: &Context,
        bh: &bh::Disabled,
    ) -> bool {
        let len = buff.len();
        let sent = if action == Action::Redirect {
            buff.redirect(dev, program, ctx)
        } else {
            buff.into_frame()
                .and_then(|frame| Self::send_back(dev, frame, ctx, bh))
        };
        match sent {
            Ok(()) => dev.count_rx(len),
            Err(_) => dev.count_rx_dropped(),
        }
        action == Action::Redirect && sent.is_ok()
    }

    /// The queue that this CPU uses, of those in use. `ENXIO` where there is none.
    fn queue_of_cpu<'a>(dev: &'a Device<Self>, rcu: &'a rcu::Guard) -> Result<&'a Sock<Queue>> {
        loop {
            let index = CpuId::current()
                .as_u32()
                .checked_rem(dev.count())
                .ok_or(ENXIO)?;
            // Empty where the number of queues changed meanwhile: look again.
            if let Some(queue) = dev.slot(index).and_then(|slot| slot.read(rcu)) {
                return Ok(queue);
            }
        }
    }

    /// Puts a frame into a ring of the device that it came from. A full ring is no error: there,
    /// the frame was received and lost.
    fn send_back(dev: &Device<Self>, frame: Frame, ctx: &Context, bh: &bh::Disabled) -> Result {
        let rcu = rcu::read_lock();
        let queue = Self::queue_of_cpu(dev, &rcu)?;
        let produced = queue.ring.producer(bh).produce(Packet::Xdp(frame));
        if let Err((Packet::Xdp(frame), _)) = produced {
            dev.count_tx_dropped();
            frame.recycle(ctx);
        }
        Queue::notify(queue);
        Ok(())
    }

    /// Transmits frames that were redirected here, as many as there is room for. Neither looks at
    /// the queue's stop bit nor sets it.
    pub(crate) fn xdp_xmit(
        dev: &Device<Self>,
        frames: &mut XmitBatch<'_>,
        bh: &bh::Disabled,
    ) -> Result {
        let rcu = rcu::read_lock();
        let queue = Self::queue_of_cpu(dev, &rcu)?;
        let mut ring = queue.ring.producer(bh);
        let all = frames.take_while(|frame| match ring.produce(Packet::Xdp(frame)) {
            Err((Packet::Xdp(frame), _)) => Err(frame),
            _ => Ok(()),
        });
        drop(ring);
        if !all {
            dev.count_tx_dropped();
        }
        if frames.is_last() {
            Queue::notify(queue);
        }
        Ok(())
    }
}
