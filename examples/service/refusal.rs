//! The errors of `POST /stitch`. The response to a failed request is the error message as plain text, with an HTTP
//! status that matches the error.

use axum::extract::multipart::{MultipartError, MultipartRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use panoweave::device::DeviceError;
use panoweave::geometry::homography::HomographyError;
use panoweave::io::picture::PictureError;
use panoweave::ops::stitch::StitchError;
use panoweave::panorama::PanoramaError;
use panoweave::warp::RenderError;
use thiserror::Error;

/// The reason why the service does not return a panorama for a request.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error(
        "the request is not a form ({0}); send multipart/form-data with the parts `left` and `right`"
    )]
    NotAForm(#[from] MultipartRejection),
    #[error("cannot read the form: {}", .0.body_text())]
    Form(#[from] MultipartError),
    #[error("the part `{0}` is missing; send both `left` and `right`")]
    Missing(&'static str),
    #[error("unknown part `{0}`; the parts are `left`, `right` and `homography`")]
    Unknown(String),
    #[error("the part `{0}` occurs twice; send it once")]
    Twice(String),
    #[error("the part `homography` is not UTF-8 text; send a homography as text")]
    NotText,
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(transparent)]
    Homography(#[from] HomographyError),
    #[error(
        "the panorama would be {width}×{height} pixels; it must have at most {most} pixels in total"
    )]
    TooLarge { width: u32, height: u32, most: u64 },
    #[error(
        "the panorama has {0} bytes as PNG, more than the service has for all requests; send smaller pictures"
    )]
    LongResponse(usize),
    #[error(transparent)]
    Warp(#[from] RenderError),
    #[error(transparent)]
    Panorama(#[from] PanoramaError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("the request did not arrive within a minute; send it faster")]
    Slow,
    #[error("the service is busy with other requests; try again later")]
    Busy,
    #[error("the service failed while it stitched the pictures; see its log")]
    Broken,
}

/// Returns the start of a name, so that an error message has no length of the client's choice.
fn cut(name: &str) -> String {
    match name.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

impl Refusal {
    pub(crate) fn unknown(name: &str) -> Self {
        Self::Unknown(cut(name))
    }

    pub(crate) fn twice(name: &str) -> Self {
        Self::Twice(cut(name))
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::NotAForm(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            // The body ended early, or its chunks are invalid.
            Self::Form(error) if error.status().is_server_error() => StatusCode::BAD_REQUEST,
            // `error.status()` distinguishes a syntax error in the form from a form with too many bytes.
            Self::Form(error) => error.status(),
            Self::Missing(_) | Self::Unknown(_) | Self::Twice(_) => StatusCode::BAD_REQUEST,
            Self::Picture(PictureError::NotAPicture { .. } | PictureError::WrongFormat { .. }) => {
                StatusCode::UNSUPPORTED_MEDIA_TYPE
            }
            Self::Picture(PictureError::TooLarge { .. } | PictureError::TooMuchMemory { .. })
            | Self::Homography(HomographyError::CanvasTooLarge { .. })
            | Self::TooLarge { .. }
            | Self::LongResponse(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Device(_)
            | Self::Warp(RenderError::Device(_))
            | Self::Panorama(
                PanoramaError::Device(_) | PanoramaError::Stitch(StitchError::Device(_)),
            )
            | Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            // The request is well-formed, but its contents cannot be stitched into a panorama.
            Self::NotText
            | Self::Picture(_)
            | Self::Homography(_)
            | Self::Warp(_)
            | Self::Panorama(_) => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status(), format!("{self}\n")).into_response()
    }
}
