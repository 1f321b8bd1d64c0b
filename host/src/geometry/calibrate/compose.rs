//! Builds the rig of calibrated pictures. Its panorama is upright and centred, and its canvas contains all pictures.
//!
//! For rotating cameras, a canvas pixel in the middle of the panorama covers the same angle as a pixel of the camera
//! with the median focal length. The default projection depends on the angles that the cameras cover:
//! - planar, like a photograph, for less than [`PLANAR`] degrees of width and height,
//! - cylindrical for wider views,
//! - equirectangular for views that reach [`CYLINDRICAL`] degrees or more above or below the horizon.
//!
//! For pictures that show one plane, the canvas pixels are those of the reference picture, which is then not resampled.
//! A canvas that would have more than [`MOST_AREA`] times the pixels of all pictures has a lower resolution.

use glam::{DMat3, DVec2, DVec3, UVec2};
use shared_types::warp::{Camera, Canvas};

use super::horizon::{angles, level, up};
use super::planes::{normed, stretch};
use super::{Photo, Refusal, Views};
use crate::geometry::homography::{corners, span};
use crate::geometry::rig::{
    CameraMatrix, CameraPose, LensName, MAX_RIG_CAMERAS, Mount, ProjectionName, Quality, Rig,
    RigCamera, RigCanvas, rotation,
};
use crate::geometry::{MAX_CANVAS_AREA, MAX_CANVAS_SIDE, Vignetting, border, inside};

/// Width and height, in degrees, below which a view is planar by default. At 80°, the edge is stretched 1.7 times.
const PLANAR: f64 = 80.0;

/// Elevation above or below the horizon, in degrees, below which a view is cylindrical by default. At 50°, a cylinder
/// stretches a picture 1.6 times in width and 2.4 times in height, and the stretch grows without limit towards the
/// poles. An equirectangular panorama also stretches it 1.6 times in width, but never in height.
const CYLINDRICAL: f64 = 50.0;

/// Maximum number of canvas pixels, as a multiple of the pixels of all pictures. Two pictures that meet at a corner
/// need twice their pixels, and a diagonal row of twenty pictures needs up to ten times their pixels. A larger canvas
/// would consist of stretched or empty parts.
const MOST_AREA: f64 = 8.0;

/// The limit below which width and height of a planar view must stay, in degrees, even if the user selects the
/// projection. At 150°, the edge is stretched 15 times.
const PLANAR_AT_MOST: f64 = 150.0;

/// The limit below which the elevation of a cylindrical view must stay, in degrees above or below the horizon, even if
/// the user selects the projection.
const CYLINDRICAL_AT_MOST: f64 = 80.0;

/// Options for the panorama of a calibrated rig.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RigOptions {
    /// Projection of the panorama. `None` selects it by the angles that the cameras cover. Pictures that show one plane
    /// allow only a planar panorama.
    pub projection: Option<ProjectionName>,
    /// Whether the panorama is cropped to the largest rectangle without black pixels. If there is none, building the
    /// rig fails with [`Refusal::Crop`].
    pub crop: bool,
    /// The angle in degrees by which the content of the panorama is turned clockwise after it was levelled.
    pub roll: f64,
    /// The angle in degrees by which the scene ahead is raised after it was levelled, which bends or straightens the
    /// horizon. Pictures that show one plane allow only 0.
    pub pitch: f64,
}

/// Returns the rig of calibrated pictures. `reference` is the index of the reference picture.
pub(super) fn rig(
    pictures: &[Photo],
    views: &Views,
    reference: usize,
    quality: Quality,
    options: &RigOptions,
) -> Result<Rig, Refusal> {
    let count = match views {
        Views::Planes(matrices) => matrices.len(),
        Views::Rotation(cameras) => cameras.len(),
    };
    // The fields of a calibration are public, so that anyone can build one.
    if !(2..=MAX_RIG_CAMERAS).contains(&count) || pictures.len() != count {
        return Err(Refusal::Pictures { found: count.min(pictures.len()) });
    }
    let (panorama, views) = match views {
        Views::Planes(matrices) => on_plane(pictures, matrices, options)?,
        Views::Rotation(cameras) => in_one_place(cameras, reference, options)?,
    };
    let camera = |(picture, view): (&Photo, CameraPose)| RigCamera {
        name: picture.name.clone(),
        size: picture.size.into(),
        view,
        vignetting: Vignetting::NONE,
    };
    let cameras = pictures.iter().zip(views).map(camera).collect();
    let quality = Some(quality);
    let file = "calibration".into();
    let mut rig = Rig { file, panorama, cameras, quality, calibrations: Vec::new() };
    let mut geometry = rig.geometry()?;
    if options.crop {
        geometry = geometry.cropped().ok_or(Refusal::Crop)?;
    }
    // Encoders of videos need even sides.
    let Canvas { size, scale, centre, .. } = geometry.canvas;
    let even = (size & !UVec2::ONE).max(size.min(UVec2::splat(2)));
    if rig.panorama.fov >= 360.0 && !options.crop {
        rig.panorama = rig.panorama.resized(even);
    } else if options.crop || even != size {
        rig.panorama = RigCanvas { fov_vertical: None, ..rig.panorama };
        place(&mut rig.panorama, even, scale.x, centre);
    }
    Ok(rig)
}

