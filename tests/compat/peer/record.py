#!/usr/bin/env python3
"""Plays cases through a program in real time, as its senders and its backend, and writes or checks what comes of them.

    record.py record --engine PROGRAM CASES ANSWERS            writes ANSWERS/NAME.json for each CASES/NAME.json
    record.py check  --engine PROGRAM CASES ANSWERS...         compares; the first folder that has an answer counts

PROGRAM takes a Collector's command line. Formats: ../README.md. Python 3.11, nothing else.
"""
import argparse
import asyncio
import json
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import time

METRICS = "otelcol_processor_tail_sampling_"
FIRST_TICK = METRICS + "sampling_decision_timer_latency"
START = 20.0  # seconds until a program must answer
UNCOUNTED = 3.0  # seconds after its first page without a counted tick: then whole seconds of the clock are its ticks
STOP = 6.0  # seconds from SIGTERM until it is killed
LATE = 0.1  # a tick is seen this much after it was, at most


class Backend:
    """Takes OTLP JSON over HTTP and notes when each request came."""

    def __init__(self):
        self.came = []

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 26)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b"{}"
                self.came.append((time.monotonic(), body))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def ask(port, method, path, body=b"", limit=10.0):
    """One HTTP exchange: (status, text), or (name of the error, "")."""
    try:
        async with asyncio.timeout(limit):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
            try:
                head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
                head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
                answer = await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.TimeoutError) as error:
        return type(error).__name__, ""
    head, _, text = answer.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    if len(words) < 2:
        return "NoAnswer", ""
    if b"transfer-encoding: chunked" in head.lower():
        text = unchunk(text)
    return int(words[1]), text.decode(errors="replace")


def unchunk(text):
    whole = b""
    while text:
        size, _, text = text.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16)
        if not length:
            break
        whole, text = whole + text[:length], text[length + 2:]
    return whole


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def config(case, incoming, outgoing, metrics):
    processor = case.get("component", "tail_sampling")
    reader = {"pull": {"exporter": {"prometheus": {"host": "127.0.0.1", "port": metrics}}}}
    around = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{incoming}"}}}},
        "exporters": {"otlp_http": {
            "endpoint": f"http://127.0.0.1:{outgoing}", "encoding": "json", "compression": "none",
            "sending_queue": {"enabled": False}, "retry_on_failure": {"enabled": False}}},
        "service": {
            "telemetry": {"logs": {"level": "warn"}, "metrics": {"readers": [reader]}},
            "pipelines": {"traces": {
                "receivers": ["otlp"], "processors": [processor], "exporters": ["otlp_http"]}}},
    }
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in around.items())
    if "tail_sampling_yaml" not in case:
        return text + f"processors:\n  {processor}: {json.dumps(case['tail_sampling'])}\n"
    block = "".join(f"    {line}\n" for line in case["tail_sampling_yaml"].splitlines())
    return text + f"processors:\n  {processor}:\n{block}"


def counters(page):
    """Series by name and sorted labels; histograms by count, real time left out."""
    found = {}
    for line in page.splitlines():
        match = re.fullmatch(METRICS + r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if not match or re.search(r"_bucket$|_sum$|execution_time|timer_latency", match[1]):
            continue
        labels = sorted(re.findall(r'\w+="[^"]*"', match[2] or ""))
        labels = [label for label in labels if not label.startswith("otel_scope")]
        found[match[1] + (f"{{{','.join(labels)}}}" if labels else "")] = int(float(match[3]))
    return found


def votes(before, after):
    """What each policy said between two scrapes; asked and nothing said is an error."""
    said = {}
    for series, value in after.items():
        grown = value - before.get(series, 0)
        policy = re.search(r'policy="([^"]*)"', series)
        decision = re.search(r'decision="(\w+)"', series)
        if grown and policy and decision and series.startswith("count_traces_sampled{"):
            said.setdefault(policy[1], {})[decision[1]] = grown
    for series, value in after.items():
        policy = re.search(r'policy="([^"]*)"', series)
        if policy and series.startswith("sampling_policy_execution_count{"):
            errors = value - before.get(series, 0) - sum(said.get(policy[1], {}).values())
            if errors:
                said.setdefault(policy[1], {})["error"] = errors
    return dict(sorted(said.items()))


def text_of(output):
    """What a program that did not start said is wrong."""
    for line in output.splitlines():
        if line.startswith("panic:") or "runtime error" in line:
            return re.sub(r"0x[0-9a-f]+", "0x…", line.strip())
    text = output.rpartition("Error: ")[2]
    return re.split(r"\n\d{4}/\d\d/\d\d |\nended with an error: ", text)[0].strip()


def body_of(step, folder):
    if "send" in step:
        return step["send"]
    spans = [{
        "traceId": id, "spanId": id[16:] if int(id[16:], 16) else "0" * 15 + "1", "name": "bare", "kind": 1,
        "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000001000000",
    } for id in (folder / step["bare_traces"]).read_text().split()]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}


