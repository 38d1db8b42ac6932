//! Items that macro-generated code refers to. Not a public API: it changes without notice.

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

/// A type that a caller can send. The trait exists so that compiler errors about a parameter use Candor's words.
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

/// Compiles if a caller can send the type.
pub const fn is_argument<T: Argument>() {}

/// A type whose default can be written as a string.
#[diagnostic::on_unimplemented(
    message = "a text cannot be the default of a `{Self}`",
    label = "write a value of type `{Self}`"
)]
pub trait DefaultText {
    /// Converts the text to a value.
    fn from_text(text: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<&'static str>> DefaultText for T {
    fn from_text(text: &'static str) -> Self {
        Self::from(text)
    }
}

/// A reader for the arguments of a function. The parameters are the fields of `P`; a single parameter is a `T`.
///
/// If the types cannot be read, [`is_argument`] reports it. Method lookup then finds [`ReadsNothing`] instead of
/// [`ReadsArguments`], so there is no second error.
pub struct Reads<P, T>(PhantomData<fn() -> (P, T)>);

/// Creates a reader.
#[must_use]
pub const fn reads<P, T>() -> Reads<P, T> {
    Reads(PhantomData)
}

/// First choice of method lookup: types that can be read.
pub trait ReadsArguments<P, T> {
    /// Reads one property for each parameter.
    fn parameters(&self) -> Input<P>;

    /// Reads the only parameter, which may be all of the arguments.
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

/// Second choice of method lookup: the program does not compile in any case.
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

/// The result of a function of effects.
#[diagnostic::on_unimplemented(
    message = "a function of effects returns `Hints`, and this one returns `{Self}`",
    label = "return `Hints`, or `Annotations`: `Hints::READS.with(\"networkAccessHint\", false)`"
)]
pub trait IntoAnnotations {
    /// Returns the hints with the fields beside them.
    fn into_annotations(self) -> Annotations;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Annotations>> IntoAnnotations for T {
    fn into_annotations(self) -> Annotations {
        self.into()
    }
}

/// Converts the result of a function of effects.
#[must_use]
pub fn annotations(returned: impl IntoAnnotations) -> Annotations {
    returned.into_annotations()
}

/// Returns a value as JSON, for the rows of a table.
#[must_use]
pub fn value(value: &(impl serde::Serialize + ?Sized)) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// What `tools![…]` and `prompts![…]` find under the path of a function that is not marked.
pub mod unmarked {
    /// A function that is not marked `#[tool]`.
    pub struct NotATool;
    pub use NotATool as __CandorTool;

    /// A function that is not marked `#[prompt]`.
    pub struct NotAPrompt;
    pub use NotAPrompt as __CandorPrompt;
}
