//! Views on the CPU: two rows of 32 pixels at a time, on all cores.
//!
//! Differences to the kernels: the lens is computed at every pixel, which changes a position by at most 1/256 pixel; the
//! filter weights of textures are not rounded to 8 bits; and two cameras are blended like more. Each changes a level by
//! less than 1.

use super::camera::{MIDDLE, ROUNDING, Weights};
use super::source::{FALLBACK, nv12, p010, plane, rgba8};
use crate::cpu::vectorised;
use crate::io::Sampler2d;
use crate::rows::{
    Colours, Opens, Panorama, Picture, Places, Plane, Row, SIDE, Shading, accumulate, bilinear,
    divide,
};
use crate::warp::lens::{angle, bend as bend_one, closed};
use cuda_std::launch::LaunchConfig;
use cuda_std::prelude::*;
use glam::{UVec2, Vec2, Vec3, vec2};
use rayon::prelude::*;
use shared_types::photometry::Vignette;
use shared_types::stitch::mesh::Grading;
use shared_types::stitch::{Colour, MAX_CAMERAS};
use shared_types::texture::AnyTexture;
use shared_types::view::{
    BLOCK, Rays, ViewCamera, ViewCameras, ViewCanvas, ViewFrame, ViewSource, tile,
};
use shared_types::warp::{Lens, Projection};
use shared_types::yuv::YuvToRgb;
use std::vec::Vec;

/// A camera of a view.
struct ViewPicture {
    picture: Picture,
    camera: ViewCamera,
    size: Vec2,
    grading: Grading,
    shading: Shading,
    /// The plane of its weights. `None` if the cameras are feathered.
    weights: Option<Plane>,
}

/// Positions on a canvas.
struct OnCanvas {
    /// Texture coordinates, clamped to the centres of the canvas's pixels.
    places: Places,
    /// Whether a position is at most half a pixel away from these centres: 1 or 0.
    inside: [Row; 2],
}

/// Computes a launch for two cameras; see `cameras_kernel!`. Returns false if a picture or the launch is not supported.
///
/// # Safety
/// All memory must be valid host memory, and nothing else may access the view.
#[expect(clippy::too_many_arguments, reason = "they are the arguments of the kernels")]
pub(super) unsafe fn cameras<P: Opens + Sampler2d>(
    config: &LaunchConfig,
    left: P,
    right: P,
    left_weight: View<f32>,
    right_weight: View<f32>,
    canvas: ViewCanvas,
    cameras: ViewCameras,
    frame: ViewFrame,
    out: impl Into<Panorama>,
) -> bool {
    let planes = [left_weight, right_weight];
    let weighed = Weights { planes, canvas: &canvas }.are_there();
    let [left_weight, right_weight] = planes.map(|plane| weighed.then_some(plane));
    let [left_size, right_size] = [left, right].map(|picture| Sampler2d::size(&picture));
    // SAFETY: the caller guarantees that the pictures are valid host memory.
    let sources = unsafe {
        [
            ViewPicture::open((left, left_size), cameras.left, &frame.decode, left_weight),
            ViewPicture::open((right, right_size), cameras.right, &frame.decode, right_weight),
        ]
    };
    let Some(sources) = sources.into_iter().collect::<Option<Vec<_>>>() else { return false };
    // SAFETY: the caller guarantees it.
    unsafe { blended(config, &sources, weighed.then_some(&canvas), &frame, out.into()) }
}

/// Computes a launch for up to [`MAX_CAMERAS`] cameras; see `many_cameras_kernel!`. The pictures are P010 if `DEEP`, and
/// mixed with a colour or darkened by vignetting if `MIXED`. Returns false if a picture or the launch is not supported.
///
/// # Safety
/// The conditions of the kernels apply. All memory must be valid host memory, and nothing else may access the view.
pub(super) unsafe fn many<const DEEP: bool, const MIXED: bool>(
    config: &LaunchConfig,
    sources: Table<ViewSource, MAX_CAMERAS>,
    planes: View<f32>,
    canvas: ViewCanvas,
    frame: ViewFrame,
    out: impl Into<Panorama>,
) -> bool {
    let weighed = UVec2::new(planes.width(), planes.height()) == canvas.size;
    let planes = weighed.then_some(&planes);
    let all = (0..sources.len()).filter_map(|i| sources.get(i));
    let canvas = weighed.then_some(&canvas);
    // SAFETY: the caller guarantees the conditions. If `weighed`, the planes are not empty.
    let sources = unsafe {
        if DEEP {
            let open = |source: &ViewSource| p010(source);
            opened::<_, MIXED>(all, open, planes)
        } else {
            let open = |source: &ViewSource| match source.chroma {
                0 => AnyTexture::Rgba8(rgba8(source)),
                _ => AnyTexture::Nv12(nv12(source)),
            };
            opened::<_, MIXED>(all, open, planes)
        }
    };
    // SAFETY: the caller guarantees it.
    sources.is_some_and(|sources| unsafe { blended(config, &sources, canvas, &frame, out.into()) })
}

