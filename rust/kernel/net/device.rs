// SPDX-License-Identifier: GPL-2.0

//! Network devices.
//!
//! A driver implements [`Operations`] on a marker type, keeps its [`Table`] in a static, puts its
//! state in the device's private area and makes devices through [`Unregistered`]. The core owns
//! a registered device and frees it, and the private data with it, when it has been unregistered
//! and the last reference is gone.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::{
    namespace::Namespace,
    queue::TxQueue,
    rtnl, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    sync::aref::AlwaysRefCounted,
    types::Opaque, //
};
use core::{
    marker::PhantomData,
    mem::MaybeUninit,
    ops::Deref,
    ptr::NonNull, //
};

// Where `bindgen` mislays a field, the build fails rather than the kernel.
static_assert!(size_of::<bindings::net_device>() == bindings::SIZEOF_NET_DEVICE);

mod address;
pub mod attribute;
#[cfg(CONFIG_KUNIT = "y")]
pub(super) mod fixture;
mod log;
mod ops;
mod setup;

pub use address::Address;
pub use log::{
    ratelimit,
    MessageKind, //
};
pub use ops::{
    Operations,
    Stats,
    Table,
    Verdict, //
};
pub(super) use setup::setup_raw;
pub use setup::{
    Features,
    Setup,
    Unregistered, //
};

/// Marks a device whose driver is not known.
pub struct Any(());

/// A name for a device, or a pattern with one `%d`: up to 15 bytes and a NUL.
///
/// # Examples
///
/// ```
/// use kernel::net::device::Name;
///
/// assert_eq!(Name::new(b"tun%d")?.as_bytes(), b"tun%d");
/// assert!(Name::new(&[b'x'; 16]).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name([u8; Self::SIZE]);

impl Name {
    /// Bytes with the NUL: `IFNAMSIZ`.
    pub const SIZE: usize = bindings::IFNAMSIZ as usize;

    /// A name from its bytes, which end at the first NUL. `EINVAL` when it is too long.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let bytes = bytes.split(|b| *b == 0).next().unwrap_or_default();
        let mut name = [0; Self::SIZE];
        name.get_mut(..bytes.len())
            .filter(|_| bytes.len() < Self::SIZE)
            .ok_or(EINVAL)?
            .copy_from_slice(bytes);
        Ok(Self(name))
    }

    /// The name without the NUL.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.split(|b| *b == 0).next().unwrap_or_default()
    }

    pub(super) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }
}

/// What lies in the private area of a device of ours.
///
/// # Invariants
///
/// `data` is initialised and pinned while `live`.
#[repr(C)]
struct Area<T> {
    live: bool,
    data: MaybeUninit<T>,
}

/// A network device: `struct net_device`, counted, with private data `T` of its driver.
///
/// # Invariants
///
/// Unless `T` is [`Any`], the device was made by [`Unregistered::new`] and its private area holds
/// an initialised `Area<T>` for as long as anybody can reach the device.
#[repr(transparent)]
pub struct Device<T = Any>(Opaque<bindings::net_device>, PhantomData<T>);

// SAFETY: Counted; used from any thread, as is `T`.
unsafe impl<T: Send + Sync> Send for Device<T> {}
// SAFETY: The methods take the RTNL where the core wants it and use atomics elsewhere.
unsafe impl<T: Send + Sync> Sync for Device<T> {}

// SAFETY: Unregistering waits for the references that `dev_hold()` takes before it frees.
unsafe impl<T> AlwaysRefCounted for Device<T> {
    #[inline]
    fn inc_ref(&self) {
        // SAFETY: `&self` says that the device is there.
        unsafe { bindings::dev_hold(self.as_raw()) }
    }

    #[inline]
    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller gives up one count.
        unsafe { bindings::dev_put(obj.cast().as_ptr()) }
    }
}

