/* SPDX-License-Identifier: MIT
 *
 * One triangle that covers the whole picture.
 */
#version 450

void
main()
{
   vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);

   gl_Position = vec4(corner * 4.0 - 1.0, 0.0, 1.0);
}
