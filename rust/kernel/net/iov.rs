// SPDX-License-Identifier: GPL-2.0

//! What the network asks of user space's buffers beyond copying.
//!
//! C header: [`include/linux/uio.h`](srctree/include/linux/uio.h)

use crate::{
    bindings,
    iov::IovIterDest,
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
