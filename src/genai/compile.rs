//! Rows to look-ups: conditions become bits, dialects numbers, priorities ranks.

use super::dialects::{
    DialectId, Dialects, EventEntry, KeyEntry, KindOf, Marks, NameEntry, Row, ScopeMark, Test,
};
use super::key_index::KeyIndex;
use super::lines::TableError;
use super::rows::{Condition, KeyRow, KindRow, Rows, Site};

/// Dialects are bits of a word.
const MOST_DIALECTS: usize = 64;

pub(super) fn compile(rows: Rows) -> Result<Dialects, TableError> {
    let mut build = Build::default();
    build.dialects(&rows)?;
    build.kinds(&rows)?;
    build.keys(&rows)?;
    let mut out = build.out;
    let lower = |word: &str| word.to_ascii_lowercase().into_bytes().into_boxed_slice();
    out.gateways = rows.gateways.iter().cloned().collect();
    // Earlier rows win: the operator's own stand in front.
    for (word, class) in rows.finish.iter().rev() {
        out.finish.insert(lower(word), *class);
    }
    for (word, provider) in rows.providers.iter().rev() {
        let provider = provider.as_deref().map(|name| name.as_bytes().into());
        out.providers.insert(lower(word), provider);
    }
    out.placeholders = rows.placeholders.iter().map(|word| lower(word)).collect();
    out.rows = rows;
    Ok(out)
}

#[derive(Default)]
struct Build {
    out: Dialects,
    conditions: Vec<Condition>,
    groups: Vec<Box<str>>,
}

fn full(what: &'static str) -> TableError {
    TableError {
        source_name: "dialects",
        line: 0,
        column: 0,
        what,
    }
}

/// The entry of a key, made when it is not there.
fn entry<'a, T: Default>(
    index: &mut KeyIndex,
    entries: &'a mut Vec<T>,
    key: &[u8],
) -> Result<&'a mut T, TableError> {
    let number = index.add(key).ok_or_else(|| full("too many keys"))?;
    if number >= entries.len() {
        entries.resize_with(number + 1, T::default);
    }
    entries.get_mut(number).ok_or_else(|| full("too many keys"))
}

impl Build {
    fn key(&mut self, key: &[u8]) -> Result<&mut KeyEntry, TableError> {
        entry(&mut self.out.keys, &mut self.out.key_entries, key)
    }

    fn event(&mut self, name: &[u8]) -> Result<&mut EventEntry, TableError> {
        entry(&mut self.out.events, &mut self.out.event_entries, name)
    }

    fn name(&mut self, name: &[u8]) -> Result<&mut NameEntry, TableError> {
        entry(&mut self.out.names, &mut self.out.name_entries, name)
    }

    fn dialects(&mut self, rows: &Rows) -> Result<(), TableError> {
        for row in &rows.dialects {
            let known = self
                .out
                .dialect_names
                .iter()
                .position(|name| *name == row.dialect);
            let number = known.unwrap_or(self.out.dialect_names.len());
            if number == MOST_DIALECTS {
                return Err(full("more than 64 dialects"));
            }
            if known.is_none() {
                self.out.dialect_names.push(row.dialect.clone());
            }
            let mut need = 0;
            for condition in &row.conditions {
                need |= self.condition(condition)?;
            }
            self.out.tests.push(Test {
                need,
                dialect: DialectId(u8::try_from(number).unwrap_or(u8::MAX)),
                stand: row.stand,
                kind: row.kind,
                fixed: row.fixed,
            });
        }
        Ok(())
    }

