"""Attributes of C declarations (`__attribute__`, `__declspec`, `[[...]]`, `_Alignas`) by what they change.

Attributes that are listed here as harmless leave the meaning of a program as it is; every other one changes
the layout of structures, makes another type, makes a definition replaceable, or is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

_HARMLESS = frozenset(
    # Findings, optimisation, code generation and placement.
    "unused used retain deprecated unavailable maybe_unused nodiscard warn_unused_result warning error "  # noqa: SIM905
    "visibility section externally_visible designated_init nonstring uninitialized trivial_auto_var_init "
    "noinline always_inline gnu_inline artificial flatten noclone noipa no_icf no_reorder hot cold leaf "
    "nothrow optimize optnone minsize target target_clones simd no_instrument_function "
    "no_profile_instrument_function no_sanitize no_sanitize_address no_sanitize_thread no_sanitize_memory "
    "no_sanitize_undefined no_address_safety_analysis no_stack_protector stack_protect no_split_stack "
    "zero_call_used_regs patchable_function_entry nodebug disable_tail_calls not_tail_called noreturn "
    "Noreturn fallthrough likely unlikely musttail assume annotate availability constructor destructor "
    "common nocommon tls_model thread no_thread_safety_analysis guarded_by pt_guarded_by "
    "warn_if_not_aligned flag_enum enum_extensibility internal_linkage abi_tag "
    # Promises about functions and their arguments.
    "pure const unsequenced reproducible malloc alloc_size alloc_align assume_aligned returns_nonnull "
    "nonnull null_terminated_string_arg format format_arg sentinel access fd_arg fd_arg_read fd_arg_write "
    "tainted_args returns_twice analyzer_noreturn noescape nonblocking nonallocating diagnose_if "
    "argument_with_type_tag pointer_with_type_tag type_tag_for_datatype counted_by transparent_union "
    "pass_object_size pass_dynamic_object_size restrict noalias "
    # Calling conventions and linkage.
    "cdecl stdcall fastcall thiscall vectorcall regparm sseregparm regcall ms_abi sysv_abi pcs swiftcall "
    "preserve_most preserve_all force_align_arg_pointer cf_check nocf_check indirect_branch "
    "function_return indirect_return dllimport dllexport import_module import_name export_name "
    "require_constant_initialization "
    # Types that analysers tell apart.
    "bitwise force user kernel iomem safe nocast context acquires releases must_hold".split()
)
LAYOUT = frozenset(("packed", "aligned", "align", "gcc_struct", "ms_struct", "scalar_storage_order", "pack"))
"""Attributes that change sizes, alignments and offsets; `pack` is the directive of that name."""
OTHER_TYPES = frozenset(("vector_size", "ext_vector_type", "mode", "may_alias", "address_space", "noderef"))
"""Attributes that make another type of the one they stand beside."""
_REPLACED = frozenset(("weak", "weak_import", "ifunc", "alias", "weakref", "selectany"))
ANOTHER_NAME = frozenset(("alias", "weakref", "asm-label"))
"""Attributes of names of objects that other names may denote too; the assembler's names are among them."""
_INTERNAL = frozenset(("per-thread", "opaque", "asm-label"))
_WORDS = frozenset(("__attribute__", "__attribute", "__declspec", "_Alignas", "alignas"))
_OPENING = {**dict.fromkeys(_WORDS, "("), "[": "["}
_ASM = frozenset(("asm", "__asm__", "__asm"))


def attributes_in(texts: Sequence[str]) -> frozenset[str]:
    """The names of the attributes among some tokens, without underscores around; `_Alignas` is `aligned`."""
    if _WORDS.isdisjoint(texts) and "[" not in texts:
        return frozenset()
    found: set[str] = set()
    close = 0
    for k, (text, following) in enumerate(pairwise(texts)):
        if k >= close and following == _OPENING.get(text):
            names, close = attributes_at(texts, k)
            found.update(names)
    return frozenset(found)


