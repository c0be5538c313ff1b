// SPDX-License-Identifier: GPL-2.0
/*
 * Frames per second from a sender's thread, through the qdisc, the driver and
 * its ring, to a reader's: one at a time as read() takes them, or by batches of
 * 64 as vhost-net does. As KUnit cases, so that they run wherever the tests do,
 * and check that with backpressure no frame is lost; the rates are in the log.
 */

#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "tun_test.h"

static unsigned int ms = 200;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "duration of each measurement in milliseconds");

struct tun_bench {
	struct net_device *dev;
	unsigned long sent;
	unsigned long refused;
};

/* Sends while there is room, as a socket with a limited buffer would. */
static int tun_bench_sender(void *data)
{
	struct tun_bench *bench = data;
	struct netdev_queue *txq = netdev_get_tx_queue(bench->dev, 0);
	unsigned int spins = 0;

	while (!kthread_should_stop()) {
		struct sk_buff *skb;

		if (netif_tx_queue_stopped(txq) &&
		    qdisc_qlen(rcu_access_pointer(txq->qdisc)) > 64) {
			cond_resched();
			continue;
		}
		skb = alloc_skb(TUN_TEST_LEN + 128, GFP_KERNEL);
		if (!skb)
			continue;
		skb_reserve(skb, 64);
		skb_put_zero(skb, TUN_TEST_LEN);
		skb->data[0] = 0x45;
		skb->protocol = htons(ETH_P_IP);
		skb->dev = bench->dev;
		skb_reset_network_header(skb);
		if (dev_queue_xmit(skb) == NET_XMIT_SUCCESS)
			bench->sent++;
		else
			bench->refused++;
		if (!(++spins & 63))
			cond_resched();
	}
	return 0;
}

static unsigned int tun_bench_take_one(struct kunit *test)
{
	return tun_test_read(test, 0) > 0;
}

static unsigned int tun_bench_take_batch(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct ptr_ring *ring = tun_get_tx_ring(t->files[0]);
	void *batch[TUN_TEST_BATCH];
	int n, i;

	spin_lock(&ring->consumer_lock);
	n = __ptr_ring_consume_batched(ring, batch, TUN_TEST_BATCH);
	if (n)
		tun_wake_queue(t->files[0], n);
	spin_unlock(&ring->consumer_lock);
	for (i = 0; i < n; i++)
		tun_ptr_free(batch[i]);
	return n;
}

static void tun_bench_run(struct kunit *test, const char *what, int flags,
			  unsigned int (*take)(struct kunit *test))
{
	struct tun_bench bench = {
		.dev = tun_test_create(test, flags, 500),
	};
	unsigned long taken = 0, after = 0, dropped;
	struct task_struct *sender;
	ktime_t start, end;
	unsigned int n;

	sender = kthread_create(tun_bench_sender, &bench, "tun_bench");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sender);
	kthread_bind(sender, num_online_cpus() - 1);
	set_cpus_allowed_ptr(current, cpumask_of(0));
	get_task_struct(sender);
	wake_up_process(sender);
	start = ktime_get();
	end = ktime_add_ms(start, ms);
	do {
		n = take(test);
		taken += n;
		if (!n)
			cond_resched();
	} while (ktime_before(ktime_get(), end));
	end = ktime_get();
	kthread_stop_put(sender);
	/* What is still under way, in the qdisc and in the ring. */
	for (n = 0; n < 100000; n++) {
		unsigned int more = take(test);

		after += more;
		if (!more)
			cond_resched();
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	dropped = tun_test_dropped(test);
	kunit_info(test, "bench %s %s pps=%llu kept=%lu lost=%lu\n", what,
		   flags & IFF_BACKPRESSURE ? "on" : "off",
		   div64_u64(taken * 1000000000ull, ktime_to_ns(ktime_sub(end, start))),
		   taken, dropped);
	KUNIT_EXPECT_GT(test, taken, 0);
	KUNIT_EXPECT_EQ(test, bench.sent, taken + after + dropped);
	if (flags & IFF_BACKPRESSURE)
		KUNIT_EXPECT_EQ(test, 0, dropped);
}

