#!/usr/bin/env python3
# SPDX-License-Identifier: MIT

"""`gpuval report`: many runs as one report, and what is new in it."""

import csv
import json
import os
import re
import shutil
import subprocess

from reports import HOSTILE, ReportTest, failure, main, run_of, summary


class Merge(ReportTest):
    def test_one_report_stays_what_it_is(self):
        events = [
            failure(1),
            failure(2, shader={'hash': '0' * 16, 'stage': 'fragment', 'entry': 'main'},
                    invocation={'frag_coord': [1.5, 2.5]}),
            failure(3, shader={'hash': '0' * 16, 'stage': 'tess_ctrl', 'entry': 'main'},
                    invocation={'primitive_id': 4, 'invocation_id': 5}),
            failure(6, source={'file': 'a', 'line': 8, 'text': 'x', 'extract_line': 7,
                               'extract': ['', '\tx', '  y']}),
            failure(4, access={'op': 'load', 'coord': [-1, 64], 'level': -2},
                    resource={'extent': [64, 32]}),
            failure(5, same_value=True,
                    other={'certain': True, 'shader': {'hash': 'f' * 16, 'stage': 'vertex'},
                           'access': {'op': 'store', 'size': 4}}),
        ]
        self.write('a.jsonl', events, run=run_of('here'))
        self.tool('a.jsonl', '-o', 'b.jsonl')
        merged, end = self.read('b.jsonl')
        for before, after in zip(events, merged, strict=True):
            self.assertEqual(after.pop('runs'), [{'run': 0, 'count': before['count']}])
            self.assertEqual(after.pop('machines'),
                             [{'host': 'here', 'runs': 1, 'count': before['count']}])
            self.assertEqual(after, before)
        self.assertEqual(end.pop('runs'), [{**run_of('here'), 'file': 'a.jsonl'}])
        self.assertEqual({'summary': end}, summary(events))

    def test_equal_failures_are_counted_together(self):
        self.write('a.jsonl', [failure(1), failure(2)], run=run_of('one', 10), lost=1)
        self.write('b.jsonl', [failure(2, count=5), failure(3)], run=run_of('two', 11),
                   lost_messages=2, suppressed=3, suppressed_occurrences=4)
        self.write('c.jsonl', [failure(2, count=7)], run=run_of('two', 12))
        out, _ = self.tool('a.jsonl', 'b.jsonl', 'c.jsonl', '-o', 'm.jsonl')
        events, end = self.read('m.jsonl')
        self.assertEqual([(e['fingerprint'][-1], e['count']) for e in events],
                         [('1', 1), ('2', 14), ('3', 3)])
        self.assertEqual(events[1]['runs'], [{'run': 0, 'count': 2}, {'run': 1, 'count': 5},
                                             {'run': 2, 'count': 7}])
        self.assertEqual(events[1]['machines'], [{'host': 'one', 'runs': 1, 'count': 2},
                                                 {'host': 'two', 'runs': 2, 'count': 12}])
        self.assertEqual([run['pid'] for run in end['runs']], [10, 11, 12])
        self.assertEqual((end['errors'], end['occurrences'], end['lost'], end['lost_messages']),
                         (3, 18, 1, 2))
        self.assertEqual((end['suppressed'], end['suppressed_occurrences']), (3, 4))
        self.assertIn('3 errors (18 occurrences) in 3 runs, 1 record lost, 2 messages lost', out)

    def test_what_was_checked(self):
        """Together it is what all runs were checked for."""
        mesa = 'llvmpipe, Mesa 25.0.7'
        self.write('a.jsonl', [], checks=['assume', 'bounds', 'init'], driver=mesa, seconds=1.25,
                   commands=3, run=run_of('one', 1))
        self.write('b.jsonl', [], checks=['bounds', 'init', 'of a later version'], driver=mesa,
                   seconds=2, commands=4, run=run_of('one', 2))
        out, _ = self.tool('a.jsonl', 'b.jsonl', '-o', 'm.jsonl')
        _, end = self.read('m.jsonl')
        self.assertEqual([(r['checks'], r['driver'], r['seconds']) for r in end['runs']],
                         [(['assume', 'bounds', 'init'], mesa, 1.25),
                          (['bounds', 'init'], mesa, 2)])
        self.assertEqual((end['checks'], end['driver'], end['seconds'], end['commands']),
                         (['bounds', 'init'], mesa, 3.25, 7))
        self.assertIn('gpuval: no errors: 2 shaders, 7 commands; checks: bounds, init; '
                      'llvmpipe, Mesa 25.0.7; 3.2 s\n', out)
        self.assertIn('gpuval: not looked for: missing barriers (sync, shared, race), assume, ', out)
        again, _ = self.tool('m.jsonl', '-o', 'n.jsonl')
        self.assertIn('; checks: bounds, init; llvmpipe, Mesa 25.0.7; 3.2 s\n', again)
        self.assertEqual(self.read('n.jsonl')[1]['runs'][0]['checks'],
                         ['assume', 'bounds', 'init'])

        self.write('c.jsonl', [], checks=['bounds'], driver='radv, Mesa 25.0.7', seconds=1)
        out, _ = self.tool('a.jsonl', 'c.jsonl', '-o', 'm.jsonl')
        self.assertNotIn('driver', self.read('m.jsonl')[1])
        self.assertIn('; check: bounds; 2.2 s\n', out)
        self.assertNotIn('Mesa', out)

        self.write('old.jsonl', [])
        out, _ = self.tool('a.jsonl', 'old.jsonl', '-o', 'm.jsonl')
        self.assertNotIn('checks', self.read('m.jsonl')[1])
        self.assertNotIn('no errors', out)

    def test_what_was_checked_is_nonsense(self):
        for facts in ({'checks': 'bounds'}, {'checks': {'a': 1}}, {'seconds': 'x'},
                      {'seconds': {'a': [1]}}, {'seconds': -1, 'driver': 3}, {'seconds': 1e300},
                      {'driver': HOSTILE, 'checks': []}):
            self.write('a.jsonl', [failure(1)], **facts)
            self.tool('a.jsonl', '-o', 'm.jsonl')
            events, end = self.read('m.jsonl')
            self.assertEqual((len(events), end['errors']), (1, 1))
            self.assertFalse({'checks', 'driver', 'seconds'} & set(end))

    def test_warnings(self):
        """A failure is an error where any run has seen it be one."""
        race = {'check': 'sync', 'kind': 'write-after-access'}
        warning = {**race, 'severity': 'warning', 'same_value': True}
        self.write('a.jsonl', [failure(1, **warning), failure(2), failure(3, **warning)])
        self.write('b.jsonl', [failure(3, count=5, **race), failure(1, **warning)])
        self.write('c.jsonl', [failure(3, **warning)])
        out, _ = self.tool('a.jsonl', 'b.jsonl', 'c.jsonl', '-o', 'm.jsonl')
        events, end = self.read('m.jsonl')
        self.assertEqual([(e['severity'], e['count'], e.get('same_value')) for e in events],
                         [('warning', 2, True), ('error', 2, None), ('error', 11, None)])
        self.assertEqual((end['errors'], end['occurrences'], end['warnings']), (2, 13, 1))
        self.assertIn('2 errors (13 occurrences), 1 warning in 3 runs', out)
        self.tool('c.jsonl', '--error-exitcode', '7')
        out, _ = self.tool('c.jsonl')
        self.assertIn('gpuval: warning: sync/write-after-access at particles.comp:42: ', out)

    def test_two_devices_of_a_process_are_one_run(self):
        self.write('a.jsonl', [failure(2), failure(2)])
        self.tool('a.jsonl', '-o', 'm.jsonl')
        events, end = self.read('m.jsonl')
        self.assertEqual(events[0]['runs'], [{'run': 0, 'count': 4}])
        self.assertEqual(end['errors'], 1)

    def test_reports_of_reports(self):
        for host in 'one', 'two', 'three':
            self.write(f'logs/{host}.jsonl', [failure(1), failure(len(host))], run=run_of(host))
        self.tool('logs', '-o', 'at_once.jsonl')
        self.tool('logs/one.jsonl', 'logs/three.jsonl', '-o', 'some.jsonl')
        self.tool('some.jsonl', 'logs/two.jsonl', '-o', 'again.jsonl')
        at_once, again = self.read('at_once.jsonl'), self.read('again.jsonl')
        self.assertEqual(len(again[1]['runs']), 3)
        self.assertEqual(at_once[1]['runs'], again[1]['runs'])
        self.assertEqual(at_once[0], again[0])

    def test_folder_and_stdin(self):
        self.write('logs/deep/a.jsonl', [failure(1)])
        self.write('logs/b.jsonl', [failure(2)])
        with open('logs/c.csv', 'w', encoding='utf-8') as file:
            file.write('check,kind\n')
        self.tool('logs', '-o', 'logs/all.jsonl')
        self.tool('logs', '-o', 'logs/all.jsonl')  # is not one of its own sources
        events, end = self.read('logs/all.jsonl')
        self.assertEqual([e['count'] for e in events], [2, 1])
        self.assertEqual(len(end['runs']), 2)

        text = ''
        for name in 'logs/b.jsonl', 'logs/deep/a.jsonl':
            with open(name, encoding='utf-8') as file:
                text += file.read()
        self.tool('-', '-o', 'piped.jsonl', stdin=text)
        self.assertEqual([e['count'] for e in self.read('piped.jsonl')[0]], [2, 1])
        self.assertEqual(len(self.read('piped.jsonl')[1]['runs']), 2)

    def test_output_that_is_read(self):
        self.write('a.jsonl', [failure(1)])
        _, err = self.tool('a.jsonl', '-o', 'a.jsonl', status=2)
        self.assertIn('a.jsonl is read and written', err)
        self.assertEqual(self.read('a.jsonl')[0], [failure(1)])

    def test_csv(self):
        self.write('a.jsonl', [failure(1), failure(2)], run=run_of('one'))
        self.write('b.jsonl', [failure(1)], run=run_of('two'))
        self.tool('a.jsonl', 'b.jsonl', '-o', 'm.csv')
        with open('m.csv', encoding='utf-8', newline='') as file:
            rows = list(csv.DictReader(file, strict=True))
        self.assertEqual([(r['count'], r['runs'], r['machines'], r['labels']) for r in rows],
                         [('2', '2', 'one two', 'frame > simulate'),
                          ('2', '1', 'one', 'frame > simulate')])
        self.assertEqual([rows[0][f'invocation_{i}'] for i in range(3)], ['64', '0', '0'])

    def test_calls(self):
        """Of the host: whatever is known of each, also with keys of a later version"""
        calls = [{'function': 'draw_frame', 'file': 'main.c', 'line': 42, 'module': '/bin/app'},
                 {'module': '/lib/libx.so', 'offset': '0x7f10'}, {'function': 'main'}]
        later = [{**calls[0], 'depth': 3, 'list': [1, {'a': []}]}, *calls[1:]]
        event = failure(1)
        event['command']['recorded'] = calls
        event['resource']['created'] = later
        self.write('a.jsonl', [event])
        self.tool('a.jsonl', '-o', 'm.jsonl', '-o', 'm.csv', '-o', 'm.junit.xml')
        (merged,), _ = self.read('m.jsonl')
        self.assertEqual(merged['command']['recorded'], calls)
        self.assertEqual(merged['resource']['created'], calls)
        with open('m.csv', encoding='utf-8', newline='') as file:
            row, = csv.DictReader(file, strict=True)
        self.assertEqual(row['command_recorded'],
                         'main.c:42 in draw_frame() < /lib/libx.so+0x7f10 < main()')
        with open('m.junit.xml', encoding='utf-8') as file:
            self.assertIn('gpuval:    recorded by main.c:42 in draw_frame(), '
                          'from /lib/libx.so+0x7f10, from main()\n', file.read())

    def test_values(self):
        values = [{'name': 'i', 'value': '7'}, {'name': 'p.at', 'value': '1, -2'}]
        event = failure(1, values=values, stack=[{'function': 'main', 'file': 'a', 'line': 3,
                                                  'column': 4, 'text': 'f();', 'instruction': 9}])
        self.write('a.jsonl', [event, failure(2, values=[{**values[0], 'later': 1}, {}])])
        self.tool('a.jsonl', '-o', 'm.jsonl', '-o', 'm.csv', '-o', 'm.junit.xml')
        merged, other = self.read('m.jsonl')[0]
        self.assertEqual((merged['values'], merged['stack']), (values, event['stack']))
        self.assertEqual(other['values'], values[:1])
        with open('m.csv', encoding='utf-8', newline='') as file:
            rows = list(csv.DictReader(file, strict=True))
        self.assertEqual((rows[0]['values'], rows[0]['stack']), ('i = 7; p.at = 1, -2', 'a:3:4 in main()'))
        with open('m.junit.xml', encoding='utf-8') as file:
            text = file.read()
        self.assertIn('gpuval:    called from main at a:3:4\n'
                      'gpuval:    where i = 7; p.at = 1, -2\n', text)

    def test_messages_are_no_errors(self):
        message = failure(9, check='printf', kind='message', severity='info', message='hello')
        self.write('a.jsonl', [failure(1), message], messages=20)
        out, _ = self.tool('a.jsonl')
        self.assertNotIn('hello', out)
        self.tool('a.jsonl', '-o', 'm.jsonl')
        events, end = self.read('m.jsonl')
        self.assertEqual(len(events), 2)
        self.assertEqual((end['errors'], end['occurrences'], end['messages']), (1, 1, 20))

    def test_messages_have_an_end(self):
        texts = [failure(n, check='printf', kind='message', severity='info', message=str(n))
                 for n in range(10010)]
        self.write('a.jsonl', texts + [failure(20000)], messages=123456)
        self.tool('a.jsonl', '-o', 'm.jsonl')
        events, end = self.read('m.jsonl')
        self.assertEqual(len(events), 10001)
        self.assertEqual(events[-1]['message'], failure(20000)['message'])
        self.assertEqual(end['messages'], 123456)

    def test_without_fingerprint(self):
        old = failure(1)
        del old['fingerprint']
        self.write('a.jsonl', [old])
        self.write('b.jsonl', [old, failure(2)])
        self.tool('a.jsonl', 'b.jsonl', '-o', 'm.jsonl')
        self.assertEqual([e['count'] for e in self.read('m.jsonl')[0]], [2, 2])

    def test_hostile_names(self):
        events = [failure(n, message=name, shader={'hash': '0' * 16, 'name': name},
                          source={'file': name, 'line': 1, 'text': name, 'function': name},
                          command={'op': 'draw', 'labels': [name, name]})
                  for n, name in enumerate(HOSTILE, 1)]
        self.write('a.jsonl', events, run=run_of(HOSTILE[6]))
        out, _ = self.tool('a.jsonl')
        self.assertNotIn('\x1b', out)
        self.assertEqual(len(out.splitlines()), 2 * len(events) + 1)
        self.tool('a.jsonl', '-o', 'm.jsonl', '-o', 'm.csv')
        with open('m.csv', encoding='utf-8', newline='') as file:
            rows = list(csv.DictReader(file, strict=True))
        for name, event, row in zip(HOSTILE, self.read('m.jsonl')[0], rows, strict=True):
            self.assertEqual(event['message'], name)
            self.assertEqual(event['source']['text'], name)
            self.assertEqual(event['command']['labels'], [name, name])
            # What a spreadsheet would take for a formula has an apostrophe in front.
            mark = "'" if name[0] in '=+-@\t\r' else ''
            self.assertEqual(row['message'], mark + name)
            self.assertEqual(row['labels'], f'{mark}{name} > {name}')
            self.assertEqual(row['machines'], HOSTILE[6])


    def test_what_no_string_of_ours_has(self):
        for escaped, read in (('a\\u0000b', 'a\ufffdb'), ('a\\ud800b', 'a\ufffdb'),
                              ('\\ud83d\\ude00\\/', '\U0001f600/')):
            text = json.dumps(failure(1, message='MARK')).replace('MARK', escaped)
            with open('a.jsonl', 'w', encoding='utf-8') as file:
                file.write(f'{text}\n{json.dumps(summary([failure(1)]))}\n')
            self.tool('a.jsonl', '-o', 'm.jsonl')
            self.assertEqual(self.read('m.jsonl')[0][0]['message'], read)


