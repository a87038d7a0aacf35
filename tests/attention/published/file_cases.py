"""Write, and damage, files of small published models: GGUF, safetensors, tokenizers."""

import json
import struct

import numpy as np

from attention.published.bpe import SYMBOLS

# dtypes of GGUF's metadata, and the number of each type
NUMBERS = {bool: ("?", 7), int: ("<u4", 4), float: ("<f4", 6)}
KINDS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "BF16": 30}
STRING, ARRAY = 8, 9

MERGES = [  # of a tokenizer with one token for each byte
    ("l", "o"), ("e", "r"), ("lo", "w"), ("low", "er"), ("Ġ", "low"), ("Ã", "©"),
]  # fmt: skip
SPECIAL = ["<|end|>", "<|im_start|>"]
TOKENS = [*SPECIAL, *SYMBOLS.values(), *(a + b for a, b in MERGES)]
VOCABULARY = {token: i for i, token in enumerate(TOKENS)}
LENGTHS = 2**60, 2**63, 2**64 - 1, 2**32, 2**31 - 1, 0  # that damage may write


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def text(string):
    return u64(len(string.encode())) + string.encode()


def value(x):
    """Return the type and the bytes of an entry of the metadata."""
    if isinstance(x, str):
        return u32(STRING) + text(x)
    if isinstance(x, list) and isinstance(x[0], str):
        return u32(ARRAY) + u32(STRING) + u64(len(x)) + b"".join(map(text, x))
    dtype, kind = NUMBERS[type(x[0] if isinstance(x, list) else x)]
    data = np.array(x, dtype).tobytes()
    return u32(ARRAY) + u32(kind) + u64(len(x)) + data if type(x) is list else (
        u32(kind) + data
    )  # fmt: skip


def gguf(metadata, tensors, version=3, alignment=32):
    """Return the bytes of a GGUF file.

    tensors   {name: (type, a name in KINDS or a number; shape; bytes)}
    """
    header = b"GGUF" + u32(version) + u64(len(tensors)) + u64(len(metadata))
    header += b"".join(text(key) + value(x) for key, x in metadata.items())
    data = b""
    for name, (kind, shape, content) in tensors.items():
        header += text(name) + u32(len(shape)) + b"".join(map(u64, shape[::-1]))
        header += u32(KINDS.get(kind, kind)) + u64(len(data))
        data += content + bytes(-len(content) % alignment)
    return header + bytes(-len(header) % alignment) + data


def safetensors(arrays):
    """Return the bytes of a file of {name: (type, shape, bytes)}."""
    header, data = {}, b""
    for name, (kind, shape, content) in arrays.items():
        place = [len(data), len(data) + len(content)]
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": place}
        data += content
    raw = json.dumps(header).encode()
    return u64(len(raw)) + raw + data


def metadata(**changes):
    """Return the metadata of a small model; changes are tokenizer entries."""
    entries = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": TOKENS,
        "token_type": [3 if token in SPECIAL else 1 for token in TOKENS],
        "merges": [" ".join(pair) for pair in MERGES],
    } | changes
    tokens = {f"tokenizer.ggml.{k}": x for k, x in entries.items() if x is not None}
    return {"general.architecture": "llama", "llama.rope.freq_base": 1e5} | tokens


def tokenizer_json(splitting="smollm", **changes):
    """Return the dict of a tokenizer.json."""
    from attention.published.tokenizer_files import QWEN2

    by_bytes = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    first = {
        "smollm": {"type": "Digits", "individual_digits": True},
        "qwen2": {"type": "Split", "pattern": {"Regex": QWEN2}},
    }.get(splitting)
    if splitting == "qwen2":
        by_bytes["use_regex"] = False
    steps = {"type": "Sequence", "pretokenizers": [first, by_bytes]}
    return {
        "model": {"type": "BPE", "vocab": VOCABULARY, "merges": MERGES},
        "added_tokens": [
            {"id": VOCABULARY[token], "content": token, "special": True}
            for token in SPECIAL
        ],
        "pre_tokenizer": steps if first else by_bytes,
        "normalizer": {"type": "NFC"} if splitting == "qwen2" else None,
    } | changes


def make_folder(path, splitting="smollm"):
    """Write the folder of a small model with a tensor of each type of floats."""
    (path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    tensors = {
        "a": ("F32", [2, 3], np.arange(6, dtype="<f4").tobytes()),
        "b": ("BF16", [2], b"\x40\x40\x80\xff"),  # 3, -infinity
        "c": ("F16", [1], np.array([1.5], "<f2").tobytes()),
        "d": ("I64", [], np.array(7, "<i8").tobytes()),
    }
    (path / "model.safetensors").write_bytes(safetensors(tensors))
    (path / "tokenizer.json").write_text(json.dumps(tokenizer_json(splitting)))
    return path


def damaged(raw, rng):
    """Return the bytes with one kind of damage."""
    raw, kind = bytearray(raw), rng.randrange(5)
    i = rng.randrange(len(raw))
    if kind == 0:  # cut
        del raw[i:]
    elif kind == 1:  # a few bytes are others
        for i in rng.choices(range(len(raw)), k=rng.randint(1, 4)):
            raw[i] = rng.randrange(256)
    elif kind == 2:  # a length, or in JSON a number
        digit = [j for j in range(len(raw)) if raw[j : j + 1].isdigit()]
        if raw[:1] == b"{" and digit:
            j = rng.choice(digit)
            raw[j : j + 1] = str(rng.choice(LENGTHS)).encode()
        else:
            raw[i : i + 8] = u64(rng.choice(LENGTHS))
    elif kind == 3:  # a type
        raw[i : i + 4] = u32(rng.choice([*range(40), 2**31]))
    else:  # a part is missing
        del raw[i : i + rng.randint(1, 20)]
    return bytes(raw)
