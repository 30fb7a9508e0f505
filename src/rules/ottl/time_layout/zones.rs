//! Time zones by name, looked up once, at load; a condition that is evaluated reads no files.

use super::super::time::{Time, Zone};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Abbreviations that are zones of the database themselves: what a text can name without saying its offset.
const ABBREVIATIONS: [&str; 11] = [
    "GMT", "UCT", "EST", "MST", "HST", "CET", "EET", "MET", "WET", "PRC", "ROK",
];

#[derive(Debug, Clone)]
pub(super) struct Zones {
    /// Where a text without a zone belongs; UTC unless it is given.
    home: TimeZone,
    named: Vec<(&'static str, TimeZone)>,
}

impl Default for Zones {
    fn default() -> Self {
        Self {
            home: TimeZone::UTC,
            named: Vec::new(),
        }
    }
}

impl Zones {
    pub(super) fn load(location: Option<&str>, named: bool) -> Result<Self, String> {
        let home = match location {
            None | Some("" | "UTC" | "Local") => TimeZone::UTC,
            Some(name) => {
                TimeZone::get(name).map_err(|_| "this location is not a known time zone")?
            }
        };
        let named = ABBREVIATIONS
            .iter()
            .filter(|_| named)
            .filter_map(|name| Some((*name, TimeZone::get(name).ok()?)))
            .collect();
        Ok(Self { home, named })
    }

    /// The time of a wall clock at home.
    pub(super) fn at_home(&self, wall: i64, nanos: u32) -> Option<Time> {
        local(&self.home, wall, nanos)
    }

    /// The time of a wall clock in a zone that is named by its abbreviation.
    pub(super) fn at_named(&self, name: &str, wall: i64, nanos: u32) -> Option<Time> {
        if name == "UTC" {
            return local(&TimeZone::UTC, wall, nanos);
        }
        let at_home = local(&self.home, wall, nanos)?;
        if at_home.zone.name() == name {
            return Some(at_home);
        }
        // The other half of the year, as when a summer time is named in winter.
        for days in [-182, 182] {
            let zone = zone_at(&self.home, wall + days * 86_400)?;
            if zone.name() == name {
                let utc = wall - i64::from(zone.offset);
                let zone = zone_at(&self.home, utc)?;
                return Some(Time {
                    zone,
                    ..Time::of(utc, i64::from(nanos))
                });
            }
        }
        let (_, zone) = self.named.iter().find(|(known, _)| *known == name)?;
        local(zone, wall, nanos)
    }

    /// The time of a wall clock with an offset. Where home has that offset, the time is home's.
    pub(super) fn at_offset(&self, offset: i32, wall: i64, nanos: u32) -> Option<Time> {
        let utc = wall.checked_sub(i64::from(offset))?;
        let home = zone_at(&self.home, utc)?;
        let zone = if home.offset == offset {
            home
        } else {
            Zone::named(offset, "")
        };
        Some(Time {
            zone,
            ..Time::of(utc, i64::from(nanos))
        })
    }
}

fn zone_at(zone: &TimeZone, seconds: i64) -> Option<Zone> {
    let stamp = Timestamp::from_second(seconds).ok()?;
    let info = zone.to_offset_info(stamp);
    Some(Zone::named(info.offset().seconds(), info.abbreviation()))
}

/// As Go chooses in the hour that does not exist or exists twice: the offset that holds at the first guess.
fn local(zone: &TimeZone, wall: i64, nanos: u32) -> Option<Time> {
    let guess = zone_at(zone, wall)?;
    let utc = wall - i64::from(guess.offset);
    let utc = match zone_at(zone, utc)? {
        better if guess.offset != 0 => wall - i64::from(better.offset),
        _ => utc,
    };
    Some(Time {
        zone: zone_at(zone, utc)?,
        ..Time::of(utc, i64::from(nanos))
    })
}
