# Tests of the CUDA device, on a fake driver: none needs a GPU, and none tells how one behaves.
foreach(name fake_cuda fake_cuda_old)
  add_library(${name} MODULE cuda/fake_cuda.cpp cuda/fake_state.cpp cuda/fake_image.cpp cuda/fake_emulated.cpp
    ${PROJECT_SOURCE_DIR}/runtime/cuda/image.cpp)
  sinter_flags(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/cuda
    ${PROJECT_SOURCE_DIR}/runtime/cuda/include ${PROJECT_SOURCE_DIR}/runtime/emu)
  target_link_libraries(${name} PRIVATE sinter_core sinter_emu)
endforeach()
# A driver older than cuGetProcAddress_v2, which is CUDA 12.0's.
target_compile_definitions(fake_cuda_old PRIVATE FAKE_CUDA_WITHOUT_PROC_ADDRESS)

foreach(name fake_cublaslt fake_cudnn)
  add_library(${name} MODULE cuda/${name}.cpp)
  sinter_flags(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/cuda)
  target_link_libraries(${name} PRIVATE sinter_base)
endforeach()

function(sinter_cuda_test name)
  sinter_test(${name} ${ARGN} LINK sinter_cuda)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/cuda)
  target_compile_definitions(${name} PRIVATE SINTER_FAKE_CUDA="$<TARGET_FILE:fake_cuda>"
    SINTER_FAKE_CUDA_OLD="$<TARGET_FILE:fake_cuda_old>"
    SINTER_FAKE_CUBLASLT="$<TARGET_FILE:fake_cublaslt>" SINTER_FAKE_CUDNN="$<TARGET_FILE:fake_cudnn>")
  add_dependencies(${name} fake_cuda fake_cuda_old fake_cublaslt fake_cudnn)
endfunction()

sinter_cuda_test(cuda_device_test cuda/cuda_device_test.cpp cuda/cuda_error_test.cpp cuda/cuda_graph_test.cpp)
sinter_cuda_test(cuda_conformance_test cuda/cuda_conformance_test.cpp)
sinter_cuda_test(cuda_memory_test cuda/cuda_allocator_test.cpp cuda/cuda_memory_test.cpp)
sinter_cuda_test(cuda_image_test cuda/cuda_image_test.cpp)

# Own declarations against the toolkit's headers, where there are any.
sinter_cuda_test(cuda_header_test cuda/cuda_header_test.cpp cuda/cuda_library_header_test.cpp)
find_path(SINTER_CUDA_INCLUDE_DIR cuda.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
if(SINTER_CUDA_INCLUDE_DIR)
  target_include_directories(cuda_header_test SYSTEM PRIVATE ${SINTER_CUDA_INCLUDE_DIR})
endif()

# NVIDIA's libraries: fake ones, and the real ones as far as they work without a device.
sinter_cuda_test(cuda_library_test cuda/cuda_matmul_test.cpp cuda/cuda_convolution_test.cpp)
sinter_cuda_test(cuda_vendor_test cuda/cuda_vendor_test.cpp)
