#!/usr/bin/env python3
"""Writes random cases: generate.py FOLDER [--configs 200] [--traces 100] [--seed 1]

The same seed gives the same cases. Each is a `tail_sampling` block of some policies and traces that come in several
requests, some of their spans late. No case depends on the order within a tick: policies with budgets get traces that
have a tick each. Python 3.11, nothing else.
"""
import argparse
import json
import pathlib
import random

BASE = 1_700_000_000_000_000_000
MS = 1_000_000
GATE = "processor.tailsamplingprocessor."
KEYS = ["a", "b", "n", "flag", "http.status", "empty", ""]
WORDS = ["x", "y", "X", "", "health", "/health/x", "404", "true", "é"]
REGEXES = ["x", "^x$", ".*", "^$", "(?i)HEALTH", "h.a", "[0-9]+", "val*", "x|y", "\\bx", "é"]
STATES = ["", "k=v", "a=b,k=v", "k=V", "k=v,,a=b", "k=v,k=w", "K=v", "k =v", "t1@sys=v,k=v", "ot=th:8", "ot=th:c000",
          "ot=rv:ffffffffffffff", "ot=rv:00000000000000", "ot=rv:80000000000000;th:4", "x=y,ot=th:8", "ot=th:xyz",
          "ot=zz:1", "k=v=w", " k=v ", "k=v,"]
CONDITIONS = {
    "span": [
        'attributes["a"] == "x"', 'attributes["a"] != "x"', 'attributes["n"] > 5', 'attributes["n"] == 404',
        'attributes["a"] == nil', 'status.code == STATUS_CODE_ERROR', 'IsRootSpan()', 'kind == SPAN_KIND_SERVER',
        'IsMatch(attributes["a"], "^h")', 'end_time - start_time > Duration("50ms")', 'name == "op"',
        'attributes["n"] + 1 == 6', 'Len(attributes["a"]) == 1', 'resource.attributes["a"] == "x"',
        'attributes["flag"] == true', 'flags == 1', 'trace_state["k"] == "v"', 'Int(attributes["a"]) == 404',
        'attributes["n"] > 5 and status.code == 2 or attributes["a"] == "y"', 'not IsString(attributes["n"])',
        'parent_span_id == SpanID(0x0000000000000000)', 'scope.name == "lib"', 'ParseJSON(attributes["a"])["k"] == 1',
    ],
    "spanevent": [
        'name == "exception"', 'attributes["a"] == "x"', 'span.attributes["a"] == "x"', 'time_unix_nano > 0',
        'attributes["n"] > 5', 'Len(attributes["a"]) == 1',
    ],
}


def percent(r):
    return r.choice([0, 0.1, 1, 10, 25, 33.3, 50, 66.6, 75, 90, 99.9, 100, 150, -1])


