//! A warp in device memory. It is uploaded from host memory, or rendered on the device from a geometry.

mod refinement;
mod weights;

use std::sync::{Arc, Mutex, OnceLock};

use glam::{UVec2, Vec2};
use kernels_gpu::warp::{WarpAddMargin, WarpCamera, WarpFeather, WarpResize};
use shared_types::stitch::MIN_WEIGHT;
use shared_types::warp::{BLOCK, Camera, Canvas, DeviceCameraPlanes};
use thiserror::Error;

use super::summing::PanoramaSums;
use super::{DeviceMesh, MESH_ERROR, Mesh, Plane, RenderError, Warp, check_size, check_sizes};
use crate::device::{DeviceError, Event, Image, LaunchConfig, Stream, Textures};
use crate::geometry::Geometry;
use crate::warp::gamma_table::GammaTable;
pub use refinement::Refinement;

/// The planes of a warp in device memory.
#[derive(Debug)]
pub struct DeviceWarp {
    size: UVec2,
    sources: Vec<UVec2>,
    /// The columns and rows of each camera. Warps that differ only in their weights share them.
    coordinates: Arc<[[Image<f32>; 2]]>,
    /// The weights of each camera.
    weights: Vec<Image<f32>>,
    /// The number of the current weights; see [`version`](Self::version).
    version: u64,
    /// An event that is recorded after the work that fills the planes.
    ready: Event,
    /// The mesh for the current weights. It is empty until the mesh is uploaded or computed.
    mesh: OnceLock<DeviceMesh>,
    /// A mesh whose layers and shares do not match the current weights yet. Only a mesh that
    /// [follows](DeviceMesh::follows) the weights is stored here. If an update fails, the mesh stays here, so that the
    /// next update can try again.
    behind: Option<DeviceMesh>,
    /// A cache of texture objects over the planes, and over the frames that were stitched with this warp.
    textures: Mutex<Textures>,
    /// The memory for stitching more than two cameras by planes. It is empty until it is needed. Warps that differ only
    /// in their weights share it.
    summing: Arc<OnceLock<Mutex<PanoramaSums>>>,
    /// The table for stitching by [`Lookup::GammaTable`](crate::ops::stitch::Lookup::GammaTable). It is empty until it
    /// is needed.
    gamma_table: OnceLock<Mutex<GammaTable>>,
}

/// The planes of a camera differ in size, pitch or device, so a kernel cannot take them as one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a camera's planes differ in size, pitch or device; allocate them alike")]
struct UnlikePlanes;

/// A warp does not have a camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the warp has {cameras} cameras, and none with the index {camera}; indices begin at 0")]
struct NoCamera {
    camera: usize,
    cameras: usize,
}

impl DeviceWarp {
    /// Copies a warp to the stream's device.
    #[track_caller]
    pub fn upload(stream: &Stream, warp: &Warp) -> Result<Self, DeviceError> {
        let UVec2 { x, y } = warp.size();
        let upload = |plane| Image::from_slice(stream, x, y, warp.plane(plane));
        let camera = |camera| {
            let planes = [Plane::X(camera), Plane::Y(camera), Plane::Weight(camera)].map(upload);
            let [x, y, weight] = planes;
            Ok::<_, DeviceError>([x?, y?, weight?])
        };
        let planes = (0..warp.sources().len()).map(camera).collect::<Result<_, _>>()?;
        Self::filled(stream, warp.size(), warp.sources().to_vec(), planes)
    }

    /// Renders the warp of a geometry with 1 to 16 cameras on the stream's device. Does not wait for the device.
    ///
    /// # Errors
    /// Returns [`RenderError`] if the number of cameras or a size is invalid, or if the device fails.
    #[track_caller]
    pub fn render(stream: &Stream, geometry: &Geometry) -> Result<Self, RenderError> {
        let Geometry { canvas, cameras } = geometry;
        let sources: Vec<_> = cameras.iter().map(|camera| camera.size).collect();
        check_sizes(canvas.size, &sources)?;
        let views: Vec<_> = cameras.iter().map(|camera| (*canvas, *camera)).collect();
        let mut warp = Self::margins(stream, canvas.size, &views)?;
        warp.feather(stream)?;
        Ok(warp)
    }

