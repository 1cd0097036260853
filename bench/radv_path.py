#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what RADV_DEBUG=asm,shaderstats prints and writes a line a shader: stage, instructions,
instructions that can be executed although nothing fails, VGPRs, SGPRs, waves, latency, bytes.

What is executed only where something fails begins with an s_sleep of its own
(GPUVAL_TEST_MARK_FAILURES): a block is counted if it can be reached without passing one. Loops
count once. s_code_end and padding do not count.
"""

import re
import sys

MARK = re.compile(r'^\ts_sleep (0x67|103)\b')
BRANCH = re.compile(r'^\ts_c?branch\w* BB(\d+)')
LABEL = re.compile(r'^BB(\d+):')


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
        elif block and line.startswith('\t') and not line.startswith('\ts_code_end'):
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
    assembly, stage, values, is_assembly = [], '', {}, False
    for line in lines:
        line = line.rstrip('\n')
        if line == 'disasm:':
            assembly, is_assembly = [], True
        elif is_assembly and (LABEL.match(line) or line.startswith('\t')):
            assembly.append(line)
        elif re.match(r'.* Shader.*:$', line):
            stage, values, is_assembly = re.sub('[ :]', '', line), {}, False
        elif line.startswith('********') and 'instructions' in values:
            print(stage, values['instructions'], count_executed(assembly), values['vgprs'],
                  values['sgprs'], values['waves'], values['latency'], values['bytes'])
            values, assembly, is_assembly = {}, [], False
        else:
            name, _, value = line.partition(': ')
            if name in NAMES and stage:
                values[NAMES[name]] = value.split()[0]


print_shaders(sys.stdin)
