// SPDX-License-Identifier: GPL-2.0
/*
 * What a program sees of the tun driver, one line a question: run on both
 * drivers, the answers must be the same to the letter. It says nothing about
 * what is right: the C driver does.
 *
 * Only what both have is asked. Everything happens in a network namespace of its
 * own, to devices called "u0".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int question;
/* An address that is not mapped. */
static void *volatile nowhere = (void *)8;

static void say(const char *what, long result)
{
	int error = errno;

	printf("%03d %s: ", ++question, what);
	if (result < 0)
		printf("%s\n", strerrorname_np(error));
	else
		printf("%ld\n", result);
}

#define ASK(expression) say(#expression, (errno = 0, (long)(expression)))

static int tun(int flags)
{
	return open("/dev/net/tun", O_RDWR | flags);
}

static int iff(int fd, const char *name, int flags)
{
	struct ifreq ifr = { .ifr_flags = flags };
	int ret;

	strncpy(ifr.ifr_name, name, IFNAMSIZ);
	ret = ioctl(fd, TUNSETIFF, &ifr);
	if (!ret && strcmp(ifr.ifr_name, name))
		printf("    the name is %s\n", ifr.ifr_name);
	return ret;
}

static int get(int fd)
{
	struct ifreq ifr = {};

	if (ioctl(fd, TUNGETIFF, &ifr))
		return -1;
	return (unsigned short)ifr.ifr_flags;
}

static int queue(int fd, int flags)
{
	struct ifreq ifr = { .ifr_flags = flags };

	return ioctl(fd, TUNSETQUEUE, &ifr);
}

static int link_flags(int up)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;
	struct ifreq ifr = { .ifr_name = "u0" };

	ret = ioctl(fd, SIOCGIFFLAGS, &ifr);
	if (!ret) {
		ifr.ifr_flags = up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
		ret = ioctl(fd, SIOCSIFFLAGS, &ifr);
	}
	close(fd);
	return ret;
}

static int sh(const char *command)
{
	return WEXITSTATUS(system(command));
}

static long stat_of(const char *name)
{
	char path[128];
	long value = -2;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/u0/statistics/%s", name);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%ld", &value) != 1)
			value = -3;
		fclose(f);
	}
	return value < 0 ? 1000 - value : value;
}

static int events(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	poll(&p, 1, 0);
	return p.revents;
}

static int fdinfo(int fd)
{
	char command[128];

	fflush(stdout);
	snprintf(command, sizeof(command), "grep ^iff /proc/%d/fdinfo/%d | od -c", getpid(), fd);
	return sh(command);
}

static int value_of(int fd, unsigned long cmd)
{
	unsigned int value = 0;

	return ioctl(fd, cmd, &value) ? -1 : (int)value;
}

static int set(int fd, unsigned long cmd, int value)
{
	return ioctl(fd, cmd, &value);
}

/* Sends a UDP packet of @len into the device. */
static int packet(int len)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	char data[3000] = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ret;

	to.sin_addr.s_addr = inet_addr("10.96.0.2");
	ret = sendto(fd, data, len, 0, (void *)&to, sizeof(to));
	close(fd);
	return ret;
}

static int up_with_address(void)
{
	return sh("ip addr add 10.96.0.1/24 dev u0 && ip link set u0 up && "
		  "ip neigh replace 10.96.0.2 lladdr 02:00:00:00:00:02 dev u0 2>/dev/null || true");
}

static void on_alarm(int sig)
{
	(void)sig;
}

static volatile sig_atomic_t sigio;

static void on_sigio(int sig)
{
	(void)sig;
	sigio++;
}

static void *deleter(void *arg)
{
	usleep(300000);
	sh("ip link del u0");
	return arg;
}

