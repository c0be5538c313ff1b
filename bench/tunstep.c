// SPDX-License-Identifier: GPL-2.0
/*
 * What one frame costs, by the way that it takes through the driver. One thread on
 * CPU 0; no stack gets further than to drop what is written.
 *
 *   tunstep write KIND FLAGS MILLISECONDS
 *	Writes frames of 64 bytes.
 *
 *   tunstep read KIND FLAGS MILLISECONDS
 *	Sends frames of 64 bytes through the device's qdisc, a burst of 64, and reads
 *	them.
 *
 *   tunstep xdp DROP|TX MILLISECONDS
 *	Writes frames of 64 bytes to a TAP device whose native XDP program drops them,
 *	or sends them back to be read.
 *
 * Makes device "bench". Prints nanoseconds a frame: in a guest whose clock counts
 * instructions (scripts/boot -i), those of the kernel and of the program together.
 */
#include "tunbench.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define BURST 64
#define LEN 64
/* Of a virtio-net header that says nothing. */
#define HEADER 10

/* From and to nobody, of a type that nobody wants. */
static char tap_frame[LEN] = "\2\0\0\0\0\2\2\0\0\0\0\1\x88\xb5";
/* IPv4 whose checksum is wrong. */
static char tun_frame[LEN] = "\x45";

static char *frame;
/* What is written and read: a header, if there is one, and the frame. */
static char record[HEADER + LEN];
static int record_len = LEN;

static void write_burst(int fd)
{
	int i;

	for (i = 0; i < BURST; i++)
		if (write(fd, record, record_len) != record_len)
			die("write");
}

static void read_burst(int fd)
{
	char in[sizeof(record) + 1];
	int i;

	for (i = 0; i < BURST; i++)
		if (read(fd, in, sizeof(in)) != record_len)
			die("read");
}

static int up(int tun)
{
	struct ifreq ifr = { .ifr_name = NAME, .ifr_flags = IFF_UP | IFF_NOARP };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr))
		die("cannot set the device up");
	/* What the system sends by itself when a device comes up. */
	usleep(100000);
	while (read(tun, &ifr, sizeof(ifr)) > 0)
		;
	return fd;
}

static void bind_to(int fd)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(frame == tun_frame ? ETH_P_IP : 0x88b5),
		.sll_ifindex = if_nametoindex(NAME),
	};

	if (bind(fd, (void *)&to, sizeof(to)))
		die("bind");
}

static void attach_xdp(int action)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = action },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)insns,
		.insn_cnt = 2,
		.license = (uintptr_t)"GPL",
	};
	union bpf_attr link = { .link_create.attach_type = BPF_XDP };

	link.link_create.prog_fd = syscall(__NR_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	link.link_create.target_ifindex = if_nametoindex(NAME);
	link.link_create.flags = XDP_FLAGS_DRV_MODE;
	if (syscall(__NR_bpf, BPF_LINK_CREATE, &link, sizeof(link)) < 0)
		die("cannot attach an XDP program");
}

int main(int argc, char **argv)
{
	int writes = argc == 5 && !strcmp(argv[1], "write");
	int reads = argc == 5 && !strcmp(argv[1], "read");
	int xdp = argc == 4 && !strcmp(argv[1], "xdp");
	const char *kind = xdp ? "tap" : argv[2];
	int back = xdp && !strcmp(argv[2], "TX");
	uint64_t start, end, frames = 0;
	int fd, socket_fd, flags, i;

	if (!writes && !reads && !xdp) {
		fprintf(stderr, "usage: tunstep write KIND FLAGS MILLISECONDS\n"
				"       tunstep read KIND FLAGS MILLISECONDS\n"
				"       tunstep xdp DROP|TX MILLISECONDS\n");
		return 2;
	}
	pin(0);
	frame = strcmp(kind, "tap") ? tun_frame : tap_frame;
	flags = xdp ? 0 : strtol(argv[3], NULL, 0);
	if (flags & IFF_VNET_HDR)
		record_len += HEADER;
	memcpy(record + record_len - LEN, frame, LEN);
	fd = tun_open(kind, flags);
	if (xdp)
		attach_xdp(back ? XDP_TX : XDP_DROP);
	socket_fd = up(fd);
	if (reads)
		bind_to(socket_fd);

	/* The first burst fills caches and pools. */
	end = ~0ull;
	for (start = now_us(); now_us() < end; frames += BURST) {
		if (!reads)
			write_burst(fd);
		for (i = 0; reads && i < BURST; i++)
			if (send(socket_fd, frame, LEN, 0) != LEN)
				die("send");
		if (reads || back)
			read_burst(fd);
		if (end == ~0ull) {
			start = now_us();
			end = start + 1000 * strtoull(argv[argc - 1], NULL, 0);
			frames = -BURST;
		}
	}
	printf("%.1f\n", (now_us() - start) * 1000.0 / frames);
	return 0;
}
