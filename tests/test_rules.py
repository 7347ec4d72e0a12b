"""Each of the project's own rules can fail; `make lint` checks that they hold."""

from __future__ import annotations

import pytest

from rules import check_rules as rules

WRITE = "with replacing(path) as temporary:\n    {}\n"


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (rules.check_length, "x = 1\n" * rules.MAX_LINES, "x = 1\n" * (rules.MAX_LINES + 1)),
        (rules.check_decorator, "import numba\n", "import numba\n\n@numba.njit\ndef f(): ...\n"),
        (rules.check_decorator, "import numba as nb\n", "import numba as nb\n\nf = nb.jit(g)\n"),
        (rules.check_decorator, "from numba import types\n", "from numba import njit\n"),
        (
            rules.check_overload_flags,
            "@overload(f, jit_options=o)\ndef a(): ...\n",
            "@overload(f)\ndef a(): ...\n",
        ),
        (rules.check_writes, WRITE.format("path.write_text(text)"), "path.write_text(text)\n"),
        (rules.check_writes, WRITE.format("figure.savefig(path)"), "figure.savefig(path)\n"),
        (rules.check_writes, "frame.to_csv(index=False)\n", "frame.to_csv(path)\n"),
        (rules.check_writes, "open(path, encoding='ascii')\n", "open(path, 'w')\n"),
        (rules.check_writes, "path.open()\n", "path.open(mode='ab')\n"),
    ],
)
def test_rules_of_files(tmp_path, check, good, bad):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/module.py").write_text(good)
    assert list(check(tmp_path)) == []
    (tmp_path / "src/module.py").write_text(bad)
    (found,) = check(tmp_path)
    assert found.startswith("src/module.py")


def documented(x: int) -> int:
    """Double.

    Parameters
    ----------
    x : int
        A number.

    Returns
    -------
    int
        Its double.

    Examples
    --------
    >>> documented(2)
    4
    """
    return 2 * x


def bare(x: int) -> int:
    """Double."""
    return 2 * x


def test_rules_of_public_names():
    def kernel(): ...

    kernel.__module__ = "ordinal_shapley_kernels.walk"
    assert len(list(rules.check_no_kernel_exported([("kernel", kernel), ("bare", bare)]))) == 1
    assert list(rules.check_docstrings([("documented", documented)])) == []
    assert len(list(rules.check_docstrings([("bare", bare)]))) == 4
    page = "- `documented(x)` doubles.\n- `datasets.load`: loads.\n"
    assert list(rules.check_api_page([("documented", 0), ("datasets.load", 0)], page)) == []
    assert len(list(rules.check_api_page([("bare", 0), ("load", 0)], page))) == 2
