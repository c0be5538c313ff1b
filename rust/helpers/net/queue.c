// SPDX-License-Identifier: GPL-2.0

#include <linux/netdevice.h>
#include <net/sch_generic.h>

#ifdef CONFIG_NET

__rust_helper struct netdev_queue *
rust_helper_netdev_get_tx_queue(const struct net_device *dev,
				unsigned int index)
{
	return netdev_get_tx_queue(dev, index);
}

__rust_helper void rust_helper_netif_tx_stop_queue(struct netdev_queue *txq)
{
	netif_tx_stop_queue(txq);
}

__rust_helper bool
rust_helper_netif_tx_queue_stopped(const struct netdev_queue *txq)
{
	return netif_tx_queue_stopped(txq);
}

__rust_helper bool
rust_helper_qdisc_txq_has_no_queue(const struct netdev_queue *txq)
{
	return qdisc_txq_has_no_queue(txq);
}

__rust_helper void
rust_helper_txq_trans_cond_update(struct netdev_queue *txq)
{
	txq_trans_cond_update(txq);
}

__rust_helper void rust_helper_netif_tx_start_all_queues(struct net_device *dev)
{
	netif_tx_start_all_queues(dev);
}

__rust_helper void rust_helper_smp_mb__after_atomic(void)
{
	/* Paired by the caller: see net/queue.rs. */
	smp_mb__after_atomic();
}

#endif
