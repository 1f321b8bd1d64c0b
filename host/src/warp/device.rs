//! A warp on a device: uploaded from a file's planes, or computed there from a geometry.

use std::sync::{Arc, Mutex, OnceLock};

use glam::UVec2;
use kernels_gpu::warp::{WarpCamera, WarpFeather, WarpResize};
use shared_types::warp::{BLOCK, Camera, Canvas, DeviceCameraPlanes};
use thiserror::Error;

use super::{DeviceMesh, MESH_ERROR, Mesh, Plane, PlaneError, Warp, check_sizes};
use crate::device::{DeviceError, Event, Image, LaunchConfig, Stream, Textures};
use crate::geometry::Geometry;

/// The six planes of a warp in device memory, in the order of [`Plane`].
#[derive(Debug)]
pub struct DeviceWarp {
    size: UVec2,
    sources: [UVec2; 2],
    /// Warps that differ in their weights alone share the others.
    coordinates: [Arc<Image<f32>>; 4],
    weights: [Image<f32>; 2],
    /// Behind what fills the planes.
    ready: Event,
    /// Of the weights as they are, once it is asked for.
    mesh: OnceLock<DeviceMesh>,
    /// How far off the mesh is that came with the warp, if too far.
    coarse: Option<f32>,
    /// One that [follows](DeviceMesh::follows) and has yet to be given the weights; it stays where that fails, for
    /// another try.
    behind: Option<DeviceMesh>,
    /// Over its planes, and over the frames that were stitched by it.
    textures: Mutex<Textures>,
}

/// The planes of one camera of a warp cannot be one argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a camera's planes differ in size, pitch or device; allocate them alike")]
struct UnlikePlanes;

/// A geometry could not be made into a warp.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The geometry does not have two cameras.
    #[error("rendering a warp: the geometry has {0} cameras, but a warp takes two")]
    Cameras(usize),
    /// Sizes, or numbers that came out, are not those of a warp.
    #[error("rendering a warp: {0}")]
    Plane(#[from] PlaneError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl DeviceWarp {
    /// Copies a warp to a device, with its mesh if that is to within [`MESH_ERROR`]: then none is made later.
    ///
    /// # Errors
    /// What the device says.
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

    /// Computes a warp where it will be used. Does not wait for the result.
    ///
    /// # Errors
    /// [`RenderError`].
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

    /// A warp of `size` pixels whose weights are the margins still, which [`feather`](Self::feather) makes
    /// weights of. Each camera looks at a canvas of that size, its own.
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

    /// Makes weights of the margins.
    #[track_caller]
    pub(crate) fn feather(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        let [left, right] = self.weights_mut().map(Image::view_mut);
        stream.launch(&config, &WarpFeather { left, right })?;
        self.written(stream)
    }

    /// The same warp for a panorama of another size: it shows the same, larger or smaller. Does not
    /// wait for the result.
    ///
    /// A panorama much smaller than the sources shows them aliased, since each of its pixels looks at
    /// four of theirs.
    ///
    /// # Errors
    /// [`RenderError`].
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

    /// A warp of planes that `stream` has been told to fill.
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

    /// The warp's mesh, to within [`MESH_ERROR`]: what [`stitch`](crate::ops::stitch::stitch) goes by if nothing else is
    /// asked for. It came with the warp, or is made when it is first asked for, from the planes, which are copied to the
    /// host: that takes a good part of a second for a large panorama. A coarser one that came is told of by a warning.
    ///
    /// # Errors
    /// [`RenderError`].
    #[track_caller]
    pub fn mesh(&self, stream: &Stream) -> Result<&DeviceMesh, RenderError> {
        if let Some(mesh) = self.mesh.get() {
            return Ok(mesh);
        }
        if let Some(error) = self.coarse {
            tracing::warn!(
                "the warp's own mesh is to within {error} source pixels, and stitches ask for {MESH_ERROR}: another is \
                 made; `panoweave warp --warp FILE --mesh` keeps one in a file"
            );
        }
        let warp = self.download(stream)?;
        let mesh = DeviceMesh::upload(stream, &Mesh::within(&(&warp).into(), MESH_ERROR))?;
        // Whoever was faster made the same.
        Ok(self.mesh.get_or_init(|| mesh))
    }

    /// Texture objects over its planes, and over the frames that are stitched by it.
    pub(crate) fn textures(&self) -> &Mutex<Textures> {
        &self.textures
    }

    /// The same coordinates with a copy of the weights, in memory of their own. Does not wait.
    ///
    /// # Errors
    /// What the device says.
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

    /// The weights to be written, left and right.
    pub(crate) fn weights_mut(&mut self) -> [&mut Image<f32>; 2] {
        let follower = self.mesh.take().filter(DeviceMesh::follows);
        self.behind = follower.or(self.behind.take());
        self.weights.each_mut()
    }

    /// Says that what `stream` was told to do with the weights belongs to the warp, and tells it to make the mesh
    /// follow.
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

    /// Makes `stream`, if it is not the one that the warp was made on, wait until it is there.
    ///
    /// All that takes a warp in this crate does so; only who launches kernels of his own on its
    /// [`planes`](Self::planes) must.
    ///
    /// # Errors
    /// What the device says.
    #[track_caller]
    pub fn await_ready(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.wait(&self.ready)
    }

    /// Copies the warp to the host, for a file or a look.
    ///
    /// # Errors
    /// [`RenderError`].
    #[track_caller]
    pub fn download(&self, stream: &Stream) -> Result<Warp, RenderError> {
        self.await_ready(stream)?;
        let [a, b, c, d, e, f] = Plane::ALL.map(|plane| self.plane(plane).download(stream));
        let planes = [a?, b?, c?, d?, e?, f?];
        Ok(Warp::new(self.size, self.sources, planes)?)
    }

    /// Size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Sizes of the sources in pixels: left, right.
    #[must_use]
    pub fn sources(&self) -> [UVec2; 2] {
        self.sources
    }

    /// Both cameras' planes for a kernel: left, right.
    ///
    /// # Errors
    /// None: all planes of a warp are allocated alike.
    #[track_caller]
    pub fn planes(&self) -> Result<[DeviceCameraPlanes<'_>; 2], DeviceError> {
        let [left_x, left_y, right_x, right_y, left_weight, right_weight] =
            Plane::ALL.map(|plane| self.plane(plane).view());
        DeviceCameraPlanes::new(left_x, left_y, left_weight)
            .zip(DeviceCameraPlanes::new(right_x, right_y, right_weight))
            .map(<[_; 2]>::from)
            .ok_or_else(|| DeviceError::refused("taking a warp's planes", UnlikePlanes))
    }

    /// One plane.
    #[must_use]
    pub fn plane(&self, plane: Plane) -> &Image<f32> {
        match plane {
            Plane::WeightLeft => &self.weights[0],
            Plane::WeightRight => &self.weights[1],
            coordinates => &self.coordinates[coordinates as usize],
        }
    }
}
