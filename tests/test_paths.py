"""What the model is told of an exception holds no folder of this machine; the card and the log hold it all."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtools as nb
from nbtools.audit import Audit
from nbtools.failure import explain, told_of
from nbtools.paths import without_folders
from nbtools.testing import call
from tests.stage import Page, Strict

HOME = r"C:\Users\zoe\My Data\x.csv"

MESSAGES = [
    ("[Errno 2] No such file or directory: '/home/zoe/My Data/x.csv'", "x.csv"),
    ("[Errno 2] No such file: PosixPath('/home/zoe/x.csv')", "x.csv"),
    ("[Errno 18] Invalid cross-device link: '/home/zoe/x.csv' -> b'/mnt/y.csv'", "y.csv"),
    (f"[WinError 3] The system cannot find the path specified: {HOME!r}", "x.csv"),
    (f"cannot open {HOME} for reading", "x.csv"),
    (r"cannot open C:\Users\zoe\x.csv, sorry", "x.csv"),
    ("cannot open C:/Users/zoe/x.csv", "x.csv"),
    (r"no share \\files\zoe\x.csv", "x.csv"),
    (r"no share '\\\\files\\zoe\\x.csv'", "x.csv"),
    ("cat: /home/zoe/x.csv: No such file or directory", "x.csv:"),
    ('File "/home/zoe/o\'brien/x.py", line 3', "x.py"),
    ("`/home/zoe/x.csv` is empty", "x.csv"),
    ("path=/home/zoe/x.csv", "path=x.csv"),
    ("PATH=/usr/local/zoe/bin:/home/zoe/bin", "PATH=bin"),
    ("(/home/zoe/x.csv)", "(x.csv)"),
    ("/home/zoe/x.csv", "x.csv"),
    ("the folder /home/zoe/data/ is full", "folder data is"),
    ("in ~/zoe/x.csv and ~bob/zoe/y.csv", "in x.csv and y.csv"),
    ("file:///home/zoe/x.csv is gone", "x.csv is gone"),
    ("file://localhost/home/zoe/x.csv", "x.csv"),
    ("sqlite:////home/zoe/x.db", "x.db"),
    (r'{"path": "\/home\/zoe\/x.csv"}', '{"path": "x.csv"}'),
    ("/home/zoe/My Data/x.csv is no table", "x.csv is no table"),
    (r"no C:\Program Files (x86)\zoe\My Data\x.csv here", "no x.csv here"),
]


@pytest.mark.parametrize(("message", "kept"), MESSAGES)
def test_an_absolute_path_is_told_by_the_name_of_its_file(message: str, kept: str) -> None:
    """POSIX and Windows, quoted and not, with spaces, and what stands around it stays."""
    told = without_folders(message)
    assert kept in told
    for folder in ("zoe", "home", "Users", "My Data", "mnt", "files", "local"):
        assert folder not in told
    assert without_folders(told) == told


KEPT = [
    "https://example.org/home/zoe/x.csv?file=/a/b is gone",
    "no answer of http://localhost:8888/api/contents",
    "s3://bucket/folder/x.csv",
    "data/2024/x.csv and ../x.csv and ./x.csv",
    "and/or, 1/2, km/h, 3 / 4, text/csv, */*, **/*.csv",
    "unexpected </table> after </tr >",
    "a \\n b \\d+\\w",
    "ratio 10:1, C: is no drive",
    "cannot be 'm /s' // really",
    "",
]


@pytest.mark.parametrize("message", KEPT)
def test_what_is_no_absolute_path_stays_as_it_is(message: str) -> None:
    """A URL, a relative path, a division, a unit, a MIME type, the end of an element."""
    assert without_folders(message) == message


NAME = st.text(
    st.characters(categories=["L", "N"], include_characters=" .-_()"), min_size=1, max_size=9
).filter(lambda text: text.strip(" .") == text)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(folders=st.lists(NAME, min_size=1, max_size=4), name=NAME, windows=st.booleans())
def test_no_quoted_path_gives_its_folders_away(
    folders: list[str], name: str, windows: bool
) -> None:
    """As Python itself quotes them, whatever they are called."""
    path: Any = PureWindowsPath("D:/", *folders, name) if windows else Path("/", *folders, name)
    error = FileNotFoundError(2, "No such file or directory", str(path))
    assert told_of(error) == f"FileNotFoundError: [Errno 2] No such file or directory: {name!r}"


def raised_by(what: Any) -> BaseException:
    with pytest.raises(Exception, match=r"no-such|No such") as caught:
        what()
    return caught.value


def test_errors_of_libraries_are_told_without_folders(tmp_path: Path) -> None:
    """The exceptions that a data scientist meets first."""
    missing = tmp_path / "no-such" / "orders.csv"
    found = [
        raised_by(lambda: pd.read_csv(missing)),
        raised_by(lambda: pd.DataFrame({"a": [1]}).to_csv(missing)),
        raised_by(missing.read_text),
        raised_by(lambda: missing.rename(tmp_path / "other.csv")),
    ]
    for error in found:
        assert str(tmp_path) in explain(error)
        assert str(tmp_path) not in told_of(error)
        assert "/" not in told_of(error)
    assert told_of(found[0]).endswith("No such file or directory: 'orders.csv'")
    assert told_of(found[1]).endswith("non-existent directory: 'no-such'")


def test_what_a_tool_says_itself_is_told_word_for_word() -> None:
    """A `ToolError` is meant for the model."""
    assert told_of(nb.ToolError("Use /data/2024/x.csv.")) == "Use /data/2024/x.csv."
    assert told_of(OSError("/data/x.csv"), "generic") == "The tool failed."


def test_a_long_message_keeps_no_half_of_a_path() -> None:
    """It is shortened first and cut then."""
    long = OSError("no '" + "/home/zoe/" + "x" * 3_990 + "/home/zoe/y.csv' and '/home/zoe/z.csv'")
    assert "zoe" not in told_of(long)


async def test_the_card_the_log_and_the_trace_hold_the_path_and_the_model_the_name() -> None:
    """One failure, for two readers."""

    @nb.tool
    async def read(name: str) -> str:
        """Read."""
        raise FileNotFoundError(2, "No such file or directory", f"/home/zoe/{name}")

    model = Strict([call("read", {"name": "x.csv"}, id="k-1")], "So.")
    page = Page(model, [read])
    await page.say("Read")
    known, (row,) = page.call("k-1"), page.session.audit.rows()
    told = "The tool failed: FileNotFoundError: [Errno 2] No such file or directory: 'x.csv'"
    assert (model.told, known.told, row["told"]) == ([told], told, told)
    assert (
        known.error == "FileNotFoundError: [Errno 2] No such file or directory: '/home/zoe/x.csv'"
    )
    assert "'/home/zoe/x.csv'" in known.trace
    assert row["error"] == known.error


async def test_a_failure_that_is_quoted_later_is_told_without_its_folders_too() -> None:
    """In the reason for which the same call is not run again."""

    @nb.tool
    async def read() -> str:
        """Read."""
        raise FileNotFoundError(2, "No such file or directory", "/home/zoe/x.csv")

    model = Strict(*[[call("read", {}, id="")]] * 4, "So.")
    page = Page(model, [read], max_roundtrips=9)
    await page.say("Read")
    last = page.calls[-1]
    assert last.outcome == "limit"
    assert "(FileNotFoundError: [Errno 2] No such file or directory: 'x.csv')" in last.told
    assert "'/home/zoe/x.csv'" in last.error


def parse(args: dict[str, Any]) -> dict[str, Any]:
    raise FileNotFoundError(2, "No such file or directory", f"/home/zoe/{args['name']}")


async def test_arguments_that_cannot_be_read_are_told_without_folders() -> None:
    """Where the tool's own `parse` fails."""

    @nb.tool(parse=parse)
    async def read(name: str) -> str:
        """Read."""
        return name

    model = Strict([call("read", {"name": "x.csv"}, id="k-1")], "So.")
    page = Page(model, [read])
    await page.say("Read")
    known = page.call("k-1")
    assert known.outcome == "invalid"
    assert "'/home/zoe/x.csv'" in known.error
    assert known.told.endswith("FileNotFoundError: [Errno 2] No such file or directory: 'x.csv'")


async def test_the_model_is_not_told_where_the_audit_is(tmp_path: Path) -> None:
    """A call that could not be written down was not run, and that is all."""

    @nb.tool
    async def read() -> str:
        """Read."""
        return "read"

    page = Page(Strict([call("read", {}, id="k-1")], "So."), [read])
    page.session.audit = Audit(tmp_path / "gone" / "audit.jsonl")
    await page.say("Read")
    known = page.call("k-1")
    assert str(tmp_path) in known.error
    assert known.told.endswith("'audit.jsonl' So the call was not run.")
