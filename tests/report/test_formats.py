#!/usr/bin/env python3
# SPDX-License-Identifier: MIT

"""SARIF, JUnit XML and GitHub's annotations, of reports that `gpuval report` reads."""

import json
import os
import re
import urllib.parse
import xml.etree.ElementTree as ElementTree

from reports import HOSTILE, ReportTest, failure, main, run_of

# Of the SARIF 2.1.0 schema, what we write: the type of each property, and whether the
# object has to have it. A list has one type of items.
MESSAGE = {'text': (str, True)}
ARTIFACT = {'uri': (str, True), 'uriBaseId': (str, False)}
REGION = {'startLine': (int, True), 'startColumn': (int, False), 'endLine': (int, False),
          'snippet': (MESSAGE, False)}
LOCATION = {
    'id': (int, False),
    'physicalLocation': ({'artifactLocation': (ARTIFACT, True), 'region': (REGION, True),
                          'contextRegion': (REGION, False)}, True),
    'logicalLocations': ([{'name': (str, True), 'kind': (str, True)}], True),
    'message': (MESSAGE, False),
}
RULE = {'id': (str, True), 'shortDescription': (MESSAGE, True),
        'fullDescription': (MESSAGE, True), 'help': (MESSAGE, True), 'helpUri': (str, True),
        'defaultConfiguration': ({'level': (str, True)}, True)}
RESULT = {
    'ruleId': (str, True), 'level': (str, True), 'message': (MESSAGE, True),
    'locations': ([LOCATION], True), 'relatedLocations': ([LOCATION], False),
    'occurrenceCount': (int, False), 'partialFingerprints': ({'gpuval/v1': (str, True)}, False),
    'baselineState': (str, False), 'properties': (dict, True),
}
INVOCATION = {
    'executionSuccessful': (bool, True), 'machine': (str, False), 'processId': (int, False),
    'startTimeUtc': (str, False), 'exitSignalName': (str, False), 'properties': (dict, True),
    'toolExecutionNotifications': ([{'level': (str, True), 'message': (MESSAGE, True)}], False),
}
SARIF = {
    '$schema': (str, True), 'version': (str, True),
    'runs': ([{
        'tool': ({'driver': ({'name': (str, True), 'version': (str, True), 'rules': ([RULE], True)}, True)}, True),
        'columnKind': (str, True),
        'originalUriBaseIds': ({'SRCROOT': ({'uri': (str, True)}, True)}, True),
        'results': ([RESULT], True), 'invocations': ([INVOCATION], True),
        'properties': (dict, True),
    }], True),
}


class FormatTest(ReportTest):
    def fits(self, value, form, path='log'):
        if isinstance(form, list):
            self.assertIsInstance(value, list, path)
            for index, item in enumerate(value):
                self.fits(item, form[0], f'{path}[{index}]')
        elif isinstance(form, dict):
            self.assertIsInstance(value, dict, path)
            for key, (inner, required) in form.items():
                if required or key in value:
                    self.assertIn(key, value, path)
                    self.fits(value[key], inner, f'{path}.{key}')
            self.assertLessEqual(set(value), set(form), path)
        else:
            self.assertIs(type(value), form, path)

    def sarif(self, *arguments, status=0, **environment):
        """The run of a report."""
        self.tool(*arguments, '-o', 'm.sarif', status=status, **environment)
        with open('m.sarif', encoding='utf-8') as file:
            log = json.load(file)
        self.fits(log, SARIF)
        self.assertEqual(log['version'], '2.1.0')
        rules = {rule['id'] for rule in log['runs'][0]['tool']['driver']['rules']}
        for result in log['runs'][0]['results']:
            self.assertIn(result['ruleId'], rules)
        return log['runs'][0]

    def junit(self, *arguments, status=0, **environment):
        """The test cases of a report, and the suite."""
        self.tool(*arguments, '-o', 'm.junit.xml', status=status, **environment)
        suites = ElementTree.parse('m.junit.xml').getroot()
        self.assertEqual([suites.tag] + [suite.tag for suite in suites],
                         ['testsuites', 'testsuite'])
        suite = suites[0]
        self.assertEqual(suite[0].tag, 'properties')
        cases = suite[1:]
        for element in suites, suite:
            self.assertEqual(int(element.get('tests')), len(cases))
            for plural, tag in (('failures', 'failure'), ('errors', 'error'),
                                ('skipped', 'skipped')):
                found = [case for case in cases if case.find(tag) is not None]
                self.assertEqual(int(element.get(plural)), len(found))
        names = [(case.get('classname'), case.get('name')) for case in cases]
        self.assertEqual(len(names), len(set(names)))
        return cases, suite


