#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compile.py --runner GPUVAL-SCENARIO --folder FOLDER [--rounds N] [--checks LIST] [--cache]
[WORKLOAD...]

Measures the user time of processes that compile shaders and run them once: each workload, a
scenario of the folder, without checks, with the sets basic and all, and with each check alone, in
turn.
Prints a table: milliseconds without checks, and how many times as long with them. The time of a
process is that of its fastest round.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys


def prepare(runner, scenario):
    """Compiles the shaders, and has all checks agree that the program is right. Returns the
    folder."""
    done = subprocess.run(
        [runner, "--keep", "--brief", "--checks", "all", scenario],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    kept = re.search(r"^kept (.*)$", done.stdout, re.MULTILINE)
    if done.returncode or not kept:
        sys.exit(f"error: {scenario} fails:\n{done.stdout}")
    return pathlib.Path(kept[1])


def user_time(runner, scenario, folder, checks, cache):
    """Seconds of a process that runs the program of the scenario."""
    log = folder / "bench.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GPUVAL")}
    if cache:
        environment["MESA_SHADER_CACHE_DIR"] = str(folder / "bench-cache")
    else:
        environment["MESA_SHADER_CACHE_DISABLE"] = "true"
    command = [runner, "--child-folder", str(folder), "--child-name", "bench", "--kind", "monolithic"]
    if checks:
        environment |= {"GPUVAL": checks, "GPUVAL_LOG": str(log)}
        command.append("--child-checks")
    process = subprocess.Popen(command + [scenario], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: {scenario} with {checks}: exit status {process.returncode}")
    if checks and "gpuval: no errors" not in log.read_text():
        sys.exit(f"error: {scenario} with {checks}: {log.read_text()}")
    return usage.ru_utime


def measure(options, scenario, sides):
    """The fastest time of each side."""
    folder = prepare(options.runner, scenario)
    try:
        if options.cache:
            for checks in sides:
                user_time(options.runner, scenario, folder, checks, True)
        rounds = [
            [user_time(options.runner, scenario, folder, checks, options.cache) for checks in sides]
            for _ in range(options.rounds)
        ]
    finally:
        shutil.rmtree(folder)
    return [min(times) for times in zip(*rounds)]


def main():
    parser = argparse.ArgumentParser(description="Measures the user time of processes that compile shaders.")
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take the fastest of")
    parser.add_argument("--checks", help="these sets only, a list separated by blanks")
    parser.add_argument("--cache", action="store_true", help="with a warm shader cache")
    parser.add_argument("--runner", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="names of some")
    options = parser.parse_args()
    known = {path.stem: path for path in sorted(options.folder.glob("*.scn"))}
    unknown = [name for name in options.workloads if name not in known]
    if unknown:
        sys.exit(f"error: there is no workload {unknown[0]}, but: {' '.join(known)}")

    listed = subprocess.run([options.runner, "--list-checks"], capture_output=True, text=True, check=True)
    sets = options.checks.split() if options.checks else ["basic", "all"] + listed.stdout.split()
    print(f"{'User time':17}{'off, ms':>8} " + " ".join(f"{name[:9]:>9}" for name in sets))
    for name in options.workloads or known:
        off, *others = measure(options, str(known[name]), [None] + sets)
        ratios = " ".join(f"{time / off:9.2f}" for time in others)
        print(f"{name:17}{off * 1000:8.0f} {ratios}", flush=True)


if __name__ == "__main__":
    main()
