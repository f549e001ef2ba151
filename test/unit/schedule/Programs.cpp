//===- Programs.cpp - random schedules ------------------------------------===//

#include "Programs.h"

#include "dialects/Lumen/Symbols.h"

#include <random>
#include <vector>

using namespace lumen;
using namespace lumen::test;

namespace {

struct Vector {
  std::string name;
  SymExpr size;
};

std::string typeOf(const SymExpr &size) {
  if (size.asConstant())
    return "tensor<" + size.str() + "xf32>";
  return "tensor<?xf32, #lumen.dims<[\"" + size.str() + "\"]>>";
}

std::string quoted(const std::string &text) { return "\"" + text + "\""; }

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string program();

private:
  /// What a block may use, and what it has said so far.
  struct Scope {
    std::vector<Vector> vectors;
    std::vector<std::string> booleans;
    std::string text;
  };

  unsigned below(unsigned n) { return random() % n; }
  std::string fresh(const char *prefix) { return prefix + std::to_string(counter++); }
  const Vector &any(const Scope &scope) { return scope.vectors[below(scope.vectors.size())]; }
  Vector ofSize(const Scope &scope, const SymExpr &size);

  Vector launch(Scope &scope, const std::string &kind, const std::vector<Vector> &inputs);
  std::string scalar(Scope &scope, const char *kind, const std::string &type, const Vector &input);
  void kernel(const std::string &name, const SymExpr &size, unsigned inputs,
              const std::string &result);
  void statements(Scope &scope, unsigned depth);
  void statement(Scope &scope, unsigned depth);
  void addSlice(Scope &scope);
  void addConcat(Scope &scope);
  void addIf(Scope &scope, unsigned depth);
  void addLoop(Scope &scope, unsigned depth);

  std::mt19937 random;
  unsigned counter = 0;
  std::string kernels;
};

/// A kernel whose body says what memory planning asks of it: "each" reads where it
/// writes, "all" reads everything.
void Generator::kernel(const std::string &name, const SymExpr &size, unsigned inputs,
                       const std::string &result) {
  bool isDynamic = !size.asConstant();
  SymExpr own = isDynamic ? SymExpr::symbol("s0") : size;
  std::string type = typeOf(own), text = "dispatch.kernel @" + name + "(";
  for (unsigned i = 0; i < inputs; ++i)
    text += (i ? ", %x" : "%x") + std::to_string(i) + ": " + type;
  bool isVector = result.empty();
  text += ") -> " + (isVector ? type : result);
  if (isDynamic)
    text += " attributes {dispatch.sizes = [\"s0\"]}";
  text += " {\n";
  if (!isVector) {
    text += "  %r = lumen.constant dense<1> : " + result + "\n";
  } else if (name.rfind("each", 0) == 0) {
    text += inputs == 2 ? "  %r = lumen.binary <add> %x0, %x1 : " + type + "\n"
                        : "  %r = lumen.unary <exp> %x0 : " + type + " -> " + type + "\n";
  } else {
    std::string last = "%x0";
    if (inputs == 2) {
      text += "  %s = lumen.binary <add> %x0, %x1 : " + type + "\n";
      last = "%s";
    }
    text += "  %r = lumen.softmax " + last + " {axis = 0 : i64} : " + type + "\n";
  }
  kernels += text + "  dispatch.yield %r : " + (isVector ? type : result) + "\n}\n";
}

Vector Generator::launch(Scope &scope, const std::string &kind, const std::vector<Vector> &inputs) {
  std::string name = fresh((kind + "_").c_str());
  const SymExpr &size = inputs.front().size;
  kernel(name, size, inputs.size(), "");
  Vector result = {fresh("%v"), size};
  std::string operands, types;
  for (const Vector &input : inputs) {
    operands += (operands.empty() ? "" : ", ") + input.name;
    types += (types.empty() ? "" : ", ") + typeOf(size);
  }
  scope.text += result.name + " = dispatch.launch @" + name + "(" + operands + ")";
  if (!size.asConstant())
    scope.text += " {sizes = #lumen.dims<[" + quoted(size.str()) + "]>}";
  scope.text += " : (" + types + ") -> " + typeOf(size) + "\n";
  return result;
}

std::string Generator::scalar(Scope &scope, const char *kind, const std::string &type,
                              const Vector &input) {
  std::string name = fresh((std::string(kind) + "_").c_str()), result = fresh("%c");
  kernel(name, input.size, 1, type);
  scope.text += result + " = dispatch.launch @" + name + "(" + input.name + ")";
  if (!input.size.asConstant())
    scope.text += " {sizes = #lumen.dims<[" + quoted(input.size.str()) + "]>}";
  scope.text += " : (" + typeOf(input.size) + ") -> " + type + "\n";
  return result;
}

Vector Generator::ofSize(const Scope &scope, const SymExpr &size) {
  std::vector<Vector> fitting;
  for (const Vector &vector : scope.vectors)
    if (vector.size == size)
      fitting.push_back(vector);
  // Mostly a late one, which the block made.
  return below(3) ? fitting.back() : fitting[below(fitting.size())];
}

