"""Diagrams of models, drawn with matplotlib in the colours of the book.

    fig, ax = diagram((7.2, 3))
    box(ax, (0, 0), "h1", BLUE)
    arrow(ax, (0, 0.25), (2, 1.5), weight=0.8)

Coordinates are free: one unit is about the width of a box. A function at the end of the
file draws each diagram that a lesson shows.
"""

import numpy as np

from .figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, figure

WIDTH, HEIGHT = 0.8, 0.5  # of a box


def diagram(size):
    """Return a figure of (width, height) inches and its axes, without ticks."""
    fig, ax = figure(None, size=size)
    ax.set_axis_off()
    ax.set_aspect("equal")
    return fig, ax


def box(ax, centre, text, colour=GREY, width=WIDTH, height=HEIGHT, below=""):
    """Draw a rounded box around a text; ``below`` stands under it."""
    from matplotlib.patches import FancyBboxPatch

    x, y = centre
    corner = x - width / 2, y - height / 2
    style = "round,pad=0,rounding_size=0.1"
    ax.add_patch(
        FancyBboxPatch(
            corner, width, height, boxstyle=style, fill=False, ec=colour, lw=1.6
        )
    )
    ax.text(x, y, text, ha="center", va="center", fontsize=10)
    if below:
        ax.text(x, y - height / 2 - 0.12, below, ha="center", va="top", fontsize=10)


def arrow(ax, start, end, colour=GREY, weight=0.3, bend=0.0, text=""):
    """Draw an arrow; its width grows with the weight, between 0 and 1."""
    style = {
        "arrowstyle": "-|>",
        "mutation_scale": 9,
        "lw": 0.6 + 4 * weight,
        "color": colour,
        "shrinkA": 0,
        "shrinkB": 0,
        "connectionstyle": f"arc3,rad={bend}",
    }
    ax.annotate("", xy=end, xytext=start, arrowprops=style)
    if text:
        x, y = (np.add(start, end)) / 2
        ax.text(x, y, text, ha="center", va="center", fontsize=9)


def fit(ax, left, right, bottom, top):
    """Show this part of the plane."""
    ax.set(xlim=(left, right), ylim=(bottom, top))


def attention_step(words, weights, state, answer):
    """Draw one step of a decoder that attends to its source.

    words     of the source, one for each encoder state h_j
    weights   alpha_j, one for each word; they set the widths of the arrows
    state     the words that the decoder has written
    answer    the word that it writes next
    """
    fig, ax = diagram((7.2, 3.0))
    n = len(words)
    centre = (n - 1) * 1.2 / 2
    for j, (word, weight) in enumerate(zip(words, weights)):
        x = 1.2 * j
        if j:
            arrow(ax, (x - 1.2 + WIDTH / 2, 0), (x - WIDTH / 2, 0))
        box(ax, (x, 0), f"$h_{j + 1}$", BLUE, below=word)
        arrow(ax, (x, HEIGHT / 2), (centre, 1.75), BLUE, weight)
        side = -1 if x < centre else 1  # beside the arrow, not on it
        ha = "right" if side < 0 else "left"
        ax.text(x + 0.12 * side, 0.36, f"{weight:.2f}", fontsize=9, ha=ha, va="bottom")
    box(ax, (centre, 2), "$c$", ORANGE)
    ax.text(centre - 0.55, 2, "context:\nthe weighted average", ha="right", va="center")
    right = 1.2 * n + 0.9
    box(ax, (right, 0), "$s$", GREEN, below=f'has written "{state}"')
    arrow(ax, (right - WIDTH / 2, 0.1), (centre + 1.25, 0.95), GREEN, bend=0.12)
    ax.text(centre + 1.8, 1.0, "query: which word now?", ha="left", va="bottom")
    box(ax, (right, 2), f'"{answer}"', PURPLE, width=1.1)
    arrow(ax, (centre + WIDTH / 2, 2), (right - 0.55, 2), ORANGE)
    arrow(ax, (right, HEIGHT / 2), (right, 1.75), GREEN)
    fit(ax, -0.9, right + 1.2, -0.7, 2.35)
    return fig


def four_scores():
    """Draw how four scores make one number of a query s and a key h."""
    fig, ax = diagram((7.2, 4.3))
    columns = ("dot", "scaled dot", "general", "additive")
    for x, name in zip(np.arange(4) * 2.2, columns):
        s, h, middle = (x - 0.5, 0), (x + 0.5, 0), (x, 2.0)
        box(ax, s, "$s$", GREEN, width=0.6)
        box(ax, h, "$h$", BLUE, width=0.6)
        ax.text(x, 4.75, name, ha="center", va="bottom", fontsize=11)
        steps = _steps_of_score(ax, name, s, h, middle)
        box(ax, (x, 4.4), "$e$", PURPLE, width=0.6)
        for low, high in zip(steps, [*steps[1:], 4.4]):
            arrow(ax, (x, low + HEIGHT / 2), (x, high - HEIGHT / 2))
    handles = [
        _patch(GREEN, "query"),
        _patch(BLUE, "key"),
        _patch(ORANGE, "learned"),
        _patch(GREY, "fixed"),
        _patch(PURPLE, "score"),
    ]
    ax.legend(handles=handles, loc="lower center", ncols=5, fontsize=9)
    fit(ax, -1.1, 7.7, -1.0, 5.1)
    return fig


