"""What is generated of the documentation is what the code says now."""

from __future__ import annotations

from muster import document


def test_generated_pages_are_current() -> None:
    """Where this fails: ``python -m muster.document`` writes them anew."""
    assert [str(path.name) for path, text in document.pages().items() if path.read_text(encoding="utf-8") != text] == []


def test_the_tables_name_every_rule_and_variable() -> None:
    from validators import rules
    from webhooks import settings

    admission = (document.REFERENCE / "admission.md").read_text(encoding="utf-8")
    variables = (document.REFERENCE / "settings.md").read_text(encoding="utf-8")

    assert all(f"[{rule}](rules.md#{rule})" in admission for rule in rules.ALL)
    assert all(f"`{each.variable}`" in variables for each in settings.OPTIONS.values())