    /// Renders a warp of `size` pixels with margins instead of weights, for one or more cameras.
    /// [`feather`](Self::feather) converts the margins to weights. A margin is the distance of a pixel from the nearest
    /// edge of the camera's picture. The canvas of each camera must have `size` pixels.
    #[track_caller]
    pub(crate) fn margins(
        stream: &Stream,
        size: UVec2,
        views: &[(Canvas, Camera)],
    ) -> Result<Self, DeviceError> {
        let config = LaunchConfig::cover(size.x, size.y, BLOCK);
        let camera = |&(canvas, camera): &(Canvas, Camera)| {
            let mut planes = planes(stream, size)?;
            let [u, v, margin] = planes.each_mut().map(Image::view_mut);
            stream.launch(&config, &WarpCamera { canvas, camera, u, v, margin })?;
            Ok::<_, DeviceError>(planes)
        };
        let planes = views.iter().map(camera).collect::<Result<_, _>>()?;
        Self::filled(stream, size, views.iter().map(|(_, camera)| camera.size).collect(), planes)
    }

    /// Converts the margins that [`margins`](Self::margins) rendered, or other weights, to blending weights: the number
    /// of a camera divided by the sum of all cameras' numbers.
    #[track_caller]
    pub(crate) fn feather(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        let mut sum = Image::new(stream.device(), self.size.x, self.size.y)?;
        for (camera, margin) in self.weights_mut().iter().enumerate() {
            let (first, margin, sum) = ((camera == 0).into(), margin.view(), sum.view_mut());
            stream.launch(&config, &WarpAddMargin { margin, first, sum })?;
        }
        for margin in self.weights_mut() {
            let (sum, margin) = (sum.view(), margin.view_mut());
            stream.launch(&config, &WarpFeather { sum, margin })?;
        }
        self.written(stream)
    }

    /// Returns a warp whose panorama shows the same content, scaled to `size` pixels. Does not wait for the device.
    ///
    /// A panorama that is much smaller than the sources shows aliasing, because each of its pixels reads only four
    /// source pixels.
    ///
    /// # Errors
    /// Returns [`RenderError`] if the size is invalid or the device fails.
    #[track_caller]
    pub fn resized(&self, stream: &Stream, size: UVec2) -> Result<Self, RenderError> {
        check_size(size)?;
        self.await_ready(stream)?;
        let config = LaunchConfig::cover(size.x, size.y, BLOCK);
        let camera = |(camera, &source): (usize, &UVec2)| {
            let mut out = planes(stream, size)?;
            let [out_u, out_v, out_weight] = out.each_mut().map(Image::view_mut);
            let (planes, size) = (self.planes(camera)?, source);
            stream.launch(&config, &WarpResize { planes, size, out_u, out_v, out_weight })?;
            Ok::<_, DeviceError>(out)
        };
        let planes = self.sources.iter().enumerate().map(camera).collect::<Result<_, _>>()?;
        Ok(Self::filled(stream, size, self.sources.clone(), planes)?)
    }

    /// Creates a warp from the planes of each camera (columns, rows, weights), which earlier work in `stream` fills.
    #[track_caller]
    fn filled(
        stream: &Stream,
        size: UVec2,
        sources: Vec<UVec2>,
        planes: Vec<[Image<f32>; 3]>,
    ) -> Result<Self, DeviceError> {
        let ready = Event::for_order(stream.device())?;
        ready.record(stream)?;
        let (coordinates, weights): (Vec<_>, _) =
            planes.into_iter().map(|[x, y, weight]| ([x, y], weight)).unzip();
        Ok(Self::of(size, sources, coordinates.into(), weights, ready))
    }

