// SPDX-License-Identifier: GPL-2.0

//! Bounded FIFO of pointers with a lock for each end.
//!
//! The C structure is used as it is: its layout is shared with C code such as vhost-net, which is
//! handed the ring of a tap device and works on it directly.
//!
//! # Locking
//!
//! Two spinlocks, one an end. Where both are held the consumer's is outside and bottom halves are
//! off, because producers run in softirqs: [`PtrRing::lock_bh`] is the only way to hold both.
//!
//! C header: [`include/linux/ptr_ring.h`](srctree/include/linux/ptr_ring.h)

use crate::{
    alloc::Flags,
    bindings,
    error::to_result,
    prelude::*,
    sync::bh,
    types::{
        ForeignOwnable,
        NotThreadSafe,
        Opaque, //
    }, //
};
use core::{
    cell::UnsafeCell,
    ffi::c_void,
    marker::PhantomData,
    mem::MaybeUninit,
    ptr::NonNull, //
};

// Where `bindgen` mislays a field, the build fails rather than the kernel.
static_assert!(size_of::<bindings::ptr_ring>() == bindings::SIZEOF_PTR_RING);

#[cfg(CONFIG_KUNIT = "y")]
mod twin;

/// What a ring can hold: an owning pointer that knows how to go when the ring cannot keep it.
///
/// Tags in the low bits of the foreign pointer are the entry's business.
pub trait Entry: ForeignOwnable + Send {
    /// Ends an entry that did not fit after a resize or an [`unconsume`](PtrRing::unconsume), or
    /// that is left when the ring goes. May be called with both ring locks held.
    fn destroy(self) {
        drop(self)
    }
}

impl<T: Send + 'static> Entry for KBox<T> {}

/// Why an entry could not be produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// The next slot is in use. This passes: wait for the consumer.
    Full,
    /// The ring has no slots, and waiting will not give it any.
    NoSlots,
}

impl NoRoom {
    #[inline]
    fn from_errno(ret: c_int) -> Option<Self> {
        match ret {
            0 => None,
            e if e == -(bindings::EINVAL as c_int) => Some(Self::NoSlots),
            _ => Some(Self::Full),
        }
    }
}

/// A ring of entries `P`, with a value `S` that belongs to whoever holds the consumer's lock.
///
/// # Invariants
///
/// * `ring` is an initialised `struct ptr_ring` whose entries come from `P::into_foreign` and are
///   owned by the ring;
/// * `state` is only accessed with the consumer's lock held.
///
/// # Examples
///
/// ```
/// use kernel::net::ptr_ring::{NoRoom, PtrRing};
///
/// let ring = KBox::pin_init(PtrRing::<KBox<u32>>::new(2, (), GFP_KERNEL), GFP_KERNEL)?;
///
/// assert!(ring.producer_bh().produce(KBox::new(1, GFP_KERNEL)?).is_ok());
/// assert!(ring.producer_bh().produce(KBox::new(2, GFP_KERNEL)?).is_ok());
///
/// // A full ring gives the entry back.
/// let (entry, why) = ring
///     .producer_bh()
///     .produce(KBox::new(3, GFP_KERNEL)?)
///     .err()
///     .ok_or(EINVAL)?;
/// assert_eq!((*entry, why), (3, NoRoom::Full));
///
/// assert_eq!(ring.consumer().peek().copied(), Some(1));
/// assert_eq!(ring.consumer().consume().map(|e| *e), Some(1));
/// # Ok::<(), Error>(())
/// ```
#[repr(C)]
#[pin_data(PinnedDrop)]
pub struct PtrRing<P: Entry, S = ()> {
    #[pin]
    ring: Opaque<bindings::ptr_ring>,
    state: UnsafeCell<S>,
    _entries: PhantomData<P>,
}

// SAFETY: The entries and the state move between threads with the ring.
unsafe impl<P: Entry, S: Send> Send for PtrRing<P, S> {}
// SAFETY: The two locks serialise each end; the state belongs to the consumer's lock.
unsafe impl<P: Entry, S: Send> Sync for PtrRing<P, S> {}

