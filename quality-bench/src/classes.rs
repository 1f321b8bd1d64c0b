//! The classes of scenes as data: what each class changes about a plain rig.

/// The backgrounds of a class, one for each [`Texture`](crate::scene::Texture). Its seeds use them in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Background {
    Noise,
    City,
    Text,
    Sky,
    Foliage,
    Repeated(Pattern),
    /// A photograph of the outside data, selected by the seed.
    Photo,
}

use Background::{City, Foliage, Noise, Photo, Repeated, Sky, Text};

use crate::scene::Pattern;

/// A class: ranges from which the seed draws a rig. Ranges are `(smallest, largest)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    pub(crate) name: &'static str,
    /// The difficulty, for the report.
    pub(crate) what: &'static str,
    pub(crate) backgrounds: &'static [Background],
    /// Number of seeds of a full run.
    pub(crate) seeds: u64,
    /// Number of cameras of a row.
    pub(crate) cameras: (usize, usize),
    /// Number of rows.
    pub(crate) rows: usize,
    /// Whether the row closes around the full circle.
    pub(crate) full_turn: bool,
    /// Horizontal field of view of a camera, in degrees.
    pub(crate) view: (f64, f64),
    /// The part of a camera's field of view that the next camera sees too.
    pub(crate) overlap: (f64, f64),
    /// Largest random roll of a camera, in degrees.
    pub(crate) roll: f64,
    /// Largest random change of yaw and pitch of a camera, in degrees.
    pub(crate) jitter: f64,
    /// Largest exposure difference from the truth, in stops (factors of 2).
    pub(crate) stops: f64,
    /// Largest gain of the red and blue channels of a camera, relative to green, as `ln`.
    pub(crate) white: f64,
    /// Light lost in the corners.
    pub(crate) vignette: (f64, f64),
    /// Largest part of the light that haze adds at its middle, which is at another place in each picture.
    pub(crate) haze: f64,
    /// Strength of the S-shaped response of all cameras, from 0 to 1.
    pub(crate) response: f64,
    /// Standard deviation of the noise at white, as a part of white.
    pub(crate) noise: f64,
    /// Standard deviation of the blur in pixels. Each camera has its own.
    pub(crate) blur: (f64, f64),
    /// Radial distortion: the change at half the picture's width, as a part of it.
    pub(crate) distortion: (f64, f64),
    /// Radius of the ball that contains the cameras, in metres.
    pub(crate) baseline: f64,
    /// Number of near objects at rest.
    pub(crate) near: usize,
    /// Number of moving objects.
    pub(crate) moving: usize,
}

/// Cameras that differ in nothing but their direction.
const PLAIN: Class = Class {
    name: "plain",
    what: "nothing but turned cameras",
    backgrounds: &[City, Foliage, Text, Noise],
    seeds: 3,
    cameras: (2, 4),
    rows: 1,
    full_turn: false,
    view: (42.0, 60.0),
    overlap: (0.3, 0.45),
    roll: 1.5,
    jitter: 2.0,
    stops: 0.0,
    white: 0.0,
    vignette: (0.0, 0.0),
    haze: 0.0,
    response: 0.0,
    noise: 0.0,
    blur: (0.0, 0.0),
    distortion: (0.0, 0.0),
    baseline: 0.0,
    near: 0,
    moving: 0,
};

