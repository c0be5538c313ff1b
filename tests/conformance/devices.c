// SPDX-License-Identifier: GPL-2.0
/*
 * Devices as the rest of the system sees them: rows NDO, ETH, RTN, SYS, NET, LIF.
 */
#include "tun.h"

TEST_F(u, NDO_02)
{
	char line[64];

	MAKE(SOME);
	EXPECT_EQ(ARPHRD_NONE, sysfs("type"));
	EXPECT_EQ(0, sysfs("addr_len"));
	EXPECT_EQ(1500, sysfs("mtu"));
	EXPECT_EQ(IFF_POINTOPOINT | IFF_NOARP | IFF_MULTICAST, sysfs("flags"));
	EXPECT_EQ(500, sysfs("tx_queue_len"));
	EXPECT_EQ(0, sysfs("name_assign_type") == -EINVAL ? 0 : sysfs("name_assign_type"));
	STREQ("", out(line, sizeof(line), "cat /sys/class/net/u0/address"));
}

TEST_F(u, NDO_03__NDO_17)
{
	char first[64], second[64];

	MAKE(IFF_TAP);
	EXPECT_EQ(ARPHRD_ETHER, sysfs("type"));
	EXPECT_EQ(6, sysfs("addr_len"));
	EXPECT_EQ(1000, sysfs("tx_queue_len"));
	EXPECT_EQ(1, sysfs("addr_assign_type"));
	EXPECT_EQ(IFF_BROADCAST | IFF_MULTICAST, sysfs("flags"));
	out(first, sizeof(first), "cat /sys/class/net/u0/address");
	close(self->fd);
	MAKE(IFF_TAP);
	out(second, sizeof(second), "cat /sys/class/net/u0/address");
	EXPECT_NE(0, strcmp(first, second));
	UP();
	EXPECT_EQ(0, sh("ip link set u0 address 02:00:00:00:00:33"));
	EXPECT_NE(0, sh("ip link set u0 address 03:00:00:00:00:33"));
	close(self->fd);
	MAKE(SOME);
	EXPECT_NE(0, sh("ip link set u0 address 02:00:00:00:00:33"));
}

TEST_F(u, NDO_04)
{
	MAKE(SOME);
	EXPECT_NE(0, sh("ip link set u0 mtu 67"));
	EXPECT_EQ(0, sh("ip link set u0 mtu 68"));
	EXPECT_EQ(0, sh("ip link set u0 mtu 65535"));
	EXPECT_NE(0, sh("ip link set u0 mtu 65536"));
	close(self->fd);
	MAKE(IFF_TAP);
	EXPECT_NE(0, sh("ip link set u0 mtu 67"));
	EXPECT_EQ(0, sh("ip link set u0 mtu 65521"));
	EXPECT_NE(0, sh("ip link set u0 mtu 65522"));
}

TEST_F(u, NDO_01__MQ_05)
{
	int a, b, type = SOME | IFF_MULTI_QUEUE;

	MAKE(SOME);
	EXPECT_EQ(0, sh("test $(ls -d /sys/class/net/u0/queues/tx-* | wc -l) = 1"));
	close(self->fd);
	MAKE(type);
	EXPECT_EQ(0, sh("test $(ls -d /sys/class/net/u0/queues/tx-* | wc -l) = 1"));
	EXPECT_EQ(0, sh("ip -d link show u0 | grep -q 'numtxqueues 256'"));
	a = make("u0", type);
	b = make("u0", type);
	EXPECT_EQ(0, sh("test $(ls -d /sys/class/net/u0/queues/tx-* | wc -l) = 3"));
	queue(b, IFF_DETACH_QUEUE);
	EXPECT_EQ(0, sh("test $(ls -d /sys/class/net/u0/queues/tx-* | wc -l) = 2"));
	queue(a, IFF_DETACH_QUEUE);
	queue(self->fd, IFF_DETACH_QUEUE);
	EXPECT_EQ(0, sh("test $(ls -d /sys/class/net/u0/queues/tx-* | wc -l) = 1"));
	close(a);
	close(b);
}

