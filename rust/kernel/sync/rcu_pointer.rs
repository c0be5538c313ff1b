// SPDX-License-Identifier: GPL-2.0

//! Owning pointers that readers follow under RCU.
//!
//! C header: [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use super::{
    aref::{
        ARef,
        AlwaysRefCounted, //
    },
    atomic::{
        Atomic,
        Relaxed,
        Release, //
    },
    rcu,
    GlobalGuard,
    GlobalLockBackend, //
};
use crate::{
    bindings,
    prelude::*,
    types::ForeignOwnable, //
};
use core::{
    ffi::c_void,
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull, //
};

/// A token of which at most one exists at a time, on one thread: the right to update.
///
/// A [`RcuPointer`] names the token type that guards it, so that two writers with different ideas
/// of exclusion do not compile.
///
/// # Safety
///
/// While a value of this type is reachable on one thread, no other value of it may be reachable
/// anywhere else, as with the guard of one global lock. Nested borrows (`&mut` of `&mut`) are fine.
pub unsafe trait Exclusive {}

// SAFETY: There is one lock of type `B`, and a guard only while it is held.
unsafe impl<B: GlobalLockBackend> Exclusive for GlobalGuard<B> {}

/// Pointers to what outlives them by a grace period.
///
/// # Safety
///
/// After the owner is dropped, readers under RCU that borrowed from it before can go on until they
/// are done, and a borrow cannot be made an owner again.
pub unsafe trait FreedByRcu: ForeignOwnable {}

/// An owning pointer, possibly null, that is read under RCU and written with proof of exclusion.
///
/// * [`read`](Self::read) ties what it returns to an [`rcu::Guard`];
/// * [`get`](Self::get) ties it to a shared borrow of the writer's token, so that no update can
///   happen meanwhile;
/// * [`replace`](Self::replace) takes the token by `&mut` and hands the old value out as [`Old`],
///   which can only be used up after, or together with, a grace period.
///
/// Dropping the `RcuPointer` itself drops the value at once: `&mut self` says that no reader can
/// reach it any more, and whoever frees the memory around it has waited already.
///
/// # Invariants
///
/// `ptr` is null or comes from `P::into_foreign`; the pointer owns that `P`.
///
/// # Examples
///
/// ```
/// use kernel::sync::{global_lock, rcu, rcu_pointer::RcuPointer, GlobalGuard};
///
/// // The lock whose holder may update.
/// global_lock! {
///     // SAFETY: Initialised below, before the first use.
///     unsafe(uninit) static UPDATE: Mutex<()> = ();
/// }
/// // SAFETY: Once, before any use.
/// unsafe { UPDATE.init() };
///
/// let config: RcuPointer<KBox<u32>, GlobalGuard<UPDATE>> = RcuPointer::null();
/// assert!(config.read(&rcu::read_lock()).is_none());
///
/// let mut token = UPDATE.lock();
/// config.replace(Some(KBox::new(1, GFP_KERNEL)?), &mut token);
/// assert_eq!(config.read(&rcu::read_lock()).copied(), Some(1));
///
/// if let Some(old) = config.replace(Some(KBox::new(2, GFP_KERNEL)?), &mut token) {
///     assert_eq!(*old.synchronize(), 1);
/// }
/// assert_eq!(config.get(&token).copied(), Some(2));
/// # Ok::<(), Error>(())
/// ```
#[repr(transparent)]
pub struct RcuPointer<P: ForeignOwnable, X> {
    ptr: Atomic<*mut c_void>,
    _owns: PhantomData<P>,
    _token: PhantomData<fn(&mut X)>,
}

// SAFETY: Readers on any thread get `P::Borrowed`, a writer on any thread gets `P`.
unsafe impl<P: ForeignOwnable + Send + Sync, X> Send for RcuPointer<P, X> {}
// SAFETY: As above; all accesses to `ptr` are atomic.
unsafe impl<P: ForeignOwnable + Send + Sync, X> Sync for RcuPointer<P, X> {}

impl<P: ForeignOwnable, X> RcuPointer<P, X> {
    /// A null pointer.
    #[inline]
    pub const fn null() -> Self {
        Self {
            ptr: Atomic::new(core::ptr::null_mut()),
            _owns: PhantomData,
            _token: PhantomData,
        }
    }

