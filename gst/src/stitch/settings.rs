//! The properties of the element. They are the fields of tables of a [job](panoweave::job), so each has the description,
//! the range and the default that the option of the program has.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use glam::UVec2;
use gst::glib::{self, ParamSpec};
use gst::prelude::*;
use panoweave::job::schema::{Field, FieldKind, build, fields, shown};
use panoweave::job::{BlendOptions, LookOptions, MapOptions, Size, ViewOptions};
use panoweave::ops::blend::Blend;
use panoweave::ops::view::DEFAULT_SIZE;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::error::StitchFailure;

/// Locks a mutex whose contents stay valid if a thread panics.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The values of the properties.
#[derive(Clone, Debug, Deserialize, serde::Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Settings {
    pub(super) map: MapOptions,
    /// Device that stitches: cpu, cuda:N, or auto (the first GPU, otherwise the CPU)
    pub(super) device: String,
    pub(super) blend: BlendOptions,
    /// Match the colours of the cameras, unless a pad has a gain or gamma other than 1
    pub(super) match_colours: bool,
    pub(super) look: LookOptions,
    pub(super) view: ViewOptions,
    /// Time in ns without a frame after which a camera of a live pipeline leaves the panorama
    pub(super) camera_timeout: u64,
    /// Time in ns between messages about health and colours (0 = none)
    pub(super) report_interval: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            map: MapOptions::default(),
            device: "auto".to_owned(),
            blend: BlendOptions::default(),
            match_colours: true,
            look: LookOptions::default(),
            view: ViewOptions::default(),
            camera_timeout: 1_000_000_000,
            report_interval: 1_000_000_000,
        }
    }
}

impl Settings {
    /// Returns the size of the view of a virtual camera, or `None` for panoramas.
    pub(super) fn view_size(&self) -> Option<UVec2> {
        let size = self.view.view_size.map_or(DEFAULT_SIZE, |Size(size)| size);
        self.view.view.as_ref().map(|_| size)
    }

    /// Checks the properties that do not depend on the cameras.
    pub(super) fn check(&self) -> Result<(), StitchFailure> {
        self.blend()?;
        self.look.anchor(self.match_colours)?;
        Ok(self.view.check()?)
    }

    /// Returns the blending.
    pub(super) fn blend(&self) -> Result<Blend, StitchFailure> {
        Ok(self.blend.blend(Blend::Feather)?)
    }
}

/// The fields that are no properties, besides lists, which the pads have: the element does not refine the warp, and
/// its map states the sizes of the pictures.
const OTHERS: [&str; 4] = ["refine", "homography", "size", "output-size"];

/// The fields that are properties.
static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let fields = fields::<Settings>().into_iter();
    fields.filter(|field| !field.is_list && !OTHERS.contains(&&*field.name)).collect()
});

/// Returns the specifications of the properties. Of a number without a default, 0 means none.
pub(super) fn properties() -> &'static [ParamSpec] {
    static PROPERTIES: LazyLock<Vec<ParamSpec>> =
        LazyLock::new(|| FIELDS.iter().map(property).collect());
    &PROPERTIES
}

/// Calls the builder of a specification.
macro_rules! spec {
    ($type:ident, $field:expr $(, $set:ident($value:expr))*) => {{
        let nick = $field.name[..1].to_uppercase() + &$field.name[1..].replace('-', " ");
        let flags = glib::ParamFlags::READWRITE | glib::ParamFlags::CONSTRUCT | gst::PARAM_FLAG_MUTABLE_READY;
        glib::$type::builder(&$field.name)
            .nick(&nick)
            .blurb(&blurb($field))
            $(.$set($value))*
            .flags(flags)
            .build()
    }};
}

fn blurb(field: &Field) -> String {
    let names: Vec<_> = field.names.iter().map(|(name, _)| &**name).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let none = field.default.is_null() && !matches!(field.kind, FieldKind::Text | FieldKind::File);
    format!("{}{names}{}", field.text, if none { " (0 = none)" } else { "" })
}

fn property(field: &Field) -> ParamSpec {
    let [least, most] = field.range;
    let least = if field.default.is_null() { 0.0 } else { least.unwrap_or(0.0) };
    match field.kind {
        FieldKind::Bool => {
            spec!(ParamSpecBoolean, field, default_value(field.default == true))
        }
        FieldKind::Integer if most.is_some() => {
            let [least, most] = [least, most.unwrap_or_default()].map(|end| end as u32);
            let default = field.default.as_u64().unwrap_or(0) as u32;
            spec!(ParamSpecUInt, field, minimum(least), maximum(most), default_value(default))
        }
        FieldKind::Integer => {
            spec!(ParamSpecUInt64, field, default_value(field.default.as_u64().unwrap_or(0)))
        }
        FieldKind::Number => {
            let (most, default) = (most.unwrap_or(f64::MAX), field.default.as_f64().unwrap_or(0.0));
            spec!(ParamSpecDouble, field, minimum(least), maximum(most), default_value(default))
        }
        FieldKind::Text | FieldKind::File => {
            let default = (!field.default.is_null()).then(|| shown(&field.default));
            spec!(ParamSpecString, field, default_value(default.as_deref()))
        }
    }
}

/// The values that were set.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties(BTreeMap<String, Value>);

impl Properties {
    pub(super) fn set(&mut self, name: &str, value: &glib::Value) {
        let value = match value.type_() {
            glib::Type::BOOL => value.get::<bool>().map(Value::from),
            glib::Type::U32 => value.get::<u32>().map(Value::from),
            glib::Type::U64 => value.get::<u64>().map(Value::from),
            glib::Type::F64 => value.get::<f64>().map(Value::from),
            _ => value.get::<Option<String>>().map(Value::from),
        };
        self.0.insert(name.to_owned(), value.unwrap_or_default());
    }

    pub(super) fn get(&self, spec: &glib::ParamSpec) -> glib::Value {
        let Some(value) = self.0.get(spec.name()) else { return spec.default_value().clone() };
        match value {
            Value::Bool(is) => is.to_value(),
            Value::Number(number) => match spec.value_type() {
                glib::Type::U32 => (number.as_u64().unwrap_or_default() as u32).to_value(),
                glib::Type::U64 => number.as_u64().unwrap_or_default().to_value(),
                _ => number.as_f64().unwrap_or_default().to_value(),
            },
            text => text.as_str().to_value(),
        }
    }

    /// Returns the settings that the values select.
    pub(super) fn settings(&self) -> Result<Settings, StitchFailure> {
        let given = |field: &Field| {
            let value = self.0.get(&field.name)?;
            let is_none = field.default.is_null() && value.as_f64() == Some(0.0);
            (!is_none && !value.is_null()).then(|| (field.clone(), value.clone()))
        };
        build(FIELDS.iter().filter_map(given)).map_err(StitchFailure::settings)
    }
}
