// SPDX-License-Identifier: GPL-2.0
/*
 * TUNSETIFF: making and joining devices, and who may.
 */
#include "tun.h"

TEST_F(u, IOC_10)
{
	MAKE(SOME | IFF_MULTI_QUEUE);
	EXPECT_EQ(-EEXIST, iff(self->fd, "u0", SOME | IFF_MULTI_QUEUE));
	EXPECT_EQ(-EEXIST, iff(self->fd, "u1", SOME));
	EXPECT_EQ(0, queue(self->fd, IFF_DETACH_QUEUE));
	EXPECT_EQ(-EEXIST, iff(self->fd, "u1", SOME));
}

TEST_F(u, IOC_11__FLG_03)
{
	int status;

	self->fd = tun(0);
	EXPECT_EQ(-EINVAL, iff(self->fd, "u0", IFF_TAP | IFF_NAPI_FRAGS));
	EXPECT_EQ(-EINVAL, iff(self->fd, "u0", IFF_TUN | IFF_NAPI | IFF_NAPI_FRAGS));
	EXPECT_EQ(-EINVAL, iff(self->fd, "u0", IFF_TUN | IFF_TAP | IFF_NAPI | IFF_NAPI_FRAGS));
	EXPECT_EQ(-EINVAL, iff(self->fd, "u0", IFF_TAP | 4 | IFF_NAPI | IFF_NAPI_FRAGS));
	if (!fork()) {
		/* All rights over the namespace are not enough. */
		if (setresuid(1234, 1234, 1234) || unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(99);
		_exit(-iff(self->fd, "u0", IFF_TAP | IFF_NAPI | IFF_NAPI_FRAGS));
	}
	wait(&status);
	if (WEXITSTATUS(status) != 99)
		EXPECT_EQ(EPERM, WEXITSTATUS(status));
	EXPECT_EQ(0, iff(self->fd, "u0", IFF_TAP | IFF_NAPI | IFF_NAPI_FRAGS));
	EXPECT_EQ(IFF_TAP | IFF_NAPI | IFF_NAPI_FRAGS, get_iff(self->fd, NULL) & ~IFF_NOFILTER);
}

TEST_F(u, IOC_12)
{
	int status;

	self->fd = tun(0);
	if (!fork()) {
		if (setresuid(1234, 1234, 1234))
			_exit(99);
		/* Before the type is looked at. */
		_exit(iff(self->fd, "u0", 0) != -EPERM || iff(self->fd, "u0", IFF_TUN) != -EPERM);
	}
	wait(&status);
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, exists());
}

TEST_F(u, IOC_14__FLG_01)
{
	self->fd = tun(0);
	EXPECT_EQ(-EINVAL, iff(self->fd, "u0", 0));
	EXPECT_EQ(-EINVAL, iff(self->fd, "u0", IFF_NO_PI));
	EXPECT_EQ(0, iff(self->fd, "u0", IFF_TUN | IFF_TAP));
	EXPECT_EQ(IFF_TUN, get_iff(self->fd, NULL) & 0xf);
}

TEST_F(u, IOC_14__FLG_01_join_both)
{
	int other = tun(0);

	MAKE(IFF_TAP | IFF_MULTI_QUEUE);
	EXPECT_EQ(0, iff(other, "u0", IFF_TUN | IFF_TAP | IFF_MULTI_QUEUE));
	EXPECT_EQ(IFF_TAP, get_iff(other, NULL) & 0xf);
	close(other);
}

TEST_F(u, IOC_15)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN };
	int other = tun(0), third = tun(0);

	self->fd = tun(0);
	EXPECT_EQ(-EINVAL, iff(self->fd, "a/b", IFF_TUN));
	EXPECT_EQ(-EINVAL, iff(self->fd, "a b", IFF_TUN));
	EXPECT_EQ(-EINVAL, iff(self->fd, "u%d%d", IFF_TUN));
	EXPECT_EQ(-EINVAL, iff(self->fd, "u%s", IFF_TUN));
	EXPECT_EQ(-EINVAL, iff(self->fd, ".", IFF_TUN));
	/* Sixteen bytes: the last is taken for the NUL. */
	memset(ifr.ifr_name, 'n', IFNAMSIZ);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETIFF, &ifr)));
	EXPECT_EQ(IFNAMSIZ - 1, strlen(ifr.ifr_name));
	strcpy(ifr.ifr_name, "");
	EXPECT_EQ(0, R(ioctl(other, TUNSETIFF, &ifr)));
	STREQ("tun0", ifr.ifr_name);
	strcpy(ifr.ifr_name, "");
	ifr.ifr_flags = IFF_TAP;
	EXPECT_EQ(0, R(ioctl(third, TUNSETIFF, &ifr)));
	STREQ("tap0", ifr.ifr_name);
	close(other);
	close(third);
	other = tun(0);
	strcpy(ifr.ifr_name, "ab%dc");
	EXPECT_EQ(0, R(ioctl(other, TUNSETIFF, &ifr)));
	STREQ("ab0c", ifr.ifr_name);
	close(other);
}