class Trouble(ReportTest):
    def damaged(self, text, *words, lines=1):
        self.write('good.jsonl', [failure(1)])
        with open('bad.jsonl', 'wb') as file:
            file.write(text)
        _, err = self.tool('good.jsonl', 'bad.jsonl', '-o', 'm.jsonl', '-o', 'm.csv', status=2)
        self.assertEqual(len(err.splitlines()), 1, err)
        for word in ('warning', 'bad.jsonl') + words:
            self.assertIn(word, err)
        events, end = self.read('m.jsonl')
        self.assertEqual(end.get('lost_lines', 0), lines)
        self.assertEqual([run.get('incomplete', False) for run in end['runs']], [False, True])
        return events

    def test_cut_off(self):
        line = json.dumps(failure(2)).encode()
        events = self.damaged(line + b'\n' + line[:200], 'bad.jsonl:2', 'cut off', '1 line')
        self.assertEqual(len(events), 2)

    def test_every_cut(self):
        text = (json.dumps(failure(2, invocation={'frag_coord': [1.5, None]}, same_value=True)) +
                '\n' + json.dumps(summary([failure(2)], run=run_of('a')))).encode()
        for length in list(range(0, len(text), 11)) + [len(text) - 1]:
            with open('a.jsonl', 'wb') as file:
                file.write(text[:length])
            _, err = self.tool('a.jsonl', '-o', 'm.jsonl', status=2)
            self.assertEqual(len(err.splitlines()), 1, err)

    def test_without_summary(self):
        events = self.damaged(json.dumps(failure(2)).encode() + b'\n', 'no summary', lines=0)
        self.assertEqual(len(events), 2)

    def test_empty(self):
        self.damaged(b'', 'no summary', lines=0)

    def test_no_json(self):
        for text in (b'hello\n\n\nworld\n', b'{"check"\n}\n', b'[1]\n{"a":tru}\n', b'{} {}\n\x00\n',
                     b'{"check":"bounds\x01"}\n{"check":1}\n', b'\xff\xfe\n{"a":"\\x"}\n'):
            self.damaged(text, 'bad.jsonl:1: ', '2 lines', lines=2)

    def test_deep(self):
        self.damaged(b'{"a":' + b'[' * 100000 + b']' * 100000 + b'}\n', 'too deep')

    def test_many(self):
        for number in range(50):
            with open(f'{number}.jsonl', 'wb') as file:
                file.write(b'?')
        _, err = self.tool('.', '-o', 'm.csv', status=2)
        self.assertEqual(len(err.splitlines()), 21)
        self.assertIn('30 more', err)

    def test_broken_calls(self):
        for broken in ('[{"line":]', '[{"line":1}', '[{]', '[{"function":"f"},3]', '[{1:2}]'):
            event = failure(2)
            event['command']['recorded'] = 'MARK'
            self.damaged(json.dumps(event).replace('"MARK"', broken).encode() + b'\n', 'line')

    def test_missing_file(self):
        self.write('a.jsonl', [failure(1)])
        _, err = self.tool('a.jsonl', 'b.jsonl', '-o', 'm.jsonl', status=2)
        self.assertIn('b.jsonl: No such file', err)
        self.assertEqual(len(self.read('m.jsonl')[1]['runs']), 2)

    def test_unknown_keys_are_said_once(self):
        self.write('a.jsonl', [failure(1, novelty=1, news={'a': [1, {}]}), failure(2, novelty=2)])
        _, err = self.tool('a.jsonl', '-o', 'm.jsonl')
        self.assertEqual(err.count('"novelty"'), 1)

    def test_bad_use(self):
        self.write('a.jsonl', [])
        for arguments in ([], ['a.jsonl', '-o', 'a.pdf'], ['a.jsonl', '--nonsense', '1'],
                          ['a.jsonl', '-o'], ['a.jsonl', '--error-exitcode', '256'],
                          ['a.jsonl', '-o', 'nowhere/b.csv'],
                          ['a.jsonl', '--baseline', 'nowhere.jsonl']):
            _, err = self.tool(*arguments, status=2)
            self.assertEqual(len(err.splitlines()), 1)

    def test_nothing_is_left_beside(self):
        self.write('a.jsonl', [failure(1)])
        self.tool('a.jsonl', '-o', 'm.csv')
        self.assertEqual(sorted(os.listdir('.')), ['a.jsonl', 'm.csv'])


