// SPDX-License-Identifier: GPL-2.0
/*
 * What happens at the same time: two or more threads for a while, and what must
 * be true all along and afterwards. On a kernel with lockdep and KASAN it says
 * more than here.
 */
#include "tun.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* For so long, in milliseconds. */
#define WHILE 400

static atomic_bool over;
static atomic_long wrong;

static void *timer(void *arg)
{
	usleep(WHILE * 1000);
	atomic_store(&over, true);
	return arg;
}

/* Each of @count functions in a thread of its own, until the time is over. */
static void together(void *(*const *functions)(void *), int count, void *arg)
{
	pthread_t thread[8], clock;
	int i;

	atomic_store(&over, false);
	atomic_store(&wrong, 0);
	for (i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, functions[i], arg))
			abort();
	if (pthread_create(&clock, NULL, timer, NULL))
		abort();
	for (i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	pthread_join(clock, NULL);
}

#define TOGETHER(arg, ...)							\
do {										\
	void *(*const __functions[])(void *) = { __VA_ARGS__ };			\
										\
	together(__functions, sizeof(__functions) / sizeof(*__functions), arg); \
} while (0)

/* Is @result one that may be? The first that may not is kept. */
static void may_be(long result, long good, long other)
{
	if (result != good && result != other && result != -EAGAIN)
		atomic_compare_exchange_strong(&wrong, &(long){ 0 }, result ? result : -1);
}

struct two {
	int fd[2];
	int flags;
	atomic_long done[4];
};

static void *deletes(void *arg)
{
	struct two *two = arg;

	while (!atomic_load(&over)) {
		sh("ip link del u0");
		/* The same file again, for a device of its own. */
		iff(two->fd[0], "u0", two->flags);
		link_up("u0", 1);
	}
	return NULL;
}

static void *reads(void *arg)
{
	struct two *two = arg;
	char data[2000];

	while (!atomic_load(&over)) {
		may_be(R(read(two->fd[0], data, sizeof(data))), 60, -EBADFD);
		events(two->fd[0]);
	}
	return NULL;
}

static void *writes(void *arg)
{
	struct two *two = arg;
	unsigned char data[60];
	long r;

	frame(data, sizeof(data), 0);
	while (!atomic_load(&over)) {
		r = R(write(two->fd[0], data, sizeof(data)));
		/* Down, as it is for a moment. */
		if (r != -EIO)
			may_be(r, 60, -EBADFD);
	}
	return NULL;
}

static void *asks(void *arg)
{
	struct two *two = arg;
	int value;

	while (!atomic_load(&over)) {
		may_be(get_iff(two->fd[0], NULL) < 0 ? -EBADFD : 0, 0, -EBADFD);
		value = INT_MAX;
		may_be(R(ioctl(two->fd[0], TUNSETSNDBUF, &value)), 0, -EBADFD);
	}
	return NULL;
}

static void *sends(void *arg)
{
	(void)arg;
	while (!atomic_load(&over))
		into(60, 0);
	return NULL;
}

/* A device comes and goes under those who use its file. */
TEST_F(u, LCK_01__LIF_01__LIF_10__LIF_12)
{
	struct two two = { .flags = IFF_TAP | IFF_NO_PI };

	MAKE(two.flags);
	two.fd[0] = self->fd;
	UP();
	TOGETHER(&two, deletes, reads, writes, asks, sends);
	EXPECT_EQ(0, atomic_load(&wrong));
	/* Nothing of it is left that would hold the last device. */
	EXPECT_EQ(0, sh("ip link del u0"));
	EXPECT_FALSE(exists());
	EXPECT_EQ(0, iff(self->fd, "u0", two.flags));
}

static void *parks(void *arg)
{
	struct two *two = arg;

	while (!atomic_load(&over)) {
		may_be(queue(two->fd[1], IFF_DETACH_QUEUE), 0, 0);
		may_be(queue(two->fd[1], IFF_ATTACH_QUEUE), 0, 0);
	}
	return NULL;
}