/// All classes, in the order of the report.
pub(crate) const CLASSES: [Class; 16] = [
    Class { seeds: 4, ..PLAIN },
    Class {
        name: "exposure",
        what: "exposure differs by up to ±0.8 stops, white balance by ±8 %",
        stops: 0.8,
        white: 0.08,
        seeds: 4,
        ..PLAIN
    },
    Class {
        name: "vignette",
        what: "corners lose 30 to 50 % of the light",
        vignette: (0.3, 0.5),
        ..PLAIN
    },
    Class {
        name: "response",
        what: "an S-shaped response and exposure steps of up to ±0.6 stops",
        response: 0.7,
        stops: 0.6,
        ..PLAIN
    },
    Class {
        name: "noise",
        what: "noise of 4 % at white and ±0.2 stops",
        noise: 0.04,
        stops: 0.2,
        ..PLAIN
    },
    Class { name: "blur", what: "each lens blurs by 0.3 to 1.6 px", blur: (0.3, 1.6), ..PLAIN },
    Class {
        name: "lens",
        what: "radial distortion of −6 to −2 %",
        distortion: (-0.06, -0.02),
        ..PLAIN
    },
    Class {
        name: "rolled",
        what: "cameras roll by up to ±40°",
        roll: 40.0,
        overlap: (0.4, 0.5),
        ..PLAIN
    },
    Class { name: "lowoverlap", what: "only 10 to 16 % overlap", overlap: (0.10, 0.16), ..PLAIN },
    Class {
        name: "parallax",
        what: "cameras up to 0.1 m apart, objects 2 to 5 m away",
        baseline: 0.05,
        near: 9,
        backgrounds: &[City, Foliage, City, Noise],
        ..PLAIN
    },
    Class {
        name: "moving",
        what: "objects move between the exposures",
        moving: 7,
        backgrounds: &[City, Foliage, City, Noise],
        ..PLAIN
    },
    Class {
        name: "sky",
        what: "smooth sky, a sun beyond white, vignette and ±0.4 stops",
        backgrounds: &[Sky],
        stops: 0.4,
        vignette: (0.1, 0.25),
        ..PLAIN
    },
    Class {
        name: "haze",
        what: "haze brightens a part of each picture by up to 35 %, and ±0.2 stops",
        backgrounds: &[Sky, City, Foliage],
        haze: 0.35,
        stops: 0.2,
        // The colour error varies by a factor of 2 between these scenes, so a mean needs more of them.
        seeds: 10,
        ..PLAIN
    },
    Class {
        name: "wide",
        what: "a full turn of 7 or 8 cameras",
        cameras: (7, 8),
        full_turn: true,
        overlap: (0.28, 0.38),
        stops: 0.3,
        seeds: 2,
        ..PLAIN
    },
    Class {
        name: "grid",
        what: "two rows of 2 or 3 cameras",
        cameras: (2, 3),
        rows: 2,
        stops: 0.3,
        seeds: 2,
        ..PLAIN
    },
    Class {
        name: "outside",
        what: "photographs as backgrounds, ±0.3 stops and noise of 1 %",
        backgrounds: &[Photo],
        cameras: (2, 3),
        view: (30.0, 34.0),
        stops: 0.3,
        noise: 0.01,
        seeds: 5,
        ..PLAIN
    },
];

/// The class of the sequences: cameras with noise and slightly different exposures, and objects that move.
pub(crate) const VIDEO: Class = Class {
    name: "video",
    what: "20 frames; noise, exposures that drift by ±0.25 stops, moving objects",
    backgrounds: &[City, Foliage],
    overlap: (0.4, 0.5),
    seeds: 3,
    cameras: (2, 3),
    stops: 0.2,
    noise: 0.015,
    moving: 5,
    ..PLAIN
};

/// The class of the pairs of `--pairs`: backgrounds that look the same at many places.
pub(crate) const REPEATED: Class = Class {
    name: "repeated",
    what: "patterns that repeat; roll, exposure and noise differ",
    backgrounds: &[
        Repeated(Pattern::Fence),
        Repeated(Pattern::Seats),
        Repeated(Pattern::Facade),
        Repeated(Pattern::Bricks),
        Repeated(Pattern::Grass),
        Repeated(Pattern::Crowd),
        Repeated(Pattern::Clouds),
        Text,
        Foliage,
        City,
        Sky,
        Noise,
    ],
    overlap: (0.15, 0.6),
    roll: 4.0,
    stops: 0.4,
    noise: 0.015,
    seeds: 24,
    ..PLAIN
};
