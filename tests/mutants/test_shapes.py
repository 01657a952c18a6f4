"""Constructs are found by their shape in the syntax tree, and put in place of one another."""

import ast

import pytest

from spec_examples.mutants import Edit, EditDoesNotApply, Mutant
from spec_examples.mutants.shape import replace


def replaced(source: str, find: str, put: str) -> tuple[int, str]:
    tree = ast.parse(source)
    count = replace(tree, find, put)
    return count, ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize(
    ("source", "find", "put", "expected"),
    [
        ("a = b < c", "b < c", "b <= c", "a = b <= c"),
        ("if (x and\n        y):  # layout and comments do not count\n    f()", "x and y", "x", "if x:\n    f()"),
        ("f(g(1), h=2)", "f(A, h=B)", "f(B, h=A)", "f(2, h=g(1))"),
        ("a and b and c and d", "... and c and ...", "... and e and ...", "a and b and e and d"),
        ("f()\ng()\nh()", "f()\ng()", "g()", "g()\nh()"),
        (
            "for i in x:\n    f()\n    g()\ny()",
            "for i in x:\n    ...",
            "for i in z:\n    ...",
            "for i in z:\n    f()\n    g()\ny()",
        ),
        ("if a:\n    x = 1\n    y = x", "x = 1", "x = 2\nz = 3", "if a:\n    x = 2\n    z = 3\n    y = x"),
        ("f(a, b)", "f(...)", "g(...)", "g(a, b)"),
        ("x.y.append(1)", "A.append(1)", "A.append(2)", "x.y.append(2)"),
    ],
)
def test_one_place_is_replaced(source: str, find: str, put: str, expected: str) -> None:
    assert replaced(source, find, put) == (1, ast.unparse(ast.parse(expected)))


def test_a_name_stands_for_the_same_expression_wherever_it_is_repeated() -> None:
    assert replaced("f(1, 2)", "f(A, A)", "g(A)")[0] == 0
    assert replaced("f(x.y, x.y)", "f(A, A)", "g(A)") == (1, "g(x.y)")


def test_what_was_put_in_is_not_searched_again() -> None:
    assert replaced("f()", "f()", "f()\nf()") == (1, "f()\nf()")


@pytest.mark.parametrize(("source", "found"), [("def m(self):\n    g()", 0), ("def m(self):\n    f()\n    f()", 2)])
def test_an_edit_that_does_not_apply_is_reported(source: str, found: int) -> None:
    mutant = Mutant("calls-h", "called h for f", ("ROUTE-1",), "m", (Edit("f()", "h()"),))
    with pytest.raises(EditDoesNotApply, match=f"calls-h does not apply: m has {found} places of the shape 'f\\(\\)'"):
        mutant.apply(ast.parse(source))
