// SPDX-License-Identifier: GPL-2.0

//! Making and registering a network device.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::{
    attribute::Group,
    Area,
    Device,
    Name,
    Operations,
    Private,
    Table, //
};
use crate::{
    bindings,
    error::to_result,
    net::{
        ethtool,
        link,
        namespace::Namespace,
        rtnl,
        xdp, //
    },
    prelude::*,
    sync::aref::ARef, //
};
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull, //
};

/// A set of device features: `netdev_features_t`.
///
/// # Examples
///
/// ```
/// use kernel::net::device::Features;
///
/// let f = Features::SG | Features::HW_CSUM;
/// assert_eq!(f & Features::SG, Features::SG);
/// assert_eq!(f & !Features::SG, Features::HW_CSUM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(bindings::netdev_features_t);

macro_rules! features {
    ($($(#[$meta:meta])* $name:ident = $bit:ident;)*) => {
        impl Features {
            $(
                $(#[$meta])*
                pub const $name: Self = Self(1 << bindings::$bit);
            )*
        }
    };
}

features! {
    /// Scatter and gather.
    SG = NETIF_F_SG_BIT;
    /// Lists of fragments.
    FRAGLIST = NETIF_F_FRAGLIST_BIT;
    /// Checksums of any protocol.
    HW_CSUM = NETIF_F_HW_CSUM_BIT;
    /// TCP segmentation over IPv4.
    TSO = NETIF_F_TSO_BIT;
    /// TCP segmentation with ECN.
    TSO_ECN = NETIF_F_TSO_ECN_BIT;
    /// TCP segmentation over IPv6.
    TSO6 = NETIF_F_TSO6_BIT;
    /// UDP segmentation.
    GSO_UDP_L4 = NETIF_F_GSO_UDP_L4_BIT;
    /// Segmentation inside a UDP tunnel.
    GSO_UDP_TUNNEL = NETIF_F_GSO_UDP_TUNNEL_BIT;
    /// The same with a checksum outside.
    GSO_UDP_TUNNEL_CSUM = NETIF_F_GSO_UDP_TUNNEL_CSUM_BIT;
    /// C-tags are inserted by the device.
    HW_VLAN_CTAG_TX = NETIF_F_HW_VLAN_CTAG_TX_BIT;
    /// S-tags are inserted by the device.
    HW_VLAN_STAG_TX = NETIF_F_HW_VLAN_STAG_TX_BIT;
}

impl Features {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// From the C value.
    #[inline]
    pub const fn from_bits(bits: bindings::netdev_features_t) -> Self {
        Self(bits)
    }

    /// The C value.
    #[inline]
    pub const fn bits(self) -> bindings::netdev_features_t {
        self.0
    }

    /// Both sets together, in a constant.
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl core::ops::BitOr for Features {
    type Output = Self;

    #[inline]
    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

impl core::ops::BitAnd for Features {
    type Output = Self;

    #[inline]
    fn bitand(self, rhs: Self) -> Self {
        Self(self.0 & rhs.0)
    }
}

impl core::ops::Not for Features {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// The flags that share a word: `priv_flags_fast`.
type Fast = bindings::net_device__bindgen_ty_1__bindgen_ty_1;

/// A device with private data `T` that nobody else can see yet, being filled in. The setters chain.
///
/// # Invariants
///
/// `dev` is allocated, not registered, and ours.
pub struct Setup<'a, T> {
    dev: NonNull<bindings::net_device>,
    _dev: PhantomData<&'a mut T>,
}

impl<T: Private> Setup<'_, T> {
    #[inline]
    fn raw(&mut self) -> *mut bindings::net_device {
        self.dev.as_ptr()
    }

    /// An Ethernet device: header, broadcast address, MTU and queue length of 1000.
    pub fn ethernet(&mut self) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe { bindings::ether_setup(self.raw()) };
        self
    }

    /// A random address, marked as such.
    pub fn random_address(&mut self) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe { bindings::eth_hw_addr_random(self.raw()) };
        self
    }

    /// The address may change while the device is up.
    pub fn live_address_change(&mut self) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe {
            let fast = &raw mut (*self.raw()).__bindgen_anon_1.__bindgen_anon_1;
            Fast::set_priv_flags_raw(
                fast,
                Fast::priv_flags_raw(fast)
                    | bindings::netdev_priv_flags_IFF_LIVE_ADDR_CHANGE as c_ulong,
            );
        }
        self
    }

    /// Frames that the driver keeps must not be sent again meanwhile, as pktgen would.
    pub fn no_skb_sharing(&mut self) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe {
            let fast = &raw mut (*self.raw()).__bindgen_anon_1.__bindgen_anon_1;
            Fast::set_priv_flags_raw(
                fast,
                Fast::priv_flags_raw(fast)
                    & !(bindings::netdev_priv_flags_IFF_TX_SKB_SHARING as c_ulong),
            );
        }
        self
    }

    /// A device of bare IP packets: no address, no header, `ARPHRD_NONE`, `flags` as given.
    pub fn raw_ip(&mut self, flags: u32) -> &mut Self {
        let dev = self.raw();
        // SAFETY: By the type invariants; the header operations are static.
        unsafe {
            (*dev).header_ops = &raw const bindings::ip_tunnel_header_ops;
            (*dev).hard_header_len = 0;
            (*dev).addr_len = 0;
            (*dev).mtu = 1500;
            (*dev).type_ = bindings::ARPHRD_NONE as u16;
            (*dev).flags = flags;
        }
        self
    }

    /// The range that the MTU can be set to, less the link-layer header at the upper end.
    pub fn mtu_range(&mut self, min: u32, max: u32) -> &mut Self {
        let dev = self.raw();
        // SAFETY: By the type invariants.
        unsafe {
            (*dev).min_mtu = min;
            (*dev).max_mtu = max.saturating_sub(u32::from((*dev).hard_header_len));
        }
        self
    }

    /// The queue length until the user sets another. 0 makes a device without qdisc.
    pub fn tx_queue_len(&mut self, len: u32) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe { (*self.raw()).tx_queue_len = len };
        self
    }

    /// What the device can do: on at first, and for the user to switch.
    ///
    /// The same holds inside tunnels, and on VLANs above it but for `not_on_vlan`.
    pub fn features(&mut self, all: Features, not_on_vlan: Features) -> &mut Self {
        let dev = self.raw();
        // SAFETY: By the type invariants.
        unsafe {
            (*dev).hw_features = all.bits();
            (*dev).hw_enc_features = all.bits();
            (*dev).features = all.bits();
            (*dev).vlan_features = (all & !not_on_vlan).bits();
        }
        self
    }

    /// The driver's transmit locks for itself: several CPUs may call it at once.
    pub fn lockless_transmit(&mut self) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe { Fast::set_lltx_raw(&raw mut (*self.raw()).__bindgen_anon_1.__bindgen_anon_1, 1) };
        self
    }

    /// What `ethtool` shows and sets.
    pub fn ethtool<O: ethtool::Operations<Private = T>>(
        &mut self,
        table: &'static ethtool::Table<O>,
    ) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe { (*self.raw()).ethtool_ops = table.as_raw() };
        self
    }

    /// What the device can do with XDP programs.
    pub fn xdp_features(&mut self, features: xdp::Features) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe { (*self.raw()).xdp_features = features.bits() };
        self
    }

    /// Files in the device's folder in sysfs, there from the start.
    pub fn attributes(&mut self, group: &'static Group<T>) -> &mut Self {
        // SAFETY: By the type invariants; the first of the groups is the driver's.
        unsafe { (*self.raw()).sysfs_groups[0] = group.as_raw() };
        self
    }

    /// Asks for an interface index, which registration refuses if it is taken. 0 is any.
    pub fn ifindex(&mut self, ifindex: i32) -> &mut Self {
        // SAFETY: By the type invariants.
        unsafe { (*self.raw()).ifindex = ifindex };
        self
    }
}

