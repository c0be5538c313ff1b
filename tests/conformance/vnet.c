// SPDX-License-Identifier: GPL-2.0
/*
 * The virtio-net header: rows VNH. Frames go from one TAP device through a packet
 * socket, or to a TUN device and back by way of the header alone.
 */
#include "tun.h"

/* An Ethernet, IPv4, TCP frame with @payload bytes, behind a header of @size. */
static int tcp(unsigned char *buf, int size, int payload)
{
	unsigned char *f = buf + size;
	int i, len = 20 + 20 + payload;

	memset(buf, 0, size + 54);
	memcpy(f, "\2\0\0\0\0\2\2\0\0\0\0\1\x08\0", 14);
	memcpy(f + 14, "\x45\0\0\0\0\0\x40\0\x40\6\0\0\x0a\x60\0\2\x0a\x60\0\1", 20);
	f[16] = len >> 8;
	f[17] = len;
	memcpy(f + 34, "\0\x09\0\x09\0\0\0\1\0\0\0\1\x50\x10\x20\0\0\0\0\0", 20);
	for (i = 0; i < payload; i++)
		f[54 + i] = i * 5;
	return size + 54 + payload;
}

static int udp(unsigned char *buf, int size, int payload)
{
	int n = tcp(buf, size, payload);
	unsigned char *f = buf + size;

	f[23] = 17;
	f[16] = (28 + payload) >> 8;
	f[17] = 28 + payload;
	memmove(f + 42, f + 54, payload);
	memcpy(f + 34, "\0\x09\0\x09\0\0\0\0", 8);
	f[38] = (8 + payload) >> 8;
	f[39] = 8 + payload;
	return n - 12;
}

static struct virtio_net_hdr
header(int flags, int type, int hdr_len, int size, int start, int offset)
{
	return (struct virtio_net_hdr) {
		.flags = flags, .gso_type = type, .hdr_len = hdr_len,
		.gso_size = size, .csum_start = start, .csum_offset = offset,
	};
}

#define NEEDS VIRTIO_NET_HDR_F_NEEDS_CSUM
#define VNET (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)

static int put(int fd, struct virtio_net_hdr h, unsigned char *buf, int len)
{
	memcpy(buf, &h, sizeof(h));
	return R(write(fd, buf, len));
}

/* A packet socket that shows headers, as the stack sees what was received. */
static int raw_vnet(void)
{
	int s = raw("u0", ETH_P_ALL), on = 1;

	setsockopt(s, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on));
	return s;
}

/* The size decides what of a header is used; the rest is skipped. */
TEST_F(u, VNH_11__VNH_30__VNH_31__EDGE_18)
{
	static const int sizes[] = { 10, 12, 20, 24, 30, 100 };
	unsigned char buf[3000], seen[3000];
	unsigned int i;
	int s, n;

	MAKE(VNET);
	UP();
	s = raw_vnet();
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct virtio_net_hdr h = header(NEEDS, 0, 54, 0, 34, 16);

		ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, sizes[i]));
		n = tcp(buf, sizes[i], 1000);
		EXPECT_EQ(n, put(self->fd, h, buf, n));
		EXPECT_EQ(10 + 1054, R(recv(s, seen, sizeof(seen), 0)));
		EXPECT_EQ(0, memcmp(seen + 10, buf + sizes[i], 1054));
		EXPECT_EQ(NEEDS, seen[0]);
		/* Blocking: with a linear part as long as the header says. */
		fcntl(self->fd, F_SETFL, 0);
		EXPECT_EQ(n, put(self->fd, h, buf, n));
		EXPECT_EQ(10 + 1054, R(recv(s, seen, sizeof(seen), 0)));
		fcntl(self->fd, F_SETFL, O_NONBLOCK);
		EXPECT_EQ(-EINVAL, put(self->fd, h, buf, sizes[i] - 1));
	}
	close(s);
}

TEST_F(u, VNH_12__VNH_14__VNH_29__EDGE_44)
{
	unsigned char buf[3000];
	static const unsigned char zero[30];

	MAKE(VNET);
	UP();
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 30));
	into(60, 1);
	memset(buf, 0xff, 100);
	EXPECT_EQ(90, R(read(self->fd, buf, 100)));
	EXPECT_EQ(0, memcmp(buf, zero, 30));
	ASSERT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD,
			     TUN_F_CSUM | TUN_F_TSO4 | TUN_F_UDP_TUNNEL_GSO)));
	into(60, 1);
	memset(buf, 0xff, 100);
	EXPECT_EQ(90, R(read(self->fd, buf, 100)));
	EXPECT_EQ(0, memcmp(buf, zero, 30));
}

