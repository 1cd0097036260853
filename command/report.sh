# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval report`: src/report/gpuval_report_tool.c does it.

command_report()
{
   ensure_setup
   exec "$prefix/bin/gpuval-report" "$@"
}

help_report()
{
   cat <<EOF
usage: ./gpuval report [options] FILE.jsonl|FOLDER|-...

Makes one report of those of many runs, equal failures (by their fingerprint)
counted together, by run and by machine. Of a FOLDER the files are read whose
names end in .jsonl or .jsonl.zst, at any depth; - is stdin, for reports one after
the other. What zstd has compressed is decompressed.
Without -o the failures are listed; with it they are counted.

   -o, --output FILE     write a report; FILE ends in .jsonl, .csv, .html,
                         .sarif, .junit.xml or .codequality.json; may be given
                         several times
   --baseline OLD.jsonl  failures of this report are known: the others are marked
                         as new and listed, and those that are gone are; may be
                         given several times
   --coverage FILE.info  what shaders have executed (./gpuval run --coverage), for a
                         table in the HTML; may be given several times
   --root FOLDER         files of sources below it are named relative to it (default:
                         GITHUB_WORKSPACE, or the current folder); may be given
                         several times, for those of other machines
   --source-map FROM=TO  sources below FROM are named as if they were below TO; may
                         be given several times
   --error-exitcode N    exit with N when there are failures; with a baseline, new
                         ones

Exits with 0; with 1 when there is a baseline and something new; with 2 when
something could not be read, which the report counts, or not be written. In a job
of GitHub Actions (GITHUB_ACTIONS), failures are printed so that they become
annotations, with a baseline the new ones, and the page of the step
(GITHUB_STEP_SUMMARY) gets a table.

   ./gpuval report logs -o night.html -o night.jsonl
   ./gpuval report logs --baseline known.jsonl -o new.jsonl
EOF
}
