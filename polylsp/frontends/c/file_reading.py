"""Reads the directives and declarations of a file and of the headers that it includes, in order."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from polylsp.core.source_files import decode, read_file, why_no_file
from polylsp.frontends.c import top_level
from polylsp.frontends.c.compile_options import Options, Several, project_header, project_of
from polylsp.frontends.c.declared_attributes import ANOTHER_NAME
from polylsp.frontends.c.macro_expansion import Overflow, expand_texts
from polylsp.frontends.c.macros import (
    History,
    InForce,
    Macro,
    closure_without_pasting,
    macro,
    predefined,
)
from polylsp.frontends.c.preprocessor_lines import Condition, Script, Step, follow, included_name, script
from polylsp.frontends.c.tokens import normalise, words
from polylsp.frontends.c.top_level import Declaration, Splitter

BUNDLED = Path(__file__).parent / "include"
_DEPTH_LIMIT = 64
_FILE_LIMIT = 4000
_OPEN_AT_ONCE = 8
_WATCHED = 64
_ADD_FOLDER = "add its folder to the include paths; what it declares is unknown until then."


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding on a directive of item `item` (its number in the outline, or -1 for an option).
    `directive` is the text of the line it is about; `place` finds it."""

    code: str
    item: int
    directive: str
    message: str


_WEAK = frozenset(("weak",))


@dataclass(slots=True)
class Packing:
    """The state of `#pragma pack`: the greatest alignment of members, 0 for that of the types, and those
    pushed."""

    most: int = 0
    pushed: list[int] = field(default_factory=list[int])

    @property
    def is_on(self) -> bool:
        """True if structures may have other layouts than by default."""
        return 0 < self.most < _LARGEST_ALIGNMENT

    def follow(self, words: Sequence[str]) -> None:
        """Follow `#pragma pack(...)`, given as the words in its parentheses."""
        numbers = [int(each) for each in words if each.isdecimal()]
        if "pop" in words:
            self.most = self.pushed.pop() if self.pushed else 0
        elif "push" in words:
            self.pushed.append(self.most)
        elif not numbers:
            # Another word is a macro.
            self.most = 1 if words else 0
        self.most = numbers[-1] if numbers else self.most


_LARGEST_ALIGNMENT = 16
_GOVERNING = ("pack", "weak", "redefine_extname")


def _pragma_words(texts: Sequence[str], k: int) -> tuple[str, ...]:
    """Words of the directive or of the operator `_Pragma` that begins with token `k`, such as `pack`, `push`
    and `1`; empty if it does not govern declarations."""
    text = texts[k]
    if text.startswith("#pragma"):
        words = text[7:]
    elif text in ("_Pragma", "__pragma"):
        words = " ".join(texts[k + 1 : k + 12]).partition(")")[0]
    else:
        return ()
    found = tuple(re.findall(r"\w+", words))
    return found if found[:1] and found[0] in _GOVERNING else ()


def _is_governed(texts: Sequence[str]) -> bool:
    """True if directives among some tokens change the layout or the linkage of declarations."""
    return any(_pragma_words(texts, k) for k in range(len(texts)) if "ragma" in texts[k])


