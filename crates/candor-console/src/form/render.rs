//! Renders fields as a form.
//!
//! The script reads the form by its `data-` attributes: `data-kind` and `data-name` at each field, and templates for what a user
//! can add. IDs are unique in the page. Code that copies a template makes them unique again.

use std::borrow::Cow;

use serde_json::Value;

use super::{Field, Kind, Pick, Text, type_of};
use crate::html::{Html, deceives, html, shown};

/// Returns the fields of a form, without the form element. `None` if the arguments can only be written as JSON.
pub(crate) fn form(root: &Field) -> Option<Html> {
    let mut writer = Writer { ids: 0 };
    match &root.kind {
        Kind::Group { fields, rest } => Some(writer.members(fields, rest.as_deref())),
        Kind::Json => None,
        _ => Some(writer.field(root)),
    }
}

struct Writer {
    ids: usize,
}

/// The label, hint and error of a field, and the IDs that connect them.
struct Around {
    id: String,
    label: Html,
    hint: Html,
    error: Html,
    described: String,
}

impl Writer {
    fn members(&mut self, fields: &[Field], rest: Option<&Field>) -> Html {
        let mut all: Html = fields.iter().map(|field| self.field(field)).collect();
        if let Some(rest) = rest {
            all.push(&self.entries(rest));
        }
        all
    }

    fn around(&mut self, field: &Field) -> Around {
        self.ids += 1;
        let id = format!("f{}", self.ids);
        let (text, label) = (&field.text, label(field));
        let limits: Html = field
            .limits
            .iter()
            .map(|limit| html!(" <span class=\"limit\">{}</span>", shown(limit)))
            .collect();
        let has_hint = !text.is_empty() || !field.limits.is_empty();
        let hint = match has_hint {
            true => html!("<p class=\"hint\" id=\"{}-hint\">{}{}</p>", id, shown(text), limits),
            false => Html::new(),
        };
        let error = html!("<p class=\"error\" id=\"{}-error\" hidden></p>", id);
        let described =
            if has_hint { format!("{id}-hint {id}-error") } else { format!("{id}-error") };
        Around { id, label, hint, error, described }
    }

    fn field(&mut self, field: &Field) -> Html {
        match &field.kind {
            Kind::Group { fields, rest } => {
                let members = self.members(fields, rest.as_deref());
                self.fieldset(field, "group", &members)
            }
            Kind::List(item) => {
                let items = self.items(item);
                self.fieldset(field, "list", &items)
            }
            Kind::Tuple(places) => {
                let places: Html = places.iter().map(|place| self.field(place)).collect();
                self.fieldset(field, "tuple", &places)
            }
            Kind::Shapes(shapes) => {
                let chooser = self.chooser(field, shapes);
                self.fieldset(field, "shapes", &chooser)
            }
            _ => self.control(field),
        }
    }

    /// Returns a field that contains fields.
    fn fieldset(&mut self, field: &Field, kind: &str, inside: &Html) -> Html {
        let Around { id, label, hint, error, described } = self.around(field);
        html!(
            "<fieldset class=\"field\" id=\"{}\" tabindex=\"-1\" data-kind=\"{}\"{} aria-describedby=\"{}\">\
             <legend>{}</legend>{}{}{}{}</fieldset>",
            id,
            kind,
            marks(field),
            described,
            label,
            hint,
            null(field),
            inside,
            error
        )
    }

    /// Returns the items of a list. They count from zero, as the server's errors do.
    fn items(&mut self, item: &Field) -> Html {
        let item = self.field(item);
        html!(
            "<ol class=\"items\" start=\"0\"></ol><template><li class=\"item\">{}<button type=\"button\" class=\"quiet\" data-form=\"remove\">Remove</button></li></template>\
             <button type=\"button\" class=\"small\" data-form=\"add\">Add</button>",
            item
        )
    }

    /// Returns the inputs for members of any name.
    fn entries(&mut self, value: &Field) -> Html {
        self.ids += 1;
        let id = format!("f{}", self.ids);
        let value = self.field(value);
        html!(
            "<div class=\"entries\"><ol class=\"items\"></ol><template><li class=\"item entry\"><div class=\"key\"><label for=\"{}\">Name</label>\
             <input id=\"{}\" data-key spellcheck=\"false\" autocomplete=\"off\"></div>{}\
             <button type=\"button\" class=\"quiet\" data-form=\"remove\">Remove</button></li></template>\
             <button type=\"button\" class=\"small\" data-form=\"add\">Add a member</button></div>",
            id,
            id,
            value
        )
    }

    fn chooser(&mut self, field: &Field, shapes: &[Field]) -> Html {
        self.ids += 1;
        let id = format!("f{}", self.ids);
        let options: Html = shapes
            .iter()
            .enumerate()
            .map(|(at, shape)| html!("<option value=\"{}\">{}</option>", at, plain(&shape.name)))
            .collect();
        let templates: Html = shapes
            .iter()
            .map(|shape| {
                // The chooser already has the name.
                let shape = Field { name: String::new(), ..shape.clone() };
                html!("<template>{}</template>", self.field(&shape))
            })
            .collect();
        html!(
            "<label class=\"unseen\" for=\"{}\">Shape</label><select id=\"{}\" data-shape><option value=\"\">{}</option>{}</select>{}\
             <div class=\"shape\"></div>",
            id,
            id,
            unset(field),
            options,
            templates
        )
    }

