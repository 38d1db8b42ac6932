//! A SQLite database as a tree: the trait is not only for files.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use candor::prelude::*;
use candor::resource::{Contents, Listing, Offers, Page, Resources};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::{Map, Value};

/// How many rows a read of a table returns. Its list of children has all of them.
const READ_ALONG: usize = 20;

const MADE_UP: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
    INSERT INTO customers (name, city) VALUES ('Ada', 'London'), ('Grace', 'New York'), ('Edsger', 'Nuenen');
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers, cents INTEGER NOT NULL);
    INSERT INTO orders (customer, cents) VALUES (1, 1999), (1, 4500), (3, 250);
";

#[derive(Clone)]
pub(crate) struct Database(Arc<Mutex<Connection>>);

/// What a URI names: `db:///`, `db:///customers`, `db:///customers/7`.
enum Place {
    Database,
    Table(String),
    Row(String, i64),
}

impl Place {
    fn of(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix("db:///")?;
        match path.split_once('/') {
            None if path.is_empty() => Some(Self::Database),
            None => Some(Self::Table(path.to_owned())),
            Some((table, row)) => Some(Self::Row(table.to_owned(), row.parse().ok()?)),
        }
    }
}

impl Database {
    pub(crate) fn open(path: Option<&Path>) -> candor::Result<Self> {
        let opened = match path {
            Some(path) => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY),
            None => Connection::open_in_memory().and_then(|made_up| {
                made_up.execute_batch(MADE_UP)?;
                Ok(made_up)
            }),
        };
        Ok(Self(Arc::new(Mutex::new(opened.map_err(candor::Error::new)?))))
    }

    /// Runs a query on a thread for blocking work, because SQLite blocks.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, ToolError> {
        let Self(connection) = self.clone();
        let answer = tokio::task::spawn_blocking(move || {
            ask(&connection.lock().unwrap_or_else(PoisonError::into_inner))
        });
        Ok(answer.await??)
    }
}

impl Resources for Database {
    fn prefix(&self) -> &str {
        "db:"
    }

