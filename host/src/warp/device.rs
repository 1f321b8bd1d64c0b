//! A warp in device memory. It is uploaded from host memory, or rendered on the device from a geometry.

use crate::warp::plane_error::RenderError;
use std::sync::{Arc, Mutex, OnceLock};

use glam::UVec2;
use kernels_gpu::warp::{WarpCamera, WarpFeather, WarpResize};
use shared_types::warp::{BLOCK, Camera, Canvas, DeviceCameraPlanes};
use thiserror::Error;

use super::{DeviceMesh, MESH_ERROR, Mesh, Plane, Warp, check_sizes};
use crate::device::{DeviceError, Event, Image, LaunchConfig, Stream, Textures};
use crate::geometry::Geometry;

/// The six planes of a warp in device memory, in the order of [`Plane`].
#[derive(Debug)]
pub struct DeviceWarp {
    size: UVec2,
    sources: [UVec2; 2],
    /// The coordinate planes. Warps that differ only in their weights share them.
    coordinates: [Arc<Image<f32>>; 4],
    weights: [Image<f32>; 2],
    /// An event that is recorded after the work that fills the planes.
    ready: Event,
    /// The mesh for the current weights. It is empty until the mesh is uploaded or computed.
    mesh: OnceLock<DeviceMesh>,
    /// The error of the host warp's mesh, in source pixels, if the mesh was not uploaded because its error exceeds
    /// [`MESH_ERROR`].
    coarse: Option<f32>,
    /// A mesh whose layers and shares do not match the current weights yet. Only a mesh that
    /// [follows](DeviceMesh::follows) the weights is stored here. If an update fails, the mesh stays here, so that the
    /// next update can try again.
    behind: Option<DeviceMesh>,
    /// A cache of texture objects over the planes, and over the frames that were stitched with this warp.
    textures: Mutex<Textures>,
}

/// The planes of a camera differ in size, pitch or device, so a kernel cannot take them as one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a camera's planes differ in size, pitch or device; allocate them alike")]
struct UnlikePlanes;

impl DeviceWarp {
    /// Copies a warp to the stream's device. Also copies its mesh if the error of the mesh is at most [`MESH_ERROR`].
    ///
    /// # Errors
    /// Returns [`DeviceError`] if an allocation or a copy fails.
    #[track_caller]
    pub fn upload(stream: &Stream, warp: &Warp) -> Result<Self, DeviceError> {
        let UVec2 { x, y } = warp.size();
        let [a, b, c, d, e, f] = warp.planes();
        let upload = |plane: &Vec<f32>| Image::from_slice(stream, x, y, plane);
        let planes = [upload(a)?, upload(b)?, upload(c)?, upload(d)?, upload(e)?, upload(f)?];
        let mut on_device = Self::filled(stream, warp.size(), warp.sources(), planes)?;
        match warp.mesh() {
            Some(mesh) if mesh.error() <= MESH_ERROR => {
                on_device.mesh = DeviceMesh::upload(stream, mesh)?.into();
            }
            coarse => on_device.coarse = coarse.map(Mesh::error),
        }
        Ok(on_device)
    }

    /// Renders the warp of a geometry with two cameras on the stream's device. Does not wait for the device.
    ///
    /// # Errors
    /// Returns [`RenderError`] if the geometry does not have two cameras, if a size is invalid, or if the device fails.
    #[track_caller]
    pub fn render(stream: &Stream, geometry: &Geometry) -> Result<Self, RenderError> {
        let [left, right] = geometry.cameras[..] else {
            return Err(RenderError::Cameras(geometry.cameras.len()));
        };
        let (size, sources) = (geometry.canvas.size, [left.size, right.size]);
        check_sizes(size, sources)?;
        let mut warp = Self::margins(stream, size, [left, right].map(|c| (geometry.canvas, c)))?;
        warp.feather(stream)?;
        Ok(warp)
    }

