//===- SourcePrinter.cpp - a kernel as text of a language like C ----------===//
//
// Every value becomes a constant, every loop a loop. Integers are signed unless an operation
// says otherwise, and may wrap; sizes do not.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/SourcePrinter.h"

#include "codegen/gpu/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;
using llvm::formatv;

const SourceLanguage gpucode::kOpenClC = {
    /*name=*/"OpenCL C",
    // Kernels say themselves what is fused.
    /*prologue=*/R"(#pragma OPENCL FP_CONTRACT OFF

float from_half(short bits) { return vload_half(0, (half *)&bits); }
short float_to_half(float value) {
  short bits;
  vstore_half_rte(value, 0, (half *)&bits);
  return bits;
}
short double_to_half(double value) {
  short bits;
  vstore_half_rte(value, 0, (half *)&bits);
  return bits;
}
)",
    /*kernel=*/"__kernel __attribute__((reqd_work_group_size({1}, 1, 1))) void {0}",
    /*parameter=*/"__global {0} *{1}",
    /*numbers=*/"",
    /*device=*/"__global",
    /*shared=*/"__local",
    /*constant=*/"__constant",
    /*thread=*/"get_local_id(0)",
    /*workgroup=*/"get_group_id(0)",
    /*barrier=*/"barrier(CLK_LOCAL_MEM_FENCE)",
    /*atomicAdd=*/"atomic_add({0}, {1})",
    /*bitcast=*/"as_{0}({1})",
    /*vector=*/"({0})({1})",
    /*fromHalf=*/"from_half({0})",
    /*toHalf=*/"{1}_to_half({0})",
    /*absent=*/"",
    /*hasDoubles=*/true};

const SourceLanguage gpucode::kMetal = {
    /*name=*/"Metal",
    // Old compilers are told to keep to IEEE 754 by who calls them.
    /*prologue=*/R"(#include <metal_stdlib>
using namespace metal;
#pragma clang fp contract(off)
#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#endif
)",
    /*kernel=*/"[[max_total_threads_per_threadgroup({1})]] kernel void {0}",
    /*parameter=*/"device {0} *{1} [[buffer({2})]]",
    /*numbers=*/
    ", uint thread_id [[thread_index_in_threadgroup]], uint group_id "
    "[[threadgroup_position_in_grid]]",
    /*device=*/"device",
    /*shared=*/"threadgroup",
    /*constant=*/"constant",
    /*thread=*/"thread_id",
    /*workgroup=*/"group_id",
    /*barrier=*/"threadgroup_barrier(mem_flags::mem_threadgroup)",
    /*atomicAdd=*/"atomic_fetch_add_explicit((device atomic_int *){0}, {1}, memory_order_relaxed)",
    /*bitcast=*/"as_type<{0}>({1})",
    /*vector=*/"{0}({1})",
    /*fromHalf=*/"float(as_type<half>({0}))",
    /*toHalf=*/"as_type<short>(half({0}))",
    /*absent=*/"erf expm1 log1p",
    /*hasDoubles=*/false};

namespace {

/// Prints one kernel.
class Printer {
public:
  Printer(const SourceLanguage &language, raw_ostream &os) : language(language), os(os) {}

  LogicalResult printTable(memref::GlobalOp table);
  LogicalResult printKernel(gpu::GPUFuncOp function);

private:
  // Each names the results of what it prints.
  LogicalResult printBlock(Block &block);
  LogicalResult print(Operation *op);
  LogicalResult printFor(scf::ForOp loop);
  LogicalResult printWhile(scf::WhileOp loop);
  LogicalResult printIf(scf::IfOp branch);

  /// Whether there are words for values of all types; a diagnostic was emitted if not.
  LogicalResult checkTypes(Operation *op, TypeRange types);

  /// The expression of an operation with one result; empty: it cannot be written.
  std::string expression(Operation *op);
  std::string integerExpression(Operation *op);
  std::string conversion(Operation *op);
  std::string comparison(arith::CmpIOp op);
  std::string comparison(arith::CmpFOp op);

