// SPDX-License-Identifier: GPL-2.0

//! A small hash table that is read under RCU and written under a lock of its own.
//!
//! C headers: [`include/linux/rculist.h`](srctree/include/linux/rculist.h),
//! [`include/linux/rcupdate.h`](srctree/include/linux/rcupdate.h)

use super::{
    atomic::{
        Atomic,
        Relaxed,
        Release, //
    },
    bh::{
        new_spinlock_bh,
        SpinLockBh, //
    },
    rcu, //
};
use crate::{
    alloc::Flags,
    bindings,
    prelude::*,
    types::Opaque, //
};
use core::ptr::NonNull;

#[repr(C)]
struct Node<T> {
    next: Atomic<*mut Node<T>>,
    key: u32,
    rcu: Opaque<bindings::kvfree_rcu_head>,
    value: T,
}

/// A hash table of `N` chains (a power of two) from hashes to values.
///
/// Readers hold RCU and take no lock; a writer holds the table's spinlock with bottom halves off.
/// Values are shared with readers at all times, so what changes in them must be atomic, and they
/// are freed by `kfree_rcu()`, so they must need no drop.
///
/// # Invariants
///
/// Each chain is a list of nodes from `KBox`, ended by null; only the holder of `len` changes it;
/// a node that left it is freed after a grace period.
///
/// # Examples
///
/// ```
/// use kernel::sync::{atomic::{Atomic, Relaxed}, rcu, rcu_table::RcuTable};
///
/// let table = KBox::pin_init(RcuTable::<Atomic<u32>, 16>::new(), GFP_KERNEL)?;
/// assert!(table.insert(0x17, Atomic::new(1), 8, GFP_KERNEL));
/// assert!(table.insert(0x27, Atomic::new(2), 8, GFP_KERNEL));
///
/// let guard = rcu::read_lock();
/// assert_eq!(table.find(0x27, &guard).map(|v| v.load(Relaxed)), Some(2));
/// drop(guard);
///
/// table.retain(|_, v| v.load(Relaxed) != 1);
/// assert!(table.find(0x17, &rcu::read_lock()).is_none());
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct RcuTable<T: Send + Sync, const N: usize> {
    chains: [Atomic<*mut Node<T>>; N],
    /// The number of entries; its lock is the writers' lock.
    #[pin]
    len: SpinLockBh<usize>,
}

// SAFETY: The table owns its values, and `T` is `Send`.
unsafe impl<T: Send + Sync, const N: usize> Send for RcuTable<T, N> {}
// SAFETY: Readers share `&T`, writers exclude one another by `len`.
unsafe impl<T: Send + Sync, const N: usize> Sync for RcuTable<T, N> {}

impl<T: Send + Sync, const N: usize> RcuTable<T, N> {
    const VALID: () = assert!(N.is_power_of_two() && !core::mem::needs_drop::<T>());

    /// An empty table.
    pub fn new() -> impl PinInit<Self> {
        const { Self::VALID };
        pin_init!(Self {
            chains <- pin_init::init_array_from_fn(|_| Atomic::new(core::ptr::null_mut())),
            len <- new_spinlock_bh!(0, "RcuTable::len"),
        })
    }

    #[inline]
    fn chain(&self, key: u32) -> &Atomic<*mut Node<T>> {
        // BOUNDS: `N` is a power of two, so that the mask stays below it.
        &self.chains[key as usize & (N - 1)]
    }

    #[inline]
    fn find_node(&self, key: u32) -> Option<NonNull<Node<T>>> {
        let mut at = self.chain(key).load(Relaxed);
        while let Some(node) = NonNull::new(at) {
            // SAFETY: The callers hold RCU or the writers' lock, so that by the type invariants
            // the node is not freed.
            let this = unsafe { node.as_ref() };
            if this.key == key {
                return Some(node);
            }
            at = this.next.load(Relaxed);
        }
        None
    }

    /// Looks `key` up under RCU.
    #[inline]
    pub fn find<'a>(&'a self, key: u32, _rcu: &'a rcu::Guard) -> Option<&'a T> {
        // SAFETY: RCU is held for `'a`.
        self.find_node(key)
            .map(|node| unsafe { &(*node.as_ptr()).value })
    }