static void tun_bench_one_on(struct kunit *test)
{
	tun_bench_run(test, "one", TUN_TEST_BP, tun_bench_take_one);
}

static void tun_bench_one_off(struct kunit *test)
{
	tun_bench_run(test, "one", TUN_TEST_BP & ~IFF_BACKPRESSURE, tun_bench_take_one);
}

static void tun_bench_batch_on(struct kunit *test)
{
	tun_bench_run(test, "batch", TUN_TEST_BP, tun_bench_take_batch);
}

static void tun_bench_batch_off(struct kunit *test)
{
	tun_bench_run(test, "batch", TUN_TEST_BP & ~IFF_BACKPRESSURE, tun_bench_take_batch);
}

#define TUN_BENCH_BURST	128

/* Each side by itself, on one CPU: what a frame costs, without the qdisc. */
static void tun_bench_alone(struct kunit *test, int flags)
{
	u64 xmit_ns = 0, read_ns = 0, frames = 0, lost = 0;
	struct tun_test *t = test->priv;
	struct sk_buff *burst[TUN_BENCH_BURST];
	ktime_t end;
	int i;

	tun_test_create(test, flags, 500);
	set_cpus_allowed_ptr(current, cpumask_of(0));
	end = ktime_add_ms(ktime_get(), ms);
	do {
		ktime_t start;

		for (i = 0; i < TUN_BENCH_BURST; i++) {
			burst[i] = tun_test_frame(test, 0, i);
			KUNIT_ASSERT_NOT_NULL(test, burst[i]);
		}
		local_bh_disable();
		start = ktime_get();
		for (i = 0; i < TUN_BENCH_BURST; i++)
			t->dev->netdev_ops->ndo_start_xmit(burst[i], t->dev);
		xmit_ns += ktime_to_ns(ktime_sub(ktime_get(), start));
		local_bh_enable();
		start = ktime_get();
		for (i = 0; i < TUN_BENCH_BURST; i++)
			if (tun_test_read(test, 0) <= 0)
				lost++;
		read_ns += ktime_to_ns(ktime_sub(ktime_get(), start));
		frames += TUN_BENCH_BURST;
		cond_resched();
	} while (ktime_before(ktime_get(), end));
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	kunit_info(test, "bench xmit %s pps=%llu kept=%llu lost=%llu\n",
		   flags & IFF_BACKPRESSURE ? "on" : "off",
		   div64_u64(frames * NSEC_PER_SEC, xmit_ns), frames - lost, lost);
	kunit_info(test, "bench read %s pps=%llu kept=%llu lost=%llu\n",
		   flags & IFF_BACKPRESSURE ? "on" : "off",
		   div64_u64(frames * NSEC_PER_SEC, read_ns), frames - lost, lost);
	KUNIT_EXPECT_EQ(test, 0, lost);
}

static void tun_bench_alone_on(struct kunit *test)
{
	tun_bench_alone(test, TUN_TEST_BP);
}

static void tun_bench_alone_off(struct kunit *test)
{
	tun_bench_alone(test, TUN_TEST_BP & ~IFF_BACKPRESSURE);
}

static struct kunit_case tun_bench_cases[] = {
	KUNIT_CASE_SLOW(tun_bench_alone_on),
	KUNIT_CASE_SLOW(tun_bench_alone_off),
	KUNIT_CASE_SLOW(tun_bench_one_on),
	KUNIT_CASE_SLOW(tun_bench_one_off),
	KUNIT_CASE_SLOW(tun_bench_batch_on),
	KUNIT_CASE_SLOW(tun_bench_batch_off),
	{}
};

static struct kunit_suite tun_bench_suite = {
	.name = "tun_bench",
	.init = tun_test_init,
	.exit = tun_test_exit,
	.test_cases = tun_bench_cases,
};

kunit_test_suite(tun_bench_suite);

MODULE_DESCRIPTION("In-kernel benchmark of the TUN/TAP device driver");
MODULE_LICENSE("GPL");
