// SPDX-License-Identifier: GPL-2.0

#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/sched.h>

__rust_helper void rust_helper_f_setown_current(struct file *file)
{
	__f_setown(file, task_pid(current), PIDTYPE_TGID, 0);
}
