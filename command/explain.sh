# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# `gpuval explain`: src/base/gpuval_check_names.c does it, from the table in
# src/base/gpuval_kind_help.c.

command_explain()
{
   [ $# -le 1 ] || usage_error "it takes one name: CHECK/KIND"
   ensure_setup
   exec "$prefix/bin/gpuval-check-names" --explain "$@"
}

help_explain()
{
   cat <<EOF
usage: ./gpuval explain [CHECK|CHECK/KIND]

Prints what a failure means, and how to mend it: CHECK/KIND is how reports name it.
CHECK alone prints all that the check reports; without a name they are listed.

   ./gpuval explain bounds/buffer-oob
EOF
}
