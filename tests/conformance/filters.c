// SPDX-License-Identifier: GPL-2.0
/*
 * What goes to the reader, and to which: addresses, classic filters, eBPF.
 */
#include "tun.h"

struct txfilter {
	struct tun_filter head;
	unsigned char addr[12][6];
};

TEST_F(u, IOC_44__TXP_03__EDGE_21)
{
	struct txfilter f = { .head.count = 1, .addr = { { 2, 0, 0, 0, 0, 2 } } };
	unsigned char buf[100];
	int i, s;

	MAKE(SOME);
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	close(self->fd);
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	s = raw("u0", 0);
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETTXFILTER, NOWHERE)));
	EXPECT_EQ(1, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	frame(buf, 60, 1);
	EXPECT_EQ(60, R(send(s, buf, 60, 0)));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	buf[5] = 3;
	send(s, buf, 60, 0);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	/* Broadcast has to be listed too. */
	memset(buf, 0xff, 6);
	send(s, buf, 60, 0);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	EXPECT_EQ(2, stat_of("tx_dropped"));
	/* All groups. */
	f.head.flags = TUN_FLT_ALLMULTI;
	EXPECT_EQ(1, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	EXPECT_EQ(60, R(send(s, buf, 60, 0)));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	f.head.flags = 0;
	/* Nine: the ninth has to be a group. */
	for (i = 0; i < 9; i++) {
		memset(f.addr[i], 0, 6);
		f.addr[i][0] = 2;
		f.addr[i][5] = 10 + i;
	}
	f.head.count = 9;
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	frame(buf, 60, 1);
	EXPECT_EQ(60, R(send(s, buf, 60, 0)));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	memcpy(f.addr[8], "\1\0\x5e\0\0\1", 6);
	EXPECT_EQ(8, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	send(s, buf, 60, 0);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	memcpy(buf, f.addr[8], 6);
	EXPECT_EQ(60, R(send(s, buf, 60, 0)));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	f.head.count = 0;
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETTXFILTER, &f)));
	frame(buf, 60, 1);
	EXPECT_EQ(60, R(send(s, buf, 60, 0)));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	close(s);
}

static struct sock_filter no_frames[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
static struct sock_filter short_frames[] = { BPF_STMT(BPF_RET | BPF_K, 20) };

TEST_F(u, IOC_49__IOC_50__IOC_51__TXP_04__LCK_13__LCK_14__EDGE_75)
{
	struct sock_fprog none = { .len = 1, .filter = no_frames }, got = {};
	struct sock_fprog shorter = { .len = 1, .filter = short_frames };
	struct sock_fprog bad = { .len = 1, .filter = NOWHERE }, empty = {};
	unsigned char buf[100];

	MAKE(SOME);
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNATTACHFILTER, &none)));
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNDETACHFILTER, &none)));
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNGETFILTER, &got)));
	close(self->fd);
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	EXPECT_EQ(0, R(ioctl(self->fd, TUNDETACHFILTER, NULL)));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNATTACHFILTER, NOWHERE)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNATTACHFILTER, &none)));
	EXPECT_EQ(0, get_iff(self->fd, NULL) & IFF_NOFILTER & ~IFF_NO_PI);
	into(60, 1);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	EXPECT_EQ(1, stat_of("tx_dropped"));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNGETFILTER, &got)));
	EXPECT_EQ(1, got.len);
	EXPECT_EQ((void *)no_frames, (void *)got.filter);
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNGETFILTER, NOWHERE)));
	/* A filter shortens what it does not refuse. */
	EXPECT_EQ(0, R(ioctl(self->fd, TUNATTACHFILTER, &shorter)));
	into(60, 1);
	EXPECT_EQ(20, R(read(self->fd, buf, 100)));
	/* One that is refused is remembered all the same. */
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNATTACHFILTER, &bad)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNGETFILTER, &got)));
	EXPECT_EQ(NOWHERE, (void *)got.filter);
	EXPECT_EQ(-EINVAL, R(ioctl(self->fd, TUNATTACHFILTER, &empty)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNDETACHFILTER, NULL)));
	into(60, 1);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
}

/* Decided: a queue that gets the stored filter is attached, too. */
TEST_F(u, EDGE_60)
{
	struct sock_fprog none = { .len = 1, .filter = no_frames };
	int other = tun(0), type = IFF_TAP | IFF_MULTI_QUEUE;

	MAKE(type);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNATTACHFILTER, &none)));
	EXPECT_EQ(0, iff(other, "u0", type));
	EXPECT_EQ(type, get_iff(other, NULL));
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, queue(other, IFF_ATTACH_QUEUE));
	EXPECT_EQ(type, get_iff(other, NULL));
	close(other);
}

/* A stored filter that cannot be read any more does not keep a queue out. */
TEST_F(u, EDGE_61)
{
	struct sock_filter *there = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sock_fprog none = { .len = 1, .filter = there };
	int other = tun(0), type = IFF_TAP | IFF_MULTI_QUEUE;

	MAKE(type);
	*there = no_frames[0];
	EXPECT_EQ(0, R(ioctl(self->fd, TUNATTACHFILTER, &none)));
	ASSERT_EQ(0, munmap(there, 4096));
	EXPECT_EQ(0, iff(other, "u0", type));
	EXPECT_EQ(type | IFF_NOFILTER, get_iff(other, NULL));
	close(other);
}

TEST_F(u, IOC_52__MQ_12__LCK_10)
{
	int prog = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 5);
	int xdp = constant_program(BPF_PROG_TYPE_XDP, 2);
	int other, type = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;
	unsigned char buf[100];

	ASSERT_LE(0, prog);
	MAKE(type);
	other = make("u0", type);
	UP();
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETSTEERINGEBPF, NOWHERE)));
	EXPECT_EQ(-EBADF, set_int(self->fd, TUNSETSTEERINGEBPF, 1000));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETSTEERINGEBPF, self->fd));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETSTEERINGEBPF, xdp));
	EXPECT_EQ(0, set_int(self->fd, TUNSETSTEERINGEBPF, prog));
	close(prog);
	/* Five modulo two. */
	into(60, 1);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	EXPECT_EQ(60, R(read(other, buf, 100)));
	prog = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 4);
	EXPECT_EQ(0, set_int(other, TUNSETSTEERINGEBPF, prog));
	into(60, 1);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETSTEERINGEBPF, -1));
	EXPECT_EQ(0, set_int(self->fd, TUNSETSTEERINGEBPF, -1));
	close(other);
}

TEST_F(u, IOC_53__TXP_05)
{
	int zero = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 0);
	int thirty = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 30);
	int all = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 0x7fffffff);
	unsigned char buf[100];

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETFILTEREBPF, NOWHERE)));
	EXPECT_EQ(-EBADF, set_int(self->fd, TUNSETFILTEREBPF, 1000));
	EXPECT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF, zero));
	into(60, 1);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	EXPECT_EQ(1, stat_of("tx_dropped"));
	EXPECT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF, thirty));
	into(60, 1);
	EXPECT_EQ(30, R(read(self->fd, buf, 100)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF, all));
	into(60, 1);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	EXPECT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF, -1));
	into(60, 1);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
}

TEST_HARNESS_MAIN
