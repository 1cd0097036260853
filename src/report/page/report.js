/* SPDX-License-Identifier: MIT */

/* What is in a report comes from programs that may be called anything: it becomes text
 * nodes and nothing else, and what would hide or turn text around is spelled out.
 */
'use strict';

const opened = performance.now();
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const byId = (id) => document.getElementById(id);
const summary = read('summary').summary;
const all = read('events');
const gone = all.filter((event) => event.baseline === 'absent'); /* of an earlier run only */
const events = all.filter((event) => event.baseline !== 'absent');
const help = read('help');
const runs = summary.runs || (summary.run ? [summary.run] : []);
const isMerged = runs.length > 1;

const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const clean = (text) => String(text).replace(unsafe,
   (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
const number = (n) => n.toLocaleString('en-US');
const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;

/* An element: properties, then children or texts. */
function make(tag, properties, ...children)
{
   const element = document.createElement(tag);
   for (const [key, value] of Object.entries(properties || {})) {
      if (key in element)
         element[key] = value;
      else
         element.setAttribute(key, value);
   }
   for (const child of children) {
      if (child !== null && child !== undefined)
         element.append(child instanceof Node ? child : clean(child));
   }
   return element;
}

/* --- What there is ------------------------------------------------------- */

const title = (event) => `${event.check}/${event.kind}`;
const seen = (event) => event.seen || []; /* run, count, run, count, ... */
const isMessage = (event) => event.severity === 'info';
const isWarning = (event) => event.severity === 'warning';
const isNew = (event) => event.baseline === 'new';
const severityOf = (event) => isMessage(event) ? 'message' : isWarning(event) ? 'warning' : 'error';
const stageOf = (event) => (event.shader && event.shader.stage) || 'command';

const kinds = [...new Set(events.map(title))].sort();
const checks = [...new Set(events.map((event) => event.check))].sort();
const colorOf = (check) => `var(--c${checks.indexOf(check) % 10})`;

/* By shader: its hash and stage; commands, which have none, by what they are. */
function groupKey(event)
{
   if (event.shader && event.shader.hash)
      return `${event.shader.hash} ${event.shader.stage}`;
   return `command ${(event.command && event.command.op) || ''}`;
}

const groups = new Map();
events.forEach((event, index) => {
   const key = groupKey(event);
   event.index = index;
   if (!groups.has(key))
      groups.set(key, {events: [], count: 0, errors: 0, first: index}); /* open: as the user wants */
   const group = groups.get(key);
   group.events.push(event);
   group.count += event.count;
   group.errors += isMessage(event) ? 0 : 1;
});
for (const group of groups.values()) {
   const event = group.events[0];
   const shader = event.shader;
   group.stage = stageOf(event);
   group.hash = shader && shader.hash;
   const named = group.events.find((e) => e.shader && e.shader.name);
   const sourced = group.events.find((e) => e.source && e.source.file);
   group.name = named ? named.shader.name
      : sourced ? sourced.source.file.replace(/^.*[/\\]/, '')
      : shader ? 'shader without a name'
      : `${(event.command && event.command.op) || 'commands'} (no shader)`;
}

/* All values of an event as one text, for the search. */
function allText(value, out)
{
   if (typeof value === 'object' && value !== null)
      Object.values(value).forEach((inner) => allText(inner, out));
   else
      out.push(String(value));
   return out;
}

function haystack(event)
{
   if (event.text === undefined) {
      const {seen: _, text: __, index: ___, ...facts} = event;
      event.text = `${title(event)}\n${allText(facts, []).join('\n')}`.toLowerCase();
   }
   return event.text;
}

/* --- Filters ------------------------------------------------------------- */

const filter = {words: [], kind: '', severity: '', stage: '', machine: '', onlyNew: false, bin: null};

function matches(event)
{
   if (filter.kind && title(event) !== filter.kind)
      return false;
   if (filter.severity && severityOf(event) !== filter.severity)
      return false;
   if (filter.stage && stageOf(event) !== filter.stage)
      return false;
   if (filter.machine && !(event.machines || []).some((m) => m.host === filter.machine))
      return false;
   if (filter.onlyNew && !isNew(event))
      return false;
   if (filter.bin !== null && !timeline.binsOf(event).some(([bin]) => bin === filter.bin))
      return false;
   return filter.words.every((word) => haystack(event).includes(word));
}

const isFiltered = () => filter.words.length || filter.kind || filter.severity || filter.stage ||
   filter.machine || filter.onlyNew || filter.bin !== null;

const firstNew = (x) => x.list ? x.list.some(isNew) : isNew(x);

const orders = {
   new: (a, b) => firstNew(b) - firstNew(a) || b.count - a.count,
   count: (a, b) => b.count - a.count,
   seen: (a, b) => (a.first ?? a.index) - (b.first ?? b.index),
   name: (a, b) => (a.name ?? a.message).localeCompare(b.name ?? b.message),
};

/* --- One event ----------------------------------------------------------- */

function place(source)
{
   if (!source || !source.line)
      return null;
   return `${source.file || '?'}:${source.line}${source.column ? `:${source.column}` : ''}` +
      (source.function ? ` in ${source.function}()` : '');
}

function extract(source)
{
   if (!source || !source.line || !source.text)
      return null;
   const lines = source.extract || [source.text];
   const first = source.extract ? source.extract_line : source.line;
   const pre = make('pre', {className: 'extract', tabIndex: 0});
   pre.setAttribute('aria-label', `source, line ${source.line} marked`);
   lines.forEach((line, index) => {
      const isMarked = first + index === source.line;
      pre.append(make('span', {className: isMarked ? 'marked' : ''},
                      make('i', {}, `${isMarked ? '▸' : ' '}${first + index}`), line || ' '));
   });
   return pre;
}

function runTable(event)
{
   const list = seen(event);
   if (!list.length || !isMerged)
      return null;
   const box = make('details', {}, make('summary', {},
      `${plural(list.length / 2, 'run', 'runs')}` +
      (event.machines ? ` on ${plural(event.machines.length, 'machine', 'machines')}` : '')));
   box.addEventListener('toggle', () => {
      if (box.dataset.filled)
         return;
      box.dataset.filled = 'yes';
      const table = make('dl');
      for (const machine of event.machines || [])
         table.append(make('dt', {}, machine.host),
                     make('dd', {}, `${plural(machine.runs, 'run', 'runs')}, ${plural(machine.count, 'time', 'times')}`));
      for (let i = 0; i < Math.min(list.length, 1000); i += 2) {
         const run = runs[list[i]] || {};
         table.append(make('dt', {}, run.file || run.program || `run ${list[i]}`),
                      make('dd', {}, [plural(list[i + 1], 'time', 'times'), run.program, run.host, run.time]
                         .filter(Boolean).join(' · ')));
      }
      if (list.length > 1000)
         table.append(make('dt', {}, '…'),
                      make('dd', {}, `and ${number(list.length / 2 - 500)} more: JSON Lines has all`));
      box.append(table);
   });
   return box;
}

/* What it means, how to mend it, and where the specification says so */
function explanation(event)
{
   const texts = Object.hasOwn(help, title(event)) ? help[title(event)] : null;
   if (!texts)
      return null;
   const [meaning, mending, uri] = texts;
   return make('div', {className: 'help'},
      make('p', {}, make('strong', {}, 'What it means. '), meaning),
      make('p', {}, make('strong', {}, 'How to mend it. '), mending, ' ',
           make('a', {href: uri, rel: 'noreferrer'}, 'Vulkan specification')));
}

function details(event)
{
   const box = make('div', {className: 'details'});
   if (place(event.source))
      box.append(make('div', {className: 'mono wrap'}, place(event.source)));
   box.append(extract(event.source) || '', explanation(event) || '', facts(event));
   if (event.other) {
      const other = make('div', {}, make('h4', {}, event.other.certain ? 'Conflicting access' : 'Likely conflicting access'));
      if (place(event.other.source))
         other.append(make('div', {className: 'mono wrap'}, place(event.other.source)));
      other.append(extract(event.other.source) || '', facts(event.other));
      box.append(other);
   }
   box.append(runTable(event) || '');
   if (event.fingerprint) {
      const list = make('dl', {}, make('dt', {}, 'Fingerprint'),
         make('dd', {}, make('a', {href: `#${event.fingerprint}`, className: 'mono'}, event.fingerprint)));
      if (!isMessage(event))
         list.append(make('dt', {}, 'Suppress it with'),
                     make('dd', {}, make('code', {}, `${title(event)} fingerprint:${event.fingerprint}`)));
      box.append(list);
   }
   return box;
}

/* A button that shows and hides what @build makes, the first time that it is opened. */
function expander(className, children, build)
{
   const button = make('button', {type: 'button', className: `row ${className}`}, ...children);
   let content = null;
   button.setAttribute('aria-expanded', 'false');
   button.setOpen = (open) => {
      if (open && !content) {
         content = build();
         (className === 'group-row' ? button.parentNode : button).after(content);
      }
      if (content)
         content.hidden = !open;
      button.setAttribute('aria-expanded', String(open));
   };
   button.addEventListener('click', () =>
      button.setOpen(button.getAttribute('aria-expanded') !== 'true'));
   return button;
}

function chip(event)
{
   return make('span', {className: 'chip', style: `color: ${colorOf(event.check)}`}, title(event));
}

function messageItem(event)
{
   const where = place(event.source) || (event.spirv ? `instruction ${event.spirv.instruction}` : '');
   const button = expander('message-row', [
      chip(event),
      isWarning(event) ? make('span', {className: 'chip warning'}, 'warning') : null,
      isNew(event) ? make('span', {className: 'chip new'}, 'new') : null,
      make('span', {className: 'grow'}, event.message, make('span', {className: 'place mono'}, where)),
      make('span', {className: 'number'}, plural(event.count, 'time', 'times')),
   ], () => details(event));
   const item = make('li', {}, button);
   item.button = button;
   if (event.fingerprint)
      item.id = `event-${event.fingerprint}`;
   return item;
}

/* --- The list ------------------------------------------------------------ */

function groupElement(group, list)
{
   const count = list.reduce((sum, event) => sum + event.count, 0);
   const errors = list.filter((event) => !isMessage(event)).length;
   const messages = list.length - errors;
   const groupKinds = [...new Set(list.map((event) => event.check))];
   const button = expander('group-row', [
      make('span', {className: 'grow'}, make('strong', {}, group.name),
           make('span', {className: 'faint'}, `  ${group.stage}`),
           make('span', {className: 'faint mono'}, group.hash ? `  ${group.hash}` : '')),
      ...groupKinds.map((check) =>
         make('span', {className: 'chip', style: `color: ${colorOf(check)}`}, check)),
      list.some((event) => isNew(event)) ? make('span', {className: 'chip new'}, 'new') : null,
      make('span', {className: 'number'}, [
         errors ? plural(errors, 'failure', 'failures') : '',
         messages ? plural(messages, 'message', 'messages') : '',
         plural(count, 'time', 'times')].filter(Boolean).join(', ')),
   ], () => make('ul', {className: 'messages'}, ...list.map(messageItem)));
   button.addEventListener('click', () => {
      group.open = button.getAttribute('aria-expanded') === 'true';
   });
   const element = make('section', {className: 'group'}, make('h3', {}, button));
   element.button = button;
   element.group = group;
   return element;
}

/* Failures that are shown at once without being asked: as rows, and with their details */
const MAX_OPENED = 60;
const MAX_DETAILED = 20;

function render()
{
   const order = orders[byId('order').value];
   const found = [];
   let total = 0, errors = 0;
   for (const group of groups.values()) {
      const list = isFiltered() ? group.events.filter(matches) : group.events.slice();
      if (!list.length)
         continue;
      list.sort(order);
      total += list.length;
      errors += list.filter((event) => !isMessage(event)).length;
      found.push({group, list, count: list.reduce((sum, event) => sum + event.count, 0),
                  first: group.first, name: group.name});
   }
   found.sort(order);

   const elements = found.map(({group, list}) => groupElement(group, list));
   byId('groups').replaceChildren(...elements);
   elements.forEach((element, index) => {
      element.button.setOpen(found[index].group.open ?? (total <= MAX_OPENED || groups.size === 1));
   });
   if (total <= MAX_DETAILED) {
      for (const item of byId('groups').querySelectorAll('.messages > li'))
         item.button.setOpen(true);
   }
   byId('clear').hidden = !isFiltered();
   byId('shown').textContent = (isFiltered() ? `${number(total)} of ${number(events.length)} ` : '') +
      `in ${plural(found.length, 'shader', 'shaders')}`;
   if (!found.length)
      byId('groups').append(make('p', {}, events.length ? 'Nothing matches.' : 'Nothing was reported.'));
}

/* --- Timeline ------------------------------------------------------------ */

const MAX_BINS = 100;

/* Of one process: the submission that showed a failure first. Of many: each run that
 * had it.
 */
const timeline = (() => {
   const submission = (event) => (event.command && event.command.submission);
   const last = isMerged ? runs.length - 1
      : events.reduce((most, event) => Math.max(most, submission(event) ?? -1), -1);
   const size = Math.max(1, Math.ceil((last + 1) / MAX_BINS));
   return {
      last, size, bins: Math.ceil((last + 1) / size),
      binsOf(event) {
         if (isMerged) {
            const found = new Set();
            for (let i = 0; i < seen(event).length; i += 2)
               found.add(Math.floor(seen(event)[i] / size));
            return [...found].map((bin) => [bin, 1]);
         }
         const at = submission(event);
         return at === undefined ? [] : [[Math.floor(at / size), 1]];
      },
   };
})();

function binName(bin)
{
   const first = bin * timeline.size;
   const last = Math.min(first + timeline.size - 1, timeline.last);
   const what = isMerged ? 'run' : 'submission';
   return first === last ? `${what} ${first}` : `${what}s ${first} to ${last}`;
}

function renderTimeline()
{
   if (timeline.last < 1)
      return;
   const bins = Array.from({length: timeline.bins}, () => new Map());
   let most = 0, unplaced = 0;
   for (const event of events) {
      const places = timeline.binsOf(event);
      unplaced += places.length ? 0 : 1;
      for (const [bin, n] of places)
         bins[bin].set(event.check, (bins[bin].get(event.check) || 0) + n);
   }
   const sums = bins.map((bin) => [...bin.values()].reduce((sum, n) => sum + n, 0));
   most = Math.max(1, ...sums);
   byId('timeline-title').textContent = (isMerged ? 'What was reported, by run'
      : 'What was reported, by the submission that showed it first') +
      (unplaced ? ` (${number(unplaced)} without one)` : '') + `, at most ${number(most)}`;
   byId('bars').replaceChildren(...bins.map((bin, index) => {
      const text = `${binName(index)}: ${number(sums[index])}`;
      const button = make('button', {type: 'button', title: text, 'aria-label': text, 'aria-pressed': 'false'});
      for (const check of checks) {
         if (bin.has(check))
            button.append(make('span', {
               style: `height: ${100 * bin.get(check) / most}%; background: ${colorOf(check)}`}));
      }
      button.disabled = !sums[index];
      button.addEventListener('click', () => {
         filter.bin = filter.bin === index ? null : index;
         showBin();
         render();
      });
      return button;
   }));
   for (const element of [byId('bars'), byId('axis')]) /* a few bars are no walls */
      element.style.maxWidth = `${Math.max(timeline.bins * 3, 20)}rem`;
   byId('axis-first').textContent = binName(0);
   byId('axis-last').textContent = binName(timeline.bins - 1);
   byId('legend').replaceChildren(...checks.map((check) =>
      make('li', {}, make('span', {className: 'swatch', style: `background: ${colorOf(check)}`}), check)));
   byId('timeline').hidden = false;
}

function showBin()
{
   [...byId('bars').children].forEach((button, index) =>
      button.setAttribute('aria-pressed', String(index === filter.bin)));
}

/* --- The head ------------------------------------------------------------ */

function renderHead()
{
   const run = runs[0] || {};
   byId('subject').textContent = clean(isMerged
      ? `${plural(runs.length, 'run', 'runs')} on ${plural(new Set(runs.map((r) => r.host).filter(Boolean)).size, 'machine', 'machines')}`
      : [run.program, run.host, run.time, run.pid ? `process ${run.pid}` : ''].filter(Boolean).join(' · '));
   if (run.program && !isMerged)
      document.title = clean(`gpuval: ${run.program}`);

   const tiles = [
      [summary.errors, 'failures'], [summary.occurrences, 'occurrences'],
      [groups.size, 'shaders with reports'], [summary.shaders, isMerged ? 'shaders checked, by run' : 'shaders checked'],
   ];
   if (summary.commands !== undefined)
      tiles.push([summary.commands, 'commands checked']);
   if (summary.warnings)
      tiles.splice(2, 0, [summary.warnings, 'warnings']);
   if (summary.baseline)
      tiles.unshift([summary.baseline.new, 'new'], [summary.baseline.unchanged, 'still there'],
                    [summary.baseline.absent, 'gone']);
   if (summary.messages)
      tiles.push([summary.messages, 'messages printed']);
   if (summary.suppressed)
      tiles.push([summary.suppressed, 'suppressed']);
   byId('tiles').append(...tiles.map(([n, name]) =>
      make('li', {}, make('strong', {}, number(n || 0)), name)));

   const scope = [
      summary.checks && summary.checks.length ? `Checks: ${summary.checks.join(', ')}` : '',
      summary.driver || '', summary.seconds ? `${summary.seconds.toFixed(1)} s` : '',
   ].filter(Boolean).join(' · ');
   byId('scope').textContent = clean(scope);
   byId('scope').hidden = !scope;

   renderVerdict();
   renderLosses();
}

/* What an earlier run had, and this one does not */
function renderGone()
{
   byId('gone').hidden = !gone.length;
   byId('gone-title').textContent = plural(gone.length, 'failure is gone', 'failures are gone');
   byId('gone-list').append(...gone.map((event) => {
      const source = event.source || {};
      const place = source.file ? ` at ${source.file}:${source.line || ''}` : '';
      return make('li', {className: 'wrap'}, make('strong', {}, title(event)), place,
                  event.message ? `: ${event.message}` : '');
   }));
}

/* One line on top: green where there is nothing to mend */
function renderVerdict()
{
   const news = summary.baseline ? summary.baseline.new : 0;
   const old = summary.baseline ? summary.baseline.unchanged : 0;
   let text, state;

   if (summary.baseline && (news || old)) {
      text = `${plural(news, 'new failure', 'new failures')}, ${number(old)} still there, ${number(summary.baseline.absent)} gone.`;
      state = news ? 'bad' : 'warned';
   } else if (summary.errors) {
      text = `${plural(summary.errors, 'failure', 'failures')}, ${plural(summary.occurrences, 'time', 'times')} in all.`;
      state = 'bad';
   } else if (summary.warnings) {
      text = `No errors, ${plural(summary.warnings, 'warning', 'warnings')}.`;
      state = 'warned';
   } else {
      text = 'No failures.';
      state = summary.lost ? 'warned' : 'good';
   }
   const ended = [...new Set(runs.map((r) => r.ended).concat(summary.ended).filter(Boolean))];
   if (ended.length)
      text += ` ${isMerged ? 'Some programs have not come to their end' : 'The program has not come to its end'}` +
         ` (${ended.join(', ')}): this is what was known until then.`;
   byId('verdict').className = `notice ${state}`;
   byId('verdict').textContent = clean(text);
}

function renderLosses()
{
   const losses = [];
   if (summary.lost)
      losses.push(`${plural(summary.lost, 'record was', 'records were')} lost: failures are counted all the same, but where such a record was the first of a failure, its details are missing.`);
   if (summary.lost_messages)
      losses.push(`${plural(summary.lost_messages, 'printed message was', 'printed messages were')} lost: there was no room (GPUVAL_PRINTF_SIZE).`);
   if (summary.lost_lines)
      losses.push(`${plural(summary.lost_lines, 'line', 'lines')} of the reports could not be read.`);
   const incomplete = runs.filter((r) => r.incomplete);
   if (incomplete.length)
      losses.push(`${plural(incomplete.length, 'run is', 'runs are')} not complete: ` +
                  incomplete.slice(0, 20).map((r) => r.file || r.program || '?').join(', ') +
                  (incomplete.length > 20 ? ' …' : ''));
   byId('lost').replaceChildren(losses.length
      ? make('div', {className: 'notice warned', role: 'alert'}, make('strong', {}, 'This report is not complete.'),
             make('ul', {}, ...losses.map((text) => make('li', {}, text))))
      : make('p', {className: 'faint'}, 'Nothing was lost: the report is complete.'));
}

function fill(id, all, values, counts)
{
   byId(id).replaceChildren(make('option', {value: ''}, all), ...values.map((value) =>
      make('option', {value}, `${value}${counts ? ` (${number(counts.get(value))})` : ''}`)));
}

function countBy(of)
{
   const counts = new Map();
   for (const event of events)
      counts.set(of(event), (counts.get(of(event)) || 0) + 1);
   return counts;
}

/* --- What the user does -------------------------------------------------- */

function listen()
{
   let timer = 0;
   byId('search').addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
         filter.words = byId('search').value.toLowerCase().split(/\s+/).filter(Boolean);
         render();
      }, 80);
   });
   for (const id of ['kind', 'severity', 'stage', 'machine']) {
      byId(id).addEventListener('change', () => {
         filter[id] = byId(id).value;
         render();
      });
   }
   byId('only-new').addEventListener('change', () => {
      filter.onlyNew = byId('only-new').checked;
      render();
   });
   byId('order').addEventListener('change', render);
   byId('tools').addEventListener('submit', (e) => e.preventDefault());
   byId('clear').addEventListener('click', () => {
      Object.assign(filter, {words: [], kind: '', severity: '', stage: '', machine: '', onlyNew: false, bin: null});
      for (const id of ['search', 'kind', 'severity', 'stage', 'machine'])
         byId(id).value = '';
      byId('only-new').checked = false;
      showBin();
      render();
   });
   const setAll = (open) => {
      for (const group of groups.values())
         group.open = open;
      for (const element of byId('groups').children) {
         if (element.button)
            element.button.setOpen(open);
      }
      if (!open || events.length <= MAX_OPENED) {
         for (const item of byId('groups').querySelectorAll('.messages > li'))
            item.button.setOpen(open);
      }
   };
   byId('expand').addEventListener('click', () => setAll(true));
   byId('collapse').addEventListener('click', () => setAll(false));
   addEventListener('hashchange', showTarget);
   addEventListener('keydown', onKey);
}

