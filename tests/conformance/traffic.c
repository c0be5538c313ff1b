// SPDX-License-Identifier: GPL-2.0
/*
 * Frames between the stack and readers: rows TXP, MQ, RX, DRP, STA, and what of
 * backpressure can be seen from outside.
 */
#include "tun.h"
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <pthread.h>
#include <sys/sendfile.h>

#define TAP (IFF_TAP | IFF_NO_PI)
#define MQ (TAP | IFF_MULTI_QUEUE)

/* A UDP socket that sends to whoever is behind u0. */
static int udp(int port)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	to.sin_addr.s_addr = inet_addr("10.96.0.2");
	if (bind(fd, (void *)&from, sizeof(from)) || connect(fd, (void *)&to, sizeof(to))) {
		close(fd);
		return -1;
	}
	return fd;
}

#define ADDRESS() \
	ASSERT_EQ(0, sh("ip addr add 10.96.0.1/24 dev u0 && ip link set u0 up && " \
			"{ ip neigh replace 10.96.0.2 lladdr 02:00:00:00:00:02 dev u0 || true; }"))

/* The stamp is taken, and the frame is not the sender's any more. */
TEST_F(u, TXP_07__TXP_08)
{
	int s, on = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, left = -1;
	char control[512], data[100] = {};
	struct iovec iov = { data, 100 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};

	MAKE(SOME);
	ADDRESS();
	s = udp(1000);
	ASSERT_EQ(0, setsockopt(s, SOL_SOCKET, SO_TIMESTAMPING, &on, sizeof(on)));
	EXPECT_EQ(100, R(send(s, data, 100, 0)));
	EXPECT_EQ(0, ioctl(s, SIOCOUTQ, &left));
	EXPECT_EQ(0, left);
	EXPECT_LT(0, R(recvmsg(s, &m, MSG_ERRQUEUE)));
	EXPECT_EQ(SOL_SOCKET, CMSG_FIRSTHDR(&m)->cmsg_level);
	close(s);
}

/* Pages of a file are copied when they are queued: what is read is what was sent. */
TEST_F(u, TXP_06)
{
	unsigned char buf[5000], page[4096];
	int s, on = 1, i;

	MAKE(SOME);
	ADDRESS();
	EXPECT_EQ(0, sh("ip link set u0 mtu 9000"));
	s = udp(1001);
	ASSERT_EQ(0, setsockopt(s, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)));
	for (i = 0; i < 4096; i++)
		page[i] = i * 11;
	ASSERT_EQ(4096, R(send(s, page, 4096, MSG_ZEROCOPY)));
	memset(page, 0, sizeof(page));
	EXPECT_EQ(4096 + 28, R(read(self->fd, buf, sizeof(buf))));
	for (i = 0; i < 4096 && buf[28 + i] == (unsigned char)(i * 11); i++)
		;
	EXPECT_EQ(4096, i);
	close(s);
}

TEST_F(u, TXP_09__TXP_11__BP_01__STA_05_full)
{
	unsigned char buf[100];
	int i;

	MAKE(TAP);
	ASSERT_EQ(0, txqlen(3));
	UP();
	for (i = 0; i < 10; i++)
		into(60, i);
	EXPECT_EQ(7, stat_of("tx_dropped"));
	EXPECT_EQ(0, stat_of("tx_packets"));
	for (i = 0; read(self->fd, buf, 100) == 60; i++)
		;
	EXPECT_EQ(3, i);
	EXPECT_EQ(3, stat_of("tx_packets"));
}

/* With the flag: what does not fit waits in the qdisc. */
TEST_F(u, BP_02__BP_03__BP_05__BP_09)
{
	unsigned char buf[100];
	int i, len;

	for (len = 1; len <= 64; len *= 4) {
		MAKE(TAP | IFF_BACKPRESSURE);
		ASSERT_EQ(0, sh("tc qdisc replace dev u0 root pfifo limit 1000"));
		ASSERT_EQ(0, txqlen(len));
		UP();
		for (i = 0; i < 200; i++)
			into(60, i);
		EXPECT_EQ(0, stat_of("tx_dropped"));
		for (i = 0; i < 200; i++) {
			int tries = 0;

			/* The wake runs the qdisc in a softirq. */
			while (read(self->fd, buf, 100) != 60 && tries++ < 1000)
				usleep(100);
			EXPECT_EQ(i, buf[14]);
		}
		EXPECT_EQ(0, stat_of("tx_dropped"));
		close(self->fd);
		self->fd = -1;
	}
}