# What a summary says of what was checked
CHECKED = {'commands': 5, 'checks': ['assume', 'init'], 'driver': 'a "driver" & <more>',
           'seconds': 1.5}


class Sarif(FormatTest):
    def test_facts(self):
        event = failure(3, other={'source': {'file': 'other.comp', 'line': 7, 'text': 'x = 1;'},
                                  'shader': {'hash': 'f' * 16, 'stage': 'compute'}})
        event['source'].update(extract=['', '   particles.pos[i] = v;', '}'], extract_line=41)
        self.write('a.jsonl', [event], run=run_of('farm-07', 4711), lost=5, **CHECKED)
        run = self.sarif('a.jsonl')
        self.assertEqual({key: run['properties'][key] for key in CHECKED}, CHECKED)
        result, = run['results']
        self.assertEqual(result['ruleId'], 'bounds/buffer-oob')
        self.assertEqual(result['message']['text'], event['message'] + ' ([conflicting access](1))')
        self.assertEqual(result['occurrenceCount'], 3)
        self.assertEqual(result['partialFingerprints'], {'gpuval/v1': event['fingerprint']})
        self.assertEqual(result['locations'][0]['physicalLocation'], {
            'artifactLocation': {'uri': 'particles.comp', 'uriBaseId': 'SRCROOT'},
            'region': {'startLine': 42, 'startColumn': 5,
                       'snippet': {'text': 'particles.pos[i] = v;'}},
            'contextRegion': {'startLine': 41, 'endLine': 43,
                              'snippet': {'text': '\n   particles.pos[i] = v;\n}\n'}}})
        self.assertEqual(result['locations'][0]['logicalLocations'],
                         [{'name': 'main', 'kind': 'function'}])
        self.assertEqual(result['relatedLocations'][0]['id'], 1)
        other = result['relatedLocations'][0]['physicalLocation']
        self.assertEqual(other['artifactLocation']['uri'], 'other.comp')
        self.assertEqual(result['properties']['gpuval']['command'], event['command'])
        invocation, = run['invocations']
        self.assertEqual((invocation['machine'], invocation['processId']), ('farm-07', 4711))
        self.assertEqual(invocation['startTimeUtc'], '2026-01-31T23:59:59Z')
        self.assertIn('5 records', invocation['toolExecutionNotifications'][0]['message']['text'])

    def test_calls(self):
        """Those with a line are related locations, behind the conflicting access."""
        event = failure(3, other={'source': {'file': 'other.comp', 'line': 7, 'text': 'x = 1;'},
                                  'shader': {'hash': 'f' * 16, 'stage': 'compute'}})
        event['command']['recorded'] = [{'function': 'draw', 'file': 'main.c', 'line': 42},
                                        {'function': 'main', 'module': '/bin/app'}]
        event['resource']['created'] = [{'file': 'pool.c', 'line': 5}]
        del event['source']
        self.write('a.jsonl', [event, failure(4, command=event['command'])])
        first, second = self.sarif('a.jsonl')['results']
        self.assertEqual([r['id'] for r in first['relatedLocations']], [1, 2, 3])
        self.assertEqual(first['relatedLocations'][1], {
            'id': 2, 'message': {'text': 'the command was recorded here'},
            'physicalLocation': {'artifactLocation': {'uri': 'main.c', 'uriBaseId': 'SRCROOT'},
                                 'region': {'startLine': 42}},
            'logicalLocations': [{'name': 'draw', 'kind': 'function'}]})
        self.assertEqual(first['relatedLocations'][2]['message']['text'],
                         'the resource was created here')
        self.assertEqual([r['id'] for r in second['relatedLocations']], [1])

    def test_rules(self):
        """Each says what it means and how to mend it."""
        self.write('a.jsonl', [failure(1)])
        rules = self.sarif('a.jsonl')['tool']['driver']['rules']
        self.assertGreater(len(rules), 30)
        for rule in rules:
            self.assertGreater(len(rule['fullDescription']['text']), 20)
            self.assertGreater(len(rule['help']['text']), 20)
            self.assertRegex(rule['helpUri'], r'\Ahttps://')
        rule, = [r for r in rules if r['id'] == 'bounds/buffer-oob']
        self.assertIn('outside the range of the buffer', rule['fullDescription']['text'])

    def test_without_a_line(self):
        event = failure(1)
        del event['source'], event['shader']
        self.write('a.jsonl', [event, failure(2, count=0)])
        first, second = self.sarif('a.jsonl')['results']
        self.assertEqual(first['locations'], [
            {'physicalLocation': {'artifactLocation': {'uri': 'dispatch'},
                                  'region': {'startLine': 1}},
             'logicalLocations': [{'name': 'dispatch', 'kind': 'module'}]}])
        self.assertNotIn('occurrenceCount', second)  # which has to be above 0

    def test_without_debug_information(self):
        """The line of what spirv-dis prints: five of a header, then an instruction each."""
        event = failure(1)
        del event['source']
        self.write('a.jsonl', [event])
        result, = self.sarif('a.jsonl')['results']
        self.assertEqual(result['locations'][0]['physicalLocation'], {
            'artifactLocation': {'uri': '0000000000000001.spvasm'},
            'region': {'startLine': 5 + 1 + 57}})

    def test_empty(self):
        self.write('a.jsonl', [])
        self.assertEqual(self.sarif('a.jsonl')['results'], [])

    def test_warnings(self):
        self.write('a.jsonl', [failure(1, severity='warning', same_value=True), failure(2)])
        self.assertEqual([r['level'] for r in self.sarif('a.jsonl')['results']],
                         ['warning', 'error'])

    def test_messages_and_unfinished_runs(self):
        message = failure(9, check='printf', kind='message', severity='info', message='hello')
        self.write('a.jsonl', [message])
        with open('b.jsonl', 'w', encoding='utf-8') as file:
            file.write('{')
        run = self.sarif('a.jsonl', 'b.jsonl', status=2)
        self.assertEqual(run['results'][0]['level'], 'note')
        self.assertEqual([i['executionSuccessful'] for i in run['invocations']], [True, False])

    def test_baseline(self):
        self.write('old.jsonl', [failure(1)])
        self.write('new.jsonl', [failure(1), failure(2)])
        run = self.sarif('new.jsonl', '--baseline', 'old.jsonl', status=1)
        self.assertEqual([r['baselineState'] for r in run['results']], ['unchanged', 'new'])

    def uris(self, *paths, arguments=(), **environment):
        self.write('a.jsonl', [failure(n, source={'file': path, 'line': n})
                               for n, path in enumerate(paths, 1)])
        run = self.sarif('a.jsonl', *arguments, **environment)
        found = []
        for result in run['results']:
            artifact = result['locations'][0]['physicalLocation']['artifactLocation']
            found.append((artifact['uri'], artifact.get('uriBaseId')))
        return found, run['originalUriBaseIds']['SRCROOT']['uri']

    def test_paths(self):
        here = os.getcwd()
        found, root = self.uris(
            f'{here}/shaders/a b.comp', './x/../y/./z.comp', '../out.comp', '/else/where.comp',
            'sub\\dir\\c.hlsl', 'D:\\engine\\d.hlsl', f'{here}x/e.comp', '/a/../../f.comp',
            'g:h#i?.comp')
        self.assertEqual(root, f'file://{here}/')
        self.assertEqual(found, [
            ('shaders/a%20b.comp', 'SRCROOT'), ('y/z.comp', 'SRCROOT'), ('../out.comp', 'SRCROOT'),
            ('file:///else/where.comp', None), ('sub/dir/c.hlsl', 'SRCROOT'),
            ('file:///D%3A/engine/d.hlsl', None), (f'file://{here}x/e.comp', None),
            ('file:///f.comp', None), ('g%3Ah%23i%3F.comp', 'SRCROOT')])

    def test_roots_of_other_machines(self):
        found, root = self.uris('/farm1/work/a.comp', 'C:\\work\\b.comp', '/farm1/workshop/c.comp',
                                arguments=['--root', '/farm1/work/', '--root=C:\\work'])
        self.assertEqual(root, 'file:///farm1/work/')
        self.assertEqual([uri for uri, _ in found],
                         ['a.comp', 'b.comp', 'file:///farm1/workshop/c.comp'])

    def test_source_map(self):
        """What a compiler in another container has called a file"""
        found, _ = self.uris('/build/shaders/a.comp', '/build2/b.comp', '/dxc/x/c.hlsl', '/dxc',
                             arguments=['--source-map', '/build=src', '--source-map=/dxc/=/e//f'])
        self.assertEqual([uri for uri, _ in found],
                         ['src/shaders/a.comp', 'file:///build2/b.comp', 'file:///e/f/x/c.hlsl',
                          'file:///e/f'])
        for nonsense in 'nothing', '=to':
            _, err = self.tool('a.jsonl', '--source-map', nonsense, status=2)
            self.assertIn('--source-map is FROM=TO', err)

    def test_workspace(self):
        found, root = self.uris('/ws/a.comp', GITHUB_WORKSPACE='/ws')
        self.assertEqual((found[0][0], root), ('a.comp', 'file:///ws/'))

    def test_hostile_names(self):
        self.write('a.jsonl', [
            failure(n, message=name, source={'file': name, 'line': 1, 'text': name,
                                             'function': name})
            for n, name in enumerate(HOSTILE, 1)], run={**run_of(HOSTILE[6]), 'time': HOSTILE[1]})
        run = self.sarif('a.jsonl')
        self.assertEqual(run['invocations'][0]['machine'], HOSTILE[6])
        self.assertNotIn('startTimeUtc', run['invocations'][0])
        for name, result in zip(HOSTILE, run['results'], strict=True):
            location = result['locations'][0]
            self.assertEqual(result['message']['text'], name)
            self.assertEqual(location['physicalLocation']['region']['snippet']['text'], name)
            self.assertEqual(location['logicalLocations'][0]['name'], name)
            uri = location['physicalLocation']['artifactLocation']['uri']
            self.assertRegex(uri, r'\A[A-Za-z0-9%/._~-]+\Z')
            if '/' not in name and '\\' not in name:
                self.assertEqual(urllib.parse.unquote(uri), name)


