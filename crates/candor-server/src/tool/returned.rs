//! How `#[tool]` finds out what a function returns.
//!
//! A function may return content, a type that says itself how it is sent, anything that serialises and has a schema, and
//! any of it in a `Result`. No single trait can say that: the cases overlap, and Rust does not let one be preferred. But
//! method look-up does: it tries receivers with fewer references last. So each case is a trait for one reference less
//! than the case before it, and `(&&&&&probe).kind()` finds the first that fits. The traits here are called by the code
//! that the macro writes, and by nobody else.

use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::Deref;

use candor_schema::OutputSchema;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Blocks, Carried, IntoOutput, Output, ToolError};

/// Asks about a type.
pub struct Probe<T>(Unknown<T>);

/// A type of which nothing is known.
pub struct Unknown<T>(PhantomData<fn() -> T>);

/// A probe for a type.
#[must_use]
pub fn probe<T>() -> Probe<T> {
    Probe(Unknown(PhantomData))
}

/// A probe for the type of a value.
#[must_use]
pub fn probe_of<T>(_: &T) -> Probe<T> {
    probe()
}

impl<T> Deref for Probe<T> {
    type Target = Unknown<T>;

    fn deref(&self) -> &Unknown<T> {
        &self.0
    }
}

macro_rules! marker {
    ($($(#[$meta:meta])* $name:ident<$($param:ident),*>;)*) => {$(
        $(#[$meta])*
        pub struct $name<$($param),*>(PhantomData<fn() -> ($($param,)*)>);

        impl<$($param),*> Clone for $name<$($param),*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($param),*> Copy for $name<$($param),*> {}
    )*};
}
marker! {
    /// A value that must be waited for.
    Waited<T>;
    /// A value that is there.
    There<T>;
    /// A return type that is a `Result`.
    Fallible<T, E>;
    /// A return type that is not.
    Sure<T>;
    /// A value that says itself how it is sent.
    BySelf<T>;
    /// A value that is sent as its JSON.
    ByJson<T>;
    /// Something to show, and a value for programs beside it.
    ByPair<A, B>;
    /// Content, and a value for programs beside it.
    Beside<A, B>;
    /// A value that cannot be sent. The compiler has said so.
    Unsendable<T>;
    /// An error that knows how to become one of ours.
    KnownError<E>;
    /// An error that is a text for the caller.
    TextError<E>;
    /// Any other error: for the log.
    OtherError<E>;
    /// A type that cannot be an error. The compiler has said so.
    NoError<E>;
}

/// What an async function returns, first choice.
pub trait MadeFuture<T> {
    /// How its value is reached.
    fn made(&self) -> Waited<T>;
}

impl<T: Future> MadeFuture<T> for &Probe<T> {
    fn made(&self) -> Waited<T> {
        Waited(PhantomData)
    }
}

/// What any other function returns.
pub trait MadeValue<T> {
    /// How its value is reached.
    fn made(&self) -> There<T>;
}

impl<T> MadeValue<T> for Probe<T> {
    fn made(&self) -> There<T> {
        There(PhantomData)
    }
}

impl<T: Future> Waited<T> {
    /// The value, in time.
    pub fn settle(self, made: T) -> T {
        made
    }
}

impl<T> There<T> {
    /// The value.
    pub fn settle(self, made: T) -> std::future::Ready<T> {
        std::future::ready(made)
    }
}

/// Takes a `Result` apart, first choice.
pub trait SplitResult<T, E> {
    /// What is known of the type.
    fn split(&self) -> Fallible<T, E>;
}

impl<T, E> SplitResult<T, E> for &Probe<Result<T, E>> {
    fn split(&self) -> Fallible<T, E> {
        Fallible(PhantomData)
    }
}

/// Takes anything else as it is.
pub trait SplitOther<T> {
    /// What is known of the type.
    fn split(&self) -> Sure<T>;
}

impl<T> SplitOther<T> for Probe<T> {
    fn split(&self) -> Sure<T> {
        Sure(PhantomData)
    }
}

impl<T, E> Fallible<T, E> {
    /// Asks about the value.
    #[must_use]
    pub fn value(self) -> Probe<T> {
        probe()
    }

    /// Asks about the error.
    #[must_use]
    pub fn error(self) -> Probe<E> {
        probe()
    }

    /// The function's value, or its error.
    pub fn open(self, returned: Result<T, E>) -> Result<T, E> {
        returned
    }
}

impl<T> Sure<T> {
    /// Asks about the value.
    #[must_use]
    pub fn value(self) -> Probe<T> {
        probe()
    }

    /// There is no error.
    #[must_use]
    pub fn error(self) -> Probe<std::convert::Infallible> {
        probe()
    }

    /// The function's value.
    pub fn open(self, returned: T) -> Result<T, std::convert::Infallible> {
        Ok(returned)
    }
}

/// How a value of a type is sent.
pub trait Send<T> {
    /// The schema of its structured content.
    fn schema(self) -> Option<OutputSchema>;

    /// The value as an output, carried as the schema says.
    fn send(self, value: T, carried: Carried) -> Result<Output, ToolError>;
}

/// Text, which can be sent either way: with a schema, like every other scalar.
pub trait Text: Serialize + JsonSchema {}
impl Text for String {}
impl Text for &str {}
impl Text for Box<str> {}
impl Text for Cow<'_, str> {}

/// First choice: text.
pub trait KindText<T> {
    /// How it is sent.
    fn kind(&self) -> ByJson<T>;
}

impl<T: Text> KindText<T> for &&&&Probe<T> {
    fn kind(&self) -> ByJson<T> {
        ByJson(PhantomData)
    }
}

/// Second choice: a type that says itself how it is sent.
pub trait KindSelf<T> {
    /// How it is sent.
    fn kind(&self) -> BySelf<T>;
}

impl<T: IntoOutput> KindSelf<T> for &&&Probe<T> {
    fn kind(&self) -> BySelf<T> {
        BySelf(PhantomData)
    }
}

/// Third choice: content, and a value beside it.
pub trait KindBeside<A, B> {
    /// How it is sent.
    fn kind(&self) -> Beside<A, B>;
}

impl<A: Blocks, B: Serialize + JsonSchema> KindBeside<A, B> for &&Probe<(A, B)> {
    fn kind(&self) -> Beside<A, B> {
        Beside(PhantomData)
    }
}

/// Fourth choice: any other pair.
pub trait KindPair<A, B> {
    /// How it is sent.
    fn kind(&self) -> ByPair<A, B>;
}

impl<A: Serialize + JsonSchema, B: Serialize + JsonSchema> KindPair<A, B> for &Probe<(A, B)> {
    fn kind(&self) -> ByPair<A, B> {
        ByPair(PhantomData)
    }
}

/// Fifth choice: whatever serialises and has a schema.
pub trait KindJson<T> {
    /// How it is sent.
    fn kind(&self) -> ByJson<T>;
}

impl<T: Serialize + JsonSchema> KindJson<T> for Probe<T> {
    fn kind(&self) -> ByJson<T> {
        ByJson(PhantomData)
    }
}

/// Where nothing fits, the compiler should say what would.
pub trait KindNone<T> {
    /// Never called.
    fn kind(&self) -> Unsendable<T>
    where
        T: Sendable;
}

impl<T> KindNone<T> for Unknown<T> {
    fn kind(&self) -> Unsendable<T>
    where
        T: Sendable,
    {
        Unsendable(PhantomData)
    }
}

/// What a tool may return, for the compiler's words alone.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not something that a caller could be sent",
    note = "put `#[candor::args]` on your type, or derive `serde::Serialize` and `schemars::JsonSchema` for it",
    note = "or return text, `Content`, a list of `Content`, or an `Output`; or implement `IntoOutput`"
)]
pub trait Sendable {}

