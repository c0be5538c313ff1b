// SPDX-License-Identifier: GPL-2.0
/*
 * Open files, reading and waiting: rows CHR, and those of the module that can be seen.
 */
#include "tun.h"
#include <pthread.h>
#include <signal.h>
#include <sys/sendfile.h>

static long refcnt(void)
{
	char line[32];

	return atol(out(line, sizeof(line), "cat /sys/module/tun/refcnt"));
}

TEST_F(u, MOD_04)
{
	struct stat s;

	ASSERT_EQ(0, stat("/dev/net/tun", &s));
	EXPECT_EQ(10, major(s.st_rdev));
	EXPECT_EQ(200, minor(s.st_rdev));
	EXPECT_EQ(0, sh("grep -q '^200 tun$' /proc/misc"));
	EXPECT_EQ(0, sh("grep -q DEVNAME=net/tun /sys/class/misc/tun/uevent"));
}

TEST_F(u, MOD_07)
{
	EXPECT_EQ(-ENOENT, R(access("/sys/module/tun/parameters", F_OK)));
}

TEST_F(u, MOD_08__LIF_07)
{
	long before = refcnt();
	int other;

	MAKE(SOME);
	EXPECT_LT(before, refcnt());
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(before + 1, refcnt());
	ASSERT_EQ(0, sh("ip link del u0"));
	EXPECT_EQ(before, refcnt());
	MAKE(SOME);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
	other = tun(0);
	close(other);
	close(self->fd);
	self->fd = -1;
	EXPECT_EQ(before, refcnt());
}

TEST_F(u, CHR_01__CHR_03)
{
	int status;

	self->fd = tun(0);
	if (!fork()) {
		if (setresuid(1234, 1234, 1234))
			_exit(99);
		_exit(0);
	}
	wait(&status);
	ASSERT_EQ(0, WEXITSTATUS(status));
	ASSERT_EQ(0, iff(self->fd, "u0", SOME));
	EXPECT_EQ(INT_MAX, get_int(self->fd, TUNGETSNDBUF));
}

TEST_F(u, CHR_05)
{
	struct ifreq ifr = { .ifr_name = "u0", .ifr_flags = SOME };
	unsigned char buf[64];

	self->fd = open("/dev/net/tun", O_RDONLY);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETIFF, &ifr)));
	EXPECT_EQ(-EBADF, R(write(self->fd, buf, 64)));
	close(self->fd);
	self->fd = open("/dev/net/tun", O_WRONLY);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETIFF, &ifr)));
	EXPECT_EQ(-EBADF, R(read(self->fd, buf, 64)));
}

TEST_F(u, CHR_06)
{
	unsigned char buf[100];
	int zero = open("/dev/zero", O_RDONLY), pipes[2];

	MAKE(SOME);
	UP();
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-ESPIPE, R(lseek(self->fd, 0, SEEK_SET)));
	EXPECT_EQ(-ENODEV, R(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, self->fd, 0)));
	ASSERT_EQ(10, write(pipes[1], "0123456789", 10));
	EXPECT_EQ(-EINVAL, R(splice(pipes[0], NULL, self->fd, NULL, 10, 0)));
	EXPECT_EQ(-EINVAL, R(splice(self->fd, NULL, pipes[1], NULL, 10, SPLICE_F_NONBLOCK)));
	packet(buf, 60);
	/* Wherever. */
	EXPECT_EQ(60, R(pwrite(self->fd, buf, 60, 12345)));
	into(60, 0);
	EXPECT_EQ(60, R(pread(self->fd, buf, 100, 777)));
	close(zero);
}

TEST_F(u, CHR_07__CHR_26)
{
	unsigned char buf[64] = {};

	self->fd = tun(0);
	EXPECT_EQ(-EBADFD, R(read(self->fd, buf, 64)));
	EXPECT_EQ(-EBADFD, R(read(self->fd, buf, 0)));
	EXPECT_EQ(-EBADFD, R(write(self->fd, buf, 64)));
	EXPECT_EQ(-EBADFD, R(write(self->fd, buf, 0)));
}

static void nothing(int sig)
{
	(void)sig;
}

