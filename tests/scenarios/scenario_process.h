/* SPDX-License-Identifier: MIT */

/*
 * Shaders, and processes that run the program of a scenario; between gpuval_scenario.c,
 * which says what runs, and these.
 */

#ifndef SCENARIO_PROCESS_H
#define SCENARIO_PROCESS_H

#include "scenario.h"

/* One process. */
struct scenario_child {
   const char *name; /* of its files in the folder */
   enum scenario_kind kind;
   const char *checks;  /* GPUVAL; NULL: off */
   bool inherit;        /* the environment, as it is */
   bool shared_cache;   /* shaders from the cache of the environment, not the folder's */
   bool in_order;       /* lavapipe executes invocations one after the other */
   const char *preload; /* a library, or NULL */
   const char *icd;     /* ICD file instead of the environment's, or NULL */
};

/* --- scenario_compile.c --------------------------------------------------- */

/* Writes NAME.spv for each section into the folder, or exits. */
void scenario_compile(const struct scenario *scenario, const char *folder);

/* --- scenario_process.c --------------------------------------------------- */

/* Prints `folder`/`name`.`ending`, if it is there. */
void scenario_print_file(const char *folder, const char *name, const char *ending);

/* Loads GPUVAL_TEST_DRIVER, if there is one, so that processes are copies of this one, in which
 * that has been done. With a library to preload, this program begins anew with it and these
 * arguments. */
void scenario_load_driver(const char *preload, char **arguments);

/* What the environment asks of an application, before it calls anything. */
void scenario_begin_process(void);

/* Runs the program in a process of its own, a copy of this one where this one has loaded what it
 * asks for. Returns the status of waitpid(). */
int scenario_run_child(const struct scenario *scenario, const char *folder,
                       const struct scenario_child *child);

/* Returns false, after saying why, when the program did not end as it should. */
bool scenario_check_status(const struct scenario *scenario, const char *folder,
                           const struct scenario_child *child, int status);

/* Whether a run with these checks leaves the same memory as one without. */
bool scenario_dumps_are_comparable(const struct scenario *scenario, uint32_t checks);

/* Prints the resource and the byte where the runs `first` and `second` differ;
 * returns 0 or 1. */
unsigned scenario_compare_dumps(const struct scenario *scenario, const char *folder,
                                const char *first, const char *second);

/* --- scenario_combine.c --------------------------------------------------- */

/* Which combinations of checks run */
enum scenario_combinations {
   SCENARIO_ALONE,
   SCENARIO_COMBINED, /* those of the scenario with each other one, and all */
   SCENARIO_PAIRS,    /* each check alone, each pair, and all */
};

/* Runs the program with combinations of checks and compares; returns the number of
 * differences. `child` has what all of these processes have in common. `limit`: of
 * pairs, for SCENARIO_COMBINED. */
unsigned scenario_combine(struct scenario *scenario, const char *folder,
                          const struct scenario_child *child,
                          enum scenario_combinations combinations, unsigned limit, bool *skipped);

#endif /* SCENARIO_PROCESS_H */
