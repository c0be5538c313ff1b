// SPDX-License-Identifier: GPL-2.0

#include <linux/timer.h>

__rust_helper void rust_helper_timer_setup(struct timer_list *timer,
					   void (*func)(struct timer_list *))
{
	timer_setup(timer, func, 0);
}

__rust_helper bool rust_helper_timer_pending(const struct timer_list *timer)
{
	return timer_pending(timer);
}