class Junit(FormatTest):
    def test_facts(self):
        message = failure(9, check='printf', kind='message', severity='info', message='hello')
        self.write('a.jsonl', [failure(3), message], run=run_of('farm-07'), **CHECKED)
        self.write('b.jsonl', [failure(3, count=4)], run=run_of('farm-08'), **CHECKED)
        cases, suite = self.junit('a.jsonl', 'b.jsonl')
        case, end = cases
        self.assertEqual(case.attrib, {
            'classname': 'gpuval.engine.bounds', 'time': '0', 'file': 'particles.comp', 'line': '42',
            'name': 'buffer-oob in particles.comp (0000000000000003)'})
        bad = case.find('failure')
        self.assertEqual(bad.get('type'), 'bounds/buffer-oob')
        self.assertEqual(bad.get('message'), failure(3)['message'])
        for line in (f'gpuval: error: bounds/buffer-oob: {failure(3)["message"]}',
                     'gpuval:    at particles.comp:42:5 in main(): particles.pos[i] = v;',
                     'gpuval:    compute shader 0000000000000003 "simulate", instruction 57, '
                     'invocation (64, 0, 0)',
                     'gpuval:    dispatch 3 of command buffer 0x55d0c0 "frame", pipeline 0x55d0f0 '
                     '"sim", labels "frame" > "simulate"',
                     '7 times in 2 runs', '4 times in 1 run on farm-08'):
            self.assertIn(line, bad.text.splitlines())
        self.assertEqual(len(end), 0)
        properties = {p.get('name'): p.get('value') for p in suite[0]}
        self.assertEqual((properties['occurrences'], properties['runs']), ('7', '2'))
        self.assertEqual([properties[key] for key in CHECKED],
                         ['10', 'assume,init', 'a "driver" & <more>', '3.000'])

    def test_baseline(self):
        self.write('old.jsonl', [failure(1)])
        self.write('new.jsonl', [failure(1), failure(2)])
        cases, _ = self.junit('new.jsonl', '--baseline', 'old.jsonl', status=1)
        self.assertEqual([case[0].tag for case in cases[:2]], ['skipped', 'failure'])

    def test_warnings(self):
        self.write('a.jsonl', [failure(1, severity='warning', same_value=True), failure(2)])
        cases, _ = self.junit('a.jsonl')
        self.assertEqual([case[0].tag for case in cases[:2]], ['skipped', 'failure'])
        self.assertEqual(cases[0][0].get('message'), 'warning: ' + failure(1)['message'])

    def test_programs(self):
        """Two that share a shader: a test case is known by its class and its name."""
        names = set()
        for program in 'first', 'second.exe':
            self.write('a.jsonl', [failure(1)], run={**run_of('here'), 'program': program})
            cases, suite = self.junit('a.jsonl')
            self.assertEqual(suite.get('name'), f'gpuval {program}')
            names |= {(case.get('classname'), case.get('name')) for case in cases}
            self.write(f'{program}.jsonl', [failure(1)], run={**run_of('here'), 'program': program})
        self.assertEqual(len(names), 4)
        self.assertIn('gpuval.second_exe.bounds', [name for name, _ in names])
        cases, suite = self.junit('first.jsonl', 'second.exe.jsonl')
        self.assertEqual((suite.get('name'), cases[0].get('classname')),
                         ('gpuval', 'gpuval.bounds'))

    def test_what_was_lost(self):
        self.write('a.jsonl', [], lost=3)
        cases, _ = self.junit('a.jsonl')
        self.assertIn('3 records', cases[0].find('skipped').get('message'))

    def test_names_stay(self):
        """A shader that has moved, in another folder of another machine"""
        names = set()
        for folder, line in (('/one', 42), ('/two', 52)):
            self.write('a.jsonl', [failure(1, count=line, source={
                'file': f'{folder}/s/particles.comp', 'line': line, 'text': 'x'})])
            names.add(self.junit('a.jsonl', '--root', folder)[0][0].get('name'))
        self.assertEqual(len(names), 1)

    def test_hostile_names(self):
        self.write('a.jsonl', [
            failure(n, message=name, shader={'hash': '0' * 16, 'name': name},
                    source={'file': name, 'line': 1, 'text': name})
            for n, name in enumerate(HOSTILE, 1)], run=run_of(HOSTILE[6]))
        cases, _ = self.junit('a.jsonl')
        for name, case in zip(HOSTILE, cases[:-1], strict=True):
            said = re.sub('[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]', '\ufffd', name)
            self.assertEqual(case.find('failure').get('message'), said)
            self.assertEqual(case.find('failure').text.count('\n'), 6)


