# Tests of base, core and the artifact's C interface.
sinter_test(core_base_test core_base_test.cpp LINK sinter_base)
sinter_test(core_test core_program_test.cpp core_array_test.cpp core_plan_test.cpp LINK sinter_core)
sinter_test(core_pool_test core_pool_test.cpp LINK sinter_core)
sinter_test(core_executable_test core_executable_test.cpp core_allocations.cpp LINK sinter_core)
sinter_test(core_artifact_test core_artifact_test.cpp core_artifact_example.c core_allocations.cpp
            LINK sinter_artifact sinter_no_vendor)
