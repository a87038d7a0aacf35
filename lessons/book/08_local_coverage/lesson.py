"""08  Local attention and coverage  ●●○○  45 min  importance ★  needs 04, 06, 07

What do a window and a memory change?
"""

# %% [markdown]
# You translate "the black cat sleeps on the red sofa today" into French. You have
# written "le chat noir", and you need the next word. Do you read all nine English words
# again? You look near "sleeps", because the three words before it are translated. And
# you do not write "chat" a second time, because you remember that "cat" is done.
#
# **Why it matters:** many language models read long texts through windows, and coverage
# is a known cure for a decoder that repeats itself. Here you see what each can do.
#
# The attention of the lessons before can do neither. It compares its query with every
# word of the source, at every step, and it does not know which words it has used. This
# lesson adds both: a **window** that limits where a step may look, and a memory of
# where the earlier steps have looked, the **coverage**.

# %% [folded]
import numpy as np

import minigrad as mg
from attention import CoverageAttention, LocalAttention, coverage_loss, definitions
from attention.costs.counted import count
from attention.masks import sliding_window
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above, between
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, box, diagram, figure, run_curves, show,
    weight_label,
)  # fmt: skip

rng = np.random.default_rng(8)

# %% [markdown]
# ## Which words can be left out?
#
# On this page we count from 0, as NumPy does. The next French word, "dort" (sleeps), is
# then word 3. Suppose that its step may look at the English word 3 and at $D = 2$ words
# to either side. The scores are invented. The softmax runs over the words of the
# [window](../../GLOSSARY.md#window) only:

# %%
words = "the black cat sleeps on the red sofa today".split()  # S = 9
e = np.array([0.0, 0.5, 1.0, 3.0, 1.0, 0.0, 0.5, 1.0, 1.5])  # scores
p_t, D = 3, 2  # centre and reach of the window
inside = np.abs(np.arange(9) - p_t) <= D  # (S,) bool
weights = np.where(inside, np.exp(e), 0)
weights /= weights.sum()
for s, word in enumerate(words):
    print(f"{s} {word:7s} in the window: {str(inside[s]):5s}  weight {weights[s]:.3f}")

# %% [figure]
def draw(p):
    """Draw the window of centre p, with the scores of the step that writes dort."""
    fig, ax = diagram((7.2, 3.7), (-0.8, 10.8), (-3.1, 2.6))
    fig.suptitle("Which words may the step that writes \"dort\" look at?")
    step, last = 1.25, len(words) - 1
    centre, right = step * p, step * 8 - 0.6
    seen = np.abs(np.arange(9) - p) <= D
    a = np.where(seen, np.exp(e), 0) / np.exp(e[seen]).sum()
    for s, word in enumerate(words):
        box(ax, (step * s, 0), word, BLUE if seen[s] else GREY, width=1.1)
        ax.text(step * s, -0.36, str(s), ha="center", va="top", fontsize=9)
        if seen[s]:
            arrow(ax, (step * s, 0.25), (centre, 1.95), BLUE, a[s])
            weight_label(ax, step * s, 0.36, a[s], 1 if s > p else -1)
    low, high = (step * min(max(p + k, -0.5), last + 0.5) for k in (-D - 0.5, D + 0.5))
    ax.plot([low, low, high, high], [-0.7, -0.85, -0.85, -0.7], color=BLUE, lw=1.6)
    arrow(ax, (centre, -1.4), (centre, -0.9), BLUE)
    ax.text(centre, -1.45, f"centre $p_t = {p}$", ha="center", va="top")
    reach = f"the window reaches $D = {D}$ words to either side"
    ax.text(step * 4, -1.9, reach, ha="center", va="top")
    box(ax, (centre, 2.2), "context", ORANGE, width=1.3)
    box(ax, (right, 1.2), '"le chat noir"', GREEN, width=2.0)
    ax.text(right, 0.9, "has written", ha="center", va="top", fontsize=9)
    box(ax, (right, 2.2), '"dort"', PURPLE, width=1.2)
    arrow(ax, (centre + 0.65, 2.2), (right - 0.6, 2.2), ORANGE)
    arrow(ax, (right, 1.45), (right, 1.95), GREEN)
    for colour, label in (
        (BLUE, "word in the window"), (GREY, "word not looked at"), (ORANGE, "context"),
        (GREEN, "state of the decoder"), (PURPLE, "next word"),
    ):  # fmt: skip
        ax.fill([], [], fill=False, ec=colour, lw=1.6, label=label)
    ax.legend(loc="lower center", ncols=3, fontsize=9)
    most = f'"{words[a.argmax()]}", {a.max():.2f}'
    said = f"Centre {p}: {seen.sum()} words are in the window; the largest weight is"
    return fig, f"{said} that of {most}."


