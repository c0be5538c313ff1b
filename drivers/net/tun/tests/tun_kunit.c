// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the TUN/TAP device driver, of what user space cannot reach:
 * when exactly a tx queue stops and wakes.
 *
 * They use the driver from the outside only: /dev/net/tun, the operations of its
 * network devices, the functions it exports to vhost-net, and the state of the
 * queues. So they do not know which implementation they run on.
 */

#include <linux/module.h>

#include "tun_test.h"

/* Fills the ring of a queue and expects the stop with its last slot. */
static void tun_test_fill(struct kunit *test, int queue, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++) {
		KUNIT_ASSERT_FALSE_MSG(test, tun_test_stopped(test, queue),
				       "stopped after %u of %u", i, len);
		KUNIT_ASSERT_EQ(test, NETDEV_TX_OK,
				tun_test_xmit_nr(test, queue, i));
	}
	KUNIT_ASSERT_TRUE(test, tun_test_stopped(test, queue));
}

#define BP	TUN_TEST_BP
#define MQ	TUN_TEST_MQ

struct tun_test_len {
	unsigned int len;
};

static const struct tun_test_len tun_test_lens[] = {
	{ 1 }, { 2 }, { 3 }, { 4 }, { 15 }, { 16 }, { 17 }, { 31 }, { 32 },
	{ 33 }, { 64 }, { 100 }, { 500 }, { 1000 },
};

static void tun_test_len_desc(const struct tun_test_len *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "ring of %u", param->len);
}

KUNIT_ARRAY_PARAM(tun_test_len, tun_test_lens, tun_test_len_desc);

/* The frame that takes the last slot is accepted, and stops the queue. */
static void tun_test_stops_with_last_slot(struct kunit *test)
{
	const struct tun_test_len *param = test->param_value;

	tun_test_create(test, BP, param->len);
	tun_test_fill(test, 0, param->len);
	KUNIT_EXPECT_EQ(test, 0, tun_test_dropped(test));

	/* Lockless transmit may bring one more: it is dropped and counted. */
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_EQ(test, 1, tun_test_dropped(test));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
}

/* Reading wakes at half the ring, or when it is empty, and not before. */
static void tun_test_wakes_at_half_or_empty(struct kunit *test)
{
	const struct tun_test_len *param = test->param_value;
	unsigned int i, round, filled;

	tun_test_create(test, BP, param->len);
	for (round = 0; round < 3; round++) {
		/*
		 * The ring frees slots by batches, so that after the first lap
		 * a few may still be taken.
		 */
		for (filled = 0; !tun_test_stopped(test, 0); filled++)
			KUNIT_ASSERT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
		if (!round)
			KUNIT_ASSERT_EQ(test, param->len, filled);
		for (i = 1; i <= filled; i++) {
			bool wake = i >= param->len / 2 || i == filled;

			KUNIT_ASSERT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
			KUNIT_ASSERT_EQ_MSG(test, !wake, tun_test_stopped(test, 0),
					    "after %u of %u", i, param->len);
			if (wake)
				break;
		}
		/* A woken queue has room. */
		KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
		KUNIT_EXPECT_EQ(test, 0, tun_test_dropped(test));
		while (tun_test_read(test, 0) > 0)
			;
		KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	}
}

/* Frames come out in the order they went in, none lost, over many laps. */
static void tun_test_keeps_order(struct kunit *test)
{
	const struct tun_test_len *param = test->param_value;
	u32 in = 0, out = 0, nr = 0;
	unsigned int i;

	tun_test_create(test, BP, param->len);
	for (i = 0; i < 5 * param->len + 50; i++) {
		while (!tun_test_stopped(test, 0))
			KUNIT_ASSERT_EQ(test, NETDEV_TX_OK,
					tun_test_xmit_nr(test, 0, in++));
		KUNIT_ASSERT_EQ(test, TUN_TEST_LEN, tun_test_read_nr(test, 0, &nr));
		KUNIT_ASSERT_EQ(test, out++, nr);
	}
	while (tun_test_read_nr(test, 0, &nr) > 0)
		KUNIT_ASSERT_EQ(test, out++, nr);
	KUNIT_EXPECT_EQ(test, in, out);
	KUNIT_EXPECT_EQ(test, 0, tun_test_dropped(test));
}

