// SPDX-License-Identifier: GPL-2.0

//! Misc devices with a name, and perhaps a minor number, that programs rely on.
//!
//! C header: [`include/linux/miscdevice.h`](srctree/include/linux/miscdevice.h)

use super::ops;
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    str::as_char_ptr_in_const_context,
    types::Opaque, //
};
use core::marker::PhantomData;

/// The minor number of a misc device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Minor {
    /// Whichever is free.
    Dynamic,
    /// This one, which belongs to the device by convention.
    Fixed(u8),
}

/// A misc device, to be kept in a static.
///
/// # Examples
///
/// ```
/// use kernel::{fs::{misc::{Device, Minor}, ops}, ThisModule};
///
/// fn device<O: ops::Operations>(table: &'static ops::Table<O>) -> Device<O> {
///     // Appears as /dev/net/example.
///     Device::new(Minor::Dynamic, c"example", Some(c"net/example"), table)
/// }
/// ```
#[repr(transparent)]
pub struct Device<O>(Opaque<bindings::miscdevice>, PhantomData<fn() -> O>);

// SAFETY: The core serialises its changes to the device by its own lock; nobody else makes any.
unsafe impl<O> Sync for Device<O> {}

impl<O: ops::Operations> Device<O> {
    /// A device with `name`, whose node is at `node` under /dev if that is another.
    pub const fn new(
        minor: Minor,
        name: &'static CStr,
        node: Option<&'static CStr>,
        table: &'static ops::Table<O>,
    ) -> Self {
        let mut misc: bindings::miscdevice = pin_init::zeroed();
        misc.minor = match minor {
            Minor::Dynamic => bindings::MISC_DYNAMIC_MINOR as c_int,
            Minor::Fixed(minor) => minor as c_int,
        };
        misc.name = as_char_ptr_in_const_context(name);
        if let Some(node) = node {
            misc.nodename = as_char_ptr_in_const_context(node);
        }
        misc.fops = table.as_raw();
        Self(Opaque::new(misc), PhantomData)
    }

    /// Makes the device appear. `EBUSY` when its minor is taken.
    ///
    /// To be called once at a time.
    pub fn register(&'static self) -> Result<Registration<O>> {
        // SAFETY: The device is static.
        to_result(unsafe { bindings::misc_register(self.0.get()) })?;
        // INVARIANT: Just registered.
        Ok(Registration { device: self })
    }
}

/// A registered misc device. Files that are open when it goes stay as they are.
///
/// # Invariants
///
/// `device` is registered.
pub struct Registration<O: ops::Operations> {
    device: &'static Device<O>,
}

impl<O: ops::Operations> Drop for Registration<O> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::misc_deregister(self.device.0.get()) };
    }
}
