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

/// The page that a task keeps for frames, taken out of the task: who wants one meanwhile gets
/// another. Dropping it puts it back.
struct TaskFrag(bindings::page_frag);

impl TaskFrag {
    #[inline]
    fn take() -> Self {
        // SAFETY: The task's own, which nobody else touches while it runs here. All zero is none.
        Self(unsafe { core::ptr::replace(bindings::current_task_frag(), pin_init::zeroed()) })
    }
}

impl Drop for TaskFrag {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: The task's own. It has one already where it needed one meanwhile; then this one
        // is given up.
        unsafe {
            let place = bindings::current_task_frag();
            if (*place).page.is_null() {
                place.write(self.0);
            } else if !self.0.page.is_null() {
                bindings::frag_put_page(self.0.page);
            }
        }
    }
}

/// Whose the memory of a frame is.
enum Memory {
    /// A part of the page of the task; without a count, it is used again by the next.
    Task(TaskFrag),
    /// A page of which a count is ours.
    Page,
    /// Nobody's any more.
    Gone,
}

/// Where a frame is described, on the stack of who reads it, so that the description does not move
/// with the [`Buff`].
///
/// # Examples
///
/// ```
/// use kernel::net::xdp::Place;
///
/// let mut place = Place::new();
/// # let _ = &mut place;
/// ```
pub struct Place(MaybeUninit<bindings::xdp_buff>);

impl Place {
    /// One that describes nothing yet.
    #[inline]
    #[expect(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }
}

/// A received frame in its memory: `struct xdp_buff`.
///
/// Programs can run on it, and then it becomes a socket buffer, or a [`Frame`] that goes out again,
/// or is redirected. Dropping it gives its memory back.
///
/// # Invariants
///
/// * `raw` is ours for `'a`, and describes a frame in memory that is ours as `memory` says, with
///   room for the shared info behind it;
/// * its queue is null, or outlives `'a`.
pub struct Buff<'a> {
    raw: NonNull<bindings::xdp_buff>,
    memory: Memory,
    _place: PhantomData<(&'a mut Place, &'a RxQueue)>,
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
    pub fn read(
        place: &'a mut Place,
        from: &mut IovIterSource<'_>,
        len: usize,
        headroom: usize,
    ) -> Result<Self> {
        if !Self::fits(len, headroom) {
            return Err(EINVAL);
        }
        let size = space(len, headroom);
        let mut task = TaskFrag::take();
        let frag = &mut task.0;
        frag.offset = frag.offset.next_multiple_of(bindings::SMP_CACHE_BYTES);
        // SAFETY: The fragment is ours.
        let refilled =
            unsafe { bindings::skb_page_frag_refill(size as c_uint, frag, GFP_KERNEL.as_raw()) };
        if !refilled {
            return Err(ENOMEM);
        }
        let raw = place.0.as_mut_ptr();
        let offset = frag.offset as usize;
        // SAFETY: From the offset on there are `size` bytes of the page, which is mapped. The
        // copy stays inside them. The description is ours, and these two write all of it that is
        // ever read.
        unsafe {
            let copied =
                bindings::copy_page_from_iter(frag.page, offset + headroom, len, from.as_raw());
            if copied != len {
                return Err(EFAULT);
            }
            let start = bindings::frag_page_address(frag.page)
                .cast::<u8>()
                .add(offset);
            bindings::xdp_init_buff(raw, size as u32, core::ptr::null_mut());
            bindings::xdp_prepare_buff(raw, start, headroom as c_int, len as c_int, true);
        }
        // INVARIANT: The frame is there, and no queue.
        Ok(Self {
            // SAFETY: From a reference.
            raw: unsafe { NonNull::new_unchecked(raw) },
            memory: Memory::Task(task),
            _place: PhantomData,
            _not_send: NotThreadSafe,
        })
    }

    /// A frame in a page fragment.
    ///
    /// # Safety
    ///
    /// `raw` is the caller's alone for `'a`, and describes a frame in a page of which a count is
    /// given up, with room for the shared info behind it.
    #[inline]
    pub(in crate::net) unsafe fn from_page(raw: NonNull<bindings::xdp_buff>) -> Self {
        // SAFETY: By this function's contract.
        unsafe { (*raw.as_ptr()).rxq = core::ptr::null_mut() };
        // INVARIANT: By this function's contract, and there is no queue.
        Self {
            raw,
            memory: Memory::Page,
            _place: PhantomData,
            _not_send: NotThreadSafe,
        }
    }

    /// The start of the frame's memory, of its metadata, of the frame, and its end.
    #[inline]
    fn bounds(&self) -> [*mut c_void; 4] {
        // SAFETY: By the type invariants.
        unsafe {
            let raw = self.raw.as_ptr();
            [
                (*raw).data_hard_start,
                (*raw).data_meta,
                (*raw).data,
                (*raw).data_end,
            ]
        }
    }

    /// The bytes of the frame.
    #[inline]
    pub fn len(&self) -> usize {
        let [.., data, end] = self.bounds();
        end as usize - data as usize
    }

    /// The bytes of its memory.
    #[inline]
    fn size(&self) -> u32 {
        // SAFETY: By the type invariants; whichever way the union was written, this is the size.
        unsafe {
            (*self.raw.as_ptr())
                .__bindgen_anon_1
                .__bindgen_anon_1
                .frame_sz
        }
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
            bindings::xdp_init_buff(self.raw.as_ptr(), size, queue.as_raw());
            bindings::bpf_prog_run_xdp(program.as_raw(), self.raw.as_ptr())
        };
        Action::from_raw(act)
    }

    /// What leaves says which queue it came in by: a program must have run.
    #[inline]
    fn check_queue(&self) -> Result {
        // SAFETY: By the type invariants.
        if unsafe { (*self.raw.as_ptr()).rxq }.is_null() {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Makes the frame's memory its own, with a count of the page.
    #[inline]
    fn detach(&mut self) {
        let size = self.size();
        if let Memory::Task(task) = &mut self.memory {
            // SAFETY: The page is the fragment's.
            unsafe { bindings::frag_get_page(task.0.page) };
            task.0.offset += size;
            self.memory = Memory::Page;
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
            unsafe { bindings::xdp_do_redirect(dev.as_raw(), self.raw.as_ptr(), program.as_raw()) };
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
        let frame = unsafe { bindings::xdp_convert_buff_to_frame(self.raw.as_ptr()) };
        let frame = NonNull::new(frame).ok_or(EOVERFLOW)?;
        self.memory = Memory::Gone;
        // SAFETY: The frame has taken the memory over.
        Ok(unsafe { Frame::from_raw(frame) })
    }

    /// Makes it a socket buffer, without a copy. `ENOMEM`.
    // Called, it would cost a fiftieth of a write.
    #[inline(always)]
    pub fn into_skb(mut self) -> Result<SkBuff> {
        let [start, meta, data, _] = self.bounds();
        // SAFETY: By the type invariants.
        let skb = unsafe { bindings::build_skb(start, self.size()) };
        let skb = NonNull::new(skb).ok_or(ENOMEM)?;
        // SAFETY: The buffer is new, and lies where the frame does. Memory for metadata is valid
        // where its start is not beyond the frame's.
        unsafe {
            let skb = skb.as_ptr();
            bindings::skb_reserve(skb, (data as usize - start as usize) as c_int);
            bindings::skb_put(skb, self.len() as c_uint);
            let meta = (data as usize).saturating_sub(meta as usize);
            if meta > 0 {
                bindings::skb_metadata_set(skb, meta as u8);
            }
        }
        self.detach();
        self.memory = Memory::Gone;
        // SAFETY: A new buffer, which has taken the memory over.
        Ok(unsafe { SkBuff::from_raw(skb) })
    }

    /// The page that the frame lies in.
    #[inline]
    fn page(&self) -> *mut bindings::page {
        let [.., data, _] = self.bounds();
        // SAFETY: By the type invariants the frame lies in a page.
        unsafe { bindings::virt_to_head_page(data) }
    }

    /// The page of a frame that is dropped, for many of it to be given back at once.
    #[inline]
    pub(in crate::net) fn into_page(mut self) -> Option<NonNull<bindings::page>> {
        match self.memory {
            Memory::Page => {
                self.memory = Memory::Gone;
                NonNull::new(self.page())
            }
            _ => None,
        }
    }
}

impl Drop for Buff<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Memory::Page = self.memory {
            // SAFETY: By the type invariants a count of the frame's page is ours.
            unsafe { bindings::frag_put_page(self.page()) };
        }
    }
}

