#!/usr/bin/env python3
# SPDX-License-Identifier: MIT

"""scenarios.py PROGRAM CHECKS SCENARIO...: compares anygpu with the patched driver.

Takes each compute shader of the scenarios (.scn files) that the front door of anygpu accepts, and
runs it by PROGRAM, gpuval-anygpu, twice: with its own checks on unpatched lavapipe
(GPUVAL_TEST_PLAIN_ICD_DIR has its ICD file), and as it is on the patched one (VK_DRIVER_FILES)
with that driver's checks. Buffers, their contents and the dispatches are the same, so the reports
have to be. Exits with 1 where they are not, with 77 where a driver is missing.

Each binding gets BUFFER_SIZE bytes, so what a scenario meant to be inside may be outside: both
have to say so.
"""

import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

BUFFER_SIZE = 256

OP_DECORATE, OP_VARIABLE, OP_TYPE_POINTER = 71, 59, 32
DECORATION_BUFFER_BLOCK = 3
DECORATION_BINDING, DECORATION_SET = 33, 34
CLASS_UNIFORM, CLASS_STORAGE_BUFFER = 2, 12


def read_sections(path):
    """Yields (kind, lines) of a scenario's sections."""
    kind, start, lines = None, 0, open(path, encoding='utf-8').read().split('\n')
    for number, line in enumerate(lines + ['[end]']):
        match = re.fullmatch(r'\[([^\]]+)\]', line.strip())
        if not match:
            continue
        if kind:
            yield kind, lines[start + 1:number]
        kind, start = match.group(1), number


def expand(lines):
    """The text of a section, or None for one with `@repeat`, which only the scenarios' runner knows."""
    for line in lines:
        if line.strip().startswith('@repeat'):
            return None
    return '\n'.join(lines)


