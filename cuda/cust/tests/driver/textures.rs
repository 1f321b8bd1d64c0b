//! Tests arrays and textures, and the errors for textures and surfaces that the CPU does not
//! support.

use cust::error::CudaError;
use cust::launch;
use cust::memory::array::{ArrayFormat, ArrayObject};
use cust::memory::{DeviceBuffer, GpuBuffer};
use cust::stream::{Stream, StreamFlags};
use cust::texture::{
    ResourceDescriptor, ResourceDescriptorFlags, ResourceType, Texture, TextureAdressingMode,
    TextureDescriptor, TextureDescriptorFlags, TextureFilterMode,
};
use cust::util::SliceExt;
use glam::Vec2;

use crate::{cpu, module};

#[test]
fn arrays_keep_their_elements() {
    let _context = cpu();
    for dims in [[6, 0, 0], [2, 3, 0], [1, 2, 3]] {
        let mut array = ArrayObject::new(dims, ArrayFormat::U16, 1).expect("an array");
        array.copy_from::<u16, _>(&[1, 2, 3, 4, 5, 6]).expect("copied");
        assert_eq!(array.as_host_vec::<u16>().expect("copied"), [1, 2, 3, 4, 5, 6]);
        assert_eq!(array.descriptor().expect("a description").dims(), dims);
        ArrayObject::drop(array).expect("destroyed");
    }
    let layers = ArrayObject::new_layered([2, 2], 3, ArrayFormat::F32, 4).expect("an array");
    assert_eq!(layers.as_host_vec::<f32>().expect("copied").len(), 48);
    assert!(ArrayObject::new_cubemap(4, ArrayFormat::I8, 2).is_ok());
    let three = ArrayObject::new_1d(4, ArrayFormat::U8, 3).map(drop);
    assert_eq!(three, Err(CudaError::InvalidValue));
    let empty = ArrayObject::new_2d([0, 4], ArrayFormat::U8, 1).map(drop);
    assert_eq!(empty, Err(CudaError::InvalidValue));
    let wide = ArrayObject::new_1d(4, ArrayFormat::F64, 1).map(drop);
    assert_eq!(wide, Err(CudaError::NotSupported));
}

#[test]
#[should_panic(expected = "an array of 4 bytes cannot be copied from or to 3 bytes")]
fn a_copy_of_another_size_panics() {
    let _context = cpu();
    let mut array = ArrayObject::new_1d(4, ArrayFormat::U8, 1).expect("an array");
    let _ = array.copy_from::<u8, _>(&[1, 2, 3]);
}

/// Returns the values that a kernel reads from `texture` at the coordinates `at`.
fn read(texture: &Texture, at: &[Vec2]) -> Vec<f32> {
    let (module, stream) =
        (module(), Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream"));
    let at = at.as_dbuf().expect("memory");
    let out = DeviceBuffer::<f32>::zeroed(at.len()).expect("memory");
    let threads = at.len() as u32;
    // SAFETY: each thread reads one element of `at` and writes one element of `out`, and the
    // texture stays alive.
    unsafe {
        launch!(module.sample<<<1, threads, 0, stream>>>(
            texture.handle(),
            GpuBuffer::as_device_ptr(&at),
            at.len(),
            GpuBuffer::as_device_ptr(&out)
        ))
    }
    .expect("the kernel runs");
    out.as_host_vec().expect("copied")
}

/// Creates a texture that reads a 2×2 array with the elements 1, 2, 3, 4.
fn texture(descriptor: TextureDescriptor) -> Result<Texture, CudaError> {
    let array = [1.0_f32, 2.0, 3.0, 4.0].as_2d_array(2, 2).expect("an array");
    let ty = ResourceType::Array { array };
    Texture::new(
        ResourceDescriptor { flags: ResourceDescriptorFlags::empty(), ty },
        descriptor,
        None,
    )
}

#[test]
fn kernels_read_textures() {
    let _context = cpu();
    let at = [Vec2::new(0.5, 0.5), Vec2::new(1.9, 1.1), Vec2::new(-3.0, 0.5), Vec2::new(1.0, 1.0)];
    let points = [1.0_f32, 2.0, 3.0, 4.0].as_2d_texture(2, 2).expect("a texture");
    assert_eq!(read(&points, &at), [1.0, 4.0, 1.0, 4.0]);
    let array = points.into_array().expect("destroyed").expect("the array");
    assert_eq!(array.as_host_vec::<f32>().expect("copied"), [1.0, 2.0, 3.0, 4.0]);

    let linear = texture(TextureDescriptor {
        adress_modes: [TextureAdressingMode::Border; 3],
        filter_mode: TextureFilterMode::Linear,
        border_color: [0.0; 4],
        ..Default::default()
    });
    assert_eq!(read(&linear.expect("a texture"), &at)[2..], [0.0, 2.5]);
}

#[test]
fn textures_that_the_cpu_lacks_are_refused() {
    let _context = cpu();
    let unsupported = Err(CudaError::NotSupported);
    let normalised = TextureDescriptor {
        flags: TextureDescriptorFlags::NORMALIZED_COORDINATES,
        ..Default::default()
    };
    assert_eq!(texture(normalised).map(drop), unsupported);
    let wrapping =
        TextureDescriptor { adress_modes: [TextureAdressingMode::Wrap; 3], ..Default::default() };
    assert_eq!(texture(wrapping).map(drop), unsupported);
    assert_eq!([1.0_f32, 2.0].as_1d_texture().map(drop), unsupported);
    assert_eq!([1.0_f32, 2.0].as_2d_surface(2, 1).map(drop), unsupported);
    let whole = [1_u32, 2].as_2d_array(2, 1).expect("an array");
    let linear = TextureDescriptor { filter_mode: TextureFilterMode::Linear, ..Default::default() };
    let ty = ResourceType::Array { array: whole };
    let resource = ResourceDescriptor { flags: ResourceDescriptorFlags::empty(), ty };
    assert_eq!(Texture::new(resource, linear, None).map(drop), Err(CudaError::InvalidValue));
}
