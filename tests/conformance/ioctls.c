// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls but TUNSETIFF, and the flags: rows IOC and FLG.
 */
#include "tun.h"

#include <linux/userfaultfd.h>
#include <pthread.h>

TEST_F(u, IOC_01)
{
	self->fd = tun(0);
	/* Copied in before any other test, for these and for the socket type. */
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETIFF, NOWHERE)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETQUEUE, NOWHERE)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, 0x8999, NOWHERE)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, SIOCGIFHWADDR, NOWHERE)));
	EXPECT_EQ(-EBADFD, R(ioctl(self->fd, TUNGETSNDBUF, NOWHERE)));
}

TEST_F(u, IOC_02)
{
	struct ifreq ifr = {};
	unsigned int i;
	const unsigned long commands[] = {
		TUNGETIFF, TUNSETNOCSUM, TUNSETDEBUG, TUNSETPERSIST, TUNSETOWNER,
		TUNSETLINK, TUNSETGROUP, TUNSETOFFLOAD, TUNSETTXFILTER, TUNGETSNDBUF,
		TUNSETSNDBUF, TUNATTACHFILTER, TUNDETACHFILTER, TUNGETVNETHDRSZ,
		TUNSETVNETHDRSZ, TUNGETFILTER, TUNSETVNETLE, TUNGETVNETLE,
		TUNSETVNETBE, TUNGETVNETBE, TUNSETSTEERINGEBPF, TUNSETFILTEREBPF,
		TUNSETCARRIER, TUNGETDEVNETNS, SIOCGIFHWADDR, SIOCSIFHWADDR, 0x5401,
		0x54ff, 0x8999,
	};

	self->fd = tun(0);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		EXPECT_EQ(-EBADFD, R(ioctl(self->fd, commands[i], &ifr)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNGETFEATURES, &ifr)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETIFINDEX, 99));
	EXPECT_EQ(-EINVAL, queue(self->fd, 0));
}

TEST_F(u, IOC_03)
{
	struct ifreq ifr = {};

	MAKE(SOME);
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, 0x5401, &ifr)));
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, 0x54ff, &ifr)));
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, 0x8999, &ifr)));
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, 0xdeadbeef, &ifr)));
}

/* The unprivileged holder of a file may do nearly everything. */
TEST_F(u, IOC_05)
{
	struct ifreq ifr = {};
	int status;

	MAKE(IFF_TAP | IFF_NO_PI);
	if (!fork()) {
		int bad = 0;

		if (setresuid(1234, 1234, 1234))
			_exit(99);
		bad |= R(ioctl(self->fd, TUNSETPERSIST, 1)) != 0;
		bad |= R(ioctl(self->fd, TUNSETPERSIST, 0)) != 0;
		bad |= R(ioctl(self->fd, TUNSETOWNER, 1234)) != 0;
		bad |= R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_CSUM)) != 0;
		bad |= R(ioctl(self->fd, TUNSETLINK, ARPHRD_ETHER)) != 0;
		bad |= R(ioctl(self->fd, SIOCGIFHWADDR, &ifr)) != 0;
		ifr.ifr_hwaddr.sa_data[5] ^= 1;
		bad |= R(ioctl(self->fd, SIOCSIFHWADDR, &ifr)) != 0;
		bad |= (R(ioctl(self->fd, TUNGETDEVNETNS)) != -EPERM) << 1;
		bad |= (R(ioctl(self->fd, SIOCGSKNS)) != -EPERM) << 1;
		_exit(bad);
	}
	wait(&status);
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_F(u, IOC_31__FLG_08__FLG_10__EDGE_62)
{
	char name[IFNAMSIZ];

	MAKE(IFF_TUN | IFF_MULTI_QUEUE);
	/* Without a filter, the bit of NO_PI is set. */
	EXPECT_EQ(IFF_TUN | IFF_MULTI_QUEUE | IFF_NOFILTER, get_iff(self->fd, name));
	STREQ("u0", name);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(IFF_TUN | IFF_MULTI_QUEUE | IFF_NOFILTER | IFF_PERSIST | IFF_DETACH_QUEUE,
		  get_iff(self->fd, NULL));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNGETIFF, NOWHERE)));
	/* Persistence is not asked for this way. */
	close(self->fd);
	MAKE(IFF_TUN | IFF_PERSIST);
	EXPECT_EQ(0, get_iff(self->fd, NULL) & IFF_PERSIST);
}