/* Of many flows, so that each queue has some. */
static void *floods(void *arg)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr("10.97.0.2"),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), i;
	struct two *two = arg;
	char data[32] = {};

	for (i = 0; !atomic_load(&over); i++) {
		to.sin_port = htons(1000 + i % 512);
		if (sendto(fd, data, sizeof(data), 0, (void *)&to, sizeof(to)) == sizeof(data))
			atomic_fetch_add(&two->done[0], 1);
	}
	close(fd);
	return NULL;
}

static void *takes(void *arg)
{
	struct two *two = arg;
	char data[2000];
	long r;
	int i;

	while (!atomic_load(&over)) {
		for (i = 0; i < 2; i++) {
			r = R(read(two->fd[i], data, sizeof(data)));
			may_be(r > 0 ? 0 : r, 0, -EBADFD);
		}
	}
	return NULL;
}

static int drain(int fd)
{
	char data[2000];
	int n = 0;

	while (read(fd, data, sizeof(data)) > 0)
		n++;
	return n;
}

static void two_queues(struct __test_metadata *_metadata, struct two *two, int flags)
{
	two->flags = flags | IFF_MULTI_QUEUE;
	ASSERT_LE(0, two->fd[0] = make("u0", two->flags));
	ASSERT_LE(0, two->fd[1] = make("u0", two->flags));
	ASSERT_EQ(0, sh("ip addr add 10.97.0.1/24 dev u0"));
	UP();
}

/* The functions on a device of two queues, none of which sees what may not be. */
#define ON_TWO_QUEUES(flags, ...)						\
do {										\
	struct two __two = {};							\
										\
	two_queues(_metadata, &__two, flags);					\
	TOGETHER(&__two, __VA_ARGS__);						\
	EXPECT_EQ(0, atomic_load(&wrong));					\
	close(__two.fd[1]);							\
	close(__two.fd[0]);							\
} while (0)

/* A queue comes and goes under senders, a reader and a program. */
static void moving_queue(struct __test_metadata *_metadata, int flags)
{
	struct two two = {};
	int i, fd;

	two_queues(_metadata, &two, flags);
	TOGETHER(&two, parks, floods, takes, asks);
	EXPECT_EQ(0, atomic_load(&wrong));
	EXPECT_LT(0, atomic_load(&two.done[0]));
	/* Both carry frames afterwards, and none stays behind. */
	usleep(20000);
	drain(two.fd[0]);
	drain(two.fd[1]);
	atomic_store(&over, false);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	for (i = 0; i < 200; i++) {
		struct sockaddr_in to = {
			.sin_family = AF_INET,
			.sin_addr.s_addr = inet_addr("10.97.0.2"),
			.sin_port = htons(2000 + i),
		};

		EXPECT_EQ(1, sendto(fd, "x", 1, 0, (void *)&to, sizeof(to)));
	}
	close(fd);
	usleep(20000);
	fd = drain(two.fd[0]);
	i = drain(two.fd[1]);
	EXPECT_LT(0, fd);
	EXPECT_LT(0, i);
	EXPECT_EQ(200, fd + i);
	close(two.fd[1]);
	close(two.fd[0]);
}

TEST_F(u, LCK_02__LCK_03__LCK_04__LCK_23)
{
	moving_queue(_metadata, IFF_TUN | IFF_NO_PI);
	moving_queue(_metadata, IFF_TUN | IFF_NO_PI | IFF_BACKPRESSURE);
}

static void *napi_writes(void *arg)
{
	struct two *two = arg;
	unsigned char data[60];
	long r;

	packet(data, sizeof(data));
	while (!atomic_load(&over)) {
		r = R(write(two->fd[1], data, sizeof(data)));
		/* While it is parked there is no NAPI, nor a device to read of. */
		if (r != -EBUSY)
			may_be(r, 60, -EBADFD);
	}
	return NULL;
}

TEST_F(u, LCK_05)
{
	ON_TWO_QUEUES(IFF_TUN | IFF_NO_PI | IFF_NAPI, parks, napi_writes, napi_writes);
}

static void *tap_writes(void *arg)
{
	struct two *two = arg;
	unsigned char data[60];
	int i;

	frame(data, sizeof(data), 0);
	while (!atomic_load(&over))
		for (i = 0; i < 2; i++)
			may_be(R(write(two->fd[i], data, sizeof(data))), 60, -EBADFD);
	return NULL;
}

