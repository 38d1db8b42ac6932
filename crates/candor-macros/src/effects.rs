//! What a call does, in the author's words.
//!
//! Words: `reads`, `adds`, `changes` or `deletes`; with the latter three perhaps `idempotent`; with all `closed_world`. They are
//! written alone in `#[tool(…)]`, on a variant as `#[effect(…)]`, and after the arrow of a row in `#[tool(effects(…))]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{BinOp, Error, Expr, ExprLit, ExprUnary, Ident, Lit, Member, Result, Token, Type, UnOp};

/// The words, each at most once.
#[derive(Default, Clone)]
pub(crate) struct Words {
    kind: Option<(EffectKind, Span)>,
    idempotent: Option<Span>,
    closed_world: Option<Span>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EffectKind {
    Reads,
    Adds,
    Changes,
    Deletes,
}

/// All words, for messages.
pub(crate) const WORDS: &str = "reads, adds, changes, deletes, idempotent, closed_world";

impl Words {
    /// Takes a word. Returns false if it is unknown.
    pub(crate) fn take(&mut self, word: &Ident) -> Result<bool> {
        let kind = match word.to_string().as_str() {
            "reads" => EffectKind::Reads,
            "adds" => EffectKind::Adds,
            "changes" => EffectKind::Changes,
            "deletes" => EffectKind::Deletes,
            // The protocol's words: an effect says more than a hint.
            "read_only" => return Err(Error::new(word.span(), "write `reads`")),
            "additive" => return Err(Error::new(word.span(), "write `adds`")),
            "destructive" => {
                let message = "write `changes` if a call changes what is there, `deletes` if it removes something; both are destructive";
                return Err(Error::new(word.span(), message));
            }
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
            Some(_) => Err(Error::new(
                word.span(),
                "say only one of `reads`, `adds`, `changes` and `deletes`",
            )),
        }
    }

    /// Returns true if there is a word for the kind of effect.
    pub(crate) const fn has_kind(&self) -> bool {
        self.kind.is_some()
    }

    /// Returns true if the author declares that nothing is changed.
    pub(crate) const fn is_read_only(&self) -> bool {
        matches!(self.kind, Some((EffectKind::Reads, _)))
    }

    /// Returns true if there are no words.
    pub(crate) const fn is_empty(&self) -> bool {
        self.kind.is_none() && self.idempotent.is_none() && self.closed_world.is_none()
    }

    /// Returns the span of `idempotent`: a second call has no further effect.
    pub(crate) const fn idempotent(&self) -> Option<Span> {
        self.idempotent
    }

    pub(crate) const fn is_closed_world(&self) -> bool {
        self.closed_world.is_some()
    }

    /// Returns the span of a word, or `otherwise` if there is none.
    pub(crate) fn span(&self, otherwise: Span) -> Span {
        let kind = self.kind.map(|(_, span)| span);
        kind.or(self.idempotent).or(self.closed_world).unwrap_or(otherwise)
    }

    fn check(&self, at: Span) -> Result<(EffectKind, Span)> {
        let kind = self
            .kind
            .ok_or_else(|| Error::new(at, "say one of `reads`, `adds`, `changes` and `deletes`"))?;
        if let (EffectKind::Reads, Some(word)) = (kind.0, self.idempotent) {
            let message = "what only reads can always be repeated; take `idempotent` away";
            return Err(Error::new(word, message));
        }
        Ok(kind)
    }

