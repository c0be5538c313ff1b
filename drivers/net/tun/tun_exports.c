// SPDX-License-Identifier: GPL-2.0
/*
 * The symbols that vhost-net takes from the tun driver. They are defined in
 * Rust, which cannot export symbols.
 */

#include <linux/export.h>
#include <linux/if_tun.h>

EXPORT_SYMBOL_GPL(tun_get_socket);
EXPORT_SYMBOL_GPL(tun_get_tx_ring);
EXPORT_SYMBOL_GPL(tun_ptr_free);
EXPORT_SYMBOL_GPL(tun_wake_queue);
