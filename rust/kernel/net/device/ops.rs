// SPDX-License-Identifier: GPL-2.0

//! The operations of a network device.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::{
    Device,
    Features,
    Private, //
};
use crate::{
    bindings,
    error::{
        from_result,
        VTABLE_DEFAULT_ERROR, //
    },
    net::{
        rtnl,
        skbuff::{
            Borrowed,
            SkBuff, //
        },
        xdp, //
    },
    prelude::*,
    sync::bh,
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// What became of a frame that was to be transmitted. Either way it is not ours any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is on its way: `NETDEV_TX_OK`.
    Sent,
    /// It was dropped and counted: `NET_XMIT_DROP`.
    Dropped,
}

/// Counters on their way to user space: `struct rtnl_link_stats64`.
#[repr(transparent)]
pub struct Stats(bindings::rtnl_link_stats64);

impl Stats {
    /// Frames came in that were not well-formed.
    #[inline]
    pub fn add_rx_frame_errors(&mut self, frames: u64) {
        self.0.rx_frame_errors = self.0.rx_frame_errors.wrapping_add(frames);
    }
}

/// What a driver does for its devices: `struct net_device_ops`.
///
/// Unless said otherwise a callback may sleep and holds the RTNL.
#[vtable]
pub trait Operations: Sized + 'static {
    /// The state in the device's private area.
    type Private: Private;

    /// Addresses are Ethernet's: they can be set and are checked before the device comes up.
    const ETHERNET_ADDRESS: bool = false;

    /// Stacked VLAN tags keep the offloads of a single one.
    const STACKED_VLAN_OFFLOADS: bool = false;

    /// Multicast addresses may be added and removed; the device takes all frames anyhow.
    const MULTICAST_LIST: bool = false;

    /// Last step before the device is visible. On an error it must undo what it did: neither
    /// `uninit` nor the release of a visible device follows.
    fn init(_dev: &Device<Self::Private>, _rtnl: &mut rtnl::Held) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The device is going; undoes `init`.
    fn uninit(_dev: &Device<Self::Private>, _rtnl: &mut rtnl::Held) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The device comes up.
    fn open(_dev: &Device<Self::Private>, _rtnl: &mut rtnl::Held) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The device goes down. [`Device::is_running`] is false already.
    fn stop(_dev: &Device<Self::Private>, _rtnl: &mut rtnl::Held) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Transmits a frame. Softirq or process context, bottom halves off, several CPUs at a time
    /// if the device said that it locks for itself.
    fn start_xmit(dev: &Device<Self::Private>, skb: SkBuff, bh: &bh::Disabled) -> Verdict;

    /// Chooses the tx queue for a frame. Not called with one queue in use. Bottom halves off.
    /// What is out of range is taken as 0.
    fn select_queue(_dev: &Device<Self::Private>, _skb: &Borrowed) -> u16 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Adjusts a set of features that is about to become active.
    fn fix_features(
        _dev: &Device<Self::Private>,
        _features: Features,
        _rtnl: &mut rtnl::Held,
    ) -> Features {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Those who hand frames from this device to another need so many bytes in front of them; a
    /// negative number means that nobody does any more. The RTNL need not be held.
    fn set_rx_headroom(_dev: &Device<Self::Private>, _bytes: i32) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Adds to the counters, which have those that the core keeps per CPU already. Any context.
    fn add_stats(_dev: &Device<Self::Private>, _stats: &mut Stats) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// A user sets the program that runs on what comes in, or with `None` takes it away.
    fn set_xdp(
        _dev: &Device<Self::Private>,
        _program: Option<xdp::Program>,
        _rtnl: &mut rtnl::Held,
    ) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Transmits frames that were redirected here, as many as it can. Bottom halves off. On an
    /// error none was taken.
    fn xdp_xmit(
        _dev: &Device<Self::Private>,
        _frames: &mut xdp::XmitBatch<'_>,
        _bh: &bh::Disabled,
    ) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The user switches the carrier.
    fn change_carrier(_dev: &Device<Self::Private>, _on: bool, _rtnl: &mut rtnl::Held) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The table of the operations `O`, to be kept in a static: its address tells whose a device is.
///
/// # Examples
///
/// ```
/// use kernel::net::device::{Device, Operations, Private, Setup, Table, Verdict};
/// use kernel::net::skbuff::SkBuff;
/// use kernel::sync::bh;
///
/// struct State;
/// impl Private for State {
///     fn setup(setup: &mut Setup<'_, Self>) {
///         setup.ethernet().tx_queue_len(10);
///     }
/// }
///
/// struct Sink;
/// #[vtable]
/// impl Operations for Sink {
///     type Private = State;
///
///     fn start_xmit(_: &Device<State>, skb: SkBuff, _: &bh::Disabled) -> Verdict {
///         skb.consume();
///         Verdict::Sent
///     }
/// }
///
/// static SINK: Table<Sink> = Table::new();
/// # let _ = &SINK;
/// ```
#[repr(transparent)]
pub struct Table<O>(Opaque<bindings::net_device_ops>, PhantomData<O>);

// SAFETY: The table is never written.
unsafe impl<O> Sync for Table<O> {}

impl<O: Operations> Default for Table<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O: Operations> Table<O> {
    /// Fills in the table.
    pub const fn new() -> Self {
        let mut ops: bindings::net_device_ops = pin_init::zeroed();
        if O::HAS_INIT {
            ops.ndo_init = Some(Self::init);
        }
        if O::HAS_UNINIT {
            ops.ndo_uninit = Some(Self::uninit);
        }
        if O::HAS_OPEN {
            ops.ndo_open = Some(Self::open);
        }
        if O::HAS_STOP {
            ops.ndo_stop = Some(Self::stop);
        }
        ops.ndo_start_xmit = Some(Self::start_xmit);
        if O::HAS_SELECT_QUEUE {
            ops.ndo_select_queue = Some(Self::select_queue);
        }
        if O::HAS_FIX_FEATURES {
            ops.ndo_fix_features = Some(Self::fix_features);
        }
        if O::HAS_SET_RX_HEADROOM {
            ops.ndo_set_rx_headroom = Some(Self::set_rx_headroom);
        }
        if O::HAS_ADD_STATS {
            ops.ndo_get_stats64 = Some(Self::get_stats64);
        }
        if O::HAS_SET_XDP {
            ops.ndo_bpf = Some(Self::bpf);
        }
        if O::HAS_XDP_XMIT {
            ops.ndo_xdp_xmit = Some(Self::xdp_xmit);
        }
        if O::HAS_CHANGE_CARRIER {
            ops.ndo_change_carrier = Some(Self::change_carrier);
        }
        if O::ETHERNET_ADDRESS {
            ops.ndo_set_mac_address = Some(bindings::eth_mac_addr);
            ops.ndo_validate_addr = Some(bindings::eth_validate_addr);
        }
        if O::STACKED_VLAN_OFFLOADS {
            ops.ndo_features_check = Some(bindings::passthru_features_check);
        }
        if O::MULTICAST_LIST {
            ops.ndo_set_rx_mode = Some(Self::set_rx_mode);
        }
        Self(Opaque::new(ops), PhantomData)
    }

    /// The C table.
    #[inline]
    pub fn as_raw(&'static self) -> *const bindings::net_device_ops {
        self.0.get()
    }

    /// Is it a device with this table? Then it is one of this driver's.
    #[inline]
    pub fn downcast<'a>(&'static self, dev: &'a Device) -> Option<&'a Device<O::Private>> {
        // SAFETY: The pointer is set when the device is made.
        let ops = unsafe { (*dev.as_raw()).netdev_ops };
        // SAFETY: Only `Unregistered::new` sets this table, on devices with this private data.
        (ops == self.as_raw()).then(|| unsafe { Device::from_raw(dev.as_raw()) })
    }

    /// # Safety
    ///
    /// As all that follow: `dev` has this table, so that it is a `Device<O::Private>`, and the call
    /// comes from the core by the rules of `net_device_ops`.
    #[inline]
    unsafe fn device<'a>(dev: *mut bindings::net_device) -> &'a Device<O::Private> {
        // SAFETY: By this function's contract.
        unsafe { Device::from_raw(dev) }
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn init(dev: *mut bindings::net_device) -> c_int {
        // SAFETY: By this function's contract; `register_netdevice()` asserts the RTNL, and who
        // calls it lends its token.
        let (dev, mut rtnl) = unsafe { (Self::device(dev), rtnl::Held::assume()) };
        from_result(|| O::init(dev, &mut rtnl).map(|()| 0))
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn uninit(dev: *mut bindings::net_device) {
        // SAFETY: As `init`.
        let (dev, mut rtnl) = unsafe { (Self::device(dev), rtnl::Held::assume()) };
        O::uninit(dev, &mut rtnl)
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn open(dev: *mut bindings::net_device) -> c_int {
        // SAFETY: As `init`: `__dev_open()` asserts the RTNL.
        let (dev, mut rtnl) = unsafe { (Self::device(dev), rtnl::Held::assume()) };
        from_result(|| O::open(dev, &mut rtnl).map(|()| 0))
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn stop(dev: *mut bindings::net_device) -> c_int {
        // SAFETY: As `init`: `__dev_close_many()` asserts the RTNL.
        let (dev, mut rtnl) = unsafe { (Self::device(dev), rtnl::Held::assume()) };
        O::stop(dev, &mut rtnl);
        0
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `skb` is given up by the caller.
    unsafe extern "C" fn start_xmit(
        skb: *mut bindings::sk_buff,
        dev: *mut bindings::net_device,
    ) -> bindings::netdev_tx_t {
        // SAFETY: By this function's contract; `__dev_queue_xmit()` disables bottom halves.
        let (dev, skb, bh) = unsafe {
            (
                Self::device(dev),
                SkBuff::from_raw(NonNull::new_unchecked(skb)),
                bh::Disabled::assume(),
            )
        };
        match O::start_xmit(dev, skb, bh) {
            Verdict::Sent => bindings::netdev_tx_NETDEV_TX_OK,
            Verdict::Dropped => bindings::NET_XMIT_DROP as bindings::netdev_tx_t,
        }
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `skb` stays as it is for the call.
    unsafe extern "C" fn select_queue(
        dev: *mut bindings::net_device,
        skb: *mut bindings::sk_buff,
        _sb_dev: *mut bindings::net_device,
    ) -> u16 {
        // SAFETY: By this function's contract.
        let (dev, skb) = unsafe { (Self::device(dev), Borrowed::from_raw(skb)) };
        O::select_queue(dev, skb)
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn fix_features(
        dev: *mut bindings::net_device,
        features: bindings::netdev_features_t,
    ) -> bindings::netdev_features_t {
        // SAFETY: As `init`: `__netdev_update_features()` asserts the RTNL.
        let (dev, mut rtnl) = unsafe { (Self::device(dev), rtnl::Held::assume()) };
        O::fix_features(dev, Features::from_bits(features), &mut rtnl).bits()
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn set_rx_headroom(dev: *mut bindings::net_device, bytes: c_int) {
        // SAFETY: By this function's contract.
        O::set_rx_headroom(unsafe { Self::device(dev) }, bytes)
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `stats` is valid.
    unsafe extern "C" fn get_stats64(
        dev: *mut bindings::net_device,
        stats: *mut bindings::rtnl_link_stats64,
    ) {
        // SAFETY: By this function's contract; `Stats` is transparent.
        unsafe {
            bindings::dev_get_tstats64(dev, stats);
            O::add_stats(Self::device(dev), &mut *stats.cast());
        }
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn change_carrier(
        dev: *mut bindings::net_device,
        on: bindings::bool_,
    ) -> c_int {
        // SAFETY: As `init`: `dev_change_carrier()` is called under the RTNL.
        let (dev, mut rtnl) = unsafe { (Self::device(dev), rtnl::Held::assume()) };
        from_result(|| O::change_carrier(dev, on, &mut rtnl).map(|()| 0))
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `command` is valid; a program in it is given up on success.
    unsafe extern "C" fn bpf(
        dev: *mut bindings::net_device,
        command: *mut bindings::netdev_bpf,
    ) -> c_int {
        // SAFETY: By this function's contract; the caller holds the RTNL.
        let (dev, mut rtnl, program) = unsafe {
            if (*command).command != bindings::bpf_netdev_command_XDP_SETUP_PROG {
                return EINVAL.to_errno();
            }
            let program = (*command).__bindgen_anon_1.__bindgen_anon_1.prog;
            (
                Self::device(dev),
                rtnl::Held::assume(),
                xdp::Program::from_raw(program),
            )
        };
        O::set_xdp(dev, program, &mut rtnl);
        0
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `frames` points at `count` frames, which are given up as far as the
    /// result says.
    unsafe extern "C" fn xdp_xmit(
        dev: *mut bindings::net_device,
        count: c_int,
        frames: *mut *mut bindings::xdp_frame,
        flags: u32,
    ) -> c_int {
        if flags & !bindings::XDP_XMIT_FLUSH != 0 {
            return EINVAL.to_errno();
        }
        // SAFETY: By this function's contract; whoever transmits has bottom halves off.
        let (dev, bh, mut batch) = unsafe {
            let flush = flags & bindings::XDP_XMIT_FLUSH != 0;
            (
                Self::device(dev),
                bh::Disabled::assume(),
                xdp::XmitBatch::from_raw(frames, count.max(0) as usize, flush),
            )
        };
        match O::xdp_xmit(dev, &mut batch, bh) {
            Ok(()) => batch.taken() as c_int,
            Err(e) => e.to_errno(),
        }
    }

    /// # Safety
    ///
    /// None beyond those of its siblings: it does nothing.
    unsafe extern "C" fn set_rx_mode(_dev: *mut bindings::net_device) {}
}
