// SPDX-License-Identifier: GPL-2.0
/*
 * vhost-net on a device's file: frames both ways, whole and in order, and what
 * becomes of them when one side goes.
 */
#include "vhost.h"

#include <pthread.h>
#include <stdatomic.h>

#define TAP (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)

/* A device with the header that vhost-net wants, and both rings on it. */
static int start(struct __test_metadata *_metadata, struct vhost *v, int flags)
{
	int fd = make("u0", flags);

	if (fd < 0)
		return fd;
	EXPECT_EQ(0, set_int(fd, TUNSETVNETHDRSZ, VQ_HEADER));
	EXPECT_EQ(0, link_up("u0", 1));
	EXPECT_EQ(0, vhost_open(v, 0));
	EXPECT_EQ(0, vhost_backend(v, 0, fd));
	EXPECT_EQ(0, vhost_backend(v, 1, fd));
	vq_fill(&v->vq[0]);
	return fd;
}

#define START(v, flags)								\
do {										\
	if (access("/dev/vhost-net", F_OK))					\
		SKIP(return, "no vhost-net in this kernel");			\
	ASSERT_LE(0, self->fd = start(_metadata, v, flags));			\
} while (0)

/* A numbered frame all of whose bytes say which it is. */
static int numbered(unsigned char *data, int len, unsigned int number)
{
	int i;

	frame(data, len, 0);
	memcpy(data + 14, &number, 4);
	for (i = 18; i < len; i++)
		data[i] = number + i;
	return len;
}

static bool is_numbered(const unsigned char *data, int len, unsigned int number)
{
	unsigned char want[VQ_BUF];

	numbered(want, len, number);
	return !memcmp(want, data, len);
}

static int length_of(unsigned int number)
{
	return 60 + number * 7 % 1400;
}

TEST_F(u, VHO_19__VHO_02_receive)
{
	unsigned char data[VQ_BUF];
	struct vhost v;
	int i, raw_fd;

	START(&v, TAP);
	ASSERT_LE(0, raw_fd = raw("u0", 0));
	for (i = 0; i < 1000; i++) {
		int len = numbered(data, length_of(i), i);

		ASSERT_EQ(len, R(send(raw_fd, data, len, 0)));
		memset(data, 0, sizeof(data));
		EXPECT_EQ(len, vhost_receive(&v, data, 2000));
		EXPECT_TRUE(is_numbered(data, len, i)) TH_LOG("frame %d", i);
	}
	EXPECT_EQ(-EAGAIN, vhost_receive(&v, data, 50));
	close(raw_fd);
	vhost_close(&v);
}

TEST_F(u, VHO_19_mismatch)
{
	unsigned char data[VQ_BUF];
	struct vhost v;

	START(&v, TAP);
	/* The device writes two bytes less than vhost-net thinks: it drops what it reads. */
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 10));
	ASSERT_EQ(60, into(60, 0));
	EXPECT_EQ(-EAGAIN, vhost_receive(&v, data, 300));
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, VQ_HEADER));
	ASSERT_EQ(60, into(60, 1));
	EXPECT_EQ(60, vhost_receive(&v, data, 2000));
	EXPECT_EQ(1, data[14]);
	vhost_close(&v);
}

TEST_F(u, VHO_06)
{
	struct vhost v;
	int fd;

	if (access("/dev/vhost-net", F_OK))
		SKIP(return, "no vhost-net in this kernel");
	ASSERT_EQ(0, vhost_open(&v, 0));
	fd = tun(0);
	EXPECT_EQ(-EINVAL, vhost_backend(&v, 0, fd));
	ASSERT_EQ(0, iff(fd, "u0", TAP));
	EXPECT_EQ(0, vhost_backend(&v, 0, fd));
	/* None is one, too. */
	EXPECT_EQ(0, vhost_backend(&v, 0, -1));
	EXPECT_EQ(-ENOTSOCK, vhost_backend(&v, 0, 1000));
	EXPECT_EQ(-ENOTSOCK, vhost_backend(&v, 0, open("/dev/null", O_RDWR)));
	close(fd);
	vhost_close(&v);
}

/* Frames of a burst at a time: in one message, where the device's buffer has no limit. */
static void transmit(struct __test_metadata *_metadata, struct vhost *v, int to, int bursts)
{
	unsigned char data[VQ_BUF];
	int burst, i, number = 0, len;

	for (burst = 0; burst < bursts; burst++) {
		for (i = 0; i < 64; i++) {
			len = numbered(data, length_of(number + i), number + i);
			vhost_put(v, i, NULL, data, len);
		}
		vq_kick(&v->vq[1]);
		for (i = 0; i < 64; i++)
			ASSERT_LE(0, vq_take(&v->vq[1], NULL, 2000));
		for (i = 0; i < 64; i++, number++) {
			struct pollfd p = { .fd = to, .events = POLLIN };

			poll(&p, 1, 2000);
			EXPECT_EQ(length_of(number), R(recv(to, data, sizeof(data), 0)));
			EXPECT_TRUE(is_numbered(data, length_of(number), number));
		}
	}
}