/// Sets the size, the field of view and the centre of a panorama. `scale` is in pixels per unit of the projection, and
/// `centre` is the canvas pixel of the viewing direction.
fn place(panorama: &mut RigCanvas, size: UVec2, scale: f64, centre: DVec2) {
    let half = f64::from(size.x) / 2.0 / scale;
    let half = if panorama.projection.straight_columns() { libm::atan(half) } else { half };
    (panorama.width, panorama.height) = (size.x, size.y);
    panorama.fov = (2.0 * half).to_degrees();
    panorama.centre = Some(centre.into());
}

/// Returns a panorama that looks straight ahead, with a placeholder for its size. The caller must set the size.
fn panorama(projection: ProjectionName) -> RigCanvas {
    let (width, height, fov) = (1, 1, 90.0);
    let (fov_vertical, yaw, pitch, centre) = (None, 0.0, 0.0, None);
    RigCanvas { projection, width, height, fov, fov_vertical, yaw, pitch, centre }
}

/// Returns the canvas for pictures that show one plane, and the poses of the pictures' cameras. The canvas lies in the
/// plane of the reference picture.
fn on_plane(
    pictures: &[Photo],
    matrices: &[DMat3],
    options: &RigOptions,
) -> Result<(RigCanvas, Vec<CameraPose>), Refusal> {
    if let Some(projection) = options.projection.filter(|&p| p != ProjectionName::Planar) {
        return Err(Refusal::ProjectionOfPlane { projection: projection.as_str() });
    }
    let maps: Vec<_> =
        matrices.iter().zip(pictures).map(|(matrix, picture)| (*matrix, picture.size)).collect();
    if let Some(i) = maps.iter().position(|(matrix, size)| stretch(*matrix, *size).is_infinite()) {
        return Err(Refusal::Stretched { name: pictures[i].name.clone() });
    }
    if options.pitch != 0.0 {
        return Err(Refusal::PitchOfPlane);
    }
    let scale = DMat3::from_scale(DVec2::splat(plane_scale(&maps)));
    let turned = DMat3::from_angle(options.roll.to_radians()) * scale;
    let maps: Vec<_> = maps.into_iter().map(|(matrix, size)| (turned * matrix, size)).collect();
    let geometry = span("calibration".as_ref(), &maps)?;
    let canvas = geometry.canvas;
    let mut panorama = panorama(ProjectionName::Planar);
    (panorama.width, panorama.height) = (canvas.size.x, canvas.size.y);
    // The panorama has a field of view of 90°, so x/z of its rays is from -1 to 1 across the canvas. The lenses of the
    // cameras do not matter, because homographies map these rays to pixels.
    let own = panorama.canvas();
    let pixel =
        DMat3::from_cols(DVec3::X * own.scale.x, DVec3::Y * own.scale.y, own.centre.extend(1.0));
    let plane = DMat3::from_translation(-canvas.centre);
    let view = |camera: &Camera| {
        // `normed` requires a map that does not mirror, and the map from canvas to picture does not mirror.
        CameraPose::Homography(normed(camera.from_ray * plane * pixel))
    };
    Ok((panorama, geometry.cameras.iter().map(view).collect()))
}

/// Returns the factor by which the canvas of a plane is scaled so that it does not exceed the limits of its size. It is
/// at most 1.
fn plane_scale(maps: &[(DMat3, UVec2)]) -> f64 {
    let corner = |matrix: &DMat3, at: DVec2| {
        let at = *matrix * at.extend(1.0);
        at.truncate() / at.z
    };
    let all = maps.iter().flat_map(|(matrix, size)| corners(*size).map(|at| corner(matrix, at)));
    let start = (DVec2::INFINITY, DVec2::NEG_INFINITY);
    let (low, high) = all.fold(start, |(low, high), at| (low.min(at), high.max(at)));
    largest_scale(high - low, maps.iter().map(|(_, size)| *size)).min(1.0)
}

