// SPDX-License-Identifier: GPL-2.0

//! The header that virtio-net puts in front of a frame: what is left to do to its checksum and how
//! it is to be cut.
//!
//! C headers: [`include/linux/virtio_net.h`](srctree/include/linux/virtio_net.h),
//! [`include/uapi/linux/virtio_net.h`](srctree/include/uapi/linux/virtio_net.h)

use super::{
    device::Private,
    receive::Frame,
    skbuff::Borrowed, //
};
use crate::{
    bindings,
    prelude::*,
    print::OnceLite, //
};

type Raw = bindings::virtio_net_hdr_v1_hash_tunnel;

/// The order of the bytes of the fields that older devices have in their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// The least significant first.
    Little,
    /// The most significant first.
    Big,
}

impl Endian {
    /// That of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "little") {
        Self::Little
    } else {
        Self::Big
    };

    #[inline]
    fn get(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    fn put(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

/// What the sides know of tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tunnels {
    /// Frames may be segmented inside a UDP tunnel, and the header is the longer one.
    pub segments: bool,
    /// The outer packets of those may have a checksum.
    pub checksums: bool,
}

/// A header, in its longest form: `struct virtio_net_hdr_v1_hash_tunnel`.
///
/// # Examples
///
/// ```
/// use kernel::net::virtio_net::{Endian, Header};
///
/// let mut header = Header::ZERO;
/// assert!(!header.needs_checksum());
/// header.set_header_len(Endian::Big, 54);
/// assert_eq!(header.header_len(Endian::Big), 54);
/// assert_eq!(header.as_bytes()[2..4], [0, 54]);
/// ```
#[derive(Clone, Copy)]
#[repr(C, align(2))]
pub struct Header([u8; Self::TUNNEL_SIZE]);

static_assert!(align_of::<Raw>() <= align_of::<Header>());

impl Header {
    /// The bytes of the short form, `struct virtio_net_hdr`.
    pub const SIZE: usize = size_of::<bindings::virtio_net_hdr>();
    /// The bytes of the long form, which has offsets for tunnels.
    pub const TUNNEL_SIZE: usize = size_of::<Raw>();

    /// Nothing to be done.
    pub const ZERO: Self = Self([0; Self::TUNNEL_SIZE]);

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8; Self::TUNNEL_SIZE] {
        &self.0
    }

    /// Its bytes, to be filled in. Any bytes are a header; whether it fits a frame is for
    /// [`apply`](Self::apply) to say.
    #[inline]
    pub fn as_bytes_mut(&mut self) -> &mut [u8; Self::TUNNEL_SIZE] {
        &mut self.0
    }

    #[inline]
    fn field(&self, at: usize, endian: Endian) -> u16 {
        // BOUNDS: The offsets below are inside the short form.
        endian.get([self.0[at], self.0[at + 1]])
    }

    /// Is the checksum to be computed from [`checksum_start`](Self::checksum_start) on?
    #[inline]
    pub fn needs_checksum(&self) -> bool {
        u32::from(self.0[0]) & bindings::VIRTIO_NET_HDR_F_NEEDS_CSUM != 0
    }

    /// Is the frame to be cut into segments?
    #[inline]
    pub fn is_segmented(&self) -> bool {
        u32::from(self.0[1]) != bindings::VIRTIO_NET_HDR_GSO_NONE
    }

    /// The length of the frame's own headers: a hint.
    #[inline]
    pub fn header_len(&self, endian: Endian) -> u16 {
        self.field(2, endian)
    }

    /// Sets the hint.
    #[inline]
    pub fn set_header_len(&mut self, endian: Endian, len: u16) {
        let [a, b] = endian.put(len);
        self.0[2] = a;
        self.0[3] = b;
    }

    /// The payload of a segment.
    #[inline]
    pub fn segment_size(&self, endian: Endian) -> u16 {
        self.field(4, endian)
    }

    /// Where the bytes begin that the checksum is over.
    #[inline]
    pub fn checksum_start(&self, endian: Endian) -> u16 {
        self.field(6, endian)
    }

    /// Where, from there, the checksum goes.
    #[inline]
    pub fn checksum_offset(&self, endian: Endian) -> u16 {
        self.field(8, endian)
    }

    #[inline]
    fn as_raw(&self) -> *const Raw {
        (&raw const self.0).cast()
    }

    /// Does to a received frame what the header says. The frame has its device and protocol, and
    /// its network header is where it will be.
    ///
    /// `EINVAL` where the two do not fit; the frame is to be dropped then.
    #[inline]
    pub fn apply<T: Private>(
        &self,
        frame: &mut Frame<'_, T>,
        tunnels: Tunnels,
        endian: Endian,
    ) -> Result {
        // SAFETY: The frame is ours, and its device is set; the header has the size and the
        // alignment of the C type, whose fields may have any value.
        let ret = unsafe {
            bindings::virtio_net_hdr_tnl_to_skb(
                frame.skb().as_raw(),
                self.as_raw(),
                tunnels.segments,
                tunnels.checksums,
                endian == Endian::Little,
            )
        };
        if ret != 0 {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// The header of a frame that leaves, before which `inserted` bytes of a tag will stand.
    ///
    /// `Err` has what could be said, where the frame is to be segmented in a way that no header
    /// can express, or in a tunnel without `tunnels`.
    #[inline]
    pub fn describe(
        skb: &Borrowed,
        tunnels: bool,
        endian: Endian,
        inserted: usize,
    ) -> Result<Self, Self> {
        let mut header = Self::ZERO;
        // SAFETY: The buffer is valid, and only read; the header has the size and the alignment of
        // the C type.
        let ret = unsafe {
            bindings::virtio_net_hdr_tnl_from_skb(
                skb.as_raw(),
                (&raw mut header.0).cast(),
                tunnels,
                endian == Endian::Little,
                inserted as c_int,
                true,
                false,
            )
        };
        if ret != 0 {
            return Err(header);
        }
        Ok(header)
    }
}

/// Warns, once, that a frame came for which there is no header: whoever made it was told not to.
#[cold]
pub fn warn_indescribable() {
    static ONCE: OnceLite = OnceLite::new();

    ONCE.call_once(|| {
        crate::warn_on!(true);
    });
}

#[kunit_tests(rust_virtio_net)]
mod tests {
    use super::*;
    use crate::net::{
        device::fixture::Fixture,
        skbuff::{
            DropReason,
            SkBuff, //
        }, //
    };

    /// `NEEDS_CSUM`, no segments, from `start` on.
    fn partial(start: u16, offset: u16) -> Header {
        let mut header = Header::ZERO;
        header.0[0] = 1;
        header.0[6..8].copy_from_slice(&start.to_ne_bytes());
        header.0[8..10].copy_from_slice(&offset.to_ne_bytes());
        header
    }

    fn apply(header: &Header) -> Result<Result<Header, Header>> {
        let fixture = Fixture::new()?;
        let mut frame = fixture.dev().frame(Fixture::frame()?);
        assert!(frame.pull_ethernet());
        let applied = header.apply(&mut frame, Tunnels::default(), Endian::NATIVE);
        let skb = frame.into_skb();
        let described = Header::describe(&skb, false, Endian::NATIVE, 0);
        skb.consume();
        applied.map(|()| described)
    }

    #[test]
    fn sizes_are_those_of_the_abi() {
        assert_eq!(Header::SIZE, 10);
        assert_eq!(Header::TUNNEL_SIZE, 24);
    }

    #[test]
    fn fields_have_their_order() {
        let mut header = Header::ZERO;
        header
            .as_bytes_mut()
            .copy_from_slice(&core::array::from_fn::<u8, 24, _>(|i| i as u8));
        assert_eq!(header.header_len(Endian::Little), 0x0302);
        assert_eq!(header.header_len(Endian::Big), 0x0203);
        assert_eq!(header.segment_size(Endian::Big), 0x0405);
        assert_eq!(header.checksum_start(Endian::Big), 0x0607);
        assert_eq!(header.checksum_offset(Endian::Little), 0x0908);
        assert!(header.is_segmented());
        assert!(!header.needs_checksum());
    }

    #[test]
    fn a_plain_header_changes_nothing() -> Result {
        let Ok(header) = apply(&Header::ZERO)? else {
            return Err(EINVAL);
        };
        assert!(!header.needs_checksum() && !header.is_segmented());
        Ok(())
    }

    #[test]
    fn a_partial_checksum_comes_back() -> Result {
        let Ok(header) = apply(&partial(34, 6))? else {
            return Err(EINVAL);
        };
        assert!(header.needs_checksum());
        assert_eq!(header.checksum_start(Endian::NATIVE), 34);
        assert_eq!(header.checksum_offset(Endian::NATIVE), 6);
        Ok(())
    }

    #[test]
    fn a_checksum_beyond_the_frame_is_refused() {
        assert_eq!(apply(&partial(34, 60)).err(), Some(EINVAL));
        assert_eq!(apply(&partial(u16::MAX, 0)).err(), Some(EINVAL));
    }

    #[test]
    fn segments_of_no_kind_are_refused() {
        for kind in [2, 6, 0x7f, 0x20, 0x60] {
            let mut header = partial(34, 16);
            header.0[1] = kind;
            header.0[4] = 100;
            assert_eq!(apply(&header).err(), Some(EINVAL));
        }
    }

    #[test]
    fn an_unknown_segmentation_cannot_be_described() -> Result {
        let skb: SkBuff = Fixture::frame()?;
        // SAFETY: The buffer is ours, and so is what goes with its data.
        unsafe {
            let shared = bindings::skb_shinfo(skb.as_raw());
            (*shared).gso_size = 100;
            (*shared).gso_type = bindings::SKB_GSO_GRE as c_uint;
        }
        let described = Header::describe(&skb, false, Endian::NATIVE, 0);
        skb.drop_reason(DropReason::NOT_SPECIFIED);
        match described {
            Ok(_) => Err(EINVAL),
            Err(_) => Ok(()),
        }
    }
}
