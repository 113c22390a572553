# Tests of the file formats and the data pipeline. The data others made is looked
# for beside the checkout; without it those tests are skipped, visibly.
set(SINTER_SHARED_DATA_DIR ${PROJECT_SOURCE_DIR}/../shared/data)
function(sinter_io_test name)
  sinter_test(${name} ${ARGN})
  target_compile_definitions(${name} PRIVATE SINTER_SHARED_DATA_DIR="${SINTER_SHARED_DATA_DIR}")
endfunction()

sinter_io_test(io_test io_file_test.cpp io_npy_test.cpp io_safetensors_test.cpp LINK sinter_io)

if(TARGET sinter_data)
  find_package(ZLIB REQUIRED)
  set(SINTER_MNIST_DIR ${PROJECT_SOURCE_DIR}/models/mnist/data)
  sinter_io_test(data_test data_idx_test.cpp data_loader_test.cpp data_checkpoint_test.cpp
    LINK sinter_data ZLIB::ZLIB)
  target_compile_definitions(data_test PRIVATE SINTER_MNIST_DIR="${SINTER_MNIST_DIR}")
endif()