/// A device that is allocated and not registered yet.
///
/// # Invariants
///
/// `dev` is allocated, not registered, ours, and its area holds a live `Area<T>`.
///
/// # Examples
///
/// ```
/// use kernel::net::{
///     device::{Device, Name, Operations, Private, Setup, Table, Unregistered, Verdict},
///     link,
///     namespace::Namespace,
///     rtnl,
///     skbuff::SkBuff, //
/// };
/// use kernel::sync::bh;
///
/// struct State(u32);
/// impl Private for State {
///     fn setup(setup: &mut Setup<'_, Self>) {
///         setup.ethernet().random_address();
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
/// static LINK: link::Ops<State> = link::Ops::new(c"doctest");
///
/// let _registration = LINK.register()?;
/// let mut rtnl = rtnl::lock();
/// let dev = Unregistered::new(
///     &SINK,
///     &LINK,
///     Namespace::init(),
///     &Name::new(b"doctest%d")?,
///     1,
///     Ok::<_, Error>(State(7)),
/// )?
/// .register(&mut rtnl)?;
/// assert_eq!(dev.name(&rtnl).as_bytes(), b"doctest0");
/// assert_eq!(dev.0, 7);
/// assert!(SINK.downcast(dev.untyped()).is_some());
/// dev.unregister(&mut rtnl);
/// // References go before the RTNL, whose release waits for them.
/// drop(dev);
/// # Ok::<(), Error>(())
/// ```
pub struct Unregistered<T: Private> {
    dev: NonNull<bindings::net_device>,
    _private: PhantomData<T>,
}

