// SPDX-License-Identifier: GPL-2.0

//! Lines in the log that begin with the name of a device.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::Device;
use crate::{
    bindings,
    fmt,
    str::as_char_ptr_in_const_context, //
};
use core::ffi::c_void;

/// The kinds of message that a user can switch on for a device, of those that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageKind(u32);

impl MessageKind {
    /// What the driver was told to do: `NETIF_MSG_DRV`.
    pub const DRIVER: Self = Self(1 << bindings::NETIF_MSG_DRV_BIT);
    /// Frames that were queued: `NETIF_MSG_TX_QUEUED`.
    pub const TX_QUEUED: Self = Self(1 << bindings::NETIF_MSG_TX_QUEUED_BIT);

    /// Is it among those that `mask` has?
    #[inline]
    pub const fn is_in(self, mask: u32) -> bool {
        mask & self.0 != 0
    }
}

/// May one more message be printed, of those that a stranger can cause?
pub fn ratelimit() -> bool {
    // SAFETY: No precondition.
    unsafe { bindings::net_ratelimit() != 0 }
}

impl<T> Device<T> {
    /// Prints a line at the level of information. Any context.
    ///
    /// ```
    /// use kernel::{fmt, net::device::Device, prelude::fmt};
    ///
    /// fn report(dev: &Device, frames: u32) {
    ///     dev.info(fmt!("{} frames\n", frames));
    /// }
    /// # let _ = report;
    /// ```
    #[cold]
    pub fn info(&self, args: fmt::Arguments<'_>) {
        // SAFETY: The device is there, and `%pA` takes a pointer to Rust's arguments.
        unsafe {
            bindings::netdev_info(
                self.as_raw(),
                as_char_ptr_in_const_context(c"%pA"),
                (&raw const args).cast::<c_void>(),
            )
        };
    }

    /// Prints a line at the level of errors. Any context.
    #[cold]
    pub fn err(&self, args: fmt::Arguments<'_>) {
        // SAFETY: As in `info`.
        unsafe {
            bindings::netdev_err(
                self.as_raw(),
                as_char_ptr_in_const_context(c"%pA"),
                (&raw const args).cast::<c_void>(),
            )
        };
    }
}