  /// Empty: the language has no such type.
  std::string typeName(Type type);
  /// Whether values of the type can be computed with, and are not only bits.
  static bool isNumber(Type type) { return !isa<FloatType>(type) || type.isF32() || type.isF64(); }
  std::string unsignedName(Type type);
  std::string literal(TypedAttr value);
  std::string name(Value value) { return names.lookup(value); }
  /// As a number in which the sign bit counts, or does not.
  std::string asSigned(Value value);
  std::string asUnsigned(Value value);
  std::string element(Value memory, ValueRange indices);

  std::string fresh(StringRef prefix = "v") { return (prefix + Twine(count++)).str(); }
  raw_ostream &line() { return os.indent(2 * depth); }
  /// A variable for a value, which it names.
  std::string declare(Value value);
  void assign(ArrayRef<std::string> variables, ValueRange values);
  template <typename... Args> static std::string filled(StringRef format, Args &&...args) {
    return formatv(/*Validate=*/false, format.data(), std::forward<Args>(args)...).str();
  }

  const SourceLanguage &language;
  raw_ostream &os;
  llvm::DenseMap<Value, std::string> names;
  llvm::StringMap<std::string> tables;
  unsigned depth = 0, count = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

std::string Printer::typeName(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    std::string element = typeName(vector.getElementType());
    // Not all languages have longer ones.
    bool fits = vector.getNumElements() >= 2 && vector.getNumElements() <= 4;
    return element.empty() || !fits ? "" : element + std::to_string(vector.getNumElements());
  }
  if (type.isF64())
    return language.hasDoubles ? "double" : "";
  if (type.isF32())
    return "float";
  if (type.isIndex())
    return "int";
  if (type.isInteger(1))
    return "bool";
  // Of narrower floating-point types there are only the bits.
  switch (type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0) {
  case 8:
    return "char";
  case 16:
    return "short";
  case 32:
    return "int";
  case 64:
    return "long";
  default:
    return "";
  }
}

std::string Printer::unsignedName(Type type) {
  return type.isInteger(1) ? "uint" : "u" + typeName(type);
}

std::string Printer::asSigned(Value value) {
  return (value.getType().isInteger(1) ? "-(int)" : "") + name(value);
}

std::string Printer::asUnsigned(Value value) {
  return "(" + unsignedName(value.getType()) + ")" + name(value);
}

std::string Printer::literal(TypedAttr value) {
  Type type = value.getType();
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    return filled(language.vector, typeName(type), literal(splat.getSplatValue<TypedAttr>()));
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    APInt number = integer.getValue();
    if (type.isInteger(1))
      return number.isZero() ? "false" : "true";
    // The lowest number is none, but the negation of one that is too large.
    if (number.isMinSignedValue() && !type.isIndex())
      return formatv("({0})0x{1}{2}", typeName(type), llvm::toString(number, 16, false),
                     type.isInteger(64) ? "UL" : "U");
    std::string digits = llvm::toString(number, 10, true) + (type.isInteger(64) ? "L" : "");
    return number.isNegative() ? "(" + digits + ")" : digits;
  }
  auto number = dyn_cast<FloatAttr>(value);
  if (!number)
    return "";
  APFloat exact = number.getValue();
  std::string bits = "0x" + llvm::toString(exact.bitcastToAPInt(), 16, false);
  if (!type.isF32() && !type.isF64())
    return "(" + typeName(type) + ")" + bits;
  if (!exact.isFinite())
    return filled(language.bitcast, typeName(type), bits + (type.isF64() ? "UL" : "U"));
  char digits[64];
  exact.convertToHexString(digits, 0, false, APFloat::rmNearestTiesToEven);
  std::string text = std::string(digits) + (type.isF32() ? "f" : "");
  return exact.isNegative() ? "(" + text + ")" : text;
}

std::string Printer::element(Value memory, ValueRange indices) {
  return name(memory) + "[" + (indices.empty() ? "0" : name(indices.front())) + "]";
}

std::string Printer::declare(Value value) {
  std::string variable = fresh();
  names[value] = variable;
  line() << typeName(value.getType()) << " " << variable;
  return variable;
}

