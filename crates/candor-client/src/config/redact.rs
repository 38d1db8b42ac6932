//! Redacts the secrets of servers: what a host prints ends up in logs, chats and bug reports.
//!
//! There are two ways. A server is shown as it is *written*: `${VAR}` for a variable, `…` for what looks like a credential. Texts
//! about it, above all errors, pass a [`Redactor`] that knows the values.

use std::fmt;

use percent_encoding::percent_decode_str;

use super::{Environment, Piece, Target, pieces};

/// The replacement of a secret.
const HIDDEN: &str = "…";

/// Words that mark the name of a variable, header or flag whose value is a secret.
const SECRET: [&str; 9] =
    ["auth", "cookie", "credential", "key", "pass", "pwd", "secret", "signature", "token"];

/// The prefixes of well-known tokens.
const TOKENS: [&str; 10] =
    ["AKIA", "eyJ", "ghp_", "gho_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "npm_"];

/// Kinds of credentials. The kind is shown, the credential is not.
const KINDS: [&str; 4] = ["Bearer ", "Basic ", "Token ", "token "];

/// A shorter value, in bytes, is not redacted: it is not a secret, and is part of too many words.
const SHORTEST: usize = 6;

/// Returns true if the value of a variable, header or flag of this name is usually a secret. The path of a secret file is not a
/// secret.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let place = ["file", "path", "dir"].iter().any(|end| name.ends_with(end));
    !place && SECRET.iter().any(|word| name.contains(word))
}

/// Masks a secret, but shows its variables and its kind: `Bearer ${TOKEN}`.
#[must_use]
pub fn masked(value: &str) -> String {
    let kind = KINDS.iter().find(|kind| value.starts_with(**kind)).copied().unwrap_or_default();
    let mut seen = kind.to_owned();
    for piece in pieces(&value[kind.len()..]) {
        match piece {
            Piece::Variable { name, default: None } => seen.push_str(&format!("${{{name}}}")),
            Piece::Variable { name, default: Some(_) } => {
                seen.push_str(&format!("${{{name}:-{HIDDEN}}}"));
            }
            Piece::Host(word) => seen.push_str(&format!("${{{word}}}")),
            Piece::Text(_) => seen.push_str(HIDDEN),
        }
    }
    seen
}

/// Masks the secrets of a URL: user and password, the values of secret parameters, the fragment.
#[must_use]
pub fn url(text: &str) -> String {
    url_with(text, |_, value| masked(value))
}

/// Replaces the secrets of a URL. `put` receives the name and the value of each; user and password have the name `user`. The
/// fragment is always hidden.
pub fn url_with(text: &str, mut put: impl FnMut(&str, &str) -> String) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", put("user", user)),
        None => authority.to_owned(),
    };
    // The fragment of a console's URL is a token.
    let (path, fragment) = path.split_once('#').map_or((path, ""), |(path, _)| (path, "#…"));
    let Some((path, query)) = path.split_once('?') else {
        return format!("{scheme}{authority}{path}{fragment}");
    };
    let parameters: Vec<_> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) if is_secret(name) => format!("{name}={}", put(name, value)),
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{scheme}{authority}{path}?{}{fragment}", parameters.join("&"))
}

/// Splits an argument in front of the secret in it.
fn parted(arg: &str) -> Option<(&str, &str)> {
    if let Some(token) = KINDS.iter().find_map(|kind| arg.strip_prefix(kind)) {
        return Some(arg.split_at(arg.len() - token.len()));
    }
    if TOKENS.iter().any(|start| arg.starts_with(start)) {
        return Some(("", arg));
    }
    // --token=x, API_KEY=x, or a header in the form of some programs: Authorization: Bearer x
    let at = arg.find(['=', ':'])?;
    // In an address, and in a variable with a default, the text before the colon is not a name.
    if arg[at..].starts_with("://") || arg[..at].contains('$') {
        return None;
    }
    let value = arg[at + 1..].trim_start();
    (is_secret(&arg[..at]) && !value.is_empty()).then(|| arg.split_at(arg.len() - value.len()))
}

/// Returns, for each argument, where its secret begins, or `None` if it has none.
#[must_use]
pub fn secrets_of(args: &[String]) -> Vec<Option<usize>> {
    let mut flag = false;
    args.iter()
        .map(|arg| {
            let value_of_flag = std::mem::take(&mut flag) && !arg.starts_with('-');
            flag = arg.starts_with('-') && !arg.contains(['=', ':']) && is_secret(arg);
            match parted(arg) {
                Some((seen, _)) => Some(seen.len()),
                None => value_of_flag.then_some(0),
            }
        })
        .collect()
}

/// Masks the secrets of arguments.
#[must_use]
pub fn args(args: &[String]) -> Vec<String> {
    let masked = |(arg, secret): (&String, Option<usize>)| match secret {
        Some(at) => format!("{}{}", &arg[..at], masked(&arg[at..])),
        None if arg.contains("://") => url(arg),
        None => arg.clone(),
    };
    args.iter().zip(secrets_of(args)).map(masked).collect()
}

/// Secret values of a server, each with its replacement.
#[derive(Clone, Default)]
pub struct Redactor(Vec<(String, String)>);

/// Shows the replacements only.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, seen)| seen)).finish()
    }
}

