// SPDX-License-Identifier: GPL-2.0

//! A device: its state, and what the network core asks of it.

use crate::{
    attach,
    flags::{
        self,
        Kind, //
    },
    flow::{
        self,
        FlowTable, //
    },
    queue::{
        Queue,
        QueueRef, //
    },
    LINK, //
};
use kernel::{
    net::{
        device::{
            Device,
            Features,
            Operations,
            Private,
            Setup,
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
        rtnl::{
            self,
            Protected, //
        },
        skbuff::{
            Borrowed,
            DropReason,
            SkBuff, //
        },
        sock::Sock,
        tun_security::Blob,
        uidgid::{
            Gid,
            Uid, //
        }, //
    },
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        bh,
        module_ref::ModuleRef,
        rcu,
        rcu_pointer::RcuPointer,
        timer::Timer, //
    },
    uapi, //
};

/// Queues of a device at most, in use or parked: as many as a guest can have CPUs.
pub(crate) const MAX_QUEUES: usize = 256;

/// The queue length of a device that was not given one.
const TX_QUEUE_LEN: u32 = uapi::TUN_READQ_SIZE;
/// What the MTU can be, the link-layer header included.
const MTU: (u32, u32) = (68, 65535);

/// The offloads that a program has to allow before the stack may use them.
const USER_FEATURES: Features = Features::HW_CSUM
    .with(Features::TSO_ECN)
    .with(Features::TSO)
    .with(Features::TSO6)
    .with(Features::GSO_UDP_L4)
    .with(Features::GSO_UDP_TUNNEL)
    .with(Features::GSO_UDP_TUNNEL_CSUM);
/// The tags that travel beside a frame.
const VLAN_FEATURES: Features = Features::HW_VLAN_CTAG_TX.with(Features::HW_VLAN_STAG_TX);

/// The state of a device.
#[pin_data]
pub(crate) struct Tun {
    /// The queues in use: slots `0..count`. Those beyond are empty, or stale while the device goes.
    queues: [RcuPointer<QueueRef, rtnl::Held>; MAX_QUEUES],
    /// How many are in use. Written with the RTNL.
    count: Atomic<u32>,
    /// How many are parked. Written with the RTNL.
    disabled_count: Atomic<u32>,
    /// The parked ones, a list through [`Queue::next`].
    pub(crate) disabled: Protected<Option<QueueRef>>,
    /// Type and features. Written with the RTNL.
    flags: Atomic<u32>,
    owner: Atomic<u32>,
    group: Atomic<u32>,
    /// What a queue may have under way, for those in use when it is set.
    pub(crate) send_buffer: Protected<i32>,
    /// Keeps the module while the device is persistent.
    pub(crate) persist: Protected<Option<ModuleRef>>,
    /// The queue that makes the device, between allocation and registration.
    pub(crate) maker: Protected<Option<QueueRef>>,
    pub(crate) security: Blob,
    #[pin]
    flows: Timer<FlowTable>,
}

