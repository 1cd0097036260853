/* SPDX-License-Identifier: MIT */

int
fetch_scaled(int index)
{
   return values[index] * 2; // AT load Anonymous
}