TEST_F(u, NDO_07__LIF_04__LIF_05__MQ_06)
{
	int other, type = SOME | IFF_MULTI_QUEUE;

	MAKE(type);
	other = make("u0", type);
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	close(self->fd);
	EXPECT_EQ(1, exists());
	EXPECT_EQ(1, (int)(sysfs("flags") & IFF_UP) == 0);
	EXPECT_EQ(0, queue(other, IFF_ATTACH_QUEUE));
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	close(other);
	EXPECT_EQ(0, exists());
	MAKE(type);
	other = make("u0", type);
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	ASSERT_EQ(0, sh("ip link del u0"));
	EXPECT_EQ(-EBADFD, get_iff(self->fd, NULL));
	EXPECT_EQ(-EBADFD, get_iff(other, NULL));
	EXPECT_EQ(-EINVAL, queue(other, IFF_ATTACH_QUEUE));
	close(other);
}

TEST_F(u, NDO_08__NDO_09__BP_12__BP_13)
{
	MAKE(IFF_TAP | IFF_NO_PI | IFF_BACKPRESSURE);
	ASSERT_EQ(0, txqlen(2));
	UP();
	into(60, 1);
	into(60, 2);
	/* Stopped: the third waits in the qdisc. */
	into(60, 3);
	EXPECT_EQ(0, stat_of("tx_dropped"));
	EXPECT_EQ(0, link_up("u0", 0));
	UP();
	/* Started, though the ring is full: the next is one too many. */
	into(60, 4);
	EXPECT_EQ(1, stat_of("tx_dropped"));
}

TEST_F(u, NDO_13)
{
	MAKE(IFF_TAP | IFF_NO_PI);
	if (sh("ip link add br0 type bridge && ip link add v0 type veth peer name v1 && "
	       "ip link set u0 master br0 && ip link set v0 master br0"))
		SKIP(return, "no bridge");
	UP();
	unsigned char buf[2000];

	fcntl(self->fd, F_SETFL, 0);
	frame(buf, 1400, 1);
	EXPECT_EQ(1400, R(write(self->fd, buf, 1400)));
	EXPECT_EQ(1, stat_of("rx_packets"));
	EXPECT_EQ(0, sh("ip link set u0 nomaster"));
	EXPECT_EQ(1400, R(write(self->fd, buf, 1400)));
}

TEST_F(u, NDO_16)
{
	MAKE(IFF_TAP);
	EXPECT_EQ(0, sh("ip maddr add 01:00:5e:00:00:05 dev u0"));
	EXPECT_EQ(0, sh("ip maddr del 01:00:5e:00:00:05 dev u0"));
	close(self->fd);
	MAKE(SOME);
	EXPECT_NE(0, sh("ip maddr add 01:00:5e:00:00:05 dev u0"));
}

TEST_F(u, NDO_21)
{
	MAKE(SOME);
	UP();
	EXPECT_NE(0, sh("tc qdisc show dev u0 | grep noqueue"));
	close(self->fd);
	MAKE(SOME | IFF_MULTI_QUEUE);
	UP();
	EXPECT_EQ(0, sh("tc qdisc show dev u0 | grep 'qdisc mq'"));
}

TEST_F(u, NDO_23__ETH_09)
{
	MAKE(IFF_TAP);
	EXPECT_NE(0, sh("ethtool -S u0"));
	EXPECT_NE(0, sh("ethtool -g u0"));
	EXPECT_NE(0, sh("ethtool -L u0 combined 2"));
	EXPECT_NE(0, sh("ethtool -a u0"));
	EXPECT_NE(0, sh("ethtool -x u0"));
	EXPECT_NE(0, sh("ethtool -t u0"));
	EXPECT_NE(0, sh("ethtool -e u0"));
}

TEST_F(u, ETH_01)
{
	MAKE(SOME);
	EXPECT_EQ(0, sh("ethtool -i u0 | grep -qx 'driver: tun'"));
	EXPECT_EQ(0, sh("ethtool -i u0 | grep -qx 'version: 1.6'"));
	EXPECT_EQ(0, sh("ethtool -i u0 | grep -qx 'bus-info: tun'"));
	close(self->fd);
	MAKE(IFF_TAP);
	EXPECT_EQ(0, sh("ethtool -i u0 | grep -qx 'bus-info: tap'"));
}

