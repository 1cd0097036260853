/* SPDX-License-Identifier: MIT */

/* The table of what shaders have executed. It is in front of report.js, whose make(), number() and
 * plural() it calls.
 */
'use strict';

const MAX_COVERED = 2000; /* rows that are shown at a time */

const isExecuted = (file) => file.lines[0] > 0 || file.functions.some(([, , count]) => count);
const share = ([hit, all]) => all ? hit / all : 2; /* what has none is behind what has all */
const percent = ([hit, all]) => all ? `${Math.floor(100 * hit / all)} %` : '';
const functionsOf = (file) =>
   [file.functions.filter(([, , count]) => count).length, file.functions.length];
const rangeWords = (ranges) =>
   ranges.map(([first, last]) => first === last ? first : `${first}-${last}`).join(', ');

const coverageOrders = {
   file: (a, b) => a.file.localeCompare(b.file),
   lines: (a, b) => share(a.lines) - share(b.lines),
   functions: (a, b) => share(functionsOf(a)) - share(functionsOf(b)),
   branches: (a, b) => share(a.branches) - share(b.branches),
};

/* A share as a bar and as a number: "80 % of 15" */
function shareCell(counts)
{
   const [hit, all] = counts;
   if (!all)
      return make('td', {className: 'faint'}, 'none');
   const state = hit === all ? 'good' : hit ? 'some' : 'none';
   return make('td', {title: `${number(hit)} of ${number(all)}`},
      make('span', {className: 'meter', 'aria-hidden': 'true'},
           make('span', {className: state, style: `width: ${100 * hit / all}%`})),
      `${percent(counts)} of ${number(all)}`);
}

function coverageRow(file)
{
   const name = file.file.replace(/^.*[/\\]/, '');
   const box = make('details', {}, make('summary', {title: file.file}, `${name} `,
      isExecuted(file) ? null : make('span', {className: 'chip never'}, 'never executed')));
   box.addEventListener('toggle', () => {
      if (box.dataset.filled)
         return;
      box.dataset.filled = 'yes';
      const list = make('dl');
      for (const [title, line, count] of file.functions)
         list.append(make('dt', {className: 'mono'}, `${title}()`),
                     make('dd', {}, `line ${line}, ${count ? plural(count, 'time', 'times') : 'never'}`));
      box.append(make('div', {className: 'mono wrap faint'}, file.file), list);
   });
   return make('tr', {}, make('th', {scope: 'row'}, box), shareCell(file.lines),
      shareCell(functionsOf(file)), shareCell(file.branches),
      make('td', {className: 'mono missed'}, rangeWords(file.missed)));
}

function renderCoverage(files)
{
   if (!files.length)
      return;
   const sum = (of) => files.map(of).reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
   const words = (of, what) => {
      const [hit, all] = sum(of);
      return all ? `${number(hit)} of ${number(all)} ${what} (${percent([hit, all])})` : '';
   };
   const never = files.filter((file) => !isExecuted(file)).length;
   const state = {order: 'lines', descending: false, word: ''};

   const fill = () => {
      const order = coverageOrders[state.order];
      const found = files.filter((file) => file.file.toLowerCase().includes(state.word))
         .sort((a, b) => (state.descending ? order(b, a) : order(a, b)) || coverageOrders.file(a, b));
      byId('covered').replaceChildren(...found.slice(0, MAX_COVERED).map(coverageRow));
      byId('covered-more').textContent = found.length > MAX_COVERED
         ? `and ${number(found.length - MAX_COVERED)} more: the tracefile has all` : '';
      for (const button of document.querySelectorAll('#coverage thead button')) {
         const isOrder = button.value === state.order;
         button.parentNode.setAttribute('aria-sort', !isOrder ? 'none'
            : state.descending ? 'descending' : 'ascending');
      }
   };
   for (const button of document.querySelectorAll('#coverage thead button')) {
      button.addEventListener('click', () => {
         state.descending = state.order === button.value && !state.descending;
         state.order = button.value;
         fill();
      });
   }
   byId('covered-search').addEventListener('input', () => {
      state.word = byId('covered-search').value.toLowerCase();
      fill();
   });
   byId('covered-search').hidden = files.length < 10;
   byId('covered-sum').textContent = [
      words((file) => file.lines, 'lines'), words(functionsOf, 'functions'),
      words((file) => file.branches, 'branches'),
   ].filter(Boolean).join(', ') +
      (never ? `; ${plural(never, 'shader was', 'shaders were')} never executed` : '');
   fill();
   byId('coverage').hidden = false;
}