/* vhost-net takes batches itself and says how many it took. */
static void tun_test_batch_wakes(struct kunit *test)
{
	const struct tun_test_len *param = test->param_value;
	unsigned int consumed = 0;
	struct tun_test *t;
	struct ptr_ring *ring;
	void *batch[TUN_TEST_BATCH];
	int n, i;

	tun_test_create(test, BP, param->len);
	tun_test_fill(test, 0, param->len);
	t = test->priv;
	ring = tun_test_ring(test, 0);
	while (consumed < param->len) {
		bool wake;

		spin_lock(&ring->consumer_lock);
		n = __ptr_ring_consume_batched(ring, batch, TUN_TEST_BATCH);
		tun_wake_queue(t->files[0], n);
		spin_unlock(&ring->consumer_lock);
		for (i = 0; i < n; i++)
			tun_ptr_free(batch[i]);
		consumed += n;
		wake = consumed >= param->len / 2 || consumed == param->len;
		KUNIT_ASSERT_EQ_MSG(test, !wake, tun_test_stopped(test, 0),
				    "after %u of %u", consumed, param->len);
		if (wake)
			break;
	}
	KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
}

/* Consumers that say nothing wake nothing. */
static void tun_test_batch_without_word(struct kunit *test)
{
	struct ptr_ring *ring;
	void *ptr;

	tun_test_create(test, BP, 8);
	tun_test_fill(test, 0, 8);
	ring = tun_test_ring(test, 0);
	while ((ptr = ptr_ring_consume(ring)))
		tun_ptr_free(ptr);
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	/* The first reader that finds something does. */
	KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
}

/* vhost-net gives frames back when its backend changes. */
static void tun_test_unconsume(struct kunit *test)
{
	struct tun_test *t;
	struct ptr_ring *ring;
	void *batch[4];
	u32 nr = 0;
	int n;

	tun_test_create(test, BP, 4);
	tun_test_fill(test, 0, 4);
	t = test->priv;
	ring = tun_test_ring(test, 0);
	spin_lock(&ring->consumer_lock);
	n = __ptr_ring_consume_batched(ring, batch, 4);
	tun_wake_queue(t->files[0], n);
	spin_unlock(&ring->consumer_lock);
	KUNIT_ASSERT_EQ(test, 4, n);
	KUNIT_ASSERT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit_nr(test, 0, 10));

	/* One of the four has to go: the oldest. */
	ptr_ring_unconsume(ring, batch, n, tun_ptr_free);
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read_nr(test, 0, &nr));
	KUNIT_EXPECT_EQ(test, 1, nr);
	tun_ptr_free(NULL);
}

/* Without the flag a full ring drops, and nothing stops. */
static void tun_test_flag_off(struct kunit *test)
{
	int i;

	tun_test_create(test, BP & ~IFF_BACKPRESSURE, 8);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, 3, tun_test_dropped(test));
}

/* A ring without slots never has any: stopping would be for ever. */
static void tun_test_no_slots(struct kunit *test)
{
	tun_test_create(test, BP, 0);
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, 2, tun_test_dropped(test));
	KUNIT_EXPECT_EQ(test, -EAGAIN, tun_test_read(test, 0));
}

/* Without a qdisc nobody keeps what follows a stop. */
static void tun_test_no_qdisc(struct kunit *test)
{
	struct tun_test *t = test->priv;
	int i;

	tun_test_open(test, 0);
	t->name[0] = 0;
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 0, TUNSETIFF, BP));
	t->dev = dev_get_by_name(&init_net, t->name);
	KUNIT_ASSERT_NOT_NULL(test, t->dev);
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(t->dev, 4));
	t->dev->priv_flags |= IFF_NO_QUEUE;
	tun_test_up(test, true);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
}

