"""Lesson 02: the GRU and the bottleneck.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 02. The GRU and the bottleneck
#
# Before attention, an encoder read a sentence word by word, kept one vector, and the
# decoder had to make do with it. Chapter 6.1 says why that fails: a fixed number of
# dimensions cannot hold a growing number of words. Is that so? We take the machine
# apart, count what a vector could hold, and measure what it does hold.
#
# You need [lesson 00](../00_tape/README.md) and [01](../01_gradient_check/README.md).
# Forty minutes.

# %%
import numpy as np

import minigrad as mg
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from lessons.classroom.figures import BLUE, GREEN, ORANGE, PURPLE, figure, show
from lessons.classroom.records import how_made, record

rng = np.random.default_rng(0)

# %% [markdown]
# ## What does one step of a GRU do?
#
# A state $h$, an input $x$, and two gates, numbers between 0 and 1. The reset gate $r$
# says how much of the old state goes into a proposal $n$; the update gate $z$, how much
# of the old state stays:
#
# ```math
# \begin{aligned}
# r &= \sigma(W_{ir} x + W_{hr} h) & n &= \tanh(W_{in} x + r \odot W_{hn} h) \\
# z &= \sigma(W_{iz} x + W_{hz} h) & h' &= (1 - z) \odot n + z \odot h
# \end{aligned}
# ```
#
# (Each product has a bias beside it. Some texts have $z$ and $1 - z$ the other way
# round.) With one number each, by hand, and then with the library, which stacks the
# weights of the three in the order $r$, $z$, $n$:

# %%
W_i, W_h = {"r": 0.5, "z": 2.0, "n": 1.0}, {"r": -1.0, "z": 0.5, "n": 0.8}
x, h = 1.0, 0.5


def gru_by_hand(x, h):
    r = 1 / (1 + np.exp(-(W_i["r"] * x + W_h["r"] * h)))
    z = 1 / (1 + np.exp(-(W_i["z"] * x + W_h["z"] * h)))
    n = np.tanh(W_i["n"] * x + r * W_h["n"] * h)
    return r, z, n, (1 - z) * n + z * h


# %%
r, z, n, new = gru_by_hand(x, h)
print(f"r = {r:.4f}   z = {z:.4f}   n = {n:.4f}   h' = {new:.4f}")
columns = [np.array([list(W.values())]).T for W in (W_i, W_h)]  # (3, 1) each
leaf = mg.Tensor([[h]], requires_grad=True)
library = mg.gru_cell(np.array([[x]]), leaf, *columns)  # (1, 1)
print(f"library {library.item():.4f}")

# %% [source] minigrad.ops.recurrent.gru_step

# %% [markdown]
# ## Which way does the gradient take?
#
# The old state is used four times, so four shares are added (lesson 00). With
# $g = dL/dh'$,
#
# ```math
# \frac{dL}{dh} = g z + g (h - n)\, z (1 - z)\, W_{hz}
#   + g (1 - z)(1 - n^2)\, W_{hn} \big( r + h\, r (1 - r)\, W_{hr} \big)
# ```
#
# The first share is the one that the cell was made for: no matrix, no tanh, only $z$.

# %%
through_n = (1 - z) * (1 - n**2)
shares = {
    "z": z,
    "the gate z": (h - n) * z * (1 - z) * W_h["z"],
    "n": through_n * r * W_h["n"],
    "the gate r": through_n * W_h["n"] * h * r * (1 - r) * W_h["r"],
}
library.sum().backward()
print({name: round(float(share), 4) for name, share in shares.items()})
print(f"sum {sum(shares.values()):.6f}   library {leaf.grad.item():.6f}")

# %% [markdown]
# ## Has the GRU "solved" vanishing gradients?
#
# Chapter 6 begins with "LSTMs and GRUs solved the vanishing gradient problem". How much
# of the gradient of the last of sixty states arrives at each input before? Machines of
# 32 numbers: a plain recurrence $h' = \tanh(W_i x + W_h h)$; a GRU; an LSTM, which has
# a state more, $c' = f \odot c + i \odot g$, and shows $h' = o \odot \tanh c'$. Both as
# they are drawn, and with a bias of 3 on $z$, or on $f$. What do you expect?


# %%
def arriving(run, T=60):
    x = mg.Tensor(rng.normal(size=(1, T, 8)), requires_grad=True)
    (run(x) * rng.normal(size=32)).sum().backward()
    return np.linalg.norm(x.grad[0], axis=-1)[::-1]  # (T,), from the last input back


def plain(x):
    h = mg.Tensor(np.zeros((1, 32)))
    for t in range(x.shape[1]):
        h = mg.tanh(x[:, t] @ plain_i + h @ plain_h)
    return h


# %%
mg.manual_seed(0)
plain_i, plain_h = (rng.uniform(-1, 1, (k, 32)) / 32**0.5 for k in (8, 32))
reach = {"plain": arriving(plain)}
for name, gate in (("GRU", "z"), ("LSTM", "f")):
    machine = getattr(mg.nn, name)(8, 32)
    reach[name] = arriving(lambda x, run=machine: run(x)[0][:, -1])
    machine.bias_ih_l0.data[32:64] = 3.0  # of the second gate, z or f
    reach[f"{name}, {gate} near 1"] = arriving(lambda x, run=machine: run(x)[0][:, -1])
for name, sizes in reach.items():
    kept = (sizes[40] / sizes[0]) ** (1 / 40)
    print(f"{name:14s} 40 steps back {sizes[40] / sizes[0]:.0e}", end="")
    print(f"   a factor of {kept:.2f} a step")

# %% [figure]
fig, ax = figure("How far back does the gradient reach?", size=(7.2, 3))
looks = zip((ORANGE, PURPLE, PURPLE, BLUE, BLUE), (".-", ".-", "--", ".-", "--"))
for (name, sizes), (colour, style) in zip(reach.items(), looks):
    ax.semilogy(sizes / sizes[0], style, color=colour, label=name)
ax.set(xlabel="steps before the last", ylabel="size of the gradient")
ax.legend()
p, g, g3, f, f3 = (sizes[-1] / sizes[0] for sizes in reach.values())
alt = f"""Size of the gradient at an input against its distance from the end, relative
to the last input. Plain recurrence, GRU and LSTM fall alike, to {p:.0e}, {g:.0e} and
{f:.0e} at 59 steps; with z near 1 the GRU keeps {g3:.2f}, with f near 1 the LSTM
{f3:.2f}."""
show(fig, "reach", alt)

# %% [markdown]
# Freshly drawn, both forget nearly as fast as a plain recurrence: their gates stand
# near a half, and half of a half of a half is little. What a gate gives is a *way*:
# where training, or a bias, moves $z$ or $f$ towards 1, the first share above carries
# the gradient through untouched. It can be learned; it is not there at the start.
#
# ## How much could one vector hold?
#
# The vanilla encoder-decoder keeps $c = h_T$ and nothing else. Section 6.1.1 asks
# whether 256 numbers can capture 50 words, and argues: the capacity is constant, also
# of 1024, the content grows with $T$, so at some length it must overflow. We count what
# this leaves out, with 32 bits a number, and words from a vocabulary of 30,000.

# %%
a_word = np.log2(30_000)  # bits
for d in (1024, 256):
    room = d * 32
    print(f"{d} numbers: room {room} bits, 50 words {50 * a_word:.0f} bits", end="   ")
    print(f"full at {room / a_word:,.0f} words")

# %% [markdown]
# Fifty words, all equally likely, fill {{ f"{100 * 50 * a_word / room:.0f}" }} percent
# of 256 numbers; real sentences need less. The argument is right for finitely many
# bits, at any width, and starts to bite far beyond fifty words. One float64 is enough
# for eleven letters, exactly:


# %%
def pack(text):
    total = 0.0
    for letter in text:
        total = total * 26 + (ord(letter) - 97)
    return total / 26 ** len(text)  # one number in [0, 1)


def unpack(number, length):
    number, text = round(number * 26**length), ""
    for _ in range(length):
        number, digit = divmod(number, 26)
        text = chr(97 + digit) + text
    return text


# %%
word = "bottlenecks"
for noise in (0.0, 1e-9, 1e-5, 1e-3):
    print(f"noise {noise:.0e}: {unpack(pack(word) + noise, 11)}")

# %% [markdown]
# With a little noise the later letters are lost, since each needs a reading 26 times
# finer than the one before. So what is scarce is not room. It is a code that a network
# can *learn*, that survives tanhs, and that a decoder of a few matrices can read. How
# long that lasts, no counting tells. It has to be measured.
#
# ## What can a decoder look at?
#
# First, that there is nothing but the one vector. We ask two untrained models what
# their decoders know after the source has been read.

# %%
mg.manual_seed(1)
for kind in ("none", "bahdanau"):
    model = Seq2Seq(Seq2SeqConfig(29, 29, hidden=32, attention=kind))
    known = []
    for S in (5, 10, 50):
        state = model.start(np.full((1, S), 5))
        memory = 0 if state.memory is None else state.memory.data.size
        known.append(state.recurrent[0].data.size + memory)
    print(f"{kind:9s} numbers known after 5, 10, 50 letters: {known}")

# %% [markdown]
# That is the idea of 6.1.3: keep all the $h_j$, and average those that matter at each
# step, $`c_i = \sum_j \alpha_{ij} h_j`$, with the $\alpha$ of
# [lesson 03](../03_additive/README.md). What is it worth?
#
# ## Where does it break?
#
# The task: reverse a random string. No letter can be guessed from the others, so all of
# them have to pass. Encoder and decoder are a GRU each, and have learned
# {{ record("bottleneck")["steps"] }} batches of {{ record("bottleneck")["batch"] }}
# strings of 1 to {{ record("bottleneck")["longest"] }} letters, every batch new: scarce
# data cannot be the cause. Then each letter is asked for, those before it given.
# Training takes minutes, so this is a record, the mean of two seeds, and not run while
# you read.

# %%
kept = record("bottleneck")
print(how_made(kept))
lengths, runs, good = np.array(kept["lengths"]), {}, {}
for r in kept["runs"]:
    name = f"{r['hidden']} numbers" + ", looks back" * (r["attention"] != "none")
    mean = {key: np.mean(r[key], 0) for key in ("letters", "strings", "places")}
    runs[name], apart = mean, np.ptp(r["letters"], 0).max()
    good[name] = int(lengths[mean["letters"] >= 0.9].max())
    print(f"{name:22s} {r['parameters']:7,} parameters, nine of ten letters")
    print(f"    up to length {good[name]:2d}; seeds {apart:.2f} apart at most")

# %% [figure]
fig, axes = figure("What does one vector forget?", columns=2)
styles = ((ORANGE, ":"), (ORANGE, "--"), (ORANGE, "-"), (BLUE, "-"))
for (name, run), (colour, style) in zip(runs.items(), styles):
    axes[0].plot(lengths, run["letters"], style, marker=".", color=colour, label=name)
    place = np.arange(1, kept["looked_at"] + 1)
    axes[1].plot(place, run["places"], style, marker=".", color=colour)
axes[0].axvline(kept["longest"], color=GREEN, lw=1)
axes[0].set(xlabel="letters of the string", ylabel="share of letters right")
axes[0].legend(fontsize=8, loc="lower left")
axes[1].set(xlabel="letter said, in strings of 12", ylim=axes[0].get_ylim())
by = {name: run["letters"][7] for name, run in runs.items()}
alt = f"""Left, share of letters right against the length of the string. Without
attention the curves fall, the wider the later: at 12 letters
{", ".join(f"{by[name]:.2f} with {name}" for name in by)}. Attention stays high up to
16, a vertical line, the longest in training, and falls beyond. Right, by place in
strings of 12: without attention the first letter is best, and the middle is lower."""
show(fig, "by-length", alt)

# %%
for name, run in runs.items():
    picked = {n: run["letters"][lengths == n].item() for n in (4, 8, 12, 16, 24)}
    print(f"{name:22s}", *(f"{n}: {a:.2f}" for n, a in picked.items()))
    print(f"    whole strings of 8: {run['strings'][lengths == 8].item():.2f}")

# %% [markdown]
# Four claims of 6.1 can be held against these curves:
#
# - *It gets worse with length, steadily* (6.1.2): yes, for every width without
#   attention, with as much data as one likes. (The lengths of 6.1.2 belong to other
#   people's translators; lesson 13 has ours.)
# - *A wider state is no complete solution* (6.1.1, "from 256 to 1024"): each doubling
#   moves the fall to the right, {{ good["32 numbers"] }}, {{ good["64 numbers"] }},
#   {{ good["128 numbers"] }} letters, for about three times the parameters each time.
# - *Looking back removes the bottleneck* (6.1.3): 32 numbers that look back beat 128
#   that do not, with a sixth of the parameters. But only up to the lengths that were
#   trained. At 24 letters they get
#   {{ f"{runs['32 numbers, looks back']['letters'][-1]:.2f}" }}, less than the
#   {{ f"{runs['128 numbers']['letters'][-1]:.2f}" }} of the wide model. To have all
#   states at hand is one thing; to find the right one at a place never seen is another.
# - *The model is "asked to do the impossible"* (6.1.1): that, no. Twelve letters are
#   {{ f"{12 * np.log2(26):.0f}" }} bits, and 128 numbers have room for
#   {{ f"{128 * 32:,}" }}. The curves show what was learned in this many steps, and are
#   not a limit.
#
# The right panel shows *what* is forgotten. The letter said first, the last one read,
# is best; the middle of the string is lower, and in wider models its beginning higher.
#
# ## What would break it
#
# - A task in which letters predict each other: a model of the language fills the gaps,
#   and the curve shows that instead.
# - Padding after the end of a string. The last state must be that of the last letter:
#   [lesson 06](../06_masks/README.md).
# - A comparison at one length only. At 2 letters there is no bottleneck to be seen.
#
# For practice: `python -m lessons list`, exercise 6.9, the same with sentences.
