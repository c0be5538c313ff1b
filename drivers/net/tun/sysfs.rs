// SPDX-License-Identifier: GPL-2.0

//! Files of a device in sysfs: `tun_flags`, `owner`, `group`.

use crate::{
    device::Tun,
    flags, //
};
use kernel::{
    fmt,
    net::device::{
        attribute::{
            Attribute,
            Entry,
            Group,
            List,
            Show, //
        },
        Device, //
    },
    prelude::*, //
};

/// Type and features.
struct Flags;

impl Show for Flags {
    type Private = Tun;
    const NAME: &'static CStr = c"tun_flags";

    fn show(dev: &Device<Tun>, to: &mut dyn fmt::Write) -> fmt::Result {
        to.write_fmt(fmt!("0x{:x}\n", flags::visible(dev.flags_now())))
    }
}

/// Writes an id as the reader sees it, or that there is none.
fn show_id(to: &mut dyn fmt::Write, id: Option<u32>) -> fmt::Result {
    match id {
        Some(id) => to.write_fmt(fmt!("{}\n", id)),
        None => to.write_str("-1\n"),
    }
}

/// Who may join besides an administrator.
struct Owner;

impl Show for Owner {
    type Private = Tun;
    const NAME: &'static CStr = c"owner";

    fn show(dev: &Device<Tun>, to: &mut dyn fmt::Write) -> fmt::Result {
        let owner = dev.owner();
        show_id(to, owner.is_some().then(|| owner.to_user()))
    }
}

/// Which group may join besides an administrator.
struct OwnerGroup;

impl Show for OwnerGroup {
    type Private = Tun;
    const NAME: &'static CStr = c"group";

    fn show(dev: &Device<Tun>, to: &mut dyn fmt::Write) -> fmt::Result {
        let group = dev.group();
        show_id(to, group.is_some().then(|| group.to_user()))
    }
}

static FLAGS: Attribute<Flags> = Attribute::new();
static OWNER: Attribute<Owner> = Attribute::new();
static OWNER_GROUP: Attribute<OwnerGroup> = Attribute::new();
static FILES: List<Tun, 4> = List::new([
    FLAGS.entry(),
    OWNER.entry(),
    OWNER_GROUP.entry(),
    Entry::END,
]);

/// The files, there from the device's first moment.
pub(crate) static GROUP: Group<Tun> = Group::new(&FILES);