static void unattached(void)
{
	char buf[64] = {};
	int fd = tun(0);

	puts("--- a file of no device");
	ASK(fd >= 0 ? 0 : -1);
	ASK(read(fd, buf, sizeof(buf)));
	ASK(read(fd, buf, 0));
	ASK(write(fd, buf, sizeof(buf)));
	ASK(events(fd));
	ASK(lseek(fd, 0, SEEK_SET));
	ASK(ioctl(fd, TUNGETIFF, buf));
	ASK(ioctl(fd, TUNSETPERSIST, 1));
	ASK(ioctl(fd, 0x5401, buf));
	ASK(ioctl(fd, TUNSETIFF, NULL));
	ASK(ioctl(fd, TUNGETFEATURES, NULL));
	ASK(queue(fd, IFF_ATTACH_QUEUE));
	ASK(queue(fd, IFF_DETACH_QUEUE));
	ASK(queue(fd, 0));
	ASK(ioctl(fd, TUNSETQUEUE, NULL));
	ASK(set(fd, TUNSETIFINDEX, -5));
	ASK(ioctl(fd, TUNSETIFINDEX, NULL));
	ASK(set(fd, TUNSETIFINDEX, 1));
	ASK(iff(fd, "u0", IFF_TUN));
	ASK(set(fd, TUNSETIFINDEX, 4321));
	ASK(iff(fd, "u0", 0));
	ASK(iff(fd, "u%d%d", IFF_TUN));
	ASK(iff(fd, "a/b", IFF_TUN));
	ASK(iff(fd, "lo", IFF_TUN));
	ASK(iff(fd, "lo", IFF_TUN | IFF_TUN_EXCL));
	ASK(fdinfo(fd));
	ASK(iff(fd, "", IFF_TAP));
	ASK(sh("test $(cat /sys/class/net/tap0/ifindex) = 4321"));
	close(fd);
	ASK(sh("test -e /sys/class/net/tap0"));
}

