// SPDX-License-Identifier: GPL-2.0

#include <linux/module.h>

#ifndef CONFIG_MODULE_UNLOAD
__rust_helper void rust_helper___module_get(struct module *module)
{
	__module_get(module);
}

__rust_helper void rust_helper_module_put(struct module *module)
{
	module_put(module);
}
#endif