static void tun_test_resize_larger(struct kunit *test)
{
	struct net_device *dev = tun_test_create(test, BP, 4);
	u32 i, nr = 0;

	tun_test_fill(test, 0, 4);
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(dev, 8));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	for (i = 4; i < 8; i++)
		KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit_nr(test, 0, i));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read_nr(test, 0, &nr));
		KUNIT_EXPECT_EQ(test, i, nr);
	}
	KUNIT_EXPECT_EQ(test, 0, tun_test_dropped(test));
}

/* The newest go, uncounted; the queue is woken although the ring is full. */
static void tun_test_resize_smaller(struct kunit *test)
{
	struct net_device *dev = tun_test_create(test, BP, 8);
	u32 i, nr = 0;

	tun_test_fill(test, 0, 8);
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(dev, 2));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read_nr(test, 0, &nr));
		KUNIT_EXPECT_EQ(test, i, nr);
	}
	KUNIT_EXPECT_EQ(test, -EAGAIN, tun_test_read(test, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, 1, tun_test_dropped(test));
}

static void tun_test_resize_to_none(struct kunit *test)
{
	struct net_device *dev = tun_test_create(test, BP, 4);

	tun_test_fill(test, 0, 4);
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(dev, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, -EAGAIN, tun_test_read(test, 0));
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(dev, 1));
	tun_test_fill(test, 0, 1);
}

/* A device that is down stays stopped, whoever reads or resizes. */
static void tun_test_down_and_up(struct kunit *test)
{
	struct net_device *dev = tun_test_create(test, BP, 4);

	tun_test_fill(test, 0, 4);
	tun_test_up(test, false);
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(dev, 2));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	tun_test_up(test, true);
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
}

/* It comes up running with a full ring; the next frame stops it again. */
static void tun_test_up_with_full_ring(struct kunit *test)
{
	tun_test_create(test, BP, 4);
	tun_test_fill(test, 0, 4);
	tun_test_up(test, false);
	tun_test_up(test, true);
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
}

static void tun_test_two_queues(struct kunit *test)
{
	tun_test_create(test, MQ, 4);
	tun_test_join(test, 1, MQ);
	tun_test_fill(test, 0, 4);
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 1));
	tun_test_fill(test, 1, 4);

	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 1));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 1));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 1));
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, 0, tun_test_dropped(test));
}

/* A queue that is taken out while stopped is empty and woken on return. */
static void tun_test_detach_and_attach(struct kunit *test)
{
	struct tun_test *t = test->priv;

	tun_test_create(test, MQ, 4);
	tun_test_join(test, 1, MQ);
	tun_test_fill(test, 1, 4);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 1, TUNSETQUEUE,
						IFF_DETACH_QUEUE));
	KUNIT_EXPECT_EQ(test, 1, t->dev->real_num_tx_queues);
	KUNIT_EXPECT_EQ(test, -EAGAIN, tun_test_read(test, 1));
	/* Its slot is empty. */
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 1));

	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 1, TUNSETQUEUE,
						IFF_ATTACH_QUEUE));
	KUNIT_EXPECT_EQ(test, 2, t->dev->real_num_tx_queues);
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 1));
	tun_test_fill(test, 1, 4);
}

/* The last queue moves into the hole, and is woken by its reader alone. */
static void tun_test_slot_moves(struct kunit *test)
{
	u32 nr = 0;

	tun_test_create(test, MQ, 4);
	tun_test_join(test, 1, MQ);
	tun_test_fill(test, 0, 4);
	tun_test_fill(test, 1, 4);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 0, TUNSETQUEUE,
						IFF_DETACH_QUEUE));
	/* File 1 has slot 0 now, full and stopped as it found it. */
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, -EAGAIN, tun_test_read(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read_nr(test, 1, &nr));
	KUNIT_EXPECT_EQ(test, 0, nr);
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 1));
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
}

/* If what moves in has nothing to read, nobody else would wake the slot. */
static void tun_test_slot_moves_empty(struct kunit *test)
{
	tun_test_create(test, MQ, 4);
	tun_test_join(test, 1, MQ);
	tun_test_fill(test, 0, 4);
	tun_test_close(test, 0);
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	tun_test_fill(test, 0, 4);
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 1));
}