impl<T: Private> Unregistered<T> {
    /// Allocates a device with `queues` tx and rx queues. May sleep. `ENOMEM`, or what `private`
    /// returns.
    pub fn new<O: Operations<Private = T>>(
        table: &'static Table<O>,
        link: &'static link::Ops<T>,
        net: &Namespace,
        name: &Name,
        queues: u16,
        private: impl PinInit<T, Error>,
    ) -> Result<Self> {
        const {
            // The private area is aligned to a cache line, as the device is: it is larger than
            // any allocation that is less aligned.
            assert!(
                core::mem::align_of::<Area<T>>() <= core::mem::align_of::<bindings::net_device>()
            );
            assert!(core::mem::size_of::<Area<T>>() <= c_int::MAX as usize);
        }
        // SAFETY: `setup_raw` is made for a device with an `Area<T>`, which fits by the size given.
        let dev = unsafe {
            bindings::alloc_netdev_mqs(
                core::mem::size_of::<Area<T>>() as c_int,
                name.as_ptr(),
                bindings::NET_NAME_UNKNOWN as u8,
                Some(setup_raw::<T>),
                c_uint::from(queues),
                c_uint::from(queues),
            )
        };
        let dev = NonNull::new(dev).ok_or(ENOMEM)?;
        // SAFETY: The device is ours, and its zeroed private area is large enough and aligned.
        unsafe {
            bindings::dev_net_set(dev.as_ptr(), net.as_raw());
            (*dev.as_ptr()).netdev_ops = table.as_raw();
            (*dev.as_ptr()).rtnl_link_ops = link.as_raw();
            // `pcpu_stat_type` is a bit field beside others; the device is still ours alone.
            bindings::net_device::set_pcpu_stat_type_raw(
                dev.as_ptr(),
                bindings::netdev_stat_type_NETDEV_PCPU_STAT_TSTATS,
            );
        }
        // SAFETY: As above.
        let area: *mut Area<T> = unsafe { bindings::netdev_priv(dev.as_ptr()) }.cast();
        // SAFETY: The slot is valid for writes, and the area does not move.
        if let Err(e) = unsafe { pin_init::raw_try_init((*area).data.as_mut_ptr(), private) } {
            // SAFETY: Not registered, and the private data does not exist.
            unsafe { bindings::free_netdev(dev.as_ptr()) };
            return Err(e);
        }
        // SAFETY: As above.
        unsafe { (*area).live = true };
        // INVARIANT: The area is live.
        Ok(Self {
            dev,
            _private: PhantomData,
        })
    }

