//! `#[prompt]` on a function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, ItemFn, LitStr, Result, Token};

use crate::options::{set, text};
use crate::signature::{Function, bare, lenient, named};
use crate::write;

pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> TokenStream {
    let Ok(mut function) = syn::parse2::<ItemFn>(item.clone()) else {
        let error = Error::new_spanned(item, "`#[prompt]` applies to functions").to_compile_error();
        return quote!(#error #item);
    };
    match prompt(options, &mut function) {
        Ok(prompt) => {
            let lenient = lenient();
            quote!(#lenient #function #prompt)
        }
        Err(error) => {
            let error = error.to_compile_error();
            bare(&mut function.sig);
            // A prompt that does nothing, so that the error about the function is the only one. A method cannot have items beside
            // it.
            let stub = function.sig.receiver().is_none();
            let stub = stub.then(|| listed(&function, &quote!({ ::core::unreachable!() })));
            quote!(#error #[allow(unused)] #function #stub)
        }
    }
}

/// Returns what `prompts![…]` finds under the function's name.
fn listed(item: &ItemFn, prompt: &TokenStream) -> TokenStream {
    let body = quote!(fn prompt() -> ::candor::prompt::Prompt #prompt);
    named(item, &quote!(::candor::prompt::PromptFn), &body)
}

fn prompt(options: TokenStream, item: &mut ItemFn) -> Result<TokenStream> {
    let options: PromptOptions = syn::parse2(options)?;
    let function = Function::read(&mut item.sig, &item.attrs)?;
    if function.has_self {
        let message =
            "`#[prompt]` applies to functions, not to methods; take the value as `State<…>`";
        return Err(Error::new_spanned(&item.sig, message));
    }
    if function.takes_all() {
        let message = "name each argument of a prompt: hosts show a field for each";
        return Err(Error::new_spanned(&item.sig.inputs, message));
    }
    Ok(listed(item, &write::prompt(&function, &options)?))
}

/// The options in the brackets.
#[derive(Default)]
pub(crate) struct PromptOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
}

impl Parse for PromptOptions {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        for PromptOption { word, value } in Punctuated::<_, Token![,]>::parse_terminated(input)? {
            let place = match word.to_string().as_str() {
                "name" => &mut options.name,
                "title" => &mut options.title,
                "description" => &mut options.description,
                other => {
                    let message = format!("`{other}` is none of: name, title, description");
                    return Err(Error::new(word.span(), message));
                }
            };
            let Some(value) = value else {
                return Err(Error::new(
                    word.span(),
                    format!("`{word}` needs a value: `{word} = \"…\"`"),
                ));
            };
            set(place, text(value)?, &word)?;
        }
        Ok(options)
    }
}

struct PromptOption {
    word: Ident,
    value: Option<Expr>,
}

impl Parse for PromptOption {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let word = input.parse()?;
        let value = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Self { word, value })
    }
}