/* A queue that lost its slot to another wakes it no more. */
static void tun_test_foreign_slot(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct ptr_ring *ring;

	tun_test_create(test, MQ, 4);
	tun_test_join(test, 1, MQ);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 0, TUNSETQUEUE,
						IFF_DETACH_QUEUE));
	tun_test_fill(test, 0, 4);
	ring = tun_test_ring(test, 0);
	spin_lock(&ring->consumer_lock);
	tun_wake_queue(t->files[0], 64);
	spin_unlock(&ring->consumer_lock);
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
}

/* All parked: slot 0 is empty, frames are dropped and nothing stops. */
static void tun_test_all_parked(struct kunit *test)
{
	struct tun_test *t = test->priv;

	tun_test_create(test, MQ, 4);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 0, TUNSETQUEUE,
						IFF_DETACH_QUEUE));
	KUNIT_EXPECT_EQ(test, 1, t->dev->real_num_tx_queues);
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	KUNIT_EXPECT_EQ(test, 1, tun_test_dropped(test));
	KUNIT_EXPECT_EQ(test, -EINVAL, tun_test_ifreq(test, 0, TUNSETQUEUE,
						      IFF_DETACH_QUEUE));
}

/* Parked queues are resized with the others. */
static void tun_test_resize_parked(struct kunit *test)
{
	struct tun_test *t = test->priv;

	tun_test_create(test, MQ, 4);
	tun_test_join(test, 1, MQ);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 1, TUNSETQUEUE,
						IFF_DETACH_QUEUE));
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(t->dev, 7));
	KUNIT_EXPECT_EQ(test, 7, tun_test_ring(test, 0)->size);
	KUNIT_EXPECT_EQ(test, 7, tun_test_ring(test, 1)->size);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 1, TUNSETQUEUE,
						IFF_ATTACH_QUEUE));
	tun_test_fill(test, 1, 7);
}

/* A persistent device is woken when somebody joins it again. */
static void tun_test_persistent(struct kunit *test)
{
	tun_test_create(test, BP, 4);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ioctl(test, 0, TUNSETPERSIST, 1));
	tun_test_fill(test, 0, 4);
	tun_test_close(test, 0);
	KUNIT_EXPECT_EQ(test, NET_XMIT_DROP, tun_test_xmit(test, 0));
	tun_test_join(test, 0, BP);
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	tun_test_fill(test, 0, 4);

	/* Joined without the flag, it has none. */
	tun_test_close(test, 0);
	tun_test_join(test, 0, BP & ~IFF_BACKPRESSURE);
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	while (tun_test_xmit(test, 0) == NETDEV_TX_OK)
		;
	KUNIT_EXPECT_FALSE(test, tun_test_stopped(test, 0));
	KUNIT_ASSERT_EQ(test, 0, tun_test_ioctl(test, 0, TUNSETPERSIST, 0));
}

/* A device that is deleted leaves its files without one, and empty. */
static void tun_test_deleted(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct ptr_ring *ring;

	tun_test_create(test, MQ, 4);
	tun_test_join(test, 1, MQ);
	tun_test_join(test, 2, MQ);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 2, TUNSETQUEUE,
						IFF_DETACH_QUEUE));
	tun_test_fill(test, 0, 4);
	tun_test_delete(test);

	KUNIT_EXPECT_EQ(test, -EBADFD, tun_test_read(test, 0));
	KUNIT_EXPECT_EQ(test, -EBADFD, tun_test_read(test, 1));
	KUNIT_EXPECT_EQ(test, -EBADFD, tun_test_read(test, 2));
	KUNIT_EXPECT_EQ(test, -EINVAL, tun_test_ifreq(test, 2, TUNSETQUEUE,
						      IFF_ATTACH_QUEUE));
	ring = tun_test_ring(test, 0);
	KUNIT_EXPECT_TRUE(test, ptr_ring_empty(ring));
	spin_lock(&ring->consumer_lock);
	tun_wake_queue(t->files[0], 1);
	spin_unlock(&ring->consumer_lock);

	/* They can have another. */
	t->name[0] = 0;
	KUNIT_EXPECT_EQ(test, 0, tun_test_ifreq(test, 0, TUNSETIFF, BP));
	t->dev = dev_get_by_name(&init_net, t->name);
	KUNIT_ASSERT_NOT_NULL(test, t->dev);
	tun_test_up(test, true);
	KUNIT_EXPECT_EQ(test, NETDEV_TX_OK, tun_test_xmit(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
}

/* What is exported refuses files of others, and takes files of no device. */
static void tun_test_exports(struct kunit *test)
{
	static const struct file_operations other;
	struct tun_test *t = test->priv;
	struct file file = { .f_op = &other };
	struct socket *sock;

	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(tun_get_socket(&file)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(tun_get_tx_ring(&file)));
	tun_wake_queue(&file, 1);

	tun_test_open(test, 0);
	sock = tun_get_socket(t->files[0]);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sock);
	KUNIT_EXPECT_PTR_EQ(test, t->files[0], sock->file);
	KUNIT_EXPECT_EQ(test, INT_MAX, sock->sk->sk_sndbuf);
	KUNIT_EXPECT_EQ(test, 0, sock->ops->peek_len(sock));
	KUNIT_EXPECT_EQ(test, 0, tun_test_ring(test, 0)->size);
}

