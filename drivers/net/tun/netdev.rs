// SPDX-License-Identifier: GPL-2.0

//! What the network core asks of a device: transmit, up and down, features, events.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use crate::{
    attach,
    device::{
        Tun,
        USER_FEATURES, //
    },
    flags,
    flow,
    queue::Queue,
    LINK, //
};
use kernel::{
    net::{
        device::{
            Device,
            Features,
            MessageKind,
            Operations,
            Stats,
            Verdict, //
        },
        notifier::{
            Answer,
            Event,
            Listener, //
        },
        ptr_ring::{
            NoRoom,
            PtrRing, //
        },
        rps,
        rtnl,
        skbuff::{
            Borrowed,
            DropReason,
            SkBuff, //
        },
        sock::Sock,
        vhost::Packet,
        xdp::{
            Program,
            XmitBatch, //
        }, //
    },
    prelude::*,
    sync::{
        atomic::Relaxed,
        bh,
        rcu, //
    }, //
};

impl Tun {
    /// Gives all rings the length that the user asked for.
    fn resize(dev: &Device<Self>, rtnl: &mut rtnl::Held) -> Result {
        let len = dev.tx_queue_len(rtnl);
        let mut rings: KVec<&PtrRing<_, _>> = KVec::with_capacity(
            dev.count() as usize + dev.disabled_count() as usize,
            GFP_KERNEL,
        )?;
        for queue in Iterator::chain(dev.enabled(rtnl), dev.parked(rtnl)) {
            rings.push(&queue.ring, GFP_KERNEL)?;
        }
        PtrRing::resize_all(&rings, len, GFP_KERNEL)?;
        drop(rings);
        Self::force_wake_all(dev, rtnl);
        Ok(())
    }

    /// Lets every tx queue in use run.
    pub(crate) fn force_wake_all(dev: &Device<Self>, rtnl: &rtnl::Held) {
        for queue in dev.enabled(rtnl) {
            queue.force_wake(dev);
        }
    }

    /// Shows a frame to the filters of the reader, which may shorten it.
    #[inline]
    fn filter(
        dev: &Device<Self>,
        queue: &Sock<Queue>,
        skb: &mut SkBuff,
        rcu: &rcu::Guard,
    ) -> Result<(), DropReason> {
        if !dev.addresses.admits(skb) {
            return Err(DropReason::TAP_TXFILTER);
        }
        let len = skb.len();
        if queue.has_filter() {
            queue.filter(skb)?;
        }
        let len = match dev.program.read(rcu) {
            Some(program) => program.run(skb, rcu) as usize,
            None => len,
        };
        if len == 0 {
            return Err(DropReason::TAP_FILTER);
        }
        skb.trim(len).map_err(|_| DropReason::NOMEM)
    }

    /// Puts a frame into the ring of its queue, or gives it back with the reason why not.
    #[inline]
    fn enqueue(
        dev: &Device<Self>,
        mut skb: SkBuff,
        bh: &bh::Disabled,
    ) -> Result<(), (SkBuff, DropReason)> {
        let index = skb.queue_mapping();
        let rcu = rcu::read_lock();
        let Some(queue) = dev.slot(u32::from(index)).and_then(|slot| slot.read(&rcu)) else {
            return Err((skb, DropReason::DEV_READY));
        };
        let Some(txq) = dev.tx_queue(index) else {
            return Err((skb, DropReason::DEV_READY));
        };
        // With one queue nobody has asked for the flow's yet, which is when it is noted.
        if dev.count() == 1 && rps::is_needed() && !dev.steering.is_set() {
            dev.find_flow(skb.symmetric_hash());
        }
        if dev.prints(MessageKind::TX_QUEUED) {
            dev.info(fmt!("tun_net_xmit {}\n", skb.len()));
        }
        if let Err(reason) = Self::filter(dev, queue, &mut skb, &rcu) {
            return Err((skb, reason));
        }
        if skb.orphan_frags_rx(GFP_ATOMIC).is_err() {
            return Err((skb, DropReason::SKB_UCOPY_FAULT));
        }
        skb.tx_timestamp();
        // It may wait for the reader for ever.
        skb.orphan();

        let mut ring = queue.ring.producer(bh);
        let produced = ring.produce(Packet::Skb(skb));
        // Not on a device that goes down, nor where no qdisc would keep what follows.
        if dev.flags_now() & flags::BACKPRESSURE != 0
            && dev.is_running()
            && !txq.has_no_qdisc()
            && ring.room() == Err(NoRoom::Full)
        {
            txq.stop_unless(|| ring.room().is_ok());
        }
        drop(ring);

        if let Err((Packet::Skb(skb), _)) = produced {
            // With backpressure this is rare, but several CPUs may have passed the test of the
            // stopped bit at once. The frame has been changed, so it cannot go back to the qdisc.
            return Err((skb, DropReason::FULL_RING));
        }
        // The core does this only for devices whose transmit it locks.
        txq.note_transmit();
        Queue::notify(queue);
        Ok(())
    }

