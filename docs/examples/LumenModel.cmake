# lumen_add_model(NAME MODEL.onnx [SHARED] [DEPENDS FILES...] [FLAGS...]):
# compiles an ONNX model and makes the library target NAME of it. Link it,
# include "NAME.h", and that is all.
#
# NAME may have dashes; the header and its functions have underscores there.
# The library is static, so the program carries the model within itself; SHARED
# makes a shared object, which has to be installed beside the program.
# DEPENDS: further files that the model is made of, such as external data.
# FLAGS, from the first word with a dash on, go to lumenc: --dim batch=1.
find_program(LUMENC lumenc DOC "The Lumen compiler")

function(lumen_add_model name model)
  if(NOT EXISTS "${LUMENC}")
    message(FATAL_ERROR "lumenc was not found: say where it is with "
                        "-DLUMENC=<Lumen>/build/bin/lumenc")
  endif()
  # What precedes the first dash is ours, the rest lumenc's.
  set(flags ${ARGN})
  set(own "")
  while(flags AND NOT flags MATCHES "^-")
    list(POP_FRONT flags word)
    list(APPEND own ${word})
  endwhile()
  cmake_parse_arguments(own "SHARED" "" "DEPENDS" ${own})
  if(own_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lumen_add_model(${name}): found '${own_UNPARSED_ARGUMENTS}', "
                        "expected SHARED, DEPENDS or a flag of lumenc")
  endif()
  set(inputs "")
  foreach(input ${model} ${own_DEPENDS})
    get_filename_component(input ${input} ABSOLUTE)
    list(APPEND inputs ${input})
  endforeach()

  get_filename_component(model ${model} ABSOLUTE)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  file(MAKE_DIRECTORY ${folder})
  if(own_SHARED)
    set(kind SHARED)
    set(library ${folder}/${symbol}.so)
    set(form so)
  else()
    set(kind STATIC)
    set(library ${folder}/lib${symbol}.a)
    set(form lib)
  endif()

  add_custom_command(
    OUTPUT ${library}
    BYPRODUCTS ${folder}/${symbol}.h ${folder}/lumen.h
    COMMAND ${LUMENC} ${model} --emit=${form} -o ${library} --name ${symbol} ${flags}
    DEPENDS ${inputs} ${LUMENC}
    COMMENT "Compiling ${name} with lumenc"
    VERBATIM)
  add_custom_target(${name}-artifact DEPENDS ${library})
  add_library(${name} ${kind} IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES
    IMPORTED_LOCATION ${library}
    INTERFACE_INCLUDE_DIRECTORIES ${folder}
    # What the runtime in a static library asks of the C library.
    INTERFACE_LINK_LIBRARIES "m;pthread;${CMAKE_DL_LIBS}")
  add_dependencies(${name} ${name}-artifact)
endfunction()
