//! The crates of a server have no module cycles, and the engine knows no JSON-RPC, no HTTP and no era.
//!
//! If `a::b::c` imports `a::d::e`, the module `a::b` depends on its sibling `a::d`. A module and its own descendants may
//! import each other. A name that an ancestor only re-exports counts as an import of the module that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The segments of a path, such as `crate::call::Call`.
type Segments = Vec<String>;
/// The modules of a crate, without those of tests.
type Modules = BTreeMap<Segments, Module>;
/// Returns the text of a file in `src`.
type Files<'a> = &'a dyn Fn(&str) -> Option<String>;
/// For each module, the siblings that it depends on, with the files that import them.
type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

#[derive(Default)]
struct Module {
    file: String,
    /// Each path as it is written.
    paths: BTreeSet<Segments>,
    /// The path behind each name that a `use` declares.
    names: BTreeMap<String, Segments>,
}

fn is(token: &TokenTree, word: &str) -> bool {
    token.to_string() == word
}

/// Leaves out the items under `#[cfg(test)]`.
fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let (mut kept, mut skips) = (Vec::new(), false);
    for token in stream {
        let is_body = matches!(&token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
        match skips {
            true => skips = !is_body && !is(&token, ";"),
            false if token.to_string().replace(' ', "") == "[cfg(test)]" => skips = true,
            false => kept.push(token),
        }
    }
    kept
}

/// Reads a tree of paths, such as `a::{b, c::d as e}`. Adds each path with the name that it declares.
fn read(mut tokens: &[TokenTree], before: &[String], found: &mut Vec<(String, Segments)>) {
    let mut path = before.to_vec();
    while let [first, after @ ..] = tokens {
        match first {
            TokenTree::Ident(name) => path.push(name.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                return inner.split(|t| is(t, ",")).for_each(|part| read(part, &path, found));
            }
            _ => break,
        }
        tokens = after;
        match after {
            [a, b, after @ ..] if is(a, ":") && is(b, ":") => tokens = after,
            _ => break,
        }
    }
    path.pop_if(|last| last == "self");
    let other = tokens.get(1).filter(|_| is(&tokens[0], "as")).map(ToString::to_string);
    found.extend(other.or(path.last().cloned()).map(|name| (name, path)));
}

fn add_file(at: &[String], files: Files<'_>, modules: &mut Modules) {
    let name = at.join("/");
    let places = [format!("{name}.rs"), format!("{name}/mod.rs"), "lib.rs".to_owned()];
    let with_text = |file: String| Some((files(&file)?, file));
    let (text, file) = places.into_iter().find_map(with_text).expect("a crate has a lib.rs");
    modules.insert(at.to_vec(), Module { file, ..Module::default() });
    add_tokens(at, text.parse().unwrap(), files, modules);
}

fn add_tokens(at: &[String], stream: TokenStream, files: Files<'_>, modules: &mut Modules) {
    let tokens = without_tests(stream);
    for (index, token) in tokens.iter().enumerate() {
        let (before, after, mut paths) = (&tokens[..index], &tokens[index + 1..], Vec::new());
        match (token, before, after) {
            (TokenTree::Group(group), ..) => add_tokens(at, group.stream(), files, modules),
            (_, _, [name, end, ..]) if is(token, "mod") && is(end, ";") => {
                add_file(&[at, &[name.to_string()]].concat(), files, modules);
            }
            (_, [.., a, b], _) if is(a, ":") && is(b, ":") => {}
            (TokenTree::Ident(_), ..) if is(token, "use") => read(after, &[], &mut paths),
            (TokenTree::Ident(_), ..) => read(&tokens[index..], &[], &mut paths),
            _ => {}
        }
        let module = modules.get_mut(at).unwrap();
        module.paths.extend(paths.iter().map(|(_, path)| path.clone()));
        module.names.extend(paths.into_iter().filter(|_| is(token, "use")));
    }
}

/// Returns the module that a path leads to. `None` if it leads out of the crate.
fn target(at: &[String], path: &[String], modules: &Modules) -> Option<Segments> {
    let keyword = |part: &&String| ["crate", "self", "super"].contains(&part.as_str());
    let (start, rest) = path.split_at(path.iter().take_while(keyword).count());
    let supers = start.iter().filter(|part| *part == "super").count();
    let up = if path[0] == "crate" { at.len() } else { supers };
    let full = [&at[..at.len().checked_sub(up)?], rest].concat();
    let is_module = |depth: &usize| modules.contains_key(&full[..*depth]);
    let (module, item) = full.split_at((0..=full.len()).rev().find(is_module)?);
    match item.first().and_then(|name| modules[module].names.get(name)) {
        Some(origin) if at != module && at.starts_with(module) => {
            target(module, &[origin, &item[1..]].concat(), modules)
        }
        _ => (module.len() > at.len() || !start.is_empty()).then(|| module.to_vec()),
    }
}

