//! The list of all tools, with the worst effect of each. The script adds search and filters.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::response::Response;
use candor_server::ToolView;
use candor_server::hints::Effect;
use serde_json::Value;

use super::shell::{self, PageParts, Section, besides, verdict, verdict_word, worst_verdict};
use crate::Inner;
use crate::form::{self, Kind};
use crate::html::{Html, html, shown};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::body::view;
use crate::rest::{engine, refused};
use crate::route::encoded;

/// Maximum length of the searched text that is not visible, in characters.
const SEARCHED: usize = 600;

pub(crate) async fn page(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let view = view(console, asked)?;
    let listed = view.published_tools(engine(console)?.listing()).await;
    let mut tools: Vec<ToolView<'_>> = Vec::new();
    for definition in listed.map_err(refused::problem)? {
        tools.extend(view.tool(&definition.name).await.ok());
    }
    let main = if tools.is_empty() { empty() } else { list(&asked.base, &tools) };
    let page = PageParts { section: Section::Tools, title: "", script: Some("tools.js"), main };
    Ok(shell::page(console, asked, page))
}

fn empty() -> Html {
    html!(
        "<h1>Tools</h1><div class=\"empty\" data-testid=\"no-tools\"><strong>This server has no tools for you yet.</strong>\
         Add one with <code>.tools(tools![…])</code>, restart the server, and load this page again.</div>"
    )
}