TEST_F(u, IOC_16)
{
	self->fd = tun(0);
	EXPECT_EQ(0, set_int(self->fd, TUNSETIFINDEX, 1));
	EXPECT_EQ(-EBUSY, iff(self->fd, "u0", IFF_TUN));
	EXPECT_EQ(0, exists());
	/* The file is as before: it can try again. */
	EXPECT_EQ(-EBADFD, get_iff(self->fd, NULL));
	EXPECT_EQ(0, set_int(self->fd, TUNSETIFINDEX, 0));
	EXPECT_EQ(0, iff(self->fd, "u0", IFF_TUN));
}

TEST_F(u, IOC_17__IOC_36)
{
	self->fd = tun(0);
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETIFINDEX, NOWHERE)));
	EXPECT_EQ(-EINVAL, set_int(self->fd, TUNSETIFINDEX, -1));
	EXPECT_EQ(0, set_int(self->fd, TUNSETIFINDEX, 4321));
	EXPECT_EQ(0, iff(self->fd, "u0", IFF_TUN));
	EXPECT_EQ(4321, ifindex("u0"));
	EXPECT_EQ(-EPERM, set_int(self->fd, TUNSETIFINDEX, 5));
}

TEST_F(u, IOC_18__FLG_13)
{
	int other = tun(0);

	MAKE(SOME | IFF_MULTI_QUEUE | IFF_TUN_EXCL);
	EXPECT_EQ(0, get_iff(self->fd, NULL) & IFF_TUN_EXCL);
	EXPECT_EQ(-EBUSY, iff(other, "u0", SOME | IFF_MULTI_QUEUE | IFF_TUN_EXCL));
	EXPECT_EQ(-EBUSY, iff(other, "lo", SOME | IFF_TUN_EXCL));
	EXPECT_EQ(0, iff(other, "u0", SOME | IFF_MULTI_QUEUE));
	close(other);
}

TEST_F(u, IOC_19__NDO_05)
{
	int other = tun(0);

	MAKE(SOME | IFF_MULTI_QUEUE);
	EXPECT_EQ(-EINVAL, iff(other, "lo", SOME));
	EXPECT_EQ(-EINVAL, iff(other, "u0", IFF_TAP | IFF_MULTI_QUEUE));
	EXPECT_EQ(-EINVAL, iff(other, "u0", IFF_MULTI_QUEUE));
	close(other);
}

TEST_F(u, IOC_20__FLG_06)
{
	int other = tun(0);

	MAKE(SOME | IFF_MULTI_QUEUE);
	EXPECT_EQ(-EINVAL, iff(other, "u0", SOME));
	close(self->fd);
	MAKE(SOME);
	EXPECT_EQ(-EINVAL, iff(other, "u0", SOME | IFF_MULTI_QUEUE));
	close(other);
}