const isVisible = (element) => element.offsetParent !== null;

function onKey(e)
{
   const at = document.activeElement;
   const search = byId('search');

   if (e.ctrlKey || e.metaKey || e.altKey)
      return;
   if (e.key === '/' && !['INPUT', 'SELECT'].includes(at.tagName)) {
      search.focus();
      search.select();
   } else if (e.key === 'Escape' && at === search && search.value) {
      search.value = '';
      search.dispatchEvent(new Event('input'));
   } else if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') &&
              (at === search || at === document.body || at.classList.contains('row'))) {
      const rows = [...byId('groups').querySelectorAll('.row')].filter(isVisible);
      const index = rows.indexOf(at) + (e.key === 'ArrowDown' ? 1 : -1);
      if (index < 0)
         search.focus();
      else if (rows[index])
         rows[index].focus();
   } else if ((e.key === 'ArrowRight' || e.key === 'ArrowLeft') && at.classList.contains('row')) {
      const isOpen = at.getAttribute('aria-expanded') === 'true';
      if (isOpen !== (e.key === 'ArrowRight'))
         at.click();
      else if (e.key === 'ArrowLeft' && at.closest('.messages'))
         at.closest('.group').button.focus();
      else
         return;
   } else {
      return;
   }
   e.preventDefault();
}

