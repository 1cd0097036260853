# SPDX-License-Identifier: MIT

"""What the tests of reports share: small reports to read, and the tool.

Each test is called with the tool first: test_merge.py GPUVAL-REPORT [TEST...]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

# Names that break what does not expect them, as one character each in JSON.
HOSTILE = [
    'plain',
    'quotes " \' `',
    'back\\slash and C:\\path',
    'tab\tnewline\nreturn\r',
    'controls \x01\x08\x0b\x0c\x1b[31m\x1f\x7f\x85\x9f',
    '<b>markup</b> & &amp; <!-- comment -->',
    '</script><script>alert(1)</script>',
    '<!--<script>',
    ']]> <![CDATA[ ]]>',
    'line\u2028paragraph\u2029override\u202eend',
    'noncharacters \ufffe\uffff',
    'umlauts äöü, 漢字, emoji \U0001f600',
    '%0A::error::forged, 100%, a:b,c',
    '=1+1',
    'x' * 10000,
]


def failure(number=1, **facts):
    """The failure that NUMBER stands for; FACTS replace others."""
    event = {
        'check': 'bounds', 'kind': 'buffer-oob', 'severity': 'error',
        'message': f'store of 4 bytes at offset {4096 + number} is outside set 0, binding 1',
        'count': number, 'fingerprint': f'{number:016x}',
        'shader': {'hash': f'{number % 7:016x}', 'stage': 'compute', 'entry': 'main',
                   'name': 'simulate'},
        'source': {'file': 'particles.comp', 'line': 42, 'column': 5,
                   'text': 'particles.pos[i] = v;', 'function': 'main'},
        'spirv': {'offset': 420, 'instruction': 57},
        'invocation': {'global_id': [64, 0, 0]},
        'access': {'op': 'store', 'size': 4, 'offset': 4096, 'address': '0x7f0012345000'},
        'resource': {'set': 0, 'binding': 1, 'index': 0, 'type': 'storage_buffer',
                     'name': 'particles', 'object_name': 'particle pool', 'size': 4096},
        'command': {'op': 'dispatch', 'index': 3, 'command_buffer': '0x55d0c0',
                    'command_buffer_name': 'frame', 'pipeline': '0x55d0f0',
                    'pipeline_name': 'sim', 'labels': ['frame', 'simulate'], 'submission': 7},
    }
    event.update(facts)
    return event


def many():
    """5,000 of 800 shaders"""
    return [failure(
        n, message=f'store of 4 bytes at offset {n} is outside set 0, binding 1 "particles"',
        shader={'hash': f'{n % 800:016x}', 'stage': 'compute', 'name': f'shader {n % 800}'},
        command={**failure()['command'], 'submission': n % 1000}) for n in range(1, 5001)]


def summary(failures, **facts):
    errors = [f for f in failures if f['severity'] == 'error']
    counts = {'errors': len(errors), 'occurrences': sum(f['count'] for f in errors),
              'lost': 0, 'messages': 0, 'lost_messages': 0, 'shaders': 1,
              'warnings': len([f for f in failures if f['severity'] == 'warning'])}
    counts.update(facts)
    return {'summary': counts}


def run_of(host, pid=1):
    return {'host': host, 'program': 'engine', 'time': '2026-01-31T23:59:59Z', 'pid': pid}


class ReportTest(unittest.TestCase):
    """In a folder of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)

    def write(self, name, failures, **facts):
        """A report, as drivers write them."""
        if os.path.dirname(name):
            os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, 'w', encoding='utf-8') as file:
            for event in failures + [summary(failures, **facts)]:
                file.write(json.dumps(event, ensure_ascii=False) + '\n')

    def read(self, name):
        """Failures and summary of a report."""
        with open(name, encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(list(lines[-1]), ['summary'])
        return lines[:-1], lines[-1]['summary']

    def tool(self, *arguments, status=0, stdin=None, memory=0, **environment):
        """What it has printed: stdout, stderr. MEMORY: bytes that it may have."""
        command = [TOOL, *arguments]
        if memory and not SANITIZED:
            command = ['prlimit', f'--data={memory}', *command]
        environment = {'PATH': os.environ['PATH'], 'TMPDIR': self.folder.name,
                       'ASAN_OPTIONS': 'detect_leaks=0', **environment}
        done = subprocess.run(command, input=stdin, capture_output=True,
                              env=environment, encoding='utf-8', check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr


def main():
    unittest.main(verbosity=2)


TOOL = os.path.abspath(sys.argv.pop(1))
with open(TOOL, 'rb') as program:
    SANITIZED = b'__asan_init' in program.read()
