import io
from pathlib import Path

import pytest

from skscreen.datasets import load_conll

CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
# SYM O O

Peter NNP B-NP B-PER
"""
CONLL_U = """\ufeff# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_
1\tVamos\tVERB\tB
2\tnos\tPRON\tO
2.1\tvamos\tVERB\tO

# text = New York is big
1\tNew York\tPROPN\tB
"""


def words(X):
    return [[row["word"] for row in rows] for rows in X]


def test_the_format_of_2003():
    X, y = load_conll(CONLL_2003)
    assert [part.tolist() for part in y] == [["B-ORG", "O", "O"], ["B-PER"]]
    assert X[0][0] == {"word": "EU", "pos": "NNP", "chunk": "B-NP"}
    # A word, as it has all fields, not a comment.
    assert X[0][2]["word"] == "#"


@pytest.mark.parametrize("comment", [None, "# "])
def test_universal_dependencies(comment):
    options = {"columns": ("id", "word", None, "label"), "comment": comment}
    X, y = load_conll(CONLL_U, **options)
    assert X == [[{"word": "Vamos"}, {"word": "nos"}], [{"word": "New York"}]]
    assert [part.tolist() for part in y] == [["B", "O"], ["B"]]
    assert load_conll(CONLL_U, columns=("id", "word", "pos", "ner"))[1] is None


# As many fields as a sentence has verbs, and the label of a name in the middle.
CONLL_2012 = """#begin document (bc/cctv/00); part 000
bc/cctv/00   0   0   He    PRP   (TOP*   -   -   -   A   (PERSON)   (ARG0*)   (3)
bc/cctv/00   0   1   ran   VBD   *)      -   -   -   A   *          (V*)      -

bc/cctv/00   0   0   No    UH    (TOP*)  -   -   -   A   *          -

