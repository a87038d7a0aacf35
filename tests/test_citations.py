"""Equations and sections of papers are cited with the numbers that the papers give.

``CHECKED`` has the numbers that were compared with the texts. A citation with another
number fails, until someone has looked it up and added it here. What cannot be looked up
is cited without a number.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CHECKED = {  # paper: its equations, sections, figures and algorithms
    "Ba et al. 2016": "equation 4, section 4.1",  # layer norm; fast weights
    "Bahdanau et al. 2015": "equation 5 6, section 3.1 3.2 A.1.2",
    "Beltagy et al. 2020": "section 3.1",
    "Beltagy, Peters and Cohan 2020": "section 3.1",
    "Clark et al. 2019": "section 3.2",
    "Clevert et al. 2016": "section 3",
    "Dai et al. 2019": "section 3.3 B",
    "Dao 2023": "section 2.3, algorithm 1 2",
    "Dao et al. 2022": "section 3.1",
    "Dong et al. 2024": "section 3",
    "Gehring et al. 2017": "section 3.1",
    "Glorot and Bengio 2010": "equation 16",
    "Graves et al. 2014": "section 4.3",
    "He et al. 2015": "equation 15",
    "He et al. 2021": "equation 3 4, section 5.3",
    "Katharopoulos et al. 2020": "equation 4 12, section 3.2 3.3.1",
    "Kingma & Ba 2015": "section 2, algorithm 1",
    "Kudo 2018": "section 3.2",
    "Kudo and Richardson 2018": "section 3.4",
    "Liu et al. 2018": "section 4.2.3",
    "Loshchilov & Hutter 2017": "equation 5",
    "Loshchilov & Hutter 2019": "algorithm 2",
    # dot, general and concat have no number; equation 8 is softmax(W_a h_t)
    "Luong et al. 2015": "equation 5 6 9 10, section 3.1 3.2 3.3 5.3",
    "Peng et al. 2023": "section 3.1 3.2 3.3 3.4",
    "Press et al. 2022": "section 3",
    "Raffel et al. 2020": "section 2.1 3.2.1, figure 3",
    "See et al. 2017": "equation 1",
    "See, Liu and Manning 2017": "equation 10 13",
    "Shaw et al. 2018": "equation 3 4 5, section 4.3",
    "Srivastava et al. 2014": "section 10",
    "Su et al. 2021": "section 3.2.2",
    "Sutskever et al. 2013": "section 2",
    "Sutskever et al. 2014": "section 3.2",
    "Szegedy et al. 2016": "section 7",
    "Vaswani et al. 2017": "equation 1 3, section 3 3.1 3.2.1 3.2.2 3.2.3 3.3 3.5",
    "Wu et al. 2016": "equation 14",
    "Zaheer et al. 2020": "section 2",
}
NAME = r"[A-Z][\w-]+"
PAPER = re.compile(rf"((?:{NAME}, )*{NAME}(?: et al\.| and {NAME}| & {NAME})? \d{{4}})")
NUMBER = r"(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)+|(?<=appendix )[A-Z]\b)"
PLACE = re.compile(
    r"\b([Ee]q(?:uation)?|[Ss]ec(?:tion)?|[Aa]ppendix|[Aa]lgorithm|[Ff]igure)s?\.? "
    rf"({NUMBER}(?:(?:, | and | to ){NUMBER})*)"
)
KINDS = {"e": "equation", "s": "section", "f": "figure", "a": "algorithm"}


def citations():
    """Yield (file, paper, kind, number) of each place of a paper that is cited."""
    for folder in ("attention", "minigrad"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = re.sub(r"[\s#]+", " ", path.read_text(encoding="utf-8"))
            for place in PLACE.finditer(text):
                before = text[max(place.start() - 80, 0) : place.start()]
                paper = (PAPER.findall(before) or [f"no paper: {before}"])[-1]
                first = place[1][0].lower()
                kind = "section" if place[1] == "appendix" else KINDS[first]
                for number in re.findall(NUMBER, place[2]):
                    yield path.relative_to(ROOT), paper, kind, number


def is_checked(paper, kind, number):
    places = dict(p.split(" ", 1) for p in CHECKED.get(paper, "none none").split(", "))
    return number in places.get(kind, "").split()


def test_the_numbers_of_equations_and_sections_are_those_of_the_papers():
    found = list(citations())
    assert len(found) > 60  # the pattern finds them
    textbook = re.compile(r"38\.\d")  # sections of the chapters
    wrong = [c for c in found if not is_checked(*c[1:]) and not textbook.match(c[3])]
    assert not wrong, "\n".join(map(str, wrong))
