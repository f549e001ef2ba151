//===- Schedule.h - the planned schedule as the runtime's tables -*- C++ -*-===//
//
// The steps, launches, storages, buffers, symbols and size expressions of a model,
// out of the schedule over buffers that memory planning leaves.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_COMPILER_SCHEDULE_H
#define LUMEN_COMPILER_SCHEDULE_H

#include "compiler/link/Link.h"
#include "dialects/Dispatch/Dispatch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace lumen {

/// Size expressions as one table without duplicates. Each is in the group of the
/// last of its symbols to get a value, since that is when it can be evaluated;
/// group 0 is what the inputs' shapes decide.
class ExprTable : public SymSink {
public:
  /// Adds a symbol that gets its value with `group`; errors call it by its name.
  void defineSymbol(llvm::StringRef name, unsigned group);
  /// What errors call it instead.
  void describeSymbol(llvm::StringRef name, std::string text);
  /// A number that `indexOf` translates when the table is complete.
  uint32_t add(const SymExpr &expr) { return expr.lower(*this); }
  /// For all that is added from now on: nothing but reports reads it.
  void beginReports() { isReport = true; }
  uint32_t symbolIndex(llvm::StringRef name) const { return symbols.lookup(name).first; }

  /// Puts the table in order: groups follow each other, operands come before uses.
  void finish(link::ModelTables &tables);
  uint32_t indexOf(uint32_t number) const {
    return number == LUMEN_ABI_NONE ? number : order[number];
  }
  /// The first expression of a group and how many it has.
  std::pair<uint32_t, uint32_t> group(unsigned group) const;

  // Of SymSink.
  unsigned constant(int64_t value) override;
  unsigned symbol(llvm::StringRef name) override;
  unsigned apply(SymOp op, unsigned a, unsigned b) override;

private:
  unsigned intern(lumen_abi_expr expr, unsigned group);

  llvm::StringMap<std::pair<uint32_t, unsigned>> symbols; ///< index and group
  std::vector<std::string> names; ///< of symbols, as errors call them
  std::vector<unsigned> symbolGroups;
  std::vector<lumen_abi_expr> exprs; ///< operands are numbers, not yet indices
  std::vector<unsigned> groups;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, int64_t>, unsigned> numberOf;
  bool isReport = false;
  std::vector<uint32_t> order;
  std::map<unsigned, std::pair<uint32_t, uint32_t>> ranges;
};

/// Fills the parts of `tables` that describe the schedule, given the kernels and the
/// signature, whose dimensions get their expressions. The numbers of kernels are
/// those of `kernelIndex`.
class ScheduleBuilder {
public:
  ScheduleBuilder(mlir::ModuleOp module, mlir::func::FuncOp main, link::ModelTables &tables,
                  const llvm::StringMap<uint32_t> &kernelIndex);
  void build();

private:
  void defineSymbols();
  void defineLate(mlir::Block &block);
  void addSignature();
  void addBlock(mlir::Block &block);
  void addStorage(dispatch::StorageOp op);
  void addBuffer(dispatch::BufferOp op);
  void addLaunch(dispatch::LaunchOp op);
  void addCall(dispatch::CallOp op);
  void addCheck(CheckOp op);
  void addBranch(dispatch::BranchOp op);
  void addRepeat(dispatch::RepeatOp op);
  void addWork();
  void addRegion(mlir::Region &region, mlir::ArrayAttr symbols);
  void step(lumen_abi_step_kind kind, uint32_t a, uint32_t b = 0, uint32_t c = 0);
  void finish();

  /// The time that DispatchOps.td counts.
  void tick() { stepOfTime.push_back(steps.size()); }
  unsigned label() {
    labels.push_back(0);
    return labels.size() - 1;
  }
  void place(unsigned label) { labels[label] = steps.size(); }

  mlir::func::FuncOp main;
  link::ModelTables &tables;
  const llvm::StringMap<uint32_t> &kernelIndex;
  mlir::SymbolTable kernels;
  bool isStatic; ///< the arena's offsets are known
  ExprTable exprs;
  unsigned numGroups = 1;
  llvm::StringMap<unsigned> groupOf; ///< of late symbols
  llvm::DenseMap<mlir::Value, uint32_t> storageIndex, bufferIndex;
  std::vector<link::Check> entryChecks, lateChecks;
  /// Jumps name labels, EVAL names groups, and expressions are numbers until the end.
  std::vector<lumen_abi_step> steps;
  std::vector<size_t> labels;
  std::vector<size_t> stepOfTime;
  std::vector<SymExpr> bufferBytes; ///< by buffer
  /// Operations and bytes of each launch.
  std::vector<std::pair<SymExpr, SymExpr>> work;
};

} // namespace lumen

#endif // LUMEN_COMPILER_SCHEDULE_H