TEST_F(u, IOC_32)
{
	self->fd = tun(0);
	EXPECT_EQ(0x71f3, get_int(self->fd, TUNGETFEATURES));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNGETFEATURES, NOWHERE)));
}

TEST_F(u, IOC_33__IOC_34__IOC_35__FLG_07)
{
	int other;

	self->fd = tun(0);
	EXPECT_EQ(-EINVAL, queue(self->fd, IFF_ATTACH_QUEUE));
	EXPECT_EQ(-EINVAL, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EINVAL, queue(self->fd, 0));
	close(self->fd);
	MAKE(SOME);
	EXPECT_EQ(-EINVAL, queue(self->fd, IFF_DETACH_QUEUE));
	close(self->fd);
	MAKE(SOME | IFF_MULTI_QUEUE);
	other = make("u0", SOME | IFF_MULTI_QUEUE);
	EXPECT_EQ(-EINVAL, queue(other, IFF_ATTACH_QUEUE));
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EINVAL, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, queue(other, IFF_ATTACH_QUEUE | IFF_DETACH_QUEUE));
	EXPECT_EQ(0, get_iff(other, NULL) & IFF_DETACH_QUEUE);
	/* Neither a right nor ownership is asked for. */
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	if (!fork()) {
		if (setresuid(1234, 1234, 1234))
			_exit(99);
		_exit(-queue(other, IFF_ATTACH_QUEUE));
	}
	int status;

	wait(&status);
	EXPECT_EQ(0, WEXITSTATUS(status));
	close(other);
}

TEST_F(u, IOC_37)
{
	MAKE(SOME);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 17)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	EXPECT_EQ(IFF_PERSIST, sysfs("tun_flags") & IFF_PERSIST);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
	EXPECT_EQ(0, sysfs("tun_flags") & IFF_PERSIST);
}

TEST_F(u, IOC_38__IOC_39)
{
	MAKE(SOME);
	EXPECT_EQ(-1, sysfs("owner"));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOWNER, 1234)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETGROUP, 77)));
	EXPECT_EQ(1234, sysfs("owner"));
	EXPECT_EQ(77, sysfs("group"));
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNSETOWNER, -1)));
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNSETGROUP, -1)));
	EXPECT_EQ(1234, sysfs("owner"));
	EXPECT_EQ(77, sysfs("group"));
}

TEST_F(u, IOC_40)
{
	static const struct {
		int type, len;
	} cases[] = {
		{ ARPHRD_IP6GRE, 16 }, { ARPHRD_TUNNEL6, 16 }, { ARPHRD_IPGRE, 4 },
		{ ARPHRD_TUNNEL, 4 }, { ARPHRD_SIT, 4 }, { ARPHRD_ETHER, 6 },
		{ ARPHRD_IEEE802154, 8 }, { ARPHRD_IEEE802154_MONITOR, 8 },
		{ ARPHRD_PHONET_PIPE, 0 }, { ARPHRD_PPP, 0 }, { ARPHRD_NONE, 0 },
		{ ARPHRD_6LOWPAN, 8 }, { ARPHRD_FDDI, 6 }, { ARPHRD_HIPPI, 6 },
		{ ARPHRD_IEEE802, 6 }, { ARPHRD_ROSE, 5 }, { ARPHRD_NETROM, 7 },
		{ ARPHRD_LOCALTLK, 1 }, { 0x12345, 0 },
	};
	unsigned int i;

	MAKE(SOME);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		EXPECT_EQ(0, R(ioctl(self->fd, TUNSETLINK, cases[i].type)));
		EXPECT_EQ(cases[i].type & 0xffff, sysfs("type"));
		EXPECT_EQ(cases[i].len, sysfs("addr_len"));
	}
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETLINK, ARPHRD_NONE)));
	UP();
	EXPECT_EQ(-EBUSY, R(ioctl(self->fd, TUNSETLINK, ARPHRD_PPP)));
	EXPECT_EQ(ARPHRD_NONE, sysfs("type"));
}

