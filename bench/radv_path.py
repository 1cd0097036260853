#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what RADV_DEBUG=asm,shaderstats prints and writes a line a shader: stage, instructions,
instructions that can be executed although nothing fails, VGPRs, SGPRs, waves, latency, bytes.

What is executed only where something fails begins with an s_sleep of its own
(GPUVAL_TEST_MARK_FAILURES): a block is counted if it can be reached without passing one. Loops
count once. s_code_end and padding do not count. Where LLVM does not know the GPU, RADV prints ACO's
last IR, which has the same instructions.
"""

import re
import sys

MARK = re.compile(r'^\ts_sleep (0x67|imm:103)\b')
BRANCH = re.compile(r'^\ts_c?branch\w* (?:block:)?BB(\d+)')
LABEL = re.compile(r'^BB(\d+):?$')


class Block:
    def __init__(self):
        self.count = 0
        self.is_marked = False
        self.targets = []
        self.falls_through = True


def parse_blocks(lines):
    blocks = {}
    order = []
    block = None
    for line in lines:
        label = LABEL.match(line)
        if label:
            block = blocks[int(label[1])] = Block()
            order.append(int(label[1]))
        elif block and line.startswith('\t') and not re.match(r'\t(s_code_end|p_)', line):
            if MARK.match(line):
                block.is_marked = True
                continue
            block.count += 1
            branch = BRANCH.match(line)
            if branch:
                block.targets.append(int(branch[1]))
            if re.match(r'\ts_(branch|endpgm|setpc)', line):
                block.falls_through = False
    return blocks, order


def count_executed(lines):
    """Returns how many instructions can be reached without passing a mark."""
    blocks, order = parse_blocks(lines)
    following = dict(zip(order, order[1:]))
    todo, seen = order[:1], set()
    while todo:
        number = todo.pop()
        if number in seen or number not in blocks or blocks[number].is_marked:
            continue
        seen.add(number)
        todo += blocks[number].targets
        if blocks[number].falls_through and number in following:
            todo.append(following[number])
    return sum(blocks[number].count for number in seen)


NAMES = {'Instructions': 'instructions', 'VGPRs': 'vgprs', 'SGPRs': 'sgprs',
         'Pre-Sched SGPRs': 'sgprs', 'Subgroups per SIMD': 'waves', 'Latency': 'latency',
         'Code size': 'bytes'}


def print_shaders(lines):
    """The code of a pipeline's shaders comes first, each below its title, then what is said of them."""
    pending = {}  # title -> lists of lines
    title, values, assembly = '', {}, None
    for line in lines:
        line = line.rstrip('\n')
        if line == 'disasm:':
            assembly = []
            pending.setdefault(title, []).append(assembly)
        elif assembly is not None and (LABEL.match(line) or line.startswith('\t')):
            assembly.append(line)
        elif re.match(r'\w[\w ]* Shader\w*( .*)?:?$', line):
            title, values, assembly = line.rstrip(':'), {}, None
        elif line.startswith('********') and 'instructions' in values:
            code = pending.get(title)
            executed = count_executed(code.pop(0)) if code else 0
            print(title.replace(' ', ''), values['instructions'], max(executed, 1), values['vgprs'],
                  values['sgprs'], values['waves'], values['latency'], values['bytes'])
            values = {}
        else:
            name, _, value = line.partition(': ')
            if name in NAMES and title:
                values[NAMES[name]] = value.split()[0]


print_shaders(sys.stdin)
