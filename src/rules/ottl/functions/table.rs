//! The table of functions, in the order of the Collector's own list.

use super::super::paths::Context;
use super::Kind::{
    Any, BoolLike, BytesLike, Double, DoubleLike, Duration, Int, IntLike, Lambda, List,
    LiteralBool, LiteralText, LiteralTexts, Map, Text, TextLike, TextLikes, Texts, Time, Values,
};
use super::{
    Body, Function, Kind, Parameter, Prepare, Run, case, csv, decode, duration, format, hashes,
    identity, kinds, lambdas, lists, network, parse, patterns, severity, sort, texts, times, url,
};

const CLOCK: &str = "it reads the clock, and a decision is a function of the trace alone";
const RANDOM: &str = "it is random, and a decision is a function of the trace alone";
const XML: &str = "XML is not parsed by conditions here";
const AGENTS: &str = "the table of user agents that it needs is not part of this program";
const GROK: &str =
    "the library of grok patterns that it needs is not part of this program; use ExtractPatterns";

const fn need(name: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        kind,
        optional: false,
    }
}

const fn may(name: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        kind,
        optional: true,
    }
}

const fn ready(_: &mut super::Call) -> Result<(), String> {
    Ok(())
}

const fn done(name: &'static str, parameters: &'static [Parameter], run: Run) -> Function {
    checked(name, parameters, ready, run)
}

const fn checked(
    name: &'static str,
    parameters: &'static [Parameter],
    prepare: Prepare,
    run: Run,
) -> Function {
    Function {
        name,
        parameters,
        context: None,
        body: Body::Done(prepare, run),
    }
}

const fn refused(name: &'static str, reason: &'static str) -> Function {
    Function {
        name,
        parameters: &[],
        context: None,
        body: Body::Refused(reason),
    }
}

const TEXT: &[Parameter] = &[need("Target", Text)];
const TEXT_LIKE: &[Parameter] = &[need("Target", TextLike)];
const BYTES_LIKE: &[Parameter] = &[need("Target", BytesLike)];
const ANY: &[Parameter] = &[need("Target", Any)];
const MAP: &[Parameter] = &[need("Target", Map)];
const TIME: &[Parameter] = &[need("Time", Time)];
const DURATION: &[Parameter] = &[need("Duration", Duration)];
const PREDICATE: &[Parameter] = &[need("Source", Any), need("Predicate", Lambda(2))];
const TARGET_PATTERN: &[Parameter] = &[need("Target", Text), need("Pattern", Text)];
const COMMUNITY: &[Parameter] = &[
    need("SourceIP", Text),
    need("SourcePort", Int),
    need("DestinationIP", Text),
    need("DestinationPort", Int),
    may("Protocol", Text),
    may("Seed", Int),
];
const CSV: &[Parameter] = &[
    need("Target", Text),
    need("Header", Text),
    may("Delimiter", LiteralText),
    may("HeaderDelimiter", LiteralText),
    may("Mode", LiteralText),
];
const KEY_VALUE: &[Parameter] = &[
    need("Target", Text),
    may("Delimiter", LiteralText),
    may("PairDelimiter", LiteralText),
];
const TO_KEY_VALUE: &[Parameter] = &[
    need("Target", Map),
    may("Delimiter", LiteralText),
    may("PairDelimiter", LiteralText),
    may("SortOutput", LiteralBool),
];
const SLICE_TO_MAP: &[Parameter] = &[
    need("Target", List),
    may("KeyPath", LiteralTexts),
    may("ValuePath", LiteralTexts),
];
const SUBSTRING: &[Parameter] = &[
    need("Target", Text),
    need("Start", Int),
    need("Length", Int),
    may("Utf8Safe", LiteralBool),
];
const TIME_OF: &[Parameter] = &[
    need("Time", Text),
    need("Format", LiteralText),
    may("Location", LiteralText),
    may("Locale", LiteralText),
];
const WHEN: &[Parameter] = &[
    need("Condition", Lambda(0)),
    need("TrueValue", Any),
    need("FalseValue", Any),
];
const IS_ROOT: Function = Function {
    name: "IsRootSpan",
    parameters: &[],
    context: Some(Context::Span),
    body: Body::Done(ready, identity::is_root),
};

