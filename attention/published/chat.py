"""The text around a question, as a chat model learned it: the form ChatML.

    <|im_start|>system
    You are a helpful assistant.<|im_end|>          if the template has such a text
    <|im_start|>user
    What is the capital of France?<|im_end|>
    <|im_start|>assistant
    Paris.<|im_end|>                                the model writes this line

A file has its form as a template, a program in Jinja's language. No template is run:
one with the marks of ChatML, as those of SmolLM2 and Qwen, gives the text above.
"""

import os
import re

from minigrad.bounds import PARSED_BYTES, read_for_parsing

from .files import read_json

START, END = "<|im_start|>", "<|im_end|>"
SYSTEM = re.compile(r"<\|im_start\|>(system(?:\n|\\n)[^<>{}']+<\|im_end\|>)")


def chat_ids(files, question):
    """Return the ids of the text before the answer, and the id that ends an answer.

    files      PublishedFiles
    question   a str; texts of special tokens have no meaning in it

    Raises ValueError if the model has no template, or one of another form.
    """
    tokenizer, template = files.tokenizer, _template(files)
    if not all(mark in template and mark in tokenizer.special for mark in (START, END)):
        found = "a chat template of another form" if template else "no chat template"
        raise ValueError(
            f"{files.path} has {found}; expected ChatML, with {START} and {END}. "
            "Without --chat the model continues a text."
        )
    before, system = f"{START}user\n", SYSTEM.search(template)
    if system:
        before = START + system[1].replace("\\n", "\n") + "\n" + before
    ids = tokenizer.encode(before) + tokenizer.encode(question.strip(), special=False)
    ids += tokenizer.encode(f"{END}\n{START}assistant\n")
    return ids, tokenizer.special[END]


def _template(files):
    """Return the template in the files of a model; "" if there is none."""
    template = files.settings.get("tokenizer.chat_template")
    config = os.path.join(files.path, "tokenizer_config.json")
    alone = os.path.join(files.path, "chat_template.jinja")
    if os.path.exists(alone):
        template = read_for_parsing(alone, PARSED_BYTES).decode("utf-8", "replace")
    elif os.path.exists(config):
        template = read_json(config).get("chat_template")
    return template if isinstance(template, str) else ""