/* Without a qdisc nothing would wait: it drops, and never stops. */
TEST_F(u, BP_20)
{
	int i;

	MAKE(TAP | IFF_BACKPRESSURE);
	ASSERT_EQ(0, sh("tc qdisc replace dev u0 root noqueue"));
	ASSERT_EQ(0, txqlen(2));
	UP();
	for (i = 0; i < 5; i++)
		into(60, i);
	EXPECT_EQ(3, stat_of("tx_dropped"));
	EXPECT_NE(0, sh("dmesg | grep -q 'Virtual device u0 asks to queue packet'"));
}

/* Shaped anew without the flag while it is stopped: what waited goes on. */
TEST_F(u, BP_16__BP_11)
{
	unsigned char buf[100];
	int i, n;

	MAKE(TAP | IFF_BACKPRESSURE);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	ASSERT_EQ(0, txqlen(4));
	UP();
	for (i = 0; i < 6; i++)
		into(60, i);
	EXPECT_EQ(0, stat_of("tx_dropped"));
	close(self->fd);
	MAKE(TAP);
	for (i = n = 0; i < 200 && n < 2; i++) {
		n += read(self->fd, buf, 100) == 60;
		usleep(1000);
	}
	into(60, 9);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
}

TEST_F(u, BP_15)
{
	int i;

	MAKE(TAP | IFF_BACKPRESSURE);
	ASSERT_EQ(0, txqlen(2));
	UP();
	for (i = 0; i < 6; i++)
		into(60, i);
	EXPECT_EQ(0, sh("ip link del u0"));
	EXPECT_EQ(-EBADFD, get_iff(self->fd, NULL));
}

/* A UDP packet from port @from to port @to, for a TUN device. */
static int reply(int fd, int from, int to)
{
	unsigned char buf[28];

	packet(buf, 28);
	buf[9] = 17;
	buf[20] = from >> 8;
	buf[21] = from;
	buf[22] = to >> 8;
	buf[23] = to;
	buf[25] = 8;
	return R(write(fd, buf, 28));
}

/* The queue that a packet of a flow comes out of; -1 for none. */
static int queue_of(struct __test_metadata *_metadata, int *fds, int count, int port)
{
	char buf[200] = {};
	int s = udp(port), i, found = -1;

	EXPECT_EQ(50, R(send(s, buf, 50, 0)));
	close(s);
	for (i = 0; i < count; i++)
		if (read(fds[i], buf, sizeof(buf)) > 0)
			found = i;
	return found;
}

TEST_F(u, MQ_07__MQ_08__MQ_11__NDO_11__RX_08)
{
	int fds[4], i, port, spread = 0;

	for (i = 0; i < 4; i++)
		ASSERT_LE(0, fds[i] = make("u0", SOME | IFF_MULTI_QUEUE));
	ADDRESS();
	/* Spread by a hash: the same for a flow, and not the same for all. */
	for (port = 2000; port < 2016; port++) {
		int q = queue_of(_metadata, fds, 4, port);

		EXPECT_LE(0, q);
		EXPECT_EQ(q, queue_of(_metadata, fds, 4, port));
		spread |= 1 << q;
	}
	EXPECT_NE(0, spread & (spread - 1));
	/* Who writes for a flow reads of it. */
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(28, reply(fds[i], 9, 2000));
		EXPECT_EQ(i, queue_of(_metadata, fds, 4, 2000));
	}
	for (i = 0; i < 4; i++)
		close(fds[i]);
}

/* Silent for so long, a flow is forgotten: it is where the hash says again. */
TEST_F(u, MQ_09)
{
	int fds[2], i, home;

	for (i = 0; i < 2; i++)
		ASSERT_LE(0, fds[i] = make("u0", SOME | IFF_MULTI_QUEUE));
	ADDRESS();
	home = queue_of(_metadata, fds, 2, 3000);
	EXPECT_EQ(28, reply(fds[!home], 9, 3000));
	EXPECT_EQ(!home, queue_of(_metadata, fds, 2, 3000));
	sleep(6);
	EXPECT_EQ(home, queue_of(_metadata, fds, 2, 3000));
	close(fds[0]);
	close(fds[1]);
}

