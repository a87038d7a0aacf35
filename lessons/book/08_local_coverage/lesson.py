"""08  Local attention and coverage  ●●○○  60 min  needs 04, 06, 07

What do a window and a memory change?
"""

# %% [markdown]
# You translate "the black cat sleeps on the red sofa today" into French. You have
# written "le chat noir", and you need the next word. Do you read all nine English words
# again? You look near "sleeps", because the three words before it are translated. And
# you do not write "chat" a second time, because you remember that "cat" is done.
#
# The attention of the lessons before can do neither. It compares its query with every
# word of the source, at every step, and it does not know which words it has used. This
# lesson adds both: a **window** that limits where a step may look, and a memory of
# where the earlier steps have looked, the **coverage**.

# %%
import numpy as np

import minigrad as mg
from attention import CoverageAttention, LocalAttention, coverage_loss, definitions
from attention.costs.counted import count
from attention.masks import everything, local, sliding_window
from attention.tasks.grammar import GRAMMARS, splits
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above, between, verdict
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, box, diagram, figure, show, weight_label,
)  # fmt: skip

rng = np.random.default_rng(8)

# %% [markdown]
# ## Which words can be left out?
#
# On this page we count from 0, as NumPy does, because places are indices of arrays
# here. "dort" is then word 3 of the French sentence. Suppose that the step which writes
# it may look at the English word 3 and at $D = 2$ words to either side. The scores are
# invented. The softmax runs over the words of the [window](../../GLOSSARY.md#window)
# only:

# %%
words = "the black cat sleeps on the red sofa today".split()  # S = 9
e = np.array([0.0, 0.5, 1.0, 3.0, 1.0, 0.0, 0.5, 1.0, 1.5])  # scores
p_t, D = 3, 2
inside = np.abs(np.arange(9) - p_t) <= D  # (S,) bool
weights = np.where(inside, np.exp(e), 0)
weights /= weights.sum()
for s, word in enumerate(words):
    print(f"{s} {word:7s} in the window: {str(inside[s]):5s}  weight {weights[s]:.3f}")

# %% [figure]
fig, ax = diagram((7.2, 3.5), (-0.8, 10.8), (-3.1, 2.6))
step = 1.25
centre, right = step * p_t, step * 8 - 0.6
for s, word in enumerate(words):
    box(ax, (step * s, 0), word, BLUE if inside[s] else GREY, width=1.1)
    ax.text(step * s, -0.36, str(s), ha="center", va="top", fontsize=9)
    if inside[s]:
        arrow(ax, (step * s, 0.25), (centre, 1.95), BLUE, weights[s])
        weight_label(ax, step * s, 0.36, weights[s], 1 if s > p_t else -1)
low, high = centre - step * (D + 0.5), centre + step * (D + 0.5)
ax.plot([low, low, high, high], [-0.7, -0.85, -0.85, -0.7], color=BLUE, lw=1.6)
arrow(ax, (centre, -1.4), (centre, -0.9), BLUE)
under = f"centre $p_t = {p_t}$; the window reaches $D = {D}$ words to either side"
ax.text(centre, -1.45, under, ha="center", va="top")
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
alt = f"""Nine words of the source, numbered 0 to 8. A bracket marks the window, words 1
to 5, around the centre 3, "sleeps". Arrows lead from these five words to the context,
as thick as their weights: {", ".join(f"{a:.2f}" for a in weights[inside])}. The other
four words are grey and have no arrow. Context and state give the word "dort"."""
show(fig, "local-window", alt)

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
# decoder. Here $s$ is a place in the source, and $a_t(s)$ is the weight that lesson 07
# calls $`p_{tj}`$.)
#
# This is a [mask](../../GLOSSARY.md#mask) as in lesson 06, and the mask moves with $t$.
# The context is the weighted average, as always.
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
# p_t = S\,\sigma\big(v_p^\top \tanh(W_p q_t)\big)
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $q_t$ | $d$ | the query of step $t$, a state of the decoder |
# | $W_p$, $v_p$ | $d \times d$, $d$ | learned; they make one number of the query |
# | $\sigma$ | | the sigmoid $1 / (1 + e^{-x})$; it keeps $p_t$ between 0 and $S$ |
#
# A textbook (38.7) draws such windows by code, for $T = 16$, $S = 20$ and $D = 3$. The
# centres of its local-m are $\lfloor 20 t / 16 \rfloor$, where the brackets mean
# "rounded down". The centres of its local-p are the same with random noise added. Its
# comment says "learned (here: noisy)", so nothing is predicted. We make the same
# centres, with the same noise (NumPy's generator with seed 2), and Luong's $p_t = t$
# beside them. The library's `local(centre, D)` is the mask, and `dense` makes an array
# of it, here for 1 sentence, 1 [head](../../GLOSSARY.md#head), $T$ queries and $S$
# keys:

# %%
T, S, D = 16, 20, 3
noise, centre = np.random.default_rng(2), np.arange(T) * S / T
book_m = np.floor(centre)
book_p = [np.floor(np.clip(c + noise.normal(0, 2), 0, S - 1)) for c in centre]
masks = {
    "global": everything,
    "Luong's local-m": local(lambda t: t, D),
    "textbook's local-m": local(book_m, D),
    "textbook's local-p": local(np.array(book_p), D),
}
pictures = {name: mask.dense(1, 1, T, S)[0, 0] for name, mask in masks.items()}

