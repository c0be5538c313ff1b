// SPDX-License-Identifier: GPL-2.0

//! Link operations: the kind of a device in netlink, by which it is shown and deleted.
//!
//! C header: [`include/net/rtnetlink.h`](srctree/include/net/rtnetlink.h)

use super::device::{
    setup_raw,
    Any,
    Device,
    Private, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    str::as_char_ptr_in_const_context,
    types::Opaque, //
};
use core::marker::PhantomData;

/// The link operations of devices with private data `T`, to be kept in a static.
///
/// Devices of the kind are made by their driver, not by netlink: what asks for one is refused, with
/// the text [`Private::NETLINK_REFUSAL`]. They can be deleted by netlink and go with their
/// namespace.
///
/// # Examples
///
/// See [`Unregistered`](super::device::Unregistered).
#[repr(transparent)]
pub struct Ops<T>(Opaque<bindings::rtnl_link_ops>, PhantomData<fn() -> T>);

// SAFETY: The core serialises its changes to the operations by the RTNL; nobody else makes any.
unsafe impl<T> Sync for Ops<T> {}

impl<T: Private> Ops<T> {
    /// Operations for a kind.
    pub const fn new(kind: &'static CStr) -> Self {
        let mut ops: bindings::rtnl_link_ops = pin_init::zeroed();
        ops.kind = as_char_ptr_in_const_context(kind);
        // Never used to make a device, since `validate` refuses, but without it there is no
        // deleting either: see `rtnl_link_register()`.
        ops.setup = Some(setup_raw::<T>);
        ops.validate = Some(Self::validate);
        Self(Opaque::new(ops), PhantomData)
    }

    /// The C operations.
    #[inline]
    pub fn as_raw(&'static self) -> *mut bindings::rtnl_link_ops {
        self.0.get()
    }

    /// Is the device of this kind?
    #[inline]
    pub fn downcast<'a>(&'static self, dev: &'a Device<Any>) -> Option<&'a Device<T>> {
        // SAFETY: Set when the device is made.
        let ops = unsafe { (*dev.as_raw()).rtnl_link_ops };
        // SAFETY: Only `Unregistered::new` sets these operations, on devices with this private
        // data, since `validate` keeps netlink from making any.
        (ops == self.as_raw().cast_const()).then(|| unsafe { Device::from_raw(dev.as_raw()) })
    }

    /// Makes the kind known. `EEXIST` when it is taken.
    ///
    /// To be called once at a time; takes the RTNL.
    pub fn register(&'static self) -> Result<Registration<T>> {
        // SAFETY: The operations are static. A second registration is refused, by their kind.
        to_result(unsafe { bindings::rtnl_link_register(self.as_raw()) })?;
        // INVARIANT: Just registered.
        Ok(Registration { ops: self })
    }

    /// # Safety
    ///
    /// `extack` is null or valid.
    unsafe extern "C" fn validate(
        _tb: *mut *mut bindings::nlattr,
        _data: *mut *mut bindings::nlattr,
        extack: *mut bindings::netlink_ext_ack,
    ) -> c_int {
        if !extack.is_null() {
            // SAFETY: By this function's contract; the text is static.
            unsafe { (*extack)._msg = as_char_ptr_in_const_context(T::NETLINK_REFUSAL) };
        }
        EOPNOTSUPP.to_errno()
    }
}

/// A registered kind. Dropping it deletes all devices of the kind, in all namespaces.
///
/// # Invariants
///
/// `ops` is registered.
pub struct Registration<T: Private> {
    ops: &'static Ops<T>,
}

impl<T: Private> Drop for Registration<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; takes the RTNL.
        unsafe { bindings::rtnl_link_unregister(self.ops.as_raw()) };
    }
}
