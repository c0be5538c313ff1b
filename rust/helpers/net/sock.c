// SPDX-License-Identifier: GPL-2.0

#include <linux/sched/signal.h>
#include <net/sock.h>
#include <net/xdp.h>

#ifdef CONFIG_NET

__rust_helper void rust_helper_sock_hold(struct sock *sk)
{
	sock_hold(sk);
}

__rust_helper void rust_helper_sock_put(struct sock *sk)
{
	sock_put(sk);
}

__rust_helper struct net *rust_helper_sock_net(const struct sock *sk)
{
	return sock_net(sk);
}

__rust_helper wait_queue_head_t *rust_helper_sk_sleep(struct sock *sk)
{
	return sk_sleep(sk);
}

__rust_helper void rust_helper_sk_data_ready(struct sock *sk)
{
	sk->sk_data_ready(sk);
}

__rust_helper void rust_helper_sk_write_space(struct sock *sk)
{
	sk->sk_write_space(sk);
}

__rust_helper bool rust_helper_sock_writeable(const struct sock *sk)
{
	return sock_writeable(sk);
}

__rust_helper void rust_helper_sock_set_zerocopy(struct sock *sk)
{
	sock_set_flag(sk, SOCK_ZEROCOPY);
}

__rust_helper bool rust_helper_sock_test_and_set_nospace(struct socket *sock)
{
	return test_and_set_bit(SOCKWQ_ASYNC_NOSPACE, &sock->flags);
}

__rust_helper bool rust_helper_sock_test_and_clear_nospace(struct socket *sock)
{
	return test_and_clear_bit(SOCKWQ_ASYNC_NOSPACE, &sock->flags);
}

__rust_helper void rust_helper_wake_up_pollers_sync(wait_queue_head_t *wq,
						    __poll_t mask)
{
	/* A poller looks again after it is on the queue: see sock.rs. */
	if (wq && waitqueue_active(wq))
		wake_up_interruptible_sync_poll(wq, mask);
}

__rust_helper void rust_helper_init_socket_wait(struct socket *sock)
{
	init_waitqueue_head(&sock->wq.wait);
}

__rust_helper void rust_helper_init_wait_current(struct wait_queue_entry *wait)
{
	init_waitqueue_entry(wait, current);
}

__rust_helper void rust_helper_set_current_interruptible(void)
{
	set_current_state(TASK_INTERRUPTIBLE);
}

__rust_helper void rust_helper_set_current_running(void)
{
	__set_current_state(TASK_RUNNING);
}

__rust_helper int rust_helper_current_signal_pending(void)
{
	return signal_pending(current);
}

__rust_helper void rust_helper_lock_sock(struct sock *sk)
{
	lock_sock(sk);
}

__rust_helper void rust_helper_sk_error_queue_purge(struct sock *sk)
{
	skb_queue_purge(&sk->sk_error_queue);
}

__rust_helper void rust_helper_sk_write_queue_purge(struct sock *sk)
{
	skb_queue_purge(&sk->sk_write_queue);
}

__rust_helper void rust_helper_ubuf_complete_copied(struct ubuf_info *uarg)
{
	uarg->ops->complete(NULL, uarg, false);
}

__rust_helper struct sk_buff *
rust_helper_xdp_buff_build_skb(const struct xdp_buff *xdp)
{
	struct sk_buff *skb = build_skb(xdp->data_hard_start, xdp->frame_sz);

	if (skb) {
		skb_reserve(skb, xdp->data - xdp->data_hard_start);
		skb_put(skb, xdp->data_end - xdp->data);
	}
	return skb;
}

__rust_helper void rust_helper_xdp_buff_free_frag(const struct xdp_buff *xdp)
{
	put_page(virt_to_head_page(xdp->data));
}

/*
 * Builds in the page fragment of the task. Returns NULL with *err 0, having
 * read nothing, if the frame and XDP headroom do not fit a page.
 */
__rust_helper struct sk_buff *rust_helper_sock_build_skb(struct sock *sk,
							 struct iov_iter *from,
							 size_t len, int *err)
{
	const int pad = NET_SKB_PAD + NET_IP_ALIGN;
	const size_t shinfo = SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct page_frag *frag = &current->task_frag;
	size_t buflen = SKB_DATA_ALIGN(len + pad) + shinfo;
	struct sk_buff *skb;
	char *buf;

	*err = 0;
	if (len > PAGE_SIZE ||
	    SKB_DATA_ALIGN(len + pad + XDP_PACKET_HEADROOM) + shinfo > PAGE_SIZE)
		return NULL;

	frag->offset = ALIGN((u64)frag->offset, SMP_CACHE_BYTES);
	*err = -ENOMEM;
	if (unlikely(!skb_page_frag_refill(buflen, frag, GFP_KERNEL)))
		return NULL;

	buf = (char *)page_address(frag->page) + frag->offset;
	if (copy_page_from_iter(frag->page, frag->offset + pad, len, from) !=
	    len) {
		*err = -EFAULT;
		return NULL;
	}

	skb = build_skb(buf, buflen);
	if (unlikely(!skb))
		return NULL;
	get_page(frag->page);
	frag->offset += buflen;
	skb_reserve(skb, pad);
	skb_put(skb, len);
	skb_set_owner_w(skb, sk);
	return skb;
}

#endif