class Config:
    """One block. `r` is the only source of chance."""

    def __init__(self, r):
        self.r, self.names = r, 0

    def leaf(self, kinds):
        r, kind = self.r, self.r.choice(kinds)
        maybe = lambda **keys: {k: v for k, v in keys.items() if r.random() < 0.6}
        match kind:
            case "latency":
                block = {"threshold_ms": r.choice([-10, 0, 1, 50, 1000])}
                if r.random() < 0.4:
                    block["upper_threshold_ms"] = r.choice([50, 200, 1000, 2000])
            case "numeric_attribute":
                low = r.choice([-5, 1, 400, 404])
                block = {"key": r.choice(KEYS), "min_value": low, **maybe(max_value=low + r.choice([1, 10, 99])),
                         **maybe(invert_match=r.random() < 0.5)}
            case "string_attribute":
                expressions = r.random() < 0.5
                values = r.sample(REGEXES if expressions else WORDS, r.randint(0, 3))
                block = {"key": r.choice(KEYS), "values": values, "enabled_regex_matching": expressions,
                         **maybe(invert_match=r.random() < 0.5), **maybe(cache_max_size=r.choice([0, 1, 10]))}
            case "boolean_attribute":
                block = {"key": r.choice(KEYS), **maybe(value=r.random() < 0.5), **maybe(invert_match=True)}
            case "status_code":
                block = {"status_codes": r.sample(["OK", "ERROR", "UNSET"], r.randint(1, 2))}
            case "span_count":
                block = {"min_spans": r.randint(0, 4), **maybe(max_spans=r.randint(0, 5))}
            case "trace_state":
                block = {"key": r.choice(["k", "a", "ot"]), "values": r.sample(["v", "V", "b", ""], 2)}
            case "probabilistic":
                block = {"sampling_percentage": percent(r), **maybe(hash_salt=r.choice(["", "s", "default-hash-seed"]))}
            case "ottl_condition":
                block = {where: r.sample(CONDITIONS[where], r.randint(1, 2))
                         for where in r.choice([["span"], ["span"], ["spanevent"], ["span", "spanevent"]])}
                if r.random() < 0.7:
                    block["error_mode"] = r.choice(["ignore", "silent", "propagate"])
            case "rate_limiting":
                block = {"spans_per_second": r.choice([0, 1, 3, 10]), **maybe(burst_capacity=r.choice([1, 4, 20]))}
            case "bytes_limiting":
                block = {"bytes_per_second": r.choice([100, 500]), **maybe(burst_capacity=r.choice([100, 600]))}
            case _:
                block = None
        return self.named(kind, block)

    def named(self, kind, block):
        self.names += 1
        return {"name": f"p{self.names}", "type": kind, **({kind: block} if block is not None else {})}

    def policy(self, kinds, budgets):
        r, chance = self.r, self.r.random()
        children = lambda kinds: [self.leaf(kinds) for _ in range(r.randint(0, 3))]
        if chance < 0.15:
            return self.named("and", {"and_sub_policy": self.with_not(children(kinds))})
        if chance < 0.25:
            return self.named("drop", {"drop_sub_policy": self.with_not(children(kinds))})
        if chance < 0.35:
            return self.named("not", {"not_sub_policy": self.leaf(kinds)})
        if chance < 0.5 and budgets:
            parts = [self.leaf(kinds) for _ in range(r.randint(1, 3))]
            shares = [{"policy": part["name"], "percent": r.choice([0, 30, 50, 80])} for part in parts[1:]]
            return self.named("composite", {"max_total_spans_per_second": r.choice([4, 10]), "rate_allocation": shares,
                                            "policy_order": [part["name"] for part in parts],
                                            "composite_sub_policy": parts})
        return self.leaf(kinds)

    def with_not(self, children):
        if children and self.r.random() < 0.3:
            children[0] = self.named("not", {"not_sub_policy": children[0]})
        return children

    def block(self, budgets):
        r = self.r
        kinds = ["always_sample", "latency", "numeric_attribute", "string_attribute", "boolean_attribute",
                 "status_code", "span_count", "trace_state", "trace_flags", "probabilistic", "ottl_condition"]
        ingest = not budgets and r.random() < 0.15
        if ingest:
            kinds = [kind for kind in kinds if kind not in ("latency", "span_count")]
        if budgets:
            kinds += ["rate_limiting", "bytes_limiting"] * 2
        block = {"decision_wait": "1s", "policies": [self.policy(kinds, budgets) for _ in range(r.randint(1, 5))]}
        if ingest:
            block["sampling_strategy"] = "span-ingest"
        if r.random() < 0.3:
            block["sample_on_first_match"] = True
        if r.random() < 0.4:
            block["decision_cache"] = {key: r.choice([0, 1000]) for key in ("sampled_cache_size", "non_sampled_cache_size")}
        if r.random() < 0.2:
            block["maximum_trace_size_bytes"] = r.choice([150, 300, 1000])
        if r.random() < 0.2:
            block["decision_wait"], block["decision_wait_after_root_received"] = "3s", "1s"
        if r.random() < 0.1:
            block["drop_pending_traces_on_shutdown"] = True
        if r.random() < 0.2:
            block["num_traces"] = r.choice([1, 20, 60])
        if r.random() < 0.15:
            block["num_shards"] = r.choice([2, 4])
        return block


def value(r):
    return r.choice([
        *({"stringValue": word} for word in WORDS), {"intValue": str(r.choice([0, 1, 5, 9, 404, -3]))},
        {"doubleValue": r.choice([404.0, 5.5, 0.0])}, {"boolValue": r.random() < 0.5}, {}, {"bytesValue": "AAE="},
        {"arrayValue": {"values": [{"stringValue": "x"}]}}, {"kvlistValue": {"values": []}},
        {"stringValue": '{"k":1}'},
    ])


