"""The header of an item: everything up to `;` or a function's brace."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.frontends.c.item_scan import Brace, Conditional, ItemScan
from polylsp.frontends.c.layout import (
    AGGREGATE,
    ATTRIBUTE_USE,
    BLOCK,
    BODY_EVENT,
    COMMENTS,
    DIRECTIVE,
    EVENT,
    HEADER,
    LINKAGE,
    LOOK,
    OLD_STYLE_REST,
    OLD_STYLE_START,
    TYPE_WORD,
    blanked,
    directive_word,
    function_name,
    harmless_before,
    starts_line,
)
from polylsp.frontends.c.scanner import Cut


def scan_header(scan: ItemScan, at: int) -> Cut | int:
    """The item whose header starts at `at`; where a function's body starts, its offset."""
    header, search = _Header(scan, at, at), EVENT.search
    while event := search(scan.text, header.at):
        header.at = event.end()
        found = header.take(event.start())
        if found is not None:
            return found
    return scan.leave("stray", len(scan.text))


@dataclass(slots=True)
class _Header:
    """A header from `begin` on that is read up to `at`. `closed`: a parenthesis was; `assigned`: there was an
    equals sign outside of them. `passed` is where the last braces of a type or
    a value ended. What ends it is answered: the item, or where the function's body starts."""

    scan: ItemScan
    begin: int
    at: int
    closed: bool = False
    assigned: bool = False
    passed: int = -1

    def take(self, where: int) -> Cut | int | None:
        """Read a mark."""
        scan = self.scan
        match scan.text[where]:
            case "(":
                scan.parens += 1
            case ")":
                self.closed = True
                scan.parens = max(0, scan.parens - 1)
            case "=":
                self.assigned = self.assigned or scan.parens == 0
            case ";":
                return self._semicolon(where)
            case "{":
                return self._brace(where)
            case "}":
                return scan.leave("stray", where)
            case "/" if scan.text[where + 1] == "*":
                self.at = scan.scanner.comment_end(where)
            case "\n":
                return self._line_end(where)
            case _:
                pass
        return None

    def _semicolon(self, where: int) -> Cut | int | None:
        scan = self.scan
        if scan.parens == 0 and self.closed and not self.assigned:
            brace = _old_style_body(scan, self.begin, where)
            if brace >= 0:
                return _enter(scan, self.begin, brace, old_style=True)
        if scan.parens and BLOCK.match(scan.text, self.begin):
            return None
        return scan.leave("stray" if scan.parens else "declaration", self.at)

    def _brace(self, where: int) -> Cut | int | None:
        scan = self.scan
        split = _split(scan, self.begin, max(self.begin, self.passed), where)
        if split >= 0:
            return scan.leave("stray", split)
        if self.passed >= 0 and (self.assigned or not self.closed):
            return self._aggregate(where)
        role = _role(scan, self.begin, where, self.closed, self.assigned)
        if role == "linkage":
            return scan.leave("declaration", self.at)
        if role == "function":
            return _enter(scan, self.begin, where)
        if role == "block":
            return scan.leave("stray", _matching(scan, where)[0])
        return self._aggregate(where)

    def _aggregate(self, where: int) -> Cut | None:
        """Scan the braces of a type or of a value."""
        scan = self.scan
        self.at, broken = _matching(scan, where)
        self.passed = self.at
        if broken:
            return scan.leave("stray", self.at)
        after = scan.next(self.at)
        if scan.scanner.at_header(after) and starts_line(scan.text, after):
            return scan.without_semicolon(self.at)
        self.closed = self.closed and self.assigned
        return None

    def _line_end(self, where: int) -> Cut | None:
        scan = self.scan
        if self.at == where + 1:
            stray = scan.parens > 0 and scan.scanner.at_header(self.at)
            return scan.leave("stray", where) if stray else None
        directive = DIRECTIVE.match(scan.text, where + 1)
        assert directive is not None
        if not _header_directive(scan, where + 1, directive.end()):
            return scan.leave("stray", where)
        self.at = directive.end()
        return None


