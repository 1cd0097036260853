/* SPDX-License-Identifier: MIT
 *
 * Of draws that only fetch, or capture (soak.h). FETCHES: an attribute of each vertex. CAPTURES: its
 * number.
 */
#version 460

#if defined(FETCHES)
layout(location = 0) in uint word;
#elif defined(CAPTURES)
layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) out uint captured;
#endif

void
main()
{
   gl_PointSize = 1.0;
   gl_Position = vec4(2.0);
#if defined(FETCHES)
   gl_Position = vec4(word);
#elif defined(CAPTURES)
   captured = gl_VertexIndex;
#endif
}
