// SPDX-License-Identifier: GPL-2.0
/*
 * The socket behind a file of the TUN/TAP device driver, used as vhost-net does:
 * batches of frames in page fragments, offered pages, entries of the ring that
 * were taken before. Knows neither driver.
 */

#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>
#include <net/xdp.h>

#include "tun_test.h"

#define TAP	(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
#define HEAD	256

static struct socket *tun_vhost_socket(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct socket *sock = tun_get_socket(t->files[0]);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sock);
	return sock;
}

static struct rtnl_link_stats64 tun_vhost_stats(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct rtnl_link_stats64 stats;

	return *dev_get_stats(t->dev, &stats);
}

/* A page with a header, and a frame of @len behind it; one count is the caller's. */
static struct page *tun_vhost_page(struct kunit *test, struct xdp_buff *xdp, int len)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	u8 *start;

	KUNIT_ASSERT_NOT_NULL(test, page);
	start = page_address(page);
	xdp_init_buff(xdp, PAGE_SIZE, NULL);
	xdp_prepare_buff(xdp, start, HEAD, len, false);
	memset(start + HEAD, 0xff, 6);
	start[HEAD + 12] = 0x88;
	start[HEAD + 13] = 0xb5;
	get_page(page);
	return page;
}

static int tun_vhost_send(struct kunit *test, struct xdp_buff *xdp, int n)
{
	struct socket *sock = tun_vhost_socket(test);
	struct tun_msg_ctl ctl = { .type = TUN_MSG_PTR, .num = n, .ptr = xdp };
	struct msghdr msg = { .msg_control = &ctl, .msg_controllen = sizeof(ctl) };

	return sock->ops->sendmsg(sock, &msg, 0);
}

static void tun_vhost_batch(struct kunit *test)
{
	struct xdp_buff xdp[3];
	struct page *pages[3];
	int i;

	tun_test_create(test, TAP, 4);
	for (i = 0; i < 3; i++)
		pages[i] = tun_vhost_page(test, &xdp[i], 60 + i);
	KUNIT_EXPECT_EQ(test, 0, tun_vhost_send(test, xdp, 3));
	KUNIT_EXPECT_EQ(test, 3, tun_vhost_stats(test).rx_packets);
	KUNIT_EXPECT_EQ(test, 183, tun_vhost_stats(test).rx_bytes);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 1, page_count(pages[i]));
		put_page(pages[i]);
	}
}

/* One that is too short does not hold the others up, and does not leak. */
static void tun_vhost_short_frame(struct kunit *test)
{
	struct xdp_buff xdp[3];
	struct page *pages[3];
	int i;

	tun_test_create(test, TAP, 4);
	for (i = 0; i < 3; i++)
		pages[i] = tun_vhost_page(test, &xdp[i], i == 1 ? 13 : 60);
	KUNIT_EXPECT_EQ(test, 0, tun_vhost_send(test, xdp, 3));
	KUNIT_EXPECT_EQ(test, 2, tun_vhost_stats(test).rx_packets);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 1, page_count(pages[i]));
		put_page(pages[i]);
	}
}

static void tun_vhost_bad_header(struct kunit *test)
{
	struct virtio_net_hdr *hdr;
	struct xdp_buff xdp[2];
	struct page *pages[2];
	int i;

	tun_test_create(test, TAP, 4);
	for (i = 0; i < 2; i++)
		pages[i] = tun_vhost_page(test, &xdp[i], 60);
	hdr = xdp[0].data_hard_start;
	hdr->gso_type = 0x7f;
	hdr->gso_size = 100;
	KUNIT_EXPECT_EQ(test, 0, tun_vhost_send(test, xdp, 2));
	KUNIT_EXPECT_EQ(test, 1, tun_vhost_stats(test).rx_packets);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 1, page_count(pages[i]));
		put_page(pages[i]);
	}
}

/* A queue whose NAPI takes the batch, in one poll. */
static void tun_vhost_batch_napi(struct kunit *test)
{
	struct xdp_buff xdp[2];
	struct page *pages[2];
	int i;

	tun_test_create(test, TAP | IFF_NAPI, 4);
	for (i = 0; i < 2; i++)
		pages[i] = tun_vhost_page(test, &xdp[i], 60);
	KUNIT_EXPECT_EQ(test, 0, tun_vhost_send(test, xdp, 2));
	KUNIT_EXPECT_EQ(test, 2, tun_vhost_stats(test).rx_packets);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 1, page_count(pages[i]));
		put_page(pages[i]);
	}
}

