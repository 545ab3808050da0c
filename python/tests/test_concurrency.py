"""Threads, the GIL and fork: no bit of a result depends on them, and nothing waits for ever."""

import concurrent.futures
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import rapt


def problem(tokens=600, dtype=np.float32):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, 4, tokens, 64)).astype(dtype) for _ in range(3)]


def run_alone(program):
    """Runs a program in a process of its own; its output."""
    finished = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.split()


def test_the_number_of_threads_changes_no_bit():
    q, k, v = problem()
    expected = rapt.attention(q, k, v, causal=True)
    for n in (1, 2, 3, 5):
        with rapt.threads(n):
            np.testing.assert_array_equal(rapt.attention(q, k, v, causal=True), expected)


PROBLEM = """
    import os, threading
    import numpy as np, rapt
    q = np.random.default_rng(0).standard_normal((1, 8, 1500, 64))
    tasks = lambda: len(os.listdir("/proc/self/task"))
    idle = tasks()
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_threads_of_n_uses_n_threads():
    started = run_alone(PROBLEM + """
    with rapt.threads(1):
        rapt.attention(q, q, q)
    print(tasks() - idle)
    with rapt.threads(4) as scope:
        assert isinstance(scope, rapt.threads)
        for _ in range(20):
            rapt.attention(q, q, q)
            if tasks() - idle >= 3: break
    print(tasks() - idle)
    """)
    assert started == ["0", "3"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_threads_concerns_the_thread_that_entered_it_only():
    started = run_alone(PROBLEM + """
    entered, leave = threading.Event(), threading.Event()
    def other():
        with rapt.threads(1):
            entered.set()
            leave.wait()
    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    with rapt.threads(3):
        with rapt.threads(1):
            rapt.attention(q, q, q)
        nested = tasks()
        for _ in range(20):
            rapt.attention(q, q, q)
            if tasks() - nested >= 2: break
        print(tasks() - nested)
    leave.set()
    thread.join()
    """)
    assert started == ["2"]


def test_threads_refuses():
    for n in (0, -1):
        with pytest.raises(ValueError, match="threads"):
            rapt.threads(n)
    with pytest.raises(TypeError):
        rapt.threads("2")
    outer, inner = rapt.threads(1), rapt.threads(2)
    with pytest.raises(RuntimeError, match="order"):
        outer.__exit__()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="order"):
        outer.__exit__()
    inner.__exit__()
    outer.__exit__()


def test_an_error_inside_threads_leaves_it():
    q, k, v = problem(10)
    with pytest.raises(ValueError, match="scale"):
        with rapt.threads(2):
            rapt.attention(q, k, v, scale=float("inf"))
    with pytest.raises(RuntimeError, match="order"):
        rapt.threads(2).__exit__()


# A thread notes the time every millisecond. While a call holds the GIL it cannot.
def test_the_gil_is_released():
    q = np.random.default_rng(0).standard_normal((1, 8, 2000, 64))
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    with rapt.threads(1):
        rapt.attention(q, q, q)
    end = time.perf_counter()
    stop.set()
    thread.join()
    assert end - begin > 0.03
    assert any(begin + 0.01 < each < end - 0.01 for each in ticks)


def test_many_python_threads_at_once():
    q, k, v = problem(300)
    expected = rapt.attention(q, k, v, causal=True)
    ids = np.tile(np.arange(260), 100).reshape(-1, 104)
    embedding = rapt.Embedding()
    rows = embedding.forward(ids)

    def work(number):
        with rapt.threads(1 + number % 3):
            for _ in range(3):
                np.testing.assert_array_equal(rapt.attention(q, k, v, causal=True), expected)
                np.testing.assert_array_equal(embedding.forward(ids), rows)
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_a_child_of_fork_computes_the_same_bits():
    results = run_alone("""
    import hashlib, multiprocessing, threading
    import numpy as np, rapt
    q = np.random.default_rng(0).standard_normal((1, 8, 700, 64))

    def digest(_=None):
        return hashlib.sha256(rapt.attention(q, q, q, causal=True).tobytes()).hexdigest()

    def digest_with_threads(n):
        with rapt.threads(n):
            return digest()

    def keep_busy(stop):
        while not stop.is_set(): digest()

    print(digest())                                    # TBB's workers exist from here on
    fork = multiprocessing.get_context("fork")
    with fork.Pool(2) as pool: print(*pool.map(digest, range(3)))
    with fork.Pool(2) as pool: print(*pool.map(digest_with_threads, [1, 2, 5]))
    with rapt.threads(2):
        digest()
        with fork.Pool(2) as pool: print(*pool.map(digest, range(2)))
    stop = threading.Event()                           # fork while another thread computes
    thread = threading.Thread(target=keep_busy, args=(stop,))
    thread.start()
    with fork.Pool(2) as pool: print(*pool.map(digest, range(2)))
    stop.set(); thread.join()
    print(digest())                                    # and the parent goes on
    """)
    assert len(results) == 12 and len(set(results)) == 1


def test_more_threads_than_a_system_gives_are_refused_before_any_is_made():
    for n in (0, -1, 1025, 2**31 - 1):
        with pytest.raises(ValueError, match="threads: n is .*expected 1 to 1024"):
            rapt.threads(n)


def test_a_daemon_thread_inside_a_call_does_not_disturb_the_end_of_the_program():
    program = """if True:
        import threading, time
        import numpy as np, rapt
        q = np.ones((1, 4, 700, 64))
        calls = []
        def work():
            while True:
                rapt.attention(q, q, q, causal=True)
                calls.append(1)
        threading.Thread(target=work, daemon=True).start()
        while not calls:
            time.sleep(0.001)
    """
    for _ in range(3):
        finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert finished.returncode == 0 and finished.stderr == ""
