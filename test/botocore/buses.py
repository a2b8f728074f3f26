"""Both kinds of event bus on loopback, checked against AWS's models of them, which botocore has. Prints its address.

Each call is compared with its model (types, lengths, patterns, required and unknown members), and its signature is computed
again (secret key "secret"); what is wrong with a call is listed under "wrong", and the call is refused.
Within five minutes the custom bus answers a repeated deduplication ID of a group with DEDUPLICATED.

POST /control {"faults": [{"bus": "custom" or "classic", "kind": KIND, "times": N, "entries": [INDEX]}], "reset": true}
answers with what was seen. KIND: throttle, 500, denied; entry (only these entries fail); reset (the connection, before
anything is accepted); accept-reset (everything is accepted, and the answer is lost)."""

import datetime
import json
import re
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import botocore.session
import cbor2
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

session = botocore.session.get_session()
MODELS = {"custom": session.get_service_model("eventbridgev2"), "classic": session.get_service_model("events")}
DEDUPLICATED_FOR_S = 300
REFUSALS = {
    "throttle": (400, "ThrottlingException"),
    "500": (500, "InternalException"),
    "denied": (400, "AccessDeniedException"),
}
lock = threading.Lock()
state = {"accepted": [], "deduplicated": [], "wrong": [], "calls": [], "faults": [], "seen": {}}


def size_issues(shape, length, path):
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and length < int(least):
        yield f"{path}: {length}, at least {least}"
    if most is not None and length > int(most):
        yield f"{path}: {length}, at most {most}"


def issues(shape, value, path=""):
    """What the value has that the model does not allow."""
    kind = shape.type_name
    expected = {"structure": dict, "list": list, "string": str, "integer": int, "long": int}
    if kind == "timestamp":
        expected[kind] = (datetime.datetime, int, float)
    if not isinstance(value, expected.get(kind, object)):
        yield f"{path}: {kind} is expected, not {type(value).__name__}"
    elif kind == "structure":
        yield from (f"{path}.{name}: unknown member" for name in value if name not in shape.members)
        yield from (f"{path}.{name}: required" for name in shape.required_members if value.get(name) is None)
        for name, member in shape.members.items():
            if value.get(name) is not None:
                yield from issues(member, value[name], f"{path}.{name}")
    elif kind == "list":
        yield from size_issues(shape, len(value), path)
        for index, one in enumerate(value):
            yield from issues(shape.member, one, f"{path}[{index}]")
    elif kind == "string":
        yield from size_issues(shape, len(value), path)
        pattern = shape.metadata.get("pattern")
        if pattern and not re.fullmatch(pattern.strip("^$"), value, re.S):
            yield f"{path}: does not match {pattern[:60]}"


def signature_issues(handler, body):
    text = handler.headers.get("Authorization", "")
    form = r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
    match = re.fullmatch(form, text)
    if not match:
        return ["no signature"]
    key, region, service, names, given = match.groups()
    if service != "events" or "host" not in names.split(";"):
        return [f"signed for {service}, headers {names}"]
    request = AWSRequest(
        method=handler.command,
        url=f"http://{handler.headers['Host']}{handler.path}",
        data=body,
        headers={name: handler.headers.get(name, "") for name in names.split(";")},
    )
    request.context["timestamp"] = handler.headers.get("X-Amz-Date", "")
    auth = SigV4Auth(Credentials(key, "secret", handler.headers.get("X-Amz-Security-Token")), service, region)
    right = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return [] if given == right else ["the signature does not match"]


def result_of(bus, arn, entry):
    """Accepts an entry, or drops it as a repeat."""
    meta = entry.get("SystemMetadata") or {}
    group, repeat = meta.get("EventGroupId"), meta.get("DeduplicationId")
    known = state["seen"].get((group, repeat)) if repeat else None
    if known and time.time() - known[0] < DEDUPLICATED_FOR_S:
        state["deduplicated"].append(repeat)
        return {"EventId": known[1], "SuccessCode": "DEDUPLICATED"}
    event_id = str(uuid.uuid4())
    state["seen"][(group, repeat)] = (time.time(), event_id)
    seen = {"bus": bus, "arn": arn, "group": group, "type": entry["DetailType"], "detail": entry["Detail"]}
    state["accepted"].append(seen)
    return {"EventId": event_id, **({"SuccessCode": "PUBLISHED"} if bus == "custom" else {})}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments):
        pass

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def reply(self, bus, status, value):
        if bus == "custom":
            headers = {"Content-Type": "application/cbor", "smithy-protocol": "rpc-v2-cbor"}
            return self.answer(status, cbor2.dumps(value), headers)
        return self.answer(status, json.dumps(value).encode(), {"Content-Type": "application/x-amz-json-1.1"})

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(2)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/control":
            return self.control(json.loads(body))
        target = self.headers.get("X-Amz-Target")
        bus = "classic" if target else "custom"
        operation = target.split(".")[-1] if target else self.path.removeprefix("/service/AWSEventsV2/operation/")
        wrong = signature_issues(self, body)
        if bus == "custom" and self.headers.get("smithy-protocol") != "rpc-v2-cbor":
            wrong.append("the header smithy-protocol is not rpc-v2-cbor")
        given = cbor2.loads(body) if bus == "custom" else json.loads(body)
        if operation != "PutEvents":
            wrong.append(f"no operation {operation} here")
        else:
            wrong += issues(MODELS[bus].operation_model(operation).input_shape, given)
        with lock:
            state["calls"].append({"bus": bus, "entries": len(given.get("Entries", []))})
            fault = next((one for one in state["faults"] if one["times"] > 0 and one["bus"] == bus), {})
            state["wrong"] += wrong
            kind = None if wrong else fault.get("kind")
            if kind:
                fault["times"] -= 1
            status, name = (400, "InvalidInputException") if wrong else REFUSALS.get(kind, (200, ""))
            if name:
                text = "; ".join(wrong)[:500] or "as asked for"
                return self.reply(bus, status, {"__type": f"com.amazonaws.events#{name}", "message": text})
            if kind == "reset":
                return self.hang_up()
            results = [
                {"ErrorCode": "InternalException", "ErrorMessage": "this entry alone"}
                if kind == "entry" and index in fault.get("entries", [index])
                else result_of(bus, given.get("EventBusArn") or entry.get("EventBusName"), entry)
                for index, entry in enumerate(given["Entries"])
            ]
        if kind == "accept-reset":
            return self.hang_up()
        failed = sum("ErrorCode" in result for result in results)
        # The custom bus may leave the count out when all went well.
        count = {"FailedEntryCount": failed} if failed or bus == "classic" else {}
        return self.reply(bus, 200, {"Entries": results, **count})

    def control(self, wish):
        with lock:
            if wish.get("reset"):
                state.update(accepted=[], deduplicated=[], wrong=[], calls=[], faults=[], seen={})
            state["faults"] += wish.get("faults", [])
            body = json.dumps({name: value for name, value in state.items() if name != "seen"}).encode()
        self.answer(200, body, {"Content-Type": "application/json"})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
