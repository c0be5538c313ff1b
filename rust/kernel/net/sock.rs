// SPDX-License-Identifier: GPL-2.0

//! Sockets that a driver keeps inside: memory accounting, a wait queue, and the three operations
//! that in-kernel users such as vhost-net call.
//!
//! C header: [`include/net/sock.h`](srctree/include/net/sock.h)

use super::{
    namespace::Namespace,
    ptr_ring::Entry,
    skbuff::SkBuff,
    uidgid::Uid, //
};
use crate::{
    bindings,
    fs::{
        ops::PollTable,
        File, //
    },
    prelude::*,
    sync::aref::{
        ARef,
        AlwaysRefCounted, //
    },
    types::Opaque,
    ThisModule, //
};
use core::{
    marker::PhantomData,
    mem::MaybeUninit,
    ops::Deref,
    ptr::NonNull, //
};

// Where `bindgen` mislays a field, the build fails rather than the kernel.
static_assert!(size_of::<bindings::sock>() == bindings::SIZEOF_SOCK);
static_assert!(size_of::<bindings::socket>() == bindings::SIZEOF_SOCKET);

pub use msg::{
    Batch,
    Built,
    MsgFlags,
    Offer,
    RecvMsg,
    SendMsg, //
};

mod filter;
mod msg;

pub use filter::ClassicProgram;

/// The state of a socket, and what the kernel's own users may do with it.
pub trait Operations: Send + Sync + Sized + 'static {
    /// What the socket's ring holds; an in-kernel reader may pass one that it took out itself.
    type Entry: Entry;

    /// The protocol, a static of the driver's.
    fn proto() -> &'static Proto<Self>;

    /// The length of the frame that [`recvmsg`](Self::recvmsg) would return; 0 for none.
    fn peek_len(sock: &Sock<Self>) -> usize;

    /// Takes a message. May sleep unless the flags say no.
    fn sendmsg(sock: &Sock<Self>, msg: &mut SendMsg<'_>) -> Result<usize>;

    /// Gives a message. May sleep unless the flags say no.
    ///
    /// What the message has [preloaded](RecvMsg::take_preloaded) goes with it, used or not.
    fn recvmsg(sock: &Sock<Self>, msg: &mut RecvMsg<'_, Self::Entry>) -> Result<usize>;

    /// There is room to send again, and somebody had asked for it; pollers have been woken.
    fn write_space(sock: &Sock<Self>);
}

/// The protocol of a kind of socket: `struct proto`, to be kept in a static.
#[repr(transparent)]
pub struct Proto<T>(Opaque<bindings::proto>, PhantomData<fn() -> T>);

// SAFETY: The core uses it read-only, but for counters that it locks.
unsafe impl<T> Sync for Proto<T> {}

impl<T: Operations> Proto<T> {
    /// A protocol. Each socket pins `module` until its memory is free, which may be after the last
    /// reference, when frames that are charged to it still fly.
    pub const fn new(name: &CStr, module: &'static ThisModule) -> Self {
        let mut proto: bindings::proto = pin_init::zeroed();
        let name = name.to_bytes_with_nul();
        let mut i = 0;
        while i < name.len() {
            // PANIC: In a constant, where it is an error of the build.
            proto.name[i] = name[i];
            i += 1;
        }
        proto.owner = module.as_ptr();
        proto.obj_size = core::mem::size_of::<Sock<T>>() as c_uint;
        Self(Opaque::new(proto), PhantomData)
    }
}

/// Why a wait ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// A signal is pending.
    Signal,
    /// Nothing will ever be received: [`Sock::shut_down_receive`].
    ShutDown,
}