class CodeQuality(FormatTest):
    """What GitLab reads, by the table of its documentation"""

    def issues(self, *arguments, status=0, **environment):
        self.tool(*arguments, '-o', 'm.codequality.json', status=status, **environment)
        with open('m.codequality.json', encoding='utf-8') as file:
            issues = json.load(file)
        self.fits(issues, [{
            'description': (str, True), 'check_name': (str, True), 'fingerprint': (str, True),
            'severity': (str, True),
            'location': ({'path': (str, True), 'lines': ({'begin': (int, True)}, True)}, True)}])
        fingerprints = [issue['fingerprint'] for issue in issues]
        self.assertEqual(len(fingerprints), len(set(fingerprints)))
        for issue in issues:
            self.assertIn(issue['severity'], ('info', 'minor', 'major', 'critical', 'blocker'))
            self.assertFalse(issue['location']['path'].startswith('./'))
        return issues

    def test_facts(self):
        plain = failure(2)
        del plain['source'], plain['fingerprint']
        command = failure(3)
        del command['source'], command['shader']
        message = failure(4, check='printf', kind='message', severity='info', message='hello')
        self.write('a.jsonl', [
            message, failure(1), plain, command, failure(5, severity='warning', same_value=True)])
        said, first, second, third, fourth = self.issues('a.jsonl')
        self.assertEqual(first, {
            'description': failure(1)['message'], 'check_name': 'bounds/buffer-oob',
            'fingerprint': failure(1)['fingerprint'], 'severity': 'major',
            'location': {'path': 'particles.comp', 'lines': {'begin': 42}}})
        self.assertEqual(second['location'],
                         {'path': '0000000000000002.spvasm', 'lines': {'begin': 63}})
        self.assertEqual(third['location'], {'path': 'dispatch', 'lines': {'begin': 1}})
        self.assertEqual((said['severity'], fourth['severity']), ('info', 'minor'))

    def test_empty(self):
        self.write('a.jsonl', [])
        self.assertEqual(self.issues('a.jsonl'), [])

    def test_hostile_names(self):
        self.write('a.jsonl', [
            failure(n, message=name, source={'file': name, 'line': 1})
            for n, name in enumerate(HOSTILE, 1)])
        self.assertEqual([issue['description'] for issue in self.issues('a.jsonl')], HOSTILE)


