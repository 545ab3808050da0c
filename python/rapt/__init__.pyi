from os import PathLike
from types import TracebackType
from typing import Any, Iterable, Literal, Optional, Sequence, TypedDict, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", np.float32, np.float64)
_Floats = Union[NDArray[np.float32], NDArray[np.float64]]
_Bools = NDArray[np.bool_]
_Integers = Union[NDArray[np.int64], NDArray[np.int32]]
_Corner = Union[bool, np.bool_, Literal["top_left", "bottom_right"]]

__version__: str
contract_version: int

class _Info(TypedDict):
    version: str
    contract_version: int
    isa: str

def info() -> _Info: ...

class threads:
    def __init__(self, n: int) -> None: ...
    def __enter__(self) -> threads: ...
    def __exit__(
        self,
        kind: Optional[type[BaseException]] = ...,
        error: Optional[BaseException] = ...,
        trace: Optional[TracebackType] = ...,
    ) -> None: ...

def attention(
    q: NDArray[_Real],
    k: NDArray[Any],
    v: NDArray[Any],
    *,
    causal: _Corner = False,
    scale: Optional[float] = None,
    window: Optional[int] = None,
    softcap: Optional[float] = 0.0,
    key_mask: Optional[_Bools] = None,
    key_lengths: Optional[NDArray[np.int64]] = None,
    query_mask: Optional[_Bools] = None,
    attend: Optional[_Bools] = None,
    bias: Optional[NDArray[_Real]] = None,
    alibi_slopes: Optional[NDArray[_Real]] = None,
    return_weights: bool = False,
    return_scores: bool = False,
    return_lse: bool = False,
    return_report: bool = False,
    out: Optional[NDArray[_Real]] = None,
) -> Any: ...
def merge(
    out1: NDArray[_Real], lse1: NDArray[_Real], out2: NDArray[_Real], lse2: NDArray[_Real]
) -> tuple[NDArray[_Real], NDArray[_Real]]: ...
def alibi_slopes(n_heads: int, *, max_bias: float = 8.0, dtype: Literal["f32", "f64"] = "f64") -> _Floats: ...
def split_heads(projected: NDArray[_Real], num_heads: int) -> NDArray[_Real]: ...
class Projection:
    def __init__(self, weight: NDArray[_Real], bias: Optional[NDArray[_Real]] = None) -> None: ...
    def forward(
        self, x: NDArray[_Real], *, num_heads: Optional[int] = None, out: Optional[NDArray[_Real]] = None
    ) -> NDArray[_Real]: ...
    @property
    def in_dim(self) -> int: ...
    @property
    def out_dim(self) -> int: ...