TEST_F(u, ETH_03__ETH_07)
{
	MAKE(SOME);
	UP();
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Link detected: yes'"));
	EXPECT_EQ(0, set_int(self->fd, TUNSETCARRIER, 0));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Link detected: no'"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Speed: 10000Mb/s'"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Duplex: Full'"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Port: Twisted Pair'"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'PHYAD: 0'"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Auto-negotiation: off'"));
	EXPECT_EQ(0, sh("ethtool -s u0 speed 123 duplex half"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Speed: 123Mb/s'"));
	EXPECT_EQ(0, sh("ethtool u0 | grep -q 'Duplex: Half'"));
}

/* The most of combined channels, and how many there are. */
#define CHANNELS "test $(ethtool -l u0 | grep Combined | tr -dc '0-9\\n' | paste -sd,) = "

TEST_F(u, ETH_04)
{
	int other, type = SOME | IFF_MULTI_QUEUE;

	MAKE(SOME);
	EXPECT_EQ(0, sh(CHANNELS "1,1"));
	close(self->fd);
	MAKE(type);
	other = make("u0", type);
	EXPECT_EQ(0, sh(CHANNELS "256,2"));
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, sh(CHANNELS "256,1"));
	close(other);
}

TEST_F(u, ETH_05)
{
	MAKE(SOME);
	EXPECT_EQ(0, sh("ethtool -T u0 | grep -q software-transmit"));
	EXPECT_EQ(0, sh("ethtool -T u0 | grep -q software-receive"));
	EXPECT_EQ(0, sh("ethtool -T u0 | grep -q software-system-clock"));
	EXPECT_NE(0, sh("ethtool -T u0 | grep -q hardware-transmit"));
}

TEST_F(u, ETH_06__LCK_20)
{
	MAKE(SOME);
	EXPECT_EQ(0, sh("ethtool -c u0 | grep -Eq 'rx-frames:[[:space:]]*(0|n/a)'"));
	EXPECT_EQ(0, sh("ethtool -C u0 rx-frames 12"));
	EXPECT_EQ(0, sh("ethtool -c u0 | grep -Eq 'rx-frames:[[:space:]]*12'"));
	EXPECT_EQ(0, sh("ethtool -C u0 rx-frames 1000"));
	EXPECT_EQ(0, sh("ethtool -c u0 | grep -Eq 'rx-frames:[[:space:]]*64'"));
	EXPECT_NE(0, sh("ethtool -C u0 rx-usecs 10"));
	EXPECT_NE(0, sh("ethtool -C u0 tx-frames 10"));
}

#define REFUSAL "creation via rtnetlink is not supported"

TEST_F(u, RTN_01__RTN_09)
{
	EXPECT_NE(0, sh("ip link add u0 type tun"));
	EXPECT_EQ(0, sh("ip link add u0 type tun 2>&1 | grep -q '" REFUSAL "'"));
	MAKE(SOME);
	EXPECT_EQ(0, sh("ip link set u0 type tun 2>&1 | grep -q '" REFUSAL "'"));
}

TEST_F(u, RTN_02)
{
	MAKE(SOME);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	EXPECT_EQ(0, sh("ip link del u0"));
	EXPECT_EQ(0, exists());
	close(self->fd);
	MAKE(IFF_TAP);
	EXPECT_EQ(0, sh("ip link del u0"));
	EXPECT_EQ(0, exists());
}

#define INFO \
	"ip -d -j link show u0 | tr -d ' \\n' | grep -o '\"info_kind\".*' | cut -c1-300"

TEST_F(u, RTN_03__RTN_04__RTN_05__RTN_06__RTN_07__RTN_08)
{
	char line[512];

	MAKE(IFF_TUN | IFF_VNET_HDR);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOWNER, 1234)));
	out(line, sizeof(line), INFO);
	EXPECT_NE(NULL, strstr(line, "\"info_kind\":\"tun\""));
	EXPECT_NE(NULL, strstr(line, "\"type\":\"tun\""));
	EXPECT_NE(NULL, strstr(line, "\"pi\":true"));
	EXPECT_NE(NULL, strstr(line, "\"vnet_hdr\":true"));
	EXPECT_NE(NULL, strstr(line, "\"persist\":false"));
	EXPECT_NE(NULL, strstr(line, "\"multi_queue\":false"));
	EXPECT_NE(NULL, strstr(line, "1234"));
	EXPECT_EQ(NULL, strstr(line, "\"group\""));
	EXPECT_EQ(NULL, strstr(line, "numqueues"));
	close(self->fd);
	MAKE(IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE);
	int other = make("u0", IFF_TAP | IFF_MULTI_QUEUE);

	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETGROUP, 77)));
	out(line, sizeof(line), INFO);
	EXPECT_NE(NULL, strstr(line, "\"type\":\"tap\""));
	EXPECT_NE(NULL, strstr(line, "\"pi\":false"));
	EXPECT_NE(NULL, strstr(line, "\"persist\":true"));
	EXPECT_NE(NULL, strstr(line, "\"multi_queue\":true"));
	EXPECT_NE(NULL, strstr(line, "\"numqueues\":1"));
	EXPECT_NE(NULL, strstr(line, "\"numdisabled\":1"));
	EXPECT_NE(NULL, strstr(line, "77"));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
	close(other);
}

