//! The target of caps in queries.

use gst::prelude::*;

use crate::{CAMERAS, element};

/// The text of caps, as the filter and the subject of queries. The caps that a pad offers must be accepted by it.
pub(crate) fn caps(data: &[u8]) {
    thread_local! {
        static PADS: (gst::Element, Vec<gst::Pad>) = {
            let element = element();
            let pads: Option<Vec<_>> =
                (0..CAMERAS).map(|_| element.request_pad_simple("sink_%u")).collect();
            element.set_state(gst::State::Paused).expect("a paused element");
            let mut pads = pads.expect("a pad per camera");
            pads.extend(element.static_pad("src"));
            (element, pads)
        };
    }
    // GLib's strings end at a NUL.
    let Some(text) = std::str::from_utf8(data).ok().filter(|text| !text.contains('\0')) else {
        return;
    };
    PADS.with(|(_, pads)| {
        let Ok(caps) = text.parse::<gst::Caps>() else { return };
        for pad in pads {
            let offered = pad.query_caps(Some(&caps));
            assert!(offered.is_subset(&caps), "{offered} for the filter {caps}");
            // The other query is only for fixed caps, which are not empty.
            let accepted = caps.is_fixed() && pad.query_accept_caps(&caps);
            assert!(!accepted || caps.can_intersect(&pad.query_caps(None)), "{caps} accepted");
        }
    });
}