def attributes(r):
    return [{"key": key, "value": value(r)} for key in r.sample(KEYS, r.choice([0, 1, 1, 2, 3]))]


def span(r, trace, root, number, state):
    begin = BASE + r.choice([0, 0, 1, 10, 100, 2000]) * MS
    length = r.choice([0, 1, 1, 10, 49, 50, 51, 200, 1000, 1001, 1500]) * MS + r.choice([0, 0, 999_999, -1])
    made = {"traceId": trace, "spanId": f"{number + 1:016x}", "name": r.choice(["op", "call"]), "kind": r.randint(0, 5),
            "startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + length)}
    if not root:
        made["parentSpanId"] = "00000000000000aa"
    if r.random() < 0.7:
        made["attributes"] = attributes(r)
    if r.random() < 0.6:
        made["status"] = {"code": r.choice([0, 1, 2])}
    if state:
        made["traceState"] = state
    if r.random() < 0.3:
        made["flags"] = r.choice([0, 1, 0x100, 0x101])
    if r.random() < 0.4:
        made["events"] = [{"timeUnixNano": str(begin), "name": r.choice(["exception", "log"]), "attributes": attributes(r)}
                          for _ in range(r.randint(1, 2))]
    return made


def resource(r, spans):
    scope = {"name": r.choice(["", "lib"]), **({"attributes": attributes(r)} if r.random() < 0.2 else {})}
    made = {"resource": {"attributes": attributes(r)} if r.random() < 0.5 else {},
            "scopeSpans": [{"scope": scope, "spans": spans}]}
    if r.random() < 0.1:
        made["schemaUrl"] = "https://example.org/schema"
    return made


def traces(r, count, budgets):
    """Steps with all spans of `count` traces."""
    steps, labels = {}, {}
    for n in range(count):
        trace = f"{r.getrandbits(128):032x}"
        labels[trace] = str(n)
        state = r.choice(STATES) if r.random() < 0.4 else ""
        spans = [span(r, trace, i == 0 and r.random() < 0.8, i, state) for i in range(r.choice([1, 1, 2, 3, 4]))]
        first = n + 0.4 if budgets else r.choice([0.2, 0.35, 0.5])
        cut, half = r.randint(1, len(spans)), r.randint(0, len(spans))
        for part in (spans[:min(cut, half)], spans[min(cut, half):cut]):
            if part:
                steps.setdefault(first, []).append(resource(r, part))
        if cut < len(spans) and budgets:
            steps.setdefault(first + 0.2, []).append(resource(r, spans[cut:]))
        elif cut < len(spans):
            late = r.choice([0.6, 0.7, 1.5, 2.5, 3.5, 5.5])
            steps.setdefault(late, []).append(resource(r, spans[cut:]))
    return [{"at": at, "send": {"resourceSpans": blocks}} for at, blocks in sorted(steps.items())], labels


def case(seed, number, count):
    r = random.Random(f"{seed}/{number}")
    budgets = number % 10 == 9
    block = Config(r).block(budgets)
    count = min(count, 12) if budgets else count
    steps, labels = traces(r, count, budgets)
    gates = [GATE + gate for gate in ("recordpolicy", "usetracestate", "metricstatcountspanssampled",
                                      "metricstatcountbytessampled") if r.random() < 0.3]
    if budgets:
        gates = [gate for gate in gates if "usetracestate" not in gate]
    made = {"name": f"random-{seed}-{number:04}", "about": "random", "tail_sampling": block, "gates": gates,
            "end": steps[-1]["at"] + r.choice([3.2, 3.2, 0.1]), "steps": steps, "traces": labels}
    if block.get("num_shards"):
        # Each shard sets it for itself.
        made["unstable_metrics"] = ["sampling_traces_on_memory"]
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--configs", type=int, default=200)
    parser.add_argument("--traces", type=int, default=100)
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for number in range(arguments.configs):
        made = case(arguments.seed, number, arguments.traces)
        (arguments.folder / f"{made['name']}.json").write_text(json.dumps(made, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
