// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is not there: each request with its first allocation failing, then
 * its second, and so on until none is left to fail. Wants a kernel with fault
 * injection, and says so where it is another.
 */
#include "tun.h"

#define FAIL_NTH "/proc/thread-self/fail-nth"

static int set_file(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = R(write(fd, text, strlen(text)));
	close(fd);
	return ret < 0 ? ret : 0;
}

/* Allocations that may sleep fail too, of whatever size, without a word. */
static int prepare(void)
{
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
	};
	char path[128];
	unsigned int i;

	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i][0]);
		if (set_file(path, settings[i][1]))
			return -1;
	}
	return 0;
}

/* The @nth allocation from here on fails. */
static int fail_fd;

static void arm(int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", nth);
	if (pwrite(fail_fd, text, strlen(text), 0) < 0)
		abort();
}

/* Did one fail? None does from here on. */
static bool disarm(void)
{
	char text[16] = {};

	if (pread(fail_fd, text, sizeof(text) - 1, 0) < 0 || pwrite(fail_fd, "0", 1, 0) < 0)
		abort();
	return text[0] == '0';
}

/*
 * @expression, again and again, each time with a later allocation failing, until
 * none does: then @result is that of a run without failure. What follows in the
 * arguments is done after each run in which one failed.
 */
static int runs;

#define FAILING(result, expression, ...)					\
do {										\
	for (runs = 1; runs < 5000; runs++) {					\
		arm(runs);							\
		result = R(expression);						\
		if (!disarm())							\
			break;							\
		__VA_ARGS__							\
	}									\
	EXPECT_GT(5000, runs);							\
} while (0)

/* There was something to fail. */
#define SOME_FAILED() EXPECT_LT(1, runs)

#define NO_MEMORY(result)							\
do {										\
	long __result = (result);						\
										\
	EXPECT_TRUE(__result >= 0 || __result == -ENOMEM)			\
		TH_LOG("%ld", __result);					\
} while (0)

#define NEEDS_FAULTS()								\
do {										\
	if (mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL))		\
		SKIP(return, "no debugfs: %d", errno);				\
	if (prepare())								\
		SKIP(return, "no fault injection in this kernel");		\
	fail_fd = open(FAIL_NTH, O_RDWR);					\
	ASSERT_LE(0, fail_fd);							\
} while (0)

/* An open file that is attached to nothing, whatever was tried on it. */
static bool unattached(int fd)
{
	return get_iff(fd, NULL) == -EBADFD && !exists();
}

TEST_F(u, CHR_01__no_memory_for_the_file)
{
	long r;

	NEEDS_FAULTS();
	/* ENFILE is what open() says of its own struct file. */
	FAILING(r, tun(0),
		if (r >= 0)
			close(r);
		else
			EXPECT_TRUE(r == -ENOMEM || r == -ENFILE) TH_LOG("%ld", r);
	);
	SOME_FAILED();
	ASSERT_LE(0, r);
	EXPECT_EQ(-EBADFD, get_iff(r, NULL));
	close(r);
}

static void creates(struct __test_metadata *_metadata, int flags)
{
	int fd = tun(0);
	long r;

	/* What the core says of a device that it cannot register is more than one thing. */
	FAILING(r, iff(fd, "u0", flags),
		if (r != -ENOBUFS && r != -EINVAL)
			NO_MEMORY(r);
		if (r < 0) {
			EXPECT_TRUE(unattached(fd));
		} else {
			close(fd);
			fd = tun(0);
		}
	);
	SOME_FAILED();
	EXPECT_EQ(0, r);
	EXPECT_LE(0, get_iff(fd, NULL));
	EXPECT_EQ(0, link_up("u0", 1));
	close(fd);
	EXPECT_FALSE(exists());
}

TEST_F(u, NDO_06__IOC_16__no_memory_for_a_device)
{
	NEEDS_FAULTS();
	creates(_metadata, IFF_TUN | IFF_NO_PI);
	creates(_metadata, IFF_TAP | IFF_NAPI | IFF_NAPI_FRAGS);
}