@dataclass(slots=True)
class Reading:
    """A file being read: the macros in force and all that was declared so far."""

    path: str
    options: Options
    macros: dict[str, Macro] = field(default_factory=lambda: dict(predefined()))
    snapshots: dict[int, InForce] = field(default_factory=dict[int, InForce])
    history: History | None = None
    found: list[Declaration] = field(default_factory=list[Declaration])
    pending: Splitter = field(default_factory=Splitter)
    problems: dict[Problem, None] = field(default_factory=dict[Problem, None])
    headers: dict[str, None] = field(default_factory=dict[str, None])
    wanted: dict[str, None] = field(default_factory=dict[str, None])
    searched: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    missing: set[str] = field(default_factory=set[str])
    nested: dict[tuple[int, str], list[tuple[str, str, str]]] = field(
        default_factory=dict[tuple[int, str], list[tuple[str, str, str]]]
    )
    per_thread: set[str] = field(default_factory=set[str])
    packing: Packing = field(default_factory=Packing)
    weak: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    once: set[str] = field(default_factory=set[str])
    stack: list[str] = field(default_factory=list[str])
    files: int = 0
    item: int = -1
    directive: str = ""
    is_ahead: bool = False
    """True from where an includer includes the file itself: what stands below is not read."""

    def begin(self) -> bool:
        """Read the built-in declarations, define and undefine the macros of the options, and read what stands
        in the includer, if there is one, before the file; false if the file is not included there."""
        self._read_header(str(BUNDLED / "polylsp_builtins.h"))
        for definition in self.options.defines:
            name, _, value = definition.partition("=")
            known = macro(f"{name} {value if '=' in definition else '1'}")
            if known is not None:
                self.macros[known.name] = known
        for name in self.options.undefines:
            self.macros.pop(name, None)
        for name in self.options.forced_includes:
            self._include(f'"{name}"', str(Path(self.path).parent), f"-include {name}")
        if not self.options.includer:
            return True
        self._read_header(self.options.includer)
        self.pending.clear()
        is_included, self.is_ahead = self.is_ahead, False
        return is_included

    def read_file(self, skeleton: tuple[str, ...], functions: frozenset[int]) -> None:
        """Read the items of the file itself."""
        parts: list[Step | Condition] = []
        owners: list[int] = []
        for k, text in enumerate(skeleton):
            if k in functions:
                parts.append(Step("once", 0, 0, "function"))
                owners.append(k)
            own = script(normalise(text)).parts
            parts += own
            owners += [k] * len(own)
        folder = str(Path(self.path).parent)

        def perform(k: int) -> None:
            step = parts[k]
            assert isinstance(step, Step)
            if owners[k] != self.item:
                self.pending.clear()
                self.item = owners[k]
            if step.argument == "function" and step.kind == "once":
                self._enter_function(owners[k])
                return
            self.directive = skeleton[owners[k]][step.start : step.end]
            self._perform(step, folder)

        for misplaced in follow(parts, self.macros, perform):
            owner, part = owners[misplaced.index], parts[misplaced.index]
            self._problem("syntax-error", owner, skeleton[owner][part.start : part.end], misplaced.message)

    def _enter_function(self, item: int) -> None:
        if self.history is None:
            self.history = History(self.macros)
        self.snapshots[item] = InForce(self.history)

    def _perform(self, step: Step, folder: str) -> None:
        match step.kind:
            case "define" if step.macro is not None:
                if self.macros.get(step.macro.name) != step.macro:
                    self.macros[step.macro.name] = step.macro
                    if self.history is not None:
                        self.history.change(step.macro.name, step.macro)
            case "undef":
                if self.macros.pop(step.argument, None) is not None and self.history is not None:
                    self.history.change(step.argument, None)
            case "include":
                self._include(step.argument, folder, self.directive)
            case "text" if step.tokens is not None:
                self._declare(step.tokens.texts)
            case "error":
                where = f" in `{Path(self.stack[-1]).name}`" if self.stack else ""
                self._problem("syntax-error", self.item, self.directive, f"`#error`{where}: {step.argument}")
            case "once":
                if self.stack:
                    self.once.add(self.stack[-1])
            case _:
                self._problem("syntax-error", self.item, self.directive, step.argument)

    def _declare(self, texts: tuple[str, ...]) -> None:
        is_open = self.pending.is_empty and not self.packing.is_on
        needed = closure_without_pasting(texts, self.macros) if is_open else None
        found = _declared(texts, needed) if needed is not None else None
        if found is not None:
            self.per_thread.update(found.per_thread)
            self.found += found.declarations
            return
        self.per_thread.update(_thread_private(texts))
        expanded = expand_texts(texts, self.macros)
        if isinstance(expanded, Overflow):
            message = f"The macro `{expanded.name}` expands to far too much code to be analysed."
            self._problem("budget", self.item, expanded.name, message)
            return
        if self.packing.is_on or _is_governed(expanded):
            self._declare_governed(expanded)
        else:
            self.found += _declarations(self.pending.feed(expanded))

    def _declare_governed(self, expanded: Sequence[str]) -> None:
        """Declare what stands under or beside `#pragma pack` and `#pragma weak`."""
        for k, text in enumerate(expanded):
            was_on, words = self.packing.is_on, _pragma_words(expanded, k)
            match words:
                case ("pack", *arguments):
                    self.packing.follow(arguments)
                case ("weak", name, *others):
                    self.weak[name] = _WEAK | ANOTHER_NAME if others else _WEAK
                case ("redefine_extname", name, *_):
                    self.weak[name] = _WEAK | ANOTHER_NAME
                case _:
                    pass
            if words and text[0] == "#":
                continue
            for one in _declarations(self.pending.feed((text,))):
                packed = one.attributes | {"pack"} if was_on else one.attributes
                self.found.append(replace(one, attributes=packed))

    def _include(self, argument: str, folder: str, directive: str) -> None:
        named = included_name(argument, self.macros)
        if named is None:
            self._problem("syntax-error", self.item, directive, "This `#include` names no file.")
            return
        name, angle = named
        for candidate in self._candidates(name, angle, folder):
            if candidate in self.headers or (kind := why_no_file(candidate)) is None:
                self._read_header(candidate)
                return
            if kind:
                message = (
                    f"The header `{name}` cannot be read: {kind}; what it declares is unknown until then."
                )
                self._problem("missing-header", self.item, directive, message)
                return
            if not candidate.startswith(str(BUNDLED)):
                self.wanted[candidate] = None
        self.searched[name, folder] = None
        project = project_of(self.path)
        match project_header(self.path, name, folder):
            case str(found):
                self._read_header(found)
            case None:
                self.wanted.update(dict.fromkeys(each for each, _ in project.stamps[:_WATCHED]))
                self._missing(name, "was not found", directive)
            case Several() as several:
                self.wanted.update(dict.fromkeys(several.paths))
                near = ", ".join(f"`{os.path.relpath(each, project.root)}`" for each in several.paths[:3])
                self._missing(name, f"may be any of {near}", directive)

    def _missing(self, name: str, what: str, directive: str) -> None:
        """Note a header that cannot be read; once for all that one line of the file includes."""
        if name in self.missing:
            return
        self.missing.add(name)
        if self.stack:
            self.nested.setdefault((self.item, directive), []).append((name, what, self.stack[-1]))
            return
        self._problem("missing-header", self.item, directive, f"The header `{name}` {what}: {_ADD_FOLDER}")

    def finish(self) -> None:
        """Note what `#pragma weak` names, and report the unreadable headers that headers include."""
        for k, one in enumerate(self.found if self.weak else ()):
            for name in self.weak.keys() & {*one.names}:
                self.found[k] = replace(one, attributes=one.attributes | self.weak[name])
        for (item, directive), found in self.nested.items():
            (name, what, includer), *others = found
            more = f"; nor were {len(others)} more, {_some(each for each, _, _ in others)}" if others else ""
            message = f"The header `{name}`, included by `{Path(includer).name}`, {what}{more}: {_ADD_FOLDER}"
            self._problem("missing-header", item, directive, message)

    def _candidates(self, name: str, angle: bool, folder: str) -> list[str]:
        options = self.options
        folders = [*options.include_paths, *options.system_paths, str(BUNDLED)]
        folders = [*folders, folder] if angle else [folder, *options.quote_paths, *folders]
        return [_joined(one, name) for one in folders]

    def _read_header(self, path: str) -> None:
        if path == self.path and self.options.includer in self.stack:
            self.is_ahead = True
            return
        if path in self.once:
            return
        self.files += 1
        if (
            self.stack.count(path) >= _OPEN_AT_ONCE
            or len(self.stack) >= _DEPTH_LIMIT
            or self.files > _FILE_LIMIT
        ):
            message = f"`{Path(path).name}` includes itself without end: give it an include guard."
            self._problem("missing-header", self.item, self.directive, message)
            return
        read = _header(path, stamp(path), self.options.max_file_mb)
        self.headers[path] = None
        if isinstance(read, str):
            message = f"The header `{Path(path).name}` could not be read: {read}."
            self._problem("missing-header", self.item, self.directive, message)
            return
        self.stack.append(path)
        folder = str(Path(path).parent)

        def perform(k: int) -> None:
            step = read.parts[k]
            assert isinstance(step, Step)
            if not self.is_ahead:
                self._perform(step, folder)

        misplaced = follow(read.parts, self.macros, perform)
        self.stack.pop()
        if misplaced:
            message = f"`{Path(path).name}` has a conditional that is not closed or not opened."
            self._problem("syntax-error", self.item, self.directive, message)

    def _problem(self, code: str, item: int, directive: str, message: str) -> None:
        self.problems[Problem(code, item, directive, message)] = None


