//! Times: their parts, their distance from 1970, and their text.
//!
//! `Unix` gives a time in UTC, where Go takes the zone of the machine: a decision must not hang on it.

use super::super::error::EvalError;
use super::super::evaluate::Scene;
use super::super::expression::Call;
use super::super::time::{Civil, Time};
use super::super::time_layout::Layout;
use super::super::value::{Out, Value};
use super::Prepared;

fn part<'a>(scene: &Scene<'a>, call: &'a Call, part: fn(&Civil) -> i64) -> Out<'a> {
    Ok(Value::Int(part(&call.time(scene, 0)?.civil())))
}

pub(super) fn year<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    part(scene, call, |civil| civil.year)
}

pub(super) fn month<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    part(scene, call, |civil| i64::from(civil.month))
}

pub(super) fn day<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    part(scene, call, |civil| i64::from(civil.day))
}

pub(super) fn hour<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    part(scene, call, |civil| i64::from(civil.hour))
}

pub(super) fn minute<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    part(scene, call, |civil| i64::from(civil.minute))
}

pub(super) fn second<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    part(scene, call, |civil| i64::from(civil.second))
}

pub(super) fn weekday<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    part(scene, call, |civil| i64::from(civil.weekday))
}

pub(super) fn nanosecond<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    Ok(Value::Int(i64::from(call.time(scene, 0)?.nanos)))
}

pub(super) fn unix<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let seconds = call.int(scene, 0)?;
    let nanos = if call.has(1) { call.int(scene, 1)? } else { 0 };
    Ok(Value::Time(Time::of(seconds, nanos)))
}

fn since<'a>(scene: &Scene<'a>, call: &'a Call, per_second: i64) -> Out<'a> {
    Ok(Value::Int(call.time(scene, 0)?.unix(per_second)))
}

pub(super) fn unix_seconds<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    since(scene, call, 1)
}

pub(super) fn unix_milli<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    since(scene, call, 1_000)
}

pub(super) fn unix_micro<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    since(scene, call, 1_000_000)
}

pub(super) fn unix_nano<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    since(scene, call, 1_000_000_000)
}

pub(super) fn truncate<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let (time, duration) = (call.time(scene, 0)?, call.duration(scene, 1)?);
    Ok(Value::Time(time.truncate(duration)))
}

pub(super) fn prepare_format(call: &mut Call) -> Result<(), String> {
    let format = call.literal_str(1).unwrap_or_default();
    call.prepared = Prepared::Layout(Box::new(Layout::of(format)?));
    Ok(())
}

pub(super) fn prepare_parse(call: &mut Call) -> Result<(), String> {
    match call.literal_str(3) {
        None => {}
        Some(locale) if locale == "en" || locale.starts_with("en-") => {}
        Some(_) => return Err("only English names of months and days are read".into()),
    }
    let format = call.literal_str(1).unwrap_or_default();
    let layout = Layout::of(format)?.into_reader(call.literal_str(2))?;
    call.prepared = Prepared::Layout(Box::new(layout));
    Ok(())
}

fn layout(call: &Call) -> Result<&Layout, EvalError> {
    match &call.prepared {
        Prepared::Layout(layout) => Ok(layout),
        _ => Err(EvalError::Invalid("a time format is missing")),
    }
}

pub(super) fn format<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let time = call.time(scene, 0)?;
    Ok(Value::text(layout(call)?.format(&time)))
}

pub(super) fn parse<'a>(scene: &Scene<'a>, call: &'a Call) -> Out<'a> {
    let text = call.text(scene, 0)?;
    let time = layout(call)?.parse(&text);
    time.map(Value::Time)
        .ok_or(EvalError::Invalid("a text is no time of this format"))
}
