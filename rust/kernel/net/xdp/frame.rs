// SPDX-License-Identifier: GPL-2.0

//! Frames without a socket buffer, on their way out of a device.
//!
//! C header: [`include/net/xdp.h`](srctree/include/net/xdp.h)

use crate::{
    bindings,
    iov::IovIterDest,
    prelude::*, //
};
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull,
    slice, //
};

/// A frame that we own: `struct xdp_frame`. Dropping it gives its memory back.
///
/// # Invariants
///
/// `frame` is valid and owned.
pub struct Frame {
    frame: NonNull<bindings::xdp_frame>,
}

// SAFETY: An owned frame may be used and given back on any thread.
unsafe impl Send for Frame {}
// SAFETY: `&Frame` only reads.
unsafe impl Sync for Frame {}

impl Frame {
    /// Takes a frame over from C.
    ///
    /// # Safety
    ///
    /// `frame` is valid and the caller gives up its ownership.
    #[inline]
    pub(in crate::net) unsafe fn from_raw(frame: NonNull<bindings::xdp_frame>) -> Self {
        // INVARIANT: By this function's contract.
        Self { frame }
    }

    /// Gives the frame to C.
    #[inline]
    pub(in crate::net) fn into_raw(self) -> NonNull<bindings::xdp_frame> {
        ManuallyDrop::new(self).frame
    }

    /// The bytes of its first piece, which is all that devices without support for more get.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: By the type invariants.
        unsafe { (*self.frame.as_ptr()).len as usize }
    }

    /// Is it empty?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the frame out, as far as there is room. Returns how much was copied. May sleep.
    #[inline]
    pub fn copy_to_iter(&self, to: &mut IovIterDest<'_>) -> usize {
        // SAFETY: By the type invariants so many bytes are there, and nobody changes them.
        let bytes = unsafe {
            slice::from_raw_parts(
                (*self.frame.as_ptr()).data.cast::<u8>().cast_const(),
                self.len(),
            )
        };
        to.copy_to_iter(bytes)
    }

    /// As dropping it, where a device just received it, with bottom halves off: cheaper.
    #[inline]
    pub fn recycle(self, _ctx: &super::Context) {
        // SAFETY: By the type invariants the frame is ours.
        unsafe { bindings::xdp_return_frame_rx_napi(self.into_raw().as_ptr()) }
    }
}

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariants the frame is ours.
        unsafe { bindings::xdp_return_frame(self.frame.as_ptr()) }
    }
}

/// Frames that somebody wants transmitted; what is not taken stays theirs.
///
/// # Invariants
///
/// The first `left.len()` of `left` are valid frames, whose ownership is passed as they are taken.
pub struct XmitBatch<'a> {
    left: &'a [NonNull<bindings::xdp_frame>],
    taken: usize,
    flush: bool,
    _frames: PhantomData<Frame>,
}

impl<'a> XmitBatch<'a> {
    /// # Safety
    ///
    /// `frames` points at `count` valid frames, which are given up as far as they are taken.
    #[inline]
    pub(in crate::net) unsafe fn from_raw(
        frames: *mut *mut bindings::xdp_frame,
        count: usize,
        flush: bool,
    ) -> Self {
        Self {
            // SAFETY: By this function's contract; none of them is null.
            left: unsafe { slice::from_raw_parts(frames.cast(), count) },
            taken: 0,
            flush,
            _frames: PhantomData,
        }
    }

    /// How many were taken and kept.
    #[inline]
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Is this the last batch for now, so that whoever waits should be told?
    #[inline]
    pub fn is_last(&self) -> bool {
        self.flush
    }

    /// Offers the frames one by one, until one is given back.
    #[inline]
    pub fn take_while(&mut self, mut f: impl FnMut(Frame) -> Result<(), Frame>) -> bool {
        while let Some((first, rest)) = self.left.split_first() {
            // SAFETY: By the type invariants, and it is not offered again.
            if let Err(frame) = f(unsafe { Frame::from_raw(*first) }) {
                // Still the caller's.
                let _ = frame.into_raw();
                return false;
            }
            self.left = rest;
            self.taken += 1;
        }
        true
    }
}
