"""Macros as values, and their expansion (Dave Prosser's algorithm, with hide sets)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from polylsp.frontends.c.tokens import tokenize

TOKEN_LIMIT = 100_000
_DEPTH_LIMIT = 60
_NOTHING: frozenset[str] = frozenset()

# Text, whether white space stands before it, and the macros that must not expand it again.
_Token = tuple[str, bool, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: `parameters` is `None` for one without an argument list; with `variadic` the last
    parameter takes all remaining arguments. `spaces[k]`: white space stands before `body[k]`."""

    name: str
    parameters: tuple[str, ...] | None
    variadic: bool
    body: tuple[str, ...]
    spaces: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Overflow:
    """Macros expand to more text than is sensible; `name` is the macro at whose use it happened."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class Uses:
    """Expanded text, token by token, with the source span of each."""

    texts: list[str] = field(default_factory=list[str])
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])


class _Exceeded(Exception):
    """The token limit was passed; never leaves this module."""


def macro(definition: str) -> Macro | None:
    """The macro of a definition such as `SQUARE(x) ((x) * (x))`; `None` if it is malformed."""
    tokens = tokenize(definition, directives=False)
    texts, starts, ends = tokens.texts, tokens.starts, tokens.ends
    if len(texts) == 0 or not (texts[0][0].isalpha() or texts[0][0] in "_$"):
        return None
    first = 1
    parameters: tuple[str, ...] | None = None
    variadic = False
    if len(texts) > 1 and texts[1] == "(" and starts[1] == ends[0]:
        if ")" not in texts:
            return None
        close = texts.index(")")
        names = [text for text in texts[2:close] if text != ","]
        if names and names[-1] == "...":
            variadic = True
            named = len(names) > 1 and texts[close - 2] != ","
            names = names[:-1] if named else [*names[:-1], "__VA_ARGS__"]
        parameters = tuple(names)
        first = close + 1
    spaces = tuple(starts[k] > ends[k - 1] for k in range(first, len(texts)))
    return Macro(texts[0], parameters, variadic, texts[first:], spaces)


def closure(names: Iterable[str], macros: Mapping[str, Macro]) -> tuple[Macro, ...]:
    """The macros that `names` can lead to, by name: a text's expansion depends on no others."""
    found: dict[str, Macro] = {}
    names = set(names)
    waiting = [name for name in names if name in macros]
    pasted = False
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        known = found[name] = macros[name]
        pasted = pasted or "##" in known.body
        waiting += [word for word in known.body if word in macros and word not in found]
        if pasted and not waiting:
            waiting += [other for other in _pasteable(names, found, macros) if other not in found]
    return tuple(found[name] for name in sorted(found))


def expand_uses(
    texts: tuple[str, ...], starts: tuple[int, ...], ends: tuple[int, ...], macros: Mapping[str, Macro]
) -> Uses | Overflow:
    """Replace every macro use; what comes out of one has the span of the whole outermost use."""
    out = Uses()
    run = _Run(macros, texts, starts, ends)
    k, count = 0, len(texts)
    while k < count:
        text = texts[k]
        known = macros.get(text)
        if known is None or (known.parameters is not None and (k + 1 >= count or texts[k + 1] != "(")):
            out.texts.append(text)
            out.starts.append(starts[k])
            out.ends.append(ends[k])
            k += 1
            continue
        run.position = k + 1
        before = len(out.texts)
        try:
            run.exhaust([(text, False, _NOTHING)], out.texts, 0)
        except _Exceeded:
            return Overflow(text, starts[k], ends[k])
        produced = len(out.texts) - before
        out.starts.extend([starts[k]] * produced)
        out.ends.extend([ends[run.position - 1]] * produced)
        k = run.position
    return out


def expand_texts(texts: tuple[str, ...], macros: Mapping[str, Macro]) -> list[str] | Overflow:
    """Replace every macro use in a list of tokens."""
    if macros.keys().isdisjoint(texts):
        return list(texts)
    nowhere = (0,) * len(texts)
    out = expand_uses(texts, nowhere, nowhere, macros)
    return out if isinstance(out, Overflow) else out.texts


def _pasteable(names: Iterable[str], found: Mapping[str, Macro], macros: Mapping[str, Macro]) -> list[str]:
    """Macros whose name `##` could put together: it would begin with a word at hand."""
    pieces = set(names)
    for known in found.values():
        pieces.update(known.body)
    return [name for name in macros if any(name[:cut] in pieces for cut in range(1, len(name)))]


