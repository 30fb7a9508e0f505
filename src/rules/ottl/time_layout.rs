//! Time formats in `%` directives, as the Collector turns them into Go's layouts: writing, and reading.
//!
//! Reading is looser than writing: leading zeros may lack, blanks before numbers are skipped, zones come in three forms. A
//! format without a year would take it from the clock and is refused.

mod reading;
mod zones;

use super::time::{Civil, Time, Zone};
use zones::Zones;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// A piece of a format.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Literal(String),
    Year,
    ShortYear,
    /// Reading: four digits, else two.
    AnyYear,
    /// Number, and how it is filled up to two places.
    Month(Fill),
    MonthName,
    MonthShort,
    Day(Fill),
    DayName,
    DayShort,
    Hour,
    Hour12(Fill),
    Minute,
    Second,
    Half {
        upper: bool,
    },
    /// A separator and up to so many digits, without zeros at the end.
    Fraction(char, usize),
    ZoneName,
    Zone(ZoneStyle),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fill {
    Zero,
    Blank,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ZoneStyle {
    /// `Z` or `+0100`
    Any,
    /// `+010000`
    Seconds,
    /// `+01`
    Hours,
    /// `+01:00`
    Minutes,
    /// `+01:00:00`
    ColonSeconds,
}

/// A checked format.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pieces: Vec<Piece>,
    zones: Zones,
}

impl Layout {
    /// Reads a format.
    pub(super) fn of(format: &str) -> Result<Self, String> {
        if format.is_empty() {
            return Err("the time format is empty".into());
        }
        if format.contains(|c: char| c.is_ascii_digit()) {
            return Err("a time format holds no digits".into());
        }
        let mut layout = Self {
            pieces: Vec::new(),
            zones: Zones::default(),
        };
        let mut rest = format;
        let mut before = None;
        while let Some(character) = rest.chars().next() {
            rest = rest.get(character.len_utf8()..).unwrap_or_default();
            if character != '%' {
                layout.literal(character);
                before = Some(character);
                continue;
            }
            let Some(directive) = rest.chars().next().filter(|c| *c != '\n') else {
                layout.literal('%');
                continue;
            };
            rest = rest.get(directive.len_utf8()..).unwrap_or_default();
            layout.directive(directive, before)?;
            before = Some(directive);
        }
        Ok(layout)
    }

    fn literal(&mut self, character: char) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(text)) => text.push(character),
            _ => self.pieces.push(Piece::Literal(character.into())),
        }
    }

    fn directive(&mut self, directive: char, before: Option<char>) -> Result<(), String> {
        let longer = match directive {
            'D' | 'x' => "%m/%d/%Y",
            'F' => "%Y-%m-%d",
            'T' | 'X' => "%H:%M:%S",
            'r' => "%I:%M:%S %P",
            'R' => "%H:%M",
            'c' => "%a %b %d %H:%M:%S %Y",
            'o' => "_%q",
            'n' => "\n",
            't' => "\t",
            _ => "",
        };
        if !longer.is_empty() {
            let mut inner = Self::of(longer)?;
            if matches!(directive, 'D' | 'x') {
                for piece in &mut inner.pieces {
                    if *piece == Piece::Year {
                        *piece = Piece::AnyYear;
                    }
                }
            }
            self.pieces.append(&mut inner.pieces);
            return Ok(());
        }
        if directive == '%' {
            self.literal('%');
            return Ok(());
        }
        let piece = match directive {
            'L' | 'f' | 's' => return self.fraction(directive, before),
            other => simple(other)
                .ok_or_else(|| format!("%{other} is not a directive of a time format"))?,
        };
        self.pieces.push(piece);
        Ok(())
    }

    /// Takes the separator out of the text before it; at the beginning the digits are nothing but nines.
    fn fraction(&mut self, directive: char, before: Option<char>) -> Result<(), String> {
        let digits = match directive {
            'L' => 3,
            'f' => 6,
            _ => 9,
        };
        match (before, self.pieces.last_mut()) {
            (None, _) => self.pieces.push(Piece::Literal("9".repeat(digits))),
            (Some(separator @ ('.' | ',')), Some(Piece::Literal(text))) => {
                text.pop();
                if text.is_empty() {
                    self.pieces.pop();
                }
                self.pieces.push(Piece::Fraction(separator, digits));
            }
            _ => return Err(format!("%{directive} stands behind `.` or `,`")),
        }
        Ok(())
    }

    /// For reading: needs a year, and finds the zones that the text can name.
    pub(super) fn into_reader(mut self, location: Option<&str>) -> Result<Self, String> {
        let year = |piece: &Piece| matches!(piece, Piece::Year | Piece::ShortYear | Piece::AnyYear);
        if !self.pieces.iter().any(year) {
            return Err("a time format without a year would take it from the clock".into());
        }
        let named = self.pieces.contains(&Piece::ZoneName);
        self.zones = Zones::load(location, named)?;
        Ok(self)
    }

    /// The text of a time.
    pub(super) fn format(&self, time: &Time) -> String {
        let civil = time.civil();
        let mut out = String::new();
        for piece in &self.pieces {
            write(piece, time, &civil, &mut out);
        }
        out
    }
}