def _steps_of_score(ax, name, s, h, middle):
    """Draw a score between its two vectors and its result; return the heights."""
    x, y = middle
    if name in ("general", "additive"):
        sides = ((h, "$W_g$"),) if name == "general" else ((s, "$W_s$"), (h, "$W_h$"))
        for side, matrix in sides:
            box(ax, (side[0], 1), matrix, ORANGE, width=0.6)
            arrow(ax, (side[0], HEIGHT / 2), (side[0], 1 - HEIGHT / 2))
    for side in (s, h):
        through = name == "additive" or (name == "general" and side is h)
        start = (side[0], (1 if through else 0) + HEIGHT / 2)
        arrow(ax, start, (x + (side[0] - x) * 0.4, y - HEIGHT / 2))
    box(ax, middle, "+" if name == "additive" else "dot", GREY)
    if name == "scaled dot":
        box(ax, (x, 3.2), "$1/\\sqrt{d}$", GREY)
        return [y, 3.2]
    if name == "additive":
        box(ax, (x, 2.8), "tanh", GREY)
        box(ax, (x, 3.6), "dot $v$", ORANGE)
        return [y, 2.8, 3.6]
    return [y]


def _patch(colour, label):
    """Return an entry of a legend: a frame of this colour."""
    from matplotlib.patches import Patch

    return Patch(fill=False, ec=colour, lw=1.6, label=label)


def encoder_decoder(source, target):
    """Draw an encoder-decoder without attention, which reads and then writes.

    source    the words that it reads
    target    the words that it writes
    """
    fig, ax = diagram((7.2, 2.7))
    step, n = 1.25, len(source)
    for j, word in enumerate(source):
        box(ax, (step * j, 0), f"$h_{j + 1}$", BLUE, below=word)
        if j:
            arrow(ax, (step * j - step + WIDTH / 2, 0), (step * j - WIDTH / 2, 0))
    first = step * n + 0.75
    middle = (step * (n - 1) + first) / 2
    gap = (step * (n - 1) + WIDTH / 2, 0), (first - WIDTH / 2, 0)
    arrow(ax, *gap, ORANGE, weight=0.8)
    ax.text(middle, 0.28, f"$c = h_{n}$", ha="center", va="bottom", fontsize=10)
    _decoder(ax, (first, 0), step, ("<s>", *target[:-1]), target)
    last = first + step * (len(target) - 1)
    names = (step * (n - 1) / 2, 0.55, "encoder: reads")
    for x, y, text in (names, ((first + last) / 2, 1.75, "decoder: writes")):
        ax.text(x, y, text, ha="center", va="bottom", fontsize=11)
    fit(ax, -0.6, last + 0.7, -1.0, 2.1)
    return fig


def forced_and_greedy(right, forced, greedy):
    """Draw a decoder in training, and one that reads its own words.

    right     the words of the correct answer
    forced    the words that the model writes while it reads the correct words
    greedy    the words that it writes while it reads its own
    """
    fig, ax = diagram((7.2, 2.9))
    step = 1.25
    second = step * len(right) + 0.9
    _decoder(ax, (0, 0), step, ("<s>", *right[:-1]), forced, right)
    _decoder(ax, (second, 0), step, ("<s>", *greedy[:-1]), greedy, right, True)
    for x, text in ((0, "teacher forcing"), (second, "greedy")):
        centre = x + step * (len(right) - 1) / 2
        ax.text(centre, 1.75, text, ha="center", va="bottom", fontsize=11)
    handles = [
        _patch(GREEN, "state"),
        _patch(PURPLE, "right word"),
        _patch(RED, "wrong word"),
    ]
    ax.legend(handles=handles, loc="lower center", ncols=3, fontsize=9)
    fit(ax, -0.7, second + step * (len(right) - 1) + 0.7, -1.75, 2.15)
    return fig


