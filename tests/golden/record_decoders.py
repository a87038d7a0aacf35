"""Record what transformers computes with tiny models of the published architectures.

The project needs none of this to run. To record again, in an environment of its own:

    pip install torch==2.13.0 transformers
    python tests/golden/record_decoders.py

It writes ``decoders.npz`` beside itself: for each model of ``decoder_models.py`` the
shapes of its weights and its logits, for some of them the gradients of the mean
cross-entropy of the next tokens; and the versions that they come from.
"""

import json
import pathlib

import numpy as np
import torch
import transformers
from decoder_models import CONFIGS, IDS, TRAINED, weights
from transformers import AutoConfig, AutoModelForCausalLM

found = {
    "provenance": f"transformers {transformers.__version__}, torch {torch.__version__}"
}
for name, options in CONFIGS.items():
    config = AutoConfig.for_model(
        **options, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    named = dict(model.named_parameters())
    shapes = {each: list(p.shape) for each, p in named.items()}
    with torch.no_grad():
        for each, array in weights(shapes).items():
            named[each].copy_(torch.from_numpy(array))
    ids = torch.from_numpy(IDS)
    logits = model(ids).logits
    found[f"{name}.shapes"] = np.frombuffer(json.dumps(shapes).encode(), np.uint8)
    found[f"{name}.logits"] = logits.detach().numpy()
    if name in TRAINED:
        V = logits.shape[-1]
        loss = torch.nn.functional.cross_entropy(
            logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1)
        )
        loss.backward()
        for each, p in named.items():
            found[f"{name}.gradient.{each}"] = p.grad.numpy()
np.savez_compressed(pathlib.Path(__file__).with_name("decoders.npz"), **found)