/* The queue of a flow goes: what is remembered is out of range, and taken for 0. */
TEST_F(u, MQ_10__EDGE_63)
{
	int fds[3], i;

	for (i = 0; i < 3; i++)
		ASSERT_LE(0, fds[i] = make("u0", SOME | IFF_MULTI_QUEUE));
	ADDRESS();
	EXPECT_EQ(28, reply(fds[2], 9, 4000));
	EXPECT_EQ(2, queue_of(_metadata, fds, 3, 4000));
	EXPECT_EQ(0, queue(fds[2], IFF_DETACH_QUEUE));
	EXPECT_EQ(0, queue_of(_metadata, fds, 3, 4000));
	for (i = 0; i < 3; i++)
		close(fds[i]);
}

/* The last slot's file moves into the hole. */
TEST_F(u, MQ_02__MQ_03__MQ_04__BP_14)
{
	int two = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 2);
	int zero = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 0);
	unsigned char buf[100];
	int fds[3], i;

	for (i = 0; i < 3; i++)
		ASSERT_LE(0, fds[i] = make("u0", MQ));
	UP();
	ASSERT_EQ(0, set_int(fds[0], TUNSETSTEERINGEBPF, two));
	into(60, 1);
	EXPECT_EQ(60, R(read(fds[2], buf, 100)));
	into(60, 2);
	ASSERT_EQ(0, set_int(fds[0], TUNSETSTEERINGEBPF, zero));
	into(60, 3);
	/* What waits for the one that goes is lost, what waits for the one that moves is not. */
	EXPECT_EQ(0, queue(fds[0], IFF_DETACH_QUEUE));
	EXPECT_EQ(-EAGAIN, R(read(fds[0], buf, 100)));
	EXPECT_EQ(60, R(read(fds[2], buf, 100)));
	EXPECT_EQ(2, buf[14]);
	into(60, 4);
	EXPECT_EQ(60, R(read(fds[2], buf, 100)));
	EXPECT_EQ(4, buf[14]);
	/* Back, it is the last. */
	EXPECT_EQ(0, queue(fds[0], IFF_ATTACH_QUEUE));
	ASSERT_EQ(0, set_int(fds[0], TUNSETSTEERINGEBPF, two));
	into(60, 5);
	EXPECT_EQ(60, R(read(fds[0], buf, 100)));
	EXPECT_EQ(0, stat_of("tx_dropped"));
	for (i = 0; i < 3; i++)
		close(fds[i]);
}

TEST_F(u, MQ_14__RX_07)
{
	struct sock_filter by_queue[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)(SKF_AD_OFF + SKF_AD_QUEUE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { .len = 4, .filter = by_queue };
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	unsigned char buf[100], seen[100];
	int fds[2], i, s;

	for (i = 0; i < 2; i++)
		ASSERT_LE(0, fds[i] = make("u0", MQ));
	UP();
	s = raw("u0", PROTOCOL);
	/* The second queue: its number is kept one higher. */
	ASSERT_EQ(0, setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)));
	frame(buf, 60, 0);
	EXPECT_EQ(60, R(write(fds[0], buf, 60)));
	EXPECT_EQ(-EAGAIN, R(recv(s, seen, 100, 0)));
	EXPECT_EQ(60, R(write(fds[1], buf, 60)));
	EXPECT_EQ(60, R(recvfrom(s, seen, 100, 0, (void *)&from, &size)));
	EXPECT_EQ(htons(PROTOCOL), from.sll_protocol);
	EXPECT_EQ(PACKET_OTHERHOST, from.sll_pkttype);
	close(s);
	close(fds[0]);
	close(fds[1]);
}

