// SPDX-License-Identifier: GPL-2.0

//! Socket buffers: one frame on its way.
//!
//! C header: [`include/linux/skbuff.h`](srctree/include/linux/skbuff.h)

use super::ptr_ring::Entry;
use crate::{
    alloc::{
        AllocError,
        Flags, //
    },
    bindings,
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    prelude::*,
    types::{
        ForeignOwnable,
        Opaque, //
    },
};
use core::{
    ffi::c_void,
    mem::ManuallyDrop,
    ops::Deref,
    ptr::NonNull, //
};

// Where `bindgen` mislays a field, the build fails rather than the kernel.
static_assert!(size_of::<bindings::sk_buff>() == bindings::SIZEOF_SK_BUFF);

/// Why a frame was dropped: `enum skb_drop_reason`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DropReason(bindings::skb_drop_reason);

impl DropReason {
    /// From the C value; `None` for that of no drop.
    #[inline]
    pub(super) fn from_raw(reason: bindings::skb_drop_reason) -> Option<Self> {
        (reason != bindings::skb_drop_reason_SKB_NOT_DROPPED_YET).then_some(Self(reason))
    }

    /// No reason that has a name.
    pub const NOT_SPECIFIED: Self = Self(bindings::skb_drop_reason_SKB_DROP_REASON_NOT_SPECIFIED);
    /// The device is not ready.
    pub const DEV_READY: Self = Self(bindings::skb_drop_reason_SKB_DROP_REASON_DEV_READY);
    /// The ring to the next stage is full.
    pub const FULL_RING: Self = Self(bindings::skb_drop_reason_SKB_DROP_REASON_FULL_RING);
    /// The link-layer header could not be pulled.
    pub const HDR_TRUNC: Self = Self(bindings::skb_drop_reason_SKB_DROP_REASON_HDR_TRUNC);
    /// The receiver's list of addresses has not this one.
    pub const TAP_TXFILTER: Self = Self(bindings::skb_drop_reason_SKB_DROP_REASON_TAP_TXFILTER);
    /// The receiver's program said no.
    pub const TAP_FILTER: Self = Self(bindings::skb_drop_reason_SKB_DROP_REASON_TAP_FILTER);
    /// Out of memory.
    pub const NOMEM: Self = Self(bindings::skb_drop_reason_SKB_DROP_REASON_NOMEM);
    /// User memory could not be copied.
    pub const SKB_UCOPY_FAULT: Self =
        Self(bindings::skb_drop_reason_SKB_DROP_REASON_SKB_UCOPY_FAULT);
}

/// The pieces of memory that a buffer can refer to beside its linear one: `MAX_SKB_FRAGS`.
pub const MAX_FRAGS: usize = bindings::MAX_SKB_FRAGS as usize;

/// What a driver leaves in front of a frame, so that headers can be added: `NET_SKB_PAD`.
#[inline]
pub fn pad() -> usize {
    // SAFETY: A constant.
    unsafe { bindings::net_skb_pad() }
}

/// `to_result()`, inlined: what happens to each frame should not be a call.
#[inline]
fn check(ret: c_int) -> Result {
    if ret < 0 {
        return Err(Error::from_errno(ret));
    }
    Ok(())
}

/// What makes the IP header behind an Ethernet header aligned, where that matters: `NET_IP_ALIGN`.
#[inline]
pub fn ip_align() -> usize {
    // SAFETY: A constant.
    unsafe { bindings::net_ip_align() }
}

/// The most that a frame with this headroom can hold in one page.
#[inline]
pub fn max_head(headroom: usize) -> usize {
    // SAFETY: Pure arithmetic.
    unsafe { bindings::skb_max_head(headroom) }
}

/// A VLAN tag that travels beside the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// The tag protocol, in network order.
    pub proto: u16,
    /// The tag control information, in host order.
    pub tci: u16,
}

/// A socket buffer that somebody else owns and nobody changes: `struct sk_buff`.
///
/// # Invariants
///
/// The wrapped buffer is valid. While a shared reference exists it is only read.
#[repr(transparent)]
pub struct Borrowed(Opaque<bindings::sk_buff>);

