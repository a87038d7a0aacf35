"""02  The GRU and the bottleneck  ●●○○  35 min  importance ★★★  needs 00

What does one fixed vector forget?
"""

# %% [markdown]
# Read "the black cat sleeps" once, cover it, and say it again. That was easy. Now do it
# with a sentence of fifty words, read once. What will be lost?
#
# Before [attention](../../GLOSSARY.md#attention), translating networks worked in this
# way. One network read the sentence and kept one vector of numbers; a second network
# wrote the translation, here "le chat noir dort", from that vector alone. This lesson
# builds such a pair and measures what one vector holds.
#
# **Why it matters:** what the one vector loses is the reason for attention, and the
# networks of lessons 03 to 08 are made of the same recurrent step.

# %% [folded]
import numpy as np

import minigrad as mg
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from attention.tasks.batch import SOS
from attention.tasks.reversal import decode
from lessons.classroom.records import how_made, record
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, RED, figure, show

rng = np.random.default_rng(0)

# %% [markdown]
# ## How does a network read and write a sentence?
#
# Each word of a [vocabulary](../../GLOSSARY.md#vocabulary) has a learned vector, its
# [embedding](../../GLOSSARY.md#embedding). The [encoder](../../GLOSSARY.md#encoder)
# takes the embeddings one by one. It has a [state](../../GLOSSARY.md#state), a vector
# that it changes at every word: from the state after word $j - 1$ and from word $j$ it
# computes the state after word $j$. A network that works step by step in this way is
# [recurrent](../../GLOSSARY.md#recurrent-network). After the last word only the last
# state is kept.
#
# The [decoder](../../GLOSSARY.md#decoder) is a second recurrent network. It begins with
# the encoder's last state. At each step it takes the previous word of the translation,
# changes its state, and gives every word of its vocabulary a number, the
# [logit](../../GLOSSARY.md#logit). A [softmax](../../GLOSSARY.md#softmax) turns the
# logits into probabilities. The first step has no word before it and takes a start
# sign, `<s>`; the decoder ends by writing an end sign.
#
# ![The only way from four encoder states to four decoder states is one arrow.](figures/encoder-decoder.svg)
#
# *Four encoder states h1 to h4 in a row, under them the words the, black, cat, sleeps.
# One thick arrow, c = h4, leads to the first of four decoder states s1 to s4. Under
# these stand a start sign and the words le, chat, noir; above them, in boxes, the words
# that they write: le, chat, noir, dort.*
#
# ```math
# h_j = \mathrm{read}(x_j, h_{j-1}), \qquad c = h_S, \qquad
# s_0 = c, \quad s_t = \mathrm{write}(x'_{t-1}, s_{t-1}), \quad
# P(y_t) = \mathrm{softmax}(W_o s_t + b_o)
# ```
#
# | letter | meaning |
# |---|---|
# | $x_j$, $S$ | the embedding of source word $j$, and the number of source words |
# | $h_j$ | the encoder's state after word $j$; $h_0 = 0$ |
# | $c$ | all that the decoder receives: one vector, of the same length for every $S$ |
# | $s_t$, $`x'_{t-1}`$ | the decoder's state at step $t$, and the embedding of the target word before; $`x'_0`$ is that of the start sign |
# | read, write | one step of a recurrent network each; below, of a GRU |
# | $W_o$, $b_o$ | learned; they make a logit for each word of the vocabulary |
# | $P(y_t)$ | the probabilities of all words of the vocabulary at step $t$ |
#
# The thick arrow of the figure is the only way from the source to the translation. Such
# a place is called a [bottleneck](../../GLOSSARY.md#bottleneck). (Sutskever, Vinyals
# and Le 2014; Cho and others 2014.)
#
# ## Which word does the decoder read back?
#
# "The word before" means two things. In training we know the correct translation, and
# the decoder reads *its* words. This is
# [teacher forcing](../../GLOSSARY.md#teacher-forcing). One wrong word then costs one
# word, because the next step continues from the right one. After training nobody knows
# the correct words. The decoder writes the most probable word and reads that one back.
# This is [greedy decoding](../../GLOSSARY.md#greedy-decoding), and here a wrong word
# can lead to others:
#
# ![A mistake of a forced decoder stays alone; one of a greedy decoder has consequences.](figures/forced-and-greedy.svg)
#
# *Two decoders of four steps. Left, teacher forcing: it reads a start sign, le, chat,
# noir, and writes le, chien, noir, dort; only chien is wrong. Right, greedy: dotted
# arrows lead from each written word to the next input; it writes le, chien, dort, là,
# and the last three are wrong.*
#
# In code the difference is one line, the last of the loop, which sets the next `token`.
# This model is not trained, so its letters mean nothing; look at what each decoder
# *reads*. The source is "abc", and the task is to write it backwards:

