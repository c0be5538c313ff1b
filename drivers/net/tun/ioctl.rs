// SPDX-License-Identifier: GPL-2.0

//! The ioctls.

use crate::{
    device::Tun,
    flags,
    iff,
    ifreq::Ifreq,
    queue::Queue,
    TunModule, //
};
use kernel::{
    ioctl::{
        _IOC_TYPE,
        _IOR,
        _IOW, //
    },
    module::this_module,
    net::{
        device::Device,
        rtnl,
        sock::Sock,
        uidgid::{
            Gid,
            Uid, //
        }, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        module_ref::ModuleRef, //
    },
    transmute::{
        AsBytes,
        FromBytes, //
    },
    uaccess::{
        UserPtr,
        UserSlice, //
    },
    uapi, //
};

const TYPE: u32 = b'T' as u32;

const TUNSETNOCSUM: u32 = _IOW::<c_int>(TYPE, 200);
const TUNSETIFF: u32 = _IOW::<c_int>(TYPE, 202);
const TUNSETPERSIST: u32 = _IOW::<c_int>(TYPE, 203);
const TUNSETOWNER: u32 = _IOW::<c_int>(TYPE, 204);
const TUNSETGROUP: u32 = _IOW::<c_int>(TYPE, 206);
const TUNGETFEATURES: u32 = _IOR::<c_uint>(TYPE, 207);
const TUNGETIFF: u32 = _IOR::<c_uint>(TYPE, 210);
const TUNGETSNDBUF: u32 = _IOR::<c_int>(TYPE, 211);
const TUNSETSNDBUF: u32 = _IOW::<c_int>(TYPE, 212);
const TUNSETQUEUE: u32 = _IOW::<c_int>(TYPE, 217);
const TUNSETIFINDEX: u32 = _IOW::<c_uint>(TYPE, 218);
const TUNSETCARRIER: u32 = _IOW::<c_int>(TYPE, 226);

fn read<T: FromBytes>(arg: usize) -> Result<T> {
    UserSlice::new(UserPtr::from_addr(arg), core::mem::size_of::<T>())
        .reader()
        .read()
}

fn write<T: AsBytes>(arg: usize, value: &T) -> Result {
    UserSlice::new(UserPtr::from_addr(arg), core::mem::size_of::<T>())
        .writer()
        .write(value)
}

/// An ioctl on a file, with the size that `struct ifreq` has for the caller.
pub(crate) fn ioctl(queue: &Sock<Queue>, cmd: u32, arg: usize, ifreq_size: usize) -> Result<isize> {
    // Read before any other test, for these and for every command of the socket type but one.
    let takes_ifreq = cmd == TUNSETIFF
        || cmd == TUNSETQUEUE
        || (_IOC_TYPE(cmd) == uapi::SOCK_IOC_TYPE && cmd != uapi::SIOCGSKNS);
    let mut ifr = if takes_ifreq {
        Ifreq::read(arg, ifreq_size)?
    } else {
        Ifreq::ZERO
    };

    if cmd == TUNGETFEATURES {
        write(arg, &flags::SUPPORTED)?;
        return Ok(0);
    }

    let mut rtnl = rtnl::lock();
    let dev = queue.device.get(&rtnl).map(ARef::<Device<Tun>>::from);
    match (cmd, &dev) {
        (TUNSETQUEUE, _) => iff::set_queue(queue, &ifr, &mut rtnl)?,
        (TUNSETIFF, Some(_)) => return Err(EEXIST),
        (TUNSETIFF, None) => {
            iff::set_iff(queue, &mut ifr, &mut rtnl)?;
            ifr.write(arg, ifreq_size)?;
        }
        (TUNSETIFINDEX, Some(_)) => return Err(EPERM),
        (TUNSETIFINDEX, None) => {
            let ifindex: i32 = read(arg)?;
            if ifindex < 0 {
                return Err(EINVAL);
            }
            *queue.ifindex.get_mut(&mut rtnl) = ifindex;
        }
        (_, None) => return Err(EBADFD),
        (_, Some(dev)) => attached(queue, dev, cmd, arg, &mut ifr, ifreq_size, &mut rtnl)?,
    }
    Ok(0)
}

/// An ioctl on a file that has a device.
fn attached(
    queue: &Sock<Queue>,
    dev: &Device<Tun>,
    cmd: u32,
    arg: usize,
    ifr: &mut Ifreq,
    ifreq_size: usize,
    rtnl: &mut rtnl::Held,
) -> Result {
    match cmd {
        TUNGETIFF => {
            ifr.set_name(&dev.name(rtnl));
            let mut visible = flags::visible(dev.flags_now());
            if queue.is_disabled() {
                visible |= flags::DETACH_QUEUE;
            }
            if !queue.has_filter() {
                visible |= flags::NOFILTER;
            }
            ifr.set_flags(visible);
            ifr.write(arg, ifreq_size)
        }
        TUNSETNOCSUM => Ok(()),
        TUNSETPERSIST => {
            set_persist(dev, arg != 0, rtnl);
            Ok(())
        }
        TUNSETOWNER => {
            dev.set_owner(Uid::from_user(arg as u32)?, rtnl);
            dev.state_change(rtnl);
            Ok(())
        }
        TUNSETGROUP => {
            dev.set_group(Gid::from_user(arg as u32)?, rtnl);
            dev.state_change(rtnl);
            Ok(())
        }
        TUNGETSNDBUF => write(arg, &queue.send_buffer()),
        TUNSETSNDBUF => {
            let bytes: i32 = read(arg)?;
            if bytes <= 0 {
                return Err(EINVAL);
            }
            *dev.send_buffer.get_mut(rtnl) = bytes;
            for queue in dev.enabled(rtnl) {
                queue.set_send_buffer(bytes);
            }
            Ok(())
        }
        TUNSETCARRIER => {
            let on: u32 = read(arg)?;
            Tun::change_carrier(dev, on != 0)
        }
        _ => Err(EINVAL),
    }
}

/// Makes the device stay when its last file closes, or not. Says so when that is new.
fn set_persist(dev: &Device<Tun>, persist: bool, rtnl: &mut rtnl::Held) {
    let was = dev.persist.get(rtnl).is_some();
    if persist == was {
        return;
    }
    let flags = dev.flags_now();
    let flags = if persist {
        flags | flags::PERSIST
    } else {
        flags & !flags::PERSIST
    };
    dev.set_flags(flags, rtnl);
    // The open file keeps the module, so that the reference can be had and given up.
    let module = persist.then(|| ModuleRef::get(this_module::<TunModule>()));
    drop(core::mem::replace(dev.persist.get_mut(rtnl), module));
    dev.state_change(rtnl);
}
