//! The shoulder of a colour correction: keeps highlights from being clipped by a gain above 1, and from turning gray by a
//! gain below 1. Still pictures ([`photometry`](crate::photometry)) and frames (`grade`) use the same curve.
//!
//! The kernels that read a mesh have no shoulder, because it makes them slower even for colours without a shoulder
//! (`doc/speed.md`).

use cuda_std::prelude::*;
use glam::{Vec3, vec3};

/// The colour, as a fraction of the limit, above which the shoulder of a brightened picture begins.
const KNEE: f32 = 0.9;

/// The fraction of white from which a darkened picture is raised. A narrower range would make the noise of a nearly white
/// sky visible.
const NEARLY_CLIPPED: f32 = 0.85;

/// Maps each channel of `colour` from the range 0 to `white` to the range 0 to `limit`. `white` is the corrected colour of
/// white, and `offset` that of black. Larger colours are mapped to larger values than `limit`; the caller clamps them.
///
/// If `white` exceeds `limit`, the colours above [`KNEE`] are compressed (the extended curve of Reinhard et al. 2002). If
/// it is below `limit`, pixels that are nearly white in all channels are raised. All other colours stay as they are.
#[device]
pub(crate) fn shoulder(colour: Vec3, white: Vec3, limit: Vec3, offset: Vec3) -> Vec3 {
    // A pixel whose channels were raised separately would change its hue: only its clipped channels would become white.
    // `min` and `max` ignore the NaN of a channel without gain.
    let (level, range) = (colour - offset, white - offset);
    let part = |level: f32, range: f32| level * range.fast_recip();
    let least = part(level.x, range.x).min(part(level.y, range.y)).min(part(level.z, range.z));
    let t = ((least - NEARLY_CLIPPED) * (1.0 / (1.0 - NEARLY_CLIPPED))).max(0.0);
    vec3(
        channel(colour.x, white.x, limit.x, t * t),
        channel(colour.y, white.y, limit.y, t * t),
        channel(colour.z, white.z, limit.z, t * t),
    )
}

/// Maps one channel. `raise` is the part of the way to `limit` by which it is raised if `white` is below it.
#[device]
fn channel(colour: f32, white: f32, limit: f32, raise: f32) -> f32 {
    if white > limit {
        let knee = KNEE * limit;
        let room = limit - knee;
        let u = (colour - knee) * room.fast_recip();
        let per_most = room * (white - knee).fast_recip();
        let compressed = u * (1.0 + u * (per_most * per_most)) * (1.0 + u).fast_recip();
        if colour > knee { knee + room * compressed } else { colour }
    } else {
        colour + (limit - white) * raise
    }
}
