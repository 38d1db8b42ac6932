//! The options in the brackets of `#[tool(…)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, Ident, LitStr, Result, Token};

use crate::effects::{Table, WORDS, Words, escaped};
use crate::safeguards::Safeguards;
use crate::signature::Function;

/// The error for keys that are declared in another way.
const IDEMPOTENCY: &str = "write `idempotency = argument` (a key may be sent as an argument), `idempotency = required` (it must \
                           be), or `idempotency = key(order_id)` (it is made of the arguments)";

/// The options of a tool.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) input_schema: Option<Expr>,
    pub(crate) output_schema: Option<OutputSchema>,
    words: Words,
    unclassified: Option<Ident>,
    table: Option<Table>,
    function: Option<Expr>,
    at_most: Option<Words>,
    blocking: Option<Ident>,
    ask: Option<Expr>,
    idempotency: Option<Expr>,
    recorded: Option<Punctuated<Ident, Token![,]>>,
    pub(crate) safeguards: Safeguards,
}

/// The output schema, if it is not that of the type.
pub(crate) enum OutputSchema {
    /// The author's own.
    Given(Expr),
    /// None is published, whatever the type.
    None,
}

/// How the server recognizes a retry.
pub(crate) struct Idempotency {
    /// An expression of type `Idempotency`.
    pub(crate) declared: TokenStream,
    /// The expression that makes a key from the arguments.
    pub(crate) key: Option<Expr>,
}

/// What a call does, and how that is evaluated.
pub(crate) enum Effects {
    /// An expression of type `Effects`.
    Known(TokenStream),
    /// An expression of type `Effects`, the function that evaluates each call, and what applies to all its results.
    Asked { effects: TokenStream, function: Expr, always: Option<TokenStream> },
}

