// SPDX-License-Identifier: GPL-2.0

#include <linux/netdevice.h>

#ifdef CONFIG_NET

__rust_helper struct net_device *rust_helper_netdev_notifier_info_to_dev(void *ptr)
{
	return netdev_notifier_info_to_dev(ptr);
}

#endif
