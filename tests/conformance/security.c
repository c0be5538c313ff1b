// SPDX-License-Identifier: GPL-2.0
/*
 * A security module that says no. Wants SELinux enabled, and in TUN_POLICY the
 * file of a policy (security.sh makes it) with types that each lack one right:
 * nocreate_t, noopen_t (but on devices of base_t), noqueue_t, nosignal_t.
 */
#include "tun.h"

#include <signal.h>

static int put_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_RDWR), ret;

	if (fd < 0)
		return -errno;
	ret = R(write(fd, data, len));
	close(fd);
	return ret < 0 ? ret : 0;
}

/* The policy, once a boot; and what it says counts. */
static int enforce(void)
{
	static char policy[1 << 22];
	const char *file = getenv("TUN_POLICY");
	int fd, n;

	if (!file || mount("selinuxfs", "/sys/fs/selinux", "selinuxfs", 0, NULL))
		return -ENOENT;
	if (access("/sys/fs/selinux/class/tun_socket", F_OK)) {
		fd = open(file, O_RDONLY);
		n = read(fd, policy, sizeof(policy));
		close(fd);
		if (n <= 0 || put_file("/sys/fs/selinux/load", policy, n))
			return -EINVAL;
	}
	/* It may be built so that it always does. */
	if (sh("grep -q 1 /sys/fs/selinux/enforce") && put_file("/sys/fs/selinux/enforce", "1", 1))
		return -EPERM;
	return 0;
}

#define ENFORCE()								\
do {										\
	int __ret = enforce();							\
										\
	if (__ret == -ENOENT)							\
		SKIP(return, "no SELinux, or no policy");			\
	ASSERT_EQ(0, __ret);							\
} while (0)

/* From here on this process is of @type. */
static int become(const char *type)
{
	char context[64];
	int n = snprintf(context, sizeof(context), "user_u:base_r:%s", type);

	return put_file("/proc/self/attr/current", context, n);
}

TEST_F(u, LSM_01__IOC_13)
{
	int fd;

	ENFORCE();
	ASSERT_EQ(0, become("nocreate_t"));
	fd = tun(0);
	EXPECT_EQ(-EACCES, iff(fd, "u0", SOME));
	/* Asked before the type is looked at, after the capability. */
	EXPECT_EQ(-EACCES, iff(fd, "u0", IFF_NO_PI));
	EXPECT_FALSE(exists());
	EXPECT_EQ(-EBADFD, get_iff(fd, NULL));
	ASSERT_EQ(0, become("base_t"));
	EXPECT_EQ(-EINVAL, iff(fd, "u0", IFF_NO_PI));
	EXPECT_EQ(0, iff(fd, "u0", SOME));
	close(fd);
	ASSERT_EQ(0, become("nocreate_t"));
	ASSERT_EQ(0, setresuid(1000, 1000, 1000));
	fd = tun(0);
	if (fd >= 0)
		EXPECT_EQ(-EPERM, iff(fd, "u0", SOME));
}

TEST_F(u, LSM_02__LSM_03__IOC_22)
{
	int fd = tun(0), other = tun(0);

	ENFORCE();
	/* A device that is base_t's can be joined, and is noopen_t's from then on. */
	MAKE(SOME | IFF_MULTI_QUEUE);
	ASSERT_EQ(0, become("noopen_t"));
	EXPECT_EQ(0, iff(fd, "u0", SOME | IFF_MULTI_QUEUE));
	EXPECT_EQ(-EACCES, iff(other, "u0", SOME | IFF_MULTI_QUEUE));
	EXPECT_EQ(-EBADFD, get_iff(other, NULL));
	close(fd);
	close(self->fd);
	/* One of its own making never was. */
	MAKE(SOME | IFF_MULTI_QUEUE);
	EXPECT_EQ(-EACCES, iff(other, "u0", SOME | IFF_MULTI_QUEUE));
	/* base_t takes it over. */
	ASSERT_EQ(0, become("base_t"));
	EXPECT_EQ(0, iff(other, "u0", SOME | IFF_MULTI_QUEUE));
	close(other);
}

TEST_F(u, LSM_05)
{
	ENFORCE();
	MAKE(SOME | IFF_MULTI_QUEUE);
	ASSERT_EQ(0, become("noqueue_t"));
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EACCES, queue(self->fd, IFF_ATTACH_QUEUE));
	/* It stays parked. */
	EXPECT_EQ(-EINVAL, queue(self->fd, IFF_DETACH_QUEUE));
	ASSERT_EQ(0, become("base_t"));
	EXPECT_EQ(0, queue(self->fd, IFF_ATTACH_QUEUE));
}

static volatile sig_atomic_t signals;

static void caught(int signal)
{
	(void)signal;
	signals++;
}

/* Whoever asked for signals is who sends them. */
TEST_F(u, LSM_06)
{
	int on = 1, off = 0, sender;

	ENFORCE();
	MAKE(IFF_TAP | IFF_NO_PI);
	UP();
	ASSERT_LE(0, sender = raw("u0", 0));
	signal(SIGIO, caught);
	ASSERT_EQ(0, become("nosignal_t"));
	ASSERT_EQ(0, R(ioctl(self->fd, FIOASYNC, &on)));
	ASSERT_EQ(0, become("base_t"));
	EXPECT_EQ(60, into(60, 0));
	EXPECT_EQ(0, signals);
	/* The owner is kept until there is another. */
	ASSERT_EQ(0, R(ioctl(self->fd, FIOASYNC, &off)));
	ASSERT_EQ(0, R(fcntl(self->fd, F_SETOWN, getpid())));
	ASSERT_EQ(0, R(ioctl(self->fd, FIOASYNC, &on)));
	EXPECT_EQ(60, into(60, 0));
	EXPECT_EQ(1, signals);
	close(sender);
}

TEST_HARNESS_MAIN
