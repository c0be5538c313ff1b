// SPDX-License-Identifier: GPL-2.0

//! eBPF programs that user space hands to a driver.
//!
//! C headers: [`include/linux/bpf.h`](srctree/include/linux/bpf.h),
//! [`include/linux/filter.h`](srctree/include/linux/filter.h)

use super::skbuff::{
    Borrowed,
    SkBuff, //
};
use crate::{
    bindings,
    error::from_err_ptr,
    prelude::*,
    sync::{
        rcu,
        rcu_pointer::FreedByRcu, //
    },
    types::{
        ForeignOwnable,
        Opaque, //
    }, //
};
use core::{
    ffi::c_void,
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::Deref,
    ptr::NonNull, //
};

/// The type of programs that look at a frame and answer with a number.
pub enum FilterKind {}

/// The type of programs that see a frame before it has a buffer: see [`xdp`](super::xdp).
pub enum XdpKind {}

/// A program of type `K` that somebody else keeps loaded.
#[repr(transparent)]
pub struct ProgramRef<K>(Opaque<bindings::bpf_prog>, PhantomData<K>);

// SAFETY: A program is not changed once it is loaded.
unsafe impl<K> Sync for ProgramRef<K> {}

impl<K> ProgramRef<K> {
    #[inline]
    pub(super) fn as_raw(&self) -> *mut bindings::bpf_prog {
        self.0.get()
    }
}

/// A counted program of type `K`.
///
/// # Invariants
///
/// `prog` is loaded, of type `K`, and one count of it is ours.
pub struct Program<K> {
    prog: NonNull<bindings::bpf_prog>,
    _kind: PhantomData<K>,
}

// SAFETY: A count may be given up on any thread.
unsafe impl<K> Send for Program<K> {}
// SAFETY: A program is not changed once it is loaded.
unsafe impl<K> Sync for Program<K> {}

impl<K> Program<K> {
    /// # Safety
    ///
    /// `prog` is null, or a program of type `K` of which the caller gives up a count.
    #[inline]
    pub(super) unsafe fn from_raw(prog: *mut bindings::bpf_prog) -> Option<Self> {
        // INVARIANT: By this function's contract.
        NonNull::new(prog).map(|prog| Self {
            prog,
            _kind: PhantomData,
        })
    }
}

impl<K> Drop for Program<K> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants the count is ours.
        unsafe { bindings::bpf_prog_put(self.prog.as_ptr()) }
    }
}

impl<K> Deref for Program<K> {
    type Target = ProgramRef<K>;

    #[inline]
    fn deref(&self) -> &ProgramRef<K> {
        // SAFETY: By the type invariants; `ProgramRef` is transparent.
        unsafe { self.prog.cast().as_ref() }
    }
}

// SAFETY: The pointer of a program is not null, and aligned as it is.
unsafe impl<K: 'static> ForeignOwnable for Program<K> {
    const FOREIGN_ALIGN: usize = align_of::<bindings::bpf_prog>();

    type Borrowed<'a> = &'a ProgramRef<K>;
    type BorrowedMut<'a> = &'a ProgramRef<K>;

    #[inline]
    fn into_foreign(self) -> *mut c_void {
        ManuallyDrop::new(self).prog.as_ptr().cast()
    }

    #[inline]
    unsafe fn from_foreign(ptr: *mut c_void) -> Self {
        // SAFETY: `ptr` comes from `into_foreign`, so it is not null.
        let prog = unsafe { NonNull::new_unchecked(ptr.cast()) };
        // INVARIANT: `into_foreign` gave up the count.
        Self {
            prog,
            _kind: PhantomData,
        }
    }

    #[inline]
    unsafe fn borrow<'a>(ptr: *mut c_void) -> &'a ProgramRef<K> {
        // SAFETY: `ptr` comes from `into_foreign` and is not taken back for `'a`.
        unsafe { &*ptr.cast() }
    }

    #[inline]
    unsafe fn borrow_mut<'a>(ptr: *mut c_void) -> &'a ProgramRef<K> {
        // SAFETY: As `borrow`.
        unsafe { &*ptr.cast() }
    }
}

// SAFETY: The last `bpf_prog_put()` leaves the program to `call_rcu()`; `ProgramRef` has no way to
// a count.
unsafe impl<K: 'static> FreedByRcu for Program<K> {}

/// A counted program that looks at a frame and answers with a number.
///
/// # Examples
///
/// ```
/// use kernel::net::bpf::SocketFilter;
///
/// // No file, no program.
/// assert!(SocketFilter::from_fd(-1).is_err());
/// ```
pub type SocketFilter = Program<FilterKind>;

impl SocketFilter {
    /// The program behind a file descriptor of the caller's.
    ///
    /// `EBADF` where there is no file; `EINVAL` where it is no program or one of another type;
    /// `EOPNOTSUPP` in a kernel without `bpf()`. Process context.
    pub fn from_fd(fd: i32) -> Result<Self> {
        // SAFETY: No precondition.
        let prog = from_err_ptr(unsafe {
            bindings::bpf_prog_get_type(
                fd as u32,
                bindings::bpf_prog_type_BPF_PROG_TYPE_SOCKET_FILTER,
            )
        })?;
        // SAFETY: The program is of the type, and comes with a count.
        unsafe { Self::from_raw(prog) }.ok_or(EINVAL)
    }
}

impl ProgramRef<FilterKind> {
    /// Runs the program on a frame. Under RCU, which the program's memory waits for.
    ///
    /// What others left in the frame's control buffer is hidden from it.
    #[inline]
    pub fn run(&self, skb: &mut SkBuff, _rcu: &rcu::Guard) -> u32 {
        // SAFETY: The program is loaded, the buffer ours.
        unsafe { bindings::bpf_prog_run_clear_cb(self.as_raw(), skb.as_raw()) }
    }

    /// As [`run`](Self::run), for a frame that the core is about to transmit.
    #[inline]
    pub fn run_borrowed(&self, skb: &Borrowed, _rcu: &rcu::Guard) -> u32 {
        // SAFETY: As above: a program of this type changes nothing but the control buffer, which
        // is scratch for whoever has the frame at present, and restored.
        unsafe { bindings::bpf_prog_run_clear_cb(self.as_raw(), skb.as_raw()) }
    }
}

#[kunit_tests(rust_net_bpf)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_refused() {
        let expected = if cfg!(CONFIG_BPF_SYSCALL) {
            EBADF
        } else {
            EOPNOTSUPP
        };
        assert_eq!(SocketFilter::from_fd(-1).err(), Some(expected));
        assert_eq!(SocketFilter::from_fd(i32::MAX).err(), Some(expected));
    }
}