TEST_F(u, VHO_10_transmit)
{
	struct vhost v;
	int to;

	START(&v, TAP);
	ASSERT_LE(0, to = raw("u0", PROTOCOL));
	transmit(_metadata, &v, to, 10);
	EXPECT_EQ(640, stat_of("rx_packets"));
	close(to);
	vhost_close(&v);
}

/* With a limit on the device's buffer they come one by one, as from a program. */
static void limited(struct __test_metadata *_metadata, struct vhost *v, int fd, int limit,
		    int bursts)
{
	int to;

	ASSERT_EQ(0, set_int(fd, TUNSETSNDBUF, limit));
	/* vhost-net looks at the limit when the backend is set. */
	ASSERT_EQ(0, vhost_backend(v, 1, -1));
	ASSERT_EQ(0, vhost_backend(v, 1, fd));
	ASSERT_LE(0, to = raw("u0", PROTOCOL));
	transmit(_metadata, v, to, bursts);
	EXPECT_EQ(64 * bursts, stat_of("rx_packets"));
	EXPECT_EQ(0, stat_of("rx_dropped"));
	close(to);
	vhost_close(v);
}

TEST_F(u, VHO_12_transmit)
{
	struct vhost v;

	START(&v, TAP);
	limited(_metadata, &v, self->fd, 1 << 20, 10);
}

/*
 * vhost-net waits where there is no room, and tries again: nothing is lost. Less than
 * one burst takes, which a packet socket keeps until it is read.
 */
TEST_F(u, VHO_13)
{
	struct vhost v;

	START(&v, TAP);
	limited(_metadata, &v, self->fd, 4096, 4);
}

/* A batch, a program that drops every frame or lets it pass, and one with segments. */
TEST_F(u, XDP_10)
{
	struct virtio_net_hdr header = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.gso_size = 500,
		.hdr_len = 54,
		.csum_start = 34,
		.csum_offset = 16,
	};
	unsigned char data[VQ_BUF];
	int drop, pass, link, i, dropped;
	struct vhost v;

	START(&v, TAP);
	ASSERT_LE(0, drop = constant_program(BPF_PROG_TYPE_XDP, XDP_DROP));
	ASSERT_LE(0, pass = constant_program(BPF_PROG_TYPE_XDP, XDP_PASS));
	ASSERT_LE(0, link = attach_xdp(drop, "u0", XDP_FLAGS_DRV_MODE));
	for (i = 0; i < 64; i++)
		vhost_put(&v, i, NULL, data, numbered(data, 100, i));
	/* Segments go by the generic way, to be dropped there. */
	frame(data, 1200, 0);
	memcpy(data + 12, "\x08\0\x45\0", 4);
	memcpy(data + 16, "\x04\xa2\0\0\0\0\x40\6\0\0\x0a\x60\0\2\x0a\x60\0\1", 18);
	data[46] = 0x50;
	vhost_put(&v, 64, &header, data, 1200);
	vq_kick(&v.vq[1]);
	for (i = 0; i < 65; i++)
		ASSERT_LE(0, vq_take(&v.vq[1], NULL, 2000));
	/* The native way counts a frame that is dropped as received badly, the generic not. */
	dropped = stat_of("rx_dropped");
	EXPECT_EQ(64, dropped);
	EXPECT_EQ(0, stat_of("rx_packets"));
	close(link);
	ASSERT_LE(0, link = attach_xdp(pass, "u0", XDP_FLAGS_DRV_MODE));
	i = raw("u0", PROTOCOL);
	transmit(_metadata, &v, i, 2);
	EXPECT_EQ(128, stat_of("rx_packets"));
	EXPECT_EQ(dropped, stat_of("rx_dropped"));
	close(i);
	close(link);
	vhost_close(&v);
}

/* A guest that is slow loses nothing with the flag, and gets all that was sent. */
static void slow(struct __test_metadata *_metadata, int flags, int ring)
{
	unsigned char data[VQ_BUF];
	unsigned int seen, next = 0;
	int fd, i, n, sent = 0, received = 0, much = 1 << 24;
	struct vhost v;

	ASSERT_LE(0, fd = start(_metadata, &v, flags));
	ASSERT_EQ(0, txqlen(ring));
	ASSERT_EQ(0, sh("tc qdisc replace dev u0 root pfifo limit 20000"));
	ASSERT_LE(0, i = raw("u0", 0));
	ASSERT_EQ(0, setsockopt(i, SOL_SOCKET, SO_SNDBUFFORCE, &much, sizeof(much)));
	/* Nobody receives while these are sent: what is in the ring, and in vhost-net. */
	for (n = 0; n < 3000; n++) {
		numbered(data, 200, n);
		if (send(i, data, 200, 0) == 200)
			sent++;
	}
	while ((n = vhost_receive(&v, data, 1000)) >= 0) {
		memcpy(&seen, data + 14, 4);
		EXPECT_LE(next, seen);
		next = seen + 1;
		received++;
		if (received % 50 == 0)
			usleep(1000);
	}
	EXPECT_EQ(sent, received + stat_of("tx_dropped"));
	if (flags & IFF_BACKPRESSURE) {
		EXPECT_EQ(3000, received);
		EXPECT_EQ(0, stat_of("tx_dropped"));
	}
	close(i);
	vhost_close(&v);
	close(fd);
}

