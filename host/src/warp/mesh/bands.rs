//! Computes a mesh on several threads. Each thread fits the tiles of a band, which is a range of tile rows.
//!
//! While a band is computed, its indices of patches, places, shares and further layers count from the start of the
//! band. Then the bands are joined from top to bottom: each index is increased by the number of elements in the bands
//! above. So the mesh does not depend on the number of threads.

use std::iter::once;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::{self, available_parallelism};

use glam::UVec2;
use shared_types::stitch::mesh::{CELLS, Layer, NONE, Patch, REST, SourcePoint, TILE, WHOLE_SHARE};

use super::Mesh;
use super::fit::{Tile, corners};
use super::input::MeshInput;

/// The maximum number of threads. A single thread takes about half a second for the mesh of a large panorama, so more
/// than 8 threads would save little.
const MAX_THREADS: usize = 8;

/// Returns the number of bands, one per thread.
pub(super) fn bands() -> u32 {
    available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS) as u32)
}

/// Divides the tile rows 0 to `rows` (exclusive) into bands, and runs `work` for each band on a separate thread.
/// Returns the results from the top band to the bottom one.
pub(super) fn each_band<T: Send>(
    rows: u32,
    bands: u32,
    work: impl Fn(Range<u32>) -> T + Sync,
) -> Vec<T> {
    let bands = bands.clamp(1, rows.max(1));
    let work = |i| work(rows * i / bands..rows * (i + 1) / bands);
    thread::scope(|scope| {
        let others: Vec<_> = (1..bands)
            .map(|i| thread::Builder::new().spawn_scoped(scope, move || work(i)).map_err(|_| i))
            .collect();
        let first = work(0);
        let others = others.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // This thread could not be started, so do its work on the calling thread.
            Err(i) => work(i),
        });
        once(first).chain(others).collect()
    })
}

impl Mesh {
    /// Computes a mesh as [`new`](Self::new) does. The caller must have checked that `error` is positive and finite.
    pub(in crate::warp) fn within(input: &MeshInput<'_>, error: f32) -> Self {
        Self::by_bands(input, error, bands())
    }

    fn by_bands(input: &MeshInput<'_>, error: f32, bands: u32) -> Self {
        let (size, sources) = (input.size, input.sources.to_vec());
        let tiles = Self::tiles_of(size);
        let bands = each_band(tiles.y, bands, |rows| Band::fitted(input, rows, error));
        let (mut layers, mut further) = (Vec::new(), Vec::new());
        let (mut patches, mut places, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for mut band in bands {
            let next = tiles.element_product() as usize + further.len();
            let (patch, place, share) = (patches.len(), places.len(), shares.len());
            let moved = |layer: Layer| Layer {
                places: behind(layer.places, if layer.cell == 0 { place } else { patch }),
                shares: behind(layer.shares, share),
                next: behind(layer.next, next),
                ..layer
            };
            layers.extend(band.first.into_iter().map(moved));
            further.extend(band.further.into_iter().map(moved));
            patches.append(&mut band.patches);
            places.append(&mut band.places);
            shares.append(&mut band.shares);
        }
        layers.append(&mut further);
        Self { size, sources, error, layers, patches, places, shares }
    }
}

/// Converts an index that counts from the start of a band to one that counts from the start of the mesh: adds `before`,
/// the number of elements in the bands above. Keeps [`NONE`] and [`REST`], which are not indices.
fn behind(index: u32, before: usize) -> u32 {
    if index >= REST { index } else { index + before as u32 }
}

/// The part of a mesh for one band of tile rows. The indices in its layers count from the start of the band.
#[derive(Default)]
struct Band {
    /// The first layer of each tile, row by row.
    first: Vec<Layer>,
    /// All layers except the first ones, tile by tile.
    further: Vec<Layer>,
    patches: Vec<Patch>,
    places: Vec<SourcePoint>,
    shares: Vec<u16>,
}

impl Band {
    fn fitted(input: &MeshInput<'_>, rows: Range<u32>, error: f32) -> Self {
        let columns = Mesh::tiles_of(input.size).x;
        let mut band = Self::default();
        for y in rows {
            for x in 0..columns {
                band.add(&Tile::new(input, UVec2::new(x, y) * TILE), input.sources.len(), error);
            }
        }
        band
    }