# %% [markdown]
# The textbook sets the entries of an array to True in a loop. Does that loop give the
# same windows? And does every key stand in some window?

# %%
for name, p in (("local-m", book_m), ("local-p", book_p)):
    loop = np.zeros((T, S), bool)
    for t in range(T):
        loop[t, max(0, int(p[t]) - D) : min(S, int(p[t]) + D + 1)] = True
    ours = pictures[f"textbook's {name}"]
    print(f"{name}: same windows {np.array_equal(loop, ours)}", end="")
    print(f", {ours.sum()} pairs of {T * S}, unseen keys {(~ours.any(0)).sum()}")
print("Luong's local-m: unseen keys", (~pictures["Luong's local-m"].any(0)).sum())

# %% [figure]
title = "Which keys may each query attend to?"
fig, axes = figure(title, columns=4, size=(7.2, 2.7), sharey=True)
centres = (None, np.arange(T), book_m, book_p)
for ax, (name, seen), p in zip(axes, pictures.items(), centres):
    ax.imshow(np.where(seen, 0.35, np.nan), cmap="Blues", vmin=0, vmax=1)
    if p is not None:
        ax.plot(p, range(T), ".", color=ORANGE, ms=4, label="centre $p_t$")
    ax.set(xlabel="key s", xticks=(0, 5, 10, 15), yticks=(0, 5, 10, 15))
    ax.set_title(name, fontsize=9)
    ax.grid(False)
axes[0].set_ylabel("query t")
pale = axes[1].images[0].cmap(0.35)
handles = axes[1].fill([], [], color=pale, label="may attend") + axes[1].lines[:1]
fig.legend(handles=handles, loc="outside lower center", ncols=2)
alt = f"""Four masks of {T} queries and {S} keys. Global: every pair is allowed. Luong's
local-m: a band of {2 * D + 1} keys on the diagonal, which ends before the last key.
The textbook's local-m: a band from corner to corner. Its local-p: a band that jumps."""
show(fig, "windows", alt)

# %% [markdown]
# At the ends of the sentence a window is cut: it holds only the keys that exist. With
# $p_t = t$ the last of the {{ T }} windows ends at key {{ T - 1 + D }}, so the last key
# is never seen. The textbook's centres, $S t / T$, reach it. But they need $T$, the
# length of the target, which a decoder does not know while it writes.
#
# > **The book says** (38.7) that local-m predicts a position. With Luong's $p_t = t$
# > nothing is predicted. Nor does the textbook's own code predict anything: it computes
# > $\lfloor S t / T \rfloor$.

# %% [claims]
from lessons.pages.claims import YES, claim, timed

claim("38.7", "local-m predicts its centre (the textbook's code, step 15: 18, from "
      "the ratio of the lengths)", "18", 15, "Luong's local-m: $p_t = t$")

# %% [markdown]
# ## Is local-p a mask?
#
# A mask says yes or no. Local-p has one factor more, a bell curve around the centre:
#
# ```math
# a_t(s) = \mathrm{align}_t(s)\; \exp\Big(-\frac{(s - p_t)^2}{2\sigma^2}\Big),
# \qquad \sigma = D/2
# ```
#
# Here $`\mathrm{align}_t(s)`$ is the softmax within the window, as before, and $\sigma$
# is now the width of the bell. It is called a *Gaussian*. The centre $p_t$ is a real
# number, not an index: the window holds $2D + 1$ keys if $p_t$ is whole, otherwise
# $2D$.
#
# By hand, take $D = 2$, $p_t = 3$ and equal scores. Five keys have one fifth each,
# times $e^{-2}, e^{-1/2}, 1, e^{-1/2}, e^{-2}$. Do these weights sum to 1? To check it
# with the library's layer, we need a layer with $p_t = 3$. Set its parameters $W_p$ and
# $v_p$ to zero. Then the sigmoid gets 0 and returns one half, and half of $S = 6$ is 3.
# A query of zeros makes all scores equal:

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
fig, ax = figure("What does the Gaussian do to equal weights?", size=(7.2, 2.8))
at, curve = np.arange(6), np.linspace(0, 6, 121)
before = np.where(np.abs(at - 3) <= 2, 0.2, 0)
ax.bar(at - 0.2, before, 0.38, color=GREY, label="softmax in the window, sum 1")
ax.bar(at + 0.2, a, 0.38, color=BLUE, label=f"times the Gaussian, sum {a.sum():.2f}")
bell = np.exp(-((curve - 3) ** 2) / 2) / 5
ax.plot(curve, bell, "--", color=ORANGE, label="Gaussian / 5, as a curve")
ax.set(xlabel="key s", ylabel="weight", xlim=(-0.6, 8.6), xticks=at)
ax.legend(loc="center right")
alt = f"""Weights of six keys around the centre 3. The softmax gives keys 1 to 5 a fifth
each. Times the Gaussian they are {", ".join(f"{x:.2f}" for x in a[1:])}: only the
centre keeps its weight, and the sum falls to {a.sum():.2f}."""
show(fig, "gaussian", alt)

