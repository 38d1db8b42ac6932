//! `#[tool]` on a function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn, Result};

use crate::options::Options;
use crate::signature::{Function, bare, lenient, named};
use crate::write;

pub(crate) fn expand(options: TokenStream, item: &TokenStream) -> TokenStream {
    let mut function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            let message = "`#[tool]` applies to functions. On an `impl`, use `#[toolbox]`.";
            let error = Error::new_spanned(item, message).to_compile_error();
            return quote!(#error #item);
        }
    };
    match tool(options, &mut function) {
        Ok(tool) => {
            let lenient = lenient();
            quote!(#lenient #function #tool)
        }
        Err(error) => {
            let error = error.to_compile_error();
            bare(&mut function.sig);
            let stub = stub(&function);
            quote!(#error #[allow(unused)] #function #stub)
        }
    }
}

/// Returns a tool that does nothing, so that the error about the function is the only one. A method cannot have items beside it.
fn stub(function: &ItemFn) -> Option<TokenStream> {
    let is_method = function.sig.receiver().is_some();
    (!is_method).then(|| listed(function, &quote!({ ::core::unreachable!() })))
}

/// Returns what `tools![…]` finds under the function's name.
fn listed(item: &ItemFn, tool: &TokenStream) -> TokenStream {
    let body = quote!(fn tool() -> ::candor::tool::TypedTool #tool);
    named(item, &quote!(::candor::tool::ToolFn), &body)
}

fn tool(options: TokenStream, item: &mut ItemFn) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let function = Function::read(&mut item.sig, &item.attrs)?;
    if function.has_self {
        let message = "a method becomes a tool with `#[toolbox]` on its `impl`";
        return Err(Error::new_spanned(&item.sig, message));
    }
    let name = &item.sig.ident;
    let tool = write::tool(&function, &options, &quote!(#name), None)?;
    Ok(listed(item, &tool))
}