/// Opens the pictures of cameras and the planes of their weights, if there are some. Returns `None` if one of them is not
/// supported.
///
/// # Safety
/// The conditions of the kernels apply, `picture` must return the picture of a camera, and planes must not be empty.
unsafe fn opened<P: Opens, const MIXED: bool>(
    sources: impl Iterator<Item = ViewSource>,
    picture: impl Fn(&ViewSource) -> P,
    planes: Option<&View<f32>>,
) -> Option<Vec<ViewPicture>> {
    let open = |source: ViewSource| {
        let picture = (picture(&source), source.size);
        // SAFETY: the caller guarantees it.
        let opened = unsafe {
            let plane = planes.map(|planes| plane(planes, &source));
            ViewPicture::open(picture, source.camera(), &source.decode, plane)
        };
        opened.map(|opened| if MIXED { opened.mixed(&source) } else { opened })
    };
    sources.map(open).collect()
}

/// Computes the pixels of a view on all cores: the blended pictures of cameras. `canvas` is that of the weights. Returns
/// false if the launch does not compute the whole view.
///
/// # Safety
/// The pictures, the planes and the view must be valid host memory, and nothing else may access the view.
unsafe fn blended(
    config: &LaunchConfig,
    sources: &[ViewPicture],
    canvas: Option<&ViewCanvas>,
    frame: &ViewFrame,
    out: Panorama,
) -> bool {
    let ((width, height), tile) = (out.size(), tile(out.cell()));
    let sound = config.block == [BLOCK[0], BLOCK[1], 1]
        && config.grid[0] >= width.div_ceil(tile.x)
        && config.grid[1] >= height.div_ceil(tile.y)
        && out.is_whole();
    if !sound {
        return false;
    }
    (0..height.div_ceil(2)).into_par_iter().for_each(|pair| {
        vectorised!(for x in (0..width).step_by(SIDE) {
            let at = UVec2::new(x, 2 * pair);
            let colours = blend(sources, canvas, at.as_vec2() - frame.middle);
            // SAFETY: `at` is inside the view, which is whole. Nothing else writes these pixels.
            unsafe { out.store(at, &colours, &frame.encode, false) };
        });
    });
    true
}

/// Returns the weighted mean colours of cameras in two rows, whose first pixel is at offset `at` from the view's middle.
/// Pixels that no camera sees are black.
#[inline(always)]
fn blend(sources: &[ViewPicture], canvas: Option<&ViewCanvas>, at: Vec2) -> Colours {
    let mut sums: Colours = [[[0.0; SIDE]; 3]; 2];
    let mut totals = [[0.0; SIDE]; 2];
    let on_canvas = canvas.map(|canvas| on_canvas(canvas, at));
    for source in sources.iter().filter(|source| source.may_see(at)) {
        let (places, mut weights) = source.places(at);
        if weights.as_flattened().iter().fold(0.0, |sum, weight| sum + weight) == 0.0 {
            continue;
        }
        if let (Some(plane), Some(on_canvas)) = (&source.weights, &on_canvas) {
            weigh(plane, on_canvas, &mut weights);
        }
        let mut colours: Colours = [[[0.0; SIDE]; 3]; 2];
        source.picture.sample(&places, false, &source.grading, &mut colours);
        source.shading.apply(&places, &mut colours);
        accumulate(&mut sums, &mut totals, &colours, &weights);
    }
    divide(&mut sums, &totals);
    sums
}

