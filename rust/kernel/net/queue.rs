// SPDX-License-Identifier: GPL-2.0

//! Transmit queues of a network device, and how to stop and wake one without losing the wake.
//!
//! C headers: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h),
//! [`include/net/sch_generic.h`](srctree/include/net/sch_generic.h)

use crate::{
    bindings,
    sync::{
        atomic::Full,
        barrier::smp_mb, //
    }, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// One transmit queue: `struct netdev_queue`, borrowed from its device.
///
/// # Stopping and waking
///
/// A producer that finds no room stops the queue, a consumer that has made room wakes it. Each
/// writes one thing and then reads what the other writes:
///
/// | producer | consumer |
/// |---|---|
/// | set the stop bit | free a slot |
/// | full barrier | full barrier |
/// | is there room? then undo | is the bit set? then wake |
///
/// With both barriers at least one of the two sees what the other did, so that a queue never stays
/// stopped with nobody to wake it. [`stop_unless`](Self::stop_unless) is the left column and
/// [`is_stopped_after_consume`](Self::is_stopped_after_consume) the right one up to its question;
/// they own the barriers, so that a driver writes none.
///
/// # Invariants
///
/// `txq` is a queue of a device that lives for `'dev`.
///
/// # Examples
///
/// ```
/// use kernel::net::queue::TxQueue;
///
/// fn no_room_left(txq: TxQueue<'_>, room: impl Fn() -> bool) {
///     if txq.stop_unless(&room) {
///         // The consumer will call `made_room`.
///     }
/// }
///
/// fn made_room(txq: TxQueue<'_>, enough: bool) {
///     if txq.is_stopped_after_consume() && enough {
///         txq.wake();
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct TxQueue<'dev> {
    txq: NonNull<bindings::netdev_queue>,
    _dev: PhantomData<&'dev ()>,
}

// SAFETY: The state is changed by atomic bit operations, from any thread.
unsafe impl Send for TxQueue<'_> {}
// SAFETY: As above.
unsafe impl Sync for TxQueue<'_> {}

impl TxQueue<'_> {
    /// Wraps a C queue.
    ///
    /// # Safety
    ///
    /// `txq` is a queue of a device that lives for the lifetime that the caller chooses.
    #[inline]
    pub unsafe fn from_raw(txq: NonNull<bindings::netdev_queue>) -> Self {
        // INVARIANT: By this function's contract.
        Self {
            txq,
            _dev: PhantomData,
        }
    }

    /// Stops the queue: the stack hands no more frames to the driver. Any context.
    #[inline]
    pub fn stop(self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::netif_tx_stop_queue(self.txq.as_ptr()) }
    }

    /// Lets the queue run again and, if it was stopped, schedules its qdisc. Any context.
    #[inline]
    pub fn wake(self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::netif_tx_wake_queue(self.txq.as_ptr()) }
    }

    /// Is it stopped by the driver? Orders nothing. Any context.
    #[inline]
    pub fn is_stopped(self) -> bool {
        // SAFETY: By the type invariants.
        unsafe { bindings::netif_tx_queue_stopped(self.txq.as_ptr()) }
    }

    /// The producer's side: stops the queue, looks again, and undoes it if there is room by now.
    ///
    /// Returns whether the queue stays stopped. The caller keeps other producers of the queue out.
    #[inline]
    pub fn stop_unless(self, room: impl FnOnce() -> bool) -> bool {
        self.stop();
        // Pairs with the barrier in `is_stopped_after_consume`.
        // SAFETY: No precondition. Follows the atomic that set the bit.
        unsafe { bindings::smp_mb__after_atomic() };
        let room = room();
        if room {
            self.wake();
        }
        !room
    }

    /// The consumer's side: after consuming, is the queue stopped and so perhaps ours to wake?
    #[inline]
    pub fn is_stopped_after_consume(self) -> bool {
        // Pairs with the barrier in `stop_unless`.
        smp_mb(Full);
        self.is_stopped()
    }

    /// Is there no qdisc in front that could keep frames while the queue is stopped? Then the core
    /// drops them, loudly: do not stop such a queue.
    #[inline]
    pub fn has_no_qdisc(self) -> bool {
        // SAFETY: By the type invariants.
        unsafe { bindings::qdisc_txq_has_no_queue(self.txq.as_ptr()) }
    }

    /// Notes that a frame was sent now, for devices whose transmit takes no lock. In transmit.
    #[inline]
    pub fn note_transmit(self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::txq_trans_cond_update(self.txq.as_ptr()) }
    }
}

#[macros::kunit_tests(rust_net_queue)]
mod tests {
    use crate::{
        net::device::fixture::Fixture,
        prelude::*, //
    };

    #[test]
    fn stop_and_wake_one_of_two() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let first = fixture.dev().tx_queue(0).ok_or(ENODEV)?;
        let second = fixture.dev().tx_queue(1).ok_or(ENODEV)?;
        assert!(fixture.dev().tx_queue(2).is_none());
        first.stop();
        assert!(first.is_stopped());
        assert!(first.is_stopped_after_consume());
        assert!(!second.is_stopped());
        first.wake();
        assert!(!first.is_stopped());
        assert!(!first.is_stopped_after_consume());
        Ok(())
    }

    #[test]
    fn room_is_looked_at_behind_the_stop() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let txq = fixture.dev().tx_queue(0).ok_or(ENODEV)?;
        assert!(txq.stop_unless(|| {
            assert!(txq.is_stopped());
            false
        }));
        assert!(txq.is_stopped());
        assert!(!txq.stop_unless(|| true));
        assert!(!txq.is_stopped());
        Ok(())
    }

    #[test]
    fn qdisc_comes_with_up() -> Result {
        let fixture = Fixture::new()?;
        let txq = fixture.dev().tx_queue(0).ok_or(ENODEV)?;
        fixture.up()?;
        assert!(!txq.has_no_qdisc());
        txq.note_transmit();
        fixture.down();
        assert!(txq.is_stopped());
        Ok(())
    }
}