/* With NAPI the stack gets what was written all the same, in order. */
TEST_F(u, RX_10__LCK_16)
{
	unsigned char buf[100], seen[100];
	int s, i;

	MAKE(TAP | IFF_NAPI);
	UP();
	s = raw("u0", PROTOCOL);
	for (i = 0; i < 100; i++) {
		frame(buf, 60, i);
		EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	}
	for (i = 0; i < 100; i++) {
		EXPECT_EQ(60, R(recv(s, seen, 100, 0)));
		EXPECT_EQ(i, seen[14]);
	}
	EXPECT_EQ(100, stat_of("rx_packets"));
	close(s);
}

/* What a resize, a detach or a close throws away is not a drop. */
TEST_F(u, STA_05)
{
	int other;

	MAKE(MQ);
	other = make("u0", MQ);
	UP();
	ASSERT_EQ(0, set_int(other, TUNSETSTEERINGEBPF,
			     constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 1)));
	into(60, 1);
	into(60, 2);
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, queue(other, IFF_ATTACH_QUEUE));
	into(60, 3);
	close(other);
	into(60, 4);
	into(60, 5);
	EXPECT_EQ(0, txqlen(1));
	EXPECT_EQ(0, stat_of("tx_dropped"));
	EXPECT_EQ(0, stat_of("tx_packets"));
}

/* The reason of the last drop of a frame of ours, from the tracepoint. */
static char *reason(char *line, size_t size)
{
	return out(line, size,
		   "sleep 0.01; grep -o 'kfree_skb:.*' /sys/kernel/tracing/trace | "
		   "tail -n 1 | sed 's/.*reason: //'; echo >/sys/kernel/tracing/trace");
}

static int trace(void)
{
	return sh("mount -t tracefs tracefs /sys/kernel/tracing; "
		  "echo >/sys/kernel/tracing/trace; "
		  "echo 1 >/sys/kernel/tracing/events/skb/kfree_skb/enable");
}

#define REASON(expected)				\
({							\
	char __line[64];				\
	STREQ(expected, reason(__line, 64));		\
})

TEST_F(u, DRP_01__DRP_02__DRP_03__DRP_04__DRP_07__EDGE_08)
{
	struct {
		struct tun_filter head;
		unsigned char addr[6];
	} f = { .head.count = 1, .addr = { 2, 0, 0, 0, 0, 9 } };
	struct sock_filter no_frames[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct sock_fprog none = { .len = 1, .filter = no_frames };
	unsigned char buf[100];

	if (trace())
		SKIP(return, "no tracepoints");
	MAKE(MQ);
	UP();
	EXPECT_EQ(1, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	into(60, 1);
	REASON("TAP_TXFILTER");
	f.head.count = 0;
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNATTACHFILTER, &none)));
	into(60, 1);
	REASON("SOCKET_FILTER");
	EXPECT_EQ(0, R(ioctl(self->fd, TUNDETACHFILTER, NULL)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF,
			     constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 0)));
	into(60, 1);
	REASON("TAP_FILTER");
	EXPECT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF, -1));
	EXPECT_EQ(0, txqlen(1));
	into(60, 1);
	into(60, 1);
	REASON("FULL_RING");
	EXPECT_EQ(0, txqlen(0));
	into(60, 1);
	REASON("FULL_RING");
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	into(60, 1);
	REASON("DEV_READY");
	EXPECT_EQ(0, queue(self->fd, IFF_ATTACH_QUEUE));
	EXPECT_EQ(0, link_up("u0", 0));
	frame(buf, 60, 1);
	EXPECT_EQ(-EIO, R(write(self->fd, buf, 60)));
	REASON("DEV_READY");
}

TEST_F(u, DRP_06__DRP_09__CHR_23)
{
	unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char buf[100];

	ASSERT_EQ(0, munmap(page + 4096, 4096));
	if (trace())
		SKIP(return, "no tracepoints");
	MAKE(SOME);
	UP();
	packet(page + 4096 - 30, 30);
	EXPECT_EQ(-EFAULT, R(write(self->fd, page + 4096 - 30, 60)));
	REASON("SKB_UCOPY_FAULT");
	packet(buf, 60);
	buf[0] = 0;
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 60)));
	REASON("NOT_SPECIFIED");
	close(self->fd);
	MAKE(IFF_TUN);
	UP();
	/* Delivered, it was of use; it is a drop where it could not be. */
	into(60, 1);
	EXPECT_EQ(64, R(read(self->fd, buf, 100)));
	REASON("");
	into(60, 1);
	EXPECT_EQ(-EINVAL, R(read(self->fd, buf, 3)));
	REASON("NOT_SPECIFIED");
}

