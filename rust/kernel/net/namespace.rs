// SPDX-License-Identifier: GPL-2.0

//! Network namespaces.
//!
//! C header: [`include/net/net_namespace.h`](srctree/include/net/net_namespace.h)

use super::{
    device::{
        Device,
        Name, //
    },
    rtnl, //
};
use crate::{
    bindings,
    prelude::*,
    sync::aref::{
        ARef,
        AlwaysRefCounted, //
    },
    types::Opaque, //
};
use core::ptr::NonNull;

/// A network namespace: `struct net`, counted.
///
/// # Examples
///
/// ```
/// use kernel::net::{device::Name, namespace::Namespace, rtnl};
///
/// let net = Namespace::init();
/// let rtnl = rtnl::lock();
/// assert!(net.find(&Name::new(b"no-such-device")?, &rtnl).is_none());
/// # Ok::<(), Error>(())
/// ```
#[repr(transparent)]
pub struct Namespace(Opaque<bindings::net>);

// SAFETY: Counted and used from any thread.
unsafe impl Send for Namespace {}
// SAFETY: As above.
unsafe impl Sync for Namespace {}

// SAFETY: `get_net()` keeps the namespace until the matching `put_net()`.
unsafe impl AlwaysRefCounted for Namespace {
    #[inline]
    fn inc_ref(&self) {
        // SAFETY: `&self` says that the count is not zero.
        unsafe { bindings::get_net(self.as_raw()) };
    }

    #[inline]
    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller gives up one count.
        unsafe { bindings::put_net(obj.cast().as_ptr()) }
    }
}

impl Namespace {
    /// Wraps a C namespace.
    ///
    /// # Safety
    ///
    /// `net` is valid and counted for `'a`.
    #[inline]
    pub unsafe fn from_raw<'a>(net: *mut bindings::net) -> &'a Self {
        // SAFETY: `Namespace` is transparent; the rest is this function's contract.
        unsafe { &*net.cast() }
    }

    /// The C namespace.
    #[inline]
    pub fn as_raw(&self) -> *mut bindings::net {
        self.0.get()
    }

    /// The first one.
    #[inline]
    pub fn init() -> &'static Self {
        // SAFETY: `init_net` is static.
        unsafe { Self::from_raw(&raw mut bindings::init_net) }
    }

    /// That of the calling task, which must be a user's. Process context.
    #[inline]
    pub fn current() -> ARef<Self> {
        // SAFETY: A task's own `nsproxy` stays while it runs.
        let net: &Self = unsafe { Self::from_raw(bindings::current_net()) };
        net.into()
    }

    /// Has the caller `CAP_NET_ADMIN` over the user namespace that owns this one?
    #[inline]
    pub fn admits_net_admin(&self) -> bool {
        // SAFETY: The owning user namespace is set at creation and kept as long as this one.
        unsafe { bindings::ns_capable((*self.as_raw()).user_ns, bindings::CAP_NET_ADMIN as c_int) }
    }

    /// A new file descriptor of the caller's that stands for the namespace, closed on `exec`.
    /// `EMFILE`, `ENFILE`, `ENOMEM`; `EINVAL` in a kernel without namespaces. Process context.
    pub fn open(&self) -> Result<u32> {
        // SAFETY: The namespace is counted; `get_net_ns()` counts it once more for the file.
        let fd = unsafe {
            bindings::open_related_ns(&raw mut (*self.as_raw()).ns, Some(bindings::get_net_ns))
        };
        u32::try_from(fd).map_err(|_| Error::from_errno(fd))
    }

    /// Looks a device up by name. It stays as long as the RTNL is held and nothing unregisters.
    pub fn find<'a>(&'a self, name: &Name, _rtnl: &'a rtnl::Held) -> Option<&'a Device> {
        // SAFETY: The name ends in NUL and the RTNL is held.
        let dev = unsafe { bindings::__dev_get_by_name(self.as_raw(), name.as_ptr()) };
        // SAFETY: Unregistering takes the RTNL by `&mut`.
        NonNull::new(dev).map(|dev| unsafe { Device::from_raw(dev.as_ptr()) })
    }
}

#[kunit_tests(rust_net_namespace)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found() -> Result {
        let rtnl = rtnl::lock();
        assert!(Namespace::init().find(&Name::new(b"lo")?, &rtnl).is_some());
        let counted: ARef<Namespace> = Namespace::init().into();
        assert!(core::ptr::eq(&*counted, Namespace::init()));
        Ok(())
    }
}
