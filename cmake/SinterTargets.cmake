# sinter_library(NAME sources… [LINK targets…] [PRIVATE_LINK targets…] [UNITY]): a static library with the project's flags;
# headers under include/ beside it are public. UNITY: with SINTER_UNITY its sources are compiled several at a time. One
# place for warnings, standard and sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Release keeps assertions: they guard our own invariants, never a user's input.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

function(sinter_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror)
  # libstdc++ 12's own stable_sort uses what it has deprecated, which Clang reports at our call.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
  if(SINTER_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer -g)
    target_link_options(${target} PUBLIC -fsanitize=${SINTER_SANITIZE})
  endif()
endfunction()

function(sinter_library name)
  cmake_parse_arguments(arg "UNITY" "" "LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  if(arg_UNITY AND SINTER_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
  sinter_flags(${name})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
endfunction()

function(sinter_executable name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  sinter_flags(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
endfunction()

# sinter_test(NAME sources… LINK targets… [LABELS …]): a GoogleTest binary, one CTest entry, labelled `fast` unless told
# otherwise.
function(sinter_test name)
  cmake_parse_arguments(arg "" "" "LINK;LABELS" ${ARGN})
  sinter_executable(${name} ${arg_UNPARSED_ARGUMENTS} LINK ${arg_LINK} GTest::gtest GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  if("fast" IN_LIST arg_LABELS)
    add_dependencies(fast-tests ${name})
  endif()
endfunction()
