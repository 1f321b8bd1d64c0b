//! From pictures and where they look to a panorama: colours, seams, stitches.

use panoweave::colour::{Colours, matched_pictures};
use panoweave::device::Stream;
use panoweave::mosaic::{Mosaic, Step};
use panoweave::picture::Picture;
use panoweave::seam::{Blend, seamed_pictures};
use panoweave::stitch::{StitchOptions, stitch_pictures};
use panoweave::warp::DeviceWarp;

use super::failure::Failure;
use super::stages::Stages;

/// How a panorama is made.
pub(super) struct Making {
    pub(super) options: StitchOptions,
    /// Whether colours are matched, in place of those in the options.
    pub(super) match_colour: bool,
    pub(super) blend: Blend,
}

impl Making {
    /// The panorama of two pictures, and the warp with the seam that it has.
    pub(super) fn pair(
        &self,
        stages: &mut Stages,
        stream: &Stream,
        [left, right]: [&Picture; 2],
        warp: DeviceWarp,
    ) -> Result<(Picture, DeviceWarp), Failure> {
        let mut options = self.options;
        if self.match_colour {
            let found = stages.run("colour", "matching colours", || {
                Ok(matched_pictures(stream, left, right, &warp)?)
            })?;
            match found {
                Some(Colours { left, right }) => (options.left, options.right) = (left, right),
                None => {
                    tracing::warn!("colours are left as they are: the overlap is small or dark");
                }
            }
        }
        let warp =
            match self.blend {
                Blend::Feather => warp,
                Blend::Seam(seam) => stages.run("seam", "finding the seam", || {
                    match seamed_pictures(stream, left, right, &warp, &options, seam) {
                        Err(reason) if reason.is_of_warp() => {
                            tracing::warn!("{reason}");
                            Ok(warp)
                        }
                        seamed => Ok(seamed?),
                    }
                })?,
            };
        let panorama = stages.run("stitch", "stitching", || {
            Ok(stitch_pictures(stream, left, right, &warp, &options)?)
        })?;
        Ok((panorama, warp))
    }

    /// The panorama of all pictures of a mosaic. `look` sees each step, with the seam that it has.
    pub(super) fn mosaic(
        &self,
        stages: &mut Stages,
        stream: &Stream,
        pictures: &[Picture],
        mut mosaic: Mosaic,
        mut look: impl FnMut(&Step) -> Result<(), Failure>,
    ) -> Result<Picture, Failure> {
        let mut panorama: Option<Picture> = None;
        while let Some(step) =
            stages.run("warp", "preparing the warp", || Ok(mosaic.step(stream)?))?
        {
            let Step { left, right, warp } = step;
            let pair =
                [left.map(|left| &pictures[left]).or(panorama.as_ref()), Some(&pictures[right])];
            let [Some(left_picture), Some(right_picture)] = pair else { break };
            // What is done to the whole panorama is done once.
            let (flip, edge_boost) = (self.options.flip, self.options.edge_boost);
            let options = StitchOptions {
                flip: flip && mosaic.is_done(),
                edge_boost: edge_boost && mosaic.is_done(),
                ..self.options
            };
            let (made, warp) = Self { options, ..*self }.pair(
                stages,
                stream,
                [left_picture, right_picture],
                warp,
            )?;
            look(&Step { left, right, warp })?;
            panorama = Some(made);
        }
        panorama.ok_or(Failure::Usage("a panorama is of two pictures or more"))
    }
}
