//! A schema as a table: names, types, limits, texts.

use super::{Field, Kind, type_of};
use crate::html::{Html, html, shown};

/// Returns a table of everything inside a field, or `None` if nothing is.
pub(crate) fn outline(field: &Field, caption: &str) -> Option<Html> {
    let mut rows = Html::new();
    inside(field, &mut Vec::new(), &mut rows);
    (rows != Html::new()).then(|| {
        html!(
            "<div class=\"wide\"><table class=\"outline\"><caption class=\"unseen\">{}</caption><thead><tr>\
             <th scope=\"col\">Name</th><th scope=\"col\">Type</th><th scope=\"col\">About</th></tr></thead>\
             <tbody>{}</tbody></table></div>",
            caption,
            rows
        )
    })
}

fn inside(field: &Field, path: &mut Vec<String>, rows: &mut Html) {
    match &field.kind {
        Kind::Group { fields, rest } => {
            for field in fields {
                row(&field.name, field, path, rows);
            }
            if let Some(rest) = rest {
                row("*", rest, path, rows);
            }
        }
        // The items of a list have no names.
        Kind::List(item) => {
            path.push("[]".to_owned());
            inside(item, path, rows);
            path.pop();
        }
        Kind::Tuple(places) => {
            for (at, place) in places.iter().enumerate() {
                row(&at.to_string(), place, path, rows);
            }
        }
        Kind::Shapes(shapes) => {
            for shape in shapes {
                path.push(format!("({})", shape.name));
                inside(shape, path, rows);
                path.pop();
            }
        }
        Kind::Text(_)
        | Kind::Number { .. }
        | Kind::Truth
        | Kind::Choice(_)
        | Kind::Fixed(_)
        | Kind::Json => {}
    }
}

fn row(name: &str, field: &Field, path: &mut Vec<String>, rows: &mut Html) {
    path.push(name.to_owned());
    let (before, last) = path.split_at(path.len() - 1);
    let before: Html = before.iter().map(|step| html!("{}.", shown(step))).collect();
    let last: Html = last.iter().map(|step| shown(step)).collect();
    let need = (!field.required).then(|| html!(" <span class=\"need\">optional</span>"));
    let default = field.default.as_ref().map(|default| format!("default {default}"));
    let limits: Html = field
        .limits
        .iter()
        .chain(&default)
        .map(|limit| html!(" <span class=\"limit\">{}</span>", shown(limit)))
        .collect();
    rows.push(&html!(
        "<tr><th scope=\"row\" class=\"name\"><span class=\"soft\">{}</span>{}{}</th><td class=\"mono\">{}</td><td class=\"about\">{}{}</td></tr>",
        before,
        last,
        need,
        shown(&type_of(field)),
        shown(&field.text),
        limits
    ));
    inside(field, path, rows);
    path.pop();
}