    /// Returns a field that takes one value.
    fn control(&mut self, field: &Field) -> Html {
        let Around { id, label, hint, error, described } = self.around(field);
        let same = html!(" id=\"{}\" aria-describedby=\"{}\" data-control", id, described);
        let (kind, control) = match &field.kind {
            Kind::Number { whole } => {
                let mode = if *whole { "numeric" } else { "decimal" };
                let extra = html!(" inputmode=\"{}\"", mode);
                ("number", input("text", &same, &extra, field))
            }
            Kind::Truth => {
                let picks =
                    [true, false].map(|value| Pick { value: value.into(), text: String::new() });
                ("choice", select(&same, field, &picks))
            }
            Kind::Choice(picks) => ("choice", select(&same, field, picks)),
            Kind::Fixed(value) if field.required => {
                let json = value.to_string();
                let shown = shown(&json);
                ("fixed", html!("<output{} data-json=\"{}\">{}</output>", same, json, shown))
            }
            Kind::Fixed(value) => {
                let pick = Pick { value: value.clone(), text: String::new() };
                ("choice", select(&same, field, &[pick]))
            }
            Kind::Text(text) => ("text", written(*text, &same, field)),
            _ => {
                let place = field.default.as_ref().map(|default| format!("default: {default}"));
                let place = place.unwrap_or_else(|| "JSON".to_owned());
                ("json", area(&same, 2, &place))
            }
        };
        html!(
            "<div class=\"field\" data-kind=\"{}\"{}><label for=\"{}\">{}</label>{}<div class=\"control\">{}{}</div>{}</div>",
            kind,
            marks(field),
            id,
            label,
            hint,
            control,
            null(field),
            error
        )
    }
}

fn label(field: &Field) -> Html {
    let name = match field.name.as_str() {
        "" => Html::new(),
        name => html!("<span class=\"name\">{}</span> ", shown(name)),
    };
    let need = (!field.required).then(|| html!(" <span class=\"need\">optional</span>"));
    // A user sees that an unnamed group is an object, so its type is for screen readers only.
    let seen = match field.kind {
        Kind::Group { .. } if field.name.is_empty() => "unseen",
        _ => "type",
    };
    html!("{}<span class=\"{}\">{}</span>{}", name, seen, shown(&type_of(field)), need)
}

fn marks(field: &Field) -> Html {
    let required = field.required.then(|| html!(" data-required"));
    html!(" data-name=\"{}\"{}", field.name, required)
}

/// Returns the box for `null`. It must be explicit, because a blank field is omitted.
fn null(field: &Field) -> Option<Html> {
    field.nullable.then(|| {
        html!("<label class=\"null\"><input type=\"checkbox\" data-null> <code>null</code></label>")
    })
}

fn written(text: Text, same: &Html, field: &Field) -> Html {
    let plain = html!(" spellcheck=\"false\"");
    match text {
        Text::Free => area(same, 1, &placeholder(field, "")),
        Text::Line => input("text", same, &plain, field),
        Text::Date => input("date", same, &Html::new(), field),
        Text::DateTime => {
            let place = placeholder(field, "2026-01-31T12:00:00Z");
            html!("<input type=\"text\"{} spellcheck=\"false\" placeholder=\"{}\">", same, place)
        }
        Text::Email => input("email", same, &plain, field),
        Text::Uri => input("url", same, &plain, field),
        Text::Uuid | Text::Key => html!(
            "{}<button type=\"button\" class=\"small\" data-form=\"uuid\">New</button>",
            input("text", same, &plain, field)
        ),
        Text::Secret => input("password", same, &html!(" autocomplete=\"off\""), field),
    }
}

fn input(kind: &str, same: &Html, extra: &Html, field: &Field) -> Html {
    let place = placeholder(field, "");
    html!("<input type=\"{}\"{}{} placeholder=\"{}\">", kind, same, extra, place)
}

fn area(same: &Html, rows: usize, place: &str) -> Html {
    html!(
        "<textarea{} rows=\"{}\" spellcheck=\"false\" placeholder=\"{}\"></textarea>",
        same,
        rows,
        place
    )
}

fn select(same: &Html, field: &Field, picks: &[Pick]) -> Html {
    let options: Html = picks
        .iter()
        .map(|pick| {
            let json = pick.value.to_string();
            let name = pick.value.as_str().unwrap_or(&json);
            let text = pick.text.lines().next().unwrap_or_default();
            let name = match text {
                "" => plain(name).into_owned(),
                text => format!("{} — {}", plain(name), plain(text)),
            };
            html!("<option value=\"{}\">{}</option>", json, name)
        })
        .collect();
    html!("<select{}><option value=\"\">{}</option>{}</select>", same, unset(field), options)
}

/// Returns the text of a blank field: the default that the tool then uses.
fn placeholder(field: &Field, otherwise: &str) -> String {
    match &field.default {
        Some(Value::String(text)) => format!("default: {}", plain(text)),
        Some(default) => format!("default: {default}"),
        None => otherwise.to_owned(),
    }
}

fn unset(field: &Field) -> String {
    placeholder(field, if field.required { "choose…" } else { "not set" })
}

/// Returns text for options and attributes, where no markup is possible. Invisible characters become escapes.
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_empty() {
        return Cow::Borrowed("(empty)");
    }
    if !text.contains(deceives) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::new();
    for c in text.chars() {
        match deceives(c) {
            true => plain.push_str(&format!("[U+{:04X}]", u32::from(c))),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}