    #[inline]
    fn start_xmit(dev: &Device<Self>, skb: SkBuff, bh: &bh::Disabled) -> Verdict {
        match Self::enqueue(dev, skb, bh) {
            Ok(()) => Verdict::Sent,
            Err((mut skb, reason)) => {
                dev.count_tx_dropped();
                skb.tx_error();
                skb.drop_reason(reason);
                Verdict::Dropped
            }
        }
    }

    /// The queue for a frame: the program's choice, or the one its flow is known to belong to.
    fn select_queue(&self, skb: &Borrowed) -> u16 {
        let rcu = rcu::read_lock();
        let count = self.count();
        if let Some(program) = self.steering.read(&rcu) {
            return program
                .run_borrowed(skb, &rcu)
                .checked_rem(count)
                .unwrap_or(0) as u16;
        }
        let hash = skb.symmetric_hash();
        self.find_flow(hash)
            .unwrap_or_else(|| flow::spread(hash, count)) as u16
    }

    fn open(dev: &Device<Self>, rtnl: &mut rtnl::Held) -> Result {
        dev.start_all_queues(rtnl);
        Ok(())
    }

    fn stop(dev: &Device<Self>, rtnl: &mut rtnl::Held) {
        // The device is not running any more: who takes the locks after this leaves the queues
        // alone, so that the stop below is the last word.
        for queue in dev.enabled(rtnl) {
            queue.ring.lock_bh().consumer.state().reset();
        }
        dev.stop_all_queues(rtnl);
    }

    /// Offloads that a program has not allowed stay off, whatever a user wants.
    fn fix_features(&self, features: Features, rtnl: &rtnl::Held) -> Features {
        features & (self.allowed(rtnl) | !USER_FEATURES)
    }

    /// Switches the carrier. `EPERM` to have one where there is no queue.
    pub(crate) fn change_carrier(dev: &Device<Self>, on: bool) -> Result {
        if !on {
            dev.carrier_off();
        } else if dev.count() == 0 {
            return Err(EPERM);
        } else {
            dev.carrier_on();
        }
        Ok(())
    }
}

/// The operations of devices of one kind. The tables differ, and so tell the kinds apart.
macro_rules! operations {
    ($(#[$meta:meta])* $name:ident $($constant:tt)*) => {
        $(#[$meta])*
        pub(crate) struct $name;

        #[vtable]
        impl Operations for $name {
            type Private = Tun;
            $($constant)*

            fn init(dev: &Device<Tun>, rtnl: &mut rtnl::Held) -> Result {
                attach::init(dev, rtnl)
            }

            fn uninit(dev: &Device<Tun>, rtnl: &mut rtnl::Held) {
                attach::detach_all(dev, rtnl)
            }

            fn open(dev: &Device<Tun>, rtnl: &mut rtnl::Held) -> Result {
                Tun::open(dev, rtnl)
            }

            fn stop(dev: &Device<Tun>, rtnl: &mut rtnl::Held) {
                Tun::stop(dev, rtnl)
            }

            #[inline]
            fn start_xmit(dev: &Device<Tun>, skb: SkBuff, bh: &bh::Disabled) -> Verdict {
                Tun::start_xmit(dev, skb, bh)
            }

            fn select_queue(dev: &Device<Tun>, skb: &Borrowed) -> u16 {
                dev.select_queue(skb)
            }

            fn fix_features(
                dev: &Device<Tun>,
                features: Features,
                rtnl: &mut rtnl::Held,
            ) -> Features {
                dev.fix_features(features, rtnl)
            }

            fn set_rx_headroom(dev: &Device<Tun>, bytes: i32) {
                dev.set_headroom(bytes)
            }

            fn change_carrier(dev: &Device<Tun>, on: bool, _rtnl: &mut rtnl::Held) -> Result {
                Tun::change_carrier(dev, on)
            }
        }
    };
}

operations! {
    /// A TUN device.
    TunOps

    fn add_stats(dev: &Device<Tun>, stats: &mut Stats) {
        // Only here: a TAP device has the counter too, and shows it nowhere.
        stats.add_rx_frame_errors(dev.frame_errors.load(Relaxed) as u64);
    }
}

operations! {
    /// A TAP device.
    TapOps
    const ETHERNET_ADDRESS: bool = true;
    const STACKED_VLAN_OFFLOADS: bool = true;
    const MULTICAST_LIST: bool = true;

    fn set_xdp(dev: &Device<Tun>, program: Option<Program>, rtnl: &mut rtnl::Held) {
        Tun::set_xdp(dev, program, rtnl)
    }

    fn xdp_xmit(dev: &Device<Tun>, frames: &mut XmitBatch<'_>, bh: &bh::Disabled) -> Result {
        Tun::xdp_xmit(dev, frames, bh)
    }
}

/// Listens to what happens to the devices.
pub(crate) struct Events;

impl Listener for Events {
    fn event(dev: &Device, event: Event, rtnl: &mut rtnl::Held) -> Answer {
        let Some(dev) = LINK.downcast(dev) else {
            return Answer::Done;
        };
        match event {
            Event::TxQueueLen if Tun::resize(dev, rtnl).is_err() => return Answer::Veto,
            Event::Up => {
                for queue in dev.enabled(rtnl) {
                    queue.notify_write_space();
                }
            }
            _ => {}
        }
        Answer::Done
    }
}
