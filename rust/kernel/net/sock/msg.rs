// SPDX-License-Identifier: GPL-2.0

//! Messages to and from a socket that in-kernel users pass.
//!
//! C headers: [`include/linux/socket.h`](srctree/include/linux/socket.h),
//! [`include/linux/if_tun.h`](srctree/include/linux/if_tun.h)

use super::{
    Operations,
    Sock, //
};
use crate::{
    bindings,
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    net::{
        ptr_ring::Entry,
        skbuff::SkBuff,
        virtio_net::Header,
        xdp::Buff, //
    },
    prelude::*, //
};
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull, //
};

/// `MSG_` flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MsgFlags(u32);

impl MsgFlags {
    /// Do not sleep.
    pub const DONTWAIT: Self = Self(bindings::MSG_DONTWAIT);
    /// More will follow at once.
    pub const MORE: Self = Self(bindings::MSG_MORE);
    /// Return the true length; in an answer: it did not fit.
    pub const TRUNC: Self = Self(bindings::MSG_TRUNC);
    /// From the error queue.
    pub const ERRQUEUE: Self = Self(bindings::MSG_ERRQUEUE);

    /// Are all of `other` set?
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Are there any but those of `allowed`?
    #[inline]
    pub fn beyond(self, allowed: Self) -> bool {
        self.0 & !allowed.0 != 0
    }
}

impl core::ops::BitOr for MsgFlags {
    type Output = Self;

    #[inline]
    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

/// A message that is being sent through a socket.
///
/// # Invariants
///
/// `msg` is valid for `'a`, its iterator is a source, and its control data is that of an in-kernel
/// sender: none, or a `struct tun_msg_ctl`.
pub struct SendMsg<'a> {
    msg: NonNull<bindings::msghdr>,
    len: usize,
    _msg: PhantomData<&'a mut ()>,
}

impl SendMsg<'_> {
    /// # Safety
    ///
    /// See the type invariants.
    pub(super) unsafe fn from_raw(msg: *mut bindings::msghdr, len: usize) -> Self {
        // INVARIANT: By this function's contract.
        Self {
            // SAFETY: Valid, so not null.
            msg: unsafe { NonNull::new_unchecked(msg) },
            len,
            _msg: PhantomData,
        }
    }

    /// The length that the sender gave.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is it 0?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flags.
    #[inline]
    pub fn flags(&self) -> MsgFlags {
        // SAFETY: By the type invariants.
        MsgFlags(unsafe { (*self.msg.as_ptr()).msg_flags })
    }

    /// The data.
    #[inline]
    pub fn iter(&mut self) -> &mut IovIterSource<'_> {
        // SAFETY: By the type invariants.
        unsafe { IovIterSource::from_raw(&raw mut (*self.msg.as_ptr()).msg_iter) }
    }

    #[inline]
    fn control(&self) -> Option<NonNull<bindings::tun_msg_ctl>> {
        // SAFETY: By the type invariants.
        unsafe { NonNull::new((*self.msg.as_ptr()).__bindgen_anon_1.msg_control.cast()) }
    }

    /// The frames, where the sender passes a batch of them that it has built already.
    ///
    /// They are the receiver's from here on.
    #[inline]
    pub fn take_batch(&mut self) -> Option<Batch<'_>> {
        // SAFETY: By the type invariants.
        let control_len = unsafe { (*self.msg.as_ptr()).msg_controllen };
        let control = self.control()?;
        // SAFETY: By the type invariants.
        let (kind, num, ptr) = unsafe {
            (
                (*control.as_ptr()).type_,
                (*control.as_ptr()).num,
                (*control.as_ptr()).ptr,
            )
        };
        if control_len != core::mem::size_of::<bindings::tun_msg_ctl>()
            || u32::from(kind) != bindings::TUN_MSG_PTR
        {
            return None;
        }
        // Not to be taken twice.
        // SAFETY: By the type invariants.
        unsafe { (*control.as_ptr()).num = 0 };
        Some(Batch {
            next: ptr.cast(),
            left: usize::from(num),
            recycled: None,
            _msg: PhantomData,
        })
    }

    /// The data, and with it what a sender wants to be told who offers its pages instead of having
    /// them copied.
    ///
    /// Where the frame does not get as far as the stack, it is told nothing: it sees the error.
    #[inline]
    pub fn iter_and_offer(&mut self) -> (&mut IovIterSource<'_>, Option<Offer<'_>>) {
        // SAFETY: By the type invariants; what is not a batch points at a `ubuf_info`, or nowhere.
        let offer = self
            .control()
            .and_then(|control| NonNull::new(unsafe { (*control.as_ptr()).ptr.cast() }))
            .map(|info| {
                // INVARIANT: As above.
                Offer {
                    info,
                    _msg: PhantomData,
                }
            });
        // SAFETY: By the type invariants; the offer does not refer to the iterator.
        let iter = unsafe { IovIterSource::from_raw(&raw mut (*self.msg.as_ptr()).msg_iter) };
        (iter, offer)
    }
}

