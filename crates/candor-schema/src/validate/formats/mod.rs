//! String formats. A known format is checked, because an author who writes it expects that. Others are ignored.
//!
//! | file | formats |
//! |---|---|
//! | `time` | `date`, `time`, `date-time`, `duration`, and those without an offset that schemars names |
//! | `net` | `hostname`, `email`, `ipv4`, `ipv6` |
//! | `idn` | `idn-hostname`, `idn-email`, and the Punycode in a `hostname` |
//! | `uri` | `uri`, `uri-reference`, `iri`, `iri-reference` |
//! | `template` | `uri-template` |
//! | `pointer` | `json-pointer`, `relative-json-pointer`, `uuid` |

mod idn;
mod net;
mod pointer;
mod template;
mod time;
mod uri;

use super::draft::Draft;
use super::patterns::is_pattern;
use super::run::Run;

/// The check of a format.
#[derive(Clone, Copy)]
pub(super) struct Format(fn(&str) -> bool);

impl Format {
    /// Returns the format with a name, if the draft has it.
    pub(super) fn named(name: &str, draft: Draft) -> Option<Self> {
        use Draft::{Four, Nineteen, Seven, Six};
        let (since, check): (Draft, fn(&str) -> bool) = match name {
            "date" => (Four, time::is_date),
            "time" => (Four, time::is_time),
            "date-time" => (Four, time::is_date_time),
            "partial-time" => (Four, time::is_partial_time),
            "partial-date-time" => (Four, time::is_partial_date_time),
            "duration" => (Nineteen, time::is_duration),
            "email" => (Four, net::is_email),
            "idn-email" => (Four, idn::is_email),
            // The old drafts mean RFC 1034, which has no Punycode.
            "hostname" if draft < Seven => (Four, net::is_ascii_hostname),
            "hostname" => (Seven, idn::is_ascii_hostname),
            "idn-hostname" => (Seven, idn::is_hostname),
            "ipv4" => (Four, net::is_ipv4),
            "ipv6" => (Four, net::is_ipv6),
            "uri" => (Four, uri::is_uri),
            "uri-reference" => (Six, uri::is_uri_reference),
            "iri" => (Seven, uri::is_iri),
            "iri-reference" => (Seven, uri::is_iri_reference),
            "uri-template" => (Six, template::is_template),
            "uuid" => (Nineteen, pointer::is_uuid),
            "json-pointer" => (Six, pointer::is_pointer),
            "relative-json-pointer" => (Seven, pointer::is_relative_pointer),
            "regex" => (Four, is_pattern),
            _ => return None,
        };
        (draft >= since).then_some(Self(check))
    }

    pub(super) fn fits(self, text: &str, run: &mut Run) -> bool {
        run.charge(text.len() / 4);
        !run.is_spent() && (self.0)(text)
    }
}
