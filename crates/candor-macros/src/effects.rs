//! What a call does to the world, in the author's words.
//!
//! Words: `read_only`, `additive` or `destructive`; with the latter two perhaps `idempotent`; with all `closed_world`. They
//! stand alone in `#[tool(…)]`, on a variant as `#[effect(…)]`, and after the arrow of a row in `#[tool(effects(…))]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{BinOp, Error, Expr, Ident, Member, Result, Token, Type};

/// The words, each at most once.
#[derive(Default, Clone)]
pub(crate) struct Words {
    kind: Option<(Kind, Span)>,
    idempotent: bool,
    closed_world: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    ReadOnly,
    Additive,
    Destructive,
}

/// All words, for messages.
pub(crate) const WORDS: &str = "read_only, additive, destructive, idempotent, closed_world";

impl Words {
    /// Takes a word; false if it is none of these.
    pub(crate) fn take(&mut self, word: &Ident) -> Result<bool> {
        let kind = match word.to_string().as_str() {
            "read_only" => Kind::ReadOnly,
            "additive" => Kind::Additive,
            "destructive" => Kind::Destructive,
            "idempotent" => {
                return once(&mut self.idempotent, word);
            }
            "closed_world" => {
                return once(&mut self.closed_world, word);
            }
            _ => return Ok(false),
        };
        match self.kind.replace((kind, word.span())) {
            None => Ok(true),
            Some(_) => {
                Err(Error::new(word.span(), "say one of `read_only`, `additive` and `destructive`"))
            }
        }
    }

    /// Whether it is said what kind of effect there is.
    pub(crate) const fn has_kind(&self) -> bool {
        self.kind.is_some()
    }

    /// Whether nothing is said.
    pub(crate) const fn is_empty(&self) -> bool {
        self.kind.is_none() && !self.idempotent && !self.closed_world
    }

    /// Whether nothing but the closed world is said, which also goes with a table.
    pub(crate) const fn only_closed_world(&self) -> bool {
        self.kind.is_none() && !self.idempotent
    }

    pub(crate) const fn is_closed_world(&self) -> bool {
        self.closed_world
    }

    fn check(&self, at: Span) -> Result<(Kind, Span)> {
        let kind = self.kind.ok_or_else(|| {
            Error::new(at, "say one of `read_only`, `additive` and `destructive`")
        })?;
        if kind.0 == Kind::ReadOnly && self.idempotent {
            let message = "what only reads can always be repeated; take `idempotent` away";
            return Err(Error::new(kind.1, message));
        }
        Ok(kind)
    }

    /// An expression of type `Hints`: all four are said.
    pub(crate) fn hints(&self, at: Span) -> Result<TokenStream> {
        let base = match self.check(at)?.0 {
            Kind::ReadOnly => quote!(READS),
            Kind::Additive => quote!(ADDS),
            Kind::Destructive => quote!(DELETES),
        };
        let repeatable = self.idempotent.then(|| quote!(.repeatable()));
        let closed = self.closed_world.then(|| quote!(.closed_world()));
        Ok(quote!(::candor::hints::Hints::#base #repeatable #closed))
    }

    /// An expression of type `Declared`: what is said, and nothing else.
    pub(crate) fn declared(&self, at: Span) -> Result<TokenStream> {
        let some = |value: bool| quote!(::core::option::Option::Some(#value));
        let none = quote!(::core::option::Option::None);
        let (read_only, destructive) = match self.check(at)?.0 {
            Kind::ReadOnly => (some(true), none.clone()),
            Kind::Additive => (some(false), some(false)),
            Kind::Destructive => (some(false), some(true)),
        };
        let idempotent = if self.idempotent { some(true) } else { none.clone() };
        let open_world = if self.closed_world { some(false) } else { none };
        Ok(quote!(::candor::hints::Declared {
            read_only: #read_only,
            destructive: #destructive,
            idempotent: #idempotent,
            open_world: #open_world,
        }))
    }
}

fn once(said: &mut bool, word: &Ident) -> Result<bool> {
    if std::mem::replace(said, true) {
        return Err(Error::new(word.span(), "said twice"));
    }
    Ok(true)
}

impl Parse for Words {
    /// Words with commas between them: what stands in `#[effect(…)]`.
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut words = Self::default();
        for word in Punctuated::<Ident, Token![,]>::parse_terminated(input)? {
            if !words.take(&word)? {
                let message = format!("`{word}` is none of: {WORDS}");
                return Err(Error::new(word.span(), message));
            }
        }
        Ok(words)
    }
}

/// What stands in `effects(…)`: the argument that decides, or rows.
pub(crate) enum Table {
    /// `by = action`, with the type where the parameter does not name it: `by = action: Action`.
    By { argument: Ident, ty: Option<Type> },
    /// `method == "GET" => read_only, …`
    Rows(Vec<Row>),
}

/// One row; without tests it takes everything.
pub(crate) struct Row {
    tests: Vec<TokenStream>,
    words: Words,
    span: Span,
}

impl Parse for Table {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            let by: Ident = input.parse()?;
            if by != "by" {
                return Err(Error::new(
                    by.span(),
                    "write `by = argument`, or rows: `argument == value => words`",
                ));
            }
            input.parse::<Token![=]>()?;
            let argument = input.parse()?;
            let ty = match input.parse::<Option<Token![:]>>()? {
                Some(_) => Some(input.parse()?),
                None => None,
            };
            input.parse::<Option<Token![,]>>()?;
            return Ok(Self::By { argument, ty });
        }
        let rows = Punctuated::<Row, Token![,]>::parse_terminated(input)?;
        if rows.is_empty() {
            return Err(input.error("an empty table says nothing; write `unclassified`"));
        }
        Ok(Self::Rows(rows.into_iter().collect()))
    }
}

impl Parse for Row {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let condition: Expr = input.parse()?;
        let span = condition.span();
        let mut tests = Vec::new();
        if !matches!(&condition, Expr::Path(path) if path.path.is_ident("otherwise")) {
            read_tests(&condition, &mut tests)?;
        }
        input.parse::<Token![=>]>()?;
        let mut words = Words::default();
        for word in Punctuated::<Ident, Token![+]>::parse_separated_nonempty(input)? {
            if !words.take(&word)? {
                let message = format!("`{word}` is none of: {WORDS} (join several with `+`)");
                return Err(Error::new(word.span(), message));
            }
        }
        words.check(span)?;
        Ok(Self { tests, words, span })
    }
}