impl Borrowed {
    /// Wraps a C buffer.
    ///
    /// # Safety
    ///
    /// `skb` is valid, and for `'a` it is neither freed nor changed but through this reference.
    #[inline]
    pub unsafe fn from_raw<'a>(skb: *mut bindings::sk_buff) -> &'a Self {
        // SAFETY: `Borrowed` is transparent; the rest is this function's contract.
        unsafe { &*skb.cast() }
    }

    /// The C buffer.
    #[inline]
    pub fn as_raw(&self) -> *mut bindings::sk_buff {
        self.0.get()
    }

    /// The length of the frame, in bytes, without a tag that travels beside it.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: By the type invariants.
        unsafe { (*self.as_raw()).len as usize }
    }

    /// Is the frame empty?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The protocol, in network order, as it lies in memory.
    #[inline]
    pub fn protocol(&self) -> u16 {
        // SAFETY: By the type invariants.
        unsafe { bindings::skb_protocol_get(self.as_raw()) }
    }

    /// The tx queue that was chosen.
    #[inline]
    pub fn queue_mapping(&self) -> u16 {
        // SAFETY: By the type invariants.
        unsafe { bindings::skb_get_queue_mapping(self.as_raw()) }
    }

    /// A hash of the flow that is the same in both directions. Dissects the frame.
    #[inline]
    pub fn symmetric_hash(&self) -> u32 {
        // SAFETY: By the type invariants. The dissector only reads.
        unsafe { bindings::__skb_get_hash_symmetric(self.as_raw()) }
    }

    /// The tag that travels beside the frame, if any.
    #[inline]
    pub fn vlan_tag(&self) -> Option<VlanTag> {
        // SAFETY: By the type invariants.
        unsafe {
            bindings::skb_vlan_tag_present(self.as_raw()).then(|| VlanTag {
                proto: bindings::skb_vlan_proto_get(self.as_raw()),
                tci: bindings::skb_vlan_tag_get(self.as_raw()),
            })
        }
    }

    /// How the frame is to be segmented: the kind and the payload of a segment.
    #[inline]
    pub fn segmentation(&self) -> (u32, u16) {
        // SAFETY: By the type invariants.
        unsafe {
            let shared = bindings::skb_shinfo(self.as_raw());
            ((*shared).gso_type, (*shared).gso_size)
        }
    }

    /// The first `N` bytes, if they lie in one piece.
    #[inline]
    pub fn head<const N: usize>(&self) -> Option<[u8; N]> {
        // SAFETY: By the type invariants; so many bytes from `data` on are linear.
        unsafe {
            if (bindings::skb_headlen(self.as_raw()) as usize) < N {
                return None;
            }
            Some((*self.as_raw()).data.cast::<[u8; N]>().read())
        }
    }

    /// Prints up to `len` bytes of the frame's memory as an error, from its start on.
    pub fn dump(&self, prefix: &CStr, len: usize) {
        // SAFETY: By the type invariants; what is printed ends where the memory does.
        unsafe {
            let len = len.min(bindings::skb_end_offset(self.as_raw()) as usize);
            bindings::print_hex_dump(
                bindings::KERN_ERR.as_ptr().cast(),
                crate::str::as_char_ptr_in_const_context(prefix),
                bindings::DUMP_PREFIX_NONE as c_int,
                16,
                1,
                (*self.as_raw()).head.cast(),
                len,
                true,
            );
        }
    }

    /// Copies `len` bytes from `offset` on, or as many as `to` has room for.
    ///
    /// `EFAULT` when the destination cannot be written. May sleep.
    #[inline]
    pub fn copy_to_iter(&self, offset: usize, to: &mut IovIterDest<'_>, len: usize) -> Result {
        // SAFETY: By the type invariants; the copy stops at the end of the frame.
        check(unsafe {
            bindings::skb_copy_datagram_iter(
                self.as_raw(),
                offset as c_int,
                to.as_raw(),
                len as c_int,
            )
        })
    }
}

