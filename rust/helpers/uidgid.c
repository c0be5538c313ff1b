// SPDX-License-Identifier: GPL-2.0

#include <linux/cred.h>
#include <linux/uidgid.h>

__rust_helper kuid_t rust_helper_current_fsuid(void)
{
	return current_fsuid();
}

#ifndef CONFIG_USER_NS
__rust_helper kuid_t rust_helper_make_kuid(struct user_namespace *ns, uid_t uid)
{
	return make_kuid(ns, uid);
}

__rust_helper kgid_t rust_helper_make_kgid(struct user_namespace *ns, gid_t gid)
{
	return make_kgid(ns, gid);
}

__rust_helper uid_t rust_helper_from_kuid_munged(struct user_namespace *ns,
						 kuid_t uid)
{
	return from_kuid_munged(ns, uid);
}

__rust_helper gid_t rust_helper_from_kgid_munged(struct user_namespace *ns,
						 kgid_t gid)
{
	return from_kgid_munged(ns, gid);
}
#endif
