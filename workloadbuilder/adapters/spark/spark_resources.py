"""Requests of the container of a Spark driver or executor, as Spark computes them.

Sources: Spark 4.0, ``BasicDriverFeatureStep`` and ``ResourceProfile``; Spark Operator 2.5, ``resourceusage`` and ``submission.go``.
Fields of the specification win over the entries of ``sparkConf``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath, Key
from validators import field
from workloadbuilder.adapters.shared.fields import Fields

_MEMORY = "1g"
_SUFFIXES = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_BYTES = re.compile(r"(?P<number>[0-9]{1,15})(?P<unit>b|[kmgtp]b?)?", re.ASCII | re.IGNORECASE)
_FACTOR = re.compile(r"[0-9]{1,6}(\.[0-9]{1,12})?|\.[0-9]{1,12}", re.ASCII)
_JVM_FACTOR, _OTHER_FACTOR = 0.1, 0.4
_LEAST_OVERHEAD_MIB = 384
_KUBERNETES_MEMORY = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti", "p": "Pi"}


@dataclasses.dataclass(frozen=True, slots=True)
class SparkConf:
    """Entries of ``sparkConf`` at *path*, and the fields of the application that set others."""

    spec: Fields
    entries: Mapping[str, str]
    path: FieldPath

    @classmethod
    def read(cls, spec: Fields) -> SparkConf:
        """Read the ``sparkConf`` of an application's *spec*."""
        return cls(spec, spec.annotations("sparkConf"), spec.path / "sparkConf")

    @property
    def is_python(self) -> bool:
        """Whether it is a Python application."""
        return self.spec.text("type") == "Python"

    def mebibytes(self, key: str, default: str) -> int:
        """Return the memory that an entry sets, in MiB."""
        return self._in_mebibytes(self.entries.get(key, default), self.path / Key(key))

    def memory(self, role: Fields, name: str, key: str, default: str) -> int:
        """Return the memory that the field *name* of a *role* sets, or else an entry, in MiB."""
        return self._in_mebibytes(role.text(name), role.path / name) if role.text(name) else self.mebibytes(key, default)

    def _in_mebibytes(self, text: str, path: FieldPath) -> int:
        matched = _BYTES.fullmatch(text)
        if matched is None:
            self.spec.errors.append(field.invalid(path, text, "must be an amount of memory as Spark writes it, such as 512m or 2g"))
            return 0
        unit = (matched["unit"] or "m")[0].lower()
        return int(matched["number"]) << _SUFFIXES[unit] >> _SUFFIXES["m"]

    def overhead_factor(self, kind: str) -> float:
        """Return the share of the memory of a driver or an executor (*kind*) that it has besides."""
        general = "spark.kubernetes.memoryOverheadFactor"
        # In the order of precedence.
        given = [
            (self.entries.get(f"spark.{kind}.memoryOverheadFactor"), self.path / Key(f"spark.{kind}.memoryOverheadFactor")),
            (self.entries.get(general), self.path / Key(general)),
            (self.spec.text("memoryOverheadFactor"), self.spec.path / "memoryOverheadFactor"),
        ]
        for text, path in given:
            if text and not _FACTOR.fullmatch(text):
                self.spec.errors.append(field.invalid(path, text, "must be a number, such as 0.1"))
            elif text:
                return float(text)
        return _OTHER_FACTOR if self.spec.text("type") in {"Python", "R"} else _JVM_FACTOR


def resources(role: Fields, kind: str, conf: SparkConf) -> dict[str, Json]:
    """Return the resources of the container of a *role*: its *kind* is ``driver`` or ``executor``."""
    memory = f"{_memory(role, kind, conf)}Mi"
    cores = role.count("cores", None)
    cpu = (
        role.text("coreRequest")
        or conf.entries.get(f"spark.kubernetes.{kind}.request.cores")
        or (str(cores) if cores is not None else conf.entries.get(f"spark.{kind}.cores", "1"))
    )
    limits: dict[str, Json] = {"memory": memory}
    if limit := role.text("coreLimit") or conf.entries.get(f"spark.kubernetes.{kind}.limit.cores", ""):
        limits["cpu"] = limit
    if limit := role.text("memoryLimit"):
        limits["memory"] = limit[:-1] + _KUBERNETES_MEMORY.get(limit[-1].lower(), limit[-1])
    gpu = role.mapping("gpu")
    if gpu.text("name") and (quantity := gpu.number("quantity", 0)):
        limits[gpu.text("name")] = str(quantity)
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": limits}


def _memory(role: Fields, kind: str, conf: SparkConf) -> int:
    """Return the memory of a pod in MiB: that of the JVM and what it has besides."""
    heap = conf.memory(role, "memory", f"spark.{kind}.memory", _MEMORY)
    least = conf.mebibytes(f"spark.{kind}.minMemoryOverhead", f"{_LEAST_OVERHEAD_MIB}m")
    computed = max(int(conf.overhead_factor(kind) * heap), least)
    total = heap + conf.memory(role, "memoryOverhead", f"spark.{kind}.memoryOverhead", f"{computed}m")
    if kind == "executor":
        total += conf.mebibytes("spark.executor.pyspark.memory", "0") if conf.is_python else 0
        off_heap = conf.entries.get("spark.memory.offHeap.enabled", "").lower() == "true"
        # Without a unit, this entry is in bytes.
        size = conf.entries.get("spark.memory.offHeap.size", "0")
        total += conf.mebibytes("spark.memory.offHeap.size", "0") >> (20 if size.isdigit() else 0) if off_heap else 0
    return total