TEST_F(u, IOC_25__no_memory_to_join)
{
	int flags = SOME | IFF_MULTI_QUEUE, fd;
	long r;

	NEEDS_FAULTS();
	MAKE(flags);
	/* So that the ring is not of the length that it has from the beginning. */
	ASSERT_EQ(0, txqlen(700));
	fd = tun(0);
	FAILING(r, iff(fd, "u0", flags),
		NO_MEMORY(r);
		if (r < 0) {
			EXPECT_EQ(-EBADFD, get_iff(fd, NULL));
		} else {
			close(fd);
			fd = tun(0);
		}
	);
	SOME_FAILED();
	EXPECT_EQ(0, r);
	/* The one and the other still come and go. */
	EXPECT_EQ(0, queue(fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, queue(fd, IFF_ATTACH_QUEUE));
	close(fd);
}

TEST_F(u, IOC_25__no_memory_to_come_back)
{
	int flags = SOME | IFF_MULTI_QUEUE, fd;
	long r;

	NEEDS_FAULTS();
	MAKE(flags);
	ASSERT_LE(0, fd = make("u0", flags));
	FAILING(r, ({
			long __q = queue(fd, IFF_DETACH_QUEUE);

			__q ? (errno = -__q, -1) : (errno = -queue(fd, IFF_ATTACH_QUEUE), -!!errno);
		}),
		NO_MEMORY(r);
		/* Where it was left off, the other half is missing. */
		if (r < 0)
			EXPECT_EQ(0, queue(fd, IFF_ATTACH_QUEUE));
	);
	SOME_FAILED();
	EXPECT_EQ(0, r);
	close(fd);
}

TEST_F(u, BP_17__no_memory_for_longer_rings)
{
	int flags = SOME | IFF_MULTI_QUEUE, control, fd, i;
	struct ifreq ifr = { .ifr_name = "u0", .ifr_qlen = 10 };
	unsigned char data[100];
	long r;

	NEEDS_FAULTS();
	MAKE(flags);
	ASSERT_LE(0, fd = make("u0", flags));
	ASSERT_EQ(0, queue(fd, IFF_DETACH_QUEUE));
	UP();
	/* Others would want memory too, for each of 256 queues. */
	ASSERT_EQ(0, sh("tc qdisc replace dev u0 root noqueue"));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(60, into(60, i));
	ASSERT_LE(0, control = socket(AF_INET, SOCK_DGRAM, 0));
	ASSERT_EQ(0, txqlen(ifr.ifr_qlen));
	/* A notifier that says no says only that. */
	FAILING(r, ioctl(control, SIOCSIFTXQLEN, (ifr.ifr_qlen ^= 16, &ifr)),
		if (r != -EPERM)
			NO_MEMORY(r);
		/* A refused length is not the device's. */
		if (r < 0)
			ifr.ifr_qlen ^= 16;
		EXPECT_EQ(ifr.ifr_qlen, sysfs("tx_queue_len"));
	);
	SOME_FAILED();
	EXPECT_EQ(0, r);
	/* Nothing is lost, whatever failed. */
	for (i = 0; i < 5; i++)
		EXPECT_EQ(60, R(read(self->fd, data, sizeof(data))));
	EXPECT_EQ(-EAGAIN, R(read(self->fd, data, sizeof(data))));
	EXPECT_EQ(0, queue(fd, IFF_ATTACH_QUEUE));
	close(control);
	close(fd);
}

/* Writes of @len bytes; the errno that there is where there is no memory. */
static void writes(struct __test_metadata *_metadata, int fd, int len, int flags, int error)
{
	unsigned char data[70000];
	long r, dropped;

	if (flags & IFF_TAP)
		frame(data, len, 0);
	else
		packet(data, len);
	dropped = stat_of("rx_dropped");
	FAILING(r, write(fd, data, len),
		if (r < 0) {
			EXPECT_EQ(error, r);
			EXPECT_EQ(dropped + 1, stat_of("rx_dropped"));
		} else {
			/* What failed came later, or was not needed. */
			EXPECT_EQ(len, r);
		}
		dropped = stat_of("rx_dropped");
	);
	SOME_FAILED();
	EXPECT_EQ(len, r);
}

TEST_F(u, CHR_35__tun)
{
	NEEDS_FAULTS();
	MAKE(IFF_TUN | IFF_NO_PI);
	UP();
	writes(_metadata, self->fd, 100, IFF_TUN, -ENOBUFS);
	writes(_metadata, self->fd, 20000, IFF_TUN, -ENOBUFS);
}

TEST_F(u, CHR_35__tap)
{
	NEEDS_FAULTS();
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	/* In the task's page. */
	writes(_metadata, self->fd, 100, IFF_TAP, -ENOMEM);
	/* Too long for it. */
	writes(_metadata, self->fd, 20000, IFF_TAP, -ENOBUFS);
	/* May sleep. */
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_RDWR));
	writes(_metadata, self->fd, 100, IFF_TAP, -ENOBUFS);
}

