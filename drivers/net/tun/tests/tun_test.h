/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the tests of the TUN/TAP device driver get at it: by /dev/net/tun, the
 * operations of its network devices, and what it exports to vhost-net.
 */

#ifndef TUN_TEST_H
#define TUN_TEST_H

#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/if_tun.h>
#include <linux/init_syscalls.h>
#include <linux/kdev_t.h>
#include <linux/miscdevice.h>
#include <linux/mman.h>
#include <linux/netdevice.h>
#include <linux/ptr_ring.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>
#include <net/netdev_lock.h>
#include <net/rtnetlink.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#define TUN_TEST_FILES	4
#define TUN_TEST_BATCH	64
#define TUN_TEST_LEN	100

struct tun_test {
	struct file *files[TUN_TEST_FILES];
	struct net_device *dev;
	unsigned long user;
	char name[IFNAMSIZ];
};

/* In a kernel without a root file system yet, the node is not there. */
static inline struct file *tun_test_open_node(void)
{
	struct file *file = ERR_PTR(-ENOENT);

	scoped_with_init_fs()
		file = filp_open("/dev/net/tun", O_RDWR | O_NONBLOCK, 0);
	return file;
}

#ifndef MODULE
static void __ref __maybe_unused tun_test_make_node(void)
{
	scoped_with_init_fs() {
		init_mkdir("/dev", 0755);
		init_mkdir("/dev/net", 0755);
		init_mknod("/dev/net/tun", S_IFCHR | 0600,
			   new_encode_dev(MKDEV(MISC_MAJOR, TUN_MINOR)));
	}
}
#else
static inline void tun_test_make_node(void)
{
}
#endif

static inline struct file *tun_test_open(struct kunit *test, int index)
{
	struct tun_test *t = test->priv;
	struct file *file = tun_test_open_node();

	if (PTR_ERR_OR_ZERO(file) == -ENOENT) {
		tun_test_make_node();
		file = tun_test_open_node();
	}
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	t->files[index] = file;
	return file;
}

static inline void tun_test_close(struct kunit *test, int index)
{
	struct tun_test *t = test->priv;

	if (t->files[index])
		__fput_sync(t->files[index]);
	t->files[index] = NULL;
}

static inline int tun_test_ioctl(struct kunit *test, int index, unsigned int cmd,
			  unsigned long arg)
{
	struct tun_test *t = test->priv;
	struct file *file = t->files[index];

	return file->f_op->unlocked_ioctl(file, cmd, arg);
}

static inline int tun_test_ifreq(struct kunit *test, int index, unsigned int cmd,
			  int flags)
{
	struct tun_test *t = test->priv;
	struct ifreq ifr = {};
	int ret;

	strscpy(ifr.ifr_name, t->name);
	ifr.ifr_flags = flags;
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)t->user, &ifr,
					      sizeof(ifr)));
	ret = tun_test_ioctl(test, index, cmd, t->user);
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&ifr, (void __user *)t->user,
						sizeof(ifr)));
	if (!ret && cmd == TUNSETIFF)
		strscpy(t->name, ifr.ifr_name);
	return ret;
}

/* As SIOCSIFTXQLEN does it. */
static inline int tun_test_set_len(struct net_device *dev, unsigned int len)
{
	unsigned int old;
	int ret;

	rtnl_lock();
	old = dev->tx_queue_len;
	dev->tx_queue_len = len;
	ret = notifier_to_errno(call_netdevice_notifiers(NETDEV_CHANGE_TX_QUEUE_LEN,
							 dev));
	if (ret)
		dev->tx_queue_len = old;
	rtnl_unlock();
	return ret;
}

static inline void tun_test_up(struct kunit *test, bool up)
{
	struct tun_test *t = test->priv;
	int ret = 0;

	/* IPv6 would send frames of its own. */
	t->dev->priv_flags |= IFF_NO_ADDRCONF;
	rtnl_lock();
	if (up)
		ret = dev_open(t->dev, NULL);
	else
		dev_close(t->dev);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(test, 0, ret);
}