/// Replaces the weights of feathering by those of a plane. Feathering decides only where all weights of planes are 0.
#[inline(always)]
fn weigh(plane: &Plane, OnCanvas { places, inside }: &OnCanvas, weights: &mut [Row; 2]) {
    for i in 0..2 {
        let corners = plane.corners(&places[i][0], &places[i][1]);
        let (mut above, mut below) = ([[0.0_f32; 2]; SIDE], [[0.0_f32; 2]; SIDE]);
        plane.pairs(&corners, &mut above, &mut below);
        for k in 0..SIDE {
            let corner = [above[k][0], above[k][1], below[k][0], below[k][1]];
            let weight = bilinear(corner, corners.right[k], corners.below[k]);
            let feathered = weights[i][k];
            let own = if feathered > 0.0 { weight * inside[i][k] } else { 0.0 };
            weights[i][k] = feathered * FALLBACK + own;
        }
    }
}

impl ViewPicture {
    /// Opens the picture of a camera and the plane of its weights. Returns `None` if one of them is not supported.
    ///
    /// # Safety
    /// Both must be valid host memory as long as the source is used.
    unsafe fn open(
        (picture, size): (impl Opens, UVec2),
        camera: ViewCamera,
        decode: &YuvToRgb,
        weights: Option<View<f32>>,
    ) -> Option<Self> {
        let grading = picture.grading(camera.colour, decode);
        let size = size.as_vec2();
        let weights = match weights {
            // SAFETY: the caller guarantees it.
            Some(plane) => Some(unsafe { Plane::of_view(plane) }?),
            None => None,
        };
        // SAFETY: the caller guarantees it.
        let picture = unsafe { picture.open() }?;
        let shading = Shading::of_gamma(camera.colour.gamma);
        Some(Self { picture, camera, size, grading, shading, weights })
    }

    /// Adds a constant colour to the picture, and undoes its vignetting; see [`ViewSource::offset`].
    fn mixed(self, source: &ViewSource) -> Self {
        let Colour { gain, shoulder, .. } = source.colour;
        let shading = Shading {
            vignette: Vignette { centre: source.vignette.centre + 0.5, ..source.vignette },
            offset: source.offset,
            shoulder: (shoulder != 0.0).then(|| [gain, Vec3::splat(shoulder)]),
            ..self.shading
        };
        Self { shading, ..self }
    }

    /// Returns whether the camera may see a pixel of two rows, whose first pixel is at offset `at` from the view's middle.
    #[inline(always)]
    fn may_see(&self, at: Vec2) -> bool {
        // The bounds are those of a tile, which is larger than two rows of 32 pixels.
        let middle = at + vec2(0.5 * (SIDE - 1) as f32, 0.5);
        self.camera.bounds.iter().all(|b| middle.x * b.x + (middle.y * b.y + b.z) >= 0.0)
    }

