// SPDX-License-Identifier: GPL-2.0

#include <linux/bpf.h>
#include <linux/filter.h>

#ifdef CONFIG_NET

__rust_helper struct bpf_prog *
rust_helper_bpf_prog_get_type(u32 fd, enum bpf_prog_type type)
{
	return bpf_prog_get_type(fd, type);
}

#ifndef CONFIG_BPF_SYSCALL
__rust_helper void rust_helper_bpf_prog_put(struct bpf_prog *prog)
{
	bpf_prog_put(prog);
}
#endif

__rust_helper u32 rust_helper_bpf_prog_run_clear_cb(const struct bpf_prog *prog,
						    struct sk_buff *skb)
{
	return bpf_prog_run_clear_cb(prog, skb);
}

#endif
