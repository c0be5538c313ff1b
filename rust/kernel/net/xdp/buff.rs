// SPDX-License-Identifier: GPL-2.0

//! A received frame in its memory, before it has a socket buffer.
//!
//! C header: [`include/net/xdp.h`](srctree/include/net/xdp.h)

use super::{
    Action,
    Context,
    Frame,
    ProgramRef,
    RxQueue, //
};
use crate::{
    bindings,
    iov::IovIterSource,
    net::{
        device::Device,
        skbuff::SkBuff, //
    },
    prelude::*,
    types::NotThreadSafe, //
};
use core::{
    marker::PhantomData,
    mem::MaybeUninit,
    ptr::NonNull, //
};

// Where `bindgen` mislays a field, the build fails rather than the kernel.
static_assert!(size_of::<bindings::xdp_buff>() == bindings::SIZEOF_XDP_BUFF);

/// Whose the memory of a frame is.
enum Memory {
    /// A part of the page that a task keeps for the purpose, which is taken out of the task
    /// meanwhile. It goes back with or without the frame's part.
    Task(bindings::page_frag),
    /// A page of which a count is ours.
    Page,
    /// Nobody's any more.
    Gone,
}

/// A received frame in its memory: `struct xdp_buff`.
///
/// Programs can run on it, and then it becomes a socket buffer, or a [`Frame`] that goes out again,
/// or is redirected. Dropping it gives its memory back.
///
/// # Invariants
///
/// * `raw` describes a frame in memory that is ours as `memory` says, with room for the shared info
///   behind it;
/// * its queue is null, or outlives `'a`.
pub struct Buff<'a> {
    raw: bindings::xdp_buff,
    memory: Memory,
    _queue: PhantomData<&'a RxQueue>,
    // The memory belongs to a task.
    _not_send: NotThreadSafe,
}

/// What `len` bytes behind `headroom` take, with what a socket buffer adds.
#[inline]
fn space(len: usize, headroom: usize) -> usize {
    // SAFETY: Arithmetic.
    unsafe { bindings::skb_data_align(headroom + len) + bindings::skb_shared_info_size() }
}

impl<'a> Buff<'a> {
    /// Do so many bytes behind such a headroom fit a page?
    ///
    /// ```
    /// use kernel::{net::xdp::Buff, page::PAGE_SIZE};
    ///
    /// assert!(Buff::fits(1500, 256));
    /// assert!(!Buff::fits(PAGE_SIZE, 0));
    /// assert!(!Buff::fits(usize::MAX, usize::MAX));
    /// ```
    #[inline]
    pub fn fits(len: usize, headroom: usize) -> bool {
        len <= bindings::PAGE_SIZE
            && headroom <= bindings::PAGE_SIZE
            && space(len, headroom) <= bindings::PAGE_SIZE
    }

    /// Copies `len` bytes into the task's page, behind `headroom`. `EINVAL` where they do not
    /// [fit](Self::fits), `ENOMEM`, `EFAULT`. Process context, may sleep.
    #[inline]
    pub fn read(from: &mut IovIterSource<'_>, len: usize, headroom: usize) -> Result<Self> {
        if !Self::fits(len, headroom) {
            return Err(EINVAL);
        }
        let size = space(len, headroom);
        // SAFETY: The task's own, which nobody else touches while it runs here. What is taken out
        // comes back when the result is dropped or becomes something else; who wants a page
        // meanwhile gets another.
        let mut this = unsafe {
            let frag = bindings::current_task_frag();
            let taken = core::ptr::replace(frag, pin_init::zeroed());
            Self {
                raw: MaybeUninit::zeroed().assume_init(),
                memory: Memory::Task(taken),
                _queue: PhantomData,
                _not_send: NotThreadSafe,
            }
        };
        let Memory::Task(frag) = &mut this.memory else {
            return Err(EINVAL);
        };
        frag.offset = frag.offset.next_multiple_of(bindings::SMP_CACHE_BYTES);
        // SAFETY: The fragment is ours.
        let refilled =
            unsafe { bindings::skb_page_frag_refill(size as c_uint, frag, GFP_KERNEL.as_raw()) };
        if !refilled {
            return Err(ENOMEM);
        }
        // SAFETY: From the offset on there are `size` bytes of the page, which is mapped. The
        // copy stays inside them.
        unsafe {
            let start = bindings::frag_page_address(frag.page)
                .cast::<u8>()
                .add(frag.offset as usize);
            let copied = bindings::copy_page_from_iter(
                frag.page,
                frag.offset as usize + headroom,
                len,
                from.as_raw(),
            );
            if copied != len {
                return Err(EFAULT);
            }
            // INVARIANT: The frame is there, and no queue.
            bindings::xdp_init_buff(&raw mut this.raw, size as u32, core::ptr::null_mut());
            bindings::xdp_prepare_buff(
                &raw mut this.raw,
                start,
                headroom as c_int,
                len as c_int,
                true,
            );
        }
        Ok(this)
    }

