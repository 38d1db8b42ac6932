//! The attributes of Candor. The code that they generate names everything through the facade, `::candor`, so that a user depends on
//! one crate.
//!
//! | attribute | file |
//! |---|---|
//! | `#[tool]` on a function | `tool` |
//! | `#[toolbox]` on an `impl` | `toolbox` |
//! | `#[prompt]` on a function | `prompt` |
//! | `tools![…]`, `prompts![…]` | `list` |
//! | `#[args]` on a struct or enum | `args` |
//!
//! `signature` reads a function, `options` and `safeguards` what is in the brackets, and `field` the attributes of parameters and
//! fields. `write` generates the tool.

mod args;
mod constraints;
mod effects;
mod field;
mod list;
mod maps;
mod options;
mod prompt;
mod safeguards;
mod signature;
mod tool;
mod toolbox;
mod variants;
mod write;

use proc_macro::TokenStream;

/// Turns a function into a tool: the signature is its schema.
///
/// ```
/// use candor::prelude::*;
///
/// /// Greets a user.
/// #[tool(reads)]
/// async fn greet(
///     /// Whom to greet
///     name: String,
///     #[default(1)] times: u32,
/// ) -> String {
///     format!("Hello, {name}! ").repeat(times as usize)
/// }
///
/// let server = Server::new("greeter", "1.0.0").tools(tools![greet]);
/// ```
///
/// # On the function
///
/// - What a call does, in words: `reads`, `adds`, `changes` or `deletes`, perhaps `idempotent`, perhaps `closed_world`. If the
///   arguments decide: `effects(by = action)` for an enum whose variants have `#[effect(…)]`; or rows like
///   `effects(method == "GET" => reads, path.glob("/repos/*/*") => adds, otherwise => deletes)`; or
///   `effects = function, at_most(deletes)` with a pure function of references to the parameters. If no call can match a row, the
///   server cannot be built. Or `unclassified`: the tool declares nothing, and callers must expect the worst. One of these is
///   required.
/// - `idempotency = argument` (a key may be sent as an argument), `required` (it must be), or `key(order_id)` (an expression over
///   the parameters makes it): the same call is started at most once per key. `recorded(amount)` names arguments whose values the
///   history may show.
/// - `undo = "restore"`: the tool that undoes a call. `instead = "archive"`: the tool that does less harm. Both must be registered
///   beside it.
/// - `rate = "10/min"` (also `/s`, `/h`, `/day`): the rate limit per caller, in this process. `serial = "group"`: calls of the
///   group that can change data run one at a time, in the order in which they arrive, in this process. A call that asks a legacy
///   client for input keeps its turn while it waits.
/// - `preview = function`: a function of the same parameters, plain or async, that shows what a call would do. It becomes the
///   read-only tool `preview_<name>`. In a toolbox, a method: `preview = Self::plan`. Or `preview = "name"`, a read-only tool with
///   the same arguments. With `requires_preview`, a call needs the token of a fresh preview. If that returned a `Plan`, the server
///   makes it again before the start, and its digest must be the same.
/// - `omit(retry, undo, instead, preview, approval, rate)`: generated sentences that the description does not get, because its text
///   has them already. `omit` alone: it gets none of them.
/// - `ask = always`, `writes` or `destructive`: these calls need approval before they start, whatever the server's policy.
/// - `blocking`, on a plain function that waits for a disk or a lock: it gets a thread of its own. Without it, a plain function
///   blocks a thread that other calls need, so it should not take long.
/// - `name = "…"`, `title = "…"`, `description = "…"`: instead of the function's name and its doc comment.
/// - `input_schema = …`, `output_schema = …`: your own schema, as JSON text or `json!` value. It is published as it is, and
///   enforced. The parameters are read from any arguments that it accepts. `output_schema = none`: no schema is published, and
///   results are sent unchecked.
///
/// # On a parameter
///
/// - A doc comment is its description.
/// - `#[default(…)]`, with any expression: the caller may omit it. `Option<T>`: the caller may omit it or send `null`.
///   `#[optional]` on an `Option<T>`: the caller may omit it, but may not send `null`.
/// - `#[length(min = 1, max = 20)]`, `#[range(min = 0, max = 120)]`, `#[regex("^a+$")]`, `#[email]`, `#[url]`,
///   `#[schemars(…)]`, `#[serde(…)]`.
/// - `Ctx`, `State<T>`, `Principal`, by these names, and every parameter with `#[inject]` come from the server. `Arguments` is all
///   arguments, untyped.
/// - One parameter that is a struct *is* the arguments.
/// - A type of yours needs [`#[candor::args]`](macro@args). A type of another crate, such as `Uuid`, needs that crate's feature for
///   serde, and the feature of schemars 1 for that crate: `uuid = { version = "1", features = ["serde"] }` and
///   `schemars = { version = "1", features = ["uuid1"] }` in your dependencies.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(options.into(), &item.into()).into()
}

