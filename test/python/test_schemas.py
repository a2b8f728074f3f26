"""Checks the published schemas with a code generator, and the examples with AWS's own models."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from aws_lambda_powertools.utilities.parser.models import EventBridgeModel
from vectors import repository

schemas = repository / "docs/schemas"


def examples_of(name: str) -> list[dict[str, Any]]:
    examples: list[dict[str, Any]] = json.loads((schemas / f"{name}.schema.json").read_text("utf-8"))["examples"]
    return examples


def test_powertools_takes_the_examples_as_events_of_eventbridge() -> None:
    for example in examples_of("AdvertBridgeEvent"):
        assert EventBridgeModel.model_validate(example).detail_type == example["detail-type"]


def test_datamodel_code_generator_makes_models_with_the_names_of_the_schema(
    tmp_path: Path, monkeypatch: Any
) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "datamodel_code_generator", "--input-file-type", "jsonschema"]
    options = ["--output-model-type", "pydantic_v2.BaseModel", "--target-python-version", "3.10"]
    files = ["--input", str(schemas / "AdvertBridgeEvent.schema.json"), "--output", str(tmp_path / "advert_events.py")]
    subprocess.run([*command, *options, *files], check=True)
    monkeypatch.syspath_prepend(str(tmp_path))

    import advert_events  # type: ignore[import-not-found]

    code = (tmp_path / "advert_events.py").read_text("utf-8")
    names = json.loads((schemas / "AdvertBridgeEvent.schema.json").read_text("utf-8"))["$defs"]
    assert set(re.findall(r"^class (\w+)", code, re.MULTILINE)) == {"AdvertBridgeEvent", *names}
    for name in ("AdvertStatusChanged", "AdvertUnavailable", "PartnerAuthorizationRequired"):
        for example in examples_of(name):
            event = advert_events.AdvertBridgeEvent.model_validate(example)
            assert type(event.root).__name__ == name
            again = advert_events.AdvertBridgeEvent.model_validate_json(event.model_dump_json(by_alias=True))
            assert again == event
            assert event.root.detail.data.model_dump(exclude_unset=True) == example["detail"]["data"]