def arrivals(came, zero):
    """Trace id -> kept, spans, out: see README.md."""
    traces = {}
    for moment, body in came:
        parts = {}
        for resource in json.loads(body).get("resourceSpans", []):
            for scope in resource.get("scopeSpans", []):
                marks = {a["key"]: list(a["value"].values())[0] for a in scope.get("scope", {}).get("attributes", [])
                         if a.get("key", "").startswith("tailsampling.")}
                urls = [resource.get("schemaUrl", ""), scope.get("schemaUrl", "")]
                for span in scope.get("spans", []):
                    note(parts, span, marks, urls)
        for trace, part in parts.items():
            entry = traces.setdefault(trace, {"kept": True, "spans": [], "out": []})
            entry["spans"] += part["spans"]
            urls = part.pop("urls")
            if len(urls) > 1:
                part["allSchemaUrls"] = sorted(list(pair) for pair in urls)
            entry["out"].append({"at": int(moment - zero + LATE), **part})
    return traces


def note(parts, span, marks, urls):
    state, id = span.get("traceState", ""), span.get("spanId", "")
    part = parts.get(span.get("traceId") or "0" * 32)
    if part is None:
        part = parts[span.get("traceId") or "0" * 32] = {"spans": []}
        if state:
            part["traceState"] = state
        if marks:
            part["scope"] = marks
        if any(urls):
            part["schemaUrls"] = urls
    else:
        if state != part.get("traceState", ""):
            part.setdefault("traceStates", {})[id] = state
        if marks != part.get("scope", {}):
            part.setdefault("scopes", {})[id] = marks
    part["spans"].append(id)
    part.setdefault("urls", set()).add(tuple(urls) if any(urls) else ())


class Run:
    """One case, one process."""

    def __init__(self, engine, case, folder):
        self.engine, self.case, self.folder = engine, case, folder
        self.incoming, self.metrics = free_port(), free_port()
        self.failures = {}

    async def play(self):
        self.backend = Backend()
        await self.backend.start()
        with tempfile.TemporaryDirectory() as place:
            self.output = open(os.path.join(place, "output"), "w+")
            file = pathlib.Path(place, "config.yaml")
            file.write_text(config(self.case, self.incoming, self.backend.port, self.metrics))
            command = [self.engine, "--config", str(file)]
            if self.case.get("gates"):
                command.append("--feature-gates=" + ",".join(self.case["gates"]))
            self.process = await asyncio.create_subprocess_exec(*command, stdout=self.output, stderr=self.output)
            try:
                return {"case": self.case["name"], **await self.answer()}
            finally:
                if self.process.returncode is None:
                    self.process.kill()
                    await self.process.wait()
                self.output.close()
                self.backend.server.close()

    def said(self):
        self.output.flush()
        return pathlib.Path(self.output.name).read_text(errors="replace")

    async def first_tick(self):
        """The time of a tick; None when the program has ended."""
        begin, answers = time.monotonic(), None
        while time.monotonic() - begin < START:
            if self.process.returncode is not None:
                return None
            status, page = await ask(self.metrics, "GET", "/metrics", limit=2)
            if FIRST_TICK in page:
                return time.monotonic()
            if status == 200:
                answers = answers or time.monotonic()
                if time.monotonic() - answers > UNCOUNTED:
                    await asyncio.sleep(1 - time.time() % 1)
                    return time.monotonic()
            await asyncio.sleep(0.01)
        return None

    async def answer(self):
        zero = await self.first_tick()
        if zero is None:
            try:
                await asyncio.wait_for(self.process.wait(), STOP)
            except asyncio.TimeoutError:
                return {"outcome": "silent"}
            said = self.said()
            return {"outcome": "crashed" if "panic:" in said else "refused", "error": text_of(said)}
        answer, seen, senders = {"outcome": "ran"}, {}, []
        for number, step in enumerate(self.case["steps"]):
            await until(zero + step["at"])
            if self.process.returncode is not None:
                break
            if step.get("votes"):
                now = await self.scrape()
                answer.setdefault("votes", []).append(votes(seen, now))
                seen = now
            elif step.get("stop"):
                self.process.send_signal(signal.SIGTERM)
            else:
                senders.append(asyncio.create_task(self.send(number, step)))
                if not self.case.get("async_send"):
                    await senders[-1]
        await until(zero + self.case["end"])
        metrics = await self.scrape()
        before = len(self.backend.came)
        ended = self.process.returncode
        if not await self.stop():
            answer["stopped"] = "forced"
        await asyncio.gather(*senders)
        said = self.said()
        if ended or "panic:" in said:
            answer.update(outcome="crashed", error=text_of(said))
        traces = arrivals(self.backend.came, zero)
        for trace in self.case.get("traces", {}):
            traces.setdefault(trace, {"kept": False})
        if len(self.backend.came) > before:
            answer["released_at_shutdown"] = len(self.backend.came) - before
        if self.case.get("compact"):
            answer["kept"] = sorted(id for id, trace in traces.items() if trace["kept"])
        else:
            answer["traces"] = dict(sorted(traces.items()))
        if self.failures:
            answer["send_failures"] = dict(sorted(self.failures.items()))
        answer["metrics"] = metrics
        return answer

    async def send(self, number, step):
        body = json.dumps(body_of(step, self.folder)).encode()
        status, _ = await ask(self.incoming, "POST", "/v1/traces", body, self.case.get("send_timeout", 10))
        if status != 200:
            self.failures[str(number)] = status

    async def scrape(self):
        return counters((await ask(self.metrics, "GET", "/metrics", limit=5))[1])

    async def stop(self):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self.process.wait(), STOP)
            return True
        except asyncio.TimeoutError:
            return False