fn simple(directive: char) -> Option<Piece> {
    Some(match directive {
        'Y' => Piece::Year,
        'y' => Piece::ShortYear,
        'm' => Piece::Month(Fill::Zero),
        'q' => Piece::Month(Fill::None),
        'b' | 'h' => Piece::MonthShort,
        'B' => Piece::MonthName,
        'd' => Piece::Day(Fill::Zero),
        'e' => Piece::Day(Fill::Blank),
        'g' => Piece::Day(Fill::None),
        'a' => Piece::DayShort,
        'A' => Piece::DayName,
        'H' => Piece::Hour,
        'l' => Piece::Hour12(Fill::None),
        'I' => Piece::Hour12(Fill::Zero),
        'p' => Piece::Half { upper: true },
        'P' => Piece::Half { upper: false },
        'M' => Piece::Minute,
        'S' => Piece::Second,
        'Z' => Piece::ZoneName,
        'z' => Piece::Zone(ZoneStyle::Any),
        'w' => Piece::Zone(ZoneStyle::Seconds),
        'i' => Piece::Zone(ZoneStyle::Hours),
        'j' => Piece::Zone(ZoneStyle::Minutes),
        'k' => Piece::Zone(ZoneStyle::ColonSeconds),
        _ => return None,
    })
}

fn filled(value: u8, fill: Fill) -> String {
    match fill {
        Fill::Zero => format!("{value:02}"),
        Fill::Blank => format!("{value:2}"),
        Fill::None => value.to_string(),
    }
}

fn write(piece: &Piece, time: &Time, civil: &Civil, out: &mut String) {
    let name =
        |names: &[&'static str], index: u8| names.get(usize::from(index)).copied().unwrap_or("");
    let short = |name: &'static str| name.get(..3).unwrap_or(name);
    let month = civil.month.wrapping_sub(1);
    let twelve = if civil.hour.is_multiple_of(12) {
        12
    } else {
        civil.hour % 12
    };
    let text = match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Year | Piece::AnyYear => format!("{:04}", civil.year),
        Piece::ShortYear => format!("{:02}", civil.year.rem_euclid(100)),
        Piece::Month(fill) => filled(civil.month, *fill),
        Piece::MonthName => name(&MONTHS, month).into(),
        Piece::MonthShort => short(name(&MONTHS, month)).into(),
        Piece::Day(fill) => filled(civil.day, *fill),
        Piece::DayName => name(&DAYS, civil.weekday).into(),
        Piece::DayShort => short(name(&DAYS, civil.weekday)).into(),
        Piece::Hour => filled(civil.hour, Fill::Zero),
        Piece::Hour12(fill) => filled(twelve, *fill),
        Piece::Minute => filled(civil.minute, Fill::Zero),
        Piece::Second => filled(civil.second, Fill::Zero),
        Piece::Half { upper: true } => if civil.hour < 12 { "AM" } else { "PM" }.into(),
        Piece::Half { upper: false } => if civil.hour < 12 { "am" } else { "pm" }.into(),
        Piece::Fraction(separator, digits) => fraction(*separator, *digits, time.nanos),
        Piece::ZoneName => zone_name(&time.zone),
        Piece::Zone(style) => zone(*style, time.zone.offset),
    };
    out.push_str(&text);
}

fn fraction(separator: char, digits: usize, nanos: u32) -> String {
    let shown = format!("{nanos:09}");
    let shown = shown
        .get(..digits)
        .unwrap_or_default()
        .trim_end_matches('0');
    if shown.is_empty() {
        return String::new();
    }
    format!("{separator}{shown}")
}

fn zone(style: ZoneStyle, offset: i32) -> String {
    if style == ZoneStyle::Any && offset == 0 {
        return "Z".into();
    }
    let sign = if offset < 0 { '-' } else { '+' };
    let size = offset.unsigned_abs();
    let (hours, minutes, seconds) = (size / 3600, size / 60 % 60, size % 60);
    match style {
        ZoneStyle::Any => format!("{sign}{hours:02}{minutes:02}"),
        ZoneStyle::Seconds => format!("{sign}{hours:02}{minutes:02}{seconds:02}"),
        ZoneStyle::Hours => format!("{sign}{hours:02}"),
        ZoneStyle::Minutes => format!("{sign}{hours:02}:{minutes:02}"),
        ZoneStyle::ColonSeconds => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// The abbreviation, or the offset where there is none.
fn zone_name(zone: &Zone) -> String {
    if !zone.name().is_empty() {
        return zone.name().into();
    }
    let sign = if zone.offset < 0 { '-' } else { '+' };
    let minutes = zone.offset.unsigned_abs() / 60;
    match minutes % 60 {
        0 => format!("{sign}{:02}", minutes / 60),
        rest => format!("{sign}{:02}{rest:02}", minutes / 60),
    }
}

/// As JSON shows a time.
pub(super) fn rfc3339(time: &Time) -> String {
    let pieces = [
        Piece::Year,
        Piece::Literal("-".into()),
        Piece::Month(Fill::Zero),
        Piece::Literal("-".into()),
        Piece::Day(Fill::Zero),
        Piece::Literal("T".into()),
        Piece::Hour,
        Piece::Literal(":".into()),
        Piece::Minute,
        Piece::Literal(":".into()),
        Piece::Second,
        Piece::Fraction('.', 9),
    ];
    let zones = Zones::default();
    let shown = Layout {
        pieces: pieces.into(),
        zones,
    }
    .format(time);
    match time.zone.offset {
        0 => shown + "Z",
        offset => shown + &zone(ZoneStyle::Minutes, offset),
    }
}

/// As Go prints a time.
pub(super) fn shown(time: &Time) -> String {
    let shown = rfc3339(time).replacen('T', " ", 1);
    let length = shown
        .rfind(['Z', '+'])
        .or_else(|| shown.rfind('-').filter(|at| *at > 10))
        .unwrap_or(shown.len());
    let shown = shown.get(..length).unwrap_or_default();
    let offset = match zone(ZoneStyle::Any, time.zone.offset).as_str() {
        "Z" => "+0000".into(),
        offset => offset.to_owned(),
    };
    format!("{shown} {offset} {}", zone_name(&time.zone))
}
