//! Random numbers and smooth noise by formula: the same inputs give the same value on every machine.

use glam::DVec3;

/// Returns a number that depends on all inputs without a pattern, from 0 to 1.
pub(crate) fn hash(x: i64, y: i64, z: i64, seed: u64) -> f64 {
    let mut h = seed ^ 0x9e37_79b9_7f4a_7c15;
    for v in [x, y, z] {
        h = (h ^ v as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h ^= h >> 32;
    }
    h = h.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (h >> 40) as f64 / (1u64 << 24) as f64
}

/// Returns smooth noise from −1 to 1: random values at integer points, joined by a quintic curve. Its band is limited
/// to about one cycle per unit.
pub(crate) fn smooth(p: DVec3, seed: u64) -> f64 {
    let base = p.floor();
    let t = p - base;
    let w = t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (x, y, z) = (base.x as i64, base.y as i64, base.z as i64);
    let mix = |a: f64, b: f64, w: f64| a + (b - a) * w;
    let line = |y, z| mix(hash(x, y, z, seed), hash(x + 1, y, z, seed), w.x);
    let face = |z| mix(line(y, z), line(y + 1, z), w.y);
    2.0 * mix(face(z), face(z + 1), w.z) - 1.0
}

/// Returns a sum of noises from −1 to 1. The first has the frequency `lowest`, and each of the others the doubled
/// frequency and `fall` times the strength.
pub(crate) fn octaves(p: DVec3, lowest: f64, count: u32, fall: f64, seed: u64) -> f64 {
    let (mut sum, mut total, mut strength, mut frequency) = (0.0, 0.0, 1.0, lowest);
    for i in 0..count {
        sum += strength * smooth(p * frequency, seed.wrapping_add(u64::from(i)));
        total += strength;
        strength *= fall;
        frequency *= 2.03;
    }
    sum / total
}