void Printer::assign(ArrayRef<std::string> variables, ValueRange values) {
  // A value may be a variable that was assigned to just before.
  SmallVector<std::string> sources;
  for (Value value : values)
    sources.push_back(name(value));
  for (size_t i = 1; i < sources.size(); ++i) {
    if (!llvm::is_contained(variables.take_front(i), sources[i]))
      continue;
    std::string kept = fresh();
    line() << "const " << typeName(values[i].getType()) << " " << kept << " = " << sources[i]
           << ";\n";
    sources[i] = kept;
  }
  for (auto [variable, source] : llvm::zip_equal(variables, sources))
    if (variable != source)
      line() << variable << " = " << source << ";\n";
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

std::string Printer::comparison(arith::CmpIOp op) {
  static constexpr StringLiteral symbols[] = {"==", "!=", "<",  "<=", ">",
                                              ">=", "<",  "<=", ">",  ">="};
  bool isUnsigned = op.getPredicate() >= arith::CmpIPredicate::ult;
  auto side = [&](Value value) { return isUnsigned ? asUnsigned(value) : asSigned(value); };
  return side(op.getLhs()) + " " + symbols[static_cast<int>(op.getPredicate())].str() + " " +
         side(op.getRhs());
}

std::string Printer::comparison(arith::CmpFOp op) {
  // Every comparison with NaN is false in C, but !=.
  static constexpr StringLiteral formats[] = {/*false=*/"false",
                                              /*oeq=*/"{0} == {1}",
                                              /*ogt=*/"{0} > {1}",
                                              /*oge=*/"{0} >= {1}",
                                              /*olt=*/"{0} < {1}",
                                              /*ole=*/"{0} <= {1}",
                                              /*one=*/"{0} < {1} || {0} > {1}",
                                              /*ord=*/"{0} == {0} && {1} == {1}",
                                              /*ueq=*/"!({0} < {1} || {0} > {1})",
                                              /*ugt=*/"!({0} <= {1})",
                                              /*uge=*/"!({0} < {1})",
                                              /*ult=*/"!({0} >= {1})",
                                              /*ule=*/"!({0} > {1})",
                                              /*une=*/"{0} != {1}",
                                              /*uno=*/"{0} != {0} || {1} != {1}",
                                              /*true=*/"true"};
  return filled(formats[static_cast<int>(op.getPredicate())], name(op.getLhs()), name(op.getRhs()));
}

std::string Printer::conversion(Operation *op) {
  Value from = op->getOperand(0);
  Type source = from.getType(), to = op->getResult(0).getType();
  std::string cast = "(" + typeName(to) + ")";
  auto number = [&] { return source.isF16() ? filled(language.fromHalf, name(from)) : name(from); };
  // What float cannot hold of an integer is too large for f16 anyway.
  auto toFloat = [&](const std::string &integer) {
    return to.isF16() ? filled(language.toHalf, "(float)" + integer, "float") : cast + integer;
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::IndexCastOp) {
        return typeName(source) == typeName(to) ? name(from) : cast + asSigned(from);
      })
      .Case([&](arith::ExtSIOp) { return cast + asSigned(from); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) { return cast + asUnsigned(from); })
      .Case([&](arith::TruncIOp) {
        return to.isInteger(1) ? "(" + name(from) + " & 1) != 0" : cast + name(from);
      })
      .Case([&](arith::SIToFPOp) { return toFloat(asSigned(from)); })
      .Case([&](arith::UIToFPOp) { return toFloat(asUnsigned(from)); })
      .Case([&](arith::FPToSIOp) { return cast + number(); })
      .Case([&](arith::FPToUIOp) { return cast + "(" + unsignedName(to) + ")" + number(); })
      .Case([&](arith::ExtFOp) { return cast + number(); })
      .Case([&](arith::TruncFOp) {
        return to.isF16() ? filled(language.toHalf, name(from), typeName(source))
                          : cast + name(from);
      })
      .Case([&](arith::BitcastOp) {
        // Where a type is only its bits, nothing changes.
        return typeName(source) == typeName(to)
                   ? name(from)
                   : filled(language.bitcast, typeName(to), name(from));
      })
      .Default([](Operation *) { return ""; });
}