TEST_F(u, SYS_01__SYS_02__SYS_03__SYS_04)
{
	struct stat s;
	char line[64];

	MAKE(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR);
	STREQ("0x5002", out(line, sizeof(line), "cat /sys/class/net/u0/tun_flags"));
	STREQ("-1", out(line, sizeof(line), "cat /sys/class/net/u0/owner"));
	STREQ("-1", out(line, sizeof(line), "cat /sys/class/net/u0/group"));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOWNER, 1234)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETGROUP, 77)));
	STREQ("1234", out(line, sizeof(line), "cat /sys/class/net/u0/owner"));
	STREQ("77", out(line, sizeof(line), "cat /sys/class/net/u0/group"));
	ASSERT_EQ(0, stat("/sys/class/net/u0/tun_flags", &s));
	EXPECT_EQ(0444, s.st_mode & 0777);
}

/* Owner and group as the reader's user namespace sees them. */
TEST_F(u, SYS_02__RTN_04_foreign)
{
	char line[64];

	MAKE(SOME);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOWNER, 1234)));
	STREQ("65534", out(line, sizeof(line), "unshare -U cat /sys/class/net/u0/owner"));
}

TEST_F(u, LIF_03__EDGE_07__TXP_01__DRP_01)
{
	int s;

	MAKE(IFF_TAP | IFF_NO_PI);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	UP();
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(1, exists());
	EXPECT_EQ(0, sysfs("carrier"));
	/* Nobody is there to read: past the qdisc, which the carrier closes. */
	s = raw("u0", 0);
	int on = 1;
	unsigned char buf[60];

	setsockopt(s, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
	frame(buf, 60, 1);
	send(s, buf, 60, 0);
	close(s);
	EXPECT_EQ(0, stat_of("tx_packets"));
	MAKE(IFF_TAP | IFF_NO_PI);
	EXPECT_EQ(1, sysfs("carrier"));
	into(60, 1);
	EXPECT_EQ(60, R(read(self->fd, buf, 60)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
}

/* All queues parked: slot 0 is empty, and what comes there is dropped. */
TEST_F(u, TXP_01_parked)
{
	MAKE(IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE);
	UP();
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	into(60, 1);
	EXPECT_EQ(1, stat_of("tx_dropped"));
	EXPECT_EQ(0, stat_of("tx_packets"));
}

TEST_F(u, LIF_13__LIF_14__LIF_15__EDGE_02__EDGE_31__EDGE_32)
{
	int i;

	self->fd = tun(0);
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(-EINVAL, iff(self->fd, "a/b", IFF_TUN));
		EXPECT_EQ(-EINVAL, iff(self->fd, "", 0));
		EXPECT_EQ(0, set_int(self->fd, TUNSETIFINDEX, 1));
		EXPECT_EQ(-EBUSY, iff(self->fd, "u0", IFF_TAP | IFF_MULTI_QUEUE));
		EXPECT_EQ(0, set_int(self->fd, TUNSETIFINDEX, 0));
	}
	EXPECT_EQ(0, iff(self->fd, "u0", IFF_TUN));
}

TEST_F(u, NET_02__NET_03__NET_04__NET_05)
{
	unsigned char buf[100];
	int other = tun(0), there, here;

	MAKE(IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE);
	UP();
	into(60, 3);
	ASSERT_EQ(0, sh("ip netns add conf2 && ip link set u0 netns conf2"));
	EXPECT_EQ(-ENODEV, ifindex("u0"));
	/* Not found from here any more: a new one is made. */
	EXPECT_EQ(0, iff(other, "u0", SOME));
	close(other);
	/* What was in the ring is still there. */
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	EXPECT_EQ(3, buf[14]);
	EXPECT_EQ(IFF_TAP | IFF_MULTI_QUEUE | IFF_NO_PI, get_iff(self->fd, NULL));
	/* It was closed. */
	frame(buf, 60, 1);
	EXPECT_EQ(-EIO, R(write(self->fd, buf, 60)));
	EXPECT_EQ(0, sh("ip -n conf2 link set u0 up"));
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	here = open("/proc/self/ns/net", O_RDONLY);
	there = open("/run/netns/conf2", O_RDONLY);
	ASSERT_EQ(0, setns(there, CLONE_NEWNET));
	other = tun(0);
	EXPECT_EQ(0, iff(other, "u0", IFF_TAP | IFF_MULTI_QUEUE));
	ASSERT_EQ(0, setns(here, CLONE_NEWNET));
	close(there);
	close(other);
	sh("ip netns del conf2");
}

TEST_F(u, NET_07)
{
	int i;

	MAKE(SOME);
	ASSERT_EQ(0, sh("ip netns add conf3 && ip link set u0 netns conf3"));
	EXPECT_EQ(SOME, get_iff(self->fd, NULL));
	ASSERT_EQ(0, sh("ip netns del conf3"));
	for (i = 0; i < 300 && get_iff(self->fd, NULL) >= 0; i++)
		usleep(10000);
	EXPECT_EQ(-EBADFD, get_iff(self->fd, NULL));
	EXPECT_EQ(0, iff(self->fd, "u0", SOME));
}

/* RTM_NEWLINK comes with a real change, while the device is up. */
TEST_F(u, IOC_06)
{
	MAKE(SOME);
	UP();
	/* It listens once it has seen something. */
	sh("rm -f /tmp/monitor; ip monitor link >/tmp/monitor & echo $! >/tmp/monitor.pid; "
	   "for i in $(seq 50); do ip link set u0 alias $i; grep -q u0 /tmp/monitor && break; "
	   "sleep 0.1; done; sleep 0.3; : >/tmp/monitor");
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETOWNER, 1234)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETDEBUG, 0)));
	EXPECT_EQ(0, sh("for i in $(seq 50); do test $(grep -ac '[0-9]: u0' /tmp/monitor) -ge 3 && "
			"break; sleep 0.1; done; sleep 0.3; kill $(cat /tmp/monitor.pid); "
			"test $(grep -ac '[0-9]: u0' /tmp/monitor) = 3"));
}