/// A size that a kernel finds, with or without a bound, and so many elements.
void Generator::addSlice(Scope &scope) {
  Vector from = any(scope);
  std::string count = scalar(scope, "count", "tensor<i64>", from), symbol = fresh("k");
  scope.text += "lumen.symbol " + quoted(symbol) + " = " + count;
  if (below(2))
    scope.text += " at_most " + quoted(from.size.str());
  scope.text += " : tensor<i64>\n";
  Vector result = {fresh("%v"), SymExpr::symbol(symbol)};
  scope.text += result.name + " = lumen.slice " + from.name + " [0] [1] : " + typeOf(from.size) +
                " -> " + typeOf(result.size) + "\n";
  scope.vectors.push_back(result);
}

void Generator::addConcat(Scope &scope) {
  Vector a = any(scope), b = any(scope), result = {fresh("%v"), a.size + b.size};
  scope.text += result.name + " = lumen.concat " + a.name + ", " + b.name +
                " {axis = 0 : i64} : " + typeOf(a.size) + ", " + typeOf(b.size) + " -> " +
                typeOf(result.size) + "\n";
  scope.vectors.push_back(result);
}

void Generator::addIf(Scope &scope, unsigned depth) {
  std::string condition = scope.booleans[below(scope.booleans.size())];
  Scope branches[2] = {scope, scope};
  for (Scope &branch : branches) {
    branch.text.clear();
    statements(branch, depth + 1);
  }
  std::string results, types, symbols, yields[2], yieldTypes[2], sizes[2];
  std::vector<Vector> made;
  for (unsigned i = 0, n = below(3); i < n; ++i) {
    Vector result = {fresh("%v"), any(scope).size};
    bool joins = below(3) == 0;
    if (joins) {
      std::string symbol = fresh("j");
      symbols += (symbols.empty() ? "" : ", ") + quoted(symbol);
      result.size = SymExpr::symbol(symbol);
    }
    for (unsigned b = 0; b < 2; ++b) {
      Vector value = joins ? any(branches[b]) : ofSize(branches[b], result.size);
      yields[b] += (i ? ", " : "") + value.name;
      yieldTypes[b] += (i ? ", " : "") + typeOf(value.size);
      if (joins)
        sizes[b] += (sizes[b].empty() ? "" : ", ") + quoted(value.size.str());
    }
    results += (i ? ", " : "") + result.name;
    types += (i ? ", " : "") + typeOf(result.size);
    made.push_back(result);
  }
  scope.text += (results.empty() ? "" : results + " = ") + "lumen.if " + condition + " symbols [" +
                symbols + "] : tensor<i1>" + (types.empty() ? "" : " -> " + types);
  for (unsigned b = 0; b < 2; ++b)
    scope.text += (b ? " else {\n" : " {\n") + branches[b].text + "lumen.yield " + yields[b] +
                  " sizes [" + sizes[b] + "]" + (yields[b].empty() ? "" : " : " + yieldTypes[b]) +
                  "\n}";
  scope.text += "\n";
  scope.vectors.insert(scope.vectors.end(), made.begin(), made.end());
}

