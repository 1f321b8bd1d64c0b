//! Messages on the bus about cameras, health and colours.
//!
//! | name of the message | when | fields |
//! |---|---|---|
//! | `panoweave-camera` | a camera of a live pipeline changes its state | `camera` (u32), `state` (string: `live`, `frozen`, `black`, `gone`) |
//! | `panoweave-health` | once per `report-interval` | `panoramas`, `dropped`, `retries` (u64), `latency-p50`, `latency-p99` (f64, milliseconds) |
//! | `panoweave-colours` | once per `report-interval`, if they have changed | `gains` (array with an array of red, green and blue per camera), `gammas` (array) |

use panoweave::live::CameraEvent;
use panoweave::ops::colour::Colours;

use super::settings::Settings;
use super::stitching::Stitching;

/// The reports of a session.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// The time of the last report.
    last: Option<gst::ClockTime>,
    colours: Option<Colours>,
}

impl Reports {
    /// Returns the messages that are due at the time of a panorama.
    pub(super) fn due(
        &mut self,
        stitching: &Stitching,
        time: gst::ClockTime,
        settings: &Settings,
    ) -> Vec<gst::Structure> {
        let session = &stitching.session;
        let event = |event: CameraEvent| {
            gst::Structure::builder("panoweave-camera")
                .field("camera", event.camera as u32)
                .field("state", event.state.to_string())
                .build()
        };
        let mut messages: Vec<_> = session.camera_events().into_iter().map(event).collect();
        let interval = gst::ClockTime::from_nseconds(settings.report_interval);
        // After a seek, the time may be before the last report.
        let is_due = self.last.is_none_or(|last| time < last || time - last >= interval);
        if interval.is_zero() || !is_due {
            return messages;
        }
        self.last = Some(time);
        let counters = session.counters();
        let health = gst::Structure::builder("panoweave-health")
            .field("panoramas", counters.panoramas)
            .field("dropped", counters.dropped.sets())
            .field("retries", counters.retries)
            .field("latency-p50", 1e3 * counters.latency_p50)
            .field("latency-p99", 1e3 * counters.latency_p99);
        messages.push(health.build());
        let colours = session.colour().colours;
        if self.colours != Some(colours) {
            self.colours = Some(colours);
            let cameras = 0..session.input_formats().len();
            let of = |camera| colours[camera];
            let gains = cameras.clone().map(|camera| gst::Array::new(of(camera).gain.to_array()));
            let gammas = cameras.map(|camera| of(camera).gamma);
            let message = gst::Structure::builder("panoweave-colours")
                .field("gains", gst::Array::new(gains))
                .field("gammas", gst::Array::new(gammas));
            messages.push(message.build());
        }
        messages
    }
}
