/* SPDX-License-Identifier: MIT */

/* Executes a shader of one invocation on the memory of the test, instruction by
 * instruction: what the functions that checks call do to cells, words and counters.
 */

#ifndef NIR_RUN_H
#define NIR_RUN_H

#include <stdlib.h>
#include <string.h>

#include <vector>

#include "gpuval/src/compat/gpuval_nir_names.h"

extern "C" { /* which it does not say */
#include "nir_constant_expressions.h"
}

namespace {

class nir_run {
 public:
   explicit nir_run(nir_function_impl *impl): values(impl->ssa_alloc)
   {
      run_list(&impl->body);
   }

 private:
   struct value {
      nir_const_value c[NIR_MAX_VEC_COMPONENTS];
   };

   std::vector<value> values;
   const nir_block *before = NULL;
   enum { NEXT, BREAK, CONTINUE } jump = NEXT;

   const nir_const_value *get(nir_src src) const
   {
      return values[src.ssa->index].c;
   }

   uint64_t get_uint(nir_src src, unsigned component = 0) const
   {
      return nir_const_value_as_uint(get(src)[component], src.ssa->bit_size);
   }

   void set(const nir_def &def, unsigned component, uint64_t bits)
   {
      values[def.index].c[component] = nir_const_value_for_raw_uint(bits, def.bit_size);
   }

   void run_list(struct exec_list *list)
   {
      foreach_list_typed (nir_cf_node, node, node, list) {
         if (node->type == nir_cf_node_block) {
            run_block(nir_cf_node_as_block(node));
         } else if (node->type == nir_cf_node_if) {
            nir_if *nif = nir_cf_node_as_if(node);
            run_list(get(nif->condition)->b ? &nif->then_list : &nif->else_list);
         } else {
            do {
               jump = NEXT;
               run_list(&nir_cf_node_as_loop(node)->body);
            } while (jump != BREAK);
            jump = NEXT;
         }
         if (jump != NEXT)
            return;
      }
   }

   void run_block(nir_block *block)
   {
      std::vector<std::pair<unsigned, value>> phis;

      nir_foreach_phi (phi, block) {
         nir_foreach_phi_src (src, phi) {
            if (src->pred == before)
               phis.push_back({phi->def.index, values[src->src.ssa->index]});
         }
      }
      for (auto &phi : phis)
         values[phi.first] = phi.second;

      nir_foreach_instr (instr, block)
         run_instr(instr);
      before = block;
   }

   void run_instr(nir_instr *instr)
   {
      switch (instr->type) {
      case nir_instr_type_phi:
         break;
      case nir_instr_type_alu:
         run_alu(nir_instr_as_alu(instr));
         break;
      case nir_instr_type_load_const: {
         nir_load_const_instr *load = nir_instr_as_load_const(instr);
         memcpy(values[load->def.index].c, load->value,
                load->def.num_components * sizeof(load->value[0]));
         break;
      }
      case nir_instr_type_jump:
         jump = nir_instr_as_jump(instr)->type == nir_jump_break ? BREAK : CONTINUE;
         break;
      case nir_instr_type_intrinsic:
         run_intrinsic(nir_instr_as_intrinsic(instr));
         break;
      default:
         give_up(instr);
      }
   }

   void run_alu(nir_alu_instr *alu)
   {
      const nir_op_info *info = &nir_op_infos[alu->op];
      nir_const_value sources[NIR_MAX_VEC_COMPONENTS][NIR_MAX_VEC_COMPONENTS];
      nir_const_value *pointers[NIR_MAX_VEC_COMPONENTS];
      unsigned bit_size = nir_alu_type_get_type_size(info->output_type) ? 0 : alu->def.bit_size;

      for (unsigned i = 0; i < info->num_inputs; i++) {
         if (!bit_size && !nir_alu_type_get_type_size(info->input_types[i]))
            bit_size = alu->src[i].src.ssa->bit_size;
         for (unsigned j = 0; j < nir_ssa_alu_instr_src_components(alu, i); j++)
            sources[i][j] = get(alu->src[i].src)[alu->src[i].swizzle[j]];
         pointers[i] = sources[i];
      }
      nir_eval_const_opcode(alu->op, values[alu->def.index].c, alu->def.num_components,
                            bit_size ? bit_size : 32, pointers, 0);
   }

   void run_intrinsic(nir_intrinsic_instr *intrin)
   {
      switch (intrin->intrinsic) {
      case nir_intrinsic_load_global:
      case nir_intrinsic_load_global_constant:
         for (unsigned i = 0; i < intrin->def.num_components; i++) {
            uint64_t bits = 0;
            unsigned bytes = intrin->def.bit_size / 8;
            memcpy(&bits, (char *)get_uint(intrin->src[0]) + i * bytes, bytes);
            set(intrin->def, i, bits);
         }
         break;
      case nir_intrinsic_store_global:
         u_foreach_bit (i, nir_intrinsic_write_mask(intrin)) {
            uint64_t bits = get_uint(intrin->src[0], i);
            unsigned bytes = intrin->src[0].ssa->bit_size / 8;
            memcpy((char *)get_uint(intrin->src[1]) + i * bytes, &bits, bytes);
         }
         break;
      case nir_intrinsic_global_atomic:
         if (intrin->def.bit_size == 32)
            run_atomic<uint32_t>(intrin);
         else
            run_atomic<uint64_t>(intrin);
         break;
      case nir_intrinsic_global_atomic_swap:
         if (intrin->def.bit_size == 32)
            run_swap<uint32_t>(intrin);
         else
            run_swap<uint64_t>(intrin);
         break;
      case nir_intrinsic_barrier:
         break;
      case nir_intrinsic_load_subgroup_invocation:
         set(intrin->def, 0, 0);
         break;
      case nir_intrinsic_read_invocation:
      case nir_intrinsic_read_first_invocation:
      case nir_intrinsic_vote_all:
         values[intrin->def.index] = values[intrin->src[0].ssa->index];
         break;
      case nir_intrinsic_ballot: /* it is alone in its subgroup */
         set(intrin->def, 0, values[intrin->src[0].ssa->index].c[0].b);
         break;
      default:
         give_up(&intrin->instr);
      }
   }

   template <typename T> void run_atomic(nir_intrinsic_instr *intrin)
   {
      T *memory = (T *)get_uint(intrin->src[0]), data = (T)get_uint(intrin->src[1]);
      set(intrin->def, 0, *memory);

      switch (nir_intrinsic_atomic_op(intrin)) {
      case nir_atomic_op_iadd:
         *memory += data;
         break;
      case nir_atomic_op_ior:
         *memory |= data;
         break;
      case nir_atomic_op_umax:
         *memory = MAX2(*memory, data);
         break;
      case nir_atomic_op_xchg:
         *memory = data;
         break;
      default:
         give_up(&intrin->instr);
      }
   }

   template <typename T> void run_swap(nir_intrinsic_instr *intrin)
   {
      T *memory = (T *)get_uint(intrin->src[0]);
      bool is_alike = *memory == (T)get_uint(intrin->src[1]);

      set(intrin->def, 0, *memory);
      if (is_alike)
         *memory = (T)get_uint(intrin->src[2]);
   }

   void give_up(nir_instr *instr)
   {
      nir_print_instr(instr, stderr);
      fprintf(stderr, ": the test does not know that\n");
      abort();
   }
};

} // namespace

#endif
