// SPDX-License-Identifier: GPL-2.0
#include <kunit/test.h>
#include <linux/module.h>
static struct kunit_case tun_cases[] = { {} };
static struct kunit_suite tun_suite = { .name = "tun", .test_cases = tun_cases };
kunit_test_suite(tun_suite);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests for the TUN/TAP device driver");
