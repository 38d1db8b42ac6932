//! `tools![…]` and `prompts![…]`.
//!
//! A function that is marked has a type of the same name, which makes the tool or the prompt. Without the mark there is no such
//! type, and the compiler would only report that it is missing. So each path is imported under a name that also has a fallback: the
//! type in `__private::unmarked`. A glob imports it, and a type of the path shadows it. For the fallback, the compiler reports our
//! own message at the path.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Path, PathArguments, Result, Token};

/// Returns the tools of functions.
pub(crate) fn tools(paths: TokenStream) -> TokenStream {
    let list = list(paths, "__CandorTool", |ty, at| {
        let tool = quote_spanned!(at=> <#ty as ::candor::tool::ToolFn>::tool());
        quote!(::std::sync::Arc::new(#tool) as ::std::sync::Arc<dyn ::candor::tool::Tool>)
    });
    let list = list.unwrap_or_else(|error| error.to_compile_error());
    quote! {{
        let tools: ::std::vec::Vec<::std::sync::Arc<dyn ::candor::tool::Tool>> = #list;
        tools
    }}
}

/// Returns the prompts of functions.
pub(crate) fn prompts(paths: TokenStream) -> TokenStream {
    let list = list(
        paths,
        "__CandorPrompt",
        |ty, at| quote_spanned!(at=> <#ty as ::candor::prompt::PromptFn>::prompt()),
    );
    let list = list.unwrap_or_else(|error| error.to_compile_error());
    quote! {{
        let prompts: ::std::vec::Vec<::candor::prompt::Prompt> = #list;
        prompts
    }}
}

fn list(
    paths: TokenStream,
    name: &str,
    make: impl Fn(&TokenStream, Span) -> TokenStream,
) -> Result<TokenStream> {
    let paths = Punctuated::<Path, Token![,]>::parse_terminated.parse2(paths)?;
    let made = paths.iter().map(|path| {
        if let Some(segment) = path.segments.iter().find(|s| s.arguments != PathArguments::None) {
            return Err(Error::new_spanned(&segment.arguments, "write the function's path alone"));
        }
        // At the function's name, so that the compiler points there.
        let name_at = path.segments.last().map_or_else(Span::call_site, |last| last.ident.span());
        let at = name_at.resolved_at(Span::call_site());
        let alias = format_ident!("{name}", span = at);
        let made = make(&quote!(#alias), at);
        Ok(quote! {{
            #[allow(unused_imports)]
            use ::candor::__private::unmarked::*;
            #[allow(unused_imports)]
            use #path as #alias;
            #made
        }})
    });
    let made = made.collect::<Result<Vec<_>>>()?;
    Ok(quote!(::std::vec::Vec::from([#(#made),*])))
}
