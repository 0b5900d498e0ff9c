import bz2
import gzip
import io
import lzma
from pathlib import Path

import numpy as np
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


def test_the_format_of_2003():
    X, y = load_conll(CONLL_2003)
    assert [part.tolist() for part in y] == [["B-ORG", "O", "O"], ["B-PER"]]
    assert X[0][0] == {"word": "EU", "pos": "NNP", "chunk": "B-NP"}
    # A token, as it has all fields, not a comment.
    assert X[0][2]["word"] == "#"


def test_universal_dependencies():
    X, y = load_conll(CONLL_U, columns=("id", "word", None, "label"))
    assert X == [[{"word": "Vamos"}, {"word": "nos"}], [{"word": "New York"}]]
    assert [part.tolist() for part in y] == [["B", "O"], ["B"]]
    assert load_conll(CONLL_U, columns=("id", "word", "pos", "ner"))[1] is None


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_files_paths_and_text(tmp_path, ends):
    text = ends.join(["ã O", "b\tB-X", "", "", "c O"])
    path = tmp_path / "part.conll"
    path.write_bytes(text.encode("latin-1"))
    wanted = [[{"word": "ã"}, {"word": "b"}], [{"word": "c"}]]
    for source in (path, str(path), io.StringIO(text), io.BytesIO(text.encode()), text):
        X, y = load_conll(source, encoding="latin-1" if source in (path, str(path)) else "utf-8")
        assert X == wanted and y[0].tolist() == ["O", "B-X"]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("a O\nb\n", {}, r"line 2 of source has 1 fields, but there are 2 columns"),
        ("a b c d e O\n", {}, r"line 1 of source has 6 fields: name them by columns="),
        ("\n\n", {}, "at least one sentence"),
        ("\n# none\n", {"columns": ("id", "word", "label")}, "at least one sentence, got none.$"),
        ("", {}, "got no text"),
        (3, {}, "source must be a path, an open file or text"),
        ("a O\n", {"columns": ("word", "pos", "label")}, "line 1 of source has 2 fields"),
        ("a O\n", {"columns": ("word", "word")}, "columns must .* {'word'} more than once"),
        ("a\tO\nb O\t\n", {}, "line 2 of source has no label"),
        ("a\tO\t\n", {}, r"line 1 of source has no label, .* \('word', 'pos', 'label'\)"),
        ("# 12\na O\n", {}, "line 1 of source may be a comment"),
        (io.BytesIO(b"\xe9 O\n"), {}, "source must be in encoding='utf-8'.* encoding='latin-1'"),
    ],
)
def test_bad_files(source, options, message):
    with pytest.raises(ValueError, match=message):
        load_conll(source, **options)
    with pytest.raises(FileNotFoundError):
        load_conll("nowhere.conll")


def test_a_file_may_begin_with_a_hash():
    X, y = load_conll("#ff O\na O\n\n# O\n")
    assert X == [[{"word": "#ff"}, {"word": "a"}], [{"word": "#"}]]
    # Tabs in comments alone do not say how columns are divided.
    X, y = load_conll("# id 7\tdomain=en\na _ _ O\n# _ _ B\n")
    assert y[0].tolist() == ["O", "B"] and X[0][1]["word"] == "#"


@pytest.mark.parametrize("word", ["\u2028", "\x85", "\x0c", "\xa0", "a\u2028b", "\u6771\u3000"])
@pytest.mark.parametrize("blank", ["\t", " "])
def test_breaks_and_blanks_of_unicode_are_parts_of_words(word, blank):
    X, _ = load_conll(f"{word}{blank}O\nb{blank}O\n")
    assert X == [[{"word": word}, {"word": "b"}]]


def test_a_missing_file_is_named():
    for source in ("auto", Path("auto")):
        with pytest.raises(
            FileNotFoundError, match=r"source must be .* line break.*'auto'"
        ) as info:
            load_conll(source)
        assert info.value.filename == "auto"