/// Returns the largest scale at which a canvas does not exceed the limits of its size. `span` is the size of the canvas
/// at a scale of 1, and `sizes` are the sizes of the pictures.
fn largest_scale(span: DVec2, sizes: impl Iterator<Item = UVec2>) -> f64 {
    let pixels: f64 = sizes.map(|size| size.as_dvec2().element_product()).sum();
    // The factor and the difference leave room for rounding the sides up to whole pixels.
    let area = 0.999 * (MOST_AREA * pixels).min(MAX_CANVAS_AREA as f64);
    let side = (f64::from(MAX_CANVAS_SIDE) - 2.0) / span.max_element();
    side.min((area / span.element_product()).sqrt())
}

/// The bounding box of the pictures' borders on a canvas of scale 1. The viewing direction is at the origin.
struct Extent {
    /// The smallest x and y.
    low: DVec2,
    /// The largest x and y.
    high: DVec2,
}

/// Returns the canvas for cameras at one position, and the poses of the cameras on it.
fn in_one_place(
    cameras: &[Camera],
    reference: usize,
    options: &RigOptions,
) -> Result<(RigCanvas, Vec<CameraPose>), Refusal> {
    let to_world: Vec<DMat3> = cameras.iter().map(|camera| camera.from_ray.transpose()).collect();
    let ahead = to_world.iter().map(|axes| axes.z_axis).sum::<DVec3>();
    // `level` turns `ahead` to the z axis, about which a roll turns.
    let levelled =
        rotation(0.0, options.pitch, options.roll) * level(up(&to_world, reference), ahead);
    let rays: Vec<DVec3> = cameras
        .iter()
        .zip(&to_world)
        .flat_map(|(camera, axes)| border(camera).flatten().map(move |ray| levelled * *axes * ray))
        .collect();
    let (mut middle, mut width) = longitudes(&rays);
    // `longitudes` took the largest gap between the rays for the part that no camera sees. If a camera does see the
    // middle of this gap, the cameras cover the full circle.
    if sees(cameras, levelled, middle + std::f64::consts::PI) {
        let ahead = to_world.get(reference).map_or(DVec3::Z, |axes| levelled * axes.z_axis);
        (middle, width) = (libm::atan2(ahead.x, ahead.z), std::f64::consts::TAU);
    }
    let centred = rotation(middle.to_degrees(), 0.0, 0.0).transpose();
    let rays: Vec<DVec3> = rays.into_iter().map(|ray| centred * ray).collect();
    // The rays are from the borders of the pictures, so they cannot reveal a pole in the middle of a picture.
    let pole = [DVec3::Y, -DVec3::Y].into_iter().any(|pole| sees_ray(cameras, levelled, pole));
    let view = Scope::new(&rays, width.to_degrees(), pole);
    let mut panorama = panorama(view.projection(options)?);
    if panorama.projection == ProjectionName::Planar {
        // Tilt a planar panorama towards the middle of the view. The other projections stay upright, so that the
        // horizon stays a straight line.
        panorama.pitch = 0.5 * (view.low + view.high);
    }
    let tilted = rotation(0.0, panorama.pitch, 0.0).transpose();
    let extent = extent(&rays, panorama.projection, tilted, view.width, pole);
    fit_canvas(&mut panorama, &extent, cameras);
    let pose = |(camera, axes): (&Camera, &DMat3)| {
        CameraPose::Mount(mount(camera, centred * levelled * *axes))
    };
    Ok((panorama, cameras.iter().zip(&to_world).map(pose).collect()))
}

/// The angular range that all cameras together see, in degrees.
struct Scope {
    /// Width of the range of longitudes.
    width: f64,
    /// Minimum elevation on the borders of the pictures.
    low: f64,
    /// Maximum elevation on the borders of the pictures.
    high: f64,
    /// Whether a picture contains a pole.
    pole: bool,
}

impl Scope {
    fn new(rays: &[DVec3], width: f64, pole: bool) -> Self {
        let elevation = |ray: &DVec3| libm::atan2(-ray.y, libm::hypot(ray.x, ray.z)).to_degrees();
        let (low, high) = rays
            .iter()
            .map(elevation)
            .fold((90.0_f64, -90.0_f64), |(low, high), e| (low.min(e), high.max(e)));
        Self { width, low, high, pole }
    }

