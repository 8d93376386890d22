"""Quick fixes: the fixes of findings, as edits of the editor."""

from __future__ import annotations

from lsprotocol import types
from pygls.workspace import PositionCodec

from muster.commands.lsp import positions
from muster.commands.lsp.positions import Positions
from muster.commands.lsp.session import Session
from validators.lint.finding import Finding, TextFix


def actions(session: Session, path: str, uri: str, params: types.CodeActionParams, codec: PositionCodec) -> list[types.CodeAction]:
    """Return the quick fixes of the findings in the range of *params*; safe ones are preferred."""
    only = params.context.only
    if only and not any(types.CodeActionKind.QuickFix == each or not each for each in only):
        return []
    documents = session.documents(path)
    if not documents:
        return []
    converter = Positions(documents[0].chunk.lines, codec)
    findings = session.findings(session.name_of(path))
    shown = zip(findings, positions.diagnostics(findings, documents, codec), strict=True)
    return [
        _action(finding, finding.fix, diagnostic, uri, converter)
        for finding, diagnostic in shown
        if finding.fix is not None and _overlap(diagnostic.range, params.range)
    ]


def _action(finding: Finding, fix: TextFix, diagnostic: types.Diagnostic, uri: str, converter: Positions) -> types.CodeAction:
    edits = [types.TextEdit(converter.range_between(each.start, each.end), each.text) for each in fix.edits]
    return types.CodeAction(
        title=f"{finding.rule}: {fix.title}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        is_preferred=fix.is_safe,
        edit=types.WorkspaceEdit(changes={uri: edits}),
    )


def _overlap(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end
