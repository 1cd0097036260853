#!/usr/bin/env python3
# SPDX-License-Identifier: MIT

"""How long Chromium takes to open an HTML report of 5,000 messages, and how long it takes to merge
10,000 reports of 100 failures each.

reports.py TESTS GPUVAL-REPORT, TESTS being the folder tests/report.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time

OPENED = 9  # times
FILES, FAILURES, DISTINCT = 10000, 100, 5000
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"

sys.path.insert(0, sys.argv[1])
tool = sys.argv[2]
sys.argv[1:] = [tool]  # as the tests are called

import chromium  # pylint: disable=wrong-import-position
import reports  # pylint: disable=wrong-import-position


def write(name, failures, **facts):
    with open(name, 'w', encoding='utf-8') as file:
        file.writelines(json.dumps(event) + '\n'
                        for event in failures + [reports.summary(failures, **facts)])


def run(*arguments):
    """Seconds, and the largest resident size in bytes."""
    start = time.monotonic()
    pid = os.posix_spawn(tool, [tool, *arguments], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f'gpuval-report has failed: {os.waitstatus_to_exitcode(status)}')
    return time.monotonic() - start, usage.ru_maxrss * 1024


def open_html(folder):
    if not chromium.find():
        print('HTML report: no chromium (Debian: chromium)')
        return
    write(f'{folder}/a.jsonl', reports.many())
    run(f'{folder}/a.jsonl', '-o', f'{folder}/a.html')
    browser = chromium.Browser(folder)
    times = []
    for _ in range(OPENED):
        browser.open('about:blank')
        browser.open(f'file://{folder}/a.html')
        times.append(browser.run(LOADED))
    browser.close()
    print('HTML report, 5,000 messages of 800 shaders: open after '
          f'{statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f}, '
          f'{OPENED} times, in Chromium)')


def merge(folder):
    size = FILES * FAILURES * len(json.dumps(reports.failure(DISTINCT)))
    if shutil.disk_usage(folder).free < 2 * size:
        print(f'merging: no space for {size / 1e6:.0f} MB in {folder}')
        return
    night = f'{folder}/night'
    os.mkdir(night)
    for number in range(FILES):
        write(f'{night}/{number}.jsonl',
              [reports.failure(1 + (number * 7 + n) % DISTINCT) for n in range(FAILURES)],
              run=reports.run_of(f'farm{number % 50}'))
    size = sum(entry.stat().st_size for entry in os.scandir(night))
    seconds, memory = run(night, '-o', f'{folder}/m.jsonl')
    print(f'merging {FILES:,} reports of {FAILURES} failures, {size / 1e6:.0f} MB: '
          f'{seconds:.1f} s, {memory / 1e6:.0f} MB of memory')


with tempfile.TemporaryDirectory() as temporary:
    open_html(temporary)
    merge(temporary)