/* Tunnels are on, and there is no room for them: the frame is lost. */
TEST_F(u, VNH_13__EDGE_68)
{
	unsigned char buf[100];
	int i, zeros = 0;

	MAKE(VNET);
	UP();
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 12));
	ASSERT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD,
			     TUN_F_CSUM | TUN_F_TSO4 | TUN_F_UDP_TUNNEL_GSO)));
	into(60, 1);
	memset(buf, 0xff, 100);
	EXPECT_EQ(-EFAULT, R(read(self->fd, buf, 100)));
	for (i = 0; i < 100; i++)
		zeros += !buf[i];
	EXPECT_EQ(100, zeros);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
}

TEST_F(u, VNH_15)
{
	struct virtio_net_hdr h = header(NEEDS, 0, 54, 0, 34, 16);
	unsigned char buf[3000], seen[3000];
	int s, n;

	MAKE(VNET);
	UP();
	s = raw_vnet();
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETLE, 1));
	h.hdr_len = htole16(54);
	h.csum_start = htole16(34);
	h.csum_offset = htole16(16);
	n = tcp(buf, 10, 100);
	EXPECT_EQ(n, put(self->fd, h, buf, n));
	EXPECT_EQ(n, R(recv(s, seen, sizeof(seen), 0)));
	EXPECT_EQ(0, memcmp(seen, &h, 10) && seen[0] != NEEDS);
	/* The other order makes no sense. */
	h.csum_start = htobe16(34);
	EXPECT_EQ(-EINVAL, put(self->fd, h, buf, n));
	close(s);
}

TEST_F(u, VNH_16__VNH_17__CHR_38__STA_06)
{
	static const struct {
		int hdr_len, start, offset, ret;
	} cases[] = {
		{ 0, 34, 16, 0 }, { 0, 34, 118, 0 },
		/* The raised length is more than there is. */
		{ 0, 34, 119, -EINVAL }, { 0, 200, 0, -EINVAL },
		/* Cut to 16 bits, it fits; the frame does not. */
		{ 0, 0xfff0, 0x10, -EINVAL },
		/* Before the end of the IPv4 header. */
		{ 0, 20, 16, 0 }, { 0, 19, 16, -EINVAL }, { 0, 0, 0, -EINVAL },
	};
	unsigned char buf[300];
	int n, expected;
	unsigned int i;

	MAKE(VNET);
	UP();
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		n = tcp(buf, 10, 100);
		expected = cases[i].ret ?: n;
		EXPECT_EQ(expected,
			  put(self->fd, header(NEEDS, 0, cases[i].hdr_len, 0, cases[i].start,
					       cases[i].offset), buf, n)) TH_LOG("case %u", i);
	}
	EXPECT_EQ(0, stat_of("rx_frame_errors"));
	close(self->fd);
	/* Only TUN devices show how many there were. */
	MAKE(SOME | IFF_VNET_HDR);
	UP();
	packet(buf + 10, 60);
	EXPECT_EQ(-EINVAL, put(self->fd, header(NEEDS, 0, 0, 0, 10, 2), buf, 70));
	EXPECT_EQ(1, stat_of("rx_frame_errors"));
	EXPECT_EQ(0, stat_of("rx_dropped"));
}

TEST_F(u, EDGE_67__NDO_14)
{
	unsigned char buf[300];
	int n;

	MAKE(VNET);
	UP();
	n = tcp(buf, 10, 100);
	EXPECT_EQ(-EINVAL, put(self->fd, header(0, 0x7f, 0, 100, 0, 0), buf, n));
	EXPECT_EQ(0, stat_of("rx_frame_errors"));
	EXPECT_EQ(0, stat_of("rx_dropped"));
	EXPECT_EQ(0, stat_of("rx_packets"));
}

TEST_F(u, VNH_18__VNH_27)
{
	unsigned char buf[300], seen[300];
	int s, n;

	MAKE(VNET);
	UP();
	s = raw_vnet();
	n = tcp(buf, 10, 100);
	EXPECT_EQ(n, put(self->fd, header(VIRTIO_NET_HDR_F_DATA_VALID, 0, 0, 0, 0, 0), buf, n));
	EXPECT_EQ(n, R(recv(s, seen, sizeof(seen), 0)));
	EXPECT_EQ(0, seen[0]);
	close(s);
}