# %%
mg.manual_seed(2)
model = Seq2Seq(Seq2SeqConfig(29, 29, hidden=32, attention="none"))
right = [5, 4, 3]  # the ids of "cba"; those of a to z are 3 to 28
# SOS is the id of the start sign
for name in ("teacher forcing", "greedy"):
    state, token, read, written = model.start(np.array([[3, 4, 5]])), SOS, [], []
    for t in range(3):
        logits, state, _ = model.step(state, np.array([token]))  # (1, 29)
        read.append(token)
        written.append(int(logits.data[0, 3:].argmax()) + 3)  # letters only
        token = right[t] if name == "teacher forcing" else written[t]
    print(f"{name:15s} reads <s>, {', '.join(decode(read))}", end="   ")
    print(f"writes {', '.join(decode(written))}")

# %% [markdown]
# The first decoder reads "c" and "b", the letters of the correct answer, although it
# wrote others. The second reads what it wrote. (The 29 numbers of `logits` are those of
# 26 letters and three signs: start, end, and one that fills up short strings.)
#
# ## What does one step of a GRU do?
#
# A plain recurrent step, $h' = \tanh(W_i x + W_h h)$, writes over its whole state at
# every word. The GRU, the *gated recurrent unit* of Cho and others (2014), can keep
# parts of it. It has two [gates](../../GLOSSARY.md#gate): vectors of numbers between 0
# and 1, computed from the input and the state, that multiply other vectors.
#
# - It proposes a new state $n$. The *reset gate* $r$ says how much of the old state
#   enters the proposal.
# - The *update gate* $z$ says how much of the old state stays. The rest comes from the
#   proposal.
#
# ```math
# \begin{aligned}
# r &= \sigma(W_{ir} x + W_{hr} h) & m &= W_{hn} h, \quad n = \tanh(W_{in} x + r \odot m) \\
# z &= \sigma(W_{iz} x + W_{hz} h) & h' &= (1 - z) \odot n + z \odot h
# \end{aligned}
# ```
#
# | letter | meaning |
# |---|---|
# | $x$, $h$, $h'$ | the input, the old state and the new state |
# | $r$, $z$, $n$ | reset gate, update gate, proposal; as long as the state |
# | $m$ | what the reset gate multiplies |
# | $`W_{ir}`$, … | learned matrices: $i$ for the input, $h$ for the state; to each product a *bias* is added, a learned vector |
# | $\sigma$ | the sigmoid, $1 / (1 + e^{-a})$; it lies between 0 and 1 |
# | $\odot$ | multiplication, number by number |
#
# (Some texts exchange $z$ and $1 - z$, which changes names only. The paper has
# $`W_{hn} (r \odot h)`$ in place of $r \odot m$.) Take a state of one number, so that
# every matrix is one number, leave out the biases, and compute a step by hand:

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
old = mg.Tensor([[h]], requires_grad=True)
library = mg.gru_cell(np.array([[x]]), old, *columns)  # (1, 1)
print(f"library {library.item():.4f}")

