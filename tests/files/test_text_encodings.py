"""Text files that are not in UTF-8."""

import pytest

from ufselect.files import text_lines as module

TEXT = 'Größe;naïve;Ort\n1,5;2;"Köln, am\nRhein"\n3,5;4;Århus\n'


def content(table):
    return table.names, table.X.tolist(), table.aside["Ort"].tolist()


EXPECTED = (("Größe", "naïve"), [[1.5, 2.0], [3.5, 4.0]], ["Köln, am\nRhein", "Århus"])


@pytest.mark.parametrize("encoding", ["latin-1", "CP1252", "utf-16-le", "utf_8", "utf-8-sig", "utf-32-be"])
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_an_encoding_may_be_given(read, encoding, name):
    assert content(read(TEXT.encode(encoding), name, encoding=encoding)) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-8"])
def test_a_byte_order_mark_gives_the_encoding(read, encoding):
    assert content(read(TEXT.encode(encoding))) == EXPECTED


def test_characters_may_be_cut_by_blocks(read, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 3)  # bytes; a character of UTF-16 has two or four
    monkeypatch.setattr("ufselect.files.text_records._BLOCK", 7)
    rows = "".join(f"{row},{'ü𝄞' * row}\n" for row in range(30)) + "late,x\n"  # the first column is read twice
    table = read(f"a,b,c\n{rows.replace(',', ',1,')}".encode("utf-16"))
    assert table.names == ("b",)
    assert table.aside["c"].tolist() == [None, *("ü𝄞" * row for row in range(1, 30)), "x"]
    assert table.aside["a"].tolist() == [*map(str, range(30)), "late"]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("é,b\n1,2\n".encode("latin-1"), {}, "is not UTF-8 text; pass its encoding, for example encoding='latin-1'"),
        ("a\n1\n“x”\n".encode("cp1252"), {}, r"for example encoding='cp1252' \(--encoding cp1252\)\."),
        (b"a,b\n1,2\n\xe9,3\n", {"encoding": "ascii"}, r"is not ascii text; pass another encoding \(--encoding\)\."),
        (b"\xff\xfea,b", {"encoding": "utf-16"}, "is not utf-16 text"),
        ("a,b\n1,2\n".encode("utf-16-le"), {}, r"null characters, as if it were UTF-16; .* \(--encoding utf-16-le\)"),
        ("a,b\n1,2\n".encode("utf-16-be"), {}, r"\(--encoding utf-16-be\)"),
        (b"\xff\xfe", {}, "is empty"),
        (b"a,b\n1,2\n", {"encoding": "latin-99"}, "encoding='latin-99' is not known; examples are 'utf-8'"),
        (b"a,b\n1,2\n", {"encoding": "zlib"}, "encoding='zlib' is not known"),
        (b"a,b\n1,2\n", {"encoding": "a\0b"}, "is not known"),
        (b"a,b\n1,2\n", {"encoding": "x" * 10_000}, "…' is not known"),
    ],
)
def test_what_is_not_text_in_its_encoding_is_refused_in_one_sentence(read, data, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(data, **options)
    assert "\n" not in str(caught.value)
