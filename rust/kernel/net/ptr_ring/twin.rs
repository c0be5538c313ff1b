// SPDX-License-Identifier: GPL-2.0

//! The wrapper and the C functions, side by side: the same operations on two rings, and after each
//! of them the same result and the same state.

use super::*;
use crate::bindings;

/// A C ring that is used by the C functions alone.
struct Bare(KBox<Opaque<bindings::ptr_ring>>);

/// What the C ring destroyed, last first: as many as any operation can.
static DESTROYED: crate::sync::atomic::Atomic<u64> = crate::sync::atomic::Atomic::new(0);

/// # Safety
///
/// None: entries of bare rings are numbers.
unsafe extern "C" fn destroy_bare(entry: *mut c_void) {
    DESTROYED.add(entry as u64, crate::sync::atomic::Relaxed);
}

impl Bare {
    fn new(size: c_int) -> Result<Self> {
        let ring = KBox::new(Opaque::zeroed(), GFP_KERNEL)?;
        // SAFETY: The memory is valid and does not move.
        to_result(unsafe { bindings::ptr_ring_init(ring.get(), size, GFP_KERNEL.as_raw()) })?;
        Ok(Self(ring))
    }

    fn raw(&self) -> *mut bindings::ptr_ring {
        self.0.get()
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: Initialised in `new`.
        unsafe { bindings::ptr_ring_cleanup(self.raw(), Some(destroy_bare)) }
    }
}

/// An entry that is a number, as those of the bare ring are.
struct Number(usize);

// SAFETY: The foreign form is the number itself, which is neither null nor followed.
unsafe impl ForeignOwnable for Number {
    const FOREIGN_ALIGN: usize = 1;
    type Borrowed<'a> = usize;
    type BorrowedMut<'a> = usize;

    fn into_foreign(self) -> *mut c_void {
        self.0 as *mut c_void
    }

    unsafe fn from_foreign(ptr: *mut c_void) -> Self {
        Self(ptr as usize)
    }

    unsafe fn borrow<'a>(ptr: *mut c_void) -> Self::Borrowed<'a> {
        ptr as usize
    }

    unsafe fn borrow_mut<'a>(ptr: *mut c_void) -> Self::BorrowedMut<'a> {
        ptr as usize
    }
}

static OURS_DESTROYED: crate::sync::atomic::Atomic<u64> = crate::sync::atomic::Atomic::new(0);

impl Entry for Number {
    fn destroy(self) {
        OURS_DESTROYED.add(self.0 as u64, crate::sync::atomic::Relaxed);
    }
}

/// The fields of a ring, and its slots summed up with their positions.
#[derive(Debug, PartialEq, Eq)]
struct State {
    producer: c_int,
    head: c_int,
    tail: c_int,
    size: c_int,
    batch: c_int,
    slots: u64,
}

/// # Safety
///
/// `ring` is initialised, and nobody else uses it.
unsafe fn state(ring: *mut bindings::ptr_ring) -> State {
    // SAFETY: By this function's contract.
    unsafe {
        let mut slots = 0u64;
        for i in 0..(*ring).size as usize {
            let entry = *(*ring).queue.add(i) as u64;
            slots = slots.wrapping_mul(31).wrapping_add(entry);
        }
        State {
            producer: (*ring).producer,
            head: (*ring).consumer_head,
            tail: (*ring).consumer_tail,
            size: (*ring).size,
            batch: (*ring).batch,
            slots,
        }
    }
}