    /// Returns an expression of type `Hints`, with all four hints.
    pub(crate) fn hints(&self, at: Span) -> Result<TokenStream> {
        let base = match self.check(at)?.0 {
            EffectKind::Reads => quote!(READS),
            EffectKind::Adds => quote!(ADDS),
            EffectKind::Changes => quote!(CHANGES),
            EffectKind::Deletes => quote!(DELETES),
        };
        let idempotent = self.idempotent.map(|_| quote!(.idempotent()));
        let closed = self.closed_world.map(|_| quote!(.closed_world()));
        Ok(quote!(::candor::hints::Hints::#base #idempotent #closed))
    }
}

fn once(said: &mut Option<Span>, word: &Ident) -> Result<bool> {
    match said.replace(word.span()) {
        None => Ok(true),
        Some(_) => Err(Error::new(word.span(), "said twice")),
    }
}

impl Parse for Words {
    /// Parses words with commas between them, as in `#[effect(…)]`.
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

/// The content of `effects(…)`: the argument that decides, or rows.
pub(crate) enum Table {
    /// `by = action`, or `by = action: Action` if the parameter does not name the type.
    By { argument: Ident, ty: Option<Box<Type>> },
    /// `method == "GET" => reads, …`
    Rows(Vec<Row>),
}

/// One row. Without tests it matches every call.
pub(crate) struct Row {
    tests: Vec<RowTest>,
    words: Words,
    span: Span,
}

/// One test of a row.
struct RowTest {
    /// The argument, as the author names it.
    argument: Ident,
    /// The JSON Pointer inside the argument.
    below: String,
    /// An expression of type `Condition`.
    test: TokenStream,
}

impl Parse for Table {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        // For `peek2`, `==` and `=>` begin with `=`.
        let is_row = input.peek2(Token![==]) || input.peek2(Token![=>]);
        if input.peek(Ident) && input.peek2(Token![=]) && !is_row {
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
                Some(_) => Some(Box::new(input.parse()?)),
                None => None,
            };
            input.parse::<Option<Token![,]>>()?;
            return Ok(Self::By { argument, ty });
        }
        let rows = Punctuated::<Row, Token![,]>::parse_terminated(input)?;
        if rows.is_empty() {
            let message = "an empty table says nothing; write rows, `by = argument`, or `unclassified` instead";
            return Err(Error::new(input.span(), message));
        }
        Ok(Self::Rows(rows.into_iter().collect()))
    }
}

impl Parse for Row {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let condition: Expr = input.parse()?;
        let span = condition.span();
        let mut tests = Vec::new();
        match &condition {
            Expr::Path(path) if path.path.is_ident("otherwise") => {}
            Expr::Path(path) if path.path.get_ident().is_some_and(is_word) => {
                let message = "join the words of a row with `+`: `changes + idempotent`";
                return Err(Error::new(span, message));
            }
            condition => read_tests(condition, &mut tests)?,
        }
        if !input.peek(Token![=>]) {
            return Err(input.error("say what the call does then: `… => reads`"));
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
    /// Returns an expression of type `EffectRow`. `property` returns an argument's name for callers.
    pub(crate) fn write(&self, property: impl Fn(&Ident) -> Result<String>) -> Result<TokenStream> {
        let hints = self.words.hints(self.span)?;
        let write = |RowTest { argument, below, test }: &RowTest| {
            let at = format!("/{}{below}", escaped(&property(argument)?));
            Ok(quote!(#at, #test))
        };
        let tests = self.tests.iter().map(write).collect::<Result<Vec<_>>>()?;
        Ok(match tests.split_first() {
            None => quote!(::candor::hints::EffectRow::otherwise(#hints)),
            Some((first, rest)) => {
                quote!(::candor::hints::EffectRow::when(#first)#(.and(#rest))*.then(#hints))
            }
        })
    }
}

fn is_word(word: &Ident) -> bool {
    Words::default().take(word).is_ok_and(|taken| taken)
}

fn read_tests(condition: &Expr, tests: &mut Vec<RowTest>) -> Result<()> {
    match condition {
        Expr::Paren(inner) => read_tests(&inner.expr, tests),
        Expr::Binary(both) if matches!(both.op, BinOp::And(_)) => {
            read_tests(&both.left, tests)?;
            read_tests(&both.right, tests)
        }
        Expr::Binary(same) if matches!(same.op, BinOp::Eq(_)) => {
            let value = value(&same.right);
            tests.push(asked(&same.left, &quote!(equals(#value)))?);
            Ok(())
        }
        Expr::MethodCall(call) => {
            let arguments = &call.args;
            let number = arguments.first().map(number);
            let test = match (call.method.to_string().as_str(), arguments.len()) {
                ("one_of", 1..) => {
                    let values = arguments.iter().map(value);
                    quote!(OneOf(::std::vec::Vec::from([#(#values),*])))
                }
                ("below", 1) => quote!(Below(::std::convert::From::from(#arguments))),
                ("glob", 1) => quote!(Glob(::std::convert::From::from(#arguments))),
                ("at_least", 1) => {
                    quote!(Range(::core::option::Option::Some(#number), ::core::option::Option::None))
                }
                ("at_most", 1) => {
                    quote!(Range(::core::option::Option::None, ::core::option::Option::Some(#number)))
                }
                ("is_present", 0) => quote!(Present),
                ("is_absent", 0) => quote!(Absent),
                _ => {
                    let message = "write one of: `x.one_of(\"a\", \"b\")`, `x.below(\"/public\")`, `x.glob(\"/repos/*/*\")`, `x.at_least(1)`, `x.at_most(9)`, `x.is_present()`, `x.is_absent()`";
                    return Err(Error::new(call.method.span(), message));
                }
            };
            tests.push(asked(&call.receiver, &test)?);
            Ok(())
        }
        Expr::Binary(either) if matches!(either.op, BinOp::Or(_)) => {
            let message = "write a row for each, or `argument.one_of(…)`";
            Err(Error::new(either.op.span(), message))
        }
        other => Err(Error::new(
            other.span(),
            "write `argument == value`, a test like `argument.one_of(…)` or `argument.at_most(…)`, several with `&&`, or `otherwise`",
        )),
    }
}

fn asked(of: &Expr, test: &TokenStream) -> Result<RowTest> {
    let (argument, below) = place(of)?;
    Ok(RowTest { argument, below, test: quote!(::candor::hints::Condition::#test) })
}

/// Returns `target.path` as an argument and a JSON Pointer inside it.
fn place(expression: &Expr) -> Result<(Ident, String)> {
    match expression {
        Expr::Path(path) => match path.path.get_ident() {
            Some(name) => Ok((name.clone(), String::new())),
            None => Err(Error::new(path.span(), "name an argument")),
        },
        Expr::Field(field) => {
            let (argument, below) = place(&field.base)?;
            let member = match &field.member {
                Member::Named(name) => name.unraw().to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            Ok((argument, format!("{below}/{member}")))
        }
        other => {
            Err(Error::new(other.span(), "name an argument, or a member of one: `target.path`"))
        }
    }
}

/// Returns a value to compare with, as an expression of type `Value`.
fn value(value: &Expr) -> TokenStream {
    quote_spanned!(value.span()=> ::candor::__private::value(&#value))
}

/// Returns a bound, as an expression of type `f64`. A literal becomes one at once: as an integer it might be too large.
fn number(value: &Expr) -> TokenStream {
    match value {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => {
            let value = number(expr);
            quote!(-#value)
        }
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) if literal.suffix().is_empty() => {
            match literal.base10_parse::<f64>() {
                Ok(value) => quote!(#value),
                Err(_) => quote!(#literal),
            }
        }
        other => quote!(::core::primitive::f64::from(#other)),
    }
}

/// Returns a name as a part of a JSON Pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