alt = f"""Nine words of the source, numbered 0 to 8. A bracket marks the window, words 1
to 5, around the centre 3, "sleeps". Arrows lead from these five words to the context,
as thick as their weights: {", ".join(f"{a:.2f}" for a in weights[inside])}. The other
four words are grey and have no arrow. Context and state give the word "dort"."""
show(draw, "local-window", alt, {"centre of the window": [*range(6)]}, (3,))

# %% [markdown]
# Attention to all words is called *global*. Attention to a window is called
# [local](../../GLOSSARY.md#local-attention) (Luong, Pham and Manning 2015). In
# formulas, with $|s - p_t| \le D$ for the words in the window:
#
# ```math
# a_t(s) = \frac{\exp e_t(s)}{\sum_{s' \text{ in the window}} \exp e_t(s')}
# \quad \text{if } |s - p_t| \le D, \qquad a_t(s) = 0 \quad \text{otherwise}
# ```
#
# | letter | meaning |
# |---|---|
# | $S$, $T$ | number of words of the source, and of the target |
# | $s$, $t$ | place of a word in the source, and of the present step in the target, both from 0 |
# | $p_t$ | centre of the window of step $t$ |
# | $D$ | reach of the window: $D$ words to either side, at most $2D + 1$ in all |
# | $e_t(s)$, $a_t(s)$ | score and weight of word $s$ at step $t$ |
#
# (These are the letters of the paper. In the lessons before, $s$ was a state of the
# decoder and $p$ a weight. Here they are places in the source.) This is a
# [mask](../../GLOSSARY.md#mask) as in [lesson 06](../06_masks/README.md), and the mask
# moves with $t$. The context is the weighted average.
#
# ## Where does the window stand?
#
# Luong, Pham and Manning have two answers:
#
# - **local-m**, *monotonic* (its centre never goes back): $p_t = t$. Nothing is
#   predicted. This is the example above. It assumes that both sentences have the same
#   order.
# - **local-p**, *predictive*: a small network reads the query and predicts the centre.
#
# ```math
# p_t = S\,\mathrm{sigmoid}\big(v_p^\top \tanh(W_p q_t)\big), \qquad
# \mathrm{sigmoid}(x) = \frac{1}{1 + e^{-x}}
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $q_t$ | $d$ | the query of step $t$, a state of the decoder |
# | $W_p$, $v_p$ | $d \times d$, $d$ | learned; they make one number of the query, and the sigmoid keeps $p_t$ between 0 and $S$ |
#
# ## Is local-p a mask?
#
# A mask says yes or no. Local-p has one factor more, a bell curve around the centre,
# called a *Gaussian*:
#
# ```math
# a_t(s) = \mathrm{align}_t(s)\; \exp\Big(-\frac{(s - p_t)^2}{2\sigma^2}\Big),
# \qquad \sigma = D/2
# ```
#
# Here $`\mathrm{align}_t(s)`$ is the softmax within the window, as before, and $\sigma$
# is the width of the bell. The centre $p_t$ is a real number, not an index.
#
# By hand, take $D = 2$, $p_t = 3$ and equal scores. Five keys have one fifth each,
# times $e^{-2}, e^{-1/2}, 1, e^{-1/2}, e^{-2}$. Do these weights sum to 1? To check it
# with the library's layer, we need a layer with $p_t = 3$. Set $W_p$ and $v_p$ to zero:
# the sigmoid gets 0 and returns one half, and half of $S = 6$ is 3. A query of zeros
# makes all scores equal:

# %%
layer = LocalAttention(2, 2, D=2, kind="p", score="dot")  # widths of query, key
layer.W_p.data, layer.v_p.data = np.zeros((2, 2)), np.zeros(2)  # sigmoid(0) = 1/2
q, K = np.zeros((1, 1, 2)), rng.normal(size=(1, 6, 2))  # S = 6, so p = 3
layer(q, K, K)
a = layer.attention_weights.data[0, 0]
by_hand = np.exp([-2, -0.5, 0, -0.5, -2]) / 5
print("weights", a.round(4), "  sum", f"{a.sum():.4f}")
print("by hand", by_hand.round(4), np.allclose(a[1:], by_hand))