/* By the entry for 32-bit programs, which any program can use. */
static long compat_ioctl(int fd, unsigned int cmd, unsigned long arg)
{
	long ret;

	asm volatile("int $0x80"
		     : "=a"(ret)
		     : "a"(54), "b"((long)fd), "c"((long)cmd), "d"(arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

TEST_F(u, CHR_49__CHR_50)
{
	unsigned char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct ifreq *ifr = (void *)low;
	unsigned long at = (unsigned long)low;

	ASSERT_NE(MAP_FAILED, (void *)low);
	self->fd = tun(O_NONBLOCK);
	memset(low, 0xee, 4096);
	memset(ifr, 0, 32);
	strcpy(ifr->ifr_name, "u%d");
	ifr->ifr_flags = TAP;
	if (compat_ioctl(self->fd, TUNGETFEATURES, at + 100))
		SKIP(return, "no 32-bit programs");
	EXPECT_EQ(0x71f3, *(int *)(low + 100));
	ASSERT_EQ(0, compat_ioctl(self->fd, TUNSETIFF, at));
	STREQ("u0", ifr->ifr_name);
	/* Nothing behind the shorter structure is touched. */
	EXPECT_EQ(0xee, low[32]);
	EXPECT_EQ(0, compat_ioctl(self->fd, TUNGETIFF, at));
	EXPECT_EQ(TAP, (unsigned short)ifr->ifr_flags);
	EXPECT_EQ(0xee, low[32]);
	EXPECT_EQ(0, compat_ioctl(self->fd, SIOCGIFHWADDR, at));
	EXPECT_EQ(ARPHRD_ETHER, ifr->ifr_hwaddr.sa_family);
	EXPECT_EQ(0, compat_ioctl(self->fd, TUNGETSNDBUF, at + 200));
	EXPECT_EQ(INT_MAX, *(int *)(low + 200));
	EXPECT_EQ(0, compat_ioctl(self->fd, TUNSETPERSIST, 1));
	EXPECT_EQ(0, compat_ioctl(self->fd, TUNSETPERSIST, 0));
	/* These numbers have the size of a pointer in them. */
	EXPECT_EQ(-EINVAL, compat_ioctl(self->fd, 0x400854d5, at));
	EXPECT_EQ(-EINVAL, compat_ioctl(self->fd, 0x400854d6, at));
	EXPECT_EQ(-EINVAL, compat_ioctl(self->fd, 0x800854db, at));
}

/* With receive steering in use, flows still come out of their queue. */
TEST_F(u, TXP_02)
{
	int fds[2], i;

	ASSERT_LE(0, fds[0] = make("u0", SOME | IFF_MULTI_QUEUE));
	ADDRESS();
	if (sh("echo 3 >/sys/class/net/u0/queues/rx-0/rps_cpus && "
	       "echo 1024 >/sys/class/net/u0/queues/rx-0/rps_flow_cnt"))
		SKIP(return, "no RPS");
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(28, reply(fds[0], 9, 5000));
		EXPECT_EQ(0, queue_of(_metadata, fds, 1, 5000));
	}
	ASSERT_LE(0, fds[1] = make("u0", SOME | IFF_MULTI_QUEUE));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(28, reply(fds[1], 9, 5000));
		EXPECT_EQ(1, queue_of(_metadata, fds, 2, 5000));
		EXPECT_EQ(28, reply(fds[1], 9, 5001));
	}
	close(fds[0]);
	close(fds[1]);
}

/* The qdisc sees that frames leave: no watchdog barks at a stopped queue. */
TEST_F(u, TXP_10)
{
	unsigned char buf[100];
	int i;

	MAKE(TAP | IFF_BACKPRESSURE);
	ASSERT_EQ(0, txqlen(1));
	UP();
	for (i = 0; i < 3; i++)
		into(60, i);
	sleep(6);
	EXPECT_EQ(0, sysfs("queues/tx-0/tx_timeout"));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
}

TEST_HARNESS_MAIN
