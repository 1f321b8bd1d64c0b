//! Tests of warp votes, and of the exchange of values through shared memory within a warp.

use conformance::vote::{ExchangeInWarp, Vote, VoteEven};
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Returns the expected results of three votes in each lane: `all`, `any` and `ballot` of the condition that the value
/// exceeds `limit`. Only the lanes for which `takes_part` returns true vote. The results of the other lanes are zeros.
fn expected(values: &[u32], limit: u32, takes_part: fn(usize) -> bool) -> Vec<[u32; 3]> {
    let warp = |warp: &[u32]| {
        let lanes: Vec<usize> = (0..32).filter(|&lane| takes_part(lane)).collect();
        let over: Vec<usize> = lanes.iter().copied().filter(|&l| warp[l] > limit).collect();
        let votes = [
            u32::from(over.len() == lanes.len()),
            u32::from(!over.is_empty()),
            over.iter().map(|&lane| 1_u32 << lane).sum(),
        ];
        (0..32).map(move |lane| if takes_part(lane) { votes } else { [0; 3] })
    };
    values.chunks(32).flat_map(warp).collect()
}

/// Returns the values of six warps. The number of lanes with a value over 10 is, in this order: none, one, some, all
/// but one, and all. The values of the sixth warp are random.
fn values() -> Vec<u32> {
    let mut values = noise(192);
    values[..32].fill(10);
    values[32..64].fill(3);
    values[42] = 11;
    for value in &mut values[64..96] {
        *value %= 20;
    }
    values[96..160].fill(u32::MAX);
    values[101] = 0;
    values
}

#[test]
fn votes_of_whole_warps() {
    let values = values();
    for limit in [0, 10, u32::MAX - 1, u32::MAX] {
        all_give(&expected(&values, limit, |_| true), |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, 192);
            let kernel = Vote { input: input.view(), limit, out: out.view_mut() };
            launch(stream, line(3, 64), &kernel);
            download(stream, &out)
        });
    }
}

#[test]
fn votes_of_even_lanes() {
    let values = values();
    for limit in [0, 10, u32::MAX] {
        all_give(&expected(&values, limit, |lane| lane % 2 == 0), |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, 192);
            let kernel = VoteEven { input: input.view(), limit, out: out.view_mut() };
            launch(stream, line(2, 96), &kernel);
            download(stream, &out)
        });
    }
}

#[test]
fn sync_warp_orders_memory_within_a_warp() {
    let values = noise(512);
    for lane_mask in [1, 2, 13, 31] {
        let expected: Vec<u32> = (0..512).map(|i| values[i ^ lane_mask]).collect();
        all_give(&expected, |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, 512);
            let kernel = ExchangeInWarp {
                input: input.view(),
                out: out.view_mut(),
                lane_mask: lane_mask as u32,
            };
            launch(stream, line(2, 256), &kernel);
            download(stream, &out)
        });
    }
}
