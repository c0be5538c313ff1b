// SPDX-License-Identifier: GPL-2.0

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>

#ifdef CONFIG_NET

__rust_helper struct sk_buff *rust_helper_alloc_skb(unsigned int size,
						    gfp_t gfp)
{
	return alloc_skb(size, gfp);
}

__rust_helper void rust_helper_kfree_skb_reason(struct sk_buff *skb,
						enum skb_drop_reason reason)
{
	kfree_skb_reason(skb, reason);
}

#ifndef CONFIG_TRACEPOINTS
__rust_helper void rust_helper_consume_skb(struct sk_buff *skb)
{
	consume_skb(skb);
}
#endif

__rust_helper unsigned char *rust_helper_skb_put(struct sk_buff *skb,
						 unsigned int len)
{
	return skb_put(skb, len);
}

__rust_helper void rust_helper_skb_reserve(struct sk_buff *skb, int len)
{
	skb_reserve(skb, len);
}

__rust_helper struct skb_shared_info *
rust_helper_skb_shinfo(const struct sk_buff *skb)
{
	return skb_shinfo(skb);
}

__rust_helper unsigned int rust_helper_skb_headlen(const struct sk_buff *skb)
{
	return skb_headlen(skb);
}

__rust_helper unsigned int rust_helper_skb_end_offset(const struct sk_buff *skb)
{
	return skb_end_offset(skb);
}

__rust_helper int rust_helper_pskb_trim(struct sk_buff *skb, unsigned int len)
{
	return pskb_trim(skb, len);
}

__rust_helper void rust_helper_skb_set_network_header(struct sk_buff *skb,
						      int offset)
{
	skb_set_network_header(skb, offset);
}

__rust_helper int rust_helper___skb_grow(struct sk_buff *skb, unsigned int len)
{
	return __skb_grow(skb, len);
}

__rust_helper void *rust_helper_skb_push(struct sk_buff *skb, unsigned int len)
{
	return skb_push(skb, len);
}

__rust_helper void rust_helper_skb_fill_page_desc(struct sk_buff *skb, int i,
						  struct page *page, int offset,
						  int size)
{
	skb_fill_page_desc(skb, i, page, offset, size);
}

__rust_helper const struct iovec *
rust_helper_iter_iov(const struct iov_iter *iter)
{
	return iter_iov(iter);
}

__rust_helper unsigned int rust_helper_skb_tailroom(const struct sk_buff *skb)
{
	return skb_tailroom(skb);
}

__rust_helper void rust_helper_skb_queue_head_init(struct sk_buff_head *list)
{
	skb_queue_head_init(list);
}

__rust_helper void rust_helper___skb_queue_tail(struct sk_buff_head *list,
						struct sk_buff *skb)
{
	__skb_queue_tail(list, skb);
}

__rust_helper void
rust_helper___skb_queue_head_init(struct sk_buff_head *list)
{
	__skb_queue_head_init(list);
}

__rust_helper struct sk_buff *
rust_helper___skb_dequeue(struct sk_buff_head *list)
{
	return __skb_dequeue(list);
}

__rust_helper void rust_helper_skb_queue_splice(const struct sk_buff_head *list,
						struct sk_buff_head *head)
{
	skb_queue_splice(list, head);
}

__rust_helper void
rust_helper_skb_queue_splice_tail_init(struct sk_buff_head *list,
				       struct sk_buff_head *head)
{
	skb_queue_splice_tail_init(list, head);
}

__rust_helper void rust_helper_skb_queue_purge(struct sk_buff_head *list)
{
	skb_queue_purge(list);
}

__rust_helper bool rust_helper_pskb_may_pull(struct sk_buff *skb,
					     unsigned int len)
{
	return pskb_may_pull(skb, len);
}

__rust_helper int rust_helper_skb_orphan_frags_rx(struct sk_buff *skb,
						  gfp_t gfp)
{
	return skb_orphan_frags_rx(skb, gfp);
}

__rust_helper void rust_helper_skb_zcopy_init(struct sk_buff *skb,
					      struct ubuf_info *uarg)
{
	skb_zcopy_init(skb, uarg);
}

__rust_helper int rust_helper_zerocopy_sg_from_iter(struct sk_buff *skb,
						    struct iov_iter *from)
{
	return zerocopy_sg_from_iter(skb, from);
}

__rust_helper void rust_helper_skb_tx_timestamp(struct sk_buff *skb)
{
	skb_tx_timestamp(skb);
}

__rust_helper void rust_helper_skb_orphan(struct sk_buff *skb)
{
	skb_orphan(skb);
}

__rust_helper void rust_helper_nf_reset_ct(struct sk_buff *skb)
{
	nf_reset_ct(skb);
}

__rust_helper void rust_helper_skb_reset_network_header(struct sk_buff *skb)
{
	skb_reset_network_header(skb);
}

__rust_helper void rust_helper_skb_probe_transport_header(struct sk_buff *skb)
{
	skb_probe_transport_header(skb);
}

__rust_helper void rust_helper_skb_record_rx_queue(struct sk_buff *skb,
						   u16 index)
{
	skb_record_rx_queue(skb, index);
}

__rust_helper u16 rust_helper_skb_get_queue_mapping(const struct sk_buff *skb)
{
	return skb_get_queue_mapping(skb);
}

__rust_helper u32 rust_helper___skb_get_hash_symmetric(const struct sk_buff *skb)
{
	return __skb_get_hash_symmetric(skb);
}

__rust_helper bool rust_helper_skb_vlan_tag_present(const struct sk_buff *skb)
{
	return skb_vlan_tag_present(skb);
}

__rust_helper u16 rust_helper_skb_vlan_tag_get(const struct sk_buff *skb)
{
	return skb_vlan_tag_get(skb);
}

__rust_helper __be16 rust_helper_skb_protocol_get(const struct sk_buff *skb)
{
	return skb->protocol;
}

__rust_helper __be16 rust_helper_skb_vlan_proto_get(const struct sk_buff *skb)
{
	return skb->vlan_proto;
}

__rust_helper void rust_helper_skb_protocol_set(struct sk_buff *skb,
						__be16 proto)
{
	skb->protocol = proto;
}

__rust_helper size_t rust_helper_net_skb_pad(void)
{
	return NET_SKB_PAD;
}

__rust_helper size_t rust_helper_net_ip_align(void)
{
	return NET_IP_ALIGN;
}

__rust_helper size_t rust_helper_skb_max_head(size_t headroom)
{
	return SKB_MAX_HEAD(headroom);
}

#endif
