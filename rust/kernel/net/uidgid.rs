// SPDX-License-Identifier: GPL-2.0

//! User and group ids, and the caller's right to act as one.
//!
//! C headers: [`include/linux/uidgid.h`](srctree/include/linux/uidgid.h),
//! [`include/linux/cred.h`](srctree/include/linux/cred.h)

use crate::bindings;
use kernel::prelude::*;

/// The id that stands for none.
const INVALID: u32 = u32::MAX;

/// A kernel user id, which may be none.
///
/// # Examples
///
/// ```
/// use kernel::net::uidgid::Uid;
///
/// assert!(!Uid::NONE.is_some());
/// let root = Uid::from_user(0)?;
/// assert!(root.is_some());
/// assert_eq!(root.to_user(), 0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Uid(u32);

impl Uid {
    /// No user.
    pub const NONE: Self = Self(INVALID);

    /// Maps an id of the caller's user namespace. `EINVAL` where it has no meaning there.
    pub fn from_user(uid: u32) -> Result<Self> {
        // SAFETY: The caller's own credentials stay while it runs.
        let kuid = unsafe { bindings::make_kuid(bindings::current_user_ns(), uid) };
        let uid = Self(kuid.val);
        uid.is_some().then_some(uid).ok_or(EINVAL)
    }

    /// The file system user of the caller.
    #[inline]
    pub fn current_fs() -> Self {
        // SAFETY: The caller's own credentials stay while it runs.
        Self(unsafe { bindings::current_fsuid() }.val)
    }

    /// From the value of [`into_bits`](Self::into_bits).
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The bare kernel id, for an atomic to hold.
    #[inline]
    pub const fn into_bits(self) -> u32 {
        self.0
    }

    /// Is it a user at all?
    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != INVALID
    }

    /// Is it the caller's effective user?
    #[inline]
    pub fn is_current_effective(self) -> bool {
        // SAFETY: The caller's own credentials stay while it runs.
        self.is_some() && self.0 == unsafe { bindings::current_euid() }.val
    }

    /// As the caller's user namespace sees it; the overflow id where it does not.
    pub fn to_user(self) -> u32 {
        // SAFETY: The caller's own credentials stay while it runs.
        unsafe {
            bindings::from_kuid_munged(
                bindings::current_user_ns(),
                bindings::kuid_t { val: self.0 },
            )
        }
    }

    /// The C id.
    #[inline]
    pub fn into_raw(self) -> bindings::kuid_t {
        bindings::kuid_t { val: self.0 }
    }
}

/// A kernel group id, which may be none.
///
/// # Examples
///
/// ```
/// use kernel::net::uidgid::Gid;
///
/// assert!(!Gid::NONE.is_some());
/// assert_eq!(Gid::from_user(0)?.to_user(), 0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Gid(u32);

impl Gid {
    /// No group.
    pub const NONE: Self = Self(INVALID);

    /// Maps an id of the caller's user namespace. `EINVAL` where it has no meaning there.
    pub fn from_user(gid: u32) -> Result<Self> {
        // SAFETY: The caller's own credentials stay while it runs.
        let kgid = unsafe { bindings::make_kgid(bindings::current_user_ns(), gid) };
        let gid = Self(kgid.val);
        gid.is_some().then_some(gid).ok_or(EINVAL)
    }

    /// From the value of [`into_bits`](Self::into_bits).
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The bare kernel id, for an atomic to hold.
    #[inline]
    pub const fn into_bits(self) -> u32 {
        self.0
    }

    /// Is it a group at all?
    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != INVALID
    }

    /// Is the caller in it, by its effective or its supplementary groups?
    pub fn includes_current(self) -> bool {
        // SAFETY: The caller's own credentials stay while it runs.
        self.is_some() && unsafe { bindings::in_egroup_p(bindings::kgid_t { val: self.0 }) } != 0
    }

    /// As the caller's user namespace sees it; the overflow id where it does not.
    pub fn to_user(self) -> u32 {
        // SAFETY: The caller's own credentials stay while it runs.
        unsafe {
            bindings::from_kgid_munged(
                bindings::current_user_ns(),
                bindings::kgid_t { val: self.0 },
            )
        }
    }
}

/// Has the caller `CAP_NET_ADMIN` in the first user namespace?
pub fn capable_net_admin() -> bool {
    // SAFETY: No precondition in process context.
    unsafe { bindings::capable(bindings::CAP_NET_ADMIN as c_int) }
}

#[macros::kunit_tests(rust_uidgid)]
mod tests {
    use super::*;

    #[test]
    fn none_is_nobody() -> Result {
        assert!(!Uid::NONE.is_current_effective());
        assert!(!Gid::NONE.includes_current());
        assert!(Uid::from_user(INVALID).is_err());
        assert!(Gid::from_user(INVALID).is_err());
        Ok(())
    }

    #[test]
    fn kthreads_are_root() -> Result {
        assert!(Uid::from_user(0)?.is_current_effective());
        assert!(!Uid::from_user(1)?.is_current_effective());
        assert_eq!(Uid::from_bits(Uid::from_user(7)?.into_bits()).to_user(), 7);
        assert_eq!(Gid::from_bits(Gid::from_user(7)?.into_bits()).to_user(), 7);
        assert!(capable_net_admin());
        Ok(())
    }
}
