"""Top-level declarations as token lists, indexed by the names that they declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from polylsp.frontends.c.declared_attributes import OTHER_TYPES, attributes_in, has_label
from polylsp.frontends.c.gnu_extensions import PlainTokens, plain_c

_LONG_INITIALISER = 400
THREAD_STORAGE = frozenset(("_Thread_local", "thread_local", "__thread"))
NEVER_RETURNS = frozenset(("_Noreturn", "__noreturn"))
PER_THREAD = "per-thread"
_OPAQUE = "opaque"

_KEYWORDS = frozenset([
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return",
    "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
    "volatile", "while", "_Bool", "_Complex", "_Imaginary", "_Atomic", "_Alignof", "_Alignas",
    "_Generic", "_Noreturn", "_Static_assert", "_Thread_local", "__int128",
])  # fmt: skip
_TAGGED = ("struct", "union", "enum")
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration after macro expansion, its final `;` included, in plain C.

    `names` are those it declares: typedefs, tags, enumerators, variables, functions. `definition` are the
    tokens of the whole function where a header or a macro defines it (an inline function), else empty;
    `pragmas` those in it, each with the number of the token it stands before. `uses` are all words in
    `tokens`.
    """

    names: tuple[str, ...]
    tokens: tuple[str, ...]
    attributes: frozenset[str] = frozenset()
    definition: tuple[str, ...] = ()
    pragmas: tuple[tuple[int, str], ...] = ()
    uses: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def name(self) -> str:
        """The first name declared, or an empty string."""
        return self.names[0] if self.names else ""

    @property
    def const(self) -> bool:
        """The function is declared to read its arguments alone and to write nothing."""
        return not self.attributes.isdisjoint(("const", "unsequenced"))

    @property
    def pure(self) -> bool:
        """The function is declared to write nothing."""
        return not self.attributes.isdisjoint(("pure", "reproducible"))

    @property
    def ends(self) -> bool:
        """The function is declared not to return."""
        return "noreturn" in self.attributes

    @property
    def opaque(self) -> bool:
        """True for a stand-in declaration of an opaque type, of which only the name is declared."""
        return _OPAQUE in self.attributes

    @property
    def per_thread(self) -> bool:
        """True for a thread-local variable."""
        return PER_THREAD in self.attributes


def opaque_type(name: str) -> Declaration:
    """The stand-in for the declaration of a type that no header declares."""
    return Declaration((name,), ("typedef", "int", name, ";"), frozenset((_OPAQUE,)))


@dataclass(frozen=True, slots=True)
class Index:
    """Declarations in source order, and where each name is declared."""

    declarations: tuple[Declaration, ...]
    places: Mapping[str, Sequence[int]]


@dataclass(slots=True)
class Splitter:
    """Cuts expanded text, which comes in pieces, into declarations. `current` is the one that is not complete
    yet: `depth` brackets are open, `called` and `assigned` tell that it has parentheses and an equals sign,
    `braces` where its last braces outside of others ended; `body`: these are a function's."""

    current: list[str] = field(default_factory=list[str])
    depth: int = 0
    called: bool = False
    assigned: bool = False
    braces: int = 0
    body: bool = False

    def feed(self, texts: Iterable[str]) -> list[list[str]]:
        """The declarations that are complete once these tokens have come."""
        found: list[list[str]] = []
        for text in texts:
            current = self.current
            if self.depth == 0 and (text == "}" or (text == "{" and _is_linkage(current))):
                self.clear()
                continue
            if text == "{" and self.depth == 0:
                self.body = self._opens_body()
            current.append(text)
            if text in _OPEN:
                self.depth += 1
            elif text in _CLOSE:
                self.called = self.called or text == ")"
                self.depth = max(0, self.depth - 1)
                if self.depth == 0 and text == "}":
                    self.braces = len(current)
                    if self.body:
                        found.append(current)
                        self.clear()
            elif text == "=":
                self.assigned = True
            elif text == ";" and self.depth == 0:
                if len(current) > 1:
                    found.append(current)
                self.clear()
        return found

    @property
    def is_empty(self) -> bool:
        """True if no declaration is incomplete."""
        return not self.current and self.depth == 0 and not (self.called or self.assigned or self.body)

    def clear(self) -> None:
        """Discard the incomplete declaration."""
        self.current = []
        self.depth = self.braces = 0
        self.called = self.assigned = self.body = False

    def _opens_body(self) -> bool:
        """True if the following `{` begins the body of a function."""
        current = self.current
        if not self.called or self.assigned or current[0] == "typedef":
            return False
        plain = _plain(current[self.braces :])
        return bool(plain) and plain[-1] == ")"


_DEEPEST = 100


def _depth(texts: tuple[str, ...]) -> int:
    """Nesting depth of braces."""
    deepest = depth = 0
    for text in texts:
        depth += (text == "{") - (text == "}")
        deepest = max(deepest, depth)
    return deepest


@lru_cache(maxsize=65536)
def declaration(texts: tuple[str, ...]) -> Declaration | None:
    """Declaration of one complete piece of `split`; `None` if it declares no name that we recognise."""
    if texts.count("{") > _DEEPEST and _depth(texts) > _DEEPEST:
        return None
    attributes = attributes_in(list(texts))
    if not NEVER_RETURNS.isdisjoint(texts):
        attributes |= {"noreturn"}
    if not THREAD_STORAGE.isdisjoint(texts):
        attributes |= {PER_THREAD}
    if texts[-1] == ";" and has_label(texts):
        attributes |= {"asm-label"}
    cleaned = _cleaned(texts)
    definition: tuple[str, ...] = ()
    pragmas: tuple[tuple[int, str], ...] = ()
    if cleaned is None or (texts[-1] == "}" and "{" in cleaned.texts):
        if cleaned is not None and OTHER_TYPES.isdisjoint(attributes):
            definition = tuple(cleaned.texts)
            pragmas = tuple((token, text) for token, text, _, _ in cleaned.pragmas)
        signature = _plain(texts[: _body_at(texts)])
        if signature is None:
            return None
        plain = [*signature, ";"]
    else:
        plain = cleaned.texts
    plain = _shortened(plain)
    if len(plain) < 2 or plain[0] == ";":
        return None
    names = _names(plain)
    uses = frozenset(text for text in plain if text[0].isalpha() or text[0] == "_") - _KEYWORDS
    return Declaration(names, tuple(plain), attributes, definition, pragmas, uses)