# %% [figure]
fig, ax = figure("What does the Gaussian do to equal weights?", size=(7.2, 2.6))
at, curve = np.arange(6), np.linspace(0, 6, 121)
before = np.where(np.abs(at - 3) <= 2, 0.2, 0)
ax.bar(at - 0.2, before, 0.38, color=GREY)
ax.bar(at + 0.2, a, 0.38, color=BLUE)
ax.plot(curve, np.exp(-((curve - 3) ** 2) / 2) / 5, "--", color=ORANGE)
ax.text(5.3, 0.17, "softmax in the window, sum 1", color=GREY)
ax.text(5.3, 0.13, f"times the Gaussian, sum {a.sum():.2f}", color=BLUE)
ax.text(5.3, 0.09, "Gaussian / 5, as a curve", color=ORANGE)
ax.set(xlabel="key s", ylabel="weight", xlim=(-0.6, 8.6), xticks=at)
alt = f"""Weights of six keys around the centre 3. The softmax gives keys 1 to 5 a fifth
each. Times the Gaussian they are {", ".join(f"{x:.2f}" for x in a[1:])}: only the
centre keeps its weight, and the sum falls to {a.sum():.2f}."""
show(fig, "gaussian", alt)

# %% [markdown]
# They do not sum to 1, because the softmax comes before the Gaussian. So the context is
# shorter than an average of the values, here about half as long. The matrix that reads
# the context can learn to correct that.
#
# > **The book says** (38.7) of both kinds that they "are special cases of attention
# > masks", and it leaves out the Gaussian. Local-m is a mask. Local-p also weighs the
# > keys that are allowed: with equal scores, a key at the edge of the window has
# > {{ f"{by_hand[0] / by_hand[2]:.3f}" }} times the weight of the key at the centre.

# %% [claims]
from lessons.instrument.verdict import share
from lessons.pages.claims import claim

claim("38.7", "local-p is a mask (what the outer key of a window gets, over the "
      "centre, D = 2: 1)", "1.00", by_hand[0] / by_hand[2])

# %% [markdown]
# ## How does the centre learn?
#
# If $p_t$ moves a little, mostly the same keys stay in the window. So the window alone
# has the gradient 0. All that the centre learns, it learns through the Gaussian: a key
# near the centre counts more, so the loss can pull $p_t$ towards the keys that help.
# That is what the Gaussian is for.
#
# Exercise E.9 asks for this gradient. Follow it from the output to the parameters. A
# gradient $g$ of the context arrives at the weights as in [lesson
# 03](../03_additive/README.md): the weight of word $s$ gets $g \cdot h_s$, where $h_s$
# is the value of word $s$. The exponent of the Gaussian has the derivative
# $(s - p_t)/\sigma^2$ in $p_t$. All weights of the window use $p_t$, so its gradient is
# a sum over them:
#
# ```math
# \frac{\partial a_t(s)}{\partial p_t} = a_t(s)\, \frac{s - p_t}{\sigma^2}, \qquad
# \text{gradient of } p_t = \sum_s (g \cdot h_s)\, a_t(s)\, \frac{s - p_t}{\sigma^2}
# ```
#
# The slope of the sigmoid $y = \mathrm{sigmoid}(x)$ is $y (1 - y)$. With $p_t = S y$,
# which is $y = p_t / S$,
#
# ```math
# \frac{d p_t}{d x} = S\, y\, (1 - y) =
# S\, \frac{p_t}{S} \Big(1 - \frac{p_t}{S}\Big) = p_t \Big(1 - \frac{p_t}{S}\Big)
# ```
#
# Last, $`x = v_p^\top u`$ with $`u = \tanh(W_p q_t)`$, and the slope of a tanh is
# $1 - u^2$. Where $\odot$ multiplies entry by entry,
#
# ```math
# \frac{\partial x}{\partial v_p} = u, \qquad
# \frac{\partial x}{\partial W_p} = \big(v_p \odot (1 - u^2)\big)\, q_t^\top, \qquad
# \frac{\partial x}{\partial q_t} = W_p^\top \big(v_p \odot (1 - u^2)\big)
# ```
#
# ## Does a window lose anything?
#
# It loses what is outside. In [lesson 07](../07_reversal/README.md) a word is written
# backwards, so query $t$ needs key $S - 1 - t$. Is this key in the window of local-m,
# whose centre is $p_t = t$? No training is needed to count:

