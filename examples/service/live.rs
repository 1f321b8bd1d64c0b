//! Handles `GET /live` and `GET /health`: live video from one stitcher for up to [`MOST_VIEWERS`] viewers, and the
//! stitcher's state.
//!
//! A task takes the panoramas from the stitcher as an asynchronous stream, encodes each panorama once for all viewers,
//! and publishes the newest. A slow viewer misses some panoramas; the stitcher never waits for a viewer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::{StreamExt, stream};
use panoweave::device::Device;
use panoweave::frame::Frame;
use panoweave::io::picture::PictureFormat;
use panoweave::live::{LiveOptions, StitchedFrame, StitchedFrames, Stitcher};
use panoweave::ops::colour::Colour;
use panoweave::warp::DeviceWarp;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;

use super::connections::MOST;
use crate::{MadeUpCamera, geometry};

/// Maximum number of viewers. Each of them has a connection for as long as it likes, so viewers must leave connections
/// for other requests.
pub const MOST_VIEWERS: usize = MOST / 2;

/// A running stitcher, its newest panorama as one encoded part of the multipart stream, and the threads of its cameras.
pub struct Live {
    stitcher: Arc<Stitcher>,
    newest: watch::Receiver<Bytes>,
    /// Permits for the [`MOST_VIEWERS`] viewers.
    places: Arc<Semaphore>,
    cameras: Mutex<Vec<JoinHandle<()>>>,
}

impl Live {
    /// Starts the stitcher, the camera threads, and the task that publishes panoramas on `runtime`.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn start(device: &Device, runtime: &Handle) -> super::Result<Self> {
        let stream = device.stream()?;
        let warp = DeviceWarp::render(&stream, &geometry()?)?;
        let stitcher = Arc::new(Stitcher::new(device, warp, LiveOptions::default())?);
        let start = Instant::now();
        let film = |(which, camera): (usize, MadeUpCamera)| {
            let stitcher = Arc::clone(&stitcher);
            thread::spawn(move || {
                let format = stitcher.input_formats()[which];
                camera.film(start, |time, picture| {
                    let bytes = bytemuck::cast_slice(picture.pixels());
                    let frame =
                        Frame::tight(format, bytes).expect("the picture has the rig's size");
                    stitcher.push(which, frame, time).is_ok()
                });
            })
        };
        let cameras = (0..2).zip(MadeUpCamera::pair()?).map(film).collect();
        let (newest, viewers) = watch::channel(Bytes::new());
        runtime.spawn(publish(stitcher.panoramas(), newest));
        let places = Arc::new(Semaphore::new(MOST_VIEWERS));
        Ok(Self { stitcher, newest: viewers, places, cameras: Mutex::new(cameras) })
    }

    /// Closes the stitcher, which ends all live streams.
    pub(crate) fn close(&self) {
        self.stitcher.close();
    }

    /// Closes the stitcher and waits for the camera threads.
    pub fn end(&self) {
        self.close();
        let cameras =
            std::mem::take(&mut *self.cameras.lock().unwrap_or_else(PoisonError::into_inner));
        for camera in cameras {
            // Ignore a panic of the thread, because the thread has already printed the message.
            drop(camera.join());
        }
    }
}

/// Encodes and publishes each panorama while there are viewers. Returns when the stitcher closes. The return drops
/// `newest`, which ends the viewers' streams.
async fn publish(mut panoramas: StitchedFrames, newest: watch::Sender<Bytes>) {
    // Name the trait, because `StitchedFrames` is also an iterator, whose `next` would block.
    while let Some(panorama) = StreamExt::next(&mut panoramas).await {
        // One receiver belongs to `Live`; every other one is a viewer.
        if newest.receiver_count() > 1
            && let Ok(Some(part)) = spawn_blocking(move || encode(panorama)).await
        {
            newest.send_replace(part);
        }
    }
}

/// Encodes a panorama as one part of the multipart stream.
fn encode(panorama: StitchedFrame) -> Option<Bytes> {
    let picture = panorama.to_picture()?;
    // Return the buffer to the stitcher before the slow encoding.
    drop(panorama);
    let jpeg = picture.encode(PictureFormat::Jpeg).ok()?;
    let length = jpeg.len();
    let head = format!("--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {length}\r\n\r\n");
    Some([head.as_bytes(), &jpeg, b"\r\n"].concat().into())
}

pub(crate) fn routes() -> Router<Arc<Live>> {
    Router::new().route("/live", get(watch)).route("/health", get(health))
}

/// Handles `GET /live`: sends the panoramas as motion JPEG, which browsers display.
async fn watch(State(live): State<Arc<Live>>) -> Response {
    if let Err(error) = live.stitcher.health() {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response();
    }
    let Ok(place) = Arc::clone(&live.places).try_acquire_owned() else {
        let full = format!("{MOST_VIEWERS} viewers are watching already; try again later\n");
        return (StatusCode::SERVICE_UNAVAILABLE, full).into_response();
    };
    let mut newest = live.newest.clone();
    // The newest panorama may be old, because the task publishes none without viewers.
    newest.mark_unchanged();
    let parts = stream::unfold((newest, place), |(mut newest, place)| async move {
        newest.changed().await.ok()?;
        let part = newest.borrow_and_update().clone();
        Some((Ok::<_, Infallible>(part), (newest, place)))
    });
    let kind = "multipart/x-mixed-replace; boundary=frame";
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(parts)).into_response()
}

/// Handles `GET /health`: returns the state of the stitcher as JSON. The status is 503 if the stitcher has failed.
/// Restart the process to recover.
async fn health(State(live): State<Arc<Live>>) -> Response {
    let stitcher = &live.stitcher;
    let failure = stitcher.health().err().map(|error| error.to_string());
    let colour = stitcher.colour();
    let correction =
        |colour: Colour| json!({ "gain": colour.gain.to_array(), "gamma": colour.gamma });
    let body = json!({
        "device": stitcher.device().to_string(),
        "panorama": stitcher.output_format().to_string(),
        "failure": failure,
        "counters": stitcher.counters(),
        "colour": {
            "following": colour.following,
            "strikes": colour.strikes,
            "left": correction(colour.colours[0]),
            "right": correction(colour.colours[1]),
        },
    });
    let status = if failure.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