def attributes_at(texts: Sequence[str], k: int) -> tuple[tuple[str, ...], int]:
    """The names of the attributes that begin at a token, and the index of the token after them."""
    depth, found = 0, list[str]()
    least = 1 if texts[k] == "__declspec" else 2
    for n in range(k if texts[k] == "[" else k + 1, len(texts)):
        text = texts[n]
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if depth == 0:
            is_alignment = texts[k] in ("_Alignas", "alignas")
            return (("aligned",) if is_alignment else tuple(found)), n + 1
        is_scope = texts[n + 1 : n + 2] in ([":"], ["::"])
        if depth == least and (text[0].isalpha() or text[0] == "_") and not is_scope:
            found.append(text.strip("_"))
    return (), len(texts)


def unknown(attributes: Iterable[str]) -> frozenset[str]:
    """The attributes that are in no list here: they may change anything."""
    return frozenset(attributes) - _HARMLESS - LAYOUT - OTHER_TYPES - _REPLACED - _INTERNAL


def replacing(attributes: frozenset[str]) -> str:
    """An attribute for which a function may do something else than its body in the file, or a variable may
    have another initialiser; empty if there is none."""
    return min((attributes & _REPLACED) | unknown(attributes), default="")


def changes_layout(attributes: frozenset[str]) -> bool:
    """True if structures declared with these attributes may have other sizes and offsets."""
    return not attributes.isdisjoint(LAYOUT) or bool(unknown(attributes))


def makes_another_type(attributes: frozenset[str]) -> bool:
    """True if a type declared with these attributes may not be the one that is spelled."""
    return not attributes.isdisjoint(OTHER_TYPES) or bool(unknown(attributes))


def has_label(texts: Sequence[str]) -> bool:
    """True if a declaration gives what it declares a name for the assembler."""
    return not _ASM.isdisjoint(texts)


def are_harmless(names: Iterable[str]) -> bool:
    """True if attributes leave the meaning of a declaration as it is."""
    return _HARMLESS.issuperset(names)


# --- Attributes inside functions -----------------------------------------------------------------


def obstacle_in(names: Iterable[str], declared: Sequence[str], words: Iterable[str]) -> tuple[str, bool]:
    """The attribute that keeps a declaration in a function from being analysed, empty if none does, and
    whether all of the function depends on it. `declared` are the tokens of the declaration before it, `words`
    those of the function."""
    attributes = frozenset(names) - _HARMLESS - {"weak", "weak_import"}
    is_tagged = [*declared[-1:]] in (["struct"], ["union"], ["enum"])
    makes_type = is_tagged or "typedef" in declared or "{" in declared
    measures = not {"sizeof", "offsetof", "__builtin_offsetof", "_Alignof"}.isdisjoint(words)
    matters = measures or "enum" in declared or ("union" in declared and "packed" in attributes)
    if not (makes_type and matters):
        attributes -= LAYOUT
    if not attributes:
        return "", False
    is_everywhere = makes_type or not attributes.isdisjoint(OTHER_TYPES | ANOTHER_NAME)
    return min(attributes), is_everywhere


def statement_start(texts: Sequence[str]) -> int | None:
    """The index at which the statement begins in which tokens of a function end; `None` outside of blocks."""
    opened: list[bool] = []  # for each bracket: it opens a block
    starts: list[int] = []
    for k, text in enumerate(texts):
        if text in ("(", "[", "{"):
            before = texts[k - 1] if k else ";"
            is_block = text == "{" and before in (")", ";", "{", "}", ":", "else", "do")
            opened.append(is_block)
            starts.append(k + 1)
        elif text in (")", "]", "}") and opened:
            is_block = opened.pop()
            starts.pop()
            if is_block and starts:
                starts[-1] = k + 1
        elif text == ";" and opened and opened[-1]:
            starts[-1] = k + 1
    blocks = [at for at, is_block in zip(starts, opened, strict=True) if is_block]
    return blocks[-1] if blocks else None
