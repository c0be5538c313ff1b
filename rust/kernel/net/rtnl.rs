// SPDX-License-Identifier: GPL-2.0

//! The RTNL: the one lock over the configuration of all network devices.
//!
//! [`Held`] is the evidence that the calling thread holds it. Code gets it from [`lock`], or in a
//! callback that the core makes under the lock. Whatever may call back into drivers takes it by
//! `&mut`, so that no reference that an update could invalidate lives across the call.
//!
//! C header: [`include/linux/rtnetlink.h`](srctree/include/linux/rtnetlink.h)

use crate::{
    bindings,
    sync::rcu_pointer,
    types::NotThreadSafe, //
};
use core::{
    cell::UnsafeCell,
    ops::{
        Deref,
        DerefMut, //
    }, //
};

/// Evidence that this thread holds the RTNL.
///
/// # Invariants
///
/// The RTNL is held by this thread as long as the value can be reached, and no other `Held` can be
/// reached that is not borrowed for a callback.
pub struct Held(NotThreadSafe);

// SAFETY: The RTNL is one lock and does not nest, so that at any time at most one thread has a
// `Held`; a callback gets one only while its caller's is mutably borrowed.
unsafe impl rcu_pointer::Exclusive for Held {}

impl Held {
    /// Makes the token for a callback.
    ///
    /// # Safety
    ///
    /// The calling thread holds the RTNL for as long as the token can be reached, and the token
    /// that was in use before cannot be reached meanwhile.
    #[inline]
    pub unsafe fn assume() -> Held {
        // SAFETY: A check without precondition, free without debugging.
        crate::warn_on!(cfg!(CONFIG_PROVE_LOCKING) && unsafe { bindings::rtnl_is_locked() } == 0);
        Held(NotThreadSafe)
    }
}

/// The RTNL, taken by [`lock`] and released on drop.
///
/// Releasing it also finishes the devices that were unregistered under it, which waits until all
/// references to them are gone: drop those that this thread holds first.
pub struct Guard(Held);

impl Deref for Guard {
    type Target = Held;

    #[inline]
    fn deref(&self) -> &Held {
        &self.0
    }
}

impl DerefMut for Guard {
    #[inline]
    fn deref_mut(&mut self) -> &mut Held {
        &mut self.0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: By the invariants of `Held` this thread holds the lock.
        unsafe { bindings::rtnl_unlock() };
    }
}

/// Takes the RTNL. Sleeps; does not nest.
///
/// # Examples
///
/// ```
/// use kernel::net::rtnl;
///
/// fn reconfigure(_: &mut rtnl::Held) -> u32 {
///     3
/// }
///
/// let mut rtnl = rtnl::lock();
/// assert_eq!(reconfigure(&mut rtnl), 3);
/// ```
pub fn lock() -> Guard {
    // SAFETY: No precondition; process context by contract.
    unsafe { bindings::rtnl_lock() };
    // INVARIANT: Just taken.
    Guard(Held(NotThreadSafe))
}

/// A value that belongs to whoever holds the RTNL.
///
/// # Invariants
///
/// The value is only accessed through a borrow of [`Held`], or with `&mut self`.
///
/// # Examples
///
/// ```
/// use kernel::net::rtnl::{self, Protected};
///
/// let count = Protected::new(1);
/// let mut rtnl = rtnl::lock();
/// *count.get_mut(&mut rtnl) += 1;
/// assert_eq!(*count.get(&rtnl), 2);
/// ```
pub struct Protected<T>(UnsafeCell<T>);

// SAFETY: The value moves with the cell.
unsafe impl<T: Send> Send for Protected<T> {}
// SAFETY: The RTNL serialises access; `&T` is handed out to one thread at a time.
unsafe impl<T: Send> Sync for Protected<T> {}

impl<T> Protected<T> {
    /// Wraps a value.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Reads, with the RTNL held.
    #[inline]
    pub fn get<'a>(&'a self, _rtnl: &'a Held) -> &'a T {
        // SAFETY: A mutable reference would borrow the only token mutably.
        unsafe { &*self.0.get() }
    }

    /// Writes, with the RTNL held.
    #[inline]
    pub fn get_mut<'a>(&'a self, _rtnl: &'a mut Held) -> &'a mut T {
        // SAFETY: Any other reference would borrow the only token.
        unsafe { &mut *self.0.get() }
    }
}

#[macros::kunit_tests(rust_rtnl)]
mod tests {
    use super::*;

    #[test]
    fn lock_and_release() {
        let cell = Protected::new(0u32);
        for round in 0..3 {
            let mut rtnl = lock();
            // SAFETY: A check without precondition.
            assert!(unsafe { bindings::rtnl_is_locked() } != 0);
            *cell.get_mut(&mut rtnl) += 1;
            assert_eq!(*cell.get(&rtnl), round + 1);
        }
    }
}
