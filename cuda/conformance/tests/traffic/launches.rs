//! The launches whose memory traffic is compared between the simulator and a GPU.

use conformance::traffic::{
    HistogramWeights, MatmulTiles, ROWS, ReduceStrided, SparseRows, Stencil, SumPoints, SumRows,
    TILE, TransposeNaive, TransposePadded, TransposeTile,
};
use cust::typed::{Buffer, Device, DeviceError, LaunchConfig};

fn grid(grid: [u32; 2], block: [u32; 2]) -> LaunchConfig {
    let [grid, block] = [grid, block].map(|[x, y]| [x, y, 1]);
    LaunchConfig { grid, block, dynamic_shared: 0 }
}

/// Returns a different number for each index.
fn noise(i: u32) -> u32 {
    let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9);
    (x ^ x >> 15).wrapping_mul(0x85eb_ca6b) >> 8
}

/// Launches each kernel of [`conformance::traffic`] once.
pub(crate) fn run(device: &Device) -> Result<(), DeviceError> {
    let stream = device.stream()?;
    let floats: Vec<f32> = (0..65_536).map(|i| (i % 251) as f32).collect();
    let floats = Buffer::from_slice(&stream, &floats)?;
    let mut out = Buffer::<f32>::new(device, floats.len())?;

    let n = 256;
    let tiles = grid([n / TILE, n / TILE], [TILE, ROWS]);
    // SAFETY: each buffer has as many elements as its kernel requires, and each grid covers them.
    unsafe {
        let kernel = TransposeNaive { input: floats.view(), out: out.view_mut(), n };
        stream.launch_unchecked(&tiles, &kernel)?;
        let kernel = TransposeTile { input: floats.view(), out: out.view_mut(), n };
        stream.launch_unchecked(&tiles, &kernel)?;
        let kernel = TransposePadded { input: floats.view(), out: out.view_mut(), n };
        stream.launch_unchecked(&tiles, &kernel)?;

        let n = 64;
        let kernel = MatmulTiles { a: floats.view(), b: floats.view(), out: out.view_mut(), n };
        stream.launch_unchecked(&grid([n / 16, n / 16], [16, 16]), &kernel)?;

        let kernel = Stencil { input: floats.view(), out: out.view_mut(), width: 100, height: 70 };
        stream.launch_unchecked(&grid([4, 9], [32, 8]), &kernel)?;

        let kernel = ReduceStrided { input: floats.view(), sums: out.view_mut(), first: 1 };
        stream.launch_unchecked(&grid([16, 1], [256, 1]), &kernel)?;
    }

    let points: Vec<[f32; 3]> = (0..5_000).map(|i| [i as f32, 1.0, 2.0]).collect();
    let points = Buffer::from_slice(&stream, &points)?;
    let values: Vec<u32> = (0..10_000).map(|i| noise(i) % 64).collect();
    let weights: Vec<u32> = (0..10_000).map(|i| noise(i) % 7).collect();
    let [values, weights] =
        [Buffer::from_slice(&stream, &values)?, Buffer::from_slice(&stream, &weights)?];
    let mut bins = Buffer::<u32>::from_slice(&stream, &[0; 64])?;
    // SAFETY: as above.
    unsafe {
        let kernel = SumPoints { points: points.view(), sums: out.view_mut() };
        stream.launch_unchecked(&LaunchConfig::cover(points.len(), 1, [256, 1]), &kernel)?;

        let (values, weights, bins) = (values.view(), weights.view(), bins.view_mut());
        stream.launch_unchecked(
            &grid([8, 1], [256, 1]),
            &HistogramWeights { values, weights, bins },
        )?;
    }
    sparse(device, &floats, &mut out)?;
    stream.synchronize()
}

/// Launches the kernels with divergent loops on 900 rows of 0 to 12 elements.
fn sparse(device: &Device, floats: &Buffer<f32>, out: &mut Buffer<f32>) -> Result<(), DeviceError> {
    let stream = device.stream()?;
    let mut starts = vec![0];
    starts.extend((0..900).scan(0, |sum, row| {
        *sum += noise(row) % 13;
        Some(*sum)
    }));
    let columns: Vec<u32> = (0..starts[900]).map(|k| noise(k) % 4096).collect();
    let [starts, columns] =
        [Buffer::from_slice(&stream, &starts)?, Buffer::from_slice(&stream, &columns)?];
    let config = grid([2, 1], [128, 1]);
    // SAFETY: each buffer has as many elements as its kernel requires.
    unsafe {
        let (starts, columns, values) = (starts.view(), columns.view(), floats.view());
        let (x, sums) = (floats.view(), out.view_mut());
        let kernel = SparseRows { starts, columns, values, x, sums, step: 1 };
        stream.launch_unchecked(&config, &kernel)?;
        let SparseRows { starts, values, sums, .. } = kernel;
        stream.launch_unchecked(&config, &SumRows { starts, values, sums, step: 1 })
    }
}