class StepSummary(FormatTest):
    """The page of a step in GitHub Actions"""

    def page(self, *arguments, status=0, actions='true'):
        with open('page.md', 'w', encoding='utf-8') as file:
            file.write('before\n')
        self.tool(*arguments, status=status, GITHUB_ACTIONS=actions, GITHUB_STEP_SUMMARY='page.md')
        with open('page.md', encoding='utf-8') as file:
            text = file.read()
        self.assertTrue(text.startswith('before\n'))
        return text.removeprefix('before\n')

    def test_table(self):
        self.write('old.jsonl', [failure(1), failure(7)])
        self.write('a.jsonl', [failure(1), failure(2, message='a | b <i>'),
                               failure(3, severity='warning')], run=run_of('here'))
        page = self.page('a.jsonl', '--baseline', 'old.jsonl', status=1)
        lines = page.split('\n')
        self.assertEqual(lines[0], '### gpuval, engine: 2 errors (3 occurrences), 1 warning, '
                                   '0 records lost')
        self.assertEqual(lines[2], '1 new, 1 still there, 1 gone')
        self.assertIn('| **new** bounds/buffer-oob | particles.comp:42 | a \\| b \\<i\\> | 2 |', lines)
        self.assertEqual(len([line for line in lines if line.startswith('|')]), 2 + 3)

    def test_nothing(self):
        self.write('a.jsonl', [])
        self.assertEqual(self.page('a.jsonl'), '### gpuval: no errors\n\n\n')
        self.assertEqual(self.page('a.jsonl', actions=''), '')

    def test_much(self):
        self.write('a.jsonl', [failure(n, message='x' * 100000) for n in range(1, 1001)])
        page = self.page('a.jsonl')
        self.assertLess(len(page), 1 << 20)
        self.assertIn('The reports have all 1000 failures.', page)

    def test_hostile_names(self):
        self.write('a.jsonl', [
            failure(n, message=name, source={'file': name, 'line': 1})
            for n, name in enumerate(HOSTILE, 1)])
        for line in self.page('a.jsonl').split('\n')[4:-2]:
            self.assertRegex(line, r'\A\| bounds/buffer-oob \|.*\| [0-9]+ \|\Z')
            self.assertEqual(len(re.findall(r'(?<!\\)(?:\\\\)*\|', line)), 5)


