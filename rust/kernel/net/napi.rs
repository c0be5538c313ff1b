// SPDX-License-Identifier: GPL-2.0

//! Frames that wait for a NAPI poll to hand them to the stack, through GRO.
//!
//! For drivers without interrupts, whose frames come from process context: the frames queue up in a
//! [`Backlog`], whose poll, in softirq, gives them to `napi_gro_receive()`.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::{
    device::{
        Device,
        Private, //
    },
    rtnl::{
        self,
        Protected, //
    },
    skbuff::SkBuff, //
};
use crate::{
    bindings,
    new_mutex,
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
        bh,
        Mutex, //
    },
    types::Opaque, //
};
use core::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    ptr::null_mut, //
};

mod frags;

use frags::FragsOf;

// Where `bindgen` mislays a field, the build fails rather than the kernel.
static_assert!(size_of::<bindings::napi_struct>() == bindings::SIZEOF_NAPI_STRUCT);

/// The number of frames that a poll handles at most.
pub const WEIGHT: u32 = bindings::NAPI_POLL_WEIGHT;

/// What a backlog is tied to.
enum State {
    /// No device.
    Detached,
    /// A device; it takes frames if `enabled`.
    Attached {
        dev: ARef<Device>,
        enabled: bool,
        mode: Mode,
    },
}

/// How frames get to the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They queue up for a NAPI poll.
    Queue,
    /// They are built in the NAPI context, in pieces as user space has them: see
    /// [`Backlog::alloc_frags`].
    Frags,
    /// Without NAPI: several together, in the context of the last. See
    /// [`Frame::gather`](super::receive::Frame::gather).
    Gather,
}

/// A queue of frames, and the NAPI context that delivers them.
///
/// It can be attached to a device, and then enabled and disabled; all that under the RTNL. While it
/// is attached it keeps a reference to the device: who unregisters a device detaches it.
///
/// # Invariants
///
/// * `queue` is initialised, and `open` belongs to its lock: the device that frames are taken for;
/// * `napi` is added to the device of `state` if there is one, and enabled as `state` says, unless
///   its mode is `Gather`;
/// * `in_use` says whether it is added;
/// * between its turns `napi.skb` belongs to the lock of `frags`, which has the device that frames
///   are built for.
///
/// # Examples
///
/// ```
/// use kernel::net::{napi::Backlog, rtnl};
///
/// let backlog = KBox::pin_init(Backlog::new(), GFP_KERNEL)?;
/// assert!(!backlog.is_attached(&rtnl::lock()));
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct Backlog {
    #[pin]
    napi: Opaque<bindings::napi_struct>,
    #[pin]
    queue: Opaque<bindings::sk_buff_head>,
    open: UnsafeCell<*mut bindings::net_device>,
    in_use: Atomic<bool>,
    builds_frags: Atomic<bool>,
    #[pin]
    frags: Mutex<FragsOf>,
    state: Protected<State>,
}

// SAFETY: The queue has its lock, NAPI its bits, and the state the RTNL.
unsafe impl Send for Backlog {}
// SAFETY: As above.
unsafe impl Sync for Backlog {}