TEST_F(u, CHR_02__CHR_04__CHR_08__CHR_09__CHR_10)
{
	struct sigaction action = { .sa_handler = nothing };
	struct iovec iov = { .iov_len = 100 };
	unsigned char buf[100];
	pthread_t thread;

	iov.iov_base = buf;
	self->fd = tun(0);
	ASSERT_EQ(0, iff(self->fd, "u0", SOME));
	UP();
	/* Refused otherwise where a file cannot do without waiting. */
	EXPECT_EQ(-EAGAIN, R(preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT)));
	pthread_create(&thread, NULL, later, NULL);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	pthread_join(thread, NULL);
	sigaction(SIGALRM, &action, NULL);
	ualarm(200000, 0);
	EXPECT_EQ(-EINTR, R(read(self->fd, buf, 100)));
	fcntl(self->fd, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
}

TEST_F(u, CHR_11__LIF_06__LIF_08)
{
	unsigned char buf[100];
	pthread_t thread;

	self->fd = tun(0);
	ASSERT_EQ(0, iff(self->fd, "u0", SOME));
	UP();
	pthread_create(&thread, NULL, later, "ip link del u0");
	EXPECT_EQ(-EFAULT, R(read(self->fd, buf, 100)));
	pthread_join(thread, NULL);
	EXPECT_EQ(-EBADFD, R(read(self->fd, buf, 100)));
	EXPECT_EQ(-EBADFD, R(write(self->fd, buf, 100)));
	EXPECT_EQ(-EBADFD, get_iff(self->fd, NULL));
	EXPECT_EQ(0, iff(self->fd, "u0", SOME));
	UP();
	into(60, 0);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
}

TEST_F(u, CHR_12)
{
	unsigned char buf[100];

	self->fd = tun(0);
	ASSERT_EQ(0, iff(self->fd, "u0", SOME));
	UP();
	EXPECT_EQ(0, R(read(self->fd, buf, 0)));
	into(60, 0);
	EXPECT_EQ(0, R(read(self->fd, buf, 0)));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
}

TEST_F(u, CHR_13__CHR_14)
{
	unsigned char a[20], b[20], c[100];
	struct iovec iov[3] = { { a, 20 }, { b, 20 }, { c, 100 } };

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	into(60, 1);
	into(60, 2);
	EXPECT_EQ(60, R(readv(self->fd, iov, 3)));
	EXPECT_EQ(1, a[14]);
	EXPECT_EQ(0, memcmp(a, "\2\0\0\0\0\2\2\0\0\0\0\1\x88\xb5", 14));
	EXPECT_EQ(20, R(read(self->fd, a, 20)));
	EXPECT_EQ(2, a[14]);
	EXPECT_EQ(-EAGAIN, R(read(self->fd, a, 20)));
	EXPECT_EQ(120, stat_of("tx_bytes"));
}

TEST_F(u, CHR_15__CHR_16__CHR_17)
{
	unsigned char buf[200];

	MAKE(IFF_TAP);
	UP();
	into(60, 1);
	EXPECT_EQ(64, R(read(self->fd, buf, 200)));
	EXPECT_EQ(0, memcmp(buf, "\0\0\x88\xb5\2\0\0\0\0\2", 10));
	into(60, 2);
	EXPECT_EQ(63, R(read(self->fd, buf, 63)));
	EXPECT_EQ(TUN_PKT_STRIP, *(unsigned short *)buf);
	into(60, 3);
	EXPECT_EQ(-EINVAL, R(read(self->fd, buf, 3)));
	/* Lost. */
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 200)));
	close(self->fd);
	MAKE(IFF_TAP | IFF_VNET_HDR);
	ASSERT_EQ(0, set_int(self->fd, TUNSETVNETHDRSZ, 12));
	UP();
	into(60, 4);
	memset(buf, 0xff, 200);
	EXPECT_EQ(76, R(read(self->fd, buf, 200)));
	EXPECT_EQ(0, memcmp(buf, "\0\0\x88\xb5\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\2", 22));
}