/// A socket buffer that we own.
///
/// It ends in one of the methods that take `self`: [`consume`](Self::consume) when it did what it
/// was for, [`drop_reason`](Self::drop_reason) when it did not, or by handing it on. Simply letting
/// it go warns once, since a frame that vanishes without a reason is a bug, and frees it.
///
/// # Invariants
///
/// `skb` is valid and owned.
///
/// # Examples
///
/// ```
/// use kernel::net::skbuff::{DropReason, SkBuff};
///
/// let mut skb = SkBuff::new(64, GFP_KERNEL)?;
/// skb.extend_from_slice(&[1, 2, 3])?;
/// assert_eq!(skb.len(), 3);
/// assert_eq!(skb.first_byte(), Some(1));
/// assert!(skb.vlan_tag().is_none());
/// skb.consume();
///
/// SkBuff::new(64, GFP_KERNEL)?.drop_reason(DropReason::FULL_RING);
/// # Ok::<(), Error>(())
/// ```
pub struct SkBuff {
    skb: NonNull<bindings::sk_buff>,
}

// SAFETY: An owned buffer may be used and freed on any thread.
unsafe impl Send for SkBuff {}
// SAFETY: `&SkBuff` only reads.
unsafe impl Sync for SkBuff {}

impl Deref for SkBuff {
    type Target = Borrowed;

    #[inline]
    fn deref(&self) -> &Borrowed {
        // SAFETY: By the type invariants; changing it takes `&mut self`.
        unsafe { Borrowed::from_raw(self.skb.as_ptr()) }
    }
}

impl SkBuff {
    /// A buffer with room for `size` bytes, all of it behind the (empty) data.
    pub fn new(size: usize, flags: Flags) -> Result<Self, AllocError> {
        let size = u32::try_from(size).map_err(|_| AllocError)?;
        // SAFETY: No precondition.
        let skb = unsafe { bindings::alloc_skb(size, flags.as_raw()) };
        // INVARIANT: A new buffer is ours.
        Ok(Self {
            skb: NonNull::new(skb).ok_or(AllocError)?,
        })
    }

    /// Takes over a buffer from C.
    ///
    /// # Safety
    ///
    /// `skb` is valid and the caller gives up its ownership.
    #[inline]
    pub unsafe fn from_raw(skb: NonNull<bindings::sk_buff>) -> Self {
        // INVARIANT: By this function's contract.
        Self { skb }
    }

    /// Gives the buffer to C.
    #[inline]
    pub fn into_raw(self) -> NonNull<bindings::sk_buff> {
        ManuallyDrop::new(self).skb
    }