/* A program sees what is written while its queue moves, and while it is replaced. */
static void *programs(void *arg)
{
	int pass = constant_program(BPF_PROG_TYPE_XDP, XDP_PASS), link;

	(void)arg;
	while (!atomic_load(&over)) {
		link = attach_xdp(pass, "u0", XDP_FLAGS_DRV_MODE);
		may_be(link < 0 ? link : 0, 0, 0);
		close(link);
	}
	close(pass);
	return NULL;
}

TEST_F(u, LCK_18)
{
	ON_TWO_QUEUES(IFF_TAP | IFF_NO_PI, parks, programs, tap_writes, takes, floods);
}

/* With room for one frame each is waited for, in both directions. */
#define FRAMES 20000

static void *counted(void *arg)
{
	unsigned char data[60];
	int fd = raw("u0", 0), i;

	fcntl(fd, F_SETFL, 0);
	for (i = 0; i < FRAMES; i++) {
		frame(data, sizeof(data), 0);
		memcpy(data + 14, &i, sizeof(i));
		while (send(fd, data, sizeof(data), 0) < 0)
			if (errno != ENOBUFS)
				abort();
	}
	close(fd);
	return arg;
}

TEST_F(u, BP_06)
{
	struct pollfd p = { .events = POLLIN };
	unsigned char data[100];
	pthread_t thread;
	int i, seen;

	MAKE(IFF_TAP | IFF_NO_PI | IFF_BACKPRESSURE);
	ASSERT_EQ(0, txqlen(1));
	ASSERT_EQ(0, sh("tc qdisc replace dev u0 root pfifo limit 30000"));
	UP();
	p.fd = self->fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, counted, NULL));
	for (i = 0; i < FRAMES; i++) {
		while (read(self->fd, data, sizeof(data)) != 60)
			/* A wake-up that is lost is never made up for. */
			if (poll(&p, 1, 5000) != 1)
				break;
		memcpy(&seen, data + 14, sizeof(seen));
		if (seen != i || p.revents & ~POLLIN)
			break;
	}
	EXPECT_EQ(FRAMES, i);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, stat_of("tx_dropped"));
}

static void *resizes(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; !atomic_load(&over); i++)
		may_be(txqlen(1 + i % 3 * 50), 0, 0);
	return NULL;
}

static void *bounces(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; !atomic_load(&over); i++)
		may_be(link_up("u0", i % 2), 0, 0);
	return NULL;
}

static void ordered(struct __test_metadata *_metadata, int flags)
{
	ON_TWO_QUEUES(flags, resizes, bounces, parks, takes, floods, floods);
}

/* Both ends of every ring, the addresses, the queues: locks in an order. */
TEST_F(u, BP_10__LCK_15__LCK_22)
{
	ordered(_metadata, IFF_TUN | IFF_NO_PI);
	ordered(_metadata, IFF_TUN | IFF_NO_PI | IFF_BACKPRESSURE);
	ordered(_metadata, IFF_TAP | IFF_NO_PI | IFF_NAPI);
}

static void *owns(void *arg)
{
	struct two *two = arg;
	int i;

	for (i = 0; !atomic_load(&over); i++)
		may_be(R(ioctl(two->fd[0], TUNSETOWNER, i % 2 ? 0x11111111 : 0x22222222)), 0, 0);
	return NULL;
}

static void *looks(void *arg)
{
	(void)arg;
	while (!atomic_load(&over))
		may_be(sysfs("owner"), 0x11111111, 0x22222222);
	return NULL;
}

TEST_F(u, LCK_07)
{
	struct two two = {};

	MAKE(SOME);
	two.fd[0] = self->fd;
	ASSERT_EQ(0, R(ioctl(self->fd, TUNSETOWNER, 0x11111111)));
	TOGETHER(&two, owns, looks, looks);
	EXPECT_EQ(0, atomic_load(&wrong));
}

/* What is written teaches flows; they are looked up, forgotten, and moved. */
static void *teaches(void *arg)
{
	struct two *two = arg;
	unsigned char data[60];
	unsigned int i;

	for (i = 0; !atomic_load(&over); i++) {
		packet(data, sizeof(data));
		data[9] = IPPROTO_UDP;
		memcpy(data + 20, &i, 2);
		may_be(R(write(two->fd[i % 2], data, sizeof(data))), 60, -EBADFD);
	}
	return NULL;
}

