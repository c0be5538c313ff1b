// SPDX-License-Identifier: GPL-2.0

//! Frames that are built in a NAPI context, in pieces as user space has them.
//!
//! What a network card does that puts headers and payload apart: the way to GRO's code for such
//! frames from user space.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::Backlog;
use crate::{
    bindings,
    iov::IovIterSource,
    net::{
        device::{
            Device,
            Private, //
        },
        receive::ETH_HLEN,
        skbuff::{
            self,
            SkBuff, //
        }, //
    },
    prelude::*,
    sync::rcu, //
};
use core::ptr::{
    null_mut,
    NonNull, //
};

/// The device that frames are built for, null for none.
pub(super) struct FragsOf(pub(super) *mut bindings::net_device);

// SAFETY: Only compared.
unsafe impl Send for FragsOf {}

impl FragsOf {
    pub(super) const NONE: Self = Self(null_mut());
}

/// Pieces at most: a linear one, and as many as a buffer can refer to.
const MAX_SEGMENTS: usize = bindings::MAX_SKB_FRAGS as usize + 1;

impl Backlog {
    /// A frame of `len` bytes for `dev`, in pieces as `from` has them: the first is linear.
    ///
    /// `EMSGSIZE` where there are too many or they are too long; `EINVAL` where a later one is
    /// empty or more than a page; `ENOMEM`; `EBUSY` where the backlog builds none for the device.
    /// Process context.
    pub fn alloc_frags<T: Private>(
        &self,
        dev: &Device<T>,
        from: &mut IovIterSource<'_>,
        len: usize,
    ) -> Result<SkBuff> {
        let segments = from.segments();
        let most = bindings::ETH_MAX_MTU as usize - skbuff::pad() - skbuff::ip_align();
        if segments > MAX_SEGMENTS || len > most {
            return Err(EMSGSIZE);
        }
        let mut skb = {
            let owner = self.frags.lock();
            if owner.0 != dev.as_raw() {
                return Err(EBUSY);
            }
            let _bh = crate::sync::bh::disable();
            // SAFETY: By the type invariants `napi` is added to the device, and its buffer belongs
            // to the lock. It is taken out at once.
            unsafe {
                let skb = bindings::napi_get_frags(self.napi.get());
                (*self.napi.get()).skb = null_mut();
                SkBuff::from_raw(NonNull::new(skb).ok_or(ENOMEM)?)
            }
        };
        match fill(&mut skb, from, len, segments) {
            Ok(()) => Ok(skb),
            Err(e) => {
                skb.drop_reason(skbuff::DropReason::NOT_SPECIFIED);
                Err(e)
            }
        }
    }

    /// Hands a frame, whose Ethernet header was taken off, to GRO.
    ///
    /// Gives it back with `EIO` where the device is down, with `EBUSY` where the context is
    /// disabled or has its turn, with `ENOMEM` where its headers do not lie in one piece, and with
    /// `EINVAL` where it was not built here. Process context, may sleep.
    pub(in crate::net) fn deliver_frags<T: Private>(
        &self,
        dev: &Device<T>,
        skb: SkBuff,
    ) -> Result<(), (SkBuff, Error)> {
        let owner = self.frags.lock();
        // Not before: to lock may sleep.
        let _rcu = rcu::read_lock();
        if !dev.is_up() {
            return Err((skb, EIO));
        }
        if owner.0 != dev.as_raw() {
            return Err((skb, EBUSY));
        }
        let raw = skb.as_raw();
        let napi = self.napi.get();
        // GRO may keep the buffer for the next frame, and asks for so much of its memory; and the
        // header that was taken off comes back.
        // SAFETY: The buffer is valid.
        let fits = unsafe {
            let headroom = (*raw).data as usize - (*raw).head as usize;
            headroom >= ETH_HLEN
                && bindings::skb_end_offset(raw) as usize >= bindings::gro_max_head()
        };
        if !fits {
            return Err((skb, EINVAL));
        }
        // SAFETY: The buffer is ours, with room for the header, which was there. By the type
        // invariants `napi` is added to the device, and its buffer belongs to the lock.
        unsafe {
            bindings::skb_push(raw, ETH_HLEN as c_uint);
            let linear = bindings::skb_headlen(raw);
            let headers = bindings::eth_get_headlen(dev.as_raw(), (*raw).data.cast(), linear);
            if crate::warn_on!(headers > linear) {
                return Err((skb, ENOMEM));
            }
            if !bindings::napi_schedule_prep(napi) {
                return Err((skb, EBUSY));
            }
            let _bh = crate::sync::bh::disable();
            // One that GRO left for the next frame, which another buffer was taken for.
            let left = core::mem::replace(&mut (*napi).skb, skb.into_raw().as_ptr());
            if let Some(left) = NonNull::new(left) {
                SkBuff::from_raw(left).drop_reason(skbuff::DropReason::NOT_SPECIFIED);
            }
            bindings::napi_gro_frags(napi);
            bindings::napi_complete(napi);
        }
        Ok(())
    }
}

