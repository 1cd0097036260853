#!/bin/sh
# SPDX-License-Identifier: MIT
#
# GPUVAL_LOG, GPUVAL_REPORT and GPUVAL_DUMP: what is written where.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# Not a permission, which root would not need.
mkdir "$private/folder" && : >"$private/folder/file"
unwritable=$private/folder/file

summary='{"summary":{"errors":2,"occurrences":5,"lost":0,"messages":0,"lost_messages":0,"shaders":2,"warnings":0}}'

# --- The log ---------------------------------------------------------------

begin 'log to stderr'
run GPUVAL=bounds GPUVAL_LOG=stderr two_errors
empty out
two_errors err

begin 'an empty line is behind each block'
run GPUVAL=bounds two_errors
[ "$(grep -n -x '' err | tr '\n' ' ')" = '7: 14: ' ] || wrong "empty lines: $(grep -n -x '' err)"

begin 'log to stdout'
run GPUVAL=bounds GPUVAL_LOG=stdout two_errors
empty err
two_errors out

begin 'log to a file'
run GPUVAL=bounds GPUVAL_LOG="$PWD/log" two_errors
empty out
empty err
two_errors log
lines log '^gpuval: 2 times: bounds/buffer-oob at first\.comp:' 1
lines log '^gpuval: 3 times: bounds/buffer-oob at second\.comp:' 1

begin 'log to a relative name'
run GPUVAL=bounds GPUVAL_LOG=log two_errors
empty err
two_errors log

begin 'log with the process id'
run GPUVAL=bounds GPUVAL_LOG="$PWD/log.%p" two_errors
absent 'log.%p'
one_name_like '^log\.[1-9][0-9]*$'

begin 'log that cannot be written'
run GPUVAL=bounds GPUVAL_LOG="$unwritable/log" two_errors
one_complaint err GPUVAL_LOG "$unwritable/log" stderr
two_errors err

if [ -c /dev/full ]; then
   begin 'log that finds no room'
   run GPUVAL=bounds GPUVAL_LOG=/dev/full two_errors
   one_complaint err GPUVAL_LOG 'the log is not complete'
   lines err . 1
fi

# --- Progress --------------------------------------------------------------

begin 'no progress where there is no terminal'
run GPUVAL=bounds GPUVAL_PROGRESS=1 two_errors
lines err ' shaders, ' 0
two_errors err

# --- Reports ---------------------------------------------------------------

begin 'two reports'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.jsonl,$PWD/b.csv" two_errors
two_errors err
no_complaint err
lines a.jsonl '^\{"check":"bounds","kind":"buffer-oob","severity":"error",.*\}$' 2
lines a.jsonl '' 3
last_line a.jsonl "$summary"
lines b.csv '^check,kind,count,message,' 1
lines b.csv '^bounds,buffer-oob,[23],"' 2
lines b.csv '' 3

begin 'every row has as many columns as the header'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/b.csv" two_errors
sed 's/"[^"]*"//g' b.csv | awk -F , 'NR == 1 { n = NF } NF != n { exit 1 }' ||
   wrong 'columns differ'

begin 'reports without an error'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.jsonl,$PWD/b.csv" no_errors
last_line err 'gpuval: no errors'
[ "$(without_run <a.jsonl)" = '{"summary":{"errors":0,"occurrences":0,"lost":0,"messages":0,"lost_messages":0,"shaders":1,"warnings":0}}' ] ||
   wrong "a.jsonl is not just a summary"
lines b.csv '' 1

begin 'report with a relative name'
run GPUVAL=bounds GPUVAL_REPORT=a.jsonl two_errors
last_line a.jsonl "$summary"

begin 'report with the process id'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/%p.jsonl" two_errors
absent '%p.jsonl'
one_name_like '^[1-9][0-9]*\.jsonl$'

