/* SPDX-License-Identifier: MIT */

/* The facts of a failure in words. It is in front of report.js, whose make() and plural() it calls. */
'use strict';

/* Each fact in words. What this page does not know, a key of a later version, is at the end, as it
 * is.
 */
const isKnown = (value) => value !== undefined && value !== null && value !== '';
const quoted = (name) => isKnown(name) ? `"${name}"` : '';
const words = (...parts) => parts.filter(isKnown).join(' ');
const list = (...parts) => parts.filter(isKnown).join(', ');
const after = (word, value) => isKnown(value) ? `${word} ${value}` : '';
const vector = (value) => Array.isArray(value) ? `(${value.join(', ')})` : value;
const bytes = (n) => isKnown(n) ? plural(n, 'byte', 'bytes') : '';
const spaced = (key) => key.replaceAll('_', ' ');

const frameWords = (f) => words(
   f.file ? `${f.file}:${list(f.line, f.column).replace(', ', ':')}`
      : f.module && `${f.module}${f.offset ? `+${f.offset}` : ''}`,
   f.function && `in ${f.function}${f.function.includes('(') ? '' : '()'}`, f.text && `: ${f.text}`);

/* Calls, one a line, innermost first */
const calls = (frames) => Array.isArray(frames) && frames.length
   ? make('div', {className: 'mono wrap'}, ...frames.map((f) => make('div', {}, frameWords(f)))) : '';

const accessWords = (a) => list(
   words(a.op && spaced(a.op), isKnown(a.size) ? `of ${bytes(a.size)}` : '',
         after('at offset', a.offset), isKnown(a.coord) ? `at texel ${vector(a.coord)}` : ''),
   after('index', a.index), after('of', a.length && `${a.length} elements`),
   after('level', a.level), after('sample', a.sample), after('address', a.address));

const bindingWords = (r) => list(
   after('set', r.set), after('binding', r.binding),
   isKnown(r.index) && r.index > 0 ? `element ${r.index}` : '',
   words(r.type && spaced(r.type), quoted(r.name)), bytes(r.size),
   isKnown(r.extent) ? `${[].concat(r.extent).join(' x ')} texels` : '');

const objectWords = (r) => list(
   words(r.object && (r.object_type || 'object'), r.object, quoted(r.object_name)),
   after('bound at offset', r.offset), after('the access is at its offset', r.object_offset),
   words(r.parent && 'of', r.parent, quoted(r.parent_name)),
   words(r.memory && 'in memory', r.memory, quoted(r.memory_name)),
   after('at offset', r.memory_offset));

const facts_of = {
   shader: (s) => [['Shader', list(words(s.stage && spaced(s.stage), 'shader', quoted(s.name)),
                                   after('entry point', s.entry), after('hash', s.hash))]],
   stack: (frames) => [['Called from', calls(frames)]],
   values: (list) => [['Values', list.map((v) => `${v.name} = ${v.value}`).join('; ')]],
   in_flight: (lines) => [['In flight', make('div', {className: 'mono wrap'},
                                             ...lines.map((line) => make('div', {}, line)))]],
   spirv: (s) => [['SPIR-V', list(after('instruction', s.instruction), after('byte', s.offset))]],
   invocation: (i) => [['Invocation', list(...Object.entries(i).map(
      ([key, value]) => `${key === 'global_id' ? '' : spaced(key)} ${vector(value)}`.trim()))]],
   access: (a) => [['Access', accessWords(a)]],
   resource: (r) => [['Binding', bindingWords(r)], ['Bound there', objectWords(r)],
                     ['Created by', calls(r.created)]],
   command: (c) => [
      ['Command', list(words(c.op && spaced(c.op), c.index), after('draw', c.draw),
                       after('of submission', c.submission))],
      ['Command buffer', list(words(c.command_buffer, quoted(c.command_buffer_name)),
                              words(c.primary && 'executed by', c.primary, quoted(c.primary_name)))],
      ['Pipeline', words(c.pipeline, quoted(c.pipeline_name))],
      ['Shader object', c.shader],
      ['Labels', c.labels && c.labels.map((label) => `"${label}"`).join(' > ')],
      ['Recorded by', calls(c.recorded)]],
};
const inWords = {
   '': ['check', 'kind', 'severity', 'message', 'count', 'fingerprint', 'same_value', 'detail',
        'baseline', 'machines', 'seen', 'source', 'other', 'certain', 'index', 'text'],
   shader: ['stage', 'name', 'entry', 'hash'],
   spirv: ['instruction', 'offset'],
   access: ['op', 'size', 'offset', 'coord', 'index', 'length', 'level', 'sample', 'address'],
   resource: ['set', 'binding', 'index', 'type', 'name', 'size', 'extent', 'object', 'object_type',
              'object_name', 'offset', 'object_offset', 'parent', 'parent_name', 'memory',
              'memory_name', 'memory_offset', 'created'],
   command: ['op', 'index', 'draw', 'submission', 'command_buffer', 'command_buffer_name', 'primary',
             'primary_name', 'pipeline', 'pipeline_name', 'shader', 'labels', 'recorded'],
};

function otherFacts(event)
{
   const others = [];
   for (const [object, known] of Object.entries(inWords)) {
      for (const [key, value] of Object.entries((object ? event[object] : event) || {})) {
         if (!known.includes(key) && !(object === '' && key in facts_of))
            others.push([spaced(object ? `${object} ${key}` : key),
                         typeof value === 'object' ? JSON.stringify(value) : value]);
      }
   }
   return others;
}

function facts(event)
{
   const rows = make('dl');
   const add = (name, value) => {
      if (isKnown(value))
         rows.append(make('dt', {}, name), make('dd', {}, value));
   };
   add('What is wrong', event.detail);
   for (const [name, describe] of Object.entries(facts_of)) {
      if (event[name])
         describe(event[name]).forEach(([title, value]) => add(title, value));
   }
   if (event.same_value)
      add('Values', 'no store ever changed what was there');
   otherFacts(event).forEach(([name, value]) => add(name, value));
   return rows;
}