TEST_F(u, CHR_35__RX_06__napi)
{
	unsigned char data[200];
	struct iovec vec[3] = {
		{ data, 60 }, { data + 60, 70 }, { data + 130, 70 },
	};
	long r;

	NEEDS_FAULTS();
	MAKE(IFF_TAP | IFF_NO_PI | IFF_NAPI | IFF_NAPI_FRAGS);
	UP();
	frame(data, sizeof(data), 0);
	FAILING(r, writev(self->fd, vec, 3),
		EXPECT_TRUE(r == 200 || r == -ENOMEM) TH_LOG("%ld", r);
	);
	SOME_FAILED();
	EXPECT_EQ(200, r);
}

TEST_F(u, DRP_05)
{
	/* In pieces: such a frame is not shortened where it lies. */
	struct {
		struct virtio_net_hdr header;
		unsigned char data[5000];
	} __attribute__((packed)) out = { .header.hdr_len = 20 };
	int fd, watcher, thirty, on = 1;
	unsigned char in[100];
	long r, sent = 0, kept = 0;

	NEEDS_FAULTS();
	MAKE(IFF_TAP | IFF_NO_PI);
	ASSERT_EQ(0, sh("ip link set u0 mtu 9000"));
	UP();
	ASSERT_LE(0, thirty = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 30));
	ASSERT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF, thirty));
	ASSERT_LE(0, fd = raw("u0", 0));
	ASSERT_EQ(0, setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)));
	/* Who shares what is sent: to shorten it takes a copy of its head. */
	ASSERT_LE(0, watcher = raw("u0", ETH_P_ALL));
	frame(out.data, sizeof(out.data), 0);
	FAILING(r, send(fd, &out, sizeof(out), 0),
		if (r >= 0)
			sent++;
		else
			EXPECT_EQ(-ENOBUFS, r) TH_LOG("%ld", r);
	);
	SOME_FAILED();
	EXPECT_EQ(sizeof(out), r);
	sent++;
	while (read(self->fd, in, sizeof(in)) == 30)
		kept++;
	EXPECT_LT(kept, sent);
	EXPECT_EQ(sent - kept, stat_of("tx_dropped"));
	close(watcher);
	close(fd);
}

TEST_F(u, IOC_49__no_memory_for_a_filter)
{
	struct sock_filter accept = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	struct sock_fprog prog = { .len = 1, .filter = &accept };
	unsigned char data[100];
	long r;

	NEEDS_FAULTS();
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	FAILING(r, ioctl(self->fd, TUNATTACHFILTER, &prog), NO_MEMORY(r););
	SOME_FAILED();
	EXPECT_EQ(0, r);
	EXPECT_EQ(60, into(60, 0));
	EXPECT_EQ(60, R(read(self->fd, data, sizeof(data))));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNDETACHFILTER, &prog)));
}