/* The length that vhost-net is told, before it takes the frame. */
static void tun_test_peek_len(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct socket *sock;

	tun_test_create(test, BP, 4);
	sock = tun_get_socket(t->files[0]);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sock);
	KUNIT_EXPECT_EQ(test, 0, sock->ops->peek_len(sock));
	tun_test_fill(test, 0, 4);
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, sock->ops->peek_len(sock));
	/* Looking takes nothing and wakes nothing. */
	KUNIT_EXPECT_TRUE(test, tun_test_stopped(test, 0));
	KUNIT_EXPECT_EQ(test, TUN_TEST_LEN, tun_test_read(test, 0));
}

/* No lock of the device's own goes around its operations. */
static void tun_test_rtnl_alone(struct kunit *test)
{
	struct tun_test *t = test->priv;

	tun_test_create(test, BP, 4);
	KUNIT_EXPECT_FALSE(test, netdev_need_ops_lock(t->dev));
}

static struct kunit_case tun_test_cases[] = {
	KUNIT_CASE_PARAM(tun_test_stops_with_last_slot, tun_test_len_gen_params),
	KUNIT_CASE_PARAM(tun_test_wakes_at_half_or_empty, tun_test_len_gen_params),
	KUNIT_CASE_PARAM(tun_test_keeps_order, tun_test_len_gen_params),
	KUNIT_CASE_PARAM(tun_test_batch_wakes, tun_test_len_gen_params),
	KUNIT_CASE(tun_test_batch_without_word),
	KUNIT_CASE(tun_test_unconsume),
	KUNIT_CASE(tun_test_flag_off),
	KUNIT_CASE(tun_test_no_slots),
	KUNIT_CASE(tun_test_no_qdisc),
	KUNIT_CASE(tun_test_resize_larger),
	KUNIT_CASE(tun_test_resize_smaller),
	KUNIT_CASE(tun_test_resize_to_none),
	KUNIT_CASE(tun_test_down_and_up),
	KUNIT_CASE(tun_test_up_with_full_ring),
	KUNIT_CASE(tun_test_two_queues),
	KUNIT_CASE(tun_test_detach_and_attach),
	KUNIT_CASE(tun_test_slot_moves),
	KUNIT_CASE(tun_test_slot_moves_empty),
	KUNIT_CASE(tun_test_foreign_slot),
	KUNIT_CASE(tun_test_all_parked),
	KUNIT_CASE(tun_test_resize_parked),
	KUNIT_CASE(tun_test_persistent),
	KUNIT_CASE(tun_test_deleted),
	KUNIT_CASE(tun_test_exports),
	KUNIT_CASE(tun_test_peek_len),
	KUNIT_CASE(tun_test_rtnl_alone),
	{}
};

static struct kunit_suite tun_test_suite = {
	.name = "tun",
	.init = tun_test_init,
	.exit = tun_test_exit,
	.test_cases = tun_test_cases,
};

kunit_test_suite(tun_test_suite);

MODULE_DESCRIPTION("KUnit tests for the TUN/TAP device driver");
MODULE_LICENSE("GPL");
