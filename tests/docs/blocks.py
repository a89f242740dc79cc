"""Code blocks of the documentation, and what a test does with each of them.

A fence is ```` ```language ```` or ```` ```{.language .no-run reason="…"} ````; the second form is not run. A `text`
block directly after a `sql` or `sh` block is its expected output, in which `…` stands for any text. If it begins with
`[CONDITION]`, the last statement must fail with this error. A comment `<!-- setup … -->` has SQL that runs before the
blocks that follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT

RUN = ("sql", "sh", "python", "toml")
# Languages of blocks that nothing runs: output, and files of other programs.
SHOWN = ("text", "yaml", "json", "ini", "promql", "js", "go", "java", "dockerfile")
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```\s*?$|^<!-- setup\n(?P<setup>.*?)-->",
    re.MULTILINE | re.DOTALL,
)
_ATTRIBUTES = re.compile(r'\{\s*\.(?P<language>\w+)(?P<no_run> \.no-run reason="(?P<reason>[^"]+)")?\s*\}')


@dataclass(frozen=True, slots=True)
class Block:
    """A code block; `expected` is the text block after it."""

    page: str
    line: int
    language: str
    text: str
    reason: str = ""
    expected: str | None = None

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.reason


def pages() -> list[Path]:
    """Returns the README and the pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(path: Path) -> list[Block]:
    """Returns the blocks of one page, in order; each `text` block after one that is run belongs to that."""
    text = path.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        block = _block(path.relative_to(ROOT).as_posix(), text, match)
        follows = found and not text[end : match.start()].strip()
        if block.language == "text" and follows and found[-1].language in ("sql", "sh") and not found[-1].reason:
            found[-1] = _with_expected(found[-1], block.text)
        else:
            found.append(block)
        end = match.end()
    return found


def _block(page: str, text: str, match: re.Match[str]) -> Block:
    line = text.count("\n", 0, match.start()) + 1
    if match["setup"] is not None:
        return Block(page, line, "sql", match["setup"])
    body = re.sub(rf"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
    attributes = _ATTRIBUTES.fullmatch(match["info"].strip())
    if attributes is None:
        return Block(page, line, match["info"].strip(), body)
    return Block(page, line, attributes["language"], body, attributes["reason"] or "")


def _with_expected(block: Block, expected: str) -> Block:
    return Block(block.page, block.line, block.language, block.text, block.reason, expected)


def statements_of(text: str) -> Iterator[str]:
    """Yields the statements of a block: each ends with a semicolon at the end of a line, a script with a line `END`."""
    lines: list[str] = []
    for line in text.splitlines():
        lines.append(line)
        first = next((each for each in lines if each.strip() and not each.startswith("--")), "")
        code = re.sub(r"\s+--.*$", "", line).rstrip()
        ends = code.rstrip(";") == "END" if first.startswith("BEGIN") else code.endswith(";")
        if ends:
            yield "\n".join(lines).strip()
            lines = []
    rest = "\n".join(lines).strip()
    if re.sub(r"--.*", "", rest).strip():
        yield rest


def matches(expected: str, output: str) -> bool:
    """Compares output with what a page shows; `…` stands for any text, and trailing spaces do not count."""
    plain = "\n".join(line.rstrip() for line in output.strip().splitlines())
    wanted = "\n".join(line.rstrip() for line in expected.strip().splitlines())
    return re.fullmatch(".*?".join(map(re.escape, wanted.split("…"))), plain, re.DOTALL) is not None
