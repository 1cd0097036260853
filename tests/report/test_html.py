#!/usr/bin/env python3
# SPDX-License-Identifier: MIT

"""HTML reports, in Debian's Chromium as a reader sees them."""

import json
import os
import re
import sys
import tempfile

import chromium
from reports import HOSTILE, ReportTest, failure, main, many, run_of

VISIBLE = "[...document.querySelectorAll('%s')].filter((e) => e.offsetParent).length"


class HtmlTest(ReportTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.browser = chromium.Browser(folder.name)
        cls.addClassCleanup(cls.browser.close)
        cls.browser.size(1280, 900)

    def open(self, *arguments, status=0):
        self.tool(*arguments, '-o', 'm.html', status=status)
        self.browser.open(f'file://{os.getcwd()}/m.html')
        self.assertEqual(self.browser.errors, [])
        self.assertIsNotNone(self.run_('document.documentElement.dataset.ready'))

    def run_(self, script):
        value = self.browser.run(script)
        self.assertEqual(self.browser.errors, [])
        return value

    def visible(self, selector):
        return self.run_(VISIBLE % selector)

    def text(self, selector='body'):
        return self.run_(f"document.querySelector('{selector}').innerText")

    def search(self, words):
        """What is shown then, which takes a moment."""
        self.run_(f"byId('search').value = {json.dumps(words)};"
                  "byId('search').dispatchEvent(new Event('input'));"
                  "new Promise((done) => setTimeout(done, 300))")
        return self.text('#shown')


class Html(HtmlTest):
    def test_help(self):
        self.write('a.jsonl', [failure(1), failure(2, check='of', kind='tomorrow')])
        self.open('a.jsonl')
        self.assertEqual(self.visible('.help'), 1)
        self.assertIn('outside the range of the buffer',
                      self.run_("document.querySelector('.help').textContent"))
        self.assertFalse(self.run_("byId('how-to').open"))

    def test_verdict(self):
        """Green is where there is nothing to mend."""
        warning = failure(2, severity='warning', same_value=True)
        for events, facts, state, text in (
                ([], {}, 'good', 'No failures.'), ([], {'lost': 3}, 'warned', 'No failures.'),
                ([warning], {}, 'warned', 'No errors, 1 warning.'),
                ([failure(3), warning], {}, 'bad', '1 failure, 3 times in all.'),
                ([failure(3)], {'ended': 'SIGINT'}, 'bad',
                 '1 failure, 3 times in all. The program has not come to its end (SIGINT): this is '
                 'what was known until then.')):
            with self.subTest(text):
                self.write('a.jsonl', events, **facts)
                self.open('a.jsonl')
                self.assertEqual(self.run_("byId('verdict').className"), f'notice {state}')
                self.assertEqual(self.text('#verdict'), text)

    def test_new_ones_are_first(self):
        self.write('old.jsonl', [failure(9), failure(8)])
        self.write('new.jsonl', [failure(9), failure(2)])
        self.open('new.jsonl', '--baseline', 'old.jsonl', status=1)
        self.assertEqual(self.text('#verdict'), '1 new failure, 1 still there, 1 gone.')
        self.assertEqual(self.run_("byId('verdict').className"), 'notice bad')
        self.assertIn('offset 4098', self.text('.message-row'))
        self.assertEqual(self.text('#gone-title'), '1 failure is gone')
        self.assertFalse(self.run_("byId('gone').hidden"))
        self.assertIn('offset 4104', self.run_("byId('gone-list').textContent"))
        self.assertEqual(self.run_('events.length'), 2)
        self.open('old.jsonl', '--baseline', 'old.jsonl')
        self.assertEqual(self.run_("byId('verdict').className"), 'notice warned')
        self.assertTrue(self.run_("byId('gone').hidden"))

    def test_keys_of_tomorrow(self):
        """A fact that the page has no words for is there all the same."""
        event = failure(1)
        self.write('a.jsonl', [event])
        self.tool('a.jsonl', '-o', 'm.html')
        with open('m.html', encoding='utf-8') as file:
            page = file.read().replace('"detail"', '"x"').replace(
                '"access":{', '"taste_of":{"salt":1},"access":{"far_off":"yes",', 1)
        with open('m.html', 'w', encoding='utf-8') as file:
            file.write(page)
        self.browser.open(f'file://{os.getcwd()}/m.html')
        said = self.text('#groups')
        for part in 'taste of', '{"salt":1}', 'access far off', 'yes':
            self.assertIn(part, said)

    def test_coverage(self):
        """The table by shader, the least covered first; two tracefiles add up."""
        def record(file, main, *lines):
            functions = f'FN:1,main\nFNDA:{main},main\nFN:9,no<b>\nFNDA:0,no<b>\n'
            branches = 'BRDA:3,0,0,5\nBRDA:3,0,1,0\n'
            data = ''.join(f'DA:{i},{count}\n' for i, count in lines)
            return f'TN:\nSF:{file}\n{functions}{branches}{data}end_of_record\n'

        self.write('a.jsonl', [failure(1)])
        some = record('/s/some.frag', 7, (1, 7), (2, 7), (3, 0), (5, 0), (6, 7), (9, 0))
        with open('a.info', 'w', encoding='utf-8') as file:
            file.write(some + record('/s/none.comp', 0, (1, 0), (2, 0)) +
                       'SF:/s/</script>.vert\nDA:1,1\nend_of_record\n')
        with open('b.info', 'w', encoding='utf-8') as file:
            file.write(record('/s/some.frag', 3, (9, 4)))
        self.open('a.jsonl')
        self.assertEqual(self.visible('#coverage'), 0)
        self.open('a.jsonl', '--coverage', 'a.info', '--coverage', 'b.info')
        self.assertEqual(self.text('#covered-sum'),
                         '5 of 9 lines (55 %), 1 of 4 functions (25 %), 2 of 4 branches (50 %); '
                         '1 shader was never executed')
        rows = "[...document.querySelectorAll('#covered tr')]"
        cells = f"{rows}.map((row) => [...row.children].map((cell) => cell.innerText.trim()))"
        self.assertEqual(self.run_(cells), [
            ['none.comp never executed', '0 % of 2', '0 % of 2', '50 % of 2', '1-2'],
            ['some.frag', '66 % of 6', '50 % of 2', '50 % of 2', '3-5'],
            ['script>.vert', '100 % of 1', 'none', 'none', '']])
        self.run_(f"{rows}[1].querySelector('summary').click();"
                  "new Promise((done) => setTimeout(done, 100))")
        said = self.run_(f"{rows}[1].innerText")
        for part in '/s/some.frag', 'main()', 'line 1, 10 times', 'no<b>()', 'line 9, never':
            self.assertIn(part, said)
        self.run_("document.querySelector('#coverage thead button').click()")
        self.assertIn('none.comp', self.run_(f"{rows}[0].innerText + {rows}[1].innerText"))
        self.assertEqual(self.run_("document.querySelector('[aria-sort=ascending]').innerText.trim()"),
                         "Shader's source \u25b4".split(' \u25b4')[0])

    def test_coverage_that_is_none(self):
        self.write('a.jsonl', [failure(1)])
        for name, text in ('missing.info', None), ('a.info', 'of value\n'), ('b.info', '#!/bin/sh\n'):
            with self.subTest(name):
                if text:
                    with open(name, 'w', encoding='utf-8') as file:
                        file.write(text)
                _, said = self.tool('a.jsonl', '--coverage', name, '-o', 'm.html', status=2)
                self.assertIn(name, said)
                self.assertEqual(said.count('\n'), 1)

    def test_calls_and_values(self):
        event = failure(1, stack=[{'function': 'twice', 'file': 'a.comp', 'line': 15, 'column': 3,
                                   'text': 'f(i);', 'instruction': 9}, {'function': 'main'}],
                        values=[{'name': 'i', 'value': '7'}, {'name': 'p.at', 'value': '1, 2'}])
        event['command']['recorded'] = [{'function': 'draw()', 'file': 'main.c', 'line': 42},
                                        {'module': '/bin/app', 'offset': '0x7f'}]
        event['resource']['created'] = [{'file': 'pool.c', 'line': 5}]
        self.write('a.jsonl', [event])
        self.open('a.jsonl')
        said = self.text('#groups')
        for part in ('a.comp:15:3 in twice() : f(i);', 'in main()', 'i = 7; p.at = 1, 2',
                     'main.c:42 in draw()', '/bin/app+0x7f', 'pool.c:5'):
            self.assertIn(part, said)
        self.assertNotIn('instruction 9', said)
        self.assertNotIn('[{', said)  # nothing is left as JSON

    def test_narrow_and_print(self):
        self.write('a.jsonl', [failure(1, message='x' * 200)])
        self.open('a.jsonl')
        self.browser.size(360, 800)
        self.assertLessEqual(self.run_('document.documentElement.scrollWidth'), 360)
        self.browser.call('Emulation.setEmulatedMedia', media='print')
        self.assertEqual(self.visible('#tools'), 0)
        self.assertEqual(self.visible('.details'), 1)
        self.browser.call('Emulation.setEmulatedMedia', media='')
        self.browser.size(1280, 800)

    def test_what_was_checked(self):
        self.write('a.jsonl', [], commands=5, checks=['assume', 'init'], driver='<b>driver</b>',
                   seconds=1.5, run=run_of('farm-07'))
        self.open('a.jsonl')
        self.assertEqual(self.text('#scope'), 'Checks: assume, init · <b>driver</b> · 1.5 s')
        self.assertIn('commands checked', self.text('#tiles'))

    def test_facts(self):
        event = failure(3, other={'certain': True, 'source': {'file': 'other.comp', 'line': 7,
                                                              'text': 'x = 1;'}})
        event['source'].update(extract=['void main()', '\tparticles.pos[i] = v;', '}'],
                               extract_line=41)
        command = failure(4, check='vertex', kind='attribute-oob')
        del command['shader'], command['source'], command['spirv'], command['invocation']
        message = failure(9, check='printf', kind='message', severity='info', message='hello')
        self.write('a.jsonl', [event, command, message], run=run_of('farm-07', 4711), lost=5,
                   messages=9, suppressed=2)
        self.open('a.jsonl')
        head = self.text()
        for part in ('engine', 'farm-07', 'process 4711', '5 records were lost', '2\nsuppressed',
                     'dispatch (no shader)', 'simulate', '7\noccurrences'):
            self.assertIn(part, head)
        marked = self.run_("[...document.querySelectorAll('.extract .marked')]"
                           ".map((e) => e.textContent)")
        self.assertIn('▸42\tparticles.pos[i] = v;', marked)
        body = self.run_("byId('groups').textContent")  # also what is not in sight
        for part in ('particles.comp:42:5 in main()', 'Conflicting access', 'other.comp:7',
                     'storage buffer "particles", 4,096 bytes', '"frame" > "simulate"', 'hello',
                     'bounds/buffer-oob fingerprint:0000000000000003', '(64, 0, 0)',
                     'store of 4 bytes at offset 4096, address 0x7f0012345000',
                     'instruction 57, byte 420', 'dispatch 3, of submission 7'):
            self.assertIn(part, body)
        self.assertEqual(self.visible('.extract span'), 3 + 1 + 1)

    def test_empty(self):
        self.write('a.jsonl', [])
        self.open('a.jsonl')
        self.assertIn('Nothing was reported', self.text())
        self.assertIn('Nothing was lost', self.text())

    def test_many_runs(self):
        for host in 'one', 'two':
            self.write(f'{host}.jsonl', [failure(1), failure(len(host) + (host == 'two'))],
                       run=run_of(host))
        self.write('old.jsonl', [failure(1)])
        with open('bad.jsonl', 'w', encoding='utf-8') as file:
            file.write('{')
        self.open('one.jsonl', 'two.jsonl', 'bad.jsonl', '--baseline', 'old.jsonl', status=2)
        head = self.text()
        for part in ('3 runs on 2 machines', '2\nnew', '1\nstill there', '0\ngone', '2 new failures', '1 line of the reports', 'bad.jsonl',
                     'by run'):
            self.assertIn(part, head)
        self.run_("byId('only-new').click()")
        self.assertEqual(self.text('#shown'), '2 of 3 in 2 shaders')
        self.run_("byId('only-new').click(); byId('machine').value = 'two';"
                  "byId('machine').dispatchEvent(new Event('change'))")
        self.assertEqual(self.text('#shown'), '2 of 3 in 2 shaders')
        self.run_("byId('clear').click();"
                  "document.querySelectorAll('.details details').forEach((e) => { e.open = true; });"
                  "new Promise((done) => setTimeout(done, 200))")
        self.assertIn('1 run, 4 times', self.run_("byId('groups').textContent"))

    def test_hostile_names(self):
        events = [failure(n, check='bounds', message=name, detail=name,
                          shader={'hash': f'{n:016x}', 'stage': 'compute', 'name': name},
                          source={'file': name, 'line': 1, 'text': name, 'function': name,
                                  'extract': [name], 'extract_line': 1},
                          command={'op': 'draw', 'labels': [name]})
                  for n, name in enumerate(HOSTILE, 1)]
        self.write('a.jsonl', events, run={**run_of(HOSTILE[6]), 'program': HOSTILE[7]})
        self.open('a.jsonl')
        self.assertEqual(self.visible('.details'), len(HOSTILE))
        self.assertEqual(self.run_('events.map((e) => e.message)'), HOSTILE)
        self.assertEqual(self.run_("document.querySelectorAll('script').length"), 5)
        self.assertEqual(self.run_("document.querySelectorAll('#groups b').length"), 0)
        said = self.run_("[...document.querySelectorAll('.message-row .grow')]"
                         ".map((e) => e.firstChild.textContent)")
        for name in HOSTILE:
            shown = re.sub('[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]',
                           lambda c: f'\\u{ord(c[0]):04x}', name)
            self.assertIn(shown, said)

    def test_is_one_file(self):
        self.write('a.jsonl', [failure(1)])
        self.tool('a.jsonl', '-o', 'm.html')
        with open('m.html', encoding='utf-8') as file:
            text = file.read()
        self.assertNotRegex(text, r'''(src|href)=["']?(?!data:|["'])''')
        self.assertEqual(set(re.findall(r'https?://[^/]*', text)), {'https://registry.khronos.org'})
        self.assertEqual(len(re.findall('</script', text)), 5)


class Reader(HtmlTest):
    def setUp(self):
        super().setUp()
        events = []
        for n in range(1, 41):
            kind = ('bounds', 'buffer-oob') if n % 2 else ('export', 'nan')
            stage = 'compute' if n % 4 else 'fragment'
            events.append(failure(
                n, check=kind[0], kind=kind[1], message=f'number {n}.',
                shader={'hash': f'{n % 4:016x}', 'stage': stage, 'name': f'shader {n % 4}'},
                command={'op': 'draw', 'submission': n}))
        self.write('a.jsonl', events)
        self.open('a.jsonl')

    def test_groups_open(self):
        self.assertEqual(self.visible('.group'), 4)
        self.assertEqual(self.visible('.message-row'), 40)  # 60 are open without being asked
        self.assertEqual(self.visible('.details'), 0)  # 20
        self.run_("byId('collapse').click()")
        self.assertEqual(self.visible('.message-row'), 0)
        self.run_("document.querySelector('.group-row').click()")
        self.assertEqual(self.visible('.message-row'), 10)
        self.run_("document.querySelector('.message-row').click()")
        self.assertEqual(self.visible('.details'), 1)
        self.run_("document.querySelector('.message-row').click()")
        self.assertEqual(self.visible('.details'), 0)

    def test_search_and_filters(self):
        self.assertEqual(self.search('number 17.'), '1 of 40 in 1 shader')
        self.assertEqual(self.visible('.message-row'), 1)
        self.assertEqual(self.search('EXPORT 0000000000000002'), '10 of 40 in 1 shader')
        self.assertEqual(self.search('nothing like it'), '0 of 40 in 0 shaders')
        self.run_("byId('clear').click()")
        self.run_("byId('kind').value = 'export/nan';"
                  "byId('kind').dispatchEvent(new Event('change'))")
        self.assertEqual(self.text('#shown'), '20 of 40 in 2 shaders')
        self.run_("byId('stage').value = 'fragment';"
                  "byId('stage').dispatchEvent(new Event('change'))")
        self.assertEqual(self.text('#shown'), '10 of 40 in 1 shader')

    def test_order(self):
        first = "document.querySelector('.group-row strong').textContent"
        self.assertEqual(self.run_(first), 'shader 0')  # 4 + 8 + ... + 40
        self.run_("byId('order').value = 'seen';"
                  "byId('order').dispatchEvent(new Event('change'))")
        self.assertEqual(self.run_(first), 'shader 1')

    def test_timeline(self):
        self.assertEqual(self.visible('#bars button'), 41)
        self.run_("document.querySelectorAll('#bars button')[17].click()")
        self.assertEqual(self.text('#shown'), '1 of 40 in 1 shader')
        self.assertIn('number 17.', self.run_("byId('groups').textContent"))
        self.run_("document.querySelectorAll('#bars button')[17].click()")
        self.assertEqual(self.text('#shown'), 'in 4 shaders')

    def test_keyboard(self):
        active = 'document.activeElement.innerText || document.activeElement.id'
        press = self.browser.press
        self.run_("byId('collapse').click()")
        press('/')
        self.assertEqual(self.run_(active), 'search')
        press('ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowDown')
        self.assertEqual(self.visible('.message-row'), 10)
        self.assertIn('number ', self.run_(active))
        press('Enter')
        self.assertEqual(self.visible('.details'), 1)
        press('ArrowLeft')
        self.assertEqual(self.visible('.details'), 0)
        press('ArrowLeft')
        self.assertEqual(self.run_("document.activeElement.className"), 'row group-row')
        press('ArrowLeft')
        self.assertEqual(self.visible('.message-row'), 0)
        press('/', *'17.')
        self.run_('new Promise((done) => setTimeout(done, 300))')
        self.assertEqual(self.text('#shown'), '1 of 40 in 1 shader')
        press('Escape')
        self.run_('new Promise((done) => setTimeout(done, 300))')
        self.assertEqual(self.text('#shown'), 'in 4 shaders')

    def test_everything_has_a_name(self):
        unnamed = self.run_("[...document.querySelectorAll('button, input, select')].filter((e) =>"
                            "!(e.textContent || e.ariaLabel || (e.labels && e.labels.length)))"
                            ".map((e) => e.outerHTML)")
        self.assertEqual(unnamed, [])

    def test_link_to_one(self):
        self.browser.open('about:blank')
        self.browser.open(f'file://{os.getcwd()}/m.html#{17:016x}')
        self.assertEqual(self.visible('.details'), 1)
        self.assertIn('number 17.', self.run_('document.activeElement.innerText'))

    def test_light_and_dark(self):
        color = 'getComputedStyle(document.body).backgroundColor'
        self.browser.dark(False)
        light = self.run_(color)
        self.browser.dark()
        dark = self.run_(color)
        self.assertNotEqual(light, dark)
        self.run_("byId('theme').click()")
        self.assertEqual(self.run_(color), light)
        self.run_("byId('theme').click()")
        self.browser.dark(False)
        self.assertEqual(self.run_(color), dark)
        # WCAG 2.1, "Contrast (Minimum)": of text and what is faint, on both
        ratio = '''((...names) => {
            const style = getComputedStyle(document.documentElement);
            const luminance = (name) => style.getPropertyValue(name).trim().slice(1).match(/../g)
                .map((c) => parseInt(c, 16) / 255)
                .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0) + 0.05;
            const [a, b] = names.map(luminance);
            return Math.max(a / b, b / a);
        })'''
        for _ in range(2):
            for front in '--text', '--faint', '--accent', '--error', *(f'--c{n}' for n in range(10)):
                for back in '--back', '--raised':
                    if front[2] != 'c' or back == '--back':
                        self.assertGreaterEqual(self.run_(f"{ratio}('{front}', '{back}')"), 4.5,
                                                f'{front} on {back}')
            self.run_("setTheme('light')")


class Large(HtmlTest):
    def test_five_thousand(self):
        self.write('a.jsonl', many())
        self.open('a.jsonl')
        # How long it takes to open is in bench/: what it has to be is little work.
        self.assertLess(self.run_("document.querySelectorAll('*').length"), 20000)
        self.assertEqual(self.run_("document.querySelectorAll('.message-row').length"), 0)
        self.assertEqual(self.visible('.group'), 800)
        self.assertEqual(self.search('offset 4321 '), '1 of 5,000 in 1 shader')
        self.run_("byId('clear').click(); byId('expand').click()")
        self.assertEqual(self.run_("document.querySelectorAll('.message-row').length"), 5000)


if __name__ == '__main__':
    if not chromium.find():
        print('no chromium (Debian: chromium)')
        sys.exit(77)
    main()
