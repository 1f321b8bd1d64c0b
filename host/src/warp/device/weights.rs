//! Changes the weights of a warp in device memory. The mesh of the warp follows its weights.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cuda_std::DeviceTable;
use kernels_gpu::warp::fade::WarpFade;
use shared_types::warp::{BLOCK, DeviceFadedCamera};
use thiserror::Error;

use super::{DeviceWarp, UnlikePlanes};
use crate::device::{DeviceError, Event, Image, LaunchConfig, Stream};
use crate::io::picture::Mask;
use crate::warp::{DeviceMesh, Plane, RenderError};

/// Two warps differ in the size of the panorama or of the pictures, or in the number of cameras.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the warp is not a copy of the other warp")]
struct OtherWarp;

impl DeviceWarp {
    /// Returns a warp that shares the coordinates of this one, and has a copy of its weights, which the caller can
    /// change. Does not wait.
    #[track_caller]
    pub(crate) fn reweighted(&self, stream: &Stream) -> Result<Self, DeviceError> {
        self.await_ready(stream)?;
        let copy = |weights: &Image<f32>| {
            let mut image = Image::new(stream.device(), self.size.x, self.size.y)?;
            image.copy_from(stream, weights)?;
            Ok::<_, DeviceError>(image)
        };
        let coordinates = Arc::clone(&self.coordinates);
        let weights = self.weights.iter().map(copy).collect::<Result<_, _>>()?;
        let ready = Event::for_order(stream.device())?;
        let mut copy = Self::of(self.size, self.sources.clone(), coordinates, weights, ready);
        copy.summing = Arc::clone(&self.summing);
        if let Some(mesh) = self.mesh.get() {
            copy.behind = Some(mesh.reweighted(stream)?);
        }
        copy.written(stream)?;
        Ok(copy)
    }

    /// Returns a copy of the warp in which masked pixels have no weight and the cameras that see them share it. There is
    /// one mask per camera. Waits for the device.
    #[track_caller]
    pub(crate) fn masked(
        &self,
        stream: &Stream,
        masks: &[Option<Mask>],
    ) -> Result<Self, DeviceError> {
        let mut out = self.reweighted(stream)?;
        // A mesh that follows new weights expects a camera at each pixel at which the warp has one.
        out.discard_mesh();
        for (camera, mask) in masks.iter().enumerate() {
            let Some(mask) = mask else { continue };
            let plane = |plane| self.plane(plane).download(stream);
            let (x, y) = (plane(Plane::X(camera))?, plane(Plane::Y(camera))?);
            let mut weights = plane(Plane::Weight(camera))?;
            for (weight, (x, y)) in weights.iter_mut().zip(x.into_iter().zip(y)) {
                if mask.distance(x, y) == 0.0 {
                    *weight = 0.0;
                }
            }
            out.weights_mut()[camera].upload(stream, &weights)?;
        }
        out.feather(stream)?;
        Ok(out)
    }

    /// Sets how much each camera is present, as a number from 0 to 1, and submits the update of the weights and of the
    /// mesh. Missing numbers are 1. `base` is the warp from which this one was [copied](crate::ops::seam::Seam::copy).
    /// The call first replaces the weights of this warp, including those of seams, by the weights of `base`.
    ///
    /// A camera with the presence 0 is shown only at pixels that no present camera sees. At all other pixels, the
    /// cameras that see the pixel replace it. Numbers between 0 and 1 blend the two states, and NaN counts as 0. All
    /// lookups use the new weights, and so do views to which this warp is passed.
    ///
    /// Stitches with this warp that are in flight must be earlier in `stream`. Compute the [mesh](Self::mesh) of `base`
    /// before it is copied. Otherwise, each call discards the mesh of this warp.
    ///
    /// # Errors
    /// Returns [`DeviceError`] if `base` differs in the size of the panorama, in the sizes of the pictures or in the
    /// number of cameras, or if the device fails.
    #[track_caller]
    pub fn set_presences(
        &mut self,
        stream: &Stream,
        base: &Self,
        presences: &[f32],
    ) -> Result<(), DeviceError> {
        self.check_copy(base)?;
        self.restore(stream, base)?;
        self.fade(stream, base, presences)
    }

    /// Makes this copy compute a mesh of its own when it needs one.
    pub(crate) fn discard_mesh(&mut self) {
        self.mesh = OnceLock::new();
        self.behind = None;
    }

