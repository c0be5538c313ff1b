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
    sync::atomic::{
        AtomicFlag,
        Full,
        Release, //
    },
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
pub struct Ops<T> {
    ops: Opaque<bindings::rtnl_link_ops>,
    registered: AtomicFlag,
    _private: PhantomData<fn() -> T>,
}

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
        if T::LINK_INFO_SIZE > 0 {
            ops.get_size = Some(Self::get_size);
            ops.fill_info = Some(Self::fill_info);
        }
        Self {
            ops: Opaque::new(ops),
            registered: AtomicFlag::new(false),
            _private: PhantomData,
        }
    }

    /// The C operations.
    #[inline]
    pub fn as_raw(&'static self) -> *mut bindings::rtnl_link_ops {
        self.ops.get()
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

    /// Makes the kind known. `EEXIST` when it is known already, `ENOMEM`. Takes the RTNL.
    pub fn register(&'static self) -> Result<Registration<T>> {
        // The core would not notice that these very operations are in use before it has made
        // their SRCU domain anew.
        if self.registered.xchg(true, Full) {
            return Err(EEXIST);
        }
        // SAFETY: The operations are static, and not registered.
        if let Err(e) = to_result(unsafe { bindings::rtnl_link_register(self.as_raw()) }) {
            self.registered.store(false, Release);
            return Err(e);
        }
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

    /// # Safety
    ///
    /// None: the size is a constant.
    unsafe extern "C" fn get_size(_dev: *const bindings::net_device) -> usize {
        T::LINK_INFO_SIZE
    }

    /// # Safety
    ///
    /// `dev` is a `Device<T>`, and `skb` a message that is being written.
    unsafe extern "C" fn fill_info(
        skb: *mut bindings::sk_buff,
        dev: *const bindings::net_device,
    ) -> c_int {
        // SAFETY: By this function's contract.
        let (dev, mut info) = unsafe {
            (
                Device::<T>::from_raw(dev.cast_mut()),
                Info {
                    skb,
                    _message: PhantomData,
                },
            )
        };
        crate::error::from_result(|| T::fill_link_info(dev, &mut info).map(|()| 0))
    }
}

/// The bytes that an attribute with a value of so many takes in a message.
///
/// ```
/// use kernel::net::link;
///
/// assert_eq!(link::space(1), 8);
/// assert_eq!(link::space(4), 8);
/// assert_eq!(link::space(5), 12);
/// ```
pub const fn space(value: usize) -> usize {
    // A header of four bytes, and all of it a multiple of that.
    (4 + value + 3) & !3
}

/// The part of a netlink message that is a driver's: `IFLA_INFO_DATA`.
///
/// # Invariants
///
/// `skb` is a message that is being written, for `'a` by nobody else.
///
/// # Examples
///
/// ```
/// use kernel::net::link::Info;
///
/// fn fill(info: &mut Info<'_>) -> Result {
///     info.put_u8(1, 7)?;
///     info.put_u32(2, 70_000)
/// }
/// ```
pub struct Info<'a> {
    skb: *mut bindings::sk_buff,
    _message: PhantomData<&'a mut ()>,
}

impl Info<'_> {
    fn put(&mut self, kind: u32, value: &[u8]) -> Result {
        // SAFETY: By the type invariants; the value is copied.
        to_result(unsafe {
            bindings::nla_put(
                self.skb,
                kind as c_int,
                value.len() as c_int,
                value.as_ptr().cast(),
            )
        })
    }

    /// Adds an attribute of one byte. `EMSGSIZE` where there is no room.
    pub fn put_u8(&mut self, kind: u32, value: u8) -> Result {
        self.put(kind, &[value])
    }

    /// Adds an attribute of four bytes. `EMSGSIZE` where there is no room.
    pub fn put_u32(&mut self, kind: u32, value: u32) -> Result {
        self.put(kind, &value.to_ne_bytes())
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
        self.ops.registered.store(false, Release);
    }
}

#[kunit_tests(rust_net_link)]
mod tests {
    use super::*;
    use crate::net::device::fixture::{
        Fixture,
        LINK, //
    };
    use crate::net::{
        device::Name,
        namespace::Namespace,
        rtnl, //
    };

    #[test]
    fn a_kind_is_registered_once() -> Result {
        let registration = LINK.register()?;
        assert_eq!(LINK.register().err(), Some(EEXIST));
        drop(registration);
        drop(LINK.register()?);
        Ok(())
    }

    #[test]
    fn attributes_fill_their_space() -> Result {
        let skb = crate::net::skbuff::SkBuff::new(64, GFP_KERNEL)?;
        let mut info = Info {
            skb: skb.as_raw(),
            _message: PhantomData,
        };
        info.put_u8(3, 9)?;
        assert_eq!(skb.len(), space(1));
        info.put_u32(4, 0x0102_0304)?;
        assert_eq!(skb.len(), space(1) + space(4));
        while info.put_u32(5, 0).is_ok() {}
        assert_eq!(info.put_u32(5, 0), Err(EMSGSIZE));
        let [a, b, c, d, e] = skb.head::<5>().ok_or(EINVAL)?;
        assert_eq!(
            (u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d]), e),
            (5, 3, 9)
        );
        skb.consume();
        Ok(())
    }

    #[test]
    fn downcast_knows_its_own() -> Result {
        let fixture = Fixture::new()?;
        assert!(LINK.downcast(fixture.dev().untyped()).is_some());
        let rtnl = rtnl::lock();
        let lo = Namespace::init()
            .find(&Name::new(b"lo")?, &rtnl)
            .ok_or(ENODEV)?;
        assert!(LINK.downcast(lo).is_none());
        Ok(())
    }

    #[test]
    fn netlink_makes_none_and_says_why() -> Result {
        let _registration = LINK.register()?;
        let mut extack: bindings::netlink_ext_ack = pin_init::zeroed();
        // SAFETY: Registered operations with a `validate`, and a valid place for the answer.
        let (ret, text) = unsafe {
            let validate = (*LINK.as_raw()).validate.ok_or(EINVAL)?;
            let ret = validate(
                core::ptr::null_mut(),
                core::ptr::null_mut(),
                &raw mut extack,
            );
            (ret, CStr::from_char_ptr(extack._msg))
        };
        assert_eq!(ret, EOPNOTSUPP.to_errno());
        assert!(text.to_bytes() == b"made by a test");
        Ok(())
    }
}