def _decoder(ax, start, step, inputs, outputs, right=None, feedback=False):
    """Draw the states of a decoder, the words under them and the words they write.

    right      the correct words; other outputs are red. None: all are correct
    feedback   draw an arrow from each output to the next input
    """
    x0, y = start
    for t, (read, write) in enumerate(zip(inputs, outputs)):
        x = x0 + step * t
        box(ax, (x, y), f"$s_{t + 1}$", GREEN)
        if t:
            arrow(ax, (x - step + WIDTH / 2, y), (x - WIDTH / 2, y))
        ax.text(x, y - 0.68, read, ha="center", va="top", fontsize=10)
        arrow(ax, (x, y - 0.64), (x, y - HEIGHT / 2), weight=0.15)
        colour = PURPLE if right is None or write == right[t] else RED
        box(ax, (x, y + 1.3), write, colour, width=1.05)
        arrow(ax, (x, y + HEIGHT / 2), (x, y + 1.3 - HEIGHT / 2), weight=0.15)
        if feedback and t + 1 < len(outputs):
            low = x + step / 2, y - 0.75
            ax.plot(
                [x + 0.42, low[0], low[0]], [y + 1.05, y + 0.75, low[1]],
                ":", color=colour, lw=1.3,
            )  # fmt: skip
            arrow(ax, low, (x + step - 0.32, y - 0.75), colour, weight=0.15)


def tape_and_way_back(values, grads, shares):
    """Draw a tape: values in the order of their computation, and the way back.

    values   {text of the box: value}, in order; its first letter is the name
    grads    {name: dL/d(value)}
    shares   (from, to, share): the arrows of the way back, by name
    """
    fig, ax = diagram((7.2, 3.2))
    step = 1.7
    at = {text[0]: step * k for k, text in enumerate(values)}
    for (text, value), x in zip(values.items(), at.values()):
        box(ax, (x, 0), f"${text}$\n{value:.2f}", BLUE, width=1.3, height=0.85)
        slope = f"$dL/d{text[0]}$\n{grads[text[0]]:.2f}"
        ax.text(x, -0.55, slope, ha="center", va="top", fontsize=9)
    for user, parent, share in shares:
        left, right = at[parent] + 0.25, at[user] - 0.25
        arrow(ax, (left, 0.45), (right, 0.45), BLUE, 0.15, bend=-0.45)
        arrow(ax, (right, -1.25), (left, -1.25), ORANGE, 0.15, bend=-0.45)
        long = right - left > step  # its number stands under it, else above
        low = -1.42 - 0.225 * (right - left) if long else -1.2
        middle = (left + right) / 2
        ax.text(middle, low, f"{share:.2f}", ha="center", va="center", fontsize=9)
    way_back = _line(ORANGE, "sends a share of the gradient")
    handles = [_line(BLUE, "is used by"), way_back]
    ax.legend(handles=handles, loc="lower center", ncols=2, fontsize=9)
    fit(ax, -0.8, step * (len(values) - 1) + 0.8, -2.75, 1.25)
    return fig


