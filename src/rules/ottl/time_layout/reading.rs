//! A time from its text.

use super::super::time::{Time, days_of, month_length};
use super::{DAYS, Layout, MONTHS, Piece, ZoneStyle};

/// What has been read so far.
#[derive(Default)]
struct Read<'t> {
    rest: &'t [u8],
    year: Option<i64>,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    nanos: u32,
    /// The half of the day: true is pm.
    half: Option<bool>,
    zone: Option<&'t str>,
    /// `Z` is no offset, it is UTC.
    utc: bool,
    offset: Option<i32>,
}

impl Layout {
    /// `None` when the text is no such time, or names a zone that is not known.
    pub(in super::super) fn parse(&self, text: &[u8]) -> Option<Time> {
        let mut read = Read {
            rest: text,
            month: 1,
            day: 1,
            ..Read::default()
        };
        for (index, piece) in self.pieces.iter().enumerate() {
            let fraction = matches!(self.pieces.get(index + 1), Some(Piece::Fraction(..)));
            read.piece(piece, fraction)?;
        }
        if !read.rest.is_empty() {
            return None;
        }
        self.assemble(&read)
    }

    fn assemble(&self, read: &Read<'_>) -> Option<Time> {
        let year = read.year.filter(|year| *year > 0)?;
        let hour = match read.half {
            Some(true) if read.hour < 12 => read.hour + 12,
            Some(false) if read.hour == 12 => 0,
            _ => read.hour,
        };
        if !(1..=month_length(year, read.month)).contains(&read.day) {
            return None;
        }
        let clock = i64::from(hour) * 3600 + i64::from(read.minute) * 60 + i64::from(read.second);
        let wall = days_of(year, read.month, read.day) * 86_400 + clock;
        if read.utc {
            return Some(Time::of(wall, i64::from(read.nanos)));
        }
        match (read.offset, read.zone) {
            (Some(offset), _) => self.zones.at_offset(offset, wall, read.nanos),
            (None, Some(name)) => self.zones.at_named(name, wall, read.nanos),
            (None, None) => self.zones.at_home(wall, read.nanos),
        }
    }
}

