// SPDX-License-Identifier: MIT

RWStructuredBuffer<float4> particles : register(u1, space2);
cbuffer Params : register(b0) { uint count; float dt; };
Texture2D<float4> heights : register(t3);
SamplerState linear_sampler : register(s4);

float4
previous(uint i)
{
   return particles[i] + heights.SampleLevel(linear_sampler, 0, 0); // AT load particles, load heights, load linear_sampler, sample heights
}

[numthreads(64, 1, 1)]
void
main(uint3 id : SV_DispatchThreadID)
{
   if (id.x < count) // AT load Params
      particles[id.x + 5] = previous(id.x) * dt; // AT load Params, store particles
}
