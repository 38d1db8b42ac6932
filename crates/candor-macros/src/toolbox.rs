//! `#[toolbox]` on an `impl`: its methods share a value.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, ImplItem, ImplItemFn, ItemImpl, Meta, Result};

use crate::options::Options;
use crate::signature::{Function, bare, conditions, lenient};
use crate::write;

pub(crate) fn expand(options: &TokenStream, item: &TokenStream) -> TokenStream {
    let mut item: ItemImpl = match syn::parse2(item.clone()) {
        Ok(item) => item,
        Err(_) => {
            let message = "`#[toolbox]` applies to an `impl`. On a function, use `#[tool]`.";
            let error = Error::new_spanned(item, message).to_compile_error();
            return quote!(#error #item);
        }
    };
    match toolbox(options, &mut item) {
        Ok(tools) => boxed(&item, &tools),
        Err(error) => {
            let error = error.to_compile_error();
            undone(&mut item);
            // A box without tools, so that the error about the `impl` is the only one.
            let stub = boxed(&item, &[]);
            quote!(#error #stub)
        }
    }
}

/// Returns the statements that make the tools. Removes the attributes that only this crate knows.
fn toolbox(options: &TokenStream, item: &mut ItemImpl) -> Result<Vec<TokenStream>> {
    if !options.is_empty() {
        return Err(Error::new_spanned(options, "`#[toolbox]` takes no options; its tools do"));
    }
    if let Some((path, _)) = &item.trait_ {
        let message = "`#[toolbox]` applies to an `impl` of the type, not of a trait";
        return Err(Error::new_spanned(path, message));
    }
    let mut tools = Vec::new();
    let mut errors: Option<Error> = None;
    for member in &mut item.items {
        let ImplItem::Fn(method) = member else { continue };
        match tool(method) {
            Ok(tool) => tools.extend(tool),
            Err(error) => match &mut errors {
                None => errors = Some(error),
                Some(errors) => errors.combine(error),
            },
        }
    }
    match errors {
        Some(errors) => Err(errors),
        None if tools.is_empty() => {
            Err(Error::new_spanned(&item.self_ty, "no method here is marked `#[tool(…)]`"))
        }
        None => Ok(tools),
    }
}

/// Returns the statement that makes a tool from a method, if the method is marked.
fn tool(method: &mut ImplItemFn) -> Result<Option<TokenStream>> {
    let Some(at) = method.attrs.iter().position(is_tool) else { return Ok(None) };
    let options: Options = match &method.attrs.remove(at).meta {
        Meta::List(list) => list.parse_args()?,
        _ => Options::default(),
    };
    let function = Function::read(&mut method.sig, &method.attrs)?;
    if !function.has_self {
        let message =
            "a tool of a `#[toolbox]` takes `&self`; make it a function of its own otherwise";
        return Err(Error::new_spanned(&method.sig, message));
    }
    let (shared, name) = (shared(), &method.sig.ident);
    let tool = write::tool(&function, &options, &quote!(#shared.#name), Some(&shared))?;
    let conditions = conditions(&method.attrs);
    method.attrs.push(lenient());
    Ok(Some(quote! {
        #conditions
        {
            let #shared = ::std::clone::Clone::clone(this);
            tools.push(::std::sync::Arc::new(#tool));
        }
    }))
}

fn shared() -> Ident {
    format_ident!("__this")
}

/// Returns true for `#[tool]` and `#[candor::tool]`.
fn is_tool(attribute: &syn::Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "tool")
}

fn boxed(item: &ItemImpl, tools: &[TokenStream]) -> TokenStream {
    if item.trait_.is_some() {
        return item.to_token_stream();
    }
    let (ty, (generics, _, bounds)) = (&item.self_ty, item.generics.split_for_impl());
    let conditions = conditions(&item.attrs);
    quote! {
        #item

        #conditions
        impl #generics ::candor::tool::ToolBox for #ty #bounds {
            fn tools_of(this: &::std::sync::Arc<Self>) -> ::std::vec::Vec<::std::sync::Arc<dyn ::candor::tool::Tool>> {
                #[allow(unused_mut)]
                let mut tools: ::std::vec::Vec<::std::sync::Arc<dyn ::candor::tool::Tool>> = ::std::vec::Vec::new();
                let _ = this;
                #(#tools)*
                tools
            }
        }
    }
}

/// Removes from the `impl` what only this crate knows.
fn undone(item: &mut ItemImpl) {
    for member in &mut item.items {
        if let ImplItem::Fn(method) = member {
            method.attrs.retain(|attribute| !is_tool(attribute));
            bare(&mut method.sig);
        }
    }
}
