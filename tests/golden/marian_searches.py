"""The searches whose results ``record_marian.py`` records, and the tests repeat."""

BANNED = [[word] for word in range(10, 31)]
SEARCHES = {
    "greedy": dict(num_beams=1),
    "beam2": dict(num_beams=2),
    "beam4": dict(num_beams=4),
    "long": dict(num_beams=4, length_penalty=2.0),
    "short": dict(num_beams=4, length_penalty=-1.0),
    "early": dict(num_beams=4, early_stopping=True),
    "never": dict(num_beams=3, early_stopping="never"),
    "cut": dict(num_beams=1, max_length=4),
    "cut4": dict(num_beams=4, max_length=4),
    "bans": dict(num_beams=1, bad_words_ids=BANNED),
    "bans4": dict(num_beams=4, bad_words_ids=BANNED, renormalize_logits=False),
    "renewed": dict(num_beams=4, bad_words_ids=BANNED, renormalize_logits=True),
}
MAX_LENGTH = 12