/// Pages that a sender offers instead of having them copied: `struct ubuf_info`.
///
/// # Invariants
///
/// `info` is valid, and completed by nobody yet.
pub struct Offer<'a> {
    info: NonNull<bindings::ubuf_info>,
    _msg: PhantomData<&'a mut ()>,
}

impl Offer<'_> {
    /// The pages were copied and not kept.
    #[inline]
    pub fn complete_copied(self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::ubuf_complete_copied(self.info.as_ptr()) };
    }

    /// The pages are part of the frame, by [`SkBuff::take_pages`], and are released with it.
    #[inline]
    pub fn attach(self, skb: &mut SkBuff) {
        // SAFETY: By the type invariants; the buffer is ours.
        unsafe { bindings::skb_zcopy_init(skb.as_raw(), self.info.as_ptr()) };
    }
}

/// Frames in buffers that were built for us, each a page fragment.
///
/// # Invariants
///
/// * `left` `struct xdp_buff`s from `next` on are valid, and the fragments they describe are ours;
/// * so are the counts in `recycled`.
pub struct Batch<'a> {
    next: *mut bindings::xdp_buff,
    left: usize,
    /// A page of which so many counts are ours, to be given up together.
    recycled: Option<(NonNull<bindings::page>, c_uint)>,
    _msg: PhantomData<&'a mut ()>,
}

impl Batch<'_> {
    /// Drops a frame of the batch. Those that lie in one page go together.
    #[inline]
    pub fn recycle(&mut self, buff: Buff<'_>) {
        let Some(page) = buff.into_page() else { return };
        match &mut self.recycled {
            Some((last, count)) if *last == page => *count += 1,
            _ => {
                self.drain();
                self.recycled = Some((page, 1));
            }
        }
    }

    fn drain(&mut self) {
        if let Some((page, count)) = self.recycled.take() {
            // SAFETY: So many counts of the page are ours.
            unsafe { bindings::__page_frag_cache_drain(page.as_ptr(), count) };
        }
    }

    /// Is there another frame?
    #[inline]
    pub fn has_more(&self) -> bool {
        self.left > 0
    }
}

impl<'a> Iterator for Batch<'a> {
    type Item = Built<'a>;

    #[inline]
    fn next(&mut self) -> Option<Built<'a>> {
        self.left = self.left.checked_sub(1)?;
        let xdp = NonNull::new(self.next)?;
        // SAFETY: By the type invariants there was one more.
        self.next = unsafe { self.next.add(1) };
        // INVARIANT: This one is given to `Built`.
        Some(Built {
            xdp,
            _msg: PhantomData,
        })
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.drain();
        self.for_each(drop);
    }
}

/// One frame of a [`Batch`]. Dropping it frees its memory.
///
/// # Invariants
///
/// `xdp` is valid, and the fragment it describes is ours.
pub struct Built<'a> {
    xdp: NonNull<bindings::xdp_buff>,
    _msg: PhantomData<&'a mut ()>,
}

