// SPDX-License-Identifier: GPL-2.0

//! Tying queues to a device, and untying them. All under the RTNL.
//!
//! A queue of a device is in use, in one of the slots `0..count`, or parked, on the list of
//! disabled ones. When one leaves its slot, the last one moves there, so that no hole is left.
//! What readers under RCU may still follow is dropped only after a grace period.

use crate::{
    device::{
        Tun,
        MAX_QUEUES, //
    },
    filter, flags,
    queue::{
        Queue,
        QueueRef,
        Retired, //
    },
};
use kernel::{
    net::{
        device::Device,
        napi::Mode,
        rtnl,
        sock::Sock, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        rcu_pointer::Old, //
    },
};

/// When a queue's device pointer is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publish {
    /// With the attach.
    Now,
    /// Later: the device is being registered, and may yet be freed.
    Later,
}

/// Attaches a queue, new or parked, to the device.
///
/// The security modules' errno; `EINVAL` when it is in use; `EBUSY` when the device takes only one;
/// `E2BIG` when it has as many as it can; `ENOMEM`. On an error nothing changes.
///
/// Of `request` only NAPI and NOFILTER count here, and only for a new queue: they are the queue's
/// own affair.
pub(crate) fn attach(
    dev: &Device<Tun>,
    queue: &Sock<Queue>,
    request: u32,
    publish: Publish,
    rtnl: &mut rtnl::Held,
) -> Result {
    dev.security.attach(queue)?;

    let parked = queue.is_disabled();
    if queue.device.is_set() && !parked {
        return Err(EINVAL);
    }
    let count = dev.count();
    if !dev.is_multi_queue() && count == 1 {
        return Err(EBUSY);
    }
    if !parked && (count + dev.disabled_count()) as usize == MAX_QUEUES {
        return Err(E2BIG);
    }
    let slot = dev.slot(count).ok_or(E2BIG)?;
    if !parked {
        queue.ring.resize(dev.tx_queue_len(rtnl), GFP_KERNEL)?;
        queue.rx_queue.register(dev, count, rtnl)?;
    }
    if parked || request & flags::NOFILTER == 0 {
        filter::inherit(dev, queue, rtnl);
    }

    queue.set_index(count, rtnl);
    queue.reopen_receive();
    queue.force_wake(dev);
    if parked {
        unpark(dev, queue, rtnl);
        queue.backlog.enable(rtnl);
    } else {
        let mode = match (request & flags::NAPI, request & flags::NAPI_FRAGS) {
            (0, _) => Mode::Gather,
            (_, 0) => Mode::Queue,
            _ => Mode::Frags,
        };
        queue.backlog.attach(dev, mode, rtnl);
    }
    if dev.xdp.is_set() {
        queue.announce_xdp(true);
    }

    // Last, when nothing of the queue is half done any more.
    if publish == Publish::Now && !parked {
        // It had none, or its old one is on its way out and unreachable: nothing to wait for.
        drop(queue.device.replace(Some(dev.into()), rtnl));
    }
    let stale = slot.replace(Some(queue.into()), rtnl);
    dev.set_count(count + 1, rtnl);
    // As many as there are queues: neither 0 nor too many, and memory is there already.
    let _ = dev.set_real_queues(count as u16 + 1, rtnl);
    drop(stale);
    Ok(())
}

/// Puts a queue at the end of the device's list of parked ones.
fn park(dev: &Device<Tun>, queue: QueueRef, rtnl: &mut rtnl::Held) {
    queue.set_disabled(true, rtnl);
    dev.set_disabled_count(dev.disabled_count() + 1, rtnl);
    push_back(&dev.disabled, queue, rtnl);
}

/// Takes a queue off the device's list of parked ones. What the list held of it is returned.
fn unpark(dev: &Device<Tun>, queue: &Sock<Queue>, rtnl: &mut rtnl::Held) -> Option<QueueRef> {
    queue.set_disabled(false, rtnl);
    dev.set_disabled_count(dev.disabled_count() - 1, rtnl);
    // Rebuilt without it: the list is short, and this way only one link is looked at a time.
    let mut rest = dev.disabled.get_mut(rtnl).take();
    let mut found = None;
    while let Some(at) = rest {
        rest = at.next.get_mut(rtnl).take();
        if core::ptr::eq(&*at, queue) {
            found = Some(at);
        } else {
            push_back(&dev.disabled, at, rtnl);
        }
    }
    found
}

/// Appends to a list that links its members through [`Queue::next`].
fn push_back(head: &rtnl::Protected<Option<QueueRef>>, queue: QueueRef, rtnl: &mut rtnl::Held) {
    let Some(first) = head.get(rtnl).clone() else {
        *head.get_mut(rtnl) = Some(queue);
        return;
    };
    let mut last = first;
    while let Some(next) = last.next.get(rtnl).clone() {
        last = next;
    }
    *last.next.get_mut(rtnl) = Some(queue);
}

/// What becomes of a queue that leaves its slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It stays with the device.
    Park,
    /// It is the device's no more: its file closes.
    Quit,
}

