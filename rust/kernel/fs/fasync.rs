// SPDX-License-Identifier: GPL-2.0

//! Signals to those who asked for them by `O_ASYNC`.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::File;
use crate::{
    bindings,
    error::to_result,
    prelude::*, //
};
use core::cell::UnsafeCell;

/// What the signal is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// There is something to read.
    In,
    /// There is room to write.
    Out,
}

/// Who wants a signal: a list of files.
///
/// A file is on the list from [`add`](Self::add) to [`remove`](Self::remove), which the VFS asks
/// for, by `fasync`, at the latest before it calls `release`: the owner of the list must be there
/// until then, as the private data of those files is.
///
/// # Examples
///
/// ```
/// use kernel::fs::fasync::{Band, Listeners};
///
/// let listeners = Listeners::new();
/// // Nobody is there to be told.
/// listeners.kill(Band::In);
/// ```
pub struct Listeners(UnsafeCell<*mut bindings::fasync_struct>);

// SAFETY: `fasync_helper()` and `kill_fasync()` lock and use RCU for themselves.
unsafe impl Send for Listeners {}
// SAFETY: As above.
unsafe impl Sync for Listeners {}

impl Default for Listeners {
    fn default() -> Self {
        Self::new()
    }
}

impl Listeners {
    /// Nobody yet.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(core::ptr::null_mut()))
    }

    /// Puts a file on the list, on behalf of `fasync(fd, on)`, with the caller as the one to be
    /// told unless the file has an owner already. `ENOMEM`.
    pub fn add(&self, fd: i32, file: &File) -> Result {
        // SAFETY: The file is open; the list is where it will be until the file leaves it.
        unsafe {
            to_result(bindings::file_f_owner_allocate(file.as_ptr()))?;
            to_result(bindings::fasync_helper(fd, file.as_ptr(), 1, self.0.get()).min(0))?;
            bindings::f_setown_current(file.as_ptr());
        }
        Ok(())
    }

    /// Takes a file off the list.
    pub fn remove(&self, fd: i32, file: &File) -> Result {
        // SAFETY: As `add`.
        to_result(unsafe { bindings::fasync_helper(fd, file.as_ptr(), 0, self.0.get()) }.min(0))
    }

    /// Sends `SIGIO`. Any context.
    #[inline]
    pub fn kill(&self, band: Band) {
        let band = match band {
            Band::In => bindings::POLL_IN,
            Band::Out => bindings::POLL_OUT,
        };
        // SAFETY: Locks for itself.
        unsafe { bindings::kill_fasync(self.0.get(), bindings::SIGIO as c_int, band as c_int) }
    }
}
