// SPDX-License-Identifier: GPL-2.0

#include <linux/filter.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <net/xdp.h>
#include <trace/events/xdp.h>

#ifdef CONFIG_NET

__rust_helper int rust_helper_xdp_rxq_info_reg(struct xdp_rxq_info *rxq,
					       struct net_device *dev,
					       u32 index, unsigned int napi_id)
{
	return xdp_rxq_info_reg(rxq, dev, index, napi_id);
}

__rust_helper void rust_helper_xdp_init_buff(struct xdp_buff *xdp,
					     u32 frame_sz,
					     struct xdp_rxq_info *rxq)
{
	xdp_init_buff(xdp, frame_sz, rxq);
}

__rust_helper void rust_helper_xdp_prepare_buff(struct xdp_buff *xdp,
						unsigned char *hard_start,
						int headroom, int len,
						bool meta_valid)
{
	xdp_prepare_buff(xdp, hard_start, headroom, len, meta_valid);
}

__rust_helper u32 rust_helper_bpf_prog_run_xdp(const struct bpf_prog *prog,
					       struct xdp_buff *xdp)
{
	return bpf_prog_run_xdp(prog, xdp);
}

__rust_helper struct xdp_frame *
rust_helper_xdp_convert_buff_to_frame(struct xdp_buff *xdp)
{
	return xdp_convert_buff_to_frame(xdp);
}

__rust_helper void rust_helper_trace_xdp_exception(const struct net_device *dev,
						   const struct bpf_prog *prog,
						   u32 act)
{
	trace_xdp_exception(dev, prog, act);
}

__rust_helper struct bpf_net_context *
rust_helper_bpf_net_ctx_set(struct bpf_net_context *ctx)
{
	return bpf_net_ctx_set(ctx);
}

__rust_helper void rust_helper_bpf_net_ctx_clear(struct bpf_net_context *ctx)
{
	bpf_net_ctx_clear(ctx);
}

__rust_helper struct page_frag *rust_helper_current_task_frag(void)
{
	return &current->task_frag;
}

__rust_helper void rust_helper_frag_get_page(struct page *page)
{
	get_page(page);
}

__rust_helper void rust_helper_frag_put_page(struct page *page)
{
	put_page(page);
}

__rust_helper struct page *rust_helper_virt_to_head_page(const void *addr)
{
	return virt_to_head_page(addr);
}

__rust_helper void *rust_helper_frag_page_address(const struct page *page)
{
	return page_address(page);
}

__rust_helper void rust_helper_skb_metadata_set(struct sk_buff *skb, u8 len)
{
	skb_metadata_set(skb, len);
}

/* What build_skb() takes for itself behind @len bytes. */
__rust_helper size_t rust_helper_skb_data_align(size_t len)
{
	return SKB_DATA_ALIGN(len);
}

__rust_helper size_t rust_helper_skb_shared_info_size(void)
{
	return SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
}

#endif