/// Returns the graph of the children of each module, by the module's path.
fn graphs(modules: &Modules) -> BTreeMap<String, Graph> {
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for (at, module) in modules {
        for to in module.paths.iter().filter_map(|path| target(at, path, modules)) {
            let shared = at.iter().zip(&to).take_while(|(from, to)| from == to).count();
            if let (Some(from), Some(sibling)) = (at.get(shared), to.get(shared)) {
                let graph = graphs.entry(at[..shared].join("::")).or_default();
                let edges = graph.entry(from.clone()).or_default();
                edges.entry(sibling.clone()).or_default().insert(module.file.clone());
            }
        }
    }
    graphs
}

/// Returns the imports of the shortest cycle, with their files.
fn shortest_cycle(graph: &Graph) -> Option<Vec<String>> {
    let edge = |e: &[&String]| format!("{} imports {} in {:?}", e[0], e[1], graph[e[0]][e[1]]);
    let next = |at: &str| graph.get(at).into_iter().flat_map(BTreeMap::keys);
    let edges = graph.keys().flat_map(|from| next(from).map(move |to| vec![from, to]));
    let mut ways: BTreeMap<_, Vec<&String>> = edges.map(|way| ((way[0], way[1]), way)).collect();
    for _ in graph.keys() {
        if let Some((_, way)) = ways.iter().find(|((from, to), _)| from == to) {
            return Some(way.windows(2).map(edge).collect());
        }
        for way in ways.values().cloned().collect::<Vec<_>>() {
            for to in next(way[way.len() - 1]) {
                ways.entry((way[0], to)).or_insert_with(|| [&way[..], &[to]].concat());
            }
        }
    }
    None
}

fn modules_of(name: &str) -> Modules {
    let src = format!("{}/../crates/{name}/src", env!("CARGO_MANIFEST_DIR"));
    let mut modules = Modules::new();
    add_file(&[], &|file| std::fs::read_to_string(format!("{src}/{file}")).ok(), &mut modules);
    modules
}

#[test]
fn crates_of_a_server_have_no_module_cycles() {
    for name in ["candor-engine", "candor-operator", "candor-server", "candor-console"] {
        let mut graphs = graphs(&modules_of(name));
        assert!(graphs[""].len() > 5, "{name}: not all imports were found");
        if name == "candor-engine" {
            // One recursive type: a refusal may hold a preview's error, and an error may hold the refusal behind it.
            let refusal = graphs.get_mut("error").and_then(|error| error.get_mut("refusal"));
            refusal.unwrap().remove("tool_error").expect("remove this exception");
        }
        for (folder, graph) in graphs {
            assert_eq!(shortest_cycle(&graph), None, "{name}: {folder}");
        }
    }
}

#[test]
fn cycle_of_siblings_is_found_with_its_files() {
    let files = BTreeMap::from([
        ("lib.rs", "mod a; mod b; mod c; pub use b::{self, inner::{E, F as G}};"),
        ("a.rs", "/// crate::c::C\n use crate::{G}; #[cfg(test)] mod tests { use crate::c::C; }"),
        ("b/mod.rs", "mod inner; use inner::E; pub struct B(crate::c::C);"),
        ("b/inner.rs", "use super::{B, super::c::{self, C}}; fn f() { crate::b::b() }"),
        ("c.rs", "fn c() -> super::a::A { super::super::nowhere() }"),
    ]);
    let mut modules = Modules::new();
    add_file(&[], &|file| Some(files.get(file)?.to_string()), &mut modules);
    let graphs = graphs(&modules);
    assert_eq!(graphs.len(), 1, "parents and children may import each other: {graphs:?}");
    let cycle = shortest_cycle(&graphs[""]).unwrap().join(", ").replace('"', "");
    let files =
        "a imports b in {a.rs}, b imports c in {b/inner.rs, b/mod.rs}, c imports a in {c.rs}";
    assert_eq!(cycle, files);
}

#[test]
fn engine_knows_no_json_rpc_no_http_and_no_era() {
    let modules = modules_of("candor-engine");
    let paths = || modules.values().flat_map(|m| m.paths.iter().map(move |path| (&m.file, path)));
    assert!(paths().any(|(_, path)| path.join("::") == "candor_protocol::types::InputRequest"));
    let wire = ["rpc", "http", "axum", "Era"];
    let wrong = paths().filter(|(_, path)| path.iter().any(|part| wire.contains(&&**part)));
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}