# %% [markdown]
# Both give the same new state. The library keeps the weights of $r$, $z$ and $n$ in one
# array, in this order.
#
# ## Which way does the gradient take?
#
# Let $g = dL/dh'$ be the gradient that arrives at the new state. Go back through the
# equations, the last one first. It has three parts, so
#
# ```math
# \frac{dL}{dn} = g \odot (1 - z), \qquad \frac{dL}{dz} = g \odot (h - n), \qquad
# \text{and } h \text{ receives } g \odot z \text{ directly}
# ```
#
# Next, through the tanh and the two sigmoids. The derivative of a tanh is $1 - n^2$,
# that of a sigmoid is $\sigma (1 - \sigma)$. Let $d_n$, $d_z$ and $d_r$ be the
# gradients of what goes *into* the tanh and into the two sigmoids. Into the tanh goes a
# sum with $r \odot m$, so $r$ receives $d_n \odot m$, and $m$ receives
# $d_m = d_n \odot r$:
#
# ```math
# d_n = g \odot (1 - z) \odot (1 - n^2), \quad
# d_z = g \odot (h - n) \odot z \odot (1 - z), \quad
# d_r = d_n \odot m \odot r \odot (1 - r)
# ```
#
# What is left are products with matrices, whose backward is the transpose (lesson 00).
# The old state is used four times, so four shares are added:
#
# ```math
# \frac{dL}{dx} = W_{ir}^\top d_r + W_{iz}^\top d_z + W_{in}^\top d_n, \qquad
# \frac{dL}{dh} = g \odot z + W_{hz}^\top d_z + W_{hn}^\top d_m + W_{hr}^\top d_r
# ```
#
# ```math
# \frac{dL}{dW_{iz}} = d_z\, x^\top, \quad
# \frac{dL}{dW_{hz}} = d_z\, h^\top, \quad
# \frac{dL}{dW_{in}} = d_n\, x^\top, \quad
# \frac{dL}{dW_{hn}} = d_m\, h^\top
# ```
#
# For the gradients of $`W_{ir}`$ and $`W_{hr}`$, write $d_r$ in place of $d_z$. A bias
# is added to its product, so its gradient is the vector that stands before $x^\top$ or
# $h^\top$. (With biases, $`m = W_{hn} h + b_{hn}`$.) Here are the four shares of the
# example for $g = 1$, and their sum beside the library's gradient:

# %%
m = W_h["n"] * h
d_n, d_z = (1 - z) * (1 - n**2), (h - n) * z * (1 - z)  # g = 1
d_m, d_r = d_n * r, d_n * m * r * (1 - r)
shares = {"direct": z, "through z": d_z * W_h["z"], "through n": d_m * W_h["n"]}
shares["through r"] = d_r * W_h["r"]
library.sum().backward()
for name, share in shares.items():
    print(f"{name:9s} {share:+.4f}")
print(f"sum {sum(shares.values()):.6f}   library {old.grad.item():.6f}")

# %% [markdown]
# The first share, $g z$, is the one that the GRU was made for. It contains no matrix
# and no tanh, only the gate $z$. Where $z$ is near 1, the state and its gradient pass a
# step nearly unchanged.
#
# A network uses the same weights at every step, so their gradient is the sum over all
# steps, and over all examples. If each row of an array is one example, then the
# products of [lesson 00](../00_tape/README.md#does-it-all-fit-together) for $W$ and $b$
# sum over the examples. A state is used by the next step and is an output, too. So it
# receives a sum: $dL/dh$ of the next step, and the gradient of the output.
#
# ## What can a decoder look at?
#
# Back to the one vector $c$. Is there really nothing else? We count the numbers that an
# untrained decoder can use after the encoder has read 5, 10 and 50 letters. "bahdanau"
# is the same model with the attention of [lesson 03](../03_additive/README.md):

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
# Without attention there are the 32 numbers of one state, for every length. With it,
# there are 32 more for every letter: the model keeps all the states $h_j$, and at each
# step it computes a weighted average of them. How much does that help?
#
# ## At which length does a model fail?
#
# The task is to reverse a random string of letters. No letter can be guessed from the
# others, so all of them have to pass through the vector. Encoder and decoder are a GRU
# each. They were trained on {{ record("bottleneck")["steps"] }}
# [batches](../../GLOSSARY.md#batch) of {{ record("bottleneck")["batch"] }} strings of 1
# to {{ record("bottleneck")["longest"] }} letters, every batch new, so a lack of data
# cannot be the cause of what follows.
#
# Training *and* measuring use teacher forcing, so that one mistake counts once. Each
# model is trained with {{ len(record("bottleneck")["made"]["seeds"]) }}
# [seeds](../../GLOSSARY.md#seed), which set the random numbers at the start
# ([How to read a measurement](../../MEASURES.md)). It was done once, and the page reads
# the results from a file. *32 numbers* in the output means that a state has 32 entries:
# this is its *width*. *Seeds differ by* is the largest difference between two seeds in
# the share of right letters, over all lengths.

# %% [folded]
kept = record("bottleneck")
print(how_made(kept))
lengths, runs, good = np.array(kept["lengths"]), {}, {}
for r in kept["runs"]:
    name = f"{r['hidden']} numbers" + ", attention" * (r["attention"] != "none")
    mean = {key: np.mean(r[key], 0) for key in ("letters", "strings", "places")}
    runs[name], apart = mean, np.ptp(r["letters"], 0).max()
    good[name] = int(lengths[mean["letters"] >= 0.9].max())
    print(f"{name:22s} {r['parameters']:7,} parameters; seeds differ by {apart:.2f}")
    print(f"    nine of ten letters right up to strings of {good[name]} letters")

