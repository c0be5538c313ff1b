// SPDX-License-Identifier: GPL-2.0

//! What vhost-net needs of a driver whose files it takes as backends.
//!
//! vhost-net asks for the socket behind a file and for the ring that holds the frames for it; then
//! it consumes from the ring itself, under the ring's consumer lock, and says how many it took.
//! A driver implements [`Backend`] and, by [`vhost_backend!`](crate::vhost_backend), gets the four
//! functions that it exports for vhost-net to call.
//!
//! C headers: [`include/linux/if_tun.h`](srctree/include/linux/if_tun.h),
//! `drivers/vhost/net.c`

use super::{
    ptr_ring::{
        Consumer,
        Entry,
        PtrRing, //
    },
    skbuff::SkBuff,
    sock::{
        self,
        Sock, //
    },
    xdp, //
};
use crate::{
    bindings,
    fs::ops,
    prelude::*,
    sync::aref::ARef,
    types::ForeignOwnable, //
};
use core::{
    ffi::c_void,
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::Deref,
    ptr::NonNull, //
};

/// What vhost-net takes from a ring: a frame with a socket buffer, or one without.
///
/// The lowest bit of the pointer in the ring tells which.
///
/// # Examples
///
/// ```
/// use kernel::net::{skbuff::SkBuff, vhost::Packet};
///
/// let packet = Packet::Skb(SkBuff::new(64, GFP_KERNEL)?);
/// assert_eq!(packet.len(), 0);
/// kernel::net::ptr_ring::Entry::destroy(packet);
/// # Ok::<(), Error>(())
/// ```
pub enum Packet {
    /// With one.
    Skb(SkBuff),
    /// Without: it was redirected here.
    Xdp(xdp::Frame),
}

/// The bit of a frame without a socket buffer.
const XDP_FLAG: usize = 1;

impl Packet {
    /// The bytes of the frame, with a tag that will be inserted.
    pub fn len(&self) -> usize {
        match self {
            Self::Skb(skb) => skb.len() + skb.vlan_tag().map_or(0, |_| VLAN_HLEN),
            Self::Xdp(frame) => frame.len(),
        }
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

const VLAN_HLEN: usize = bindings::VLAN_HLEN as usize;

/// A packet in a ring, looked at.
pub struct PacketRef<'a>(ManuallyDrop<Packet>, PhantomData<&'a Packet>);

impl Deref for PacketRef<'_> {
    type Target = Packet;

    #[inline]
    fn deref(&self) -> &Packet {
        &self.0
    }
}

// SAFETY: The pointers of both kinds are not null and aligned to more than the flag.
unsafe impl ForeignOwnable for Packet {
    const FOREIGN_ALIGN: usize = 1;

    type Borrowed<'a> = PacketRef<'a>;
    type BorrowedMut<'a> = PacketRef<'a>;

    #[inline]
    fn into_foreign(self) -> *mut c_void {
        match self {
            Self::Skb(skb) => skb.into_raw().as_ptr().cast(),
            Self::Xdp(frame) => frame
                .into_raw()
                .as_ptr()
                .cast::<c_void>()
                .map_addr(|addr| addr | XDP_FLAG),
        }
    }

    #[inline]
    unsafe fn from_foreign(ptr: *mut c_void) -> Self {
        // SAFETY: `ptr` comes from `into_foreign`, which gave up ownership and left the flag.
        unsafe {
            if ptr.addr() & XDP_FLAG == 0 {
                Self::Skb(SkBuff::from_raw(NonNull::new_unchecked(ptr.cast())))
            } else {
                let ptr = ptr.map_addr(|addr| addr & !XDP_FLAG);
                Self::Xdp(xdp::Frame::from_raw(NonNull::new_unchecked(ptr.cast())))
            }
        }
    }

    #[inline]
    unsafe fn borrow<'a>(ptr: *mut c_void) -> PacketRef<'a> {
        // SAFETY: `ptr` comes from `into_foreign` and is not taken back for `'a`; what is made
        // here is never dropped.
        PacketRef(
            ManuallyDrop::new(unsafe { Self::from_foreign(ptr) }),
            PhantomData,
        )
    }

    #[inline]
    unsafe fn borrow_mut<'a>(ptr: *mut c_void) -> PacketRef<'a> {
        // SAFETY: As `borrow`.
        unsafe { Self::borrow(ptr) }
    }
}

impl Entry for Packet {
    #[inline]
    fn destroy(self) {
        match self {
            Self::Skb(skb) => Entry::destroy(skb),
            Self::Xdp(frame) => drop(frame),
        }
    }
}

/// The socket behind a file that vhost-net may take as its backend.
pub trait Backend: sock::Operations {
    /// What goes with the consumer's lock of the ring.
    type RingState;
    /// The operations of the files; the file's private data is the socket.
    type File: ops::Operations<Ptr = ARef<Sock<Self>>>;

    /// The table of those operations.
    fn file_table() -> &'static ops::Table<Self::File>;