    fn of(
        size: UVec2,
        sources: Vec<UVec2>,
        coordinates: Arc<[[Image<f32>; 2]]>,
        weights: Vec<Image<f32>>,
        ready: Event,
    ) -> Self {
        Self {
            size,
            sources,
            coordinates,
            weights,
            version: weights::next_version(),
            ready,
            mesh: OnceLock::new(),
            behind: None,
            textures: Mutex::default(),
            summing: Arc::default(),
            gamma_table: OnceLock::new(),
        }
    }

    /// Returns the warp's mesh, with an error of at most [`MESH_ERROR`]. [`stitch`](crate::ops::stitch::stitch) uses
    /// it by default.
    ///
    /// The first call copies the planes to the host and computes the mesh, which takes most of a second for a large
    /// panorama.
    ///
    /// # Errors
    /// Returns [`RenderError`] if the planes cannot be copied to the host, or the mesh to the device.
    #[track_caller]
    pub fn mesh(&self, stream: &Stream) -> Result<&DeviceMesh, RenderError> {
        if let Some(mesh) = self.mesh.get() {
            return Ok(mesh);
        }
        let warp = self.download_seen(stream)?;
        let mesh = DeviceMesh::upload(stream, &Mesh::within(&(&warp).into(), MESH_ERROR))?;
        // Return the mesh of another thread if it was computed first. Both meshes are equal.
        Ok(self.mesh.get_or_init(|| mesh))
    }

    /// Returns the cache of texture objects over the planes, and over the frames that were stitched with this warp.
    pub(crate) fn textures(&self) -> &Mutex<Textures> {
        &self.textures
    }

    /// Returns the memory for stitching any number of cameras by planes. The first call allocates it, and waits for the
    /// search of the cameras' bounding boxes.
    #[track_caller]
    pub(crate) fn summing(&self, stream: &Stream) -> Result<&Mutex<PanoramaSums>, DeviceError> {
        if let Some(summing) = self.summing.get() {
            return Ok(summing);
        }
        self.await_ready(stream)?;
        let cameras = self.all_planes()?.into_iter().zip(self.sources.iter().copied());
        let summing = Mutex::new(PanoramaSums::new(stream, self.size, cameras)?);
        // Return the memory of another thread if it was allocated first.
        Ok(self.summing.get_or_init(|| summing))
    }

    /// Returns the table of colour corrections. The first call allocates it.
    #[track_caller]
    pub(crate) fn gamma_table(&self, stream: &Stream) -> Result<&Mutex<GammaTable>, DeviceError> {
        if let Some(table) = self.gamma_table.get() {
            return Ok(table);
        }
        let table = Mutex::new(GammaTable::new(stream.device())?);
        // Return the table of another thread if it was allocated first.
        Ok(self.gamma_table.get_or_init(|| table))
    }

    /// Makes `stream` wait until the warp's planes are filled, possibly by another stream.
    ///
    /// Call this before launching your own kernels on the [`planes`](Self::planes). The functions of this crate do it
    /// themselves.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the driver cannot make the stream wait.
    #[track_caller]
    pub fn await_ready(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.wait(&self.ready)
    }

    /// Copies the planes of the warp to the host, without its mesh.
    ///
    /// # Errors
    /// Returns [`RenderError`] if the copy fails or a number in the planes is invalid.
    #[track_caller]
    pub fn download(&self, stream: &Stream) -> Result<Warp, RenderError> {
        self.await_ready(stream)?;
        let planes = Plane::all(self.sources.len())
            .map(|plane| {
                let mut values = self.plane(plane).download(stream)?;
                if let Plane::Weight(_) = plane {
                    values.iter_mut().for_each(|weight| *weight = rounded(*weight));
                }
                Ok(values)
            })
            .collect::<Result<Vec<_>, DeviceError>>()?;
        Ok(Warp::new(self.size, self.sources.clone(), planes)?)
    }

