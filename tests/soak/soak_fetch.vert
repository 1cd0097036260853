/* SPDX-License-Identifier: MIT
 *
 * Of draws that only fetch (soak.h). ATTRIBUTE: one of a vertex.
 */
#version 460

#ifdef ATTRIBUTE
layout(location = 0) in uint word;
#endif

void
main()
{
   gl_PointSize = 1.0;
#ifdef ATTRIBUTE
   gl_Position = vec4(word);
#else
   gl_Position = vec4(2.0);
#endif
}