#end document
"""


@pytest.mark.parametrize("comment", [None, "#"])
@pytest.mark.parametrize(
    "columns",
    [
        (None, None, None, "word", "label", "parse"),
        (None, None, None, "word", "label", "parse", *7 * [None]),
        {"word": 3, "label": 4, "parse": 5},
    ],
)
def test_lines_may_have_more_fields_than_columns_have_names(columns, comment):
    X, y = load_conll(CONLL_2012, columns=columns, comment=comment)
    assert words(X) == [["He", "ran"], ["No"]] and X[0][1]["parse"] == "*)"
    assert [part.tolist() for part in y] == [["PRP", "VBD"], ["UH"]]


def test_columns_are_counted_from_the_end_too():
    columns = {"word": 3, "label": -1}
    _, y = load_conll(CONLL_2012, columns=columns, comment="#")
    assert [part.tolist() for part in y] == [["(3)", "-"], ["-"]]
    with pytest.raises(ValueError, match=r"^line 2 of source"):
        load_conll("a b\na\n", columns={"label": -2}, comment="#")


def test_files_paths_and_text(tmp_path):
    wanted = [[{"word": "ã"}, {"word": "b"}], [{"word": "c"}]]
    for ends in ("\n", "\r\n", "\r", "\r\r\n"):
        text = ends.join(["ã O", "b B-X", "", "", "c O"])
        path = tmp_path / "part.conll"
        path.write_bytes(text.encode("latin-1"))
        for source in (path, str(path), io.StringIO(text), io.BytesIO(text.encode()), text):
            X, y = load_conll(
                source, encoding="latin-1" if source in (path, str(path)) else "utf-8"
            )
            assert X == wanted and y[0].tolist() == ["O", "B-X"]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("a O\nb\n", {}, "^line 2 of source"),
        ("a O\nb c O\n", {}, "^line 2 of source"),
        ("a b c d e O\n", {}, "^line 1 of source"),
        ("#\thttp://a.b\t[1]\n1\ta\tO\tO\n", {}, "^line 2 of source"),
        ("a O\n\nEOS\n", {}, "^line 3 of source"),
        ("a\tO\n\nb O\n", {}, "^line 3 of source"),
        ("a O\nb\n", {"columns": ("word", "label")}, "^line 2 of source"),
        ("a O\n", {"columns": {"word": 0, "label": 2}}, "^line 1 of source"),
        ("#Paris\na O\n", {"comment": "%", "columns": ("word", "label")}, "^line 1 of source"),
        ("a\tO\nb\t\n", {}, "^line 2 of source"),
        ("\n\n", {}, "^source must"),
        ("# none\n", {"columns": ("id", "word", "label")}, "^source must"),
        ("1-2 a O\n", {"columns": ("id", "word", "label")}, "^source must"),
        ("a O\n", {"columns": ("word", "word")}, "^columns must"),
    ],
)
def test_wrong_files_are_refused(source, options, message):
    with pytest.raises(ValueError, match=message):
        load_conll(source, **options)


def test_a_line_has_a_field_for_columns_from_either_end():
    columns = {"word": 0, "label": -1}
    with pytest.raises(ValueError, match=r"^line 2 of source"):
        load_conll("a x O\nEOS\nb y X\n", columns=columns)
    X, y = load_conll("#doc1\na x O\nb X\n", columns=columns)
    assert words(X) == [["a", "b"]] and y[0].tolist() == ["O", "X"]


def test_tabs_of_declared_comments_do_not_divide_fields():
    X, y = load_conll("% id\t7\na O\nb B-X\n", comment="%")
    assert words(X) == [["a", "b"]] and y[0].tolist() == ["O", "B-X"]
    X, y = load_conll("#a b\tO\n\n#\tX\n", comment="%")
    assert words(X) == [["#a b"], ["#"]]
    assert words(load_conll("#a b\tO\n", comment="")[0]) == [["#a b"]]


@pytest.mark.parametrize("comment", [3, ["#"], ("#", "%"), b"#"])
def test_a_comment_is_a_string(comment):
    with pytest.raises(TypeError, match=r"^comment must"):
        load_conll("a O\n", comment=comment)


@pytest.mark.parametrize("source", [3, b"a O\n", ["a O", "b O"], None])
def test_sources_are_paths_files_or_text(source):
    with pytest.raises(TypeError, match=r"^source must"):
        load_conll(source)


def test_a_file_that_cannot_be_read_is_pythons_error(tmp_path):
    for source in ("auto", Path("auto")):
        with pytest.raises(FileNotFoundError, match="auto"):
            load_conll(source)
    with pytest.raises(OSError, match=tmp_path.name):
        load_conll(tmp_path)
    with pytest.raises(UnicodeDecodeError):
        load_conll(io.BytesIO(b"\xe9 O\n"))
    with pytest.raises(LookupError, match="nope"):
        load_conll(io.BytesIO(b"a O\n"), encoding="nope")


@pytest.mark.parametrize(
    "columns",
    ["word", 3, [1, 2], object(), {"word", "label"}, {"word": "1"}, {"word": True}, (), {}],
)
def test_columns_are_names(columns):
    with pytest.raises(TypeError, match=r"^columns must"):
        load_conll("a O\n", columns=columns)


def test_words_may_begin_with_a_hash():
    X, _ = load_conll("#Paris B-LOC\nso O\n#now O\n\n# O\n% O\n")
    assert words(X) == [["#Paris", "so", "#now"], ["#", "%"]]
    assert words(load_conll("#Paris B-LOC\nso O\n", comment="#")[0]) == [["so"]]
    # Tabs in comments do not say how columns are divided.
    X, y = load_conll("# id 7\tdomain=en\na _ _ O\n", columns=("word", None, None, "label"))
    assert y[0].tolist() == ["O"]


@pytest.mark.parametrize("end", ["", "\t"])
def test_comments_are_what_is_declared(end):
    text = f"#\thttp://a.b\t[2009]{end}\n1\tPeter\tB-PER\tO\n2\t#\tO\tO\n"
    X, y = load_conll(text, columns=("id", "word", "label", None), comment="#")
    assert words(X) == [["Peter", "#"]] and y[0].tolist() == ["B-PER", "O"]


def test_lines_with_all_fields_are_words_unless_they_are_declared_as_comments():
    text = "#\thttp://a.b\t[2009]\t\n1\tPeter\tB-PER\tO\n"
    X, y = load_conll(text, columns=("id", "word", "label", None))
    assert words(X) == [["http://a.b", "Peter"]] and y[0].tolist() == ["[2009]", "B-PER"]


@pytest.mark.parametrize("word", ["\u2028", "\x85", "\x0c", "\xa0", "a\u2028b", "\u6771\u3000"])
@pytest.mark.parametrize("blank", ["\t", " "])
def test_breaks_and_blanks_of_unicode_are_parts_of_words(word, blank):
    X, _ = load_conll(f"{word}{blank}O\nb{blank}O\n")
    assert X == [[{"word": word}, {"word": "b"}]]


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\x0c", " \u00a0\t"])
def test_lines_of_blanks_end_sentences(blank):
    text = f"a\tO\nb\tB-X\n{blank}\nc\tO\n"
    assert [len(x) for x in load_conll(text)[0]] == [2, 1]


def test_blanks_at_the_ends_of_lines_are_no_fields():
    X, y = load_conll("a DT B-NP \n b NN I-NP  \n\n\n")
    assert words(X) == [["a", "b"]] and y[0].tolist() == ["B-NP", "I-NP"]


def test_the_last_column_is_the_label_whatever_it_holds():
    for text, labels in (
        ("EU NNP B-NP ORG\nx VBZ B-VP O\n", ["ORG", "O"]),
        ("He B-NP PRP\nran B-VP VBD\n", ["PRP", "VBD"]),
        ("evler NOUN,Pl,Nom\no PRON,Sg\n", ["NOUN,Pl,Nom", "PRON,Sg"]),
        ("1 AddressNumber\n2 StreetName\n", ["AddressNumber", "StreetName"]),
        ("run VBD/VBN\ncut VB/NN\n", ["VBD/VBN", "VB/NN"]),
        ("犬\t名詞,一般\nが\t助詞,格助詞\n", ["名詞,一般", "助詞,格助詞"]),
        ("word B-X\nO O\n", ["B-X", "O"]),
    ):
        assert load_conll(text)[1][0].tolist() == labels


def test_names_of_words_are_no_ranges():
    # Tokens 1-1 and 1-2, sentence and word, look like ranges; s1-1 does not.
    X, _ = load_conll("s1-1 a O\ns1-2 b O\n", columns=("id", "word", "label"))
    assert X == [[{"word": "a"}, {"word": "b"}]]