    /// Adds an entry unless the key is there already or the table holds `max`.
    ///
    /// Returns whether it was added; it is not when memory is short, either. `flags` are those that
    /// the caller's context allows: the allocation is made outside the lock.
    pub fn insert(&self, key: u32, value: T, max: usize, flags: Flags) -> bool {
        {
            let len = self.len.lock();
            if *len >= max || self.find_node(key).is_some() {
                return false;
            }
        }
        // Outside the lock, so that any flags are right; the tests are repeated below.
        let Ok(node) = KBox::new(
            Node {
                next: Atomic::new(core::ptr::null_mut()),
                key,
                rcu: Opaque::uninit(),
                value,
            },
            flags,
        ) else {
            return false;
        };
        let mut len = self.len.lock();
        if *len >= max || self.find_node(key).is_some() {
            drop(len);
            drop(node);
            return false;
        }
        let chain = self.chain(key);
        node.next.store(chain.load(Relaxed), Relaxed);
        // Release publishes the node's contents: `rcu_assign_pointer()`.
        chain.store(KBox::into_raw(node), Release);
        *len += 1;
        true
    }

    /// Drops the entries for which `keep` says no. Returns how many are left.
    pub fn retain(&self, mut keep: impl FnMut(u32, &T) -> bool) -> usize {
        let mut len = self.len.lock();
        for chain in &self.chains {
            let mut link: &Atomic<*mut Node<T>> = chain;
            while let Some(node) = NonNull::new(link.load(Relaxed)) {
                // SAFETY: The writers' lock is held: no one else unlinks, so nothing is freed.
                let this = unsafe { &*node.as_ptr() };
                if keep(this.key, &this.value) {
                    link = &this.next;
                    continue;
                }
                // Readers that are at `this` still find the rest of the chain through it.
                link.store(this.next.load(Relaxed), Release);
                // SAFETY: The node came from `KBox`, is unlinked and needs no drop.
                unsafe { bindings::kvfree_call_rcu(this.rcu.get(), node.as_ptr().cast()) };
                *len -= 1;
            }
        }
        *len
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        *self.len.lock()
    }

    /// Has it none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[pinned_drop]
impl<T: Send + Sync, const N: usize> PinnedDrop for RcuTable<T, N> {
    fn drop(self: Pin<&mut Self>) {
        self.retain(|_, _| false);
    }
}

#[kunit_tests(rust_rcu_table)]
mod tests {
    use super::*;

    #[test]
    fn collisions_share_a_chain() -> Result {
        let table = KBox::pin_init(RcuTable::<u32, 4>::new(), GFP_KERNEL)?;
        for key in 0..64 {
            assert!(table.insert(key, key * 10, 64, GFP_KERNEL));
        }
        assert_eq!(table.len(), 64);
        let guard = rcu::read_lock();
        for key in 0..64 {
            assert_eq!(table.find(key, &guard), Some(&(key * 10)));
        }
        assert_eq!(table.find(64, &guard), None);
        Ok(())
    }

    #[test]
    fn insert_refuses_duplicates_and_overflow() -> Result {
        let table = KBox::pin_init(RcuTable::<u32, 4>::new(), GFP_KERNEL)?;
        assert!(table.insert(1, 1, 2, GFP_KERNEL));
        assert!(!table.insert(1, 2, 2, GFP_KERNEL));
        assert!(table.insert(2, 2, 2, GFP_KERNEL));
        assert!(!table.insert(3, 3, 2, GFP_KERNEL));
        assert_eq!(table.find(1, &rcu::read_lock()), Some(&1));
        Ok(())
    }

    #[test]
    fn retain_unlinks_anywhere_in_a_chain() -> Result {
        let table = KBox::pin_init(RcuTable::<u32, 1>::new(), GFP_KERNEL)?;
        for key in 0..9 {
            assert!(table.insert(key, 0, 9, GFP_KERNEL));
        }
        assert_eq!(table.retain(|key, _| key % 3 != 0), 6);
        let guard = rcu::read_lock();
        for key in 0..9 {
            assert_eq!(table.find(key, &guard).is_some(), key % 3 != 0);
        }
        drop(guard);
        assert_eq!(table.retain(|_, _| false), 0);
        assert!(table.is_empty());
        Ok(())
    }
}