/// # Safety
///
/// `ptr` comes from `P::into_foreign` and is owned by the caller.
unsafe extern "C" fn destroy<P: Entry>(ptr: *mut c_void) {
    // SAFETY: By the contract of this function.
    unsafe { P::from_foreign(ptr) }.destroy();
}

impl<P: Entry, S> PtrRing<P, S> {
    /// A ring of `size` slots, which may be 0. May sleep where `flags` do. `ENOMEM`.
    pub fn new(size: u32, state: S, flags: Flags) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            ring <- Opaque::try_ffi_init(move |slot: *mut bindings::ptr_ring| {
                let size = c_int::try_from(size).map_err(|_| ENOMEM)?;
                // SAFETY: `slot` is valid for writes and pinned.
                to_result(unsafe { bindings::ptr_ring_init(slot, size, flags.as_raw()) })
            }),
            state: UnsafeCell::new(state),
            _entries: PhantomData,
        })
    }

    /// The C ring, for C code that works on it under its locks.
    #[inline]
    pub fn as_raw(&self) -> *mut bindings::ptr_ring {
        self.ring.get()
    }

    /// Takes the producer's lock where bottom halves are off already.
    #[inline]
    pub fn producer<'a>(&'a self, _bh: &'a bh::Disabled) -> Producer<'a, P, S> {
        // SAFETY: By the type invariants the lock is initialised.
        unsafe { bindings::spin_lock(&raw mut (*self.as_raw()).producer_lock) };
        Producer::new(self, false)
    }

    /// Takes the producer's lock and disables bottom halves.
    #[inline]
    pub fn producer_bh(&self) -> Producer<'_, P, S> {
        // SAFETY: By the type invariants the lock is initialised.
        unsafe { bindings::spin_lock_bh(&raw mut (*self.as_raw()).producer_lock) };
        Producer::new(self, true)
    }

    /// Takes the consumer's lock. Bottom halves stay as they are: for rings that are consumed in
    /// process context only, or where bottom halves are off.
    #[inline]
    pub fn consumer(&self) -> Consumer<'_, P, S> {
        // SAFETY: By the type invariants the lock is initialised.
        unsafe { bindings::spin_lock(&raw mut (*self.as_raw()).consumer_lock) };
        // INVARIANT: The lock was just taken, and `Release::Plain` undoes just that.
        Consumer {
            ring: self,
            release: Release::Plain,
            _not_send: NotThreadSafe,
        }
    }

    /// Takes both locks, the consumer's first, with bottom halves disabled.
    #[inline]
    pub fn lock_bh(&self) -> Both<'_, P, S> {
        // SAFETY: By the type invariants the locks are initialised.
        unsafe {
            bindings::spin_lock_bh(&raw mut (*self.as_raw()).consumer_lock);
            bindings::spin_lock(&raw mut (*self.as_raw()).producer_lock);
        }
        // INVARIANT: Both were just taken. Fields drop in order: the producer's lock goes first.
        Both {
            producer: Producer::new(self, false),
            consumer: Consumer {
                ring: self,
                release: Release::Bh,
                _not_send: NotThreadSafe,
            },
        }
    }

    /// Treats the consumer's lock as held, by C code further up this thread.
    ///
    /// # Safety
    ///
    /// The calling thread holds the consumer's lock for `'a`, no other [`Consumer`] of this ring
    /// exists on it, and it does not touch the ring's entries meanwhile.
    #[inline]
    pub unsafe fn assume_consumer<'a>(&'a self) -> Consumer<'a, P, S> {
        // SAFETY: By the type invariants the lock is initialised. This is a lockdep assertion.
        unsafe { bindings::spin_assert_is_held(&raw mut (*self.as_raw()).consumer_lock) };
        // INVARIANT: The lock is held, and `Release::Borrowed` leaves it so.
        Consumer {
            ring: self,
            release: Release::Borrowed,
            _not_send: NotThreadSafe,
        }
    }

    /// Gives consumed entries back, the last of `entries` ends nearest to the rest of the ring, so
    /// that they come out again in the same order. Those that do not fit are destroyed.
    pub fn unconsume<const N: usize>(&self, entries: Batched<P, N>) {
        let mut entries = core::mem::ManuallyDrop::new(entries);
        // SAFETY: The first `len` pointers come from `into_foreign` and are given up here.
        unsafe {
            bindings::ptr_ring_unconsume(
                self.as_raw(),
                entries.ptrs.as_mut_ptr().cast(),
                entries.len as c_int,
                Some(destroy::<P>),
            )
        };
    }

    /// Gives the ring `size` slots; entries that do not fit any more, the newest, are destroyed.
    ///
    /// On `ENOMEM` nothing changes. May sleep where `flags` do.
    pub fn resize(&self, size: u32, flags: Flags) -> Result {
        let size = c_int::try_from(size).map_err(|_| ENOMEM)?;
        // SAFETY: The ring's entries come from `into_foreign`, which `destroy` undoes. Both locks
        // are taken inside.
        to_result(unsafe {
            bindings::ptr_ring_resize(self.as_raw(), size, flags.as_raw(), Some(destroy::<P>))
        })
    }

    /// Resizes several rings, all or, on `ENOMEM`, none. May sleep where `flags` do.
    pub fn resize_all(rings: &[&Self], size: u32, flags: Flags) -> Result {
        let size = c_int::try_from(size).map_err(|_| ENOMEM)?;
        let count = c_uint::try_from(rings.len()).map_err(|_| ENOMEM)?;
        // SAFETY: `&Self` has the layout of `*mut ptr_ring`, since `ring` is the first field of a
        // `repr(C)` struct; the array is only read. Entries as in `resize`.
        to_result(unsafe {
            bindings::ptr_ring_resize_multiple_bh(
                rings.as_ptr().cast_mut().cast(),
                count,
                size,
                flags.as_raw(),
                Some(destroy::<P>),
            )
        })
    }
}

