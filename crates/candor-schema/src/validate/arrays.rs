//! Arrays: the number of items, their schemas, and whether they differ.

use serde_json::Value;

use super::Validator;
use super::compile::Compiler;
use super::draft::Draft;
use super::failure::{Faults, Path, Spot};
use super::node::{NodeId, Rest};
use super::options::all_differ;
use super::run::Run;
use super::shape::Shape;

/// What a schema requires of arrays.
pub(super) struct Arrays {
    min_items: Option<u64>,
    max_items: Option<u64>,
    unique: bool,
    /// Schemas for the first items, one by one.
    pub(super) first: Box<[NodeId]>,
    /// The schema for all items after them.
    pub(super) rest: Rest,
    /// Up to 2019-09, the keyword that forbids the rest is `additionalItems`.
    legacy: bool,
    pub(super) contains: Option<Box<Contains>>,
}

/// How many items must match a schema.
pub(super) struct Contains {
    pub(super) node: NodeId,
    least: u64,
    most: Option<u64>,
    /// Since 2020-12, matching items are evaluated.
    pub(super) evaluates: bool,
}

impl Arrays {
    /// Compiles the keywords for arrays. Returns `None` if they require nothing.
    pub(super) fn compile(
        shape: &Shape<'_>,
        compiler: &Compiler<'_>,
    ) -> Result<Option<Self>, String> {
        let min_items = shape.count("minItems")?.filter(|limit| *limit > 0);
        let max_items = shape.count("maxItems")?;
        let legacy = shape.draft < Draft::Twenty;
        let (mut first, mut rest) = (Box::default(), Rest::Unsaid);
        match shape.get("items") {
            Some(Value::Array(_)) if legacy => {
                first = compiler.listed(shape.list("items")?)?;
                rest = compiler.rest(shape.get("additionalItems"))?;
            }
            items => rest = if items.is_some() { compiler.rest(items)? } else { rest },
        }
        if !legacy {
            first = compiler.listed(shape.list("prefixItems")?)?;
        }
        let mut contains = None;
        if let Some(schema) = shape.since(Draft::Six, "contains") {
            let counted = shape.draft >= Draft::Nineteen;
            contains = Some(Box::new(Contains {
                node: compiler.child(schema)?,
                least: shape.count("minContains")?.filter(|_| counted).unwrap_or(1),
                most: shape.count("maxContains")?.filter(|_| counted),
                evaluates: !legacy,
            }));
        } else if shape.draft >= Draft::Nineteen {
            shape.count("minContains")?;
            shape.count("maxContains")?;
        }
        let unique = shape.flag("uniqueItems")?;
        // In old drafts, `additionalItems` beside a single schema means nothing, and each forbidden item is reported.
        let legacy = legacy && !first.is_empty();
        let arrays = Self { min_items, max_items, unique, first, rest, legacy, contains };
        Ok((!arrays.says_nothing()).then_some(arrays))
    }

    fn says_nothing(&self) -> bool {
        self.min_items.is_none()
            && self.max_items.is_none()
            && !self.unique
            && self.first.is_empty()
            && self.rest == Rest::Unsaid
            && self.contains.is_none()
    }

    pub(super) fn lead(&mut self, show: &mut dyn FnMut(&mut NodeId)) {
        self.first.iter_mut().for_each(&mut *show);
        self.rest.lead(show);
        if let Some(contains) = &mut self.contains {
            show(&mut contains.node);
        }
    }

    pub(super) fn fit(&self, validator: &Validator, items: &[Value], run: &mut Run) -> bool {
        let length = items.len() as u64;
        if self.min_items.is_some_and(|limit| length < limit)
            || self.max_items.is_some_and(|limit| length > limit)
        {
            return false;
        }
        run.charge(items.len());
        let behind = items.get(self.first.len()..).unwrap_or_default();
        let each =
            self.first.iter().zip(items).all(|(node, item)| validator.fits(*node, item, run));
        each && match self.rest {
            Rest::Unsaid | Rest::Allowed => true,
            Rest::Forbidden => behind.is_empty(),
            Rest::Schema(node) => behind.iter().all(|item| validator.fits(node, item, run)),
        } && self.contains.as_ref().is_none_or(|contains| contains.fits(validator, items, run))
            && (!self.unique || all_differ(items, run))
    }

    pub(super) fn faults<'v>(
        &self,
        validator: &Validator,
        spot: &Spot<'_, 'v>,
        run: &mut Run,
        out: &mut Faults<'v>,
    ) {
        let Value::Array(items) = spot.value else { return };
        let length = items.len() as u64;
        if self.min_items.is_some_and(|limit| length < limit) {
            out.plain(spot, "minItems");
        }
        if self.max_items.is_some_and(|limit| length > limit) {
            out.plain(spot, "maxItems");
        }
        run.charge(items.len());
        if self.unique && !all_differ(items, run) {
            out.plain(spot, "uniqueItems");
        }
        let behind = self.first.len();
        for (i, (item, node)) in items.iter().zip(&self.first).enumerate() {
            validator.faults(*node, item, &Path::Item(spot.at, i), run, out);
        }
        match self.rest {
            Rest::Forbidden if items.len() > behind => {
                self.say_forbidden(spot, out);
            }
            Rest::Schema(node) => {
                for (i, item) in items.iter().enumerate().skip(behind) {
                    if out.is_full() {
                        break;
                    }
                    validator.faults(node, item, &Path::Item(spot.at, i), run, out);
                }
            }
            _ => {}
        }
        if let Some(contains) = &self.contains
            && !contains.fits(validator, items, run)
        {
            out.plain(spot, "contains");
        }
    }

    fn say_forbidden<'v>(&self, spot: &Spot<'_, 'v>, out: &mut Faults<'v>) {
        let Value::Array(items) = spot.value else { return };
        if self.legacy {
            out.plain(spot, "additionalItems");
            return;
        }
        for (i, item) in items.iter().enumerate().skip(self.first.len()) {
            if out.is_full() {
                break;
            }
            let at = Path::Item(spot.at, i);
            out.plain(&Spot { node: spot.node, value: item, at: &at }, "false");
        }
    }
}

impl Contains {
    fn fits(&self, validator: &Validator, items: &[Value], run: &mut Run) -> bool {
        let mut found = 0;
        for item in items {
            // Once there are enough, only an upper limit could still matter.
            if found >= self.least && self.most.is_none() {
                break;
            }
            if validator.fits(self.node, item, run) {
                found += 1;
                if self.most.is_some_and(|most| found > most) {
                    return false;
                }
            }
        }
        found >= self.least
    }
}