    /// Ends a frame that reached its goal. Any context but hard interrupts.
    #[inline]
    pub fn consume(self) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::consume_skb(self.into_raw().as_ptr()) }
    }

    /// Ends a frame that did not reach its goal. Any context but hard interrupts.
    #[inline]
    pub fn drop_reason(self, reason: DropReason) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::kfree_skb_reason(self.into_raw().as_ptr(), reason.0) }
    }

    /// Tells whoever waits for the pages of a zero-copy frame that it was not sent. Before a drop.
    #[inline]
    pub fn tx_error(&mut self) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::skb_tx_error(self.skb.as_ptr()) }
    }

    /// Copies pages that belong to user space, so that the frame may wait. `ENOMEM`.
    #[inline]
    pub fn orphan_frags_rx(&mut self, flags: Flags) -> Result {
        // SAFETY: By the type invariants the buffer is ours.
        check(unsafe { bindings::skb_orphan_frags_rx(self.skb.as_ptr(), flags.as_raw()) })
    }

    /// Takes the software time stamp. To be called while the sender's socket is still attached.
    #[inline]
    pub fn tx_timestamp(&mut self) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::skb_tx_timestamp(self.skb.as_ptr()) }
    }

    /// Releases the sender's socket and conntrack entry, so that the frame may wait for ever.
    #[inline]
    pub fn orphan(&mut self) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe {
            bindings::skb_orphan(self.skb.as_ptr());
            bindings::nf_reset_ct(self.skb.as_ptr());
        }
    }

    /// Appends bytes to a linear frame. `EMSGSIZE` when they do not fit.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result {
        // SAFETY: By the type invariants; `skb_tailroom()` is 0 for a frame that is not linear.
        let room = unsafe { bindings::skb_tailroom(self.skb.as_ptr()) } as usize;
        if bytes.len() > room {
            return Err(EMSGSIZE);
        }
        // SAFETY: There is room for the bytes, which `skb_put()` returns a pointer to.
        unsafe {
            bindings::skb_put(self.skb.as_ptr(), bytes.len() as c_uint)
                .cast::<u8>()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Ok(())
    }

    /// Fills the `len` bytes of the frame from `from`. `EFAULT`, may sleep.
    #[inline]
    pub fn copy_from_iter(&mut self, from: &mut IovIterSource<'_>, len: usize) -> Result {
        // SAFETY: By the type invariants the buffer is ours; the copy stays inside the frame.
        check(unsafe {
            bindings::skb_copy_datagram_from_iter(self.skb.as_ptr(), 0, from.as_raw(), len as c_int)
        })
    }

    /// Makes pages of user space's a part of the frame, after its linear bytes, which are copied.
    /// `EFAULT`, `EMSGSIZE` where there are too many. May sleep.
    #[inline]
    pub fn take_pages(&mut self, from: &mut IovIterSource<'_>) -> Result {
        // SAFETY: By the type invariants the buffer is ours.
        check(unsafe { bindings::zerocopy_sg_from_iter(self.skb.as_ptr(), from.as_raw()) })
    }

    /// Makes the first `len` bytes linear. `false` when the frame is shorter or memory is.
    #[inline]
    #[must_use]
    pub fn may_pull(&mut self, len: usize) -> bool {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::pskb_may_pull(self.skb.as_ptr(), len as c_uint) }
    }

    /// The first byte, made linear where it has to be. `None` for an empty frame.
    #[inline]
    pub fn first_byte(&mut self) -> Option<u8> {
        // SAFETY: Once pulled, the first byte is linear.
        self.may_pull(1)
            .then(|| unsafe { *(*self.skb.as_ptr()).data })
    }

    /// Cuts the frame to `len` bytes; a shorter one stays as it is. `ENOMEM`.
    #[inline]
    pub fn trim(&mut self, len: usize) -> Result {
        // SAFETY: By the type invariants the buffer is ours.
        check(unsafe { bindings::pskb_trim(self.skb.as_ptr(), len as c_uint) })
    }

    /// The network header begins at `offset`.
    #[inline]
    pub fn set_network_header(&mut self, offset: usize) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::skb_set_network_header(self.skb.as_ptr(), offset as c_int) }
    }

    /// Sets the protocol, given as it lies in memory (network order).
    #[inline]
    pub fn set_protocol(&mut self, proto: u16) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::skb_protocol_set(self.skb.as_ptr(), proto) }
    }

    /// Sets the device that the frame is received on. The frame must not outlive it; see
    /// [`Device::receive`](super::device::Device::receive).
    #[inline]
    pub(crate) fn set_dev(&mut self, dev: *mut bindings::net_device) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe {
            (*self.skb.as_ptr())
                .__bindgen_anon_1
                .__bindgen_anon_1
                .__bindgen_anon_1
                .dev = dev
        }
    }

    /// The network header starts where the data does, and the transport header where dissection
    /// finds it. Records the rx queue.
    #[inline]
    pub fn finish_headers(&mut self, rx_queue: u16) {
        // SAFETY: By the type invariants the buffer is ours.
        unsafe {
            bindings::skb_reset_network_header(self.skb.as_ptr());
            bindings::skb_probe_transport_header(self.skb.as_ptr());
            bindings::skb_record_rx_queue(self.skb.as_ptr(), rx_queue);
        }
    }
}

