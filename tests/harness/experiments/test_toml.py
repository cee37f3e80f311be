"""Reading experiment files: inheritance, and every fault with the line it stands on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ctxeng.core.errors import SettingsError
from ctxeng.harness.experiments.toml import MAX_EXTENDS, line_of, read_experiment
from tests.harness.experiments.conftest import MINIMAL

Write = Callable[..., Path]


def faults(path: Path) -> list[str]:
    """Return the lines of the error that reading gives."""
    with pytest.raises(SettingsError) as caught:
        read_experiment(path)
    return str(caught.value).split("\n")


def test_a_file_is_read_as_written(toml_file: Write) -> None:
    """Every table of the file arrives."""
    made = read_experiment(
        toml_file(
            MINIMAL
            + 'episodes = { overlap = 2 }\n[models]\nreader = "none"\n'
            + '[sweeps.s]\narm = "episodes"\n[sweeps.s.matrix]\n"episodes.phase" = [0, 1]\n'
        )
    )
    assert made.name == "quick"
    assert made.arms["episodes"].overrides == {"episodes": {"overlap": 2}}
    assert made.models.reader == "none"
    assert made.sweeps["s"].matrix == {"episodes.phase": [0, 1]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(
    encoding: str, tmp_path: Path
) -> None:
    """A file saved by an editor is read, and a fault in it has the right line."""
    path = tmp_path / "e.toml"
    text = MINIMAL.replace('"quick"', '"a b"').replace("\n", "\r\n")
    path.write_bytes(text.encode(encoding))
    assert faults(path)[0].startswith(f"{path}:1: name: ")


def test_a_file_may_extend_another(toml_file: Write) -> None:
    """Tables merge key by key, other values are replaced; the base is found beside the file."""
    toml_file(MINIMAL + '[models]\nreader = "r"\njudge = "j"\n', "base/b.toml")
    toml_file('extends = "b.toml"\nname = "middle"\n[models]\nreader = "m"\n', "base/m.toml")
    made = read_experiment(
        toml_file(
            'extends = "base/m.toml"\nsessions = ["x", "y"]\n[arms.rolling]\nstrategy = "rolling"\n'
        )
    )
    assert (made.name, made.sessions) == ("middle", ["x", "y"])
    assert (made.models.reader, made.models.judge) == ("m", "j")
    assert list(made.arms) == ["episodes", "rolling"]
    assert made.extends is None


def test_a_table_and_a_plain_value_replace_each_other(toml_file: Write) -> None:
    """Nothing is merged where only one of the two is a table; the schema then speaks."""
    toml_file(MINIMAL + '[models]\nreader = "r"\n', "b.toml")
    path = toml_file('extends = "b.toml"\nmodels = 5\n')
    assert faults(path) == [
        f"{path}:2: models: Input should be a valid dictionary or instance of ModelsTable (got 5)."
    ]


@pytest.mark.parametrize("length", [MAX_EXTENDS, MAX_EXTENDS + 1])
def test_a_chain_of_files_may_not_be_endless(length: int, toml_file: Write) -> None:
    """Eight extensions are followed, a ninth is refused; so is a file that extends itself."""
    toml_file(MINIMAL, "0.toml")
    for number in range(1, length + 1):
        path = toml_file(f'extends = "{number - 1}.toml"\n', f"{number}.toml")
    if length <= MAX_EXTENDS:
        assert read_experiment(path).name == "quick"
    else:
        assert "extends must end, got a chain over 8 files" in faults(path)[0]
    assert "extends must end" in faults(toml_file('extends = "self.toml"\n', "self.toml"))[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name = ", "must be a TOML file in UTF-8: Invalid value (at end of document)"),
        ("name = 1\nname = 2", "must be a TOML file in UTF-8"),
        ("extends = 5", "extends must be a file name, got 5"),
        ('extends = "missing.toml"', "experiment file must exist, got"),
        ('extends = "."', "must be a TOML file in UTF-8: [Errno 21]"),
    ],
)
def test_a_file_that_is_no_experiment_is_told(text: str, fault: str, toml_file: Write) -> None:
    """Broken syntax, a missing base and a base of the wrong type are one line each."""
    told = faults(toml_file(text))
    assert len(told) == 1
    assert fault in told[0]


def test_a_missing_file_and_foreign_bytes_are_told(tmp_path: Path) -> None:
    """The error names the path and what makes a workspace."""
    assert "ctxeng init" in faults(tmp_path / "none.toml")[0]
    (tmp_path / "sjis.toml").write_bytes('name = "予算"'.encode("cp932"))
    assert "must be a TOML file in UTF-8" in faults(tmp_path / "sjis.toml")[0]


def test_all_faults_are_told_at_once_each_with_its_line(toml_file: Write) -> None:
    """Lines counted by hand in the text below; a missing key points at its table."""
    path = toml_file(
        """\
