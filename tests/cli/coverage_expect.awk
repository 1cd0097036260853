# SPDX-License-Identifier: MIT
#
# awk -f coverage_expect.awk [-v times=N] SCENARIO TRACEFILE: prints where the tracefile says other
# things than the comments of the scenario's shaders, whose lines are those of the scenario's file.
#
# Which lines have code says the compiler that made the SPIR-V: the brace at which a function returns,
# RETURNS, has some for glslang 15 and none for glslang 12. All of them count or none.

function compare(what, found, wanted,    i)
{
   for (i in wanted)
      if (!(i in found))
         print FILENAME ": line " i ": " what " " wanted[i] " is missing"
   for (i in found) {
      if (!(i in wanted))
         print FILENAME ": line " i ": " what " " found[i] " is too many"
      else if (found[i] != wanted[i])
         print FILENAME ": line " i ": " what " " found[i] " instead of " wanted[i]
   }
}

function times_of(number)
{
   return number == "-" || times == "" ? number : number * times
}

FNR == NR && /\/\/ / {
   text = $0
   sub(/.*\/\/ /, "", text)
   count = split(text, word, " ")
   for (i = 1; i <= count; i++) {
      if (word[i] == "FUNCTION") # a line as well
         lines[FNR] = functions[FNR] = times_of(word[++i])
      else if (word[i] == "COVERED")
         lines[FNR] = times_of(word[++i])
      else if (word[i] == "RETURNS")
         returns[FNR] = times_of(word[++i])
      else if (word[i] == "BRANCH")
         for (n = 0; i < count; n++)
            branches[FNR "," n] = times_of(word[++i])
   }
   next
}

FNR == NR { next }

/^FN:/ { split(substr($0, 4), part, ","); name_line[part[2]] = part[1] }
/^FNDA:/ { split(substr($0, 6), part, ","); found_functions[name_line[part[2]]] = part[1] }
/^FNL:/ { split(substr($0, 5), part, ","); index_line[part[1]] = part[2] } # lcov 2.2
/^FNA:/ { split(substr($0, 5), part, ","); found_functions[index_line[part[1]]] = part[2] }
/^DA:/ { split(substr($0, 4), part, ","); found_lines[part[1]] = part[2] }
/^BRDA:/ { split(substr($0, 6), part, ","); found_branches[part[1] "," part[3]] = part[4] }

END {
   for (i in returns)
      with_returns = with_returns || i in found_lines
   for (i in returns)
      if (with_returns)
         lines[i] = returns[i]
   compare("FUNCTION", found_functions, functions)
   compare("COVERED", found_lines, lines)
   compare("BRANCH", found_branches, branches)
}
