// SPDX-License-Identifier: GPL-2.0

//! The operations of character device files.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::{
    file::flags,
    File,
    Kiocb, //
};
use crate::{
    bindings,
    error::{
        from_result,
        VTABLE_DEFAULT_ERROR, //
    },
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    prelude::*,
    seq_file::SeqFile,
    types::{
        ForeignOwnable,
        Opaque, //
    },
    ThisModule, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

/// What a file is ready for: `EPOLL` bits.
///
/// # Examples
///
/// ```
/// use kernel::fs::ops::Events;
///
/// let mut ready = Events::NONE;
/// ready |= Events::READABLE;
/// assert!(ready == Events::READABLE);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events(u32);

impl Events {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// There is something to read: `EPOLLIN`, `EPOLLRDNORM`.
    pub const READABLE: Self = Self(bindings::POLLIN | bindings::POLLRDNORM);
    /// There is room to write: `EPOLLOUT`, `EPOLLWRNORM`.
    pub const WRITABLE: Self = Self(bindings::POLLOUT | bindings::POLLWRNORM);
    /// `EPOLLERR`.
    pub const ERROR: Self = Self(bindings::POLLERR);
}

impl core::ops::BitOrAssign for Events {
    #[inline]
    fn bitor_assign(&mut self, rhs: Self) {
        self.0 |= rhs.0;
    }
}

/// The table on which a poller wants to be put: `poll_table`.
///
/// # Invariants
///
/// `table` is what the VFS passed to `poll`, which may be null, valid for `'a`.
pub struct PollTable<'a> {
    table: *mut bindings::poll_table,
    _table: PhantomData<&'a ()>,
}

impl PollTable<'_> {
    /// The C table.
    #[inline]
    pub fn as_raw(&self) -> *mut bindings::poll_table {
        self.table
    }
}

/// Must a call not sleep? By the file's `O_NONBLOCK`, or by the call's own `IOCB_NOWAIT`.
#[inline]
pub fn is_nonblocking<T: ForeignOwnable>(kiocb: &Kiocb<'_, T>) -> bool {
    // SAFETY: By the invariants of `Kiocb`. The file's flags change racily, as in C.
    unsafe {
        let raw = kiocb.as_raw();
        let file_flags = (&raw const (*(*raw).ki_filp).f_flags).read_volatile();
        file_flags & flags::O_NONBLOCK != 0 || (*raw).ki_flags & bindings::IOCB_NOWAIT as c_int != 0
    }
}