    fn offers(&self) -> Offers {
        Offers { children: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        let Some(place) = Place::of(uri) else {
            return Ok(None);
        };
        self.ask(move |db| match place {
            Place::Database => Ok(Some(whole())),
            Place::Table(table) => describe_table(db, &table),
            Place::Row(table, id) => {
                let there = has_table(db, &table)? && row(db, &table, id)?.is_some();
                Ok(there.then(|| describe_row(&table, id)))
            }
        })
        .await
    }

    async fn list(&self, _: Page<'_>, _: &Principal) -> Result<Listing, ToolError> {
        Ok(Listing::whole(vec![whole()]))
    }

    async fn children(
        &self,
        uri: &str,
        page: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        // Pages continue after the last id instead of skipping a number of rows, so rows that are added meanwhile shift nothing.
        let (after, limit) = (page.after.map(str::to_owned), page.limit);
        match Place::of(uri) {
            Some(Place::Database) => {
                let page = |tables| Listing::paged(tables, Page { after: after.as_deref(), limit });
                Ok(Some(page(self.ask(tables).await?)))
            }
            Some(Place::Table(table)) => {
                let after = after.and_then(|after| after.parse().ok()).unwrap_or(i64::MIN);
                let mut ids = self.ask(move |db| ids(db, &table, after, limit + 1)).await?;
                let more = ids.1.len() > limit;
                ids.1.truncate(limit);
                let next = ids.1.last().filter(|_| more).map(ToString::to_string);
                let rows = ids.1.iter().map(|id| describe_row(&ids.0, *id)).collect();
                Ok(Some(Listing { resources: rows, next }))
            }
            _ => Ok(None),
        }
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        match Place::of(uri) {
            None => Ok(None),
            Some(Place::Database) => {
                let schema = self.ask(schema).await?;
                let mut contents = ResourceContents::of_text(uri, "application/sql", schema);
                contents.name = Some("schema".to_owned());
                Ok(Some(contents.into()))
            }
            Some(Place::Row(table, id)) => Ok(self
                .ask(move |db| row(db, &table, id))
                .await?
                .map(|row| Value::Object(row).into())),
            // A read of a table returns its first rows, each as a resource of its own.
            Some(Place::Table(table)) => {
                let rows = self.ask(move |db| {
                    let (table, ids) = ids(db, &table, i64::MIN, READ_ALONG)?;
                    ids.into_iter()
                        .map(|id| Ok((describe_row(&table, id), row(db, &table, id)?)))
                        .collect()
                });
                let rows: Vec<(Resource, Option<Map<String, Value>>)> = rows.await?;
                let read = |(resource, row): (Resource, Option<Map<String, Value>>)| {
                    let text = Value::Object(row?).to_string();
                    Some(ResourceContents::of_text(resource.uri, "application/json", text))
                };
                Ok(Some(rows.into_iter().filter_map(read).collect::<Vec<_>>().into()))
            }
        }
    }
}

fn whole() -> Resource {
    Resource::new("db:///", "database").of_type("application/sql").listable()
}

fn describe_row(table: &str, id: i64) -> Resource {
    Resource::new(format!("db:///{table}/{id}"), format!("{table} {id}"))
        .of_type("application/json")
        .definite()
}

fn describe_table(db: &Connection, table: &str) -> rusqlite::Result<Option<Resource>> {
    if !has_table(db, table)? {
        return Ok(None);
    }
    let columns = db
        .prepare("SELECT name FROM pragma_table_info(?1)")?
        .query_map([table], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    let about = format!("Rows with {}", columns.join(", "));
    Ok(Some(Resource::new(format!("db:///{table}"), table).described(about).listable()))
}

/// Tables whose names are words, so that URI and SQL need no quoting, and whose rows have a number.
const TABLES: &str =
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND wr = 0
    AND name NOT LIKE 'sqlite%' AND name NOT GLOB '*[^A-Za-z0-9_]*' ORDER BY name";

fn table_names(db: &Connection) -> rusqlite::Result<Vec<String>> {
    db.prepare(TABLES)?.query_map([], |row| row.get(0))?.collect()
}

fn has_table(db: &Connection, table: &str) -> rusqlite::Result<bool> {
    Ok(table_names(db)?.iter().any(|name| name == table))
}

fn tables(db: &Connection) -> rusqlite::Result<Vec<Resource>> {
    let described = table_names(db)?.into_iter().map(|name| describe_table(db, &name));
    described.filter_map(Result::transpose).collect()
}

fn schema(db: &Connection) -> rusqlite::Result<String> {
    let statements = db
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")?
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(statements.join(";\n"))
}

/// Returns the table's name, and the ids of its rows after this one. An unknown table has none.
fn ids(
    db: &Connection,
    table: &str,
    after: i64,
    limit: usize,
) -> rusqlite::Result<(String, Vec<i64>)> {
    if !has_table(db, table)? {
        return Ok((table.to_owned(), Vec::new()));
    }
    let ids = db
        .prepare(&format!(
            "SELECT rowid FROM \"{table}\" WHERE rowid > ?1 ORDER BY rowid LIMIT ?2"
        ))?
        .query_map((after, i64::try_from(limit).unwrap_or(i64::MAX)), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok((table.to_owned(), ids))
}

fn row(db: &Connection, table: &str, id: i64) -> rusqlite::Result<Option<Map<String, Value>>> {
    if !has_table(db, table)? {
        return Ok(None);
    }
    let mut statement = db.prepare(&format!("SELECT * FROM \"{table}\" WHERE rowid = ?1"))?;
    let mut rows = statement.query([id])?;
    rows.next()?.map(object).transpose()
}

fn object(row: &Row<'_>) -> rusqlite::Result<Map<String, Value>> {
    let names = row.as_ref().column_names();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let value = |i| -> rusqlite::Result<Value> {
        Ok(match row.get_ref(i)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(n) => n.into(),
            ValueRef::Real(n) => n.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
            ValueRef::Blob(bytes) => json!(format!("{} bytes", bytes.len())),
        })
    };
    names.into_iter().enumerate().map(|(i, name)| Ok((name, value(i)?))).collect()
}
