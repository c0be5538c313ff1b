// SPDX-License-Identifier: GPL-2.0
/*
 * XDP on TAP devices: rows XDP, and what readers see of redirected frames.
 */
#include "tun.h"

#define TAP (IFF_TAP | IFF_NO_PI)

static int action(int act)
{
	return constant_program(BPF_PROG_TYPE_XDP, act);
}

TEST_F(u, XDP_01__XDP_02__NDO_19__LCK_09)
{
	int link, prog = action(XDP_PASS);

	ASSERT_LE(0, prog);
	MAKE(SOME);
	EXPECT_EQ(-EOPNOTSUPP, attach_xdp(prog, "u0", XDP_FLAGS_DRV_MODE));
	link = attach_xdp(prog, "u0", XDP_FLAGS_SKB_MODE);
	EXPECT_LE(0, link);
	close(link);
	close(self->fd);
	MAKE(TAP);
	/* Whatever the MTU. */
	EXPECT_EQ(0, sh("ip link set u0 mtu 9000"));
	link = attach_xdp(prog, "u0", XDP_FLAGS_DRV_MODE);
	EXPECT_LE(0, link);
	EXPECT_EQ(-EBUSY, attach_xdp(prog, "u0", XDP_FLAGS_DRV_MODE));
	close(link);
	EXPECT_EQ(-EINVAL, attach_xdp(prog, "u0", XDP_FLAGS_HW_MODE));
}

/* Small and not blocking: native. Big or blocking: generic. The same to see. */
TEST_F(u, XDP_04__XDP_05__XDP_06__RX_01__RX_02)
{
	static const struct {
		int act, passes;
	} cases[] = {
		{ XDP_PASS, 1 }, { XDP_DROP, 0 }, { XDP_ABORTED, 0 },
	};
	unsigned char buf[6000], seen[6000];
	unsigned int i;
	int s, len;

	MAKE(TAP);
	UP();
	s = raw("u0", PROTOCOL);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int link = attach_xdp(action(cases[i].act), "u0", XDP_FLAGS_DRV_MODE);
		int before = stat_of("rx_dropped");

		ASSERT_LE(0, link);
		for (len = 60; len < 6000; len += 2900) {
			int expected = -EAGAIN;

			if (cases[i].passes)
				expected = len;
			frame(buf, len, i);
			EXPECT_EQ(len, R(write(self->fd, buf, len)));
			EXPECT_EQ(expected, R(recv(s, seen, 6000, 0)));
			fcntl(self->fd, F_SETFL, 0);
			EXPECT_EQ(len, R(write(self->fd, buf, len)));
			EXPECT_EQ(expected, R(recv(s, seen, 6000, 0)));
			fcntl(self->fd, F_SETFL, O_NONBLOCK);
		}
		/* The two that a native program saw; a generic one does not count. */
		EXPECT_EQ(before + 2 * !cases[i].passes, stat_of("rx_dropped"));
		close(link);
	}
	close(s);
}

/* A native program moves the start of the frame: what it says counts. */
TEST_F(u, XDP_04_adjust)
{
	struct bpf_insn insns[] = {
		MOV(BPF_REG_2, -20),
		CALL(BPF_FUNC_xdp_adjust_head),
		MOV(BPF_REG_0, XDP_PASS),
		EXIT,
	};
	unsigned char buf[100], seen[200];
	int s, link;

	MAKE(TAP);
	UP();
	s = raw("u0", ETH_P_ALL);
	link = attach_xdp(load_program(BPF_PROG_TYPE_XDP, insns, 4), "u0", XDP_FLAGS_DRV_MODE);
	ASSERT_LE(0, link);
	frame(buf, 60, 1);
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(80, R(recv(s, seen, 200, 0)));
	EXPECT_EQ(0, memcmp(seen + 20, buf, 60));
	EXPECT_EQ(60, stat_of("rx_bytes"));
	close(s);
}

/* How far a program can move the start: what a driver leaves, less what the core keeps. */
TEST_F(u, RX_03)
{
	unsigned char buf[100], seen[500];
	int s, link, by;

	MAKE(TAP);
	UP();
	s = raw("u0", ETH_P_ALL);
	for (by = 279; by < 283; by++) {
		struct bpf_insn insns[] = {
			MOV(BPF_REG_2, -by),
			CALL(BPF_FUNC_xdp_adjust_head),
			MOV(BPF_REG_0, XDP_PASS),
			EXIT,
		};

		link = attach_xdp(load_program(BPF_PROG_TYPE_XDP, insns, 4), "u0",
				  XDP_FLAGS_DRV_MODE);
		ASSERT_LE(0, link);
		frame(buf, 60, 1);
		EXPECT_EQ(60, R(write(self->fd, buf, 60)));
		/* 64 and 256 in front of the frame, 40 for struct xdp_frame. */
		EXPECT_EQ(by <= 280 ? 60 + by : 60, R(recv(s, seen, 500, 0))) TH_LOG("%d", by);
		close(link);
	}
	close(s);
}

