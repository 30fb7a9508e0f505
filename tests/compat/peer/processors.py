#!/usr/bin/env python3
"""Plays the processors' cases through the real Collector: processors.py record|check ENGINE

`tests/data/processors/cases.json` holds requests by name, and cases, each with processors in their order and the name of a
request. `answers.json` beside it is written, or compared with: for each case what the Collector sent on, `null` when that
was nothing, or `"refused"` when the sender got an error. All cases run as pipelines of one process. Python 3.11, nothing
else.
"""
import asyncio
import json
import pathlib
import re
import sys
import tempfile

from record import ask, free_port

SHORT = (",", ":")
HERE = pathlib.Path(__file__).parent
FOLDER = HERE.parent.parent / "data" / "processors"


class Backend:
    """Takes OTLP JSON over HTTP; what came stands under the first part of its path."""

    def __init__(self):
        self.came = {}

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 26)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b"{}"
                self.came[head.split()[1].decode().split("/")[1]] = json.loads(body)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def config(cases, ports, backend):
    out = {"receivers": {}, "processors": {}, "exporters": {},
           "service": {"telemetry": {"logs": {"level": "error"}, "metrics": {"level": "none"}}, "pipelines": {}}}
    for case, port in zip(cases, ports):
        name = case["name"]
        ids = []
        for number, (kind, block) in enumerate(case["processors"]):
            ids.append(f"{kind}/{name}-{number}")
            out["processors"][ids[-1]] = block
        out["receivers"][f"otlp/{name}"] = {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}
        out["exporters"][f"otlp_http/{name}"] = {
            "endpoint": f"http://127.0.0.1:{backend}/{name}", "encoding": "json", "compression": "none",
            "sending_queue": {"enabled": False}, "retry_on_failure": {"enabled": False}}
        out["service"]["pipelines"][f"traces/{name}"] = {
            "receivers": [f"otlp/{name}"], "processors": ids, "exporters": [f"otlp_http/{name}"]}
    return out


async def main(mode, engine):
    file = json.loads((FOLDER / "cases.json").read_text())
    requests, cases = file["requests"], file["cases"]
    backend = Backend()
    await backend.start()
    ports = []
    while len(ports) < len(cases):
        port = free_port()
        if port not in ports:
            ports.append(port)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as written, tempfile.TemporaryFile() as said:
        json.dump(config(cases, ports, backend.port), written)
        written.flush()
        process = await asyncio.create_subprocess_exec(engine, "--config", written.name, stdout=said, stderr=said)
        try:
            answers = {}
            for case, port in zip(cases, ports):
                body = json.dumps(requests[case["request"]]).encode()
                for _ in range(200):
                    status, _ = await ask(port, "POST", "/v1/traces", body)
                    if isinstance(status, int):
                        break
                    if process.returncode is not None:
                        said.seek(0)
                        sys.exit(f"the Collector did not start: {said.read().decode(errors='replace')}")
                    await asyncio.sleep(0.1)
                answers[case["name"]] = backend.came.get(case["name"]) if status == 200 else "refused"
        finally:
            process.terminate()
            await process.wait()
    if mode == "check":
        recorded = json.loads((FOLDER / "answers.json").read_text())
        differ = [name for name, answer in answers.items() if recorded.get(name) != answer]
        print(f"{len(answers)} answers, {len(differ)} differ", *differ)
        return len(differ) > 0
    text = ",\n".join(f" {json.dumps(name)}: {json.dumps(answer, separators=SHORT)}" for name, answer in answers.items())
    (FOLDER / "answers.json").write_text("{\n" + text + "\n}\n")
    print(f"{len(answers)} answers")
    return False


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