# %% [markdown]
# They do not sum to 1, and in the paper they do not either, because the softmax comes
# before the Gaussian. So the context is shorter than an average of the values, here
# about half as long. The matrix that reads the context can learn to correct that. With
# the option `renormalize` the library adds the exponent $`-(s - p_t)^2 / 2\sigma^2`$ to
# the scores and then applies the softmax. This divides the weights above by their sum,
# so the result sums to 1.
#
# > **The book says** (38.7) of both kinds that they "are special cases of attention
# > masks", and it leaves out the Gaussian. Local-m is a mask. Local-p also weighs the
# > keys that are allowed: of two equal scores, one at the edge of the window gets
# > $e^{-2}$, or {{ f"{by_hand[0] / by_hand[2]:.3f}" }}, of what the one at the centre
# > gets.

# %% [claims]
claim("38.7", "local-p is a mask (what the outer key of a window gets, over the "
      "centre, D = 2: 1)", "1.00", by_hand[0] / by_hand[2])

# %% [markdown]
# ## How does the centre learn?
#
# The bounds of a window jump from key to key. Between two jumps, a small move of $p_t$
# changes nothing. Then how can training move $v_p$? Take a random layer and a random
# loss, and compute the gradient with the Gaussian:

# %%
q, K = rng.normal(size=(1, 1, 4)), rng.normal(size=(1, 20, 4))
layer = LocalAttention(4, 4, D=3, kind="p", score="dot", rng=np.random.default_rng(0))
g = rng.normal(size=4)  # dL/dc: the loss is L = g . c, with c the context
(layer(q, K, K) * g).sum().backward()
print("with the Gaussian: largest dL/dv_p", f"{np.abs(layer.v_p.grad).max():.4f}")


# %% [markdown]
# Now the same loss without the Gaussian, written anew in NumPy, and its slope by
# [finite differences](../../GLOSSARY.md#finite-difference):


# %%
def window_alone(v_p):
    p = 20 / (1 + np.exp(-v_p @ np.tanh(layer.W_p.data @ q[0, 0])))  # p_t
    inside = np.abs(np.arange(20) - p) <= 3
    e = np.where(inside, K[0] @ q[0, 0], -np.inf)
    alpha = np.exp(e - e.max()) / np.exp(e - e.max()).sum()
    return (alpha @ K[0]) @ g


h, v = 1e-4, np.float64(layer.v_p.data)
up, down = ([window_alone(v + s) for s in sign * h * np.eye(4)] for sign in (1, -1))
print("the window alone: ", np.subtract(up, down) / (2 * h))

# %% [markdown]
# With the window alone the gradient is exactly zero here, and it is zero wherever no
# bound of the window lies on a key. All that the centre learns, it learns through the
# Gaussian: a key near the centre counts more, so the loss can pull $p_t$ towards the
# keys that help. That is what the Gaussian is for. Its exponent has the derivative
# $(s - p_t) / \sigma^2$ with respect to $p_t$, and the rest is the chain rule. With
# $`p_t = S\,\sigma(x)`$ and $`x = v_p^\top u`$, $`u = \tanh(W_p q_t)`$:
#
# ```math
# \frac{\partial a_t(s)}{\partial p_t} = a_t(s)\, \frac{s - p_t}{\sigma^2}, \qquad
# \frac{d p_t}{d x} = p_t \Big(1 - \frac{p_t}{S}\Big), \qquad
# \frac{\partial x}{\partial v_p} = u, \qquad
# \frac{\partial x}{\partial W_p} = \big(v_p \odot (1 - u^2)\big)\, q_t^\top
# ```
#
# Here $\odot$ multiplies entry by entry, $\sigma(x)$ is the sigmoid, and $\sigma^2$ is
# that of the Gaussian. You know both ends of this chain. On the side of the output, a
# gradient $g$ of the context arrives at the weights as in [lesson
# 03](../03_additive/README.md), $`\partial L / \partial a_t(s) = g \cdot h_s`$, where
# $h_s$ is the value of word $s$. Each weight of the window passes its part on to the
# one number $p_t$. On the side of the input, the query enters $x$ in one place, the
# product $W_p q_t$, and gets its gradient through that product (exercise E.9).
#
# > **The book says** (6.3.3) that the Gaussian serves to "encourage smooth, monotonic
# > alignment patterns", and it describes local-p as if it were all of local attention.
# > But each $p_t$ is a function of its own query. Nothing in the formula makes
# > $`p_{t+1}`$ larger than $p_t$. A trained local-p that goes backwards follows below.

# %% [claims]
from lessons.instrument.verdict import share

aside = np.random.default_rng(3)
local_p = LocalAttention(8, 8, D=3, kind="p", score="dot", rng=aside)
hidden = np.tanh(aside.normal(size=(2000, 2, 8)) @ local_p.W_p.data.T)
centre = hidden @ local_p.v_p.data  # grows with p_t; two queries in a row
back = (centre[:, 1] < centre[:, 0]).sum()
claim("6.3.3", "the Gaussian of local-p makes the centre monotonic (share of steps in "
      "which the centre goes back, for random queries)", "0",
      share(back, 2000, "draws", "drawn"))

# %% [markdown]
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
# Only the queries near the middle find their key. All of them find it with $D = 19$,
# and then every window holds the whole word and is no limit any more.
#
# > **The book says** (6.3.3) that local attention "can match global attention". For
# > tasks in the order that the window assumes this may be true; the next section
# > measures it. In a reversal the windows of local-m do not hold the letters that are
# > wanted, as the output shows.

