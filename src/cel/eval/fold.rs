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

impl Found<'_> {
    fn new(kind: FoldKind) -> Self {
        match kind {
            FoldKind::All | FoldKind::Exists => Found::Undecided(None),
            FoldKind::ExistsOne => Found::Count(0),
            FoldKind::Filter | FoldKind::List => Found::Items(Vec::new()),
            FoldKind::Map | FoldKind::MapEntry => Found::Entries(Vec::new()),
            FoldKind::SortBy => Found::Keyed(Vec::new(), Vec::new()),
        }
    }

    fn is_decided(&self) -> bool {
        matches!(self, Found::Decided)
    }
}

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Result<Val<'a>> {
        let range = self.eval(&fold.range)?;
        let mut found = Found::new(fold.kind);
        self.go_through(fold, range, &mut found)?;
        self.finish(fold.kind, found)
    }

    fn go_through(&mut self, fold: &'a Fold, range: Val<'a>, found: &mut Found<'a>) -> Result<()> {
        match range {
            Val::List(list) => self.fold_list(fold, &list, found),
            Val::Map(map) => self.fold_map(fold, &map, found),
            other => Err(wanted("a list or map to go through", &other).at(fold.range.span)),
        }
    }

    fn fold_list(&mut self, fold: &'a Fold, list: &List<'a>, found: &mut Found<'a>) -> Result<()> {
        let (length, item_bytes) = (list.len(), list.item_bytes());
        let mut index = 0;
        while index < length && !found.is_decided() {
            self.charge_item(item_bytes)?;
            self.enter_item(fold, list, index);
            self.visit(fold, false, found)?;
            index += 1;
        }
        Ok(())
    }

    fn fold_map(&mut self, fold: &'a Fold, map: &Map<'a>, found: &mut Found<'a>) -> Result<()> {
        let mut entries = map.iter();
        while !found.is_decided() && self.enter_entry(fold, entries.next()) {
            self.charge_item(0)?;
            self.visit(fold, true, found)?;
        }
        Ok(())
    }

    fn charge_item(&mut self, bytes: usize) -> Result<()> {
        self.budget.charge(1)?;
        if bytes == 0 { Ok(()) } else { self.budget.create(bytes) }
    }

    /// Gives the variables of the loop the position and the item. A single variable has the item.
    fn enter_item(&mut self, fold: &Fold, list: &List<'a>, index: usize) {
        let Some(item) = list.get(index) else { return };
        self.set(fold.slot + usize::from(fold.two), Ok(item));
        if fold.two {
            self.set(fold.slot, Ok(Val::Int(i64::try_from(index).unwrap_or(i64::MAX))));
        }
    }

    /// Gives the variables of the loop the key and the value. A single variable has the key.
    fn enter_entry(&mut self, fold: &Fold, entry: Option<(Key<'a>, Val<'a>)>) -> bool {
        let Some((key, value)) = entry else { return false };
        self.set(fold.slot, Ok(key.into()));
        if fold.two {
            self.set(fold.slot + 1, Ok(value));
        }
        true
    }

    /// The item of a list, but the key of a map.
    fn current(&self, fold: &Fold, is_map: bool) -> Result<Val<'a>> {
        self.local(if fold.two && !is_map { fold.slot + 1 } else { fold.slot })
    }

    /// One iteration.
    fn visit(&mut self, fold: &'a Fold, is_map: bool, found: &mut Found<'a>) -> Result<()> {
        if let Some(filter) = &fold.filter
            && !self.bool(filter)?
        {
            return Ok(());
        }
        match found {
            Found::Undecided(_) | Found::Decided => self.ask(fold, found),
            Found::Count(count) => {
                *count += u64::from(self.bool(&fold.body)?);
                Ok(())
            }
            Found::Items(items) if fold.kind == FoldKind::Filter => self.keep(fold, is_map, items),
            Found::Items(items) => self.collect(fold, items),
            Found::Entries(entries) => self.collect_entry(fold, entries),
            Found::Keyed(items, keys) => {
                self.collect(fold, keys)?;
                self.add_element(fold, is_map, items)
            }
        }
    }

    /// `all` and `exists`: an item that decides wins over errors of others.
    fn ask(&mut self, fold: &'a Fold, found: &mut Found<'a>) -> Result<()> {
        match self.bool(&fold.body) {
            Ok(value) if value == (fold.kind == FoldKind::Exists) => *found = Found::Decided,
            Ok(_) => {}
            Err(error) if error.is_budget() => return Err(error),
            Err(error) => {
                if let Found::Undecided(failure) = found {
                    failure.get_or_insert(error);
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, fold: &'a Fold, is_map: bool, items: &mut Vec<Val<'a>>) -> Result<()> {
        if self.bool(&fold.body)? { self.add_element(fold, is_map, items) } else { Ok(()) }
    }

    fn add_element(&mut self, fold: &Fold, is_map: bool, items: &mut Vec<Val<'a>>) -> Result<()> {
        self.budget.create_items(1)?;
        items.push(self.current(fold, is_map)?);
        Ok(())
    }

    fn collect(&mut self, fold: &'a Fold, items: &mut Vec<Val<'a>>) -> Result<()> {
        let item = self.eval(&fold.body)?;
        self.budget.create_items(1)?;
        items.push(item);
        Ok(())
    }

    fn collect_entry(&mut self, fold: &'a Fold, entries: &mut Vec<(Key<'a>, Val<'a>)>) -> Result<()> {
        let value = self.eval(&fold.body)?;
        self.add_entry(fold, entries, value)
    }

    fn add_entry(
        &mut self,
        fold: &Fold,
        entries: &mut Vec<(Key<'a>, Val<'a>)>,
        value: Val<'a>,
    ) -> Result<()> {
        self.budget.create_items(1)?;
        if fold.kind == FoldKind::Map {
            let key = self.local(fold.slot)?;
            entries.push((Key::from_val(&key).ok_or_else(|| wanted("a key", &key))?, value));
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