impl Redactor {
    /// Creates a redactor for the values of variables, and for what looks like a credential. `written` and `filled` are the same
    /// server before and after its variables are filled in.
    #[must_use]
    pub fn new(written: &Target, filled: &Target, environment: &Environment) -> Self {
        let mut redactor = Self::default();
        for text in written.texts() {
            for piece in pieces(text) {
                if let Piece::Variable { name, .. } = piece
                    && let Some(value) = environment.variable(name)
                {
                    redactor.hide(&value, &format!("${{{name}}}"));
                }
            }
        }
        match filled {
            Target::Url { url, headers } => {
                headers.iter().for_each(|(_, value)| redactor.hide_credential(value));
                redactor.hide_in_url(url);
            }
            Target::Program { args, env, .. } => {
                for (arg, secret) in args.iter().zip(secrets_of(args)) {
                    secret.inspect(|at| redactor.hide_credential(&arg[*at..]));
                }
                let secret = env.iter().filter(|(name, _)| is_secret(name));
                secret.for_each(|(_, value)| redactor.hide_credential(value));
                // An address has its credentials in it, whatever the name of its flag or variable.
                let values = args.iter().chain(env.iter().map(|(_, value)| value));
                values.for_each(|value| redactor.hide_in_url(value));
            }
        }
        redactor
    }

    /// Hides the credentials of the URL in a text: in this URL, in another one with the same user, and alone.
    fn hide_in_url(&mut self, text: &str) {
        let Some(at) = text.find("://") else { return };
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
        let whole = &text[text[..at].trim_end_matches(is_scheme).len()..];
        self.hide(whole, &url(whole));
        url_with(whole, |name, value| {
            if name == "user" {
                self.hide(&format!("://{value}@"), &format!("://{HIDDEN}@"));
                match value.split_once(':') {
                    Some((_, password)) => self.hide_encoded(password),
                    // Some services take a token as the user. A real name must stay readable.
                    None if TOKENS.iter().any(|start| value.starts_with(start)) => {
                        self.hide_encoded(value);
                    }
                    None => {}
                }
            } else {
                self.hide_encoded(value);
            }
            String::new()
        });
        let fragment = whole.split_once('#').map_or("", |(_, fragment)| fragment);
        let parameters = fragment.split('&').filter_map(|parameter| parameter.split_once('='));
        let secret = parameters.filter(|(name, _)| is_secret(name));
        secret.for_each(|(_, value)| self.hide_encoded(value));
    }

    /// Hides a credential as it is in a URL, and decoded.
    fn hide_encoded(&mut self, value: &str) {
        self.hide_credential(value);
        self.hide_credential(&percent_decode_str(value).decode_utf8_lossy());
    }

    fn hide_credential(&mut self, value: &str) {
        let token = KINDS.iter().find_map(|kind| value.strip_prefix(kind)).unwrap_or(value);
        self.hide(token, HIDDEN);
    }

    fn hide(&mut self, value: &str, seen: &str) {
        if value.len() < SHORTEST || value == seen || self.0.iter().any(|(known, _)| known == value)
        {
            return;
        }
        self.0.push((value.to_owned(), seen.to_owned()));
        // The longest value first: a secret may contain another one.
        self.0.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    }

    /// Returns the text without the secrets.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (value, seen)| text.replace(value, seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_shown_without_credentials() {
        for (given, seen) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://ann:s3cret@a.example:1/mcp", "https://…@a.example:1/mcp"),
            (
                "https://a.example/?api_key=s3cret&x=1&Token=${T}",
                "https://a.example/?api_key=…&x=1&Token=${T}",
            ),
            ("http://a.example/#token=s3cret", "http://a.example/#…"),
            ("http://a@b@c", "http://…@c"),
        ] {
            assert_eq!(url(given), seen);
        }
    }

    #[test]
    fn errors_hide_expanded_variables_and_header_values() {
        let set = [("KEY", "s3cret-k3y"), ("SHORT", "1")];
        let environment = Environment::new("").variables(set);
        let headers = |value: &str| vec![("Authorization".to_owned(), value.to_owned())];
        let written = Target::Url {
            url: "https://a.example/${KEY}?v=${SHORT}".to_owned(),
            headers: headers("Bearer l1teral"),
        };
        let filled = Target::Url {
            url: "https://a.example/s3cret-k3y?v=1".to_owned(),
            headers: headers("Bearer l1teral"),
        };
        let redactor = Redactor::new(&written, &filled, &environment);
        assert_eq!(
            redactor.redact("cannot reach https://a.example/s3cret-k3y?v=1: 1 l1teral"),
            "cannot reach https://a.example/${KEY}?v=1: 1 …"
        );
    }

    #[test]
    fn errors_show_no_credentials_of_urls_in_arguments_and_variables() {
        let program = |args: &[&str]| Target::Program {
            program: "server".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![("DATABASE_URL".to_owned(), "postgres://bob:passw0rd@db/x".to_owned())],
            cwd: None,
        };
        let target = program(&[
            "--url=https://u:pw@a.example/mcp?api_key=k1",
            "https://ann:s3cret%21@b.example/#token=l4unch",
            "--auth-url=https://carl:hunter22@c.example",
            "git+ssh://git@d.example",
        ]);
        let redactor = Redactor::new(&target, &target, &Environment::new(""));
        for (text, seen) in [
            (
                "GET https://u:pw@a.example/mcp?api_key=k1: refused",
                "GET https://…@a.example/mcp?api_key=…: refused",
            ),
            ("https://u:pw@a.example/other", "https://…@a.example/other"),
            ("no user ann with s3cret%21 or s3cret!", "no user ann with … or …"),
            ("the token is l4unch", "the token is …"),
            ("https://carl:hunter22@c.example/login, hunter22", "…/login, …"),
            ("postgres://bob:passw0rd@db/y for bob", "postgres://…@db/y for bob"),
            ("no git at d.example", "no git at d.example"),
        ] {
            assert_eq!(redactor.redact(text), seen);
        }
    }
}