# %%
S = 20
t = np.arange(S)
for D in (1, 3, 6, 10, 19):
    reached = np.abs((S - 1 - t) - t) <= D  # distance of the key from the centre
    print(f"D = {D:2d}: the wanted key is in the window of {reached.sum():2d} of {S}")

# %% [markdown]
# Only the queries near the middle find their key. With another centre a small window
# suits a reversal, too (exercise 38.5).
#
# That was what a window *can* reach. What do trained models do? They copy strings of 6
# to 12 letters, which is the order that local-m assumes, or reverse them, which is the
# opposite order ([experiment.py](experiment.py)). One model has global attention, two
# have windows of seven letters, $D = 3$, and one has no attention, "none": it knows the
# source only from the last state of the encoder
# ([lesson 02](../02_gru_bottleneck/README.md)). [How to read a
# measurement](../../MEASURES.md) explains arms, rates, seeds and verdicts. "Steps to
# half" says after how many steps half of the strings of the validation were right,
# "never" if they were not before the learning rate fell. "Back" is the share of the
# steps of the decoder at which its attention moves back by more than half a word (also
# within a window that itself moves on):

# %% [folded]
kept = record("local")
print(how_made(kept))


def of(task, arm, what="figure"):
    return fair.of_arm(kept[task], arm, what).value


def to_half(task, arm):  # mean steps until half of the strings are right
    good = [np.array(run["curve"]) >= 0.5
            for run in kept[task]["runs"] if run["arm"] == arm]  # fmt: skip
    steps = kept[task]["every"] * (1 + np.mean([each.argmax() for each in good]))
    return f"{steps:.0f}" if np.all([each.any() for each in good]) else "never"


for task in ("copy", "reversal"):
    arms = kept[task]["arms"]
    back = {arm: f"{of(task, arm, 'back'):.2f}" for arm in arms if arm != "none"}
    steps = {arm: to_half(task, arm) for arm in arms}
    columns = "rate", "mean", "doubling", ("steps to half", steps), ("back", back)
    print(f"{task}:", fair.table(kept[task], columns))
reached = [(np.abs(S - 1 - 2 * np.arange(S)) <= 3).sum() for S in range(6, 13)]

# %% [figure]
fig, axes = figure("How soon are the strings right?", columns=2, sharey=True)
looks = {"none": GREY, "global": GREEN, "local-m": BLUE, "local-p": ORANGE}
for ax, task in zip(axes, ("copy", "reversal")):
    styles = {arm: (colour, "-") for arm, colour in looks.items()}
    run_curves(ax, kept[task], styles)
    ax.set(title=task, xlabel="steps", ylim=(-0.02, 1.03))
axes[0].set_ylabel("share of right strings")
axes[0].legend(loc="center right", fontsize=9)
ends = {
    task: ", ".join(f"{arm} {of(task, arm):.2f}" for arm in looks)
    for task in ("copy", "reversal")
}
alt = f"""The share of right strings in the validation against the steps, a line for
each of five runs of four models; a run ends early if it has solved the task. These
shares are read before the learning rate falls to 0, which raises them. In the test
after that: copy {ends["copy"]}; reversal {ends["reversal"]}."""
show(fig, "training", alt)

# %% [markdown]
# **Copying.** With attention to all, {{ f"{of('copy', 'global'):.2f}" }} of the strings
# are right, with the window of local-m {{ f"{of('copy', 'local-m'):.2f}" }} and with
# that of local-p {{ f"{of('copy', 'local-p'):.2f}" }}. Without
# attention the share is {{ f"{of('copy', 'none'):.2f}" }}.
#
# **Reversal.** The count above predicts that local-m fails: of 6 to 12 letters at most
# {{ str(max(reached)) }} are in their window. It has
# {{ f"{of('reversal', 'local-m'):.2f}" }} of the strings right, and the model without
# attention {{ f"{of('reversal', 'none'):.2f}" }}. A GRU with a state of 32 numbers
# learns to carry many of the letters from the encoder to their place. So the state can
# do in part what the window cannot, and it was still learning: the second half of the
# steps added {{ f"{fair.of_arm(kept['reversal'], 'local-m').added:.2f}" }}. So this is
# no verdict on what it can learn.
#
# Local-p finds the letters: {{ f"{of('reversal', 'local-p'):.2f}" }} of the strings are
# right, and its attention goes back in
# {{ f"{of('reversal', 'local-p', 'back'):.0%}" }} of the steps. It needs more steps
# than global attention.
#
# ## What does it save?
#
# A step of global attention computes $S$ scores and an average of $S$ values. A step of
# local attention computes at most $2D + 1$ of both, for a source of any length. We
# count each multiplication of one query of width $d = 64$ with $D = 10$. The last
# column adds the prediction of the centre, $d^2 + d$ multiplications:

