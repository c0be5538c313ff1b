// SPDX-License-Identifier: GPL-2.0

//! Files of a device in sysfs.
//!
//! C headers: [`include/linux/device.h`](srctree/include/linux/device.h),
//! [`include/linux/sysfs.h`](srctree/include/linux/sysfs.h)

use super::{
    Device,
    Private, //
};
use crate::{
    bindings,
    fmt,
    prelude::*,
    str::{
        as_char_ptr_in_const_context,
        RawFormatter, //
    },
    types::Opaque, //
};
use core::marker::PhantomData;

/// What a file says.
pub trait Show: 'static {
    /// The private data of the devices that have the file.
    type Private: Private;

    /// The name of the file.
    const NAME: &'static CStr;

    /// Its contents, less than a page. May sleep.
    fn show(dev: &Device<Self::Private>, to: &mut dyn fmt::Write) -> fmt::Result;
}

/// A file that everybody may read, to be kept in a static.
///
/// # Examples
///
/// ```
/// use kernel::{
///     fmt,
///     net::device::{attribute::{Attribute, Entry, Group, List, Show}, Device, Private, Setup}, //
/// };
///
/// struct State;
/// impl Private for State {
///     fn setup(setup: &mut Setup<'_, Self>) {
///         setup.ethernet().attributes(&GROUP);
///     }
/// }
///
/// struct Answer;
/// impl Show for Answer {
///     type Private = State;
///     const NAME: &'static CStr = c"answer";
///
///     fn show(_: &Device<State>, to: &mut dyn fmt::Write) -> fmt::Result {
///         to.write_str("42\n")
///     }
/// }
///
/// static ANSWER: Attribute<Answer> = Attribute::new();
/// static LIST: List<State, 2> = List::new([ANSWER.entry(), Entry::END]);
/// static GROUP: Group<State> = Group::new(&LIST);
/// # let _ = &GROUP;
/// ```
#[repr(transparent)]
pub struct Attribute<S>(Opaque<bindings::device_attribute>, PhantomData<fn(S)>);

// SAFETY: Never written.
unsafe impl<S> Sync for Attribute<S> {}

impl<S: Show> Default for Attribute<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Show> Attribute<S> {
    /// Fills in the attribute.
    pub const fn new() -> Self {
        let mut attr: bindings::device_attribute = pin_init::zeroed();
        attr.attr.name = as_char_ptr_in_const_context(S::NAME);
        attr.attr.mode = 0o444;
        attr.__bindgen_anon_1.show = Some(Self::show);
        Self(Opaque::new(attr), PhantomData)
    }

    /// As the entry of a [`List`].
    pub const fn entry(&'static self) -> Entry<S::Private> {
        // `attr` is the first field.
        Entry(self.0.get().cast(), PhantomData)
    }

    /// # Safety
    ///
    /// `dev` is that of a `Device<S::Private>`, and `buf` a page.
    unsafe extern "C" fn show(
        dev: *mut bindings::device,
        _attr: *mut bindings::device_attribute,
        buf: *mut c_char,
    ) -> isize {
        // SAFETY: By this function's contract.
        let (dev, mut to) = unsafe {
            let dev = crate::container_of!(dev, bindings::net_device, dev);
            (
                Device::<S::Private>::from_raw(dev),
                RawFormatter::from_ptrs(buf.cast(), buf.cast::<u8>().add(bindings::PAGE_SIZE)),
            )
        };
        match S::show(dev, &mut to) {
            Ok(()) => to.bytes_written().min(bindings::PAGE_SIZE) as isize,
            Err(_) => EMSGSIZE.to_errno() as isize,
        }
    }
}

/// One entry of a [`List`].
#[repr(transparent)]
pub struct Entry<T>(*mut bindings::attribute, PhantomData<fn(T)>);

impl<T> Entry<T> {
    /// The end of a list.
    pub const END: Self = Self(core::ptr::null_mut(), PhantomData);
}

/// Files that belong together; the last entry is [`Entry::END`].
#[repr(transparent)]
pub struct List<T, const N: usize>([Entry<T>; N]);

// SAFETY: Never written.
unsafe impl<T, const N: usize> Sync for List<T, N> {}

impl<T: Private, const N: usize> List<T, N> {
    /// A list. An error of the build where it has no end.
    pub const fn new(entries: [Entry<T>; N]) -> Self {
        // PANIC: In a constant, where it is an error of the build.
        assert!(entries[N - 1].0.is_null());
        Self(entries)
    }
}

/// A list of files, right in the device's folder, to be kept in a static.
#[repr(transparent)]
pub struct Group<T>(Opaque<bindings::attribute_group>, PhantomData<fn(T)>);

// SAFETY: Never written.
unsafe impl<T> Sync for Group<T> {}

impl<T: Private> Group<T> {
    /// A group of the files of a list.
    pub const fn new<const N: usize>(list: &'static List<T, N>) -> Self {
        let mut group: bindings::attribute_group = pin_init::zeroed();
        group.__bindgen_anon_2.attrs = list.0.as_ptr().cast_mut().cast();
        Self(Opaque::new(group), PhantomData)
    }

    pub(super) fn as_raw(&'static self) -> *const bindings::attribute_group {
        self.0.get()
    }
}
