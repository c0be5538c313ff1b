// SPDX-License-Identifier: GPL-2.0

//! XDP: programs that see a frame before there is a socket buffer.
//!
//! C header: [`include/net/xdp.h`](srctree/include/net/xdp.h)

use super::{
    bpf,
    device::Device,
    rtnl::{
        self,
        Protected, //
    },
    skbuff::SkBuff, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    sync::bh,
    types::{
        NotThreadSafe,
        Opaque, //
    }, //
};
use core::{
    mem::MaybeUninit,
    ptr::NonNull, //
};

mod buff;
mod frame;

pub use buff::{
    Buff,
    Place, //
};
pub use frame::{
    Frame,
    XmitBatch, //
};

/// What a driver has to leave in front of a frame for a program to grow into:
/// `XDP_PACKET_HEADROOM`.
pub const HEADROOM: usize = bindings::XDP_PACKET_HEADROOM as usize;

/// What a program wants done with a frame: `enum xdp_action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The program failed. Drop it, and say so.
    Aborted,
    /// Drop it.
    Drop,
    /// It goes on to the stack.
    Pass,
    /// It goes out where it came in.
    Tx,
    /// It goes where the program said.
    Redirect,
    /// There is no such action. Drop it, and complain.
    Unknown(u32),
}

impl Action {
    #[inline]
    fn from_raw(act: u32) -> Self {
        match act {
            bindings::xdp_action_XDP_ABORTED => Self::Aborted,
            bindings::xdp_action_XDP_DROP => Self::Drop,
            bindings::xdp_action_XDP_PASS => Self::Pass,
            bindings::xdp_action_XDP_TX => Self::Tx,
            bindings::xdp_action_XDP_REDIRECT => Self::Redirect,
            other => Self::Unknown(other),
        }
    }

    fn into_raw(self) -> u32 {
        match self {
            Self::Aborted => bindings::xdp_action_XDP_ABORTED,
            Self::Drop => bindings::xdp_action_XDP_DROP,
            Self::Pass => bindings::xdp_action_XDP_PASS,
            Self::Tx => bindings::xdp_action_XDP_TX,
            Self::Redirect => bindings::xdp_action_XDP_REDIRECT,
            Self::Unknown(other) => other,
        }
    }
}

/// Evidence that programs can run here: bottom halves are off, and what a program leaves behind
/// for the kernel has a place. See [`Context::with`].
pub struct Context(NotThreadSafe);

impl Context {
    /// Runs `f`, in which programs can run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kernel::{net::xdp::Context, sync::bh};
    ///
    /// assert_eq!(Context::with(&bh::disable(), |_| 3), 3);
    /// ```
    #[inline]
    pub fn with<R>(_bh: &bh::Disabled, f: impl FnOnce(&Context) -> R) -> R {
        let mut ctx = MaybeUninit::<bindings::bpf_net_context>::uninit();
        // SAFETY: The place outlives its use, which ends below; a nested one leaves the outer alone
        // and returns null.
        let set = unsafe { bindings::bpf_net_ctx_set(ctx.as_mut_ptr()) };
        let result = f(&Context(NotThreadSafe));
        // SAFETY: What was returned above.
        unsafe { bindings::bpf_net_ctx_clear(set) };
        result
    }

    /// Sends on what was redirected so far. Once, at the end of a batch.
    #[inline]
    pub fn flush(&self) {
        // SAFETY: Bottom halves are off, and the context is set.
        unsafe { bindings::xdp_do_flush() }
    }
}

/// A program that somebody else keeps loaded.
pub type ProgramRef = bpf::ProgramRef<bpf::XdpKind>;

/// A counted program.
pub type Program = bpf::Program<bpf::XdpKind>;

impl ProgramRef {
    /// Runs the program on a frame that has a socket buffer already. `None` where it took it.
    #[inline]
    pub fn run_generic(&self, skb: SkBuff, _bh: &bh::Disabled) -> Option<SkBuff> {
        let mut skb = skb.into_raw().as_ptr();
        // SAFETY: The buffer is ours; unless the program passes it on, it is gone. It may have been
        // replaced.
        let act = unsafe { bindings::do_xdp_generic(self.as_raw(), &raw mut skb) };
        if act as u32 != bindings::xdp_action_XDP_PASS {
            return None;
        }
        // SAFETY: Passed on, it is ours as before.
        NonNull::new(skb).map(|skb| unsafe { SkBuff::from_raw(skb) })
    }

    /// Reports an action that dropped a frame though nobody wanted it to.
    #[cold]
    pub fn report<T>(&self, dev: &Device<T>, action: Action) {
        // SAFETY: The device is there; the program is loaded.
        unsafe {
            if let Action::Unknown(act) = action {
                bindings::bpf_warn_invalid_xdp_action(dev.as_raw(), self.as_raw(), act);
            }
            bindings::trace_xdp_exception(dev.as_raw(), self.as_raw(), action.into_raw());
        }
    }
}

/// What a program sees of the queue that a frame came in by: `struct xdp_rxq_info`.
///
/// Its frames lie in pages that are shared by counting.
///
/// # Invariants
///
/// `info` is registered with the device of `dev`, if there is one.
///
/// # Examples
///
/// ```
/// use kernel::net::{rtnl, xdp::RxQueue};
///
/// let queue = KBox::pin_init(RxQueue::new(), GFP_KERNEL)?;
/// assert!(!queue.is_registered(&rtnl::lock()));
/// # Ok::<(), Error>(())
/// ```
#[pin_data(PinnedDrop)]
pub struct RxQueue {
    #[pin]
    info: Opaque<bindings::xdp_rxq_info>,
    registered: Protected<bool>,
}