# %%
d, D = 64, 10
print("    S    global    local   with W_p of local-p")
for S in (20, 100, 500):
    K = rng.normal(size=(S, d))
    inside = (np.abs(np.arange(S) - S // 2) <= D)[None]
    _, whole = count("scaled", K[:1], K, K)
    _, window = count(definitions.sparse, K[:1], K, K, allowed=inside)
    whole, window = whole.multiplications, window.multiplications
    print(f"{S:5d}{whole:10d}{window:9d}{window + d * d + d:10d}")

# %% [markdown]
# A window of {{ 2 * D + 1 }} words saves nothing on a sentence of twenty words. On long
# sources the saving is large, and that is where windows are in use today: in many
# language models each word sees only the last words, up to a fixed number
# ([further below](#further-how-far-do-small-windows-see)).
#
# ## What does coverage count?
#
# Now the second idea. A decoder that writes a word twice has usually looked at the same
# source word twice. Here are three steps over three words, invented: the decoder writes
# "chat", "chat" again, and then "endormi". Add up, for each source word, the weights
# that it has received in all steps *before* the present one. This sum is its
# [coverage](../../GLOSSARY.md#coverage):

# %%
source, written = ("cat", "is", "asleep"), ("chat", "chat", "endormi")
a = np.array([[0.8, 0.2, 0.0], [0.8, 0.2, 0.0], [0.0, 0.1, 0.9]])  # (T, S)
c = np.cumsum(a, 0) - a  # row t sums the rows before t: (T, S)
for t, word in enumerate(written):
    print(f"step {t} writes {word:8s} weights {a[t]}   coverage before {c[t]}")

# %% [figure]
fig, ax = diagram((7.2, 4.4), (-2.0, 10.5), (-1.5, 4.9))
fig.suptitle("What has each word received before a step?")
for t, word in enumerate(written):
    at = 4.4 * t
    for heights, y, colour in ((a[t], 3.1, BLUE), (c[t], 0, ORANGE)):
        bars = at + 0.85 * np.arange(-1, 2)
        ax.bar(bars, 0.75 * heights, 0.5, y, color=colour)
        ax.plot([at - 1.25, at + 1.25], [y, y], color=GREY, lw=1)
        for place, name, height in zip(bars, source, heights):
            top = y + 0.75 * height + 0.05
            ax.text(place, top, f"{height:.1f}", ha="center", va="bottom", fontsize=9)
            ax.text(place, y - 0.08, name, ha="center", va="top", fontsize=9)
    box(ax, (at, 4.55), f'"{word}"', PURPLE, width=1.5)
    for y, text in ((4.55, f"step {t}"), (3.6, f"$a_{t}$"), (0.5, f"$c_{t}$")):
        ax.text(at - 1.5, y, text, ha="center", va="center")
    arrow(ax, (at, 1.6), (at, 2.5), ORANGE, weight=0.15)
    if t < 2:
        arrow(ax, (at + 1.3, 3.0), (at + 3.0, 1.0), BLUE, weight=0.15)
        arrow(ax, (at + 1.3, 0.15), (at + 3.1, 0.15), weight=0.15)
ax.plot([], [], color=BLUE, label="weights; added to the coverage")
ax.plot([], [], color=ORANGE, label="coverage; read by the score")
ax.plot([], [], color=GREY, label="kept")
ax.legend(loc="lower center", ncols=3, fontsize=9)
alt = """Three steps. Above, the weights of the words cat, is, asleep: 0.8, 0.2, 0.0 for
"chat", the same for the second "chat", and 0.0, 0.1, 0.9 for "endormi". Below, the
coverage before each step: 0, 0, 0; then 0.8, 0.2, 0.0; then 1.6, 0.4, 0.0. Arrows: the
weights are added to the next coverage, and the score of a step reads its coverage."""
show(fig, "coverage", alt)

# %% [markdown]
# Before step 1, "cat" is covered, and step 1 puts most of its weight there again. Two
# changes make use of the coverage. The score reads it, and a second loss punishes
# weight on words that are covered. (The idea is that of Tu and others 2016, the form
# that of See, Liu and Manning 2017.)
#
# ```math
# c_t(s) = \sum_{t' < t} a_{t'}(s), \qquad
# e_t(s) = w_v^\top \tanh\big(W_q q_t + W_k k_s + w_c\, c_t(s)\big), \qquad
# L_t = \sum_s \min\big(a_t(s), c_t(s)\big)
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $a_t$, $c_t$ | $S$ | weights of step $t$, and the coverage before it |
# | $q_t$, $k_s$ | $d_q$, $d_k$ | query of step $t$, key of word $s$ |
# | $W_q$, $W_k$, $w_v$ | $A \times d_q$, $A \times d_k$, $A$ | the additive score of [lesson 03](../03_additive/README.md) |
# | $w_c$ | $A$ | learned; the effect of the coverage. With $w_c = 0$ this is lesson 03 |
# | $L_t$ | number | coverage loss of step $t$. Training adds the mean of all $L_t$ to the loss of the task |
#
# The minimum of two numbers is their overlap. Compute the three losses with a pencil:
# step 1 repeats step 0, and step 2 goes elsewhere. What do you expect?

# %%
print("each step", np.minimum(a, c).sum(1).round(3))
print("library", f"{coverage_loss(a[None], c[None]).item():.4f}", end="")
print("   with the present step in c", np.minimum(a, np.cumsum(a, 0)).sum(1))

# %% [markdown]
# The first step has nothing to repeat, the repetition has the full loss of 1, and
# something nearly new has a tenth. The library returns the mean of the three. If $c$
# also contained the present step (an easy mistake), $\min(a, c)$ would be $a$ and the
# loss 1, at every step.
#
# Can attention move on if the query stays the same? Take a decoder at its worst: it
# does not know what it has written, and sends the same query at every step. Let
# $A = 1$, so that each parameter is one number, and let $w_c$ be negative: a word that
# has been looked at scores less. The parameters are set by hand; a large $w_v$ makes
# the weights sharp:


# %%
def layer_with(w_v, w_c):
    layer = CoverageAttention(1, 1, 1)
    for name, x in (("W_q", 0.0), ("W_k", 1.0), ("w_v", w_v), ("w_c", w_c)):
        getattr(layer, name).data = np.full(getattr(layer, name).shape, x)
    return layer

# %%
K, q = np.array([[[1.0], [0.75], [0.5], [0.25], [0.0]]]), np.zeros((1, 5, 1))
walks, losses = {}, {}
for w_c in (0.0, -2.0):
    _, a, c = layer_with(25.0, w_c)(q, K, K)
    walks[w_c], losses[w_c] = a.data[0], coverage_loss(a, c).item()
    print(f"w_c = {w_c:4.1f}: looks at {a.data[0].argmax(1)}   loss {losses[w_c]:.3f}")

# %% [figure]
fig, axes = figure("Where does the same query look, step after step?", columns=2)
for ax, (w_c, a) in zip(axes, walks.items()):
    image = ax.imshow(a, cmap="Blues", vmin=0, vmax=1)
    ax.set(title=f"$w_c$ = {w_c:g}, loss {losses[w_c]:.2f}", xlabel="key s")
    ax.grid(False)
axes[0].set_ylabel("step t")
fig.colorbar(image, ax=axes, shrink=0.8, label="weight")
alt = f"""Weights of five steps over five keys. Left, without coverage: every row alike,
key 0 dark. Right, with a negative w_c: the dark cell walks from key 0 to 4; the loss
falls from {losses[0.0]:.2f} to {losses[-2.0]:.2f}."""
show(fig, "walk", alt)

# %% [markdown]
# With the coverage it walks through the five keys in the order of their scores, and
# looks at each of them once. That is what coverage *can* do.
#
# ## Does it help a trained decoder?
#
# Coverage can help only a decoder that repeats itself. Here decoders sort strings of 8
# to 16 letters, of which there are only four: "dabbacda" becomes "aaabbcdd". Each
# letter has to be written as often as it occurs, and the decoder has to remember how
# often it has written it. The models are small, with additive attention and states of
# 16 numbers, and see 100 strings only, so that they make mistakes. There are four arms:
#
# - "without" has no coverage;
# - "in the score" has $w_c$, and no coverage loss;
# - "score and loss" has both. The number behind it is the factor of the coverage loss;
#   that of See and others is 1.
#
# A letter is *repeated* if the answer has it more often than the right answer. The
# column says how many of 100 letters are:

# %% [folded]
kept = record("repeating")
sorting = kept["sorting"]
print(how_made(kept))


def repeated(run):  # in 100 letters of a run
    return 100 * run["repeated"]


columns = "rate", "mean", "doubling", ("repeated", repeated)
print(fair.table(sorting, columns))
right = {arm: f"{fair.figures(sorting, arm).mean():.2f}" for arm in sorting["arms"]}

# %%
for arm in sorting["arms"][1:]:
    claimed = f"{arm}: fewer repetitions", above(0), "without", arm
    print(fair.judge(sorting, (*claimed, repeated, 0.2)))

# %% [figure]
fig, ax = figure("Who repeats letters?", size=(7.2, 2.6))
for y, arm in enumerate(sorting["arms"]):
    runs = fair.figures(sorting, arm, repeated)
    ax.plot(runs, np.full(len(runs), -y), "o", color=BLUE, ms=6, alpha=0.6)
    ax.plot([np.mean(runs)] * 2, [-y - 0.3, -y + 0.3], color=GREY, lw=2)
ax.set(xlabel="repetitions in 100 letters", ylim=(-3.6, 0.6))
ax.set(yticks=[0, -1, -2, -3], yticklabels=sorting["arms"])
ax.set_xlim(left=0)
means = {arm: fair.figures(sorting, arm, repeated).mean() for arm in sorting["arms"]}
alt = f"""Repeated letters in 100, a dot for each of five runs of four models, and their
mean as a line: {"; ".join(f"{arm} {x:.1f}" for arm, x in means.items())}."""
show(fig, "repetitions", alt)

# %% [markdown]
# In this task, at this size, {{ right["without"] }} of the strings are right without
# coverage, {{ right["in the score"] }} with coverage in the score, and with the
# coverage loss as well {{ right["score and loss, 0.1"] }} (the smaller factor) and
# {{ right["score and loss, 1"] }} (the larger). The score can read here what the
# decoder would have to count: how often the letters of one kind were looked at. The
# coverage loss asks for something else, weight on letters that have none so far,
# whether or not this helps the task. See and others add it in a short last phase only,
# and report that it does harm from the first step on
# ([below](#further-does-the-coverage-loss-alone-teach-a-layer-to-move-on)). Such a phase
# is not tried here. And their sources are news articles: this says little about theirs.
#
# Transformers have no coverage. Step $t$ needs the weights of step $t - 1$ before it
# can compute its own, and Transformers ([lesson 10](../10_heads/README.md)) compute the
# attention of all words in one product.
#
# ## What would break it?
#
# - A window that is cut at the padded length of a batch and not at the length of its
#   own sentence: near the end it contains padding alone.
# - A predicted centre that is rounded to a whole number: rounding has no gradient.
# - A coverage that is updated before the loss is taken: the loss is 1 at every step,
#   and has no gradient to learn from.
#
# **To take away: a window saves work if you know where to look, and local-p learns where
# to look, through the Gaussian; coverage adds up where you have looked, so that the
# next step can look elsewhere.**
#
# Exercises: 38.5 (the window of local-m, and the centre that reverses a word) and E.9
# (local-p: the gradient that moves the centre): `python -m lessons start 38.5`.
#
# ## Further: does the coverage loss alone teach a layer to move on?
#
# At $w_c = 0$ the layer *is* additive attention. We start very near to that, on either
# side, and train $w_c$ and $w_v$ on the coverage loss alone. (The optimizer, Adam,
# steps against the gradient, and chooses the size of the step for each parameter.)

# %%
for w_c in (-0.01, 0.01):
    layer, trace = layer_with(15.0, w_c), []
    optimizer = mg.optim.Adam([layer.w_c, layer.w_v], lr=0.1)
    for _ in range(100):
        _, a, c = layer(q, K, K)
        loss = coverage_loss(a, c)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        trace.append(loss.item())
    print(f"from {w_c:+.2f}: loss {trace[0]:.3f} -> {trace[-1]:.3f}", end="")
    print(f"   w_c {layer.w_c.data[0]:+.2f}   looks at {a.data[0].argmax(1)}")

# %% [markdown]
# From $w_c < 0$ the layer learns to move from key to key. From $w_c > 0$ it learns to
# look at one key in all steps: with a positive $w_c$ a word that has been looked at
# scores *more*. Step 0 puts {{ f"{a.data[0, 0, 0]:.2f}" }} of its weight on key 0, and
# step 1 puts {{ f"{a.data[0, 1, 0]:.2f}" }} there. The difference is not covered yet,
# so step 1 has the loss {{ f"{np.minimum(a.data, c.data)[0, 1].sum():.2f}" }} and not
# 1. That is a little lower, and of no use. A layer that repeats itself exactly has the
# largest coverage loss, and the loss becomes smaller on both sides of $w_c = 0$. The
# coverage loss cannot say which side is right; the loss of the task has to. See and
# others first train a model without coverage, and add the coverage in a short last
# phase. They also tried it from the first step, and found that "in the early phase of
# training, the coverage objective interfered with the main objective".
#
# ## Further: how far do small windows see?
#
# A *language model* continues a text word by word, and attends to the words before. If
# each word sees only the last few words, does it then know nothing of the beginning?
# Such a model has many layers, and each reads the vectors that the layer before has
# made ([lesson 10](../10_heads/README.md)). So a word also learns what the words in its
# window have learned one layer below. Count how many words can reach the last of 40
# through windows of 5: `sliding_window(4, 0)` allows a word, 4 words before it and 0
# after it. A product of boolean arrays is True where some word in between connects two
# words:

# %%
seen, mask = np.eye(40, dtype=bool), sliding_window(4, 0).dense(1, 1, 40, 40)[0, 0]
for depth in range(1, 5):
    seen = seen @ mask  # i reaches k if i reaches some j whose window holds k
    print(f"windows of 5, layers {depth}: {seen[-1].sum()} words reach the last one")

# %% [markdown]
# Every layer adds four words, so many layers see far through small windows.
#
# ## Further: what the texts say
#
# > **The book says** (38.7), and another text in 6.3.3:
# >
# > - that local-m predicts a position. The textbook's own code computes
# >   $\lfloor S t / T \rfloor$, and Luong's $p_t = t$ predicts nothing either;
# > - that local attention is "rarely used in pure Transformers". The same sentence
# >   names Mistral: a pure Transformer, in which every layer had a window in its first
# >   version (2023);
# > - that the Gaussian serves to "encourage smooth, monotonic alignment patterns". But
# >   each $p_t$ is a function of its own query;
# > - that local attention "can match global attention", and is faster. The reversal
# >   judges the first, and the count of multiplications the second;
# > - that coverage fights repetition (38.8). The sorted strings judge this.

# %% [claims]
claim("38.7", "local-m predicts its centre (the textbook's code, step 15: 18, from "
      "the ratio of the lengths)", "18", 15, "Luong's local-m: $p_t = t$")
aside = np.random.default_rng(3)
local_p = LocalAttention(8, 8, D=3, kind="p", score="dot", rng=aside)
hidden = np.tanh(aside.normal(size=(2000, 2, 8)) @ local_p.W_p.data.T)
centre = hidden @ local_p.v_p.data  # grows with p_t; two queries in a row
back = (centre[:, 1] < centre[:, 0]).sum()
claim("6.3.3", "the Gaussian of local-p makes the centre monotonic (share of steps in "
      "which the centre goes back, for random queries)", "0",
      share(back, 2000, "draws", "drawn"))
S, t = 20, np.arange(20)
reached = np.abs((S - 1 - t) - t) <= 3
claim("6.3.3", "local attention can match global attention (reversal of 20 letters, "
      "window of local-m with D = 3: share of wanted letters inside, 1)", "1",
      reached.mean())
reversal = record("local")["reversal"]
for arm in ("local-m", "local-p"):
    claim("6.3.3", f"{arm} matches global attention (reversal, share of right strings, "
          f"within 0.05: {arm} minus global)", between(-0.05, 0.05),
          fair.difference(reversal, arm, "global"))
claim("6.3.3", "local attention is faster on long sequences (500 words, windows of 21: "
      "multiplications of global over those of local-m)", above(1), whole / window)
one = np.array([[[0.8, 0.2, 0.0]]])  # (B, T, S), one step
claim("38.8", "the coverage loss of an exact repetition is 1", "1",
      coverage_loss(one, one).item())
for arm, words in (
    ("in the score", "in the score"),
    ("score and loss, 0.1", "in the score and, with a factor of 0.1, in the loss"),
    ("score and loss, 1", "in the score and, with a factor of 1, in the loss"),
):
    fewer = fair.difference(sorting, "without", arm, "repeated", 0.002)
    claim("38.8", f"coverage {words} fights repetition (sorting: share of repeated "
          "letters without coverage minus that with it)", above(0), fewer)