TEST_F(u, MOD_10__MOD_11__BP_17__BP_18__BP_19)
{
	unsigned char buf[100];
	int i, n;

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	EXPECT_EQ(0, txqlen(5));
	for (i = 0; i < 8; i++)
		into(60, i);
	for (n = 0; read(self->fd, buf, 100) == 60; n++)
		EXPECT_EQ(n, buf[14]);
	EXPECT_EQ(5, n);
	EXPECT_EQ(3, stat_of("tx_dropped"));
	/* Shortened, it keeps the oldest; what goes is not counted. */
	for (i = 0; i < 5; i++)
		into(60, i);
	EXPECT_EQ(0, txqlen(2));
	for (n = 0; read(self->fd, buf, 100) == 60; n++)
		EXPECT_EQ(n, buf[14]);
	EXPECT_EQ(2, n);
	EXPECT_EQ(3, stat_of("tx_dropped"));
	/* None: everything is dropped. */
	EXPECT_EQ(0, txqlen(0));
	into(60, 1);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	EXPECT_EQ(4, stat_of("tx_dropped"));
	EXPECT_EQ(0, txqlen(1));
	into(60, 1);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	/* More than can be had. */
	EXPECT_GT(0, txqlen(1 << 30));
	EXPECT_EQ(1, sysfs("tx_queue_len"));
	/* Others' queues do not concern us. */
	EXPECT_EQ(0, sh("ip link set lo txqueuelen 7"));
}

TEST_HARNESS_MAIN