/// A socket of a driver's, counted, with state `T` in the same allocation.
///
/// The state is dropped with the socket's memory: after the last reference and after the last frame
/// that is charged to the socket.
///
/// # Invariants
///
/// Made by [`Sock::new`]: `sk` and `socket` are initialised and tied to each other, `data` is
/// initialised and pinned.
///
/// # Examples
///
/// ```
/// use kernel::net::sock::{Interrupted, Operations, Sock};
///
/// /// The value that `poll` finds, sleeping until it does.
/// fn wait_for<T: Operations, R>(sock: &Sock<T>, poll: impl FnMut() -> Option<R>) -> Result<R> {
///     sock.wait(poll).map_err(|why| match why {
///         Interrupted::Signal => ERESTARTSYS,
///         Interrupted::ShutDown => EFAULT,
///     })
/// }
/// ```
#[repr(C)]
pub struct Sock<T> {
    sk: Opaque<bindings::sock>,
    socket: Opaque<bindings::socket>,
    data: MaybeUninit<T>,
}

// SAFETY: Counted; used from any thread, as is `T`.
unsafe impl<T: Send + Sync> Send for Sock<T> {}
// SAFETY: The methods use what the core makes safe to use concurrently.
unsafe impl<T: Send + Sync> Sync for Sock<T> {}

// SAFETY: `sock_hold()` keeps the socket until the matching `sock_put()`.
unsafe impl<T: Operations> AlwaysRefCounted for Sock<T> {
    #[inline]
    fn inc_ref(&self) {
        // SAFETY: `&self` says that the count is not zero.
        unsafe { bindings::sock_hold(self.as_raw()) }
    }

    #[inline]
    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller gives up one count; `sk` is the first field.
        unsafe { bindings::sock_put(obj.cast().as_ptr()) }
    }
}

impl<T: Operations> Deref for Sock<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: By the type invariants.
        unsafe { self.data.assume_init_ref() }
    }
}

impl<T: Operations> Sock<T> {
    const OPS: bindings::proto_ops = {
        let mut ops: bindings::proto_ops = pin_init::zeroed();
        ops.peek_len = Some(Self::peek_len);
        ops.sendmsg = Some(Self::sendmsg);
        ops.recvmsg = Some(Self::recvmsg);
        ops
    };

    /// A socket in namespace `net`, owned by the user `uid`, that stands behind `file`.
    ///
    /// Takes part in no protocol (`AF_UNSPEC`), sends without limit at first and takes zero-copy
    /// frames. May sleep. `ENOMEM`, or what `data` returns.
    pub fn new(
        net: &Namespace,
        file: &File,
        uid: Uid,
        data: impl PinInit<T, Error>,
    ) -> Result<ARef<Self>> {
        // SAFETY: The protocol is static, and `obj_size` is the size of `Self`.
        let sk = unsafe {
            bindings::sk_alloc(
                net.as_raw(),
                bindings::AF_UNSPEC as c_int,
                GFP_KERNEL.as_raw(),
                T::proto().0.get(),
                0,
            )
        };
        let this: NonNull<Self> = NonNull::new(sk).ok_or(ENOMEM)?.cast();
        let raw = this.as_ptr();
        // SAFETY: The slot is valid for writes and does not move.
        if let Err(e) = unsafe { pin_init::raw_try_init((*raw).data.as_mut_ptr(), data) } {
            // SAFETY: Allocated above, and not initialised further; there is no destructor yet.
            unsafe { bindings::sk_free(sk) };
            return Err(e);
        }
        // SAFETY: The memory is ours until the reference is handed out below. `file` outlives its
        // use by C, which asks for it only while it holds the file.
        unsafe {
            let socket = (*raw).socket.get();
            bindings::init_socket_wait(socket);
            (*socket).file = file.as_ptr();
            (*socket).ops = &raw const *const { &Self::OPS };
            bindings::sock_init_data_uid(socket, sk, uid.into_raw());
            (*sk).sk_destruct = Some(Self::destruct);
            (*sk).sk_write_space = Some(Self::write_space);
            (*sk).sk_sndbuf = c_int::MAX;
            bindings::sock_set_zerocopy(sk);
            // INVARIANT: All is initialised; the first count is ours.
            Ok(ARef::from_raw(this))
        }
    }

