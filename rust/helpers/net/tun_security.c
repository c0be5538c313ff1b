// SPDX-License-Identifier: GPL-2.0

#include <linux/security.h>

#ifndef CONFIG_SECURITY_NETWORK

__rust_helper int rust_helper_security_tun_dev_alloc_security(void **security)
{
	return security_tun_dev_alloc_security(security);
}

__rust_helper void rust_helper_security_tun_dev_free_security(void *security)
{
	security_tun_dev_free_security(security);
}

__rust_helper int rust_helper_security_tun_dev_create(void)
{
	return security_tun_dev_create();
}

__rust_helper int rust_helper_security_tun_dev_attach_queue(void *security)
{
	return security_tun_dev_attach_queue(security);
}

__rust_helper int rust_helper_security_tun_dev_attach(struct sock *sk,
						      void *security)
{
	return security_tun_dev_attach(sk, security);
}

__rust_helper int rust_helper_security_tun_dev_open(void *security)
{
	return security_tun_dev_open(security);
}

#endif