/* A device with one queue in use, file 0, up, with rings of @len. */
static inline struct net_device *tun_test_create(struct kunit *test, int flags,
					  unsigned int len)
{
	struct tun_test *t = test->priv;

	tun_test_open(test, 0);
	t->name[0] = 0;
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, 0, TUNSETIFF, flags));
	t->dev = dev_get_by_name(&init_net, t->name);
	KUNIT_ASSERT_NOT_NULL(test, t->dev);
	KUNIT_ASSERT_EQ(test, 0, tun_test_set_len(t->dev, len));
	tun_test_up(test, true);
	return t->dev;
}

static inline void tun_test_join(struct kunit *test, int index, int flags)
{
	tun_test_open(test, index);
	KUNIT_ASSERT_EQ(test, 0, tun_test_ifreq(test, index, TUNSETIFF, flags));
}

/* One frame, numbered, for a queue; NULL if there is no memory. */
static inline struct sk_buff *tun_test_frame(struct kunit *test, int queue, u32 nr)
{
	struct tun_test *t = test->priv;
	struct sk_buff *skb = alloc_skb(TUN_TEST_LEN + ETH_HLEN, GFP_KERNEL);

	if (!skb)
		return NULL;
	skb_put_zero(skb, TUN_TEST_LEN);
	memcpy(skb->data + 20, &nr, sizeof(nr));
	skb->protocol = htons(ETH_P_IP);
	skb->dev = t->dev;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb_set_queue_mapping(skb, queue);
	return skb;
}

/* Straight into the driver's transmit. */
static inline netdev_tx_t tun_test_xmit_nr(struct kunit *test, int queue, u32 nr)
{
	struct sk_buff *skb = tun_test_frame(test, queue, nr);
	struct tun_test *t = test->priv;
	netdev_tx_t ret;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	local_bh_disable();
	ret = t->dev->netdev_ops->ndo_start_xmit(skb, t->dev);
	local_bh_enable();
	return ret;
}

static inline netdev_tx_t tun_test_xmit(struct kunit *test, int queue)
{
	return tun_test_xmit_nr(test, queue, 0);
}

static inline ssize_t tun_test_read_nr(struct kunit *test, int index, u32 *nr)
{
	struct tun_test *t = test->priv;
	u8 buf[TUN_TEST_LEN + ETH_HLEN];
	loff_t pos = 0;
	ssize_t ret;

	ret = kernel_read(t->files[index], buf, sizeof(buf), &pos);
	if (ret == TUN_TEST_LEN)
		memcpy(nr, buf + 20, sizeof(*nr));
	return ret;
}

static inline ssize_t tun_test_read(struct kunit *test, int index)
{
	u32 nr;

	return tun_test_read_nr(test, index, &nr);
}

static inline bool tun_test_stopped(struct kunit *test, int queue)
{
	struct tun_test *t = test->priv;

	return netif_tx_queue_stopped(netdev_get_tx_queue(t->dev, queue));
}

static inline unsigned long tun_test_dropped(struct kunit *test)
{
	struct tun_test *t = test->priv;
	struct rtnl_link_stats64 stats;

	return dev_get_stats(t->dev, &stats)->tx_dropped;
}

static inline struct ptr_ring *tun_test_ring(struct kunit *test, int index)
{
	struct tun_test *t = test->priv;
	struct ptr_ring *ring = tun_get_tx_ring(t->files[index]);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	return ring;
}

#define TUN_TEST_BP	(IFF_TUN | IFF_NO_PI | IFF_BACKPRESSURE)
#define TUN_TEST_MQ	(TUN_TEST_BP | IFF_MULTI_QUEUE)

static inline int tun_test_init(struct kunit *test)
{
	struct tun_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->user = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
				MAP_ANONYMOUS | MAP_PRIVATE, 0);
	return t->user && !IS_ERR_VALUE(t->user) ? 0 : -ENOMEM;
}

static inline void tun_test_exit(struct kunit *test)
{
	struct tun_test *t = test->priv;
	int i;

	if (!t)
		return;
	dev_put(t->dev);
	for (i = 0; i < TUN_TEST_FILES; i++)
		tun_test_close(test, i);
}

/* Deletes the device under the files that are open on it. */
static inline void tun_test_delete(struct kunit *test)
{
	struct tun_test *t = test->priv;

	dev_put(t->dev);
	rtnl_lock();
	t->dev->rtnl_link_ops->dellink(t->dev, NULL);
	t->dev = NULL;
	rtnl_unlock();
}

#endif
