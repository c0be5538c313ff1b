// SPDX-License-Identifier: GPL-2.0

//! Timers of jiffy resolution whose callback runs in softirq context.
//!
//! C header: [`include/linux/timer.h`](srctree/include/linux/timer.h)

use crate::{
    bindings,
    prelude::*,
    time::Jiffies,
    types::Opaque, //
};
use core::ops::Deref;

/// What a [`Timer`] carries, and what it does when it expires.
pub trait Tick: Send + Sync {
    /// Runs in softirq context. Returns when to run again, in absolute jiffies, or `None`.
    fn tick(&self) -> Option<Jiffies>;
}

/// The current time in jiffies. Wraps around: compare by [`wrapping_sub`](usize::wrapping_sub).
#[inline]
pub fn now() -> Jiffies {
    // SAFETY: `jiffies` is a volatile that any context may read.
    unsafe { (&raw const bindings::jiffies).read_volatile() }
}

/// Rounds up to a full second, so that timers that need no precision expire together.
#[inline]
pub fn round_up(at: Jiffies) -> Jiffies {
    // SAFETY: Pure arithmetic.
    unsafe { bindings::round_jiffies_up(at) }
}

/// A timer and the data its callback works on.
///
/// Dropping it waits for a callback that runs, and no callback runs after that. Do not drop it in
/// the callback, nor while holding a lock that the callback takes.
///
/// # Invariants
///
/// `timer` is set up with [`Timer::expired`] and lies in a pinned `Timer<T>`.
///
/// # Examples
///
/// ```
/// use kernel::sync::{atomic::{Atomic, Relaxed}, timer::{self, Tick, Timer}};
/// use kernel::time::Jiffies;
///
/// struct Beats(Atomic<u32>);
/// impl Tick for Beats {
///     fn tick(&self) -> Option<Jiffies> {
///         self.0.add(1, Relaxed);
///         None
///     }
/// }
///
/// let t = KBox::pin_init(Timer::new(Beats(Atomic::new(0))), GFP_KERNEL)?;
/// assert!(!t.is_pending());
/// t.arm(timer::now() + 100_000);
/// assert!(t.is_pending());
/// assert_eq!(t.0.load(Relaxed), 0);
/// # Ok::<(), Error>(())
/// ```
#[repr(C)]
#[pin_data(PinnedDrop)]
pub struct Timer<T: Tick> {
    #[pin]
    timer: Opaque<bindings::timer_list>,
    #[pin]
    data: T,
}

// SAFETY: A timer may be armed and deleted from any context; `data` is `Send + Sync` by `Tick`.
unsafe impl<T: Tick> Send for Timer<T> {}
// SAFETY: As above; the timer base's lock serialises what is done to the timer.
unsafe impl<T: Tick> Sync for Timer<T> {}

impl<T: Tick> Timer<T> {
    /// An idle timer around `data`.
    pub fn new<E>(data: impl PinInit<T, E>) -> impl PinInit<Self, E>
    where
        E: From<core::convert::Infallible>,
    {
        try_pin_init!(Self {
            data <- data,
            timer <- Opaque::ffi_init(|slot| {
                // SAFETY: `slot` is valid for writes and pinned; `expired` fits a timer in a
                // `Timer<T>`.
                unsafe { bindings::timer_setup(slot, Some(Self::expired)) }
            }),
        }? E)
    }

    /// Starts or moves the timer. Any context.
    #[inline]
    pub fn arm(&self, at: Jiffies) {
        // SAFETY: By the type invariants the timer is set up and pinned.
        unsafe { bindings::mod_timer(self.timer.get(), at) };
    }

    /// Is it running? Any context.
    #[inline]
    pub fn is_pending(&self) -> bool {
        // SAFETY: By the type invariants the timer is set up.
        unsafe { bindings::timer_pending(self.timer.get()) }
    }

    /// # Safety
    ///
    /// `timer` is the `timer` field of a pinned `Timer<T>`.
    unsafe extern "C" fn expired(timer: *mut bindings::timer_list) {
        // SAFETY: `timer` is the first field of a `repr(C)` struct, which stays until `drop` has
        // waited for this function.
        let this: &Self = unsafe { &*timer.cast::<Self>() };
        if let Some(at) = this.data.tick() {
            // SAFETY: As above. A shut down timer ignores this.
            unsafe { bindings::mod_timer(timer, at) };
        }
    }
}

impl<T: Tick> Deref for Timer<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.data
    }
}

#[pinned_drop]
impl<T: Tick> PinnedDrop for Timer<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariants the timer is set up. This waits for the callback and
        // keeps it from being armed again, before the fields are dropped.
        unsafe { bindings::timer_shutdown_sync(self.timer.get()) };
    }
}

#[kunit_tests(rust_timer)]
mod tests {
    use super::*;
    use crate::{
        sync::{
            atomic::{
                Atomic,
                Relaxed, //
            },
            Arc, //
        },
        time::{
            delay::fsleep,
            Delta, //
        }, //
    };

    struct Countdown(Arc<Atomic<u32>>);

    impl Tick for Countdown {
        fn tick(&self) -> Option<Jiffies> {
            let left = self.0.load(Relaxed) - 1;
            self.0.store(left, Relaxed);
            (left != 0).then(|| now() + 1)
        }
    }

    #[test]
    fn rearms_itself_until_done() -> Result {
        let left = Arc::new(Atomic::new(3), GFP_KERNEL)?;
        let timer = KBox::pin_init(Timer::new(Countdown(left.clone())), GFP_KERNEL)?;
        timer.arm(now() + 1);
        for _ in 0..1000 {
            if left.load(Relaxed) == 0 {
                break;
            }
            fsleep(Delta::from_millis(10));
        }
        assert_eq!(left.load(Relaxed), 0);
        assert!(!timer.is_pending());
        Ok(())
    }

    #[test]
    fn drop_disarms() -> Result {
        let left = Arc::new(Atomic::new(1), GFP_KERNEL)?;
        let timer = KBox::pin_init(Timer::new(Countdown(left.clone())), GFP_KERNEL)?;
        timer.arm(now() + 2);
        drop(timer);
        fsleep(Delta::from_millis(50));
        assert_eq!(left.load(Relaxed), 1);
        Ok(())
    }
}
