// SPDX-License-Identifier: GPL-2.0

//! The ioctls.

use crate::{
    address_filter::Address,
    device::{
        Note,
        Tun, //
    },
    filter,
    flags::{
        self,
        Kind, //
    },
    iff,
    ifreq::Ifreq,
    link_type,
    offload,
    queue::Queue,
    vnet,
    TunModule, //
};
use kernel::{
    ioctl::{
        _IO,
        _IOC_TYPE,
        _IOR,
        _IOW, //
    },
    module::this_module,
    net::{
        device::Device,
        namespace::Namespace,
        rtnl,
        sock::{
            ClassicProgram,
            Sock, //
        },
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
const TUNSETDEBUG: u32 = _IOW::<c_int>(TYPE, 201);
const TUNSETIFF: u32 = _IOW::<c_int>(TYPE, 202);
const TUNSETPERSIST: u32 = _IOW::<c_int>(TYPE, 203);
const TUNSETOWNER: u32 = _IOW::<c_int>(TYPE, 204);
const TUNSETLINK: u32 = _IOW::<c_int>(TYPE, 205);
const TUNSETGROUP: u32 = _IOW::<c_int>(TYPE, 206);
const TUNGETFEATURES: u32 = _IOR::<c_uint>(TYPE, 207);
const TUNSETOFFLOAD: u32 = _IOW::<c_uint>(TYPE, 208);
const TUNSETTXFILTER: u32 = _IOW::<c_uint>(TYPE, 209);
const TUNGETIFF: u32 = _IOR::<c_uint>(TYPE, 210);
const TUNGETSNDBUF: u32 = _IOR::<c_int>(TYPE, 211);
const TUNSETSNDBUF: u32 = _IOW::<c_int>(TYPE, 212);
const TUNATTACHFILTER: u32 = _IOW::<ClassicProgram>(TYPE, 213);
const TUNDETACHFILTER: u32 = _IOW::<ClassicProgram>(TYPE, 214);
const TUNGETVNETHDRSZ: u32 = _IOR::<c_int>(TYPE, 215);
const TUNSETVNETHDRSZ: u32 = _IOW::<c_int>(TYPE, 216);
const TUNSETQUEUE: u32 = _IOW::<c_int>(TYPE, 217);
const TUNSETIFINDEX: u32 = _IOW::<c_uint>(TYPE, 218);
const TUNGETFILTER: u32 = _IOR::<ClassicProgram>(TYPE, 219);
const TUNSETVNETLE: u32 = _IOW::<c_int>(TYPE, 220);
const TUNGETVNETLE: u32 = _IOR::<c_int>(TYPE, 221);
const TUNSETVNETBE: u32 = _IOW::<c_int>(TYPE, 222);
const TUNGETVNETBE: u32 = _IOR::<c_int>(TYPE, 223);
const TUNSETSTEERINGEBPF: u32 = _IOR::<c_int>(TYPE, 224);
const TUNSETFILTEREBPF: u32 = _IOR::<c_int>(TYPE, 225);
const TUNSETCARRIER: u32 = _IOW::<c_int>(TYPE, 226);
const TUNGETDEVNETNS: u32 = _IO(TYPE, 227);

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

    match cmd {
        TUNGETFEATURES => {
            write(arg, &flags::SUPPORTED)?;
            return Ok(0);
        }
        uapi::SIOCGSKNS => return open_namespace(queue.net()),
        _ => {}
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
        (_, Some(dev)) => {
            dev.note(fmt!("tun_chr_ioctl cmd {}\n", cmd));
            return Call {
                queue,
                dev,
                cmd,
                arg,
                rtnl: &mut rtnl,
            }
            .run(&mut ifr, ifreq_size);
        }
    }
    Ok(0)
}

/// A file descriptor for a namespace, if the caller rules it. `EPERM`, and as [`Namespace::open`].
fn open_namespace(net: &Namespace) -> Result<isize> {
    if !net.admits_net_admin() {
        return Err(EPERM);
    }
    net.open().map(|fd| fd as isize)
}

/// An ioctl on a file that has a device.
struct Call<'a> {
    queue: &'a Sock<Queue>,
    dev: &'a Device<Tun>,
    cmd: u32,
    arg: usize,
    rtnl: &'a mut rtnl::Held,
}