    /// Returns the requested projection, or the default projection for this range. Returns an error if the requested
    /// projection cannot show the range.
    fn projection(&self, options: &RigOptions) -> Result<ProjectionName, Refusal> {
        let Self { width, low, high, pole } = *self;
        let highest = if pole { 90.0 } else { high.max(-low) };
        let suits = if width < PLANAR && high - low < PLANAR && !pole {
            ProjectionName::Planar
        } else if highest < CYLINDRICAL {
            ProjectionName::Cylindrical
        } else {
            ProjectionName::Equirectangular
        };
        let projection = options.projection.unwrap_or(suits);
        let (degrees, most) = match projection {
            ProjectionName::Planar if pole => (180.0, PLANAR_AT_MOST),
            ProjectionName::Planar => (width.max(high - low), PLANAR_AT_MOST),
            ProjectionName::Cylindrical => (2.0 * highest, 2.0 * CYLINDRICAL_AT_MOST),
            ProjectionName::Equirectangular => (0.0, 360.0),
        };
        if degrees >= most {
            let (projection, suits) = (projection.as_str(), suits.as_str());
            return Err(Refusal::Projection { projection, degrees, most, suits });
        }
        Ok(projection)
    }
}

/// Sets the scale and the size of a panorama. The middle of the panorama has the resolution of the camera with the
/// median focal length, or a lower resolution if the canvas would otherwise exceed the limits of its size.
fn fit_canvas(panorama: &mut RigCanvas, extent: &Extent, cameras: &[Camera]) {
    let mut focals: Vec<f64> = cameras.iter().map(|camera| camera.focal.x).collect();
    focals.sort_by(f64::total_cmp);
    let span = (extent.high - extent.low).max(DVec2::splat(1e-9));
    let most = largest_scale(span, cameras.iter().map(|camera| camera.size));
    let scale = focals[focals.len() / 2].min(most);
    let (low, high) = (extent.low * scale, extent.high * scale);
    let size = (high - low).ceil().max(DVec2::ONE);
    place(panorama, size.as_uvec2(), scale, -low - 0.5);
    let (most_x, most_y) = match panorama.projection {
        ProjectionName::Planar => (179.0, f64::INFINITY),
        ProjectionName::Cylindrical => (360.0, f64::INFINITY),
        ProjectionName::Equirectangular => (360.0, 180.0),
    };
    panorama.fov = panorama.fov.min(most_x);
    // After rounding up to whole pixels, a full sphere would be slightly higher than 180°.
    let rows = (most_y.to_radians() * panorama.scale().y).floor();
    panorama.height = panorama.height.min(rows.clamp(1.0, f64::from(u32::MAX)) as u32);
}

/// Returns the lens and the orientation of a camera. `to_world` rotates the camera's frame to the world's.
fn mount(camera: &Camera, to_world: DMat3) -> Mount {
    let [yaw, pitch, roll] = angles(to_world);
    Mount {
        lens: LensName::of(camera.lens),
        matrix: CameraMatrix {
            fx: camera.focal.x,
            fy: camera.focal.y,
            cx: camera.centre.x,
            cy: camera.centre.y,
        },
        distortion: coefficients(camera),
        yaw,
        pitch,
        roll,
    }
}

/// Returns whether `ray` meets the picture of any camera. `levelled` rotates the cameras' world to the frame of `ray`.
fn sees_ray(cameras: &[Camera], levelled: DMat3, ray: DVec3) -> bool {
    let ray = levelled.transpose() * ray;
    cameras.iter().any(|camera| {
        kernels_gpu::warp::project(camera, camera.from_ray * ray)
            .is_some_and(|at| inside(at, camera.size))
    })
}

/// Returns whether any camera sees a direction with this longitude in radians. Tests all whole degrees of elevation
/// from −89 to 89.
fn sees(cameras: &[Camera], levelled: DMat3, longitude: f64) -> bool {
    let ahead = DVec3::new(libm::sin(longitude), 0.0, libm::cos(longitude));
    (-89..90).any(|degrees| {
        let elevation = f64::from(degrees).to_radians();
        let ray = ahead * libm::cos(elevation) - DVec3::Y * libm::sin(elevation);
        sees_ray(cameras, levelled, ray)
    })
}

