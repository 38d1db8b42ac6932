//! The attributes of Candor. Everything they write names its parts through the facade, `::candor`, so that a user
//! depends on one crate.
//!
//! | attribute | file |
//! |---|---|
//! | `#[tool]` on a function | `tool` |
//! | `#[toolbox]` on an `impl` | `toolbox` |
//! | `#[prompt]` on a function | `prompt` |
//! | `tools![…]`, `prompts![…]` | `list` |
//! | `#[args]` on a struct or enum | `args` |
//!
//! `signature` reads a function, `options` and `safeguards` what stands in the brackets, `field` the attributes of parameters and fields alike, `write` writes the tool.

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

/// Makes a tool of a function: the signature is its schema.
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
/// - What a call does, in words: `reads`, `adds`, `changes` or `deletes`, perhaps `idempotent`, perhaps `closed_world`.
///   Where the arguments decide: `effects(by = action)` for an enum whose variants have `#[effect(…)]`; rows like
///   `effects(method == "GET" => reads, path.glob("/repos/*/*") => adds, otherwise => deletes)`, where a row that no call can
///   match does not register; or
///   `effects = function, at_most(deletes)` with a pure function of references to the parameters. Or `unclassified`:
///   nothing is said, and callers must expect the worst. One of these is required.
/// - `idempotency = argument` (a key may be sent as an argument), `required` (it must be), or `key(order_id)` (an expression over the parameters makes
///   it): the same call is started at most once per key. `recorded(amount)` names arguments whose values may stand in history.
/// - `undo = "restore"`: the tool that takes a call back. `instead = "archive"`: the tool that does less harm. Both must be registered beside it.
/// - `rate = "10/min"` (also `/s`, `/h`, `/day`): how often one caller may call it, in this process. `serial = "group"`: calls of the group that may
///   change something run one after another, in the order in which they came, in this process; one that asks a legacy client something keeps its turn
///   while it waits.
/// - `preview = function`: a function of the same parameters, plain or async, that shows what a call would do; it becomes the read-only tool
///   `preview_<name>`. In a toolbox, a method: `preview = Self::plan`. Or `preview = "name"`, a read-only tool with the same arguments. With
///   `requires_preview`, a call needs the token of a fresh preview; if that returned a `Plan`, it is made again before the start, and
///   its digest must be the same.
/// - `omit(retry, undo, instead, preview, approval, rate)`: sentences that the description does not get from all this, because its text says so
///   already; `omit` alone: none of them.
/// - `ask = always`, `writes` or `destructive`: a person is asked about these calls before they start, whatever the server does.
/// - `blocking`, on a plain function that waits for a disk or a lock: it gets a thread of its own. Without it, a plain function runs where others
///   wait for their turn, so it should not take long.
/// - `name = "…"`, `title = "…"`, `description = "…"`: instead of the function's name and its doc comment.
/// - `input_schema = …`, `output_schema = …`: a schema of your own, as JSON text or `json!` value, published as it is and
///   enforced. The parameters are read from whatever it lets through. `output_schema = none`: none is published, and results are
///   sent as they come, unchecked.
///
/// # On a parameter
///
/// - A doc comment is its description.
/// - `#[default(…)]`, with any expression: it may be left out. `Option<T>`: it may be left out or `null`. `#[optional]` on an `Option<T>`: it
///   may be left out, but is never `null`.
/// - `#[length(min = 1, max = 20)]`, `#[range(min = 0, max = 120)]`, `#[regex("^a+$")]`, `#[email]`, `#[url]`,
///   `#[schemars(…)]`, `#[serde(…)]`.
/// - `Ctx`, `State<T>`, `Principal`, by these names, and whatever is marked `#[inject]` come from the server. `Arguments` is
///   all arguments, untyped.
/// - One parameter that is a struct *is* the arguments.
/// - A type of yours has [`#[candor::args]`](macro@args) on it. One of another crate, such as `Uuid`, needs that crate's feature for serde,
///   and the feature of schemars 1 for that crate: `uuid = { version = "1", features = ["serde"] }` and
///   `schemars = { version = "1", features = ["uuid1"] }` among your dependencies.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(options.into(), &item.into()).into()
}

/// Makes tools of the methods that are marked `#[tool]`: they share the value that they are called on.
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
///     /// Adds a note, and says how many there are.
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

/// Makes a type fit for arguments and results: `Serialize`, `Deserialize` and `JsonSchema`, closed, in snake case.
///
/// Fields take the attributes that parameters of a `#[tool]` take. What you derive or tell serde yourself stays as it is.
/// On an enum that decides what a call does, each variant says what that is:
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

/// Makes a prompt of a function: its parameters are what the user fills in.
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
/// - The doc comment is the description; `name = "…"`, `title = "…"` and `description = "…"` in the brackets replace what the
///   function says.
/// - A parameter is an argument, with its doc comment as description. `Option<T>` or `#[default(…)]`: the user may leave it out.
///   Parameters take the attributes that those of a [`#[tool]`](macro@tool) take, and the server checks arguments against them.
/// - Arguments are texts. A parameter that is no text gets the JSON in it: `7`, `true`, `[1, 2]`.
/// - An enum or a `bool` proposes its values while the user types.
/// - `Ctx`, `State<T>`, `Principal` and whatever is marked `#[inject]` come from the server.
/// - It returns text, `Content`, a `PromptMessage`, a `Vec` of these, a `GetPromptResult`, or a `Result` of any of them.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    prompt::expand(options.into(), &item.into()).into()
}

/// A list of tools from functions that are marked [`#[tool]`](macro@tool), for `Server::tools`. Functions of other modules are
/// listed by their paths.
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

/// A list of prompts from functions that are marked [`#[prompt]`](macro@prompt), for `Server::prompts`. Functions of other modules
/// are listed by their paths.
#[proc_macro]
pub fn prompts(paths: TokenStream) -> TokenStream {
    list::prompts(paths.into()).into()
}
