// SPDX-License-Identifier: GPL-2.0

//! Events of network devices.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use super::{
    device::Device,
    rtnl, //
};
use crate::{
    bindings,
    error::to_result,
    prelude::*,
    types::Opaque, //
};
use core::{
    ffi::c_void,
    marker::PhantomData, //
};

/// What happened to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It came up.
    Up,
    /// The user set another tx queue length. A veto restores the old one; the user sees `EPERM`.
    TxQueueLen,
    /// Something else: the number of `enum netdev_cmd`.
    Other(usize),
}

/// The answer to an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Done,
    /// Not with me.
    Veto,
}

/// Who listens.
pub trait Listener: 'static {
    /// Something happened to a device, ours or not. Under the RTNL, may sleep.
    fn event(dev: &Device, event: Event, rtnl: &mut rtnl::Held) -> Answer;
}

/// The notifier block of a listener, to be kept in a static.
///
/// # Examples
///
/// ```
/// use kernel::net::{device::Device, notifier::{Answer, Event, Listener, Notifier}, rtnl};
///
/// struct Quiet;
/// impl Listener for Quiet {
///     fn event(_: &Device, _: Event, _: &mut rtnl::Held) -> Answer {
///         Answer::Done
///     }
/// }
///
/// static NOTIFIER: Notifier<Quiet> = Notifier::new();
/// let registration = NOTIFIER.register()?;
/// drop(registration);
/// # Ok::<(), Error>(())
/// ```
#[repr(transparent)]
pub struct Notifier<L>(Opaque<bindings::notifier_block>, PhantomData<fn(L)>);

// SAFETY: The core serialises its changes to the block by the RTNL; nobody else makes any.
unsafe impl<L> Sync for Notifier<L> {}

impl<L: Listener> Default for Notifier<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: Listener> Notifier<L> {
    /// A block that is not registered.
    pub const fn new() -> Self {
        let mut block: bindings::notifier_block = pin_init::zeroed();
        block.notifier_call = Some(Self::call);
        Self(Opaque::new(block), PhantomData)
    }

    /// Starts listening; the events of devices that exist are replayed. Takes the RTNL. `EEXIST`,
    /// with a warning, when it listens already.
    pub fn register(&'static self) -> Result<Registration<L>> {
        // SAFETY: The block is static; registering it twice is refused.
        to_result(unsafe { bindings::register_netdevice_notifier(self.0.get()) })?;
        // INVARIANT: Just registered.
        Ok(Registration { notifier: self })
    }

    /// # Safety
    ///
    /// `info` is a `struct netdev_notifier_info`, and the RTNL is held.
    unsafe extern "C" fn call(
        _block: *mut bindings::notifier_block,
        event: c_ulong,
        info: *mut c_void,
    ) -> c_int {
        // SAFETY: By this function's contract: `call_netdevice_notifiers_info()` asserts the RTNL,
        // and who calls it lends its token.
        let (dev, mut rtnl) = unsafe {
            (
                Device::from_raw(bindings::netdev_notifier_info_to_dev(info)),
                rtnl::Held::assume(),
            )
        };
        let event = match event as bindings::netdev_cmd {
            bindings::netdev_cmd_NETDEV_UP => Event::Up,
            bindings::netdev_cmd_NETDEV_CHANGE_TX_QUEUE_LEN => Event::TxQueueLen,
            _ => Event::Other(event),
        };
        match L::event(dev, event, &mut rtnl) {
            Answer::Done => bindings::NOTIFY_DONE as c_int,
            Answer::Veto => bindings::NOTIFY_BAD as c_int,
        }
    }
}

/// A registered [`Notifier`].
///
/// # Invariants
///
/// `notifier` is registered.
pub struct Registration<L: Listener> {
    notifier: &'static Notifier<L>,
}

impl<L: Listener> Drop for Registration<L> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; takes the RTNL.
        unsafe { bindings::unregister_netdevice_notifier(self.notifier.0.get()) };
    }
}

#[kunit_tests(rust_net_notifier)]
mod tests {
    use super::*;
    use crate::sync::atomic::{
        Atomic,
        Relaxed, //
    };

    struct Counting;
    static EVENTS: Atomic<u32> = Atomic::new(0);

    impl Listener for Counting {
        fn event(_: &Device, _: Event, _: &mut rtnl::Held) -> Answer {
            EVENTS.add(1, Relaxed);
            Answer::Done
        }
    }

    static COUNTING: Notifier<Counting> = Notifier::new();

    #[test]
    fn replays_on_registration() -> Result {
        let registration = COUNTING.register()?;
        // There is a loopback device at least.
        assert!(EVENTS.load(Relaxed) > 0);
        drop(registration);
        drop(COUNTING.register()?);
        Ok(())
    }
}
