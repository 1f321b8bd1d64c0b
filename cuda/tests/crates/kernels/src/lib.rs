//! Kernels that call published crates. Each kernel applies a function of one crate, such as `sha2`, to 64 bytes per
//! thread.
//!
//! The functions are ordinary Rust. The host also calls them and compares the results.

use cuda_std::prelude::*;

/// The input of one thread: 64 arbitrary bytes.
pub type Input = [u8; 64];
/// The output of one thread.
pub type Output = [u8; 32];

/// Defines a kernel for each listed function. The kernel applies the function to one input per thread.
macro_rules! kernels {
    ($($name:ident)+) => {
        /// Contains one kernel for each function. The kernel has the function's name.
        pub mod kernels {
            use super::*;
            $(
                #[doc = concat!("Applies [`", stringify!($name), "`](super::", stringify!($name), ") to each input.")]
                #[kernel(dims(1))]
                pub fn $name(input: Slice<Input>, output: SliceMut<Output>) {
                    let i = thread::unique_1d();
                    if let Some(input) = input.get(i) {
                        output.set(i, super::$name(&input));
                    }
                }
            )+
        }
    };
}
kernels!(sha256 blake3_hash aes128 secp256k1 small_rng eigenvalues sorted rotated);

/// Returns the SHA-256 digest, computed with the crate `sha2`.
pub fn sha256(input: &Input) -> Output {
    use sha2::Digest as _;
    sha2::Sha256::digest(input).into()
}

/// Returns the BLAKE3 hash, computed with the crate `blake3`.
pub fn blake3_hash(input: &Input) -> Output {
    *blake3::hash(input).as_bytes()
}

/// Encrypts two blocks with AES-128, with the crate `aes`. The first 16 bytes are the key, and the next 32 the blocks.
pub fn aes128(input: &Input) -> Output {
    use aes::cipher::{BlockCipherEncrypt as _, KeyInit as _};
    let (key, text) = (&input[..16], &input[16..48]);
    let cipher = aes::Aes128::new_from_slice(key).expect("16 bytes");
    let mut output = [0; 32];
    output.copy_from_slice(text);
    for block in output.as_chunks_mut::<16>().0 {
        cipher.encrypt_block(block.into());
    }
    output
}

/// Multiplies the generator of secp256k1 by the number in the first 32 bytes, with the crate `k256`. Returns the x
/// coordinate of the product.
pub fn secp256k1(input: &Input) -> Output {
    use k256::elliptic_curve::ops::Reduce as _;
    use k256::elliptic_curve::point::AffineCoordinates as _;
    let scalar: [u8; 32] = core::array::from_fn(|i| input[i]);
    let scalar = k256::Scalar::reduce(&k256::FieldBytes::from(scalar));
    (k256::ProjectivePoint::GENERATOR * scalar).to_affine().x().into()
}

/// Generates 16 random bytes, 8 random letters and 8 zeros, and returns all 32 bytes in random order. Uses the crate
/// `rand` with the first two bytes of `input` as the seed.
pub fn small_rng(input: &Input) -> Output {
    use rand::seq::SliceRandom as _;
    use rand::{Rng as _, RngExt as _, SeedableRng as _};
    let mut random = rand::rngs::SmallRng::seed_from_u64(u64::from(input[0]) << 8 | u64::from(input[1]));
    let mut output = [0; 32];
    random.fill_bytes(&mut output[..16]);
    for byte in &mut output[16..24] {
        *byte = random.random_range(b'a'..=b'z');
    }
    output.shuffle(&mut random);
    output
}

/// Creates a symmetric matrix from the input, with the crate `nalgebra`. Returns the matrix's eigenvalues, the diagonal
/// of its inverse, its determinant and its norm.
pub fn eigenvalues(input: &Input) -> Output {
    let matrix = nalgebra::Matrix3::from_fn(|row, column| {
        let (low, high) = (row.min(column), row.max(column));
        f32::from(input[3 * low + high]) / 64.0 + if row == column { 4.0 } else { 0.0 }
    });
    let values = matrix.symmetric_eigenvalues();
    let inverse = matrix.try_inverse().unwrap_or_default();
    let numbers = [
        values[0],
        values[1],
        values[2],
        inverse[(0, 0)],
        inverse[(1, 1)],
        inverse[(2, 2)],
        matrix.determinant(),
        matrix.norm(),
    ];
    bytes(numbers)
}

/// Sorts the bytes, and adds to sorted byte `i` the number of bytes that equal `i` modulo 32. Returns the first 32
/// sums. Uses the heap, the map and the vector of the crate `heapless`.
pub fn sorted(input: &Input) -> Output {
    let mut heap = heapless::BinaryHeap::<u8, heapless::binary_heap::Min, 64>::new();
    let mut counts = heapless::index_map::FnvIndexMap::<u8, u8, 64>::new();
    for &byte in input {
        let _ = heap.push(byte);
        let count = counts.get(&(byte % 32)).copied().unwrap_or(0);
        let _ = counts.insert(byte % 32, count + 1);
    }
    let mut lowest = heapless::Vec::<u8, 64>::new();
    while let Some(byte) = heap.pop() {
        let _ = lowest.push(byte);
    }
    core::array::from_fn(|i| {
        let count = counts.get(&(i as u8)).copied().unwrap_or(0);
        lowest[i].wrapping_add(count)
    })
}

/// Creates a rotation and a matrix from the input, with the crate `glam`. Returns a vector rotated by the rotation, a
/// point transformed by the matrix, the real part of the rotation's quaternion and the matrix's determinant.
pub fn rotated(input: &Input) -> Output {
    use glam::{Mat4, Quat, Vec3};
    let number = |i: usize| f32::from(input[i]) / 37.0 - 3.0;
    let axis = Vec3::new(number(0), number(1), number(2)).normalize_or(Vec3::X);
    let turn = Quat::from_axis_angle(axis, number(3));
    let shear = Mat4::from_scale(Vec3::new(1.5, 1.0, number(6))) + Mat4::from_translation(axis);
    let matrix = shear * Mat4::from_quat(turn);
    let (turned, moved) = (turn * Vec3::Y, matrix.transform_point3(Vec3::new(number(4), number(5), 2.0)));
    bytes([turned.x, turned.y, turned.z, moved.x, moved.y, moved.z, turn.w, matrix.determinant()])
}

fn bytes(numbers: [f32; 8]) -> Output {
    let mut output = [0; 32];
    for (to, number) in output.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
        *to = number.to_ne_bytes();
    }
    output
}