static void attached(int type)
{
	int fd = tun(O_NONBLOCK), other = tun(O_NONBLOCK);
	int tap = type == IFF_TAP;
	unsigned char bad[64] = { 0x20 }, ip[64] = { 0x45, 0, 0, 64, 0, 0, 0, 0, 64, 17 };
	char buf[4000];
	struct iovec iov[2] = { { buf, 10 }, { buf + 10, 3000 } };

	printf("--- a %s device\n", tap ? "tap" : "tun");
	ASK(iff(fd, "u0", type | IFF_NO_PI | IFF_BACKPRESSURE));
	ASK(get(fd));
	ASK(iff(fd, "u1", type));
	ASK(iff(other, "u0", type | IFF_NO_PI));
	ASK(iff(other, "u0", (tap ? IFF_TUN : IFF_TAP) | IFF_NO_PI));
	ASK(iff(other, "u0", type | IFF_MULTI_QUEUE));
	ASK(iff(other, "u0", type | IFF_TUN_EXCL));
	ASK(queue(fd, IFF_DETACH_QUEUE));
	ASK(queue(fd, IFF_ATTACH_QUEUE));
	ASK(set(fd, TUNSETIFINDEX, 7));
	ASK(fdinfo(fd));
	ASK(value_of(fd, TUNGETSNDBUF));
	ASK(set(fd, TUNSETSNDBUF, 0));
	ASK(ioctl(fd, TUNSETSNDBUF, NULL));
	ASK(set(fd, TUNSETSNDBUF, 100000));
	ASK(value_of(fd, TUNGETSNDBUF));
	ASK(ioctl(fd, TUNSETNOCSUM, 1));
	ASK(ioctl(fd, TUNSETOWNER, -1));
	ASK(ioctl(fd, 0x54ff, buf));
	ASK(ioctl(fd, TUNGETIFF, NULL));
	ASK(events(fd));
	ASK(write(fd, ip, sizeof(ip)));
	ASK(stat_of("rx_dropped"));
	ASK(up_with_address());
	ASK(sh("cat /sys/class/net/u0/tx_queue_len /sys/class/net/u0/mtu "
	       "/sys/class/net/u0/type /sys/class/net/u0/flags /sys/class/net/u0/carrier >&2"));
	ASK(events(fd));
	ASK(read(fd, buf, sizeof(buf)));
	ASK(read(fd, buf, 0));
	ASK(packet(100));
	ASK(events(fd));
	ASK(read(fd, NULL, 0));
	ASK(readv(fd, iov, 2));
	ASK(stat_of("tx_packets"));
	ASK(stat_of("tx_bytes"));
	ASK(packet(1000));
	ASK(read(fd, buf, 50));
	ASK(read(fd, buf, 50));
	ASK(stat_of("tx_bytes"));
	ASK(write(fd, ip, sizeof(ip)));
	ASK(write(fd, ip, 13));
	ASK(write(fd, ip, 0));
	ASK(write(fd, bad, sizeof(bad)));
	ASK(write(fd, nowhere, 64));
	ASK(stat_of("rx_packets"));
	ASK(stat_of("rx_dropped"));
	ASK(set(fd, TUNSETCARRIER, 0));
	ASK(sh("test $(cat /sys/class/net/u0/carrier) = 0"));
	ASK(set(fd, TUNSETCARRIER, 1));
	ASK(ioctl(fd, TUNSETCARRIER, NULL));
	ASK(link_flags(0));
	ASK(write(fd, ip, sizeof(ip)));
	ASK(ioctl(fd, TUNSETPERSIST, 1));
	ASK(get(fd));
	close(fd);
	ASK(sh("test -e /sys/class/net/u0"));
	ASK(iff(other, "u0", type));
	ASK(get(other));
	/* With packet information. */
	ASK(link_flags(1));
	ASK(write(other, ip, 3));
	ASK(packet(200));
	ASK(read(other, buf, 3));
	ASK(packet(200));
	ASK(read(other, buf, 40));
	ASK(*(unsigned short *)buf);
	ASK(ntohs(*(unsigned short *)(buf + 2)));
	ASK(packet(200));
	ASK(read(other, buf, sizeof(buf)));
	ASK(*(unsigned short *)buf);
	ASK(ioctl(other, TUNSETPERSIST, 0));
	close(other);
	ASK(sh("test -e /sys/class/net/u0"));
}

static void queues(void)
{
	int type = IFF_TUN | IFF_NO_PI | IFF_MULTI_QUEUE, fd[3], i;
	char buf[2000];

	puts("--- several queues");
	for (i = 0; i < 3; i++)
		fd[i] = tun(O_NONBLOCK);
	ASK(iff(fd[0], "u0", type));
	ASK(iff(fd[1], "u0", type | IFF_BACKPRESSURE));
	ASK(get(fd[1]));
	ASK(iff(fd[2], "u0", IFF_TUN | IFF_NO_PI));
	ASK(iff(fd[2], "u0", type));
	ASK(sh("ls -d /sys/class/net/u0/queues/tx-* | wc -l >&2"));
	ASK(up_with_address());
	ASK(queue(fd[2], IFF_DETACH_QUEUE));
	ASK(queue(fd[2], IFF_DETACH_QUEUE));
	ASK(get(fd[2]));
	ASK(iff(fd[2], "u0", type));
	ASK(events(fd[2]));
	ASK(read(fd[2], buf, sizeof(buf)));
	ASK(queue(fd[0], IFF_DETACH_QUEUE));
	ASK(queue(fd[1], IFF_DETACH_QUEUE));
	ASK(packet(10));
	ASK(stat_of("tx_dropped"));
	ASK(set(fd[0], TUNSETCARRIER, 1));
	ASK(queue(fd[1], IFF_ATTACH_QUEUE | IFF_DETACH_QUEUE));
	ASK(queue(fd[1], IFF_ATTACH_QUEUE));
	ASK(packet(10));
	ASK(read(fd[1], buf, sizeof(buf)));
	close(fd[1]);
	close(fd[0]);
	ASK(sh("test -e /sys/class/net/u0"));
	ASK(sh("ip link del u0"));
	ASK(get(fd[2]));
	ASK(queue(fd[2], IFF_ATTACH_QUEUE));
	ASK(read(fd[2], buf, sizeof(buf)));
	ASK(events(fd[2]));
	ASK(iff(fd[2], "u0", IFF_TAP));
	close(fd[2]);
}

