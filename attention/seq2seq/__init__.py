"""Encoder, decoder and what stands between them."""
