# How this project finds LLVM and builds its libraries.

# LLVM refuses a version request of "22" although it is 22.1, so none is given.
set(LUMEN_LLVM_PREFIX /usr/lib/llvm-22 CACHE PATH "Installation of LLVM and MLIR 22")
find_package(MLIR REQUIRED CONFIG PATHS ${LUMEN_LLVM_PREFIX}/lib/cmake/mlir NO_DEFAULT_PATH)
find_package(LLD REQUIRED CONFIG PATHS ${LUMEN_LLVM_PREFIX}/lib/cmake/lld NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

option(LUMEN_STATIC_LLVM "Link LLVM and MLIR statically (for packages)" OFF)

add_library(lumen-options INTERFACE)
target_include_directories(lumen-options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_include_directories(lumen-options SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
# Deprecations: libstdc++ 12's own stable_sort uses what it deprecates.
target_compile_options(lumen-options INTERFACE
  -Wall -Wextra -Wno-unused-parameter -Wno-deprecated-declarations $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti -fno-exceptions>)
target_compile_definitions(lumen-options INTERFACE LUMEN_VERSION="${PROJECT_VERSION}")

# MLIR headers are most of a file's compile time: one precompiled header serves
# all libraries (0.5 s a file instead of 10 s).
file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
add_library(lumen-pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
target_link_libraries(lumen-pch PRIVATE lumen-options)
target_precompile_headers(lumen-pch PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/tools/dev/cmake/pch.h>)

# lumen_library(name SOURCES... [LINK libs...]): a static library of the compiler.
function(lumen_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC lumen-options ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM lumen-pch)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# lumen_executable(name SOURCES... [LINK libs...]): a program in build/bin.
function(lumen_executable name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE lumen-options ${ARG_LINK} MLIR LLVM)
  # The precompiled header is shared, so executables are compiled as libraries are.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM lumen-pch)
endfunction()

# lumen_passes(name SOURCES... [LINK libs...]): the library Lumen<name>Passes of
# this folder, with Passes.h.inc generated from its Passes.td and a function
# register<name>Passes().
function(lumen_passes name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_public_tablegen_target(Lumen${name}PassesIncGen)
  lumen_library(Lumen${name}Passes ${ARG_UNPARSED_ARGUMENTS}
    LINK ${ARG_LINK} LumenDialect DispatchDialect DEPENDS Lumen${name}PassesIncGen)
endfunction()
