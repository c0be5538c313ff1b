/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the conformance tests share: devices called "u0" in a network namespace
 * of the test's own. A test is named after the rows that it proves, with "__"
 * between them; what follows a lower-case letter is a description.
 */
#ifndef CONFORMANCE_TUN_H
#define CONFORMANCE_TUN_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

/* Seconds: a kernel that watches itself takes its time. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 180

/* The result, or the errno as a negative number. */
#define R(expression)						\
({								\
	long __r = (errno = 0, (long)(expression));		\
	__r < 0 ? -errno : __r;					\
})

#define STREQ(expected, seen) \
	EXPECT_EQ(0, strcmp(expected, seen)) TH_LOG("seen: \"%s\"", seen)

/* An address that is not mapped, of which the compiler knows nothing. */
static void *volatile nowhere = (void *)8;
#define NOWHERE nowhere

/* The plainest device there is. */
#define SOME (IFF_TUN | IFF_NO_PI)

static inline int tun(int flags)
{
	return open("/dev/net/tun", O_RDWR | flags);
}

static inline int iff(int fd, const char *name, int flags)
{
	struct ifreq ifr = { .ifr_flags = flags };

	strncpy(ifr.ifr_name, name, IFNAMSIZ);
	return R(ioctl(fd, TUNSETIFF, &ifr));
}

static inline int queue(int fd, int flags)
{
	struct ifreq ifr = { .ifr_flags = flags };

	return R(ioctl(fd, TUNSETQUEUE, &ifr));
}

/* What TUNGETIFF says; the name goes to @name unless that is NULL. */
static inline int get_iff(int fd, char *name)
{
	struct ifreq ifr = {};
	int ret = R(ioctl(fd, TUNGETIFF, &ifr));

	if (ret < 0)
		return ret;
	if (name)
		memcpy(name, ifr.ifr_name, IFNAMSIZ);
	return (unsigned short)ifr.ifr_flags;
}

static inline int set_int(int fd, unsigned long cmd, int value)
{
	return R(ioctl(fd, cmd, &value));
}

static inline int get_int(int fd, unsigned long cmd)
{
	int value = -1000, ret = R(ioctl(fd, cmd, &value));

	return ret < 0 ? ret : value;
}

static inline int make(const char *name, int flags)
{
	int fd = tun(O_NONBLOCK);

	if (fd >= 0 && iff(fd, name, flags)) {
		close(fd);
		return -1;
	}
	return fd;
}

__attribute__((format(printf, 1, 2))) static inline int sh(const char *format, ...)
{
	char command[1024];
	va_list args;
	int n;

	n = snprintf(command, sizeof(command), "exec >/dev/null 2>&1; ");
	va_start(args, format);
	vsnprintf(command + n, sizeof(command) - n, format, args);
	va_end(args);
	fflush(NULL);
	return WEXITSTATUS(system(command));
}

/* The first line of what a command prints. */
__attribute__((format(printf, 3, 4))) static inline char *
out(char *line, size_t size, const char *format, ...)
{
	char command[1024];
	va_list args;
	FILE *f;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	line[0] = 0;
	f = popen(command, "r");
	if (!f)
		return line;
	if (!fgets(line, size, f))
		line[0] = 0;
	pclose(f);
	line[strcspn(line, "\n")] = 0;
	return line;
}

/* A file of u0 in sysfs, as a number; -errno. */
static inline long sysfs(const char *file)
{
	char path[128], text[64] = {};
	int fd, n;

	snprintf(path, sizeof(path), "/sys/class/net/u0/%s", file);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n < 0 ? -errno : strtol(text, NULL, 0);
}

static inline long stat_of(const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "statistics/%s", name);
	return sysfs(file);
}

static inline int exists(void)
{
	return access("/sys/class/net/u0", F_OK) == 0;
}

static inline int events(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	poll(&p, 1, 0);
	return p.revents;
}

static inline int link_up(const char *name, int up)
{
	struct ifreq ifr = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	ret = R(ioctl(fd, SIOCGIFFLAGS, &ifr));
	if (!ret) {
		if (up)
			ifr.ifr_flags |= IFF_UP;
		else
			ifr.ifr_flags &= ~IFF_UP;
		ret = R(ioctl(fd, SIOCSIFFLAGS, &ifr));
	}
	close(fd);
	return ret;
}

