/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In place of the generated YNL library, for building the kernel's selftest
 * tun.c, unchanged, where generating it takes too long: deleting a link, which
 * the fixture "tun" does, is done here; all else fails, so that no fixture that
 * needs it can seem to pass.
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

/* A request that has a header, and whose setters do nothing. */
#define YNL_SHIM_REQ(name, header)					\
	struct name##_req {						\
		header _hdr;						\
		char ifname[IF_NAMESIZE];				\
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
		(void)req;						\
		(void)flags;						\
	}

YNL_SHIM_REQ(rt_link_dellink, struct ifinfomsg)
YNL_SHIM_REQ(rt_link_newlink, struct ifinfomsg)
YNL_SHIM_REQ(rt_addr_newaddr, struct ifaddrmsg)
YNL_SHIM_REQ(rt_neigh_newneigh, struct ndmsg)
YNL_SHIM_REQ(rt_route_getroute, struct rtmsg)

struct rt_route_getroute_rsp {
	struct rtmsg _hdr;
};

#define rt_link_newlink_req_set_ifname(...)			((void)0)
#define rt_link_newlink_req_set_address(...)			((void)0)
#define rt_link_newlink_req_set_linkinfo_kind(...)		((void)0)
#define rt_link_newlink_req_set_linkinfo_data_geneve_id(...)	((void)0)
#define rt_link_newlink_req_set_linkinfo_data_geneve_port(...)	((void)0)
#define rt_link_newlink_req_set_linkinfo_data_geneve_udp_csum(...) ((void)0)
#define rt_link_newlink_req_set_linkinfo_data_geneve_remote(...) ((void)0)
#define rt_link_newlink_req_set_linkinfo_data_geneve_remote6(...) ((void)0)
#define rt_addr_newaddr_req_set_local(...)			((void)0)
#define rt_neigh_newneigh_req_set_dst(...)			((void)0)
#define rt_neigh_newneigh_req_set_lladdr(...)			((void)0)
#define rt_neigh_newneigh_req_set_ifindex(...)			((void)0)
#define rt_route_getroute_req_set_dst(...)			((void)0)
#define rt_route_getroute_req_set_oif(...)			((void)0)
#define rt_link_newlink(...)					(-1)
#define rt_addr_newaddr(...)					(-1)
#define rt_neigh_newneigh(...)					(-1)
#define rt_route_getroute(...)	((struct rt_route_getroute_rsp *)NULL)
#define rt_route_getroute_rsp_free(...)				((void)0)

static inline void rt_link_dellink_req_set_ifname(struct rt_link_dellink_req *req,
						  const char *name)
{
	strncpy(req->ifname, name, sizeof(req->ifname) - 1);
}

static inline int rt_link_dellink(struct ynl_sock *ys,
				  struct rt_link_dellink_req *req)
{
	struct {
		struct nlmsghdr nlh;
		struct ifinfomsg ifi;
	} msg = {
		.nlh.nlmsg_len = sizeof(msg),
		.nlh.nlmsg_type = RTM_DELLINK,
		.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.ifi.ifi_index = if_nametoindex(req->ifname),
	};
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
		char rest[256];
	} answer;

	if (!msg.ifi.ifi_index ||
	    send(ys->fd, &msg, sizeof(msg), 0) != sizeof(msg) ||
	    recv(ys->fd, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(4) ||
	    answer.nlh.nlmsg_type != NLMSG_ERROR)
		return -1;
	return answer.err.error ? -1 : 0;
}

#endif
