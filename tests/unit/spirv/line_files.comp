/* SPDX-License-Identifier: MIT */
#version 460
#extension GL_GOOGLE_cpp_style_line_directive : require

layout(set = 0, binding = 0) buffer Before { int v[]; } before;
layout(set = 0, binding = 1) buffer Named { int v[]; } named;
layout(set = 0, binding = 2) buffer Further { int v[]; } further;
layout(set = 0, binding = 3) buffer Same { int v[]; } same;
layout(set = 0, binding = 4) buffer After { int v[]; } after;

/* A directive in a comment is none:
#line 400 "comment.glsl"
*/
// #line 500 "comment.glsl"

int
first(int i)
{
   return before.v[i]; // AT load before
}

#line 10 "named.glsl"
int
second(int i)
{
   return named.v[i]; // AT load named @ named.glsl:13
}
  #  line	30 // and a comment
int
third(int i)
{
   return further.v[i]; // AT load further @ named.glsl:33
}

#line 1 "same.glsl"
/* This file has lines of the numbers that another one has, too. */
int
fourth(int i)
{




   return same.v[i]; // AT load same @ same.glsl:9


   /* named.glsl:13 is not here. */
}

#line 2000 "generated/main.glsl"
void
main()
{
   after.v[0] = first(1) + second(2) + third(3) + fourth(4); // AT store after @ generated/main.glsl:2003
}
