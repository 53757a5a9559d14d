"""Runs of our program and of the peers, in processes of their own, and the time that they took."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import peer_solvers


def say(text):
    print(text, file=sys.stderr, flush=True)


def one_thread():
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1"}


def own_program_run(command, threads):
    """The JSON object that the program printed, and how much of its cores it got."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output = process.stdout.read()
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    process.stderr.close()
    wall = time.perf_counter() - start
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        last = complaint.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        return {"failed": last[0], "exit_code": process.returncode}
    run = json.loads(lines[-1])
    total = usage.ru_utime + usage.ru_stime
    run["share"], run["total_cpu"] = total / wall / threads, total
    run["cpu"] = min(run["seconds"], total) if threads == 1 else run["seconds"]
    run["preempted"] = usage.ru_nivcsw  # times that another process took the core
    return run


def worker_command(*arguments):
    return [sys.executable, peer_solvers.__file__, *map(str, arguments)]


def why_ended(code, complaint):
    """Why a process of peer_solvers.py ended early."""
    if code in (-signal.SIGPROF, -signal.SIGKILL):
        return "time"
    if "MemoryError" in complaint or "bad_alloc" in complaint:
        return "memory"
    last = complaint.strip().splitlines()[-1:] or [f"exit code {code}"]
    return last[0][:100]


def wall_limit(timeout):
    """For a process that waits for something, so that its CPU seconds do not run out."""
    return 4 * timeout + 900


def load_seconds(reader, file, timeout):
    """CPU seconds of one of peer_solvers.READERS, or why it ended early."""
    command = worker_command("--load", reader, file, "--timeout", f"{timeout:.1f}")
    try:
        process = subprocess.run(command, capture_output=True, text=True, env=one_thread(),
                                 timeout=wall_limit(timeout))
    except subprocess.TimeoutExpired:
        return "time"
    if process.returncode:
        return why_ended(process.returncode, process.stderr)
    return [json.loads(line)["cpu"] for line in process.stdout.splitlines()
            if line.startswith("{")][-1]


class PeerWorker:
    """A process that holds one model and has one peer solve it anew in each turn."""

    def __init__(self, peer, model_file, answer, tolerance, discount=None):
        self.peer, self.answer = peer, answer
        self.complaint = tempfile.TemporaryFile("w+")
        options = [] if discount is None else ["--discount", repr(discount)]
        self.process = subprocess.Popen(
            worker_command(peer, model_file, answer, "--tolerance", tolerance, *options),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaint, text=True,
            env=one_thread())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.complaint.close()

    def turn(self, timeout):
        """What solving took, or how it ended: {peer, load, seconds, wall} or {peer, ended, after}.

        A worker that ended has no further turns.
        """
        kill = threading.Timer(wall_limit(timeout), self.process.kill)
        kill.start()
        stages = self.stages(timeout)
        kill.cancel()
        row = {"peer": self.peer, "load": stages.get("ready", {}).get("cpu")}
        if "solved" in stages:
            return {**row, "seconds": stages["solved"]["cpu"], "wall": stages["solved"]["wall"]}
        self.complaint.seek(0)
        ended = why_ended(self.process.wait(), self.complaint.read())
        return {**row, "ended": ended if "ready" in stages else f"building: {ended}",
                "after": timeout}

    def stages(self, timeout):
        """The reports of one turn, by stage; Storm prints warnings between them."""
        stages = {}
        try:
            self.process.stdin.write(f"{timeout:.3f}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return stages
        for line in self.process.stdout:
            if line.startswith("{"):
                report = json.loads(line)
                stages[report["stage"]] = report
                if report["stage"] == "solved":
                    break
        return stages

    def values(self):
        return np.load(self.answer)


def best_of(peers):
    right = [row for row in peers if row.get("right")]
    return min(right, key=lambda row: row["seconds"]) if right else None


def timeout_of_next(rows, arguments, least):
    """CPU seconds of the next peer: with --give-up as many times those of the best so far."""
    best = best_of(rows)
    if best and arguments.give_up:
        return min(arguments.timeout, max(least, arguments.give_up * best["seconds"]))
    return arguments.timeout
