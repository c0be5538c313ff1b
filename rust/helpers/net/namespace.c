// SPDX-License-Identifier: GPL-2.0

#include <linux/nsproxy.h>
#include <net/net_namespace.h>

#ifdef CONFIG_NET

__rust_helper struct net *rust_helper_get_net(struct net *net)
{
	return get_net(net);
}

__rust_helper void rust_helper_put_net(struct net *net)
{
	put_net(net);
}

__rust_helper struct net *rust_helper_current_net(void)
{
	return current->nsproxy->net_ns;
}

#endif