class Github(FormatTest):
    def annotations(self, *arguments, **more):
        out, _ = self.tool(*arguments, GITHUB_ACTIONS='true', **more)
        return [line for line in out.split('\n') if line.startswith('::')]

    def test_facts(self):
        event = failure(1)
        event['source'] = {'file': '/ws/a,b:c%.comp', 'line': 42, 'column': 5}
        event['message'] = '100% of\nit'
        plain = failure(2)
        del plain['source']
        self.write('a.jsonl', [event, plain])
        self.assertEqual(self.annotations('a.jsonl', GITHUB_WORKSPACE='/ws'), [
            '::error file=a%2Cb%3Ac%25.comp,line=42,col=5,title=gpuval bounds/buffer-oob::'
            '100%25 of\\nit (fingerprint 0000000000000001)',
            '::error title=gpuval bounds/buffer-oob::store of 4 bytes at offset 4098 is outside '
            'set 0, binding 1 (fingerprint 0000000000000002)'])

    def test_warnings(self):
        self.write('a.jsonl', [failure(1, severity='warning', same_value=True)])
        self.assertIn('::warning file=particles.comp,line=42', self.annotations('a.jsonl')[0])

    def test_only_what_is_new(self):
        self.write('old.jsonl', [failure(1)])
        self.write('new.jsonl', [failure(1), failure(2)])
        self.assertEqual(len(self.annotations('new.jsonl', '--baseline', 'old.jsonl', status=1)),
                         1)

    def test_nowhere_else(self):
        self.write('a.jsonl', [failure(1)])
        self.assertNotIn('::error', self.tool('a.jsonl')[0])
        for value in '', '0', 'false':
            self.assertNotIn('::error', self.tool('a.jsonl', GITHUB_ACTIONS=value)[0])
        self.assertIn('::error', self.tool('a.jsonl', GITHUB_ACTIONS='1')[0])

    def test_hostile_names(self):
        self.write('a.jsonl', [
            failure(n, message=name, source={'file': name, 'line': 1})
            for n, name in enumerate(HOSTILE, 1)])
        lines = self.annotations('a.jsonl')
        self.assertEqual(len(lines), len(HOSTILE))
        for line in lines:
            self.assertRegex(line, r'\A::error file=[^:,\x00-\x08\x0a-\x1f]*,line=1,title=[^:,]*::'
                             r'[^\x00-\x08\x0a-\x1f]*\Z')


if __name__ == '__main__':
    main()
