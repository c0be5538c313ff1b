// SPDX-License-Identifier: GPL-2.0

#include <linux/virtio_net.h>

#ifdef CONFIG_NET

__rust_helper int
rust_helper_virtio_net_hdr_tnl_to_skb(struct sk_buff *skb,
				      const struct virtio_net_hdr_v1_hash_tunnel *hdr,
				      bool tnl_negotiated,
				      bool tnl_csum_negotiated,
				      bool little_endian)
{
	return virtio_net_hdr_tnl_to_skb(skb, hdr, tnl_negotiated,
					 tnl_csum_negotiated, little_endian);
}

__rust_helper int
rust_helper_virtio_net_hdr_tnl_from_skb(const struct sk_buff *skb,
					struct virtio_net_hdr_v1_hash_tunnel *hdr,
					bool tnl_negotiated, bool little_endian,
					int vlan_hlen, bool has_data_valid,
					bool feature_hdrlen)
{
	return virtio_net_hdr_tnl_from_skb(skb, hdr, tnl_negotiated,
					   little_endian, vlan_hlen,
					   has_data_valid, feature_hdrlen);
}

#endif
