"""The parts of the LoCoMo benchmark that can be wrong in silence: units, evidence, the rule."""

import json
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.locomo_data import Category, Question, as_chunks, as_turns, read_conversations
from tests.bench.locomo_scores import answers, evidence_recall, shown

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def question(answer: str, category: Category = Category.SINGLE_HOP) -> Question:
    return Question(text="?", answer=answer, category=category, evidence=frozenset())


def sample() -> dict[str, object]:
    said = [
        {"speaker": "Ann" if place % 2 else "Bob", "dia_id": f"D1:{place}", "text": f"line {place}"}
        for place in range(1, 7)
    ]
    return {
        "sample_id": "Conv-1",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": said,
            "session_2_date_time": "9:00 am on 2 June, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "look", "blip_caption": "a cat"}
            ],
        },
        "qa": [
            {"question": "Who?", "answer": 7, "category": 4, "evidence": ["D1:2; D:2:01", "D9:9"]}
        ],
    }


def test_malformed_evidence_is_mended_and_unknown_turns_are_left_out(tmp_path: Path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps([sample()] * 6))
    conversations = read_conversations(path)
    assert conversations[0].questions[0].evidence == {"D1:2", "D2:1"}
    assert conversations[0].questions[0].answer == "7"
    assert [one.is_held_out for one in conversations] == [False] * 5 + [True]


def test_a_chunk_is_four_turns_and_never_crosses_a_session(tmp_path: Path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps([sample()]))
    (conversation,) = read_conversations(path)
    chunks = as_chunks(conversation)
    assert [len(chunk.turn_ids) for chunk in chunks] == [4, 2, 1]
    assert chunks[0].text.startswith("Ann: line 1\nBob: line 2")
    assert as_turns(conversation)[-1].text == "look [Image: a cat]"
    assert chunks[0].at == AT


def test_evidence_recall_counts_turns_of_what_came_back():
    evidence = frozenset({"D1:1", "D1:2", "D1:3"})
    recall = evidence_recall(evidence, [("D1:1", "D1:2"), ("D4:4",)])
    assert (round(recall.fraction, 3), recall.all, recall.any) == (0.667, 0.0, 1.0)


def test_the_rule_wants_half_of_the_words_in_one_memory():
    assert answers(question("blue bicycle"), ["She bought a bicycle."])
    assert not answers(question("blue racing bicycle"), ["She bought a bicycle.", "It is blue."])
    assert not answers(question("blue bicycle"), [])
    assert not answers(question(""), ["anything"])


def test_the_rule_for_dates_reads_the_date_that_a_memory_is_shown_with():
    memory = shown("We met.", session=1, at=AT, author="Ann")
    assert memory == "[Session 1] [01:56 PM on 8 May, 2023] Ann: We met."
    assert answers(question("the 8 May it was, dear", Category.TEMPORAL), [memory])
    assert not answers(question("the 9 May it was, dear", Category.TEMPORAL), [memory])