def compile_shader(kind, text, flags, folder):
    source, spirv = os.path.join(folder, 'shader.comp'), os.path.join(folder, 'shader.spv')
    with open(source, 'w', encoding='utf-8') as file:
        # Nothing may stand in front of #version.
        file.write(text.lstrip('\n'))
    if kind.startswith('spirv'):
        command = [os.environ.get('SPIRV_AS', 'spirv-as'), '--target-env', 'vulkan1.3',
                   '--preserve-numeric-ids', '-o', spirv, source]
    else:
        command = [os.environ.get('GLSLANG_VALIDATOR', 'glslangValidator'), '-V', *flags,
                   '--target-env', 'vulkan1.3', '-o', spirv, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return spirv if done.returncode == 0 else None


def find_buffers(spirv):
    """The options for the bindings of set 0, or None: there is something else."""
    data = open(spirv, 'rb').read()
    words = struct.unpack(f'<{len(data) // 4}I', data)
    bindings, sets, buffer_blocks, pointers, variables = {}, {}, set(), {}, {}
    at = 5
    while at < len(words):
        op, count = words[at] & 0xffff, words[at] >> 16
        if op == OP_DECORATE and words[at + 2] == DECORATION_BINDING:
            bindings[words[at + 1]] = words[at + 3]
        elif op == OP_DECORATE and words[at + 2] == DECORATION_SET:
            sets[words[at + 1]] = words[at + 3]
        elif op == OP_DECORATE and words[at + 2] == DECORATION_BUFFER_BLOCK:
            buffer_blocks.add(words[at + 1])
        elif op == OP_TYPE_POINTER:
            pointers[words[at + 1]] = (words[at + 2], words[at + 3])
        elif op == OP_VARIABLE:
            variables[words[at + 2]] = (words[at + 1], words[at + 3])
        at += count
    options = {}
    for variable, binding in bindings.items():
        pointer, storage_class = variables.get(variable, (0, 0))
        if sets.get(variable, 0) or storage_class not in (CLASS_UNIFORM, CLASS_STORAGE_BUFFER):
            return None
        is_storage = (storage_class == CLASS_STORAGE_BUFFER or
                      pointers[pointer][1] in buffer_blocks)
        options[binding] = '--buffer' if is_storage else '--uniform'
    arguments = []
    for binding in range(max(options, default=-1) + 1):
        arguments += [options.get(binding, '--buffer'), str(BUFFER_SIZE)]
    return arguments


def run(program, arguments, icd, checks, folder, as_is):
    """The failures that are reported, or None where the program refuses, and its words."""
    report = os.path.join(folder, 'report.jsonl')
    if os.path.exists(report):
        os.remove(report)
    environment = dict(os.environ, VK_DRIVER_FILES=icd, VK_ICD_FILENAMES=icd, LP_NUM_THREADS='0',
                       GPUVAL_SYNC='shadow', GPUVAL_LOG='/dev/null',
                       MESA_SHADER_CACHE_DISABLE='true')
    done = subprocess.run([program, *(['--as-is'] if as_is else []), '--checks', checks,
                           '--report', report, *arguments],
                          env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 2:
        return None, done.stderr
    if done.returncode:
        return None, f'ended with {done.returncode}: {done.stderr}'
    lines = [json.loads(line) for line in open(report, encoding='utf-8')]
    return [line for line in lines if 'summary' not in line], lines[-1]['summary']


def describe(failure):
    """What has to be the same: all but addresses, handles, and which of several invocations."""
    failure = json.loads(json.dumps(failure))
    for key in ('fingerprint', 'invocation', 'stack'):
        failure.pop(key, None)
    failure.get('shader', {}).pop('name', None)
    is_order = failure['check'] in ('sync', 'sync-compute', 'shared')
    for side in (failure, failure.get('other', {})):
        side.get('access', {}).pop('address', None)
        side.pop('command', None)
        side.pop('resource' if side is not failure else '', None)
        if is_order:
            side.get('access', {}).pop('offset', None)
    failure.pop('detail', None)
    for key in ('object', 'object_name', 'object_offset', 'memory', 'memory_offset'):
        failure.get('resource', {}).pop(key, None)
    failure['message'] = re.sub(r'0x[0-9a-f]+|[0-9]+ bytes (before|behind) .*', 'ADDRESS',
                                failure['message'])
    if failure.get('resource', {}).get('type') == 'address':
        failure['resource'].pop('size', None)
    if is_order:
        failure.pop('count')
        failure['message'] = ''
    return json.dumps(failure, sort_keys=True)


def compare(program, drivers, name, spirv, buffers, checks, folder):
    """Returns whether both say the same, or None: the shader cannot be run."""
    arguments = [*buffers, '--groups', '2,1,1', '--dispatches', '2', '--push',
                 ('@0' if buffers else '') + '00' * (120 if buffers else 128), spirv]
    stock, said = run(program, arguments, drivers[0], checks, folder, False)
    if stock is None:
        if 'error: anygpu:' in said:
            return None
        print(f'{name}: {said}')
        return False
    patched, words = run(program, arguments, drivers[1], checks, folder, True)
    if patched is None:
        return None
    ours, theirs = sorted(map(describe, stock)), sorted(map(describe, patched))
    same = ours == theirs and said.get('messages') == words.get('messages')
    for what, lines, others in (('only anygpu', ours, theirs), ('only the driver', theirs, ours)):
        for line in lines:
            if line not in others:
                print(f'{name}: {what}: {line}')
    if not same and ours == theirs:
        print(f'{name}: {said.get("messages")} messages, the driver has {words.get("messages")}')
    return same


def main():
    program, checks, scenarios = sys.argv[1], sys.argv[2], sys.argv[3:]
    folder_of_plain = os.environ.get('GPUVAL_TEST_PLAIN_ICD_DIR', '')
    plain = glob.glob(os.path.join(folder_of_plain, 'lvp_icd.*.json'))
    if not folder_of_plain or not plain:
        print('no unpatched lavapipe (GPUVAL_TEST_PLAIN_ICD_DIR)')
        sys.exit(77)
    drivers = plain[0], os.environ['VK_DRIVER_FILES']
    compared = different = 0
    for path in scenarios:
        match = re.search(r'^glslang (.*)$', open(path, encoding='utf-8').read(), re.M)
        flags = (match.group(1) if match else '-g').split()
        for kind, lines in read_sections(path):
            if kind.split()[-2:][0] != 'compute' or '*' in kind:
                continue
            with tempfile.TemporaryDirectory() as folder:
                text = expand(lines)
                spirv = text and compile_shader(kind, text, flags, folder)
                buffers = find_buffers(spirv) if spirv else None
                if buffers is None:
                    continue
                name = f'{os.path.basename(path)} {kind}'
                same = compare(program, drivers, name, spirv, buffers, checks, folder)
            if same is not None:
                compared += 1
                different += not same
    print(f'{compared} shaders, {different} different')
    sys.exit(1 if different or not compared else 0)


main()