#[pinned_drop]
impl<P: Entry, S> PinnedDrop for PtrRing<P, S> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariants the ring is initialised and its entries are ours; with
        // `&mut self` no guard exists.
        unsafe { bindings::ptr_ring_cleanup(self.ring.get(), Some(destroy::<P>)) };
    }
}

/// The producer's end of a locked ring.
///
/// # Invariants
///
/// The producer's lock is held; if `bh`, bottom halves were disabled with it.
pub struct Producer<'a, P: Entry, S> {
    ring: &'a PtrRing<P, S>,
    bh: bool,
    _not_send: NotThreadSafe,
}

impl<'a, P: Entry, S> Producer<'a, P, S> {
    #[inline]
    fn new(ring: &'a PtrRing<P, S>, bh: bool) -> Self {
        Self {
            ring,
            bh,
            _not_send: NotThreadSafe,
        }
    }

    /// Adds an entry, or gives it back and says why not.
    #[inline]
    pub fn produce(&mut self, entry: P) -> Result<(), (P, NoRoom)> {
        let ptr = entry.into_foreign();
        // SAFETY: The producer's lock is held; `ptr` is not null, and the ring owns it from here.
        let ret = unsafe { bindings::__ptr_ring_produce(self.ring.as_raw(), ptr) };
        match NoRoom::from_errno(ret) {
            None => Ok(()),
            // SAFETY: The ring did not take `ptr`, which comes from `into_foreign`.
            Some(why) => Err((unsafe { P::from_foreign(ptr) }, why)),
        }
    }

    /// Is there room for one more entry? Only the consumer can change a no.
    #[inline]
    pub fn room(&self) -> Result<(), NoRoom> {
        // SAFETY: The producer's lock is held.
        match NoRoom::from_errno(unsafe { bindings::__ptr_ring_check_produce(self.ring.as_raw()) })
        {
            None => Ok(()),
            Some(why) => Err(why),
        }
    }
}

