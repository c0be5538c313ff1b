// SPDX-License-Identifier: GPL-2.0
/*
 * Writing: the rest of the rows CHR.
 */
#include "tun.h"
#include <pthread.h>

TEST_F(u, CHR_27__RX_13__RX_14__STA_03)
{
	unsigned char buf[100], seen[100];
	int s;

	MAKE(IFF_TAP);
	UP();
	s = raw("u0", PROTOCOL);
	memset(buf, 0, 4);
	frame(buf + 4, 60, 9);
	/* To whom it may concern: nobody's address. */
	EXPECT_EQ(64, R(write(self->fd, buf, 64)));
	EXPECT_EQ(60, R(recv(s, seen, 100, 0)));
	EXPECT_EQ(0, memcmp(buf + 4, seen, 60));
	EXPECT_EQ(1, stat_of("rx_packets"));
	EXPECT_EQ(60, stat_of("rx_bytes"));
	close(s);
}

TEST_F(u, CHR_28__STA_04)
{
	unsigned char buf[100];

	MAKE(IFF_TAP | IFF_NO_PI);
	frame(buf, 60, 1);
	EXPECT_EQ(-EIO, R(write(self->fd, buf, 60)));
	EXPECT_EQ(1, stat_of("rx_dropped"));
	/* Parsed first. */
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 13)));
	EXPECT_EQ(-EFAULT, R(write(self->fd, NOWHERE, 60)));
	EXPECT_EQ(2, stat_of("rx_dropped"));
}

TEST_F(u, CHR_29)
{
	unsigned char buf[100] = {};

	MAKE(IFF_TUN);
	UP();
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 3)));
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 0)));
	EXPECT_EQ(-EFAULT, R(write(self->fd, NOWHERE, 100)));
	EXPECT_EQ(0, stat_of("rx_dropped"));
}

TEST_F(u, CHR_30)
{
	unsigned char buf[100] = {};
	struct virtio_net_hdr h = { .hdr_len = 61 };

	MAKE(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR);
	UP();
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 9)));
	EXPECT_EQ(-EFAULT, R(write(self->fd, NOWHERE, 100)));
	memcpy(buf, &h, 10);
	frame(buf + 10, 60, 1);
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 70)));
	EXPECT_EQ(0, stat_of("rx_dropped"));
	h.hdr_len = 60;
	memcpy(buf, &h, 10);
	EXPECT_EQ(70, R(write(self->fd, buf, 70)));
	EXPECT_EQ(1, stat_of("rx_packets"));
}

TEST_F(u, CHR_31)
{
	unsigned char buf[100] = {};
	struct virtio_net_hdr h = { .hdr_len = 13 };

	MAKE(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR);
	UP();
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 10 + 13)));
	memcpy(buf, &h, 10);
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 70)));
	EXPECT_EQ(0, stat_of("rx_dropped"));
}

TEST_F(u, CHR_32__CHR_33)
{
	unsigned char buf[100], seen[100];
	int s;

	MAKE(SOME);
	UP();
	packet(buf, 60);
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	buf[0] = 0x60;
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(0, stat_of("rx_dropped"));
	buf[0] = 0x50;
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 60)));
	EXPECT_EQ(-EINVAL, R(write(self->fd, buf, 0)));
	EXPECT_EQ(2, stat_of("rx_dropped"));
	EXPECT_EQ(2, stat_of("rx_packets"));
	close(self->fd);
	/* With packet information, whatever it says. */
	MAKE(IFF_TUN);
	UP();
	s = raw("u0", PROTOCOL);
	memcpy(buf, "\xff\xff\x88\xb5", 4);
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(56, R(recv(s, seen, 100, 0)));
	EXPECT_EQ(0, stat_of("rx_dropped"));
	/* Nothing but that. */
	EXPECT_EQ(4, R(write(self->fd, buf, 4)));
	EXPECT_EQ(2, stat_of("rx_packets"));
	close(s);
}

/* One byte under way at a time: a second frame has to wait for the first. */
TEST_F(u, CHR_34__CHR_43__EDGE_03__EDGE_14)
{
	unsigned char buf[100];
	pthread_t thread;
	int i;

	MAKE(IFF_TAP | IFF_NO_PI);
	/* A bridge keeps whose a frame is, and the shaper keeps the frame. */
	if (sh("ip link add v0 type veth peer name v1 && ip link add br0 type bridge && "
	       "ip link set v0 master br0 && ip link set u0 master br0 && "
	       "ip link set v0 up && ip link set v1 up && ip link set br0 up && "
	       "tc qdisc add dev v0 root tbf rate 1kbit burst 70 limit 100000"))
		SKIP(return, "no bridge, veth or tbf");
	UP();
	ASSERT_EQ(0, set_int(self->fd, TUNSETSNDBUF, 1000));
	EXPECT_EQ(POLLOUT, events(self->fd));
	frame(buf, 60, 1);
	for (i = 0; i < 10 && write(self->fd, buf, 60) == 60; i++)
		;
	EXPECT_LT(0, i);
	EXPECT_GT(10, i);
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, events(self->fd));
	EXPECT_EQ(0, stat_of("rx_dropped"));
	/* A blocking writer waits until there is room. */
	pthread_create(&thread, NULL, later, "tc qdisc del dev v0 root");
	fcntl(self->fd, F_SETFL, 0);
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	pthread_join(thread, NULL);
	EXPECT_EQ(POLLOUT, events(self->fd));
}