class Baseline(ReportTest):
    def setUp(self):
        super().setUp()
        self.write('old.jsonl', [failure(1), failure(2), failure(3)])
        self.write('new.jsonl', [failure(2), failure(4), failure(5)])

    def test_new(self):
        out, _ = self.tool('new.jsonl', '--baseline', 'old.jsonl', '-o', 'm.jsonl', '-o', 'm.csv',
                           status=1)
        self.assertEqual(out.count('gpuval: new: bounds/buffer-oob at particles.comp:42: '), 2)
        self.assertIn('2 new, 1 still there, 2 gone', out)
        gone = re.findall('^gpuval: gone: bounds/buffer-oob at particles.comp:42: store of 4 bytes '
                          '.*, fingerprint [0-9a-f]{16}$', out, re.M)
        self.assertEqual(len(gone), 2)
        events, end = self.read('m.jsonl')
        self.assertEqual([e['baseline'] for e in events], ['unchanged', 'new', 'new'])
        self.assertEqual(end['baseline'], {'new': 2, 'unchanged': 1, 'absent': 2})
        with open('m.csv', encoding='utf-8', newline='') as file:
            self.assertEqual([r['baseline'] for r in csv.DictReader(file)],
                             ['unchanged', 'new', 'new'])

    def test_nothing_new(self):
        self.write('more.jsonl', [failure(4), failure(5)])
        out, _ = self.tool('new.jsonl', '--baseline', 'old.jsonl', '--baseline=more.jsonl')
        self.assertIn('0 new, 3 still there, 2 gone', out)

    def test_exit_status(self):
        self.tool('new.jsonl')
        self.tool('new.jsonl', '--error-exitcode', '7', status=7)
        self.tool('new.jsonl', '--error-exitcode', '7', '--baseline', 'old.jsonl', status=7)
        self.tool('new.jsonl', '--error-exitcode', '0', '--baseline', 'old.jsonl')
        self.tool('old.jsonl', '--error-exitcode', '7', '--baseline', 'old.jsonl')

    def test_warnings(self):
        warning = {'severity': 'warning', 'same_value': True}
        self.write('old.jsonl', [failure(1, **warning), failure(2, **warning), failure(3)])
        self.write('new.jsonl', [failure(1, **warning), failure(2), failure(3, **warning),
                                 failure(4, **warning)])
        out, _ = self.tool('new.jsonl', '--baseline', 'old.jsonl', '-o', 'm.jsonl', status=1)
        events, end = self.read('m.jsonl')
        self.assertEqual([e['baseline'] for e in events],
                         ['unchanged', 'new', 'unchanged', 'new'])
        self.assertEqual(end['baseline'], {'new': 1, 'unchanged': 0, 'absent': 1})
        self.assertIn('gpuval: new: warning: bounds/buffer-oob', out)
        self.write('more.jsonl', [failure(2)])
        self.tool('new.jsonl', '--baseline', 'old.jsonl', '--baseline', 'more.jsonl')

    def test_broken_baseline(self):
        with open('bad.jsonl', 'w', encoding='utf-8') as file:
            file.write('{"check":')
        _, err = self.tool('new.jsonl', '--baseline', 'bad.jsonl', status=2)
        self.assertIn('bad.jsonl:1', err)


