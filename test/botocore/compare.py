"""Reads calls to the Custom Event Bus from standard input, a JSON object {name, operation, input, method, path, headers, body}
a line, and compares each with the call that botocore makes for the same input: path, headers, decoded body, signature.
Prints a JSON object: the differences of each, by its name."""

import base64
import json
import re
import sys

import botocore.session
import cbor2
from botocore import xform_name
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.credentials import Credentials
from dateutil.parser import isoparse

SAME_HEADERS = ("smithy-protocol", "content-type", "accept")


def made_by_botocore(call):
    """The request of botocore's client for the input, which is not sent."""
    session = botocore.session.get_session()
    client = session.create_client(
        "eventbridgev2",
        region_name="eu-west-1",
        endpoint_url="http://" + call["headers"]["host"],
        aws_access_key_id="AKIA",
        aws_secret_access_key="secret",
    )
    seen = []

    def note(request, **_):
        seen.append(request)
        body = cbor2.dumps({})
        raw = type("Raw", (), {"stream": lambda self, *_a, **_k: iter([body]), "read": lambda self, *_a: body})()
        headers = {"content-type": "application/cbor", "smithy-protocol": "rpc-v2-cbor"}
        return AWSResponse(request.url, 200, headers, raw)

    client.meta.events.register(f"before-send.eventbridgev2.{call['operation']}", note)
    given = dict(call["input"])
    if "Entries" in given:
        given["Entries"] = [{**entry, "Time": isoparse(entry["Time"])} for entry in given["Entries"]]
    getattr(client, xform_name(call["operation"]))(**given)
    return seen[0]


def signature_of(call, body):
    """The signature that botocore gives to the call as it was made."""
    headers = call["headers"]
    pattern = r"Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$"
    key, region, service, names, given = re.search(pattern, headers["authorization"]).groups()
    signed = {name: headers[name] for name in names.split(";")}
    url = "http://" + headers["host"] + call["path"]
    request = AWSRequest(method=call["method"], url=url, data=body, headers=signed)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(Credentials(key, "secret"), service, region)
    canonical = auth.canonical_request(request)
    return service, given, auth.signature(auth.string_to_sign(request, canonical), request)


def differences(call):
    ours = base64.b64decode(call["body"])
    theirs = made_by_botocore(call)
    path = "/" + theirs.url.split("/", 3)[3]
    if call["path"] != path:
        yield f"path {call['path']}, botocore {path}"
    for name in SAME_HEADERS:
        other = theirs.headers.get(name)
        other = other.decode() if isinstance(other, bytes) else other
        if call["headers"].get(name) != other:
            yield f"header {name} {call['headers'].get(name)}, botocore {other}"
    if cbor2.loads(ours) != cbor2.loads(theirs.body):
        yield f"body {cbor2.loads(ours)}, botocore {cbor2.loads(theirs.body)}"
    service, given, right = signature_of(call, ours)
    if service != "events":
        yield f"signed for {service}"
    if given != right:
        yield "the signature does not match"


calls = [json.loads(line) for line in sys.stdin]
print(json.dumps({call["name"]: list(differences(call)) for call in calls}))
