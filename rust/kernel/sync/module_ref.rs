// SPDX-License-Identifier: GPL-2.0

//! References that keep a module loaded.
//!
//! C header: [`include/linux/module.h`](srctree/include/linux/module.h)

use crate::{
    bindings,
    ThisModule, //
};

/// A reference to a module, which cannot be unloaded meanwhile.
///
/// # Invariants
///
/// Owns one count of the module's, or the code is built in.
///
/// # Examples
///
/// ```
/// use kernel::{sync::module_ref::ModuleRef, ThisModule};
///
/// fn pin(module: &'static ThisModule) -> ModuleRef {
///     // Called in a system call on a file of the module's, which pins it already.
///     ModuleRef::get(module)
/// }
/// ```
#[must_use = "the module may be unloaded when the reference goes"]
pub struct ModuleRef(&'static ThisModule);

impl ModuleRef {
    /// Takes one more reference. The caller, or whoever called it, holds one already; where not,
    /// the module may be on its way out.
    pub fn get(module: &'static ThisModule) -> Self {
        // SAFETY: Valid, or null when built in, which is ignored.
        unsafe { bindings::__module_get(module.as_ptr()) };
        // INVARIANT: Just counted.
        Self(module)
    }
}

impl Drop for ModuleRef {
    fn drop(&mut self) {
        // SAFETY: By the type invariants; null is ignored.
        unsafe { bindings::module_put(self.0.as_ptr()) };
    }
}

#[macros::kunit_tests(rust_module_ref)]
mod tests {
    use super::*;

    /// Built-in code has no module, and nothing to count.
    #[test]
    fn built_in_code() {
        // SAFETY: Null, as for code that is built in.
        static MODULE: ThisModule = unsafe { ThisModule::from_ptr(core::ptr::null_mut()) };
        let first = ModuleRef::get(&MODULE);
        let second = ModuleRef::get(&MODULE);
        drop(first);
        drop(second);
    }
}