impl<P: Entry, S> Drop for Producer<'_, P, S> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariants the lock is held, and bottom halves are off if `bh`.
        unsafe {
            let lock = &raw mut (*self.ring.as_raw()).producer_lock;
            if self.bh {
                bindings::spin_unlock_bh(lock);
            } else {
                bindings::spin_unlock(lock);
            }
        }
    }
}

/// How a [`Consumer`] ends.
enum Release {
    /// By `spin_unlock()`.
    Plain,
    /// By `spin_unlock_bh()`.
    Bh,
    /// Not at all: somebody else took the lock.
    Borrowed,
}

/// The consumer's end of a locked ring.
///
/// # Invariants
///
/// The consumer's lock is held and `release` says how it was taken.
pub struct Consumer<'a, P: Entry, S> {
    ring: &'a PtrRing<P, S>,
    release: Release,
    _not_send: NotThreadSafe,
}

impl<P: Entry, S> Consumer<'_, P, S> {
    /// Takes the oldest entry.
    ///
    /// Its slot may stay in use until a batch of slots is freed at once: see
    /// `__ptr_ring_discard_one()`.
    #[inline]
    pub fn consume(&mut self) -> Option<P> {
        // SAFETY: The consumer's lock is held.
        let ptr = NonNull::new(unsafe { bindings::__ptr_ring_consume(self.ring.as_raw()) })?;
        // SAFETY: The ring's entries come from `into_foreign`; this one is ours now.
        Some(unsafe { P::from_foreign(ptr.as_ptr()) })
    }

    /// Takes up to `N` of the oldest entries.
    #[inline]
    pub fn consume_batch<const N: usize>(&mut self) -> Batched<P, N> {
        let mut batch = Batched::empty();
        // SAFETY: The consumer's lock is held; there is room for `N` pointers.
        let n = unsafe {
            bindings::__ptr_ring_consume_batched(
                self.ring.as_raw(),
                batch.ptrs.as_mut_ptr().cast(),
                N as c_int,
            )
        };
        // INVARIANT: The first `n` pointers were written and come from `into_foreign`.
        batch.len = n as usize;
        batch
    }

    /// Looks at the oldest entry.
    #[inline]
    pub fn peek(&self) -> Option<P::Borrowed<'_>> {
        // SAFETY: The consumer's lock is held.
        let ptr = NonNull::new(unsafe { bindings::__ptr_ring_peek(self.ring.as_raw()) })?;
        // SAFETY: The ring's entries come from `into_foreign`; consuming it takes `&mut self`.
        Some(unsafe { P::borrow(ptr.as_ptr()) })
    }

    /// Is there nothing to consume? Then at least one slot is free, or the ring has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // SAFETY: The consumer's lock is held, which keeps the ring from being resized.
        unsafe { bindings::__ptr_ring_empty(self.ring.as_raw()) }
    }

    /// The number of slots.
    #[inline]
    pub fn size(&self) -> u32 {
        // SAFETY: Written only with both locks held.
        unsafe { (*self.ring.as_raw()).size as u32 }
    }

    /// The value that goes with the consumer's lock.
    #[inline]
    pub fn state(&mut self) -> &mut S {
        // SAFETY: By the type invariants of the ring and of this type; `&mut self` makes it one.
        unsafe { &mut *self.ring.state.get() }
    }
}

impl<P: Entry, S> Drop for Consumer<'_, P, S> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariants the lock is held, taken as `release` says.
        unsafe {
            let lock = &raw mut (*self.ring.as_raw()).consumer_lock;
            match self.release {
                Release::Plain => bindings::spin_unlock(lock),
                Release::Bh => bindings::spin_unlock_bh(lock),
                Release::Borrowed => {}
            }
        }
    }
}