#[kunit_tests(rust_net_xdp_buff)]
mod tests {
    use super::*;

    /// `read` over `bytes`.
    fn read<'a>(place: &'a mut Place, bytes: &mut [u8], headroom: usize) -> Result<Buff<'a>> {
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
        Buff::read(place, from, bytes.len(), headroom)
    }

    fn task_frag() -> bindings::page_frag {
        // SAFETY: The task's own.
        unsafe { *bindings::current_task_frag() }
    }

    #[test]
    fn what_is_dropped_takes_no_memory() -> Result {
        drop(read(&mut Place::new(), &mut [1; 100], 64)?);
        let before = task_frag();
        let mut place = Place::new();
        let buff = read(&mut place, &mut [2; 100], 64)?;
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
        let (mut first, mut second) = (Place::new(), Place::new());
        let a = read(&mut first, &mut [1; 100], 64)?;
        let b = read(&mut second, &mut [2; 100], 64)?;
        let ([.., a_data, _], [.., b_data, _]) = (a.bounds(), b.bounds());
        assert!(a_data != b_data);
        // SAFETY: Both are there, with 100 bytes each.
        let first = unsafe { (*a_data.cast::<u8>(), *b_data.cast::<u8>()) };
        assert_eq!(first, (1, 2));
        drop(a);
        drop(b);
        assert!(!task_frag().page.is_null());
        Ok(())
    }

    #[test]
    fn a_buffer_keeps_its_page() -> Result {
        let (mut first, mut second) = (Place::new(), Place::new());
        let buff = read(&mut first, &mut [0x45; 60], 64)?;
        let mut skb = buff.into_skb()?;
        assert_eq!(skb.len(), 60);
        assert_eq!(skb.first_byte(), Some(0x45));
        let other = read(&mut second, &mut [0x60; 60], 64)?;
        assert_eq!(skb.first_byte(), Some(0x45));
        drop(other);
        skb.consume();
        Ok(())
    }

    #[test]
    fn what_no_program_saw_goes_nowhere() -> Result {
        let mut place = Place::new();
        let buff = read(&mut place, &mut [0; 60], 256)?;
        assert_eq!(buff.into_frame().map(drop).err(), Some(EINVAL));
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(
            read(&mut Place::new(), &mut [0; 64], 4096).err(),
            Some(EINVAL)
        );
        assert!(Buff::fits(0, 0));
        assert!(!Buff::fits(4096, 0));
    }
}