# %% [figure]
fig, axes = figure("What does one vector forget?", columns=2, sharey=True)
styles = ((RED, ":"), (RED, "--"), (RED, "-"), (BLUE, "-"))
place = np.arange(1, kept["looked_at"] + 1)
for (name, run), (colour, style) in zip(runs.items(), styles):
    axes[0].plot(lengths, run["letters"], style, marker=".", color=colour)
    axes[1].plot(place, run["places"], style, marker=".", color=colour)
    words = name.replace(", ", ",\n")
    axes[1].text(16.5, run["places"][-1], words, color=colour, va="center")
axes[0].axvline(kept["longest"], color=GREEN, lw=1)
axes[0].text(kept["longest"] - 1, 0.8, "longest\nin training", color=GREEN, ha="right")
for ax in axes:
    ax.axhline(1 / 26, color=GREY, lw=0.8, ls=":")
axes[0].text(0, 0.05, "chance, 1 of 26", color=GREY, fontsize=8)
seeds = len(kept["made"]["seeds"])
ylabel = f"letters right, mean of {seeds} seeds"
axes[0].set(xlabel="letters of the string", ylabel=ylabel)
axes[1].set(xlabel=f"place of the written letter, in strings of {kept['looked_at']}")
axes[1].set(xlim=(0, 22.5), xticks=(1, 4, 8, 12, 16))
by = {name: run["letters"][lengths == 20].item() for name, run in runs.items()}
alt = f"""Left, share of letters right against the length of the string. Without
attention all curves fall; the wider the state, the later: at 20 letters
{", ".join(f"{by[name]:.2f} with {name}" for name in by)}. Attention stays high up to
{kept["longest"]}, a vertical line, the longest in training, and falls beyond. Right, by
place in strings of {kept["looked_at"]}: without attention the letter written first is
best."""
show(fig, "by-length", alt)

# %% [folded]
for name, run in runs.items():
    picked = {S: run["letters"][lengths == S].item() for S in (4, 8, 16, 24, 32, 48)}
    print(f"{name:22s}", *(f"{S}: {share:.2f}" for S, share in picked.items()))
wide, attentive = runs["128 numbers"], runs["32 numbers, attention"]
behind = lengths[wide["letters"] >= attentive["letters"]]
ahead_from = lengths[lengths > behind.max()].min()

# %% [markdown]
# - Without attention the share of right letters, after {{ kept["steps"] }} steps, falls
#   with the length, steadily, for every width, although every batch is new. (A model
#   that knows nothing has {{ f"{1 / 26:.2f}" }}.)
# - A wider state moves the fall to the right and does not remove it. Each doubling of
#   the width costs about three times as many parameters.
# - With attention, 32 numbers beat 128 without it from {{ int(ahead_from) }} letters
#   on, with a sixth of the parameters. But at 48 letters, far beyond the training,
#   attention falls to {{ f"{attentive['letters'][-1]:.2f}" }}. The decoder has all
#   states there, too, but it has not learned to find the right one at such a place.
#   (The dip at 2 letters is there in all seeds. Its cause was not measured.)
# - The right panel shows *what* is forgotten. Without attention the letter that is
#   written first is best; it was read last.
#
# A box like the next one compares what a text on attention prints with what we find.
# *The book* is one of [four texts](../../TEXTS.md), here a chapter of a textbook; you
# need none of them.
#
# > **The book says** (6.1.1) that with long sentences a model with one vector is "asked
# > to do the impossible". It is not. A letter
# > out of 26 has $\log_2 26$ bits, so 12 letters
# > have {{ f"{12 * np.log2(26):.0f}" }}, and 128 numbers of 32 bits have
# > {{ f"{128 * 32:,}" }}. Yet the widest model has only
# > {{ f"{wide['letters'][lengths == 12].item():.2f}" }} of the letters right at 12. The
# > curves show what was *learned* in this many steps. Another training may reach more.

# %% [claims]
from lessons.instrument.verdict import above
from lessons.pages.claims import YES, claim, over_draws

