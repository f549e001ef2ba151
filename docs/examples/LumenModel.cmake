# lumen_add_model(NAME MODEL.onnx [FLAGS...]): compiles an ONNX model and makes
# the library target NAME of it. Link it, include "NAME.h", and that is all;
# FLAGS go to lumenc, for example --shape data=1x3x224x224.
find_program(LUMENC lumenc REQUIRED DOC "The Lumen compiler")

function(lumen_add_model name model)
  get_filename_component(model ${model} ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/${name}.so
    BYPRODUCTS ${folder}/${name}.h
    COMMAND ${LUMENC} ${model} -o ${folder}/${name}.so --name ${name} ${ARGN}
    DEPENDS ${model} ${LUMENC}
    COMMENT "Compiling ${name} with lumenc"
    VERBATIM)
  add_custom_target(${name}-artifact DEPENDS ${folder}/${name}.so)
  add_library(${name} SHARED IMPORTED)
  set_target_properties(${name} PROPERTIES
    IMPORTED_LOCATION ${folder}/${name}.so
    INTERFACE_INCLUDE_DIRECTORIES ${folder})
  add_dependencies(${name} ${name}-artifact)
endfunction()