TEST_F(u, CHR_18)
{
	unsigned char buf[200];

	MAKE(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR);
	UP();
	into(60, 1);
	EXPECT_EQ(-EINVAL, R(read(self->fd, buf, 9)));
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 200)));
	into(60, 2);
	EXPECT_EQ(10, R(read(self->fd, buf, 10)));
	EXPECT_EQ(1, stat_of("tx_packets"));
}

/* A VLAN above the device: the tag travels beside the frame, and is put back. */
TEST_F(u, CHR_19__STA_01)
{
	unsigned char buf[200], data[60];
	int s;

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	if (sh("ip link add link u0 name u0.5 type vlan id 5"))
		SKIP(return, "no VLAN");
	ASSERT_EQ(0, link_up("u0.5", 1));
	s = raw("u0.5", 0);
	frame(data, 60, 7);
	EXPECT_EQ(60, R(send(s, data, 60, 0)));
	EXPECT_EQ(64, R(read(self->fd, buf, 200)));
	EXPECT_EQ(0, memcmp(buf + 12, "\x81\0\0\5\x88\xb5\7", 7));
	EXPECT_EQ(64, stat_of("tx_bytes"));
	/* The buffer ends before, in, and behind the tag. */
	EXPECT_EQ(60, R(send(s, data, 60, 0)));
	EXPECT_EQ(12, R(read(self->fd, buf, 12)));
	EXPECT_EQ(60, R(send(s, data, 60, 0)));
	memset(buf, 0xff, 200);
	EXPECT_EQ(14, R(read(self->fd, buf, 14)));
	EXPECT_EQ(0, memcmp(buf + 12, "\x81\0\xff", 3));
	EXPECT_EQ(60, R(send(s, data, 60, 0)));
	EXPECT_EQ(16, R(read(self->fd, buf, 16)));
	EXPECT_EQ(256, stat_of("tx_bytes"));
	close(s);
}

TEST_F(u, CHR_20__EDGE_65)
{
	unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(0, munmap(page + 4096, 4096));
	MAKE(IFF_TAP);
	UP();
	into(60, 1);
	EXPECT_EQ(-EFAULT, R(read(self->fd, NOWHERE, 200)));
	EXPECT_EQ(-EAGAIN, R(read(self->fd, page, 200)));
	/* A fault in the frame itself is not reported. */
	into(60, 2);
	EXPECT_EQ(64, R(read(self->fd, page + 4096 - 30, 200)));
	EXPECT_EQ(1, stat_of("tx_packets"));
}

TEST_F(u, CHR_21)
{
	unsigned char buf[100];
	char line[64];

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	into(60, 1);
	into(50, 2);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	out(line, sizeof(line), "grep pos /proc/%d/fdinfo/%d", getpid(), self->fd);
	STREQ("pos:\t60", line);
	EXPECT_EQ(50, R(read(self->fd, buf, 100)));
	out(line, sizeof(line), "grep pos /proc/%d/fdinfo/%d", getpid(), self->fd);
	STREQ("pos:\t50", line);
}

TEST_F(u, CHR_24__MQ_15)
{
	unsigned char buf[100];
	int type = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;

	MAKE(type);
	UP();
	into(60, 1);
	EXPECT_EQ(POLLIN, events(self->fd) & POLLIN);
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
	EXPECT_EQ(POLLOUT, events(self->fd));
	EXPECT_EQ(0, queue(self->fd, IFF_ATTACH_QUEUE));
	into(60, 2);
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	EXPECT_EQ(2, buf[14]);
}

TEST_F(u, CHR_25)
{
	unsigned char buf[100];

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	into(60, 1);
	EXPECT_EQ(0, link_up("u0", 0));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	EXPECT_EQ(-EAGAIN, R(read(self->fd, buf, 100)));
}

TEST_F(u, CHR_41__CHR_42__CHR_44__EDGE_30)
{
	unsigned char buf[100];

	self->fd = tun(O_NONBLOCK);
	EXPECT_EQ(POLLERR, events(self->fd));
	ASSERT_EQ(0, iff(self->fd, "u0", IFF_TAP | IFF_NO_PI));
	/* Down: not writable. */
	EXPECT_EQ(0, events(self->fd));
	UP();
	EXPECT_EQ(POLLOUT, events(self->fd));
	into(60, 1);
	EXPECT_EQ(POLLIN | POLLOUT, events(self->fd));
	EXPECT_EQ(60, R(read(self->fd, buf, 100)));
	EXPECT_EQ(POLLOUT, events(self->fd));
	ASSERT_EQ(0, sh("ip link del u0"));
	EXPECT_EQ(POLLERR, events(self->fd));
}