claim("6.1.1", "a long sentence asks the model for the impossible (bits of 12 "
      "letters, over bits of 128 numbers: above 1)", above(1),
      12 * np.log2(26) / (128 * 32))

# %% [markdown]
# ## What would break it?
#
# - A task in which letters predict each other, as in words. The decoder can then guess
#   what it has forgotten, and the curve shows how well it guesses.
# - [Padding](../../GLOSSARY.md#padding) after the end of a string. The last state must
#   be that of the last letter: [lesson 06](../06_masks/README.md).
# - A comparison at one length only. At 2 letters there is no bottleneck to be seen.
# - Comparing a teacher-forced number of one model with a greedy number of another. The
#   teacher-forced one is usually higher, even for the same model.
#
# **To take away: one vector can hold a long sentence, but in this training no model
# learned to use it; attention keeps all states and chooses among them at each step.**
#
# Exercises: E.6 (a GRU and its backward, written by you):
# `python -m lessons start E.6`. The comparison with attention and without, on
# sentences, is exercise 6.9, in [lesson 13](../13_translation/README.md).
#
# ## Further: has the GRU "solved" vanishing gradients?
#
# Going back one step multiplies the gradient of the state by a factor, for vectors by a
# matrix. Sixty steps multiply it by sixty of them. If they are below 1, early words
# receive almost no gradient, and the network cannot learn from them. This is the
# [vanishing gradient](../../GLOSSARY.md#vanishing-gradient).
#
# How much of the gradient of the last of sixty states arrives at each input? We compare
# three untrained networks with states of 32 numbers: the plain one; the GRU; and the
# [LSTM](../../GLOSSARY.md#lstm) of Hochreiter and Schmidhuber (1997). The LSTM has a
# second state $k$, which no matrix touches: a gate $f$ keeps a part of it, as $z$ keeps
# a part of $h$ in the GRU, and $k' = f \odot k + i \odot n$ with another gate $i$. GRU
# and LSTM run a second time with a bias of 3 on $z$ or $f$. The sigmoid of 3 is
# {{ f"{1 / (1 + np.exp(-3)):.2f}" }}, so this gate is near 1. In the code it is
# `bias_ih_l0.data[32:64]`, the second part of the biases:


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
    machine.bias_ih_l0.data[32:64] = 3.0  # the bias of z or of f
    reach[f"{name}, {gate} near 1"] = arriving(lambda x, run=machine: run(x)[0][:, -1])
for name, sizes in reach.items():
    factor = (sizes[40] / sizes[0]) ** (1 / 40)
    print(f"{name:14s} 40 steps back {sizes[40] / sizes[0]:.0e}", end="")
    print(f"   a factor of {factor:.2f} a step")

# %% [figure]
fig, ax = figure("How far back does the gradient reach?", size=(7.2, 3))
looks = zip((ORANGE, GREEN, GREEN, BLUE, BLUE), ("-", "-", "--", "-", "--"))
ends = {name: sizes[-1] / sizes[0] for name, sizes in reach.items()}
for (name, sizes), (colour, style) in zip(reach.items(), looks):
    ax.semilogy(sizes / sizes[0], style, color=colour)
    y = ends[name] * {"GRU": 0.2, "LSTM": 5}.get(name, 1)
    ax.text(60, y, name, color=colour, va="center")
ax.set(xlabel="steps before the last", ylabel="gradient / that of the last input")
ax.set_xlim(-2, 74)
p, g, g3, f, f3 = ends.values()
alt = f"""Size of the gradient at an input against its distance from the end, relative
to the last input. Plain recurrence, GRU and LSTM all fall, to {p:.0e}, {g:.0e} and
{f:.0e} at 59 steps; with z near 1 the GRU keeps {g3:.2f}, with f near 1 the LSTM
{f3:.2f}."""
show(fig, "reach", alt)

# %% [markdown]
# Before training, GRU and LSTM lose the gradient, too. Their gates are near a half, so
# forty steps multiply the direct share by about $0.5^{40}$, or $10^{-12}$; the other
# shares add to it. But a gate can change this. If training, or a bias, moves $z$ or $f$
# towards 1, the direct share keeps most of the gradient at each step.
#
# > **The book says** (chapter 6) that "LSTMs and GRUs solved the vanishing gradient
# > problem". They made it solvable. At the start their gradients vanish, too.

# %% [claims]
untrained = [arriving(lambda x, run=mg.nn.GRU(8, 32): run(x)[0][:, -1])
             for _ in range(20)]  # fmt: skip