/// Both ends of a locked ring, bottom halves off.
pub struct Both<'a, P: Entry, S> {
    // Dropped in this order, the reverse of locking.
    /// The producer's end.
    pub producer: Producer<'a, P, S>,
    /// The consumer's end.
    pub consumer: Consumer<'a, P, S>,
}

/// Up to `N` consumed entries, oldest first.
///
/// # Invariants
///
/// The first `len` elements of `ptrs` are initialised, come from `P::into_foreign` and are owned.
///
/// # Examples
///
/// ```
/// use kernel::net::ptr_ring::PtrRing;
///
/// let ring = KBox::pin_init(PtrRing::<KBox<u32>>::new(8, (), GFP_KERNEL), GFP_KERNEL)?;
/// for i in 0..5 {
///     assert!(ring.producer_bh().produce(KBox::new(i, GFP_KERNEL)?).is_ok());
/// }
///
/// let mut batch = ring.consumer().consume_batch::<3>();
/// assert_eq!(batch.len(), 3);
/// assert_eq!(batch.take_last().map(|e| *e), Some(2));
///
/// // The other two go back in front of what is left.
/// ring.unconsume(batch);
/// assert_eq!(ring.consumer().consume().map(|e| *e), Some(0));
/// # Ok::<(), Error>(())
/// ```
pub struct Batched<P: Entry, const N: usize> {
    ptrs: [MaybeUninit<*mut c_void>; N],
    len: usize,
    _entries: PhantomData<P>,
}

impl<P: Entry, const N: usize> Batched<P, N> {
    #[inline]
    const fn empty() -> Self {
        Self {
            ptrs: [const { MaybeUninit::uninit() }; N],
            len: 0,
            _entries: PhantomData,
        }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes out the newest.
    #[inline]
    pub fn take_last(&mut self) -> Option<P> {
        self.len = self.len.checked_sub(1)?;
        // BOUNDS: By the type invariants `len` was at most `N`.
        // SAFETY: By the type invariants the element is initialised and ours.
        Some(unsafe { P::from_foreign(self.ptrs[self.len].assume_init()) })
    }

    /// Hands each entry to `f`, oldest first.
    #[inline]
    pub fn for_each(self, mut f: impl FnMut(P)) {
        let me = core::mem::ManuallyDrop::new(self);
        for ptr in me.ptrs.iter().take(me.len) {
            // SAFETY: By the type invariants, and `me` is not used again.
            f(unsafe { P::from_foreign(ptr.assume_init()) });
        }
    }
}

impl<P: Entry, const N: usize> Drop for Batched<P, N> {
    fn drop(&mut self) {
        while let Some(entry) = self.take_last() {
            entry.destroy();
        }
    }
}

#[kunit_tests(rust_ptr_ring)]
mod tests {
    use super::*;
    use crate::sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    };

    type Ring = Pin<KBox<PtrRing<KBox<u32>, u32>>>;

    fn ring(size: u32) -> Result<Ring> {
        KBox::pin_init(PtrRing::new(size, 0, GFP_KERNEL), GFP_KERNEL)
    }

    fn put(ring: &Ring, value: u32) -> Result<(), NoRoom> {
        let entry = KBox::new(value, GFP_KERNEL).map_err(|_| NoRoom::NoSlots)?;
        ring.producer_bh().produce(entry).map_err(|(_, why)| why)
    }

    fn get(ring: &Ring) -> Option<u32> {
        ring.consumer().consume().map(|entry| *entry)
    }

    #[test]
    fn fifo_over_many_sizes() -> Result {
        for size in [1, 2, 3, 16, 31, 32, 33, 100] {
            let ring = ring(size)?;
            for round in 0..3 {
                for i in 0..size {
                    assert_eq!(put(&ring, round * size + i), Ok(()));
                }
                assert_eq!(put(&ring, 0), Err(NoRoom::Full));
                assert_eq!(ring.producer_bh().room(), Err(NoRoom::Full));
                for i in 0..size {
                    assert_eq!(get(&ring), Some(round * size + i));
                }
                assert_eq!(get(&ring), None);
                assert!(ring.consumer().is_empty());
                assert_eq!(ring.producer_bh().room(), Ok(()));
            }
        }
        Ok(())
    }

