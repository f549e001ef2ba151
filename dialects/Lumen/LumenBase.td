//===- LumenBase.td - the kinds of the families ----------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_BASE
#define LUMEN_DIALECTS_LUMEN_BASE

include "dialects/Lumen/LumenAttributes.td"

// A family's kinds: `RoundEven` in C++ is `roundeven` in the IR.
class LumenKind<string name, string what, list<string> cases>
    : I32EnumAttr<name, what, !foreach(i, !range(!size(cases)),
          I32EnumAttrCase<cases[i], i, !tolower(cases[i])>)> {
  let cppNamespace = "::lumen";
  let genSpecializedAttr = 0;
}
class LumenKindAttr<I32EnumAttr kind, string attrMnemonic>
    : EnumAttr<LumenDialect, kind, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def UnaryKind : LumenKind<"UnaryKind", "scalar function of one argument", [
  "Abs", "Neg", "Sign", "Relu", "Reciprocal", "Sqrt", "Rsqrt", "Exp", "Log",
  "Log1p", "Expm1", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Tan", "Asin",
  "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Floor", "Ceil",
  "RoundEven", "Not", "IsNan", "IsInf"]>;
def UnaryKindAttr : LumenKindAttr<UnaryKind, "unary">;

def BinaryKind : LumenKind<"BinaryKind", "scalar function of two arguments", [
  "Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Rem", "Mod", "And", "Or",
  "Xor", "ShiftLeft", "ShiftRight"]>;
def BinaryKindAttr : LumenKindAttr<BinaryKind, "binary">;

def CompareKind : LumenKind<"CompareKind", "comparison", [
  "Eq", "Ne", "Lt", "Le", "Gt", "Ge"]>;
def CompareKindAttr : LumenKindAttr<CompareKind, "compare">;

def ReduceKind : LumenKind<"ReduceKind", "associative combination", [
  "Sum", "Max", "Min", "Prod"]>;
def ReduceKindAttr : LumenKindAttr<ReduceKind, "reduction">;

// `average` divides by the number of elements that lie inside the input, or by
// the window's size with count_include_pad.
def WindowKind : LumenKind<"WindowKind", "combination of a window's elements", [
  "Max", "Sum", "Average"]>;
def WindowKindAttr : LumenKindAttr<WindowKind, "window">;

def NormKind : LumenKind<"NormKind", "normalisation", ["Layer", "Rms"]>;
def NormKindAttr : LumenKindAttr<NormKind, "norm">;

def PadKind : LumenKind<"PadKind", "what padding holds", [
  "Constant", "Edge", "Reflect", "Wrap"]>;
def PadKindAttr : LumenKindAttr<PadKind, "pad">;

#endif
