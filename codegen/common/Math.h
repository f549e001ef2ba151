//===- Math.h - functions that upstream approximates too coarsely -*- C++ -*-===//
#ifndef LUMEN_CODEGEN_COMMON_MATH_H
#define LUMEN_CODEGEN_COMMON_MATH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

namespace lumen {

/// The arc tangent of f32 scalars or vectors: at most 2 ulp. After Cephes' atanf.
mlir::Value emitArcTangent(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);

/// Patterns that compute functions of the math dialect by polynomials with a small error,
/// where no target has an instruction as good.
void populateMathApproximations(mlir::RewritePatternSet &patterns);

/// A pattern that computes powf of f32 scalars or vectors: at most 0.51 ulp, IEEE 754 in every
/// special case. It computes in f64, where short polynomials suffice for f32 results.
void populatePower(mlir::RewritePatternSet &patterns);

/// Patterns for the functions of f32 scalars that the above leave, at most 1 ulp off: for
/// devices that have neither instructions nor a library for them. They compute in f64.
void populateWideFunctions(mlir::RewritePatternSet &patterns);

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_MATH_H