    /// Gives this copy of `base` a mesh that follows its weights, if it has none. The first call may compute the mesh
    /// of `base`.
    #[track_caller]
    pub(crate) fn adopt_mesh(&mut self, stream: &Stream, base: &Self) -> Result<(), RenderError> {
        if self.behind.is_some() || self.mesh.get().is_some_and(DeviceMesh::follows) {
            return Ok(());
        }
        let mesh = base.mesh(stream)?;
        mesh.await_ready(stream)?;
        self.await_ready(stream)?;
        self.behind = Some(mesh.reweighted(stream)?);
        self.mesh = OnceLock::new();
        Ok(self.written(stream)?)
    }

    /// Submits the copy of the weights of `base` to this warp, without an update of the mesh.
    #[track_caller]
    pub(crate) fn restore(&mut self, stream: &Stream, base: &Self) -> Result<(), DeviceError> {
        self.await_ready(stream)?;
        base.await_ready(stream)?;
        for (to, from) in self.weights_mut().iter_mut().zip(&base.weights) {
            to.copy_from(stream, from)?;
        }
        Ok(())
    }

    /// Submits the kernel that takes absent cameras out of the weights in place, and the update of the mesh. The
    /// weights must not contain the effect of an earlier call; see [`restore`](Self::restore).
    #[track_caller]
    pub(crate) fn fade(
        &mut self,
        stream: &Stream,
        base: &Self,
        presences: &[f32],
    ) -> Result<(), DeviceError> {
        self.await_ready(stream)?;
        base.await_ready(stream)?;
        self.check_copy(base)?;
        let planes = base.all_planes()?;
        let config = LaunchConfig::cover(self.size.x, self.size.y, BLOCK);
        let mut weights: Vec<_> = self.weights_mut().iter_mut().map(Image::view_mut).collect();
        let alike = weights.iter().all(|plane| plane.is_like(&weights[0]));
        let presence = |camera| {
            presences
                .get(camera)
                .map_or(1.0, |part: &f32| if *part > 0.0 { part.min(1.0) } else { 0.0 })
        };
        let cameras = planes.iter().zip(&base.sources).zip(&weights).enumerate();
        let cameras: Vec<_> = cameras
            .map(|(camera, ((base, size), weights))| DeviceFadedCamera {
                base: *base,
                size: *size,
                weights: weights.rows().0.expose_provenance() as u64,
                presence: presence(camera),
            })
            .collect();
        let cameras = DeviceTable::new(&cameras).filter(|_| alike);
        let cameras = cameras
            .ok_or_else(|| DeviceError::refused("fading cameras of a warp", UnlikePlanes))?;
        let first = weights.swap_remove(0);
        // SAFETY: each address is that of one of `self.weights`, which are distinct images and alike, as just checked.
        // `self` is borrowed mutably, `await_ready` orders the launch after earlier writes, and the caller orders
        // stitches in flight before it.
        unsafe { stream.launch_unchecked(&config, &WarpFade { cameras, first }) }?;
        self.written(stream)
    }

    /// Returns an error if this warp cannot be a copy of `base`.
    #[track_caller]
    pub(crate) fn check_copy(&self, base: &Self) -> Result<(), DeviceError> {
        if self.size == base.size && self.sources == base.sources {
            return Ok(());
        }
        Err(DeviceError::refused("changing the weights of a warp", OtherWarp))
    }

    /// Returns the weight planes of all cameras for writing. After submitting the work that writes them, the caller
    /// must call [`written`](Self::written).
    pub(crate) fn weights_mut(&mut self) -> &mut [Image<f32>] {
        let follower = self.mesh.take().filter(DeviceMesh::follows);
        self.behind = follower.or(self.behind.take());
        &mut self.weights
    }

    /// Makes later users of the warp wait for the work that was submitted to `stream` and writes the weights. Also
    /// submits the update of the mesh to the new weights.
    #[track_caller]
    pub(crate) fn written(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        self.version = next_version();
        self.ready.record(stream)?;
        let Some(mut mesh) = self.behind.take() else { return Ok(()) };
        let weighed = self.all_planes().and_then(|planes| mesh.weigh(stream, &planes));
        match weighed {
            Ok(()) => self.mesh = mesh.into(),
            Err(_) => self.behind = Some(mesh),
        }
        weighed
    }

    /// Returns a number that identifies the current weights among those of all warps of this process. It changes with
    /// each call of [`written`](Self::written).
    pub(crate) fn version(&self) -> u64 {
        self.version
    }
}

/// Returns a different number for each call.
pub(super) fn next_version() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
