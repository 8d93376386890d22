"""Files that volumes project: of ConfigMaps, Secrets and the downward API, tokens, trust bundles and certificates.

Source: Kubernetes 1.37.1, pkg/apis/core/validation, validateProjectionSources; users of files are of 1.38.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import downward, names, selectors
from validators.built_in.shared_checks import Content, below, duplicates, formatted, items, needed, number, one_of, text
from validators.field import FieldError

_PROJECTED = frozenset({"configMap", "secret", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"})
_HIGHEST_USER = 2**31 - 1


def projected(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the sources of a projected volume."""
    paths: list[tuple[FieldPath, str]] = []
    for path, each in items(given, "sources", at):
        for name in ("configMap", "secret"):
            if name in each:
                yield from needed(section(each, name), path / name, "name")
        kinds = sorted(each.keys() & _PROJECTED)
        for name in kinds:
            yield from files(name, section(each, name), path / name)
            paths += [(file / "path", text(item, "path")) for file, item in items(section(each, name), "items", path / name)]
            yield from _user(section(each, name), "user", path / name)
        if len(kinds) > 1:
            yield field.forbidden(path, f"may not specify more than 1 volume type per source: {', '.join(kinds)}")
        yield from _token(each, path)
        yield from _trust_bundle(each, path / "clusterTrustBundle")
        yield from _pod_certificate(each, path / "podCertificate")
    yield from duplicates(paths)


def files(source: str, given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the files of a source, whose kind is *source*: their mode, user, name and content."""
    yield from _mode(given, "defaultMode", at)
    yield from _user(given, "defaultUser", at)
    for path, each in items(given, "items", at):
        yield from _mode(each, "mode", path)
        yield from _user(each, "user", path)
        yield from needed(each, path, *(("path",) if source == "downwardAPI" else ("key", "path")))
        yield from _own_path(text(each, "path"), path / "path")
        if source == "downwardAPI":
            yield from _downward_file(each, path)


def _downward_file(given: Content, at: FieldPath) -> Iterator[FieldError]:
    sources = [name for name in ("fieldRef", "resourceFieldRef") if given.get(name) is not None]
    if not sources:
        yield field.required(at, "one of fieldRef and resourceFieldRef is required")
    elif "fieldRef" in sources:
        yield from downward.field_reference(section(given, "fieldRef"), at / "fieldRef", _FIELDS)
        if len(sources) > 1:
            yield field.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    else:
        yield from downward.resource_reference(section(given, "resourceFieldRef"), at / "resourceFieldRef", of_volume=True)


_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")


def _mode(given: Content, name: str, at: FieldPath) -> Iterator[FieldError]:
    if not 0 <= (mode := number(given, name)) <= _MOST_OPEN:
        yield field.invalid(at / name, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _user(given: Content, name: str, at: FieldPath) -> Iterator[FieldError]:
    if not 0 <= (user := number(given, name)) <= _HIGHEST_USER:
        yield field.invalid(at / name, user, f"must be between 0 and {_HIGHEST_USER}, inclusive")


def _own_path(value: str, at: FieldPath) -> Iterator[FieldError]:
    yield from below(value, at)
    if value.startswith("..") and not value.startswith("../") and value != "..":
        yield field.invalid(at, value, "must not start with '..'")


def _token(source: Content, at: FieldPath) -> Iterator[FieldError]:
    token, path = section(source, "serviceAccountToken"), at / "serviceAccountToken"
    if source.get("serviceAccountToken") is not None:
        yield from needed(token, path, "path")
        yield from _own_path(text(token, "path"), path / "path")
        if not _SHORTEST_SECONDS <= number(token, "expirationSeconds", _SHORTEST_SECONDS) <= _LONGEST_SECONDS:
            yield field.invalid(path / "expirationSeconds", token["expirationSeconds"], "must be from 10 minutes to 2^32 seconds")


def _trust_bundle(source: Content, at: FieldPath) -> Iterator[FieldError]:
    bundle = section(source, "clusterTrustBundle")
    if source.get("clusterTrustBundle") is None:
        return
    given = [name for name in ("name", "signerName") if bundle.get(name) is not None]
    if not given:
        yield field.required(at, "either name or signerName must be specified")
    elif len(given) > 1:
        yield field.invalid(at, "", "only one of name and signerName may be used")
    elif given == ["signerName"]:
        yield from _signer(text(bundle, "signerName"), at / "signerName")
        yield from selectors.label_selector(section(bundle, "labelSelector"), at / "labelSelector")
    else:
        yield from _bundle_name(text(bundle, "name"), at / "name")
        if bundle.get("labelSelector") is not None:
            yield field.invalid(at / "labelSelector", "", "must be unset if name is specified")
    yield from needed(bundle, at, "path")
    yield from _own_path(text(bundle, "path"), at / "path")


def _bundle_name(name: str, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the name of a trust bundle, which begins with its signer if it has one: ``example.com:signer:name``."""
    signer, colon, own = name.rpartition(":")
    if not name:
        yield field.required(at, "must be a valid object name")
    if "/" in signer or (colon and not signer):
        yield field.invalid(at, name, "must be a name, or a signer with : in place of /, and a name")
    else:
        yield from formatted(name, at, content.subdomain(own))


def _pod_certificate(source: Content, at: FieldPath) -> Iterator[FieldError]:
    certificate = section(source, "podCertificate")
    if source.get("podCertificate") is None:
        return
    yield from _signer(text(certificate, "signerName"), at / "signerName")
    annotations = section(certificate, "userAnnotations")
    yield from names.annotation_keys(annotations, at / "userAnnotations")
    for key in annotations:
        if "/" not in key:
            yield field.invalid(at / "userAnnotations", key, "must be a domain-prefixed key, such as example.com/name")
    yield from one_of(certificate, "keyType", at, _KEY_TYPES, has_default=False)
    host = text(certificate, "signerName").partition("/")[0]
    longest = _DAY if f".{host}".endswith(".kubernetes.io") else _LONGEST_DAYS * _DAY
    if not _HOUR <= (seconds := number(certificate, "maxExpirationSeconds", _HOUR)) <= longest:
        yield field.invalid(at / "maxExpirationSeconds", seconds, f"must be from {_HOUR} to {longest}")
    given = [name for name in _CERTIFICATE_PATHS if text(certificate, name)]
    if not given:
        yield field.required(at, f"specify at least one of {', '.join(_CERTIFICATE_PATHS)}")
    for name in given:
        yield from _own_path(text(certificate, name), at / name)


def _signer(name: str, at: FieldPath) -> Iterator[FieldError]:
    """Yield the error of a name of a signer, as ``example.com/a.b``."""
    host, slash, path = name.partition("/")
    labels = host.split(".")
    if not name:
        yield field.required(at)
    elif not slash or len(labels) < _SHORTEST_HOST or not (content.all_labels(labels) and content.all_subdomains(path.split("."))):
        yield field.invalid(at, name, "must be a domain and a path, such as example.com/signer-name")
    elif len(host) > _LONGEST_HOST:
        yield field.too_long(at, _LONGEST_HOST)


_SHORTEST_HOST, _LONGEST_HOST = 2, 253
"""Labels and bytes of the domain of a signer."""
_KEY_TYPES = ("ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096")
_CERTIFICATE_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")
_HOUR, _DAY, _LONGEST_DAYS = 3600, 86_400, 91
"""Seconds, and the longest lifetime of a certificate, which is a day for a signer of Kubernetes."""
_MOST_OPEN = 0o777
_SHORTEST_SECONDS, _LONGEST_SECONDS = 600, 2**32
"""Lifetime of a token."""
