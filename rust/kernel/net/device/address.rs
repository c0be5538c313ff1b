// SPDX-License-Identifier: GPL-2.0

//! The link-layer address of a device, as the interface ioctls pass it.
//!
//! C headers: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h),
//! [`include/linux/socket.h`](srctree/include/linux/socket.h)

use super::Device;
use crate::{
    bindings,
    error::to_result,
    net::{
        namespace::Namespace,
        rtnl, //
    },
    prelude::*, //
};

/// A type and an address: `struct sockaddr`, as its bytes.
///
/// # Examples
///
/// ```
/// use kernel::net::{device::{Address, Name}, namespace::Namespace, rtnl};
///
/// let net = Namespace::init();
/// let rtnl = rtnl::lock();
/// let lo = net.find(&Name::new(b"lo")?, &rtnl).ok_or(ENODEV)?;
/// let mut address = Address::from_bytes([0; Address::SIZE]);
/// lo.read_address(&mut address, &rtnl);
/// // `ARPHRD_LOOPBACK`, and no address to speak of.
/// assert_eq!(address.as_bytes()[..2], 772_u16.to_ne_bytes());
/// assert_eq!(address.as_bytes()[2..8], [0; 6]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Address([u8; Self::SIZE]);

impl Address {
    /// Its bytes, of which two are the type.
    pub const SIZE: usize = size_of::<bindings::sockaddr>();

    /// From its bytes.
    pub const fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }
}

impl<T> Device<T> {
    /// The bytes of an address of this device.
    #[inline]
    pub fn address_len(&self, _rtnl: &rtnl::Held) -> usize {
        // SAFETY: Written under the RTNL.
        usize::from(unsafe { (*self.as_raw()).addr_len })
    }

    /// Puts its type and its address into `address`, whose other bytes stay. May sleep.
    pub fn read_address(&self, address: &mut Address, rtnl: &rtnl::Held) {
        let mut name = self.name(rtnl);
        let net: &Namespace = self.net(rtnl);
        // SAFETY: The name ends in NUL; there is room for a `struct sockaddr`. The device is looked
        // up, and where it is not found, being on its way out, nothing is written.
        unsafe {
            bindings::netif_get_mac_address(
                (&raw mut address.0).cast(),
                net.as_raw(),
                name.as_mut_ptr(),
            )
        };
    }

    /// Gives it another address. May sleep.
    ///
    /// `EINVAL` where the device has far longer ones than can be passed, or the type is another;
    /// `EOPNOTSUPP` where it has none; `EADDRNOTAVAIL` where it is no address; a listener's.
    pub fn set_address(&self, address: &Address, rtnl: &mut rtnl::Held) -> Result {
        if self.address_len(rtnl) > Address::SIZE {
            return Err(EINVAL);
        }
        let mut storage: bindings::__kernel_sockaddr_storage = pin_init::zeroed();
        // SAFETY: A `sockaddr` is the beginning of the storage; the RTNL is held.
        to_result(unsafe {
            (&raw mut storage)
                .cast::<[u8; Address::SIZE]>()
                .write(address.0);
            bindings::dev_set_mac_address_user(
                self.as_raw(),
                &raw mut storage,
                core::ptr::null_mut(),
            )
        })
    }
}
