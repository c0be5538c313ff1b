// SPDX-License-Identifier: GPL-2.0

//! Universal TUN/TAP device driver.
//!
//! A program opens `/dev/net/tun` and attaches the file to a network device. What the stack sends
//! through the device it reads, what it writes the stack receives: IP packets on a TUN device,
//! Ethernet frames on a TAP device. Each open file is one queue of its device.
//!
//! | module | what it is |
//! |---|---|
//! | [`flags`] | the flags of `TUNSETIFF` and their rules |
//! | [`ifreq`] | the argument of the interface ioctls |
//! | [`frame`] | how a frame lies in a program's buffer |
//! | [`flow`] | which flow belongs to which queue |
//! | [`queue`] | a queue: an open file, its ring and its reader |
//! | [`device`] | a device: its state |
//! | [`netdev`] | what the network core asks of a device |
//! | [`attach`] | tying queues to a device, and untying them |
//! | [`iff`] | `TUNSETIFF`: making and joining devices |
//! | [`write`], [`read`] | frames between buffers and the stack |
//! | [`xdp`] | frames that have no socket buffer |
//! | [`chardev`] | the files: read, write, poll, signals |
//! | [`ioctl`] | the other ioctls |
//! | [`filter`] | filters of what goes to the reader |
//! | [`address_filter`] | one of them: by address |
//! | [`vnet`] | the virtio-net header |
//! | [`offload`] | which offloads go together |
//! | [`link_type`] | link-layer types and their addresses |
//! | [`ethtool`], [`netlink`], [`sysfs`] | what those show |
//!
//! # Locking
//!
//! From the outside in:
//!
//! 1. the RTNL, over which queue belongs to which device, and all configuration;
//! 2. a ring's consumer lock, with bottom halves off where the next is taken inside;
//! 3. a ring's producer lock, which transmit takes alone, in softirq;
//! 4. the flow table's lock, with bottom halves off, alone.
//!
//! Transmit finds the queue, and reads and writes find the device, under RCU.
//!
//! C header: [`include/uapi/linux/if_tun.h`](srctree/include/uapi/linux/if_tun.h)

#![forbid(unsafe_code)]

use kernel::{
    fs::{
        misc::{
            self,
            Minor, //
        },
        ops, //
    },
    module::this_module,
    net::{
        device::Table,
        link,
        notifier::{
            self,
            Notifier, //
        },
        sock::Proto, //
    },
    prelude::*, //
};

mod address_filter;
mod attach;
mod chardev;
mod device;
mod ethtool;
mod filter;
mod flags;
mod flow;
mod frame;
mod iff;
mod ifreq;
mod ioctl;
mod link_type;
mod netdev;
mod netlink;
mod offload;
mod queue;
mod read;
mod sysfs;
mod vnet;
mod write;
mod xdp;

use chardev::Files;
use device::Tun;
use netdev::{
    Events,
    TapOps,
    TunOps, //
};
use queue::Queue;

/// The version that ethtool shows and the log names.
const VERSION: &str = "1.6";

/// The minor number that belongs to the driver: `TUN_MINOR`.
const MINOR: u8 = 200;

static PROTO: Proto<Queue> = Proto::new(c"tun", this_module::<TunModule>());
static FILES: ops::Table<Files> = ops::Table::new(this_module::<TunModule>());
static MISC: misc::Device<Files> =
    misc::Device::new(Minor::Fixed(MINOR), c"tun", Some(c"net/tun"), &FILES);
static LINK: link::Ops<Tun> = link::Ops::new(c"tun");
static TUN: Table<TunOps> = Table::new();
static TAP: Table<TapOps> = Table::new();
static NOTIFIER: Notifier<Events> = Notifier::new();

kernel::vhost_backend! {
    backend: Queue,
    get_socket: tun_get_socket,
    get_ring: tun_get_tx_ring,
    wake: tun_wake_queue,
    free: tun_ptr_free,
}

/// The driver, loaded.
struct TunModule {
    // Dropped in this order: no new files, then no devices, then no events.
    _misc: misc::Registration<Files>,
    _link: link::Registration<Tun>,
    _notifier: notifier::Registration<Events>,
}

impl kernel::Module for TunModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        pr_info!("Universal TUN/TAP device driver, {}\n", VERSION);
        let link = LINK
            .register()
            .inspect_err(|_| pr_err!("Can't register link_ops\n"))?;
        let misc = MISC
            .register()
            .inspect_err(|_| pr_err!("Can't register misc device {}\n", MINOR))?;
        let notifier = NOTIFIER
            .register()
            .inspect_err(|_| pr_err!("Can't register netdevice notifier\n"))?;
        Ok(Self {
            _misc: misc,
            _link: link,
            _notifier: notifier,
        })
    }
}

module! {
    type: TunModule,
    name: "tun",
    authors: ["Rust tun developers"],
    description: "Universal TUN/TAP device driver",
    license: "GPL",
    alias: ["char-major-10-200", "devname:net/tun"],
    imports_ns: ["NETDEV_INTERNAL"],
}
