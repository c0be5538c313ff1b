// SPDX-License-Identifier: GPL-2.0
/*
 * What the measurements need on the reader's side of tun and tap devices.
 *
 *   tunbench copy KIND FLAGS NS_A NS_B
 *	Makes device "bench" in each of two network namespaces and copies frames
 *	between them, both ways, until it is killed. Says "ready" when they are
 *	there.
 *
 *   tunbench loss KIND FLAGS RING MILLISECONDS WAIT_US
 *	Makes device "bench", sends numbered UDP packets into it as fast as they
 *	go for the given time, and reads them with a pause of WAIT_US after each.
 *	Prints what was sent, read, and missing by number, then what the device
 *	counted as dropped.
 *
 * With IFF_VNET_HDR in FLAGS, copy allows all segmentation offloads.
 *
 * KIND is tun or tap, FLAGS a number that goes into the flags of TUNSETIFF, such
 * as 0x80 for backpressure. The reader runs on CPU 0, the sender on the last.
 */
#include "tunbench.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define PAYLOAD 1400
#define PORT 7000

static void allow_offloads(int fd, int flags)
{
	unsigned long offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;

	if (flags & IFF_VNET_HDR && ioctl(fd, TUNSETOFFLOAD, offloads))
		die("TUNSETOFFLOAD");
}

static void enter(const char *ns)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("%s", path);
	close(fd);
}

/* Moves what there is, up to a batch. Returns whether anything was there. */
static int move(int from, int to)
{
	static char frame[70000];
	int i;

	for (i = 0; i < 64; i++) {
		ssize_t n = read(from, frame, sizeof(frame));

		if (n < 0) {
			if (errno == EAGAIN)
				return i;
			die("read");
		}
		/* A device that is down takes nothing: the frame is lost. */
		if (write(to, frame, n) < 0 && errno != EIO && errno != EAGAIN)
			die("write");
	}
	return i;
}

static int copy(char **arg)
{
	int flags = strtol(arg[1], NULL, 0);
	struct pollfd fds[2];
	int busy;

	pin(0);
	enter(arg[2]);
	fds[0].fd = tun_open(arg[0], flags);
	enter(arg[3]);
	fds[1].fd = tun_open(arg[0], flags);
	allow_offloads(fds[0].fd, flags);
	allow_offloads(fds[1].fd, flags);
	fds[0].events = POLLIN;
	fds[1].events = POLLIN;
	puts("ready");
	fflush(stdout);
	do {
		busy = move(fds[0].fd, fds[1].fd);
		busy += move(fds[1].fd, fds[0].fd);
	} while (busy || poll(fds, 2, -1) >= 0);
	die("poll");
	return 1;
}

static atomic_int done;
static uint64_t sent;

static void *sender(void *arg)
{
	uint64_t end = now_us() + 1000 * (uint64_t)(uintptr_t)arg;
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = inet_addr("10.99.0.2"),
	};
	char packet[PAYLOAD] = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	pin(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	if (fd < 0 || connect(fd, (void *)&to, sizeof(to)))
		die("connect");
	while (now_us() < end) {
		memcpy(packet + PAYLOAD - 8, &sent, 8);
		if (send(fd, packet, sizeof(packet), 0) < 0) {
			/* A full qdisc that drops says so: the number is not used. */
			if (errno == ENOBUFS)
				continue;
			die("send");
		}
		sent++;
	}
	atomic_store(&done, 1);
	return NULL;
}

static long counter(const char *name)
{
	char path[128];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/" NAME "/statistics/%s", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &value) != 1)
		die("%s", path);
	fclose(f);
	return value;
}

static void run(const char *command)
{
	if (system(command)) {
		errno = EINVAL;
		die("%s", command);
	}
}

static int loss(char **arg)
{
	int flags = strtol(arg[1], NULL, 0);
	int wait_us = atoi(arg[4]), tap = !strcmp(arg[0], "tap");
	struct pollfd poller = { .events = POLLIN };
	uint64_t kept = 0, missing = 0, next = 0, idle = 0;
	char command[256], frame[2048];
	pthread_t thread;

	poller.fd = tun_open(arg[0], flags);
	snprintf(command, sizeof(command),
		 "ip link set " NAME " txqueuelen %s && tc qdisc replace dev " NAME
		 " root pfifo limit 25000 && sysctl -qw net.ipv6.conf." NAME ".disable_ipv6=1",
		 arg[2]);
	run(command);
	run("ip addr add 10.99.0.1/24 dev " NAME " && ip link set " NAME " up");
	if (tap)
		run("ip neigh replace 10.99.0.2 lladdr 02:00:00:00:00:02 dev " NAME);
	pin(0);
	if (pthread_create(&thread, NULL, sender, (void *)(uintptr_t)atol(arg[3])))
		die("pthread_create");
	/* Until the sender is done and nothing has come for a quarter of a second. */
	while (idle < 25) {
		ssize_t n = read(poller.fd, frame, sizeof(frame));
		uint64_t number, until;

		if (n < 0) {
			if (errno != EAGAIN)
				die("read");
			poll(&poller, 1, 10);
			idle = atomic_load(&done) ? idle + 1 : 0;
			continue;
		}
		idle = 0;
		if (n != PAYLOAD + 28 + (tap ? 14 : 0))
			continue;
		memcpy(&number, frame + n - 8, 8);
		missing += number - next;
		next = number + 1;
		kept++;
		for (until = now_us() + wait_us; wait_us && now_us() < until;)
			;
	}
	pthread_join(thread, NULL);
	missing += sent - next;
	printf("%llu %llu %llu %ld\n", (unsigned long long)sent, (unsigned long long)kept,
	       (unsigned long long)missing, counter("tx_dropped"));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "copy"))
		return copy(argv + 2);
	if (argc == 7 && !strcmp(argv[1], "loss"))
		return loss(argv + 2);
	fprintf(stderr, "usage: tunbench copy KIND FLAGS NS_A NS_B\n"
			"       tunbench loss KIND FLAGS RING MILLISECONDS WAIT_US\n");
	return 2;
}