impl<T> Send<T> for Unsendable<T> {
    fn schema(self) -> Option<OutputSchema> {
        None
    }

    fn send(self, _value: T, _carried: Carried) -> Result<Output, ToolError> {
        unreachable!("the compiler refuses this type")
    }
}

impl<T: IntoOutput> Send<T> for BySelf<T> {
    fn schema(self) -> Option<OutputSchema> {
        T::schema()
    }

    fn send(self, value: T, _carried: Carried) -> Result<Output, ToolError> {
        value.into_output()
    }
}

impl<T: Serialize + JsonSchema> Send<T> for ByJson<T> {
    fn schema(self) -> Option<OutputSchema> {
        candor_schema::output::<T>()
    }

    fn send(self, value: T, carried: Carried) -> Result<Output, ToolError> {
        Ok(carry(json(&value)?, carried))
    }
}

impl<A: Blocks, B: Serialize + JsonSchema> Send<(A, B)> for Beside<A, B> {
    fn schema(self) -> Option<OutputSchema> {
        candor_schema::output::<B>()
    }

    fn send(self, (shown, value): (A, B), carried: Carried) -> Result<Output, ToolError> {
        let mut output = shown.into_output()?;
        output.structured = match json(&value)? {
            object @ Value::Object(_) if carried == Carried::AsItComes => Some(object),
            other => carry(other, carried).structured,
        };
        Ok(output)
    }
}

