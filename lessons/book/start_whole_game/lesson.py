"""start  The whole game  ●○○○  20 min  importance ★★★

How does a network learn where to look?
"""

# %% [markdown]
# A program reads `badge` and has to write it backwards: `egdab`. For the first letter
# of the answer it has to look at the last letter that it read. Nobody writes this rule
# into the program: a small network finds it while this page runs. The part of the
# network that looks is [attention](../../GLOSSARY.md#attention). This page shows all of
# it; the lessons open the parts.
#
# **Why it matters:** models that translate and write texts have this part in each layer.
#
# ## What goes in, and what comes out?
#
# A string of five letters goes in, each from a to j. For each letter of the answer ten
# numbers come out, the [logits](../../GLOSSARY.md#logit), one for each letter that
# could stand there; the largest decides. What does
# [the model](../../../attention/first_model.py) answer before it has learned anything?

# %% [folded]
import numpy as np

import minigrad as mg
from attention import attend, dot, scaled_dot
from attention.first_model import LETTERS, H, N, Reverser
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, RED, arrow, box, diagram, figure, show,
)  # fmt: skip
from minigrad import nn, optim


# %%
def answer(model, word):
    source = np.array([[LETTERS.index(letter) for letter in word]])  # (1, n)
    logits, weights = model(source)  # (1, n, 10), (1, n, n)
    return "".join(LETTERS[k] for k in logits.data[0].argmax(-1)), weights.data[0]


model = Reverser(np.random.default_rng(0))
print("badge ->", answer(model, "badge")[0])

# %% [markdown]
# It guesses. Training repeats one *step*, each time with other random strings:

# %%
BATCH, STEPS = 64, 300


def task(source):  # (B, n) -> the right answers
    return source[:, ::-1]  # each string backwards


def one_step(model, optimizer, source):
    loss = mg.cross_entropy(model(source)[0], task(source))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# %% [markdown]
# The [loss](../../GLOSSARY.md#loss) is one number: how far the model is from the right
# answers. `backward` computes the [gradient](../../GLOSSARY.md#gradient): for each
# [parameter](../../GLOSSARY.md#parameter), a number that the model learns, whether the
# loss rises or falls when it grows. `optimizer.step` moves each parameter a little, so
# that the loss falls. We do this {{ STEPS }} times, with {{ BATCH }} strings each, and
# measure every tenth time:

# %%
def train(model, word="badge"):
    rng, n, seen = np.random.default_rng(1), len(word), []
    test = rng.integers(0, 10, (200, n))  # strings to measure with
    for parameter in model.parameters():  # 64 bits: few rounding errors
        parameter.data = np.float64(parameter.data)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)  # lr: the size of a step
    for step in range(STEPS + 1):
        if step % 10 == 0:
            right = np.mean(model(test)[0].data.argmax(-1) == task(test))
            seen.append((step, right, answer(model, word)[1]))
        one_step(model, optimizer, rng.integers(0, 10, (BATCH, n)))
    return seen


seen = train(model)
print("badge ->", answer(model, "badge")[0])

# %% [markdown]
# Where does it look? For each letter that it writes it has five
# [weights](../../GLOSSARY.md#weight), one for each letter of the string; they are
# positive and sum to one. A row of the figure belongs to one letter of the answer. What
# do you expect in the first row, before training and after?

# %% [figure]
def heatmap(ax, weights, word="", title=None):
    """Draw weights (n, n), with the letters of the word at the sides."""
    image = ax.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(len(word)), list(word))
    ax.set_yticks(range(len(word)), task(np.array([list(word)]))[0])
    ax.set(title=title, xlabel="letter that is read")
    ax.grid(False)
    return image


def heatmaps(title, panels, height=2.7):
    """Return a figure of (weights, word, title) side by side."""
    fig, axes = figure(title, columns=len(panels), size=(7.2, height))
    images = [heatmap(ax, *panel) for ax, panel in zip(axes, panels)]
    axes[0].set_ylabel("letter to be written")
    fig.colorbar(images[0], ax=axes, label="weight", shrink=0.8)
    return fig


largest = [weights.max(-1).mean() for _, _, weights in seen]


