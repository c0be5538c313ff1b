/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs that measure tun and tap devices share. */
#ifndef TUNBENCH_H
#define TUNBENCH_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define NAME "bench"

__attribute__((format(printf, 1, 2), noreturn))
static void die(const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fprintf(stderr, ": %s\n", strerror(error));
	va_end(args);
	exit(1);
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %d", cpu);
}

/* A queue of the device, without packet information; KIND is tun or tap. */
static inline int tun_open(const char *kind, int flags)
{
	struct ifreq ifr = {};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		die("/dev/net/tun");
	strcpy(ifr.ifr_name, NAME);
	ifr.ifr_flags = IFF_NO_PI | flags;
	ifr.ifr_flags |= strcmp(kind, "tap") ? IFF_TUN : IFF_TAP;
	if (ioctl(fd, TUNSETIFF, &ifr))
		die("TUNSETIFF %s 0x%x", kind, flags);
	if (ioctl(fd, TUNGETIFF, &ifr))
		die("TUNGETIFF");
	if ((ifr.ifr_flags & flags) != flags) {
		errno = EINVAL;
		die("the device has flags 0x%x, not 0x%x", ifr.ifr_flags, flags);
	}
	return fd;
}

static inline uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

#endif