# %% [claims]
reached = np.abs((S - 1 - t) - t) <= 3
claim("6.3.3", "local attention can match global attention (reversal of 20 letters, "
      "window of local-m with D = 3: share of wanted letters inside, 1)", "1",
      reached.mean())

# %% [markdown]
# With another centre a small window suits a reversal, too. Exercise 38.5 asks you to
# write it.
#
# And a translation? The small grammar of the library writes English sentences, their
# German translations, and the links between their words. A link is in the window of
# local-m if its two places differ by at most $D$:

# %%
pairs = splits(GRAMMARS["en-de"], 500, 100, 200).test
gaps = [np.array([abs(s - t) for t, s in pair.alignment]) for pair in pairs]
for D in (1, 3, 6):
    links = np.mean(np.concatenate(gaps) <= D)
    whole = np.mean([gap.max() <= D for gap in gaps])
    print(f"D = {D}: {links:.2f} of the links in the window", end="")
    print(f", all links of {whole:.2f} of the sentences")

# %%
pair = max(pairs, key=lambda pair: max(abs(s - t) for t, s in pair.alignment))
print(" ".join(pair.source), "\n" + " ".join(pair.target))

# %% [markdown]
# Most words stand near their places, and in the last output you see why a few do not:
# a German verb may stand at the end.
#
# ## And after training?
#
# What was counted above is what a window *can* reach. Now we train models with windows
# of several widths ([experiment.py](experiment.py)), one with global attention, and one without
# attention, "none". The last one knows the source only from the last state of the
# encoder ([lesson 02](../02_gru_bottleneck/README.md)). What it can do needs no window.
# All others have the score *general*, and all have Luong's decoder ([lesson
# 04](../04_scores/README.md)). There are three tasks: copy a string of 5 to 12 letters,
# reverse it, and translate English to German after training on 500 pairs. Copying has
# the order that local-m assumes. Reversing has the opposite order. Translation lies
# between.
#
# Each model gets the best of four learning rates and as many steps as it needs, up to a
# budget ([lesson 14](../14_checks_the_book/README.md) says how), with five seeds. The
# figure is the share of strings without an error, or
# [BLEU](../../GLOSSARY.md#bleu), which says, from 0 to 100, how near translations are
# to a reference. "Plateaus" is the number of runs that had reached one. "Back" is
# the share of steps of the decoder at which the mean place of the weights goes back by
# more than half a word. Below each table stand the differences from global attention,
# with the verdict on "it matches global attention" and the limits of lesson 14. *After
# so many steps* says that the budget ended before all runs had reached a plateau:
# {{ record("local")["copy"]["budget"] }} steps in copying,
# {{ record("local")["reversal"]["budget"] }} in reversal and
# {{ record("local")["en-de"]["budget"] }} in translation.

# %%
kept = record("local")
print(how_made(kept))
tasks = ("copy", "reversal", "en-de")


# %%
def of(task, arm, what="figure"):
    return fair.of_arm(kept[task], arm, what).value


def less(task, arm, other="global"):
    return fair.difference(kept[task], arm, other)


def interval(found, digits=2):
    ends = (f"{x:+.{digits}f}" for x in (found.low, found.high))
    return f"{found.value:+.{digits}f} [{', '.join(ends)}]"


# %%
for task in tasks:
    study, within = kept[task], 2 if task == "en-de" else 0.05  # BLEU; 5 in 100
    back = {arm: f"{of(task, arm, 'back'):.2f}" for arm in study["arms"] if arm != "none"}
    print(f"{task}:", fair.table(study, ("rate", "mean", "plateaus", ("back", back))))
    for arm in study["arms"][1:]:
        wanted = f"{arm} matches global", between(-within, within), arm, "global"
        print(fair.judge(study, wanted))

# %% [claims]
for task, within, words in (
    ("copy", 0.05, "copying, share of right strings, within 0.05"),
    ("reversal", 0.05, "reversal, share of right strings, within 0.05"),
    ("en-de", 2, "translation, BLEU, within 2"),
):
    for kind in ("local-m", "local-p"):
        claim("6.3.3", f"{kind} matches global attention ({words}: {kind} minus "
              "global)", between(-within, within), less(task, f"{kind}, D = 3"))

# %% [figure]
fig, axes = figure("How wide must a window be?", columns=3, size=(8.6, 3.2))
for ax, task in zip(axes, tasks):
    arms = kept[task]["arms"]
    places = sorted(arms, key=lambda arm: ("nlg".index(arm[0]), arm))
    for x, arm in enumerate(places):
        colour = {"local-m": BLUE, "local-p": ORANGE}.get(arm[:7], GREY)
        runs = fair.figures(kept[task], arm)
        ax.plot(np.full(len(runs), x), runs, "o", color=colour, ms=4, alpha=0.6)
    names = [arm.replace("local-", "").replace(", D =", "") for arm in places]
    ax.set(title=task, xticks=range(len(places)), xlim=(-0.5, len(places) - 0.5))
    ax.set_xticklabels(names, rotation=60)
    ax.set_ylim(0, 100 if task == "en-de" else 1.03)
