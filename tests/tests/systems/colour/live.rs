//! Checks that live colour correction matches more than two cameras, in steps of at most one level, and keeps going
//! when a camera becomes dark.

use panoweave::device::Device;
use panoweave::frame::Frame;
use panoweave::live::{ColourOptions, LiveOptions, Output, Session, StitchedFrames};
use panoweave::ops::colour::Colour;
use panoweave::warp::DeviceWarp;
use panoweave_tests::live::{FRAME, STILL, waiting};
use panoweave_tests::panoweave_devices;

use super::exposure::{BAND, ring as ring_of};

const FOLLOW: ColourOptions = ColourOptions { follow: true, ..STILL };

/// A live session of three cameras in a ring, each of which sees a uniform gray.
struct Ring {
    session: Session,
    panoramas: StitchedFrames,
    frame: u32,
    last: Option<[u8; 3]>,
}

impl Ring {
    fn new(device: &Device, colour: ColourOptions) -> Self {
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::upload(&stream, &ring_of(3)).unwrap();
        let session =
            Session::new(device, warp, &[Output::default()], LiveOptions { colour, ..waiting() })
                .unwrap();
        let panoramas = session.panoramas();
        Self { session, panoramas, frame: 0, last: None }
    }

    /// Stitches frames in which each camera sees a gray of this level. Returns the last panorama's levels in the middle
    /// of the three overlaps: of cameras 0 and 1, of cameras 1 and 2, and of cameras 2 and 0. As long as the cameras'
    /// levels stay the same, checks that no level changes by more than one per frame.
    fn show(&mut self, levels: [u8; 3], frames: u32) -> [u8; 3] {
        self.last = None;
        for _ in 0..frames {
            let format = self.session.input_formats()[0];
            let bytes = levels.map(|level| vec![level; format.bytes()]);
            let views = bytes.each_ref().map(|bytes| Frame::tight(format, bytes).unwrap());
            self.session.submit(views, FRAME * self.frame).unwrap();
            let panorama = self.panoramas.next().unwrap();
            let now = [0, 1, 2].map(|i| panorama.bytes()[4 * (BAND * i + BAND / 2) as usize]);
            let last = self.last.replace(now).unwrap_or(now);
            let changes = now.iter().zip(last).map(|(now, last)| now.abs_diff(last));
            assert!(changes.max() <= Some(1), "frame {}: {last:?} to {now:?}", self.frame);
            self.frame += 1;
        }
        self.last.unwrap()
    }
}

fn spread(levels: &[u8]) -> u8 {
    levels.iter().max().unwrap() - levels.iter().min().unwrap()
}

#[test]
fn a_live_ring_follows_the_light() {
    for device in panoweave_devices() {
        let mut ring = Ring::new(&device, FOLLOW);
        let matched = ring.show([60, 80, 110], 200);
        assert!(spread(&matched) <= 1, "{device}: {matched:?}");
        let overlaps = ring.session.colour().analysis.unwrap().overlaps;
        let cameras: Vec<_> = overlaps.iter().map(|overlap| overlap.cameras).collect();
        assert_eq!(cameras, [[0, 1], [0, 2], [1, 2]]);
        // Camera 1 doubles its brightness.
        let matched = ring.show([60, 160, 110], 150);
        assert!(spread(&matched) <= 2, "{device}: {matched:?}");
        // Camera 2 becomes black. The others are still matched when camera 0 changes, and camera 2 keeps its colours.
        let before = ring.session.colour().colours;
        ring.show([60, 160, 0], 30);
        let held = ring.session.colour().colours;
        assert!((before[2].gain.y / held[2].gain.y - 1.0).abs() < 0.01, "{device}");
        ring.show([90, 160, 0], 150);
        let colours = ring.session.colour().colours;
        let [a, b] = [90.0 * colours[0].gain.y, 160.0 * colours[1].gain.y];
        assert!((a / b - 1.0).abs() < 0.02, "{device}: {a} and {b}");
        // When it comes back, it is matched again.
        let matched = ring.show([90, 160, 110], 150);
        assert!(spread(&matched) <= 2, "{device}: {matched:?}");
    }
}

/// The other cameras are matched to the anchor, which stays as it is when another camera changes.
#[test]
fn an_anchor_stays_as_it_is() {
    for device in panoweave_devices() {
        let mut ring = Ring::new(&device, ColourOptions { anchor: Some(1), ..FOLLOW });
        for levels in [[60, 80, 110], [90, 80, 110], [90, 80, 70]] {
            let matched = ring.show(levels, 200);
            assert!(matched.iter().all(|level| level.abs_diff(80) <= 2), "{device}: {matched:?}");
            assert_eq!(ring.session.colour().colours[1], Colour::IDENTITY, "{device}");
        }
        let options =
            LiveOptions { colour: ColourOptions { anchor: Some(3), ..STILL }, ..waiting() };
        let stream = device.stream().unwrap();
        let warp = DeviceWarp::upload(&stream, &ring_of(3)).unwrap();
        let error = Session::new(&device, warp, &[Output::default()], options).unwrap_err();
        assert!(error.to_string().contains("`colour.anchor`"), "{error}");
    }
}

/// Where all cameras are white, the panorama is white, although one camera is darkened to match the others.
#[test]
fn highlights_are_kept_by_option() {
    for device in panoweave_devices() {
        for keep_highlights in [false, true] {
            let mut ring = Ring::new(&device, ColourOptions { keep_highlights, ..FOLLOW });
            let matched = ring.show([60, 80, 110], 200);
            assert!(spread(&matched) <= 1, "{device}: {matched:?}");
            assert!(ring.session.colour().colours[2].gain.y < 0.9);
            let white = ring.show([255; 3], 1);
            assert_eq!(white == [255; 3], keep_highlights, "{device}: {white:?}");
        }
    }
}