impl Call<'_> {
    fn run(self, ifr: &mut Ifreq, ifreq_size: usize) -> Result<isize> {
        let Self {
            queue,
            dev,
            cmd,
            arg,
            rtnl,
        } = self;
        match cmd {
            TUNGETIFF => {
                dev.note(fmt!("tun_get_iff\n"));
                ifr.set_name(&dev.name(rtnl));
                let mut visible = flags::visible(dev.flags_now());
                if queue.is_disabled() {
                    visible |= flags::DETACH_QUEUE;
                }
                if !queue.has_filter() {
                    visible |= flags::NOFILTER;
                }
                ifr.set_flags(visible);
                ifr.write(arg, ifreq_size)?;
            }
            TUNSETNOCSUM => {
                let what = if arg != 0 { "disabled" } else { "enabled" };
                dev.note(fmt!("ignored: set checksum {}\n", what));
            }
            TUNSETPERSIST => {
                set_persist(dev, arg != 0, rtnl);
                let what = if arg != 0 { "enabled" } else { "disabled" };
                dev.note(fmt!("persist {}\n", what));
            }
            TUNSETOWNER => {
                dev.set_owner(Uid::from_user(arg as u32)?, rtnl);
                dev.note(fmt!("owner set to {}\n", dev.owner().into_bits()));
                dev.state_change(rtnl);
            }
            TUNSETGROUP => {
                dev.set_group(Gid::from_user(arg as u32)?, rtnl);
                dev.note(fmt!("group set to {}\n", dev.group().into_bits()));
                dev.state_change(rtnl);
            }
            TUNSETLINK => set_link(dev, arg as u16, rtnl)?,
            TUNSETDEBUG => dev.set_messages(arg as u32),
            TUNSETOFFLOAD => Tun::allow(dev, offload::requested(arg as u64)?, rtnl),
            TUNGETSNDBUF => write(arg, &queue.send_buffer())?,
            TUNSETSNDBUF => {
                let bytes: i32 = read(arg)?;
                if bytes <= 0 {
                    return Err(EINVAL);
                }
                *dev.send_buffer.get_mut(rtnl) = bytes;
                for queue in dev.enabled(rtnl) {
                    queue.set_send_buffer(bytes);
                }
            }
            TUNSETCARRIER => {
                let on: u32 = read(arg)?;
                Tun::change_carrier(dev, on != 0)?;
            }
            TUNGETDEVNETNS => return open_namespace(dev.net(rtnl)),
            TUNSETSTEERINGEBPF => filter::set_program(&dev.steering, read(arg)?, rtnl)?,
            TUNSETFILTEREBPF => filter::set_program(&dev.program, read(arg)?, rtnl)?,
            uapi::SIOCGIFHWADDR => {
                let mut address = ifr.address();
                dev.read_address(&mut address, rtnl);
                ifr.set_address(&address);
                ifr.write(arg, ifreq_size)?;
            }
            uapi::SIOCSIFHWADDR => dev.set_address(&ifr.address(), rtnl)?,
            TUNSETTXFILTER | TUNATTACHFILTER | TUNDETACHFILTER | TUNGETFILTER
                if dev.kind() == Kind::Tap =>
            {
                return filters(dev, cmd, arg, rtnl);
            }
            _ => header(dev, cmd, arg, rtnl)?,
        }
        Ok(0)
    }
}

/// Ioctls for TAP devices: which frames go to the reader.
fn filters(dev: &Device<Tun>, cmd: u32, arg: usize, rtnl: &mut rtnl::Held) -> Result<isize> {
    match cmd {
        TUNSETTXFILTER => return set_addresses(dev, arg, rtnl).map(|n| n as isize),
        TUNATTACHFILTER => filter::attach(dev, read(arg)?, rtnl)?,
        TUNDETACHFILTER => filter::detach(dev, rtnl),
        TUNGETFILTER => write(arg, dev.classic.get(rtnl))?,
        _ => return Err(EINVAL),
    }
    Ok(0)
}

/// Ioctls about the virtio-net header; all that is left is none.
fn header(dev: &Device<Tun>, cmd: u32, arg: usize, rtnl: &mut rtnl::Held) -> Result {
    let bit = match cmd {
        TUNGETVNETHDRSZ => return write(arg, &dev.header_size()),
        TUNSETVNETHDRSZ => {
            let size: i32 = read(arg)?;
            if size < vnet::MIN_SIZE {
                return Err(EINVAL);
            }
            dev.set_header_size(size, rtnl);
            return Ok(());
        }
        TUNGETVNETLE | TUNSETVNETLE => flags::VNET_LE,
        TUNGETVNETBE | TUNSETVNETBE if cfg!(CONFIG_TUN_VNET_CROSS_LE) => flags::VNET_BE,
        _ => return Err(EINVAL),
    };
    let flags = dev.flags_now();
    if cmd == TUNGETVNETLE || cmd == TUNGETVNETBE {
        return write(arg, &i32::from(flags & bit != 0));
    }
    let on: i32 = read(arg)?;
    dev.set_flags(if on != 0 { flags | bit } else { flags & !bit }, rtnl);
    Ok(())
}

/// What precedes the addresses in the argument of `TUNSETTXFILTER`: `struct tun_filter`.
const FILTER_HEADER: usize = 4;

/// Sets the addresses that the reader wants. Returns how many of them are compared in full.
fn set_addresses(dev: &Device<Tun>, arg: usize, rtnl: &mut rtnl::Held) -> Result<u32> {
    let [a, b, c, d]: [u8; FILTER_HEADER] = read(arg)?;
    let flags = u32::from(u16::from_ne_bytes([a, b]));
    let count = usize::from(u16::from_ne_bytes([c, d]));
    if count == 0 {
        dev.addresses.clear(rtnl);
        return Ok(0);
    }
    let mut addresses: KVec<Address> = KVec::with_capacity(count, GFP_KERNEL)?;
    let mut reader = UserSlice::new(
        UserPtr::from_addr(arg.wrapping_add(FILTER_HEADER)),
        count * size_of::<Address>(),
    )
    .reader();
    for _ in 0..count {
        addresses.push(reader.read()?, GFP_KERNEL)?;
    }
    let all_multicast = flags & uapi::TUN_FLT_ALLMULTI != 0;
    Ok(dev.addresses.set(&addresses, all_multicast, rtnl))
}

/// Gives a device that is down another link-layer type. `EBUSY` where it is up.
fn set_link(dev: &Device<Tun>, kind: u16, rtnl: &mut rtnl::Held) -> Result {
    if dev.is_up() {
        dev.note(fmt!("Linktype set failed because interface is up\n"));
        return Err(EBUSY);
    }
    dev.set_type(kind, link_type::address_len(kind), rtnl)
        .inspect_err(|_| dev.note(fmt!("Refused to change device type\n")))?;
    dev.note(fmt!("linktype set to {}\n", kind));
    Ok(())
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
