//! The fields of a job as the options of a command.

use clap::builder::{
    OsStringValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser,
    ValueParser,
};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, ValueHint};
use panoweave::job::File;
use panoweave::job::schema::{Field, FieldKind, build, fields, shown};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A table of a job, whose fields and those of its tables are options.
#[derive(Clone, Debug)]
pub(crate) struct Options<T>(pub(crate) T);

impl<T> std::ops::Deref for Options<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: JsonSchema + DeserializeOwned> FromArgMatches for Options<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |field: Field| {
            let source = matches.value_source(&field.name);
            let values = || matches.get_many::<Value>(&field.name).into_iter().flatten().cloned();
            let value = match field.kind {
                _ if source != Some(ValueSource::CommandLine) => None,
                FieldKind::Bool => Some(true.into()),
                _ if field.is_list => Some(values().collect()),
                _ => values().next(),
            };
            value.map(|value| (field, value))
        };
        let built = build(fields::<T>().into_iter().filter_map(given));
        built.map(Self).map_err(|error| clap::Error::raw(ErrorKind::ValueValidation, error))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: JsonSchema + DeserializeOwned + 'static> clap::Args for Options<T> {
    fn augment_args(command: Command) -> Command {
        fields::<T>().into_iter().fold(command, |command, field| command.arg(arg::<T>(field)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the option of a field. The inputs are arguments without a name.
fn arg<T: DeserializeOwned + 'static>(field: Field) -> Arg {
    let arg = Arg::new(field.name.clone()).help(field.text.clone());
    let arg = match &field.heading {
        Some(heading) => arg.help_heading(heading.clone()),
        None => arg,
    };
    let arg = match &*field.name {
        "videos" | "pictures" => arg.required(true).num_args(1..),
        "output" => arg.long("output").short('o').required(true),
        name => arg.long(name.to_owned()),
    };
    if field.kind == FieldKind::Bool {
        return arg.action(ArgAction::SetTrue);
    }
    let number = matches!(field.kind, FieldKind::Integer | FieldKind::Number);
    let own = if number { "N".to_owned() } else { field.name.to_uppercase() };
    let arg = arg.value_name(field.value_name.clone().unwrap_or(own));
    let arg = match &field.implied {
        Some(value) => arg.num_args(0..=1).require_equals(true).default_missing_value(shown(value)),
        None => arg,
    };
    let default = (!field.is_list && !field.default.is_null()).then(|| shown(&field.default));
    let arg = match default.filter(|default| !default.is_empty()) {
        Some(default) => arg.default_value(default),
        None => arg,
    };
    let arg = match field.kind {
        FieldKind::File => arg.value_hint(ValueHint::AnyPath),
        // A list of numbers begins with a hyphen, too.
        FieldKind::Text => {
            arg.allow_hyphen_values(field.value_name.as_ref().is_some_and(|it| it.contains("N,")))
        }
        _ => arg.allow_negative_numbers(true),
    };
    let action = if field.is_list { ArgAction::Append } else { ArgAction::Set };
    arg.action(action).value_parser(parser::<T>(field))
}

/// Returns the parser of a value, or of an element of a list. The value goes through serde, which has the parser and the
/// error.
fn parser<T: DeserializeOwned + 'static>(field: Field) -> ValueParser {
    let name = |(name, about): &(String, String)| {
        let value = PossibleValue::new(name.clone());
        if about.is_empty() { value } else { value.help(about.clone()) }
    };
    let names: Vec<_> = field.names.iter().map(name).collect();
    let is_file = field.kind == FieldKind::File;
    let parse = move |text: String| {
        let value = field.parse(&text)?;
        let whole =
            if field.is_list { [value.clone()].into_iter().collect() } else { value.clone() };
        build::<T>([(field.clone(), whole)]).map(|_| value)
    };
    if is_file {
        let path = |path: std::ffi::OsString| File::from(path).to_string();
        return ValueParser::new(OsStringValueParser::new().map(path).try_map(parse));
    }
    if names.is_empty() {
        return ValueParser::new(StringValueParser::new().try_map(parse));
    }
    ValueParser::new(PossibleValuesParser::new(names).try_map(parse))
}
