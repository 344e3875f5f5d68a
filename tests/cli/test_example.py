from __future__ import annotations

import json
import shlex

from dynaserve.cli.example import curl_line, example_inputs
from dynaserve.serving.models import embedded, load_model


def body_of(line):
    words = shlex.split(line)
    return words[words.index("-d") + 1]


def test_a_held_out_digit_is_the_example_of_the_embedded_model():
    (row,) = example_inputs(load_model(None), is_embedded=True)
    assert row == embedded.digits().held_out_images[0].tolist()


def test_a_short_body_is_part_of_the_line():
    line = curl_line("http://h:1", [[1, 2]])
    assert line.startswith("curl -s http://h:1/predict ")
    assert json.loads(body_of(line)) == {"inputs": [[1, 2]]}


def test_a_long_body_goes_through_a_file(state_directory):
    inputs = [[0.0] * 1000]
    line = curl_line("http://h:1", inputs)
    assert body_of(line) == f"@{state_directory}/example.json"
    assert json.loads((state_directory / "example.json").read_text()) == {"inputs": inputs}