@pytest.mark.parametrize("columns", ["word", 3, np.array(3), [1, 2], object()])
def test_columns_are_names(columns):
    with pytest.raises(TypeError, match="columns must be a sequence of names"):
        load_conll("a O\n", columns=columns)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("word tag\na O\nb B-X\n", "first line seems to be one, .'word', 'tag'.: pass"),
        ("O a\nB-X b\n\nO c\n", r"labels, as 'O', in the first column, .*\('label', 'word'\)"),
        ("# x\n1\ta\tB-X\tO\n2\tb\tO\tO\n\n1\tc\tO\tO\n", r"number its words .*\('id', 'word', 'l"),
        ("7 a O\n8 b B-X\n\n9 c O\n", "number its words in the first column, .'7', '8'.: name the"),
        ("1 a O\n1 b O\n1 c O\n2 d B-X\n", "number its sentences .*, '1' to '2': name .* single"),
        ("1\ta\tO\n1\tb\tO\n\n2\tc\tO\n", r"number its sentences .*\(None, 'word', 'label'\).$"),
        ("word,tag\na,O\n", r"by tabs or blanks, not by ',': read .*sep=','"),
        ("a;O\nb;B-X\n", r"tabs or blanks, not by ';'"),
        ("a O DT\nb B-X NN\n", "labels, as 'O', in column 2 of 3, not in the last one, 'DT'"),
        ("a O .98\nb B-X .87\n", r"column 2 of 3, .* columns=\('word', 'label', None\)"),
        (b"a O\n", r"got bytes: pass source\.decode"),
        (["a O", "b O"], r"got list: pass '.n'\.join"),
        (io.BytesIO("a O\n".encode("utf-16")), "mark of encoding='utf-16'"),
        (io.BytesIO(gzip.compress(b"a O\n", mtime=0)), "compressed: pass gzip.open"),
    ],
)
def test_other_files_are_named_with_the_call(source, message):
    with pytest.raises(ValueError, match=message):
        load_conll(source)


def test_numbers_and_spans_may_stand_where_they_belong():
    # Chunks are spans, too, and a sentence may lack entities.
    X, y = load_conll("1 CD B-NP O\nEU NNP B-NP O\n")
    assert X[0][0]["chunk"] == "B-NP" and y[0].tolist() == ["O", "O"]
    # Not each sentence counts on, or there are no more words to count.
    for text in ("1 O\n2 O\n\n1 O\n3 O\n", "1 O\n\n2 O\n", "\xb2 O\n\xb3 O\n"):
        assert len(load_conll(text)[0][0]) >= 1
    for text in ("3 CD O\n3 CD O\n5 CD O\n", "3 CD O\n3 CD O\n4 CD O\na DT O\n", "1 O\n1 O\n2 O\n"):
        assert load_conll(text)[0][0][0]["word"] in "13"
    assert load_conll("a DT B-NP\nb NN I-NP\n")[1][0].tolist() == ["B-NP", "I-NP"]


@pytest.mark.parametrize("end", ["\r\r\n", "\r"])
def test_breaks_that_were_written_twice_end_no_sentence(end):
    X, _ = load_conll(end.join(["a O", "b B-X", "", "c O", ""]))
    assert [len(words) for words in X] == [2, 1]


def test_names_of_words_are_no_ranges():
    # Tokens 1-1 and 1-2, sentence and word, look like ranges; s1-1 does not.
    X, _ = load_conll("s1-1 a O\ns1-2 b O\n", columns=("id", "word", "label"))
    assert X == [[{"word": "a"}, {"word": "b"}]]
    with pytest.raises(ValueError, match=r"each 'id' is a range, .* name their column None"):
        load_conll("1-1 a O\n1-2 b O\n", columns=("id", "word", "label"))


def test_words_that_are_names_of_columns_are_words():
    X, _ = load_conll("word B-X\nO O\nB-X O\n")
    assert [token["word"] for token in X[0]] == ["word", "O", "B-X"]
    assert load_conll("O O\nO B-X\n")[1][0].tolist() == ["O", "B-X"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a O\nb B-X\n".encode("utf-16-le").decode(), "NUL, .* encoding='utf-16-le'"),
        ('<!DOCTYPE html>\n<html lang="de">\n', "a page of HTML or XML"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n", "git lfs pull"),
        ('{"tokens": ["a"], "tags": ["O"]}\n', r"JSON: .* for word in row\['tokens'\]"),
        ('[{"tokens": ["a", "b"]}]\n', "JSON"),
        ("text\tlabel\na\tB-X\nb\tO\n", "first line seems to be one"),
        ("TOKEN\tNE-COARSE\na\tB-X\nb\tO\n", "first line seems to be one"),
    ],
)
def test_other_kinds_of_files_are_told(text, message):
    with pytest.raises(ValueError, match=message):
        load_conll(text)