    /// Follows the pointer under RCU: `rcu_dereference()`.
    #[inline]
    pub fn read<'a>(&'a self, _rcu: &'a rcu::Guard) -> Option<P::Borrowed<'a>> {
        // Relaxed is `READ_ONCE()`, which with the address dependency of the borrow is what
        // `rcu_dereference()` is.
        let ptr = NonNull::new(self.ptr.load(Relaxed))?;
        // SAFETY: By the type invariants the value comes from `into_foreign`, and a writer that
        // replaced it meanwhile can use up `Old` only after this read-side section.
        Some(unsafe { P::borrow(ptr.as_ptr()) })
    }

    /// Is the pointer set? `rcu_access_pointer()`: any context, nothing is followed.
    #[inline]
    pub fn is_set(&self) -> bool {
        !self.ptr.load(Relaxed).is_null()
    }
}

impl<T: AlwaysRefCounted, X> RcuPointer<ARef<T>, X> {
    /// Does it point at this object? `rcu_access_pointer()`: any context.
    #[inline]
    pub fn points_to(&self, object: &T) -> bool {
        self.ptr.load(Relaxed).cast_const() == core::ptr::from_ref(object).cast()
    }
}

impl<P: ForeignOwnable, X: Exclusive> RcuPointer<P, X> {
    /// Follows the pointer with updates shut out: `rcu_dereference_protected()`.
    #[inline]
    pub fn get<'a>(&'a self, _token: &'a X) -> Option<P::Borrowed<'a>> {
        let ptr = NonNull::new(self.ptr.load(Relaxed))?;
        // SAFETY: By the type invariants the value comes from `into_foreign`; replacing it takes
        // the only token by `&mut`, which the shared borrow of it prevents for `'a`.
        Some(unsafe { P::borrow(ptr.as_ptr()) })
    }

    /// Publishes `new`, with everything written to it before: `rcu_assign_pointer()`.
    ///
    /// Returns the value that was there. Readers may still use it.
    #[inline]
    pub fn replace(&self, new: Option<P>, _token: &mut X) -> Option<Old<P>> {
        // Only the holder of the token writes, so that load and store need not be one operation.
        let old = self.ptr.load(Relaxed);
        let new = new.map_or(core::ptr::null_mut(), P::into_foreign);
        self.ptr.store(new, Release);
        NonNull::new(old).map(|ptr| Old {
            ptr,
            // INVARIANT: The pointer owned the value and, before this, ceased to refer to it.
            // SAFETY: No precondition.
            cookie: unsafe { bindings::get_state_synchronize_rcu() },
            _owns: PhantomData,
        })
    }
}

impl<P: ForeignOwnable, X> Drop for RcuPointer<P, X> {
    fn drop(&mut self) {
        if let Some(ptr) = NonNull::new(*self.ptr.get_mut()) {
            // SAFETY: By the type invariants the value is ours, and with `&mut self` no reader is
            // left.
            drop(unsafe { P::from_foreign(ptr.as_ptr()) });
        }
    }
}

/// A value that has left its [`RcuPointer`] and that readers may still hold.
///
/// It remembers the grace period it has to wait for, so that where several values leave together
/// the first wait serves them all: the others find theirs elapsed and return at once. Dropping it
/// waits too, which may sleep; forgetting it leaks.
///
/// # Invariants
///
/// `ptr` comes from `P::into_foreign` and is owned; no `RcuPointer` has held it since `cookie` was
/// taken.
///
/// # Examples
///
/// ```
/// use kernel::sync::{global_lock, rcu_pointer::RcuPointer, GlobalGuard};
///
/// global_lock! {
///     // SAFETY: Initialised below, before the first use.
///     unsafe(uninit) static WRITER: Mutex<()> = ();
/// }
/// // SAFETY: Once, before any use.
/// unsafe { WRITER.init() };
///
/// let slot: RcuPointer<KBox<u32>, GlobalGuard<WRITER>> = RcuPointer::null();
/// let mut token = WRITER.lock();
/// assert!(slot.replace(Some(KBox::new(3, GFP_KERNEL)?), &mut token).is_none());
///
/// let old = slot.replace(None, &mut token).ok_or(EINVAL)?;
/// assert_eq!(*old.borrow(), 3);
/// assert_eq!(*old.synchronize_expedited(), 3);
/// # Ok::<(), Error>(())
/// ```
#[must_use = "readers may still use the old value: wait for them"]
pub struct Old<P: ForeignOwnable> {
    ptr: NonNull<c_void>,
    cookie: c_ulong,
    _owns: PhantomData<P>,
}

// SAFETY: `Old` is only a `P` whose use is delayed; `borrow` shares it.
unsafe impl<P: ForeignOwnable + Send> Send for Old<P> {}
// SAFETY: As above.
unsafe impl<P: ForeignOwnable + Sync> Sync for Old<P> {}

