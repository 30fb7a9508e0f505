//! Points in time as Go has them: seconds and nanoseconds, with the zone in which they are read.

/// Nanoseconds of a second.
const NANOS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;
/// 0001-01-01, from which Go rounds.
const YEAR_ONE: i64 = -62_135_596_800;

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Time {
    /// Since 1970.
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    pub(super) zone: Zone,
}

/// How a time is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Zone {
    /// Seconds east of Greenwich.
    pub(super) offset: i32,
    /// The abbreviation, padded with zeros; empty when there is none.
    pub(super) name: [u8; 8],
}

/// Years, hours and so on of a time in its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: u8,
    pub(super) day: u8,
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: u8,
    /// Sunday is 0.
    pub(super) weekday: u8,
}

impl Zone {
    pub(super) const UTC: Self = Self {
        offset: 0,
        name: *b"UTC\0\0\0\0\0",
    };

    pub(super) fn named(offset: i32, name: &str) -> Self {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(name.bytes()) {
            *to = from;
        }
        Self {
            offset,
            name: bytes,
        }
    }

    pub(super) fn name(&self) -> &str {
        let length = self.name.iter().take_while(|byte| **byte != 0).count();
        self.name
            .get(..length)
            .and_then(|name| std::str::from_utf8(name).ok())
            .unwrap_or_default()
    }
}

impl Time {
    /// A time of the protocol, whose 64 bits Go reads as signed.
    pub(super) fn of_nanos(nanos: i64) -> Self {
        Self::of(0, nanos)
    }

    /// Seconds and any number of nanoseconds.
    pub(super) fn of(seconds: i64, nanos: i64) -> Self {
        let nanos_left = nanos.rem_euclid(NANOS);
        Self {
            seconds: seconds.wrapping_add(nanos.div_euclid(NANOS)),
            nanos: u32::try_from(nanos_left).unwrap_or(0),
            zone: Zone::UTC,
        }
    }

    /// What is compared. Go counts from the year one in 64 bits; times that do not fit come round, as they do there.
    pub(super) fn instant(&self) -> (i64, u32) {
        (self.seconds.wrapping_sub(YEAR_ONE), self.nanos)
    }

    pub(super) fn plus(&self, duration: i64) -> Self {
        let nanos = i64::from(self.nanos) + duration.rem_euclid(NANOS);
        let seconds = self.seconds.wrapping_add(duration.div_euclid(NANOS));
        Self {
            zone: self.zone,
            ..Self::of(seconds, nanos)
        }
    }

    /// The duration since an earlier time; as far as 64 bits reach.
    pub(super) fn since(&self, earlier: &Self) -> i64 {
        let nanos =
            |time: &Self| i128::from(time.seconds) * i128::from(NANOS) + i128::from(time.nanos);
        let difference = nanos(self) - nanos(earlier);
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// Since 1970 in units of `per_second`.
    pub(super) fn unix(&self, per_second: i64) -> i64 {
        let part = i64::from(self.nanos) / (NANOS / per_second);
        self.seconds.wrapping_mul(per_second).wrapping_add(part)
    }

    /// Rounded down to a multiple of the duration since the year one; a duration that is not positive changes nothing.
    pub(super) fn truncate(&self, duration: i64) -> Self {
        if duration <= 0 {
            return *self;
        }
        let since = (i128::from(self.seconds) - i128::from(YEAR_ONE)) * i128::from(NANOS)
            + i128::from(self.nanos);
        let beyond = since.rem_euclid(i128::from(duration));
        self.plus(i64::try_from(-beyond).unwrap_or(0))
    }

    pub(super) fn civil(&self) -> Civil {
        let local = self.seconds.saturating_add(i64::from(self.zone.offset));
        let (days, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let small = |value: i64| u8::try_from(value).unwrap_or(0);
        Civil {
            year,
            month,
            day,
            hour: small(second / 3600),
            minute: small(second / 60 % 60),
            second: small(second % 60),
            weekday: small((days + 4).rem_euclid(7)),
        }
    }
}

/// Year, month and day of a day since 1970, in the Gregorian calendar, by eras of 400 years that begin in March.
fn date_of(days: i64) -> (i64, u8, u8) {
    let days = days.saturating_add(719_468);
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let small = |value: i64| u8::try_from(value).unwrap_or(0);
    (
        year + era * 400 + i64::from(month <= 2),
        small(month),
        small(of_year - (153 * shifted + 2) / 5 + 1),
    )
}

/// The day since 1970 of a date.
pub(super) fn days_of(year: i64, month: u8, day: u8) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted = (i64::from(month) + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Days of a month.
pub(super) fn month_length(year: i64, month: u8) -> u8 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_there_and_back() {
        let check = |seconds: i64, expected: (i64, u8, u8, u8)| {
            let civil = Time::of(seconds, 0).civil();
            assert_eq!(
                (civil.year, civil.month, civil.day, civil.weekday),
                expected
            );
            assert_eq!(
                days_of(civil.year, civil.month, civil.day),
                seconds.div_euclid(DAY)
            );
        };
        check(0, (1970, 1, 1, 4));
        check(1_700_000_000, (2023, 11, 14, 2));
        check(951_782_400, (2000, 2, 29, 2));
        check(-1, (1969, 12, 31, 3));
        check(YEAR_ONE, (1, 1, 1, 1));
    }

    #[test]
    fn no_time_is_too_far() {
        for seconds in [i64::MIN, i64::MAX] {
            let time = Time::of(seconds, -1);
            let _ = (
                time.civil(),
                time.plus(i64::MIN),
                time.truncate(i64::MAX),
                time.unix(NANOS),
            );
            let _ = time.since(&Time::of(0, 0));
        }
    }
}