TEST_F(u, CHR_36)
{
	unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(0, munmap(page + 4096, 4096));
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	frame(page + 4096 - 30, 30, 1);
	EXPECT_EQ(-EFAULT, R(write(self->fd, page + 4096 - 30, 60)));
	EXPECT_EQ(1, stat_of("rx_dropped"));
	fcntl(self->fd, F_SETFL, 0);
	EXPECT_EQ(-EFAULT, R(write(self->fd, page + 4096 - 30, 60)));
	EXPECT_EQ(2, stat_of("rx_dropped"));
}

TEST_F(u, CHR_37__RX_04)
{
	static unsigned char buf[66000], seen[66000];
	int s, len;

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	s = raw("u0", PROTOCOL);
	for (len = 1000; len <= 65000; len += 16000) {
		int i;

		frame(buf, len, 1);
		for (i = 15; i < len; i++)
			buf[i] = i * 7;
		EXPECT_EQ(len, R(write(self->fd, buf, len)));
		EXPECT_EQ(len, R(recv(s, seen, sizeof(seen), 0)));
		EXPECT_EQ(0, memcmp(buf, seen, len));
		/* Blocking, it is built another way. */
		fcntl(self->fd, F_SETFL, 0);
		EXPECT_EQ(len, R(write(self->fd, buf, len)));
		EXPECT_EQ(len, R(recv(s, seen, sizeof(seen), 0)));
		EXPECT_EQ(0, memcmp(buf, seen, len));
		fcntl(self->fd, F_SETFL, O_NONBLOCK);
	}
	close(s);
}

TEST_F(u, CHR_39__EDGE_09__EDGE_64)
{
	unsigned char buf[100];
	int type = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;

	frame(buf, 60, 1);
	MAKE(type);
	UP();
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(1, stat_of("rx_packets"));
	close(self->fd);
	MAKE(type | IFF_NAPI);
	UP();
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EBUSY, R(write(self->fd, buf, 60)));
	EXPECT_EQ(0, stat_of("rx_packets"));
	EXPECT_EQ(0, stat_of("rx_dropped"));
	EXPECT_EQ(0, queue(self->fd, IFF_ATTACH_QUEUE));
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
}

TEST_F(u, CHR_40__RX_06__RX_09__EDGE_10__EDGE_36)
{
	static unsigned char buf[70000];
	unsigned char seen[5000];
	struct iovec iov[20];
	int s, i, type = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE | IFF_NAPI | IFF_NAPI_FRAGS;

	MAKE(type);
	UP();
	s = raw("u0", PROTOCOL);
	frame(buf, 4000, 1);
	for (i = 15; i < 4000; i++)
		buf[i] = i * 3;
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(60, R(recv(s, seen, 5000, 0)));
	for (i = 0; i < 20; i++) {
		iov[i].iov_base = buf + i * 200;
		iov[i].iov_len = 200;
	}
	EXPECT_EQ(3600, R(writev(self->fd, iov, 18)));
	EXPECT_EQ(3600, R(recv(s, seen, 5000, 0)));
	EXPECT_EQ(0, memcmp(buf, seen, 3600));
	EXPECT_EQ(-EMSGSIZE, R(writev(self->fd, iov, 19)));
	EXPECT_EQ(1, stat_of("rx_dropped"));
	iov[3].iov_len = 0;
	EXPECT_EQ(-EINVAL, R(writev(self->fd, iov, 5)));
	iov[3].iov_len = 4097;
	EXPECT_EQ(-EINVAL, R(writev(self->fd, iov, 5)));
	EXPECT_EQ(3, stat_of("rx_dropped"));
	EXPECT_EQ(-EMSGSIZE, R(write(self->fd, buf, 65535)));
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EBUSY, R(write(self->fd, buf, 60)));
	EXPECT_EQ(4, stat_of("rx_dropped"));
	EXPECT_EQ(0, queue(self->fd, IFF_ATTACH_QUEUE));
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(-EFAULT, R(write(self->fd, NOWHERE, 60)));
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	link_up("u0", 0);
	EXPECT_EQ(-EIO, R(write(self->fd, buf, 60)));
	close(s);
}

TEST_HARNESS_MAIN