axes[0].set_ylabel("right strings, or BLEU")
means = ", ".join(
    f"{task} {arm} {of(task, arm):.{0 if task == 'en-de' else 2}f}"
    for task in tasks
    for arm in sorted(kept[task]["arms"])
)
alt = f"""A dot for each of five runs of each model: without attention, then local-m (m)
and local-p (p) with their D, then global attention. Means: {means}."""
show(fig, "widths", alt)

# %% [figure]
fig, axes = figure("How long must each model be trained?", columns=3, size=(8.6, 3.2))
shown = {
    "none": (GREY, ":"), "global": (GREY, "-"), "local-m, D = 3": (BLUE, "-"),
    "local-p, D = 3": (ORANGE, "-"),
}  # fmt: skip
for ax, task in zip(axes, tasks):
    for run in kept[task]["runs"]:
        if run["arm"] not in shown:
            continue
        colour, style = shown[run["arm"]]
        curve = run["curve"][1::2]  # every second value: fewer points for the page
        steps = 2 * kept[task]["every"] * np.arange(1, len(curve) + 1)
        label = run["arm"] if run["seed"] == 1 else None
        ax.plot(steps, curve, style, color=colour, lw=0.8, label=label)
    ax.set(title=task, xlabel="steps", ylim=(0, 100 if task == "en-de" else 1.03))
axes[0].set_ylabel("right strings, or BLEU")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
ends = "; ".join(
    f"{task}: "
    + ", ".join(f"{arm} {of(task, arm, 'steps'):.0f}" for arm in sorted(shown))
    for task in tasks
)
alt = f"""The validation figure against the steps, a line for each of five runs of four of
the models, until the rate falls. Mean steps until then: {ends}. In copying only the
model without attention stays low. In reversal it and local-m rise more slowly than
global attention and local-p, which end at the top. In translation most runs of local-m
are below those of global attention, and the runs of local-p are far apart."""
show(fig, "training", alt)

# %% [markdown]
# **Copying.** A window of three letters, $D = 1$, copies as well as attention to all:
# {{ f"{of('copy', 'local-m, D = 1'):.3f}" }} and
# {{ f"{of('copy', 'global'):.3f}" }} of the strings are right. It is the window that
# does it, because without attention the share is {{ f"{of('copy', 'none'):.2f}" }} after
# {{ kept["copy"]["budget"] }} steps.
#
# **Reversal.** The count above predicts that local-m fails. But it has
# {{ f"{of('reversal', 'local-m, D = 3'):.2f}" }} of the strings right with $D = 3$. Has
# it found a way around its window? Look at the model that has no window and no
# attention: it has {{ f"{of('reversal', 'none'):.2f}" }}. A GRU with states of 64
# numbers learns to carry twelve letters, if it is trained long enough. So the state
# of local-m can do what its window cannot. That takes longer:
# {{ f"{of('reversal', 'local-m, D = 3', 'steps'):.0f}" }} steps in the mean, where
# global attention had reached its plateau after
# {{ f"{of('reversal', 'global', 'steps'):.0f}" }}. Strings that do not fit into the
# state are not measured here.
#
# Local-p finds the letters: with $D = 3$ it has
# {{ f"{of('reversal', 'local-p, D = 3'):.3f}" }} of the strings right, after
# {{ f"{of('reversal', 'local-p, D = 3', 'steps'):.0f}" }} steps. The mean place of its
# weights goes back in {{ f"{of('reversal', 'local-p, D = 3', 'back'):.0%}" }} of the
# steps: it has learned where to look, and nothing in it is monotonic. With $D = 1$ it
# has {{ f"{of('reversal', 'local-p, D = 1'):.2f}" }} after
# {{ kept["reversal"]["budget"] }} steps. A key outside the window has no influence on
# the gradient of the centre, so a narrow window has little to learn from; more steps, or
# a rate below the smallest of the grid, which it chose, may still help.
#
# **Translation.** After {{ kept["en-de"]["budget"] }} steps, local-m with $D = 6$ minus
# global attention is {{ interval(less("en-de", "local-m, D = 6"), 1) }} BLEU. With
# $D = 3$ it is {{ interval(less("en-de", "local-m, D = 3"), 1) }}, and local-p has
# {{ interval(less("en-de", "local-p, D = 3"), 1) }}. But many curves still moved when
# the steps ended, so none of these is a last word. And the best rate of local-p is the
# smallest one in the grid; a smaller one may do better.
#
# And the time? For short sentences local attention takes *longer* in this library:
# gathering the windows takes more time than computing the scores that a window leaves
# out. One call with as many queries as keys, forward and backward, $D = 10$, in
# milliseconds:

# %%
print("S      ", *(f"{S:7d}" for S in kept["lengths"]))
for form, seconds in kept["calls"].items():
    print(f"{form:7s}", *(f"{1e3 * t:7.2f}" for t in seconds))

# %% [claims]
times = [kept["calls"]["global"][-1] / kept["calls"]["local-m"][-1]]
claim("6.3.3", "local attention is faster on long sequences (500 words: time of "
      "global over that of local-m)", above(1), timed(times))

