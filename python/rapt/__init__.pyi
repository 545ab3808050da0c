from os import PathLike
from types import TracebackType
from typing import Any, Iterable, Literal, Optional, Sequence, TypedDict, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

Real = TypeVar("Real", np.float32, np.float64)
Floats = Union[NDArray[np.float32], NDArray[np.float64]]
Bools = NDArray[np.bool_]
Integers = Union[NDArray[np.int64], NDArray[np.int32]]
Corner = Union[bool, Literal["top_left", "bottom_right"]]

__version__: str
contract_version: int

class Info(TypedDict):
    version: str
    contract_version: int
    isa: str

def info() -> Info: ...

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
    q: NDArray[Real],
    k: NDArray[Any],
    v: NDArray[Any],
    *,
    causal: Corner = False,
    scale: Optional[float] = None,
    window: Optional[int] = None,
    softcap: float = 0.0,
    key_mask: Optional[Bools] = None,
    key_lengths: Optional[NDArray[np.int64]] = None,
    query_mask: Optional[Bools] = None,
    attend: Optional[Bools] = None,
    bias: Optional[NDArray[Real]] = None,
    alibi_slopes: Optional[NDArray[Real]] = None,
    return_weights: bool = False,
    return_scores: bool = False,
    return_lse: bool = False,
    return_report: bool = False,
    out: Optional[NDArray[Real]] = None,
) -> Any: ...
def merge(
    out1: NDArray[Real], lse1: NDArray[Real], out2: NDArray[Real], lse2: NDArray[Real]
) -> tuple[NDArray[Real], NDArray[Real]]: ...
def alibi_slopes(n_heads: int, *, max_bias: float = 8.0, dtype: Literal["f32", "f64"] = "f64") -> Floats: ...
def split_heads(projected: NDArray[Real], num_heads: int) -> NDArray[Real]: ...
def project_qkv(
    x: NDArray[Real],
    w_q: NDArray[Real],
    w_k: NDArray[Real],
    w_v: NDArray[Real],
    num_query_heads: int,
    num_kv_heads: int,
) -> tuple[NDArray[Real], NDArray[Real], NDArray[Real]]: ...
def multi_head_causal_attention(
    q: NDArray[Real], k: NDArray[Real], v: NDArray[Real]
) -> tuple[NDArray[Real], NDArray[Real]]: ...
def grouped_query_causal_attention(
    q: NDArray[Real], k: NDArray[Real], v: NDArray[Real]
) -> tuple[NDArray[Real], NDArray[Real]]: ...
def cached_multi_head_attention(
    q: NDArray[Real],
    k: NDArray[Real],
    v: NDArray[Real],
    k_cache: Optional[NDArray[Real]] = None,
    v_cache: Optional[NDArray[Real]] = None,
) -> tuple[NDArray[Real], NDArray[Real], NDArray[Real], NDArray[Real]]: ...
def cached_grouped_query_attention(
    q: NDArray[Real],
    k: NDArray[Real],
    v: NDArray[Real],
    k_cache: Optional[NDArray[Real]] = None,
    v_cache: Optional[NDArray[Real]] = None,
) -> tuple[NDArray[Real], NDArray[Real], NDArray[Real], NDArray[Real]]: ...
def decode_without_cache(
    x: NDArray[Real], wq: NDArray[Real], wk: NDArray[Real], wv: NDArray[Real]
) -> NDArray[Real]: ...
def cached_attention(
    x: NDArray[Real], wq: NDArray[Real], wk: NDArray[Real], wv: NDArray[Real]
) -> tuple[NDArray[Real], NDArray[Real], NDArray[Real]]: ...
def cached_attention_preallocated(
    x: NDArray[Real], wq: NDArray[Real], wk: NDArray[Real], wv: NDArray[Real]
) -> tuple[NDArray[Real], NDArray[Real], NDArray[Real]]: ...
def batched_cached_attention(
    x: NDArray[Real], wq: NDArray[Real], wk: NDArray[Real], wv: NDArray[Real]
) -> tuple[NDArray[Real], NDArray[Real], NDArray[Real]]: ...
def sequential_cached_attention(
    x: NDArray[Real], wq: NDArray[Real], wk: NDArray[Real], wv: NDArray[Real]
) -> tuple[NDArray[Real], NDArray[Real], NDArray[Real]]: ...
def rope(
    x: NDArray[Real],
    positions: NDArray[np.int64],
    *,
    base: float = 10000.0,
    interleaved: bool = False,
    out: Optional[NDArray[Real]] = None,
) -> NDArray[Real]: ...
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
        self, ids: Integers, *, first_position: int = 0, out: Optional[NDArray[np.float32]] = None
    ) -> NDArray[np.float32]: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def hidden_dim(self) -> int: ...
    @property
    def max_seq_len(self) -> int: ...

def encode(text: Union[str, bytes], *, bos: bool = False, eos: bool = False) -> NDArray[np.int64]: ...
def decode(ids: Union[Integers, Sequence[int]]) -> str: ...
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
    def mask(self) -> Bools: ...
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
