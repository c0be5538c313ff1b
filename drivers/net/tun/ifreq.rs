// SPDX-License-Identifier: GPL-2.0

//! The argument of the interface ioctls, as bytes: `struct ifreq`.
//!
//! C header: [`include/uapi/linux/if.h`](srctree/include/uapi/linux/if.h)

use kernel::{
    net::device::{
        Address,
        Name, //
    },
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
    /// Where an address lies: in the place of the flags.
    const ADDRESS: core::ops::Range<usize> = Name::SIZE..Name::SIZE + Address::SIZE;

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

    /// The address: a type, and the bytes.
    pub(crate) fn address(&self) -> Address {
        let mut bytes = [0; Address::SIZE];
        if let Some(from) = self.0.get(Self::ADDRESS) {
            bytes.copy_from_slice(from);
        }
        Address::from_bytes(bytes)
    }

    /// Sets the address.
    pub(crate) fn set_address(&mut self, address: &Address) {
        if let Some(to) = self.0.get_mut(Self::ADDRESS) {
            to.copy_from_slice(address.as_bytes());
        }
    }
}

#[kunit_tests(rust_tun_ifreq)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_not_extended_by_their_sign() {
        let mut ifreq = Ifreq::ZERO;
        ifreq.set_flags(0xffff_8002);
        assert_eq!(ifreq.flags(), 0x8002);
    }

    #[test]
    fn name_and_flags_do_not_touch() -> Result {
        let mut ifreq = Ifreq([0xff; SIZE]);
        ifreq.set_flags(0);
        // Fifteen bytes, whatever stands at the sixteenth.
        assert_eq!(ifreq.name()?.as_bytes().len(), Name::SIZE - 1);
        let name = Name::new(b"tun0")?;
        ifreq.set_name(&name);
        assert_eq!(ifreq.name()?.as_bytes(), b"tun0");
        assert_eq!(ifreq.flags(), 0);
        assert_eq!(ifreq.0[Name::SIZE + 2], 0xff);
        Ok(())
    }

    #[test]
    fn address_is_where_the_flags_are() {
        let mut ifreq = Ifreq::ZERO;
        ifreq.set_flags(0x1234);
        let mut bytes = *ifreq.address().as_bytes();
        assert_eq!(bytes[..2], 0x1234_u16.to_ne_bytes());
        bytes[15] = 9;
        ifreq.set_address(&Address::from_bytes(bytes));
        assert_eq!(ifreq.0[Name::SIZE + 15], 9);
        assert_eq!(ifreq.flags(), 0x1234);
    }

    #[test]
    fn a_shorter_name_leaves_nothing_of_the_longer() -> Result {
        let mut ifreq = Ifreq::ZERO;
        ifreq.set_name(&Name::new(b"longer0")?);
        ifreq.set_name(&Name::new(b"t1")?);
        assert_eq!(ifreq.name()?.as_bytes(), b"t1");
        Ok(())
    }

    #[test]
    fn bad_addresses_are_refused() {
        assert_eq!(Ifreq::read(usize::MAX - 4, SIZE).err(), Some(EFAULT));
        assert_eq!(Ifreq::ZERO.write(usize::MAX - 4, SIZE), Err(EFAULT));
        assert_eq!(Ifreq::read(0, SIZE + 1).err(), Some(EINVAL));
    }
}
