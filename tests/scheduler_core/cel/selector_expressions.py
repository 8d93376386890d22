"""Random selectors of devices: each expression is written together with the parts that it must be read as."""

from __future__ import annotations

import random
from collections.abc import Iterable

from scheduler_core.model.device_comparisons import ComparedPart, Comparison, DeviceComparison, LiteralKind, SelectorLiteral

ATTRIBUTE, CAPACITY, FIELD = ComparedPart
PIECES = (
    *("&&", "||", "; ", ": ", ". ", ", ", '"', "'", "\\", "`", "(", ")", "[", "]", "{", "}", " ", "==", "!", ".", "\n", "\t"),
    *('device.attributes["x"].y == 1', "a", "Z9", "80GB", "é", "\u2028", "\x7f", " and ", "?"),
)
DOMAINS = ("gpu.example.com", "nic.example.com", "a")
NAMES = ("model", "memory", "driver", "numaNode", "x_1")
FLIPPED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""Signs when the operands change places."""
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
BY_RESULT = {">": ("> 0", "== 1", ">= 1"), "<": ("< 0", "== -1", "<= -1"), ">=": (">= 0", "> -1", "!= -1"), "<=": ("<= 0", "< 1", "!= 1"),
             "==": ("== 0",), "!=": ("!= 0",)}  # fmt: skip
"""Comparisons of the result of ``compareTo`` by the sign that they stand for."""

_Written = tuple[str, DeviceComparison]
"""Expression, and what it must be read as."""


class SelectorWriter:
    """Writes selectors with a random generator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def selectors(self) -> tuple[list[str], list[DeviceComparison]]:
        """Return the selectors of a request, and their parts in order."""
        written = [self.expression() for _ in range(self._random.randint(1, 3))]
        return [expression for expression, _ in written], [part for _, parts in written for part in parts]

    def expression(self) -> tuple[str, list[DeviceComparison]]:
        """Return comparisons joined by ``&&``, nested at random."""
        parts = [self.comparison() for _ in range(self._random.randint(1, 5))]
        return self._joined([text for text, _ in parts]), [part for _, part in parts]

    def other_expression(self) -> str:
        """Return an expression that has something else than comparisons among its conjuncts."""
        (first, _), (second, _) = self.comparison(), self.comparison()
        member, _ = self._member(ATTRIBUTE)
        other = self._random.choice(
            [
                *(f"({first} || {second})", f"({first} ? {second} : false)", f"!({first} && {second})", f"({first} && {second}) == true", "true"),
                *(f"{member} == {member}", f"size({member}) == 3", f"{member} == {self._quoted('a')} + {self._quoted('b')}"),
                *(f"{member} in [{member}]", f"{member} == null", f"{self._quoted('a')} in {member}", f"{member}.major() > 1"),
                'device.attributes["a"].?model.orValue("") == "x"', 'device.attributes["a"].model.size() > 0',
                'device.capacity["a"].memory.compareTo(quantity("1")) > 1', "has(device.attributes.a)",
                'has(device.attributes["a"].model) == true', '"model" in device.attributes["a"]', "device.attributes[device.driver].x",
            ]
        )  # fmt: skip
        conjuncts = [self.comparison()[0] for _ in range(self._random.randint(0, 2))]
        conjuncts.insert(self._random.randint(0, len(conjuncts)), other)
        return self._joined(conjuncts)

    def comparison(self) -> _Written:
        """Return one comparison, perhaps negated."""
        kinds = (self._signed, self._ordered, self._membership, self._about_text, self._presence, self._truth)
        text, part = self._random.choice(kinds)()
        for _ in range(self._random.choice((0, 0, 0, 1, 2))):
            text, part = f"!({text})", _negated(part)
        return (f"({text})" if self._random.random() < 0.2 else text), part

    def text(self) -> str:
        """Return a text full of what separates words, literals or conjuncts."""
        return "".join(self._random.choice(PIECES) for _ in range(self._random.randint(0, 5)))

    def _joined(self, texts: list[str]) -> str:
        if len(texts) == 1:
            return texts[0]
        at = self._random.randint(1, len(texts) - 1)
        sides = [self._joined(side) for side in (texts[:at], texts[at:])]
        sides = [f"({side})" if self._random.random() < 0.3 else side for side in sides]
        return self._random.choice(("&&", " && ", "\n&& ")).join(sides)

    def _signed(self) -> _Written:
        member, part = self._member(ATTRIBUTE, FIELD)
        if part[2] == "allowMultipleAllocations":
            literal, value = self._boolean()
            sign = self._random.choice(("==", "!="))
        elif part[0] is FIELD:
            literal, value = self._text_literal()
            sign = self._random.choice([*FLIPPED])
        else:
            literal, value = self._random.choice((self._boolean, self._number, self._text_literal, self._version))()
            sign = self._random.choice(("==", "!=") if value.type is LiteralKind.VERSION else [*FLIPPED])
        if self._random.random() < 0.3:
            return f"{literal} {FLIPPED[sign]} {member}", DeviceComparison(*part, Comparison(sign), (value,))
        return f"{member}{sign}{literal}", DeviceComparison(*part, Comparison(sign), (value,))

    def _ordered(self) -> _Written:
        member, part = self._member(ATTRIBUTE, CAPACITY)
        literal, value = self._quantity() if part[0] is CAPACITY else self._random.choice((self._quantity, self._version))()
        sign = self._random.choice([*FLIPPED])
        reverse = self._random.random() < 0.5
        left, right, spelled = (literal, member, FLIPPED[sign]) if reverse else (member, literal, sign)
        if spelled in "<>" and self._random.random() < 0.5:
            text = f"{left}.{'isLessThan' if spelled == '<' else 'isGreaterThan'}({right})"
        else:
            result = self._random.choice(BY_RESULT[spelled])
            text = f"{left}.compareTo({right}) {result}"
            if self._random.random() < 0.3:
                operator, number = result.split()
                text = f"{number} {FLIPPED[operator]} {left}.compareTo({right})"
        return text, DeviceComparison(*part, Comparison(sign), (value,))

    def _membership(self) -> _Written:
        member, part = self._member(ATTRIBUTE)
        kind = self._random.choice((self._boolean, self._number, self._text_literal, self._version))
        literals = [kind() for _ in range(self._random.randint(0, 5))]
        if kind == self._number:
            # The elements of a list have one type.
            literals = [each for each in literals if each[1].text in {"0", "-7", "16"}]
        values = tuple(value for _, value in literals)
        return f"{member} in [{', '.join(text for text, _ in literals)}]", DeviceComparison(*part, Comparison.IN, values)

    def _about_text(self) -> _Written:
        member, part = "device.driver", (FIELD, "", "driver")
        if self._random.random() < 0.7:
            member, part = self._member(ATTRIBUTE)
        method = self._random.choice(("matches", "startsWith", "endsWith", "contains"))
        # Not every text is a regular expression.
        literal, value = self._written("^Rev\\. [A-B]; && ('|\")$") if method == "matches" else self._text_literal()
        text = f"matches({member}, {literal})" if method == "matches" and self._random.random() < 0.5 else f"{member}.{method}({literal})"
        return text, DeviceComparison(*part, Comparison(method), (value,))

    def _presence(self) -> _Written:
        member, part = self._member(ATTRIBUTE, CAPACITY, dotted=True)
        return f"has({member})", DeviceComparison(*part, Comparison.PRESENT)

    def _truth(self) -> _Written:
        member, part = self._member(ATTRIBUTE)
        return member, DeviceComparison(*part, Comparison.TRUE)

    def _member(self, *kinds: ComparedPart, dotted: bool = False) -> tuple[str, tuple[ComparedPart, str, str]]:
        """Return a part of a device, and its kind, domain and name; *dotted* if the name must follow a dot."""
        kind, domain, name = self._random.choice(kinds), self._random.choice(DOMAINS), self._random.choice(NAMES)
        if kind is FIELD:
            name = self._random.choice(("driver", "allowMultipleAllocations"))
            return f"device.{name}", (kind, "", name)
        above = f"device{self._random.choice(('.', ' . '))}{'attributes' if kind is ATTRIBUTE else 'capacity'}[{self._quoted(domain)}]"
        end = f".{name}" if dotted or self._random.random() < 0.7 else f"[{self._quoted(name)}]"
        return above + end, (kind, domain, name)

    def _boolean(self) -> tuple[str, SelectorLiteral]:
        text = self._random.choice(("true", "false"))
        return text, SelectorLiteral(LiteralKind.BOOLEAN, text)

    def _number(self) -> tuple[str, SelectorLiteral]:
        text, value = self._random.choice((("0", "0"), ("-7", "-7"), ("0x10", "16"), ("3u", "3"), ("2.50", "2.5")))
        return text, SelectorLiteral(LiteralKind.NUMBER, value)

    def _quantity(self) -> tuple[str, SelectorLiteral]:
        text = self._random.choice(("80Gi", "0.5", "1e3"))
        return f"quantity({self._quoted(text)})", SelectorLiteral(LiteralKind.QUANTITY, text)

    def _version(self) -> tuple[str, SelectorLiteral]:
        text = self._random.choice(("1.2.3", "1.2.3-rc.1+b"))
        more = self._random.choice(("", ", true"))
        return f"semver({self._quoted(text)}{more})", SelectorLiteral(LiteralKind.VERSION, text)

    def _text_literal(self) -> tuple[str, SelectorLiteral]:
        return self._written(self.text())

    def _written(self, text: str) -> tuple[str, SelectorLiteral]:
        return self._quoted(text), SelectorLiteral(LiteralKind.TEXT, text)

    def _quoted(self, text: str) -> str:
        """Return *text* as a literal, in one of the notations of CEL."""
        quote = self._random.choice(('"', "'", '"""', "'''"))
        if self._random.random() < 0.2 and not {"\\", "\n", quote[0]} & {*text}:
            return f"r{quote}{text}{quote}"
        return quote + "".join(self._escaped(each, quote) for each in text) + quote

    def _escaped(self, character: str, quote: str) -> str:
        if character in {"\\", quote[0]}:
            return f"\\{character}"
        if character == "\n" and len(quote) == 1:
            return "\\n"
        return f"\\U{ord(character):08x}" if self._random.random() < 0.1 else character


def _negated(part: DeviceComparison) -> DeviceComparison:
    if (opposite := OPPOSITE.get(part.comparison)) is not None:
        return DeviceComparison(part.part, part.domain_name, part.name, Comparison(opposite), part.literals)
    return DeviceComparison(part.part, part.domain_name, part.name, part.comparison, part.literals, not part.negated)


def texts_of(parts: Iterable[DeviceComparison]) -> list[str]:
    """Return the texts of all literals."""
    return [literal.text for part in parts for literal in part.literals]
