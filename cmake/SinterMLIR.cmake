# MLIR and LLVM 22 for the compiler half of the tree:
#   sinter_mlir           what a target links to use them: the two dylibs, SYSTEM headers, definitions
#   sinter_tablegen(…)    C++ from a .td file
#   sinter_mlir_pch(t)    lets library t share one precompiled header of MLIR's core
# -DMLIR_DIR=<…/lib/cmake/mlir> chooses another installation.
find_package(MLIR CONFIG QUIET HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT MLIR_FOUND OR NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR
    "MLIR 22 was not found (MLIR_DIR is ${MLIR_DIR}, LLVM there '${LLVM_VERSION}'). ./dev setup installs it (Debian: libmlir-22-dev, mlir-22-tools, llvm-22-dev); for an "
    "installation elsewhere give -DMLIR_DIR=<prefix>/lib/cmake/mlir; -DSINTER_BUILD_COMPILER=OFF builds the runtime "
    "alone, without MLIR.")
endif()
find_program(SINTER_MLIR_TBLGEN NAMES mlir-tblgen mlir-tblgen-22 HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH REQUIRED)
find_program(SINTER_LLVM_TBLGEN NAMES llvm-tblgen llvm-tblgen-22 HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH REQUIRED)

add_library(sinter_mlir INTERFACE)
target_include_directories(sinter_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
# Hidden visibility would give each of MLIR's op traits a second TypeID in our objects: the ids of templates are told apart by
# name where symbols can't be shared, and GCC spells those names unlike the Clang that built libMLIR. MLIR would then miss
# every trait of our ops.
target_compile_options(sinter_mlir INTERFACE ${definitions} -fvisibility=default)
target_link_libraries(sinter_mlir INTERFACE MLIR LLVM)

# GNU ld takes tens of seconds where lld takes one, so everything from here on is linked with it.
find_program(SINTER_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR})
if(SINTER_LLD)
  cmake_path(GET SINTER_LLD PARENT_PATH lldDir)
  add_link_options(-fuse-ld=lld -B${lldDir})
endif()

# sinter_tablegen(TARGET TD [--option…] output … [INCLUDES dirs…]): an interface library whose users see the outputs,
# which lie under the caller's binary directory. The options before an output are mlir-tblgen's; --dump-json,
# which it lacks, goes to llvm-tblgen:
#   sinter_tablegen(sinter_ops SinterOps.td -gen-op-decls sinter/ir/SinterOps.h.inc -gen-op-defs SinterOps.cpp.inc)
function(sinter_tablegen target td)
  cmake_parse_arguments(arg "" "" "INCLUDES" ${ARGN})
  set(includes ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/ir/include ${arg_INCLUDES} ${MLIR_INCLUDE_DIRS})
  list(TRANSFORM includes PREPEND -I)
  cmake_path(ABSOLUTE_PATH td)
  set(options)
  set(outputs)
  foreach(word IN LISTS arg_UNPARSED_ARGUMENTS)
    if(word MATCHES "^-")
      list(APPEND options ${word})
      continue()
    endif()
    set(tblgen ${SINTER_MLIR_TBLGEN})
    if(options MATCHES "dump-json")
      set(tblgen ${SINTER_LLVM_TBLGEN})
    endif()
    cmake_path(ABSOLUTE_PATH word BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} OUTPUT_VARIABLE output)
    cmake_path(GET output PARENT_PATH directory)
    file(MAKE_DIRECTORY ${directory})
    add_custom_command(OUTPUT ${output}
      COMMAND ${tblgen} ${options} ${includes} ${td} --write-if-changed -o ${output} -d ${output}.d
      DEPENDS ${td} DEPFILE ${output}.d VERBATIM
      COMMENT "Generating ${word}")
    list(APPEND outputs ${output})
    set(options)
  endforeach()
  if(options)
    message(FATAL_ERROR "sinter_tablegen(${target}): no output file after ${options}")
  endif()
  add_custom_target(${target}_gen DEPENDS ${outputs})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_gen)
  target_include_directories(${target} SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# sinter_mlir_pch(LIBRARY): compile LIBRARY with the one precompiled header below. Libraries only: executables are
# built as PIE, which GCC keeps apart from PIC. ccache needs the two sloppiness settings to cache such sources.
function(sinter_mlir_pch target)
  set(source ${PROJECT_BINARY_DIR}/sinter_pch.cpp)
  if(NOT TARGET sinter_pch)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(sinter_pch OBJECT ${source})
    sinter_flags(sinter_pch)
    target_link_libraries(sinter_pch PRIVATE sinter_mlir)
    target_precompile_headers(sinter_pch PRIVATE
      <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/Dialect.h> <mlir/IR/Matchers.h>
      <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h> <mlir/Interfaces/FunctionInterfaces.h>
      <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
      <mlir/Transforms/GreedyPatternRewriteDriver.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM sinter_pch)
  foreach(user sinter_pch ${target})
    target_compile_options(${user} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    if(CCACHE)
      set_target_properties(${user} PROPERTIES
        CXX_COMPILER_LAUNCHER "env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE}")
    endif()
  endforeach()
endfunction()