static int tun_vhost_write(struct kunit *test, int len, int flags,
			   struct tun_msg_ctl *ctl)
{
	struct socket *sock = tun_vhost_socket(test);
	struct tun_test *t = test->priv;
	struct msghdr msg = { .msg_flags = flags, .msg_control = ctl };

	iov_iter_ubuf(&msg.msg_iter, ITER_SOURCE, (void __user *)t->user, len);
	return sock->ops->sendmsg(sock, &msg, len);
}

/* A frame of @len with an empty header, in user memory. */
static void tun_vhost_user_frame(struct kunit *test, int len)
{
	struct tun_test *t = test->priv;
	u8 *buf = kunit_kzalloc(test, len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf + sizeof(struct virtio_net_hdr), 0xff, 12);
	buf[sizeof(struct virtio_net_hdr) + 12] = 0x88;
	buf[sizeof(struct virtio_net_hdr) + 13] = 0xb5;
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)t->user, buf, len));
}

static void tun_vhost_single(struct kunit *test)
{
	struct socket *sock;

	tun_test_create(test, TAP, 4);
	sock = tun_vhost_socket(test);
	KUNIT_EXPECT_EQ(test, INT_MAX, sock->sk->sk_sndbuf);
	KUNIT_EXPECT_TRUE(test, sock_flag(sock->sk, SOCK_ZEROCOPY));
	KUNIT_EXPECT_FALSE(test, sock_flag(sock->sk, SOCK_XDP));
	KUNIT_EXPECT_PTR_EQ(test, sock, sock->sk->sk_socket);
	KUNIT_EXPECT_NULL(test, sock->ops->release);
	KUNIT_EXPECT_NULL(test, sock->ops->bind);
	tun_vhost_user_frame(test, 200);
	KUNIT_EXPECT_EQ(test, 200, tun_vhost_write(test, 200, MSG_DONTWAIT, NULL));
	KUNIT_EXPECT_EQ(test, 200, tun_vhost_write(test, 200, 0, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, tun_vhost_write(test, 20, MSG_DONTWAIT, NULL));
	KUNIT_EXPECT_EQ(test, 2, tun_vhost_stats(test).rx_packets);
}

static int tun_vhost_received;

static rx_handler_result_t tun_vhost_handler(struct sk_buff **pskb)
{
	tun_vhost_received++;
	kfree_skb(*pskb);
	return RX_HANDLER_CONSUMED;
}

/* While more is announced, frames wait until there are as many as are wanted. */
static void tun_vhost_more(struct kunit *test)
{
	struct ethtool_coalesce coalesce = { .rx_max_coalesced_frames = 3 };
	struct tun_test *t = test->priv;
	struct net_device *dev;
	int i;

	dev = tun_test_create(test, TAP, 4);
	tun_vhost_received = 0;
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, 0, netdev_rx_handler_register(dev, tun_vhost_handler, NULL));
	dev->ethtool_ops->set_coalesce(dev, &coalesce, NULL, NULL);
	rtnl_unlock();
	tun_vhost_user_frame(test, 200);
	for (i = 0; i < 3; i++)
		tun_vhost_write(test, 200, MSG_DONTWAIT | MSG_MORE, NULL);
	KUNIT_EXPECT_EQ(test, 0, tun_vhost_received);
	tun_vhost_write(test, 200, MSG_DONTWAIT | MSG_MORE, NULL);
	KUNIT_EXPECT_EQ(test, 4, tun_vhost_received);
	tun_vhost_write(test, 200, MSG_DONTWAIT | MSG_MORE, NULL);
	KUNIT_EXPECT_EQ(test, 4, tun_vhost_received);
	tun_vhost_write(test, 200, MSG_DONTWAIT, NULL);
	KUNIT_EXPECT_EQ(test, 6, tun_vhost_received);
	tun_vhost_write(test, 200, MSG_DONTWAIT, NULL);
	KUNIT_EXPECT_EQ(test, 7, tun_vhost_received);
	/* One is left when the file closes. */
	tun_vhost_write(test, 200, MSG_DONTWAIT | MSG_MORE, NULL);
	rtnl_lock();
	netdev_rx_handler_unregister(dev);
	rtnl_unlock();
	dev_put(t->dev);
	t->dev = NULL;
}

static int tun_vhost_completed;

static void tun_vhost_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool success)
{
	tun_vhost_completed++;
}

