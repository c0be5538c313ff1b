// SPDX-License-Identifier: GPL-2.0

//! Which flow belongs to which queue.
//!
//! A queue that writes a frame of a flow gets the frames of that flow to read: the hash of a flow
//! is the same in both directions. What is not known is spread over the queues by its hash.

use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu,
        rcu_table::RcuTable,
        timer::{
            self,
            Tick,
            Timer, //
        }, //
    },
    time::{
        msecs_to_jiffies,
        Jiffies, //
    },
};

/// Hash chains.
const CHAINS: usize = 1024;
/// Flows at most. What is beyond is not remembered.
const MAX_FLOWS: usize = 4096;
/// How long a silent flow is remembered.
const AGE_MS: u32 = 3000;

/// The queue of a flow, and when it was last heard.
struct Flow {
    queue: Atomic<u32>,
    updated: Atomic<usize>,
}

/// The flows of a device.
#[pin_data]
pub(crate) struct FlowTable {
    #[pin]
    flows: RcuTable<Flow, CHAINS>,
}

impl FlowTable {
    /// An empty table, with a timer that forgets silent flows.
    pub(crate) fn new() -> impl PinInit<Timer<Self>, Error> {
        Timer::new(try_pin_init!(Self { flows <- RcuTable::new() }))
    }

    /// The queue that a flow is known to belong to.
    #[inline]
    pub(crate) fn find(&self, hash: u32) -> Option<u32> {
        let rcu = rcu::read_lock();
        self.flows
            .find(hash, &rcu)
            .map(|flow| flow.queue.load(Relaxed))
    }

    fn refresh(&self, hash: u32, queue: u32) -> bool {
        let rcu = rcu::read_lock();
        let Some(flow) = self.flows.find(hash, &rcu) else {
            return false;
        };
        if flow.queue.load(Relaxed) != queue {
            flow.queue.store(queue, Relaxed);
        }
        let now = timer::now();
        if flow.updated.load(Relaxed) != now {
            flow.updated.store(now, Relaxed);
        }
        true
    }
}

/// A queue wrote a frame of a flow. Process context or softirq.
pub(crate) fn learn(table: &Timer<FlowTable>, hash: u32, queue: u32) {
    if table.refresh(hash, queue) {
        return;
    }
    let flow = Flow {
        queue: Atomic::new(queue),
        updated: Atomic::new(timer::now()),
    };
    table.flows.insert(hash, flow, MAX_FLOWS, GFP_ATOMIC);
    if !table.is_pending() {
        table.arm(timer::round_up(timer::now() + age()));
    }
}

/// The queue, of `count`, for a flow that is not known.
#[inline]
pub(crate) fn spread(hash: u32, count: u32) -> u32 {
    ((u64::from(hash) * u64::from(count)) >> 32) as u32
}

fn age() -> Jiffies {
    msecs_to_jiffies(AGE_MS)
}

impl Tick for FlowTable {
    /// Forgets flows that have been silent, and comes again when the next may be.
    fn tick(&self) -> Option<Jiffies> {
        let now = timer::now();
        let mut oldest = 0;
        let left = self.flows.retain(|_, flow| {
            let silent = now.wrapping_sub(flow.updated.load(Relaxed));
            // An update after `now` was read makes this huge: not silent.
            let silent = if silent > usize::MAX / 2 { 0 } else { silent };
            if silent >= age() {
                return false;
            }
            oldest = oldest.max(silent);
            true
        });
        (left != 0).then(|| timer::round_up(now.wrapping_add(age() - oldest)))
    }
}