/// A generator of numbers, the same for the same seed: xorshift.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// `N` operations by one seed on a ring that starts with `size` slots.
fn run(seed: u64, size: u32, operations: u32) -> Result {
    let ours = KBox::pin_init(PtrRing::<Number>::new(size, (), GFP_KERNEL), GFP_KERNEL)?;
    let theirs = Bare::new(size as c_int)?;
    let raw = theirs.raw();
    let mut rng = Rng(seed);
    let mut next = 1usize;

    for _ in 0..operations {
        match rng.below(100) {
            0..45 => {
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                let ret = unsafe { bindings::__ptr_ring_produce(raw, next as *mut c_void) };
                let result = ours.producer_bh().produce(Number(next));
                assert_eq!(result.is_ok(), ret == 0);
                assert_eq!(
                    result.err().map(|(n, why)| (n.0, Some(why))),
                    (ret != 0).then(|| (next, NoRoom::from_errno(ret)))
                );
                next += 1;
            }
            45..75 => {
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                let theirs = unsafe { bindings::__ptr_ring_consume(raw) } as usize;
                let ours = ours.consumer().consume().map_or(0, |n| n.0);
                assert_eq!(ours, theirs);
            }
            75..80 => {
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                let theirs = unsafe { bindings::__ptr_ring_peek(raw) } as usize;
                assert_eq!(ours.consumer().peek().unwrap_or(0), theirs);
            }
            80..85 => {
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                let theirs = unsafe { bindings::__ptr_ring_check_produce(raw) };
                assert_eq!(ours.producer_bh().room().err(), NoRoom::from_errno(theirs));
            }
            85..88 => {
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                let theirs = unsafe { bindings::__ptr_ring_empty(raw) };
                assert_eq!(ours.consumer().is_empty(), theirs);
            }
            88..93 => {
                let mut array = [core::ptr::null_mut::<c_void>(); 16];
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                let n = unsafe { bindings::__ptr_ring_consume_batched(raw, array.as_mut_ptr(), 16) }
                    as usize;
                let mut i = 0;
                let batch = ours.consumer().consume_batch::<16>();
                assert_eq!(batch.len(), n);
                batch.for_each(|number| {
                    assert_eq!(Some(number.0), array.get(i).map(|p| *p as usize));
                    i += 1;
                });
                assert_eq!(i, n);
            }
            93..98 => {
                let mut array = [core::ptr::null_mut::<c_void>(); 16];
                let n =
                    // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                    unsafe { bindings::__ptr_ring_consume_batched(raw, array.as_mut_ptr(), 16) };
                let batch = ours.consumer().consume_batch::<16>();
                // Some room is taken meanwhile, so that not all fit back.
                for _ in 0..rng.below(8) {
                    // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                    let ret = unsafe { bindings::__ptr_ring_produce(raw, next as *mut c_void) };
                    let result = ours.producer_bh().produce(Number(next));
                    assert_eq!(result.is_ok(), ret == 0);
                    next += 1;
                }
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                unsafe {
                    bindings::ptr_ring_unconsume(raw, array.as_mut_ptr(), n, Some(destroy_bare))
                };
                ours.unconsume(batch);
            }
            _ => {
                let size = rng.below(70) as u32;
                // SAFETY: The bare ring is this test's alone: its locks need not be taken.
                to_result(unsafe {
                    bindings::ptr_ring_resize(
                        raw,
                        size as c_int,
                        GFP_KERNEL.as_raw(),
                        Some(destroy_bare),
                    )
                })?;
                ours.resize(size, GFP_KERNEL)?;
            }
        }
        // SAFETY: Both rings are this test's alone.
        assert_eq!(unsafe { state(ours.as_raw()) }, unsafe { state(raw) });
        assert_eq!(
            OURS_DESTROYED.load(crate::sync::atomic::Relaxed),
            DESTROYED.load(crate::sync::atomic::Relaxed)
        );
    }
    drop(ours);
    drop(theirs);
    assert_eq!(
        OURS_DESTROYED.load(crate::sync::atomic::Relaxed),
        DESTROYED.load(crate::sync::atomic::Relaxed)
    );
    Ok(())
}

#[kunit_tests(rust_ptr_ring_twin)]
mod tests {
    use super::run;
    use crate::prelude::*;

    #[test]
    fn tiny_rings() -> Result {
        for size in 0..4 {
            for seed in 1..9 {
                run(seed, size, 2000)?;
            }
        }
        Ok(())
    }

    #[test]
    fn around_a_batch() -> Result {
        for size in [15, 16, 17, 31, 32, 33, 63, 64, 65] {
            for seed in 1..5 {
                run(seed * 0x9e37_79b9, size, 4000)?;
            }
        }
        Ok(())
    }

    #[test]
    fn long_run() -> Result {
        run(0x5eed, 500, 100_000)
    }
}