    /// The ring of frames for the reader of the file.
    fn ring(&self) -> &PtrRing<Self::Entry, Self::RingState>;

    /// The reader took `taken` entries from the ring, whose consumer lock it still holds.
    ///
    /// Any context but hard interrupts; must not sleep.
    fn consumed(
        sock: &Sock<Self>,
        ring: &mut Consumer<'_, Self::Entry, Self::RingState>,
        taken: u32,
    );
}

/// The socket behind `file`, if it is one of `T`'s.
///
/// # Safety
///
/// `file` is an open file that stays for `'a`.
unsafe fn sock<'a, T: Backend>(file: *mut bindings::file) -> Result<&'a Sock<T>> {
    // SAFETY: By this function's contract; files that vhost-net holds are shared ones.
    let file = unsafe { crate::fs::File::from_raw_file(file) };
    T::file_table().private_data(file).ok_or(EINVAL)
}

#[doc(hidden)]
/// # Safety
///
/// `file` is an open file, which stays while the result is in use.
pub unsafe fn get_socket<T: Backend>(file: *mut bindings::file) -> *mut bindings::socket {
    // SAFETY: By this function's contract.
    match unsafe { sock::<T>(file) } {
        Ok(sock) => sock.as_raw_socket(),
        Err(e) => e.to_ptr(),
    }
}

#[doc(hidden)]
/// # Safety
///
/// `file` is an open file, which stays while the result is in use.
pub unsafe fn get_ring<T: Backend>(file: *mut bindings::file) -> *mut bindings::ptr_ring {
    // SAFETY: By this function's contract.
    match unsafe { sock::<T>(file) } {
        Ok(sock) => sock.ring().as_raw(),
        Err(e) => e.to_ptr(),
    }
}

#[doc(hidden)]
/// # Safety
///
/// `file` is an open file; if it is one of ours, the caller holds its ring's consumer lock.
pub unsafe fn wake<T: Backend>(file: *mut bindings::file, taken: c_int) {
    // SAFETY: By this function's contract.
    if let Ok(sock) = unsafe { sock::<T>(file) } {
        // SAFETY: By this function's contract.
        let mut ring = unsafe { sock.ring().assume_consumer() };
        T::consumed(sock, &mut ring, taken.max(0) as u32);
    }
}

#[doc(hidden)]
/// # Safety
///
/// `entry` is null, or comes from a ring of `T`'s and is given up.
pub unsafe fn free<T: Backend>(entry: *mut c_void) {
    if !entry.is_null() {
        // SAFETY: By this function's contract.
        unsafe { <T::Entry as ForeignOwnable>::from_foreign(entry) }.destroy();
    }
}

/// Defines the functions that vhost-net calls, for a [`Backend`].
///
/// Each has the signature that the C header declares, which is checked. The module still has to
/// export them, from C.
///
/// # Examples
///
/// ```ignore
/// kernel::vhost_backend! {
///     backend: Queue,
///     get_socket: tun_get_socket,
///     get_ring: tun_get_tx_ring,
///     wake: tun_wake_queue,
///     free: tun_ptr_free,
/// }
/// ```
#[macro_export]
macro_rules! vhost_backend {
    (
        backend: $backend:ty,
        get_socket: $get_socket:ident,
        get_ring: $get_ring:ident,
        wake: $wake:ident,
        free: $free:ident $(,)?
    ) => {
        /// # Safety
        ///
        /// `file` is an open file, which stays while the result is in use.
        #[$crate::prelude::export]
        pub unsafe extern "C" fn $get_socket(
            file: *mut $crate::bindings::file,
        ) -> *mut $crate::bindings::socket {
            // SAFETY: By this function's contract.
            unsafe { $crate::net::vhost::get_socket::<$backend>(file) }
        }

        /// # Safety
        ///
        /// `file` is an open file, which stays while the result is in use.
        #[$crate::prelude::export]
        pub unsafe extern "C" fn $get_ring(
            file: *mut $crate::bindings::file,
        ) -> *mut $crate::bindings::ptr_ring {
            // SAFETY: By this function's contract.
            unsafe { $crate::net::vhost::get_ring::<$backend>(file) }
        }

        /// # Safety
        ///
        /// `file` is an open file; if it is one of ours, its ring's consumer lock is held.
        #[$crate::prelude::export]
        pub unsafe extern "C" fn $wake(
            file: *mut $crate::bindings::file,
            consumed: $crate::ffi::c_int,
        ) {
            // SAFETY: By this function's contract.
            unsafe { $crate::net::vhost::wake::<$backend>(file, consumed) }
        }

        /// # Safety
        ///
        /// `ptr` is null, or comes from a ring of ours and is given up.
        #[$crate::prelude::export]
        pub unsafe extern "C" fn $free(ptr: *mut $crate::ffi::c_void) {
            // SAFETY: By this function's contract.
            unsafe { $crate::net::vhost::free::<$backend>(ptr) }
        }
    };
}
