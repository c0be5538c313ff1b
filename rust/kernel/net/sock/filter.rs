// SPDX-License-Identifier: GPL-2.0

//! Classic socket filters.
//!
//! C header: [`include/linux/filter.h`](srctree/include/linux/filter.h)

use super::{
    Operations,
    Sock, //
};
use crate::{
    bindings,
    error::to_result,
    net::skbuff::{
        DropReason,
        SkBuff, //
    },
    prelude::*,
    transmute::{
        AsBytes,
        FromBytes, //
    }, //
};

/// Where a classic program lies in user space, and how long it is: `struct sock_fprog`.
///
/// # Examples
///
/// ```
/// use kernel::net::sock::ClassicProgram;
///
/// assert_eq!(size_of::<ClassicProgram>(), 2 * size_of::<usize>());
/// ```
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct ClassicProgram {
    len: u16,
    // What lies between is user space's, and goes back there.
    _gap: [u8; size_of::<usize>() - 2],
    filter: usize,
}

static_assert!(size_of::<ClassicProgram>() == size_of::<bindings::sock_fprog>());

// SAFETY: Any bytes are a value.
unsafe impl FromBytes for ClassicProgram {}
// SAFETY: There is no padding.
unsafe impl AsBytes for ClassicProgram {}

impl<T: Operations> Sock<T> {
    /// Has it a classic filter? Any context.
    #[inline]
    pub fn has_filter(&self) -> bool {
        // SAFETY: Only compared with null: `rcu_access_pointer()`.
        !unsafe { (&raw const (*self.as_raw()).sk_filter).read_volatile() }.is_null()
    }

    /// Reads a program from the caller's memory, and makes it the filter.
    ///
    /// `EFAULT`; `EINVAL` where it is no program; `ENOMEM`; `EPERM` where the filter is locked. May
    /// sleep.
    pub fn attach_filter(&self, program: &ClassicProgram) -> Result {
        let mut program = bindings::sock_fprog {
            len: program.len,
            filter: program.filter as *mut bindings::sock_filter,
        };
        // SAFETY: The socket is valid, and locked meanwhile; the program is read as user memory,
        // whatever the pointer is.
        let ret = unsafe {
            bindings::lock_sock(self.as_raw());
            let ret = bindings::sk_attach_filter(&raw mut program, self.as_raw());
            bindings::release_sock(self.as_raw());
            ret
        };
        to_result(ret)
    }

    /// Takes the filter away, if there is one. May sleep.
    pub fn detach_filter(&self) {
        // SAFETY: The socket is valid, and locked meanwhile.
        unsafe {
            bindings::lock_sock(self.as_raw());
            bindings::sk_detach_filter(self.as_raw());
            bindings::release_sock(self.as_raw());
        }
    }

    /// Shows the filter a frame that goes to the socket. It may shorten the frame, or refuse it.
    ///
    /// Any context but hard interrupts.
    #[inline]
    pub fn filter(&self, skb: &mut SkBuff) -> Result<(), DropReason> {
        // SAFETY: The socket is valid, and the buffer ours.
        let reason = unsafe { bindings::sk_filter_trim_cap(self.as_raw(), skb.as_raw(), 1) };
        match DropReason::from_raw(reason) {
            None => Ok(()),
            Some(reason) => Err(reason),
        }
    }
}