impl Options {
    /// Returns what a call does. A tool without a declaration does not compile.
    pub(crate) fn effects(&self, function: &Function) -> Result<Effects> {
        let at = function.name.span();
        let ways = [
            self.unclassified.is_some(),
            self.table.is_some(),
            self.function.is_some(),
            self.words.has_kind(),
        ];
        match ways.iter().filter(|way| **way).count() {
            0 => {
                return Err(Error::new(
                    at,
                    "say what a call does: `#[tool(reads)]` if it changes nothing, \
                     `#[tool(adds)]` if it only adds, `#[tool(changes)]` or `#[tool(deletes)]` if it does more, \
                     `#[tool(effects(…))]` if the arguments decide, \
                     `#[tool(unclassified)]` if callers must expect the worst",
                ));
            }
            1 => {}
            _ => {
                let at = self.unclassified.as_ref().map_or(at, Ident::span);
                let message = "say it in one way: in words, with `effects`, or not at all with `unclassified`";
                return Err(Error::new(at, message));
            }
        }
        if let Some(words) = self.at_most.as_ref().filter(|_| self.function.is_none()) {
            let message =
                "`at_most(…)` belongs to `effects = function`; nothing else needs a bound";
            return Err(Error::new(words.span(at), message));
        }
        if let Some(word) = &self.unclassified {
            if !self.words.is_empty() {
                return Err(Error::new(
                    word.span(),
                    "`unclassified` says nothing; take the other words away",
                ));
            }
            return Ok(Effects::Known(quote!(::candor::tool::Effects::Unclassified)));
        }
        if let (false, Some(word)) = (self.words.has_kind(), self.words.idempotent()) {
            let message = match &self.table {
                Some(Table::By { .. }) => {
                    "`idempotent` belongs to the variants: `#[effect(changes, idempotent)]`"
                }
                Some(Table::Rows(_)) => {
                    "`idempotent` belongs to the rows: `… => changes + idempotent`"
                }
                None => "`idempotent` belongs to the bound: `at_most(changes, idempotent)`",
            };
            return Err(Error::new(word, message));
        }
        match (&self.table, &self.function) {
            (Some(table), _) => self.by_table(table, function).map(Effects::Known),
            (None, Some(asked)) => {
                let at_most = self.at_most.as_ref().ok_or_else(|| {
                    let message = "say what it is at most, beside it: `effects = …, at_most(deletes)`; nothing riskier is believed";
                    Error::new_spanned(asked, message)
                })?;
                let hints = at_most.hints(asked.span())?;
                let always = self.words.is_closed_world().then(|| quote!(.closed_world()));
                let effects = quote!(::candor::tool::Effects::Function(#hints #always));
                Ok(Effects::Asked { effects, function: asked.clone(), always })
            }
            (None, None) => {
                let hints = self.words.hints(at)?;
                Ok(Effects::Known(quote!(::candor::tool::Effects::Fixed(#hints.declared()))))
            }
        }
    }

    /// Returns which of its calls need approval, at least.
    pub(crate) fn ask(&self) -> Result<TokenStream> {
        let Some(asked) = &self.ask else { return Ok(quote!(::candor::AskLevel::Never)) };
        if let Expr::Path(path) = asked {
            for (word, level) in [
                ("never", quote!(Never)),
                ("destructive", quote!(Destructive)),
                ("writes", quote!(Writes)),
                ("always", quote!(Always)),
            ] {
                if path.path.is_ident(word) {
                    return Ok(quote!(::candor::AskLevel::#level));
                }
            }
        }
        let message = "write `ask = always`, `ask = writes` or `ask = destructive`: the calls that need approval";
        Err(Error::new_spanned(asked, message))
    }

    /// Returns true if the function blocks its thread, and so needs one of its own.
    pub(crate) fn is_blocking(&self, function: &Function) -> Result<bool> {
        match &self.blocking {
            Some(word) if function.is_async => {
                let message = "an async function gives its thread back while it waits; `blocking` is for plain functions";
                Err(Error::new(word.span(), message))
            }
            word => Ok(word.is_some()),
        }
    }

    /// Returns true if the author declares that no call changes anything.
    pub(crate) const fn is_read_only(&self) -> bool {
        self.words.is_read_only()
    }

    /// Returns how the server recognizes a retry.
    pub(crate) fn idempotency(&self) -> Result<Idempotency> {
        let refuse = |at: &Expr| Error::new_spanned(at, IDEMPOTENCY);
        let known =
            |word| Idempotency { declared: quote!(::candor::tool::Idempotency::#word), key: None };
        Ok(match &self.idempotency {
            None => known(quote!(Beside)),
            Some(Expr::Path(path)) if path.path.is_ident("argument") => known(quote!(Argument)),
            Some(Expr::Path(path)) if path.path.is_ident("required") => known(quote!(Required)),
            Some(call @ Expr::Call(syn::ExprCall { func, args, .. })) => {
                match (&**func, args.first()) {
                    (Expr::Path(path), Some(key))
                        if path.path.is_ident("key") && args.len() == 1 =>
                    {
                        Idempotency { key: Some(key.clone()), ..known(quote!(Derived)) }
                    }
                    _ => return Err(refuse(call)),
                }
            }
            Some(other) => return Err(refuse(other)),
        })
    }

    /// Returns the arguments whose values the history may show.
    pub(crate) fn recorded(&self, function: &Function) -> Result<Vec<String>> {
        let names = self.recorded.iter().flatten();
        names.map(|argument| self.property(argument, function)).collect()
    }

    fn by_table(&self, table: &Table, function: &Function) -> Result<TokenStream> {
        let property = |argument: &Ident| self.property(argument, function);
        let table = match table {
            Table::Rows(rows) => {
                let rows = rows.iter().map(|row| row.write(property));
                let rows = rows.collect::<Result<Vec<_>>>()?;
                quote!(::candor::hints::EffectTable::new() #(.row(#rows))*)
            }
            Table::By { argument, ty } => {
                let pointer = format!("/{}", escaped(&property(argument)?));
                let parameter = function.sent().find(|parameter| parameter.name == *argument);
                let ty = match (ty, parameter) {
                    (Some(ty), _) => ty,
                    (None, Some(parameter)) => &parameter.ty,
                    (None, None) => {
                        let message = format!(
                            "`{argument}` is not a parameter; if it is a member of the arguments, name its type: `by = {argument}: …`"
                        );
                        return Err(Error::new(argument.span(), message));
                    }
                };
                quote!(<#ty as ::candor::tool::Variants>::effects(#pointer))
            }
        };
        let closed = self.words.is_closed_world().then(|| quote!(.closed_world()));
        Ok(quote!(::candor::tool::Effects::Table(::std::sync::Arc::new(#table #closed))))
    }

    /// Returns an argument's name for callers: that of the parameter, unless it is renamed, or a member of a struct.
    fn property(&self, argument: &Ident, function: &Function) -> Result<String> {
        let sent: Vec<_> = function.sent().collect();
        if let Some(parameter) = sent.iter().find(|parameter| parameter.name == *argument) {
            return Ok(parameter.property());
        }
        let name = argument.unraw().to_string();
        let may_be_a_member = function.takes_all()
            || self.input_schema.is_some()
            || matches!(&sent[..], [only] if only.may_be_everything())
            || sent.iter().any(|parameter| parameter.marks.is_flat());
        if may_be_a_member || sent.iter().any(|parameter| parameter.property() == name) {
            return Ok(name);
        }
        let names: Vec<_> = sent.iter().map(|p| format!("`{}`", p.name.unraw())).collect();
        let message = match names.is_empty() {
            true => format!("`{name}` is not a parameter: callers send nothing to this tool"),
            false => format!("`{name}` is not a parameter; callers send {}", names.join(", ")),
        };
        Err(Error::new(argument.span(), message))
    }
}

impl Options {
    fn safeguard(&mut self, word: &Ident, text: LitStr) -> Result<()> {
        let declared = &mut self.safeguards;
        let place = match word.to_string().as_str() {
            "undo" => &mut declared.undo,
            "instead" => &mut declared.instead,
            "serial" => &mut declared.serial,
            _ => return set(&mut declared.rate, text, word),
        };
        if text.value().is_empty() {
            return Err(Error::new(text.span(), format!("`{word}` needs a name")));
        }
        set(place, (word.clone(), text), word)
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        for option in Punctuated::<Word, Token![,]>::parse_terminated(input)? {
            option.apply(&mut options)?;
        }
        Ok(options)
    }
}

/// One option: a word, perhaps with a value or with more in brackets.
struct Word {
    word: Ident,
    value: OptionValue,
}

enum OptionValue {
    Nothing,
    Value(Expr),
    Table(Table),
    Words(Words),
    Names(Punctuated<Ident, Token![,]>),
}

impl Parse for Word {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let word: Ident = input.parse()?;
        let value = if input.parse::<Option<Token![=]>>()?.is_some() {
            OptionValue::Value(input.parse()?)
        } else if word == "unsaid" {
            return Err(Error::new(
                word.span(),
                "write `omit`: the option `unsaid` has a new name",
            ));
        } else if input.peek(syn::token::Paren) {
            let inside;
            syn::parenthesized!(inside in input);
            match word.to_string().as_str() {
                "effects" => OptionValue::Table(inside.parse()?),
                "at_most" => OptionValue::Words(inside.parse()?),
                "recorded" | "omit" => OptionValue::Names(Punctuated::parse_terminated(&inside)?),
                "idempotency" => return Err(Error::new(word.span(), IDEMPOTENCY)),
                _ => return Err(Error::new(word.span(), format!("`{word}` takes no brackets"))),
            }
        } else {
            OptionValue::Nothing
        };
        Ok(Self { word, value })
    }
}

impl Word {
    fn apply(self, options: &mut Options) -> Result<()> {
        let word = self.word;
        let name = word.to_string();
        if matches!(self.value, OptionValue::Nothing) && options.words.take(&word)? {
            return Ok(());
        }
        match (name.as_str(), self.value) {
            ("unclassified", OptionValue::Nothing) => {
                set(&mut options.unclassified, word.clone(), &word)
            }
            ("effects", OptionValue::Table(table)) => set(&mut options.table, table, &word),
            ("effects", OptionValue::Value(function)) => {
                set(&mut options.function, function, &word)
            }
            ("at_most", OptionValue::Words(words)) => set(&mut options.at_most, words, &word),
            ("blocking", OptionValue::Nothing) => set(&mut options.blocking, word.clone(), &word),
            ("ask", OptionValue::Value(value)) => set(&mut options.ask, value, &word),
            ("idempotency", OptionValue::Value(value)) => {
                set(&mut options.idempotency, value, &word)
            }
            ("recorded", OptionValue::Names(names)) => set(&mut options.recorded, names, &word),
            ("undo" | "instead" | "serial" | "rate", OptionValue::Value(value)) => {
                options.safeguard(&word, text(value)?)
            }
            ("preview", OptionValue::Value(value)) => {
                set(&mut options.safeguards.preview, (word.clone(), value), &word)
            }
            ("requires_preview", OptionValue::Nothing) => {
                set(&mut options.safeguards.requires_preview, word.clone(), &word)
            }
            ("omit", OptionValue::Names(names)) => set(&mut options.safeguards.omit, names, &word),
            ("omit", OptionValue::Nothing) => {
                set(&mut options.safeguards.omit, Punctuated::new(), &word)
            }
            ("name", OptionValue::Value(value)) => set(&mut options.name, text(value)?, &word),
            ("title", OptionValue::Value(value)) => set(&mut options.title, text(value)?, &word),
            ("description", OptionValue::Value(value)) => {
                set(&mut options.description, text(value)?, &word)
            }
            ("input_schema", OptionValue::Value(value)) if is_none(&value) => {
                Err(Error::new_spanned(
                    value,
                    "every tool has an input schema; take `Arguments` for one that lets any object through",
                ))
            }
            ("input_schema", OptionValue::Value(value)) => {
                set(&mut options.input_schema, value, &word)
            }
            ("output_schema", OptionValue::Value(value)) => {
                let given =
                    if is_none(&value) { OutputSchema::None } else { OutputSchema::Given(value) };
                set(&mut options.output_schema, given, &word)
            }
            (
                "reads" | "adds" | "changes" | "deletes" | "idempotent" | "closed_world"
                | "unclassified" | "blocking" | "requires_preview",
                _,
            ) => Err(Error::new(word.span(), format!("write `{name}` alone, without a value"))),
            ("omit", _) => Err(Error::new(
                word.span(),
                "name the sentences that the description need not have: `omit(retry, undo)`; or `omit` for all",
            )),
            (
                "name" | "title" | "description" | "input_schema" | "output_schema" | "undo"
                | "instead" | "serial" | "rate" | "preview",
                _,
            ) => Err(Error::new(word.span(), format!("`{name}` needs a value: `{name} = …`"))),
            ("effects", _) => Err(Error::new(
                word.span(),
                "write `effects(by = argument)`, rows like `effects(action == \"read\" => reads)`, or `effects = function`",
            )),
            ("idempotency", _) => Err(Error::new(word.span(), IDEMPOTENCY)),
            ("ask", _) => Err(Error::new(
                word.span(),
                "write `ask = always`, `ask = writes` or `ask = destructive`",
            )),
            ("recorded", _) => Err(Error::new(
                word.span(),
                "name the arguments whose values history may show: `recorded(amount, currency)`",
            )),
            ("at_most", _) => {
                Err(Error::new(word.span(), "write what it is at most: `at_most(deletes)`"))
            }
            _ => Err(Error::new(
                word.span(),
                format!(
                    "`{name}` is none of: {WORDS}, unclassified, effects, at_most, idempotency, recorded, ask, undo, instead, rate, \
                     serial, preview, requires_preview, omit, blocking, name, title, description, input_schema, output_schema"
                ),
            )),
        }
    }
}

pub(crate) fn set<T>(place: &mut Option<T>, value: T, word: &Ident) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(word.span(), "said twice")),
    }
}

/// Returns true for the word `none`. It is not a value of that name: constants are written in capitals.
fn is_none(value: &Expr) -> bool {
    matches!(value, Expr::Path(path) if path.path.is_ident("none"))
}

pub(crate) fn text(value: Expr) -> Result<LitStr> {
    match value {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Ok(text),
        other => Err(Error::new_spanned(other, "write a text in quotes")),
    }
}
