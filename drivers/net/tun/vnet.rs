// SPDX-License-Identifier: GPL-2.0

//! The virtio-net header in front of a frame: `IFF_VNET_HDR`.
//!
//! A program says how long it is, and of that a part is used: the size tells whether what it writes
//! may have offsets for tunnels, the offloads whether what it reads has. The rest is zero.
//!
//! C headers: [`include/uapi/linux/if_tun.h`](srctree/include/uapi/linux/if_tun.h),
//! `drivers/net/tun_vnet.h`

use crate::{
    device::Tun,
    flags, //
};
use kernel::{
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    net::{
        device::{
            ratelimit,
            Device,
            Features, //
        },
        skbuff::Borrowed,
        virtio_net::{
            warn_indescribable,
            Endian,
            Header,
            Tunnels, //
        }, //
    },
    prelude::*, //
};

/// The shortest header there is, and the one of a device that was not given another.
pub(crate) const MIN_SIZE: i32 = Header::SIZE as i32;

/// The most of a frame that is shown where it cannot be described.
const DUMP_LEN: usize = 64;

/// The order of bytes that a program has chosen, or that is the machine's.
#[inline]
pub(crate) fn endian(flags: u32) -> Endian {
    if flags & flags::VNET_LE != 0 {
        Endian::Little
    } else if cfg!(CONFIG_TUN_VNET_CROSS_LE) && flags & flags::VNET_BE != 0 {
        Endian::Big
    } else {
        Endian::NATIVE
    }
}

/// What a program may write by the size of its header, whatever else it has negotiated.
#[inline]
pub(crate) fn tunnels(size: i32) -> Tunnels {
    let known = size >= Header::TUNNEL_SIZE as i32;
    Tunnels {
        segments: known,
        checksums: known,
    }
}

/// How much of a header is used.
#[inline]
fn used(tunnels: bool) -> usize {
    if tunnels {
        Header::TUNNEL_SIZE
    } else {
        Header::SIZE
    }
}

/// Reads a header of `size` bytes. Returns it with the length that it says the frame's own headers
/// have; never more than what follows it.
///
/// `EINVAL`, `EFAULT`.
pub(crate) fn read(size: i32, flags: u32, from: &mut IovIterSource<'_>) -> Result<(Header, usize)> {
    let size = size as usize;
    if from.len() < size {
        return Err(EINVAL);
    }
    let mut header = Header::ZERO;
    let used = used(tunnels(size as i32).segments);
    let bytes = header.as_bytes_mut().get_mut(..used).ok_or(EINVAL)?;
    if from.copy_from_iter(bytes) != used {
        return Err(EFAULT);
    }
    let endian = endian(flags);
    let len = len_with_checksum(&mut header, endian);
    // As it stood when the header was read: what is skipped of a longer one counts as frame.
    if usize::from(len) > from.len() {
        return Err(EINVAL);
    }
    from.advance(size - used);
    Ok((header, usize::from(len)))
}

/// The length of the frame's headers, which are at least as long as where the checksum goes. Sums
/// are cut to 16 bits: whether they fit the frame is seen when it is there.
fn len_with_checksum(header: &mut Header, endian: Endian) -> u16 {
    let len = header.header_len(endian);
    if !header.needs_checksum() {
        return len;
    }
    let end =
        u32::from(header.checksum_start(endian)) + u32::from(header.checksum_offset(endian)) + 2;
    let len = end.max(u32::from(len)) as u16;
    header.set_header_len(endian, len);
    len
}

/// Writes a header of `size` bytes, of which the first are `header`. `EINVAL`, `EFAULT`.
#[inline]
pub(crate) fn write(size: i32, tunnels: bool, header: &Header, to: &mut IovIterDest<'_>) -> Result {
    let size = size as usize;
    if to.len() < size {
        return Err(EINVAL);
    }
    let used = used(tunnels);
    let bytes = header.as_bytes().get(..used).ok_or(EINVAL)?;
    if to.copy_to_iter(bytes) != used {
        return Err(EFAULT);
    }
    // With tunnels, and a size that has no room for them, this is huge: the buffer is zeroed to
    // its end, and the frame does not get there.
    let rest = size.wrapping_sub(used);
    if to.zero(rest) != rest {
        return Err(EFAULT);
    }
    Ok(())
}

/// The header of a frame that a program reads. `EINVAL` where there is none that fits.
#[inline]
pub(crate) fn describe(
    dev: &Device<Tun>,
    flags: u32,
    skb: &Borrowed,
    inserted: usize,
) -> Result<Header> {
    Header::describe(skb, has_tunnels(dev), endian(flags), inserted)
        .map_err(|header| complain(dev, flags, skb, &header))
}

/// Has a program allowed the stack to segment in tunnels?
#[inline]
pub(crate) fn has_tunnels(dev: &Device<Tun>) -> bool {
    dev.features() & Features::GSO_UDP_TUNNEL != Features::NONE
}

/// The stack made what no header can express, and was not asked to.
#[cold]
fn complain(dev: &Device<Tun>, flags: u32, skb: &Borrowed, header: &Header) -> Error {
    let endian = endian(flags);
    let len = header.header_len(endian);
    if ratelimit() {
        dev.err(fmt!(
            "unexpected GSO type: 0x{:x}, gso_size {}, hdr_len {}\n",
            skb.segmentation().0,
            header.segment_size(endian),
            len
        ));
        skb.dump(c"tun: ", usize::from(len).min(DUMP_LEN));
    }
    warn_indescribable();
    EINVAL
}

#[kunit_tests(rust_tun_vnet)]
mod tests {
    use super::*;

    #[test]
    fn endian_is_native_until_it_is_chosen() {
        assert_eq!(endian(0), Endian::NATIVE);
        assert_eq!(endian(flags::VNET_LE), Endian::Little);
        assert_eq!(endian(flags::VNET_LE | flags::VNET_BE), Endian::Little);
        let big = if cfg!(CONFIG_TUN_VNET_CROSS_LE) {
            Endian::Big
        } else {
            Endian::NATIVE
        };
        assert_eq!(endian(flags::VNET_BE), big);
    }

    #[test]
    fn tunnels_need_room() {
        assert!(!tunnels(MIN_SIZE).segments);
        assert!(!tunnels(12).segments);
        assert!(!tunnels(23).segments);
        assert!(tunnels(24).segments && tunnels(24).checksums);
        assert!(tunnels(i32::MAX).segments);
    }

    #[test]
    fn the_length_reaches_to_the_checksum() {
        let with = |flags: u8, len: u16, start: u16, offset: u16| {
            let mut header = Header::ZERO;
            let bytes = header.as_bytes_mut();
            bytes[0] = flags;
            bytes[2..4].copy_from_slice(&len.to_le_bytes());
            bytes[6..8].copy_from_slice(&start.to_le_bytes());
            bytes[8..10].copy_from_slice(&offset.to_le_bytes());
            let len = len_with_checksum(&mut header, Endian::Little);
            assert_eq!(header.header_len(Endian::Little), len);
            len
        };
        assert_eq!(with(0, 54, 34, 16), 54);
        assert_eq!(with(1, 54, 34, 16), 54);
        assert_eq!(with(1, 0, 34, 16), 52);
        assert_eq!(with(1, 0, u16::MAX, 16), 17);
    }
}
