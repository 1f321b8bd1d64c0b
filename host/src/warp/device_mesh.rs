//! A mesh on a device: what the stitch reads in place of a warp's planes.
//!
//! Patches and places are as they were made; layers and shares may be written anew when a warp gets other weights, as
//! a seam gives it. Where a camera counted nowhere in a tile, it has no layer there, and none is made.

use std::sync::{Arc, Mutex};

use glam::UVec2;
use kernels_gpu::stitch::mesh::MeshWeigh;
use shared_types::stitch::mesh::{Layer, Patch, SourcePoint, WEIGH_BLOCK};
use shared_types::warp::DeviceCameraPlanes;

use super::mesh::{Mesh, Parts};
use crate::device::{Buffer, DeviceError, Event, LaunchConfig, Stream, Textures};

/// A [`Mesh`] in device memory.
#[derive(Debug)]
pub struct DeviceMesh {
    size: UVec2,
    sources: Vec<UVec2>,
    made: Arc<Made>,
    /// Of other weights, if those are written anew.
    weighed: Option<Weighed>,
    /// Behind what fills the layers and shares.
    ready: Event,
    /// Over the frames that were stitched by it.
    textures: Mutex<Textures>,
}

/// A mesh as its own weights made it.
#[derive(Debug)]
struct Made {
    layers: Buffer<Layer>,
    patches: Buffer<Patch>,
    places: Buffer<SourcePoint>,
    shares: Buffer<u16>,
}

/// What other weights change.
#[derive(Debug)]
struct Weighed {
    layers: Buffer<Layer>,
    shares: Buffer<u16>,
}

impl DeviceMesh {
    /// Copies a mesh to a device.
    ///
    /// # Errors
    /// What the device says.
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
        let (size, sources, textures) = (mesh.size(), mesh.sources().to_vec(), Mutex::default());
        let made = Arc::new(made);
        Ok(Self { size, sources, made, weighed: None, ready, textures })
    }

    /// The same mesh with layers and shares of its own, yet unwritten: [`weigh`](Self::weigh) does that. Does not wait.
    #[track_caller]
    pub(super) fn reweighted(&self, stream: &Stream) -> Result<Self, DeviceError> {
        let device = stream.device();
        let mut layers = Buffer::new(device, self.made.layers.len())?;
        layers.copy_from(stream, &self.made.layers)?;
        let shares = Buffer::new(device, self.made.shares.len())?;
        let (made, ready) = (Arc::clone(&self.made), Event::for_order(device)?);
        let (size, sources, textures) = (self.size, self.sources.clone(), Mutex::default());
        let weighed = Some(Weighed { layers, shares });
        Ok(Self { size, sources, made, weighed, ready, textures })
    }

    /// Whether its layers and shares are its own, to be [written anew](Self::weigh) with a warp's weights.
    pub(super) fn follows(&self) -> bool {
        self.weighed.is_some()
    }

    /// Submits the writing of layers and shares, if the mesh [follows](Self::follows), for these planes of a warp, left
    /// and right, which differ in their weights alone from those that the mesh was made of.
    #[track_caller]
    pub(super) fn weigh(
        &mut self,
        stream: &Stream,
        [left, right]: [DeviceCameraPlanes<'_>; 2],
    ) -> Result<(), DeviceError> {
        let (Some(weighed), &[left_size, right_size]) = (&mut self.weighed, &self.sources[..])
        else {
            return Ok(());
        };
        let tiles = Mesh::tiles_of(self.size);
        let threads = tiles * UVec2::from(WEIGH_BLOCK);
        let config = LaunchConfig::cover(threads.x, threads.y, WEIGH_BLOCK);
        let kernel = MeshWeigh {
            base: self.made.layers.view(),
            left,
            right,
            left_size,
            right_size,
            layers: weighed.layers.view_mut(),
            shares: weighed.shares.view_mut(),
        };
        // SAFETY: the layers are those of a mesh of two cameras, whose shares these are.
        unsafe { stream.launch_unchecked(&config, &kernel) }?;
        self.ready.record(stream)
    }

    /// Makes `stream` wait until the mesh is there.
    #[track_caller]
    pub(crate) fn await_ready(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.wait(&self.ready)
    }

    /// Size of the panorama in pixels.
    #[must_use]
    pub fn size(&self) -> UVec2 {
        self.size
    }

    /// Sizes of the sources in pixels, camera by camera.
    #[must_use]
    pub fn sources(&self) -> &[UVec2] {
        &self.sources
    }

    /// Texture objects over the frames that are stitched by it.
    pub(crate) fn textures(&self) -> &Mutex<Textures> {
        &self.textures
    }

    /// Layers, patches, places and shares, for kernels.
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

/// A buffer of these, or of one element that nothing looks at.
#[track_caller]
fn uploaded<T: bytemuck::Pod>(stream: &Stream, elements: &[T]) -> Result<Buffer<T>, DeviceError> {
    if elements.is_empty() {
        Buffer::new(stream.device(), 1)
    } else {
        Buffer::from_slice(stream, elements)
    }
}
