#!/usr/bin/env python3
# SPDX-License-Identifier: MIT

"""SARIF as its own JSON schema wants it.

The schema's path is in GPUVAL_TEST_SARIF_SCHEMA. Without it, or without python3-jsonschema, there
is nothing to look with, which is said.
"""

import copy
import json
import os
import sys

from reports import HOSTILE, ReportTest, failure, main, many, run_of

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Schema(ReportTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.environ['GPUVAL_TEST_SARIF_SCHEMA'], encoding='utf-8') as file:
            schema = json.load(file)
        form = jsonschema.validators.validator_for(schema)
        form.check_schema(schema)
        cls.validator = form(schema)

    def wrong(self, log):
        return [f'{error.json_path}: {error.message[:200]}'
                for error in self.validator.iter_errors(log)]

    def sarif(self, *arguments, status=0):
        self.tool(*arguments, '-o', 'm.sarif', status=status)
        with open('m.sarif', encoding='utf-8') as file:
            log = json.load(file)
        self.assertEqual(self.wrong(log), [])
        return log

    def test_schema_refuses(self):
        """What would pass anything proves nothing."""
        self.write('a.jsonl', [failure(1)])
        log = self.sarif('a.jsonl')
        for change in (lambda run: run['results'][0].update(level='fatal'),
                       lambda run: run['results'][0].update(baselineState='older'),
                       lambda run: run['results'][0].update(anything=1),
                       lambda run: run['results'][0].pop('message'),
                       lambda run: run['tool'].pop('driver')):
            broken = copy.deepcopy(log)
            change(broken['runs'][0])
            self.assertNotEqual(self.wrong(broken), [])

    def test_facts(self):
        whole = failure(3, other={'source': {'file': 'other.comp', 'line': 7, 'text': 'x = 1;'},
                                  'shader': {'hash': 'f' * 16, 'stage': 'compute'}})
        whole['source'].update(extract=['', '   particles.pos[i] = v;', '}'], extract_line=41)
        bare = failure(1)
        del bare['source'], bare['shader']
        self.write('a.jsonl', [whole, bare, failure(2, count=0)], run=run_of('farm-07', 4711),
                   lost=5)
        self.sarif('a.jsonl')

    def test_baseline(self):
        self.write('old.jsonl', [failure(1), failure(2)])
        self.write('new.jsonl', [failure(2), failure(3)])
        self.sarif('new.jsonl', '--baseline', 'old.jsonl', status=1)

    def test_no_failures(self):
        self.write('a.jsonl', [])
        self.sarif('a.jsonl')

    def test_many(self):
        self.write('a.jsonl', many())
        log = self.sarif('a.jsonl')
        self.assertGreater(len(log['runs'][0]['results']), 4000)

    def test_hostile_names(self):
        events = []
        for number, name in enumerate(HOSTILE):
            event = failure(number, message=name)
            event['source'].update(file=name, text=name, function=name)
            event['shader'].update(name=name, entry=name)
            event['resource'].update(name=name, object_name=name)
            event['command'].update(labels=[name], pipeline_name=name, recorded=[
                {'function': name, 'file': name, 'line': 1 + number}, {'module': name}])
            events.append(event)
        self.write('a.jsonl', events)
        self.sarif('a.jsonl')


if __name__ == '__main__':
    if not os.environ.get('GPUVAL_TEST_SARIF_SCHEMA'):
        print('no schema of SARIF (npm: @microsoft/sarif-multitool-linux has one)')
        sys.exit(77)
    if not jsonschema:
        print('no module jsonschema (Debian: python3-jsonschema)')
        sys.exit(77)
    main()
