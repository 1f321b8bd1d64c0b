//! Fuzz targets of the element `panoweavestitch`.
//!
//! It is in a package of its own, because it needs GStreamer. `fuzz/` has the other targets, and describes the
//! layout of the folder.

mod caps;
mod events;

use std::sync::OnceLock;

use panoweave_fuzz::Target;
use tempfile::TempDir;

/// All targets.
pub const TARGETS: &[Target] =
    &[Target { name: "caps", run: caps::caps }, Target { name: "events", run: events::events }];

/// The size of the cameras' pictures.
const PICTURE: (u32, u32) = (8, 6);

/// The number of cameras.
const CAMERAS: usize = 2;

/// Registers the plugin, and returns the path of a rig.
fn rig() -> &'static str {
    static RIG: OnceLock<(TempDir, String)> = OnceLock::new();
    let (_, path) = RIG.get_or_init(|| {
        gst::init().expect("GStreamer");
        // Warnings about each invalid event would take most of the time.
        gst::log::remove_default_log_function();
        gstpanoweave::plugin_register_static().expect("the plugin");
        let camera = |name: &str, yaw: f64| {
            format!(
                "[[camera]]\nname = \"{name}\"\nsize = [{}, {}]\nlens = \"pinhole\"\n\
                 matrix = {{ fx = 7.0, fy = 7.0, cx = 3.5, cy = 2.5 }}\nyaw = {yaw}\n",
                PICTURE.0, PICTURE.1
            )
        };
        let panorama =
            "[panorama]\nprojection = \"cylindrical\"\nwidth = 12\nheight = 6\nfov = 90.0\n";
        let text = [panorama, &camera("left", -22.0), &camera("right", 22.0)].concat();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("rig.toml");
        std::fs::write(&path, text).expect("rig.toml");
        let path = path.to_str().expect("a path in UTF-8").to_owned();
        (folder, path)
    });
    path
}

/// Creates an element for the rig.
fn element() -> gst::Element {
    let rig = rig();
    gst::ElementFactory::make("panoweavestitch")
        .property("rig", rig)
        .property("device", "cpu")
        .build()
        .expect("panoweavestitch")
}
