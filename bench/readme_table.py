"""README's tables of numbers, measured on this machine.

    python3 bench/readme_table.py [BUILD_FOLDER [ROUNDS]]

Every case is timed once a round, on each ISA that runs here, five rounds unless told; a cell has the median and the best.
Shares are of what the same process measured just before and after: the FMA peak, the read bandwidth, a plain loop. Two
threads are timed by the wall clock, which needs an idle machine. Writes Markdown after some minutes.
"""

import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build") / "bin"
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5

PREFILL = {"8 heads, T=2048, D=64": "--n 2048 --d 64 --heads 8",
           "8 heads, T=2048, D=128": "--n 2048 --d 128 --heads 8",
           "32 heads over 8, T=2048, D=128": "--n 2048 --d 128 --heads 32 --kv-heads 8",
           "8 heads, T=512, D=64": "--n 512 --d 64 --heads 8",
           "32 sequences of T=64, 8 heads, D=64": "--n 64 --d 64 --heads 8 --batch 32"}
WEIGHTS = "--n 2048 --d 64 --heads 8 --dtype f32,f64 --benchmark_filter=^fused_weights/"
THREADS = "--n 2048 --d 64,128 --heads 8 --dtype f32,f64 --threads 1,2 --benchmark_filter=^fused/"
DECODE = "--n 1024,8192,32768 --d 128 --heads 32 --kv-heads 8 --dtype f32,bf16 --threads 1,2 --benchmark_filter=^decode/"
STAGED = "--n 64 --d 64 --benchmark_filter=^pipeline/"
STEP = "--n 64 --d 64 --dtype f64,f32 --benchmark_filter=^step/"


def times(program, arguments, isa=None):
    """The cases that the program times, once; none on an ISA that does not run here."""
    command = [str(BIN / program), *arguments.split(), "--benchmark_format=json", "--benchmark_min_time=0.1"]
    environment = dict(os.environ, **({"RAPT_ISA": isa} if isa else {}))
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        if isa:
            return []
        sys.exit(run.stderr)
    return json.loads(run.stdout)["benchmarks"]


samples = collections.defaultdict(list)  # (group, ISA or None, name, counter): a value a round


def sample(group, program, arguments, isa=None):
    for case in times(program, arguments, isa):
        for counter, value in case.items():
            if isinstance(value, (int, float)):
                samples[group, isa, case["name"], counter].append(value)


def cells(group, isa, counter, form, *parts, best=max):
    """A cell for each case whose name has these parts, in the order in which they are timed: median, best."""
    return [f"{form(statistics.median(values))}, {form(best(values))}"
            for (g, i, name, c), values in samples.items() if (g, i, c) == (group, isa, counter)
            and all(part in name for part in parts)]


def percent(value):
    return f"{100 * value:.0f} %"


def factor(value):
    return f"{value:.2f}"


def row(*columns):
    print("| " + " | ".join(columns) + " |", flush=True)


def header(*columns):
    print()
    row(*columns)
    row(*["---"] * len(columns))


ISAS = [isa for isa in ("avx2", "avx512", "neon") if times("bench_attention", "--n 16 --d 16 --benchmark_filter=^fused/", isa)]
for _ in range(ROUNDS):
    for isa in ISAS:
        for title, shape in PREFILL.items():
            sample(title, "bench_attention", shape + " --dtype f32,f64 --benchmark_filter=^fused/", isa)
        sample("weights", "bench_attention", WEIGHTS, isa)
    sample("threads", "bench_attention", THREADS)
    sample("decode", "bench_attention", DECODE)
    sample("staged", "bench_attention", STAGED)
    sample("step", "bench_attention", STEP)
    if (BIN / "bench_openblas").exists():
        sample("openblas", "bench_openblas", "--benchmark_filter=n:(512|2048)/")

header("causal attention, one thread, share of the FMA peak", *(f"{isa}, {t}" for isa in ISAS for t in ("f32", "f64")))
for title in PREFILL:
    row(title, *(cell for isa in ISAS for cell in cells(title, isa, "peak_share", percent)))
row("time with weights over time without, 8 heads, T=2048, D=64",
    *(cell for isa in ISAS for cell in cells("weights", isa, "times_plain", factor, best=min)))

if (BIN / "bench_openblas").exists():
    header("beside it, in turn in one process: blocked OpenBLAS GEMM + softmax", "its share, f32", "f64",
           "rapt is faster by, f32", "f64")
    for title, name in (("8 heads, T=2048, D=64", "n:2048/d:64/"), ("8 heads, T=2048, D=128", "n:2048/d:128/g:32/heads:8/"),
                        ("32 heads over 8, T=2048, D=128", "n:2048/d:128/g:32/heads:32/"),
                        ("8 heads, T=512, D=64", "n:512/d:64/")):
        row(title, *cells("openblas", None, "openblas_peak_share", percent, name),
            *cells("openblas", None, "vs_openblas", factor, name))

header("two threads over one, T=2048", "D=64, f32", "D=64, f64", "D=128, f32", "D=128, f64")
gains = collections.defaultdict(dict)
for (group, _, name, counter), values in samples.items():
    if group == "threads" and counter == "gflops":
        case, threads = name.rsplit("/threads:", 1)
        gains[case][threads] = values
row("", *(f"{factor(statistics.median(each['2']) / statistics.median(each['1']))}" for each in gains.values()))

header("decode step of a KvCache, 32 heads over 8, D=128", "context 1024", "8192", "32768")
for title, dtype, threads in (("f32, one thread, share of the read bandwidth", "f32", "1"),
                              ("f32, two threads, of that of two", "f32", "2"), ("bf16, one thread", "bf16", "1")):
    row(title, *(cell for n in (1024, 8192, 32768) for cell in
                 cells("decode", None, "bandwidth_share", percent, f"n:{n}/", f"dtype:{dtype}/", f"threads:{threads}")))

header("the staged program's compute, n=64, d=64, g=32, f64", "times faster than plain loops, -O3 -march=native")
for title, arithmetic in (("textbook arithmetic, the same bits", "arithmetic:textbook"), ("fused arithmetic", "arithmetic:fused")):
    row(title, *cells("staged", None, "vs_textbook", lambda value: f"{value:.1f}", arithmetic))

header("a token whole: projections, append, attention, n=64, d=64", "f64", "f32")
row("microseconds", *cells("step", None, "cpu_time", lambda value: f"{value / 1000:.2f}", best=min))
row("times faster than plain loops", *cells("step", None, "vs_textbook", lambda value: f"{value:.1f}"))