/* What a socket sends with a header, the reader of the device gets with one. */
TEST_F(u, VNH_26__VNH_27_read)
{
	unsigned char buf[5000], seen[5000];
	struct virtio_net_hdr h, *got = (void *)seen;
	int s, n;

	MAKE(VNET);
	UP();
	ASSERT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 |
			     TUN_F_TSO_ECN | TUN_F_USO4 | TUN_F_USO6)));
	s = raw_vnet();
	n = tcp(buf, 10, 3000);
	h = header(NEEDS, VIRTIO_NET_HDR_GSO_TCPV4, 54, 1000, 34, 16);
	memcpy(buf, &h, 10);
	ASSERT_EQ(n, R(send(s, buf, n, 0)));
	EXPECT_EQ(n, R(read(self->fd, seen, sizeof(seen))));
	EXPECT_EQ(NEEDS, got->flags);
	EXPECT_EQ(VIRTIO_NET_HDR_GSO_TCPV4, got->gso_type);
	EXPECT_EQ(1000, got->gso_size);
	EXPECT_EQ(34, got->csum_start);
	EXPECT_EQ(16, got->csum_offset);
	EXPECT_LE(54, got->hdr_len);
	h.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	memcpy(buf, &h, 10);
	ASSERT_EQ(n, R(send(s, buf, n, 0)));
	EXPECT_EQ(n, R(read(self->fd, seen, sizeof(seen))));
	EXPECT_EQ(VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_ECN, got->gso_type);
	n = udp(buf, 10, 3000);
	h = header(NEEDS, VIRTIO_NET_HDR_GSO_UDP_L4, 42, 1000, 34, 6);
	memcpy(buf, &h, 10);
	ASSERT_EQ(n, R(send(s, buf, n, 0)));
	EXPECT_EQ(n, R(read(self->fd, seen, sizeof(seen))));
	EXPECT_EQ(VIRTIO_NET_HDR_GSO_UDP_L4, got->gso_type);
	/* Without the offload, the stack cuts it. */
	ASSERT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_CSUM)));
	n = tcp(buf, 10, 3000);
	h = header(NEEDS, VIRTIO_NET_HDR_GSO_TCPV4, 54, 1000, 34, 16);
	memcpy(buf, &h, 10);
	ASSERT_EQ(n, R(send(s, buf, n, 0)));
	for (n = 0; n < 3; n++) {
		EXPECT_EQ(10 + 1054, R(read(self->fd, seen, sizeof(seen))));
		EXPECT_EQ(0, got->gso_type);
	}
	EXPECT_EQ(-EAGAIN, R(read(self->fd, seen, sizeof(seen))));
	close(s);
}

TEST_F(u, VNH_27_tag)
{
	unsigned char buf[3000], seen[3000];
	struct virtio_net_hdr h = header(NEEDS, 0, 54, 0, 34, 16), *got = (void *)seen;
	int s, n, on = 1;

	MAKE(VNET);
	UP();
	ASSERT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_CSUM)));
	if (sh("ip link add link u0 name u0.5 type vlan id 5"))
		SKIP(return, "no VLAN");
	ASSERT_EQ(0, link_up("u0.5", 1));
	s = raw("u0.5", 0);
	setsockopt(s, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on));
	n = tcp(buf, 10, 100);
	memcpy(buf, &h, 10);
	ASSERT_EQ(n, R(send(s, buf, n, 0)));
	EXPECT_EQ(n + 4, R(read(self->fd, seen, sizeof(seen))));
	EXPECT_EQ(NEEDS, got->flags);
	EXPECT_EQ(38, got->csum_start);
	EXPECT_EQ(16, got->csum_offset);
	close(s);
}

/*
 * Behind two tags a TAP device takes segments as behind none; the stack cuts what
 * it has to for others.
 */
TEST_F(u, NDO_18)
{
	unsigned char buf[5000], plain[5000], seen[5000];
	struct virtio_net_hdr h = header(NEEDS, VIRTIO_NET_HDR_GSO_TCPV4, 62, 1000, 42, 16);
	struct virtio_net_hdr *got = (void *)seen;
	int s, n;

	MAKE(VNET);
	UP();
	ASSERT_EQ(0, R(ioctl(self->fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)));
	s = raw_vnet();
	n = tcp(plain, 10, 3000);
	memcpy(buf, &h, 10);
	memcpy(buf + 10, plain + 10, 12);
	memcpy(buf + 22, "\x88\xa8\0\5\x81\0\0\6", 8);
	memcpy(buf + 30, plain + 22, n - 22);
	ASSERT_EQ(n + 8, R(send(s, buf, n + 8, 0)));
	EXPECT_EQ(n + 8, R(read(self->fd, seen, sizeof(seen))));
	EXPECT_EQ(VIRTIO_NET_HDR_GSO_TCPV4, got->gso_type);
	EXPECT_EQ(0, memcmp(buf + 10, seen + 10, 20));
	close(s);
}