void Generator::addLoop(Scope &scope, unsigned depth) {
  bool isConditional = below(2);
  std::string induction = fresh("i"), trips = std::to_string(below(4));
  if (below(3) == 0) {
    // Of an input, so that nested loops stay short.
    trips = fresh("t");
    std::string count = scalar(scope, "count", "tensor<i64>", scope.vectors[below(kVectors)]);
    scope.text += "lumen.symbol " + quoted(trips) + " = " + count + " : tensor<i64>\n";
  }
  Scope body = scope;
  body.text.clear();
  std::string inits, initTypes, symbols, initSizes, arguments, results, resultTypes;
  if (isConditional) {
    inits = scope.booleans[below(scope.booleans.size())];
    initTypes = "tensor<i1>";
  }
  std::vector<Vector> carried, made;
  std::vector<bool> grows;
  for (unsigned i = 0, n = below(4); i < n; ++i) {
    Vector init = any(scope), argument = {fresh("%a"), init.size};
    grows.push_back(below(4) == 0);
    if (grows.back()) {
      std::string symbol = fresh("l");
      symbols += (symbols.empty() ? "" : ", ") + quoted(symbol);
      initSizes += (initSizes.empty() ? "" : ", ") + quoted(init.size.str());
      argument.size = SymExpr::symbol(symbol);
    }
    inits += (inits.empty() ? "" : ", ") + init.name;
    initTypes += (initTypes.empty() ? "" : ", ") + typeOf(init.size);
    arguments += (i ? ", " : "") + argument.name + ": " + typeOf(argument.size);
    carried.push_back(argument);
    body.vectors.push_back(argument);
    made.push_back({fresh("%v"), argument.size});
  }
  statements(body, depth + 1);
  std::string yields, yieldTypes, sizes;
  auto yield = [&](const std::string &name, const std::string &type) {
    yields += (yields.empty() ? "" : ", ") + name;
    yieldTypes += (yieldTypes.empty() ? "" : ", ") + type;
  };
  if (isConditional)
    yield(below(2) ? scalar(body, "flag", "tensor<i1>", any(body))
                   : body.booleans[below(body.booleans.size())],
          "tensor<i1>");
  for (size_t i = 0; i < carried.size(); ++i) {
    Vector value = grows[i] ? any(body) : ofSize(body, carried[i].size);
    yield(value.name, typeOf(value.size));
    if (grows[i])
      sizes += (sizes.empty() ? "" : ", ") + quoted(value.size.str());
  }
  for (const Vector &result : made) {
    results += (results.empty() ? "" : ", ") + result.name;
    resultTypes += (resultTypes.empty() ? "" : ", ") + typeOf(result.size);
  }
  // Scan outputs, of sizes that hold outside.
  std::string reshapes;
  for (unsigned i = 0, n = below(3); i < n; ++i) {
    SymExpr size = any(scope).size;
    SymExpr number = isConditional ? SymExpr::symbol(induction) : *SymExpr::parse(trips);
    yield(ofSize(body, size).name, typeOf(size));
    std::string name = fresh("%s"), type = "tensor<";
    type += (number.asConstant() ? number.str() : "?") + "x" +
            (size.asConstant() ? size.str() : "?") + "xf32";
    if (!number.asConstant() || !size.asConstant())
      type += ", #lumen.dims<[" + quoted(number.str()) + ", " + quoted(size.str()) + "]>";
    type += ">";
    results += (results.empty() ? "" : ", ") + name;
    resultTypes += (resultTypes.empty() ? "" : ", ") + type;
    Vector flat = {fresh("%v"), number * size};
    reshapes +=
        flat.name + " = lumen.reshape " + name + " : " + type + " -> " + typeOf(flat.size) + "\n";
    made.push_back(flat);
  }
  scope.text += (results.empty() ? "" : results + " = ") + "lumen.loop (" + inits + ") trips " +
                quoted(trips) + " induction " + quoted(induction) + " symbols [" + symbols +
                "] init_sizes [" + initSizes + "]" + (isConditional ? " conditional" : "") +
                " : (" + initTypes + ") -> (" + resultTypes + ") {\n";
  if (!arguments.empty())
    scope.text += "^bb0(" + arguments + "):\n";
  scope.text += body.text + "lumen.yield " + yields + " sizes [" + sizes + "]" +
                (yields.empty() ? "" : " : " + yieldTypes) + "\n}\n" + reshapes;
  scope.vectors.insert(scope.vectors.end(), made.begin(), made.end());
}

void Generator::statement(Scope &scope, unsigned depth) {
  unsigned choice = below(depth < 3 ? 12 : 9);
  if (choice < 3) {
    scope.vectors.push_back(launch(scope, choice ? "each" : "all", {any(scope)}));
  } else if (choice < 6) {
    Vector a = any(scope), b = ofSize(scope, a.size);
    scope.vectors.push_back(launch(scope, choice == 3 ? "all" : "each", {a, b}));
  } else if (choice == 6) {
    addSlice(scope);
  } else if (choice == 7) {
    addConcat(scope);
  } else if (choice == 8) {
    scope.booleans.push_back(scalar(scope, "flag", "tensor<i1>", any(scope)));
  } else if (choice == 9) {
    addIf(scope, depth);
  } else {
    addLoop(scope, depth);
  }
}

void Generator::statements(Scope &scope, unsigned depth) {
  for (unsigned i = 0, n = 1 + below(depth ? 5 : 9); i < n; ++i)
    statement(scope, depth);
}

std::string Generator::program() {
  Scope scope;
  SymExpr sizes[] = {SymExpr::symbol("n"), SymExpr::symbol("m"), SymExpr(8)};
  std::string arguments;
  bool isStatic = below(3) == 0;
  for (unsigned i = 0; i < kVectors; ++i) {
    scope.vectors.push_back({"%in" + std::to_string(i), isStatic ? SymExpr(8) : sizes[i]});
    arguments +=
        (i ? ", " : "") + scope.vectors.back().name + ": " + typeOf(scope.vectors.back().size);
  }
  for (unsigned i = 0; i < kBooleans; ++i) {
    scope.booleans.push_back("%flag" + std::to_string(i));
    arguments += ", " + scope.booleans.back() + ": tensor<i1>";
  }
  statements(scope, 0);
  std::string results, types;
  for (unsigned i = 0, n = 1 + below(4); i < n; ++i) {
    Vector value = below(2) ? scope.vectors[scope.vectors.size() - 1 - below(2)] : any(scope);
    results += (i ? ", " : "") + value.name;
    types += (i ? ", " : "") + typeOf(value.size);
  }
  return kernels + "func.func @main(" + arguments + ") -> (" + types + ") {\n" + scope.text +
         "return " + results + " : " + types + "\n}\n";
}

} // namespace

std::string lumen::test::randomProgram(unsigned seed) { return Generator(seed).program(); }
