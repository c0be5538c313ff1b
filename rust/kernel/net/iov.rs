// SPDX-License-Identifier: GPL-2.0

//! What the network asks of user space's buffers beyond copying.
//!
//! C header: [`include/linux/uio.h`](srctree/include/linux/uio.h)

use crate::{
    bindings,
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    prelude::*, //
};

impl IovIterDest<'_> {
    /// Writes `len` zeros, or as many as there is room for. Returns how many. May sleep.
    #[inline]
    pub fn zero(&mut self, len: usize) -> usize {
        // SAFETY: The iterator is valid, and writes no more than it has room for.
        unsafe { bindings::iov_iter_zero(len, self.as_raw()) }
    }
}

impl IovIterSource<'_> {
    /// How many pieces user space's buffer has left, or 1 for what is not made of such pieces.
    pub fn segments(&mut self) -> usize {
        let iter = self.as_raw();
        // SAFETY: The iterator is valid.
        unsafe {
            match u32::from((*iter).iter_type) {
                bindings::iter_type_ITER_IOVEC | bindings::iter_type_ITER_KVEC => {
                    (*iter).__bindgen_anon_2.nr_segs
                }
                _ => 1,
            }
        }
    }

    /// The bytes that are left of the first piece.
    pub fn first_segment(&mut self) -> usize {
        // SAFETY: The iterator is valid.
        unsafe { bindings::iov_iter_single_seg_count(self.as_raw()) }
    }

    /// The bytes of a later piece; `None` where there is none.
    pub fn later_segment(&mut self, index: usize) -> Option<usize> {
        if index == 0 || index >= self.segments() {
            return None;
        }
        // SAFETY: There are so many pieces, each an `iovec` or a `kvec`, which are laid out alike.
        Some(unsafe { (*bindings::iter_iov(self.as_raw()).add(index)).iov_len })
    }

    /// How many pages lie behind the next `skip` bytes, `most` at most.
    pub fn pages_after(&mut self, skip: usize, most: usize) -> usize {
        let most = c_int::try_from(most).unwrap_or(c_int::MAX);
        // SAFETY: The iterator is valid; a copy of it moves on, and nothing is read.
        unsafe {
            let mut rest = self.as_raw().read();
            bindings::iov_iter_advance(&raw mut rest, skip);
            bindings::iov_iter_npages(&raw const rest, most) as usize
        }
    }
}

#[kunit_tests(rust_net_iov)]
mod tests {
    use super::*;

    #[test]
    fn zeros_end_with_the_room() {
        let mut buffer = [1_u8; 8];
        let mut vec = bindings::kvec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: 6,
        };
        let mut iter = core::mem::MaybeUninit::<bindings::iov_iter>::uninit();
        // SAFETY: The iterator is over one vector, which outlives it as its buffer does.
        let to: &mut IovIterDest<'_> = unsafe {
            bindings::iov_iter_kvec(iter.as_mut_ptr(), 0, &raw mut vec, 1, 6);
            IovIterDest::from_raw(iter.as_mut_ptr())
        };
        assert_eq!(to.zero(4), 4);
        assert_eq!(to.zero(usize::MAX), 2);
        assert_eq!(buffer, [0, 0, 0, 0, 0, 0, 1, 1]);
    }
}