std::string Printer::integerExpression(Operation *op) {
  Type type = op->getResult(0).getType();
  Value left = op->getOperand(0), right = op->getOperand(1);
  bool isIndex = type.isIndex();
  // Narrow numbers become int, which must not overflow.
  std::string wide = unsignedName(type) == "ulong" ? "ulong" : "uint";
  auto wrapped = [&](StringRef symbol) {
    if (isa<VectorType>(type)) {
      auto bits = [&](Value value) {
        return filled(language.bitcast, unsignedName(type), name(value));
      };
      return filled(language.bitcast, typeName(type),
                    formatv("{0} {1} {2}", bits(left), symbol, bits(right)).str());
    }
    if (isIndex)
      return formatv("{0} {1} {2}", name(left), symbol, name(right)).str();
    return formatv("({0})(({1}){2} {3} ({1}){4})", typeName(type), wide, name(left), symbol,
                   name(right))
        .str();
  };
  auto plain = [&](StringRef symbol) {
    return formatv("{0} {1} {2}", asSigned(left), symbol, asSigned(right)).str();
  };
  auto positive = [&](StringRef symbol) {
    return formatv("({0})({1} {2} {3})", typeName(type), asUnsigned(left), symbol,
                   asUnsigned(right))
        .str();
  };
  auto choice = [&](const std::string &condition) {
    return condition + " ? " + name(left) + " : " + name(right);
  };
  // One bit wraps otherwise than the type that holds it.
  if (type.isInteger(1) && !isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return "";
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::AddIOp) { return wrapped("+"); })
      .Case([&](arith::SubIOp) { return wrapped("-"); })
      .Case([&](arith::MulIOp) { return wrapped("*"); })
      .Case([&](arith::ShLIOp) { return wrapped("<<"); })
      .Case([&](arith::DivSIOp) { return plain("/"); })
      .Case([&](arith::RemSIOp) { return plain("%"); })
      .Case([&](arith::ShRSIOp) { return plain(">>"); })
      .Case([&](arith::DivUIOp) { return positive("/"); })
      .Case([&](arith::RemUIOp) { return positive("%"); })
      .Case([&](arith::ShRUIOp) { return positive(">>"); })
      .Case([&](arith::AndIOp) { return name(left) + " & " + name(right); })
      .Case([&](arith::OrIOp) { return name(left) + " | " + name(right); })
      .Case([&](arith::XOrIOp) { return name(left) + " ^ " + name(right); })
      .Case([&](arith::MaxSIOp) { return choice(plain(">")); })
      .Case([&](arith::MinSIOp) { return choice(plain("<")); })
      .Case([&](arith::MaxUIOp) { return choice(asUnsigned(left) + " > " + asUnsigned(right)); })
      .Case([&](arith::MinUIOp) { return choice(asUnsigned(left) + " < " + asUnsigned(right)); })
      .Default([](Operation *) { return ""; });
}

/// The function that computes an operation; empty: there is none.
static StringRef functionOf(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("arith.maxnumf", "fmax")
      .Case("arith.minnumf", "fmin")
      .Case("arith.remf", "fmod")
      .Case("math.absf", "fabs")
      .Case("math.roundeven", "rint")
      .Case("math.powf", "pow")
      .Case("math.ctlz", "clz")
      .Case("math.ctpop", "popcount")
      // Those of the same name.
      .Cases({"math.acos", "math.acosh", "math.asin", "math.asinh", "math.atan", "math.atan2",
              "math.atanh", "math.ceil", "math.copysign", "math.cos", "math.cosh", "math.erf"},
             op->getName().stripDialect())
      .Cases({"math.exp", "math.exp2", "math.expm1", "math.floor", "math.fma", "math.log",
              "math.log10", "math.log1p", "math.log2", "math.round", "math.rsqrt", "math.sin"},
             op->getName().stripDialect())
      .Cases({"math.sinh", "math.sqrt", "math.tan", "math.tanh", "math.trunc"},
             op->getName().stripDialect())
      .Default("");
}