async def until(moment):
    await asyncio.sleep(max(0.0, moment - time.monotonic()))


def differences(case, want, got):
    if want["outcome"] != got["outcome"]:
        yield f"outcome {got['outcome']}, want {want['outcome']}: {got.get('error', '')[:300]}"
        return
    if set(want.get("kept", [])) != set(got.get("kept", [])):
        yield f"kept: {len(set(want['kept']) ^ set(got.get('kept', [])))} traces differ"
    none = {"kept": False}
    for id in sorted({*want.get("traces", {}), *got.get("traces", {})} - set(case.get("unstable", []))):
        a, b = want.get("traces", {}).get(id, none), got.get("traces", {}).get(id, none)
        shape = lambda t: (t["kept"], sorted(t.get("spans", [])),
                           [{k: v for k, v in part.items() if k != "spans"} for part in t.get("out", [])])
        if shape(a) != shape(b):
            yield f"{id} ({case.get('traces', {}).get(id, '?')}): {shape(b)}, want {shape(a)}"
    if want.get("votes", []) != got.get("votes", []):
        yield f"votes: {got.get('votes')}, want {want.get('votes')}"
    for name in sorted({*want.get("metrics", {}), *got.get("metrics", {})}):
        a, b = want.get("metrics", {}).get(name), got.get("metrics", {}).get(name)
        if a != b and name.split("{")[0] not in case.get("unstable_metrics", []):
            yield f"metric {name}: {b}, want {a}"
    if set(want.get("send_failures", {})) != set(got.get("send_failures", {})):
        yield f"failed sends: {got.get('send_failures')}, want {want.get('send_failures')}"


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "check"])
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("answers", type=pathlib.Path, nargs="+")
    parser.add_argument("--engine", required=True)
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--only", default="", help="names of cases: a regular expression")
    arguments = parser.parse_args()
    files = sorted(file for file in arguments.cases.glob("*.json") if re.search(arguments.only, file.stem))
    gate = asyncio.Semaphore(arguments.jobs)

    async def one(file):
        case = json.loads(file.read_text())
        async with gate:
            got = await Run(arguments.engine, case, arguments.cases).play()
        if arguments.action == "record":
            arguments.answers[0].mkdir(parents=True, exist_ok=True)
            text = json.dumps(got, ensure_ascii=False, separators=(",", ":"))
            (arguments.answers[0] / file.name).write_text(text + "\n")
            return file.stem, []
        folders = [folder / file.name for folder in arguments.answers]
        want = json.loads(next(answer for answer in folders if answer.exists()).read_text())
        return file.stem, list(differences(case, want, got))

    begin, bad = time.monotonic(), 0
    for job in asyncio.as_completed([one(file) for file in files]):
        name, found = await job
        bad += bool(found)
        if found:
            print(f"{name} differs", *found, sep="\n    ", flush=True)
    print(f"{len(files)} cases, {bad} differ, {time.monotonic() - begin:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
