// SPDX-License-Identifier: GPL-2.0

#include <net/rps.h>

#ifdef CONFIG_NET

__rust_helper bool rust_helper_rps_is_needed(void)
{
#ifdef CONFIG_RPS
	return static_branch_unlikely(&rps_needed);
#else
	return false;
#endif
}

__rust_helper void rust_helper_sock_rps_record_flow_hash(u32 hash)
{
	sock_rps_record_flow_hash(hash);
}

#endif
