//! The options of a job as a list of fields, from which programs make their arguments and elements their properties.
//!
//! The list follows from the schema of the types in `options`: a doc comment is the description, and
//! a value goes through serde like the same value in a file. So an option has one text, one parser and one error.

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value, json};
use toml::Table;

/// The kind of a field's value, or of each element of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// True or false.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text.
    Text,
    /// The path of a file.
    File,
}

/// A field of a job.
#[derive(Clone, Debug)]
pub struct Field {
    /// The names of the tables that contain the field, from the outermost one. A number is an index in a list.
    tables: Vec<String>,
    /// The name, in kebab case.
    pub name: String,
    /// The description: the doc comment.
    pub text: String,
    /// The heading in help texts: the title of the field or of its table in the schema.
    pub heading: Option<String>,
    /// The kind of the value.
    pub kind: FieldKind,
    /// Whether the value is a list.
    pub is_list: bool,
    /// The default; null if there is none.
    pub default: Value,
    /// The smallest and the largest number that is allowed.
    pub range: [Option<f64>; 2],
    /// The allowed texts, each with its description.
    pub names: Vec<(String, String)>,
    /// The name for values in help texts, if it is not the name of the field.
    pub value_name: Option<String>,
    /// The value of a program's option that is given without one.
    pub implied: Option<Value>,
}

/// Returns the fields of `T` and of the tables in it. Of a list of tables, the fields are those of its first element.
#[must_use]
pub fn fields<T: JsonSchema>() -> Vec<Field> {
    let settings = SchemaSettings::default().with(|it| it.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut fields = Vec::new();
    // Without a title of its own, the schema has the name of the type.
    let heading = schema.get("title").and_then(Value::as_str).filter(|it| *it != T::schema_name());
    add(&mut fields, &[], heading, schema.as_value());
    fields
}

fn add(fields: &mut Vec<Field>, tables: &[String], heading: Option<&str>, schema: &Value) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_list = field["items"].is_object();
        let value = if is_list { &field["items"] } else { value_of(field) };
        let heading = field["title"].as_str().or(value["title"].as_str()).or(heading);
        if value["properties"].is_object() {
            let index = is_list.then(|| "0".to_owned());
            let inner: Vec<_> = tables.iter().chain([name]).chain(&index).cloned().collect();
            add(fields, &inner, heading, value);
        } else {
            let heading = heading.map(str::to_owned);
            fields.push(Field { heading, ..Field::new(tables, name, field, value, is_list) });
        }
    }
}

/// Returns the schema of an optional value without null.
fn value_of(field: &Value) -> &Value {
    let any = field["anyOf"].as_array().into_iter().flatten();
    any.into_iter().find(|one| one["type"] != "null").unwrap_or(field)
}

impl Field {
    fn new(tables: &[String], name: &str, field: &Value, value: &Value, is_list: bool) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().replace('\n', " ");
        let is = |kind: &str| {
            let types = &value["type"];
            types == kind || types.as_array().is_some_and(|types| types.contains(&kind.into()))
        };
        let kind = match () {
            () if is("boolean") => FieldKind::Bool,
            () if is("integer") => FieldKind::Integer,
            () if is("number") => FieldKind::Number,
            () if value["format"] == "FILE" => FieldKind::File,
            () => FieldKind::Text,
        };
        let listed = value["enum"].as_array().into_iter().flatten();
        let listed = listed.filter(|name| !name.is_null()).map(|name| (name, String::new()));
        let described = value["oneOf"].as_array().into_iter().flatten();
        let described = described.map(|one| (&one["const"], text(&one["description"])));
        let names = listed.chain(described);
        let names = names.map(|(name, about)| (shown(name), about)).collect();
        let is_text = matches!(kind, FieldKind::Text | FieldKind::File);
        let format = value["format"].as_str().filter(|_| is_text);
        let value_name = field["value-name"].as_str().or(format).map(str::to_owned);
        Self {
            tables: tables.to_vec(),
            name: name.to_owned(),
            text: text(&field["description"]),
            heading: None,
            kind,
            is_list,
            default: field["default"].clone(),
            range: ["minimum", "maximum"].map(|end| value[end].as_f64()),
            names,
            value_name,
            implied: field.get("implied").cloned(),
        }
    }

    /// Parses a value, or an element of a list, from text.
    ///
    /// # Errors
    /// Returns what is expected if the text is no value of the kind, or is out of range.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = match self.kind {
            FieldKind::Bool => text.parse().ok().map(Value::Bool),
            FieldKind::Integer => text.parse::<i64>().ok().map(Value::from),
            FieldKind::Number => text.parse().ok().and_then(Number::from_f64).map(Value::from),
            FieldKind::Text | FieldKind::File => Some(text.into()),
        };
        let value = value.filter(|value| self.allows(value));
        value.ok_or_else(|| format!("the value must be {self}"))
    }

    /// Returns whether a value, or an element of a list, is in the range.
    fn allows(&self, value: &Value) -> bool {
        let [least, most] = self.range;
        let number = value.as_f64().unwrap_or(f64::NAN);
        let is_in_range = (least.is_none() && most.is_none())
            || (least.is_none_or(|least| number >= least)
                && most.is_none_or(|most| number <= most));
        let is_named =
            self.names.is_empty() || self.names.iter().any(|(name, _)| *name == shown(value));
        is_in_range && is_named
    }
}

