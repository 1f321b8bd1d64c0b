//! Checks frames before the stitcher accepts them. A rejected frame is a strike for its camera.

use super::Stitcher;
use super::buffers::Input;
use super::error::LiveError;
use crate::frame::FrameFormat;
use crate::warp::camera_name;

impl Stitcher {
    /// Checks that there is one frame for each camera.
    pub(super) fn check_count(&self, found: usize) -> Result<(), LiveError> {
        let expected = self.shared.cameras();
        if found == expected { Ok(()) } else { Err(LiveError::Cameras { found, expected }) }
    }

    /// Checks that the stitcher has this camera.
    pub(super) fn check_camera(&self, camera: usize) -> Result<(), LiveError> {
        let expected = self.shared.cameras();
        if camera < expected {
            Ok(())
        } else {
            Err(LiveError::Cameras { found: camera.saturating_add(1), expected })
        }
    }

    /// Returns the name of a camera in error texts.
    fn name(&self, camera: usize) -> &'static str {
        camera_name(camera, self.shared.cameras())
    }

    pub(super) fn check_format(&self, camera: usize, found: FrameFormat) -> Result<(), LiveError> {
        let expected = self.shared.formats.inputs[camera];
        let error = || LiveError::Format { camera: self.name(camera), found, expected };
        self.accept(camera, if found == expected { Ok(()) } else { Err(error()) })
    }

    /// Checks that the stitcher can use a frame. A buffer must come from this stitcher and be for `camera`. An external
    /// frame must have the right format, planes and device.
    pub(super) fn check(&self, camera: usize, input: &Input) -> Result<(), LiveError> {
        let frame = match input {
            Input::Host(frame) => {
                return self.check_buffer(camera, frame.is_of(&self.shared.inputs[camera]));
            }
            Input::External(frame) => frame,
        };
        self.check_format(camera, frame.format())?;
        let name = self.name(camera);
        let expected = self.shared.device.place();
        self.accept(
            camera,
            match frame.places().find(|place| *place != expected) {
                _ if !frame.is_whole() => Err(LiveError::Chroma { camera: name }),
                Some(found) => Err(LiveError::Place { camera: name, found, expected }),
                None => Ok(()),
            },
        )
    }

    pub(super) fn check_buffer(&self, camera: usize, is_own: bool) -> Result<(), LiveError> {
        let error = || LiveError::Buffer { camera: self.name(camera) };
        self.accept(camera, is_own.then_some(()).ok_or_else(error))
    }

    /// Returns the result of the check of a frame. Reports a rejected frame to the state of the camera.
    fn accept(&self, camera: usize, check: Result<(), LiveError>) -> Result<(), LiveError> {
        if check.is_err() {
            self.shared.with_cameras(|cameras, now| cameras.rejected(camera, now));
        }
        check
    }
}