def _line(colour, label):
    """Return an entry of a legend: a line of this colour."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, label=label)


def reversal_model(word, padding):
    """Draw an encoder-decoder that reverses a word, with attention as the only bridge.

    word      its letters are the source
    padding   number of padded positions after the word
    """
    fig, ax = diagram((7.2, 4.5))
    n, step = len(word), 1.35
    for j in range(n + padding):
        real = j < n
        letter = word[j] if real else "pad"
        box(ax, (step * j, 0), f"$h_{j + 1}$", BLUE if real else GREY, below=letter)
        if j:
            arrow(ax, (step * (j - 1) + WIDTH / 2, 0), (step * j - WIDTH / 2, 0))
    last = step * (n + padding - 1)
    columns = np.linspace(last / 2 - 1.9, last / 2 + 2.4, n)
    gap = columns[1] - columns[0]
    box(ax, (columns[0] - gap, 2.8), "$s_0 = 0$", GREEN, width=1.1)
    for t, x in enumerate(columns):
        for j in range(n + padding):
            arrow(ax, (step * j, HEIGHT / 2), (x, 1.35), BLUE, weight=0.03)
        box(ax, (x, 1.6), f"$c_{t + 1}$", ORANGE)
        box(ax, (x, 2.8), f"$s_{t + 1}$", GREEN)
        box(ax, (x, 4.0), word[n - 1 - t], PURPLE)
        edge = (0.55 if t == 0 else WIDTH / 2) - gap
        arrow(ax, (x + edge, 2.8), (x - WIDTH / 2, 2.8))
        arrow(ax, (x + edge - 0.1, 2.55), (x - WIDTH / 2, 1.75), GREEN, weight=0.15)
        arrow(ax, (x, 1.85), (x, 2.55), ORANGE, weight=0.3)
        arrow(ax, (x, 3.05), (x, 3.75), weight=0.15)
        around = (x + WIDTH / 2, 1.7), (x + 0.25, 3.75)  # beside the state
        arrow(ax, *around, ORANGE, weight=0.1, bend=0.4)
        if t:  # the letter before is an input of this step
            start = x - gap + WIDTH / 2, 3.9
            arrow(ax, start, (x - 0.25, 3.05), PURPLE, weight=0.15)
    ax.text(columns[0] - 0.3, 3.5, "<s>", ha="right", va="bottom", fontsize=10)
    arrow(ax, (columns[0] - 0.45, 3.5), (columns[0] - 0.25, 3.05), PURPLE, 0.15)
    handles = [
        _line(BLUE, "key and value"),
        _line(GREEN, "query"),
        _line(ORANGE, "context"),
        _line(PURPLE, "letter before"),
        _line(GREY, "state"),
    ]
    ax.legend(handles=handles, loc="lower center", ncols=5, fontsize=9)
    fit(ax, columns[0] - gap - 0.7, last + 0.7, -1.35, 4.4)
    return fig


def gradient_check():
    """Draw the two ways to a slope that a gradient check compares."""
    fig, ax = diagram((7.2, 2.3))
    top, low = 1.5, 0.0
    box(ax, (0, top), r"$x \pm h$", BLUE, width=1.0)
    box(ax, (1.9, top), "$f$", GREY)
    box(ax, (4.1, top), r"$F = \sum\, g_i\, y_i$", GREY, width=1.8)
    box(ax, (6.9, top), "slope of $F$", ORANGE, width=1.5)
    for left, right in ((0.5, 1.5), (2.3, 3.2), (5.0, 6.15)):
        arrow(ax, (left, top), (right, top))
    ax.text(2.75, top + 0.1, "$y$", ha="center", va="bottom", fontsize=10)
    ax.text(5.57, top + 0.1, "difference\n$/\\, 2h$", ha="center", va="bottom")
    box(ax, (0, low), "$g$, random", GREEN, width=1.3)
    box(ax, (3.2, low), "backward of $f$", GREY, width=1.8)
    box(ax, (6.9, low), "gradient", ORANGE, width=1.5)
    arrow(ax, (0.65, low), (2.3, low))
    arrow(ax, (4.1, low), (6.15, low))
    arrow(ax, (0.4, low + HEIGHT / 2), (3.6, top - HEIGHT / 2), GREEN, weight=0.15)
    box(ax, (8.9, 0.75), "equal?", PURPLE, width=1.1)
    arrow(ax, (7.65, top), (8.5, 1.0), ORANGE)
    arrow(ax, (7.65, low), (8.5, 0.5), ORANGE)
    fit(ax, -0.8, 9.6, -0.4, 2.2)
    return fig


def alignment_links(source, target, links):
    """Draw two sentences and the links between words of one meaning.

    links   a set of (target, source); a link that changes the place is orange
    """
    fig, ax = diagram((7.2, 2.1))
    step = 1.3
    for words, y, colour in ((source, 2, BLUE), (target, 0, GREEN)):
        for j, word in enumerate(words):
            box(ax, (step * j, y), word, colour, width=1.1)
    for t, s in sorted(links):
        colour = GREY if t == s else ORANGE
        arrow(ax, (step * t, HEIGHT / 2), (step * s, 2 - HEIGHT / 2), colour)
    handles = [_line(GREY, "the same place"), _line(ORANGE, "another place")]
    ax.legend(handles=handles, loc="lower center", ncols=2, fontsize=9)
    fit(ax, -0.7, step * (max(len(source), len(target)) - 1) + 0.7, -1.0, 2.4)
    return fig


def two_orders(first, second, weights):
    """Draw two orders of the same words, and the new vector of the middle word.

    first, second   the words of the two sentences
    weights         {word: its weight for the middle word}; they set the widths
    """
    fig, ax = diagram((7.2, 2.5))
    step, far = 1.55, 5.9
    for left, words in ((0, first), (far, second)):
        middle = left + step * (len(words) // 2)
        for p, word in enumerate(words):
            x = left + step * p
            box(ax, (x, 0), word, BLUE, width=1.15)
            ax.text(x, -0.42, f"place {p}", ha="center", va="top", fontsize=9)
            end = middle + 0.2 * (x - middle), 1.75
            arrow(ax, (x, HEIGHT / 2), end, ORANGE, weights[word])
            side = 1 if x > middle else -1  # beside the arrow, not on it
            ha = "left" if side > 0 else "right"
            shift = 0.12 if x == middle else 0.15
            ax.text(x + shift * side, 0.55, f"{weights[word]:.2f}", fontsize=9, ha=ha)
        new = f'new vector of "{words[len(words) // 2]}"'
        box(ax, (middle, 2), new, PURPLE, width=3.1)
    between = (step * (len(first) - 1) + far) / 2
    ax.text(between, 2, "=", ha="center", va="center", fontsize=14)
    fit(ax, -1.0, far + step * (len(second) - 1) + 1.0, -0.8, 2.4)
    return fig


def places_of_positions():
    """Draw a self-attention, and the three places where positions can enter."""
    fig, ax = diagram((7.2, 3.4))
    rows = {"q": 1.1, "k": 0.0, "v": -1.1}
    box(ax, (0, 0), "word", GREY)
    box(ax, (1.4, 0), "+", ORANGE, width=0.5)
    arrow(ax, (0.4, 0), (1.15, 0))
    for letter, y in rows.items():
        box(ax, (2.8, y), f"$W_{letter.upper()}$", GREY, width=0.7)
        arrow(ax, (1.65, 0.1 * y), (2.45, y))
        if letter == "v":
            continue
        box(ax, (4.2, y), "rotate", GREEN, width=0.95)
        arrow(ax, (3.15, y), (3.72, y))
        arrow(ax, (4.68, y), (5.45, 0.55 + 0.15 * (y - 0.55)))
    box(ax, (5.8, 0.55), "dot", GREY, width=0.7)
    box(ax, (7.0, 0.55), "+", PURPLE, width=0.5)
    box(ax, (8.4, 0.55), "softmax", GREY, width=1.15)
    box(ax, (10.1, 0.55), "average", GREY, width=1.15)
    for start, end in ((6.15, 6.75), (7.25, 7.82), (8.98, 9.52), (10.68, 11.2)):
        arrow(ax, (start, 0.55), (end, 0.55))
    ax.plot([3.15, 10.1], [-1.1, -1.1], color=GREY, lw=1.5)
    arrow(ax, (10.1, -1.1), (10.1, 0.3))
    ax.text(11.3, 0.55, "$z$", ha="left", va="center", fontsize=11)
    ax.text(6.6, -1.0, "values", ha="center", va="bottom", fontsize=9)
    names = (
        (1.4, -1.75, "1. at the input:\nsines, learned table", ORANGE, -1.65, -0.25),
        (4.2, 2.35, "2. queries and keys:\nRoPE", GREEN, 2.2, 1.35),
        (7.0, 2.35, "3. the scores:\nT5, ALiBi, DeBERTa", PURPLE, 2.2, 0.8),
    )
    for x, y, text, colour, start, end in names:
        ax.text(x, y, text, ha="center", va="top" if y < 0 else "bottom", fontsize=10)
        arrow(ax, (x, start), (x, end), colour)
    fit(ax, -0.7, 11.8, -2.6, 3.1)
    return fig


def query_key_value(words, weights, at):
    """Draw one sequence, its queries, keys and values, and one output.

    words     of the sequence, one for each vector x_j
    weights   of the query at place ``at``, one for each word
    at        the place whose query and output are drawn, counted from 0
    """
    fig, ax = diagram((7.2, 4.6))
    step, i = 1.75, at + 1
    for j, (word, weight) in enumerate(zip(words, weights)):
        x = step * j
        box(ax, (x, 0), word, GREY, width=1.05)
        box(ax, (x, 1.35), f"$v_{j + 1}$", ORANGE)
        box(ax, (x, -1.35), f"$k_{j + 1}$", BLUE)
        arrow(ax, (x, HEIGHT / 2), (x, 1.35 - HEIGHT / 2))
        arrow(ax, (x, -HEIGHT / 2), (x, -1.35 + HEIGHT / 2))
        arrow(ax, (x, 1.6), (step * at + 0.1 * (j - at), 2.75), ORANGE, weight)
        side = 1 if j > at else -1  # beside the arrow, not on it
        ha = "left" if side > 0 else "right"
        ax.text(x + 0.12 * side, 1.68, f"{weight:.2f}", fontsize=9, ha=ha, va="bottom")
        arrow(ax, (step * at, -2.75), (x, -1.6), GREEN, weight=0.1)
    box(ax, (step * at, 3), f"$z_{i}$", PURPLE)
    box(ax, (step * at, -3), f"$q_{i}$", GREEN)
    right = step * at + 0.78
    ax.plot([step * at + 0.525, right, right], [0, 0, -3], color=GREY, lw=1.5, zorder=0)
    arrow(ax, (right, -3), (step * at + WIDTH / 2, -3))
    rows = {
        3: "output",
        1.35: "values: what\ndo I hand over?",
        0: "words",
        -1.35: "keys: what\ndo I contain?",
        -3: f'query of "{words[at]}":\nwhat am I looking for?',
    }
    for y, text in rows.items():
        ax.text(-0.85, y, text, ha="right", va="center", fontsize=10)
    ax.text(step * at + 0.55, 3, "average of the values,\nby weight", va="center")
    ax.text(step * at - 3.6, -2.6, "scores", ha="right", va="center")
    fit(ax, -3.4, step * (len(words) - 1) + 0.75, -3.4, 3.35)
    return fig


def heads_side_by_side(words, weights, query, questions):
    """Draw two heads that read one sentence, and how their outputs are joined.

    words       of the sequence
    weights     (2, T), of one query in each head; they set the widths of the arrows
    query       the number of the word that is the query
    questions   what the two heads look for
    """
    fig, ax = diagram((7.2, 3.9))
    step = 1.5
    centre = step * (len(words) - 1) / 2
    colours, places = (BLUE, ORANGE), (centre - 1.7, centre + 1.7)
    for j, word in enumerate(words):
        box(ax, (step * j, 0), word, PURPLE if j == query else GREY, width=1.15)
    ax.text(step * query, -HEIGHT / 2 - 0.1, "the query", ha="center", va="top")
    for h, (x, colour) in enumerate(zip(places, colours)):
        for j, weight in enumerate(weights[h]):
            start = step * j + (0.15 if h else -0.15), HEIGHT / 2
            arrow(ax, start, (x + 0.15 * (j - 2), 1.75), colour, weight)
        box(ax, (x, 2), f"head {h + 1}", colour, width=1.6)
        outside = x + (1 if h else -1) * 0.95
        ha = "left" if h else "right"
        ax.text(outside, 2, f'"{questions[h]}"', ha=ha, va="center")
        part = centre + (0.6 if h else -0.6), 3.3
        box(ax, part, f"output {h + 1}", colour, width=1.2)
        arrow(ax, (x, 2 + HEIGHT / 2), (part[0], 3.3 - HEIGHT / 2), colour)
    ax.text(centre + 1.35, 3.3, "side by side", ha="left", va="center")
    box(ax, (centre, 4.4), "$W_O$", GREY)
    arrow(ax, (centre, 3.3 + HEIGHT / 2), (centre, 4.4 - HEIGHT / 2))
    arrow(ax, (centre + WIDTH / 2, 4.4), (centre + 1.3, 4.4))
    result = f"new vector of {words[query]}"
    ax.text(centre + 1.4, 4.4, result, ha="left", va="center")
    fit(ax, -1.6, step * (len(words) - 1) + 1.6, -0.7, 4.75)
    return fig


def transformer_block():
    """Draw a pre-norm Transformer block: two networks, each inside a sum."""
    fig, ax = diagram((7.2, 2.3))
    parts = (
        (1.4, "norm", GREY, 1.0),
        (3.1, "attention", BLUE, 1.6),
        (4.6, "+", PURPLE, 0.5),
        (5.9, "norm", GREY, 1.0),
        (7.7, "feed-forward", ORANGE, 1.8),
        (9.3, "+", PURPLE, 0.5),
    )
    end = 0.0
    for x, text, colour, width in parts:
        arrow(ax, (end, 0), (x - width / 2, 0))
        box(ax, (x, 0), text, colour, width=width)
        end = x + width / 2
    arrow(ax, (end, 0), (10.3, 0))
    ax.text(-0.1, 0, "$x$", ha="right", va="center", fontsize=11)
    ax.text(10.4, 0, "$x$, to the\nnext block", ha="left", va="center")
    for start, plus in ((0.4, 4.6), (5.1, 9.3)):
        ax.plot([start, start, plus], [0, 1.1, 1.1], color=PURPLE, lw=1.5)
        arrow(ax, (plus, 1.1), (plus, HEIGHT / 2), PURPLE)
        text = "$x$ itself: the residual connection"
        ax.text((start + plus) / 2, 1.2, text, ha="center", va="bottom", fontsize=9)
    for x, text in ((3.1, "between\nthe words"), (7.7, "each word\nalone")):
        ax.text(x, -0.4, text, ha="center", va="top")
    fit(ax, -0.5, 12.0, -1.2, 1.6)
    return fig


def padded_batch(sentences):
    """Draw sentences as the rows of one array, filled up with padding, and the mask."""
    fig, ax = diagram((7.2, 2.9))
    longest = max(map(len, sentences))
    step, gap = 1.35, 1.7
    for b, sentence in enumerate(sentences):
        y = -gap * b
        ax.text(-0.9, y, f"sentence {b + 1}", ha="right", va="center", fontsize=10)
        text = "may be attended to"
        ax.text(-0.9, y - 0.55, text, ha="right", va="center", fontsize=9)
        for j in range(longest):
            real = j < len(sentence)
            text, colour = (sentence[j], BLUE) if real else ("<pad>", RED)
            box(ax, (step * j, y), text, colour, width=1.15)
            ax.text(step * j, y - 0.55, str(real), ha="center", va="center", fontsize=9)
    handles = [_patch(BLUE, "word"), _patch(RED, "padding")]
    ax.legend(handles=handles, loc="lower center", ncols=2, fontsize=9)
    fit(ax, -2.6, step * longest - 0.5, -gap * len(sentences) + 0.1, 0.45)
    return fig


def local_window(words, weights, centre, written, answer):
    """Draw one step of a decoder that attends to a window of its source.

    words     of the source, one for each encoder state h_s, counted from 0
    weights   {place: weight} of the words in the window
    centre    the place p_t of the middle of the window
    written   the words that the decoder has written
    answer    the word that it writes next
    """
    fig, ax = diagram((7.2, 3.5))
    step = 1.25
    for s, word in enumerate(words):
        x = step * s
        inside = s in weights
        box(ax, (x, 0), word, BLUE if inside else GREY, width=1.1)
        ax.text(x, -0.36, str(s), ha="center", va="top", fontsize=9)
        if inside:
            arrow(ax, (x, HEIGHT / 2), (step * centre, 1.95), BLUE, weights[s])
            side = 1 if s > centre else -1  # beside the arrow, not on it
            ha = "left" if side > 0 else "right"
            text = f"{weights[s]:.2f}"
            ax.text(x + 0.14 * side, 0.36, text, fontsize=9, ha=ha, va="bottom")
    low, high = step * (min(weights) - 0.5), step * (max(weights) + 0.5)
    ax.plot(
        [low, low, high, high], [-0.7, -0.85, -0.85, -0.7], color=BLUE, lw=1.6
    )  # a bracket
    arrow(ax, (step * centre, -1.4), (step * centre, -0.9), BLUE)
    text = f"centre $p_t = {centre}$; the window reaches $D = {centre - min(weights)}$"
    ax.text(step * centre, -1.45, text + " words to either side", ha="center", va="top")
    box(ax, (step * centre, 2.2), "context", ORANGE, width=1.3)
    right = step * (len(words) - 1) - 0.6
    box(ax, (right, 1.2), f'"{written}"', GREEN, width=2.0)
    ax.text(right, 0.9, "has written", ha="center", va="top", fontsize=9)
    box(ax, (right, 2.2), f'"{answer}"', PURPLE, width=1.2)
    arrow(ax, (step * centre + 0.65, 2.2), (right - 0.6, 2.2), ORANGE)
    arrow(ax, (right, 1.2 + HEIGHT / 2), (right, 2.2 - HEIGHT / 2), GREEN)
    handles = [
        _patch(BLUE, "word in the window"),
        _patch(GREY, "word not looked at"),
        _patch(ORANGE, "context"),
        _patch(GREEN, "state of the decoder"),
        _patch(PURPLE, "next word"),
    ]
    ax.legend(handles=handles, loc="lower center", ncols=3, fontsize=9)
    fit(ax, -0.8, step * (len(words) - 1) + 0.8, -3.1, 2.6)
    return fig


def coverage_steps(words, weights, written):
    """Draw the weights of each step, and the coverage that adds them up.

    words     of the source, (S,)
    weights   (T, S): row t has the weights of step t
    written   the word that the decoder writes at each step, (T,)
    """
    fig, ax = diagram((7.2, 4.2))
    gap, high = 4.4, 3.1
    coverage = np.cumsum(weights, 0) - weights  # (T, S), without the present step
    for t, word in enumerate(written):
        x = gap * t
        _bars(ax, (x, high), words, weights[t], BLUE)
        _bars(ax, (x, 0), words, coverage[t], ORANGE)
        box(ax, (x, high + 1.45), f'"{word}"', PURPLE, width=1.5)
        ax.text(x - 1.5, high + 1.45, f"step {t}", ha="center", va="center")
        ax.text(x - 1.5, high + 0.5, f"$a^{t}$", ha="center", va="center")
        ax.text(x - 1.5, 0.5, f"$c^{t}$", ha="center", va="center")
        arrow(ax, (x, 1.6), (x, high - 0.6), ORANGE, weight=0.15)
        if t + 1 < len(written):
            arrow(ax, (x + 1.3, high - 0.1), (x + gap - 1.4, 1.0), BLUE, weight=0.15)
            arrow(ax, (x + 1.3, 0.15), (x + gap - 1.3, 0.15), GREY, weight=0.15)
    handles = [
        _line(BLUE, "weights; added to the coverage"),
        _line(ORANGE, "coverage; read by the score"),
        _line(GREY, "kept"),
    ]
    ax.legend(handles=handles, loc="lower center", ncols=3, fontsize=9)
    fit(ax, -2.0, gap * (len(written) - 1) + 1.7, -1.5, high + 1.8)
    return fig


def _bars(ax, corner, words, heights, colour):
    """Draw a bar for each word, with its number above it and the word below."""
    from matplotlib.patches import Rectangle

    x0, y = corner
    for j, (word, height) in enumerate(zip(words, heights)):
        x = x0 + 0.85 * (j - (len(words) - 1) / 2)
        bar = Rectangle((x - 0.25, y), 0.5, 0.75 * height, color=colour)
        ax.add_patch(bar)
        top = y + 0.75 * height + 0.05
        ax.text(x, top, f"{height:.1f}", ha="center", va="bottom", fontsize=9)
        ax.text(x, y - 0.08, word, ha="center", va="top", fontsize=9)
    ax.plot([x0 - 1.25, x0 + 1.25], [y, y], color=GREY, lw=1)


def plain_patch(colour_map, level, label):
    """Return an entry of a legend: a cell of a heatmap at this level, 0 to 1."""
    from matplotlib import colormaps
    from matplotlib.patches import Patch

    return Patch(color=colormaps[colour_map](level), label=label)


def tiles_of_attention(blocks, row, column):
    """Draw the scores in tiles, with one tile at work and the sums of its row.

    blocks        number of blocks of queries, and of keys
    row, column   the place of the tile at work, counted from 0
    """
    from matplotlib.patches import Rectangle

    fig, ax = diagram((7.2, 3.9))
    for b in range(blocks):
        box(ax, (-1.2, -b), f"$Q_{b + 1}$", GREEN, width=0.9, height=0.8)
        text = f"$K_{b + 1}, V_{b + 1}$"
        box(ax, (b, 1.2), text, BLUE, width=0.9, height=0.8)
    for i in range(blocks):
        for j in range(blocks):
            dropped = (i, j) < (row, column)
            at_work = (i, j) == (row, column)
            look = {"fill": at_work, "ec": PURPLE if at_work else GREY, "lw": 1.2}
            if at_work:
                look["fc"] = PURPLE
            if dropped:
                look["hatch"] = "///"
            ax.add_patch(Rectangle((j - 0.45, -i - 0.45), 0.9, 0.9, **look))
    arrow(ax, (-0.72, -row), (column - 0.47, -row), GREEN)
    arrow(ax, (column, 0.78), (column, -row + 0.47), BLUE)
    right = blocks + 1.4
    box(ax, (right, -row), "$m, l, o$", ORANGE, width=1.3, height=0.8)
    arrow(ax, (column + 0.47, -row), (right - 0.65, -row), ORANGE)
    ax.text(right + 0.8, -row, "kept for\nthis row", ha="left", va="center")
    box(ax, (right, 0.6), "output", GREY, width=1.3)
    arrow(ax, (right, -row + 0.4), (right, 0.6 - HEIGHT / 2))
    ax.text(right + 0.8, 0.6, "one division,\nat the row's end", va="center")
    handles = [
        _tile_patch(PURPLE, "tile at work", fill=True),
        _tile_patch(GREY, "computed, used, dropped", hatch="///"),
        _tile_patch(GREY, "still to come"),
    ]
    ax.legend(handles=handles, loc="lower center", ncols=3, fontsize=9)
    fit(ax, -2.0, right + 2.9, -blocks - 0.6, 1.75)
    return fig


def _tile_patch(colour, label, fill=False, hatch=None):
    """Return an entry of a legend: a frame, filled or hatched."""
    from matplotlib.patches import Patch

    face = colour if fill else "none"
    return Patch(fc=face, ec=colour, lw=1.2, hatch=hatch, label=label)


def merged_attention(first, second):
    """Draw how the attention over two sets of keys becomes the attention over all.

    first, second   what the two sets of keys are
    """
    fig, ax = diagram((7.2, 2.4))
    box(ax, (0, 0.75), "$q$", GREEN)
    for a, (y, keys) in enumerate(((1.5, first), (0.0, second)), start=1):
        box(ax, (2.6, y), keys, BLUE, width=2.6)
        box(ax, (5.6, y), f"$o_{a}$,  lse$_{a}$", ORANGE, width=1.5)
        arrow(ax, (0.4, 0.75), (1.3, y), GREEN)
        arrow(ax, (3.9, y), (4.85, y), BLUE)
        arrow(ax, (6.35, y), (7.2, 0.75 + (0.12 if a == 1 else -0.12)), ORANGE)
    box(ax, (7.9, 0.75), "merge", GREY, width=1.4)
    box(ax, (9.9, 0.75), "$o$,  lse", PURPLE, width=1.3)
    arrow(ax, (8.6, 0.75), (9.25, 0.75), PURPLE)
    ax.text(0, 0.4, "query", ha="center", va="top", fontsize=9)
    ax.text(9.9, 0.4, "over all keys", ha="center", va="top", fontsize=9)
    fit(ax, -0.7, 10.8, -0.4, 1.9)
    return fig