// SAFETY: Changed under the RTNL; what programs read meanwhile they read racily, as from C.
unsafe impl Send for RxQueue {}
// SAFETY: As above.
unsafe impl Sync for RxQueue {}

impl RxQueue {
    /// A queue of no device.
    pub fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            // SAFETY: The slot is valid for writes; all zero is not registered.
            info <- Opaque::try_ffi_init(|slot: *mut bindings::xdp_rxq_info| unsafe {
                slot.write_bytes(0, 1);
                Ok::<(), Error>(())
            }),
            registered: Protected::new(false),
        })
    }

    #[inline]
    fn as_raw(&self) -> *mut bindings::xdp_rxq_info {
        self.info.get()
    }

    /// Does it belong to a device?
    pub fn is_registered(&self, rtnl: &rtnl::Held) -> bool {
        *self.registered.get(rtnl)
    }

    /// Makes it a queue of a device, which has to [unregister](Self::unregister) it before it
    /// goes. `ENOMEM`; `EBUSY` where it is one already.
    pub fn register<T>(&self, dev: &Device<T>, index: u32, rtnl: &mut rtnl::Held) -> Result {
        if self.is_registered(rtnl) {
            return Err(EBUSY);
        }
        // SAFETY: Not registered, and pinned; the device is there.
        unsafe {
            to_result(bindings::xdp_rxq_info_reg(
                self.as_raw(),
                dev.as_raw(),
                index,
                0,
            ))?;
            let ret = bindings::xdp_rxq_info_reg_mem_model(
                self.as_raw(),
                bindings::xdp_mem_type_MEM_TYPE_PAGE_SHARED,
                core::ptr::null_mut(),
            );
            if ret < 0 {
                bindings::xdp_rxq_info_unreg(self.as_raw());
                return Err(Error::from_errno(ret));
            }
        }
        *self.registered.get_mut(rtnl) = true;
        Ok(())
    }

    /// It has another number in its device.
    pub fn set_index(&self, index: u32, _rtnl: &mut rtnl::Held) {
        // SAFETY: Programs may read it meanwhile, as from C.
        unsafe { (&raw mut (*self.as_raw()).queue_index).write_volatile(index) };
    }

    /// It belongs to no device any more, if it did. Frames of its may still be on their way, but no
    /// program runs on behalf of the queue.
    pub fn unregister(&self, rtnl: &mut rtnl::Held) {
        if core::mem::replace(self.registered.get_mut(rtnl), false) {
            // SAFETY: It was registered.
            unsafe { bindings::xdp_rxq_info_unreg(self.as_raw()) };
        }
    }
}

#[pinned_drop]
impl PinnedDrop for RxQueue {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: With `&mut self` nobody else looks.
        let registered = unsafe { bindings::xdp_rxq_info_is_reg(self.as_raw()) };
        crate::warn_on!(registered);
    }
}

/// The features of XDP that a device has: `NETDEV_XDP_ACT_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u32);

impl Features {
    /// Programs run, and may pass, drop and send back.
    pub const BASIC: Self = Self(bindings::netdev_xdp_act_NETDEV_XDP_ACT_BASIC);
    /// They may redirect.
    pub const REDIRECT: Self = Self(bindings::netdev_xdp_act_NETDEV_XDP_ACT_REDIRECT);
    /// Others may redirect to the device.
    pub const XMIT: Self = Self(bindings::netdev_xdp_act_NETDEV_XDP_ACT_NDO_XMIT);

    /// Both sets together.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }
}

#[kunit_tests(rust_net_xdp)]
mod tests {
    use super::*;
    use crate::net::device::fixture::Fixture;

    #[test]
    fn actions_have_their_numbers() {
        for act in 0..8 {
            assert_eq!(Action::from_raw(act).into_raw(), act);
        }
        assert_eq!(Action::from_raw(2), Action::Pass);
        assert_eq!(Action::from_raw(5), Action::Unknown(5));
    }

    #[test]
    fn a_queue_is_registered_once() -> Result {
        let fixture = Fixture::new()?;
        let queue = KBox::pin_init(RxQueue::new(), GFP_KERNEL)?;
        let mut rtnl = rtnl::lock();
        queue.register(fixture.dev(), 3, &mut rtnl)?;
        assert_eq!(
            queue.register(fixture.dev(), 3, &mut rtnl).err(),
            Some(EBUSY)
        );
        queue.set_index(4, &mut rtnl);
        // SAFETY: Nobody else looks.
        assert_eq!(unsafe { (*queue.as_raw()).queue_index }, 4);
        queue.unregister(&mut rtnl);
        queue.unregister(&mut rtnl);
        assert!(!queue.is_registered(&rtnl));
        Ok(())
    }

    #[test]
    fn contexts_nest() {
        let bh = bh::disable();
        let n = Context::with(&bh, |_| {
            Context::with(&bh, |inner| inner.flush());
            // The outer one is still set.
            Context::with(&bh, |_| 2)
        });
        assert_eq!(n, 2);
    }
}
