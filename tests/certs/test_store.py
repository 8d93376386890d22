"""Files of a key pair, and the commands that write and check them."""

import json
import stat
import sys

import pytest

from certs import store
from certs.pair import Pair
from muster import cli

MADE = Pair(b"ca", b"leaf", b"key")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_keys_are_readable_by_their_owner_alone(tmp_path):
    store.write(tmp_path / "new", MADE, b"ca key")

    assert {"ca.crt": 0o644, "tls.crt": 0o644, "tls.key": 0o600, "ca.key": 0o600} == {
        each.name: mode(each) for each in (tmp_path / "new").iterdir()
    }


def test_the_key_of_an_older_ca_does_not_stay(tmp_path):
    store.write(tmp_path, MADE, b"ca key")
    store.write(tmp_path, MADE)

    assert ("ca.crt", "tls.crt", "tls.key") == store.present(tmp_path)


def test_files_are_replaced_and_not_written_into(tmp_path):
    store.write(tmp_path, MADE)
    with (tmp_path / "tls.key").open("rb") as before:
        store.write(tmp_path, Pair(b"ca", b"leaf", b"other"))

        assert (b"key", b"other") == (before.read(), (tmp_path / "tls.key").read_bytes())


def test_what_cannot_be_written_or_read_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(store.StoreError, match=f"^cannot write to {tmp_path}/file/x: Not a directory$"):
        store.write(tmp_path / "file" / "x", MADE)
    with pytest.raises(store.StoreError, match=f"^cannot write {tmp_path}/absent/x: No such file or directory$"):
        store.replace(tmp_path / "absent" / "x", b"", store.PUBLIC)
    with pytest.raises(store.StoreError, match=f"^cannot read {tmp_path}/absent: No such file or directory$"):
        store.read(tmp_path / "absent")
    (tmp_path / "large").write_bytes(b"x" * (store.LARGEST + 1))
    with pytest.raises(store.StoreError, match="at most"):
        store.read(tmp_path / "large")


@pytest.fixture
def muster(capsys, monkeypatch):
    monkeypatch.setitem(cli.SUBCOMMANDS, "certs", cli.Subcommand("muster.commands.certs:command", "Certificates."))
    monkeypatch.setattr(sys, "argv", ["muster"])

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            cli.main(["certs", *map(str, args)])
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


def test_issue_and_inspect(tmp_path, muster):
    code, out, err = muster("issue", "--out", tmp_path, "--name", "a.svc", "--name", "127.0.0.1")
    assert (0, "") == (code, err)
    assert "discarded" in out

    code, out, _ = muster("inspect", tmp_path, "--format", "json", "--name", "a.svc")
    leaf, ca = json.loads(out)["certificates"]
    assert 0 == code
    assert (["a.svc", "127.0.0.1"], True, True, False) == (
        leaf["names"],
        leaf["keyMatches"],
        leaf["chainHolds"],
        leaf["isCA"],
    )
    assert ca["isCA"]


def test_inspect_reports_what_is_due(tmp_path, muster):
    muster("issue", "--out", tmp_path, "--name", "a.svc")
    code, out, _ = muster("inspect", tmp_path, "--name", "b.svc")

    assert 1 == code
    assert "due: does not name b.svc" in out


def test_a_pair_is_not_overwritten_unasked(tmp_path, muster):
    muster("issue", "--out", tmp_path, "--name", "a.svc", "--keep-ca-key")
    before = (tmp_path / "tls.key").read_bytes()
    code, _, err = muster("issue", "--out", tmp_path, "--name", "a.svc")
    assert 2 == code
    assert "--force" in err
    assert 1 == len(err.splitlines())
    assert before == (tmp_path / "tls.key").read_bytes()

    ca = (tmp_path / "ca.crt").read_bytes()
    assert 0 == muster("issue", "--out", tmp_path, "--ca", tmp_path, "--force", "--keep-ca-key", "--name", "a.svc")[0]
    assert before != (tmp_path / "tls.key").read_bytes()
    assert ca == (tmp_path / "ca.crt").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(("issue", "--out", "x", "--name", "a b"), "must be a DNS name", id="no name"),
        pytest.param(("issue", "--out", "x", "--name", "a", "--ca", "/nowhere"), "cannot read /nowhere/ca.crt", id="no CA"),
        pytest.param(("inspect", "/nowhere"), "cannot read /nowhere", id="no file"),
        pytest.param(("inspect", "/dev/null"), "does not hold a PEM certificate", id="no certificate"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(tmp_path, monkeypatch, muster, arguments, want):
    monkeypatch.chdir(tmp_path)
    code, out, err = muster(*arguments)

    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert want in err