/* A device that has a master cannot change its type: somebody listens. */
TEST_F(u, IOC_40_refused)
{
	MAKE(IFF_TAP);
	if (sh("ip link add br0 type bridge && ip link set u0 master br0"))
		SKIP(return, "no bridge");
	EXPECT_EQ(-EPERM, R(ioctl(self->fd, TUNSETLINK, ARPHRD_PPP)));
	EXPECT_EQ(ARPHRD_ETHER, sysfs("type"));
}

TEST_F(u, IOC_41)
{
	MAKE(SOME);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETNOCSUM, 1)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETNOCSUM, 0)));
}

TEST_F(u, IOC_07__IOC_42__ETH_02)
{
	char line[64];

	MAKE(SOME);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETDEBUG, 3)));
	STREQ("3", out(line, sizeof(line), "ethtool u0 2>/dev/null | "
		       "sed -n 's/.*message level: 0x0*\\([0-9a-f]*\\).*/\\1/p'"));
	/* The kind "drv" is among them: what the driver is told is in the log. */
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETNOCSUM, 1)));
	EXPECT_EQ(0, sh("dmesg | tail -n 5 | grep -q 'u0: ignored: set checksum disabled'"));
	EXPECT_EQ(0, sh("ethtool -s u0 msglvl 0"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'message level: 0x00000000'"));
}

TEST_F(u, IOC_43__VNH_01__VNH_02__VNH_03__VNH_04__VNH_05__VNH_06__VNH_07__VNH_08__VNH_09)
{
	static const struct {
		unsigned long bits;
		int ret;
	} cases[] = {
		{ 0, 0 }, { 1, 0 }, { 2, -EINVAL }, { 4, -EINVAL }, { 8, -EINVAL },
		{ 0x10, -EINVAL }, { 0x60, -EINVAL }, { 0x80, -EINVAL },
		{ 1 | 2, 0 }, { 1 | 4, 0 }, { 1 | 8, -EINVAL }, { 1 | 2 | 8, 0 },
		{ 1 | 4 | 8, 0 }, { 1 | 0x10, 0 }, { 1 | 0x20, -EINVAL },
		{ 1 | 0x40, -EINVAL }, { 1 | 0x60, 0 }, { 1 | 0x80, -EINVAL },
		{ 1 | 2 | 0x80, 0 }, { 1 | 0x60 | 0x80, 0 },
		{ 1 | 2 | 0x180, 0 }, { 1 | 2 | 0x100, -EINVAL }, { 0x200, -EINVAL },
		{ 1 | 0x200, -EINVAL }, { 1ul << 40, -EINVAL }, { ~0ul, -EINVAL },
	};
	unsigned int i;

	MAKE(SOME | IFF_VNET_HDR);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		EXPECT_EQ(cases[i].ret, R(ioctl(self->fd, TUNSETOFFLOAD, cases[i].bits)))
			TH_LOG("bits 0x%lx", cases[i].bits);
}

static int feature(const char *name)
{
	char line[64];

	out(line, sizeof(line), "ethtool -k u0 2>/dev/null | sed -n 's/^\\t*%s: //p'", name);
	return !strncmp(line, "on", 2) ? 1 : !strncmp(line, "off", 3) ? 0 : -1;
}

TEST_F(u, VNH_10__NDO_12__NDO_20__ETH_08)
{
	MAKE(SOME | IFF_VNET_HDR);
	EXPECT_EQ(0, feature("tx-checksumming"));
	EXPECT_EQ(0, feature("tx-tcp-segmentation"));
	EXPECT_EQ(1, feature("tx-vlan-offload"));
	EXPECT_EQ(1, feature("tx-scatter-gather-fraglist"));
	/* What no program allowed a user cannot have. */
	sh("ethtool -K u0 tx on tso on");
	EXPECT_EQ(0, feature("tx-checksumming"));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)));
	EXPECT_EQ(1, feature("tx-checksumming"));
	EXPECT_EQ(1, feature("tx-tcp-segmentation"));
	EXPECT_EQ(0, feature("tx-tcp6-segmentation"));
	EXPECT_EQ(0, sh("ethtool -K u0 tso off"));
	EXPECT_EQ(0, feature("tx-tcp-segmentation"));
	/* What a program allows, a user wants, whatever he chose before. */
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)));
	EXPECT_EQ(1, feature("tx-tcp-segmentation"));
	EXPECT_EQ(1, feature("tx-tcp6-segmentation"));
	/* An error changes nothing. */
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_TSO4)));
	EXPECT_EQ(1, feature("tx-tcp-segmentation"));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD, 0)));
	EXPECT_EQ(0, feature("tx-checksumming"));
}

