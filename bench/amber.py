#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes SPIR-V of the vertex, fragment and compute shaders in Amber scripts, of which Vulkan's
conformance tests have some thousands, for ./gpuval bench radv:

   amber.py SCRIPTS OUT [COUNT]

SCRIPTS is a folder, such as external/vulkancts/data/vulkan/amber/graphicsfuzz; equal shaders are
taken once. Of more than COUNT some are chosen, the same ones each time. glslangValidator and spirv-as
do the rest.
"""

import glob
import hashlib
import os
import re
import subprocess
import sys

STAGES = {'vertex': 'vert', 'fragment': 'frag', 'compute': 'comp'}
SHADER = re.compile(r'^SHADER\s+(\w+)\s+(\S+)\s+(SPIRV-ASM|GLSL)([^\n]*)\n(.*?)^END', re.M | re.S)


def find_shaders(folder):
    """Returns (name, stage, language, options, text) by hash of the text."""
    shaders = {}
    for path in sorted(glob.glob(os.path.join(folder, '**', '*.amber'), recursive=True)):
        with open(path, encoding='utf-8', errors='replace') as file:
            script = file.read()
        for stage, name, language, options, text in SHADER.findall(script):
            key = hashlib.sha256((language + text).encode()).hexdigest()
            if stage in STAGES:
                base = os.path.basename(path)[:-len('.amber')]
                shaders.setdefault(key, (f'{base}.{name}', stage, language, options, text))
    return shaders


def compile_shader(out, name, stage, language, options, text):
    """Returns whether it was good."""
    target = os.path.join(out, f'{name}.{stage}.spv')
    if language == 'GLSL':
        command = ['glslangValidator', '--quiet', '-V', '--target-env', 'vulkan1.2', '--stdin', '-S',
                   STAGES[stage], '-o', target]
    else:
        environment = re.search(r'TARGET_ENV\s+"?([\w.]+)', options)
        command = ['spirv-as', '--target-env', environment[1] if environment else 'spv1.0', '-o',
                   target, '-']
    return subprocess.run(command, input=text.encode(), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    shaders = find_shaders(sys.argv[1])
    count = int(sys.argv[3]) if len(sys.argv) == 4 else len(shaders)
    os.makedirs(sys.argv[2], exist_ok=True)
    good = sum(compile_shader(sys.argv[2], *shaders[key]) for key in sorted(shaders)[:count])
    print(f'{good} of {len(shaders)} shaders are in {sys.argv[2]}')


main()