begin 'report with an unknown ending'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.xml,$PWD/b.jsonl" two_errors
one_complaint err GPUVAL_REPORT a.xml .jsonl .csv
absent a.xml
last_line b.jsonl "$summary"

begin 'report that cannot be written'
run GPUVAL=bounds GPUVAL_REPORT="$unwritable/a.jsonl,$PWD/b.jsonl" two_errors
one_complaint err GPUVAL_REPORT "$unwritable/a.jsonl"
two_errors err
last_line b.jsonl "$summary"

begin 'report that is there already'
echo old >a.jsonl
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.jsonl" two_errors
lines a.jsonl old 0
last_line a.jsonl "$summary"

begin 'nothing is left beside a report'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.jsonl" two_errors
[ "$(names .)" = 'a.jsonl err out ' ] || wrong "the folder has: $(names .)"

begin 'two processes, one report'
mkdir a.jsonl.new # what is another process's
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.jsonl" two_errors
no_complaint err
last_line a.jsonl "$summary"

# A decimal comma, and an I whose small letter is another
begin 'locale of the program'
if localedef -i tr_TR -f ISO-8859-9 "$PWD/tr_TR" >/dev/null 2>&1; then
   run LOCPATH="$PWD" LC_ALL=tr_TR GPUVAL_TEST_LOCALE=1 GPUVAL=bounds \
      GPUVAL_REPORT="$PWD/a.jsonl" ../scenarios/command_indirect_dispatch
   lines err ' dispatch_indirect 0 of command buffer ' 1
   lines a.jsonl '"op":"dispatch_indirect"' 1
fi

begin 'a label with a newline and an escape'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.jsonl" hostile
lines err '^gpuval:forged' 0
lines err 'labels "frame\\ngpuval:forged\\x1b\[31m"$' 1
lines a.jsonl '"labels":\["frame\\u000agpuval:forged\\u001b\[31m"\]' 1

# --- What CI reads ---------------------------------------------------------

begin 'SARIF and JUnit XML'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.sarif,$PWD/b.junit.xml,$PWD/c.jsonl" two_errors
no_complaint err
python3 - <<'EOF' || wrong 'they do not say what c.jsonl says'
import json, os, xml.etree.ElementTree
events = [json.loads(line) for line in open('c.jsonl')][:-1]
run = json.load(open('a.sarif'))['runs'][0]
assert run['originalUriBaseIds']['SRCROOT']['uri'] == f'file://{os.getcwd()}/'
for event, result in zip(events, run['results'], strict=True):
    assert result['properties']['gpuval'] == event
    assert result['message']['text'] == event['message']
    source = event['source']
    extract = source['extract']
    assert len(extract) > 3 and any(line.startswith('   ') for line in extract), extract
    assert extract[source['line'] - source['extract_line']].strip() == source['text'], extract
cases = xml.etree.ElementTree.parse('b.junit.xml').getroot().findall('.//testcase')
for event, case in zip(events, cases[:-1], strict=True):
    assert case.get('line') == str(event['source']['line'])
    assert case.find('failure').get('message') == event['message']
EOF

begin 'code quality, and the page of a step in GitHub Actions'
echo before >page
run GPUVAL=bounds GPUVAL_LOG=log GPUVAL_REPORT=a.codequality.json GITHUB_ACTIONS=true \
   GITHUB_STEP_SUMMARY="$PWD/page" two_errors
python3 -c 'import json; print(len(json.load(open("a.codequality.json"))))' >count
lines count '^2$' 1
lines page '^before$' 1
lines page '^### gpuval, .*: 2 errors [(]5 occurrences[)]' 1
lines page '^[|] bounds/buffer-oob [|] .*comp:[0-9]+ [|]' 2

begin 'sources are somewhere else'
run GPUVAL=bounds GPUVAL_SOURCE_MAP=first.comp=shaders/a.comp,second.comp=/b.comp \
   GPUVAL_REPORT=a.codequality.json,b.sarif two_errors
