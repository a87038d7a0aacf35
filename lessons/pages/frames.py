"""Figures that move on the site: frames that a slider chooses, cells that are read out.

A figure's file holds all its frames. What they share stands once; what differs is shown
where the address ends in the frame's name, as in ``tiles.svg#f3``. An address without a
name shows one frame. Beside them the file holds the words of the sliders and the
numbers of the cells, as JSON, from which the site makes its controls and tables.
"""

import difflib
import html
import itertools
import json
import re
from xml.etree import ElementTree

from attention.plotting.page import short_weight, weights_table

SVG = "{http://www.w3.org/2000/svg}"
DATA = re.compile(r"<metadata>(.*?)</metadata>\n?", re.S)
SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
FIGURE = re.compile(r'<figure>(.*?<img src="(\S+?\.svg)".*?</div>)(.*?)</figure>', re.S)
# ends the caption where a figure does not move
ONE_FRAME = " ({}; it moves on the site)"
# groups whose contents are compared one by one
OPEN = re.compile(r"(figure|axes|matplotlib\.axis)_\d+")
NOT_DRAWN = re.compile(
    r'<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|\n\s*|'
    r' id="[A-Za-z.]+(2d)?_\d+"|(?<=[:;]) (?=[^"<>]*")', re.S,
)  # fmt: skip
ElementTree.register_namespace("", SVG[1:-1])
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


def every_frame(parameters):
    """Return the values of each frame; those of the last parameter change fastest."""
    return list(itertools.product(*parameters.values()))


def with_data(svg, data):
    """Return a figure that holds ``data``, in the place of matplotlib's description."""
    text = html.escape(json.dumps(data, ensure_ascii=False), quote=False)
    return DATA.sub(lambda _: f"<metadata>{text}</metadata>\n", svg, count=1)


def data_of(svg):
    """Return the data that a figure holds, or None if it does not move."""
    found = DATA.search(svg)
    plain = found is None or found[1].strip()[:1] != "{"
    return None if plain else json.loads(html.unescape(found[1]))


def hover_data(fig, hover):
    """Return the cells of a figure that was drawn, and where they lie, in percent.

    hover   {axes: (rows, columns, values)}: words, words, numbers (rows, columns)
    """
    found, down, across = [], "row", "column"
    for ax, (rows, columns, values) in hover.items():
        down = ax.get_ylabel().partition(":")[0] or down  # else that of its neighbour
        across = ax.get_xlabel().partition(":")[0] or across
        found.append({
            "box": _box(fig, ax), "name": " ".join(ax.get_title().split()),
            "axes": [down, across], "rows": [*map(str, rows)],
            "columns": [*map(str, columns)],
            "values": [[*map(short_weight, row)] for row in values],
        })  # fmt: skip
    return found


def merged(svgs, start):
    """Return one figure of several frames, of which it shows the one at ``start``."""
    trees = [ElementTree.fromstring(svg) for svg in svgs]
    shared = {}
    for tree in trees:
        _take_definitions(tree, shared)
    root = ElementTree.Element(f"{SVG}svg", trees[0].attrib)
    root.append(ElementTree.Element(f"{SVG}metadata"))
    definitions = ElementTree.SubElement(root, f"{SVG}defs")
    style = ElementTree.SubElement(definitions, f"{SVG}style")
    chosen = ",".join(f"#f{k}:target~g .f{k}" for k in range(len(svgs)))
    style.text = (
        "*{stroke-linejoin: round; stroke-linecap: butt}"
        f":target~g .v{{display:none}}{chosen}{{display:inline}}"
    )
    definitions.extend(shared.values())
    for k in range(len(svgs)):
        ElementTree.SubElement(root, f"{SVG}g", id=f"f{k}")
    root.extend(_merged(dict(enumerate(map(list, trees))), start))
    for element in root.iter(f"{SVG}g"):
        if OPEN.fullmatch(element.get("id", "")):
            del element.attrib["id"]
    ElementTree.indent(root, " ")
    return _written(root)


def still(svg):
    """Return the one frame that a figure shows by itself, without the others."""
    if data_of(svg) is None:
        return svg
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        hidden = [e for e in parent if e.get("display") or e.tag == f"{SVG}metadata"]
        for element in hidden:
            parent.remove(element)
    return _written(root)


def smaller(svg):
    """Return a figure in fewer bytes, which looks the same.

    Places are rounded to a hundredth of a point, and what is not drawn goes:
    descriptions, names of groups, line ends.
    """
    svg = NOT_DRAWN.sub("", svg)
    svg = svg.replace("xlink:href", "href").replace("DejaVuSans-", "d")
    svg = re.sub(r"\d*[1-9]\d*\.\d{3,}|0\.[1-9]\d{2,}", _rounded, svg)
    svg = re.sub(r'transform="translate\((\S+) (\S+)\)"/>', r'x="\1" y="\2"/>', svg)
    svg = re.sub(r" ?([MLQC]) (?=[-\d])", r"\1", svg)
    return svg.replace(' y="0"/>', "/>")


