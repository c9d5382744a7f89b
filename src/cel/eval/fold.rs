//! Loops: the macros that visit each item of a list or each entry of a map.

use super::{Error, Evaluator, Result, wanted};
use crate::cel::{
    functions,
    program::{Fold, FoldKind},
    value::{Key, List, Map, Val},
};

/// What a loop has found so far.
enum Found<'a> {
    /// `all` and `exists`: nothing decided, and the first error if there was one.
    Undecided(Option<Error>),
    Decided,
    Count(u64),
    Items(Vec<Val<'a>>),
    Entries(Vec<(Key<'a>, Val<'a>)>),
    /// Items, and what they are sorted by.
    Keyed(Vec<Val<'a>>, Vec<Val<'a>>),
}

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Result<Val<'a>> {
        let mut found = match fold.kind {
            FoldKind::All | FoldKind::Exists => Found::Undecided(None),
            FoldKind::ExistsOne => Found::Count(0),
            FoldKind::Filter | FoldKind::List => Found::Items(Vec::new()),
            FoldKind::Map | FoldKind::MapEntry => Found::Entries(Vec::new()),
            FoldKind::SortBy => Found::Keyed(Vec::new(), Vec::new()),
        };
        match self.eval(&fold.range)? {
            Val::List(list) => self.fold_list(fold, &list, &mut found)?,
            Val::Map(map) => self.fold_map(fold, &map, &mut found)?,
            other => return Err(wanted("a list or map to go through", &other).at(fold.range.span)),
        }
        self.finish(fold.kind, found)
    }

    fn fold_list(&mut self, fold: &'a Fold, list: &List<'a>, found: &mut Found<'a>) -> Result<()> {
        for (index, item) in (0..).zip(list.iter()) {
            self.budget.create(list.item_bytes())?;
            self.visit(fold, &Val::Int(index), item, false, found)?;
            if matches!(found, Found::Decided) {
                break;
            }
        }
        Ok(())
    }

    fn fold_map(&mut self, fold: &'a Fold, map: &Map<'a>, found: &mut Found<'a>) -> Result<()> {
        for (key, value) in map.iter() {
            self.visit(fold, &key.into(), value, true, found)?;
            if matches!(found, Found::Decided) {
                break;
            }
        }
        Ok(())
    }

    /// One iteration. With one variable, that is the item of a list but the key of a map.
    fn visit(
        &mut self,
        fold: &'a Fold,
        key: &Val<'a>,
        value: Val<'a>,
        is_map: bool,
        found: &mut Found<'a>,
    ) -> Result<()> {
        self.budget.charge(1)?;
        let element = if is_map { key.clone() } else { value.clone() };
        if fold.two {
            self.set(fold.slot, Ok(key.clone()));
            self.set(fold.slot + 1, Ok(value));
        } else {
            self.set(fold.slot, Ok(element.clone()));
        }
        if let Some(filter) = &fold.filter
            && !self.bool(filter)?
        {
            return Ok(());
        }
        match found {
            Found::Undecided(failure) => match self.bool(&fold.body) {
                Ok(value) if value == (fold.kind == FoldKind::Exists) => *found = Found::Decided,
                Ok(_) => {}
                Err(error) if error.is_budget() => return Err(error),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            },
            Found::Decided => {}
            Found::Count(count) => *count += u64::from(self.bool(&fold.body)?),
            Found::Items(items) if fold.kind == FoldKind::Filter => {
                if self.bool(&fold.body)? {
                    self.budget.create_items(1)?;
                    items.push(element);
                }
            }
            Found::Items(items) => {
                let item = self.eval(&fold.body)?;
                self.budget.create_items(1)?;
                items.push(item);
            }
            Found::Entries(entries) => self.visit_entry(fold, key, entries)?,
            Found::Keyed(items, keys) => {
                let sorted_by = self.eval(&fold.body)?;
                self.budget.create_items(2)?;
                items.push(element);
                keys.push(sorted_by);
            }
        }
        Ok(())
    }

    fn visit_entry(
        &mut self,
        fold: &'a Fold,
        key: &Val<'a>,
        entries: &mut Vec<(Key<'a>, Val<'a>)>,
    ) -> Result<()> {
        let value = self.eval(&fold.body)?;
        self.budget.create_items(1)?;
        if fold.kind == FoldKind::Map {
            let key = Key::from_val(key).ok_or_else(|| wanted("a key", key))?;
            entries.push((key, value));
            return Ok(());
        }
        match value {
            Val::Map(map) => {
                self.budget.create_items(map.len())?;
                entries.extend(map.iter());
                Ok(())
            }
            other => Err(wanted("a map", &other).at(fold.body.span)),
        }
    }

    fn finish(&mut self, kind: FoldKind, found: Found<'a>) -> Result<Val<'a>> {
        match found {
            Found::Undecided(Some(error)) => Err(error),
            Found::Undecided(None) => Ok(Val::Bool(kind == FoldKind::All)),
            Found::Decided => Ok(Val::Bool(kind == FoldKind::Exists)),
            Found::Count(count) => Ok(Val::Bool(count == 1)),
            Found::Items(items) => List::new(items).map(Val::List),
            Found::Entries(entries) => Map::new(entries).map(Val::Map),
            Found::Keyed(items, keys) => {
                let items = functions::sort_by_keys(items, &keys, self.budget)?;
                List::new(items).map(Val::List)
            }
        }
    }
}
