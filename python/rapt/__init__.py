"""Attention on CPUs: exact, reproducible and fast, with NumPy arrays.

    import numpy as np, rapt
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 8, 128, 64)) for _ in range(3))
    output, weights = rapt.multi_head_causal_attention(q, k, v)      # [B, H, T, D], [B, H, T, T]
    out = rapt.attention(q, k, v, causal=True, window=32)            # the same engine with every option

Arrays are float64 or float32; any strides, no copy, no cast. TypeError: an argument that is not an array, or another
dtype. ValueError: everything else that is refused; nothing is then written. MemoryError: what a call needs cannot be
allocated. A result has the same bits for any number of threads, batch and memory layout. help(rapt.attention) and the
others give shapes.
"""

from ._rapt import (
    Embedding,
    KvCache,
    Projection,
    Stages,
    __version__,
    alibi_slopes,
    attention,
    batched_cached_attention,
    cached_attention,
    cached_attention_preallocated,
    cached_grouped_query_attention,
    cached_multi_head_attention,
    contract_version,
    decode,
    decode_without_cache,
    encode,
    grouped_query_causal_attention,
    info,
    kv_capacity,
    merge,
    multi_head_causal_attention,
    one_hot,
    project_qkv,
    rope,
    run_stages,
    sequential_cached_attention,
    sinusoidal,
    split_heads,
    threads,
)

__all__ = [name for name in dir() if not name.startswith("_")] + ["__version__"]
