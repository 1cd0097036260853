/* SPDX-License-Identifier: MIT
 *
 * Vertices: pulled from storage, moved by a matrix of a uniform array.
 * The triangles are too small to cover a pixel.
 */
#version 450

struct Vertex {
   vec4 position;
   vec4 normal;
};

layout(set = 0, binding = 0) uniform Bones { mat4 bones[32]; };
layout(set = 0, binding = 1, std430) readonly buffer Vertices { Vertex vertices[]; };
layout(set = 0, binding = 2, std430) readonly buffer Indices { uint indices[]; };

layout(location = 0) out vec2 coord;

void
main()
{
   Vertex vertex = vertices[indices[gl_VertexIndex]];
   mat4 bone = bones[uint(gl_VertexIndex) & 31u];
   vec4 moved = bone * vertex.position;

   coord = vertex.normal.xy + moved.zw;
   gl_Position = vec4(moved.xy * 1e-6, 0.5, 1.0);
}