/* FILE.html#FINGERPRINT is one failure. */
function showTarget()
{
   const fingerprint = location.hash.slice(1);
   const event = events.find((e) => e.fingerprint === fingerprint);
   if (!event)
      return;
   if (isFiltered() && !matches(event))
      byId('clear').click();
   const group = groups.get(groupKey(event));
   group.open = true;
   [...byId('groups').children].find((element) => element.group === group).button.setOpen(true);
   const button = byId(`event-${fingerprint}`).firstChild;
   button.setOpen(true);
   button.focus();
   button.scrollIntoView({block: 'center'});
}

const themes = ['system', 'light', 'dark'];

function setTheme(theme)
{
   if (theme === 'system')
      delete document.documentElement.dataset.theme;
   else
      document.documentElement.dataset.theme = theme;
   byId('theme').textContent = `Theme: ${theme}`;
   byId('theme').onclick = () => setTheme(themes[(themes.indexOf(theme) + 1) % themes.length]);
}

setTheme('system');
renderHead();
fill('kind', 'all kinds', kinds, countBy(title));
const severities = countBy(severityOf);
fill('severity', 'all severities', [...severities.keys()].sort(), severities);
byId('severity').hidden = severities.size < 2;
fill('stage', 'all stages', [...new Set(events.map(stageOf))].sort(), countBy(stageOf));
const machines = [...new Set(runs.map((run) => run.host).filter(Boolean))].sort();
fill('machine', 'all machines', machines);
byId('machine').hidden = !isMerged || machines.length < 2;
byId('only-new-label').hidden = !summary.baseline;
if (summary.baseline)
   byId('order').prepend(make('option', {value: 'new', selected: true}, 'new ones first'));
renderTimeline();
renderGone();
renderCoverage(read('coverage-data'));
listen();
render();
showTarget();
document.documentElement.dataset.ready = Math.round(performance.now() - opened);
