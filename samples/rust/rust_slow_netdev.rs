// SPDX-License-Identifier: GPL-2.0

//! A network device that is slow on purpose.
//!
//! What is sent through it goes into a ring; a timer takes a few frames out of it each jiffy and
//! ends them. When the ring is full the queue stops, so that the senders feel how slow it is and
//! nothing is lost. To see it:
//!
//! ```sh
//! modprobe rust_slow_netdev
//! ip addr add 10.1.2.1/24 dev slow0
//! ip link set slow0 up
//! ip neigh add 10.1.2.2 lladdr 02:00:00:00:00:02 dev slow0
//! yes | socat -u -b 1000 - UDP-SENDTO:10.1.2.2:9 &
//! ip -s link show slow0
//! ```

#![forbid(unsafe_code)]

use kernel::{
    net::{
        device::{
            Device,
            Name,
            Operations,
            Private,
            Setup,
            Table,
            Unregistered,
            Verdict, //
        },
        link,
        namespace::Namespace,
        ptr_ring::{
            NoRoom,
            PtrRing, //
        },
        rtnl,
        skbuff::{
            DropReason,
            SkBuff, //
        }, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        bh,
        rcu,
        rcu_pointer::RcuPointer,
        timer::{
            self,
            Tick,
            Timer, //
        }, //
    },
    time::Jiffies, //
};

/// Slots of the ring.
const SLOTS: u32 = 64;
/// Frames a jiffy.
const PACE: usize = 16;

static OPS: Table<SlowOps> = Table::new();
static LINK: link::Ops<Slow> = link::Ops::new(c"slow");

/// What the timer works on.
#[pin_data]
struct Reader {
    #[pin]
    ring: PtrRing<SkBuff>,
    /// The device, while it is registered.
    dev: RcuPointer<ARef<Device<Slow>>, rtnl::Held>,
}

impl Tick for Reader {
    fn tick(&self) -> Option<Jiffies> {
        let rcu = rcu::read_lock();
        let dev = self.dev.read(&rcu)?;
        for _ in 0..PACE {
            let Some(skb) = self.ring.consumer().consume() else {
                break;
            };
            dev.count_tx(1, skb.len());
            skb.consume();
        }
        if let Some(txq) = dev.tx_queue(0) {
            if txq.is_stopped_after_consume() && dev.is_running() {
                txq.wake();
            }
        }
        Some(timer::now() + 1)
    }
}

/// The state of the device.
#[pin_data]
struct Slow {
    #[pin]
    reader: Timer<Reader>,
}

impl Private for Slow {
    fn setup(setup: &mut Setup<'_, Self>) {
        setup.ethernet().random_address().lockless_transmit();
    }
}

struct SlowOps;

#[vtable]
impl Operations for SlowOps {
    type Private = Slow;

    const ETHERNET_ADDRESS: bool = true;

    fn uninit(dev: &Device<Slow>, rtnl: &mut rtnl::Held) {
        if let Some(old) = dev.reader.dev.replace(None, rtnl) {
            drop(old.synchronize_expedited());
        }
    }

    fn open(dev: &Device<Slow>, rtnl: &mut rtnl::Held) -> Result {
        dev.reader.arm(timer::now() + 1);
        dev.start_all_queues(rtnl);
        Ok(())
    }

    fn stop(dev: &Device<Slow>, rtnl: &mut rtnl::Held) {
        dev.stop_all_queues(rtnl);
    }

    fn start_xmit(dev: &Device<Slow>, mut skb: SkBuff, bh: &bh::Disabled) -> Verdict {
        skb.tx_timestamp();
        let mut ring = dev.reader.ring.producer(bh);
        let produced = ring.produce(skb);
        if ring.room() == Err(NoRoom::Full) {
            if let Some(txq) = dev.tx_queue(0) {
                txq.stop_unless(|| ring.room().is_ok());
            }
        }
        drop(ring);
        match produced {
            Ok(()) => Verdict::Sent,
            Err((skb, _)) => {
                dev.count_tx_dropped();
                skb.drop_reason(DropReason::FULL_RING);
                Verdict::Dropped
            }
        }
    }
}

struct SlowModule {
    _link: link::Registration<Slow>,
}

impl kernel::Module for SlowModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let link = LINK.register()?;
        let mut rtnl = rtnl::lock();
        let state = try_pin_init!(Slow {
            reader <- Timer::new(try_pin_init!(Reader {
                ring <- PtrRing::new(SLOTS, (), GFP_KERNEL),
                dev: RcuPointer::null(),
            })),
        });
        let dev = Unregistered::new(
            &OPS,
            &LINK,
            Namespace::init(),
            &Name::new(b"slow%d")?,
            1,
            state,
        )?
        .register(&mut rtnl)?;
        drop(dev.reader.dev.replace(Some(dev.clone()), &mut rtnl));
        Ok(Self { _link: link })
    }
}

module! {
    type: SlowModule,
    name: "rust_slow_netdev",
    authors: ["Rust tun developers"],
    description: "A network device that is slow on purpose",
    license: "GPL",
}
