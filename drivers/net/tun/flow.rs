// SPDX-License-Identifier: GPL-2.0

//! Which flow belongs to which queue.
//!
//! A queue that writes a frame of a flow gets the frames of that flow to read: the hash of a flow
//! is the same in both directions. What is not known is spread over the queues by its hash.

use kernel::{
    net::rps,
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
    /// The hash by which the stack steers the flow, once a frame of it was transmitted.
    steered: Atomic<u32>,
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

    /// The queue that a flow is known to belong to, a frame of which is transmitted.
    #[inline]
    pub(crate) fn find(&self, hash: u32) -> Option<u32> {
        let rcu = rcu::read_lock();
        let flow = self.flows.find(hash, &rcu)?;
        if flow.steered.load(Relaxed) != hash {
            flow.steered.store(hash, Relaxed);
        }
        Some(flow.queue.load(Relaxed))
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
        rps::record_flow(flow.steered.load(Relaxed));
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
        steered: Atomic::new(0),
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

#[kunit_tests(rust_tun_flow)]
mod tests {
    use super::*;

    #[test]
    fn spread_covers_every_queue_evenly() {
        for count in [1_u32, 2, 3, 7, 256] {
            let step = u32::MAX / count;
            for queue in 0..count {
                assert_eq!(spread(queue * step + step / 2, count), queue);
            }
            assert_eq!(spread(0, count), 0);
            assert_eq!(spread(u32::MAX, count), count - 1);
        }
    }

    #[test]
    fn a_flow_is_where_it_was_last_heard() -> Result {
        let table = KBox::pin_init(FlowTable::new(), GFP_KERNEL)?;
        assert_eq!(table.find(7), None);
        learn(&table, 7, 1);
        learn(&table, 7 + CHAINS as u32, 2);
        assert_eq!(table.find(7), Some(1));
        assert_eq!(table.find(7 + CHAINS as u32), Some(2));
        learn(&table, 7, 3);
        assert_eq!(table.find(7), Some(3));
        assert_eq!(table.flows.len(), 2);
        Ok(())
    }

    #[test]
    fn the_table_has_an_end() -> Result {
        let table = KBox::pin_init(FlowTable::new(), GFP_KERNEL)?;
        for hash in 0..MAX_FLOWS as u32 + 10 {
            learn(&table, hash, 0);
        }
        assert_eq!(table.flows.len(), MAX_FLOWS);
        assert_eq!(table.find(MAX_FLOWS as u32), None);
        // What is known can still move.
        learn(&table, 0, 5);
        assert_eq!(table.find(0), Some(5));
        Ok(())
    }

    #[test]
    fn the_silent_are_forgotten() -> Result {
        let table = KBox::pin_init(FlowTable::new(), GFP_KERNEL)?;
        learn(&table, 1, 0);
        assert!(table.is_pending());
        let flow = Flow {
            queue: Atomic::new(0),
            steered: Atomic::new(0),
            updated: Atomic::new(timer::now().wrapping_sub(age())),
        };
        assert!(table.flows.insert(2, flow, MAX_FLOWS, GFP_KERNEL));
        // One is left, so there is a next time.
        assert!(table.tick().is_some());
        assert_eq!(table.find(1), Some(0));
        assert_eq!(table.find(2), None);
        Ok(())
    }
}