TEST_F(u, IOC_45__IOC_46)
{
	struct ifreq ifr;

	MAKE(SOME);
	memset(&ifr, 0x5a, sizeof(ifr));
	EXPECT_EQ(0, R(ioctl(self->fd, SIOCGIFHWADDR, &ifr)));
	EXPECT_EQ(ARPHRD_NONE, ifr.ifr_hwaddr.sa_family);
	EXPECT_EQ(0, ifr.ifr_hwaddr.sa_data[0]);
	EXPECT_EQ(-EOPNOTSUPP, R(ioctl(self->fd, SIOCSIFHWADDR, &ifr)));
	close(self->fd);
	MAKE(IFF_TAP);
	memset(&ifr, 0x5a, sizeof(ifr));
	EXPECT_EQ(0, R(ioctl(self->fd, SIOCGIFHWADDR, &ifr)));
	EXPECT_EQ(ARPHRD_ETHER, ifr.ifr_hwaddr.sa_family);
	EXPECT_EQ(2, ifr.ifr_hwaddr.sa_data[0] & 3);
	/* What is not the address is the caller's. */
	EXPECT_EQ(0x5a, ifr.ifr_hwaddr.sa_data[6]);
	UP();
	memcpy(ifr.ifr_hwaddr.sa_data, "\2\1\2\3\4\5", 6);
	EXPECT_EQ(0, R(ioctl(self->fd, SIOCSIFHWADDR, &ifr)));
	EXPECT_EQ(0, sh("test $(cat /sys/class/net/u0/address) = 02:01:02:03:04:05"));
	ifr.ifr_hwaddr.sa_data[0] = 1;
	EXPECT_EQ(-EADDRNOTAVAIL, R(ioctl(self->fd, SIOCSIFHWADDR, &ifr)));
	ifr.ifr_hwaddr.sa_family = ARPHRD_PPP;
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, SIOCSIFHWADDR, &ifr)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, SIOCSIFHWADDR, NOWHERE)));
	/* Longer than can be passed. */
	EXPECT_EQ(0, link_up("u0", 0));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETLINK, ARPHRD_TUNNEL6)));
	ifr.ifr_hwaddr.sa_family = ARPHRD_TUNNEL6;
	EXPECT_EQ(-EADDRNOTAVAIL, R(ioctl(self->fd, SIOCSIFHWADDR, &ifr)));
}

TEST_F(u, IOC_47__IOC_48__EDGE_66)
{
	int other, type = SOME | IFF_MULTI_QUEUE;

	MAKE(type);
	other = make("u0", type);
	EXPECT_EQ(INT_MAX, get_int(self->fd, TUNGETSNDBUF));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETSNDBUF, NOWHERE)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNGETSNDBUF, NOWHERE)));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETSNDBUF, 0));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETSNDBUF, -7));
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, set_int(self->fd, TUNSETSNDBUF, 12345));
	EXPECT_EQ(12345, get_int(self->fd, TUNGETSNDBUF));
	/* Those parked then, and those that come later, are not touched. */
	EXPECT_EQ(INT_MAX, get_int(other, TUNGETSNDBUF));
	EXPECT_EQ(0, queue(other, IFF_ATTACH_QUEUE));
	EXPECT_EQ(INT_MAX, get_int(other, TUNGETSNDBUF));
	close(other);
	other = make("u0", type);
	EXPECT_EQ(INT_MAX, get_int(other, TUNGETSNDBUF));
	close(other);
}

