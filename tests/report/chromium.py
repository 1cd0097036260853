# SPDX-License-Identifier: MIT

"""A page in headless Chromium, through the DevTools protocol over a pipe.

https://chromedevtools.github.io/devtools-protocol/: objects of JSON, a NUL behind each,
to descriptor 3 of the browser and from its descriptor 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

KEYS = {  # key: (code, number, what it types)
    'Enter': ('Enter', 13, '\r'), 'Escape': ('Escape', 27, ''), 'Tab': ('Tab', 9, ''),
    'ArrowUp': ('ArrowUp', 38, ''), 'ArrowDown': ('ArrowDown', 40, ''),
    'ArrowLeft': ('ArrowLeft', 37, ''), 'ArrowRight': ('ArrowRight', 39, ''),
    '/': ('Slash', 191, '/'), ' ': ('Space', 32, ' '),
}


def find():
    return shutil.which('chromium') or shutil.which('chromium-browser')


class Browser:
    """One page. Errors of its scripts, and what it logs, are in `errors`."""

    def __init__(self, folder, *options):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        self.errors = []
        self.loaded = False
        self.number = 0
        self.rest = b''

        # In between, neither may be in the other's place.
        starter = ('import os, sys; a, b = [os.dup2(int(n), 100 + i) for i, n in '
                   'enumerate(sys.argv[1:3])]; os.dup2(a, 3); os.dup2(b, 4); '
                   'os.execv(sys.argv[3], sys.argv[3:])')
        self.process = subprocess.Popen(
            [sys.executable, '-c', starter, str(to_browser), str(from_browser),
             find(), '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-dev-shm-usage', '--disable-extensions', '--remote-debugging-pipe',
             f'--user-data-dir={folder}', *options, 'about:blank'],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = next(t for t in self.call('Target.getTargets')['targetInfos']
                      if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=target['targetId'],
                                 flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log', 'Network':
            self.call(domain + '.enable')

    def close(self):
        try:
            self.session = None
            self.call('Browser.close')
        except (OSError, RuntimeError):
            self.process.kill()
        self.process.wait()
        os.close(self.input)
        os.close(self.output)

    def receive(self, deadline):
        while b'\0' not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise RuntimeError('Chromium does not answer')
            data = os.read(self.input, 1 << 20)
            if not data:
                raise RuntimeError('Chromium has ended')
            self.rest += data
        message, self.rest = self.rest.split(b'\0', 1)
        return json.loads(message)

    def note(self, message):
        parameters = message.get('params', {})
        match message.get('method'):
            case 'Runtime.exceptionThrown':
                details = parameters['exceptionDetails']
                self.errors.append(details.get('exception', {}).get('description') or str(details))
            case 'Log.entryAdded':
                self.errors.append(parameters['entry']['text'])
            case 'Runtime.consoleAPICalled':
                self.errors.append(str(parameters['args']))
            case 'Network.requestWillBeSent':
                if not parameters['request']['url'].startswith(('file:', 'data:', 'about:')):
                    self.errors.append('asks for ' + parameters['request']['url'])
            case 'Page.javascriptDialogOpening':
                raise RuntimeError('a dialog: ' + parameters['message'])
            case 'Page.loadEventFired':
                self.loaded = True

    def call(self, method, seconds=60, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.output, data):]
        deadline = time.monotonic() + seconds
        while True:
            answer = self.receive(deadline)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]}')
                return answer['result']
            self.note(answer)

    def open(self, url, seconds=120):
        """Until it is loaded: all scripts have run then."""
        self.loaded = False
        self.call('Page.navigate', url=url)
        deadline = time.monotonic() + seconds
        while not self.loaded:
            self.note(self.receive(deadline))
        # That may have been an event of the page before.
        script = f'document.readyState == "complete" && location.href == {json.dumps(url)}'
        while not self.run(script) and time.monotonic() < deadline:
            time.sleep(0.05)

    def run(self, script):
        """The value of an expression of the page."""
        result = self.call('Runtime.evaluate', expression=script, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{script}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def press(self, *keys):
        for key in keys:
            if key not in KEYS:
                self.call('Input.insertText', text=key)
                continue
            code, number, text = KEYS[key]
            common = {'key': key, 'code': code, 'windowsVirtualKeyCode': number}
            self.call('Input.dispatchKeyEvent', type='keyDown', text=text, **common)
            self.call('Input.dispatchKeyEvent', type='keyUp', **common)

    def dark(self, dark=True):
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def size(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def picture(self, name):
        with open(name, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot')['data']))