impl<T> Device<T> {
    /// Wraps a C device.
    ///
    /// # Safety
    ///
    /// `dev` stays for `'a`, and fulfils the invariants of `Device<T>`.
    #[inline]
    pub unsafe fn from_raw<'a>(dev: *mut bindings::net_device) -> &'a Self {
        // SAFETY: `Device` is transparent; the rest is this function's contract.
        unsafe { &*dev.cast() }
    }

    /// The C device.
    #[inline]
    pub fn as_raw(&self) -> *mut bindings::net_device {
        self.0.get()
    }

    #[inline]
    fn area(&self) -> *mut Area<T> {
        // SAFETY: The device is there; the private area is behind it.
        unsafe { bindings::netdev_priv(self.as_raw()).cast() }
    }

    /// The device without the type of its private data.
    #[inline]
    pub fn untyped(&self) -> &Device {
        // SAFETY: `Device<Any>` asks for nothing more.
        unsafe { Device::from_raw(self.as_raw()) }
    }

    /// Its namespace. The RTNL keeps the device from moving to another.
    #[inline]
    pub fn net<'a>(&'a self, _rtnl: &'a rtnl::Held) -> &'a Namespace {
        // SAFETY: A device keeps its namespace counted, and cannot leave it without the RTNL.
        unsafe { Namespace::from_raw(bindings::dev_net(self.as_raw())) }
    }

    /// Its name. The RTNL keeps it from being renamed.
    pub fn name(&self, _rtnl: &rtnl::Held) -> Name {
        // SAFETY: Names are written under the RTNL.
        Name(unsafe { (*self.as_raw()).name })
    }

    /// The flags that user space sees (`IFF_UP` and so on), as of now.
    #[inline]
    pub fn flags(&self) -> u32 {
        // SAFETY: Written by `WRITE_ONCE()`; this is a `READ_ONCE()`.
        unsafe { (&raw const (*self.as_raw()).flags).read_volatile() }
    }

    /// Is it up, as of now? See [`is_running`](Self::is_running).
    #[inline]
    pub fn is_up(&self) -> bool {
        self.flags() & bindings::net_device_flags_IFF_UP != 0
    }

    /// Has it been opened? Cleared before `stop` is called. Any context.
    #[inline]
    pub fn is_running(&self) -> bool {
        // SAFETY: The device is there.
        unsafe { bindings::netif_running(self.as_raw()) }
    }

    /// Is it registered, and not on its way out?
    #[inline]
    pub fn is_registered(&self) -> bool {
        // SAFETY: Written by `WRITE_ONCE()`; this is a `READ_ONCE()`.
        let state = unsafe { (&raw const (*self.as_raw()).reg_state).read_volatile() };
        u32::from(state) == bindings::netdev_reg_state_NETREG_REGISTERED
    }

    /// The length of the queue that the user asked for (`txqueuelen`), in frames.
    #[inline]
    pub fn tx_queue_len(&self, _rtnl: &rtnl::Held) -> u32 {
        // SAFETY: Written under the RTNL.
        unsafe { (*self.as_raw()).tx_queue_len }
    }

    /// The carrier is there. Any context.
    #[inline]
    pub fn carrier_on(&self) {
        // SAFETY: The device is there.
        unsafe { bindings::netif_carrier_on(self.as_raw()) }
    }

    /// The carrier is gone. Any context.
    #[inline]
    pub fn carrier_off(&self) {
        // SAFETY: The device is there.
        unsafe { bindings::netif_carrier_off(self.as_raw()) }
    }

    /// Is there a carrier?
    #[inline]
    pub fn carrier(&self) -> bool {
        // SAFETY: The device is there.
        unsafe { bindings::netif_carrier_ok(self.as_raw()) }
    }

