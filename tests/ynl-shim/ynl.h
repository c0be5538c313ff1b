/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In place of the generated YNL library, for building the kernel's selftest
 * tun.c, unchanged, where generating it takes too long: the five requests that it
 * makes, each a header and attributes that are sent as they are set.
 */
#ifndef YNL_SHIM_H
#define YNL_SHIM_H

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/ip.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct ynl_sock {
	int fd;
};

struct ynl_family {
	int unused;
};

static const struct ynl_family ynl_rt_link_family, ynl_rt_addr_family,
	ynl_rt_neigh_family, ynl_rt_route_family;

static inline struct ynl_sock *ynl_sock_create(const struct ynl_family *family,
					       void *error)
{
	struct ynl_sock *ys = calloc(1, sizeof(*ys));

	(void)family;
	(void)error;
	if (ys)
		ys->fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	return ys;
}

static inline void ynl_sock_destroy(struct ynl_sock *ys)
{
	close(ys->fd);
	free(ys);
}

/* Attributes, one behind the other. */
struct ynl_attrs {
	unsigned char bytes[512];
	int len;
};

static inline void ynl_put(struct ynl_attrs *attrs, int type, const void *value, int len)
{
	struct nlattr head = { .nla_len = NLA_HDRLEN + len, .nla_type = type };

	if (attrs->len + NLA_ALIGN(head.nla_len) > (int)sizeof(attrs->bytes))
		abort();
	memcpy(attrs->bytes + attrs->len, &head, sizeof(head));
	memcpy(attrs->bytes + attrs->len + NLA_HDRLEN, value, len);
	attrs->len += NLA_ALIGN(head.nla_len);
}

/* Sends a request and receives the answer: 0, or -1. */
static inline int ynl_talk(struct ynl_sock *ys, int type, int flags, const void *header,
			   int size, const struct ynl_attrs *attrs, void *answer, int room)
{
	unsigned char msg[1024] = {};
	struct nlmsghdr *nlh = (void *)msg;

	nlh->nlmsg_len = NLMSG_HDRLEN + NLMSG_ALIGN(size) + attrs->len;
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	memcpy(msg + NLMSG_HDRLEN, header, size);
	memcpy(msg + NLMSG_HDRLEN + NLMSG_ALIGN(size), attrs->bytes, attrs->len);
	if (send(ys->fd, msg, nlh->nlmsg_len, 0) < 0 ||
	    recv(ys->fd, answer, room, 0) < (ssize_t)NLMSG_LENGTH(4))
		return -1;
	nlh = answer;
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return ((struct nlmsgerr *)NLMSG_DATA(nlh))->error ? -1 : 0;
	return 0;
}