    /// Renders a warp of `size` pixels with margins instead of weights. [`feather`](Self::feather) converts the margins
    /// to weights. A margin is the distance of a pixel from the nearest edge of the camera's picture. The canvas of
    /// each camera must have `size` pixels.
    #[track_caller]
    pub(crate) fn margins(
        stream: &Stream,
        size: UVec2,
        views: [(Canvas, Camera); 2],
    ) -> Result<Self, DeviceError> {
        let plane = || Image::new(stream.device(), size.x, size.y);
        let mut planes = [plane()?, plane()?, plane()?, plane()?, plane()?, plane()?];
        let [left_u, left_v, right_u, right_v, left_weight, right_weight] = &mut planes;
        let config = LaunchConfig::cover(size.x, size.y, BLOCK);
        for ((canvas, camera), [u, v, margin]) in
            views.into_iter().zip([[left_u, left_v, left_weight], [right_u, right_v, right_weight]])
        {
            let [u, v, margin] = [u, v, margin].map(Image::view_mut);
            stream.launch(&config, &WarpCamera { canvas, camera, u, v, margin })?;
        }
        Self::filled(stream, size, views.map(|(_, camera)| camera.size), planes)
    }

    /// Converts the margins that [`margins`](Self::margins) rendered to blending weights.
    #[track_caller]
    pub(crate) fn feather(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        let [left, right] = self.weights_mut().map(Image::view_mut);
        stream.launch(&config, &WarpFeather { left, right })?;
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
        check_sizes(size, self.sources)?;
        self.await_ready(stream)?;
        let plane = || Image::new(stream.device(), size.x, size.y);
        let mut planes = [plane()?, plane()?, plane()?, plane()?, plane()?, plane()?];
        let [left_u, left_v, right_u, right_v, left_weight, right_weight] = &mut planes;
        let config = LaunchConfig::cover(size.x, size.y, BLOCK);
        let out = [[left_u, left_v, left_weight], [right_u, right_v, right_weight]];
        for ((planes, size), out) in self.planes()?.into_iter().zip(self.sources).zip(out) {
            let [out_u, out_v, out_weight] = out.map(Image::view_mut);
            stream.launch(&config, &WarpResize { planes, size, out_u, out_v, out_weight })?;
        }
        Ok(Self::filled(stream, size, self.sources, planes)?)
    }

    /// Creates a warp from planes that earlier work in `stream` fills.
    #[track_caller]
    fn filled(
        stream: &Stream,
        size: UVec2,
        sources: [UVec2; 2],
        planes: [Image<f32>; 6],
    ) -> Result<Self, DeviceError> {
        let ready = Event::for_order(stream.device())?;
        ready.record(stream)?;
        let [left_x, left_y, right_x, right_y, left, right] = planes;
        let coordinates = [left_x, left_y, right_x, right_y].map(Arc::new);
        Ok(Self::of(size, sources, coordinates, [left, right], ready))
    }

    fn of(
        size: UVec2,
        sources: [UVec2; 2],
        coordinates: [Arc<Image<f32>>; 4],
        weights: [Image<f32>; 2],
        ready: Event,
    ) -> Self {
        let (mesh, textures) = (OnceLock::new(), Mutex::default());
        let (coarse, behind) = (None, None);
        Self { size, sources, coordinates, weights, ready, mesh, coarse, behind, textures }
    }

    /// Returns the warp's mesh, with an error of at most [`MESH_ERROR`]. [`stitch`](crate::ops::stitch::stitch) uses
    /// it by default.
    ///
    /// If the warp was uploaded without such a mesh, the first call copies the planes to the host and computes the
    /// mesh, which takes most of a second for a large panorama. It also logs a warning if the uploaded warp had a mesh
    /// with a larger error.
    ///
    /// # Errors
    /// Returns [`RenderError`] if the planes cannot be copied to the host, or the mesh to the device.
    #[track_caller]
    pub fn mesh(&self, stream: &Stream) -> Result<&DeviceMesh, RenderError> {
        if let Some(mesh) = self.mesh.get() {
            return Ok(mesh);
        }
        if let Some(error) = self.coarse {
            tracing::warn!(
                "the warp's mesh has an error of {error} source pixels, but stitching needs at most {MESH_ERROR}; computing \
                 another mesh (to avoid this, store it with `panoweave warp --warp FILE --mesh -o NEW`)"
            );
        }
        let warp = self.download(stream)?;
        let mesh = DeviceMesh::upload(stream, &Mesh::within(&(&warp).into(), MESH_ERROR))?;
        // Return the mesh of another thread if it was computed first. Both meshes are equal.
        Ok(self.mesh.get_or_init(|| mesh))
    }

