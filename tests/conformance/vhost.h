/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest without a machine: split rings in this process' memory, driven by the
 * kernel's vhost-net, with a tun device behind. Ring 0 receives, ring 1 transmits.
 */
#ifndef CONFORMANCE_VHOST_H
#define CONFORMANCE_VHOST_H

#include "tun.h"

#include <linux/vhost.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>
#include <sys/eventfd.h>

/* Entries a ring, a power of two, and bytes of each buffer. */
#define VQ_NUM 256
#define VQ_BUF 2048
/* Of the header in front of each frame: virtio 1. */
#define VQ_HEADER 12

struct vq {
	struct vring ring;
	unsigned short next, seen;
	int kick, call;
	unsigned char *buffer;
};

struct vhost {
	int fd;
	struct vq vq[2];
};

/* The buffer of a ring's entry. */
static inline unsigned char *vq_buffer(struct vq *vq, int entry)
{
	return vq->buffer + (size_t)entry * VQ_BUF;
}

static inline int vq_setup(struct vhost *v, int index)
{
	struct vhost_vring_state state = { .index = index, .num = VQ_NUM };
	struct vhost_vring_file file = { .index = index };
	struct vhost_vring_addr addr = { .index = index };
	struct vq *vq = &v->vq[index];
	size_t size = vring_size(VQ_NUM, 4096);
	void *memory;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	vq->buffer = mmap(NULL, VQ_NUM * VQ_BUF, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED || vq->buffer == MAP_FAILED)
		return -ENOMEM;
	vring_init(&vq->ring, VQ_NUM, memory, 4096);
	vq->kick = eventfd(0, EFD_NONBLOCK);
	vq->call = eventfd(0, EFD_NONBLOCK);
	if (ioctl(v->fd, VHOST_SET_VRING_NUM, &state))
		return -errno;
	state.num = 0;
	if (ioctl(v->fd, VHOST_SET_VRING_BASE, &state))
		return -errno;
	addr.desc_user_addr = (unsigned long)vq->ring.desc;
	addr.avail_user_addr = (unsigned long)vq->ring.avail;
	addr.used_user_addr = (unsigned long)vq->ring.used;
	if (ioctl(v->fd, VHOST_SET_VRING_ADDR, &addr))
		return -errno;
	file.fd = vq->kick;
	if (ioctl(v->fd, VHOST_SET_VRING_KICK, &file))
		return -errno;
	file.fd = vq->call;
	return R(ioctl(v->fd, VHOST_SET_VRING_CALL, &file));
}

/* All of this process' memory, at the addresses that it has here. */
static inline int vhost_memory(struct vhost *v)
{
	struct {
		struct vhost_memory head;
		struct vhost_memory_region region;
	} memory = {
		.head.nregions = 1,
		.region = {
			.guest_phys_addr = 4096,
			.userspace_addr = 4096,
			.memory_size = 0x7ffffffff000 - 2 * 4096,
		},
	};

	return R(ioctl(v->fd, VHOST_SET_MEM_TABLE, &memory));
}

static inline int vhost_open(struct vhost *v, unsigned long long more)
{
	unsigned long long features = 1ull << VIRTIO_F_VERSION_1 | more;
	int index, ret;

	memset(v, 0, sizeof(*v));
	v->fd = open("/dev/vhost-net", O_RDWR);
	if (v->fd < 0)
		return -errno;
	ret = R(ioctl(v->fd, VHOST_SET_OWNER));
	ret = ret ?: R(ioctl(v->fd, VHOST_SET_FEATURES, &features));
	ret = ret ?: vhost_memory(v);
	for (index = 0; !ret && index < 2; index++)
		ret = vq_setup(v, index);
	return ret;
}

static inline int vhost_backend(struct vhost *v, int index, int fd)
{
	struct vhost_vring_file file = { .index = index, .fd = fd };

	return R(ioctl(v->fd, VHOST_NET_SET_BACKEND, &file));
}

static inline void vhost_close(struct vhost *v)
{
	int index;

	close(v->fd);
	for (index = 0; index < 2; index++) {
		close(v->vq[index].kick);
		close(v->vq[index].call);
		munmap(v->vq[index].ring.desc, vring_size(VQ_NUM, 4096));
		munmap(v->vq[index].buffer, VQ_NUM * VQ_BUF);
	}
}

/* Gives entry @entry, @len bytes of its buffer, to the other side, unseen until vq_kick(). */
static inline void vq_give(struct vq *vq, int entry, int len, bool writable)
{
	struct vring_desc *desc = &vq->ring.desc[entry];

	desc->addr = (unsigned long)vq_buffer(vq, entry);
	desc->len = len;
	desc->flags = writable ? VRING_DESC_F_WRITE : 0;
	vq->ring.avail->ring[vq->next++ % VQ_NUM] = entry;
}

static inline void vq_kick(struct vq *vq)
{
	__atomic_store_n(&vq->ring.avail->idx, vq->next, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (eventfd_write(vq->kick, 1) && errno != EAGAIN)
		abort();
}

/*
 * The next entry that came back, and how much was written to it; -EAGAIN when none
 * did within @ms milliseconds.
 */
static inline int vq_take(struct vq *vq, int *len, int ms)
{
	struct vring_used_elem *used;
	struct pollfd p = { .fd = vq->call, .events = POLLIN };
	eventfd_t count;

	while (__atomic_load_n(&vq->ring.used->idx, __ATOMIC_ACQUIRE) == vq->seen) {
		if (poll(&p, 1, ms) != 1 &&
		    __atomic_load_n(&vq->ring.used->idx, __ATOMIC_ACQUIRE) == vq->seen)
			return -EAGAIN;
		if (eventfd_read(vq->call, &count) && errno != EAGAIN)
			abort();
	}
	used = &vq->ring.used->ring[vq->seen++ % VQ_NUM];
	if (len)
		*len = used->len;
	return used->id;
}

/* Gives all of the receive ring's buffers. */
static inline void vq_fill(struct vq *vq)
{
	int entry;

	for (entry = 0; entry < VQ_NUM; entry++)
		vq_give(vq, entry, VQ_BUF, true);
	vq_kick(vq);
}

/* Receives a frame into @data, without its header; its length, or -EAGAIN. */
static inline int vhost_receive(struct vhost *v, unsigned char *data, int ms)
{
	struct vq *vq = &v->vq[0];
	int len, entry = vq_take(vq, &len, ms);

	if (entry < 0)
		return entry;
	len -= VQ_HEADER;
	memcpy(data, vq_buffer(vq, entry) + VQ_HEADER, len);
	vq_give(vq, entry, VQ_BUF, true);
	vq_kick(vq);
	return len;
}

/* Transmits a frame from entry @entry, unseen until vq_kick(). */
static inline void vhost_put(struct vhost *v, int entry, const void *header,
			     const unsigned char *data, int len)
{
	unsigned char *to = vq_buffer(&v->vq[1], entry);

	memset(to, 0, VQ_HEADER);
	if (header)
		memcpy(to, header, sizeof(struct virtio_net_hdr));
	memcpy(to + VQ_HEADER, data, len);
	vq_give(&v->vq[1], entry, VQ_HEADER + len, false);
}

#endif
