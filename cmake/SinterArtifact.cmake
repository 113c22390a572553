# sinter_add_artifact(target PACKAGE g.mlirbc [NAME id] [TARGET cpu|cuda:sm_90,sm_80|emu] [VENDOR onednn|nvidia|none]
#                     [WEIGHTS external|embed] [WEIGHTS_FILE f.safetensors] [ISA names…] [DEPENDS files or targets…]):
# a target to link that is the package compiled by `sinter compile`: lib<name>.so and <name>.h in the current binary
# directory, and external weights beside them. NAME is the target's unless given. The package may be a file that another
# command makes. Works inside sinter's own build and after find_package(sinter).
function(sinter_add_artifact target)
  cmake_parse_arguments(arg "" "PACKAGE;NAME;TARGET;VENDOR;WEIGHTS;WEIGHTS_FILE" "ISA;DEPENDS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_PACKAGE)
    message(FATAL_ERROR "sinter_add_artifact(${target}): give PACKAGE <g.mlirbc>; not understood: "
      "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_NAME)
    set(arg_NAME ${target})
  endif()
  cmake_path(ABSOLUTE_PATH arg_PACKAGE)
  set(library ${CMAKE_CURRENT_BINARY_DIR}/lib${arg_NAME}.so)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.h)
  set(flags --name=${arg_NAME} --header=${header})
  foreach(option TARGET VENDOR WEIGHTS WEIGHTS_FILE)
    if(arg_${option})
      string(TOLOWER ${option} flag)
      string(REPLACE "_" "-" flag ${flag})
      list(APPEND flags --${flag}=${arg_${option}})
    endif()
  endforeach()
  if(arg_ISA)
    list(JOIN arg_ISA "," isas)
    list(APPEND flags --isa=${isas})
  endif()
  # Inside sinter's build the tools are targets of it, so that a change in the compiler compiles anew.
  set(tool sinter::sinter)
  set(compiler sinter::sinter-compile)
  set(abi sinter::abi)
  if(TARGET sinter_abi)
    set(tool sinter)
    set(compiler sinter-compile)
    set(abi sinter_abi)
  endif()
  add_custom_command(OUTPUT ${library} ${header}
    COMMAND ${tool} compile ${arg_PACKAGE} -o ${library} ${flags}
    DEPENDS ${arg_PACKAGE} ${arg_WEIGHTS_FILE} ${arg_DEPENDS} $<TARGET_FILE:${compiler}>
    VERBATIM COMMENT "Compiling ${arg_NAME}")
  add_custom_target(${target}_artifact DEPENDS ${library} ${header})
  add_library(${target} SHARED IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_artifact)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${library} IMPORTED_SONAME lib${arg_NAME}.so
    INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR} INTERFACE_LINK_LIBRARIES ${abi})
endfunction()
