"""What an example needs of the blocks before it on its page, so that the others need not be executed for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from spec_examples.markdown import Example, Page
from spec_examples.running import SETTINGS_LANGUAGES


@dataclass(frozen=True)
class Needs:
    """``imports`` are statements of earlier blocks; ``blocks`` earlier blocks to execute whole, in order."""

    imports: tuple[str, ...] = ()
    blocks: tuple[Example, ...] = ()


def needs(page: Page, example: Example) -> Needs:
    """By the names that a block's code reads and the files that it names; expected output needs the block before it."""
    earlier = [e for e in page.examples if e.line < example.line and e.kind == "block"]
    if example.kind != "block":
        return Needs()
    if example.language == "text":
        before = earlier[-1:]
        inner = needs(page, before[0]) if before else Needs()
        return Needs(inner.imports, (*inner.blocks, *before))
    return _of_code(example, [e for e in earlier if e.parent is None])


def _of_code(example: Example, earlier: list[Example]) -> Needs:
    wanted, text = set(_reads(example)), example.source
    imports: list[str] = []
    blocks: list[Example] = []
    for block in reversed(earlier):
        if block.title and block.language in ("python", *SETTINGS_LANGUAGES):
            taken = block.title in text
        else:
            taken = block.language == "python" and bool(wanted & set(_assigns(block)))
        if taken:
            blocks.insert(0, block)
            text += block.source
            wanted |= set(_reads(block))
        elif block.language == "python" and not block.title:
            imports[:0] = [statement for names, statement in _imports(block) if wanted & set(names)]
    return Needs(tuple(imports), tuple(blocks))


@cache
def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def _reads(block: Example) -> Iterator[str]:
    if block.language == "python":
        names = (node for node in ast.walk(_tree(block.source)) if isinstance(node, ast.Name))
        yield from (node.id for node in names if isinstance(node.ctx, ast.Load))


def _assigns(block: Example) -> Iterator[str]:
    for node in ast.walk(_tree(block.source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name


def _imports(block: Example) -> Iterator[tuple[list[str], str]]:
    for node in _tree(block.source).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield [(alias.asname or alias.name).split(".")[0] for alias in node.names], ast.unparse(node)
