// SPDX-License-Identifier: GPL-2.0

#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <net/gro.h>

#ifdef CONFIG_NET

__rust_helper void *rust_helper_netdev_priv(const struct net_device *dev)
{
	return netdev_priv(dev);
}

__rust_helper void rust_helper_dev_hold(struct net_device *dev)
{
	dev_hold(dev);
}

__rust_helper void rust_helper_dev_put(struct net_device *dev)
{
	dev_put(dev);
}

__rust_helper struct net *rust_helper_dev_net(const struct net_device *dev)
{
	return dev_net(dev);
}

__rust_helper void rust_helper_dev_net_set(struct net_device *dev,
					   struct net *net)
{
	dev_net_set(dev, net);
}

__rust_helper bool rust_helper_netif_running(const struct net_device *dev)
{
	return netif_running(dev);
}

__rust_helper bool rust_helper_netif_carrier_ok(const struct net_device *dev)
{
	return netif_carrier_ok(dev);
}

__rust_helper void rust_helper_eth_hw_addr_random(struct net_device *dev)
{
	eth_hw_addr_random(dev);
}

__rust_helper void rust_helper_unregister_netdevice(struct net_device *dev)
{
	unregister_netdevice(dev);
}

__rust_helper void rust_helper_dev_sw_netstats_rx_add(struct net_device *dev,
						      unsigned int len)
{
	dev_sw_netstats_rx_add(dev, len);
}

__rust_helper void rust_helper_dev_sw_netstats_tx_add(struct net_device *dev,
						      unsigned int packets,
						      unsigned int len)
{
	dev_sw_netstats_tx_add(dev, packets, len);
}

__rust_helper void
rust_helper_dev_core_stats_rx_dropped_inc(struct net_device *dev)
{
	dev_core_stats_rx_dropped_inc(dev);
}

__rust_helper void
rust_helper_dev_core_stats_tx_dropped_inc(struct net_device *dev)
{
	dev_core_stats_tx_dropped_inc(dev);
}

__rust_helper void
rust_helper_netif_napi_add_tx(struct net_device *dev, struct napi_struct *napi,
			      int (*poll)(struct napi_struct *, int))
{
	netif_napi_add_tx(dev, napi, poll);
}

__rust_helper void rust_helper_netif_napi_del(struct napi_struct *napi)
{
	netif_napi_del(napi);
}

__rust_helper gro_result_t rust_helper_napi_gro_receive(struct napi_struct *napi,
							struct sk_buff *skb)
{
	return napi_gro_receive(napi, skb);
}

__rust_helper size_t rust_helper_gro_max_head(void)
{
	return GRO_MAX_HEAD;
}

__rust_helper bool rust_helper_napi_complete(struct napi_struct *napi)
{
	return napi_complete(napi);
}

__rust_helper bool rust_helper_napi_schedule(struct napi_struct *napi)
{
	return napi_schedule(napi);
}

__rust_helper int rust_helper_notifier_to_errno(int ret)
{
	return notifier_to_errno(ret);
}

__rust_helper void rust_helper_preempt_disable(void)
{
	preempt_disable();
}

__rust_helper void rust_helper_preempt_enable(void)
{
	preempt_enable();
}

#endif