/// States the allowed values.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.names.is_empty() {
            let names: Vec<_> = self.names.iter().map(|(name, _)| &**name).collect();
            return write!(f, "one of {}", names.join(", "));
        }
        f.write_str(match self.kind {
            FieldKind::Bool => "true or false",
            FieldKind::Integer => "a whole number",
            FieldKind::Number => "a number",
            FieldKind::Text => "a text",
            FieldKind::File => "a path",
        })?;
        match self.range {
            [Some(least), Some(most)] => write!(f, " from {least} to {most}"),
            [Some(least), None] => write!(f, " of at least {least}"),
            [None, Some(most)] => write!(f, " of at most {most}"),
            [None, None] => Ok(()),
        }
    }
}

/// Returns the text of a value as a program's user writes it.
#[must_use]
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Makes a `T` from values of its fields. Fields without a value have their defaults.
///
/// # Errors
/// Returns the reason if serde rejects a value.
pub fn build<T: DeserializeOwned>(
    values: impl IntoIterator<Item = (Field, Value)>,
) -> Result<T, String> {
    let mut all = json!({});
    for (field, value) in values {
        let mut table = &mut all;
        for name in &field.tables {
            // An index follows the name of its list, which has one element.
            table = if name == "0" {
                if !table.is_array() {
                    *table = json!([{}]);
                }
                &mut table[0]
            } else {
                &mut table[name]
            };
        }
        table[&field.name] = value;
    }
    serde_json::from_value(all).map_err(|error| error.to_string())
}

/// Checks the ranges of all numbers and names of a value, which serde does not check.
///
/// # Errors
/// Returns the name of the first field that is out of range, and what is allowed.
pub(super) fn check<T: JsonSchema + Serialize>(value: &T) -> Result<(), String> {
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    fields::<T>().iter().try_for_each(|field| check_in(field, &field.tables, &value))
}

fn check_in(field: &Field, tables: &[String], value: &Value) -> Result<(), String> {
    if let Value::Array(elements) = value {
        let tables =
            if tables.first().is_some_and(|name| name == "0") { &tables[1..] } else { tables };
        return elements.iter().try_for_each(|element| check_in(field, tables, element));
    }
    match tables {
        [name, inner @ ..] => check_in(field, inner, &value[name]),
        [] if value.is_object() => check_in(field, &[], &value[&field.name]),
        [] if value.is_null() || field.allows(value) => Ok(()),
        [] => Err(format!("`{}` is {}, but must be {field}", field.name, shown(value))),
    }
}

/// Removes the fields of a table that have the values in `default`, and empty tables.
pub(super) fn prune(table: &mut Table, default: &Table) {
    let inner = |value: &mut toml::Value, default: Option<&toml::Value>| match (value, default) {
        (toml::Value::Table(table), Some(toml::Value::Table(default))) => {
            prune(table, default);
            !table.is_empty()
        }
        (toml::Value::Array(elements), Some(toml::Value::Array(defaults))) => {
            for element in elements {
                if let (Some(table), Some(default)) =
                    (element.as_table_mut(), defaults.first().and_then(toml::Value::as_table))
                {
                    prune(table, default);
                }
            }
            true
        }
        _ => true,
    };
    table.retain(|name, value| {
        let default = default.get(name);
        default != Some(value) && inner(value, default)
    });
}
