"""Lesson 11: positions.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 11. Positions
#
# Attention knows nothing of order. There are five usual ways to tell it, and the Notes
# have a table that says which are relative, which go on beyond the lengths of training,
# and what they cost. We look at each, and then measure the table. You need
# [lesson 10](../10_heads/README.md). Forty minutes.

# %%
import numpy as np

from attention import T5RelativeBias, alibi_bias, alibi_slopes, scaled_dot, t5_bucket
from attention.positions import disentangled_scores, frequencies, rope, sinusoidal
from attention.positions.learned import LearnedPositions
from attention.plotting.palette import looks
from lessons.classroom.figures import GREY, figure, show
from lessons.classroom.records import how_made, record

rng = np.random.default_rng(11)
book = {  # relative, extrapolation, parameters
    "sinusoidal": ("no", "limited", "none"), "learned": ("no", "poor", "n_max d"),
    "t5": ("yes", "good", "small"), "rope": ("yes", "good, extended", "none"),
    "alibi": ("yes", "excellent", "none"),
}  # fmt: skip

# %% [markdown]
# ## Sines: absolute, or not?
#
# A clock with $d/2$ hands, of which each is slower than the one before:
#
# ```math
# PE[p, 2i] = \sin(p w_i), \quad PE[p, 2i+1] = \cos(p w_i), \quad w_i = 10000^{-2i/d}
# ```
#
# With $d = 4$ there are two hands, which turn by 1 and by a hundredth a step. So
# position 2 should be $(\sin 2, \cos 2, \sin 0.02, \cos 0.02)$:

# %%
print(sinusoidal(3, 4, dtype=np.float64)[2].round(4), "  w", frequencies(4))
print(np.round([np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)], 4))

# %% [markdown]
# The Notes call them not relative. Yet a step of $k$ turns every hand by the same angle
# wherever it stands. So a matrix $R(k)$ should lead from any position to the one $k$
# further, and products of two should depend on their distance alone:

# %%
d, k = 16, 7
PE = sinusoidal(100, d, dtype=np.float64)
R = np.zeros((d, d))
for i, w in enumerate(frequencies(d)):
    a, b = np.cos(k * w), np.sin(k * w)
    R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[a, b], [-b, a]]
print("PE[p + 7] = R(7) PE[p]:", np.allclose(PE[:-k] @ R.T, PE[k:]))
G = PE @ PE.T
print("PE[3] . PE[10], PE[73] . PE[80]:", G[3, 10].round(6), G[73, 80].round(6))

# %% [markdown]
# Both hold. The table's "no" is right all the same, of *scores*: $PE$ is added to the
# content, and goes through $W_q$ and $W_k$, which need not keep those products. The
# model may learn to be relative; nothing makes it so.
#
# ## A learned table
#
# A row for each position, as for words. What does training leave in a row that no
# sequence reached, and what is there beyond the last?

# %%
table = LearnedPositions(8, 4, rng=rng)
(table(5) * rng.normal(size=(5, 4))).sum().backward()  # sequences of length 5
print("rows with a gradient", np.flatnonzero(np.abs(table.weight.grad).sum(1)).tolist())
try:
    table(9)
except IndexError as refusal:
    print(str(refusal).replace("; ", ";\n").replace(": raise", ":\nraise"))

# %% [markdown]
# Nothing, and nothing. "Poor" is kind: it extrapolates to rows of random numbers, or
# not at all.
#
# ## Buckets of distances
#
# T5 adds a learned number for each head and each *range* of distances. Near ones have a
# bucket each, the others share. What happens to a distance of 200, or of 2000?

# %%
far = np.array([0, 1, 7, 15, 16, 31, 64, 127, 128, 200, 2000])
print("distance", *(f"{n:5d}" for n in far))
print("bucket  ", *(f"{n:5d}" for n in t5_bucket(-far, bidirectional=False)))
first_far = int((t5_bucket(-np.arange(200), bidirectional=False) == 31).argmax())
q, k = rng.normal(size=(2, 1, 300, 8))
tables = rng.normal(size=(2, 2 * 16, 8))  # DeBERTa's: 2 k rows, here k = 16
s = disentangled_scores(q[:, :1], 0 * q, *tables, causal_align="lower_right").data[0, 0]
print("DeBERTa, distances 14 to 18:", s[-19:-14][::-1].round(3))

# %% [markdown]
# From {{ first_far }} on they share the last bucket; DeBERTa's distances from $k - 1$
# on are alike, too. "Naturally generalizes to longer sequences" (the Notes) means that
# they *clamp*: all that is far is equally far. That may be enough, if the last bucket
# was trained. A model that saw 32 tokens has never touched it.
#
# ## A straight line
#
# ALiBi takes $m_h |i - j|$ off the score, with slopes $m_h$ from steep to flat:

# %%
slopes = alibi_slopes(8, np.float64)
reach = np.log(100) / slopes  # at this distance a weight has fallen to a hundredth
print("slopes", *(f"1/{1 / m:g}" for m in slopes))
print("reach ", *(f"{r:.0f}" for r in reach))

# %% [markdown]
# With equal contents weights fall as $e^{-m n}$ with the distance $n$: a head is a
# window with soft edges, whatever the length, and to a steep one a longer sequence
# looks like a shorter one. Whether that is extrapolation, or not looking, is disputed.
#
# ## Rotations
#
# RoPE turns queries and keys by their positions; two turns leave their difference,
#
# ```math
# (R_i q) \cdot (R_j k) = q \cdot R_{j-i}\, k
# ```

# %% [source] attention.positions.rope.rope

# %%
q, k = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])  # E = 2: one plane, theta = 1
for i, j in ((1, 2), (51, 52), (2, 1)):
    score = (rope.raw(q, [i])[0] @ rope.raw(k, [j])[0].T).item()
    print(f"i {i:2d}, j {j:2d}   score {score:+.4f}   by hand {-np.sin(j - i):+.4f}")

# %% [figure]
n = np.arange(1, 201)
fig, axes = figure("What does a scheme make of a distance?", columns=3, size=(7.2, 2.7))
cosine, bucket = np.cos(n[:, None] * frequencies(64)).mean(1), t5_bucket(-n, False)
axes[0].semilogx(n, cosine)
for m, style in zip(slopes[1:5:3], ("-", "--")):
    axes[1].semilogx(n, np.exp(-m * n), style, label=f"m = 1/{1 / m:g}")
axes[1].legend(loc="upper right", handlelength=1.5, borderaxespad=0)
axes[2].semilogx(n, bucket, drawstyle="steps-post")
words = ("mean cosine of the hands", "factor of the weight", "bucket")
for ax, name, word in zip(axes, ("sines, RoPE", "ALiBi", "T5"), words):
    ax.set(title=name, xlabel="distance n", ylabel=word)
alt = f"""Three panels, by distance, 1 to {n[-1]}. Sines and RoPE: the mean cosine of
the hands falls from {cosine[0]:.2f} to {cosine[-1]:.2f}, and wavers. ALiBi: the factor
of the weight falls smoothly to 0, later where the slope is flat. T5: the bucket climbs
by steps to {bucket[-1]}, the last, which begins at {first_far}."""
show(fig, "distance", alt)

# %% [markdown]
# ## Which of them are relative?
#
# The column can be measured. Scores of eight tokens with random projections, at
# positions 0 to 7 and at 20 to 27: does anything change?

# %%
X, W_q, W_k = (rng.normal(size=s) for s in ((8, 16), (16, 16), (16, 16)))
P = rng.normal(size=(40, 16))  # a learned table, as after training
bias = T5RelativeBias(1)
bias.table.data = rng.normal(size=bias.table.shape)


# %%
def scores(name, start):
    at = start + np.arange(8)
    added = {"sinusoidal": sinusoidal(at, 16), "learned": P[at]}.get(name, 0)
    q, k = (X + added) @ W_q, (X + added) @ W_k
    if name == "rope":
        q, k = rope.raw(q, at)[0], rope.raw(k, at)[0]
    s = scaled_dot(q[None], k[None]).data[0]
    if name in ("t5", "alibi"):  # of the last 8 of start + 8 positions
        n = start + 8
        whole = bias(n, n).data[0] if name == "t5" else alibi_bias(1, n, n)[0]
        s = s + whole[start:, start:]
    return s


# %%
for name in book:
    change = np.abs(scores(name, 20) - scores(name, 0)).max()
    print(f"{name:11s} the Notes: {book[name][0]:4s} unchanged: {change < 1e-6}")

# %% [markdown]
# The column is right.
#
# ## Which of them go on?
#
# "Defined everywhere" says that there is a number, not that a model knows what to make
# of it. So small decoders were trained on sequences of up to 32 tokens, and asked at up
# to 128. The task has the same difficulty at all lengths: pairs of a key and a value,
# keys bound anew now and then, and the question is a key's *latest* value
# ([bindings.py](../../../attention/tasks/bindings.py)). It takes minutes, and so the
# results are kept in a record. (T5's bias is there twice, with two numbers of buckets.
# RoPE is trained once, and asked also with its rotations slowed down.)

# %%
kept = record("positions")
n, chance = kept["lengths"], kept["chance"]
asked = _, two, four = [n.index(length) for length in (32, 64, 128)]
print(how_made(kept))
print(f"\nright of the last 16 tokens (chance {chance}): mean, least to most")
print(" " * 16 + "".join(f"{n[k]:>11d} tokens   " for k in asked).rstrip())
runs = {name: np.array(x) for name, x in kept["accuracy"].items()}  # (seeds, lengths)
for name, x in runs.items():
    cells = [f"{a.mean():.2f}, {min(a):.2f} to {max(a):.2f}" for a in x.T[asked]]
    print(f"{name:14s}", *cells, sep="   ")

# %%
few, many = "t5, 16 buckets", "t5, 32 buckets"
able = {name: x[x[:, 0] > 0.5] for name, x in runs.items()}  # learned the task at all
trained = [name for name in runs if "+" not in name]
for name in trained:
    losses = np.round(kept["training loss"][name], 3)
    print(f"{name:14s} seeds that learned {len(able[name])}, training losses {losses}")
mean = {name: x.mean(0) for name, x in able.items()}
last = {name: a[four] for name, a in mean.items()}

# %% [markdown]
# With some seeds a model has not learned the task, even at 32 tokens; what it gets
# beyond says nothing of positions. From here on those alone count that are right there
# more often than not (a limit chosen after seeing the table; no model is near it).

# %% [figure]
fig, ax = figure("Which positions go on beyond 32 tokens?", size=(7.2, 3.4))
look = looks(mean)
for name, a in mean.items():
    bars = a - able[name].min(0), able[name].max(0) - a
    ax.errorbar(n, a, bars, ms=4, capsize=2, elinewidth=0.8, label=name, **look[name])
ax.axhline(chance, color=GREY, lw=0.8, ls=":")
ax.set(xlabel="tokens (trained on up to 32)", ylabel="right values")
ax.set(xticks=n, ylim=(0, 1))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), handlelength=3.5)
order = sorted(last, key=last.get, reverse=True)
alt = f"""Share of right values against length, 32 to 128 tokens, means and ranges. All
begin above {min(x[:, 0].min() for x in able.values()):.2f}. At 128, best to worst:
{", ".join(f"{name} {last[name]:.2f}" for name in order)}. Chance is {chance:.3f}."""
show(fig, "extrapolation", alt)

# %%
longest, plain = kept["config"]["length"], kept["parameters"]["rope"]
for name, count in kept["parameters"].items():
    if "+" not in name:
        print(f"{name:15s} parameters {count}, for positions {count - plain:4d}")
touched = {}
for buckets, far in ((32, 128), (16, longest)):
    touched[buckets] = len(set(t5_bucket(-np.arange(longest), False, buckets, far)))
    print(f"{longest} tokens reach {touched[buckets]} of {buckets} buckets")
row = {x: f"{mean[x][two]:.2f} | {last[x]:.2f} | {len(able[x])}" for x in trained}

# %% [markdown]
# Row by row, the Notes and the record, the mean of the models that learned the task:
#
# | | the Notes | at twice the length | at four times | models |
# |---|---|---|---|---|
# | sinusoidal | limited | {{ row["sinusoidal"] }} |
# | learned | poor | {{ row["learned"] }} |
# | T5, 16 buckets | good | {{ row[few] }} |
# | T5, 32 buckets | good | {{ row[many] }} |
# | RoPE | good, extended | {{ row["rope"] }} |
# | ALiBi | excellent | {{ row["alibi"] }} |
#
# - **Sinusoidal and learned** fall nearly alike: that there is a number for a position
#   is of little use to a model that has not met it.
# - **T5** depends on its buckets. With those of the paper, made for longer texts,
#   {{ 32 - touched[32] }} of 32 are never trained here, and at the end it is hardly
#   better than sines. With 16 buckets, {{ touched[16] }} of them trained, it is. This
#   setting was chosen after the other had failed, so the table has both.
# - **RoPE** by itself is between. "With extensions" hides a choice: slower rotations
#   help (NTK {{ f"{last['rope+ntk']:.2f}" }}, YaRN {{ f"{last['rope+yarn']:.2f}" }} at
#   the end) where they leave the fast hands alone. Slowing all of them alike is *worse*
#   than nothing, {{ f"{mean['rope+linear'][two]:.2f}" }} against
#   {{ f"{mean['rope'][two]:.2f}" }} at twice the length, as neighbours blur; those who
#   proposed it train a little more afterwards.
# - **ALiBi** is the best at the end, and no better than others within the trained
#   length ({{ f"{mean['alibi'][0]:.2f}" }}). The task asks for the *latest* value, so
#   that a preference for what is near is half of the answer.
#
# Small models, few seeds, one task: gaps of a few hundredths say nothing, those between
# the ends of the table do. The column of parameters holds to the number: a table of
# $`n_{\max} d`$, one number for each bucket and head, and nothing for the others.
#
# ## What would break it
#
# - RoPE with the other pairing, $(2m, 2m+1)$ for $(m, m + E/2)$: right by itself,
#   nonsense with weights that were trained for the other.
# - Slowing the rotations down when keys are cached already: those keep their angles.
# - Sines on an input that is not scaled up: embeddings of size $1/\sqrt d$ drown.
# - ALiBi as $+m_h j$ without a causal mask: it then rewards keys for being late.
#
# Other lengths, seeds, schemes: `python -m attention extrapolate --help`.