std::string Printer::expression(Operation *op) {
  if (isa<CastOpInterface>(op))
    return conversion(op);
  if (!isa<arith::SelectOp>(op) && !llvm::all_of(op->getOperandTypes(), isNumber))
    return "";
  if (StringRef function = functionOf(op); !function.empty()) {
    if (llvm::is_contained(llvm::split(language.absent, ' '), function))
      return "";
    auto arguments = llvm::map_range(op->getOperands(), [&](Value value) { return name(value); });
    return (function + "(" + llvm::join(arguments, ", ") + ")").str();
  }
  auto infix = [&](StringRef symbol) {
    return formatv("{0} {1} {2}", name(op->getOperand(0)), symbol, name(op->getOperand(1))).str();
  };
  // The first where it is NaN, the second where that is.
  auto extreme = [&](StringRef symbol) {
    return formatv("{0} {2} {1} || {0} != {0} ? {0} : {1}", name(op->getOperand(0)),
                   name(op->getOperand(1)), symbol)
        .str();
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([&](arith::AddFOp) { return infix("+"); })
      .Case([&](arith::SubFOp) { return infix("-"); })
      .Case([&](arith::MulFOp) { return infix("*"); })
      .Case([&](arith::DivFOp) { return infix("/"); })
      .Case([&](arith::NegFOp negation) { return "-" + name(negation.getOperand()); })
      .Case([&](arith::MaximumFOp) { return extreme(">"); })
      .Case([&](arith::MinimumFOp) { return extreme("<"); })
      .Case([&](arith::CmpIOp compare) { return comparison(compare); })
      .Case([&](arith::CmpFOp compare) { return comparison(compare); })
      .Case([&](arith::SelectOp select) {
        return name(select.getCondition()) + " ? " + name(select.getTrueValue()) + " : " +
               name(select.getFalseValue());
      })
      .Case([&](math::AbsIOp absolute) {
        std::string x = name(absolute.getOperand());
        Type type = absolute.getType();
        return formatv("({0})({1} < 0 ? -({2}){1} : ({2}){1})", typeName(type), x,
                       unsignedName(type))
            .str();
      })
      .Case([&](memref::LoadOp load) { return element(load.getMemRef(), load.getIndices()); })
      .Case([&](memref::AtomicRMWOp atomic) -> std::string {
        if (atomic.getKind() != arith::AtomicRMWKind::addi)
          return "";
        return filled(language.atomicAdd, "&" + element(atomic.getMemref(), atomic.getIndices()),
                      name(atomic.getValue()));
      })
      .Case([&](vector::ExtractOp extract) -> std::string {
        if (!extract.getDynamicPosition().empty() || extract.getStaticPosition().size() != 1)
          return "";
        return formatv("{0}[{1}]", name(extract.getSource()), extract.getStaticPosition()[0]).str();
      })
      .Case([&](vector::FromElementsOp vector) {
        auto elements =
            llvm::map_range(vector.getElements(), [&](Value value) { return name(value); });
        return filled(language.vector, typeName(vector.getType()), llvm::join(elements, ", "));
      })
      .Case([&](vector::BroadcastOp broadcast) -> std::string {
        if (isa<VectorType>(broadcast.getSourceType()))
          return "";
        return filled(language.vector, typeName(broadcast.getType()), name(broadcast.getSource()));
      })
      .Case([&](gpu::ThreadIdOp) { return language.thread.str(); })
      .Case([&](gpu::BlockIdOp) { return language.workgroup.str(); })
      .Default([&](Operation *) { return op->getNumOperands() == 2 ? integerExpression(op) : ""; });
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

LogicalResult Printer::printFor(scf::ForOp loop) {
  SmallVector<std::string> carried;
  for (auto [init, argument, result] :
       llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    carried.push_back(declare(result));
    os << " = " << name(init) << ";\n";
    names[argument] = carried.back();
  }
  Value number = loop.getInductionVar();
  std::string counter = names[number] = fresh("i");
  line() << formatv("for ({0} {1} = {2}; {1} < {3}; {1} += {4}) {{\n", typeName(number.getType()),
                    counter, name(loop.getLowerBound()), name(loop.getUpperBound()),
                    name(loop.getStep()));
  ++depth;
  if (failed(printBlock(*loop.getBody())))
    return failure();
  assign(carried, loop.getYieldedValues());
  --depth;
  line() << "}\n";
  return success();
}

LogicalResult Printer::printWhile(scf::WhileOp loop) {
  SmallVector<std::string> carried, passed;
  for (auto [init, argument] : llvm::zip_equal(loop.getInits(), loop.getBeforeArguments())) {
    carried.push_back(declare(argument));
    os << " = " << name(init) << ";\n";
  }
  for (auto [argument, result] : llvm::zip_equal(loop.getAfterArguments(), loop.getResults())) {
    passed.push_back(declare(result));
    os << ";\n";
    names[argument] = passed.back();
  }
  line() << "while (true) {\n";
  ++depth;
  if (failed(printBlock(*loop.getBeforeBody())))
    return failure();
  assign(passed, loop.getConditionOp().getArgs());
  line() << "if (!" << name(loop.getConditionOp().getCondition()) << ")\n";
  line() << "  break;\n";
  if (failed(printBlock(*loop.getAfterBody())))
    return failure();
  assign(carried, loop.getYieldOp().getResults());
  --depth;
  line() << "}\n";
  return success();
}

LogicalResult Printer::printIf(scf::IfOp branch) {
  SmallVector<std::string> results;
  for (Value result : branch.getResults()) {
    results.push_back(declare(result));
    os << ";\n";
  }
  auto printSide = [&](Block &block) {
    ++depth;
    LogicalResult printed = printBlock(block);
    assign(results, block.getTerminator()->getOperands());
    --depth;
    return printed;
  };
  line() << "if (" << name(branch.getCondition()) << ") {\n";
  if (failed(printSide(*branch.thenBlock())))
    return failure();
  if (branch.elseBlock()) {
    line() << "} else {\n";
    if (failed(printSide(*branch.elseBlock())))
      return failure();
  }
  line() << "}\n";
  return success();
}

/// Of memory.
static Type elementOf(Type type) {
  auto memory = dyn_cast<MemRefType>(type);
  return memory ? memory.getElementType() : type;
}

LogicalResult Printer::checkTypes(Operation *op, TypeRange types) {
  for (Type type : types)
    if (Type element = elementOf(type); typeName(element).empty()) {
      std::string text; // without the quotes that diagnostics put around types
      llvm::raw_string_ostream(text) << element;
      return op->emitError() << "values of " << text << " cannot be written in " << language.name;
    }
  return success();
}

LogicalResult Printer::print(Operation *op) {
  auto fail = [&]() -> LogicalResult {
    return op->emitError() << op->getName() << " cannot be written in " << language.name;
  };
  if (failed(checkTypes(op, op->getResultTypes())))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return printFor(loop); })
      .Case([&](scf::WhileOp loop) { return printWhile(loop); })
      .Case([&](scf::IfOp branch) { return printIf(branch); })
      .Case([&](arith::ConstantOp constant) {
        std::string text = literal(constant.getValue());
        names[constant] = text;
        return text.empty() ? fail() : success();
      })
      .Case([&](memref::GetGlobalOp table) {
        names[table] = tables.lookup(table.getName());
        return success();
      })
      .Case([&](memref::CastOp cast) {
        names[cast] = name(cast.getSource());
        return success();
      })
      .Case([&](memref::AllocaOp memory) {
        MemRefType type = memory.getType();
        if (!type.hasStaticShape())
          return fail();
        names[memory] = fresh();
        line() << formatv("{0} {1}[{2}];\n", typeName(type.getElementType()), name(memory),
                          type.getNumElements());
        return success();
      })
      .Case([&](memref::StoreOp store) {
        line() << element(store.getMemRef(), store.getIndices()) << " = "
               << name(store.getValueToStore()) << ";\n";
        return success();
      })
      .Case([&](gpu::BarrierOp) {
        line() << language.barrier << ";\n";
        return success();
      })
      .Default([&](Operation *) {
        std::string text = op->getNumResults() == 1 ? expression(op) : "";
        if (text.empty())
          return fail();
        line() << "const ";
        Value result = op->getResult(0);
        names[result] = fresh();
        os << typeName(result.getType()) << " " << name(result) << " = " << text << ";\n";
        return success();
      });
}