    /// Downloads the warp. Returns a function that returns the source coordinates of a camera at a panorama pixel, or
    /// `None` if the camera's weight there is at most 0.001.
    #[track_caller]
    pub(crate) fn places(
        &self,
        stream: &Stream,
    ) -> Result<impl Fn(usize, UVec2) -> Option<Vec2> + use<>, DeviceError> {
        self.await_ready(stream)?;
        let width = self.size.x as usize;
        let planes = |camera: usize| {
            let plane = |plane: Plane| self.plane(plane).download(stream);
            Ok([plane(Plane::X(camera))?, plane(Plane::Y(camera))?, plane(Plane::Weight(camera))?])
        };
        let planes =
            (0..self.sources.len()).map(planes).collect::<Result<Vec<_>, DeviceError>>()?;
        Ok(move |camera: usize, at: UVec2| {
            let at = at.y as usize * width + at.x as usize;
            let [x, y, weight] = &planes[camera];
            (weight[at] > MIN_WEIGHT).then(|| Vec2::new(x[at], y[at]))
        })
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the sizes of the cameras' sources in pixels.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Returns the planes of a camera as a kernel argument.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the planes of a camera differ in size, pitch or device. All functions of this type
    /// allocate equal planes, so such an error is a bug in this crate.
    /// Also returns an error if the warp has no such camera.
    #[track_caller]
    pub fn planes(&self, camera: usize) -> Result<DeviceCameraPlanes<'_>, DeviceError> {
        let cameras = self.coordinates.len();
        let (Some([x, y]), Some(weight)) = (self.coordinates.get(camera), self.weights.get(camera))
        else {
            return Err(DeviceError::refused(
                "taking a warp's planes",
                NoCamera { camera, cameras },
            ));
        };
        DeviceCameraPlanes::new(x.view(), y.view(), weight.view())
            .ok_or_else(|| DeviceError::refused("taking a warp's planes", UnlikePlanes))
    }

    /// Returns the planes and the source sizes of two cameras as kernel arguments; see [`planes`](Self::planes).
    #[track_caller]
    pub(crate) fn pair(
        &self,
        [a, b]: [usize; 2],
    ) -> Result<([DeviceCameraPlanes<'_>; 2], [UVec2; 2]), DeviceError> {
        Ok(([self.planes(a)?, self.planes(b)?], [self.sources[a], self.sources[b]]))
    }

    /// Returns the planes of all cameras as kernel arguments.
    #[track_caller]
    fn all_planes(&self) -> Result<Vec<DeviceCameraPlanes<'_>>, DeviceError> {
        (0..self.sources.len()).map(|camera| self.planes(camera)).collect()
    }

    /// Returns one plane: source columns, source rows or weights of one camera.
    ///
    /// # Panics
    /// Panics if the warp has no such camera.
    #[must_use]
    pub fn plane(&self, plane: Plane) -> &Image<f32> {
        match plane {
            Plane::X(camera) => &self.coordinates[camera][0],
            Plane::Y(camera) => &self.coordinates[camera][1],
            Plane::Weight(camera) => &self.weights[camera],
        }
    }
}

/// Returns a weight without the excess over 1 that a [fade](DeviceWarp::set_presences) leaves when it rounds.
fn rounded(weight: f32) -> f32 {
    if (1.0..1.0 + 8.0 * f32::EPSILON).contains(&weight) { 1.0 } else { weight }
}

/// Allocates the planes of one camera in a warp of `size` pixels.
#[track_caller]
fn planes(stream: &Stream, size: UVec2) -> Result<[Image<f32>; 3], DeviceError> {
    let plane = || Image::new(stream.device(), size.x, size.y);
    Ok([plane()?, plane()?, plane()?])
}

#[cfg(test)]
mod tests;
