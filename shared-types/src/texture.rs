//! A camera's picture in textures as a kernel's argument: what [`View`](cuda_std::View)s and
//! [`nv12`](crate::nv12) are to loads.
//!
//! The texture objects filter bilinearly and repeat the edge. Their filter has 8 bits of fraction.

use cuda_std::arg::ParamsOf;
use cuda_std::{KernelArg, Texture2d};
use glam::Vec4;

#[cfg(not(target_arch = "nvptx64"))]
use cuda_std::{
    DeviceTexture,
    arg::HostArg,
    launch::{Params, Place},
};

/// A kernel's argument of textures, and a size in pixels.
macro_rules! textured {
    (
        $(#[$doc:meta])* $name:ident,
        $(#[$host_doc:meta])* $device:ident,
        $($(#[$texture_doc:meta])* $texture:ident: $p:ident),+; $width:ident, $height:ident; $($unused:ident)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($(#[$texture_doc])* pub $texture: Texture2d<Vec4>,)+
            /// Columns.
            pub width: u32,
            /// Rows.
            pub height: u32,
        }

        $(#[$host_doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Clone, Copy, Debug)]
        pub struct $device<'a> {
            $($(#[$texture_doc])* pub $texture: DeviceTexture<'a, Vec4>,)+
            /// Columns.
            pub width: u32,
            /// Rows.
            pub height: u32,
        }

        // SAFETY: the textures' handles and the size, pushed in this order by the host handle.
        unsafe impl KernelArg for $name {
            $(type $p = u64;)+
            type $width = u32;
            type $height = u32;
            $(type $unused = ();)+
            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'a> = $device<'a>;

            #[inline(always)]
            unsafe fn from_params(params: ParamsOf<Self>) -> Self {
                textured!(@take params $name $($texture)+)
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl HostArg<$name> for $device<'_> {
            fn places(&self) -> [Option<Place>; 2] {
                let places = [$(self.$texture.places()[0]),+];
                // Of several one that lies elsewhere is told.
                [places[0], places.into_iter().find(|place| *place != places[0]).flatten()]
            }

            fn push<'a>(&'a self, params: &mut Params<'a>) {
                $(self.$texture.push(params);)+
                params.push(&self.width);
                params.push(&self.height);
            }

            unsafe fn on_cpu(&self) -> $name {
                // SAFETY: as the caller vouches.
                unsafe {
                    $name {
                        $($texture: self.$texture.on_cpu(),)+
                        width: self.width,
                        height: self.height,
                    }
                }
            }
        }
    };
    (@take $params:ident $name:ident $one:ident) => {{
        let (handle, width, height, ..) = $params;
        // SAFETY: as the caller vouches.
        unsafe { $name { $one: Texture2d::from_params(textured!(@handle handle)), width, height } }
    }};
    (@take $params:ident $name:ident $one:ident $other:ident) => {{
        let (one, other, width, height, ..) = $params;
        // SAFETY: as the caller vouches.
        unsafe {
            $name {
                $one: Texture2d::from_params(textured!(@handle one)),
                $other: Texture2d::from_params(textured!(@handle other)),
                width,
                height,
            }
        }
    }};
    (@take $params:ident $name:ident $one:ident $other:ident $third:ident) => {{
        let (one, other, third, width, height, ..) = $params;
        // SAFETY: as the caller vouches.
        unsafe {
            $name {
                $one: Texture2d::from_params(textured!(@handle one)),
                $other: Texture2d::from_params(textured!(@handle other)),
                $third: Texture2d::from_params(textured!(@handle third)),
                width,
                height,
            }
        }
    }};
    (@handle $handle:ident) => {
        ($handle, (), (), (), (), (), (), ())
    };
}

textured! {
    /// An RGBA picture in a texture.
    Rgba8Texture,
    /// What the host passes for an [`Rgba8Texture`].
    DeviceRgba8Texture,
    /// Levels as fractions.
    texels: P0; P1, P2; P3 P4 P5 P6 P7
}

textured! {
    /// An NV12 picture in two textures.
    Nv12Texture,
    /// What the host passes for an [`Nv12Texture`].
    DeviceNv12Texture,
    /// Luma as a fraction.
    y: P0,
    /// Chroma as fractions, at half size, rounded up.
    uv: P1; P2, P3; P4 P5 P6 P7
}

textured! {
    /// One camera's planes of a warp in three textures of numbers; see [`CameraPlanes`](crate::warp::CameraPlanes).
    TexturedCameraPlanes,
    /// What the host passes for [`TexturedCameraPlanes`].
    DeviceTexturedCameraPlanes,
    /// Columns in the camera's picture.
    x: P0,
    /// Rows.
    y: P1,
    /// How much the camera counts.
    weight: P2; P3, P4; P5 P6 P7
}
