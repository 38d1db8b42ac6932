//! The options beside the effect: `undo`, `instead`, `rate`, `serial`, `preview`, `requires_preview`, `omit`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, ExprPath, Ident, Lit, LitStr, Result, Token};

/// The error for a rate that is written in another way.
const RATE: &str = "write how many calls in which time: `rate = \"10/min\"`; 1 to 1000, per `s`, `min`, `h` or `day`";

/// The sentences that a description can omit, with their names in code.
const SENTENCES: [(&str, &str); 6] = [
    ("preview", "Preview"),
    ("undo", "Undo"),
    ("instead", "Instead"),
    ("retry", "Retry"),
    ("approval", "Approval"),
    ("rate", "Rate"),
];

/// The options, as the author wrote them.
#[derive(Default)]
pub(crate) struct Safeguards {
    pub(crate) undo: Option<(Ident, LitStr)>,
    pub(crate) instead: Option<(Ident, LitStr)>,
    pub(crate) rate: Option<LitStr>,
    pub(crate) serial: Option<(Ident, LitStr)>,
    pub(crate) preview: Option<(Ident, Expr)>,
    pub(crate) requires_preview: Option<Ident>,
    pub(crate) omit: Option<Punctuated<Ident, Token![,]>>,
}

/// What shows the effects of a call.
pub(crate) enum Preview<'a> {
    /// A function.
    By(&'a ExprPath),
    /// A tool of this name.
    Named(&'a LitStr),
}

impl Safeguards {
    /// Returns what shows the effects of a call, if there is a preview.
    pub(crate) fn preview(&self) -> Result<Option<Preview<'_>>> {
        match &self.preview {
            None => Ok(None),
            Some((_, Expr::Path(function))) => Ok(Some(Preview::By(function))),
            Some((_, Expr::Lit(ExprLit { lit: Lit::Str(tool), .. }))) => {
                Ok(Some(Preview::Named(tool)))
            }
            Some((_, other)) => Err(Error::new_spanned(
                other,
                "name a function with the same parameters, `preview = plan_it`, or a tool, `preview = \"plan_it\"`",
            )),
        }
    }

    /// Returns an expression of type `Safeguards`. `made` is the preview, if a function makes it.
    pub(crate) fn write(&self, read_only: bool, made: Option<&TokenStream>) -> Result<TokenStream> {
        let first = |pair: &Option<(Ident, LitStr)>| pair.as_ref().map(|(word, _)| word.clone());
        let preview = self.preview.as_ref().map(|(word, _)| word.clone());
        let about_changes = [first(&self.undo), first(&self.instead), first(&self.serial), preview];
        if let (true, Some(word)) = (read_only, about_changes.into_iter().flatten().next()) {
            let message = format!("what only reads changes nothing; take `{word}` away");
            return Err(Error::new(word.span(), message));
        }
        if let (Some(word), None) = (&self.requires_preview, &self.preview) {
            let message =
                "say what shows the effects of a call: `preview = function, requires_preview`";
            return Err(Error::new(word.span(), message));
        }
        let undo = self.undo.iter().map(|(_, tool)| quote!(.undo(#tool)));
        let instead = self.instead.iter().map(|(_, tool)| quote!(.instead(#tool)));
        let serial = self.serial.iter().map(|(_, group)| quote!(.serial(#group)));
        let rate = self.rate.as_ref().map(rate).transpose()?;
        let preview = match (self.preview()?, made) {
            (Some(Preview::Named(tool)), _) => Some(quote!(.previewed_by(#tool))),
            (_, Some(made)) => Some(quote!(.preview(::std::sync::Arc::new(#made)))),
            (_, None) => None,
        };
        let required = self.requires_preview.as_ref().map(|_| quote!(.requires_preview()));
        let omit = self.omit.as_ref().map(omit).transpose()?;
        Ok(quote! {
            ::candor::tool::Safeguards::new() #(#undo)* #(#instead)* #(#serial)* #rate #preview #required #omit
        })
    }
}

fn rate(text: &LitStr) -> Result<TokenStream> {
    let refuse = || Error::new(text.span(), RATE);
    let value = text.value();
    let (calls, unit) = value.split_once('/').ok_or_else(refuse)?;
    let calls: u32 = calls.trim().parse().map_err(|_| refuse())?;
    let per = match unit.trim() {
        _ if !(1..=1000).contains(&calls) => return Err(refuse()),
        "s" => quote!(per_second),
        "min" => quote!(per_minute),
        "h" => quote!(per_hour),
        "day" => quote!(per_day),
        _ => return Err(refuse()),
    };
    Ok(quote!(.rate(::candor::tool::RateLimit::#per(#calls))))
}

fn omit(words: &Punctuated<Ident, Token![,]>) -> Result<TokenStream> {
    if words.is_empty() {
        return Ok(quote!(.omit(::candor::tool::Sentence::ALL)));
    }
    let sentence = |word: &Ident| {
        let known = SENTENCES.iter().find(|(name, _)| word == name);
        let (_, variant) = known.ok_or_else(|| {
            let names = SENTENCES.map(|(name, _)| name).join(", ");
            Error::new(word.span(), format!("`{word}` is none of the sentences: {names}"))
        })?;
        let variant = Ident::new(variant, word.span());
        Ok(quote!(::candor::tool::Sentence::#variant))
    };
    let sentences = words.iter().map(sentence).collect::<Result<Vec<_>>>()?;
    Ok(quote!(.omit([#(#sentences),*])))
}