def index(declarations: Iterable[Declaration]) -> Index:
    """An index of declarations; repetitions are dropped."""
    unique = tuple(dict.fromkeys(declarations))
    places: dict[str, list[int]] = {}
    for k, known in enumerate(unique):
        for name in known.names:
            places.setdefault(name, []).append(k)
    return Index(unique, places)


def needed(known: Index, tokens: Iterable[str]) -> tuple[Declaration, ...]:
    """The declarations that tokens name, and those that these name in turn, in source order."""
    places = known.places
    waiting = [name for name in set(tokens) if name in places]
    seen: set[str] = set(waiting)
    found: set[int] = set()
    while waiting:
        for k in places[waiting.pop()]:
            if k not in found:
                found.add(k)
                more = [name for name in known.declarations[k].uses if name in places and name not in seen]
                seen.update(more)
                waiting += more
    return tuple(known.declarations[k] for k in sorted(found))


def _cleaned(texts: Sequence[str]) -> PlainTokens | None:
    nowhere = [0] * len(texts)
    plain = plain_c(list(texts), nowhere, nowhere)
    return plain if isinstance(plain, PlainTokens) else None


def _plain(texts: Sequence[str]) -> list[str] | None:
    cleaned = _cleaned(texts)
    return None if cleaned is None else cleaned.texts


def _is_linkage(current: list[str]) -> bool:
    return len(current) == 2 and current[0] == "extern" and current[1][0] == '"'


def _body_at(texts: Sequence[str]) -> int:
    depth = 0
    for k, text in enumerate(texts):
        if text == "{" and depth == 0:
            return k
        depth += (text in _OPEN) - (text in _CLOSE)
    return len(texts)


def _shortened(texts: list[str]) -> list[str]:
    """A declaration without a long initialiser; an extent that it implied is written out."""
    if len(texts) < _LONG_INITIALISER or "=" not in texts:
        return texts
    equal = texts.index("=")
    if texts[equal + 1 : equal + 2] != ["{"] or texts[0] == "typedef":
        return texts
    depth, elements, comma = 0, 0, True
    for text in texts[equal + 1 : -2]:
        if depth == 1 and comma and text not in _CLOSE:
            elements += 1
            comma = False
        depth += (text in _OPEN) - (text in _CLOSE)
        comma = comma or (depth == 1 and text == ",")
    head = texts[:equal]
    for k in range(len(head) - 1):
        if head[k] == "[" and head[k + 1] == "]":
            head = [*head[: k + 1], str(elements), *head[k + 1 :]]
            break
    return [*head, ";"]


def _names(texts: list[str]) -> tuple[str, ...]:
    names: list[str] = []
    outer = _without_bodies(texts, names)
    for part in _parts(outer):
        name = _declared(part)
        if name and name not in _KEYWORDS:
            names.append(name)
    return tuple(dict.fromkeys(names))


def _without_bodies(texts: list[str], names: list[str]) -> list[str]:
    """The tokens outside braces, without tags; tags and enumerators that are declared go to `names`."""
    outer: list[str] = []
    depth = 0
    enumeration = -1
    for k, text in enumerate(texts):
        if text == "{":
            opener = texts[max(0, k - 2) : k]
            if "enum" in opener:
                enumeration = depth + 1
            depth += 1
        elif text == "}":
            depth -= 1
            enumeration = -1 if depth < enumeration else enumeration
        elif depth == enumeration and texts[k - 1] in ("{", ",") and _is_word(text):
            names.append(text)
        elif k and texts[k - 1] in _TAGGED:
            after = texts[k + 1 : k + 2]
            if _is_word(text) and (after == ["{"] or (depth == 0 and after == [";"])):
                names.append(text)
        elif depth == 0:
            outer.append(text)
    return outer


def _parts(texts: list[str]) -> list[list[str]]:
    """The declarators of a declaration (the first with its specifiers), without initialisers."""
    parts: list[list[str]] = [[]]
    depth = 0
    skipping = False
    for text in texts:
        if depth == 0 and text == ",":
            parts.append([])
            skipping = False
            continue
        if depth == 0 and text in ("=", ":", ";"):
            skipping = True
        depth += (text in _OPEN) - (text in _CLOSE)
        if not skipping:
            parts[-1].append(text)
    return parts


def _declared(part: list[str]) -> str:
    """The name in a declarator."""
    for k, text in enumerate(part):
        if text == "(":
            before = part[k - 1] if k else ""
            if _is_word(before) and before not in _KEYWORDS and part[k + 1 : k + 2] != ["*"]:
                return before
            inner = [word for word in part[k + 1 :] if _is_word(word) and word not in _KEYWORDS]
            if _is_word(before) and before not in _KEYWORDS and k >= 1 and len(part[:k]) == 1:
                return inner[0] if inner else ""
            return inner[0] if inner else ""
        if text == "[":
            return part[k - 1] if k else ""
    words = [word for word in part if _is_word(word) and word not in _KEYWORDS]
    return words[-1] if words else ""


def _is_word(text: str) -> bool:
    return bool(text) and (text[0].isalpha() or text[0] == "_")