/// Returns the distortion coefficients without trailing zeros.
fn coefficients(camera: &Camera) -> Vec<f64> {
    let many = camera.distortion.iter().rposition(|&k| k != 0.0).map_or(0, |last| last + 1);
    camera.distortion[..many].to_vec()
}

/// Returns the middle and the width, in radians, of the smallest range of longitudes that contains all rays. The range
/// is the full circle without the largest gap between rays. The caller must check that no camera sees into this gap.
fn longitudes(rays: &[DVec3]) -> (f64, f64) {
    let turn = 2.0 * std::f64::consts::PI;
    let mut all: Vec<f64> = rays.iter().map(|ray| libm::atan2(ray.x, ray.z)).collect();
    all.sort_by(f64::total_cmp);
    let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return (0.0, 1e-9) };
    let around = [last, first + turn];
    let (mut gap, mut from) = (around[1] - around[0], first);
    for pair in all.windows(2) {
        if pair[1] - pair[0] > gap {
            (gap, from) = (pair[1] - pair[0], pair[1]);
        }
    }
    let width = turn - gap;
    let middle = from + 0.5 * width;
    (middle - turn * (middle / turn).round(), width)
}

/// Returns the extent of rays on a canvas of scale 1. `tilted` rotates the viewing direction to z, `width` is the range
/// of longitudes in degrees, and `pole` is whether a picture contains a pole.
fn extent(
    rays: &[DVec3],
    projection: ProjectionName,
    tilted: DMat3,
    width: f64,
    pole: bool,
) -> Extent {
    let at = |ray: &DVec3| {
        let ray = tilted * *ray;
        let flat = libm::hypot(ray.x, ray.z);
        match projection {
            ProjectionName::Planar => DVec2::new(ray.x, ray.y) / ray.z.max(1e-3),
            ProjectionName::Cylindrical => {
                DVec2::new(libm::atan2(ray.x, ray.z), ray.y / flat.max(1e-3))
            }
            ProjectionName::Equirectangular => {
                DVec2::new(libm::atan2(ray.x, ray.z), libm::atan2(ray.y, flat))
            }
        }
    };
    let start = (DVec2::INFINITY, DVec2::NEG_INFINITY);
    let (mut low, mut high) =
        rays.iter().map(at).fold(start, |(low, high), p| (low.min(p), high.max(p)));
    if projection != ProjectionName::Planar {
        // Rays near ±180° may appear at either end of the range, so their minimum and maximum are meaningless. The
        // range of longitudes is known instead.
        let half = if pole { std::f64::consts::PI } else { 0.5 * width.to_radians() };
        (low.x, high.x) = (-half, half);
    }
    if pole && projection == ProjectionName::Equirectangular {
        let quarter = std::f64::consts::FRAC_PI_2;
        // Include both poles, because the rays do not tell which one is visible. A black border is better than a
        // cropped picture.
        (low.y, high.y) = (-quarter, quarter);
    }
    Extent { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_picture_needs_a_view() {
        let photo = Photo::new("a", UVec2::new(640, 480));
        let quality = Quality {
            model: crate::geometry::rig::ModelName::Homography,
            matches: 90,
            inliers: 80,
            rms_px: 0.3,
            overlap: 0.3,
            coverage: 0.5,
            seam_error_px: 0.5,
        };
        for (pictures, views) in [
            (vec![], Views::Rotation(vec![])),
            (vec![], Views::Planes(vec![])),
            (vec![photo.clone()], Views::Planes(vec![DMat3::IDENTITY; 2])),
            (vec![photo; 3], Views::Planes(vec![DMat3::IDENTITY; 2])),
        ] {
            let refused = rig(&pictures, &views, 0, quality.clone(), &RigOptions::default());
            assert!(matches!(refused, Err(Refusal::Pictures { .. })), "{refused:?}");
        }
    }

    #[test]
    fn longitudes_may_cross_180_degrees() {
        let ray = |degrees: f64| rotation(degrees, 0.0, 0.0) * DVec3::Z;
        let (middle, width) = longitudes(&[ray(170.0), ray(-160.0), ray(175.0), ray(-175.0)]);
        assert!((middle.to_degrees() - -175.0).abs() < 1e-9, "{}", middle.to_degrees());
        assert!((width.to_degrees() - 30.0).abs() < 1e-9);
        let (middle, width) = longitudes(&[ray(-20.0), ray(50.0)]);
        assert!(
            (middle.to_degrees() - 15.0).abs() < 1e-9 && (width.to_degrees() - 70.0).abs() < 1e-9
        );
    }
}