TEST_F(u, LCK_11)
{
	ON_TWO_QUEUES(IFF_TUN | IFF_NO_PI, teaches, teaches, floods, takes, parks);
}

static void *filters(void *arg)
{
	struct {
		struct tun_filter head;
		unsigned char addr[3][ETH_ALEN];
	} filter = { .head.count = 3 };
	struct two *two = arg;
	int i;

	for (i = 0; !atomic_load(&over); i++) {
		/* The one that is sent to keeps its place; who moves may be missed. */
		memset(filter.addr, i, sizeof(filter.addr));
		memcpy(filter.addr[1], "\2\0\0\0\0\2", ETH_ALEN);
		may_be(R(ioctl(two->fd[0], TUNSETTXFILTER, &filter)), 3, 3);
	}
	return NULL;
}

static void *must_arrive(void *arg)
{
	struct two *two = arg;
	unsigned char data[100];
	int fd = raw("u0", 0);

	while (!atomic_load(&over)) {
		frame(data, 60, 0);
		if (send(fd, data, 60, 0) == 60)
			may_be(read(two->fd[0], data, sizeof(data)) == 60, true, true);
	}
	close(fd);
	return NULL;
}

/* A filter that changes may let through too much, and never too little. */
TEST_F(u, LCK_12)
{
	struct two two = {};

	MAKE(IFF_TAP | IFF_NO_PI);
	two.fd[0] = self->fd;
	UP();
	TOGETHER(&two, filters, must_arrive);
	EXPECT_EQ(0, atomic_load(&wrong));
}

static void *pieces(void *arg)
{
	struct two *two = arg;
	unsigned char data[210];
	struct iovec vec[3] = { { data, 60 }, { data + 60, 70 }, { data + 130, 80 } };
	int number;
	long r;

	frame(data, sizeof(data), 0);
	number = 1 + atomic_fetch_add(&two->done[2], 1);
	memset(data + 14, number, sizeof(data) - 14);
	while (!atomic_load(&over)) {
		r = R(writev(two->fd[0], vec, 3));
		if (r == 210)
			atomic_fetch_add(&two->done[0], 1);
		else if (r != -EBUSY)
			may_be(r, 210, 210);
	}
	return NULL;
}

/* No frame has pieces of another. */
static void *watches(void *arg)
{
	struct two *two = arg;
	unsigned char data[300];
	int fd = raw("u0", PROTOCOL), i;

	while (!atomic_load(&over)) {
		if (recv(fd, data, sizeof(data), 0) != 210)
			continue;
		atomic_fetch_add(&two->done[1], 1);
		for (i = 15; i < 210; i++)
			if (data[i] != data[14])
				may_be(-EBADMSG, 0, 0);
	}
	close(fd);
	return NULL;
}

TEST_F(u, LCK_17)
{
	struct two two = {};

	MAKE(IFF_TAP | IFF_NO_PI | IFF_NAPI | IFF_NAPI_FRAGS);
	two.fd[0] = self->fd;
	UP();
	TOGETHER(&two, pieces, pieces, pieces, watches);
	EXPECT_EQ(0, atomic_load(&wrong));
	EXPECT_LT(0, atomic_load(&two.done[0]));
	EXPECT_LT(0, atomic_load(&two.done[1]));
}

static void *async(void *arg)
{
	struct two *two = arg;
	int i;

	for (i = 0; !atomic_load(&over); i++) {
		int on = i % 2;

		may_be(R(ioctl(two->fd[0], FIOASYNC, &on)), 0, 0);
	}
	return NULL;
}

TEST_F(u, LCK_19)
{
	struct two two = {};

	MAKE(IFF_TAP | IFF_NO_PI);
	two.fd[0] = self->fd;
	UP();
	signal(SIGIO, SIG_IGN);
	TOGETHER(&two, async, async, must_arrive);
	EXPECT_EQ(0, atomic_load(&wrong));
}

