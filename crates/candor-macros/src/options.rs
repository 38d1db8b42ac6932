//! What stands in the brackets of `#[tool(…)]`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, LitStr, Result, Token};

/// The options of a tool.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) input_schema: Option<Expr>,
    pub(crate) output_schema: Option<Expr>,
    effects: Option<(Effects, Span)>,
}

/// What a call does to the world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effects {
    ReadOnly,
    Unclassified,
}

impl Options {
    /// What a call does; a tool that does not say so does not compile.
    pub(crate) fn effects(&self, at: Span) -> Result<Effects> {
        let said = self.effects.map(|(effects, _)| effects);
        said.ok_or_else(|| {
            Error::new(
                at,
                "say what a call does: `#[tool(read_only)]` if it changes nothing, \
                 `#[tool(unclassified)]` if callers must expect the worst",
            )
        })
    }

    fn set_effects(&mut self, effects: Effects, word: &Ident) -> Result<()> {
        match self.effects.replace((effects, word.span())) {
            None => Ok(()),
            Some((earlier, _)) if earlier == effects => Err(Error::new(word.span(), "said twice")),
            Some(_) => {
                Err(Error::new(word.span(), "a tool is either `read_only` or `unclassified`"))
            }
        }
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

/// One option: a word, perhaps with a value.
struct Word {
    word: Ident,
    value: Option<Expr>,
}

impl Parse for Word {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let word = input.parse()?;
        let value = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Self { word, value })
    }
}

impl Word {
    fn apply(self, options: &mut Options) -> Result<()> {
        let name = self.word.to_string();
        match (name.as_str(), self.value) {
            ("read_only", None) => options.set_effects(Effects::ReadOnly, &self.word),
            ("unclassified", None) => options.set_effects(Effects::Unclassified, &self.word),
            ("name", Some(value)) => set(&mut options.name, text(value)?, &self.word),
            ("title", Some(value)) => set(&mut options.title, text(value)?, &self.word),
            ("description", Some(value)) => set(&mut options.description, text(value)?, &self.word),
            ("input_schema", Some(value)) => set(&mut options.input_schema, value, &self.word),
            ("output_schema", Some(value)) => set(&mut options.output_schema, value, &self.word),
            ("read_only" | "unclassified", Some(_)) => {
                Err(Error::new(self.word.span(), format!("write `{name}` alone, without a value")))
            }
            ("name" | "title" | "description" | "input_schema" | "output_schema", None) => {
                Err(Error::new(self.word.span(), format!("`{name}` needs a value: `{name} = …`")))
            }
            _ => Err(Error::new(
                self.word.span(),
                format!(
                    "`{name}` is none of: read_only, unclassified, name, title, description, \
                     input_schema, output_schema"
                ),
            )),
        }
    }
}

fn set<T>(place: &mut Option<T>, value: T, word: &Ident) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(word.span(), "said twice")),
    }
}

fn text(value: Expr) -> Result<LitStr> {
    match value {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Ok(text),
        other => Err(Error::new_spanned(other, "write a text in quotes")),
    }
}