static void many(void)
{
	int fd[258], i, last = 0;

	puts("--- as many queues as there can be");
	for (i = 0; i < 258 && !last; i++) {
		fd[i] = tun(O_NONBLOCK);
		last = iff(fd[i], "u0", IFF_TAP | IFF_MULTI_QUEUE);
	}
	say("the first queue too many", last);
	ASK(i);
	while (i--)
		close(fd[i]);
	ASK(sh("test -e /sys/class/net/u0"));
}

static void waiting(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	int fd = tun(0), i;
	pthread_t thread;
	char buf[2000];

	puts("--- waiting");
	ASK(iff(fd, "u0", IFF_TUN | IFF_NO_PI));
	ASK(up_with_address());
	sigaction(SIGALRM, &action, NULL);
	alarm(1);
	ASK(read(fd, buf, sizeof(buf)));
	action.sa_handler = on_sigio;
	action.sa_flags = SA_RESTART;
	sigaction(SIGIO, &action, NULL);
	ASK(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	ASK(packet(10));
	for (i = 0; i < 100 && !sigio; i++)
		usleep(1000);
	ASK(sigio);
	ASK(read(fd, buf, sizeof(buf)));
	ASK(fcntl(fd, F_SETFL, 0));
	ASK(packet(10));
	ASK(sigio);
	ASK(read(fd, buf, sizeof(buf)));
	pthread_create(&thread, NULL, deleter, NULL);
	ASK(read(fd, buf, sizeof(buf)));
	pthread_join(thread, NULL);
	ASK(read(fd, buf, sizeof(buf)));
	close(fd);
}

static void permission(void)
{
	int fd = tun(0), other, status = 0;

	puts("--- who may");
	ASK(iff(fd, "u0", IFF_TUN));
	ASK(ioctl(fd, TUNSETPERSIST, 1));
	close(fd);
	for (int owner = 0; owner < 3; owner++) {
		fd = tun(0);
		iff(fd, "u0", IFF_TUN);
		if (owner == 1)
			ioctl(fd, TUNSETOWNER, 1234);
		if (owner == 2)
			ioctl(fd, TUNSETGROUP, 77);
		close(fd);
		other = tun(0);
		fflush(stdout);
		if (!fork()) {
			if (setgroups(0, NULL) || setresuid(1234, 1234, 1234))
				_exit(9);
			errno = 0;
			iff(other, "u0", IFF_TUN);
			_exit(errno);
		}
		wait(&status);
		close(other);
		say("the owner's errno", WEXITSTATUS(status));
	}
	other = tun(0);
	fflush(stdout);
	if (!fork()) {
		if (setresuid(1234, 1234, 1234))
			_exit(9);
		errno = 0;
		iff(other, "u9", 0);
		_exit(errno);
	}
	wait(&status);
	say("a new one's errno", WEXITSTATUS(status));
	close(other);
	ASK(sh("ip link del u0"));
	ASK(sh("ip link add u0 type tun 2>&1 | tail -n 1 >&2"));
}

int main(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) ||
	    sh("mount --make-rprivate / && mount -t sysfs sysfs /sys") ||
	    sh("ip link set lo up && sysctl -qw net.ipv6.conf.default.disable_ipv6=1")) {
		perror("uapi: unshare");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	unattached();
	attached(IFF_TUN);
	attached(IFF_TAP);
	queues();
	many();
	waiting();
	permission();
	return 0;
}
