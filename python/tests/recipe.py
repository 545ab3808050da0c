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


def visible_keys(q_len, kv_len, causal="none", window=None, key_mask=None, key_lengths=None, query_mask=None, attend=None,
                 batch=1, heads=1):
    """Who sees whom, row by row as the interface says it; returns (visible [B, H, Tq, Tkv], distance to the row's own key)."""
    visible = np.zeros((batch, heads, q_len, kv_len), bool)
    distance = np.zeros((batch, heads, q_len, kv_len))
    for b in range(batch):
        length = kv_len if key_lengths is None else key_lengths[b]
        real = (np.arange(kv_len) < length) & (True if key_mask is None else key_mask[b])
        position = np.cumsum(real) - 1
        for i in range(q_len):
            limit = {"none": kv_len, "top_left": i, "bottom_right": i + length - q_len}[causal]
            end = np.count_nonzero(real & (np.arange(kv_len) <= limit))
            begin = 0 if window is None else max(0, end - window)
            visible[b, :, i] = real & (position >= begin) & (position < end)
            if query_mask is not None and not query_mask[b, i]:
                visible[b, :, i] = False
            distance[b, :, i] = position - (end - 1)
    if attend is not None:
        visible &= np.broadcast_to(attend, visible.shape)
    return visible, distance


def attention(q, k, v, *, scale=None, softcap=0.0, bias=None, alibi_slopes=None, **who):
    """Every option of rapt.attention; returns (out, weights, scores, lse)."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    visible, distance = visible_keys(q.shape[2], k.shape[2], batch=q.shape[0], heads=q.shape[1], **who)
    scores = q @ k.swapaxes(-1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    if alibi_slopes is not None:
        scores = scores + alibi_slopes[:, None, None] * distance
    scores = np.where(visible, scores, -np.inf)
    sees = visible.any(axis=-1, keepdims=True)
    top = np.where(sees, scores.max(axis=-1, keepdims=True, initial=-np.inf), 0)
    weights = np.exp(scores - top)
    total = np.where(sees, weights.sum(axis=-1, keepdims=True), 1)
    lse = np.where(sees, top + np.log(total), -np.inf)[..., 0]
    return weights / total @ v, weights / total, scores, lse
