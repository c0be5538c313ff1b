// SPDX-License-Identifier: GPL-2.0

//! The files: `/dev/net/tun`.

use crate::{
    attach,
    device::Tun,
    ifreq, ioctl,
    queue::{
        Queue,
        QueueRef, //
    },
};
use kernel::{
    fs::{
        ops::{
            self,
            Events,
            Operations,
            PollTable, //
        },
        File,
        Kiocb, //
    },
    iov::{
        IovIterDest,
        IovIterSource, //
    },
    net::{
        device::Device,
        namespace::Namespace,
        rtnl,
        sock::Sock,
        uidgid::Uid, //
    },
    prelude::*,
    seq_file::SeqFile,
    str::BStr,
    sync::atomic::Relaxed, //
};

/// The operations of the files.
pub(crate) struct Files;

/// Can a program write now? A device that is down takes nothing.
fn is_writable(dev: &Device<Tun>, queue: &Sock<Queue>) -> bool {
    dev.is_up() && queue.is_writeable()
}

#[vtable]
impl Operations for Files {
    type Ptr = QueueRef;

    const NOWAIT: bool = true;

    fn open(file: &File) -> Result<QueueRef> {
        Sock::new(&Namespace::current(), file, Uid::current_fs(), Queue::new())
    }

    fn release(queue: QueueRef, _file: &File) {
        attach::close(&queue);
        Queue::purge(&queue);
        // The slots go with the file; the rest stays until the last frame that is charged to it.
        let _ = queue.ring.resize(0, GFP_KERNEL);
    }

    #[inline]
    fn read_iter(mut kiocb: Kiocb<'_, QueueRef>, to: &mut IovIterDest<'_>) -> Result<usize> {
        let queue = kiocb.file();
        let dev = queue.device().ok_or(EBADFD)?;
        let room = to.len();
        if room == 0 {
            return Ok(0);
        }
        let packet = Queue::receive(queue, &dev, ops::is_nonblocking(&kiocb))?;
        let read = Tun::read(&dev, packet, to)?.min(room);
        if read > 0 {
            // Set, not advanced: programs may have come to rely on it.
            *kiocb.ki_pos_mut() = read as i64;
        }
        Ok(read)
    }

    #[inline]
    fn write_iter(kiocb: Kiocb<'_, QueueRef>, from: &mut IovIterSource<'_>) -> Result<usize> {
        let queue = kiocb.file();
        let dev = queue.device().ok_or(EBADFD)?;
        Tun::write(&dev, queue, from, None, ops::is_nonblocking(&kiocb), false)
    }

    fn poll(queue: &Sock<Queue>, file: &File, table: &PollTable<'_>) -> Events {
        let Some(dev) = queue.device() else {
            return Events::ERROR;
        };
        queue.poll_wait(file, table);
        let mut events = Events::NONE;
        if queue.is_readable() {
            events |= Events::READABLE;
        }
        // Ask for a wake-up before the last look, so that it cannot be missed.
        if is_writable(&dev, queue) || (!queue.ask_for_write_space() && is_writable(&dev, queue)) {
            events |= Events::WRITABLE;
        }
        if !dev.is_registered() {
            events = Events::ERROR;
        }
        events
    }

    fn ioctl(queue: &Sock<Queue>, _file: &File, cmd: u32, arg: usize) -> Result<isize> {
        ioctl::ioctl(queue, cmd, arg, ifreq::SIZE)
    }

    #[cfg(CONFIG_COMPAT)]
    fn compat_ioctl(queue: &Sock<Queue>, _file: &File, cmd: u32, arg: usize) -> Result<isize> {
        ioctl::ioctl(queue, cmd, arg, ifreq::COMPAT_SIZE)
    }

    fn fasync(queue: &Sock<Queue>, file: &File, fd: i32, on: bool) -> Result {
        if on {
            queue.fasync.add(fd, file)?;
        } else {
            queue.fasync.remove(fd, file)?;
        }
        queue.fasync_on.store(on, Relaxed);
        Ok(())
    }

    fn show_fdinfo(queue: &Sock<Queue>, m: &SeqFile, _file: &File) {
        let rtnl = rtnl::lock();
        let name = queue.device.get(&rtnl).map(|dev| dev.name(&rtnl));
        drop(rtnl);
        let name = name.as_ref().map_or(&b""[..], |name| name.as_bytes());
        kernel::seq_print!(m, "iff:\t{}\n", BStr::from_bytes(name));
    }
}