lines a.codequality.json '"path":"shaders/a.comp"' 1
lines a.codequality.json '"path":"/b.comp"' 1
lines b.sarif '"uri":"shaders/a.comp","uriBaseId":"SRCROOT"' 1
run GPUVAL=bounds GPUVAL_SOURCE_MAP=nonsense two_errors
one_complaint err GPUVAL_SOURCE_MAP nonsense FROM=TO

begin 'hostile names in SARIF and JUnit XML'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.sarif,$PWD/b.junit.xml" hostile
python3 - <<'EOF' || wrong 'they cannot be read back'
import json, xml.etree.ElementTree
result, = json.load(open('a.sarif'))['runs'][0]['results']
assert result['properties']['gpuval']['command']['labels'] == ['frame\ngpuval:forged\x1b[31m']
text = xml.etree.ElementTree.parse('b.junit.xml').getroot().find('.//failure').text
assert r'labels "frame\ngpuval:forged\x1b[31m"' in text, text
EOF

begin 'hostile names in all formats'
run GITHUB_ACTIONS=true GPUVAL=bounds GPUVAL_LOG="$PWD/log" \
   GPUVAL_REPORT="$PWD/a.jsonl,$PWD/b.csv,$PWD/c.sarif,$PWD/d.junit.xml,$PWD/e.html" hostile_names
python3 - <<'EOF' || wrong 'they cannot be read back'
import csv, html.parser, json, re, xml.etree.ElementTree

def read(name):  # in which nothing is no UTF-8
    return open(name, encoding='utf-8', errors='strict', newline='').read()

event, summary = map(json.loads, read('a.jsonl').splitlines())
buffer = '=1+1,"\'`;\n\ufffd\ufffd\ufffd(\ufffd<b>&amp;]]>\x1b[31m'
names = [event['resource']['object_name'], event['command']['pipeline_name'],
         event['command']['command_buffer_name'], *event['command']['labels']]
simple = [re.sub('\ufffd+', '\ufffd', name) for name in names]
assert simple == [buffer.replace('\ufffd\ufffd\ufffd', '\ufffd'),
                  '</script><script>alert(1)</script>', '\ufffd<!-- -- >',
                  '\u202e\u2028a\ngpuval: error: forged\x01\x7f',
                  '::error file=x::forged%0A\x85'], simple
text = event['source']['text']
assert text.endswith('</script><script>alert("1")</script> ]]> ::error::, \'%0A\''), text

row, = csv.DictReader(read('b.csv').splitlines(keepends=True), strict=True)
assert row['resource_object_name'].startswith("'=")  # no formula
assert [row['resource_object_name'][1:], row['pipeline_name'], row['command_buffer_name'],
        row['labels']] == names[:3] + [' > '.join(names[3:])], row
assert row['source_text'] == text and row['fingerprint'] == event['fingerprint']

result, = json.loads(read('c.sarif'))['runs'][0]['results']
assert result['properties']['gpuval'] == event
assert result['locations'][0]['physicalLocation']['region']['snippet']['text'] == text

failure = xml.etree.ElementTree.fromstring(read('d.junit.xml')).find('.//failure').text
block = re.sub('[\ufffe\uffff]', '\ufffd', failure).splitlines()[:-1]
assert len(block) == 6 and set(block) < set(read('log').splitlines()), failure

class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.now = {}, None
    def handle_starttag(self, tag, attributes):
        self.now = dict(attributes).get('id', tag)
        assert tag != 'b', attributes
    def handle_data(self, data):
        self.scripts[self.now] = self.scripts.get(self.now, '') + data
reader = Reader()
reader.feed(read('e.html'))
assert json.loads(reader.scripts['events']) == [event]

for name in 'log', 'err':
    lines = read(name).split('\n')
    assert lines.pop() == ''
    begin = 'gpuval: ' if name == 'log' else '::error file='
    for line in lines:
        assert line.startswith(begin) or (name == 'log' and not line), line
        assert not re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]', line), line