/* Sent back: to be read again. Without packet information, and counted so. */
TEST_F(u, XDP_08__CHR_22__STA_02__BP_22__MQ_13__TXP_12)
{
	unsigned char buf[100], seen[100];
	int link;

	MAKE(IFF_TAP | IFF_VNET_HDR);
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 12));
	UP();
	link = attach_xdp(action(XDP_TX), "u0", XDP_FLAGS_DRV_MODE);
	ASSERT_LE(0, link);
	memset(buf, 0, 16);
	frame(buf + 16, 60, 5);
	EXPECT_EQ(76, R(write(self->fd, buf, 76)));
	EXPECT_EQ(POLLIN | POLLOUT, events(self->fd));
	memset(seen, 0xff, 100);
	EXPECT_EQ(72, R(read(self->fd, seen, 100)));
	EXPECT_EQ(0, memcmp(seen, buf + 4, 12));
	EXPECT_EQ(0, memcmp(seen + 12, buf + 16, 60));
	EXPECT_EQ(1, stat_of("rx_packets"));
	EXPECT_EQ(1, stat_of("tx_packets"));
	EXPECT_EQ(72, stat_of("tx_bytes"));
	/* Truncated: what was copied. */
	EXPECT_EQ(76, R(write(self->fd, buf, 76)));
	EXPECT_EQ(30, R(read(self->fd, seen, 30)));
	EXPECT_EQ(102, stat_of("tx_bytes"));
	EXPECT_EQ(76, R(write(self->fd, buf, 76)));
	EXPECT_EQ(-EINVAL, R(read(self->fd, seen, 11)));
	/* Full: received, and lost. */
	EXPECT_EQ(0, txqlen(1));
	EXPECT_EQ(76, R(write(self->fd, buf, 76)));
	EXPECT_EQ(76, R(write(self->fd, buf, 76)));
	EXPECT_EQ(5, stat_of("rx_packets"));
	EXPECT_EQ(1, stat_of("tx_dropped"));
	EXPECT_EQ(0, stat_of("rx_dropped"));
}

TEST_F(u, XDP_07__XDP_09__XDP_03)
{
	struct bpf_insn insns[] = {
		MOV(BPF_REG_1, 0),
		MOV(BPF_REG_2, 0),
		CALL(BPF_FUNC_redirect),
		EXIT,
	};
	unsigned char buf[100], seen[100];
	int other = make("u1", TAP), link;

	MAKE(TAP);
	ASSERT_EQ(0, link_up("u1", 1));
	UP();
	insns[0].imm = ifindex("u1");
	link = attach_xdp(load_program(BPF_PROG_TYPE_XDP, insns, 4), "u0", XDP_FLAGS_DRV_MODE);
	ASSERT_LE(0, link);
	frame(buf, 60, 8);
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(60, R(read(other, seen, 100)));
	EXPECT_EQ(0, memcmp(buf, seen, 60));
	EXPECT_EQ(1, stat_of("rx_packets"));
	/* Nobody there: the writer is not told. */
	close(other);
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(1, stat_of("rx_dropped"));
	EXPECT_EQ(1, stat_of("rx_packets"));
}

/* Frames of both kinds share a ring, in order. */
TEST_F(u, XDP_08_order)
{
	unsigned char buf[100], seen[100];
	int link, i;

	MAKE(TAP);
	UP();
	link = attach_xdp(action(XDP_TX), "u0", XDP_FLAGS_DRV_MODE);
	ASSERT_LE(0, link);
	for (i = 0; i < 6; i++) {
		frame(buf, 60, i);
		EXPECT_EQ(60, i & 1 ? R(write(self->fd, buf, 60)) : into(60, i));
	}
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(60, R(read(self->fd, seen, 100)));
		EXPECT_EQ(i, seen[14]);
	}
	/* Some are left when the file closes. */
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	into(60, 1);
}

TEST_F(u, XDP_12)
{
	unsigned char buf[100];
	int link;

	MAKE(TAP);
	link = attach_xdp(action(XDP_TX), "u0", XDP_FLAGS_DRV_MODE);
	ASSERT_LE(0, link);
	frame(buf, 60, 1);
	/* Down, and yet it comes back. */
	EXPECT_EQ(60, R(write(self->fd, buf, 60)));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	close(link);
	link = attach_xdp(action(XDP_PASS), "u0", XDP_FLAGS_DRV_MODE);
	EXPECT_EQ(-EIO, R(write(self->fd, buf, 60)));
	EXPECT_EQ(1, stat_of("rx_dropped"));
}

/* In pieces a generic program sees it, and may replace the buffer. */
TEST_F(u, XDP_05_frags__EDGE_39)
{
	struct bpf_insn insns[] = {
		MOV(BPF_REG_2, -100),
		CALL(BPF_FUNC_xdp_adjust_head),
		MOV(BPF_REG_0, XDP_PASS),
		EXIT,
	};
	unsigned char buf[600];
	struct iovec iov[3] = { { buf, 200 }, { buf + 200, 200 }, { buf + 400, 200 } };
	int link, i;

	MAKE(TAP | IFF_NAPI | IFF_NAPI_FRAGS);
	UP();
	link = attach_xdp(load_program(BPF_PROG_TYPE_XDP, insns, 4), "u0", XDP_FLAGS_DRV_MODE);
	ASSERT_LE(0, link);
	frame(buf, 600, 1);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(600, R(writev(self->fd, iov, 3)));
	EXPECT_EQ(20, stat_of("rx_packets"));
	close(link);
	link = attach_xdp(action(XDP_DROP), "u0", XDP_FLAGS_DRV_MODE);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(600, R(writev(self->fd, iov, 3)));
	EXPECT_EQ(20, stat_of("rx_packets"));
}

TEST_HARNESS_MAIN
