// SPDX-License-Identifier: GPL-2.0

//! A queue: an open file, the ring of frames for its reader, and the socket that vhost-net sees.
//!
//! # Backpressure
//!
//! With `IFF_BACKPRESSURE` a device's transmit stops the tx queue when the frame it produced took
//! the last slot of the ring, so that the next one waits in the qdisc. Whoever consumes wakes the
//! queue when it has consumed half a ring since, or all there was. See [`TxQueue`] for why no wake
//! is lost.
//!
//! [`TxQueue`]: kernel::net::queue::TxQueue

use crate::{
    chardev::Files,
    device::Tun,
    flags,
    FILES,
    PROTO, //
};
use kernel::{
    fs::{
        fasync::{
            Band,
            Listeners, //
        },
        ops, //
    },
    net::{
        device::Device,
        napi::Backlog,
        ptr_ring::{
            Consumer,
            PtrRing, //
        },
        rtnl::{
            self,
            Protected, //
        },
        sock::{
            self,
            Interrupted,
            MsgFlags,
            Proto,
            RecvMsg,
            SendMsg,
            Sock, //
        },
        vhost::{
            self,
            Packet, //
        },
        xdp::RxQueue, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu,
        rcu_pointer::{
            Old,
            RcuPointer, //
        }, //
    },
    uapi, //
};

/// A counted queue: what an open file owns and a device's slot refers to.
pub(crate) type QueueRef = ARef<Sock<Queue>>;

/// How many frames were consumed since the tx queue was stopped.
#[derive(Default)]
pub(crate) struct Consumed(u32);

impl Consumed {
    /// Starts over.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.0 = 0;
    }
}

/// References that a queue and its device gave up, which readers may still follow.
pub(crate) struct Retired {
    pub(crate) device: Option<Old<ARef<Device<Tun>>>>,
    pub(crate) slot: Option<Old<QueueRef>>,
}

impl Retired {
    /// Waits until no reader is left, then drops them.
    pub(crate) fn synchronize(self) {
        if let Some(old) = self.slot {
            drop(old.synchronize_expedited());
        }
        if let Some(old) = self.device {
            drop(old.synchronize_expedited());
        }
    }
}

/// The state of an open file.
#[pin_data]
pub(crate) struct Queue {
    /// The device it belongs to, in use or not. Published last of all.
    pub(crate) device: RcuPointer<ARef<Device<Tun>>, rtnl::Held>,
    /// Frames for the reader. No slots until the first attach.
    #[pin]
    pub(crate) ring: PtrRing<Packet, Consumed>,
    /// Frames that were written, for those who asked for NAPI.
    #[pin]
    pub(crate) backlog: Backlog,
    /// What XDP programs see of it.
    #[pin]
    pub(crate) rx_queue: RxQueue,
    /// Its slot in the device. Written with the RTNL and the ring's consumer lock.
    index: Atomic<u32>,
    /// Belongs to the device, but is parked. Written with the RTNL.
    disabled: Atomic<bool>,
    /// The interface index that the next device is to have.
    pub(crate) ifindex: Protected<i32>,
    /// The next in a list of queues: the device's parked ones, or those that leave together.
    pub(crate) next: Protected<Option<QueueRef>>,
    /// What the queue leaves behind while its device goes.
    pub(crate) retired: Protected<Option<Retired>>,
    /// Who wants a signal.
    pub(crate) fasync: Listeners,
    /// Does anybody?
    pub(crate) fasync_on: Atomic<bool>,
}