    /// Returns the texture coordinates of two rows, and the weights of feathering: the distance from the edge of the
    /// picture, divided by its shorter side. A weight is 0 where the camera does not see the pixel.
    #[inline(always)]
    fn places(&self, at: Vec2) -> (Places, [Row; 2]) {
        let (mut places, mut weights): (Places, _) = ([[[0.0; SIDE]; 2]; 2], [[0.0; SIDE]; 2]);
        let (end, per_side, lens) = (self.size + 0.5, self.camera.per_side, self.camera.lens);
        for i in 0..2 {
            let rays = rays(&self.camera.rays, at + vec2(0.0, i as f32));
            let [x, y] = bend(&self.camera, &rays);
            let (focal, centre) = (self.camera.focal, self.camera.centre + 0.5);
            for k in 0..SIDE {
                let (x, y) = (x[k] * focal.x + centre.x, y[k] * focal.y + centre.y);
                let (x, y) = (closed(lens, x, MIDDLE), closed(lens, y, MIDDLE));
                (places[i][0][k], places[i][1][k]) = (x, y);
                // A NaN fails all comparisons.
                let inside = (x >= 0.5) & (x < end.x) & (y >= 0.5) & (y < end.y);
                let near = smaller(x, y) + 0.5;
                let margin = smaller(near, smaller(end.x - x, end.y - y));
                weights[i][k] = if inside { margin * per_side } else { 0.0 };
            }
        }
        (places, weights)
    }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns the rays of a row of pixels, whose first pixel is at offset `at` from the view's middle.
#[inline(always)]
fn rays(Rays { middle, along, down }: &Rays, at: Vec2) -> [Row; 3] {
    let start = *middle + *down * at.y;
    let mut rays = [[0.0; SIDE]; 3];
    for (axis, row) in rays.iter_mut().enumerate() {
        let (start, step) = (start[axis], along[axis]);
        for (k, value) in row.iter_mut().enumerate() {
            *value = (at.x + k as f32) * step + start;
        }
    }
    rays
}

/// Returns the points of the picture plane at which the lens of a camera shows rays, as in
/// [`bend`](crate::warp::lens::bend), without branches. The points of rays that the lens cannot see are NaN.
#[inline(always)]
fn bend(camera: &ViewCamera, [x, y, z]: &[Row; 3]) -> [Row; 2] {
    let ([a, b, c, d, e], limit) = (camera.distortion, camera.limit);
    let mut points = [[0.0; SIDE]; 2];
    if camera.lens.is_panorama() {
        for k in 0..SIDE {
            let point =
                bend_one::<_, true>(camera.lens, &camera.distortion, limit, [x[k], y[k], z[k]]);
            [points[0][k], points[1][k]] = point.unwrap_or([f32::NAN; 2]);
        }
        return points;
    }
    if camera.lens == Lens::FISHEYE {
        for k in 0..SIDE {
            let (x, y) = (x[k], y[k]);
            let r2 = x * x + y * y;
            let per_r = if r2 > 0.0 { 1.0 / r2.sqrt() } else { 0.0 };
            let theta = angle(z[k], r2 * per_r);
            let t2 = theta * theta;
            let scale = theta * ((((d * t2 + c) * t2 + b) * t2 + a) * t2 + 1.0) * per_r;
            let scale = if theta <= limit { scale } else { f32::NAN };
            (points[0][k], points[1][k]) = (x * scale, y * scale);
        }
        return points;
    }
    // The coefficients are k₁, k₂, p₁, p₂ and k₃.
    for k in 0..SIDE {
        let per_z = 1.0 / z[k];
        let (x, y) = (x[k] * per_z, y[k] * per_z);
        let (xx, yy, xy2) = (x * x, y * y, 2.0 * x * y);
        let r2 = xx + yy;
        let radial = ((e * r2 + b) * r2 + a) * r2 + 1.0;
        let is_seen = (z[k] > 0.0) & (r2 <= limit * limit);
        let radial = if is_seen { radial } else { f32::NAN };
        points[0][k] = x * radial + (c * xy2 + d * (2.0 * xx + r2));
        points[1][k] = y * radial + (d * xy2 + c * (2.0 * yy + r2));
    }
    points
}

/// Returns the positions on a canvas that two rows show, whose first pixel is at offset `at` from the view's middle; see
/// [`CanvasMap`](super::map::CanvasMap) and [`clamp_to_canvas`](super::camera::clamp_to_canvas).
#[inline(always)]
fn on_canvas(canvas: &ViewCanvas, at: Vec2) -> OnCanvas {
    let mut all = OnCanvas { places: [[[0.0; SIDE]; 2]; 2], inside: [[0.0; SIDE]; 2] };
    let size = canvas.size.as_vec2();
    let reach = 0.5 + ROUNDING * size;
    let (least, end, centre) = (0.5 - reach, size - 0.5 + reach, canvas.centre + 0.5);
    for i in 0..2 {
        let [x, y, z] = rays(&canvas.rays, at + vec2(0.0, i as f32));
        let (mut across, mut down) = ([0.0; SIDE], [0.0; SIDE]);
        match canvas.projection {
            Projection::CYLINDRICAL => {
                for k in 0..SIDE {
                    across[k] = angle(z[k], x[k]);
                    down[k] = y[k] / (x[k] * x[k] + z[k] * z[k]).sqrt();
                }
            }
            Projection::EQUIRECTANGULAR => {
                for k in 0..SIDE {
                    across[k] = angle(z[k], x[k]);
                    down[k] = angle((x[k] * x[k] + z[k] * z[k]).sqrt(), y[k]);
                }
            }
            _ => {
                for k in 0..SIDE {
                    let per_z = if z[k] > 0.0 { 1.0 / z[k] } else { f32::NAN };
                    (across[k], down[k]) = (x[k] * per_z, y[k] * per_z);
                }
            }
        }
        for k in 0..SIDE {
            let x = across[k] * canvas.scale.x + centre.x;
            let y = down[k] * canvas.scale.y + centre.y;
            let inside = (x >= least.x) & (x < end.x) & (y >= least.y) & (y < end.y);
            all.inside[i][k] = if inside { 1.0 } else { 0.0 };
            all.places[i][0][k] = smaller(if x > 0.5 { x } else { 0.5 }, size.x - 0.5);
            all.places[i][1][k] = smaller(if y > 0.5 { y } else { 0.5 }, size.y - 0.5);
        }
    }
    all
}