class _Run:
    """One expansion: the source tokens that function-like macros may still take in."""

    __slots__ = ("ends", "macros", "position", "source", "starts", "steps")

    def __init__(
        self,
        macros: Mapping[str, Macro],
        source: tuple[str, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
    ) -> None:
        self.starts = starts
        self.ends = ends
        self.macros = macros
        self.source = source
        self.position = 0
        self.steps = 0

    def exhaust(self, pending: list[_Token], out: list[str], depth: int) -> None:
        """Expand `pending` (last token first) until nothing of it is left."""
        for text, _, _ in self._expanded(pending, depth, closed=False):
            out.append(text)

    def _expanded(self, pending: list[_Token], depth: int, closed: bool) -> list[_Token]:
        out: list[_Token] = []
        if depth > _DEPTH_LIMIT:
            raise _Exceeded
        macros = self.macros
        while pending:
            token = pending.pop()
            text, space, hide = token
            known = macros.get(text)
            if known is None or text in hide:
                out.append(token)
                continue
            arguments: list[list[_Token]] = []
            if known.parameters is not None:
                taken = self._arguments(pending, closed)
                if taken is None:
                    out.append(token)
                    continue
                arguments, closing = taken
                hide = hide & closing
            result = self._substituted(known, arguments, hide | {text}, depth)
            self.steps += len(result) + 1 + len(hide) // 64
            if self.steps > TOKEN_LIMIT:
                raise _Exceeded
            if result:
                result[0] = (result[0][0], space, result[0][2])
            result.reverse()
            pending += result
        return out

    def _arguments(
        self, pending: list[_Token], closed: bool
    ) -> tuple[list[list[_Token]], frozenset[str]] | None:
        """The arguments that follow, taken off the input; `None`, nothing taken, if there are none."""
        read: list[_Token] = []
        position = self.position
        arguments: list[list[_Token]] = [[]]
        depth = 0
        while True:
            if pending:
                token = pending.pop()
                read.append(token)
            elif not closed and self.position < len(self.source):
                at = self.position
                token = (self.source[at], self.starts[at] > self.ends[at - 1], _NOTHING)
                self.position += 1
            else:
                break
            text = token[0]
            if depth == 0:
                if text != "(":
                    break
                depth = 1
                continue
            if text == ")":
                depth -= 1
                if depth == 0:
                    return arguments, token[2]
            elif text == "(":
                depth += 1
            elif text == "," and depth == 1:
                arguments.append([])
                continue
            if text[0] != "#" or len(text) < 3:  # directives inside an argument list are dropped
                arguments[-1].append(token)
        read.reverse()
        pending += read
        self.position = position
        return None

    def _substituted(
        self, known: Macro, arguments: list[list[_Token]], hide: frozenset[str], depth: int
    ) -> list[_Token]:
        """The body of a macro with its arguments put in (C11 6.10.3.1 to 6.10.3.3)."""
        body, spaces = known.body, known.spaces
        bound = _bind(known, arguments)
        if not bound and "##" not in body:
            return [(text, space, hide) for text, space in zip(body, spaces, strict=True)]
        last = known.parameters[-1] if known.parameters and known.variadic else None
        out: list[_Token] = []
        expanded: dict[str, list[_Token]] = {}
        k, count = 0, len(body)
        while k < count:
            text, space = body[k], spaces[k]
            after = body[k + 1] if k + 1 < count else ""
            if text == "#" and after in bound:
                out.append((_stringified(bound[after]), space, _NOTHING))
                k += 2
            elif text == "##" and out and after:
                self._paste_next(body, k + 1, bound, last, out, depth)
                k += 3 if after == "#" and k + 2 < count and body[k + 2] in bound else 2
            elif text == "__VA_OPT__" and last is not None and after == "(":
                close = _closing(body, k + 1)
                if bound[last]:
                    inner = Macro(
                        known.name, known.parameters, True, body[k + 2 : close], spaces[k + 2 : close]
                    )
                    out += self._substituted(inner, arguments, _NOTHING, depth)
                k = close + 1
            elif text in bound:
                argument = bound[text]
                if after != "##":
                    if text not in expanded:
                        expanded[text] = self._expanded(argument[::-1], depth + 1, closed=True)
                    argument = expanded[text]
                    self.steps += len(argument)
                    if self.steps > TOKEN_LIMIT:
                        raise _Exceeded
                elif not argument:
                    argument = [("", space, _NOTHING)]
                if argument:
                    out.append((argument[0][0], space, argument[0][2]))
                    out += argument[1:]
                k += 1
            else:
                out.append((text, space, _NOTHING))
                k += 1
        return [(text, space, hide | own if own else hide) for text, space, own in out if text]

    def _paste_next(
        self,
        body: tuple[str, ...],
        k: int,
        bound: Mapping[str, list[_Token]],
        last: str | None,
        out: list[_Token],
        depth: int,
    ) -> None:
        """Join the operand of `##` at `body[k]` to the last token of `out`."""
        text = body[k]
        if text == "#" and k + 1 < len(body) and body[k + 1] in bound:
            operand: list[_Token] = [(_stringified(bound[body[k + 1]]), False, _NOTHING)]
        elif text in bound:
            operand = bound[text]
            if text == last and out[-1][0] == ",":  # GNU: `, ## __VA_ARGS__` drops the comma
                if operand:
                    out += self._expanded(operand[::-1], depth + 1, closed=True)
                else:
                    out.pop()
                return
        else:
            operand = [(text, False, _NOTHING)]
        if not operand:
            return
        left = out.pop()
        joined = tokenize(left[0] + operand[0][0], directives=False).texts
        hide = left[2] | operand[0][2]
        out += [(piece, left[1] and n == 0, hide) for n, piece in enumerate(joined)]
        out += operand[1:]


def _bind(known: Macro, arguments: list[list[_Token]]) -> dict[str, list[_Token]]:
    parameters = known.parameters or ()
    if known.variadic and len(arguments) > len(parameters):
        rest = arguments[len(parameters) - 1]
        for argument in arguments[len(parameters) :]:
            rest = [*rest, (",", False, _NOTHING), *argument]
        arguments = [*arguments[: len(parameters) - 1], rest]
    return {name: arguments[k] if k < len(arguments) else [] for k, name in enumerate(parameters)}


def _stringified(argument: list[_Token]) -> str:
    pieces: list[str] = []
    for k, (text, space, _) in enumerate(argument):
        if k and space:
            pieces.append(" ")
        quoted = text[-1] in "\"'" and len(text) > 1
        pieces.append(text.replace("\\", "\\\\").replace('"', '\\"') if quoted else text)
    return '"' + "".join(pieces) + '"'


def _closing(body: tuple[str, ...], k: int) -> int:
    depth = 0
    for n in range(k, len(body)):
        depth += (body[n] == "(") - (body[n] == ")")
        if depth == 0:
            return n
    return len(body)
