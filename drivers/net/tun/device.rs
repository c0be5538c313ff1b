// SPDX-License-Identifier: GPL-2.0

//! A device: its state.

use crate::{
    address_filter::AddressFilter,
    ethtool,
    flags::{
        self,
        Kind, //
    },
    flow::{
        self,
        FlowTable, //
    },
    netlink,
    queue::{
        Queue,
        QueueRef, //
    },
    sysfs,
    vnet, //
};
use kernel::{
    fmt,
    net::{
        bpf::SocketFilter,
        device::{
            Device,
            Features,
            MessageKind,
            Private,
            Setup, //
        },
        ethtool::LinkSettings,
        link::Info,
        napi,
        receive::ETH_HLEN,
        rtnl::{
            self,
            Protected, //
        },
        skbuff,
        sock::{
            ClassicProgram,
            Sock, //
        },
        tun_security::Blob,
        uidgid::{
            Gid,
            Uid, //
        },
        xdp::{
            self,
            Program, //
        }, //
    },
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        module_ref::ModuleRef,
        rcu_pointer::RcuPointer,
        timer::Timer,
        Mutex, //
    },
    uapi, //
};

/// Queues of a device at most, in use or parked: as many as a guest can have CPUs.
pub(crate) const MAX_QUEUES: usize = 256;

/// The queue length of a device that was not given one.
const TX_QUEUE_LEN: u32 = uapi::TUN_READQ_SIZE;
/// The speed in Mbit/s that a device says it has.
const SPEED: u32 = 10_000;
/// What the MTU can be, the link-layer header included.
const MTU: (u32, u32) = (68, 65535);