static const struct ubuf_info_ops tun_vhost_ubuf_ops = {
	.complete = tun_vhost_complete,
};

/* Pages that are offered: told once whatever comes of the frame, or not at all. */
static void tun_vhost_offer(struct kunit *test)
{
	struct ubuf_info ubuf = {
		.ops = &tun_vhost_ubuf_ops, .refcnt = REFCOUNT_INIT(1),
		.flags = SKBFL_ZEROCOPY_FRAG,
	};
	struct tun_msg_ctl ctl = { .type = TUN_MSG_UBUF, .ptr = &ubuf };

	tun_test_create(test, TAP, 4);
	tun_vhost_user_frame(test, 2000);
	tun_vhost_completed = 0;
	KUNIT_EXPECT_EQ(test, 2000, tun_vhost_write(test, 2000, MSG_DONTWAIT, &ctl));
	KUNIT_EXPECT_EQ(test, 1, tun_vhost_completed);
	KUNIT_EXPECT_EQ(test, -EINVAL, tun_vhost_write(test, 20, MSG_DONTWAIT, &ctl));
	KUNIT_EXPECT_EQ(test, 1, tun_vhost_completed);
	tun_test_up(test, false);
	KUNIT_EXPECT_EQ(test, -EIO, tun_vhost_write(test, 2000, MSG_DONTWAIT, &ctl));
	KUNIT_EXPECT_EQ(test, 2, tun_vhost_completed);
	KUNIT_EXPECT_EQ(test, 1, tun_vhost_stats(test).rx_packets);
}

static int tun_vhost_read(struct kunit *test, void *ptr, int room, int asked, int flags,
			  int *out)
{
	struct socket *sock = tun_vhost_socket(test);
	struct tun_test *t = test->priv;
	struct msghdr msg = { .msg_control = ptr };
	int ret;

	iov_iter_ubuf(&msg.msg_iter, ITER_DEST, (void __user *)t->user, room);
	ret = sock->ops->recvmsg(sock, &msg, asked, flags);
	if (out)
		*out = msg.msg_flags;
	return ret;
}

static void tun_vhost_receive(struct kunit *test)
{
	int flags;

	tun_test_create(test, TUN_TEST_BP, 4);
	KUNIT_EXPECT_EQ(test, -EAGAIN, tun_vhost_read(test, NULL, 200, 200, MSG_DONTWAIT, NULL));
	KUNIT_EXPECT_EQ(test, -EAGAIN, tun_vhost_read(test, NULL, 200, 200, MSG_ERRQUEUE, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, tun_vhost_read(test, NULL, 200, 200, MSG_PEEK, NULL));
	tun_test_xmit(test, 0);
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_vhost_read(test, NULL, 200, 200, 0, &flags));
	KUNIT_EXPECT_EQ(test, 0, flags & MSG_TRUNC);
	tun_test_xmit(test, 0);
	KUNIT_EXPECT_EQ(test, 50, tun_vhost_read(test, NULL, 200, 50, 0, &flags));
	KUNIT_EXPECT_EQ(test, MSG_TRUNC, flags & MSG_TRUNC);
	tun_test_xmit(test, 0);
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN,
			tun_vhost_read(test, NULL, 50, 50, MSG_TRUNC, &flags));
	KUNIT_EXPECT_EQ(test, MSG_TRUNC, flags & MSG_TRUNC);
}

static int tun_vhost_freed;

static void tun_vhost_destructor(struct sk_buff *skb)
{
	tun_vhost_freed++;
}

/* An entry of the ring, as vhost-net takes it. */
static void *tun_vhost_entry(struct kunit *test)
{
	struct sk_buff *skb;

	tun_test_xmit(test, 0);
	skb = ptr_ring_consume(tun_test_ring(test, 0));
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_FALSE(test, tun_is_xdp_frame(skb));
	skb->destructor = tun_vhost_destructor;
	return skb;
}