impl Backlog {
    /// A backlog of no device.
    pub fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            // SAFETY: The slot is valid for writes; `napi_struct` is zeroed until it is added.
            napi <- Opaque::try_ffi_init(|slot: *mut bindings::napi_struct| unsafe {
                slot.write_bytes(0, 1);
                Ok::<(), Error>(())
            }),
            // SAFETY: The slot is valid for writes and pinned.
            queue <- Opaque::ffi_init(|slot| unsafe { bindings::skb_queue_head_init(slot) }),
            open: UnsafeCell::new(null_mut()),
            in_use: Atomic::new(false),
            builds_frags: Atomic::new(false),
            frags <- new_mutex!(FragsOf::NONE, "Backlog::frags"),
            state: Protected::new(State::Detached),
        })
    }

    /// Is it attached to a device, with NAPI, as of now? Any context.
    #[inline]
    pub fn is_in_use(&self) -> bool {
        self.in_use.load(Relaxed)
    }

    /// Is it attached to a device?
    pub fn is_attached(&self, rtnl: &rtnl::Held) -> bool {
        !matches!(self.state.get(rtnl), State::Detached)
    }

    /// Is it attached to a device, and are frames built in pieces?
    #[inline]
    pub fn builds_frags(&self) -> bool {
        self.builds_frags.load(Relaxed)
    }

    /// Attaches it to a device and enables it. One that is attached stays as it is. May sleep.
    pub fn attach<T: Private>(&self, dev: &Device<T>, mode: Mode, rtnl: &mut rtnl::Held) {
        if self.is_attached(rtnl) {
            return;
        }
        *self.state.get_mut(rtnl) = State::Attached {
            dev: dev.untyped().into(),
            enabled: false,
            mode,
        };
        if mode != Mode::Gather {
            // SAFETY: By the type invariants `napi` belongs to no device; it is deleted from this
            // one before it goes, and the device is kept until then.
            unsafe {
                bindings::netif_napi_add_tx(dev.as_raw(), self.napi.get(), Some(Self::poll));
            }
        }
        if mode == Mode::Frags {
            *self.frags.lock() = FragsOf(dev.as_raw());
            self.builds_frags.store(true, Relaxed);
        }
        self.in_use.store(mode != Mode::Gather, Relaxed);
        self.enable(rtnl);
    }

    /// Lets it take and deliver frames, if it is attached. May sleep.
    pub fn enable(&self, rtnl: &mut rtnl::Held) {
        if let State::Attached { dev, enabled, mode } = self.state.get_mut(rtnl) {
            if !*enabled {
                *enabled = true;
                if *mode != Mode::Gather {
                    // SAFETY: Added to a device, and disabled.
                    unsafe { bindings::napi_enable(self.napi.get()) };
                }
                self.set_open(dev.as_raw());
            }
        }
    }

    /// Keeps frames out and waits for a poll that runs. May sleep.
    pub fn disable(&self, rtnl: &mut rtnl::Held) {
        if let State::Attached { enabled, mode, .. } = self.state.get_mut(rtnl) {
            if *enabled {
                *enabled = false;
                self.set_open(null_mut());
                if *mode != Mode::Gather {
                    // SAFETY: Added to a device, and enabled.
                    unsafe { bindings::napi_disable(self.napi.get()) };
                }
            }
        }
    }

    /// Disables it and lets go of the device. Frames that are left are dropped. May sleep.
    pub fn detach(&self, rtnl: &mut rtnl::Held) {
        self.disable(rtnl);
        let state = core::mem::replace(self.state.get_mut(rtnl), State::Detached);
        // No frame comes any more; those that wait go before the device can.
        self.purge();
        if let State::Attached { dev, mode, .. } = state {
            if mode != Mode::Gather {
                self.builds_frags.store(false, Relaxed);
                // Whoever builds a frame is done then, and nobody begins another.
                *self.frags.lock() = FragsOf::NONE;
                // SAFETY: Added to a device, and disabled; waits for readers.
                unsafe { bindings::netif_napi_del(self.napi.get()) };
                self.in_use.store(false, Relaxed);
            }
            drop(dev);
        }
    }

    /// Drops the frames that wait.
    pub fn purge(&self) {
        // SAFETY: By the type invariants; locks for itself.
        unsafe { bindings::skb_queue_purge(self.queue.get()) };
    }

    fn set_open(&self, open: *mut bindings::net_device) {
        // SAFETY: By the type invariants `open` belongs to the lock.
        unsafe {
            let lock = &raw mut (*self.queue.get()).lock;

            bindings::spin_lock_bh(lock);
            *self.open.get() = open;
            bindings::spin_unlock_bh(lock);
        }
    }

    /// Appends a frame for `dev`. Gives it back if the backlog takes none, or not for that device.
    ///
    /// Delivery begins when this one is the last for now, or when many wait. Process context or
    /// softirq.
    pub(super) fn push<T: Private>(
        &self,
        dev: &Device<T>,
        skb: SkBuff,
        more: bool,
    ) -> Result<(), SkBuff> {
        // The device is kept while frames for it wait: it is not let go before the last poll.
        // SAFETY: By the type invariants; the frame is given up when it is queued. With bottom
        // halves off the poll that is scheduled runs no earlier than the last line.
        unsafe {
            let queue = self.queue.get();
            let lock: *mut bindings::spinlock_t = (&raw mut (*queue).lock).cast();
            bindings::spin_lock_bh(lock);
            if *self.open.get() != dev.as_raw() {
                bindings::spin_unlock_bh(lock);
                return Err(skb);
            }
            bindings::__skb_queue_tail(queue, skb.into_raw().as_ptr());
            let len = (*queue).qlen;
            bindings::spin_unlock(lock);
            if !more || len > WEIGHT {
                bindings::napi_schedule(self.napi.get());
            }
            bindings::local_bh_enable();
        }
        Ok(())
    }

    /// Receives a frame for `dev` together with those that wait, or has it wait with them while
    /// `more` follow and fewer than `most` do, and the backlog takes frames for the device.
    pub(super) fn gather<T: Private>(
        &self,
        dev: &Device<T>,
        skb: SkBuff,
        rx_queue: u16,
        most: u32,
        more: bool,
        _bh: &bh::Disabled,
    ) {
        let mut batch = MaybeUninit::uninit();
        // SAFETY: By the type invariants; frames are given up as they are queued or received. What
        // is on `batch` is ours.
        unsafe {
            let queue = self.queue.get();
            let lock: *mut bindings::spinlock_t = (&raw mut (*queue).lock).cast();
            let batch = batch.as_mut_ptr();
            let skb = skb.into_raw().as_ptr();
            bindings::spin_lock(lock);
            // The device is kept while frames for it wait: they go before it is let go.
            if more && (*queue).qlen != most && *self.open.get() == dev.as_raw() {
                bindings::__skb_queue_tail(queue, skb);
                bindings::spin_unlock(lock);
                return;
            }
            bindings::__skb_queue_head_init(batch);
            bindings::skb_queue_splice_tail_init(queue, batch);
            bindings::spin_unlock(lock);
            bindings::__skb_queue_tail(batch, skb);
            loop {
                let skb = bindings::__skb_dequeue(batch);
                if skb.is_null() {
                    break;
                }
                // Its queue may have another number by now.
                bindings::skb_record_rx_queue(skb, rx_queue);
                bindings::netif_receive_skb(skb);
            }
        }
    }

    /// Do frames wait, as of now?
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        // SAFETY: By the type invariants; a racy look, as in C.
        unsafe { (&raw const (*self.queue.get()).qlen).read_volatile() != 0 }
    }

    /// # Safety
    ///
    /// `napi` is that of a `Backlog` which is enabled. Runs in softirq.
    unsafe extern "C" fn poll(napi: *mut bindings::napi_struct, budget: c_int) -> c_int {
        // SAFETY: By this function's contract.
        let this: &Self = unsafe { &*crate::container_of!(Opaque::cast_from(napi), Self, napi) };
        let mut received = 0;
        let mut batch = MaybeUninit::uninit();
        // SAFETY: By the type invariants. Softirqs are off here, so that the plain lock will do.
        // What is on `batch` is ours; what is left of it goes back in front of what came since.
        unsafe {
            let queue = this.queue.get();
            let lock: *mut bindings::spinlock_t = (&raw mut (*queue).lock).cast();
            let batch = batch.as_mut_ptr();
            bindings::__skb_queue_head_init(batch);
            bindings::spin_lock(lock);
            bindings::skb_queue_splice_tail_init(queue, batch);
            bindings::spin_unlock(lock);
            while received < budget {
                let skb = bindings::__skb_dequeue(batch);
                if skb.is_null() {
                    break;
                }
                bindings::napi_gro_receive(napi, skb);
                received += 1;
            }
            if (*batch).qlen != 0 {
                bindings::spin_lock(lock);
                bindings::skb_queue_splice(batch, queue);
                bindings::spin_unlock(lock);
            }
            if received < budget {
                bindings::napi_complete_done(napi, received);
            }
        }
        received
    }
}

