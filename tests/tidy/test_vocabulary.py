"""Prose in the field's words: budgets for words that hide the subject of a sentence, and names that no identifier has.

The budgets are per 10,000 words of docstrings and comments. Model projects (delta-kernel-rs, h11, psycopg, pyiceberg)
stay well below them.
"""

from __future__ import annotations

import ast
import io
import itertools
import keyword
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import pytest

from tests.paths import ROOT
from tests.tidy.sources import GENERATED

TOPS = ("catalog", "engine", "gateway", "tests")

BUDGETS = {
    "what": (("what",), 25),
    "of": (("of",), 260),
    "where": (("where",), 35),
    "those": (("those",), 8),
    "told": (("told", "tells", "said"), 8),
    "beside": (("beside", "behind", "lies"), 6),
}
OPENINGS = re.compile(r"(What|Of|Those|Whether|As|Where|That|Which|How|Without|With)\b")
OPENINGS_MAX = 0.01
_WORD = re.compile(r"[A-Za-z']+")


# Words that the vocabulary replaces by a term of Delta, Spark, Unity Catalog or HTTP. A name has none of them.
REPLACED = frozenset(
    "road way ways house room rooms floor door doors needs need sight policed told contest loss losses patience choice "
    "chosen extremes marks marked unmarked kept remainder going staying rule rules numbered rearrangement rearranged "
    "remembered turn turns question questions asked announced timeless repeatability lent lease leases "
    "settled measures totals vitals trail carried head heads".split()
)
REPLACED_PAIRS = frozenset({("seen", "by"), ("hides", "work"), ("take", "up"), ("hung", "up"), ("look", "up")})

# Pattern of names → the standard meaning in which they have such a word.
EXCEPTIONS = {
    r"(_?(admission_)?rules|AdmissionRules|GroupRules)": "rules of admission to a queue; a JSON field that Java reads",
    r"(add_url_rule|iter_rules|rule)": "Flask's URL rules",
    r"(test_)?optimizer_?[rR]ules|RULES|_RULE_ROWS|(add|bench)_rules|_after_rules|_rules_of|with_rule": (
        "rules of Spark's optimizer"
    ),
    r"rule_setting|test_rule_(settings|setting_has|is|that).*": "rules of Spark's optimizer",
    r"test_.*(_rules?_(of|that|setting|off|and|is)_|_reset_rule).*": "rules of Spark's optimizer",
    r"(do_)?HEAD|_status_of_head_request|.*_head_response_.*": "the HTTP method HEAD",
    r"_?(Head|head|last_head|parse_head|find_head_end|head_bytes|head_s|HEAD|HEAD_BYTES.*|HEAD_END|head_offsets)": (
        "the request line and headers of an HTTP request; the first bytes of a message"
    ),
    r"heads|heads_file": "the setting audit.heads_file and the option --heads",
    r".*high_water_marks": "high-water marks of identity columns",
    r"is_kept_alive": "HTTP keep-alive",
    r"kept_(max|bytes_max|bytes_per_user_max)": "settings",
    r"FileSystemCache": "a Java class, and a method of one",
    r"(lease|chosen)": "JSON fields of requests to Java and of its callbacks",
    r"(Remote)?Lease|LEASE_S|LEASES|(\w*_)?leases?(_\w+)?": (
        "ownership that ends unless it is renewed, of a gateway's part of the state folder"
    ),
    r"marks": "an argument of pytest.param",
    r"choice": "random.choice",
    r"NEED_DATA": "a state of h11",
}


def python_files() -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each module of the packages and the tests, without generated ones."""
    for top in TOPS:
        for file in sorted((ROOT / top).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if not path.startswith(GENERATED) and "/node_modules/" not in path and "/clients/suites/" not in path:
                yield path, file.read_text()


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yields each docstring, and each string that stands alone as a statement."""
    for node in ast.walk(tree):
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                if isinstance(statement.value.value, str):
                    yield statement.value.value


@dataclass
class Words:
    """The docstrings and comments of all modules, and each name with a module that has it."""

    docstrings: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def prose(self) -> str:
        return "\n".join((*self.docstrings, *self.comments))

    def add(self, path: str, text: str) -> None:
        """Reads a module."""
        self.docstrings += docstrings(ast.parse(text))
        names = set(path.removesuffix(".py").split("/"))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                self.comments.append(token.string)
            elif token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                names.add(token.string)
        self.names |= dict.fromkeys(names, path)


@cache
def python_words() -> Words:
    """Returns the words of all modules, which takes longer than every check of them."""
    words = Words()
    for path, text in python_files():
        words.add(path, text)
    return words


def documents() -> str:
    """Returns the contributors' documents and the templates of error messages."""
    files = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    conditions = tomllib.loads((ROOT / "catalog/conditions.toml").read_text())
    return "\n".join([file.read_text() for file in files] + list(_texts(conditions)))


def documentation() -> str:
    """Returns the prose of the README and of the pages that are not generated, without code blocks."""
    files = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages = [text for file in files if "<!-- Generated by" not in (text := file.read_text())]
    return re.sub(r"^ *```.*?^ *```$|<!--.*?-->|`[^`\n]+`", "", "\n".join(pages), flags=re.DOTALL | re.MULTILINE)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner) if key not in ("sqlstate", "condition", "class") else ()
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def rates(text: str) -> dict[str, float]:
    """Returns how often the words of each budget occur, per 10,000 words."""
    counts = Counter(word.lower() for word in _WORD.findall(text))
    total = counts.total()
    return {name: 10_000 * sum(counts[word] for word in words) / total for name, (words, _) in BUDGETS.items()}


@pytest.mark.parametrize("budget", BUDGETS)
def test_docstrings_and_comments_stay_within_the_budget(budget: str) -> None:
    assert rates(python_words().prose)[budget] <= BUDGETS[budget][1]


@pytest.mark.parametrize("budget", BUDGETS)
def test_documents_and_messages_stay_within_the_budget(budget: str) -> None:
    assert rates(documents())[budget] <= BUDGETS[budget][1]


@pytest.mark.parametrize("budget", BUDGETS)
def test_documentation_stays_within_the_budget(budget: str) -> None:
    assert rates(documentation())[budget] <= BUDGETS[budget][1]


def test_docstrings_begin_with_their_subject() -> None:
    found = python_words().docstrings
    openings = [text for text in found if OPENINGS.match(text.strip())]
    assert len(openings) <= OPENINGS_MAX * len(found), openings[:20]


def test_rates_count_words_in_any_case() -> None:
    assert rates("What is of use, what is not: of.") == {
        "what": 2500.0,
        "of": 2500.0,
        "where": 0.0,
        "those": 0.0,
        "told": 0.0,
        "beside": 0.0,
    }


def words_of(name: str) -> list[str]:
    """Returns the words of a name in snake_case or CamelCase, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_replaced(name: str) -> bool:
    words = words_of(name)
    pairs = set(itertools.pairwise(words))
    if not (REPLACED.intersection(words) or REPLACED_PAIRS & pairs):
        return False
    return not re.fullmatch("|".join(EXCEPTIONS), name)


def test_names_have_the_terms_of_the_field() -> None:
    wrong = {name: path for name, path in python_words().names.items() if is_replaced(name)}
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kept_rows", True),
        ("FilesTold", True),
        ("seen_by", True),
        ("is_seen_by_users", True),
        ("moved_high_water_marks", False),
        ("HEAD", False),
        ("broadcast", False),
        ("keptalive", False),
    ],
)
def test_words_of_a_name_are_whole(name: str, expected: bool) -> None:
    assert is_replaced(name) is expected