# %% [markdown]
# On this machine, a window of local-m takes less time than global attention only at the
# largest of these lengths, and local-p at none of them. The next section counts
# multiplications, which are another matter than time.
#
# ## What does it save?
#
# A step of global attention computes $S$ scores and an average of $S$ values. A step of
# local attention computes at most $2D + 1$ of both, for a source of any length. We
# count each multiplication of one query of width $d = 64$ with $D = 10$. The library's
# `count` runs a computation with arrays that count the multiplications: "scaled" is
# attention to all keys, `sparse` computes only the pairs that are allowed. The last
# column adds the prediction of the centre, $d^2 + d$ multiplications:

# %%
E, D = 64, 10  # E is the width d
print("    S    global    local   with W_p of local-p")
for S in (20, 100, 500):
    K = rng.normal(size=(S, E))
    inside = (np.abs(np.arange(S) - S // 2) <= D)[None]
    _, whole = count("scaled", K[:1], K, K)
    _, window = count(definitions.sparse, K[:1], K, K, allowed=inside)
    whole, window = whole.multiplications, window.multiplications
    print(f"{S:5d}{whole:10d}{window:9d}{window + E * E + E:10d}")

# %% [markdown]
# A window of {{ 2 * D + 1 }} words saves nothing on a sentence of twenty words. Each
# word outside the window saves $2d$ multiplications, one product for the score and one
# for the average. (All three columns have $d$ more: the query is multiplied by
# $1/\sqrt d$ once.) The prediction costs $d^2 + d$. So local-p saves work if more than
# $(d + 1)/2$ words are outside the window of {{ 2 * D + 1 }}: from
# {{ 2 * D + 1 + (E + 1) // 2 + 1 }} words on. On long sources the saving is large.
#
# That is where windows are in use today. *Large language models*, the programs behind
# chat assistants, continue a text word by word, and attend to the thousands of words
# before. In some of these models each word sees only the last words, up to a fixed
# number. This is local-m with $p_t = t$, but only the half of the window up to word $t$
# is used. Does a word then know nothing of the beginning? Such a model has many layers,
# one after the other. Each layer reads the vectors that the layer before has made
# ([lesson 10](../10_heads/README.md)). So a word also learns what the words in its
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
# > **The book says** (38.7) that local attention is "rarely used in pure Transformers",
# > and in the same sentence it names Mistral. Mistral is a language model. It is a pure
# > Transformer, and in its first version (Mistral 7B, 2023) every layer has a window.
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
fig, ax = diagram((7.2, 4.2), (-2.0, 10.5), (-1.5, 4.9))
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
    for y, text in ((4.55, f"step {t}"), (3.6, f"$a^{t}$"), (0.5, f"$c^{t}$")):
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
# that of See, Liu and Manning 2017.) The number of the step stands above the letter
# here; $c^t$ is not a power:
#
# ```math
# c^t = \sum_{t' < t} a^{t'}, \qquad
# e^t_j = w_v^\top \tanh(W_q q_t + W_k k_j + w_c\, c^t_j), \qquad
# L_t = \sum_j \min(a^t_j, c^t_j)
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $a^t$, $c^t$ | $S$ | weights of step $t$, and the coverage before it; in this section $c^t$ is the coverage, not the context |
# | $q_t$, $k_j$ | $d_q$, $d_k$ | query of step $t$, key of word $j$ |
# | $W_q$, $W_k$, $w_v$ | $A \times d_q$, $A \times d_k$, $A$ | the additive score; in lesson 03 they are $W_s$, $W_h$ and $v$ |
# | $w_c$ | $A$ | learned; the effect of the coverage. With $w_c = 0$ this is lesson 03 |
# | $L_t$ | number | coverage loss of step $t$. The loss of training is that of the task plus a factor times the mean of all $L_t$ |
#
# The minimum of two numbers is their overlap. Compute the three losses with a pencil:
# step 1 repeats step 0, and step 2 goes elsewhere. What do you expect?

# %%
print("each step", np.minimum(a, c).sum(1).round(3))
print("library", f"{coverage_loss(a[None], c[None]).item():.4f}", end="")
print("   with the present step in c", np.minimum(a, np.cumsum(a, 0)).sum(1))

# %% [claims]
claim("38.8", "the coverage loss of an exact repetition is 1", "1",
      coverage_loss(a[None, :1], a[None, :1]).item())

# %% [markdown]
# The first step has nothing to repeat, the repetition has the full loss of 1, and
# something nearly new has a tenth. The library returns the mean of the three. If $c$
# held the present step, as a running sum easily does, $\min(a, c)$ would be $a$ and the
# loss 1, at every step.
#
# ## One matrix, or three?
#
# A textbook (38.8) writes the score with one matrix $W_a$ and one long vector, in which
# state, key and coverage stand one after the other. With the letters of this page that
# is $W_a [q_t; k_j; c^t_j]$. Is that another score? Put the three parameters side by
# side and compare:

# %%
layer = CoverageAttention(4, 4, 6, rng=np.random.default_rng(0))
layer.w_c.data = rng.normal(size=6)
q, K, c = rng.normal(size=(1, 4)), rng.normal(size=(1, 5, 4)), rng.random((1, 5))
W_a = np.concatenate([layer.W_q.data, layer.W_k.data, layer.w_c.data[:, None]], 1)
e = [layer.w_v.data @ np.tanh(W_a @ [*q[0], *k, x]) for k, x in zip(K[0], c[0])]
weights = layer.step(q, K, K, c)[1].data[0]
print("same:", np.allclose(weights, mg.softmax(np.array(e)).data, atol=1e-6))

# %% [markdown]
# It is the same score. A matrix times a long vector is the sum of its three parts.
#
# ## Can attention move on if the query stays the same?
#
# Take a decoder at its worst: it does not know what it has written, and sends the same
# query at every step. Without coverage, every step looks at the same word. Now let
# $A = 1$, so that each parameter is one number, and let $w_c$ be negative: a word that
# has been looked at scores less. The parameters are set by hand, nothing is trained. A
# large $w_v$ makes the weights sharp, so that one can see which key a step looks at:


# %%
def layer_with(w_v, w_c):
    layer = CoverageAttention(1, 1, 1)
    for name, x in (("W_q", 0.0), ("W_k", 1.0), ("w_v", w_v), ("w_c", w_c)):
        getattr(layer, name).data = np.full(getattr(layer, name).shape, x)
    return layer


# %% [markdown]
# Five keys of width 1 follow, the first with the largest score, and five equal queries.
# Where does each step look?

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
    ax.set(title=f"$w_c$ = {w_c:g}, loss {losses[w_c]:.2f}", xlabel="key j")
    ax.grid(False)
axes[0].set_ylabel("step t")
fig.colorbar(image, ax=axes, shrink=0.8, label="weight")
alt = f"""Weights of five steps over five keys. Left, without coverage: every row alike,
key 0 dark. Right, with a negative w_c: the dark cell walks from key 0 to 4; the loss
falls from {losses[0.0]:.2f} to {losses[-2.0]:.2f}."""
show(fig, "walk", alt)

# %% [markdown]
# With the coverage it walks through the keys in the order of their scores, and looks at
# each of them once.
#
# ## Does the loss alone teach it that?
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
# ## Does it help a trained decoder?
#
# Coverage can help only where a decoder does return. So we train models for two tasks
# in which the attention must not return ([experiment.py](experiment.py)):
#
# - "once": a list of letters, some of them several times, is copied without its
#   repetitions, in the order of the first occurrences;
# - "any order": a list of different letters is written in a random order. Nothing says
#   which letter comes next. The decoder has to remember which ones it has written, and
#   any order is counted as right.

# %%
kept = record("repeating")
print(how_made(kept))
tasks = ("once", "any order")
LEAST = 0.1  # fewer repetitions in 100 letters do not count
for task in tasks:
    some = kept["baselines"][task]["trained"]
    print(f"{task:10s} {some['lists'][0]:13s} -> {some['answers'][0]}")

# %% [markdown]
# The models have additive attention in Bahdanau's order ([lesson
# 03](../03_additive/README.md)), and states of 16 numbers only, so that they make
# mistakes. There are four kinds, each with the best of three learning rates and five
# seeds:
#
# - "without" has no coverage;
# - "in the score" has $w_c$, and no coverage loss;
# - "score and loss" has both from the first step;
# - "at the end" has both in the last phase alone, as See and others do. Until the
#   plateau it is "without". Then $w_c$ begins to learn, and the coverage loss counts,
#   while the learning rate falls to 0, in a fifth as many steps.
#
# If an answer has a letter of the right one more often than the right one, each surplus
# occurrence is a *repetition*. "No memory" draws each letter anew from the whole list;
# a decoder that remembers nothing repeats itself as often. "Trained" are lists as long
# as those of the training, 5 to 12 letters. "Longer" ones have 16 to 24, and ask for
# more memory. The output has the share of right answers and the repetitions in 100
# written letters. Then follow how many fewer they are than those of "without", with the
# interval, and the verdict on "fewer, by {{ f"{LEAST:.1f}" }} or more":


# %%
def share(task, arm, test, what):
    return fair.of_arm(kept[task], arm, lambda run: run[test][what]).value


def repeated(test):  # in 100 letters of a run
    return lambda run: 100 * run[test]["repeated"]


def gain(task, arm, test):
    return fair.difference(kept[task], "without", arm, repeated(test))


cases = [(task, test) for task in tasks for test in ("trained", "longer")]

# %%
for task, test in cases:
    study, nothing = kept[task], kept["baselines"][task][test]["no memory"]
    print(f"\n{task}, {test}; no memory: {100 * nothing:.1f} repeated")
    columns = ("right", (test, "right")), ("repeated", repeated(test))
    print(fair.table(study, columns))
    for arm in study["arms"][1:]:
        wanted = f"{arm}: fewer", above(LEAST), "without", arm, repeated(test)
        print(fair.judge(study, wanted))

# %% [figure]
fig, axes = figure("How long must each model be trained?", columns=2, sharey=True)
looks = {
    "without": (GREY, "-"), "in the score": (BLUE, "-"),
    "score and loss": (ORANGE, "-"), "at the end": (GREEN, ":"),
}  # fmt: skip
for ax, task in zip(axes, tasks):
    for run in kept[task]["runs"]:
        colour, style = looks[run["arm"]]
        steps = kept[task]["every"] * np.arange(1, len(run["curve"]) + 1)
        label = run["arm"] if run["seed"] == 1 else None
        ax.plot(steps, run["curve"], style, color=colour, lw=0.8, label=label)
    ax.set(title=f"{task}, five runs each", xlabel="steps", ylim=(0, 1.03))
axes[0].set_ylabel("right answers (validation)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
ends = "; ".join(
    f"{task}: "
    + ", ".join(f"{arm} {fair.of_arm(kept[task], arm).value:.2f}" for arm in looks)
    for task in tasks
)
alt = f"""The share of right answers against the steps, until the rate falls, a line for each
of five runs of four models, in two tasks. Means at the end: {ends}."""
show(fig, "coverage-training", alt)

# %% [figure]
fig, axes = figure("Who repeats letters?", columns=4, size=(8.6, 3), sharey=True)
for ax, (task, test) in zip(axes, cases):
    for y, (arm, (colour, _)) in enumerate(looks.items()):
        runs = fair.figures(kept[task], arm, lambda run: 100 * run[test]["repeated"])
        ax.plot(runs, np.full(len(runs), -y), "o", color=colour, ms=4, alpha=0.6)
    nothing = 100 * kept["baselines"][task][test]["no memory"]
    ax.axvline(nothing, color=GREY, lw=0.8, ls=":")
    ax.set(title=f"{task}, {test}", xlabel="% repeated", xlim=(-2, 45))
axes[0].set(yticks=[0, -1, -2, -3], ylim=(-3.5, 0.5))
axes[0].set_yticklabels(looks)
means = "; ".join(
    f"{task}, {test}: "
    + ", ".join(
        f"{arm} {100 * share(task, arm, test, 'repeated'):.1f}" for arm in looks
    )
    for task, test in cases
)
alt = f"""Repeated letters in 100, a dot for each of five runs of four models; a dotted line
for a decoder without memory. Means: {means}."""
show(fig, "repetitions", alt)

# %%
forms = [arm for arm in kept["once"]["arms"] if arm != "without"]
helps = [(t, arm, test) for t, test in cases for arm in forms
         if verdict(above(LEAST), gain(t, arm, test)) == "holds"]  # fmt: skip
print(f"clearly fewer repetitions: {len(helps)} of {len(cases) * len(forms)} rows")

# %% [claims]
for task, test, lists in (
    ("once", "longer", "copying a list without its repetitions, longer lists"),
    ("any order", "trained", "writing a list in any order"),
):
    for arm, words in (
        ("in the score", "in the score"),
        ("score and loss", "in score and loss, from the first step"),
        ("at the end", "in score and loss, in a last phase"),
    ):
        fewer_of_all = fair.difference(
            kept[task], "without", arm, lambda run: run[test]["repeated"]
        )
        claim("38.8", f"coverage {words} fights repetition ({lists}: share of "
              "repeated letters without coverage minus that with it, above .001)",
              above(0.001), fewer_of_all)

# %% [markdown]
# In these two tasks, at this size, no form of coverage clearly reduces repetitions.
# "Once" leaves nothing to reduce: without coverage
# {{ f"{100 * share('once', 'without', 'longer', 'repeated'):.1f}" }} of 100 letters are
# repeated, even in longer lists. In "any order" the decoder repeats
# {{ f"{100 * share('any order', 'without', 'trained', 'repeated'):.0f}" }} of 100
# letters, and {{ f"{100 * share('any order', 'without', 'longer', 'repeated'):.0f}" }}
# in longer lists. With coverage in the score it repeats as many: it has the sum of its
# weights, and does not use it. Why, we have not measured. The coverage loss from the
# first step does harm there: after {{ kept["any order"]["budget"] }} steps
# {{ f"{share('any order', 'score and loss', 'trained', 'right'):.2f}" }} of the answers
# are right, and {{ f"{share('any order', 'without', 'trained', 'right'):.2f}" }}
# without it. In the last phase alone it does no such harm. So the advice of See and
# others holds in this task, and their gain does not show in it. Their sources are news
# articles, and ours are short lists: what coverage does there is not measured here.
#
# A beam search ([lesson 13](../13_translation/README.md)) can use the coverage without
# any training: it may prefer outputs whose steps have looked at every source word (Wu
# and others 2016; `beta` of the library's
# [beam search](../../GLOSSARY.md#beam-search)). That is not measured here.
#
# ## Why do Transformers not have it?
#
# Step $t$ needs the weights of step $t - 1$ before it can compute its own. So the steps
# have to wait for one another, and so does the gradient on its way back. Transformers
# ([lesson 10](../10_heads/README.md)) compute the attention of all words in one
# product, and that is what makes them fast. With coverage, this one product is not
# possible. The textbook (38.8) gives a further reason, that more data makes coverage
# unnecessary; nothing here measures it.
#
# ## What would break it?
#
# - A window that is cut at the padded length of a batch and not at the length of its
#   own sentence: near the end it contains padding alone.
# - A predicted centre that is rounded to a whole number: rounding has no gradient.
# - A coverage that is updated before the loss is taken: the loss is 1 at every step,
#   and has no gradient to learn from.
#
# **To take away: a window saves work if you know where to look, and it learns where to
# look only through the Gaussian; coverage adds up where you have looked, so that the
# next step can look elsewhere.**
#
# Exercises: 38.5 (the window of local-m, and the centre that reverses a word) and E.9
# (local-p: the gradient that moves the centre): `python -m lessons start 38.5`.