impl<'a> Built<'a> {
    /// The length of the frame.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: By the type invariants.
        unsafe { (*self.xdp.as_ptr()).data_end as usize - (*self.xdp.as_ptr()).data as usize }
    }

    /// Is it empty?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The virtio-net header that the sender put at the start of the fragment.
    #[inline]
    pub fn header(&self) -> Header {
        let mut header = Header::ZERO;
        // SAFETY: By the type invariants. The sender leaves room for its header, of at least the
        // short form, in front of the frame; what is not the header's is the fragment's.
        unsafe {
            let start = (*self.xdp.as_ptr()).data_hard_start.cast::<u8>();
            let room = (*self.xdp.as_ptr()).data as usize - start as usize;
            let bytes = header.as_bytes_mut();
            let len = bytes.len().min(room);
            bytes
                .as_mut_ptr()
                .copy_from_nonoverlapping(start.cast_const(), len);
        }
        header
    }

    /// The frame, for programs to run on, or to become a socket buffer.
    #[inline]
    pub fn into_buff<'q>(self) -> Buff<'q>
    where
        'a: 'q,
    {
        let kept = ManuallyDrop::new(self);
        // SAFETY: By the type invariants the description and the fragment are ours, and given up
        // here.
        unsafe { Buff::from_page(kept.xdp) }
    }
}

impl Drop for Built<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the fragment is ours.
        drop(unsafe { Buff::from_page(self.xdp) });
    }
}

/// A message that is being received from a socket.
///
/// # Invariants
///
/// `msg` is valid for `'a`, its iterator is a destination, and its control pointer is that of an
/// in-kernel receiver: null, or an entry of the socket's ring that comes with its ownership.
pub struct RecvMsg<'a, P: Entry> {
    msg: NonNull<bindings::msghdr>,
    len: usize,
    flags: MsgFlags,
    preloaded: Option<P>,
    _msg: PhantomData<&'a mut ()>,
}

impl<P: Entry> RecvMsg<'_, P> {
    /// # Safety
    ///
    /// See the type invariants.
    pub(super) unsafe fn from_raw(msg: *mut bindings::msghdr, len: usize, flags: c_int) -> Self {
        // SAFETY: Valid, so not null; the entry comes from the ring and is given up.
        unsafe {
            Self {
                msg: NonNull::new_unchecked(msg),
                len,
                flags: MsgFlags(flags as u32),
                preloaded: NonNull::new((*msg).__bindgen_anon_1.msg_control)
                    .map(|entry| P::from_foreign(entry.as_ptr())),
                _msg: PhantomData,
            }
        }
    }

    /// The length that the receiver asked for.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is it 0?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flags it gave.
    #[inline]
    pub fn flags(&self) -> MsgFlags {
        self.flags
    }

    /// Says that the message did not fit.
    #[inline]
    pub fn set_truncated(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { (*self.msg.as_ptr()).msg_flags |= MsgFlags::TRUNC.0 };
    }

    /// Where the data goes.
    #[inline]
    pub fn iter(&mut self) -> &mut IovIterDest<'_> {
        // SAFETY: By the type invariants.
        unsafe { IovIterDest::from_raw(&raw mut (*self.msg.as_ptr()).msg_iter) }
    }

    /// The entry that the receiver took from the ring itself, if it did.
    #[inline]
    pub fn take_preloaded(&mut self) -> Option<P> {
        self.preloaded.take()
    }
}

impl<P: Entry> Drop for RecvMsg<'_, P> {
    fn drop(&mut self) {
        if let Some(entry) = self.preloaded.take() {
            entry.destroy();
        }
    }
}

impl<T: Operations> Sock<T> {
    /// Receives from the socket's error queue, as control data of `level` and `kind`. `EAGAIN`.
    pub fn recv_error_queue(
        &self,
        msg: &mut RecvMsg<'_, T::Entry>,
        level: u32,
        kind: u32,
    ) -> Result<usize> {
        let len = msg.len as c_int;
        // SAFETY: By the invariants of both types.
        let ret = unsafe {
            bindings::sock_recv_errqueue(
                self.as_raw(),
                msg.msg.as_ptr(),
                len,
                level as c_int,
                kind as c_int,
            )
        };
        crate::error::to_result(ret.min(0)).map(|()| ret as usize)
    }
}