claim("6", "a GRU has solved the vanishing gradient: 40 steps back at least a tenth "
      "of it is left, before training", above(0.1),
      over_draws([sizes[40] / sizes[0] for sizes in untrained]))

# %% [markdown]
# ## Further: how much could one vector hold?
#
# Can 256 numbers hold a sentence of 50 words? A word out of 30,000 equally likely ones
# takes $\log_2 30000$ bits. A number of single precision has 32 bits:

# %%
a_word = np.log2(30_000)  # bits
for d in (1024, 256):
    space = d * 32
    print(f"{d} numbers: {space} bits, 50 words {50 * a_word:.0f} bits", end="   ")
    print(f"full at {space / a_word:,.0f} words")

# %% [markdown]
# Fifty words fill {{ f"{100 * 50 * a_word / space:.0f}" }} percent of 256 numbers. A
# vector of any fixed length is full at *some* length of sentence, but by this count far
# beyond fifty words. Even one number of double precision can hold eleven letters
# exactly. Read the letters as the digits of a number to the base 26:


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
# The code works, and it is useless. With a little noise the later letters are lost,
# because each of them needs a reading 26 times finer than the one before. So bits are
# not what is scarce. What is scarce is a code that a network can *learn*, that survives
# the tanh of every step, and that a decoder of a few matrices can read.
#
# > **The book says** (6.1.1 to 6.1.3) that the capacity of a fixed vector must overflow
# > as the content grows. That is right, at hundreds of words with 256 numbers. It says
# > that quality falls with length, that a wider vector is no complete solution, and
# > that looking back removes the bottleneck. The curves above agree with the first two,
# > after {{ kept["steps"] }} steps, and with the third up to the length of training.

# %% [claims]
from lessons.instrument.verdict import over_seeds

claim("6.1.1", "50 words are more than 256 numbers can hold (bits of the words, over "
      "bits of the numbers: above 1)", above(1), 50 * a_word / space)
claim("6.1.1", "for every width there is a length that is too long", YES, True,
      f"256 numbers are full at {space / a_word:,.0f} words")
letters = {(r["attention"], r["hidden"]): np.array(r["letters"]) for r in kept["runs"]}
short, longest = (kept["lengths"].index(S) for S in (4, kept["longest"]))
steps, alone = kept["steps"], "none"  # without attention
for section, width, says in (
    ("6.1.2", 32, "without attention, quality falls with length (fall in right letters"),
    ("6.1.1", 128, "a wider vector is no complete solution (fall in right letters"),
):
    fall = letters[alone, width][:, short] - letters[alone, width][:, longest]
    says += f", {width} numbers, from length 4 to the longest of training)"
    claim(section, says, above(0), over_seeds(fall, steps=steps))
gain = letters["bahdanau", 32][:, longest] - letters[alone, 128][:, longest]
claim("6.1.3", "looking back removes the bottleneck: attention with 32 numbers beats "
      "128 numbers without it, at the longest length of training (difference)",
      above(0), over_seeds(gain, steps=steps))

# %% [markdown]
# ## Further: could training read the model's own letters?
#
# A decoder is trained with correct letters and used with its own. So in use it meets
# inputs that it has never seen in training: its own mistakes. *Scheduled sampling*
# (Bengio and others 2015) mixes the two. A share $p$ of the correct letters in the
# input is replaced by what the model would write there, and $p$ grows during training.
# What it should *write* stays the same. The untrained model of the beginning, once more
# (after the last letter the end sign should be written; the output leaves it out):

# %%
from attention.decoding.sampling import mixed_inputs
from attention.tasks.reversal import make_batch

mg.manual_seed(2)
model = Seq2Seq(Seq2SeqConfig(29, 29, hidden=32, attention="none"))
batch = make_batch(np.array([[3, 4, 5, 6, 7]]), [5])  # "abcde"
for p in (0.0, 0.5, 1.0):
    read = mixed_inputs(model, batch, p, np.random.default_rng(1))
    print(f"p = {p:.1f}   reads <s>, {', '.join(decode(read[0, 1:]))}", end="   ")
    print(f"should write {', '.join(decode(batch.target_out[0, :5]))}")

# %% [markdown]
# A choice has no derivative, so no gradient goes from a letter of the input to the step
# that chose this letter. The loss of a later step therefore cannot correct the choice;
# it only teaches the model to continue after it.