impl<'t> Read<'t> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self
            .rest
            .iter()
            .take(most)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// One or two digits in a range, blanks before them.
    fn small(&mut self, least: u8, most: u8) -> Option<u8> {
        self.blanks();
        let value = u8::try_from(self.digits(1, 2)?).ok()?;
        (least..=most).contains(&value).then_some(value)
    }

    /// One of several names, in any case of letters; its first three letters when `short`.
    fn name(&mut self, names: &[&str], short: bool) -> Option<u8> {
        for (index, name) in (0_u8..).zip(names) {
            let name = if short { name.get(..3)? } else { name };
            if let Some((head, rest)) = self.rest.split_at_checked(name.len())
                && head.eq_ignore_ascii_case(name.as_bytes())
            {
                self.rest = rest;
                return Some(index);
            }
        }
        None
    }

    /// A blank stands for any number of blanks, none at the end of the text included.
    fn literal(&mut self, text: &str) -> Option<()> {
        let mut wanted = text.as_bytes();
        while let Some((&byte, after)) = wanted.split_first() {
            if byte != b' ' {
                self.rest = self.rest.strip_prefix(&[byte])?;
                wanted = after;
                continue;
            }
            if self.rest.first().is_some_and(|byte| *byte != b' ') {
                return None;
            }
            let cut = |text: &'_ [u8]| text.iter().take_while(|byte| **byte == b' ').count();
            wanted = wanted.get(cut(wanted)..)?;
            self.rest = self.rest.get(cut(self.rest)..)?;
        }
        Some(())
    }

    fn piece(&mut self, piece: &Piece, fraction_follows: bool) -> Option<()> {
        match piece {
            Piece::Literal(text) => self.literal(text)?,
            Piece::Year => {
                self.blanks();
                self.year = Some(i64::from(self.digits(4, 4)?));
            }
            Piece::ShortYear => self.short_year()?,
            Piece::AnyYear => {
                self.blanks();
                let four = self
                    .rest
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .count()
                    >= 4;
                if four {
                    self.year = Some(i64::from(self.digits(4, 4)?));
                } else {
                    self.short_year()?;
                }
            }
            Piece::Month(_) => self.month = self.small(1, 12)?,
            Piece::MonthName => self.month = self.name(&MONTHS, false)? + 1,
            Piece::MonthShort => self.month = self.name(&MONTHS, true)? + 1,
            Piece::Day(_) => self.day = self.small(0, 31)?,
            Piece::DayName => _ = self.name(&DAYS, false)?,
            Piece::DayShort => _ = self.name(&DAYS, true)?,
            Piece::Hour => self.hour = self.small(0, 23)?,
            Piece::Hour12(_) => self.hour = self.small(0, 12)?,
            Piece::Minute => self.minute = self.small(0, 59)?,
            Piece::Second => {
                self.second = self.small(0, 59)?;
                if !fraction_follows {
                    self.fraction();
                }
            }
            Piece::Half { upper } => self.half = Some(self.half_of(*upper)?),
            Piece::Fraction(..) => self.fraction(),
            Piece::ZoneName => self.zone_name()?,
            Piece::Zone(style) => self.zone(*style)?,
        }
        Some(())
    }

    /// Two digits: from 69 on the last century.
    fn short_year(&mut self) -> Option<()> {
        self.blanks();
        let year = i64::from(self.digits(2, 2)?);
        self.year = Some(if year >= 69 { 1900 + year } else { 2000 + year });
        Some(())
    }

    fn half_of(&mut self, upper: bool) -> Option<bool> {
        let (head, rest) = self.rest.split_at_checked(2)?;
        self.rest = rest;
        match (head, upper) {
            (b"AM", true) | (b"am", false) => Some(false),
            (b"PM", true) | (b"pm", false) => Some(true),
            _ => None,
        }
    }

    /// A separator and digits, if they are there; more than nine are read and not kept.
    fn fraction(&mut self) {
        let ([b'.' | b',', rest @ ..], true) =
            (self.rest, self.rest.get(1).is_some_and(u8::is_ascii_digit))
        else {
            return;
        };
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at(count);
        self.rest = rest;
        self.nanos = (0..9).fold(0, |nanos, place| {
            nanos * 10 + digits.get(place).map_or(0, |digit| u32::from(digit - b'0'))
        });
    }

    /// Three or four capitals.
    fn zone_name(&mut self) -> Option<()> {
        let count = self
            .rest
            .iter()
            .take(6)
            .take_while(|byte| byte.is_ascii_uppercase())
            .count();
        let count = match count {
            _ if self.rest.starts_with(b"UTC") => 3,
            3 => 3,
            4 if self.rest.get(3) == Some(&b'T') => 4,
            5 if self.rest.get(4) == Some(&b'T') => 5,
            _ => return None,
        };
        let (name, rest) = self.rest.split_at(count);
        self.zone = std::str::from_utf8(name).ok();
        self.rest = rest;
        Some(())
    }

    fn zone(&mut self, style: ZoneStyle) -> Option<()> {
        if style == ZoneStyle::Any {
            self.blanks();
            if let Some(rest) = self.rest.strip_prefix(b"Z") {
                self.rest = rest;
                self.utc = true;
                return Some(());
            }
        }
        let negative = match self.rest.split_first()? {
            (b'+', rest) => {
                self.rest = rest;
                false
            }
            (b'-', rest) => {
                self.rest = rest;
                true
            }
            _ => return None,
        };
        let hours = self.digits(2, 2).filter(|hours| *hours <= 24)?;
        let colon = matches!(style, ZoneStyle::Minutes | ZoneStyle::ColonSeconds)
            || style == ZoneStyle::Any && self.rest.starts_with(b":");
        let more = match style {
            ZoneStyle::Hours => 0,
            ZoneStyle::Any if !colon && !self.rest.first().is_some_and(u8::is_ascii_digit) => 0,
            ZoneStyle::Any | ZoneStyle::Minutes => 1,
            ZoneStyle::Seconds | ZoneStyle::ColonSeconds => 2,
        };
        let mut parts = [0; 2];
        for part in parts.iter_mut().take(more) {
            if colon {
                self.rest = self.rest.strip_prefix(b":")?;
            }
            *part = self.digits(2, 2).filter(|part| *part < 60)?;
        }
        let [minutes, seconds] = parts;
        let size = i32::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
        self.offset = Some(if negative { -size } else { size });
        Some(())
    }
}