impl Tun {
    /// The state of a device of `kind`, to be made by a queue with the features it asked for.
    pub(crate) fn new(
        kind: Kind,
        request: u32,
        send_buffer: i32,
        maker: QueueRef,
    ) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            queues <- pin_init::init_array_from_fn(|_| RcuPointer::null()),
            count: Atomic::new(0),
            disabled_count: Atomic::new(0),
            disabled: Protected::new(None),
            flags: Atomic::new(flags::with_features(kind.flag(), request)),
            owner: Atomic::new(Uid::NONE.into_bits()),
            group: Atomic::new(Gid::NONE.into_bits()),
            send_buffer: Protected::new(send_buffer),
            persist: Protected::new(None),
            maker: Protected::new(Some(maker)),
            security: Blob::new()?,
            flows <- FlowTable::new(),
        })
    }

    /// Type and features, as of now.
    #[inline]
    pub(crate) fn flags_now(&self) -> u32 {
        self.flags.load(Relaxed)
    }

    /// Sets type and features.
    pub(crate) fn set_flags(&self, flags: u32, _rtnl: &mut rtnl::Held) {
        self.flags.store(flags, Relaxed);
    }

    /// Can it have more than one queue?
    #[inline]
    pub(crate) fn is_multi_queue(&self) -> bool {
        self.flags_now() & flags::MULTI_QUEUE != 0
    }

    /// How many queues are in use.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Relaxed)
    }

    /// Sets how many queues are in use.
    pub(crate) fn set_count(&self, count: u32, _rtnl: &mut rtnl::Held) {
        self.count.store(count, Relaxed);
    }

    /// How many queues are parked.
    #[inline]
    pub(crate) fn disabled_count(&self) -> u32 {
        self.disabled_count.load(Relaxed)
    }

    /// Sets how many queues are parked.
    pub(crate) fn set_disabled_count(&self, count: u32, _rtnl: &mut rtnl::Held) {
        self.disabled_count.store(count, Relaxed);
    }

    /// A slot.
    #[inline]
    pub(crate) fn slot(&self, index: u32) -> Option<&RcuPointer<QueueRef, rtnl::Held>> {
        self.queues.get(index as usize)
    }

    /// Does this queue own the slot? Any context.
    #[inline]
    pub(crate) fn is_slot_of(&self, index: u32, queue: &Sock<Queue>) -> bool {
        self.slot(index).is_some_and(|slot| slot.points_to(queue))
    }

    /// The queues in use.
    pub(crate) fn enabled<'a>(
        &'a self,
        rtnl: &'a rtnl::Held,
    ) -> impl Iterator<Item = &'a Sock<Queue>> {
        self.queues
            .iter()
            .take(self.count() as usize)
            .filter_map(move |slot| slot.get(rtnl))
    }

    /// The parked queues.
    fn parked<'a>(&'a self, rtnl: &'a rtnl::Held) -> impl Iterator<Item = &'a Sock<Queue>> {
        let first = self.disabled.get(rtnl).as_deref();
        core::iter::successors(first, move |queue| queue.next.get(rtnl).as_deref())
    }

    /// Who may join it besides an administrator.
    pub(crate) fn owner(&self) -> Uid {
        Uid::from_bits(self.owner.load(Relaxed))
    }

    /// Sets who may join it.
    pub(crate) fn set_owner(&self, owner: Uid, _rtnl: &mut rtnl::Held) {
        self.owner.store(owner.into_bits(), Relaxed);
    }

    /// Which group may join it besides an administrator.
    pub(crate) fn group(&self) -> Gid {
        Gid::from_bits(self.group.load(Relaxed))
    }

    /// Sets which group may join it.
    pub(crate) fn set_group(&self, group: Gid, _rtnl: &mut rtnl::Held) {
        self.group.store(group.into_bits(), Relaxed);
    }

    /// A queue wrote a frame of the flow with this hash.
    #[inline]
    pub(crate) fn learn_flow(&self, hash: u32, queue: u32) {
        flow::learn(&self.flows, hash, queue);
    }

    /// Fills in a device of this kind that is being made.
    pub(crate) fn dress(kind: Kind, setup: &mut Setup<'_>) {
        match kind {
            Kind::Tun => {
                setup.raw_ip(
                    uapi::net_device_flags_IFF_POINTOPOINT
                        | uapi::net_device_flags_IFF_NOARP
                        | uapi::net_device_flags_IFF_MULTICAST,
                );
            }
            Kind::Tap => {
                setup
                    .ethernet()
                    .no_skb_sharing()
                    .live_address_change()
                    .random_address();
            }
        }
        let all = Features::SG | Features::FRAGLIST | USER_FEATURES | VLAN_FEATURES;
        setup
            .mtu_range(MTU.0, MTU.1)
            .features(all, VLAN_FEATURES)
            .lockless_transmit();
    }

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
        if skb.orphan_frags_rx(GFP_ATOMIC).is_err() {
            return Err((skb, DropReason::SKB_UCOPY_FAULT));
        }
        skb.tx_timestamp();
        // It may wait for the reader for ever.
        skb.orphan();

        let mut ring = queue.ring.producer(bh);
        let produced = ring.produce(skb);
        // Not on a device that goes down, nor where no qdisc would keep what follows.
        if dev.flags_now() & flags::BACKPRESSURE != 0
            && dev.is_running()
            && !txq.has_no_qdisc()
            && ring.room() == Err(NoRoom::Full)
        {
            txq.stop_unless(|| ring.room().is_ok());
        }
        drop(ring);

        if let Err((skb, _)) = produced {
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

    fn select_queue(&self, skb: &Borrowed) -> u16 {
        let hash = skb.symmetric_hash();
        self.flows
            .find(hash)
            .unwrap_or_else(|| flow::spread(hash, self.count())) as u16
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

    fn fix_features(features: Features) -> Features {
        // No program can allow any offload yet.
        features & !USER_FEATURES
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

impl Private for Tun {
    const NETLINK_REFUSAL: &'static CStr = c"tun/tap creation via rtnetlink is not supported.";

    fn setup(setup: &mut Setup<'_>) {
        setup.tx_queue_len(TX_QUEUE_LEN);
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

            fn fix_features(_dev: &Device<Tun>, features: Features) -> Features {
                Tun::fix_features(features)
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
}

operations! {
    /// A TAP device.
    TapOps
    const ETHERNET_ADDRESS: bool = true;
    const STACKED_VLAN_OFFLOADS: bool = true;
    const MULTICAST_LIST: bool = true;
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
