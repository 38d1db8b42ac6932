//! The project that a console belongs to, at the foot of every page.

use candor_operator::shown::shown;

use crate::html::{Html, html};

/// Maximum length of a URL that a page links to.
const LONGEST_URL: usize = 2048;

/// A project: its name and its link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Project {
    name: String,
    /// `None` if the author set no URL, or one that a page must not link to.
    link: Option<String>,
}

impl Project {
    pub(crate) fn new(name: String, url: Option<&str>) -> Self {
        Self { name, link: url.and_then(safe) }
    }

    pub(crate) fn footer(&self) -> Html {
        let name = shown(&self.name).to_string();
        let project = match &self.link {
            Some(link) => html!("<a href=\"{}\" rel=\"noopener noreferrer\">{}</a>", link, name),
            None => html!("{}", name),
        };
        html!("<footer class=\"project\">{}</footer>\n", project)
    }
}

/// Returns the URL if a page may link to it: `http`, `https`, `mailto`, or a path of this host.
///
/// Browsers drop control characters and leading blanks before they look at the scheme, so this does too.
fn safe(url: &str) -> Option<String> {
    let url: String = url.chars().filter(|c| !c.is_control()).collect();
    let url = url.trim();
    let lower = url.to_ascii_lowercase();
    let is_path = url.starts_with('/') && !url.starts_with("//") && !url.contains('\\');
    let is_known = ["http://", "https://", "mailto:"].iter().any(|known| lower.starts_with(known));
    (url.len() <= LONGEST_URL && (is_path || is_known)).then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_schemes_and_paths_become_links() {
        for url in ["https://a.example/x", "HTTP://a.example", "mailto:a@a.example", "/docs"] {
            assert_eq!(safe(&format!(" {url}\n")).as_deref(), Some(url));
        }
        for url in [
            "javascript:alert(1)",
            "java\tscript:alert(1)",
            " \u{1}JavaScript:alert(1)",
            "data:text/html,x",
            "//a.example",
            "/\\a.example",
            "a.example",
            "",
        ] {
            assert_eq!(safe(url), None, "{url:?}");
        }
    }

    #[test]
    fn footer_escapes_name_and_url() {
        let project = Project::new("<b>".to_owned(), Some("https://a.example/\"onclick=x"));
        let footer = project.footer().into_string();
        assert!(footer.contains("&lt;b&gt;") && !footer.contains("/\"onclick"), "{footer}");
    }
}