def project_qkv(
    x: NDArray[_Real],
    w_q: Union[NDArray[_Real], Projection],
    w_k: Union[NDArray[_Real], Projection],
    w_v: Union[NDArray[_Real], Projection],
    num_query_heads: int,
    num_kv_heads: int,
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real]]: ...
def multi_head_causal_attention(
    q: NDArray[_Real], k: NDArray[_Real], v: NDArray[_Real]
) -> tuple[NDArray[_Real], NDArray[_Real]]: ...
def grouped_query_causal_attention(
    q: NDArray[_Real], k: NDArray[_Real], v: NDArray[_Real]
) -> tuple[NDArray[_Real], NDArray[_Real]]: ...
def cached_multi_head_attention(
    q: NDArray[_Real],
    k: NDArray[_Real],
    v: NDArray[_Real],
    k_cache: Optional[NDArray[_Real]] = None,
    v_cache: Optional[NDArray[_Real]] = None,
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real], NDArray[_Real]]: ...
def cached_grouped_query_attention(
    q: NDArray[_Real],
    k: NDArray[_Real],
    v: NDArray[_Real],
    k_cache: Optional[NDArray[_Real]] = None,
    v_cache: Optional[NDArray[_Real]] = None,
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real], NDArray[_Real]]: ...
def decode_without_cache(
    x: NDArray[_Real], wq: NDArray[_Real], wk: NDArray[_Real], wv: NDArray[_Real]
) -> NDArray[_Real]: ...
def cached_attention(
    x: NDArray[_Real], wq: NDArray[_Real], wk: NDArray[_Real], wv: NDArray[_Real]
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real]]: ...
def cached_attention_preallocated(
    x: NDArray[_Real], wq: NDArray[_Real], wk: NDArray[_Real], wv: NDArray[_Real]
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real]]: ...
def batched_cached_attention(
    x: NDArray[_Real], wq: NDArray[_Real], wk: NDArray[_Real], wv: NDArray[_Real]
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real]]: ...
def sequential_cached_attention(
    x: NDArray[_Real], wq: NDArray[_Real], wk: NDArray[_Real], wv: NDArray[_Real]
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real]]: ...
class KvCache:
    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        v_dim: Optional[int] = None,
        window: Optional[int] = None,
        dtype: Literal["f32", "f64", "bf16", "f16"] = "f32",
    ) -> None: ...
    def append(
        self,
        k: NDArray[Any],
        v: NDArray[Any],
        *,
        key_mask: Optional[_Bools] = None,
        rope_base: Optional[float] = None,
        rope_interleaved: bool = False,
    ) -> None: ...
    def attend(
        self,
        q: NDArray[_Real],
        k: NDArray[Any],
        v: NDArray[Any],
        *,
        key_mask: Optional[_Bools] = None,
        scale: Optional[float] = None,
        softcap: Optional[float] = 0.0,
        rope_base: Optional[float] = None,
        rope_interleaved: bool = False,
        out: Optional[NDArray[_Real]] = None,
    ) -> NDArray[_Real]: ...
    def query(
        self,
        q: NDArray[_Real],
        *,
        query_mask: Optional[_Bools] = None,
        scale: Optional[float] = None,
        softcap: Optional[float] = 0.0,
        rope_base: Optional[float] = None,
        rope_interleaved: bool = False,
        out: Optional[NDArray[_Real]] = None,
    ) -> NDArray[_Real]: ...
    def positions(self, b: int) -> NDArray[np.int64]: ...
    def rollback(self, length: Union[int, NDArray[np.int64]]) -> None: ...
    def clear(self) -> None: ...
    def copy_sequence(self, source: int, target: int) -> None: ...
    def keys(self, b: int) -> _Floats: ...
    def values(self, b: int) -> _Floats: ...
    @property
    def length(self) -> NDArray[np.int64]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def window(self) -> Optional[int]: ...

def rope(
    x: NDArray[_Real],
    positions: NDArray[np.int64],
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    out: Optional[NDArray[_Real]] = None,
) -> NDArray[_Real]: ...
def sinusoidal(length: int, hidden_dim: int) -> NDArray[np.float32]: ...

class Embedding:
    token_table: NDArray[np.float32]
    position_table: NDArray[np.float32]
    def __init__(
        self,
        vocab_size: int = 260,
        hidden_dim: int = 64,
        max_seq_len: int = 128,
        *,
        position: Literal["none", "sinusoidal", "learned"] = "sinusoidal",
        std: float = 0.02,
        seed: int = 0,
    ) -> None: ...
    def forward(
        self, ids: _Integers, *, first_position: int = 0, out: Optional[NDArray[np.float32]] = None
    ) -> NDArray[np.float32]: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def hidden_dim(self) -> int: ...
    @property
    def max_seq_len(self) -> int: ...

def encode(text: Union[str, bytes], *, bos: bool = False, eos: bool = False) -> NDArray[np.int64]: ...
def decode(ids: Union[_Integers, Sequence[int]]) -> str: ...
def one_hot(words: Iterable[str]) -> tuple[list[str], NDArray[np.float64]]: ...
def kv_capacity(
    batch: int,
    n_kv_heads: int,
    tokens: int,
    head_dim: int,
    *,
    v_dim: Optional[int] = None,
    layers: int = 1,
    dtype: Literal["f32", "f64", "bf16", "f16"] = "f32",
) -> int: ...

class Stages:
    @property
    def words(self) -> list[str]: ...
    @property
    def mask(self) -> _Bools: ...
    @property
    def q(self) -> NDArray[np.float64]: ...
    @property
    def k(self) -> NDArray[np.float64]: ...
    @property
    def v(self) -> NDArray[np.float64]: ...
    @property
    def scores(self) -> NDArray[np.float64]: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...
    @property
    def output(self) -> NDArray[np.float64]: ...
    @property
    def generated(self) -> NDArray[np.float64]: ...
    @property
    def dot_products(self) -> NDArray[np.int64]: ...
    @property
    def text(self) -> str: ...

def run_stages(
    source: Union[str, bytes, PathLike[str]],
    *,
    arithmetic: Literal["textbook", "fused"] = "textbook",
    unbounded: bool = False,
) -> Stages: ...