    #[test]
    fn no_slots_is_not_full() -> Result {
        let ring = ring(0)?;
        assert_eq!(put(&ring, 1), Err(NoRoom::NoSlots));
        assert_eq!(ring.producer_bh().room(), Err(NoRoom::NoSlots));
        assert_eq!(get(&ring), None);
        assert!(ring.consumer().is_empty());
        ring.resize(1, GFP_KERNEL)?;
        assert_eq!(put(&ring, 1), Ok(()));
        Ok(())
    }

    #[test]
    fn resize_keeps_the_oldest() -> Result {
        let ring = ring(8)?;
        for i in 0..8 {
            assert_eq!(put(&ring, i), Ok(()));
        }
        ring.resize(3, GFP_KERNEL)?;
        assert_eq!(ring.consumer().size(), 3);
        assert_eq!(put(&ring, 9), Err(NoRoom::Full));
        for i in 0..3 {
            assert_eq!(get(&ring), Some(i));
        }
        assert_eq!(get(&ring), None);
        Ok(())
    }

    #[test]
    fn resize_all_is_all_or_nothing() -> Result {
        let (a, b) = (ring(4)?, ring(4)?);
        assert_eq!(put(&a, 1), Ok(()));
        PtrRing::resize_all(&[&a, &b], 16, GFP_KERNEL)?;
        assert_eq!((a.consumer().size(), b.consumer().size()), (16, 16));
        assert_eq!(get(&a), Some(1));
        assert!(PtrRing::resize_all(&[&a, &b], u32::MAX, GFP_KERNEL).is_err());
        assert_eq!((a.consumer().size(), b.consumer().size()), (16, 16));
        Ok(())
    }

    #[test]
    fn state_belongs_to_the_consumer() -> Result {
        let ring = ring(1)?;
        *ring.consumer().state() += 5;
        let mut both = ring.lock_bh();
        assert_eq!(*both.consumer.state(), 5);
        assert!(both.producer.room().is_ok());
        Ok(())
    }

    #[test]
    fn unconsume_keeps_order_and_drops_overflow() -> Result {
        let ring = ring(4)?;
        for i in 0..4 {
            assert_eq!(put(&ring, i), Ok(()));
        }
        let batch = ring.consumer().consume_batch::<4>();
        assert_eq!(batch.len(), 4);
        // Two newer ones take the room of two of the batch.
        assert_eq!(put(&ring, 10), Ok(()));
        assert_eq!(put(&ring, 11), Ok(()));
        ring.unconsume(batch);
        for expected in [2, 3, 10, 11] {
            assert_eq!(get(&ring), Some(expected));
        }
        assert_eq!(get(&ring), None);
        Ok(())
    }

    struct Counted(Arc<Atomic<u32>>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.add(1, Relaxed);
        }
    }

    #[test]
    fn nothing_leaks() -> Result {
        let gone = Arc::new(Atomic::new(0u32), GFP_KERNEL)?;
        let new = || KBox::new(Counted(gone.clone()), GFP_KERNEL);
        let ring = KBox::pin_init(PtrRing::<KBox<Counted>>::new(8, (), GFP_KERNEL), GFP_KERNEL)?;
        for _ in 0..8 {
            assert!(ring.producer_bh().produce(new()?).is_ok());
        }
        assert!(ring.producer_bh().produce(new()?).is_err());
        assert_eq!(gone.load(Relaxed), 1);
        drop(ring.consumer().consume_batch::<2>());
        assert_eq!(gone.load(Relaxed), 3);
        ring.resize(4, GFP_KERNEL)?;
        assert_eq!(gone.load(Relaxed), 5);
        drop(ring);
        assert_eq!(gone.load(Relaxed), 9);
        Ok(())
    }
}
