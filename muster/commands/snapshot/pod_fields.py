"""Fields of pods: those of the structs, and of the volumes that placement reads as parsed JSON."""

from __future__ import annotations

from kubeapi.pods import PodSpec, Volume
from kubeapi.redaction import KEPT, Mark, Names
from kubeapi.volumes import EphemeralVolumeSource
from muster.commands.snapshot.shapes import Each, Fields, IfPresent
from muster.commands.snapshot.struct_fields import fields_of, shape_of

_VOLUME: Fields = {
    **fields_of(Volume),
    "persistentVolumeClaim": {"claimName": Mark.NAME},
    "awsElasticBlockStore": {"volumeID": Mark.NAME},
    "gcePersistentDisk": {"pdName": Mark.NAME, "readOnly": KEPT},
    "iscsi": {"iqn": Mark.NAME, "readOnly": KEPT},
    "rbd": {"monitors": shape_of(Names), "pool": Mark.NAME, "image": Mark.NAME, "readOnly": KEPT},
}
# The name of an ephemeral volume is part of the name of its claim.
_EPHEMERAL: Fields = {**_VOLUME, "name": Mark.NAME, "ephemeral": fields_of(EphemeralVolumeSource)}
POD_SPEC: Fields = {**fields_of(PodSpec), "volumes": Each(IfPresent("ephemeral", _EPHEMERAL, _VOLUME))}