static void *come_up(void *arg)
{
	usleep(200000);
	link_up("u0", 1);
	return arg;
}

TEST_F(u, CHR_45__MOD_12)
{
	struct pollfd p = { .events = POLLOUT };
	pthread_t thread;

	MAKE(SOME);
	p.fd = self->fd;
	pthread_create(&thread, NULL, come_up, NULL);
	EXPECT_EQ(1, poll(&p, 1, 3000));
	EXPECT_EQ(POLLOUT, p.revents);
	pthread_join(thread, NULL);
	p.events = POLLIN;
	pthread_create(&thread, NULL, later, NULL);
	EXPECT_EQ(1, poll(&p, 1, 3000));
	pthread_join(thread, NULL);
}

static volatile sig_atomic_t sigio;

static void on_sigio(int sig)
{
	(void)sig;
	sigio++;
}

TEST_F(u, CHR_46__CHR_47)
{
	struct sigaction action = { .sa_handler = on_sigio };
	int i;

	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	sigaction(SIGIO, &action, NULL);
	EXPECT_EQ(0, fcntl(self->fd, F_GETOWN));
	EXPECT_EQ(0, R(fcntl(self->fd, F_SETFL, O_ASYNC | O_NONBLOCK)));
	EXPECT_EQ(getpid(), fcntl(self->fd, F_GETOWN));
	into(60, 1);
	for (i = 0; i < 100 && !sigio; i++)
		usleep(1000);
	EXPECT_EQ(1, sigio);
	EXPECT_EQ(0, R(fcntl(self->fd, F_SETFL, O_NONBLOCK)));
	into(60, 2);
	usleep(10000);
	EXPECT_EQ(1, sigio);
	/* An owner that is set stays. */
	EXPECT_EQ(0, R(fcntl(self->fd, F_SETOWN, getppid())));
	EXPECT_EQ(0, R(fcntl(self->fd, F_SETFL, O_ASYNC | O_NONBLOCK)));
	EXPECT_EQ(getppid(), fcntl(self->fd, F_GETOWN));
}

TEST_F(u, CHR_48)
{
	char line[64];

	self->fd = tun(0);
	out(line, sizeof(line), "grep iff /proc/%d/fdinfo/%d", getpid(), self->fd);
	STREQ("iff:\t", line);
	ASSERT_EQ(0, iff(self->fd, "u0", SOME));
	out(line, sizeof(line), "grep iff /proc/%d/fdinfo/%d", getpid(), self->fd);
	STREQ("iff:\tu0", line);
	EXPECT_EQ(0, sh("ip link set u0 name u7"));
	out(line, sizeof(line), "grep iff /proc/%d/fdinfo/%d", getpid(), self->fd);
	STREQ("iff:\tu7", line);
}

TEST_F(u, CHR_51__LIF_02)
{
	MAKE(SOME);
	EXPECT_EQ(1, exists());
	EXPECT_EQ(0, close(self->fd));
	self->fd = -1;
	EXPECT_EQ(0, exists());
}

static void *closer(void *arg)
{
	usleep(100000);
	close(*(int *)arg);
	return NULL;
}

/* The read goes on, and the device lives as long. */
TEST_F(u, LIF_09)
{
	struct sigaction action = { .sa_handler = nothing };
	unsigned char buf[100];
	pthread_t thread;
	int fd = tun(0);

	ASSERT_EQ(0, iff(fd, "u0", SOME));
	UP();
	sigaction(SIGALRM, &action, NULL);
	ualarm(400000, 0);
	pthread_create(&thread, NULL, closer, &fd);
	EXPECT_EQ(-EINTR, R(read(fd, buf, 100)));
	pthread_join(thread, NULL);
	usleep(50000);
	EXPECT_EQ(0, exists());
}

TEST_HARNESS_MAIN