assert len(lines) == 1, lines
EOF

begin 'HTML'
run GPUVAL=bounds GPUVAL_REPORT="$PWD/a.html,$PWD/c.jsonl" two_errors
no_complaint err
python3 - <<'EOF' || wrong 'it does not say what c.jsonl says'
import html.parser, json
class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts, self.now = {}, None
    def handle_starttag(self, tag, attributes):
        self.now = dict(attributes).get('id') if tag == 'script' else None
    def handle_data(self, data):
        self.texts[self.now] = self.texts.get(self.now, '') + data
reader = Reader()
reader.feed(open('a.html').read())
lines = [json.loads(line) for line in open('c.jsonl')]
assert json.loads(reader.texts['events']) == lines[:-1]
assert json.loads(reader.texts['summary']) == lines[-1]
EOF

begin 'annotations'
run GITHUB_ACTIONS=true GPUVAL=bounds GPUVAL_LOG="$PWD/log" two_errors
lines err '^::error file=(first|second)\.comp,line=[0-9]+,title=gpuval bounds/buffer-oob::(load|store) of ' 2
lines err '' 2
lines log '::error' 0

# --- NIR -------------------------------------------------------------------

begin 'dump'
mkdir nir
run GPUVAL=bounds GPUVAL_DUMP="$PWD/nir" two_errors
dumps=0
for file in nir/*.before.nir; do
   dumps=$((dumps + 1))
   after=${file%.before.nir}.after.nir
   if [ ! -s "$file" ] || [ ! -s "$after" ]; then
      wrong "$file and $after are not a pair"
   elif cmp -s "$file" "$after"; then
      wrong "$file is the same as $after"
   fi
done
[ "$dumps" -eq 2 ] || wrong "nir has: $(names nir)"

# Nodes and edges, each edge between two nodes; what is between quotes is text.
for file in nir/*.before.dot nir/*.after.dot; do
   sed -e 's/\\.//g' -e 's/"[^"]*"/TEXT/g' "$file" | awk '
      NR == 1 { ok = $0 == "digraph shader {" }
      / -> / { edges++; from[$1]; sub(";", "", $3); to[$3] }
      /^ *f[0-9]+_b[0-9]+ \[label=TEXT\];$/ { nodes[$1] }
      { line = $0; gsub(/[^{}]/, "", line); text = text line }
      END {
         for (node in from) ok = ok && node in nodes
         for (node in to) ok = ok && node in nodes
         exit !(ok && edges && text == "{{}}")
      }' || wrong "$file is no graph"
done
lines "$(echo nir/*.1.before.dot)" '@store_(ssbo|deref)' 1
lines "$(echo nir/*.1.after.dot)" '@check_buffer_gpuval' 1
mkdir picked
run GPUVAL=descriptor GPUVAL_DUMP="$PWD/picked" two_errors
lines "$(echo picked/*.1.after.nir)" '@pick_gpuval' 1
[ "$(find nir -name '*.spv' | wc -l)" -eq 2 ] || wrong "nir has: $(names nir)"
for file in nir/*.spv; do
   hash=${file#nir/}
   [ "$(od -An -N4 -tx4 "$file" | tr -d ' ')" = 07230203 ] || wrong "$file is no SPIR-V"
   [ -f "nir/${hash%.spv}.compute.1.before.nir" ] || [ -f "nir/${hash%.spv}.compute.2.before.nir" ] ||
      wrong "$file is of no shader"
done
run GPUVAL=bounds GPUVAL_DUMP="$PWD/nir" two_errors
no_complaint err # files that are there already

begin 'dump that cannot be written'
run GPUVAL=bounds GPUVAL_DUMP="$unwritable" two_errors
one_complaint err GPUVAL_DUMP "$unwritable"
two_errors err

finish