    /// The C socket.
    #[inline]
    pub fn as_raw(&self) -> *mut bindings::sock {
        self.sk.get()
    }

    /// The C socket's other half.
    #[inline]
    pub fn as_raw_socket(&self) -> *mut bindings::socket {
        self.socket.get()
    }

    /// The namespace it was made in, which it keeps.
    #[inline]
    pub fn net(&self) -> &Namespace {
        // SAFETY: A socket keeps its namespace counted.
        unsafe { Namespace::from_raw(bindings::sock_net(self.as_raw())) }
    }

    /// Wakes whoever waits to receive. Any context.
    #[inline]
    pub fn data_ready(&self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::sk_data_ready(self.as_raw()) }
    }

    /// Wakes whoever waits to send, if there is room and somebody asked. Any context.
    #[inline]
    pub fn notify_write_space(&self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::sk_write_space(self.as_raw()) }
    }

    /// Nothing will be received any more: wakes all who wait for it.
    pub fn shut_down_receive(&self) {
        // SAFETY: A byte that is read racily, as in C: this is a `WRITE_ONCE()`.
        unsafe {
            (&raw mut (*self.as_raw()).sk_shutdown).write_volatile(bindings::RCV_SHUTDOWN as u8)
        };
        self.data_ready();
    }

    /// Receiving is possible again.
    pub fn reopen_receive(&self) {
        // SAFETY: As in `shut_down_receive`.
        unsafe { (&raw mut (*self.as_raw()).sk_shutdown).write_volatile(0) };
    }

    #[inline]
    fn is_receive_shut_down(&self) -> bool {
        // SAFETY: As in `shut_down_receive`.
        let shutdown = unsafe { (&raw const (*self.as_raw()).sk_shutdown).read_volatile() };
        shutdown & bindings::RCV_SHUTDOWN as u8 != 0
    }

    /// Polls until there is something, sleeping on the socket's wait queue meanwhile.
    pub fn wait<R>(&self, mut poll: impl FnMut() -> Option<R>) -> Result<R, Interrupted> {
        let mut entry = MaybeUninit::<bindings::wait_queue_entry>::uninit();
        // SAFETY: By the type invariants the queue is there, as long as the socket is. The entry
        // is initialised, and off the queue before it goes.
        unsafe {
            let queue = bindings::sk_sleep(self.as_raw());
            bindings::init_wait_current(entry.as_mut_ptr());
            bindings::add_wait_queue(queue, entry.as_mut_ptr());
            let result = loop {
                // Before the poll, so that a wake-up after it is not lost.
                bindings::set_current_interruptible();
                if let Some(r) = poll() {
                    break Ok(r);
                }
                if bindings::current_signal_pending() != 0 {
                    break Err(Interrupted::Signal);
                }
                if self.is_receive_shut_down() {
                    break Err(Interrupted::ShutDown);
                }
                bindings::schedule();
            };
            bindings::set_current_running();
            bindings::remove_wait_queue(queue, entry.as_mut_ptr());
            result
        }
    }

    /// Puts a poller on the socket's wait queue.
    #[inline]
    pub fn poll_wait(&self, file: &File, table: &PollTable<'_>) {
        // SAFETY: The queue lives as long as the socket, which the file behind it keeps.
        unsafe {
            bindings::poll_wait(
                file.as_ptr(),
                bindings::sk_sleep(self.as_raw()),
                table.as_raw(),
            )
        }
    }

    /// Is there room to send?
    #[inline]
    pub fn is_writeable(&self) -> bool {
        // SAFETY: By the type invariants.
        unsafe { bindings::sock_writeable(self.as_raw()) }
    }

    /// Asks for a wake-up when there is room to send. Returns whether that was asked for already.
    ///
    /// Test [`is_writeable`](Self::is_writeable) again after it, or the wake-up may have been.
    #[inline]
    pub fn ask_for_write_space(&self) -> bool {
        // SAFETY: By the type invariants.
        unsafe { bindings::sock_test_and_set_nospace(self.as_raw_socket()) }
    }

    /// How many bytes may be under way at a time.
    #[inline]
    pub fn send_buffer(&self) -> i32 {
        // SAFETY: Written by aligned stores; this is a `READ_ONCE()`.
        unsafe { (&raw const (*self.as_raw()).sk_sndbuf).read_volatile() }
    }

    /// Sets how many bytes may be under way at a time.
    #[inline]
    pub fn set_send_buffer(&self, bytes: i32) {
        // SAFETY: Read racily, as in C: this is a `WRITE_ONCE()`.
        unsafe { (&raw mut (*self.as_raw()).sk_sndbuf).write_volatile(bytes) }
    }

    /// Drops the frames that wait to be sent and the notes that wait to be read.
    pub fn purge(&self) {
        // SAFETY: The queues lock themselves.
        unsafe {
            bindings::sk_write_queue_purge(self.as_raw());
            bindings::sk_error_queue_purge(self.as_raw());
        }
    }

    /// A frame of `len` bytes behind `headroom`, charged to the socket.
    ///
    /// `linear` bytes lie in one piece; all of them if they fit a page. Where the socket is full,
    /// `EAGAIN` if `nonblocking`, else it sleeps until it is not, or a signal comes. `ENOBUFS`.
    pub fn alloc_skb(
        &self,
        headroom: usize,
        len: usize,
        linear: usize,
        nonblocking: bool,
    ) -> Result<SkBuff> {
        const ORDER: u32 = bindings::PAGE_ALLOC_COSTLY_ORDER;
        const MAX_PAGED: usize = bindings::MAX_SKB_FRAGS as usize * (bindings::PAGE_SIZE << ORDER);

        let linear = if headroom.saturating_add(len) < bindings::PAGE_SIZE {
            len
        } else {
            linear.max(len.saturating_sub(MAX_PAGED)).min(len)
        };
        let paged = len - linear;
        let header = headroom.checked_add(linear).ok_or(ENOBUFS)?;
        let mut err = 0;
        // SAFETY: By the type invariants.
        let skb = unsafe {
            bindings::sock_alloc_send_pskb(
                self.as_raw(),
                header,
                paged,
                c_int::from(nonblocking),
                &raw mut err,
                ORDER as c_int,
            )
        };
        let Some(skb) = NonNull::new(skb) else {
            return Err(Error::from_errno(err));
        };
        // SAFETY: The buffer is new, ours, and has the room.
        unsafe {
            bindings::skb_reserve(skb.as_ptr(), headroom as c_int);
            bindings::skb_put(skb.as_ptr(), linear as c_uint);
            (*skb.as_ptr()).data_len = paged as c_uint;
            (*skb.as_ptr()).len += paged as c_uint;
            Ok(SkBuff::from_raw(skb))
        }
    }

    /// Charges a frame to the socket until it is freed.
    #[inline]
    pub fn charge(&self, skb: &mut SkBuff) {
        // SAFETY: By the type invariants; the buffer is ours.
        unsafe { bindings::skb_set_owner_w(skb.as_raw(), self.as_raw()) }
    }

    /// Tells those who build frames for the socket whether a program will run on them first, which
    /// needs [room](super::xdp::HEADROOM).
    pub fn announce_xdp(&self, xdp: bool) {
        // SAFETY: By the type invariants; the flag is one bit of a word that the core changes only
        // where the socket is ours.
        unsafe { bindings::sock_assign_xdp(self.as_raw(), xdp) }
    }

    /// # Safety
    ///
    /// As for all that follow: `sk` or `socket` belongs to a `Sock<T>`.
    unsafe extern "C" fn destruct(sk: *mut bindings::sock) {
        // SAFETY: By this function's contract; the memory is freed after this.
        unsafe { (*sk.cast::<Self>()).data.assume_init_drop() }
    }

    /// # Safety
    ///
    /// See [`Self::destruct`].
    unsafe extern "C" fn write_space(sk: *mut bindings::sock) {
        // SAFETY: By this function's contract: frames that are charged to the socket keep it.
        let this: &Self = unsafe { &*sk.cast() };
        if !this.is_writeable() {
            return;
        }
        // SAFETY: By the type invariants.
        unsafe {
            if !bindings::sock_test_and_clear_nospace(this.as_raw_socket()) {
                return;
            }
            bindings::wake_up_pollers_sync(
                bindings::sk_sleep(sk),
                bindings::POLLOUT | bindings::POLLWRNORM | bindings::POLLWRBAND,
            );
        }
        T::write_space(this);
    }

    /// # Safety
    ///
    /// See [`Self::destruct`].
    #[inline]
    unsafe fn from_socket<'a>(socket: *mut bindings::socket) -> &'a Self {
        // SAFETY: By this function's contract, `socket` is the field of a `Self`.
        unsafe { &*crate::container_of!(Opaque::cast_from(socket), Self, socket) }
    }

    /// # Safety
    ///
    /// See [`Self::destruct`].
    unsafe extern "C" fn peek_len(socket: *mut bindings::socket) -> c_int {
        // SAFETY: By this function's contract.
        T::peek_len(unsafe { Self::from_socket(socket) }) as c_int
    }

    /// # Safety
    ///
    /// See [`Self::destruct`]. `msg` is valid, with a source iterator.
    unsafe extern "C" fn sendmsg(
        socket: *mut bindings::socket,
        msg: *mut bindings::msghdr,
        len: usize,
    ) -> c_int {
        // SAFETY: By this function's contract.
        let (this, mut msg) = unsafe { (Self::from_socket(socket), SendMsg::from_raw(msg, len)) };
        crate::error::from_result(|| T::sendmsg(this, &mut msg).map(|n| n as c_int))
    }

    /// # Safety
    ///
    /// See [`Self::destruct`]. `msg` is valid, with a destination iterator.
    unsafe extern "C" fn recvmsg(
        socket: *mut bindings::socket,
        msg: *mut bindings::msghdr,
        len: usize,
        flags: c_int,
    ) -> c_int {
        // SAFETY: By this function's contract.
        let (this, mut msg) = unsafe {
            (
                Self::from_socket(socket),
                RecvMsg::from_raw(msg, len, flags),
            )
        };
        crate::error::from_result(|| T::recvmsg(this, &mut msg).map(|n| n as c_int))
    }
}