TEST_F(u, IOC_52__no_memory_to_steer)
{
	int prog, none = -1;
	long r;

	NEEDS_FAULTS();
	MAKE(SOME | IFF_MULTI_QUEUE);
	ASSERT_LE(0, prog = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 0));
	FAILING(r, ioctl(self->fd, TUNSETSTEERINGEBPF, &prog), NO_MEMORY(r););
	EXPECT_EQ(0, r);
	FAILING(r, ioctl(self->fd, TUNSETFILTEREBPF, &prog), NO_MEMORY(r););
	EXPECT_EQ(0, r);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETSTEERINGEBPF, &none)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETFILTEREBPF, &none)));
}

TEST_F(u, IOC_44__no_memory_for_addresses)
{
	struct {
		struct tun_filter head;
		unsigned char addr[9][ETH_ALEN];
	} filter = { .head.count = 1, .addr[0] = { 2, 0, 0, 0, 0, 2 } };
	unsigned char data[100];
	long r;

	NEEDS_FAULTS();
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	FAILING(r, ioctl(self->fd, TUNSETTXFILTER, &filter), NO_MEMORY(r););
	SOME_FAILED();
	/* The number of exact matches. */
	EXPECT_EQ(1, r);
	EXPECT_EQ(60, into(60, 0));
	EXPECT_EQ(60, R(read(self->fd, data, sizeof(data))));
}

TEST_F(u, CHR_46__no_memory_for_signals)
{
	int on = 1, off = 0;
	long r;

	NEEDS_FAULTS();
	MAKE(SOME);
	FAILING(r, ioctl(self->fd, FIOASYNC, &on),
		NO_MEMORY(r);
		if (r >= 0)
			EXPECT_EQ(0, R(ioctl(self->fd, FIOASYNC, &off)));
	);
	SOME_FAILED();
	EXPECT_EQ(0, r);
}

TEST_F(u, XDP_01__no_memory_for_a_program)
{
	int prog;
	long r;

	NEEDS_FAULTS();
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	ASSERT_LE(0, prog = constant_program(BPF_PROG_TYPE_XDP, XDP_PASS));
	FAILING(r, attach_xdp(prog, "u0", XDP_FLAGS_DRV_MODE),
		/* What BPF says where it cannot make a link. */
		if (r != -EINVAL)
			NO_MEMORY(r);
		if (r >= 0)
			close(r);
	);
	SOME_FAILED();
	EXPECT_LE(0, r);
	writes(_metadata, self->fd, 100, IFF_TAP, -ENOMEM);
	close(r);
}

/* A module that cannot be loaded leaves nothing behind. Last, since it takes the driver away. */
TEST_F(u, MOD_02)
{
	const char *module = getenv("TUN_MODULE");
	int fd, loaded = 0;
	long r;

	NEEDS_FAULTS();
	if (!module)
		SKIP(return, "TUN_MODULE does not name the driver's file");
	ASSERT_LE(0, fd = open(module, O_RDONLY));
	syscall(__NR_delete_module, "vhost_net", O_NONBLOCK);
	ASSERT_EQ(0, R(syscall(__NR_delete_module, "tun", O_NONBLOCK)));
	FAILING(r, syscall(__NR_finit_module, fd, "", 0),
		if (r == 0) {
			loaded++;
			EXPECT_EQ(0, R(syscall(__NR_delete_module, "tun", O_NONBLOCK)));
		}
		EXPECT_NE(0, access("/sys/module/tun", F_OK));
		EXPECT_NE(0, access("/sys/class/misc/tun", F_OK));
	);
	SOME_FAILED();
	EXPECT_EQ(0, r);
	/* And it works. */
	MAKE(SOME);
	UP();
}

TEST_HARNESS_MAIN