def draw(step):
    """Draw the weights before training, after ``step`` steps, and at the end."""
    moments = [seen[k] for k in (0, step // 10, -1)]
    panels = [(w, "badge", f"step {n}: {right:.2f} right") for n, right, w in moments]
    said = f"""After {step} steps {moments[1][1]:.0%} of the letters are right; the
    largest weight of a row is {largest[step // 10]:.2f} on average."""
    return heatmaps("When does it find where to look?", panels, 2.4), said


alt = f"""The weights with which the model reverses "badge", and the share of right
letters in 200 strings. After {STEPS} steps the dark weights, {largest[-1]:.2f} on
average, are the diagonal from the upper right to the lower left: the first letter of
the answer is read from the last letter of the string."""
steps = [*range(0, 121, 10), *range(140, 201, 20), 300]
show(draw, "diagonal", alt, {"step of training": steps}, (60,))

# %% [markdown]
# Training showed the model the right answers, never the diagonal. The weights moved
# there because that makes the answers better. The model did not memorise all strings:
# there are {{ f"{10**N:,}" }}, and it saw at most {{ f"{BATCH * STEPS:,}" }}.
#
# ## What is inside?
#
# The lessons that open a part stand below it:

# %% [figure]
fig, ax = diagram((7.2, 3.4), (-0.7, 8.6), (-1.8, 2.0))
fig.suptitle("How is the first letter of the answer made?")
parts = (
    (0, 0, GREY, "b a d g e", ""), (1.8, 0, BLUE, "$h_1 … h_5$", "02, 11"),
    (1.8, 1.6, GREEN, "query $q_1$", "03"), (3.6, 1.6, GREEN, "scores", "04, 05"),
    (5.4, 1.6, PURPLE, "weights", "03, 06"), (5.4, 0, ORANGE, "average $c_1$", "03"),
    (7.1, 0, GREY, "ten numbers", "02"), (8.3, 0, GREY, '"e"', ""),
    (7.1, -1.4, RED, "loss", "00, 01"),
)  # fmt: skip
for x, y, colour, text, opened in parts:
    box(ax, (x, y), text, colour, width=0.5 if text == '"e"' else 1.25)
    ax.text(x, y - 0.32, opened, ha="center", va="top", fontsize=8)
for start, end, colour in (
    ((0.63, 0), (1.17, 0), GREY), ((2.3, 0.25), (3.1, 1.35), BLUE),
    ((2.43, 1.6), (2.97, 1.6), GREEN), ((4.23, 1.6), (4.77, 1.6), GREEN),
    ((5.4, 1.0), (5.4, 0.25), PURPLE), ((2.43, 0), (4.77, 0), BLUE),
    ((6.03, 0), (6.47, 0), ORANGE), ((7.73, 0), (8.05, 0), GREY),
    ((7.1, -0.6), (7.1, -1.15), GREY),
):  # fmt: skip
    arrow(ax, start, end, colour)
alt = """The string gives the vectors h1 to h5. The query q1 and these vectors give
scores, the scores give weights, the weights and the vectors give the average c1, and it
gives ten numbers. The largest is that of the letter e. All ten give the loss."""
show(fig, "parts", alt)

# %% [markdown]
# | part | what it does | lesson |
# |---|---|---|
# | [embedding](../../GLOSSARY.md#embedding) | learned vectors of {{ H }} numbers, one for each letter and one for each place; their sum is $h_j$ for letter $j$ of the string | [02](../02_gru_bottleneck/README.md); places [11](../11_positions/README.md) |
# | [query](../../GLOSSARY.md#query) | a learned vector $q_i$: what is needed for letter $i$ of the answer | [03](../03_additive/README.md) |
# | [score](../../GLOSSARY.md#score) | how well $h_j$ suits $q_i$: one number | [04](../04_scores/README.md); scaled [05](../05_scaling/README.md) |
# | [softmax](../../GLOSSARY.md#softmax) | makes weights $`p_{ij}`$ of the scores | [03](../03_additive/README.md); leaving letters out [06](../06_masks/README.md) |
# | average | adds up the $h_j$, each times its weight | [03](../03_additive/README.md) |
# | linear layer | makes ten numbers of the average | [02](../02_gru_bottleneck/README.md) |
# | loss, gradient | how wrong the answers are; how each parameter should change | [00](../00_tape/README.md); checked [01](../01_gradient_check/README.md) |
#
# Score, softmax and average together are attention. The average is the only formula of
# this page:
#
# ```math
# c_i = p_{i1} h_1 + p_{i2} h_2 + \dots + p_{i5} h_5
# ```
#
# If one weight is nearly one, $c_i$ is nearly the vector of a single letter. Here is
# the model, with a length `n` and a `score` that you can choose. `attend` computes
# scores, weights and averages for all letters of the answer at once. Its first `h` is
# compared with `q`, the second is averaged:

# %%
class Changed(Reverser):
    def __init__(self, rng, n=N, score=scaled_dot):
        super().__init__(rng)  # the rest stays; position is for h_j, step for q_i
        self.position, self.step = (nn.Embedding(n, H, rng=rng) for _ in range(2))
        self.places, self.score = np.arange(n), score

    def forward(self, source):
        h = self.letter(source) + self.position(self.places)  # (B, n, H)
        q = self.step(self.places)  # (n, H)
        c, p = attend(q, h, h, self.score)  # (B, n, H), (B, n, n)
        return self.output(c), p  # ten numbers for each letter, and the weights


# %% [markdown]
# ## Change 1: what if attention is off?
#
# If all scores are zero, each weight is a fifth, and training cannot change that. What
# do you expect: no right letter, some, or all? And what is the answer to `badge`?

# %%
def off(q, h):
    return 0 * scaled_dot(q, h)


model_off = Changed(np.random.default_rng(0), score=off)
seen_off = train(model_off)
for word in ("badge", "hedge"):
    print(word, "->", answer(model_off, word)[0])
test = np.random.default_rng(1).integers(0, 10, (200, N))  # as in train
most = np.mean([np.bincount(string).max() / N for string in test])
print(f"right letters {seen_off[-1][1]:.3f}", end="   ")
print(f"right if all five are the most frequent letter {most:.3f}")

# %% [figure]
fig, ax = figure("What does attention add?", size=(7.2, 2.6))
for found, colour, text in ((seen, BLUE, "attention"), (seen_off, ORANGE, "off")):
    ax.plot([s for s, _, _ in found], [right for _, right, _ in found], color=colour)
    ax.text(STEPS + 4, found[-1][1], text, color=colour, va="center")
ax.set(xlabel="step of training", ylabel="right letters")
ax.set(xlim=(0, STEPS), ylim=(0, 1.05))
alt = f"""The share of right letters during training. With attention it rises to
{seen[-1][1]:.2f}; without, it stops at {seen_off[-1][1]:.2f}."""
show(fig, "off", alt)

# %% [markdown]
# The average of all five vectors is the same for each letter of the answer. It says
# *which* letters the string has, not *where* they stand. So the best answer is the most
# frequent letter, five times, and the model has learned it. What if one vector keeps
# the order, too? [Lesson 02](../02_gru_bottleneck/README.md) shows it.
#
# ## Change 2: what if the score is another one?
#
# The [scaled dot product](../../GLOSSARY.md#scaled-dot-product) multiplies $q_i$ and
# $h_j$ number by number, adds up, and divides by the square root of {{ H }}. Leave the
# division out; or let the nearest vector have the largest score. Which of the three
# find the diagonal? Whose weights are sharper?

# %%
def distance(q, h):
    d = q[:, None] - h[:, None]  # (B, n, n, H)
    return -(d * d).sum(-1) / H**0.5


by_score = {"scaled dot": seen}
for name, score in (("dot", dot), ("distance", distance)):
    by_score[name] = train(Changed(np.random.default_rng(0), score=score))

# %% [folded]
def first_step(found):
    return next((step for step, right, _ in found if right >= 0.99), STEPS)


for name, found in by_score.items():
    print(f"{name:10s}  99 of 100 right at step {first_step(found)}", end="   ")
    print(f"largest weight of a row {found[-1][2].max(-1).mean():.2f}")

# %% [figure]
panels = [(found[-1][2], "badge", name) for name, found in by_score.items()]
alt = f"""The weights of three models with different scores, after {STEPS} steps, for
"badge". All have the diagonal. With dot it is darkest."""
show(heatmaps("Do all scores find the diagonal?", panels), "scores", alt)

# %% [markdown]
# All three find it. Without the division the scores are larger, and larger scores make
# sharper weights; in this task, at this size, the answers do not need them. The steps
# are those of one run each, and change with the random numbers: they do not say which
# score learns fastest ([How to read a measurement](../../MEASURES.md)).
#
# ## Change 3: what if the strings are longer?
#
# Take strings of ten letters, and of twenty. Does the model need four times as many
# steps for four times as many letters?

# %%
by_length = {N: seen}
for word in ("abcdefghij", "abcdefghijabcdefghij"):
    model_long = Changed(np.random.default_rng(0), n=len(word))
    by_length[len(word)] = train(model_long, word)
    print(word, "->", answer(model_long, word)[0])

# %% [folded]
for n, found in by_length.items():
    print(f"{n:2d} letters   99 of 100 right at step {first_step(found):3d}", end="   ")
    print(f"{n * n:3d} weights for a string")

# %% [figure]
panels = [(found[-1][2], "", f"{n} letters") for n, found in by_length.items()]
alt = f"""The weights for strings of {N}, 10 and 20 letters, after {STEPS} steps: the same
diagonal, in ever smaller cells."""
show(heatmaps("And the longer strings?", panels), "lengths", alt)

# %% [markdown]
# In this task it needs more, but not four times as many, because each step trains all
# letters of an answer. But twenty letters need sixteen times as many weights as five.
# This is the price of attention in long texts ([lesson
# 12](../12_exact_and_cheap/README.md)).
#
# ## What does this model leave out?
#
# - **It feeds no letter back.** It computes each letter of the answer alone, and $q_i$
#   is the same for every string. In a translation the next word depends on those before
#   it. So a translator writes one word at a time, reads it, and makes the next query
#   from what it has read and written ([lesson 03](../03_additive/README.md); a trained
#   one: [lesson 13](../13_translation/README.md)).
# - **It has no vector for a sixth place**, so it cannot read a longer string than those
#   of its training ([lesson 11](../11_positions/README.md)).
# - **It looks once.** Larger models look several times at once, and again at what they
#   found ([lesson 10](../10_heads/README.md)).
#
# ## What would break it?
#
# Copy [the script](lesson.py), change `task`, and run it. With `source` the model has
# to copy: which diagonal do you expect? With `np.sort(source)` it has to sort, and no
# place is always the right one. Which rows of the heatmap become sharp, and which do
# not?
#
# **To take away: attention scores vectors, makes weights of the scores, and returns the
# weighted average. It learns where to look from the right answers alone.**
#
# Next: [lesson 00](../00_tape/README.md), the gradient; or attention at once, in
# [lesson 03](../03_additive/README.md), which needs no other lesson. There change 1
# comes back as an exercise: `python -m lessons start 6.1`.
