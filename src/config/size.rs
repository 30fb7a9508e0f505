//! Byte sizes (`64MiB`, `20GiB`, `1500`) and percentages (`60%`).

/// Reads a number of bytes with an optional unit: `B`, `KiB` to `TiB` (powers of 1024), `KB` to `TB` (powers of 1000).
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let at = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let (whole, fraction) = number.split_once('.')?;
    let fraction = fraction.get(..fraction.len().min(9))?;
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let whole = u128::from(whole.parse::<u64>().ok()?) * u128::from(factor);
    let part = u128::from(fraction.parse::<u64>().ok()?) * u128::from(factor) / scale;
    u64::try_from(whole + part).ok()
}

/// Reads `60%` or `12.5%`, above 0 and at most 100.
pub(crate) fn percent(text: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix('%')?.trim_end().parse().ok()?;
    (number > 0.0 && number <= 100.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(bytes(text), expected, "{text}");
        check("64MiB", Some(64 << 20));
        check("20 GiB", Some(20 << 30));
        check("1500", Some(1500));
        check("1.5KiB", Some(1536));
        check("2MB", Some(2_000_000));
        check("18446744073709551615", Some(u64::MAX));
        check("18446744073709551616", None);
        check("99999999TiB", None);
        check("64M", None);
        check("64mib", None);
        check("-1", None);
        check("", None);
        check("1.2.3MiB", None);
        check("MiB", None);
    }

    #[test]
    fn percentages() {
        let check =
            |text: &str, expected: Option<f64>| assert_eq!(percent(text), expected, "{text}");
        check("60%", Some(60.0));
        check("12.5 %", Some(12.5));
        check("100%", Some(100.0));
        check("0%", None);
        check("101%", None);
        check("NaN%", None);
        check("60", None);
    }
}
