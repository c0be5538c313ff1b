// SPDX-License-Identifier: GPL-2.0

//! What `ethtool` shows and sets.
//!
//! C headers: [`include/linux/ethtool.h`](srctree/include/linux/ethtool.h),
//! [`include/uapi/linux/ethtool.h`](srctree/include/uapi/linux/ethtool.h)

use super::device::{
    Device,
    Private, //
};
use crate::{
    bindings,
    error::VTABLE_DEFAULT_ERROR,
    prelude::*,
    types::Opaque, //
};
use core::marker::PhantomData;

/// Who drives the device: `struct ethtool_drvinfo`.
#[repr(transparent)]
pub struct DriverInfo(bindings::ethtool_drvinfo);

/// Puts a text over what the core has put there, cut to what leaves room for a NUL.
fn put(to: &mut [c_char], text: &str) {
    let room = to.len().saturating_sub(1);
    let bytes = Iterator::chain(text.bytes().take(room), [0]);
    for (to, from) in to.iter_mut().zip(bytes) {
        *to = from as c_char;
    }
}

impl DriverInfo {
    /// The name of the driver, cut to 31 bytes.
    pub fn set_driver(&mut self, name: &str) -> &mut Self {
        put(&mut self.0.driver, name);
        self
    }

    /// Its version, cut to 31 bytes.
    pub fn set_version(&mut self, version: &str) -> &mut Self {
        put(&mut self.0.version, version);
        self
    }

    /// Where the device sits, cut to 31 bytes.
    pub fn set_bus(&mut self, bus: &str) -> &mut Self {
        put(&mut self.0.bus_info, bus);
        self
    }
}

/// How many queues a device has, and could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Those that send and receive.
    pub combined: u32,
    /// The most of those.
    pub max_combined: u32,
}

/// The link as it is, or as it is said to be: `struct ethtool_link_ksettings`.
///
/// # Examples
///
/// ```
/// use kernel::net::ethtool::LinkSettings;
///
/// let settings = LinkSettings::fixed_twisted_pair(10_000);
/// assert_eq!(settings.speed(), 10_000);
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct LinkSettings(bindings::ethtool_link_ksettings);

impl LinkSettings {
    /// A twisted pair of so many Mbit/s, full duplex, that negotiates nothing.
    pub fn fixed_twisted_pair(speed: u32) -> Self {
        let mut settings: bindings::ethtool_link_ksettings = pin_init::zeroed();
        settings.base.speed = speed;
        settings.base.duplex = bindings::DUPLEX_FULL as u8;
        settings.base.port = bindings::PORT_TP as u8;
        settings.base.autoneg = bindings::AUTONEG_DISABLE as u8;
        Self(settings)
    }

    /// The speed in Mbit/s.
    pub fn speed(&self) -> u32 {
        self.0.base.speed
    }
}