    /// Adds the layers of a tile: one for each camera that contributes to the tile, or one black layer if no camera
    /// does. `cameras` is the number of all cameras.
    fn add(&mut self, tile: &Tile<'_>, cameras: usize, error: f32) {
        let cameras: Vec<_> = (0..cameras).filter(|camera| tile.is_seen(*camera)).collect();
        // If each pixel has a contributing camera, the shares at each pixel add up to 1. Then the last layer stores no
        // shares, because its share is 1 minus the other layers' shares.
        let covered = tile.is_covered();
        let layer = |camera: &usize| {
            let shares = match cameras[..] {
                [_] if covered => NONE,
                [.., end] if covered && *camera == end => REST,
                _ => self.share(tile, *camera),
            };
            Layer { camera: *camera as u16, shares, ..self.fit(tile, *camera, error) }
        };
        let mut chain: Vec<_> = cameras.iter().map(layer).collect();
        let next = self.further.len();
        for (i, layer) in chain.iter_mut().enumerate().rev().skip(1) {
            layer.next = (next + i) as u32;
        }
        let mut chain = chain.into_iter();
        self.first.push(chain.next().unwrap_or(Layer::BLACK));
        self.further.extend(chain);
    }

    /// Adds the shares of a camera at all pixels of a tile, and returns the index of the first share.
    fn share(&mut self, tile: &Tile<'_>, camera: usize) -> u32 {
        let first = self.shares.len() as u32;
        self.shares.extend(
            tile.whole()
                .map(|pixel| (tile.share(camera, pixel) * f64::from(WHOLE_SHARE)).round() as u16),
        );
        first
    }

    /// Adds the patches of a camera in a tile, for the largest cell size at which all patches are within the error
    /// bound. If there is no such size, adds the source coordinates of each pixel (places) instead. Returns a layer
    /// that refers to these patches or places.
    fn fit(&mut self, tile: &Tile<'_>, camera: usize, error: f32) -> Layer {
        if tile.may_have_one_patch(camera)
            && let Some(patch) = tile.patch(camera, UVec2::ZERO, TILE, error)
        {
            return Layer { cell: TILE as u16, patch, ..Layer::BLACK };
        }
        let first = self.patches.len();
        'cells: for cell in CELLS.into_iter().skip(1) {
            for corner in corners(cell) {
                let Some(patch) = tile.patch(camera, corner, cell, error) else {
                    self.patches.truncate(first);
                    continue 'cells;
                };
                self.patches.push(patch);
            }
            return Layer { cell: cell as u16, places: first as u32, ..Layer::BLACK };
        }
        let first = self.places.len() as u32;
        self.places.extend(tile.whole().map(|pixel| SourcePoint(tile.place(camera, pixel))));
        Layer { cell: 0, places: first, ..Layer::BLACK }
    }
}

#[cfg(test)]
mod tests {
    use glam::uvec2;

    use super::*;
    use crate::warp::Warp;

    /// Returns a warp of two cameras that overlap in the middle. Its distortion grows from top to bottom, so that some
    /// tiles need one patch, some need several smaller cells, and some need places.
    fn warp(size: UVec2) -> Warp {
        let plane = |at: &dyn Fn(f32, f32) -> f32| {
            let pixels = (0..size.y).flat_map(|y| (0..size.x).map(move |x| (x, y)));
            pixels.map(|(x, y)| at(x as f32, y as f32)).collect::<Vec<_>>()
        };
        let bend = |x: f32, y: f32| match y {
            ..150.0 => x,
            150.0..220.0 => x + 3.0 * (0.05 * (x + y)).sin(),
            _ => x + 3.0 * (1.7 * (x + y)).sin(),
        };
        let right = |x: f32| ((x - 60.0) / 80.0).clamp(0.0, 1.0);
        let planes = [
            plane(&bend),
            plane(&|_, y| y),
            plane(&|x, y| bend(x, y) - 50.0),
            plane(&|_, y| y - 30.0),
            plane(&|x, _| 1.0 - right(x)),
            plane(&|x, _| right(x)),
        ];
        Warp::new(size, [uvec2(150, 400); 2], planes).unwrap()
    }

    #[test]
    fn a_mesh_does_not_depend_on_the_number_of_threads() {
        for size in [uvec2(200, 300), uvec2(131, 33), uvec2(1, 1)] {
            let warp = warp(size);
            let input = MeshInput::from(&warp);
            let one = Mesh::by_bands(&input, 1.0 / 32.0, 1);
            if size.y == 300 {
                let kinds = one.divisions();
                assert!(kinds[0] > 0 && kinds[1] + kinds[2] > 0 && kinds[3] > 0, "{kinds:?}");
                assert!(one.shares.len() > TILE.pow(2) as usize);
                assert!(one.layers.iter().any(|layer| layer.next != NONE));
            }
            for bands in [2, 3, 5, 8, 1000] {
                assert!(Mesh::by_bands(&input, 1.0 / 32.0, bands) == one, "{size}, {bands}");
            }
        }
    }

    #[test]
    fn bands_cover_all_rows_in_order() {
        for (rows, bands) in [(1, 1), (1, 8), (7, 3), (1024, 8), (5, 5)] {
            let found = each_band(rows, bands, |rows| rows);
            assert_eq!(found.len(), bands.min(rows) as usize);
            assert!(found.iter().all(|rows| !rows.is_empty()), "{found:?}");
            assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), Vec::from_iter(0..rows));
        }
    }
}
