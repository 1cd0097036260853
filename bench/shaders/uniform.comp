/* SPDX-License-Identifier: MIT
 *
 * Uniform-heavy: many members at fixed offsets, two arrays with an index that
 * differs between invocations, one with an index that does not.
 */
#version 450

layout(local_size_x = 64) in;

struct Material {
   vec4 albedo;
   vec4 specular;
   vec4 emission;
};

layout(set = 0, binding = 0) uniform Scene {
   mat4 view;
   mat4 projection;
   vec4 ambient;
   vec4 fog;
   vec4 camera;
   vec4 sun_direction;
   vec4 sun_color;
   float exposure;
   float gamma;
   float time;
   uint light_count;
   vec4 light_position[16];
   vec4 light_color[16];
   Material materials[32];
} scene;

layout(set = 0, binding = 1, std430) writeonly buffer Result { vec4 result[]; };

void
main()
{
   uint i = gl_GlobalInvocationID.x;
   Material material = scene.materials[i % 32u];
   Material under = scene.materials[(i * 7u + 3u) % 32u];
   vec4 position = scene.projection * scene.view * vec4(vec3(i & 15u), 1.0);
   vec3 color = scene.ambient.rgb * material.albedo.rgb + material.emission.rgb;

   color += scene.sun_color.rgb * dot(position, scene.sun_direction);
   for (uint light = 0u; light < 16u; light++) {
      vec3 towards = scene.light_position[light].xyz - position.xyz;
      float weight = 1.0 / (1.0 + dot(towards, towards));

      color += weight * scene.light_color[light].rgb * under.specular.rgb;
   }
   color = mix(color, scene.fog.rgb, scene.fog.a * scene.time);
   color += scene.camera.xyz * scene.exposure - vec3(scene.gamma);
   result[i] = vec4(color, float(scene.light_count));
}
