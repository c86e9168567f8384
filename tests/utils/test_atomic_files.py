"""Files appear whole or not at all."""

import os
import stat

import pytest

from ufselect._utils.atomic_files import files_recorded, whole_file


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


def write_half(target, cause):
    with whole_file(target) as path:
        path.write_text("half")
        raise cause


def test_a_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "table.csv.gz"
    with whole_file(target) as path:
        path.write_text("new")
        assert path.parent == tmp_path
        assert path.name.endswith(".csv.gz")
        assert not target.exists()
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("cause", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_block_leaves_what_was_there(tmp_path, cause):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(cause):
        write_half(target, cause)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def write_after(first, second):
    first.write_text("whole")
    write_half(second, ValueError("the second failed"))


def test_of_two_files_none_appears_before_both_are_written(tmp_path):
    with pytest.raises(ValueError, match="the second failed"), whole_file(tmp_path / "a.csv") as one:
        write_after(one, tmp_path / "b.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_usual_permissions(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        with whole_file(tmp_path / "a.csv") as path:
            path.touch()
    finally:
        os.umask(before)
    assert permissions(tmp_path / "a.csv") == mode


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    target = tmp_path / "a.csv"
    target.touch()
    target.chmod(0o640)
    with whole_file(target) as path:
        path.write_text("new")
    assert permissions(target) == 0o640
    assert target.read_text() == "new"


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "a.csv", tmp_path / "link.csv"
    link.symlink_to(real)
    with whole_file(link) as path:
        path.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_long_names_can_be_written_but_not_to_a_folder_that_is_not_there(tmp_path):
    target = tmp_path / ("a." * 120 + "csv")
    with whole_file(target) as path:
        path.write_text("new")
    assert target.read_text() == "new"
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "none" / "a.csv"):
        pass


def test_files_are_recorded_once_they_have_their_name_and_somebody_asks(tmp_path):
    with whole_file(tmp_path / "before"):
        pass
    (tmp_path / "old").write_text("old")
    with files_recorded() as files:
        assert files == []
        with whole_file(tmp_path / "first") as path:
            path.write_text("first")
        with pytest.raises(IsADirectoryError), whole_file(tmp_path / "folder") as path:
            (tmp_path / "folder").mkdir()
        with pytest.raises(KeyboardInterrupt):
            write_half(tmp_path / "old", KeyboardInterrupt)
        with files_recorded() as inner, whole_file(tmp_path / "second") as path:
            path.write_text("second")
        assert inner is files
    assert [file.path.name for file in files if file.is_done] == ["first", "second"]