/// Takes a queue out of its slot, and the last one moves there.
fn vacate(dev: &Device<Tun>, queue: &Sock<Queue>, leave: Leave, rtnl: &mut rtnl::Held) {
    let index = queue.index();
    let last = dev.count() - 1;
    let (Some(slot), Some(last_slot)) = (dev.slot(index), dev.slot(last)) else {
        return;
    };
    let Some(moved) = last_slot.get(rtnl).map(QueueRef::from) else {
        return;
    };

    let slot_held = {
        // Under the leaving queue's consumer lock: once it is released, that consumer does not
        // own the slot any more, and so does not wake what is another's.
        let _ring = queue.ring.consumer();
        slot.replace(Some(moved.clone()), rtnl)
    };
    moved.set_index(index, rtnl);
    let last_held = last_slot.replace(None, rtnl);
    dev.set_count(last, rtnl);
    let device_held = match leave {
        Leave::Quit => {
            queue.backlog.detach(rtnl);
            queue.device.replace(None, rtnl)
        }
        Leave::Park => {
            park(dev, queue.into(), rtnl);
            queue.backlog.disable(rtnl);
            None
        }
    };

    // Transmit may be about to put frames into the ring. After this it is not.
    Retired {
        device: device_held,
        slot: slot_held,
    }
    .synchronize();
    drop(last_held.map(|old| old.synchronize_expedited()));
    Queue::purge(queue);
    if leave == Leave::Quit {
        queue.rx_queue.unregister(rtnl);
    }

    {
        // The slot may have been left stopped by the queue that is gone. A reader of the one that
        // moved in will see to it, unless it has nothing to read.
        let mut ring = moved.ring.lock_bh();
        ring.consumer.state().reset();
        if dev.is_running() && ring.consumer.is_empty() {
            if let Some(txq) = dev.tx_queue(index as u16) {
                txq.wake();
            }
        }
    }
    // 0 is refused: then the number stays at 1.
    let _ = dev.set_real_queues(last as u16, rtnl);
}

/// `TUNSETQUEUE`: parks a queue that is in use.
pub(crate) fn detach(dev: &Device<Tun>, queue: &Sock<Queue>, rtnl: &mut rtnl::Held) {
    vacate(dev, queue, Leave::Park, rtnl);
}

/// The file of a queue closes. May delete the device.
pub(crate) fn close(queue: &Sock<Queue>) {
    let mut rtnl = rtnl::lock();
    // Dropped before the RTNL is, which waits for all references to a deleted device.
    let Some(dev) = queue.device.get(&rtnl).map(ARef::<Device<Tun>>::from) else {
        return;
    };

    if queue.is_disabled() {
        queue.backlog.detach(&mut rtnl);
        let listed = unpark(&dev, queue, &mut rtnl);
        if let Some(old) = queue.device.replace(None, &mut rtnl) {
            drop(old.synchronize_expedited());
        }
        queue.rx_queue.unregister(&mut rtnl);
        drop(listed);
    } else {
        vacate(&dev, queue, Leave::Quit, &mut rtnl);
    }
    if dev.count() == 0 && dev.disabled_count() == 0 {
        dev.carrier_off();
        if dev.persist.get(&rtnl).is_none() {
            dev.unregister(&mut rtnl);
        }
    }
    dev.state_change(&mut rtnl);
}

/// The device is being registered: attaches the queue that makes it.
pub(crate) fn init(dev: &Device<Tun>, rtnl: &mut rtnl::Held) -> Result {
    let maker = dev.maker.get_mut(rtnl).take().ok_or(EINVAL)?;
    attach(dev, &maker, dev.flags_now(), Publish::Later, rtnl)
}

/// The device goes: all its queues are without one.
pub(crate) fn detach_all(dev: &Device<Tun>, rtnl: &mut rtnl::Held) {
    // Off their slots and off the list of parked ones, onto a list of those that leave.
    let mut leaving: Option<QueueRef> = None;
    for index in 0..dev.count() {
        let Some(slot) = dev.slot(index) else { break };
        let Some(queue) = slot.get(rtnl).map(QueueRef::from) else {
            continue;
        };
        let slot = slot.replace(None, rtnl);
        leave(&queue, slot, rtnl);
        *queue.next.get_mut(rtnl) = leaving.replace(queue.clone());
    }
    dev.set_count(0, rtnl);
    let mut parked = dev.disabled.get_mut(rtnl).take();
    while let Some(queue) = parked {
        parked = queue.next.get_mut(rtnl).take();
        leave(&queue, None, rtnl);
        queue.set_disabled(false, rtnl);
        *queue.next.get_mut(rtnl) = leaving.replace(queue.clone());
    }
    dev.set_disabled_count(0, rtnl);

    while let Some(queue) = leaving {
        leaving = queue.next.get_mut(rtnl).take();
        // The first wait serves all.
        if let Some(retired) = queue.retired.get_mut(rtnl).take() {
            retired.synchronize();
        }
        Queue::purge(&queue);
        queue.rx_queue.unregister(rtnl);
    }
    drop(dev.persist.get_mut(rtnl).take());
}

/// Cuts the ties of a queue whose device goes, and wakes its readers.
fn leave(queue: &Sock<Queue>, slot: Option<Old<QueueRef>>, rtnl: &mut rtnl::Held) {
    queue.backlog.detach(rtnl);
    queue.shut_down_receive();
    let device = queue.device.replace(None, rtnl);
    *queue.retired.get_mut(rtnl) = Some(Retired { device, slot });
}