/// All of them.
pub(in super::super) static FUNCTIONS: &[Function] = &[
    done("All", PREDICATE, lambdas::all),
    done("Any", PREDICATE, lambdas::any),
    done(
        "Base64Encode",
        &[need("Target", Text), may("Variant", Text)],
        decode::base64_encode,
    ),
    done("Bool", &[need("Target", BoolLike)], kinds::bool),
    checked(
        "Decode",
        &[need("Target", Any), need("Encoding", Text)],
        decode::prepare,
        decode::decode,
    ),
    checked(
        "Coalesce",
        &[need("Values", Values)],
        lists::prepare_coalesce,
        lists::coalesce,
    ),
    done("CommunityID", COMMUNITY, network::community_id),
    done(
        "Concat",
        &[need("Vals", TextLikes), need("Delimiter", Text)],
        texts::concat,
    ),
    done(
        "ContainsValue",
        &[need("Target", List), need("Item", Any)],
        lists::contains,
    ),
    checked(
        "ConvertCase",
        &[need("Target", Text), need("ToCase", LiteralText)],
        case::prepare,
        case::convert,
    ),
    refused("ConvertAttributesToElementsXML", XML),
    refused("ConvertTextToElementsXML", XML),
    done("Day", TIME, times::day),
    done("Double", &[need("Target", DoubleLike)], kinds::double),
    done("Duration", &[need("Duration", Text)], duration::duration),
    checked(
        "ExtractPatterns",
        TARGET_PATTERN,
        patterns::prepare,
        patterns::extract,
    ),
    refused("ExtractGrokPatterns", GROK),
    done("Filter", PREDICATE, lambdas::filter),
    done(
        "Find",
        &[
            need("Source", Any),
            need("Predicate", Lambda(2)),
            may("Mapper", Lambda(2)),
        ],
        lambdas::find,
    ),
    done("FNV", TEXT, hashes::fnv),
    refused("GetXML", XML),
    done(
        "HasPrefix",
        &[need("Target", Text), need("Prefix", Text)],
        texts::has_prefix,
    ),
    done(
        "HasSuffix",
        &[need("Target", Text), need("Suffix", Text)],
        texts::has_suffix,
    ),
    done("Hour", TIME, times::hour),
    done("Hours", DURATION, duration::hours),
    done(
        "Index",
        &[need("Target", Any), need("Value", Any)],
        lists::index,
    ),
    refused("InsertXML", XML),
    done("Int", &[need("Target", IntLike)], kinds::int),
    done("IsBool", &[need("Target", Kind::Bool)], kinds::is_bool),
    done("IsDouble", &[need("Target", Double)], kinds::is_double),
    done("IsEmpty", ANY, kinds::is_empty),
    done("IsList", ANY, kinds::is_list),
    done("IsInt", &[need("Target", Int)], kinds::is_int),
    done("IsMap", MAP, kinds::is_map),
    checked(
        "IsMatch",
        &[need("Target", TextLike), need("Pattern", Text)],
        patterns::prepare,
        patterns::is_match,
    ),
    done("IsString", TEXT, kinds::is_text),
    done("Len", ANY, kinds::len),
    done("Log", &[need("Target", DoubleLike)], kinds::log),
    done("IsValidLuhn", TEXT_LIKE, texts::luhn),
    done(
        "MapEach",
        &[need("Source", Any), need("Mapper", Lambda(2))],
        lambdas::map_each,
    ),
    done(
        "MapKeys",
        &[need("Source", Map), need("KeyMapper", Lambda(2))],
        lambdas::map_keys,
    ),
    done("MD5", TEXT, hashes::md5),
    done("Microseconds", DURATION, duration::microseconds),
    done("Milliseconds", DURATION, duration::milliseconds),
    done("Minute", TIME, times::minute),
    done("Minutes", DURATION, duration::minutes),
    done("Month", TIME, times::month),
    done("Murmur3Hash", TEXT, hashes::murmur3),
    done("Murmur3Hash128", TEXT, hashes::murmur3_128),
    done("Nanosecond", TIME, times::nanosecond),
    done("Nanoseconds", DURATION, duration::nanoseconds),
    refused("Now", CLOCK),
    checked("ParseCSV", CSV, csv::prepare, csv::parse),
    done("ParseJSON", TEXT, parse::json),
    checked(
        "ParseKeyValue",
        KEY_VALUE,
        parse::prepare_pairs,
        parse::key_value,
    ),
    refused("ParseSimplifiedXML", XML),
    refused("ParseXML", XML),
    done(
        "Reduce",
        &[
            need("Source", Any),
            need("Seed", Any),
            need("Accumulator", Lambda(3)),
        ],
        lambdas::reduce,
    ),
    refused("RemoveXML", XML),
    done("Second", TIME, times::second),
    done("Seconds", DURATION, duration::seconds),
    done("SHA1", TEXT, hashes::sha1),
    done("SHA256", TEXT, hashes::sha256),
    done("SHA512", TEXT, hashes::sha512),
    checked(
        "Sort",
        &[need("Target", Any), may("Order", LiteralText)],
        sort::prepare,
        sort::sort,
    ),
    checked("SpanID", BYTES_LIKE, identity::prepare_span, identity::span),
    done(
        "Split",
        &[need("Target", Text), need("Delimiter", Text)],
        texts::split,
    ),
    done(
        "Format",
        &[need("Format", LiteralText), need("Vals", Values)],
        format::format,
    ),
    done("String", TEXT_LIKE, kinds::text),
    done("Substring", SUBSTRING, texts::substring),
    checked("Time", TIME_OF, times::prepare_parse, times::parse),
    checked(
        "FormatTime",
        &[need("Time", Time), need("Format", LiteralText)],
        times::prepare_format,
        times::format,
    ),
    done(
        "Trim",
        &[need("Target", Text), may("Replacement", LiteralText)],
        texts::trim,
    ),
    done(
        "TrimPrefix",
        &[need("Target", Text), need("Prefix", Text)],
        texts::trim_prefix,
    ),
    done(
        "TrimSuffix",
        &[need("Target", Text), need("Suffix", Text)],
        texts::trim_suffix,
    ),
    checked(
        "ToKeyValueString",
        TO_KEY_VALUE,
        parse::prepare_pairs,
        parse::to_key_value,
    ),
    done("ToCamelCase", TEXT, case::to_camel),
    done("ToLowerCase", TEXT, case::to_lower),
    done("ToSnakeCase", TEXT, case::to_snake),
    done("ToUpperCase", TEXT, case::to_upper),
    done(
        "TruncateTime",
        &[need("Time", Time), need("Duration", Duration)],
        times::truncate,
    ),
    checked(
        "TraceID",
        BYTES_LIKE,
        identity::prepare_trace,
        identity::trace,
    ),
    done(
        "Unix",
        &[need("Seconds", Int), may("Nanoseconds", Int)],
        times::unix,
    ),
    done("UnixMicro", TIME, times::unix_micro),
    done("UnixMilli", TIME, times::unix_milli),
    done("UnixNano", TIME, times::unix_nano),
    done("UnixSeconds", TIME, times::unix_seconds),
    refused("UUID", RANDOM),
    refused("UUIDv7", RANDOM),
    done("URL", &[need("URI", Text)], url::url),
    done("Values", MAP, lists::values),
    done("Weekday", TIME, times::weekday),
    done("When", WHEN, lambdas::when),
    refused("UserAgent", AGENTS),
    done("Year", TIME, times::year),
    done("Hex", BYTES_LIKE, texts::hex_of),
    done("SliceToMap", SLICE_TO_MAP, lists::slice_to_map),
    checked(
        "ParseSeverity",
        &[need("Target", Any), need("Mapping", Map)],
        severity::prepare,
        severity::parse,
    ),
    checked(
        "ProfileID",
        BYTES_LIKE,
        identity::prepare_profile,
        identity::profile,
    ),
    done(
        "ParseInt",
        &[need("Target", Text), need("Base", Int)],
        parse::int,
    ),
    done("Keys", MAP, lists::keys),
    done("XXH3", TEXT, hashes::xxh3),
    done("XXH128", TEXT, hashes::xxh128),
    checked(
        "IsInCIDR",
        &[need("Target", Text), need("Networks", Texts)],
        network::prepare_networks,
        network::is_in_cidr,
    ),
    IS_ROOT,
];
