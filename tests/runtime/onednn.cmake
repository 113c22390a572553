sinter_test(onednn_matmul_test onednn_matmul_test.cpp LINK sinter_cpu_onednn)
sinter_test(onednn_convolution_test onednn_convolution_test.cpp LINK sinter_cpu_onednn)
sinter_test(onednn_provider_test onednn_provider_test.cpp LINK sinter_cpu_onednn gomp)
# Their naive loops take minutes in a sanitized build that optimises nothing.
set_source_files_properties(onednn_convolution_test.cpp onednn_matmul_test.cpp
  PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Debug>:-O1>)
