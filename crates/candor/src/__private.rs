//! What the code that the macros write refers to. Not for anybody else: it changes without notice.

use std::marker::PhantomData;

use candor_server::hints::Annotations;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use candor_server::Need;
pub use candor_server::prompt::PromptSpec;
pub use candor_server::tool::{
    ArgumentFns, Carried, Input, KeyedMap, MapKey, Natural, ToolSpec, WideInteger, published,
    published_as, read_as, returned,
};
pub use {schemars, serde};

/// Whether a type can be sent by a caller. Here so that the compiler complains about a parameter in our words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument",
    label = "a caller would not know what to send",
    note = "put `#[candor::args]` on your type, or derive `serde::Deserialize` and `schemars::JsonSchema`",
    note = "a type of another crate needs that crate's feature for serde, and schemars' feature for that crate, such as `uuid1`",
    note = "if the server should provide it, take it as `State<{Self}>`, or mark it `#[inject]`"
)]
pub trait Argument: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Argument for T {}

/// Compiles if the type can be sent by a caller.
pub const fn is_argument<T: Argument>() {}

/// A default that is written as a text.
#[diagnostic::on_unimplemented(
    message = "a text cannot be the default of a `{Self}`",
    label = "write a value of type `{Self}`"
)]
pub trait DefaultText {
    /// The text as a value.
    fn from_text(text: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<&'static str>> DefaultText for T {
    fn from_text(text: &'static str) -> Self {
        Self::from(text)
    }
}

/// Reads the arguments of a function whose parameters are the fields of `P`, of which the only one is a `T`.
///
/// Where the types cannot be read, [`is_argument`] has said so; method look-up then finds [`ReadsNothing`] instead of
/// [`ReadsArguments`], and nothing more is said.
pub struct Reads<P, T>(PhantomData<fn() -> (P, T)>);

/// Asks how arguments are read.
#[must_use]
pub const fn reads<P, T>() -> Reads<P, T> {
    Reads(PhantomData)
}

/// First choice: types that can be read.
pub trait ReadsArguments<P, T> {
    /// One property for each parameter.
    fn parameters(&self) -> Input<P>;

    /// The only parameter, which may be all of the arguments.
    fn parameter(&self, wrap: fn(T) -> P) -> Input<P>;
}

impl<P, T> ReadsArguments<P, T> for &Reads<P, T>
where
    P: DeserializeOwned + JsonSchema + 'static,
    T: DeserializeOwned + JsonSchema + 'static,
{
    fn parameters(&self) -> Input<P> {
        Input::parameters()
    }

    fn parameter(&self, wrap: fn(T) -> P) -> Input<P> {
        Input::parameter(wrap)
    }
}

/// Second choice: the program does not compile anyway.
pub trait ReadsNothing<P, T> {
    /// Never called.
    fn parameters(&self) -> Input<P> {
        unreachable!("`is_argument` refuses these types")
    }

    /// Never called.
    fn parameter(&self, _wrap: fn(T) -> P) -> Input<P> {
        unreachable!("`is_argument` refuses these types")
    }
}

impl<P, T> ReadsNothing<P, T> for Reads<P, T> {}

pub use candor_server::blocking;

/// What a function of effects returns.
#[diagnostic::on_unimplemented(
    message = "a function of effects returns `Hints`, and this one returns `{Self}`",
    label = "return `Hints`, or `Annotations`: `Hints::READS.with(\"networkAccessHint\", false)`"
)]
pub trait IntoAnnotations {
    /// The hints with the fields beside them.
    fn into_annotations(self) -> Annotations;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Annotations>> IntoAnnotations for T {
    fn into_annotations(self) -> Annotations {
        self.into()
    }
}

/// What a function of effects has returned.
#[must_use]
pub fn annotations(returned: impl IntoAnnotations) -> Annotations {
    returned.into_annotations()
}

/// A value as JSON, for the rows of a table.
#[must_use]
pub fn value(value: &(impl serde::Serialize + ?Sized)) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// What `tools![…]` and `prompts![…]` find under a path that has no type: a function that is not marked.
pub mod unmarked {
    /// A function that is not marked `#[tool]`.
    pub struct NotATool;
    pub use NotATool as __CandorTool;

    /// A function that is not marked `#[prompt]`.
    pub struct NotAPrompt;
    pub use NotAPrompt as __CandorPrompt;
}