    /// More to fill in.
    #[inline]
    pub fn setup(&mut self) -> Setup<'_, T> {
        // INVARIANT: By the invariants of `Self`.
        Setup {
            dev: self.dev,
            _dev: PhantomData,
        }
    }

    /// The private data.
    #[inline]
    pub fn private(&self) -> &T {
        // SAFETY: By the type invariants the area is live.
        unsafe { Device::<T>::from_raw(self.dev.as_ptr()) }
    }

    /// Registers the device: it is visible from here on, and the core owns it.
    ///
    /// On an error it is gone, private data and all, at the latest when the RTNL is released.
    pub fn register(self, _rtnl: &mut rtnl::Held) -> Result<ARef<Device<T>>> {
        let me = ManuallyDrop::new(self);
        let dev = me.dev.as_ptr();
        // SAFETY: By the type invariants; the RTNL is held.
        if let Err(e) = to_result(unsafe { bindings::register_netdevice(dev) }) {
            // SAFETY: On failure the device is ours again.
            unsafe { free(me.dev, PhantomData::<T>) };
            return Err(e);
        }
        // SAFETY: Registered, and under the RTNL nobody unregisters it.
        Ok(unsafe { Device::<T>::from_raw(dev) }.into())
    }
}

impl<T: Private> Drop for Unregistered<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the device is ours and not registered.
        unsafe { free(self.dev, PhantomData::<T>) };
    }
}

/// Frees a device that is not registered, or whose registration failed.
///
/// # Safety
///
/// The device is ours, with an `Area<T>`.
unsafe fn free<T: Private>(dev: NonNull<bindings::net_device>, _private: PhantomData<T>) {
    let dev = dev.as_ptr();
    // A notifier that refuses makes the core unregister the device again, which calls the
    // destructor later. In all other cases it has been called, or never will be.
    // SAFETY: The device is ours.
    let leaving =
        u32::from(unsafe { (*dev).reg_state }) == bindings::netdev_reg_state_NETREG_UNREGISTERING;
    if !leaving {
        // SAFETY: Nobody else can reach the device.
        unsafe { destroy::<T>(dev) };
    }
    // SAFETY: The device is ours; this is what `register_netdevice()` asks for on failure.
    unsafe { bindings::free_netdev(dev) };
}

/// The `setup` of `alloc_netdev_mqs()` and of the link operations.
///
/// # Safety
///
/// `dev` is allocated and not registered, with room for an `Area<T>`.
pub(in crate::net) unsafe extern "C" fn setup_raw<T: Private>(dev: *mut bindings::net_device) {
    // SAFETY: By this function's contract.
    unsafe {
        (*dev).needs_free_netdev = true;
        (*dev).priv_destructor = Some(destroy::<T>);
    }
    if let Some(dev) = NonNull::new(dev) {
        // INVARIANT: By this function's contract.
        T::setup(&mut Setup {
            dev,
            _dev: PhantomData,
        });
    }
}

/// Drops the private data, once.
///
/// # Safety
///
/// `dev` has an `Area<T>`, zeroed at first, and nobody can reach the device any more.
unsafe extern "C" fn destroy<T: Private>(dev: *mut bindings::net_device) {
    // SAFETY: By this function's contract.
    unsafe {
        let area: *mut Area<T> = bindings::netdev_priv(dev).cast();
        if core::mem::replace(&mut (*area).live, false) {
            (*area).data.assume_init_drop();
        }
    }
}