TEST_F(u, IOC_54__NDO_15)
{
	MAKE(SOME | IFF_MULTI_QUEUE);
	UP();
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETCARRIER, NOWHERE)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETCARRIER, 0));
	EXPECT_EQ(0, sysfs("carrier"));
	EXPECT_EQ(0, set_int(self->fd, TUNSETCARRIER, 5));
	EXPECT_EQ(1, sysfs("carrier"));
	EXPECT_EQ(0, sh("ip link set u0 carrier off"));
	EXPECT_EQ(0, sysfs("carrier"));
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EPERM, set_int(self->fd, TUNSETCARRIER, 1));
	EXPECT_NE(0, sh("ip link set u0 carrier on"));
	EXPECT_EQ(0, set_int(self->fd, TUNSETCARRIER, 0));
}

TEST_F(u, IOC_55__IOC_56__NET_06)
{
	struct stat a, b, c;
	int fd, here, there;

	here = open("/proc/self/ns/net", O_RDONLY);
	self->fd = tun(0);
	fd = R(ioctl(self->fd, SIOCGSKNS));
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(-EBADFD, R(ioctl(self->fd, TUNGETDEVNETNS)));
	ASSERT_EQ(0, iff(self->fd, "u0", SOME));
	ASSERT_EQ(0, sh("ip netns add conformance"));
	ASSERT_EQ(0, sh("ip link set u0 netns conformance"));
	there = R(ioctl(self->fd, TUNGETDEVNETNS));
	sh("ip netns del conformance");
	ASSERT_LE(0, there);
	fstat(here, &a);
	fstat(fd, &b);
	fstat(there, &c);
	EXPECT_EQ(a.st_ino, b.st_ino);
	EXPECT_NE(a.st_ino, c.st_ino);
}

TEST_F(u, IOC_57__IOC_58__IOC_59__FLG_12__FLG_14__LCK_06__LCK_08)
{
	MAKE(SOME);
	EXPECT_EQ(10, get_int(self->fd, TUNGETVNETHDRSZ));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETVNETHDRSZ, 9));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETVNETHDRSZ, -10));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETVNETHDRSZ, NOWHERE)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNGETVNETHDRSZ, NOWHERE)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 13));
	EXPECT_EQ(13, get_int(self->fd, TUNGETVNETHDRSZ));
	EXPECT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, INT_MAX));
	EXPECT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 10));
	EXPECT_EQ(0, get_int(self->fd, TUNGETVNETLE));
	EXPECT_EQ(0, set_int(self->fd, TUNSETVNETLE, 7));
	EXPECT_EQ(1, get_int(self->fd, TUNGETVNETLE));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETVNETLE, NOWHERE)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNGETVNETLE, NOWHERE)));
	/* Not among the flags that are shown. */
	EXPECT_EQ(SOME, sysfs("tun_flags"));
	/* Kept when the device is shaped anew. */
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	close(self->fd);
	MAKE(SOME | IFF_VNET_HDR);
	EXPECT_EQ(1, get_int(self->fd, TUNGETVNETLE));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETVNETLE, 0));
	EXPECT_EQ(0, get_int(self->fd, TUNGETVNETLE));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETVNETBE, 1));
	EXPECT_EQ(-EINVAL, get_int(self->fd, TUNGETVNETBE));
}

TEST_F(u, FLG_02)
{
	MAKE(SOME | IFF_NAPI);
	EXPECT_EQ(SOME | IFF_NAPI, sysfs("tun_flags"));
	close(self->fd);
	MAKE(IFF_TAP | IFF_NAPI);
	EXPECT_EQ(IFF_TAP | IFF_NAPI, sysfs("tun_flags"));
}

