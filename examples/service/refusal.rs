//! The errors of `POST /stitch`: a reason in plain text and the matching status.

use axum::extract::multipart::{MultipartError, MultipartRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use panoweave::device::DeviceError;
use panoweave::geometry::homography::HomographyError;
use panoweave::io::picture::PictureError;
use panoweave::ops::stitch::StitchError;
use panoweave::warp::RenderError;
use thiserror::Error;

use crate::still::MAX_PIXELS;

/// An error that prevents a panorama.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error("not a form: send multipart/form-data with the parts left and right ({0})")]
    NotAForm(#[from] MultipartRejection),
    #[error("the form cannot be read: {}", .0.body_text())]
    Form(#[from] MultipartError),
    #[error("the part `{0}` is missing; left and right are needed")]
    Missing(&'static str),
    #[error("a part `{0}`; there are left, right and homography")]
    Unknown(String),
    #[error("the part `{0}` is there twice")]
    Twice(String),
    #[error("homography: not text")]
    NotText,
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(transparent)]
    Homography(#[from] HomographyError),
    #[error("the panorama would be {width}×{height} pixels; at most {MAX_PIXELS} are made here")]
    TooLarge { width: u32, height: u32 },
    #[error(transparent)]
    Warp(#[from] RenderError),
    #[error(transparent)]
    Stitch(#[from] StitchError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("too many requests at once; try again")]
    Busy,
    #[error("the request broke the service; its log says how")]
    Broken,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotAForm(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            // Either bad syntax or too many bytes.
            Self::Form(error) => error.status(),
            Self::Missing(_) | Self::Unknown(_) | Self::Twice(_) => StatusCode::BAD_REQUEST,
            Self::Picture(PictureError::NotAPicture { .. } | PictureError::WrongFormat { .. }) => {
                StatusCode::UNSUPPORTED_MEDIA_TYPE
            }
            Self::Picture(PictureError::TooLarge { .. } | PictureError::TooMuchMemory { .. })
            | Self::Homography(HomographyError::CanvasTooLarge { .. })
            | Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Device(_)
            | Self::Warp(RenderError::Device(_))
            | Self::Stitch(StitchError::Device(_))
            | Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            // The request is understood, but cannot give a panorama.
            Self::NotText
            | Self::Picture(_)
            | Self::Homography(_)
            | Self::Warp(_)
            | Self::Stitch(_) => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status(), format!("{self}\n")).into_response()
    }
}