/// Turns the methods that are marked `#[tool]` into tools. They share the value that they are called on.
///
/// ```
/// use candor::prelude::*;
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Notes(Mutex<Vec<String>>);
///
/// #[toolbox]
/// impl Notes {
///     /// Adds a note, and returns the number of notes.
///     #[tool(adds, closed_world)]
///     async fn add(&self, text: String) -> Result<usize, ToolError> {
///         let mut notes = self.0.lock().map_err(|_| ToolError::internal("a handler has panicked"))?;
///         notes.push(text);
///         Ok(notes.len())
///     }
/// }
///
/// let server = Server::new("notes", "1.0.0").tools(Notes::default().into_tools());
/// ```
#[proc_macro_attribute]
pub fn toolbox(options: TokenStream, item: TokenStream) -> TokenStream {
    toolbox::expand(&options.into(), &item.into()).into()
}

/// Makes a type usable for arguments and results: `Serialize`, `Deserialize` and `JsonSchema`, closed, in snake case.
///
/// Fields take the attributes that parameters of a `#[tool]` take. What you derive or set for serde yourself stays as it is. On an
/// enum that decides what a call does, each variant declares its effect:
///
/// ```
/// use candor::prelude::*;
///
/// #[candor::args]
/// enum Action {
///     #[effect(reads)]
///     Read,
///     #[effect(deletes, idempotent)]
///     Delete,
/// }
///
/// /// Reads or deletes a note.
/// #[tool(effects(by = action), closed_world)]
/// async fn note(#[range(min = 1)] number: u32, action: Action) -> String {
///     match action {
///         Action::Read => format!("note {number}"),
///         Action::Delete => format!("note {number} is gone"),
///     }
/// }
/// ```
#[proc_macro_attribute]
pub fn args(options: TokenStream, item: TokenStream) -> TokenStream {
    args::expand(&options.into(), &item.into()).into()
}

/// Turns a function into a prompt: its parameters are what the user fills in.
///
/// ```
/// use candor::prelude::*;
///
/// #[candor::args]
/// enum Tone {
///     Kind,
///     Blunt,
/// }
///
/// /// Asks for a review of a file
/// #[prompt]
/// fn review(
///     /// File to review
///     path: String,
///     tone: Option<Tone>,
/// ) -> String {
///     let tone = if matches!(tone, Some(Tone::Blunt)) { "bluntly" } else { "kindly" };
///     format!("Review {path}, {tone}.")
/// }
///
/// let server = Server::new("reviews", "1.0.0").prompts(prompts![review]);
/// ```
///
/// - The doc comment is the description. `name = "…"`, `title = "…"` and `description = "…"` in the brackets replace the function's
///   name and doc comment.
/// - A parameter is an argument, with its doc comment as description. `Option<T>` or `#[default(…)]`: the user may omit it.
///   Parameters take the attributes that those of a [`#[tool]`](macro@tool) take, and the server checks arguments against them.
/// - Arguments are texts. A parameter that is not a text gets the JSON in it: `7`, `true`, `[1, 2]`.
/// - An enum or a `bool` proposes its values while the user types.
/// - `Ctx`, `State<T>`, `Principal` and every parameter with `#[inject]` come from the server.
/// - It returns text, `Content`, a `PromptMessage`, a `Vec` of these, a `GetPromptResult`, or a `Result` of any of them.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    prompt::expand(options.into(), &item.into()).into()
}

/// Lists the tools of functions that are marked [`#[tool]`](macro@tool), for `Server::tools`. Functions of other modules are listed
/// by their paths.
///
/// ```
/// use candor::prelude::*;
///
/// mod notes {
///     use candor::prelude::*;
///
///     /// Adds a note.
///     #[tool(adds, closed_world)]
///     pub async fn add(text: String) -> String {
///         format!("noted: {text}")
///     }
/// }
///
/// /// Greets by name.
/// #[tool(reads)]
/// async fn greet(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// let server = Server::new("greeter", "1.0.0").tools(tools![greet, notes::add]);
/// ```
#[proc_macro]
pub fn tools(paths: TokenStream) -> TokenStream {
    list::tools(paths.into()).into()
}

/// Lists the prompts of functions that are marked [`#[prompt]`](macro@prompt), for `Server::prompts`. Functions of other modules
/// are listed by their paths.
#[proc_macro]
pub fn prompts(paths: TokenStream) -> TokenStream {
    list::prompts(paths.into()).into()
}