static inline int txqlen(int len)
{
	struct ifreq ifr = { .ifr_name = "u0", .ifr_qlen = len };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	ret = R(ioctl(fd, SIOCSIFTXQLEN, &ifr));
	close(fd);
	return ret;
}

static inline int ifindex(const char *name)
{
	struct ifreq ifr = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	ret = R(ioctl(fd, SIOCGIFINDEX, &ifr));
	close(fd);
	return ret ? ret : ifr.ifr_ifindex;
}

/* A packet socket that sends to and receives from a device. */
static inline int raw(const char *name, int protocol)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = ifindex(name),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);

	if (fd >= 0 && bind(fd, (void *)&at, sizeof(at))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The protocol of all frames here, which nothing in the stack answers. */
#define PROTOCOL 0x88b5

/* A frame of @len bytes for a TAP device, numbered. */
static inline int frame(unsigned char *to, int len, int number)
{
	memset(to, 0, len);
	memcpy(to, "\2\0\0\0\0\2\2\0\0\0\0\1", 12);
	to[12] = PROTOCOL >> 8;
	to[13] = PROTOCOL & 0xff;
	if (len > 14)
		to[14] = number;
	return len;
}

/* A minimal IPv4 packet of @len bytes for a TUN device. */
static inline int packet(unsigned char *to, int len)
{
	memset(to, 0, len);
	memcpy(to, "\x45\0\0\0\0\0\0\0\x40\xfd\0\0\x0a\x60\0\2\x0a\x60\0\1", 20);
	to[2] = len >> 8;
	to[3] = len & 0xff;
	return len;
}

/* Sends @len bytes through a packet socket into u0, past the qdisc if @bypass. */
static inline int into(int len, int number)
{
	unsigned char data[70000];
	int fd = raw("u0", 0), ret;

	frame(data, len, number);
	ret = R(send(fd, data, len, 0));
	close(fd);
	return ret;
}

/* For a thread: a command, or a frame into u0, after a while. */
static inline void *later(void *arg)
{
	usleep(200000);
	if (arg)
		sh("%s", (char *)arg);
	else
		into(60, 0);
	return NULL;
}

static inline int bpf(int cmd, union bpf_attr *attr)
{
	return R(syscall(__NR_bpf, cmd, attr, sizeof(*attr)));
}

static inline int load_program(int type, const struct bpf_insn *insns, int count)
{
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (unsigned long)insns,
		.insn_cnt = count,
		.license = (unsigned long)"GPL",
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

#define MOV(reg, value) \
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = reg, .imm = value }
#define CALL(function) { .code = BPF_JMP | BPF_CALL, .imm = function }
#define EXIT { .code = BPF_JMP | BPF_EXIT }

/* A program that returns a number. */
static inline int constant_program(int type, int value)
{
	struct bpf_insn insns[] = { MOV(BPF_REG_0, value), EXIT };

	return load_program(type, insns, 2);
}

static inline int attach_xdp(int prog, const char *dev, int flags)
{
	union bpf_attr attr = {
		.link_create = {
			.prog_fd = prog,
			.target_ifindex = ifindex(dev),
			.attach_type = BPF_XDP,
			.flags = flags,
		},
	};

	return bpf(BPF_LINK_CREATE, &attr);
}

FIXTURE(u)
{
	int fd;
};

FIXTURE_SETUP(u)
{
	self->fd = -1;
	ASSERT_EQ(0, unshare(CLONE_NEWNET | CLONE_NEWNS));
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ASSERT_EQ(0, mount("sysfs", "/sys", "sysfs", 0, NULL));
	ASSERT_EQ(0, link_up("lo", 1));
	/* So that IPv6 sends nothing of its own into a device under test. */
	ASSERT_EQ(0, sh("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"));
}

FIXTURE_TEARDOWN(u)
{
	if (self->fd >= 0)
		close(self->fd);
}

#define MAKE(flags) ASSERT_LE(0, self->fd = make("u0", flags))
#define UP() ASSERT_EQ(0, link_up("u0", 1))

#endif
