"""README's table of numbers, measured on this machine.

    python3 bench/readme_table.py [BUILD_FOLDER]

Every number is the median of five repetitions and a share of what the same process measured just before and after: the FMA
peak, the read bandwidth, or a plain loop. Two threads are timed by the wall clock, which needs an idle machine. Takes some
three minutes, and writes Markdown.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build") / "bin"
MEDIANS = ["--benchmark_format=json", "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true",
           "--benchmark_min_time=0.1"]


def medians(program, *arguments):
    """The median of every case that the program times, in order."""
    command = [str(BIN / program), *arguments, *MEDIANS]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [case for case in report["benchmarks"] if case["aggregate_name"] == "median"]


def percent(value):
    return f"{100 * value:.0f} %"


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def prefill():
    row("causal attention, one thread, share of the FMA peak", "f32", "f64", "OpenBLAS GEMM + softmax, f32", "f64")
    row("---", "---", "---", "---", "---")
    for title, shape, blas in [("8 heads, T=2048, D=64", "--n 2048 --d 64 --heads 8", "n:2048/d:64/.*heads:8/"),
                               ("8 heads, T=2048, D=128", "--n 2048 --d 128 --heads 8", "n:2048/d:128/.*/heads:8/"),
                               ("32 heads over 8, T=2048, D=128", "--n 2048 --d 128 --heads 32 --kv-heads 8",
                                "n:2048/d:128/.*/heads:32/"),
                               ("8 heads, T=512, D=64", "--n 512 --d 64 --heads 8", "n:512/d:64/"),
                               ("32 sequences of T=64, 8 heads, D=64", "--n 64 --d 64 --heads 8 --batch 32", None)]:
        ours = medians("bench_attention", *shape.split(), "--dtype", "f32,f64", "--benchmark_filter=^fused/")
        theirs = ["-", "-"]
        if blas and (BIN / "bench_openblas").exists():
            theirs = [percent(case["openblas_peak_share"]) for case in
                      medians("bench_openblas", "--benchmark_filter=" + blas)]
        row(title, *(percent(case["peak_share"]) for case in ours), *theirs)


def decode():
    row("decode step, 32 heads over 8, D=128, share of the read bandwidth", "f32", "bf16", "f16", "f32, two threads")
    row("---", "---", "---", "---", "---")
    for context in (1024, 8192, 32768):
        shape = f"--n {context} --d 128 --heads 32 --kv-heads 8 --benchmark_filter=^decode/".split()
        one = medians("bench_attention", *shape, "--dtype", "f32,bf16,f16")
        two = medians("bench_attention", *shape, "--dtype", "f32", "--threads", "2")
        row(f"context {context}", *(f"{percent(case['bandwidth_share'])}, {case['tokens_per_second']:.0f} tokens/s"
                                    for case in one + two))


def staged():
    row("the staged program's compute, n=64, d=64, g=32, f64, one thread", "times faster than the plain loops")
    row("---", "---")
    for case in medians("bench_attention", "--n", "64", "--d", "64", "--benchmark_filter=^pipeline/"):
        row("textbook arithmetic" if "textbook" in case["name"] else "fused arithmetic", f"{case['vs_textbook']:.1f}")


for table in (prefill, decode, staged):
    table()
    print()