TEST_F(u, FLG_11)
{
	MAKE(SOME | IFF_ONE_QUEUE);
	EXPECT_EQ(SOME | IFF_ONE_QUEUE, sysfs("tun_flags"));
	EXPECT_EQ(500, sysfs("tx_queue_len"));
}

TEST_F(u, FLG_15)
{
	MAKE(SOME | 4 | 8 | IFF_ATTACH_QUEUE | IFF_DETACH_QUEUE);
	EXPECT_EQ(SOME, sysfs("tun_flags"));
	EXPECT_EQ(0, get_iff(self->fd, NULL) & IFF_DETACH_QUEUE);
}

TEST_F(u, LIF_16__EDGE_69)
{
	int other, type = SOME | IFF_MULTI_QUEUE;

	MAKE(type);
	other = make("u0", type);
	/* The second queue of a device that goes asks for no index with its new one. */
	ASSERT_EQ(0, sh("ip link del u0"));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(0, iff(other, "u0", type));
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	close(other);
	/* Decided: a reserved number survives a request that fails. */
	other = tun(0);
	EXPECT_EQ(0, set_int(other, TUNSETIFINDEX, 777));
	EXPECT_EQ(-EINVAL, iff(other, "a/b", type));
	EXPECT_EQ(0, iff(other, "u0", type));
	EXPECT_EQ(777, ifindex("u0"));
	close(other);
}

static void *attaches(void *arg)
{
	struct { int fd; struct sock_fprog prog; } *job = arg;

	return (void *)R(ioctl(job->fd, TUNATTACHFILTER, &job->prog));
}

static void *asks(void *arg)
{
	return (void *)(long)get_iff(*(int *)arg, NULL);
}

/* While one request waits for its caller's memory, which others wait for it? */
TEST_F(u, IOC_04)
{
	struct sock_filter accept = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct { int fd; struct sock_fprog prog; } job;
	struct uffdio_copy copy = { .len = 4096 };
	unsigned char page[4096] __attribute__((aligned(4096))) = {};
	pthread_t attacher, asker;
	struct timespec soon;
	struct uffd_msg msg;
	unsigned int features;
	int uffd, other;
	void *result;

	uffd = syscall(__NR_userfaultfd, 0);
	if (uffd < 0)
		SKIP(return, "no userfaultfd: %d", errno);
	MAKE(IFF_TAP | IFF_NO_PI);
	other = tun(0);
	ASSERT_EQ(0, R(ioctl(uffd, UFFDIO_API, &api)));
	reg.range.start = (unsigned long)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.len = 4096;
	ASSERT_EQ(0, R(ioctl(uffd, UFFDIO_REGISTER, &reg)));
	job.fd = self->fd;
	job.prog.len = 1;
	job.prog.filter = (void *)(unsigned long)reg.range.start;
	ASSERT_EQ(0, pthread_create(&attacher, NULL, attaches, &job));
	ASSERT_EQ(sizeof(msg), R(read(uffd, &msg, sizeof(msg))));
	/* These two take no lock. */
	EXPECT_EQ(0, R(ioctl(other, TUNGETFEATURES, &features)));
	EXPECT_LE(0, R(ioctl(self->fd, SIOCGSKNS)));
	/* This one does. */
	ASSERT_EQ(0, pthread_create(&asker, NULL, asks, &self->fd));
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 300000000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	EXPECT_EQ(ETIMEDOUT, pthread_timedjoin_np(asker, &result, &soon));
	memcpy(page, &accept, sizeof(accept));
	copy.dst = reg.range.start;
	copy.src = (unsigned long)page;
	ASSERT_EQ(0, R(ioctl(uffd, UFFDIO_COPY, &copy)));
	pthread_join(attacher, &result);
	EXPECT_EQ(0, (long)result);
	pthread_join(asker, &result);
	EXPECT_LE(0, (long)result);
}

TEST_HARNESS_MAIN
