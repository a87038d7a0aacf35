"""Record what the reference implementation makes of a tiny Marian model and of texts.

The project needs none of this to run. To record again, in an environment of its own:

    pip install torch==2.13.0 transformers sentencepiece
    python tests/golden/record_marian.py

It writes, beside itself,

    marian.safetensors   the weights of a random model, as save_pretrained does
    marian.npz           its config, inputs, logits, cross-attentions and generated ids;
                         the versions that they come from
    marian_NAME.spm      unigram models trained on the text below
    marian_text.json     texts, their pieces and the texts of pieces; a vocabulary, and
                         the ids and texts of MarianTokenizer
"""

import io
import json
import pathlib
import random
import tempfile

import numpy as np
import sentencepiece
import torch
import transformers
from sentencepiece import sentencepiece_model_pb2
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

torch.set_num_threads(1)
HERE = pathlib.Path(__file__).parent

CONFIG = dict(
    d_model=16,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=24,
    decoder_ffn_dim=24,
    encoder_layers=2,
    decoder_layers=2,
    scale_embedding=True,
    max_position_embeddings=64,
    vocab_size=50,
    activation_function="swish",
    pad_token_id=49,
    decoder_start_token_id=49,
    eos_token_id=0,
    bos_token_id=0,
    dropout=0.1,
    attn_implementation="eager",
)
GENERATION = dict(
    bad_words_ids=[[49]], forced_eos_token_id=0, renormalize_logits=True, num_beams=4
)
BANNED = [[word] for word in range(10, 31)]
SEARCHES = {"greedy": {}, "bans": {"bad_words_ids": BANNED}}
MAX_LENGTH = 12
SEED = 1  # of a model that says sentences of unlike lengths
LENGTHS = (7, 4, 5, 1)  # of the sources


def made():
    """A model that has learnt a little of reversing its source, so that it says things.

    A random one says one word again and again.
    """
    torch.manual_seed(SEED)
    config = MarianConfig(**CONFIG)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "embed_positions" in key:
                continue
            if "layer_norm.weight" in key:
                p.copy_(1 + 0.2 * torch.randn(p.shape))
            elif key.endswith("bias"):
                p.copy_(0.2 * torch.randn(p.shape))
            elif "embed" in key or "shared" in key or "lm_head" in key:
                p.copy_(0.25 * torch.randn(p.shape))
            else:
                p.copy_(torch.randn(p.shape) / p.shape[-1] ** 0.5)
        model.final_logits_bias.copy_(0.3 * torch.randn(model.final_logits_bias.shape))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    words = config.vocab_size - 6
    for _ in range(250):
        source = torch.randint(6, words, (32, int(torch.randint(2, 8, ()))))
        source[:, -1] = 0
        labels = torch.cat([source[:, :-1].flip(1), source[:, -1:]], 1)
        optimizer.zero_grad()
        model(input_ids=source, labels=labels).loss.backward()
        optimizer.step()
    for key, value in GENERATION.items():
        setattr(model.generation_config, key, value)
    return model


def record_model():
    model = made()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        folder = pathlib.Path(folder)
        weights = (folder / "model.safetensors").read_bytes()
        (HERE / "marian.safetensors").write_bytes(weights)
        config = (folder / "config.json").read_text()
        generation = (folder / "generation_config.json").read_text()
    rng = np.random.default_rng(SEED)
    c = model.config
    B, S = len(LENGTHS), max(LENGTHS)
    source = rng.integers(1, c.vocab_size - 2, (B, S))
    mask = np.arange(S) < np.array(LENGTHS)[:, None]
    source[~mask] = c.pad_token_id
    source[np.arange(B), np.array(LENGTHS) - 1] = 0
    target = rng.integers(0, c.vocab_size - 2, (B, 6))
    target[:, 0] = c.decoder_start_token_id
    inputs = dict(
        input_ids=torch.from_numpy(source),
        attention_mask=torch.from_numpy(mask.astype(np.int64)),
    )
    found = {"source": source, "mask": mask, "target": target}
    with torch.no_grad():
        said = model(
            **inputs,
            decoder_input_ids=torch.from_numpy(target),
            output_attentions=True,
        )
        found["logits"] = said.logits.numpy()
        found["cross"] = torch.stack(said.cross_attentions).numpy()
        for search, settings in SEARCHES.items():
            one, two = (
                each.generate(
                    **inputs, max_length=MAX_LENGTH, num_beams=1, **settings
                ).numpy()
                for each in (model, model.double())
            )
            model.float()
            assert np.array_equal(one, two), f"{search}: rounding decides"
            found[search] = one
    found["config"] = np.frombuffer(config.encode(), np.uint8)
    found["generation"] = np.frombuffer(generation.encode(), np.uint8)
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    found["provenance"] = np.array(f"{versions}, tests/golden/record_marian.py")
    np.savez_compressed(HERE / "marian.npz", **found)