/// What a driver answers to `ethtool`: `struct ethtool_ops`.
///
/// The callbacks may sleep. The core serialises those that set; those that get may run beside them.
#[vtable]
pub trait Operations: Sized + 'static {
    /// The private data of the devices.
    type Private: Private;

    /// Does the carrier say whether the link is up?
    const LINK_IS_CARRIER: bool = false;

    /// Are time stamps taken in software, both ways?
    const SOFTWARE_TIMESTAMPS: bool = false;

    /// Who drives the device.
    fn driver_info(_dev: &Device<Self::Private>, _info: &mut DriverInfo) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Which kinds of messages are printed.
    fn message_mask(_dev: &Device<Self::Private>) -> u32 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Sets which kinds of messages are printed.
    fn set_message_mask(_dev: &Device<Self::Private>, _mask: u32) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// How many queues there are.
    fn channels(_dev: &Device<Self::Private>) -> Channels {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// How many received frames are handled together: `rx-frames`.
    fn rx_frames(_dev: &Device<Self::Private>) -> u32 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Sets how many received frames are handled together.
    fn set_rx_frames(_dev: &Device<Self::Private>, _frames: u32) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The link.
    fn link_settings(_dev: &Device<Self::Private>) -> LinkSettings {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Sets the link.
    fn set_link_settings(_dev: &Device<Self::Private>, _settings: &LinkSettings) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The table of the operations `O`, to be kept in a static.
///
/// # Examples
///
/// ```
/// use kernel::net::{device::{Device, Private, Setup}, ethtool::{DriverInfo, Operations, Table}};
///
/// struct State;
/// impl Private for State {
///     fn setup(setup: &mut Setup<'_, Self>) {
///         setup.ethernet().ethtool(&ETHTOOL);
///     }
/// }
///
/// struct Info;
/// #[vtable]
/// impl Operations for Info {
///     type Private = State;
///
///     fn driver_info(_: &Device<State>, info: &mut DriverInfo) {
///         info.set_driver("doctest");
///     }
/// }
///
/// static ETHTOOL: Table<Info> = Table::new();
/// # let _ = &ETHTOOL;
/// ```
#[repr(transparent)]
pub struct Table<O>(Opaque<bindings::ethtool_ops>, PhantomData<O>);

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
        let mut ops: bindings::ethtool_ops = pin_init::zeroed();
        if O::HAS_DRIVER_INFO {
            ops.get_drvinfo = Some(Self::get_drvinfo);
        }
        if O::HAS_MESSAGE_MASK {
            ops.get_msglevel = Some(Self::get_msglevel);
        }
        if O::HAS_SET_MESSAGE_MASK {
            ops.set_msglevel = Some(Self::set_msglevel);
        }
        if O::HAS_CHANNELS {
            ops.get_channels = Some(Self::get_channels);
        }
        if O::HAS_RX_FRAMES {
            ops.supported_coalesce_params = bindings::ETHTOOL_COALESCE_RX_MAX_FRAMES;
            ops.get_coalesce = Some(Self::get_coalesce);
        }
        if O::HAS_SET_RX_FRAMES {
            ops.set_coalesce = Some(Self::set_coalesce);
        }
        if O::HAS_LINK_SETTINGS {
            ops.get_link_ksettings = Some(Self::get_link_ksettings);
        }
        if O::HAS_SET_LINK_SETTINGS {
            ops.set_link_ksettings = Some(Self::set_link_ksettings);
        }
        if O::LINK_IS_CARRIER {
            ops.get_link = Some(bindings::ethtool_op_get_link);
        }
        if O::SOFTWARE_TIMESTAMPS {
            ops.get_ts_info = Some(bindings::ethtool_op_get_ts_info);
        }
        Self(Opaque::new(ops), PhantomData)
    }

    pub(super) fn as_raw(&'static self) -> *const bindings::ethtool_ops {
        self.0.get()
    }

    /// # Safety
    ///
    /// As all that follow: `dev` has this table, which is set on a `Device<O::Private>` only.
    #[inline]
    unsafe fn device<'a>(dev: *mut bindings::net_device) -> &'a Device<O::Private> {
        // SAFETY: By this function's contract.
        unsafe { Device::from_raw(dev) }
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `info` is valid.
    unsafe extern "C" fn get_drvinfo(
        dev: *mut bindings::net_device,
        info: *mut bindings::ethtool_drvinfo,
    ) {
        // SAFETY: By this function's contract; `DriverInfo` is transparent.
        unsafe { O::driver_info(Self::device(dev), &mut *info.cast()) }
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn get_msglevel(dev: *mut bindings::net_device) -> u32 {
        // SAFETY: By this function's contract.
        O::message_mask(unsafe { Self::device(dev) })
    }

    /// # Safety
    ///
    /// See [`Self::device`].
    unsafe extern "C" fn set_msglevel(dev: *mut bindings::net_device, mask: u32) {
        // SAFETY: By this function's contract.
        O::set_message_mask(unsafe { Self::device(dev) }, mask)
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `channels` is valid.
    unsafe extern "C" fn get_channels(
        dev: *mut bindings::net_device,
        channels: *mut bindings::ethtool_channels,
    ) {
        // SAFETY: By this function's contract.
        unsafe {
            let answer = O::channels(Self::device(dev));
            (*channels).combined_count = answer.combined;
            (*channels).max_combined = answer.max_combined;
        }
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `coalesce` is valid.
    unsafe extern "C" fn get_coalesce(
        dev: *mut bindings::net_device,
        coalesce: *mut bindings::ethtool_coalesce,
        _kernel: *mut bindings::kernel_ethtool_coalesce,
        _extack: *mut bindings::netlink_ext_ack,
    ) -> c_int {
        // SAFETY: By this function's contract.
        unsafe { (*coalesce).rx_max_coalesced_frames = O::rx_frames(Self::device(dev)) };
        0
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `coalesce` is valid.
    unsafe extern "C" fn set_coalesce(
        dev: *mut bindings::net_device,
        coalesce: *mut bindings::ethtool_coalesce,
        _kernel: *mut bindings::kernel_ethtool_coalesce,
        _extack: *mut bindings::netlink_ext_ack,
    ) -> c_int {
        crate::error::from_result(|| {
            // SAFETY: By this function's contract.
            let (dev, frames) = unsafe { (Self::device(dev), (*coalesce).rx_max_coalesced_frames) };
            O::set_rx_frames(dev, frames).map(|()| 0)
        })
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `settings` is valid.
    unsafe extern "C" fn get_link_ksettings(
        dev: *mut bindings::net_device,
        settings: *mut bindings::ethtool_link_ksettings,
    ) -> c_int {
        // SAFETY: By this function's contract.
        unsafe { *settings = O::link_settings(Self::device(dev)).0 };
        0
    }

    /// # Safety
    ///
    /// See [`Self::device`]. `settings` is valid.
    unsafe extern "C" fn set_link_ksettings(
        dev: *mut bindings::net_device,
        settings: *const bindings::ethtool_link_ksettings,
    ) -> c_int {
        crate::error::from_result(|| {
            // SAFETY: By this function's contract; `LinkSettings` is transparent.
            let (dev, settings) = unsafe { (Self::device(dev), &*settings.cast()) };
            O::set_link_settings(dev, settings).map(|()| 0)
        })
    }
}

#[kunit_tests(rust_net_ethtool)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_end() {
        let mut info = DriverInfo(pin_init::zeroed());
        info.set_version("longer");
        info.set_driver("a name that is longer than the field has room for")
            .set_version("1")
            .set_bus("");
        assert_eq!(info.0.driver[31], 0);
        assert_eq!(info.0.driver[30], b' ' as c_char);
        assert_eq!(info.0.version[..2], [b'1' as c_char, 0]);
        assert_eq!(info.0.bus_info[0], 0);
    }

    #[test]
    fn a_fixed_link_negotiates_nothing() {
        let settings = LinkSettings::fixed_twisted_pair(10_000);
        assert_eq!(settings.speed(), 10_000);
        assert_eq!(u32::from(settings.0.base.duplex), bindings::DUPLEX_FULL);
        assert_eq!(settings.0.base.autoneg, 0);
        assert_eq!(settings.0.base.phy_address, 0);
    }
}
