// SPDX-License-Identifier: GPL-2.0

//! Filters of what goes to the reader, as a program sets them: classic ones for each queue,
//! `TUNATTACHFILTER`, and eBPF for all, `TUNSETFILTEREBPF`. Also the one that chooses queues,
//! `TUNSETSTEERINGEBPF`.

use crate::{
    device::Tun,
    queue::Queue, //
};
use kernel::{
    net::{
        bpf::SocketFilter,
        device::Device,
        rtnl,
        sock::{
            ClassicProgram,
            Sock, //
        }, //
    },
    prelude::*,
    sync::rcu_pointer::RcuPointer, //
};

/// Attaches a classic filter to all queues in use, or to none. `EFAULT`, `EINVAL`, `ENOMEM`.
///
/// The device remembers it whatever comes of it.
pub(crate) fn attach(dev: &Device<Tun>, program: ClassicProgram, rtnl: &mut rtnl::Held) -> Result {
    *dev.classic.get_mut(rtnl) = program;
    let attached = attach_all(dev, &program, rtnl);
    *dev.is_classic_attached.get_mut(rtnl) = attached.is_ok();
    attached
}

fn attach_all(dev: &Device<Tun>, program: &ClassicProgram, rtnl: &rtnl::Held) -> Result {
    for (done, queue) in dev.enabled(rtnl).enumerate() {
        if let Err(e) = queue.attach_filter(program) {
            dev.enabled(rtnl).take(done).for_each(Sock::detach_filter);
            return Err(e);
        }
    }
    Ok(())
}

/// Takes the classic filter off all queues in use.
pub(crate) fn detach(dev: &Device<Tun>, rtnl: &mut rtnl::Held) {
    for queue in dev.enabled(rtnl) {
        queue.detach_filter();
    }
    *dev.is_classic_attached.get_mut(rtnl) = false;
}

/// A queue comes into use: it gets the filter that the others have.
///
/// The program lies in the memory of the process that attached it. Where this one has none there,
/// the queue goes without: the device can still be used.
pub(crate) fn inherit(dev: &Device<Tun>, queue: &Sock<Queue>, rtnl: &rtnl::Held) {
    if *dev.is_classic_attached.get(rtnl) {
        let _ = queue.attach_filter(dev.classic.get(rtnl));
    }
}

/// Puts the program behind a file descriptor in a place for one, or with -1 none. `EBADF`,
/// `EINVAL`.
pub(crate) fn set_program(
    place: &RcuPointer<SocketFilter, rtnl::Held>,
    fd: i32,
    rtnl: &mut rtnl::Held,
) -> Result {
    let program = if fd == -1 {
        None
    } else {
        Some(SocketFilter::from_fd(fd)?)
    };
    if let Some(old) = place.replace(program, rtnl) {
        old.put();
    }
    Ok(())
}