    /// One of the tx queues it was made with; `None` beyond them.
    #[inline]
    pub fn tx_queue(&self, index: u16) -> Option<TxQueue<'_>> {
        let index = u32::from(index);
        // SAFETY: The number is set when the device is made.
        if index >= unsafe { (*self.as_raw()).num_tx_queues } {
            return None;
        }
        // SAFETY: The index is in range, and the queues live as long as the device.
        unsafe {
            NonNull::new(bindings::netdev_get_tx_queue(self.as_raw(), index))
                .map(|txq| TxQueue::from_raw(txq))
        }
    }

    /// Lets all tx queues run. For `open`.
    #[inline]
    pub fn start_all_queues(&self, _rtnl: &rtnl::Held) {
        // SAFETY: The device is there.
        unsafe { bindings::netif_tx_start_all_queues(self.as_raw()) }
    }

    /// Stops all tx queues. For `stop`.
    #[inline]
    pub fn stop_all_queues(&self, _rtnl: &rtnl::Held) {
        // SAFETY: The device is there.
        unsafe { bindings::netif_tx_stop_all_queues(self.as_raw()) }
    }

    /// Sets how many of the queues, tx and rx, are in use. `EINVAL` for 0 or too many, `ENOMEM`.
    ///
    /// Lowering the number resets the qdiscs of those that go.
    pub fn set_real_queues(&self, count: u16, _rtnl: &mut rtnl::Held) -> Result {
        // SAFETY: The RTNL is held.
        to_result(unsafe {
            bindings::netif_set_real_num_tx_queues(self.as_raw(), u32::from(count))
        })?;
        // SAFETY: The RTNL is held.
        to_result(unsafe {
            bindings::netif_set_real_num_rx_queues(self.as_raw(), u32::from(count))
        })
    }

    /// Counts a frame that was dropped on its way out. Any context.
    #[inline]
    pub fn count_tx_dropped(&self) {
        // SAFETY: The device is there; the counters are allocated on first use.
        unsafe { bindings::dev_core_stats_tx_dropped_inc(self.as_raw()) }
    }

    /// Counts a frame that was dropped on its way in. Any context.
    #[inline]
    pub fn count_rx_dropped(&self) {
        // SAFETY: The device is there; the counters are allocated on first use.
        unsafe { bindings::dev_core_stats_rx_dropped_inc(self.as_raw()) }
    }

    /// What is switched on, as of now.
    #[inline]
    pub fn features(&self) -> Features {
        // SAFETY: Read racily where frames are handled, as C does; an aligned word.
        Features::from_bits(unsafe { (&raw const (*self.as_raw()).features).read_volatile() })
    }

    /// Makes `wanted` what the user is taken to want of the features `among`, and switches.
    pub fn want_features(&self, among: Features, wanted: Features, _rtnl: &mut rtnl::Held) {
        // SAFETY: The RTNL is held.
        unsafe {
            let dev = self.as_raw();

            (*dev).wanted_features =
                (*dev).wanted_features & !among.bits() | (wanted & among).bits();
            bindings::netdev_update_features(dev);
        }
    }

    /// Gives a device that is down another link-layer type (`ARPHRD_`), with addresses of so many
    /// bytes. Who listens may refuse, with an errno.
    pub fn set_type(&self, kind: u16, address_len: u8, _rtnl: &mut rtnl::Held) -> Result {
        // SAFETY: The RTNL is held, under which both fields are written.
        unsafe {
            let dev = self.as_raw();
            let ret = bindings::call_netdevice_notifiers(
                bindings::netdev_cmd_NETDEV_PRE_TYPE_CHANGE as c_ulong,
                dev,
            );
            to_result(bindings::notifier_to_errno(ret))?;
            (*dev).type_ = kind;
            (*dev).addr_len = address_len;
            bindings::call_netdevice_notifiers(
                bindings::netdev_cmd_NETDEV_POST_TYPE_CHANGE as c_ulong,
                dev,
            );
        }
        Ok(())
    }

    /// Tells the world that something about the device changed, if it is up.
    pub fn state_change(&self, _rtnl: &mut rtnl::Held) {
        // SAFETY: The RTNL is held.
        unsafe { bindings::netdev_state_change(self.as_raw()) }
    }

    /// Unregisters the device, unless that was done before.
    ///
    /// Calls `stop` and `uninit`. The rest, waiting for references and freeing, is done when the
    /// RTNL is released.
    pub fn unregister(&self, _rtnl: &mut rtnl::Held) {
        if self.is_registered() {
            // SAFETY: The RTNL is held and the device is registered.
            unsafe { bindings::unregister_netdevice(self.as_raw()) }
        }
    }
}

