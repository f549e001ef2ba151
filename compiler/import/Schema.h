//===- Schema.h - the generated ONNX messages and their shape ----*- C++ -*-===//
#ifndef LUMEN_COMPILER_IMPORT_SCHEMA_H
#define LUMEN_COMPILER_IMPORT_SCHEMA_H

#include "compiler/import/OnnxSchema.pb.h"
#include "compiler/import/Wire.h"

namespace lumen {

/// ModelProto for the wire walker, made from the descriptors of the generated
/// messages. Large `raw_data` is cut.
const wire::Schema &modelSchema();

} // namespace lumen

#endif // LUMEN_COMPILER_IMPORT_SCHEMA_H
