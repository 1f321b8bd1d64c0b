//! The picture and the plane of weights of a [`ViewSource`], which has only their handles and addresses.

use cuda_std::arg::Alike;
use cuda_std::prelude::*;
use shared_types::texture::{Nv12Texture, P010Texture, Rgba8Texture};
use shared_types::view::ViewSource;

/// The weight of feathering, relative to the weights of a warp, which sum to 1. It decides only where the weights of
/// all cameras that see a pixel are 0.
pub(super) const FALLBACK: f32 = 1e-6;

/// Returns the plane of a camera's weights. `planes` is a plane of the same size and pitch.
///
/// # Safety
/// `planes` must not be empty, and the conditions of the kernels apply.
#[device]
pub(super) unsafe fn plane(planes: &View<f32>, source: &ViewSource) -> View<f32> {
    // SAFETY: the caller guarantees that there is a plane of this size and pitch at the address.
    unsafe { planes.with_address(core::ptr::with_exposed_provenance(source.weights as usize)) }
}

/// Returns the picture of a camera. The memory behind its textures is unknown, only its size.
///
/// # Safety
/// The conditions of the kernels apply.
#[device]
pub(super) unsafe fn rgba8(ViewSource { texels, size, .. }: &ViewSource) -> Rgba8Texture {
    // SAFETY: the caller guarantees that the texture exists. This module reads only the size of `rows`.
    unsafe {
        let rows = View::from_params((core::ptr::null(), (size.x, (size.y, (0, ())))));
        Rgba8Texture { texels: Texture2d::from_params((*texels, ())), rows }
    }
}

/// Returns the picture of a camera with chroma, as [`rgba8`] does.
///
/// # Safety
/// The conditions of the kernels apply, and the picture must have chroma.
#[device]
pub(super) unsafe fn nv12(ViewSource { texels, chroma, size, .. }: &ViewSource) -> Nv12Texture {
    let list = (0, (core::ptr::null(), (0, ())));
    let luma = (core::ptr::null(), (size.x, (size.y, list)));
    // SAFETY: the caller guarantees that the textures exist. This module reads only the size of `rows`.
    unsafe { Nv12Texture::from_params((*texels, (*chroma, luma))) }
}

/// Returns the P010 picture of a camera, as [`rgba8`] does.
///
/// # Safety
/// The conditions of the kernels apply, and the picture must be P010.
#[device]
pub(super) unsafe fn p010(ViewSource { texels, chroma, size, .. }: &ViewSource) -> P010Texture {
    let list = (0, (core::ptr::null(), (0, ())));
    let luma = (core::ptr::null(), (size.x, (size.y, list)));
    // SAFETY: the caller guarantees that the textures exist. This module reads only the size of `rows`.
    unsafe { P010Texture::from_params((*texels, (*chroma, luma))) }
}
