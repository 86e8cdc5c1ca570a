"""What is embedded of a symbol, and by which words it is found."""

from graph.symbol_text import embedding_digest, embedding_text


def text_of(**changes: str) -> str:
    given = {
        "kind": "method",
        "path": "app/http.py",
        "name": "parse_json2",
        "local_name": "HTTPServer.parse_json2",
        "signature": "def parse_json2(self):",
        "doc": "Read it.",
        "source_text": "def parse_json2(self):\n    return 1\n",
    }
    return embedding_text(**(given | changes))


def test_names_are_spelled_as_words_with_what_they_are_of():
    assert text_of().splitlines() == [
        "method parse json 2 of http server in app/http.py",
        "def parse_json2(self):",
        "Read it.",
        "return 1",
    ]
    assert text_of(local_name="parse_json2").startswith("method parse json 2 in app/http.py")
    assert text_of(name="__", local_name="__").startswith("method __ in app/http.py")
    assert text_of(name="größeMessen", local_name="größeMessen").startswith(
        "method größe messen in"
    )


def test_a_section_is_its_heading_and_its_text():
    section = text_of(
        kind="document",
        path="README.md",
        name="Set up",
        local_name="Guide.Set up",
        signature="## Set up",
        doc="",
        source_text="## Set up\nRun make.",
    )
    assert section == "Set up of guide in README.md\n## Set up\nRun make."
    assert len(text_of(kind="document", source_text="word " * 1_000)) < 1_000


def test_equal_texts_have_one_digest():
    assert embedding_digest(text_of()) == embedding_digest(text_of())
    assert embedding_digest(text_of()) != embedding_digest(text_of(doc="Other."))
