sinter_test(reference_test reference_test.cpp reference_ops_test.cpp LINK sinter_ir GTest::gmock)