/* Every id that is set must match; with none, only an administrator may. */
TEST_F(u, IOC_21__EDGE_45)
{
	static const struct {
		int owner, group, uid, gid, groups, ret;
	} cases[] = {
		{ -1, -1, 1234, 77, 0, -EPERM },
		{ 1234, -1, 1234, 77, 0, 0 },
		{ 1235, -1, 1234, 77, 0, -EPERM },
		{ -1, 77, 1234, 77, 0, 0 },
		{ -1, 78, 1234, 77, 0, -EPERM },
		{ -1, 78, 1234, 77, 78, 0 },
		{ 1234, 77, 1234, 77, 0, 0 },
		{ 1234, 78, 1234, 77, 0, -EPERM },
		{ 1235, 77, 1234, 77, 0, -EPERM },
		{ 1235, 78, 0, 0, 0, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int fd = make("u0", SOME), status;

		ASSERT_LE(0, fd);
		if (cases[i].owner >= 0)
			ASSERT_EQ(0, R(ioctl(fd, TUNSETOWNER, cases[i].owner)));
		if (cases[i].group >= 0)
			ASSERT_EQ(0, R(ioctl(fd, TUNSETGROUP, cases[i].group)));
		ASSERT_EQ(0, R(ioctl(fd, TUNSETPERSIST, 1)));
		close(fd);
		fd = tun(0);
		if (!fork()) {
			gid_t group = cases[i].groups;

			if (syscall(__NR_setgroups, group ? 1 : 0, &group) ||
			    setresgid(cases[i].gid, cases[i].gid, cases[i].gid) ||
			    setresuid(cases[i].uid, cases[i].uid, cases[i].uid))
				_exit(99);
			_exit(-iff(fd, "u0", SOME));
		}
		wait(&status);
		EXPECT_EQ(-cases[i].ret, WEXITSTATUS(status)) TH_LOG("case %u", i);
		close(fd);
		fd = make("u0", SOME);
		ioctl(fd, TUNSETPERSIST, 0);
		close(fd);
	}
}

TEST_F(u, IOC_23)
{
	int other = tun(0);

	MAKE(SOME);
	EXPECT_EQ(-EBUSY, iff(other, "u0", SOME));
	EXPECT_EQ(-EBADFD, get_iff(other, NULL));
	close(other);
}

TEST_F(u, IOC_24__MQ_01)
{
	int fds[257], i, type = IFF_TAP | IFF_MULTI_QUEUE;

	for (i = 0; i < 256; i++) {
		fds[i] = make("u0", type);
		ASSERT_LE(0, fds[i]);
	}
	fds[256] = tun(0);
	EXPECT_EQ(-E2BIG, iff(fds[256], "u0", type));
	/* Parked ones count. */
	EXPECT_EQ(0, queue(fds[7], IFF_DETACH_QUEUE));
	EXPECT_EQ(-E2BIG, iff(fds[256], "u0", type));
	close(fds[7]);
	EXPECT_EQ(0, iff(fds[256], "u0", type));
}

/* A file that is the only one shapes the device anew. */
TEST_F(u, IOC_26__IOC_28__FLG_04__FLG_09__BP_23)
{
	MAKE(IFF_TUN | IFF_BACKPRESSURE | IFF_ONE_QUEUE | IFF_VNET_HDR);
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 1)));
	UP();
	EXPECT_EQ(1, sysfs("carrier"));
	EXPECT_EQ(IFF_TUN | IFF_BACKPRESSURE | IFF_ONE_QUEUE | IFF_VNET_HDR | IFF_PERSIST,
		  sysfs("tun_flags"));
	close(self->fd);
	EXPECT_EQ(0, sysfs("carrier"));
	MAKE(IFF_TUN | IFF_NO_PI | IFF_NO_CARRIER | IFF_NAPI);
	EXPECT_EQ(0, sysfs("carrier"));
	EXPECT_EQ(IFF_TUN | IFF_NO_PI | IFF_NAPI | IFF_PERSIST, sysfs("tun_flags"));
	close(self->fd);
	MAKE(IFF_TUN);
	EXPECT_EQ(1, sysfs("carrier"));
	EXPECT_EQ(IFF_TUN | IFF_PERSIST, sysfs("tun_flags"));
	EXPECT_EQ(0, R(ioctl(self->fd, TUNSETPERSIST, 0)));
}

/* A second queue does not; nor is the name written back. */
TEST_F(u, IOC_27__FLG_05)
{
	struct ifreq ifr = { .ifr_name = "u0" };
	int other = tun(0), third = tun(0);

	MAKE(IFF_TUN | IFF_MULTI_QUEUE | IFF_NO_CARRIER);
	UP();
	ifr.ifr_flags = IFF_TUN | IFF_MULTI_QUEUE | IFF_BACKPRESSURE | IFF_NO_PI;
	EXPECT_EQ(0, R(ioctl(other, TUNSETIFF, &ifr)));
	EXPECT_EQ(0, sysfs("carrier"));
	EXPECT_EQ(IFF_TUN | IFF_MULTI_QUEUE, sysfs("tun_flags"));
	EXPECT_EQ(0, queue(other, IFF_DETACH_QUEUE));
	EXPECT_EQ(0, iff(third, "u0", IFF_TUN | IFF_MULTI_QUEUE | IFF_NO_PI));
	EXPECT_EQ(IFF_TUN | IFF_MULTI_QUEUE, sysfs("tun_flags"));
	close(other);
	close(third);
}

TEST_F(u, IOC_29)
{
	struct ifreq *ifr = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	self->fd = tun(0);
	strcpy(ifr->ifr_name, "u0");
	ifr->ifr_flags = SOME;
	ASSERT_EQ(0, mprotect(ifr, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, R(ioctl(self->fd, TUNSETIFF, ifr)));
	/* It is there all the same. */
	EXPECT_EQ(SOME | IFF_NOFILTER, get_iff(self->fd, NULL));
	EXPECT_EQ(1, exists());
}

TEST_F(u, IOC_30__NET_01)
{
	int other, here = open("/proc/self/ns/net", O_RDONLY);

	self->fd = tun(0);
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	EXPECT_EQ(0, iff(self->fd, "u0", SOME | IFF_MULTI_QUEUE));
	EXPECT_EQ(-ENODEV, ifindex("u0"));
	/* From here the name is free. */
	other = make("u0", SOME);
	EXPECT_LE(0, other);
	ASSERT_EQ(0, setns(here, CLONE_NEWNET));
	EXPECT_LT(0, ifindex("u0"));
	close(other);
}

TEST_HARNESS_MAIN