impl Row {
    /// An expression of type `Row`.
    pub(crate) fn write(&self) -> Result<TokenStream> {
        let hints = self.words.hints(self.span)?;
        Ok(match self.tests.split_first() {
            None => quote!(::candor::hints::Row::otherwise(#hints)),
            Some((first, rest)) => {
                quote!(::candor::hints::Row::when(#first)#(.and(#rest))*.then(#hints))
            }
        })
    }
}

/// Each test as `pointer, test`.
fn read_tests(condition: &Expr, tests: &mut Vec<TokenStream>) -> Result<()> {
    match condition {
        Expr::Paren(inner) => read_tests(&inner.expr, tests),
        Expr::Binary(both) if matches!(both.op, BinOp::And(_)) => {
            read_tests(&both.left, tests)?;
            read_tests(&both.right, tests)
        }
        Expr::Binary(same) if matches!(same.op, BinOp::Eq(_)) => {
            let (at, value) = (pointer(&same.left)?, &same.right);
            let value = quote_spanned!(value.span()=> ::candor::__private::value(&#value));
            tests.push(quote!(#at, ::candor::hints::Test::equals(#value)));
            Ok(())
        }
        Expr::MethodCall(call) => {
            let at = pointer(&call.receiver)?;
            let arguments = &call.args;
            let test = match (call.method.to_string().as_str(), arguments.len()) {
                ("one_of", 1..) => {
                    let values =
                        arguments.iter().map(|value| quote!(::candor::__private::value(&#value)));
                    quote!(OneOf(::std::vec::Vec::from([#(#values),*])))
                }
                ("below", 1) => quote!(Below(::std::convert::From::from(#arguments))),
                ("glob", 1) => quote!(Glob(::std::convert::From::from(#arguments))),
                ("at_least", 1) => {
                    quote!(Range(::core::option::Option::Some(f64::from(#arguments)), ::core::option::Option::None))
                }
                ("at_most", 1) => {
                    quote!(Range(::core::option::Option::None, ::core::option::Option::Some(f64::from(#arguments))))
                }
                ("is_present", 0) => quote!(Present),
                ("is_absent", 0) => quote!(Absent),
                _ => {
                    let message = "one of: `x.one_of(\"a\", \"b\")`, `x.below(\"/public\")`, `x.glob(\"/repos/*/*\")`, `x.at_least(1)`, `x.at_most(9)`, `x.is_present()`, `x.is_absent()`";
                    return Err(Error::new(call.method.span(), message));
                }
            };
            tests.push(quote!(#at, ::candor::hints::Test::#test));
            Ok(())
        }
        other => Err(Error::new(
            other.span(),
            "write `argument == value`, a test like `argument.one_of(…)`, several with `&&`, or `otherwise`",
        )),
    }
}

/// `target.path` as a JSON Pointer.
fn pointer(expression: &Expr) -> Result<String> {
    match expression {
        Expr::Path(path) => match path.path.get_ident() {
            Some(name) => Ok(format!("/{}", plain(name))),
            None => Err(Error::new(path.span(), "name an argument")),
        },
        Expr::Field(field) => match &field.member {
            Member::Named(name) => Ok(format!("{}/{}", pointer(&field.base)?, plain(name))),
            Member::Unnamed(index) => Ok(format!("{}/{}", pointer(&field.base)?, index.index)),
        },
        other => {
            Err(Error::new(other.span(), "name an argument, or a member of one: `target.path`"))
        }
    }
}

/// A name without the mark of raw identifiers.
pub(crate) fn plain(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}
