// SPDX-License-Identifier: GPL-2.0
/*
 * Everything at once, for a time: queues that attach and detach, rings that are
 * resized, a device that goes down and up and is deleted under open files, while
 * senders send and readers read. The kernel's checkers say whether it was right;
 * this program only sees that frames keep coming while a reader reads.
 *
 *   stress SECONDS
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NAME "stress"
#define QUEUES 4
#define SENDERS 3

static atomic_int done, deletions, attaches, resizes, downs;
static atomic_long frames, written;

static unsigned int rnd(unsigned int *seed, unsigned int below)
{
	return rand_r(seed) % below;
}

static int tun_open(int flags)
{
	struct ifreq ifr = { .ifr_flags = flags };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

	if (fd < 0) {
		perror("stress: /dev/net/tun");
		exit(1);
	}
	strcpy(ifr.ifr_name, NAME);
	/* Fails while the device is of the other kind, or going. */
	if (ioctl(fd, TUNSETIFF, &ifr)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void link_ioctl(unsigned long cmd, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(ifr->ifr_name, NAME);
	ioctl(fd, cmd, ifr);
	close(fd);
}

static void up(int on)
{
	struct ifreq ifr = {};

	link_ioctl(SIOCGIFFLAGS, &ifr);
	ifr.ifr_flags = on ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
	link_ioctl(SIOCSIFFLAGS, &ifr);
}

static void address(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct ifreq ifr = {};

	in.sin_addr.s_addr = inet_addr("10.97.0.1");
	memcpy(&ifr.ifr_addr, &in, sizeof(in));
	link_ioctl(SIOCSIFADDR, &ifr);
	in.sin_addr.s_addr = inet_addr("255.255.255.0");
	memcpy(&ifr.ifr_addr, &in, sizeof(in));
	link_ioctl(SIOCSIFNETMASK, &ifr);
}

/* A queue: reads, writes, leaves and comes back, closes and opens. */
static void *queue(void *arg)
{
	unsigned int seed = (uintptr_t)arg + 1;
	/* A bare IPv4 packet to nobody in particular. */
	unsigned char packet[64] = { 0x45, 0, 0, 64, 0, 0, 0, 0, 64, 17, 0, 0,
				     10, 97, 0, 9, 10, 97, 0, 1 };
	int fd = -1, flags;

	while (!atomic_load(&done)) {
		struct ifreq ifr = {};
		char frame[2048];
		int i;

		if (fd < 0) {
			flags = IFF_TUN | IFF_NO_PI | IFF_MULTI_QUEUE;
			if (rnd(&seed, 2))
				flags |= IFF_BACKPRESSURE;
			if (!rnd(&seed, 3))
				flags |= IFF_NAPI;
			fd = tun_open(flags);
			if (fd < 0) {
				usleep(1000);
				continue;
			}
			address();
			up(1);
		}
		for (i = 0; i < 200; i++) {
			ssize_t n = read(fd, frame, sizeof(frame));

			struct pollfd p = { .fd = fd, .events = POLLIN };

			if (n > 0) {
				atomic_fetch_add(&frames, 1);
				continue;
			}
			if (errno == EBADFD) {
				close(fd);
				fd = -1;
			} else {
				poll(&p, 1, 5);
			}
			break;
		}
		if (fd < 0)
			continue;
		packet[15] = rnd(&seed, 250);
		if (write(fd, packet, sizeof(packet)) > 0)
			atomic_fetch_add(&written, 1);
		switch (rnd(&seed, 60)) {
		case 0:
		case 1:
			ifr.ifr_flags = IFF_DETACH_QUEUE;
			if (!ioctl(fd, TUNSETQUEUE, &ifr)) {
				usleep(rnd(&seed, 2000));
				ifr.ifr_flags = IFF_ATTACH_QUEUE;
				ioctl(fd, TUNSETQUEUE, &ifr);
				atomic_fetch_add(&attaches, 1);
			}
			break;
		case 2:
			close(fd);
			fd = -1;
			break;
		}
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void *sender(void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	unsigned int seed = (uintptr_t)arg + 100;
	char payload[1000] = {};

	while (!atomic_load(&done)) {
		to.sin_addr.s_addr = htonl(0x0a610002 + rnd(&seed, 200));
		if (sendto(fd, payload, 100 + rnd(&seed, 900), 0, (void *)&to,
			   sizeof(to)) < 0)
			usleep(200);
	}
	close(fd);
	return NULL;
}

/* The administrator: resizes, takes down, deletes. */
static void *admin(void *arg)
{
	static const int lens[] = { 0, 1, 2, 10, 100, 500, 1000 };
	unsigned int seed = 7, turn;

	(void)arg;
	/* In turns, so that each has had one where the kernel is slow, too. */
	for (turn = 0; !atomic_load(&done); turn++) {
		struct ifreq ifr = {};

		usleep(3000 + rnd(&seed, 20000));
		switch (turn % 12) {
		case 2:
			if (!system("ip link del " NAME " 2>/dev/null"))
				atomic_fetch_add(&deletions, 1);
			break;
		case 1:
		case 7:
			up(0);
			usleep(rnd(&seed, 3000));
			up(1);
			atomic_fetch_add(&downs, 1);
			break;
		default:
			ifr.ifr_qlen = lens[rnd(&seed, sizeof(lens) / sizeof(*lens))];
			link_ioctl(SIOCSIFTXQLEN, &ifr);
			atomic_fetch_add(&resizes, 1);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[QUEUES + SENDERS + 1];
	int seconds = argc == 2 ? atoi(argv[1]) : 0, i, n = 0;
	long last = 0, quiet = 0;

	if (seconds <= 0) {
		fprintf(stderr, "usage: stress SECONDS\n");
		return 2;
	}
	for (i = 0; i < QUEUES; i++)
		pthread_create(&threads[n++], NULL, queue, (void *)(uintptr_t)i);
	for (i = 0; i < SENDERS; i++)
		pthread_create(&threads[n++], NULL, sender, (void *)(uintptr_t)i);
	pthread_create(&threads[n++], NULL, admin, NULL);
	for (i = 0; i < seconds; i++) {
		long now;

		sleep(1);
		now = atomic_load(&frames);
		/* The ring has no slots one time in seven: some quiet is right. */
		quiet = now == last ? quiet + 1 : 0;
		last = now;
		if (quiet > 20) {
			fprintf(stderr, "stress: no frame for %ld s while readers read\n", quiet);
			return 1;
		}
	}
	atomic_store(&done, 1);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("stress: %ld frames read, %ld written, %d attaches, ",
	       atomic_load(&frames), atomic_load(&written), atomic_load(&attaches));
	printf("%d resizes, %d downs, %d deletions\n", atomic_load(&resizes),
	       atomic_load(&downs), atomic_load(&deletions));
	if (!frames || !written || !attaches || !resizes || !downs || !deletions) {
		fprintf(stderr, "stress: some part of it never happened\n");
		return 1;
	}
	return 0;
}
