// SPDX-License-Identifier: GPL-2.0

//! `TUNSETIFF` and `TUNSETQUEUE`: making devices, joining them, and moving queues in and out of
//! use.

use crate::{
    attach::{
        self,
        Publish, //
    },
    device::{
        Note,
        Tun,
        MAX_QUEUES, //
    },
    flags::{
        self,
        Kind, //
    },
    ifreq::Ifreq,
    queue::Queue,
    LINK,
    TAP,
    TUN, //
};
use kernel::{
    net::{
        device::{
            Device,
            Name,
            Unregistered, //
        },
        rtnl,
        sock::Sock,
        tun_security,
        uidgid, //
    },
    prelude::*,
    sync::aref::ARef, //
};

/// May the caller join the device? If it has an owner, a group or both, all there are must fit;
/// otherwise an administrator of the namespace that the device is in now.
fn is_permitted(dev: &Device<Tun>, rtnl: &rtnl::Held) -> bool {
    let (owner, group) = (dev.owner(), dev.group());
    if (owner.is_some() || group.is_some())
        && (!owner.is_some() || owner.is_current_effective())
        && (!group.is_some() || group.includes_current())
    {
        return true;
    }
    dev.net(rtnl).admits_net_admin()
}

/// The device, if it is one of ours and of the kind that the request names.
fn downcast(dev: &Device, request: u32) -> Result<&Device<Tun>> {
    if request & flags::TUN != 0 {
        if let Some(dev) = TUN.downcast(dev) {
            return Ok(dev);
        }
    }
    if request & flags::TAP != 0 {
        if let Some(dev) = TAP.downcast(dev) {
            return Ok(dev);
        }
    }
    Err(EINVAL)
}

/// `TUNSETIFF` on a queue without a device. The name of the device is put into the request.
pub(crate) fn set_iff(queue: &Sock<Queue>, ifr: &mut Ifreq, rtnl: &mut rtnl::Held) -> Result {
    let request = ifr.flags();
    if request & flags::NAPI_FRAGS != 0 {
        // It reaches code that expects a driver to know what it does.
        if !uidgid::capable_net_admin() {
            return Err(EPERM);
        }
        if request & flags::NAPI == 0 || request & flags::TYPE_MASK != flags::TAP {
            return Err(EINVAL);
        }
    }
    let name = ifr.name()?;
    let existing = queue
        .net()
        .find(&name, rtnl)
        .map(|dev| {
            if request & flags::EXCL != 0 {
                return Err(EBUSY);
            }
            downcast(dev, request).map(ARef::from)
        })
        .transpose()?;
    let dev = match existing {
        Some(dev) => {
            if !join(queue, &dev, request, rtnl)? {
                return Ok(());
            }
            dev
        }
        None => create(queue, &name, request, rtnl)?,
    };

    dev.note(fmt!("tun_set_iff\n"));
    if request & flags::NO_CARRIER != 0 {
        dev.carrier_off();
    } else {
        dev.carrier_on();
    }
    // A persistent device may have been left with its queue stopped.
    Tun::force_wake_all(&dev, rtnl);
    ifr.set_name(&dev.name(rtnl));
    Ok(())
}

/// Joins a device. Returns whether the queue is its only one, so that the request shapes it anew.
fn join(
    queue: &Sock<Queue>,
    dev: &Device<Tun>,
    request: u32,
    rtnl: &mut rtnl::Held,
) -> Result<bool> {
    if (request & flags::MULTI_QUEUE != 0) != dev.is_multi_queue() {
        return Err(EINVAL);
    }
    if !is_permitted(dev, rtnl) {
        return Err(EPERM);
    }
    dev.security.open()?;
    attach::attach(dev, queue, request, Publish::Now, rtnl)?;
    let only = !dev.is_multi_queue() || dev.count() + dev.disabled_count() == 1;
    if only {
        dev.set_flags(flags::with_features(dev.flags_now(), request), rtnl);
    }
    dev.state_change(rtnl);
    Ok(only)
}

/// Makes a device.
fn create(
    queue: &Sock<Queue>,
    name: &Name,
    request: u32,
    rtnl: &mut rtnl::Held,
) -> Result<ARef<Device<Tun>>> {
    let net = queue.net();
    if !net.admits_net_admin() {
        return Err(EPERM);
    }
    tun_security::create()?;
    let kind = Kind::requested(request)?;
    let name = if name.as_bytes().is_empty() {
        Name::new(kind.name_pattern())?
    } else {
        *name
    };
    let queues = if request & flags::MULTI_QUEUE != 0 {
        MAX_QUEUES as u16
    } else {
        1
    };
    let state = Tun::new(kind, request, queue.send_buffer(), queue.into());
    let mut dev = match kind {
        Kind::Tun => Unregistered::new(&TUN, &LINK, net, &name, queues, state)?,
        Kind::Tap => Unregistered::new(&TAP, &LINK, net, &name, queues, state)?,
    };
    let ifindex = *queue.ifindex.get(rtnl);
    Tun::dress(kind, dev.setup().ifindex(ifindex));
    let dev = dev.register(rtnl)?;
    // Not before: registration may fail, and frees the device whoever refers to it.
    drop(queue.device.replace(Some(dev.clone()), rtnl));
    Ok(dev)
}

/// `TUNSETQUEUE`.
pub(crate) fn set_queue(queue: &Sock<Queue>, ifr: &Ifreq, rtnl: &mut rtnl::Held) -> Result {
    let request = ifr.flags();
    let dev = queue.device.get(rtnl).map(ARef::<Device<Tun>>::from);
    let dev = if request & flags::ATTACH_QUEUE != 0 {
        let dev = dev.filter(|_| queue.is_disabled()).ok_or(EINVAL)?;
        dev.security.attach_queue()?;
        attach::attach(&dev, queue, dev.flags_now(), Publish::Now, rtnl)?;
        dev
    } else if request & flags::DETACH_QUEUE != 0 {
        let dev = dev
            .filter(|dev| dev.is_multi_queue() && !queue.is_disabled())
            .ok_or(EINVAL)?;
        attach::detach(&dev, queue, rtnl);
        dev
    } else {
        return Err(EINVAL);
    };
    dev.state_change(rtnl);
    Ok(())
}