def _header_directive(scan: ItemScan, start: int, end: int) -> bool:
    """Take in a directive inside a header; false if it ends the header."""
    word = directive_word(scan.text, start)
    if word in ("if", "ifdef", "ifndef"):
        scan.conditionals.append(Conditional(scan.opened, scan.parens))
        return True
    if word in ("else", "elif", "elifdef", "elifndef"):
        if scan.conditionals:
            scan.parens = scan.conditionals[-1].parens
            return True
        return scan.merge_back()
    if word == "endif" and scan.conditionals:
        scan.conditionals.pop()
        return True
    return word in ("pragma", "line") and scan.parens > 0


def _old_style_body(scan: ItemScan, begin: int, semicolon: int) -> int:
    """The brace after the parameter declarations of an old-style definition, or -1."""
    header = scan.clean(begin, semicolon)
    if not OLD_STYLE_START.match(header.lstrip()) or header.lstrip().startswith("typedef"):
        return -1
    scan.scanner.look(semicolon + LOOK)
    rest = COMMENTS.sub(blanked, scan.text[semicolon : semicolon + LOOK])
    match = OLD_STYLE_REST.match(rest)
    return semicolon + match.end() - 1 if match else -1


def _split(scan: ItemScan, begin: int, passed: int, brace: int) -> int:
    """Start of a header that follows unfinished text on earlier lines, or -1; none starts before the braces
    that were `passed`."""
    text = scan.text
    nearest = max(passed, brace - LOOK)
    line = text.rfind("\n", nearest, brace)
    while line >= 0:
        if line + 1 < brace and (text[line + 1].isalpha() or text[line + 1] == "_"):
            header = HEADER.match(text, line + 1, min(brace + 1, line + 1 + LOOK))
            if header and header.end() == brace + 1:
                before = scan.clean(begin, line)
                own = text[line + 1 : brace].split("(")[0]
                has_type = len(own.split()) > 1 and TYPE_WORD.search(own)
                if has_type and not harmless_before(before):
                    return line
                return -1
        line = text.rfind("\n", nearest, line)
    return -1


def _role(scan: ItemScan, begin: int, brace: int, closed: bool, assigned: bool) -> str:
    header = scan.clean(begin, brace).strip()
    if BLOCK.match(header) or not header:
        return "block"
    if header.startswith("extern") and LINKAGE.fullmatch(scan.text[begin:brace].strip()):
        return "linkage"
    if assigned or not closed or header.startswith("typedef"):
        return "aggregate"
    bare = ATTRIBUTE_USE.sub(" ", header)
    if "(" not in bare:
        return "aggregate"
    tail = bare[bare.rfind(")") + 1 :].strip()
    if tail and AGGREGATE.search(bare[: bare.find("(")]):
        return "aggregate"
    return "function"


def _matching(scan: ItemScan, brace: int) -> tuple[int, bool]:
    """The end of the braces opened at `brace`, and whether they were never closed."""
    text, at, depth = scan.text, brace + 1, 1
    conditionals: list[int] = []
    while event := BODY_EVENT.search(text, at):
        mark, where = text[event.start()], event.start()
        at = event.end()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth == 0:
                return at, False
        elif mark == "/" and text[where + 1] == "*":
            at = scan.scanner.comment_end(where)
        elif mark == "\n" and at > where + 1:
            directive = DIRECTIVE.match(text, where + 1)
            assert directive is not None
            at = directive.end()
            word = directive_word(text, where + 1)
            if word in ("if", "ifdef", "ifndef"):
                conditionals.append(depth)
            elif word in ("else", "elif") and conditionals:
                depth = conditionals[-1]
            elif word == "endif" and conditionals:
                conditionals.pop()
        elif mark == "\n" and scan.scanner.at_header(at):
            return where, True
    scan.scanner.look(len(text) + 1)
    return len(text), True


def _enter(scan: ItemScan, begin: int, brace: int, old_style: bool = False) -> int:
    """Note the signature of a function; the offset at which its body starts."""
    header = scan.clean(begin, brace)
    if not scan.name:
        scan.name = function_name(header)
        scan.body = brace - scan.start
    if old_style:
        specifiers = header[: header.rfind(scan.name, 0, header.find("(") + 1)].strip()
        scan.pieces += [scan.text[scan.copied : begin], f"{specifiers or 'int'} {scan.name}();"]
    else:
        signature = scan.text[scan.copied : brace].rstrip()
        scan.pieces += [signature, "\n;" if "#" in signature or "//" in signature else ";"]
    scan.opened = Brace(brace)
    return brace + 1
