/* SPDX-License-Identifier: MIT */
#version 460

layout(set = 0, binding = 0) buffer Zero { int v[]; } zero;
layout(set = 0, binding = 1) buffer One { int v[]; } one;
layout(set = 0, binding = 2) buffer Two { int v[]; } two;
layout(set = 0, binding = 3) buffer Three { int v[]; } three;

#line 1 0
int
in_string_0(int i)
{
   return zero.v[i]; // AT load zero @ 4
}
#line 1 1
int
in_string_1(int i)
{
   return one.v[i]; // AT load one @ 4
}
#line 1 2
int
in_string_2(int i)
{
   return two.v[i]; // AT load two @ 4
}
#line 1 3
void
main()
{
   three.v[0] = in_string_0(1) + in_string_1(2) + in_string_2(3); // AT store three @ 4
#define BASE 700
#line BASE
   three.v[1] = 0; // AT store three @ 700 without text
#line 800
   three.v[2] = 0; // AT store three @ 800
}
