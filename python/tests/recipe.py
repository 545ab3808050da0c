"""The NumPy recipe that the module is compared with: float64, every intermediate an array of its own."""

import numpy as np


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def causal_attention(q, k, v):
    """q [B, Hq, T, D], k and v [B, Hkv, T, D]; returns (output, weights)."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    above = np.triu(np.ones((q.shape[2], k.shape[2]), bool), k=1 + k.shape[2] - q.shape[2])
    weights = softmax(np.where(above, -np.inf, scores))
    return weights @ v, weights


def split_heads(projected, heads):
    batch, tokens, width = projected.shape
    return projected.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)


def rope(x, positions, base=10000.0, interleaved=False):
    half = x.shape[-1] // 2
    angle = positions[..., None] * base ** (-np.arange(half) / half)
    cosine, sine = np.cos(angle), np.sin(angle)
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = np.stack([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    return turned.reshape(x.shape) if interleaved else np.concatenate([turned[..., 0], turned[..., 1]], axis=-1)