TEST_F(u, VHO_03_slow_guest)
{
	if (access("/dev/vhost-net", F_OK))
		SKIP(return, "no vhost-net in this kernel");
	slow(_metadata, TAP | IFF_BACKPRESSURE, 1);
	slow(_metadata, TAP | IFF_BACKPRESSURE, 10);
	slow(_metadata, TAP | IFF_BACKPRESSURE, 1000);
	slow(_metadata, TAP, 10);
}

/* The queue goes, and comes back, while vhost-net has it. */
TEST_F(u, VHO_20)
{
	unsigned char data[VQ_BUF];
	struct vhost v;
	int i;

	START(&v, TAP | IFF_MULTI_QUEUE);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(60, into(60, i));
		EXPECT_EQ(60, vhost_receive(&v, data, 2000));
		EXPECT_EQ(i, data[14]);
		EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
		vhost_put(&v, 0, NULL, data, numbered(data, 100, i));
		vq_kick(&v.vq[1]);
		EXPECT_EQ(0, vq_take(&v.vq[1], NULL, 2000));
		EXPECT_EQ(0, queue(self->fd, IFF_ATTACH_QUEUE));
	}
	/* So does the device; what vhost-net cannot send then, it keeps. */
	EXPECT_EQ(0, sh("ip link del u0"));
	vhost_put(&v, 0, NULL, data, numbered(data, 100, i));
	vq_kick(&v.vq[1]);
	EXPECT_EQ(-EAGAIN, vq_take(&v.vq[1], NULL, 100));
	EXPECT_EQ(-EAGAIN, vhost_receive(&v, data, 50));
	/* And this file last. */
	close(self->fd);
	self->fd = -1;
	vhost_close(&v);
}

/* A device that is down receives nothing; C's does, from vhost-net alone. */
TEST_F(u, EDGE_72)
{
	unsigned char data[VQ_BUF];
	struct vhost v;
	int i;

	START(&v, TAP);
	ASSERT_EQ(0, link_up("u0", 0));
	for (i = 0; i < 3; i++)
		vhost_put(&v, i, NULL, data, numbered(data, 100, i));
	vq_kick(&v.vq[1]);
	for (i = 0; i < 3; i++)
		EXPECT_LE(0, vq_take(&v.vq[1], NULL, 2000));
	EXPECT_EQ(0, stat_of("rx_packets"));
	/* Up again, it does. */
	UP();
	vhost_put(&v, 0, NULL, data, numbered(data, 100, 0));
	vq_kick(&v.vq[1]);
	EXPECT_LE(0, vq_take(&v.vq[1], NULL, 2000));
	EXPECT_EQ(1, stat_of("rx_packets"));
	vhost_close(&v);
}

static atomic_bool over;

static void *receives(void *arg)
{
	unsigned char data[VQ_BUF];
	struct vhost *v = arg;

	while (!atomic_load(&over))
		vhost_receive(v, data, 20);
	return NULL;
}

static void *sends(void *arg)
{
	while (!atomic_load(&over))
		into(60, 0);
	return arg;
}

/* The backend is set and cleared, and the ring gets other lengths, under traffic. */
TEST_F(u, VHO_02_backends)
{
	unsigned char data[VQ_BUF];
	pthread_t thread[2];
	struct vhost v;
	int i;

	START(&v, TAP | IFF_BACKPRESSURE);
	atomic_store(&over, false);
	ASSERT_EQ(0, pthread_create(&thread[0], NULL, receives, &v));
	ASSERT_EQ(0, pthread_create(&thread[1], NULL, sends, NULL));
	for (i = 0; i < 100; i++) {
		/* What it had taken from the ring already goes back. */
		EXPECT_EQ(0, vhost_backend(&v, 0, -1));
		EXPECT_EQ(0, txqlen(1 + i % 5 * 40));
		EXPECT_EQ(0, vhost_backend(&v, 0, self->fd));
		usleep(1000);
	}
	atomic_store(&over, true);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	while (vhost_receive(&v, data, 200) >= 0)
		;
	ASSERT_EQ(60, into(60, 77));
	EXPECT_EQ(60, vhost_receive(&v, data, 2000));
	EXPECT_EQ(77, data[14]);
	vhost_close(&v);
}

TEST_HARNESS_MAIN