SENTENCES = """
the old sailor reads a letter in the garden
a small dog sleeps in the warm sun by the sea
the children read the letters and the books
she wrote long stories to the old man by the sea
where is the dog? the dog is in the garden!
a naïve café owner, an old façade: 12 letters and 34 books
der alte Seemann liest einen Brief im Garten
ein kleiner Hund schläft in der warmen Sonne am Meer
die Kinder lesen die Briefe und die Bücher
das kleine Haus am Meer gehört dem alten Mann
""".strip().splitlines()
# A few of the rules of nmt_nfkc, and one that makes three letters of one; the whole
# table would be 240 kB. Left and right in hexadecimal, as spm_train wants them.
RULES = {
    "\t": " ", "\n": " ", "\u00a0": " ", "\u3000": " ", "\u2003": " ", "\u200b": " ",
    "\x01": "", "\u00ad": "", "\ufb01": "fi", "\ufb03": "ffi", "\u2460": "1",
    "e\u0301": "é", "u\u0308": "ü", "a\u0308": "ä", "a\u0308\u0301": "ǟ",
    "\uff41": "a", "\uff24": "D", "\u212b": "Å", "\u33a5": "m3", "\uff01": "!",
    "\u1100\u1161": "\uac00", "\u1100\u1161\u11a8": "\uac01", "\U0001d400": "A",
    "\u2026": "...", "\u00bd": "1\u20442", "\u00a8": " \u0308",
}  # fmt: skip
SPMS = {
    "source": dict(lines=slice(0, 6), vocab_size=110),
    "target": dict(lines=slice(6, 10), vocab_size=80),
    "own": dict(
        lines=slice(0, 10),
        vocab_size=120,
        user_defined_symbols=["dog", "<sea>", "e\u0301"],
        control_symbols=["<c>"],
    ),
}


def trained(lines, vocab_size, **options):
    """The bytes of a unigram model, without the settings that name this machine."""
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "rules.tsv"
        code = lambda text: " ".join(f"{ord(c):X}" for c in text)  # noqa: E731
        rules.write_text("".join(f"{code(a)}\t{code(b)}\n" for a, b in RULES.items()))
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES[lines] * 3),
            model_writer=out,
            model_type="unigram",
            vocab_size=vocab_size,
            character_coverage=1.0,
            hard_vocab_limit=False,
            minloglevel=2,
            normalization_rule_tsv=str(rules),
            **options,
        )
    proto = sentencepiece_model_pb2.ModelProto.FromString(out.getvalue())
    proto.normalizer_spec.normalization_rule_tsv = ""
    return proto.SerializeToString()


def texts(pieces, rng, n):
    """Texts of what the models know, and of what they do not."""
    odd = ["Ω", "語", "😀", "\u2581", "\x7f", "aaaa", "ttt", ">>de<<", "a\u0308"]
    odd = [*RULES, *odd]
    yield from ["", " ", "   ", "\t\n", "the  dog ", " The dog", "caf\u00e9 cafe\u0301"]
    for _ in range(n):
        parts = rng.choices([pieces, [" ", "  "], odd], [6, 4, 2], k=rng.randint(1, 9))
        yield "".join(rng.choice(part) for part in parts)


def record_texts():
    found = {"provenance": f"sentencepiece {sentencepiece.__version__}"}
    for name, options in SPMS.items():
        path = HERE / f"marian_{name}.spm"
        path.write_bytes(trained(**options))
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        pieces = [model.id_to_piece(i) for i in range(model.vocab_size())]
        rng = random.Random(len(name))
        known = [piece.replace("\u2581", " ") for piece in pieces]
        encoded = [(t, model.encode(t, out_type=str)) for t in texts(known, rng, 120)]
        rows = [p for _, p in encoded[:40]]
        rows += [rng.choices(pieces, k=rng.randint(1, 7)) for _ in range(80)]
        rows += [["xyz\u2581", *pieces[40:42]], ["<unk>"], ["\u2581", "\u2581the"]]
        decoded = [(row, model.decode_pieces(row)) for row in rows]
        found[name] = {"encoded": encoded, "decoded": decoded}
    found["tokenizer"] = recorded_tokenizer()
    text = json.dumps(found, ensure_ascii=True, separators=(",", ":"))
    (HERE / "marian_text.json").write_text(text + "\n")


def recorded_tokenizer():
    """Marian's own vocabulary over two models, and what its tokenizer makes of it."""
    vocab = {"</s>": 0, "<unk>": 1}
    for name in ("source", "target"):
        path = HERE / f"marian_{name}.spm"
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for i in range(3, model.vocab_size()):
            if i % 9:  # some pieces are not in the vocabulary
                vocab.setdefault(model.id_to_piece(i), len(vocab))
    vocab[">>de<<"], vocab["<pad>"] = len(vocab), len(vocab) + 1
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vocab.json"
        path.write_text(json.dumps(vocab))
        spms = (str(HERE / f"marian_{name}.spm") for name in ("source", "target"))
        tokenizer = MarianTokenizer(*spms, str(path))
    rng = random.Random(7)
    words = [*SENTENCES[0].split(), " ", "Ω", "dog,", "caf\u00e9", "\ufb01"]
    lines = ["", "the dog", ">>de<< the old dog", ">>fr<< the old dog", "dog >>de<<"]
    lines += [" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(25)]
    ids = [(t, tokenizer(t)["input_ids"]) for t in lines]
    rows = [rng.choices(range(len(vocab)), k=rng.randint(1, 8)) for _ in range(40)]
    said = [(row, tokenizer.decode(row, skip_special_tokens=True)) for row in rows]
    return {"vocab": vocab, "ids": ids, "said": said}


if __name__ == "__main__":
    record_model()
    record_texts()
