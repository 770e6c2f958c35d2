"""The words of an equation: signs, numbers, dates, the columns that names mean, and what stands at the end of a rule.

Names that are no plain words stand in brackets as in rules (``[disk % used]``); what a printed rule says of itself,
``(± 0.3)`` or ``(exactly, all rows)``, is passed over; a condition, ``if kind is not bolt``, is taken off.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction

import numpy as np

from aspca.escaping import for_terminal, level_text, name_text, quoted
from aspca.identities.formula import Condition
from aspca.preparation.feature import TRANSFORMS, Feature
from aspca.rules.equations import SIZES, RuleError, moderate

LONGEST = 20_000
_DIGITS = 400
_BRACKETED = r"\[(?:[^\]]|\]\])*\]"
_NAME = rf"[^\W\d][\w.]*|{_BRACKETED}"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}:[0-9]{2})?"
_DECIMAL = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<date>{_DATE})(?![0-9.])|(?P<number>{_DECIMAL})|(?P<name>{_NAME})"
    r"|(?P<sign>[-+*/^()=\u2212\u00b7\u00d7])|(?P<end>$))"
)
_NUMBER = re.compile(r"\s*(?P<number>[0-9]+)")
_SIGNS = {"\u2212": "-", "\u00b7": "*", "\u00d7": "*"}
# What a printed rule says of itself, from its bracket to the end.
_REMARK = re.compile(
    # A blank stands before words, or the column that a function is of would be one.
    r"\s*(?:\(\s*(?:±|\+-|\+/-|within a factor of\s)|(?<=\s)\(\s*(?:exactly|to rounding|constant|given)\s*(?=[;,)]))"
    r".*\)\s*$",
    re.DOTALL,
)
_CONDITION = re.compile(
    rf"\s*if\s+(?P<column>{_NAME})\s+is\s+(?:(?P<negated>not)\s+)?"
    rf"(?P<level>[\d-]+ \d\d:\d\d:\d\d|[\w.+-]+|{_BRACKETED})(?=\s|$)"
)
ALLOWED = (
    "a rule is one equation of columns and numbers with +, -, *, /, ^, log, sqrt and exp, as in total = a + 1.19 b; "
    "names that are no plain words stand in brackets, as in [disk % used]"
)
NO_COLUMN = "there is no such column to make rules of"
_CONDITIONS = (
    "a condition stands at the end, as in if kind is bolt, if kind is not bolt or if region is 3; what is no plain "
    "word stands in brackets."
)
# Of columns, by their features or in an equation; the others are names of features only.
_FUNCTIONS = ("log", "sqrt", "exp", "log1p")


@dataclass(frozen=True)
class Token:
    """A word: kind is ``sign``, ``number``, ``date``, ``name`` (of `feature`), ``function`` or ``end``."""

    kind: str
    text: str
    at: int
    feature: int = -1


class Words:
    """The words of a rule over some features: `tokens`, the last of which is the end, and the `condition`."""

    def __init__(self, text: str, features: Sequence[Feature]) -> None:
        self.text, self.features = text, features
        if len(text) > LONGEST:
            raise RuleError(f"The rule {quoted(text, 60)} is longer than {LONGEST:,} characters; {ALLOWED}.")
        self.by_column: dict[str, list[int]] = {}
        for j, feature in enumerate(features):
            called = {feature.column, name_text(feature.column)}
            for name in called | ({feature.text} if feature.kind == "level" else set()):
                self.by_column.setdefault(name, []).append(j)
        # Inside of brackets there may be brackets: they are found as they are.
        self.levels = sorted((f.text for f in features if f.kind == "level"), key=len, reverse=True)
        self.dates = any(feature.kind == "date" for feature in features)
        self.condition: Condition | None = None
        self.tokens = self.resolve(self.split())
        # Columns that are taken as logarithms and called by their own names are multiplied.
        self.products = any(map(self.is_factor, self.tokens))
        other = next((one for one in self.tokens if one.kind == "name" and not self.is_factor(one)), None)
        if self.products and other is not None:
            raise self.refused(other, 'it stands beside columns that are prepared as "log", which are multiplied.')
        if self.products and self.condition is not None:
            raise RuleError(
                f"The rule {quoted(text, 80)} has a condition, which products of columns that are prepared as "
                '"log" may not have: leave out the log.'
            )

    def is_factor(self, token: Token) -> bool:
        return token.kind == "name" and self.features[token.feature].kind == "log" and not token.text.endswith(")")

    # ---- errors

    def error(self, token: Token, why: str) -> RuleError:
        """Something that cannot be read."""
        return self.refused(token, f"{why}; {ALLOWED}.")

    def refused(self, token: Token, why: str, column: str | None = None) -> RuleError:
        where = "its end" if token.kind == "end" else f"position {token.at + 1} ({quoted(token.text)})"
        return RuleError(f"The rule {quoted(self.text, 80)} cannot be used at {where}: {why}", column)

    # ---- words

    def split(self) -> list[Token]:
        tokens: list[Token] = []
        at, text = 0, self.text
        while at < len(text) and not (tokens and (_REMARK.match(text, at) or self.takes_condition(at))):
            token = self.next_token(at)
            if token.kind == "end":
                break
            at = token.at + len(token.text)
            tokens.append(replace(token, text=_SIGNS.get(token.text, token.text)))
        return [*tokens, Token("end", "", len(text))]

    def next_token(self, at: int) -> Token:
        text = self.text
        begin = next((k for k in range(at, len(text)) if not text[k].isspace()), len(text))
        if text.startswith("[", begin):
            level = next((one for one in self.levels if text.startswith(one, begin)), None)
            if level is not None:
                return Token("name", level, begin)
        found = _TOKEN.match(text, at)
        if found is None or (found["date"] is not None and not self.dates):
            # Where nothing is a date, its signs are minus.
            found = _NUMBER.match(text, at)
        if found is None:
            raise self.error(Token("sign", text[begin], begin), "this sign has no meaning there")
        kind = str(found.lastgroup)
        return Token(kind, found[kind], found.start(kind))

    def resolve(self, tokens: list[Token]) -> list[Token]:
        """The same, names of columns and functions of them with the features they are."""
        made: list[Token] = []
        k = 0
        while k < len(tokens):
            token = tokens[k]
            if token.kind == "name":
                feature = self.prepared(tokens[k : k + 4])
                if feature is not None:
                    # As features are called: log(price).
                    made.append(Token("name", f"{token.text}({tokens[k + 2].text})", token.at, feature))
                    k += 4
                    continue
                days = self.dates and token.text in ("day", "days") and token.text not in self.by_column
                if token.text in _FUNCTIONS and tokens[k + 1].text == "(":
                    token = replace(token, kind="function")
                elif days and made and made[-1].kind == "number":
                    # A unit.
                    k += 1
                    continue
                else:
                    token = replace(token, feature=self.column(token))
            made.append(token)
            k += 1
        return made

    def prepared(self, tokens: Sequence[Token]) -> int | None:
        """The feature that words such as ``log(price)`` are; None: they are none, but may be a function."""
        kinds = [one.text if one.kind == "sign" else one.kind for one in tokens]
        name = tokens[0].text
        if kinds != ["name", "(", "name", ")"] or name not in (*TRANSFORMS, "days", "code"):
            return None
        kind = "date" if name == "days" else name
        found = next((j for j in self.called(tokens[2].text) if self.features[j].kind == kind), None)
        if found is None and name not in _FUNCTIONS:
            whole = Token("name", f"{name}({tokens[2].text})", tokens[0].at)
            taken = self.features[self.column(tokens[2], any_kind=True)]
            raise self.refused(whole, f"column {quoted(taken.column)} is taken as {taken.text}, so write that.")
        return found

    def column(self, token: Token, *, any_kind: bool = False) -> int:
        """The feature of a column that is called by its name."""
        own = self.called(token.text)
        if not own:
            if token.text == "if":
                raise self.refused(token, _CONDITIONS)
            columns = list(dict.fromkeys(feature.column for feature in self.features))
            name = _unquoted(token.text)
            raise self.refused(token, f"{NO_COLUMN}; {_hint(name, columns)}", name)
        feature = self.only_column(own, token)
        if not any_kind and feature.kind not in ("number", "boolean", "date", "log") and token.text not in self.levels:
            why = f"the column is taken as {feature.text}, so write that."
            if feature.kind == "level":
                why = f"the column is taken as categories: write one of them as in {feature.text}, or a condition."
            raise self.refused(token, why)
        return own[0]

    def called(self, name: str) -> list[int]:
        return self.by_column.get(name) or self.by_column.get(_unquoted(name), [])

    def only_column(self, own: Sequence[int], token: Token) -> Feature:
        if len({self.features[j].column for j in own}) > 1:
            raise self.refused(token, "two columns are called so; rename one of them.")
        return self.features[own[0]]

    def number(self, token: Token) -> Fraction:
        """The value of a number or a date."""
        if token.kind == "date":
            try:
                seconds = np.datetime64(token.text.replace(" ", "T"), "s").astype(np.int64)
            except ValueError:
                raise self.error(token, "there is no such day") from None
            return Fraction(int(seconds), 86400)
        digits, _, exponent = token.text.lower().partition("e")
        # As written, before an exponent of nine digits is computed.
        value = Fraction(token.text) if len(digits) <= _DIGITS and len(exponent) <= 4 else None
        if value is None or not moderate(value):
            raise self.refused(token, f"{SIZES}.")
        return value

    # ---- conditions

    def takes_condition(self, at: int) -> bool:
        """Whether a condition stands here, and nothing but a remark after it."""
        found = _CONDITION.match(self.text, at)
        if found is None or (self.text[found.end() :].strip() and not _REMARK.match(self.text, found.end())):
            return False
        column, level = (Token("name", found[name], found.start(name)) for name in ("column", "level"))
        own, name = self.called(column.text), _unquoted(column.text)
        if not own:
            word = name if re.fullmatch(r"[\w.%+,]+", name) else shlex.quote(for_terminal(name))
            raise self.refused(
                column, f"no feature is made of such a column; if it holds categories, give --categorical {word}."
            )
        feature = self.only_column(own, column)
        if feature.levels:
            j, value = self.category(own, level)
        elif feature.kind in TRANSFORMS:
            raise self.refused(
                column, f"the column is taken as {feature.text}, and conditions are about columns as they are."
            )
        else:
            j, value = own[0], self.cell(level, feature.kind)
        self.condition = Condition(j, value, found["negated"] is not None)
        return True

    def category(self, own: Sequence[int], level: Token) -> tuple[int, float]:
        """The feature and its value where a column has a level."""
        first = self.features[own[0]]
        found = [k for k, one in enumerate(first.levels) if level.text in (one, level_text(one))]
        found = found or [k for k, one in enumerate(first.levels) if _unquoted(level.text) == one]
        if len(found) != 1:
            shown = ", ".join(map(level_text, first.levels[:8])) + (" and more" if len(first.levels) > 8 else "")
            several = "two categories are called so" if found else "the column has no such category"
            raise self.refused(level, f"{several}; there are {shown}.")
        if first.kind == "code":
            return own[0], float(found[0])
        j = next((j for j in own if self.features[j].level == first.levels[found[0]]), None)
        if j is None:
            raise self.refused(level, "no feature is made of this category; use another.")
        return j, 1.0

    def cell(self, level: Token, kind: str) -> float:
        written = _unquoted(level.text)
        if kind == "boolean" and written in ("true", "false"):
            return float(written == "true")
        if kind == "date" and re.fullmatch(_DATE, written):
            return float(self.number(replace(level, kind="date", text=written)))
        if not re.fullmatch(rf"[+-]?{_DECIMAL}", written):
            what = {"boolean": "true or false", "date": "dates"}.get(kind, "numbers")
            raise self.refused(level, f"the column holds {what}, so compare it with one of these.")
        return float(self.number(replace(level, text=written)))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("]]", "]") if name.startswith("[") else name


def _hint(name: str, columns: Sequence[str]) -> str:
    """The column that may be meant, as a rule calls it."""
    folded = [column for column in columns if column.casefold() == name.casefold()]
    begins = [column for column in columns if column.startswith(f"{name} ")]
    found = next(iter([*folded, *get_close_matches(name, columns, n=1), *begins]), None)
    if found is not None:
        return f"did you mean {name_text(found)}?"
    shown = ", ".join(name_text(column) for column in columns[:8])
    return f"there are {shown}{' and more' if len(columns) > 8 else ''}."