fn list(base: &str, tools: &[ToolView<'_>]) -> Html {
    let groups: Html =
        grouped(tools).into_iter().map(|(prefix, tools)| group(base, prefix, &tools)).collect();
    let count = tools.len();
    html!(
        "<h1>Tools <span class=\"soft\">{}</span></h1>\
         <p class=\"lead\">Each is marked with the worst that a call of it can do. Open one to see what your call would do, before it is made.</p>\
         <search class=\"bar\" role=\"search\" hidden><label class=\"unseen\" for=\"search\">Search tools</label>\
         <input id=\"search\" type=\"search\" placeholder=\"Search names, texts, parameters\" autocomplete=\"off\" spellcheck=\"false\" data-testid=\"search\">\
         <fieldset class=\"filters\" data-testid=\"filters\"><legend class=\"unseen\">Show only</legend>{}</fieldset></search>\
         <div data-list data-testid=\"tools\">{}</div>\
         <div class=\"empty\" data-testid=\"nothing-found\" hidden><strong>No tool is like that.</strong>\
         <button type=\"button\" class=\"quiet\" data-do=\"clear\">Show all tools</button></div>",
        count,
        filters(tools),
        groups
    )
}

/// Returns a box for each effect that occurs.
fn filters(tools: &[ToolView<'_>]) -> Html {
    let words = Effect::ALL.into_iter().map(Effect::as_str);
    words
        .chain(["unclassified"])
        .filter_map(|word| {
            let of = tools.iter().filter(|tool| verdict_word(tool.worst) == word);
            let count = of.clone().count();
            let shown = verdict(of.clone().next()?.worst);
            Some(html!(
                "<label><input type=\"checkbox\" name=\"verdict\" value=\"{}\"> {} <span class=\"soft\">{}</span></label>",
                word,
                shown,
                count
            ))
        })
        .collect()
}

fn group(base: &str, prefix: Option<&str>, tools: &[&ToolView<'_>]) -> Html {
    let head = prefix.map(|prefix| html!("<h2 class=\"group mono\">{}</h2>", shown(prefix)));
    let rows: Html = tools.iter().map(|tool| row(base, tool)).collect();
    html!("<section>{}<ul class=\"rows tools\">{}</ul></section>", head, rows)
}

fn row(base: &str, tool: &ToolView<'_>) -> Html {
    let definition = &tool.definition;
    let schema: Value = serde_json::from_str(definition.input_schema.get()).unwrap_or_default();
    let takes = form::read(&schema);
    let (mut parameters, mut searched) = (Vec::new(), String::new());
    if let Kind::Group { fields, .. } = &takes.kind {
        for field in fields {
            let mark = if field.required { "" } else { "?" };
            parameters.push(format!("{}{mark}", field.name));
            searched.push_str(&field.text);
            searched.push(' ');
        }
    }
    let description = definition.description.as_deref().unwrap_or_default();
    let (first, more) = description.split_once('\n').unwrap_or((description, ""));
    searched.push_str(more);
    if let Some(title) = &definition.title {
        searched.push(' ');
        searched.push_str(title);
    }
    let searched: String = searched.chars().take(SEARCHED).collect();
    let depends = tool.dynamic.then(|| html!(" · depends on the arguments"));
    let problem = (!tool.schema_problems.is_empty())
        .then(|| html!(" · <span data-testid=\"schema-problem\">schema unavailable</span>"));
    html!(
        "<li data-verdict=\"{}\" data-more=\"{}\"><a data-item data-testid=\"tool\" href=\"{}/ui/tools/{}\">\
         <span>{}</span><span class=\"what\"><span class=\"name\"><b>{}</b><span class=\"soft\">({})</span></span>\
         <span class=\"text\">{}</span></span><span class=\"small\">{}{}{}</span></a></li>",
        verdict_word(tool.worst),
        searched.trim(),
        base,
        encoded(&definition.name),
        worst_verdict(tool.worst, tool.dynamic),
        shown(&definition.name),
        shown(&parameters.join(", ")),
        shown(first),
        besides(tool.worst),
        depends,
        problem
    )
}

type Group<'a, 'b> = (Option<&'a str>, Vec<&'a ToolView<'b>>);

/// Groups tools by the prefix of their names, unless all of them or hardly any share it. A preview follows its tool.
fn grouped<'a, 'b>(tools: &'a [ToolView<'b>]) -> Vec<Group<'a, 'b>> {
    let shown: HashSet<&str> = tools.iter().filter_map(|tool| tool.preview).collect();
    // Only a tool that is not a preview has its preview behind it. Otherwise tools that preview each other, or themselves, would
    // vanish.
    let first = tools.iter().filter(|tool| !shown.contains(&*tool.definition.name));
    let names: HashSet<&str> = first.filter_map(|tool| tool.preview).collect();
    let (previews, tools): (Vec<_>, Vec<_>) =
        tools.iter().partition(|tool| names.contains(&*tool.definition.name));
    let mut previews: HashMap<&str, &'a ToolView<'b>> =
        previews.into_iter().map(|preview| (&*preview.definition.name, preview)).collect();
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    let prefixes = || tools.iter().map(|tool| prefix(&tool.definition.name));
    for (prefix, _) in prefixes().flatten() {
        *sizes.entry(prefix).or_default() += 1;
    }
    let stands = |prefix: &str, least: usize| {
        sizes.get(prefix).is_some_and(|size| *size >= least && *size < tools.len())
    };
    let mut groups: Vec<Group<'a, 'b>> = Vec::new();
    for (tool, prefix) in tools.iter().zip(prefixes()) {
        let prefix = prefix.filter(|(prefix, least)| stands(prefix, *least)).map(|(name, _)| name);
        let preview = tool.preview.and_then(|name| previews.remove(name));
        let both = std::iter::once(*tool).chain(preview);
        match groups.iter_mut().find(|(of, _)| *of == prefix) {
            Some((_, group)) => group.extend(both),
            None => groups.push((prefix, both.collect())),
        }
    }
    // Tools without a group come last, under their own heading.
    let alone = groups.len() == 1;
    groups.sort_by_key(|(prefix, _)| prefix.is_none());
    for (prefix, _) in groups.iter_mut().filter(|(prefix, _)| prefix.is_none() && !alone) {
        *prefix = Some("others");
    }
    groups
}

/// Returns the prefix of a name, and how many names must share it. An underscore or a hyphen may just part two words.
fn prefix(name: &str) -> Option<(&str, usize)> {
    let strong = name.find(['/', '.', ':']);
    let weak = name.find(['_', '-']);
    let (at, least) = match (strong, weak) {
        (Some(at), _) => (at, 2),
        (None, Some(at)) => (at, 3),
        (None, None) => return None,
    };
    (at > 0).then(|| (&name[..at], least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_group_is_the_name_before_the_first_separator() {
        assert_eq!(prefix("github/issues_list"), Some(("github", 2)));
        assert_eq!(prefix("git_log"), Some(("git", 3)));
        assert_eq!(prefix("_hidden"), None);
        assert_eq!(prefix("plain"), None);
    }
}
