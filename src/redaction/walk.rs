//! Leads a piece past the redactor: every place where OTLP has attributes, and what a status says.

use super::class::FieldClass;
use super::redactor::Redactor;
use super::settings::Action;
use crate::otlp::{Signal, Splice, WireError, raw_fields};

pub(super) type New = Result<Option<Vec<u8>>, WireError>;

impl Redactor {
    /// A `TracesData` or `LogsData` message, which are alike down to their leaves; `None`: as it was.
    pub(super) fn message(&self, signal: Signal, piece: &[u8]) -> New {
        each(piece, &[1], |_, resource| {
            each(resource, &[1, 2], |number, child| match number {
                1 => self.attributes(child, 1, b""),
                _ => each(child, &[1, 2], |number, child| match number {
                    1 => self.attributes(child, 3, b""),
                    _ if signal == Signal::Logs => self.record(child),
                    _ => self.span(child),
                }),
            })
        })
    }

    fn span(&self, span: &[u8]) -> New {
        let own = self.attributes(span, 9, b"")?;
        let below = each(
            own.as_deref().unwrap_or(span),
            &[11, 13, 15],
            |number, child| match number {
                11 => self.event(child),
                13 => self.attributes(child, 4, b""),
                _ => self.status(child),
            },
        )?;
        Ok(below.or(own))
    }

    fn event(&self, event: &[u8]) -> New {
        let mut name = &[][..];
        for field in raw_fields(event) {
            name = field?.message(2).unwrap_or(name);
        }
        self.attributes(event, 3, name)
    }

    /// What a status says of an error.
    fn status(&self, status: &[u8]) -> New {
        let action = self.action(FieldClass::Error);
        each_field(status, &[2], |_, text| {
            let new = self.hasher.text(action, text);
            Ok(match action {
                Action::Drop => Change::Cut,
                _ if *new == *text => Change::None,
                _ => Change::New(new.into_owned()),
            })
        })
    }
}

pub(super) enum Change {
    None,
    Cut,
    New(Vec<u8>),
}

/// A message whose children in these fields are changed.
fn each(message: &[u8], numbers: &[u8], change: impl Fn(u8, &[u8]) -> New) -> New {
    each_field(message, numbers, |number, child| {
        Ok(change(number, child)?.map_or(Change::None, Change::New))
    })
}

pub(super) fn each_field(
    message: &[u8],
    numbers: &[u8],
    change: impl Fn(u8, &[u8]) -> Result<Change, WireError>,
) -> New {
    let mut splice = Splice::new(message);
    for field in raw_fields(message) {
        let field = field?;
        let number = numbers
            .iter()
            .find(|number| field.number == u32::from(**number));
        let Some((number, child)) =
            number.and_then(|number| Some((*number, field.message(u32::from(*number))?)))
        else {
            continue;
        };
        match change(number, child)? {
            Change::None => {}
            Change::Cut => splice.cut(&field.range),
            Change::New(new) => splice.replace(&field.range, number, &new),
        }
    }
    Ok(splice.finish())
}