/// The offloads that a program has to allow before the stack may use them.
pub(crate) const USER_FEATURES: Features = Features::HW_CSUM
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
    /// The offloads that a program has allowed.
    allowed: Protected<Features>,
    /// The bytes of the header in front of each frame, with `IFF_VNET_HDR`.
    header_size: Atomic<i32>,
    /// What is left in front of a frame that was written.
    headroom: Atomic<u32>,
    /// Frames that were written with a header that does not fit them.
    pub(crate) frame_errors: Atomic<usize>,
    /// Which kinds of messages are printed.
    messages: Atomic<u32>,
    /// How many written frames are received together, where more are announced.
    rx_frames: Atomic<u32>,
    /// The link as a user has set it, which means nothing to the driver.
    #[pin]
    pub(crate) link: Mutex<LinkSettings>,
    /// The addresses that the reader wants frames for.
    pub(crate) addresses: AddressFilter,
    /// Runs on what is written.
    pub(crate) xdp: RcuPointer<Program, rtnl::Held>,
    /// Chooses the queue of a frame.
    pub(crate) steering: RcuPointer<SocketFilter, rtnl::Held>,
    /// Says how much of a frame goes to the reader.
    pub(crate) program: RcuPointer<SocketFilter, rtnl::Held>,
    /// The classic filter for all queues, and whether it is attached.
    pub(crate) classic: Protected<ClassicProgram>,
    pub(crate) is_classic_attached: Protected<bool>,
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
            allowed: Protected::new(Features::NONE),
            header_size: Atomic::new(vnet::MIN_SIZE),
            headroom: Atomic::new(skbuff::pad() as u32),
            frame_errors: Atomic::new(0),
            messages: Atomic::new(0),
            rx_frames: Atomic::new(0),
            link <- new_mutex!(LinkSettings::fixed_twisted_pair(SPEED), "tun::link"),
            addresses: AddressFilter::new(),
            xdp: RcuPointer::null(),
            steering: RcuPointer::null(),
            program: RcuPointer::null(),
            classic: Protected::new(ClassicProgram::default()),
            is_classic_attached: Protected::new(false),
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
    pub(crate) fn parked<'a>(
        &'a self,
        rtnl: &'a rtnl::Held,
    ) -> impl Iterator<Item = &'a Sock<Queue>> {
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

    /// The offloads that a program has allowed.
    pub(crate) fn allowed(&self, rtnl: &rtnl::Held) -> Features {
        *self.allowed.get(rtnl)
    }

    /// Lets the stack use these offloads, and no others, whatever a user had chosen.
    pub(crate) fn allow(dev: &Device<Self>, offloads: Features, rtnl: &mut rtnl::Held) {
        *dev.allowed.get_mut(rtnl) = offloads;
        dev.want_features(USER_FEATURES, offloads, rtnl);
    }

    /// The bytes of the header in front of each frame. Never fewer than [`vnet::MIN_SIZE`].
    #[inline]
    pub(crate) fn header_size(&self) -> i32 {
        self.header_size.load(Relaxed)
    }

    /// Sets the bytes of the header.
    pub(crate) fn set_header_size(&self, size: i32, _rtnl: &mut rtnl::Held) {
        self.header_size.store(size, Relaxed);
    }

    /// What is left in front of a frame that was written.
    #[inline]
    pub(crate) fn headroom(&self) -> usize {
        self.headroom.load(Relaxed) as usize
    }

    /// Asks for room in front of frames that were written: as much as can be had of it.
    pub(crate) fn set_headroom(&self, bytes: i32) {
        let most = skbuff::max_head(0).min(usize::from(u16::MAX - 1));
        let most = most
            - match Kind::of(self.flags_now()) {
                Kind::Tun => 1,
                Kind::Tap => ETH_HLEN + skbuff::ip_align(),
            };
        let bytes = usize::try_from(bytes).unwrap_or(0);
        self.headroom
            .store(bytes.clamp(skbuff::pad(), most) as u32, Relaxed);
    }

    /// Which kinds of messages are printed.
    pub(crate) fn messages(&self) -> u32 {
        self.messages.load(Relaxed)
    }

    /// Sets which kinds of messages are printed.
    pub(crate) fn set_messages(&self, mask: u32) {
        self.messages.store(mask, Relaxed);
    }

    /// TUN or TAP?
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        Kind::of(self.flags_now())
    }

    /// Are messages of this kind printed?
    #[inline]
    pub(crate) fn prints(&self, kind: MessageKind) -> bool {
        kind.is_in(self.messages())
    }

    /// How many written frames are received together, where more are announced. 0 is none.
    #[inline]
    pub(crate) fn rx_frames(&self) -> u32 {
        self.rx_frames.load(Relaxed)
    }

    /// Sets how many written frames are received together: no more than a poll handles.
    pub(crate) fn set_rx_frames(&self, frames: u32) {
        self.rx_frames.store(frames.min(napi::WEIGHT), Relaxed);
    }

    /// The queue that is known for a flow.
    #[inline]
    pub(crate) fn find_flow(&self, hash: u32) -> Option<u32> {
        self.flows.find(hash)
    }

    /// A queue wrote a frame of the flow with this hash.
    #[inline]
    pub(crate) fn learn_flow(&self, hash: u32, queue: u32) {
        flow::learn(&self.flows, hash, queue);
    }

    /// Fills in a device of this kind that is being made.
    pub(crate) fn dress(kind: Kind, setup: &mut Setup<'_, Self>) {
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
                    .random_address()
                    .xdp_features(
                        xdp::Features::BASIC
                            .with(xdp::Features::REDIRECT)
                            .with(xdp::Features::XMIT),
                    );
            }
        }
        let all = Features::SG | Features::FRAGLIST | USER_FEATURES | VLAN_FEATURES;
        setup
            .mtu_range(MTU.0, MTU.1)
            .features(all, VLAN_FEATURES)
            .lockless_transmit()
            .attributes(&sysfs::GROUP);
    }
}

/// What the driver was told to do, in the log of those who asked for it.
pub(crate) trait Note {
    /// Prints a line.
    fn note(&self, line: fmt::Arguments<'_>);
}

impl Note for Device<Tun> {
    fn note(&self, line: fmt::Arguments<'_>) {
        if self.prints(MessageKind::DRIVER) {
            self.info(line);
        }
    }
}

impl Private for Tun {
    const NETLINK_REFUSAL: &'static CStr = c"tun/tap creation via rtnetlink is not supported.";

    fn setup(setup: &mut Setup<'_, Self>) {
        setup.tx_queue_len(TX_QUEUE_LEN).ethtool(&ethtool::TABLE);
    }

    const LINK_INFO_SIZE: usize = netlink::SIZE;

    fn fill_link_info(dev: &Device<Self>, info: &mut Info<'_>) -> Result {
        netlink::fill(dev, info)
    }
}