impl<P: ForeignOwnable> Old<P> {
    /// Waits until no reader is left, then gives the value back. May sleep.
    pub fn synchronize(self) -> P {
        // SAFETY: May sleep, by this function's contract; no other precondition.
        unsafe { bindings::cond_synchronize_rcu(self.cookie) };
        self.into_inner()
    }

    /// As [`synchronize`](Self::synchronize), by an expedited grace period.
    ///
    /// It interrupts every CPU: right under a lock that others wait for, such as the RTNL.
    pub fn synchronize_expedited(self) -> P {
        // SAFETY: May sleep, by this function's contract; no other precondition.
        unsafe { bindings::cond_synchronize_rcu_expedited(self.cookie) };
        self.into_inner()
    }

    /// Looks at the value that is on its way out.
    #[inline]
    pub fn borrow(&self) -> P::Borrowed<'_> {
        // SAFETY: By the type invariants the value is owned by `self`.
        unsafe { P::borrow(self.ptr.as_ptr()) }
    }

    #[inline]
    fn into_inner(self) -> P {
        let me = ManuallyDrop::new(self);
        // SAFETY: By the type invariants the value is ours, and the callers have waited.
        unsafe { P::from_foreign(me.ptr.as_ptr()) }
    }
}

impl<P: FreedByRcu> Old<P> {
    /// Drops the value at once: what it owns waits for its readers by itself.
    #[inline]
    pub fn put(self) {
        drop(self.into_inner());
    }
}

impl<P: ForeignOwnable> Drop for Old<P> {
    fn drop(&mut self) {
        // SAFETY: An `Old` lives in code that may sleep; no other precondition.
        unsafe { bindings::cond_synchronize_rcu(self.cookie) };
        // SAFETY: By the type invariants the value is ours; the readers are gone.
        drop(unsafe { P::from_foreign(self.ptr.as_ptr()) });
    }
}

#[kunit_tests(rust_rcu_pointer)]
mod tests {
    use super::*;
    use crate::sync::Arc;

    struct Token;
    // SAFETY: The tests keep one token each, on the stack.
    unsafe impl Exclusive for Token {}

    #[test]
    fn replace_hands_out_the_old_value() -> Result {
        let value = Arc::new(7, GFP_KERNEL)?;
        let slot: RcuPointer<Arc<u32>, Token> = RcuPointer::null();
        let mut token = Token;

        assert!(!slot.is_set());
        assert!(slot.replace(Some(value.clone()), &mut token).is_none());
        assert!(slot.is_set());
        assert_eq!(slot.get(&token).map(|v| *v), Some(7));

        let old = slot.replace(None, &mut token).ok_or(EINVAL)?;
        assert!(slot.read(&rcu::read_lock()).is_none());
        assert!(Arc::ptr_eq(&old.synchronize(), &value));
        Ok(())
    }

    #[test]
    fn drop_releases_what_it_owns() -> Result {
        let value = Arc::new(7, GFP_KERNEL)?;
        let slot: RcuPointer<Arc<u32>, Token> = RcuPointer::null();
        let mut token = Token;
        assert!(slot.replace(Some(value.clone()), &mut token).is_none());
        drop(slot);

        let slot: RcuPointer<Arc<u32>, Token> = RcuPointer::null();
        assert!(slot.replace(Some(value.clone()), &mut token).is_none());
        drop(slot.replace(None, &mut token));

        // Only this reference is left.
        assert!(Arc::into_unique_or_drop(value).is_some());
        Ok(())
    }

    fn elapsed<P: ForeignOwnable>(old: &Old<P>) -> bool {
        // SAFETY: No precondition.
        unsafe { bindings::poll_state_synchronize_rcu(old.cookie) }
    }

    #[test]
    fn one_wait_serves_many() -> Result {
        let mut token = Token;
        let slots: [RcuPointer<KBox<usize>, Token>; 3] = [const { RcuPointer::null() }; 3];
        for (i, slot) in slots.iter().enumerate() {
            assert!(slot
                .replace(Some(KBox::new(i, GFP_KERNEL)?), &mut token)
                .is_none());
        }
        let olds = [0, 1, 2].map(|i: usize| slots[i].replace(None, &mut token));
        // One wait, unless an expedited grace period overlaps it: that may hide its end.
        for _ in 0..100 {
            rcu::synchronize_rcu();
            if olds.iter().flatten().all(elapsed) {
                break;
            }
        }
        for (i, old) in olds.into_iter().enumerate() {
            let old = old.ok_or(EINVAL)?;
            assert!(elapsed(&old));
            assert_eq!(*old.synchronize(), i);
        }
        Ok(())
    }
}
