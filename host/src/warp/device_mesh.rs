//! A mesh in device memory, which the stitch reads instead of the planes of a warp.
//!
//! The source coordinates (patches and places) are constant. If a warp gets new weights, for instance from a seam, a
//! kernel rewrites the layers and their normalised weights (shares). A camera that did not contribute to a tile when
//! the mesh was computed has no layer in this tile, and new weights do not add one.

use std::sync::Arc;

use cuda_std::DeviceTable;
use glam::UVec2;
use kernels_gpu::stitch::mesh::MeshWeigh;
use shared_types::stitch::MAX_CAMERAS;
use shared_types::stitch::mesh::{DeviceWeighedCamera, Layer, Patch, SourcePoint, WEIGH_BLOCK};
use shared_types::warp::DeviceCameraPlanes;
use thiserror::Error;

use super::mesh::{Mesh, Parts};
use crate::device::{Buffer, DeviceError, Event, LaunchConfig, Stream};

/// A [`Mesh`] in device memory.
#[derive(Debug)]
pub struct DeviceMesh {
    size: UVec2,
    sources: Vec<UVec2>,
    made: Arc<Made>,
    /// Layers and shares for the current weights. `None` if the weights never change; then the layers and shares in
    /// `made` are used.
    weighed: Option<Weighed>,
    /// An event that is recorded after the work that fills layers and shares.
    ready: Event,
}

/// The parts of a mesh as they were computed. They never change.
#[derive(Debug)]
struct Made {
    layers: Buffer<Layer>,
    patches: Buffer<Patch>,
    places: Buffer<SourcePoint>,
    shares: Buffer<u16>,
}

/// The parts of a mesh that depend on the weights and are rewritten when the weights change.
#[derive(Debug)]
struct Weighed {
    layers: Buffer<Layer>,
    shares: Buffer<u16>,
}

/// The number of cameras is 0 or exceeds the limit of the kernel.
#[derive(Clone, Copy, Debug, Error)]
#[error("the mesh has {0} cameras; it must have 1 to {MAX_CAMERAS}")]
struct CameraCount(usize);

impl DeviceMesh {
    /// Copies a mesh to the stream's device.
    #[track_caller]
    pub fn upload(stream: &Stream, mesh: &Mesh) -> Result<Self, DeviceError> {
        let Parts { layers, patches, places, shares } = mesh.parts();
        let made = Made {
            layers: Buffer::from_slice(stream, layers)?,
            patches: uploaded(stream, patches)?,
            places: uploaded(stream, places)?,
            shares: uploaded(stream, shares)?,
        };
        let ready = Event::for_order(stream.device())?;
        ready.record(stream)?;
        let (size, sources, made) = (mesh.size(), mesh.sources().to_vec(), Arc::new(made));
        Ok(Self { size, sources, made, weighed: None, ready })
    }

    /// Returns a mesh that shares the patches and places of this one, but has its own layers and shares. Before the
    /// mesh is used, [`weigh`](Self::weigh) must write them. Does not wait.
    #[track_caller]
    pub(super) fn reweighted(&self, stream: &Stream) -> Result<Self, DeviceError> {
        let device = stream.device();
        let mut layers = Buffer::new(device, self.made.layers.len())?;
        layers.copy_from(stream, &self.made.layers)?;
        let shares = Buffer::new(device, self.made.shares.len())?;
        let (made, ready) = (Arc::clone(&self.made), Event::for_order(device)?);
        let weighed = Some(Weighed { layers, shares });
        Ok(Self { size: self.size, sources: self.sources.clone(), made, weighed, ready })
    }

    /// Returns whether the mesh has its own layers and shares, so that [`weigh`](Self::weigh) can adapt them to new
    /// weights.
    pub(super) fn follows(&self) -> bool {
        self.weighed.is_some()
    }

    /// Submits a kernel that computes layers and shares for the weights in the planes of all cameras. Does nothing if
    /// the mesh does not [follow](Self::follows) the weights. The coordinates in the planes must be those from which
    /// the mesh was computed. Only the weights may differ.
    #[track_caller]
    pub(super) fn weigh(
        &mut self,
        stream: &Stream,
        planes: &[DeviceCameraPlanes<'_>],
    ) -> Result<(), DeviceError> {
        let Some(weighed) = &mut self.weighed else { return Ok(()) };
        let cameras: Vec<_> = planes
            .iter()
            .zip(&self.sources)
            .map(|(planes, size)| DeviceWeighedCamera { planes: *planes, size: *size })
            .collect();
        let cameras = DeviceTable::new(&cameras)
            .ok_or_else(|| DeviceError::refused("weighing a mesh", CameraCount(cameras.len())))?;
        let tiles = Mesh::tiles_of(self.size);
        let threads = tiles * UVec2::from(WEIGH_BLOCK);
        let config = LaunchConfig::cover(threads.x, threads.y, WEIGH_BLOCK);
        let kernel = MeshWeigh {
            base: self.made.layers.view(),
            cameras,
            layers: weighed.layers.view_mut(),
            shares: weighed.shares.view_mut(),
        };
        // SAFETY: `config` has a block of `WEIGH_BLOCK` threads for each tile. `base` and `layers` hold the layers of a
        // valid mesh with at most `MAX_CAMERAS` cameras, and `shares` has as many elements as this mesh has shares. So
        // each index in a layer is in bounds of its buffer.
        unsafe { stream.launch_unchecked(&config, &kernel) }?;
        self.ready.record(stream)
    }

    /// Makes `stream` wait until layers and shares are written.
    #[track_caller]
    pub(crate) fn await_ready(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.wait(&self.ready)
    }

    /// Returns the size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Returns the sizes of the source pictures in pixels, in the order of the cameras.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Returns layers, patches, places and shares for the current weights.
    pub(crate) fn buffers(
        &self,
    ) -> (&Buffer<Layer>, &Buffer<Patch>, &Buffer<SourcePoint>, &Buffer<u16>) {
        let Made { layers, patches, places, shares } = &*self.made;
        let (layers, shares) = match &self.weighed {
            Some(Weighed { layers, shares }) => (layers, shares),
            None => (layers, shares),
        };
        (layers, patches, places, shares)
    }
}

/// Copies elements to a device buffer. If `elements` is empty, returns a buffer with one unused element, because a
/// buffer cannot be empty.
#[track_caller]
fn uploaded<T: bytemuck::Pod>(stream: &Stream, elements: &[T]) -> Result<Buffer<T>, DeviceError> {
    if elements.is_empty() {
        Buffer::new(stream.device(), 1)
    } else {
        Buffer::from_slice(stream, elements)
    }
}