@dataclass(frozen=True, slots=True)
class _Declared:
    """The declarations of a text that begins none which it does not end, and its `threadprivate` names."""

    declarations: tuple[Declaration, ...]
    per_thread: tuple[str, ...]


@lru_cache(maxsize=16384)
def _declared(texts: tuple[str, ...], macros: tuple[Macro, ...]) -> _Declared | None:
    """The declarations of a text, by the macros that it can lead to; `None` where it ends within one, expands
    to too much, or has directives about declarations. Most texts are those of headers, which many files
    read."""
    expanded = expand_texts(texts, {each.name: each for each in macros})
    pending = Splitter()
    if isinstance(expanded, Overflow) or _is_governed(expanded):
        return None
    pieces = pending.feed(expanded)
    if not pending.is_empty:
        return None
    return _Declared(tuple(_declarations(pieces)), tuple(_thread_private(texts)))


def _declarations(pieces: list[list[str]]) -> list[Declaration]:
    found = (top_level.declaration(tuple(piece)) for piece in pieces)
    return [known for known in found if known is not None]


def _thread_private(texts: tuple[str, ...]) -> list[str]:
    return [name for text in texts if "threadprivate" in text for name in words(text)]


@lru_cache(maxsize=4096)
def _joined(folder: str, name: str) -> str:
    return str(Path(folder, name))


def _some(names: Iterable[str]) -> str:
    first = [f"`{name}`" for name in names]
    return ", ".join(first[:3]) + (", ..." if len(first) > 3 else "")


@lru_cache(maxsize=1024)
def _header(path: str, stamp: int, most_mb: int) -> Script | str:
    """The steps of a header as it was at `stamp`, or why it cannot be read."""
    try:
        return script(normalise(decode(read_file(path, most_mb))))
    except OSError as error:
        return error.strerror or str(error)


def stamp(path: str) -> int:
    """A number that changes with the file; -1 where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 (a path object takes twice as long)
    except (OSError, ValueError):
        return -1
    return found.st_mtime_ns ^ found.st_size
