/* SPDX-License-Identifier: MIT
 *
 * Tone mapping that counts the histogram of the picture while it draws it.
 */
#version 450
#extension GL_EXT_spirv_intrinsics : require

/* SPIR-V's OpAssumeTrueKHR: a promise to the compiler */
spirv_instruction(extensions = ["SPV_KHR_expect_assume"],
                  capabilities = [5629], id = 5630)
void assumeTrue(bool promise);

const uint BIN_COUNT = 32;

layout(push_constant) uniform View {
   uint width;
   float exposure;
} view;

layout(set = 0, binding = 0, std430) readonly buffer Scene {
   vec4 radiance[];
} scene;

layout(set = 0, binding = 1, std430) buffer Histogram {
   uint bins[BIN_COUNT];
} histogram;

layout(location = 0) out vec4 color;

void
main()
{
   uvec2 pixel = uvec2(gl_FragCoord.xy);
   vec3 radiance = scene.radiance[pixel.y * view.width + pixel.x].rgb;
   vec3 mapped = min(radiance * view.exposure, vec3(1.0));

   float brightness = max(mapped.r, max(mapped.g, mapped.b));
#ifdef FIXED
   assumeTrue(brightness <= 1.0);
   uint bin = min(uint(brightness * float(BIN_COUNT)), BIN_COUNT - 1u);
#else
   assumeTrue(brightness < 1.0);
   uint bin = uint(brightness * float(BIN_COUNT));
#endif
   atomicAdd(histogram.bins[bin], 1u);

   color = vec4(mapped, 1.0);
}