name = "a b"
sessions = ["datasets/a"]
probes = []
reference_arm = "episodes"
colour = "blue"

[models]
reader = 5
"writer" = "x"

[arms.episodes]
overlap = 1

[arms."two.parts"]

[sweeps.s]
arm = "episodes"
matrix = { "episodes.overlap" = [] }
"""
    )
    told = dict(line.removeprefix(f"{path}:").split(": ", 1) for line in faults(path))
    assert told.keys() == {"1", "3", "5", "8", "9", "11", "14", "18"}
    assert told["5"] == "colour is not a known key. Remove it or correct its spelling."
    assert told["9"] == "models.writer is not a known key. Remove it or correct its spelling."
    assert told["11"] == "arms.episodes.strategy must be given."
    assert told["14"] == "arms.two.parts.strategy must be given."
    assert told["8"] == "models.reader: Input should be a valid string (got 5)."
    assert told["18"].startswith(
        "sweeps.s.matrix: episodes.overlap must list at least one value (got"
    )


def test_a_fault_of_the_base_is_told_with_the_base(toml_file: Write) -> None:
    """The line belongs to the file that sets the value, the nearest one that does."""
    base = toml_file(MINIMAL.replace('"quick"', '"a b"') + "[models]\nconcurrency = 0\n", "b.toml")
    path = toml_file('extends = "b.toml"\n\n[models]\nreader_max_tokens = 0\nconcurrency = -1\n')
    assert [line.split(": ")[0] for line in faults(path)] == [
        f"{base}:1",
        f"{path}:4",
        f"{path}:5",
    ]


TEXT = """\
# comment = 1
name = "x"
description = '''
name = not a key
'''
list = [
  ["a", "b"],
  ["c"]
]
last = 1
[ arms . x ]
strategy = "s"
episodes.overlap = 1
[arms."two.parts".window]
tokens = 5
[[steps]]
kind = "k"
"quoted key" = 1
'"inner" = 2'.deep = 3
"""


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("name",), 2),
        (("list",), 6),
        (("list", 0, 1), 6),
        (("last",), 10),
        (("arms",), 1),
        (("arms", "x"), 11),
        (("arms", "x", "strategy"), 12),
        (("arms", "x", "episodes", "overlap"), 13),
        (("arms", "x", "episodes", "size"), 11),
        (("arms", "two.parts", "window", "tokens"), 15),
        (("steps", 0, "kind"), 17),
        (("steps", 0, "quoted key"), 18),
        (("missing",), 1),
        ((), 1),
    ],
)
def test_the_line_of_a_key_is_where_it_is_set(location: tuple[str | int, ...], line: int) -> None:
    """Dotted, quoted and nested keys are found; an absent key gives its table, or the top."""
    assert line_of(TEXT, location) == line


def test_the_example_of_the_documentation_holds() -> None:
    """The example in the docstring, verbatim."""
    assert line_of('a = 1\n[arms.x]\nstrategy = "s"', ("arms", "x", "strategy")) == 3


def test_every_fault_of_a_file_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    """Keys, values, arms, sweeps and the names that refer to arms; a swept arm repeats no fault."""
    text = """\
