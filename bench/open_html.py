#!/usr/bin/env python3
# SPDX-License-Identifier: MIT

"""How long Chromium takes to open an HTML report of 5,000 messages.

open_html.py TESTS GPUVAL-REPORT, TESTS being the folder tests/report.
"""

import json
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 9
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"

sys.path.insert(0, sys.argv[1])
tool = sys.argv[2]
sys.argv[1:] = [tool]  # as the tests are called

import chromium  # pylint: disable=wrong-import-position
import reports  # pylint: disable=wrong-import-position

if not chromium.find():
    sys.exit('no chromium (Debian: chromium)')

failures = reports.many()
with tempfile.TemporaryDirectory() as folder:
    with open(f'{folder}/a.jsonl', 'w', encoding='utf-8') as file:
        for event in failures + [reports.summary(failures)]:
            file.write(json.dumps(event) + '\n')
    subprocess.run([tool, f'{folder}/a.jsonl', '-o', f'{folder}/a.html'], check=False,
                   stdout=subprocess.DEVNULL)
    browser = chromium.Browser(folder)
    times = []
    for _ in range(ROUNDS):
        browser.open('about:blank')
        browser.open(f'file://{folder}/a.html')
        times.append(browser.run(LOADED))
    browser.close()

print('HTML report, 5,000 messages of 800 shaders: open after '
      f'{statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f}, '
      f'{ROUNDS} times, in Chromium)')