#[pinned_drop]
impl PinnedDrop for Backlog {
    fn drop(self: Pin<&mut Self>) {
        // Its owner has detached it, under the RTNL, which cannot be taken here.
        if crate::warn_on!(self.is_in_use()) {
            self.set_open(null_mut());
            // SAFETY: Attached and, as it says, perhaps enabled: better to wait here than to leave
            // it on a list.
            unsafe {
                bindings::napi_disable(self.napi.get());
                bindings::netif_napi_del(self.napi.get());
            }
        }
        self.purge();
    }
}

#[kunit_tests(rust_net_napi)]
mod tests {
    use super::*;
    use crate::net::{
        device::fixture::Fixture,
        receive::Undelivered, //
    };

    /// One frame towards the stack by way of the backlog.
    fn queue(fixture: &Fixture, backlog: &Backlog, more: bool) -> Result<(), Undelivered> {
        let frame = match Fixture::frame().map(|skb| fixture.dev().frame(skb).ethernet()) {
            Ok(Ok(frame)) => frame,
            Ok(Err(skb)) => {
                skb.consume();
                return Err(Undelivered::Busy);
            }
            Err(_) => return Err(Undelivered::Busy),
        };
        frame.queue(backlog, more).map_err(|(skb, why)| {
            skb.consume();
            why
        })
    }

