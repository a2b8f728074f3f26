import json
from typing import Any

from advert_bridge import AdvertEvent, DynamoDbPositions, Positions, RefusedEventError
from advert_bridge import compare_to_applied, parse_body
from advert_bridge.testing import InMemoryPositions

from vectors import body_of, document, vectors

AFFECTED = ("apply", "gap")


def test_all_vectors_compare_as_expected() -> None:
    assert len(vectors) >= 500
    for vector in vectors:
        applied: dict[str, tuple[int, int]] = {}
        seen: list[dict[str, Any]] = []
        for step in vector["steps"]:
            result: dict[str, Any] = {"message": step["message"], "outcome": "apply"}
            try:
                event = parse_body(body_of(step["message"]))
            except RefusedEventError as error:
                result |= {"outcome": "refused", "code": error.code}
            else:
                if isinstance(event, AdvertEvent):
                    comparison = compare_to_applied(applied.get(event.advert_key), event.position)
                    result["outcome"] = comparison.outcome
                    if comparison.outcome == "gap":
                        result["missing"] = comparison.missing
                    if comparison.outcome in AFFECTED:
                        applied[event.advert_key] = event.position
            seen.append(result)
        assert seen == vector["steps"], vector["name"]
        positions = {key: {"generation": each[0], "sequence": each[1]} for key, each in applied.items()}
        assert positions == vector["applied"], vector["name"]


def run(positions: Positions, number: int, vector: dict[str, Any]) -> None:
    """Runs a vector with items of its own."""
    for step in vector["steps"]:
        message = document["messages"][step["message"]]
        if step["outcome"] == "refused":
            continue
        event = json.loads(json.dumps(message))
        metadata = event["detail"]["metadata"]
        metadata["partnerAccount"] = f"v{number}{metadata['partnerAccount']}"
        parsed = parse_body(json.dumps(event))
        if not isinstance(parsed, AdvertEvent):
            continue
        called: list[AdvertEvent] = []
        comparison = positions.apply_if_newer(parsed, called.append)
        assert comparison.outcome == step["outcome"], vector["name"]
        assert comparison.missing == step.get("missing", 0), vector["name"]
        assert called == ([parsed] if step["outcome"] in AFFECTED else []), vector["name"]


def test_a_part_of_the_vectors_with_a_real_table(positions: DynamoDbPositions) -> None:
    # moto needs some milliseconds per write, so only every twelfth vector runs.
    for number, vector in enumerate(vectors[::12]):
        run(positions, number, vector)


def test_all_vectors_with_positions_in_memory() -> None:
    positions = InMemoryPositions()
    for number, vector in enumerate(vectors):
        run(positions, number, vector)
