"""Time of all rules on a small and on the largest Workload, compared with decoding alone, and its growth."""

from __future__ import annotations

import functools

from benchmarks import measure, workloads
from validators import pipeline
from validators.model import objects
from validators.rules.base import Operation, Settings

ROUNDS = 15
SETTINGS = Settings()
SMALL_LIMIT, LARGE_LIMIT = 100e-6, 10e-3
"""Limits in seconds for the rules without decoding: the usual Workload, and the largest."""


def main() -> None:
    """Measure and print."""
    small = workloads.usual()
    cases = {f"usual, {len(workloads.as_json(small)) / 1000:.1f} KB": (workloads.as_json(small), 7, 1000, SMALL_LIMIT)}
    for depth, times in ((2, 300), (3, 40), (4, 6)):
        text = workloads.as_json(workloads.full(depth))
        count = workloads.templates(depth)
        cases[f"8 wide, {depth} deep, {len(text) / 1000:.0f} KB"] = (text, count, times, LARGE_LIMIT if count == workloads.LARGEST else 0)
    rows = [_row(name, *case) for name, case in cases.items()]
    columns = (
        "Workload",
        "templates",
        "decode alone",
        "decode and validate",
        "validate",
        "validate / decode",
        "validate, per template",
        "limit",
    )
    measure.table("Pipeline: seconds of one review, without the envelope", columns, rows)


def _row(name: str, text: bytes, count: int, times: int, limit: float) -> list[str]:
    if pipeline.validate("Workload", text, None, Operation.CREATE, settings=SETTINGS):
        raise SystemExit(f"the Workload {name} is invalid, so the figure is not valid")
    validating = functools.partial(pipeline.validate, "Workload", text, None, Operation.CREATE, settings=SETTINGS)
    decoding = functools.partial(objects.decode_kind, "Workload", text)
    rounds = measure.in_turns(
        {"decode": functools.partial(measure.seconds, decoding, times), "both": functools.partial(measure.seconds, validating, times)},
        ROUNDS,
    )
    validate = rounds.median("both") - rounds.median("decode")
    verdict = f"{_duration(limit)}: {measure.verdict(validate, limit, at_least=False)}" if limit else ""
    ratio = rounds.ratio("both", "decode") - 1
    return [
        *(name, f"{count:,}", _duration(rounds.median("decode")), _duration(rounds.median("both")), _duration(validate)),
        *(f"{ratio:.1f}", f"{validate / count * 1e6:.2f} µs", verdict),
    ]


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


if __name__ == "__main__":
    main()
