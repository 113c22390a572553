# Tests of the CUDA device, on a fake driver: none needs a GPU, and none tells how one behaves.
foreach(name fake_cuda fake_cuda_old)
  add_library(${name} MODULE cuda/fake_cuda.cpp cuda/fake_state.cpp cuda/fake_image.cpp
    ${PROJECT_SOURCE_DIR}/runtime/cuda/image.cpp)
  sinter_flags(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/cuda
    ${PROJECT_SOURCE_DIR}/runtime/cuda/include)
  target_link_libraries(${name} PRIVATE sinter_core)
endforeach()
# A driver older than cuGetProcAddress_v2, which is CUDA 12.0's.
target_compile_definitions(fake_cuda_old PRIVATE FAKE_CUDA_WITHOUT_PROC_ADDRESS)

add_library(fake_cublaslt MODULE cuda/fake_cublaslt.cpp)
sinter_flags(fake_cublaslt)
target_include_directories(fake_cublaslt PRIVATE ${PROJECT_SOURCE_DIR}/runtime/cuda)
target_link_libraries(fake_cublaslt PRIVATE sinter_base)

function(sinter_cuda_test name)
  sinter_test(${name} ${ARGN} LINK sinter_cuda)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/cuda)
  target_compile_definitions(${name} PRIVATE SINTER_FAKE_CUDA="$<TARGET_FILE:fake_cuda>"
    SINTER_FAKE_CUDA_OLD="$<TARGET_FILE:fake_cuda_old>")
  add_dependencies(${name} fake_cuda fake_cuda_old)
endfunction()

sinter_cuda_test(cuda_device_test cuda/cuda_device_test.cpp cuda/cuda_error_test.cpp cuda/cuda_graph_test.cpp)
sinter_cuda_test(cuda_memory_test cuda/cuda_allocator_test.cpp cuda/cuda_memory_test.cpp)
sinter_cuda_test(cuda_image_test cuda/cuda_image_test.cpp)

# Own declarations against the toolkit's headers, where there are any.
sinter_cuda_test(cuda_header_test cuda/cuda_header_test.cpp cuda/cuda_library_header_test.cpp)
find_path(SINTER_CUDA_INCLUDE_DIR cuda.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
if(SINTER_CUDA_INCLUDE_DIR)
  target_include_directories(cuda_header_test SYSTEM PRIVATE ${SINTER_CUDA_INCLUDE_DIR})
endif()

sinter_cuda_test(cuda_cudnn_test cuda/cuda_cudnn_test.cpp)
sinter_cuda_test(cuda_matmul_test cuda/cuda_matmul_test.cpp)
target_compile_definitions(cuda_matmul_test PRIVATE SINTER_FAKE_CUBLASLT="$<TARGET_FILE:fake_cublaslt>")
add_dependencies(cuda_matmul_test fake_cublaslt)