    /// Returns the cache of texture objects over the planes, and over the frames that were stitched with this warp.
    pub(crate) fn textures(&self) -> &Mutex<Textures> {
        &self.textures
    }

    /// Returns a warp that shares the coordinates of this one, and has a copy of its weights, which the caller can
    /// change. Does not wait.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the allocation or the copy fails.
    #[track_caller]
    pub(crate) fn reweighted(&self, stream: &Stream) -> Result<Self, DeviceError> {
        self.await_ready(stream)?;
        let copy = |plane: Plane| {
            let mut image = Image::new(stream.device(), self.size.x, self.size.y)?;
            image.copy_from(stream, self.plane(plane))?;
            Ok::<_, DeviceError>(image)
        };
        let coordinates = self.coordinates.clone();
        let weights = [copy(Plane::WeightLeft)?, copy(Plane::WeightRight)?];
        let ready = Event::for_order(stream.device())?;
        let mut copy = Self::of(self.size, self.sources, coordinates, weights, ready);
        if let Some(mesh) = self.mesh.get() {
            copy.behind = Some(mesh.reweighted(stream)?);
        }
        copy.written(stream)?;
        Ok(copy)
    }

    /// Returns the weight planes for writing: left, right. After submitting the work that writes them, the caller must
    /// call [`written`](Self::written).
    pub(crate) fn weights_mut(&mut self) -> [&mut Image<f32>; 2] {
        let follower = self.mesh.take().filter(DeviceMesh::follows);
        self.behind = follower.or(self.behind.take());
        self.weights.each_mut()
    }

    /// Makes later users of the warp wait for the work that was submitted to `stream` and writes the weights. Also
    /// submits the update of the mesh to the new weights.
    #[track_caller]
    pub(crate) fn written(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        self.ready.record(stream)?;
        let Some(mut mesh) = self.behind.take() else { return Ok(()) };
        let weighed = self.planes().and_then(|planes| mesh.weigh(stream, planes));
        match weighed {
            Ok(()) => self.mesh = mesh.into(),
            Err(_) => self.behind = Some(mesh),
        }
        weighed
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
        let [a, b, c, d, e, f] = Plane::ALL.map(|plane| self.plane(plane).download(stream));
        let planes = [a?, b?, c?, d?, e?, f?];
        Ok(Warp::new(self.size, self.sources, planes)?)
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the sizes of the sources in pixels: left, right.
    #[must_use]
    pub fn sources(&self) -> [UVec2; 2] {
        self.sources
    }

    /// Returns the planes of both cameras as kernel arguments: left, right.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if the planes of a camera differ in size, pitch or device. All functions of this type
    /// allocate equal planes, so such an error is a bug in this crate.
    #[track_caller]
    pub fn planes(&self) -> Result<[DeviceCameraPlanes<'_>; 2], DeviceError> {
        let [left_x, left_y, right_x, right_y, left_weight, right_weight] =
            Plane::ALL.map(|plane| self.plane(plane).view());
        DeviceCameraPlanes::new(left_x, left_y, left_weight)
            .zip(DeviceCameraPlanes::new(right_x, right_y, right_weight))
            .map(<[_; 2]>::from)
            .ok_or_else(|| DeviceError::refused("taking a warp's planes", UnlikePlanes))
    }

    /// Returns one of the six planes: source columns, source rows or weights of one camera.
    #[must_use]
    pub fn plane(&self, plane: Plane) -> &Image<f32> {
        match plane {
            Plane::WeightLeft => &self.weights[0],
            Plane::WeightRight => &self.weights[1],
            coordinates => &self.coordinates[coordinates as usize],
        }
    }
}