impl Queue {
    /// A queue of no device.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            device: RcuPointer::null(),
            ring <- PtrRing::new(0, Consumed::default(), GFP_KERNEL),
            backlog <- Backlog::new(),
            rx_queue <- RxQueue::new(),
            index: Atomic::new(0),
            disabled: Atomic::new(false),
            ifindex: Protected::new(0),
            next: Protected::new(None),
            retired: Protected::new(None),
            fasync: Listeners::new(),
            fasync_on: Atomic::new(false),
        })
    }

    /// Its device, counted, for the duration of a system call.
    #[inline]
    pub(crate) fn device(&self) -> Option<ARef<Device<Tun>>> {
        let rcu = rcu::read_lock();
        self.device.read(&rcu).map(ARef::from)
    }

    /// The number of its slot. Stable under the RTNL, or with the ring's consumer lock.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index.load(Relaxed)
    }

    /// Is it parked?
    #[inline]
    pub(crate) fn is_disabled(&self) -> bool {
        self.disabled.load(Relaxed)
    }

    /// Parks it, or takes it back.
    pub(crate) fn set_disabled(&self, disabled: bool, _rtnl: &mut rtnl::Held) {
        self.disabled.store(disabled, Relaxed);
    }

    /// Gives it another slot.
    pub(crate) fn set_index(&self, index: u32, rtnl: &mut rtnl::Held) {
        let mut ring = self.ring.consumer();
        self.rx_queue.set_index(index, rtnl);
        self.index.store(index, Relaxed);
        ring.state().reset();
    }

    /// Lets the tx queue run, whatever the ring looks like. Leaves a device that is down alone.
    pub(crate) fn force_wake(&self, dev: &Device<Tun>) {
        // Both locks, so that no producer stops the queue meanwhile, and because `stop` takes them
        // too after the device ceased to be running: its stop is not undone.
        let mut ring = self.ring.lock_bh();
        ring.consumer.state().reset();
        if dev.is_running() {
            if let Some(txq) = dev.tx_queue(self.index() as u16) {
                txq.wake();
            }
        }
    }

    /// Drops the frames that nobody will read.
    pub(crate) fn purge(sock: &Sock<Self>) {
        loop {
            // Not in the condition: the guard would live through the body.
            let frame = sock.ring.consumer().consume();
            let Some(frame) = frame else { break };
            kernel::net::ptr_ring::Entry::destroy(frame);
        }
        sock.backlog.purge();
        sock.purge();
    }

    /// Tells the reader that there is a frame.
    #[inline]
    pub(crate) fn notify(sock: &Sock<Self>) {
        if sock.fasync_on.load(Relaxed) {
            sock.fasync.kill(Band::In);
        }
        sock.data_ready();
    }

    /// Wakes the tx queue, if it is stopped and `taken` more entries make it time to.
    #[inline]
    fn wake_after(
        sock: &Sock<Self>,
        dev: &Device<Tun>,
        ring: &mut Consumer<'_, Packet, Consumed>,
        taken: u32,
    ) {
        if dev.flags_now() & flags::BACKPRESSURE == 0 {
            return;
        }
        // Stopped because it went down: not ours to wake.
        if !dev.is_running() {
            return;
        }
        // Only who owns the slot may wake its queue.
        let index = sock.index();
        if !dev.is_slot_of(index, sock) {
            return;
        }
        let Some(txq) = dev.tx_queue(index as u16) else {
            return;
        };
        if txq.is_stopped_after_consume() {
            let half = ring.size() / 2;
            let empty = ring.is_empty();
            let consumed = ring.state();
            consumed.0 = consumed.0.saturating_add(taken);
            if consumed.0 >= half || empty {
                txq.wake();
                consumed.reset();
            }
        }
    }

    /// Takes the oldest frame.
    #[inline]
    fn consume(sock: &Sock<Self>, dev: &Device<Tun>) -> Option<Packet> {
        let mut ring = sock.ring.consumer();
        let frame = ring.consume();
        if frame.is_some() {
            Self::wake_after(sock, dev, &mut ring, 1);
        }
        frame
    }

    /// Takes the oldest frame, waiting for one unless told not to.
    #[inline]
    pub(crate) fn receive(
        sock: &Sock<Self>,
        dev: &Device<Tun>,
        nonblocking: bool,
    ) -> Result<Packet> {
        if let Some(frame) = Self::consume(sock, dev) {
            return Ok(frame);
        }
        Self::receive_slow(sock, dev, nonblocking)
    }

    /// The ring was empty.
    #[inline(never)]
    fn receive_slow(sock: &Sock<Self>, dev: &Device<Tun>, nonblocking: bool) -> Result<Packet> {
        if nonblocking {
            return Err(EAGAIN);
        }
        sock.wait(|| Self::consume(sock, dev))
            .map_err(|why| match why {
                Interrupted::Signal => ERESTARTSYS,
                Interrupted::ShutDown => EFAULT,
            })
    }

    /// Is there a frame to read?
    pub(crate) fn is_readable(&self) -> bool {
        !self.ring.consumer().is_empty()
    }
}

impl sock::Operations for Queue {
    type Entry = Packet;

    fn proto() -> &'static Proto<Self> {
        &PROTO
    }

    fn peek_len(sock: &Sock<Self>) -> usize {
        if sock.device().is_none() {
            return 0;
        }
        sock.ring.consumer().peek().map_or(0, |packet| packet.len())
    }

    fn sendmsg(sock: &Sock<Self>, msg: &mut SendMsg<'_>) -> Result<usize> {
        let dev = sock.device().ok_or(EBADFD)?;
        let len = msg.len();
        if let Some(batch) = msg.take_batch() {
            Tun::write_batch(&dev, sock, batch);
            return Ok(len);
        }
        let nonblocking = msg.flags().contains(MsgFlags::DONTWAIT);
        let more = msg.flags().contains(MsgFlags::MORE);
        let (from, offer) = msg.iter_and_offer();
        Tun::write(&dev, sock, from, offer, nonblocking, more)
    }

    fn recvmsg(sock: &Sock<Self>, msg: &mut RecvMsg<'_, Packet>) -> Result<usize> {
        let dev = sock.device().ok_or(EBADFD)?;
        let flags = msg.flags();
        if flags.beyond(MsgFlags::DONTWAIT | MsgFlags::TRUNC | MsgFlags::ERRQUEUE) {
            return Err(EINVAL);
        }
        if flags.contains(MsgFlags::ERRQUEUE) {
            return sock.recv_error_queue(msg, SOL_PACKET, uapi::TUN_TX_TIMESTAMP);
        }
        if msg.iter().is_empty() {
            return Ok(0);
        }
        let packet = match msg.take_preloaded() {
            Some(packet) => packet,
            None => Self::receive(sock, &dev, flags.contains(MsgFlags::DONTWAIT))?,
        };
        let read = Tun::read(&dev, packet, msg.iter())?;
        if read > msg.len() {
            msg.set_truncated();
            if !flags.contains(MsgFlags::TRUNC) {
                return Ok(msg.len());
            }
        }
        Ok(read)
    }

    fn write_space(sock: &Sock<Self>) {
        sock.fasync.kill(Band::Out);
    }
}

/// The level of the control messages that packet sockets make: `SOL_PACKET`.
const SOL_PACKET: u32 = 263;

impl vhost::Backend for Queue {
    type RingState = Consumed;
    type File = Files;

    fn file_table() -> &'static ops::Table<Files> {
        &FILES
    }

    fn ring(&self) -> &PtrRing<Packet, Consumed> {
        &self.ring
    }

    fn consumed(sock: &Sock<Self>, ring: &mut Consumer<'_, Packet, Consumed>, taken: u32) {
        let rcu = rcu::read_lock();
        if let Some(dev) = sock.device.read(&rcu) {
            Self::wake_after(sock, dev, ring, taken);
        }
    }
}