name = "bad"
sessions = ["datasets/bundled"]
probes = ["probes/bundled.jsonl"]
reference_arm = "b"
colour = "blue"
[gate]
buckets = ["interor"]
min_probes = 10
[arms.a]
strategy = "episodes"
episodes = { sizee = 6, overlap = -1 }
[arms.c]
strategy = "rollin"
[sweeps.x]
arm = "q"
matrix = { "episodes.size" = [4] }
[sweeps.y]
arm = "a"
matrix = { "episodes.size" = [1] }
"""
    file = tmp_path / "bad.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError) as raised:
        read_experiment(file)
    found = [line.removeprefix(f"{file}:") for line in str(raised.value).splitlines()]
    assert [line.split(":")[0] for line in found] == [
        "7",
        "8",
        "5",
        "15",
        "11",
        "11",
        "13",
        "19",
        "4",
    ]
    assert found[-1] == "4: reference_arm must be one of the arms ['a', 'a[size=1]', 'c'], got 'b'."
    assert sum("sizee" in line for line in found) == 1


def test_a_gated_arm_must_exist(tmp_path: Path) -> None:
    """The gate names arms of this experiment, in a file that extends another as well."""
    (tmp_path / "base.toml").write_text(
        'name = "n"\nsessions = ["s"]\nprobes = ["p"]\nreference_arm = "a"\n'
        '[arms.a]\nstrategy = "episodes"\n', "utf-8"
    )  # fmt: skip
    file = tmp_path / "night.toml"
    file.write_text('extends = "base.toml"\n[gate]\narms = ["a", "z"]\n', "utf-8")
    with pytest.raises(
        SettingsError, match=r"night\.toml:3: gate\.arms must be among .*'a'.*got 'z'"
    ):
        read_experiment(file)


def test_every_line_of_a_long_file_is_found(toml_file: Write) -> None:
    """Faults behind a list of 3,000 lines; the list and comments hold what looks like keys."""
    listed = "\n".join(f'  "s{i} = [", # [arms.x] ]' for i in range(3_000))
    wrong = "\n".join(f"wrong{i} = {i}" for i in range(20))
    text = f"sessions = [\n{listed}\n]\n{wrong}\n"
    with pytest.raises(SettingsError) as told:
        read_experiment(toml_file(text))
    lines = {line.split(" is not a known key")[0] for line in str(told.value).splitlines()}
    assert {f"{toml_file(text)}:{3_003 + i}: wrong{i}" for i in range(20)} <= lines


def test_lists_within_lists_without_end_are_told(toml_file: Write) -> None:
    """The reader of TOML recurses."""
    with pytest.raises(SettingsError, match="must not stand so deep in others"):
        read_experiment(toml_file(f"a = {'[' * 3_000}{']' * 3_000}"))


@pytest.mark.parametrize(
    "name", ["", "a\\u0000b", "a\\nb", "../../evil", "a\\u202Eb", "x" * 101, ".", "-x", "a/b"]
)
@pytest.mark.parametrize("table", ["arms", "sweeps"])
def test_a_name_that_no_file_or_line_can_bear_is_refused_with_its_line(
    table: str, name: str, toml_file: Write
) -> None:
    """It is a label in reports, a key in the database and part of file names."""
    body = 'strategy = "rolling"' if table == "arms" else 'arm = "a"\nmatrix = { "a.b" = [1] }'
    text = f'{MINIMAL}\n[{table}."{name}"]\n{body}\n'
    line = text.splitlines().index(f'[{table}."{name}"]') + 1
    with pytest.raises(SettingsError) as told:
        read_experiment(toml_file(text))
    (message,) = str(told.value).splitlines()
    assert message.startswith(f"{toml_file(text)}:{line}: ")
    assert "String should" in message and message.isprintable() and len(message) < 700


@pytest.mark.parametrize(
    "name", ["three_tier", "要約 2", "a[overlap=1,size=2.5]", "v1.2+x", "x" * 100]
)
def test_names_of_any_script_and_those_of_sweeps_may_be_written(
    name: str, toml_file: Write
) -> None:
    """Brackets, commas and equals are what a sweep makes."""
    text = f'{MINIMAL}\n[arms."{name}"]\nstrategy = "rolling"\n'
    assert name in read_experiment(toml_file(text)).arms


def test_the_name_of_an_experiment_fits_a_folder_s(toml_file: Write) -> None:
    """A run's folder is named after it; the fault has its line."""
    text = MINIMAL.replace('name = "', f'name = "{"x" * 81}', 1)
    with pytest.raises(SettingsError, match=r":\d+: name: String should have at most 80"):
        read_experiment(toml_file(text))


def test_the_line_of_a_quoted_key_is_found_whatever_it_escapes() -> None:
    """Keys are compared as read, not as written."""
    text = '[arms."a\\nb]"]\n"c\\u0041" = 1'
    assert line_of(text, ("arms", "a\nb]")) == 1
    assert line_of(text, ("arms", "a\nb]", "cA")) == 2