def test_labels_that_are_no_header():
    # A first label of another kind is a header only above spans.
    assert load_conll("a NN\nb VB\nc NN\n")[1][0].tolist() == ["NN", "VB", "NN"]
    assert load_conll("a B-X\nb O\n")[1][0].tolist() == ["B-X", "O"]
    assert load_conll('{ O\n[ O\n" O\n')[0][0][0] == {"word": "{"}


def test_names_of_columns_that_would_be_read_otherwise():
    with pytest.raises(TypeError, match="columns must be a sequence of names"):
        load_conll("a O\n", columns={"word", "label"})
    with pytest.raises(ValueError, match="columns must call what is to be learned 'label'"):
        load_conll("a O\n", columns=["word", "Label"])


def test_the_encoding_that_a_file_of_windows_has():
    for letters, encoding in (("“M”", "cp1252"), ("Müller", "latin-1")):
        with pytest.raises(ValueError, match=f"for instance encoding='{encoding}'"):
            load_conll(io.BytesIO(f"{letters} O\n".encode(encoding)))


def test_breaks_of_a_file_are_read_as_they_are(tmp_path):
    # What Windows writes twice, read in text mode, would end a sentence after each word.
    path = tmp_path / "twice.conll"
    path.write_bytes(b"a O\r\r\nb O\r\r\n\r\r\nc B-X\r\r\n")
    X, y = load_conll(path)
    assert [len(sentence) for sentence in X] == [2, 1]
    assert y[1].tolist() == ["B-X"]


def test_files_that_were_joined_have_marks_inside():
    X, _ = load_conll("\ufeffa O\n\n\ufeff-DOCSTART- O\n\nb B-X\n\n\ufeffc O\n")
    assert [[token["word"] for token in sentence] for sentence in X] == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\x0c", " \u00a0\t"])
def test_lines_of_other_blanks_end_sentences(blank):
    assert [len(x) for x in load_conll(f"a O\nb B-X\n{blank}\nc O\n")[0]] == [2, 1]


def test_a_comment_that_would_be_a_sentence():
    text = "#begin document (x); part 0\na O\nb B-X\n\n#end document\n"
    with pytest.raises(ValueError, match=r"line 5 of source may be a comment, .* '#end'"):
        load_conll(text)
    # Words of tweets are no comments.
    assert [len(x) for x in load_conll("a O\n\n#b B-X\n\n#c O\nd O\n")[0]] == [1, 1, 2]
    assert load_conll("#\na\n\n#\n", columns=["word"])[0][0] == [{"word": "#"}, {"word": "a"}]


@pytest.mark.parametrize("name", [None, "ID", "index"])
def test_ranges_of_words_in_a_column_of_another_name(name):
    text = "1-2\tal\t_\n1\ta\tADP\n2\tel\tDET\n3\tmar\tNOUN\n"
    with pytest.raises(ValueError, match=r"ranges as '1-2', .* name it 'id'"):
        load_conll(text, columns=[name, "word", "label"])
    assert [token["word"] for token in load_conll(text, columns=["id", "word", "label"])[0][0]] == [
        "a", "el", "mar",
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [None, [None, "word", "label"]])
def test_a_first_column_that_is_filled_where_sentences_begin(columns):
    text = "Sentence: 1\ta\tO\n\tb\tO\n\tc\tB-X\nSentence: 2\td\tO\n\te\tO\n"
    with pytest.raises(ValueError, match=r"first column, as 'Sentence: 1', .* write empty lines"):
        load_conll(text, columns=columns)
    # A word of blanks, of which nothing is left.
    assert len(load_conll("a\tO\n\tO\nb\tO\n")[0][0]) == 3


