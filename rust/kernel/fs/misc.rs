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
    sync::atomic::{
        AtomicFlag,
        Full,
        Release, //
    },
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
pub struct Device<O> {
    misc: Opaque<bindings::miscdevice>,
    registered: AtomicFlag,
    _operations: PhantomData<fn() -> O>,
}

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
        Self {
            misc: Opaque::new(misc),
            registered: AtomicFlag::new(false),
            _operations: PhantomData,
        }
    }

    /// Makes the device appear. `EBUSY` when its minor is taken, or by itself; `ENOMEM`.
    pub fn register(&'static self) -> Result<Registration<O>> {
        // The core begins with the device's list head, in use or not.
        if self.registered.xchg(true, Full) {
            return Err(EBUSY);
        }
        // SAFETY: The device is static, and not registered.
        if let Err(e) = to_result(unsafe { bindings::misc_register(self.misc.get()) }) {
            self.registered.store(false, Release);
            return Err(e);
        }
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
        unsafe { bindings::misc_deregister(self.device.misc.get()) };
        self.device.registered.store(false, Release);
    }
}

#[kunit_tests(rust_fs_misc)]
mod tests {
    use super::*;
    use crate::{
        fs::File,
        ThisModule, //
    };

    struct Null;

    #[vtable]
    impl ops::Operations for Null {
        type Ptr = KBox<u32>;

        fn open(_: &File) -> Result<KBox<u32>> {
            Ok(KBox::new(7, GFP_KERNEL)?)
        }
    }

    // SAFETY: Null, as for code that is built in.
    static MODULE: ThisModule = unsafe { ThisModule::from_ptr(core::ptr::null_mut()) };
    static TABLE: ops::Table<Null> = ops::Table::new(&MODULE);
    static DYNAMIC: Device<Null> = Device::new(Minor::Dynamic, c"kunit-null", None, &TABLE);
    // Kept for no driver: the last of the minors that are given out by hand.
    static FIXED: Device<Null> = Device::new(Minor::Fixed(254), c"kunit-null-fixed", None, &TABLE);
    static SAME: Device<Null> = Device::new(Minor::Fixed(254), c"kunit-null-same", None, &TABLE);

    #[test]
    fn comes_and_goes() -> Result {
        for _ in 0..3 {
            let registration = DYNAMIC.register()?;
            // SAFETY: Registered, so the core has set the minor.
            let minor = unsafe { (*DYNAMIC.misc.get()).minor };
            assert!(minor != bindings::MISC_DYNAMIC_MINOR as c_int);
            drop(registration);
        }
        Ok(())
    }

    #[test]
    fn a_minor_is_given_once() -> Result {
        let registration = FIXED.register()?;
        assert_eq!(FIXED.register().err(), Some(EBUSY));
        assert_eq!(SAME.register().err(), Some(EBUSY));
        drop(registration);
        drop(SAME.register()?);
        Ok(())
    }

    #[test]
    fn data_is_found_by_its_own_table_only() -> Result {
        let mut raw = KBox::new(pin_init::zeroed::<bindings::file>(), GFP_KERNEL)?;
        let data = KBox::new(9_u32, GFP_KERNEL)?;
        raw.private_data = (&raw const *data).cast_mut().cast();
        // SAFETY: Only the two fields that are set here are looked at.
        let file = unsafe { File::from_raw_file(&raw const *raw) };
        assert_eq!(TABLE.private_data(file), None);
        raw.f_op = TABLE.as_raw();
        // SAFETY: As above.
        let file = unsafe { File::from_raw_file(&raw const *raw) };
        assert_eq!(TABLE.private_data(file), Some(&9));
        Ok(())
    }
}