    fn waiting(backlog: &Backlog) -> u32 {
        // SAFETY: By the type invariants; nobody else uses this backlog.
        unsafe { (*backlog.queue.get()).qlen }
    }

    #[test]
    fn frames_wait_for_the_last_of_a_burst() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let backlog = KBox::pin_init(Backlog::new(), GFP_KERNEL)?;
        assert_eq!(queue(&fixture, &backlog, false), Err(Undelivered::Busy));
        backlog.attach(fixture.dev(), Mode::Queue, &mut rtnl::lock());
        assert!(backlog.is_in_use());
        for i in 0..3 {
            assert_eq!(queue(&fixture, &backlog, true), Ok(()));
            assert_eq!(waiting(&backlog), i + 1);
        }
        assert_eq!(fixture.unhandled(), 0);
        assert_eq!(queue(&fixture, &backlog, false), Ok(()));
        assert_eq!(waiting(&backlog), 0);
        assert_eq!(fixture.unhandled(), 4);
        backlog.detach(&mut rtnl::lock());
        assert!(!backlog.is_in_use());
        Ok(())
    }

    #[test]
    fn more_than_a_poll_takes() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let backlog = KBox::pin_init(Backlog::new(), GFP_KERNEL)?;
        backlog.attach(fixture.dev(), Mode::Queue, &mut rtnl::lock());
        let bh = crate::sync::bh::disable();
        for _ in 0..3 * WEIGHT {
            assert_eq!(queue(&fixture, &backlog, true), Ok(()));
        }
        drop(bh);
        assert_eq!(queue(&fixture, &backlog, false), Ok(()));
        assert_eq!(waiting(&backlog), 0);
        assert_eq!(fixture.unhandled(), u64::from(3 * WEIGHT + 1));
        backlog.detach(&mut rtnl::lock());
        Ok(())
    }

    #[test]
    fn a_disabled_one_takes_none_and_keeps_what_it_has() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let backlog = KBox::pin_init(Backlog::new(), GFP_KERNEL)?;
        backlog.attach(fixture.dev(), Mode::Queue, &mut rtnl::lock());
        assert_eq!(queue(&fixture, &backlog, true), Ok(()));
        backlog.disable(&mut rtnl::lock());
        assert_eq!(queue(&fixture, &backlog, false), Err(Undelivered::Busy));
        assert_eq!(waiting(&backlog), 1);
        backlog.enable(&mut rtnl::lock());
        assert_eq!(queue(&fixture, &backlog, false), Ok(()));
        assert_eq!(fixture.unhandled(), 2);
        fixture.down();
        assert_eq!(queue(&fixture, &backlog, false), Err(Undelivered::Down));
        backlog.detach(&mut rtnl::lock());
        assert_eq!(waiting(&backlog), 0);
        Ok(())
    }
}
