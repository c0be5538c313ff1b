// SPDX-License-Identifier: GPL-2.0

//! Frames from the stack to a program's buffer.

use crate::{
    device::Tun,
    flags,
    frame::{
        self,
        Layout,
        PI_LEN,
        VLAN_LEN,
        VLAN_OFFSET, //
    },
    vnet, //
};
use kernel::{
    iov::IovIterDest,
    net::{
        device::Device,
        skbuff::{
            DropReason,
            SkBuff, //
        },
        vhost::Packet,
        virtio_net::Header,
        xdp, //
    },
    prelude::*, //
};

impl Tun {
    /// Copies a packet to a program's buffer and ends it. Returns the length of the whole record,
    /// which may be more than the buffer has.
    #[inline]
    pub(crate) fn read(
        dev: &Device<Self>,
        packet: Packet,
        to: &mut IovIterDest<'_>,
    ) -> Result<usize> {
        match packet {
            Packet::Skb(skb) => match Self::copy_out(dev, &skb, to) {
                Ok(total) => {
                    skb.consume();
                    Ok(total)
                }
                Err(e) => {
                    skb.drop_reason(DropReason::NOT_SPECIFIED);
                    Err(e)
                }
            },
            Packet::Xdp(frame) => Self::copy_out_xdp(dev, &frame, to),
        }
    }

    #[inline]
    fn copy_out(dev: &Device<Self>, skb: &SkBuff, to: &mut IovIterDest<'_>) -> Result<usize> {
        let tag = skb.vlan_tag();
        let flags = dev.flags_now();
        let layout = Layout::new(flags, dev.header_size(), skb.len(), tag.is_some());
        if layout.pi {
            if to.len() < PI_LEN {
                return Err(EINVAL);
            }
            let pi = frame::pi(skb.protocol(), to.len() < layout.total);
            if to.copy_to_iter(&pi) != PI_LEN {
                return Err(EFAULT);
            }
        }
        if layout.header != 0 {
            let inserted = tag.map_or(0, |_| VLAN_LEN);
            let header = vnet::describe(dev, flags, skb, inserted)?;
            vnet::write(layout.header, vnet::has_tunnels(dev), &header, to)?;
        }

        // A fault while copying the frame itself is not reported, as programs know it.
        let mut offset = 0;
        let mut room = true;
        if let Some(tag) = tag {
            offset = VLAN_OFFSET;
            let bytes = frame::tag_bytes(tag);
            room = skb.copy_to_iter(0, to, VLAN_OFFSET).is_ok()
                && !to.is_empty()
                && to.copy_to_iter(&bytes) == bytes.len()
                && !to.is_empty();
        }
        if room {
            let _ = skb.copy_to_iter(offset, to, skb.len().saturating_sub(offset));
        }
        dev.count_tx(1, layout.frame);
        Ok(layout.total)
    }

    /// A frame that was redirected here has no packet information, whatever the device's flags,
    /// and an empty header. What is counted and returned is what was copied.
    fn copy_out_xdp(
        dev: &Device<Self>,
        frame: &xdp::Frame,
        to: &mut IovIterDest<'_>,
    ) -> Result<usize> {
        let mut copied = 0;
        if dev.flags_now() & flags::VNET_HDR != 0 {
            let size = dev.header_size();
            vnet::write(size, false, &Header::ZERO, to)?;
            copied = size as usize;
        }
        copied += frame.copy_to_iter(to);
        dev.count_tx(1, copied);
        Ok(copied)
    }
}