class Night(ReportTest):
    """A farm's: 10,000 files, with fewer failures than the 100 each of bench/reports.py.

    Sanitizers take their time: a tenth of that.
    """

    files = 1000 if 'GPUVAL_TEST_SANITIZED' in os.environ else 10000

    def test_many_files(self):
        os.mkdir('night')
        for number in range(self.files):
            events = [failure(1 + (number * 7 + n) % 500) for n in range(10)]
            with open(f'night/{number}.jsonl', 'w', encoding='utf-8') as file:
                file.writelines(json.dumps(e) + '\n' for e in events)
                file.write(json.dumps(summary(events, run=run_of(f'farm{number % 50}'))) + '\n')
        self.tool('night', '-o', 'm.jsonl', memory=32 << 20)  # of 100 MB
        events, end = self.read('m.jsonl')
        self.assertEqual(len(events), 500)
        self.assertEqual(len(end['runs']), self.files)
        self.assertEqual(end['occurrences'], sum(e['count'] for e in events))
        self.assertEqual(sum(len(e['runs']) for e in events), 10 * self.files)
        self.assertEqual(len(events[0]['machines']), 10)


    def test_memory(self):
        """It does not grow with runs, from a pipe or compressed."""
        text = []
        for number in range(4 * self.files):
            for n in range(10):
                text.append(json.dumps(failure(1 + (number * 7 + n) % 500)))
            text.append(json.dumps(summary([], run=run_of('farm', number))))
        text = '\n'.join(text) + '\n'
        out, _ = self.tool('-', '-o', 'm.jsonl', stdin=text, memory=8 << 20)
        self.assertIn('500 errors (', out)
        self.assertIn(f' in {4 * self.files} runs', out)
        if not shutil.which('zstd'):
            print('no zstd: compressed reports are not read')
            return
        os.mkdir('packed')
        half = len(text) // 2
        half = text.index('\n{"summary"', half)
        half = text.index('\n', half + 1) + 1
        for name, part in (('a', text[:half]), ('b', text[half:])):
            with open(f'packed/{name}.jsonl.zst', 'wb') as file:
                packed = subprocess.run(['zstd', '-c'], input=part.encode(), stdout=subprocess.PIPE,
                                        check=True).stdout
                file.write(packed)
        again, _ = self.tool('packed', '-o', 'n.jsonl', memory=16 << 20)
        self.assertEqual(again, out)
        events, end = self.read('n.jsonl')
        self.assertEqual([e['runs'] for e in events], [e['runs'] for e in self.read('m.jsonl')[0]])
        self.assertEqual(end['runs'][0]['file'], 'packed/a.jsonl.zst')
        # Frames one behind the other are one file.
        with open('both.zst', 'wb') as both:
            for name in 'ab':
                with open(f'packed/{name}.jsonl.zst', 'rb') as file:
                    both.write(file.read())
        self.assertEqual(self.tool('both.zst')[0].splitlines()[-1], out.splitlines()[-1])
        with open('cut.zst', 'wb') as file:
            file.write(packed[:len(packed) // 2])
        _, err = self.tool('cut.zst', status=2)
        self.assertIn('cut.zst: what zstd has compressed is broken, or cut off', err)
        with open('bad.zst', 'wb') as file:
            file.write(b'(\xb5/\xfd' + bytes(100))
        _, err = self.tool('bad.zst', status=2)
        self.assertIn('bad.zst: ', err)


if __name__ == '__main__':
    main()
