"""Key pairs that are accepted: only complete ones, wherever their files are truncated."""

import pytest

from certs import store
from tests.webhooks.running import new_pair
from webhooks.server import tls

BEGIN = b"-----BEGIN CERTIFICATE-----"


@pytest.mark.parametrize("rest", [BEGIN, BEGIN + b"\n", BEGIN + b"\nMIIB", b"-----BEGIN CERT"])
def test_a_chain_cut_off_inside_its_second_certificate_is_not_whole(tmp_path, rest):
    pair = new_pair()
    store.write(tmp_path, pair)
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    assert tls.load(str(cert), str(key)).digest

    leaf = pair.certificate.partition(b"-----END CERTIFICATE-----")
    cert.write_bytes(leaf[0] + leaf[1] + b"\n" + rest)

    with pytest.raises(tls.PairError, match="does not hold a whole PEM certificate"):
        tls.load(str(cert), str(key))


@pytest.mark.parametrize(("content", "is_unreadable"), [(None, True), (b"cannot read ", False)], ids=["no file", "an incomplete file"])
def test_files_that_cannot_be_read_differ_from_wrong_content(tmp_path, content, is_unreadable):
    store.write(tmp_path, new_pair())
    cert = tmp_path / "tls.crt"
    live = tls.LivePair(str(cert), str(tmp_path / "tls.key"), 0.0)
    whole = cert.read_bytes()
    cert.unlink()
    if content is not None:
        cert.write_bytes(content)

    reason = live.refresh(1.0)
    assert (reason, is_unreadable) == (live.error, live.unreadable)
    assert "" == live.refresh(2.0)
    cert.write_bytes(whole)
    assert ("", "", False) == (live.refresh(3.0), live.error, live.unreadable)
