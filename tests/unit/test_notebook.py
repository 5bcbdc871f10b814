"""A page made of a notebook depends on the notebook and its results, and on nothing else."""

import re
from pathlib import Path

import nbformat
import pytest

from causaldq.pipeline.report.notebook import link_numbers, run_notebook

PARAMETERS = "results = 'nowhere'"
TABLES = """
import pandas as pd
from IPython.display import display
table = pd.DataFrame({"a": [1.0, 2.0]})
display(table.style.background_gradient())
table.style.format(precision=1)
"""


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    """Parameters, which papermill adds a cell for, and tables, which pandas names."""
    cells = [
        nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(TABLES),
        nbformat.v4.new_code_cell("table.style"),
        nbformat.v4.new_markdown_cell("The text T_0a1b2 is no table's name."),
    ]
    made = nbformat.v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3"},
            "language_info": {"name": "python"},
        },
    )
    nbformat.write(made, tmp_path / "page.ipynb")
    return tmp_path / "page.ipynb"


def test_a_page_made_twice_has_the_same_bytes(notebook: Path, tmp_path: Path) -> None:
    pages = []
    provenance = tmp_path / "provenance.json"
    provenance.write_text('{"hash": "0123456789abcdef"}')
    for number in range(2):
        output = tmp_path / f"{number}.html"
        run_notebook(notebook, Path("results/ci"), provenance, output)
        pages.append(output.read_text())
    assert pages[0] == pages[1]
    # Names on the page are still names: each stands for one thing, and styles find their table.
    cells = re.findall(r'id="cell-id=([^"]+)"', pages[0])
    assert len(cells) == len(set(cells)) == 5
    tables = re.findall(r'<table id="(T_[^"]+)"', pages[0])
    assert len(tables) == len(set(tables)) == 3
    assert f"#{tables[0]}_row1_col0" in pages[0]
    assert f'id="{tables[0]}_row1_col0"' in pages[0]
    assert "The text T_0a1b2 is" in pages[0]


def test_numbers_of_a_tagged_cell_lead_to_the_card_of_its_result() -> None:
    html = '<td id="T_1_row0_col0" class="data">1.25 (1.1, 1.4)</td><td>greedy</td><td>-0.5</td>'
    text = "| method | share |\n| --- | --- |\n| Causal DQ | 0.71 |\n| p10 | 3 of 5 |\n12 in words"
    outputs = [{"data": {"text/html": html}}, {"data": {"text/markdown": text}}]
    made = nbformat.from_dict(
        {
            "cells": [
                {"metadata": {"result": "overall.csv"}, "outputs": outputs},
                {"metadata": {}, "outputs": [{"data": {"text/html": html}}]},
            ]
        }
    )
    link_numbers(made)
    to = "../cards.html#file/overall.csv"
    first, second = (output["data"] for output in made.cells[0].outputs)
    assert first["text/html"].count(f'<a href="{to}">') == 2
    assert f'<a href="{to}">1.25 (1.1, 1.4)</a></td>' in first["text/html"]
    assert second["text/markdown"].count(f"]({to})") == 2
    assert f"| [3 of 5]({to}) |" in second["text/markdown"]
    assert second["text/markdown"].endswith("\n12 in words")
    assert made.cells[1].outputs[0]["data"]["text/html"] == html
