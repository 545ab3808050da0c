"""The batch curve: sequential against batched attention of 1, 2, 4 and 8 sequences.

    python3 -m rapt.batch_curve [--csv OUT] [--plot OUT]

T = 128 positions of width 64, seed 42. Both paths are checked against each other before anything is timed; then each
(path, batch) is called 10 times to warm up and 30 times on the clock, in one shuffled order. The CSV goes to standard
output unless --csv names a file; a summary goes to standard error: P50 and P95, positions a second = B T / P50, and the
knee, the first B whose gain over the B before is under 10 %. --plot draws positions a second (needs matplotlib).
"""

import argparse
import csv
import pathlib
import random
import sys
import time

import numpy as np

import rapt

BATCHES = (1, 2, 4, 8)
TOKENS = 128
WIDTH = 64
SEED = 42
WARM_UPS = 10
SAMPLES = 30
KNEE_GAIN = 0.10
COLUMNS = ("experiment", "path", "batch_size", "sequence_length", "sample", "elapsed_ms")
PATHS = {"sequential": rapt.sequential_cached_attention, "batched": rapt.batched_cached_attention}


def problems():
    """x [B, T, width] for each batch size, and the three weights [width, width]."""
    rng = np.random.default_rng(SEED)
    weights = [rng.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH) for _ in range(3)]
    return {batch: rng.standard_normal((batch, TOKENS, WIDTH)) for batch in BATCHES}, weights


def check(inputs, weights):
    """Both paths, and a batch and its sequences, hold the same bits."""
    for x in inputs.values():
        expected = [np.stack(results) for results in zip(*(rapt.cached_attention(each, *weights) for each in x))]
        for path, function in PATHS.items():
            for result, exact in zip(function(x, *weights), expected):
                if not np.array_equal(result, exact):
                    raise AssertionError(f"{path}, batch size {len(x)}: differs from its sequences one by one")


def measure(inputs, weights):
    """Rows of the CSV: every sample of every path and batch size."""
    cases = [(path, batch) for path in PATHS for batch in BATCHES]
    for path, batch in cases:
        for _ in range(WARM_UPS):
            PATHS[path](inputs[batch], *weights)
    order = [(path, batch, sample) for path, batch in cases for sample in range(SAMPLES)]
    random.Random(SEED).shuffle(order)
    rows = []
    for path, batch, sample in order:
        begin = time.perf_counter()
        PATHS[path](inputs[batch], *weights)
        rows.append(("batch_curve", path, batch, TOKENS, sample, (time.perf_counter() - begin) * 1000))
    return sorted(rows, key=lambda row: (list(PATHS).index(row[1]), row[2], row[4]))


def summary(rows):
    """{path: [(batch, P50 ms, P95 ms, positions a second)]}."""
    result = {}
    for path in PATHS:
        for batch in BATCHES:
            times = [row[5] for row in rows if row[1] == path and row[2] == batch]
            middle, high = np.percentile(times, [50, 95])
            result.setdefault(path, []).append((batch, middle, high, batch * TOKENS / (middle / 1000)))
    return result


def knee(curve):
    """The first batch size whose positions a second are under 10 % above those of the one before, or None."""
    for before, here in zip(curve, curve[1:]):
        if here[3] / before[3] - 1 < KNEE_GAIN:
            return here[0]
    return None


def write_csv(rows, file):
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((*row[:5], f"{row[5]:.6f}") for row in rows)


def print_summary(curves, file):
    for path, curve in curves.items():
        for batch, middle, high, rate in curve:
            print(f"{path:>10}  B={batch}  P50 {middle:8.3f} ms  P95 {high:8.3f} ms  {rate:12.0f} positions/s", file=file)
        print(f"{path:>10}  knee: {knee(curve) or 'Not reached'}", file=file)


def plot(curves, path, figure_class):
    figure = figure_class(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, curve in curves.items():
        label = f"{name} (knee: {knee(curve) or 'not reached'})"
        axes.plot([each[0] for each in curve], [each[3] for each in curve], marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(BATCHES, [str(batch) for batch in BATCHES])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("batch size")
    axes.set_ylabel("positions a second (P50)")
    axes.set_title(f"Attention of {TOKENS} positions, width {WIDTH}")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, format=picture_format(path))


def picture_format(path):
    suffix = pathlib.Path(path).suffix.lower()
    if suffix not in (".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"{path!r} does not end in .png, .svg or .pdf")
    return suffix[1:]


def plot_path(path):
    picture_format(path)
    return output_path(path)


def output_path(path):
    """A path in a folder that exists: one that is not is refused before anything is measured."""
    if not path or not pathlib.Path(path).parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path!r} is not in a folder that exists")
    return path


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m rapt.batch_curve", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", metavar="OUT", type=output_path, help="the samples; standard output when not given")
    parser.add_argument("--plot", metavar="OUT", type=plot_path, help="the figure: a .png, .svg or .pdf file")
    options = parser.parse_args(arguments)
    if options.plot:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            parser.error("--plot needs matplotlib (Debian: python3-matplotlib)")

    inputs, weights = problems()
    check(inputs, weights)
    rows = measure(inputs, weights)
    curves = summary(rows)
    try:
        if options.csv:
            with open(options.csv, "w", newline="") as file:
                write_csv(rows, file)
        else:
            write_csv(rows, sys.stdout)
        if options.plot:
            plot(curves, options.plot, Figure)
    except OSError as error:
        print(f"batch_curve: {error}", file=sys.stderr)
        return 1
    print_summary(curves, sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