#[kunit_tests(rust_net_sock)]
mod tests {
    use super::*;
    use crate::sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    };

    /// Counts how often it was dropped, and how often there was room again.
    struct State {
        drops: Arc<Atomic<u32>>,
        space: Atomic<u32>,
    }

    impl Drop for State {
        fn drop(&mut self) {
            self.drops.fetch_add(1, Relaxed);
        }
    }

    // SAFETY: Null, as for code that is built in.
    static MODULE: ThisModule = unsafe { ThisModule::from_ptr(core::ptr::null_mut()) };
    static PROTO: Proto<State> = Proto::new(c"kunit", &MODULE);

    impl Operations for State {
        type Entry = SkBuff;

        fn proto() -> &'static Proto<Self> {
            &PROTO
        }

        fn peek_len(_: &Sock<Self>) -> usize {
            7
        }

        fn sendmsg(_: &Sock<Self>, msg: &mut SendMsg<'_>) -> Result<usize> {
            Ok(msg.len())
        }

        fn recvmsg(_: &Sock<Self>, _: &mut RecvMsg<'_, SkBuff>) -> Result<usize> {
            Err(EAGAIN)
        }

        fn write_space(sock: &Sock<Self>) {
            sock.space.fetch_add(1, Relaxed);
        }
    }

    fn new(drops: &Arc<Atomic<u32>>) -> Result<ARef<Sock<State>>> {
        let file = KBox::new(pin_init::zeroed::<bindings::file>(), GFP_KERNEL)?;
        // SAFETY: The socket only keeps the pointer, which nothing here asks it for.
        let file = unsafe { File::from_raw_file(&raw const *file) };
        let state = State {
            drops: drops.clone(),
            space: Atomic::new(0),
        };
        Sock::new(
            Namespace::init(),
            file,
            Uid::current_fs(),
            Ok::<_, Error>(state),
        )
    }

    fn counter() -> Result<Arc<Atomic<u32>>> {
        Ok(Arc::new(Atomic::new(0), GFP_KERNEL)?)
    }

    #[test]
    fn state_goes_with_the_last_frame() -> Result {
        let drops = counter()?;
        let sock = new(&drops)?;
        let skb = sock.alloc_skb(0, 100, 100, true)?;
        drop(sock);
        assert_eq!(drops.load(Relaxed), 0);
        skb.consume();
        assert_eq!(drops.load(Relaxed), 1);
        Ok(())
    }

    /// What Rust writes is where C reads it.
    #[test]
    fn the_send_buffer_is_the_one_of_c() -> Result {
        let sock = new(&counter()?)?;
        assert_eq!(sock.send_buffer(), i32::MAX);
        assert!(sock.is_writeable());
        sock.set_send_buffer(0);
        assert!(!sock.is_writeable());
        assert_eq!(
            sock.alloc_skb(0, 1, 1, true).map(SkBuff::consume).err(),
            Some(EAGAIN)
        );
        sock.set_send_buffer(4096);
        assert_eq!(
            sock.alloc_skb(0, 1, 1, true).map(SkBuff::consume).err(),
            None
        );
        Ok(())
    }

    #[test]
    fn frames_are_linear_as_asked() -> Result {
        let sock = new(&counter()?)?;
        for (headroom, len, linear) in [(64, 0, 0), (64, 1500, 1500), (2, 60_000, 128)] {
            let skb = sock.alloc_skb(headroom, len, linear, true)?;
            assert_eq!(skb.len(), len);
            skb.consume();
        }
        assert_eq!(
            sock.alloc_skb(0, usize::MAX / 2, 0, true)
                .map(SkBuff::consume)
                .err(),
            Some(ENOBUFS)
        );
        Ok(())
    }

    #[test]
    fn who_asked_for_room_is_told_once() -> Result {
        let sock = new(&counter()?)?;
        sock.set_send_buffer(1);
        let skb = sock.alloc_skb(0, 10, 10, true)?;
        assert!(!sock.ask_for_write_space());
        assert!(sock.ask_for_write_space());
        assert_eq!(sock.space.load(Relaxed), 0);
        sock.set_send_buffer(i32::MAX);
        skb.consume();
        assert_eq!(sock.space.load(Relaxed), 1);
        sock.notify_write_space();
        assert_eq!(sock.space.load(Relaxed), 1);
        Ok(())
    }

    #[test]
    fn waiting_ends_with_a_result_or_a_shutdown() -> Result {
        let sock = new(&counter()?)?;
        let mut polls = 0;
        let found = sock.wait(|| {
            polls += 1;
            sock.data_ready();
            (polls == 3).then_some(polls)
        });
        assert_eq!(found, Ok(3));
        sock.shut_down_receive();
        assert_eq!(sock.wait(|| None::<()>), Err(Interrupted::ShutDown));
        // What is there is still given out.
        assert_eq!(sock.wait(|| Some(1)), Ok(1));
        sock.reopen_receive();
        assert!(!sock.is_receive_shut_down());
        Ok(())
    }

    #[test]
    fn a_socket_of_no_filter() -> Result {
        let sock = new(&counter()?)?;
        assert!(!sock.has_filter());
        sock.purge();
        assert!(core::ptr::eq(sock.net(), Namespace::init()));
        // SAFETY: The socket is there, and its operations are ours.
        let len = unsafe { Sock::<State>::peek_len(sock.as_raw_socket()) };
        assert_eq!(len, 7);
        Ok(())
    }
}