def set_in_motion(body, folder):
    """Return a page's HTML in which the figures that move have their tables and data.

    All figures get their sizes, so that the page keeps its place while they are loaded.

    folder   of the page's figures; without scripts a reader has one frame, and the
             sentences or numbers of all in a table
    """

    def replace(found):
        if not (file := folder / found[2]).is_file():
            return found[0]
        svg = file.read_text("utf-8")
        width, height = map(float, SIZE.search(svg).groups())
        size = f'<img width="{width:.0f}" height="{height:.0f}"'
        image, data = found[1].replace("<img", size, 1), data_of(svg)
        if data is None:
            return f"<figure>{image}{found[3]}</figure>"
        return _moving(image, found[3], data)

    return FIGURE.sub(replace, body)


def _written(root):
    """Return the text of a figure, as matplotlib would write it."""
    text = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    return text.replace("<metadata/>", "<metadata></metadata>") + "\n"


def _rounded(number):
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _moving(image, caption, data):
    folded = []
    if "sliders" in data:
        before, after = map(re.escape, ONE_FRAME.split("{}"))
        caption = re.sub(f"{before}.*?{after}", "", caption, flags=re.S)
        names = [name for name, _ in data["sliders"]] + ["what the figure shows"]
        rows = itertools.product(*(labels for _, labels in data["sliders"]))
        rows = [(*labels, said) for labels, said in zip(rows, data["sentences"])]
        lines = _row(names, "th") + "".join(_row(row, "td") for row in rows)
        name = f"All {len(rows)} frames in words"
        folded.append((name, f'<table class="frames">\n{lines}</table>'))
    for cells in data.get("hover", ()):
        name = "The numbers" + f": {cells['name']}" * bool(cells["name"])
        box = ' data-box="{} {} {} {}"'.format(*cells["box"])
        folded.append((name, weights_table(cells, box)))
    tables = "".join(
        f'<details><summary>{html.escape(name)}</summary>\n<div class="scroll" '
        f'tabindex="0">{table}</div>\n</details>\n'
        for name, table in folded
    )
    start = {k: data[k] for k in ("sliders", "start", "values") if k in data}
    start = json.dumps(start, ensure_ascii=False).replace("<", "\\u003c")
    script = f'<script type="application/json">{start}</script>'
    return f'<figure class="moving">{image}{caption}{tables}{script}</figure>'


def _row(cells, tag):
    inner = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>\n"


def _box(fig, ax):
    """Return the left, upper, width and height of axes, in percent of the figure."""
    (left, low), (right, high) = ax.get_window_extent().get_points()
    width, height = fig.bbox.width, fig.bbox.height
    box = left / width, 1 - high / height, (right - left) / width, (high - low) / height
    return [round(float(100 * x), 2) for x in box]


def _take_definitions(tree, shared):
    """Move what is drawn by its name, such as letters, from a frame to ``shared``."""
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.tag == f"{SVG}defs":
                named = {e.get("id"): e for e in child if e.get("id")}
                shared.update(named | shared)
            if child.tag in (f"{SVG}defs", f"{SVG}metadata"):
                parent.remove(child)
        if parent.tag == f"{SVG}g" and not OPEN.fullmatch(parent.get("id", "")):
            parent.attrib.pop("id", None)  # a number that says nothing to the others
        parent.tail = None
        if not (parent.text or "").strip():
            parent.text = None


def _merged(lists, start):
    """Return the elements of all frames in their order, each list of them once.

    lists   {frame: elements}
    """
    keys, holders = [], []  # of each element, and {frame: element}
    for frame, elements in lists.items():
        own = [_key(e) for e in elements]
        steps = difflib.SequenceMatcher(None, keys, own, autojunk=False).get_opcodes()
        new_keys, new_holders = [], []
        for step, a, b, c, d in steps:
            new_keys += keys[a:b]
            new_holders += holders[a:b]
            if step == "equal":
                for holder, element in zip(holders[a:b], elements[c:d]):
                    holder[frame] = element
            else:
                new_keys += own[c:d]
                new_holders += [{frame: e} for e in elements[c:d]]
        keys, holders = new_keys, new_holders
    result = []
    for frames, group in itertools.groupby(holders, key=lambda h: frozenset(h)):
        inner = [_union(holder, start) for holder in group]
        if len(frames) < len(lists):
            names = " ".join(["v", *(f"f{k}" for k in sorted(frames))])
            box = ElementTree.Element(f"{SVG}g", {"class": names})
            if start not in frames:
                box.set("display", "none")
            box.extend(inner)
            inner = [box]
        result += inner
    return result


def _union(holder, start):
    first = next(iter(holder.values()))
    if not OPEN.fullmatch(first.get("id", "")):
        return first
    union = ElementTree.Element(first.tag, first.attrib)
    union.extend(_merged({k: list(e) for k, e in holder.items()}, start))
    return union


def _key(element):
    """Return what is equal for two elements that are drawn once for both."""
    name = element.get("id", "")
    return name if OPEN.fullmatch(name) else ElementTree.tostring(element)
