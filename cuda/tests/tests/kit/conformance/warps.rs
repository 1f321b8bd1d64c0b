//! Tests of reductions and matches among the lanes of a mask, of shuffles of types of every size, and of barriers that
//! count threads.

use conformance::warps::{
    CountAtBarrier, MatchLanes, ReduceLanesI8, ReduceLanesI16, ReduceLanesI32, ReduceLanesI64,
    ReduceLanesU8, ReduceLanesU16, ReduceLanesU32, ReduceLanesU64, ShuffleWidths,
};
use conformance_devices::all_give;

use crate::conformance::{download, launch, line, noise, upload, zeros};

/// Masks with one lane, some lanes and all lanes.
const MASKS: [u32; 5] = [1, 0x8000_0000, 0x5555_5555, 0x0ff0_1234, u32::MAX];

/// Defines a test that compares the reductions of one type with folds over the lanes of a mask.
macro_rules! reductions {
    ($test:ident, $kernel:ident, $type:ty) => {
        #[test]
        fn $test() {
            let values: Vec<$type> = noise(256)
                .windows(2)
                .map(|n| (u64::from(n[0]) << 32 | u64::from(n[1])) as $type)
                .take(192)
                .collect();
            for mask in MASKS {
                let takes_part = |lane: &usize| mask & 1 << (lane % 32) != 0;
                let warps = values.chunks(32).flat_map(|warp| {
                    let lanes: Vec<$type> =
                        (0..32).filter(takes_part).map(|lane| warp[lane]).collect();
                    let reduced = [
                        lanes.iter().fold(0, |sum: $type, &v| sum.wrapping_add(v)),
                        lanes.iter().copied().min().unwrap(),
                        lanes.iter().copied().max().unwrap(),
                        lanes.iter().fold(!0, |all, &v| all & v),
                        lanes.iter().fold(0, |any, &v| any | v),
                        lanes.iter().fold(0, |odd, &v| odd ^ v),
                    ];
                    (0..32).map(move |lane| if takes_part(&lane) { reduced } else { [0; 6] })
                });
                all_give(&warps.collect::<Vec<_>>(), |stream| {
                    let input = upload(stream, &values);
                    let mut out = zeros(stream, input.len());
                    let kernel = $kernel { input: input.view(), out: out.view_mut(), mask };
                    launch(stream, line(2, 96), &kernel);
                    download(stream, &out)
                });
            }
        }
    };
}

reductions!(reductions_of_i8, ReduceLanesI8, i8);
reductions!(reductions_of_u8, ReduceLanesU8, u8);
reductions!(reductions_of_i16, ReduceLanesI16, i16);
reductions!(reductions_of_u16, ReduceLanesU16, u16);
reductions!(reductions_of_i32, ReduceLanesI32, i32);
reductions!(reductions_of_u32, ReduceLanesU32, u32);
reductions!(reductions_of_i64, ReduceLanesI64, i64);
reductions!(reductions_of_u64, ReduceLanesU64, u64);

#[test]
fn matches() {
    let mut values: Vec<u32> = noise(96).iter().map(|n| n % 5).collect();
    values[32..64].fill(9);
    let lanes_like = |warp: &[u32], value| {
        (0..32).filter(|&lane| warp[lane as usize] == value).map(|lane| 1_u32 << lane).sum()
    };
    let expected: Vec<[u32; 4]> = values
        .chunks(32)
        .flat_map(|warp| warp.iter().map(move |&value| lanes_like(warp, value)))
        .map(|any| (any, if any == u32::MAX { any } else { 0 }))
        .map(|(any, all)| [any, all, any, all])
        .collect();
    all_give(&expected, |stream| {
        let input = upload(stream, &values);
        let mut out = zeros(stream, input.len());
        launch(stream, line(1, 96), &MatchLanes { input: input.view(), out: out.view_mut() });
        download(stream, &out)
    });
}

#[test]
fn shuffles_of_every_width() {
    let values: Vec<u64> =
        noise(129).windows(2).map(|n| u64::from(n[0]) << 32 | u64::from(n[1])).collect();
    for lane_mask in [0, 1, 7, 31] {
        let expected: Vec<[u64; 8]> = (0..values.len())
            .map(|at| values[at ^ lane_mask as usize])
            .map(|v| {
                let wide = u128::from(v) << 40 | u128::from(v);
                let signed = -i128::from(v);
                let half = v & 0xffff;
                [
                    v & 0xff,
                    v as i8 as u64,
                    half,
                    v as i16 as u64,
                    half,
                    half,
                    (wide ^ wide >> 64) as u64,
                    (signed ^ signed >> 64) as u64,
                ]
            })
            .collect();
        all_give(&expected, |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, input.len());
            let (input, out_view) = (input.view(), out.view_mut());
            launch(stream, line(2, 64), &ShuffleWidths { input, out: out_view, lane_mask });
            download(stream, &out)
        });
    }
}

#[test]
fn barriers_that_count() {
    let mut values: Vec<u32> = noise(300).iter().map(|n| n % 20).collect();
    values[100..200].fill(50);
    for limit in [0, 9, 19, 49, 50] {
        let expected: Vec<[u32; 3]> = values
            .chunks(100)
            .flat_map(|block| {
                let over = block.iter().filter(|&&v| v > limit).count() as u32;
                vec![[over, (over == 100).into(), (over != 0).into()]; 100]
            })
            .collect();
        all_give(&expected, |stream| {
            let input = upload(stream, &values);
            let mut out = zeros(stream, input.len());
            let (input, out_view) = (input.view(), out.view_mut());
            launch(stream, line(3, 100), &CountAtBarrier { input, limit, out: out_view });
            download(stream, &out)
        });
    }
}
