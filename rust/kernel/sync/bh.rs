// SPDX-License-Identifier: GPL-2.0

//! Bottom halves: the context token and the spinlock that disables them.
//!
//! C headers: [`include/linux/bottom_half.h`](srctree/include/linux/bottom_half.h),
//! [`include/linux/spinlock.h`](srctree/include/linux/spinlock.h)

use super::lock::{
    Backend,
    Lock, //
};
use crate::{
    bindings,
    prelude::*,
    types::NotThreadSafe, //
};

/// Evidence that bottom halves are disabled on this CPU.
///
/// Not `Send`, since the property belongs to the CPU that runs this code.
///
/// # Invariants
///
/// Bottom halves are disabled for as long as a value of this type, or a reference to one, exists.
pub struct Disabled(NotThreadSafe);

impl Disabled {
    /// Assumes that bottom halves are disabled already.
    ///
    /// # Safety
    ///
    /// Bottom halves must stay disabled on this CPU for the whole of `'a`, as they are in a softirq
    /// and in `ndo_start_xmit`.
    #[inline]
    pub unsafe fn assume<'a>() -> &'a Disabled {
        const ASSUMED: &Disabled = &Disabled(NotThreadSafe);
        ASSUMED
    }
}

/// Bottom halves disabled by [`disable`], enabled again on drop.
pub struct Guard(Disabled);

impl core::ops::Deref for Guard {
    type Target = Disabled;

    #[inline]
    fn deref(&self) -> &Disabled {
        &self.0
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `disable` made the matching call on this CPU; the guard is not `Send`.
        unsafe { bindings::local_bh_enable() };
    }
}

/// Disables bottom halves until the guard goes away. Nests.
///
/// Any context but hard interrupts, where enabling them again is not allowed.
///
/// # Examples
///
/// ```
/// use kernel::sync::bh;
///
/// fn needs_bh_off(_: &bh::Disabled) -> u32 {
///     1
/// }
///
/// let guard = bh::disable();
/// assert_eq!(needs_bh_off(&guard), 1);
/// ```
#[inline]
pub fn disable() -> Guard {
    // SAFETY: No precondition.
    unsafe { bindings::local_bh_disable() };
    // INVARIANT: Bottom halves were disabled just above.
    Guard(Disabled(NotThreadSafe))
}

/// Creates a [`SpinLockBh`] initialiser with a lock class of its own.
#[macro_export]
macro_rules! new_spinlock_bh {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::sync::bh::SpinLockBh::new(
            $inner, $crate::optional_name!($($name)?), $crate::static_lock_class!())
    };
}
pub use new_spinlock_bh;

/// A spinlock that keeps bottom halves disabled while it is held.
///
/// For data that process context shares with softirqs: `spin_lock_bh()` in C.
///
/// # Examples
///
/// ```
/// use kernel::sync::bh::{new_spinlock_bh, SpinLockBh};
///
/// #[pin_data]
/// struct Counters {
///     #[pin]
///     frames: SpinLockBh<u64>,
/// }
///
/// let c = KBox::pin_init(
///     pin_init!(Counters { frames <- new_spinlock_bh!(1) }),
///     GFP_KERNEL,
/// )?;
/// *c.frames.lock() += 1;
/// assert_eq!(*c.frames.lock(), 2);
/// # Ok::<(), Error>(())
/// ```
pub type SpinLockBh<T> = Lock<T, SpinLockBhBackend>;

/// The [`Backend`] of [`SpinLockBh`].
pub struct SpinLockBhBackend;

// SAFETY: `spinlock_t` gives mutual exclusion, and `relock` uses the default implementation, which
// calls the same `lock`.
unsafe impl Backend for SpinLockBhBackend {
    type State = bindings::spinlock_t;
    type GuardState = ();

    #[inline]
    unsafe fn init(ptr: *mut Self::State, name: *const c_char, key: *mut bindings::lock_class_key) {
        // SAFETY: The caller guarantees that `ptr` is valid for writes and the others for ever.
        unsafe { bindings::__spin_lock_init(ptr, name, key) }
    }

    #[inline]
    unsafe fn lock(ptr: *mut Self::State) -> Self::GuardState {
        // SAFETY: The caller guarantees an initialised lock.
        unsafe { bindings::spin_lock_bh(ptr) }
    }

    #[inline]
    unsafe fn unlock(ptr: *mut Self::State, _guard_state: &Self::GuardState) {
        // SAFETY: The caller owns the lock.
        unsafe { bindings::spin_unlock_bh(ptr) }
    }

    #[inline]
    unsafe fn try_lock(ptr: *mut Self::State) -> Option<Self::GuardState> {
        // SAFETY: The caller guarantees an initialised lock.
        (unsafe { bindings::spin_trylock_bh(ptr) } != 0).then_some(())
    }

    #[inline]
    unsafe fn assert_is_held(ptr: *mut Self::State) {
        // SAFETY: The caller guarantees an initialised lock.
        unsafe { bindings::spin_assert_is_held(ptr) }
    }
}

#[kunit_tests(rust_bh)]
mod tests {
    use super::*;

    #[test]
    fn lock_excludes_and_releases() -> Result {
        let lock = KBox::pin_init(new_spinlock_bh!(0u32), GFP_KERNEL)?;
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(held);
        assert!(lock.try_lock().is_some());
        Ok(())
    }

    #[test]
    fn guards_nest() {
        let outer = disable();
        drop(disable());
        let _still: &Disabled = &outer;
    }
}
