// SPDX-License-Identifier: GPL-2.0

//! The argument of the interface ioctls, as bytes: `struct ifreq`.
//!
//! C header: [`include/uapi/linux/if.h`](srctree/include/uapi/linux/if.h)

use kernel::{
    net::device::Name,
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice, //
    },
    uapi, //
};

/// The size for programs of the kernel's own word size.
pub(crate) const SIZE: usize = core::mem::size_of::<uapi::ifreq>();

/// The size for 32-bit programs on a 64-bit kernel. What is used here lies at the same offsets.
#[cfg(CONFIG_COMPAT)]
pub(crate) const COMPAT_SIZE: usize = 32;

/// An interface request. Bytes beyond the size that user space has stay as they were.
pub(crate) struct Ifreq([u8; SIZE]);

impl Ifreq {
    /// All zero.
    pub(crate) const ZERO: Self = Self([0; SIZE]);

    /// Reads the first `size` bytes. `EFAULT`.
    pub(crate) fn read(arg: usize, size: usize) -> Result<Self> {
        let mut this = Self::ZERO;
        let bytes = this.0.get_mut(..size).ok_or(EINVAL)?;
        UserSlice::new(UserPtr::from_addr(arg), size)
            .reader()
            .read_slice(bytes)?;
        Ok(this)
    }

    /// Writes the first `size` bytes. `EFAULT`.
    pub(crate) fn write(&self, arg: usize, size: usize) -> Result {
        let bytes = self.0.get(..size).ok_or(EINVAL)?;
        UserSlice::new(UserPtr::from_addr(arg), size)
            .writer()
            .write_slice(bytes)
    }

    /// The name, cut to what fits.
    pub(crate) fn name(&self) -> Result<Name> {
        // The last byte of the field is the NUL, whatever user space put there.
        Name::new(self.0.get(..Name::SIZE - 1).ok_or(EINVAL)?)
    }

    /// Sets the name, and clears the rest of its field's string.
    pub(crate) fn set_name(&mut self, name: &Name) {
        let bytes = name.as_bytes();
        for (to, from) in self
            .0
            .iter_mut()
            .zip(Iterator::chain(bytes.iter().copied(), [0]))
            .take(Name::SIZE)
        {
            *to = from;
        }
    }

    /// The flags: 16 bits, not extended by their sign.
    pub(crate) fn flags(&self) -> u32 {
        let at = Name::SIZE;
        match (self.0.get(at), self.0.get(at + 1)) {
            (Some(a), Some(b)) => u32::from(u16::from_ne_bytes([*a, *b])),
            _ => 0,
        }
    }

    /// Sets the flags.
    pub(crate) fn set_flags(&mut self, flags: u32) {
        let bytes = (flags as u16).to_ne_bytes();
        for (to, from) in self.0.iter_mut().skip(Name::SIZE).zip(bytes) {
            *to = from;
        }
    }
}