    /// A frame in a page fragment.
    ///
    /// # Safety
    ///
    /// `raw` describes a frame in a page of which a count is given up, with room for the shared
    /// info behind it.
    #[inline]
    pub(in crate::net) unsafe fn from_page(raw: bindings::xdp_buff) -> Self {
        let mut this = Self {
            raw,
            memory: Memory::Page,
            _queue: PhantomData,
            _not_send: NotThreadSafe,
        };
        this.raw.rxq = core::ptr::null_mut();
        // INVARIANT: By this function's contract, and there is no queue.
        this
    }

    /// The bytes of the frame.
    #[inline]
    pub fn len(&self) -> usize {
        self.raw.data_end as usize - self.raw.data as usize
    }

    /// The bytes of its memory.
    #[inline]
    fn size(&self) -> u32 {
        // SAFETY: Whichever way the union was written, this is the size.
        unsafe { self.raw.__bindgen_anon_1.__bindgen_anon_1.frame_sz }
    }

    /// Is it empty?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Runs a program on the frame, which came in by `queue`.
    ///
    /// It may move the frame inside its memory, and change it.
    #[inline]
    pub fn run(&mut self, program: &ProgramRef, queue: &'a RxQueue, _ctx: &Context) -> Action {
        // INVARIANT: The queue outlives `'a`.
        let size = self.size();
        // SAFETY: By the type invariants; the context says that a program can run.
        let act = unsafe {
            bindings::xdp_init_buff(&raw mut self.raw, size, queue.as_raw());
            bindings::bpf_prog_run_xdp(program.as_raw(), &raw mut self.raw)
        };
        Action::from_raw(act)
    }

    /// What leaves says which queue it came in by: a program must have run.
    #[inline]
    fn check_queue(&self) -> Result {
        if self.raw.rxq.is_null() {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Makes the frame's memory its own, with a count of the page.
    #[inline]
    fn detach(&mut self) {
        let size = self.size();
        if let Memory::Task(frag) = &mut self.memory {
            // SAFETY: The page is the fragment's.
            unsafe { bindings::frag_get_page(frag.page) };
            frag.offset += size;
            self.put_back();
            self.memory = Memory::Page;
        }
    }

    /// Gives the task its fragment back.
    #[inline]
    fn put_back(&mut self) {
        if let Memory::Task(frag) = core::mem::replace(&mut self.memory, Memory::Gone) {
            // SAFETY: The task's own. It has one already where it needed one meanwhile; then this
            // one is given up.
            unsafe {
                let place = bindings::current_task_frag();
                if (*place).page.is_null() {
                    place.write(frag);
                } else if !frag.page.is_null() {
                    bindings::frag_put_page(frag.page);
                }
            }
        }
    }

    /// Sends the frame where the program said that ran just before this, at the latest at the next
    /// [`Context::flush`]. `EINVAL` where none did, and what became of the redirection.
    #[inline]
    pub fn redirect<T>(mut self, dev: &Device<T>, program: &ProgramRef, _ctx: &Context) -> Result {
        self.check_queue()?;
        self.detach();
        // SAFETY: By the type invariants; on success the memory is not ours any more.
        let ret =
            unsafe { bindings::xdp_do_redirect(dev.as_raw(), &raw mut self.raw, program.as_raw()) };
        if ret < 0 {
            return Err(Error::from_errno(ret));
        }
        self.memory = Memory::Gone;
        Ok(())
    }

    /// Makes it a frame that can go out, after a program ran. `EOVERFLOW` where its headroom has no
    /// place for that, `EINVAL` where none ran.
    #[inline]
    pub fn into_frame(mut self) -> Result<Frame> {
        self.check_queue()?;
        self.detach();
        // SAFETY: By the type invariants, and a queue is set.
        let frame = unsafe { bindings::xdp_convert_buff_to_frame(&raw mut self.raw) };
        let frame = NonNull::new(frame).ok_or(EOVERFLOW)?;
        self.memory = Memory::Gone;
        // SAFETY: The frame has taken the memory over.
        Ok(unsafe { Frame::from_raw(frame) })
    }

    /// Makes it a socket buffer, without a copy. `ENOMEM`.
    #[inline]
    pub fn into_skb(mut self) -> Result<SkBuff> {
        // SAFETY: By the type invariants.
        let skb = unsafe { bindings::build_skb(self.raw.data_hard_start, self.size()) };
        let skb = NonNull::new(skb).ok_or(ENOMEM)?;
        // SAFETY: The buffer is new, and lies where the frame does. Memory for metadata is valid
        // where `data_meta` is not beyond `data`.
        unsafe {
            let skb = skb.as_ptr();
            let headroom = self.raw.data as usize - self.raw.data_hard_start as usize;
            bindings::skb_reserve(skb, headroom as c_int);
            bindings::skb_put(skb, self.len() as c_uint);
            let meta = (self.raw.data as usize).saturating_sub(self.raw.data_meta as usize);
            if meta > 0 {
                bindings::skb_metadata_set(skb, meta as u8);
            }
        }
        self.detach();
        self.memory = Memory::Gone;
        // SAFETY: A new buffer, which has taken the memory over.
        Ok(unsafe { SkBuff::from_raw(skb) })
    }

    /// The page of a frame that is dropped, for many of it to be given back at once.
    #[inline]
    pub(in crate::net) fn into_page(mut self) -> Option<NonNull<bindings::page>> {
        match self.memory {
            Memory::Page => {
                self.memory = Memory::Gone;
                // SAFETY: The page of the frame, of which a count was ours.
                NonNull::new(unsafe { bindings::virt_to_head_page(self.raw.data) })
            }
            _ => None,
        }
    }
}

impl Drop for Buff<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.memory {
            Memory::Task(_) => self.put_back(),
            // SAFETY: By the type invariants a count of the frame's page is ours.
            Memory::Page => unsafe {
                bindings::frag_put_page(bindings::virt_to_head_page(self.raw.data))
            },
            Memory::Gone => {}
        }
    }
}