/* It comes with its ownership, and goes on every way out. */
static void tun_vhost_preloaded(struct kunit *test)
{
	void *last;

	tun_test_create(test, TUN_TEST_BP, 4);
	tun_vhost_freed = 0;
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN,
			tun_vhost_read(test, tun_vhost_entry(test), 200, 200, 0, NULL));
	KUNIT_EXPECT_EQ(test, 1, tun_vhost_freed);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			tun_vhost_read(test, tun_vhost_entry(test), 200, 200, MSG_PEEK, NULL));
	KUNIT_EXPECT_EQ(test, 2, tun_vhost_freed);
	KUNIT_EXPECT_EQ(test, 0, tun_vhost_read(test, tun_vhost_entry(test), 0, 0, 0, NULL));
	KUNIT_EXPECT_EQ(test, 3, tun_vhost_freed);
	last = tun_vhost_entry(test);
	tun_test_delete(test);
	KUNIT_EXPECT_EQ(test, -EBADFD, tun_vhost_read(test, last, 200, 200, 0, NULL));
	KUNIT_EXPECT_EQ(test, 4, tun_vhost_freed);
}

/* A frame without a socket buffer: the header's own functions tell it and free it. */
static void tun_vhost_frame(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct xdp_frame *frame;
	struct page *page;
	void *ptr;

	tun_test_create(test, IFF_TAP | IFF_NO_PI | IFF_BACKPRESSURE, 4);
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, page);
	frame = page_address(page);
	frame->data = frame + 1;
	frame->len = TUN_TEST_LEN;
	frame->frame_sz = PAGE_SIZE;
	frame->mem_type = MEM_TYPE_PAGE_SHARED;
	local_bh_disable();
	rcu_read_lock();
	KUNIT_EXPECT_EQ(test, 1, t->dev->netdev_ops->ndo_xdp_xmit(t->dev, 1, &frame,
								  XDP_XMIT_FLUSH));
	rcu_read_unlock();
	local_bh_enable();
	ptr = ptr_ring_consume(tun_test_ring(test, 0));
	KUNIT_ASSERT_TRUE(test, tun_is_xdp_frame(ptr));
	KUNIT_EXPECT_PTR_EQ(test, frame, tun_ptr_to_xdp(ptr));
	KUNIT_EXPECT_PTR_EQ(test, ptr, tun_xdp_to_ptr(frame));
	get_page(page);
	tun_ptr_free(ptr);
	KUNIT_EXPECT_EQ(test, 1, page_count(page));
	put_page(page);
}

/* What waits in the error queue goes with the device, as the ring's frames do. */
static void tun_vhost_errors(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct socket *sock;
	struct sk_buff *skb;

	tun_test_create(test, TUN_TEST_BP, 4);
	sock = tun_get_socket(t->files[0]);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sock);
	skb = alloc_skb(64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	tun_vhost_freed = 0;
	skb->destructor = tun_vhost_destructor;
	skb_queue_tail(&sock->sk->sk_error_queue, skb);
	tun_test_delete(test);
	KUNIT_EXPECT_EQ(test, 1, tun_vhost_freed);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&sock->sk->sk_error_queue));
}

static void tun_vhost_unattached(struct kunit *test)
{
	struct xdp_buff xdp;
	struct page *page;

	tun_test_open(test, 0);
	page = tun_vhost_page(test, &xdp, 60);
	/* Then the pages stay vhost-net's. */
	KUNIT_EXPECT_EQ(test, -EBADFD, tun_vhost_send(test, &xdp, 1));
	KUNIT_EXPECT_EQ(test, 2, page_count(page));
	put_page(page);
	put_page(page);
	KUNIT_EXPECT_EQ(test, -EBADFD, tun_vhost_read(test, NULL, 200, 200, 0, NULL));
}

static struct kunit_case tun_vhost_cases[] = {
	KUNIT_CASE(tun_vhost_frame),
	KUNIT_CASE(tun_vhost_errors),
	KUNIT_CASE(tun_vhost_unattached),
	KUNIT_CASE(tun_vhost_batch),
	KUNIT_CASE(tun_vhost_batch_napi),
	KUNIT_CASE(tun_vhost_short_frame),
	KUNIT_CASE(tun_vhost_bad_header),
	KUNIT_CASE(tun_vhost_single),
	KUNIT_CASE(tun_vhost_more),
	KUNIT_CASE(tun_vhost_offer),
	KUNIT_CASE(tun_vhost_receive),
	KUNIT_CASE(tun_vhost_preloaded),
	{}
};

static struct kunit_suite tun_vhost_suite = {
	.name = "tun_vhost",
	.init = tun_test_init,
	.exit = tun_test_exit,
	.test_cases = tun_vhost_cases,
};

kunit_test_suite(tun_vhost_suite);

MODULE_DESCRIPTION("KUnit tests for the sockets of the TUN/TAP device driver");
MODULE_LICENSE("GPL");
