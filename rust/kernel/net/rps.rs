// SPDX-License-Identifier: GPL-2.0

//! Receive packet steering: which CPU handles what a flow receives.
//!
//! C header: [`include/net/rps.h`](srctree/include/net/rps.h)

use crate::bindings;

/// Does anything use it at present? A patched branch, free where nothing does.
#[inline]
pub fn is_needed() -> bool {
    // SAFETY: No precondition.
    unsafe { bindings::rps_is_needed() }
}

/// What the flow with this hash receives is wanted on this CPU. 0 is no hash.
///
/// # Examples
///
/// ```
/// use kernel::net::rps;
///
/// // Nobody has asked for it, and so nothing is recorded.
/// rps::record_flow(0);
/// ```
#[inline]
pub fn record_flow(hash: u32) {
    // SAFETY: No precondition; the table is read under RCU.
    unsafe { bindings::sock_rps_record_flow_hash(hash) }
}
