// SPDX-License-Identifier: GPL-2.0

//! The security modules' say in tun and tap devices.
//!
//! C header: [`include/linux/security.h`](srctree/include/linux/security.h)

use super::sock::{
    self,
    Sock, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};
use core::ffi::c_void;

/// May the caller make a device?
///
/// # Examples
///
/// ```
/// use kernel::net::tun_security;
///
/// // The doctests run with every right.
/// assert!(tun_security::create().is_ok());
/// ```
pub fn create() -> Result {
    // SAFETY: Process context; no precondition.
    to_result(unsafe { bindings::security_tun_dev_create() })
}

/// What security modules keep for a device.
///
/// # Invariants
///
/// `blob` comes from `security_tun_dev_alloc_security()`.
///
/// # Examples
///
/// ```
/// use kernel::net::tun_security::Blob;
///
/// let blob = Blob::new()?;
/// blob.open()?;
/// blob.attach_queue()?;
/// # Ok::<(), Error>(())
/// ```
pub struct Blob(*mut c_void);

// SAFETY: The modules lock what they share.
unsafe impl Send for Blob {}
// SAFETY: As above.
unsafe impl Sync for Blob {}

impl Blob {
    /// Allocates it. May sleep. `ENOMEM`.
    pub fn new() -> Result<Self> {
        let mut blob = core::ptr::null_mut();
        // SAFETY: `blob` is valid for writes.
        to_result(unsafe { bindings::security_tun_dev_alloc_security(&raw mut blob) })?;
        // INVARIANT: Just allocated; null where no module asked for any.
        Ok(Self(blob))
    }

    /// May the caller join the device?
    pub fn open(&self) -> Result {
        // SAFETY: By the type invariants.
        to_result(unsafe { bindings::security_tun_dev_open(self.0) })
    }

    /// May a queue be attached again?
    pub fn attach_queue(&self) -> Result {
        // SAFETY: By the type invariants.
        to_result(unsafe { bindings::security_tun_dev_attach_queue(self.0) })
    }

    /// May this socket be attached? Labels it.
    pub fn attach<T: sock::Operations>(&self, sock: &Sock<T>) -> Result {
        // SAFETY: By the type invariants; the socket is there.
        to_result(unsafe { bindings::security_tun_dev_attach(sock.as_raw(), self.0) })
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        // SAFETY: By the type invariants, once.
        unsafe { bindings::security_tun_dev_free_security(self.0) }
    }
}

#[kunit_tests(rust_net_tun_security)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_itself_may_do_all() -> Result {
        create()?;
        let blob = Blob::new()?;
        blob.open()?;
        blob.attach_queue()
    }
}