/// Gives a new buffer the pieces.
fn fill(skb: &mut SkBuff, from: &mut IovIterSource<'_>, len: usize, segments: usize) -> Result {
    let raw = skb.as_raw();
    let linear = from.first_segment().min(len);
    // SAFETY: The buffer is ours, and new.
    let grown = unsafe { bindings::__skb_grow(raw, linear as c_uint) };
    if grown < 0 {
        return Err(Error::from_errno(grown));
    }
    let mut total = linear;
    for index in 1..segments {
        let size = from.later_segment(index).ok_or(EINVAL)?;
        if size == 0 || size > bindings::PAGE_SIZE {
            return Err(EINVAL);
        }
        // SAFETY: No more than a page. The buffer takes the memory over; fewer pieces than it can
        // refer to, since the caller counted them.
        unsafe {
            let frag = bindings::__netdev_alloc_frag_align(size as c_uint, c_uint::MAX);
            if frag.is_null() {
                return Err(ENOMEM);
            }
            let page = bindings::virt_to_head_page(frag);
            let start = bindings::frag_page_address(page);
            let offset = frag as usize - start as usize;
            bindings::skb_fill_page_desc(
                raw,
                index as c_int - 1,
                page,
                offset as c_int,
                size as c_int,
            );
            (*raw).len += size as c_uint;
            (*raw).data_len += size as c_uint;
            (*raw).truesize += size as c_uint;
        }
        total += size;
    }
    // What `from` said it has and what its pieces have is the same, or else it is no such buffer.
    if total != len {
        return Err(EINVAL);
    }
    Ok(())
}

#[kunit_tests(rust_net_napi_frags)]
mod tests {
    use super::*;
    use crate::net::{
        device::fixture::Fixture,
        napi::Mode,
        rtnl, //
    };

    /// A backlog that builds frames for the fixture's device, and one frame of its.
    fn build(fixture: &Fixture, backlog: &Backlog, pieces: &[usize]) -> Result<SkBuff> {
        let mut bytes = KVec::from_elem(0xff_u8, 8192, GFP_KERNEL)?;
        bytes[12..14].copy_from_slice(&0x88b5_u16.to_be_bytes());
        let mut vecs = [const {
            bindings::kvec {
                iov_base: null_mut(),
                iov_len: 0,
            }
        }; MAX_SEGMENTS + 1];
        let mut at = 0;
        for (vec, len) in vecs.iter_mut().zip(pieces) {
            vec.iov_base = bytes[at..].as_mut_ptr().cast();
            vec.iov_len = *len;
            at += len;
        }
        let mut iter = core::mem::MaybeUninit::<bindings::iov_iter>::uninit();
        // SAFETY: The iterator is over the vectors, which outlive it as their bytes do.
        let from: &mut IovIterSource<'_> = unsafe {
            bindings::iov_iter_kvec(iter.as_mut_ptr(), 1, vecs.as_ptr(), pieces.len(), at);
            IovIterSource::from_raw(iter.as_mut_ptr())
        };
        let mut skb = backlog.alloc_frags(fixture.dev(), from, at)?;
        match skb.copy_from_iter(from, at) {
            Ok(()) => Ok(skb),
            Err(e) => {
                skb.consume();
                Err(e)
            }
        }
    }

    #[test]
    fn pieces_reach_the_stack() -> Result {
        let fixture = Fixture::new()?;
        fixture.up()?;
        let backlog = KBox::pin_init(Backlog::new(), GFP_KERNEL)?;
        assert_eq!(
            build(&fixture, &backlog, &[60]).map(SkBuff::consume).err(),
            Some(EBUSY)
        );
        backlog.attach(fixture.dev(), Mode::Frags, &mut rtnl::lock());
        for pieces in [&[60][..], &[60, 40], &[64, 1, 4096, 100]] {
            let before = fixture.unhandled();
            let skb = build(&fixture, &backlog, pieces)?;
            assert_eq!(skb.len(), pieces.iter().sum::<usize>());
            let frame = match fixture.dev().frame(skb).ethernet() {
                Ok(frame) => frame,
                Err(skb) => {
                    skb.consume();
                    return Err(EINVAL);
                }
            };
            if let Err((skb, e)) = backlog.deliver_frags(fixture.dev(), frame.into_skb()) {
                skb.consume();
                return Err(e);
            }
            assert_eq!(fixture.unhandled(), before + 1);
        }
        backlog.disable(&mut rtnl::lock());
        let skb = build(&fixture, &backlog, &[60])?;
        let refused = fixture
            .dev()
            .frame(skb)
            .ethernet()
            .map(|frame| backlog.deliver_frags(fixture.dev(), frame.into_skb()));
        match refused {
            Ok(Err((skb, e))) => {
                skb.consume();
                assert_eq!(e, EBUSY);
            }
            Err(skb) => skb.consume(),
            Ok(Ok(())) => return Err(EINVAL),
        }
        backlog.detach(&mut rtnl::lock());
        Ok(())
    }

    #[test]
    fn pieces_have_limits() -> Result {
        let fixture = Fixture::new()?;
        let backlog = KBox::pin_init(Backlog::new(), GFP_KERNEL)?;
        backlog.attach(fixture.dev(), Mode::Frags, &mut rtnl::lock());
        let refused =
            |pieces: &[usize]| build(&fixture, &backlog, pieces).map(SkBuff::consume).err();
        assert_eq!(refused(&[60, 0, 20]), Some(EINVAL));
        assert_eq!(refused(&[60, 4097]), Some(EINVAL));
        assert_eq!(refused(&[60; MAX_SEGMENTS]), None);
        assert_eq!(refused(&[60; MAX_SEGMENTS + 1]), Some(EMSGSIZE));
        backlog.detach(&mut rtnl::lock());
        Ok(())
    }
}