TEST_F(u, VNH_19__VNH_20__VNH_21__VNH_22__VNH_23__EDGE_47)
{
	enum { T4 = VIRTIO_NET_HDR_GSO_TCPV4, T6 = VIRTIO_NET_HDR_GSO_TCPV6,
	       UFO = VIRTIO_NET_HDR_GSO_UDP, L4 = VIRTIO_NET_HDR_GSO_UDP_L4,
	       ECN = VIRTIO_NET_HDR_GSO_ECN };
	static const struct {
		bool udp;
		int flags, type, size, start, offset, ret;
	} cases[] = {
		{ 0, NEEDS, T4, 1000, 34, 16, 0 },
		{ 0, 0, T4, 1000, 0, 0, 0 },
		{ 0, NEEDS, T4 | ECN, 1000, 34, 16, 0 },
		{ 0, NEEDS, T4, 0, 34, 16, -EINVAL },
		{ 0, NEEDS, T4, 0xffff, 34, 16, -EINVAL },
		{ 0, NEEDS, T4, 1, 34, 16, 0 },
		{ 0, NEEDS, T4, 8000, 34, 16, 0 },
		{ 0, NEEDS, T4, 1000, 34, 6, -EINVAL },
		{ 0, 0, T6, 1000, 0, 0, -EINVAL },
		{ 0, NEEDS, T6, 1000, 34, 16, -EINVAL },
		{ 0, 0, L4, 1000, 0, 0, -EINVAL },
		{ 0, NEEDS, 0x7e, 1000, 34, 16, -EINVAL },
		{ 0, NEEDS, 2, 1000, 34, 16, -EINVAL },
		{ 1, NEEDS, L4, 1000, 34, 6, 0 },
		{ 1, NEEDS, L4 | ECN, 1000, 34, 6, -EINVAL },
		{ 1, NEEDS, L4, 10, 34, 6, -EINVAL },
		{ 1, NEEDS, L4, 1000, 34, 16, -EINVAL },
		{ 1, 0, L4, 1000, 0, 0, -EINVAL },
		{ 1, 0, UFO, 1000, 0, 0, 0 },
		{ 1, NEEDS, UFO, 1000, 34, 6, 0 },
		{ 1, 0, T4, 1000, 0, 0, -EINVAL },
	};
	unsigned char buf[5000];
	int n, expected;
	unsigned int i;

	MAKE(VNET);
	UP();
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (cases[i].udp)
			n = udp(buf, 10, 3000);
		else
			n = tcp(buf, 10, 3000);
		expected = cases[i].ret ?: n;
		EXPECT_EQ(expected,
			  put(self->fd, header(cases[i].flags, cases[i].type, 0, cases[i].size,
					       cases[i].start, cases[i].offset), buf, n))
			TH_LOG("case %u", i);
	}
	/* The TCP header is not there. */
	n = tcp(buf, 10, 0) - 10;
	EXPECT_EQ(-EINVAL, put(self->fd, header(0, T4, 0, 100, 0, 0), buf, n));
}

TEST_F(u, VNH_24__VNH_25__EDGE_73)
{
	unsigned char buf[5000];
	struct virtio_net_hdr h = header(NEEDS, 0x20 | VIRTIO_NET_HDR_GSO_TCPV4, 54, 1000, 34, 16);
	int n, fd;

	MAKE(VNET);
	UP();
	n = tcp(buf, 10, 3000);
	/* No room for the offsets. */
	EXPECT_EQ(-EINVAL, put(self->fd, h, buf, n));
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 24));
	n = tcp(buf, 24, 3000);
	/* The offsets are no offsets; both kinds; nothing inside; no checksum. */
	EXPECT_EQ(-EINVAL, put(self->fd, h, buf, n));
	h.gso_type |= 0x40;
	EXPECT_EQ(-EINVAL, put(self->fd, h, buf, n));
	h.gso_type = 0x20;
	EXPECT_EQ(-EINVAL, put(self->fd, h, buf, n));
	h.gso_type = 0x20 | VIRTIO_NET_HDR_GSO_UDP;
	EXPECT_EQ(-EINVAL, put(self->fd, h, buf, n));
	h = header(0, 0x20 | VIRTIO_NET_HDR_GSO_TCPV4, 54, 1000, 0, 0);
	EXPECT_EQ(-EINVAL, put(self->fd, h, buf, n));
	/* On TUN they are never right. */
	fd = make("u1", SOME | IFF_VNET_HDR);
	ASSERT_EQ(0, set_int(fd, TUNSETVNETHDRSZ, 24));
	ASSERT_EQ(0, link_up("u1", 1));
	packet(buf + 24, 1000);
	h.flags = NEEDS;
	EXPECT_EQ(-EINVAL, put(fd, h, buf, 1024));
	close(fd);
}

TEST_HARNESS_MAIN