/* A checksum over what is none of its business. */
static void *malformed(void *arg)
{
	struct {
		struct virtio_net_hdr header;
		unsigned char data[60];
	} __attribute__((packed)) out = {
		.header = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = 10 },
	};
	struct two *two = arg;

	packet(out.data, sizeof(out.data));
	while (!atomic_load(&over)) {
		may_be(R(write(two->fd[0], &out, sizeof(out))), -EINVAL, -EINVAL);
		atomic_fetch_add(&two->done[0], 1);
	}
	return NULL;
}

TEST_F(u, LCK_21)
{
	struct two two = {};

	MAKE(SOME | IFF_VNET_HDR);
	two.fd[0] = self->fd;
	UP();
	TOGETHER(&two, malformed, malformed, malformed);
	EXPECT_EQ(0, atomic_load(&wrong));
	EXPECT_EQ(atomic_load(&two.done[0]), stat_of("rx_frame_errors"));
}

static void *counts(void *arg)
{
	struct two *two = arg;
	unsigned char data[60];

	frame(data, sizeof(data), 0);
	while (!atomic_load(&over))
		if (write(two->fd[0], data, sizeof(data)) == 60)
			atomic_fetch_add(&two->done[0], 1);
	return NULL;
}

/* More writers than processors, so that each is interrupted by the others. */
TEST_F(u, STA_07)
{
	struct two two = {};

	MAKE(IFF_TAP | IFF_NO_PI);
	two.fd[0] = self->fd;
	UP();
	TOGETHER(&two, counts, counts, counts, counts, counts);
	EXPECT_EQ(atomic_load(&two.done[0]), stat_of("rx_packets"));
	EXPECT_EQ(60 * atomic_load(&two.done[0]), stat_of("rx_bytes"));
}

/* The id of a program that the kernel knows no more, a while after the last who had it. */
static bool is_gone(unsigned int id)
{
	union bpf_attr attr = { .prog_id = id };
	int i, fd;

	for (i = 0; i < 200; i++) {
		fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd == -ENOENT)
			return true;
		if (fd >= 0)
			close(fd);
		usleep(10000);
	}
	return false;
}

static unsigned int id_of(int prog)
{
	struct bpf_prog_info info = {};
	union bpf_attr attr = {
		.info = { .bpf_fd = prog, .info_len = sizeof(info), .info = (unsigned long)&info },
	};

	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) ? 0 : info.id;
}

TEST_F(u, NDO_22)
{
	unsigned int id[2];
	int i, prog[2];

	MAKE(SOME | IFF_MULTI_QUEUE);
	for (i = 0; i < 2; i++) {
		ASSERT_LE(0, prog[i] = constant_program(BPF_PROG_TYPE_SOCKET_FILTER, 100));
		ASSERT_NE(0, id[i] = id_of(prog[i]));
	}
	ASSERT_EQ(0, set_int(self->fd, TUNSETSTEERINGEBPF, prog[0]));
	ASSERT_EQ(0, set_int(self->fd, TUNSETFILTEREBPF, prog[1]));
	close(prog[0]);
	close(prog[1]);
	EXPECT_EQ(0, sh("ip link del u0"));
	/* With the device, though the file is open yet. */
	EXPECT_TRUE(is_gone(id[0]));
	EXPECT_TRUE(is_gone(id[1]));
}

TEST_F(u, LIF_11)
{
	unsigned char data[100];
	int i;

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	for (i = 0; i < 10; i++)
		ASSERT_EQ(60, into(60, i));
	EXPECT_EQ(0, sh("ip link del u0"));
	/* The frames go with the device, the ring stays the file's. */
	EXPECT_EQ(-EBADFD, R(read(self->fd, data, sizeof(data))));
	EXPECT_EQ(POLLERR, events(self->fd));
	EXPECT_EQ(0, iff(self->fd, "u0", IFF_TAP | IFF_NO_PI));
	UP();
	EXPECT_EQ(-EAGAIN, R(read(self->fd, data, sizeof(data))));
	EXPECT_EQ(60, into(60, 7));
	EXPECT_EQ(60, R(read(self->fd, data, sizeof(data))));
	EXPECT_EQ(7, data[14]);
}

TEST_HARNESS_MAIN