#define YNL_SHIM_REQ(name, header, type)				\
	struct name##_req {						\
		header _hdr;						\
		int flags;						\
		struct ynl_attrs attrs;					\
		struct ynl_attrs data;					\
		char kind[16];						\
	};								\
	static inline struct name##_req *name##_req_alloc(void)		\
	{								\
		return calloc(1, sizeof(struct name##_req));		\
	}								\
	static inline void name##_req_free(struct name##_req *req)	\
	{								\
		free(req);						\
	}								\
	static inline void name##_req_set_nlflags(struct name##_req *req, \
						  int flags)		\
	{								\
		req->flags = flags;					\
	}								\
	static inline int name(struct ynl_sock *ys, struct name##_req *req) \
	{								\
		unsigned char answer[4096];				\
									\
		return ynl_talk(ys, type, req->flags | NLM_F_ACK,	\
				&req->_hdr, sizeof(req->_hdr),		\
				&req->attrs, answer, sizeof(answer));	\
	}

YNL_SHIM_REQ(rt_link_dellink, struct ifinfomsg, RTM_DELLINK)
YNL_SHIM_REQ(ynl_newlink, struct ifinfomsg, RTM_NEWLINK)
YNL_SHIM_REQ(rt_addr_newaddr, struct ifaddrmsg, RTM_NEWADDR)
YNL_SHIM_REQ(rt_neigh_newneigh, struct ndmsg, RTM_NEWNEIGH)
YNL_SHIM_REQ(ynl_getroute, struct rtmsg, RTM_GETROUTE)

#define rt_link_newlink_req			ynl_newlink_req
#define rt_link_newlink_req_alloc		ynl_newlink_req_alloc
#define rt_link_newlink_req_free		ynl_newlink_req_free
#define rt_link_newlink_req_set_nlflags		ynl_newlink_req_set_nlflags
#define rt_route_getroute_req			ynl_getroute_req
#define rt_route_getroute_req_alloc		ynl_getroute_req_alloc
#define rt_route_getroute_req_free		ynl_getroute_req_free
#define rt_route_getroute_req_set_nlflags	ynl_getroute_req_set_nlflags

#define YNL_PUT_STRING(req, type, text) \
	ynl_put(&(req)->attrs, type, text, strlen(text) + 1)
#define YNL_PUT_VALUE(attrs, type, ctype, value)		\
({								\
	ctype __value = (value);				\
	ynl_put(attrs, type, &__value, sizeof(__value));	\
})

#define rt_link_dellink_req_set_ifname(req, name) YNL_PUT_STRING(req, IFLA_IFNAME, name)
#define rt_link_newlink_req_set_ifname(req, name) YNL_PUT_STRING(req, IFLA_IFNAME, name)
#define rt_link_newlink_req_set_address(req, addr, len) \
	ynl_put(&(req)->attrs, IFLA_ADDRESS, addr, len)
#define rt_link_newlink_req_set_linkinfo_kind(req, name) \
	strncpy((req)->kind, name, sizeof((req)->kind) - 1)
#define rt_link_newlink_req_set_linkinfo_data_geneve_id(req, id) \
	YNL_PUT_VALUE(&(req)->data, IFLA_GENEVE_ID, uint32_t, id)
#define rt_link_newlink_req_set_linkinfo_data_geneve_port(req, port) \
	YNL_PUT_VALUE(&(req)->data, IFLA_GENEVE_PORT, uint16_t, port)
/* One attribute a family: the one that does not fit is not looked at. */
#define rt_link_newlink_req_set_linkinfo_data_geneve_udp_csum(req, csum) \
	YNL_PUT_VALUE(&(req)->data, IFLA_GENEVE_UDP_CSUM, uint8_t, csum)
#define rt_link_newlink_req_set_linkinfo_data_geneve_remote(req, addr) \
	YNL_PUT_VALUE(&(req)->data, IFLA_GENEVE_REMOTE, uint32_t, addr)
#define rt_link_newlink_req_set_linkinfo_data_geneve_remote6(req, addr, len) \
	ynl_put(&(req)->data, IFLA_GENEVE_REMOTE6, addr, len)
#define rt_addr_newaddr_req_set_local(req, addr, len) \
	ynl_put(&(req)->attrs, IFA_LOCAL, addr, len)
#define rt_neigh_newneigh_req_set_dst(req, addr, len) \
	ynl_put(&(req)->attrs, NDA_DST, addr, len)
#define rt_neigh_newneigh_req_set_lladdr(req, addr, len) \
	ynl_put(&(req)->attrs, NDA_LLADDR, addr, len)
/* It stands in the header. */
#define rt_neigh_newneigh_req_set_ifindex(req, index)	((void)(index))
#define rt_route_getroute_req_set_dst(req, addr, len)		\
({								\
	(req)->_hdr.rtm_dst_len = (len) * 8;			\
	ynl_put(&(req)->attrs, RTA_DST, addr, len);		\
})
#define rt_route_getroute_req_set_oif(req, index) \
	YNL_PUT_VALUE(&(req)->attrs, RTA_OIF, uint32_t, index)

static inline int rt_link_newlink(struct ynl_sock *ys, struct rt_link_newlink_req *req)
{
	struct ynl_attrs info = {};

	ynl_put(&info, IFLA_INFO_KIND, req->kind, strlen(req->kind) + 1);
	if (req->data.len)
		ynl_put(&info, IFLA_INFO_DATA | NLA_F_NESTED, req->data.bytes, req->data.len);
	ynl_put(&req->attrs, IFLA_LINKINFO | NLA_F_NESTED, info.bytes, info.len);
	req->_hdr.ifi_change = req->_hdr.ifi_flags;
	return ynl_newlink(ys, req);
}

struct rt_route_getroute_rsp {
	struct rtmsg _hdr;
};

static inline struct rt_route_getroute_rsp *
rt_route_getroute(struct ynl_sock *ys, struct rt_route_getroute_req *req)
{
	struct rt_route_getroute_rsp *rsp = calloc(1, sizeof(*rsp));
	unsigned char answer[4096];
	struct nlmsghdr *nlh = (void *)answer;

	if (!rsp || ynl_talk(ys, RTM_GETROUTE, req->flags, &req->_hdr, sizeof(req->_hdr),
			     &req->attrs, answer, sizeof(answer)) ||
	    nlh->nlmsg_type != RTM_NEWROUTE) {
		free(rsp);
		return NULL;
	}
	memcpy(&rsp->_hdr, NLMSG_DATA(nlh), sizeof(rsp->_hdr));
	return rsp;
}

static inline void rt_route_getroute_rsp_free(struct rt_route_getroute_rsp *rsp)
{
	free(rsp);
}

#endif