impl Drop for SkBuff {
    #[cold]
    fn drop(&mut self) {
        crate::warn_on!(true);
        // SAFETY: By the type invariants the buffer is ours.
        unsafe { bindings::kfree_skb_reason(self.skb.as_ptr(), DropReason::NOT_SPECIFIED.0) }
    }
}

// SAFETY: The pointer of a buffer is not null and aligned as `struct sk_buff`, which is a multiple
// of a word.
unsafe impl ForeignOwnable for SkBuff {
    const FOREIGN_ALIGN: usize = core::mem::align_of::<bindings::sk_buff>();

    type Borrowed<'a> = &'a Borrowed;
    type BorrowedMut<'a> = &'a Borrowed;

    #[inline]
    fn into_foreign(self) -> *mut c_void {
        self.into_raw().as_ptr().cast()
    }

    #[inline]
    unsafe fn from_foreign(ptr: *mut c_void) -> Self {
        // SAFETY: `ptr` comes from `into_foreign`, which gave up ownership.
        unsafe { Self::from_raw(NonNull::new_unchecked(ptr.cast())) }
    }

    #[inline]
    unsafe fn borrow<'a>(ptr: *mut c_void) -> &'a Borrowed {
        // SAFETY: `ptr` comes from `into_foreign` and is not taken back for `'a`.
        unsafe { Borrowed::from_raw(ptr.cast()) }
    }

    #[inline]
    unsafe fn borrow_mut<'a>(ptr: *mut c_void) -> &'a Borrowed {
        // SAFETY: As `borrow`.
        unsafe { Borrowed::from_raw(ptr.cast()) }
    }
}

impl Entry for SkBuff {
    /// Dropped without a reason that has a name, as C does by `kfree_skb()`.
    #[inline]
    fn destroy(self) {
        self.drop_reason(DropReason::NOT_SPECIFIED)
    }
}

#[kunit_tests(rust_skbuff)]
mod tests {
    use super::*;

    #[test]
    fn slices_fit_or_leave_the_frame_alone() -> Result {
        let mut skb = SkBuff::new(16, GFP_KERNEL)?;
        skb.extend_from_slice(&[0x45; 16])?;
        let before = skb.len();
        assert_eq!(skb.extend_from_slice(&[0; 4096]), Err(EMSGSIZE));
        assert_eq!(skb.len(), before);
        assert!(skb.may_pull(16));
        assert!(!skb.may_pull(17));
        assert_eq!(skb.first_byte(), Some(0x45));
        skb.consume();
        Ok(())
    }

    #[test]
    fn trimming_shortens_only() -> Result {
        let mut skb = SkBuff::new(16, GFP_KERNEL)?;
        skb.extend_from_slice(&[1, 2, 3, 4])?;
        assert_eq!(skb.head::<2>(), Some([1, 2]));
        assert_eq!(skb.head::<5>(), None);
        skb.trim(9)?;
        assert_eq!(skb.len(), 4);
        skb.trim(3)?;
        assert_eq!(skb.len(), 3);
        assert_eq!(skb.segmentation(), (0, 0));
        skb.consume();
        Ok(())
    }

    #[test]
    fn empty_frame() -> Result {
        let mut skb = SkBuff::new(16, GFP_KERNEL)?;
        assert!(skb.is_empty());
        assert_eq!(skb.first_byte(), None);
        skb.set_protocol(0x0800u16.to_be());
        assert_eq!(skb.protocol(), 0x0800u16.to_be());
        assert_eq!(skb.queue_mapping(), 0);
        skb.drop_reason(DropReason::NOT_SPECIFIED);
        Ok(())
    }

    #[test]
    fn foreign_round_trip() -> Result {
        let skb = SkBuff::new(16, GFP_KERNEL)?;
        let ptr = skb.into_foreign();
        // SAFETY: `ptr` comes from `into_foreign`, and is taken back only after the borrow.
        assert_eq!(unsafe { SkBuff::borrow(ptr) }.len(), 0);
        // SAFETY: As above, once.
        unsafe { SkBuff::from_foreign(ptr) }.consume();
        Ok(())
    }
}
