//! The address of the database, from its URL.
//!
//! The URL is libpq's. This module reads `sslmode`, `sslrootcert` and `schema` itself; all other options are the driver's.
//! The password stays in the driver's configuration and is never shown.

use std::borrow::Cow;
use std::time::Duration;

use candor_ledger::StoreError;
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::error::in_full;
use crate::tls::Tls;

/// The timeout for a connection attempt.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);

/// The schema of the tables, unless the URL names another.
const SCHEMA: &str = "candor_ledger";

pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) tls: Tls,
    pub(crate) schema: String,
    /// For users: without user name and password.
    pub(crate) shown: String,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut schema) = (None, None, None);
        let mut theirs = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            if name.contains('@') {
                // This is half a password, and the driver would repeat it.
                return Err(StoreError::BadUrl("a `?` before the host is written `%3F`".into()));
            }
            let ours = match name {
                "sslmode" => &mut mode,
                "sslrootcert" => &mut roots,
                "schema" => &mut schema,
                _ => {
                    theirs.push(option);
                    continue;
                }
            };
            *ours = Some(decoded(value)?);
        }
        let mut config: Config =
            format!("{base}?{}", theirs.join("&")).parse().map_err(|error| {
                // The driver names an unknown option, but never its value.
                StoreError::BadUrl(in_full(&error))
            })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("localhost");
        }

        let roots = roots.as_deref().filter(|roots| *roots != "system");
        let (mode, tls) = match mode.as_deref() {
            Some("disable") => (SslMode::Disable, Tls::unverified()?),
            None | Some("prefer") => (SslMode::Prefer, Tls::unverified()?),
            Some("require") => (SslMode::Require, Tls::unverified()?),
            Some("verify-full") => (SslMode::Require, Tls::verified(roots)?),
            Some(_) => {
                return Err(StoreError::BadUrl(
                    "sslmode is one of disable, prefer, require and verify-full".into(),
                ));
            }
        };
        if roots.is_some() && !tls.is_verified() {
            return Err(StoreError::BadUrl("sslrootcert is for sslmode=verify-full".into()));
        }

        let schema = schema.map_or_else(|| SCHEMA.to_owned(), Cow::into_owned);
        if schema.is_empty()
            || schema.len() > 63
            || !schema
                .bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit())
        {
            return Err(StoreError::BadUrl(
                "a schema's name has up to 63 small letters, digits and underscores".into(),
            ));
        }

        config
            .ssl_mode(mode)
            // After a failover, use the host that can be written to.
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(CONNECT)
            // Detects a connection that a firewall has dropped in about a minute, not in two hours.
            .keepalives_idle(Duration::from_secs(30))
            .keepalives_interval(Duration::from_secs(10))
            .keepalives_retries(3);
        if config.get_application_name().is_none() {
            config.application_name("candor-ledger");
        }
        let shown = shown(&config, &schema);
        Ok(Self { config, tls, schema, shown })
    }
}

fn decoded(value: &str) -> Result<Cow<'_, str>, StoreError> {
    percent_decode_str(value)
        .decode_utf8()
        .map_err(|_| StoreError::BadUrl("an option is not UTF-8".into()))
}

fn shown(config: &Config, schema: &str) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| {
            let ports = config.get_ports();
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        })
        .collect();
    let database = config.get_dbname().unwrap_or("of the user's name");
    format!("PostgreSQL database {database} at {}, schema {schema}", hosts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        Address::parse(url).err().expect("a refusal").to_string()
    }

    #[test]
    fn shown_address_names_the_database_without_the_password() {
        let address =
            Address::parse("postgres://ada:hush@db.example:5433/books?schema=inv").unwrap();
        assert_eq!(address.shown, "PostgreSQL database books at db.example:5433, schema inv");
        assert_eq!(address.config.get_password(), Some(&b"hush"[..]));
        assert_eq!(Address::parse("postgresql://db/books").unwrap().schema, SCHEMA);
    }

    #[test]
    fn invalid_url_is_refused_without_its_password() {
        for url in [
            "postgres://ada:hush@db/books?sslmode=sometimes",
            "postgres://ada:hush@db/books?wombat=1",
            "postgres://ada:hush@db:port/books",
            "postgres://ada:what?hush@db/books",
            "postgres://ada:hush@db/books?schema=Robert%27%29%3B",
            "postgres://ada:hush@db/books?sslrootcert=/ca.pem",
            "postgres://ada:hush@db/books?sslmode=verify-full&sslrootcert=/nowhere/ca.pem",
        ] {
            let refused = refused(url);
            assert!(!refused.contains("hush"), "{refused}");
        }
        assert!(refused("postgres://db/books?wombat=1").contains("wombat"));
        assert!(refused("postgres://db/x?sslmode=verify-ca").contains("verify-full"));
    }

    #[test]
    fn every_tls_mode_is_parsed() {
        for (mode, expected, verified) in [
            ("disable", SslMode::Disable, false),
            ("prefer", SslMode::Prefer, false),
            ("require", SslMode::Require, false),
            ("verify-full", SslMode::Require, true),
        ] {
            let address = Address::parse(&format!("postgres://db/x?sslmode={mode}")).unwrap();
            assert_eq!(address.config.get_ssl_mode(), expected);
            assert_eq!(address.tls.is_verified(), verified);
        }
    }
}