/// Private data that is not [`Any`]: a device of ours.
pub trait Private: Send + Sync + Sized + 'static {
    /// What a user reads who asks netlink to make such a device.
    const NETLINK_REFUSAL: &'static CStr = c"this kind of device is not made by rtnetlink";

    /// The bytes that [`fill_link_info`](Self::fill_link_info) needs at most; see
    /// [`link::space`](super::link::space).
    const LINK_INFO_SIZE: usize = 0;

    /// Fills in the new device, before the private data exists.
    fn setup(setup: &mut Setup<'_, Self>);

    /// Says what is particular to the device, for netlink. Any lock or none may be held.
    fn fill_link_info(_dev: &Device<Self>, _info: &mut super::link::Info<'_>) -> Result {
        Ok(())
    }
}

impl<T: Private> Device<T> {
    /// Counts frames and bytes that went out to whoever reads them. Process context.
    #[inline]
    pub fn count_tx(&self, frames: u32, bytes: usize) {
        if !self.has_stats() {
            return;
        }
        // SAFETY: The counters are allocated, and per-CPU access has preemption off.
        unsafe {
            bindings::preempt_disable();
            bindings::dev_sw_netstats_tx_add(self.as_raw(), frames, bytes as c_uint);
            bindings::preempt_enable();
        }
    }

    /// Counts a frame of `bytes` that came in. Process context.
    #[inline]
    pub fn count_rx(&self, bytes: usize) {
        if !self.has_stats() {
            return;
        }
        // SAFETY: The counters are allocated, and per-CPU access has preemption off.
        unsafe {
            bindings::preempt_disable();
            bindings::dev_sw_netstats_rx_add(self.as_raw(), bytes as c_uint);
            bindings::preempt_enable();
        }
    }

    /// The core allocates the counters in registration, after `init`.
    #[inline]
    fn has_stats(&self) -> bool {
        // SAFETY: Set before the device can be found, cleared when no one can find it.
        unsafe { !(*self.as_raw()).__bindgen_anon_2.tstats.is_null() }
    }
}

impl<T: Private> Deref for Device<T> {
    type Target = T;

    /// The private data.
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: By the type invariants the area is initialised.
        unsafe { (*self.area()).data.assume_init_ref() }
    }
}

#[kunit_tests(rust_net_device)]
mod tests {
    use super::*;

    #[test]
    fn names() -> Result {
        assert_eq!(Name::new(b"eth0\0junk")?.as_bytes(), b"eth0");
        assert_eq!(Name::new(b"")?.as_bytes(), b"");
        assert_eq!(Name::new(&[b'a'; 15])?.as_bytes().len(), 15);
        assert_eq!(Name::new(&[b'a'; 16]).err(), Some(EINVAL));
        assert_eq!(Name::new(&[b'a'; 400]).err(), Some(EINVAL));
        Ok(())
    }

    #[test]
    fn loopback() -> Result {
        let rtnl = rtnl::lock();
        let lo = Namespace::init()
            .find(&Name::new(b"lo")?, &rtnl)
            .ok_or(ENODEV)?;
        assert!(lo.is_registered());
        assert_eq!(lo.name(&rtnl).as_bytes(), b"lo");
        assert!(core::ptr::eq(lo.net(&rtnl), Namespace::init()));
        assert!(lo.tx_queue(0).is_some());
        assert!(lo.tx_queue(u16::MAX).is_none());
        Ok(())
    }
}