/// What can be done with the files of a character device.
///
/// All run in process context and may sleep.
#[vtable]
pub trait Operations: Sized + 'static {
    /// The private data of an open file.
    type Ptr: ForeignOwnable + Send + Sync;

    /// Reads and writes honour [`is_nonblocking`] however they are called (`FMODE_NOWAIT`).
    const NOWAIT: bool = false;

    /// A file is being opened.
    fn open(file: &File) -> Result<Self::Ptr>;

    /// The last reference to the file has gone.
    fn release(data: Self::Ptr, _file: &File) {
        drop(data);
    }

    /// `read()` and its kin.
    fn read_iter(_kiocb: Kiocb<'_, Self::Ptr>, _to: &mut IovIterDest<'_>) -> Result<usize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// `write()` and its kin.
    fn write_iter(_kiocb: Kiocb<'_, Self::Ptr>, _from: &mut IovIterSource<'_>) -> Result<usize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// `poll()`: what the file is ready for, having put the caller on the wait queues that tell
    /// when that changes.
    fn poll(
        _data: <Self::Ptr as ForeignOwnable>::Borrowed<'_>,
        _file: &File,
        _table: &PollTable<'_>,
    ) -> Events {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// `ioctl()`.
    fn ioctl(
        _data: <Self::Ptr as ForeignOwnable>::Borrowed<'_>,
        _file: &File,
        _cmd: u32,
        _arg: usize,
    ) -> Result<isize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// `ioctl()` of a 32-bit program on a 64-bit kernel. `arg` is zero-extended.
    #[cfg(CONFIG_COMPAT)]
    fn compat_ioctl(
        _data: <Self::Ptr as ForeignOwnable>::Borrowed<'_>,
        _file: &File,
        _cmd: u32,
        _arg: usize,
    ) -> Result<isize> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// `O_ASYNC` is switched; also off, when the file goes.
    fn fasync(
        _data: <Self::Ptr as ForeignOwnable>::Borrowed<'_>,
        _file: &File,
        _fd: i32,
        _on: bool,
    ) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// More lines for `/proc/PID/fdinfo/N`.
    fn show_fdinfo(_data: <Self::Ptr as ForeignOwnable>::Borrowed<'_>, _m: &SeqFile, _file: &File) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The table of the operations `O`, to be kept in a static: its address tells whose a file is.
///
/// # Examples
///
/// ```
/// use kernel::{fs::{ops::{Operations, Table}, File}, ThisModule};
///
/// struct Null;
/// #[vtable]
/// impl Operations for Null {
///     type Ptr = KBox<u32>;
///
///     fn open(_: &File) -> Result<KBox<u32>> {
///         Ok(KBox::new(1, GFP_KERNEL)?)
///     }
/// }
///
/// fn is_null(table: &'static Table<Null>, file: &File) -> bool {
///     table.private_data(file).is_some()
/// }
/// ```
#[repr(transparent)]
pub struct Table<O>(Opaque<bindings::file_operations>, PhantomData<O>);

// SAFETY: The table is never written.
unsafe impl<O> Sync for Table<O> {}

impl<O: Operations> Table<O> {
    /// Fills in the table. Open files pin `module`.
    pub const fn new(module: &'static ThisModule) -> Self {
        let mut ops: bindings::file_operations = pin_init::zeroed();
        ops.owner = module.as_ptr();
        ops.open = Some(Self::open);
        ops.release = Some(Self::release);
        if O::HAS_READ_ITER {
            ops.read_iter = Some(Self::read_iter);
        }
        if O::HAS_WRITE_ITER {
            ops.write_iter = Some(Self::write_iter);
        }
        if O::HAS_POLL {
            ops.poll = Some(Self::poll);
        }
        if O::HAS_IOCTL {
            ops.unlocked_ioctl = Some(Self::ioctl);
        }
        #[cfg(CONFIG_COMPAT)]
        if O::HAS_COMPAT_IOCTL {
            ops.compat_ioctl = Some(Self::compat_ioctl);
        }
        if O::HAS_FASYNC {
            ops.fasync = Some(Self::fasync);
        }
        if O::HAS_SHOW_FDINFO {
            ops.show_fdinfo = Some(Self::show_fdinfo);
        }
        Self(Opaque::new(ops), PhantomData)
    }

    /// The C table.
    #[inline]
    pub const fn as_raw(&'static self) -> *const bindings::file_operations {
        self.0.get()
    }

    /// The private data of a file, if it has these operations.
    #[inline]
    pub fn private_data<'a>(
        &'static self,
        file: &'a File,
    ) -> Option<<O::Ptr as ForeignOwnable>::Borrowed<'a>> {
        // SAFETY: Set before the file can be found, and not changed after.
        let (ops, data) = unsafe { ((*file.as_ptr()).f_op, (*file.as_ptr()).private_data) };
        if ops != self.as_raw() {
            return None;
        }
        // SAFETY: A file with these operations that others can reach went through `open`, and
        // stays open while there is a `&File`.
        NonNull::new(data).map(|data| unsafe { O::Ptr::borrow(data.as_ptr()) })
    }

    /// # Safety
    ///
    /// `file` is being opened, with these operations.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By this function's contract.
        let ret = unsafe { bindings::generic_file_open(inode, file) };
        if ret != 0 {
            return ret;
        }
        // SAFETY: By this function's contract; nobody else has the file yet.
        let opened = match O::open(unsafe { File::from_raw_file(file) }) {
            Ok(data) => data.into_foreign(),
            Err(e) => return e.to_errno(),
        };
        // SAFETY: By this function's contract; nobody else has the file yet.
        unsafe {
            (*file).private_data = opened;
            if O::NOWAIT {
                (*file).f_mode |= bindings::FMODE_NOWAIT;
            }
        }
        0
    }

    /// # Safety
    ///
    /// `file` went through `open`, and nobody else uses it any more.
    unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: By this function's contract.
        let data = unsafe { O::Ptr::from_foreign((*file).private_data) };
        // SAFETY: By this function's contract.
        O::release(data, unsafe { File::from_raw_file(file) });
        0
    }

    /// # Safety
    ///
    /// `kiocb` is valid, for a file that went through `open`; `to` is a destination.
    unsafe extern "C" fn read_iter(
        kiocb: *mut bindings::kiocb,
        to: *mut bindings::iov_iter,
    ) -> isize {
        // SAFETY: By this function's contract.
        let (kiocb, to) = unsafe { (Kiocb::from_raw(kiocb), IovIterDest::from_raw(to)) };
        match O::read_iter(kiocb, to) {
            Ok(n) => n as isize,
            Err(e) => e.to_errno() as isize,
        }
    }

    /// # Safety
    ///
    /// `kiocb` is valid, for a file that went through `open`; `from` is a source.
    unsafe extern "C" fn write_iter(
        kiocb: *mut bindings::kiocb,
        from: *mut bindings::iov_iter,
    ) -> isize {
        // SAFETY: By this function's contract.
        let (kiocb, from) = unsafe { (Kiocb::from_raw(kiocb), IovIterSource::from_raw(from)) };
        match O::write_iter(kiocb, from) {
            Ok(n) => n as isize,
            Err(e) => e.to_errno() as isize,
        }
    }

    /// The file and its private data, for the calls between `open` and `release`.
    ///
    /// # Safety
    ///
    /// `file` went through `open` and stays open for `'a`.
    #[inline]
    unsafe fn opened<'a>(
        file: *mut bindings::file,
    ) -> (<O::Ptr as ForeignOwnable>::Borrowed<'a>, &'a File) {
        // SAFETY: By this function's contract.
        unsafe {
            (
                O::Ptr::borrow((*file).private_data),
                File::from_raw_file(file),
            )
        }
    }

    /// # Safety
    ///
    /// See [`Self::opened`]. `table` is the VFS's.
    unsafe extern "C" fn poll(
        file: *mut bindings::file,
        table: *mut bindings::poll_table,
    ) -> bindings::__poll_t {
        // SAFETY: By this function's contract.
        let (data, file) = unsafe { Self::opened(file) };
        // INVARIANT: By this function's contract.
        let table = PollTable {
            table,
            _table: PhantomData,
        };
        O::poll(data, file, &table).0
    }

    /// # Safety
    ///
    /// See [`Self::opened`].
    unsafe extern "C" fn ioctl(file: *mut bindings::file, cmd: c_uint, arg: c_ulong) -> c_long {
        // SAFETY: By this function's contract.
        let (data, file) = unsafe { Self::opened(file) };
        match O::ioctl(data, file, cmd, arg) {
            Ok(n) => n as c_long,
            Err(e) => e.to_errno() as c_long,
        }
    }

    /// # Safety
    ///
    /// See [`Self::opened`].
    #[cfg(CONFIG_COMPAT)]
    unsafe extern "C" fn compat_ioctl(
        file: *mut bindings::file,
        cmd: c_uint,
        arg: c_ulong,
    ) -> c_long {
        // SAFETY: By this function's contract.
        let (data, file) = unsafe { Self::opened(file) };
        match O::compat_ioctl(data, file, cmd, arg) {
            Ok(n) => n as c_long,
            Err(e) => e.to_errno() as c_long,
        }
    }

    /// # Safety
    ///
    /// See [`Self::opened`].
    unsafe extern "C" fn fasync(fd: c_int, file: *mut bindings::file, on: c_int) -> c_int {
        // SAFETY: By this function's contract.
        let (data, file) = unsafe { Self::opened(file) };
        from_result(|| O::fasync(data, file, fd, on != 0).map(|()| 0))
    }

    /// # Safety
    ///
    /// See [`Self::opened`]. `m` is valid.
    unsafe extern "C" fn show_fdinfo(m: *mut bindings::seq_file, file: *mut bindings::file) {
        // SAFETY: By this function's contract.
        let ((data, file), m) = unsafe { (Self::opened(file), SeqFile::from_raw(m)) };
        O::show_fdinfo(data, m, file);
    }
}
