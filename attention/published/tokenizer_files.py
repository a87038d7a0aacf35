"""Read a byte-level tokenizer from one of the three forms in which it is published.

    tokenizer.json           vocabulary, merges, special tokens and rules, in a folder
    vocab.json, merges.txt   older: a vocabulary, and a pair of tokens in each line;
                             special tokens are in tokenizer_config.json, if there is
                             one, and the rules are known by the name of the class
    metadata of a GGUF file  the entries tokenizer.ggml.*

A tokenizer of another family (SentencePiece, WordPiece) or with other rules is an
error: with the wrong rules a model would run, and write worse text.
"""

import os

from minigrad.bounds import FileError, read_for_parsing

from .byte_tokenizer import ByteTokenizer
from .files import read_json
from .splitting import RULES

BYTES = 2**26  # of a file; the vocabulary of Qwen3 has 11 MB
CONTROL, USER_DEFINED = 3, 4  # types of special tokens in GGUF
END = "<|endoftext|>"  # GPT-2's only special token
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def read_tokenizer(folder):
    """Return the ByteTokenizer in a folder."""
    path = os.path.join(folder, "tokenizer.json")
    if os.path.exists(path):
        entries = read_json(path, BYTES)
        return _checked(path, lambda: _from_json(entries))
    path = os.path.join(folder, "vocab.json")
    merges = os.path.join(folder, "merges.txt")
    if not os.path.exists(path) or not os.path.exists(merges):
        raise FileNotFoundError(
            f"There is no tokenizer in {folder}: expected tokenizer.json, or "
            "vocab.json and merges.txt."
        )
    config = os.path.join(folder, "tokenizer_config.json")
    config = read_json(config) if os.path.exists(config) else {}
    vocabulary, lines = read_json(path, BYTES), read_for_parsing(merges, BYTES)
    return _checked(path, lambda: _from_lists(vocabulary, lines, config))


def tokenizer_of(metadata, path):
    """Return the ByteTokenizer in the metadata of the GGUF file at ``path``."""
    return _checked(path, lambda: _from_metadata(metadata))


def _checked(path, make):
    """Return make(); FileError for whatever is missing or of a wrong type."""
    try:
        return make()
    except KeyError as error:
        reason = f"{error} is missing or unknown"
    except ValueError as error:
        reason = str(error).rstrip(".")
    except (TypeError, AttributeError, IndexError) as error:
        reason = f"an entry has the wrong form ({error})"
    raise FileError(f"The tokenizer in {path} cannot be used: {reason}.")


def _from_json(entries):
    model, added = entries["model"], entries["added_tokens"]
    expect("the type of its model", model.get("type", "BPE"), ["BPE"])
    expect("ignore_merges", model.get("ignore_merges", False), [False])
    splitting = _splitting(entries["pre_tokenizer"])
    normalizer = (entries["normalizer"] or {}).get("type")
    expect("its normalizer", normalizer, ["NFC" if splitting == "qwen2" else None])
    for token in added:
        for rule in "lstrip", "rstrip", "single_word":
            expect(f"{rule} of {token['content']!r}", token.get(rule, False), [False])
    special = {token["content"]: token["id"] for token in added}
    merges = [tuple(x.split(" ") if isinstance(x, str) else x) for x in model["merges"]]
    vocabulary, unknown = model["vocab"], model.get("unk_token")
    unknown = None if unknown is None else (vocabulary | special)[unknown]
    return _made(vocabulary, merges, special, splitting, unknown)


def _splitting(entry):
    """Return the name in ``RULES`` of the entry pre_tokenizer."""
    steps = entry["pretokenizers"] if entry["type"] == "Sequence" else [entry]
    by_bytes = steps[-1]
    expect("the last pre_tokenizer", by_bytes["type"], ["ByteLevel"])
    expect("add_prefix_space", by_bytes["add_prefix_space"], [False])
    first = [dict(step) for step in steps[:-1]]
    if by_bytes.get("use_regex", True):
        digits = {"type": "Digits", "individual_digits": True}
        expect("the first pre_tokenizer", first, [[], [digits]])
        return "smollm" if first else "gpt-2"
    expect("the number of pre_tokenizers", len(steps), [2])
    expect("the expression", first[0]["pattern"], [{"Regex": QWEN2}])
    return "qwen2"


def _from_lists(vocabulary, lines, config):
    special = {
        token["content"]: int(i)
        for i, token in config.get("added_tokens_decoder", {}).items()
    }
    if not special and END in vocabulary:
        special = {END: vocabulary[END]}
    merges = [
        tuple(line.split(" "))
        for line in lines.decode("utf-8").split("\n")
        if line and not line.startswith("#version:")
    ]
    is_qwen = config.get("tokenizer_class", "").startswith("Qwen2")
    return _made(vocabulary, merges, special, "qwen2" if is_qwen else "gpt-2")


def _from_metadata(metadata):
    def entry(name):
        return metadata[f"tokenizer.ggml.{name}"]

    expect("tokenizer.ggml.model", entry("model"), ["gpt2"])
    splitting = expect("tokenizer.ggml.pre", entry("pre"), list(RULES))
    tokens, types = entry("tokens"), entry("token_type")
    if len(types) != len(tokens):
        raise ValueError(f"found {len(types)} types of {len(tokens)} tokens")
    special = {
        token: i
        for i, token in enumerate(tokens)
        if types[i] in (CONTROL, USER_DEFINED)
    }
    vocabulary = {token: i for i, token in enumerate(tokens)}
    if len(vocabulary) < len(tokens):
        raise ValueError("a token occurs twice")
    merges = [tuple(merge.split(" ")) for merge in entry("merges")]
    unknown = metadata.get("tokenizer.ggml.unknown_token_id")
    return _made(vocabulary, merges, special, splitting, unknown)


def _made(vocabulary, merges, special, splitting, unknown=None):
    """Return the ByteTokenizer, after the checks that its parts belong together."""
    ids = {**vocabulary, **special}
    for token, i in ids.items():
        if type(i) is not int or i < 0 or not token or not isinstance(token, str):
            raise ValueError(f"the token {token!r} has the id {i!r}")
    if len({*ids.values()}) < len(ids):
        raise ValueError("two tokens have the same id")
    for pair in merges:
        if len(pair) != 2 or not {*pair, "".join(pair)} <= vocabulary.keys():
            raise ValueError(f"the merge {pair!r} is no pair that gives a token")
    if unknown is not None and unknown not in ids.values():
        raise ValueError(f"the unknown token has the id {unknown!r}; no token has it")
    return ByteTokenizer(vocabulary, merges, special, splitting, unknown)


def expect(what, found, choices):
    """Return ``found`` if it is among the choices."""
    if found not in choices:
        expected = " or ".join(map(repr, choices))
        raise ValueError(f"{what} is {found!r}; expected {expected}")
    return found
