/* SPDX-License-Identifier: MIT */
#version 150
#extension GL_ARB_shading_language_420pack : require
#extension GL_ARB_explicit_attrib_location : require

/* This version numbers the line behind a directive one more than it says. */

layout(binding = 0) uniform Input { int v[8]; } values;
layout(location = 0) out float o;

int
before(int i)
{
   return values.v[i]; // AT load values
}
#line 100
int
behind(int i)
{
   return values.v[i]; // AT load values @ 104
}

void
main()
{
   o = float(values.v[before(1) + behind(2)]); // AT load values @ 110
}