impl<A: Serialize + JsonSchema, B: Serialize + JsonSchema> Send<(A, B)> for ByPair<A, B> {
    fn schema(self) -> Option<OutputSchema> {
        match candor_schema::output::<B>() {
            Some(OutputSchema { boxed: true, .. }) => candor_schema::output::<(A, B)>(),
            object_or_unknown => object_or_unknown,
        }
    }

    /// Something to show and a value beside it, if that value is an object; else a list of two.
    fn send(self, (shown, value): (A, B), carried: Carried) -> Result<Output, ToolError> {
        let (shown, value) = (json(&shown)?, json(&value)?);
        if carried == Carried::Bare || (carried == Carried::AsItComes && value.is_object()) {
            let mut output = Output::of(shown, true);
            output.structured = Some(value);
            return Ok(output);
        }
        Ok(Output::of(Value::Array(vec![shown, value]), true))
    }
}

fn carry(value: Value, carried: Carried) -> Output {
    match carried {
        Carried::Bare => Output::of(value, false),
        Carried::Boxed => Output::of(value, true),
        Carried::AsItComes => Output::of_any(value),
    }
}

fn json(value: &impl Serialize) -> Result<Value, ToolError> {
    candor_schema::write(value)
        .map_err(|e| ToolError::internal(format!("the result cannot be written as JSON: {e}")))
}

/// How an error of a type becomes one of ours.
pub trait Convert<E> {
    /// The same as our error.
    fn convert(self, error: E) -> ToolError;
}

/// First choice: an error that converts.
pub trait ErrorKnown<E> {
    /// How it converts.
    fn error_kind(&self) -> KnownError<E>;
}

impl<E: Into<ToolError>> ErrorKnown<E> for &&Probe<E> {
    fn error_kind(&self) -> KnownError<E> {
        KnownError(PhantomData)
    }
}

/// Second choice: a text, which its author wrote for the caller.
pub trait ErrorText<E> {
    /// How it converts.
    fn error_kind(&self) -> TextError<E>;
}

impl<E: AsRef<str>> ErrorText<E> for &Probe<E> {
    fn error_kind(&self) -> TextError<E> {
        TextError(PhantomData)
    }
}

/// Third choice: anything with words, for the log.
pub trait ErrorOther<E> {
    /// How it converts.
    fn error_kind(&self) -> OtherError<E>;
}

impl<E: Display> ErrorOther<E> for Probe<E> {
    fn error_kind(&self) -> OtherError<E> {
        OtherError(PhantomData)
    }
}

/// Where nothing fits, the compiler should say what would.
pub trait ErrorNone<E> {
    /// Never called.
    fn error_kind(&self) -> NoError<E>
    where
        E: ReturnedError;
}

impl<E> ErrorNone<E> for Unknown<E> {
    fn error_kind(&self) -> NoError<E>
    where
        E: ReturnedError,
    {
        NoError(PhantomData)
    }
}

/// What a tool may fail with, for the compiler's words alone.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    label = "nothing in it that could be told or logged",
    note = "return `Result<_, ToolError>`: `ToolError::new(…)` is for the caller to read, and `?` hides any other error",
    note = "or implement `std::error::Error` for `{Self}`, whose text goes to the log, or `From<{Self}>` for `ToolError`"
)]
pub trait ReturnedError {}

impl<E> Convert<E> for NoError<E> {
    fn convert(self, _error: E) -> ToolError {
        unreachable!("the compiler refuses this type")
    }
}

impl<E: Into<ToolError>> Convert<E> for KnownError<E> {
    fn convert(self, error: E) -> ToolError {
        error.into()
    }
}

impl<E: AsRef<str>> Convert<E> for TextError<E> {
    fn convert(self, error: E) -> ToolError {
        ToolError::new(error.as_ref().to_owned())
    }
}

impl<E: Display> Convert<E> for OtherError<E> {
    fn convert(self, error: E) -> ToolError {
        // Errors that carry others within them name them all in the longer form.
        ToolError::internal(format_args!("{error:#}"))
    }
}