#[kunit_tests(rust_net_xdp_buff)]
mod tests {
    use super::*;

    /// `read` over `bytes`.
    fn read(bytes: &mut [u8], headroom: usize) -> Result<Buff<'static>> {
        let mut vec = bindings::kvec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        let mut iter = MaybeUninit::<bindings::iov_iter>::uninit();
        // SAFETY: The iterator is over one vector, which outlives it as its buffer does.
        let from: &mut IovIterSource<'_> = unsafe {
            bindings::iov_iter_kvec(iter.as_mut_ptr(), 1, &raw mut vec, 1, bytes.len());
            IovIterSource::from_raw(iter.as_mut_ptr())
        };
        Buff::read(from, bytes.len(), headroom)
    }

    fn task_frag() -> bindings::page_frag {
        // SAFETY: The task's own.
        unsafe { *bindings::current_task_frag() }
    }

    #[test]
    fn what_is_dropped_takes_no_memory() -> Result {
        drop(read(&mut [1; 100], 64)?);
        let before = task_frag();
        let buff = read(&mut [2; 100], 64)?;
        assert!(task_frag().page.is_null());
        assert_eq!(buff.len(), 100);
        drop(buff);
        let after = task_frag();
        assert!(after.page == before.page);
        // Only aligned, not used up.
        assert!(after.offset - before.offset < bindings::SMP_CACHE_BYTES);
        Ok(())
    }

    #[test]
    fn two_at_a_time_do_not_share() -> Result {
        let a = read(&mut [1; 100], 64)?;
        let b = read(&mut [2; 100], 64)?;
        assert!(a.raw.data != b.raw.data);
        // SAFETY: Both are there, with 100 bytes each.
        let first = unsafe { (*a.raw.data.cast::<u8>(), *b.raw.data.cast::<u8>()) };
        assert_eq!(first, (1, 2));
        drop(a);
        drop(b);
        assert!(!task_frag().page.is_null());
        Ok(())
    }

    #[test]
    fn a_buffer_keeps_its_page() -> Result {
        let buff = read(&mut [0x45; 60], 64)?;
        let mut skb = buff.into_skb()?;
        assert_eq!(skb.len(), 60);
        assert_eq!(skb.first_byte(), Some(0x45));
        let other = read(&mut [0x60; 60], 64)?;
        assert_eq!(skb.first_byte(), Some(0x45));
        drop(other);
        skb.consume();
        Ok(())
    }

    #[test]
    fn what_no_program_saw_goes_nowhere() -> Result {
        let buff = read(&mut [0; 60], 256)?;
        assert_eq!(buff.into_frame().map(drop).err(), Some(EINVAL));
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(read(&mut [0; 64], 4096).err(), Some(EINVAL));
        assert!(Buff::fits(0, 0));
        assert!(!Buff::fits(4096, 0));
    }
}
