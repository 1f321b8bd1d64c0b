//! Counts the pixels of a panorama that the cameras see, and derives the coverage and the overlaps.

use shared_types::colour::OverlapBox;

/// The fractions of the panorama's pixels that one or more cameras see. Each fraction is 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The fraction of the pixels that at least one camera sees.
    pub any: f64,
    /// The fraction of the pixels that each camera sees, one element per camera.
    pub cameras: Vec<f64>,
    /// The fraction of the pixels that more than one camera sees.
    pub overlap: f64,
}

/// The cameras that see each pixel of a part of the panorama.
pub(super) struct Seen {
    /// One element per pixel, row by row: the number of cameras that see it.
    cameras: Vec<u8>,
    width: usize,
}

/// The numbers of pixels that were counted so far.
pub(super) struct Counts {
    pixels: u64,
    any: u64,
    overlap: u64,
    cameras: Vec<u64>,
}

impl Seen {
    /// Creates a part of `width` by `height` pixels that no camera sees.
    pub(super) fn nothing(width: u32, height: u32) -> Self {
        Self { cameras: vec![0; width as usize * height as usize], width: width as usize }
    }

    /// Records the pixels of `place` at which a weight or margin of camera number `camera` is greater than 0.
    pub(super) fn record(
        &mut self,
        place: OverlapBox,
        weights: &[f32],
        camera: usize,
        counts: &mut Counts,
    ) {
        let (first, columns) = (place.min.as_usizevec2(), place.size().x as usize);
        let rows = self.cameras.chunks_exact_mut(self.width).skip(first.y);
        for (seen, weights) in rows.zip(weights.chunks_exact(columns.max(1))) {
            let mut count = 0;
            for (seen, weight) in seen[first.x..][..columns].iter_mut().zip(weights) {
                let sees = u8::from(*weight > 0.0);
                *seen += sees;
                count += u64::from(sees);
            }
            counts.cameras[camera] += count;
        }
    }

    /// Adds the part to the counts, after all cameras were recorded.
    pub(super) fn count(&self, counts: &mut Counts) {
        let number =
            |of: fn(&u8) -> bool| self.cameras.iter().filter(|seen| of(seen)).count() as u64;
        counts.pixels += self.cameras.len() as u64;
        counts.any += number(|seen| *seen > 0);
        counts.overlap += number(|seen| *seen > 1);
    }
}

impl Counts {
    pub(super) fn new(cameras: usize) -> Self {
        Self { pixels: 0, any: 0, overlap: 0, cameras: vec![0; cameras] }
    }

    pub(super) fn coverage(&self) -> Coverage {
        let share = |count: u64| count as f64 / self.pixels.max(1) as f64;
        Coverage {
            any: share(self.any),
            cameras: self.cameras.iter().map(|count| share(*count)).collect(),
            overlap: share(self.overlap),
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::uvec2;

    use super::*;

    #[test]
    fn parts_are_counted() {
        let mut counts = Counts::new(2);
        let mut seen = Seen::nothing(4, 3);
        let place = OverlapBox { min: uvec2(1, 1), max: uvec2(3, 3) };
        seen.record(place, &[0.1, 0.0, 0.2, 0.3], 1, &mut counts);
        let row = OverlapBox { min: uvec2(0, 1), max: uvec2(4, 2) };
        seen.record(row, &[1.0, 1.0, 0.0, 0.0], 0, &mut counts);
        seen.count(&mut counts);
        Seen::nothing(4, 1).count(&mut counts);
        let Coverage { any, cameras, overlap } = counts.coverage();
        assert_eq!((any, cameras, overlap), (4.0 / 16.0, vec![2.0 / 16.0, 3.0 / 16.0], 1.0 / 16.0));
    }
}