LogicalResult Printer::printBlock(Block &block) {
  // Terminators are for those whose block it is.
  for (Operation &op : block.without_terminator())
    if (failed(print(&op)))
      return failure();
  return success();
}

LogicalResult Printer::printTable(memref::GlobalOp table) {
  auto values = dyn_cast_or_null<DenseElementsAttr>(table.getInitialValue().value_or(Attribute()));
  if (!values)
    return table.emitError("a table without values");
  std::string &symbol = tables[table.getSymName()] = fresh("table");
  auto elements = llvm::map_range(values.getValues<Attribute>(),
                                  [&](Attribute value) { return literal(cast<TypedAttr>(value)); });
  os << formatv("\n{0} {1} {2}[{3}] = {{{4}};\n", language.constant,
                typeName(values.getElementType()), symbol, values.getNumElements(),
                llvm::join(elements, ", "));
  return success();
}

LogicalResult Printer::printKernel(gpu::GPUFuncOp function) {
  if (failed(checkTypes(function, function.getBody().getArgumentTypes())))
    return failure();
  int64_t threads = (*function.getKnownBlockSize())[0];
  os << "\n" << filled(language.kernel, function.getName(), threads) << "(";
  // Arguments may share a binding: the first of them is the parameter, in order of bindings.
  auto arguments = function.getArguments().take_front(function.getNumArguments());
  std::map<int64_t, SmallVector<BlockArgument>> bindings;
  for (BlockArgument argument : arguments) {
    int64_t binding =
        function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kBinding).getInt();
    bindings[binding].push_back(argument);
  }
  auto elementName = [&](Value memory) { return typeName(elementOf(memory.getType())); };
  llvm::ListSeparator comma;
  for (const auto &[binding, sharing] : bindings) {
    names[sharing.front()] = "b" + std::to_string(binding);
    os << comma
       << filled(language.parameter, elementName(sharing.front()), name(sharing.front()), binding);
  }
  os << language.numbers << ") {\n";
  ++depth;
  for (const auto &[binding, sharing] : bindings)
    for (BlockArgument other : ArrayRef(sharing).drop_front()) {
      names[other] = fresh("b" + std::to_string(binding) + "_");
      line() << formatv("{0} {1} *{2} = ({0} {1} *){3};\n", language.device, elementName(other),
                        name(other), name(sharing.front()));
    }
  for (BlockArgument shared : function.getWorkgroupAttributions()) {
    names[shared] = fresh("shared");
    line() << formatv("{0} {1} {2}[{3}];\n", language.shared, elementName(shared), name(shared),
                      cast<MemRefType>(shared.getType()).getNumElements());
  }
  if (failed(printBlock(function.getBody().front())))
    return failure();
  --depth;
  os << "}\n";
  return success();
}

LogicalResult gpucode::printSource(gpu::GPUModuleOp module, const SourceLanguage &language,
                                   raw_ostream &os) {
  Printer printer(language, os);
  os << language.prologue;
  for (auto table : module.getOps<memref::GlobalOp>())
    if (failed(printer.printTable(table)))
      return failure();
  for (auto function : module.getOps<gpu::GPUFuncOp>())
    if (failed(printer.printKernel(function)))
      return failure();
  return success();
}

SourceEmitter::SourceEmitter(MLIRContext *context, const Capabilities &caps,
                             const SourceLanguage &language)
    : simplification(context), language(language) {
  buildSimplification(simplification, caps);
}

LogicalResult SourceEmitter::emit(ModuleOp module, SmallVectorImpl<char> &text) {
  if (failed(simplification.run(module)))
    return failure();
  llvm::raw_svector_ostream os(text);
  return printSource(*module.getOps<gpu::GPUModuleOp>().begin(), language, os);
}