    /// The bit of a condition; equal ones share it.
    fn condition(&mut self, condition: &Condition) -> Result<Marks, TableError> {
        if let Some(number) = self.conditions.iter().position(|known| known == condition) {
            return Ok(1 << number);
        }
        let bit = u32::try_from(self.conditions.len())
            .ok()
            .and_then(|number| Marks::checked_shl(1, number))
            .ok_or_else(|| full("more than 128 conditions"))?;
        self.conditions.push(condition.clone());
        match condition {
            Condition::Key(keys) => {
                for key in keys {
                    self.key(key)?.marks |= bit;
                }
            }
            Condition::Name(names) => {
                for name in names {
                    self.name(name)?.marks |= bit;
                }
            }
            Condition::Scope(scopes) => {
                self.out.scopes.extend(scopes.iter().map(|scope| {
                    let prefix = scope.strip_suffix(b"*");
                    ScopeMark {
                        name: prefix.unwrap_or(scope).into(),
                        prefix: prefix.is_some(),
                        marks: bit,
                    }
                }));
            }
            Condition::Value(key, value) => self.key(key)?.values.push((value.clone(), bit)),
            Condition::Server => self.out.server |= bit,
        }
        Ok(bit)
    }

    fn kinds(&mut self, rows: &Rows) -> Result<(), TableError> {
        for row in &rows.kinds {
            let kind = KindOf {
                kind: row.kind,
                operation: row.operation,
                stream: row.stream,
            };
            let only = self.mask(&row.only, false, &row.stranger)?;
            match row {
                KindRow { key, value, .. } if **key == *"name" => {
                    let name = value.as_deref().unwrap_or_default();
                    self.name(name)?.kinds.push((only, kind));
                }
                KindRow {
                    key,
                    value: Some(value),
                    ..
                } => {
                    let known = &mut self.key(key.as_bytes())?.kinds;
                    known.entry_ref(value).or_default().push((only, kind));
                }
                KindRow { key, .. } => {
                    self.key(key.as_bytes())?.other_kind.push((only, kind));
                }
            }
        }
        Ok(())
    }

    fn keys(&mut self, rows: &Rows) -> Result<(), TableError> {
        let mut order: Vec<&KeyRow> = rows.keys.iter().collect();
        // Stable: of equal priorities the earlier row wins.
        order.sort_by_key(|row| (row.concept, row.priority));
        for (rank, row) in order.into_iter().enumerate() {
            let compiled = Row {
                concept: row.concept,
                form: row.form,
                rank: u16::try_from(rank).map_err(|_| full("too many keys"))?,
                only: self.mask(&row.only, row.except, &row.stranger)?,
                group: self.group(row.group.as_deref()),
                named: row.named.clone(),
            };
            match &row.site {
                Site::Attribute(key) => {
                    if let Some(brace) = key.iter().position(|byte| *byte == b'{') {
                        let prefix = key.get(..brace).unwrap_or_default().into();
                        if !self.out.families.contains(&prefix) {
                            self.out.families.push(prefix);
                        }
                    }
                    self.key(key)?.rows.push(compiled);
                }
                Site::Leaf(key, path) => self.key(key)?.leaves.push((path.clone(), compiled)),
                Site::Event(name) => self.event(name)?.rows.push(compiled),
                Site::EventAttribute(name, key, path) => {
                    let attribute = (key.clone(), path.clone(), compiled);
                    self.event(name)?.attributes.push(attribute);
                }
                Site::Name(name) => self.name(name)?.rows.push(compiled),
            }
        }
        Ok(())
    }

    /// A bit for each dialect that is named, or for all others.
    fn mask(
        &self,
        names: &[Box<str>],
        except: bool,
        stranger: &TableError,
    ) -> Result<u64, TableError> {
        if names.is_empty() {
            return Ok(u64::MAX);
        }
        let mut mask = 0;
        for name in names {
            let number = self
                .out
                .dialect_names
                .iter()
                .position(|known| known == name)
                .ok_or_else(|| stranger.clone())?;
            mask |= 1_u64 << number;
        }
        Ok(if except { !mask } else { mask })
    }

    fn group(&mut self, name: Option<&str>) -> u8 {
        let Some(name) = name else {
            return 0;
        };
        let known = self.groups.iter().position(|known| **known == *name);
        let number = known.unwrap_or(self.groups.len());
        if known.is_none() {
            self.groups.push(name.into());
        }
        u8::try_from(number).unwrap_or(u8::MAX)
    }
}