@pytest.mark.parametrize(
    ("given", "encoding", "message"),
    [
        (bz2.compress(b"a O\n"), "utf-8", "compressed: pass bz2.open"),
        (lzma.compress(b"a O\n"), "latin-1", "compressed: pass lzma.open"),
        (gzip.compress(b"a O\n", mtime=0), "latin-1", "compressed: pass gzip.open"),
        (b"PK\x03\x04\0\0", "utf-8", "compressed: pass zipfile"),
        ("ä O\n".encode("utf-8-sig"), "latin-1", "it has the mark of encoding='utf-8'"),
        ("ä O\n".encode("utf-32"), "utf-8", "the mark of encoding='utf-32'"),
        ("ä O\n".encode(), "utf-16", "for instance encoding='utf-8'"),
    ],
)
def test_bytes_that_are_in_no_such_encoding(tmp_path, given, encoding, message):
    path = tmp_path / "words"
    path.write_bytes(given)
    for source in (path, io.BytesIO(given)):
        with pytest.raises(ValueError, match=message):
            load_conll(source, encoding=encoding)


def test_a_line_of_one_field_is_shown():
    with pytest.raises(ValueError, match="line 2 of source has one field, '-----', but"):
        load_conll("\n-----\na O\n")


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("#doc 1\nEU B-ORG\nx O\n", None, "line 1 .* may be a comment, or the word '#doc'"),
        ("### MEDLINE:1\nEU B-ORG\nx O\n", None, "may be a comment, or the word '###'"),
        ("% 1\nEU B-ORG\nx O\n", None, "may be a comment, or the word '%'"),
        ("I O\n#Paris\nso O\n", None, "line 2 .* a word with too few or too many fields: '#Paris'"),
        ("I\tO\n#Paris\tB-LOC\tx\nso\tO\n", None, "too few or too many fields"),
        ("a,DT,O\nb,NN,B-X\n", ("word", "label"), "has 1 fields"),
        ("No 1,a,O\nNo 1,b,B-X\n", None, "',' seems to divide fields, as in '1,a,O'"),
        ("EU/B-ORG x/O\n", None, "'/' seems to divide words and labels, as in 'EU/B-ORG'"),
        (
            "No 1\ta\tO\nNo 1\tb\tO\nNo 2\tc\tB-X\n",
            None,
            "number its sentences .* 'No 1' to 'No 2'",
        ),
        ("1\ta\tO\n2\tb\tO\n1\tc\tB-X\n", None, "seems to number its words"),
        ("1\ta\tO\n2\tb\tO\n1\tc\tO\n", ("id", "word", "label"), "the 'id' 1 follows 2 without"),
        ("1\ta\tN\n1.1\tb\tV\n2\tc\tN\n", (None, "word", "label"), "with ranges as '1.1'"),
        ("\ta\tO\n\tb\tB-X\n", None, "its first column is empty"),
        ('["a", "O"]\n["b", "B-X"]\n', None, "got JSON"),
    ],
)
def test_layouts_that_would_be_read_as_words(text, columns, message):
    with pytest.raises(ValueError, match=message):
        load_conll(text, columns=columns)


def test_words_that_look_like_comments_or_layouts():
    text = "#Paris B-LOC\nso O\n#now O\n, O\n\n% O\n1/2 O\nx B-LOC\n"
    X, y = load_conll(text)
    assert [[row["word"] for row in rows] for rows in X] == [
        ["#Paris", "so", "#now", ","], ["%", "1/2", "x"],
    ]  # fmt: skip
    assert y[1].tolist() == ["O", "O", "B-LOC"]
    # Numbers of sentences are no numbers of words, and comments may stand within sentences.
    X, _ = load_conll("1 a O\n# one more note\n1 b O\n\n2 c B-X\n", columns=("id", "word", "label"))
    assert [len(rows) for rows in X] == [2, 1]


def test_labels_of_several_parts():
    X, y = load_conll("犬\t名詞,一般\nが\t助詞,格助詞\n")
    assert X == [[{"word": "犬"}, {"word": "が"}]]
    assert y[0].tolist() == ["名詞,一般", "助詞,格助詞"]
    _, y = load_conll("a N,x\nb V,y\n", columns=("word", "label"))
    assert y[0].tolist() == ["N,x", "V,y"]


def test_a_dict_of_columns_has_no_order():
    with pytest.raises(TypeError, match="columns must be a sequence of names"):
        load_conll("EU B-ORG\nx O\n", columns={"label": 1, "word": 0})


def test_no_text_and_no_encoding(tmp_path):
    with pytest.raises(ValueError, match="got no text"):
        load_conll("")
    (tmp_path / "file").write_bytes(b"a O\n")
    with pytest.raises(ValueError, match="encoding must be one that Python knows, got 'nope'"):
        load_conll(tmp_path / "file", encoding="nope")
