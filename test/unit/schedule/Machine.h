//===- Machine.h - runs the tables of a schedule on tokens -------*- C++ -*-===//
//
// What the runtime does with the tables, on a memory that knows which bytes hold
// which element: what was overwritten or never written cannot be read.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_SCHEDULE_MACHINE_H
#define LUMEN_TEST_UNIT_SCHEDULE_MACHINE_H

#include "Reference.h"
#include "compiler/link/Link.h"

#include <map>
#include <string>

namespace lumen::test {

class Machine {
public:
  Machine(const link::ModelTables &tables, std::vector<dispatch::KernelOp> kernels);

  /// Plans for the given values of entry symbols.
  void plan(const llvm::StringMap<int64_t> &symbols);
  /// One run; storages keep their places from run to run, exchanged or not.
  std::vector<Tokens> run(const std::vector<Tokens> &inputs);

  /// What went wrong: accesses outside of storages, failed checks.
  std::vector<std::string> faults;
  int64_t arenaSize = 0, arenaBound = 0;

private:
  struct Cell {
    uint64_t size, token;
  };
  struct Place {
    uint64_t base = 0, space = 0, used = 0;
  };

  void evaluate(uint32_t first, uint32_t count);
  void check(uint32_t index);
  void step(const lumen_abi_step &step);
  void launch(const link::Launch &launch);
  void alloc(Place &place, uint64_t bytes);
  void erase(uint64_t address, uint64_t size);
  void write(uint64_t address, uint64_t size, uint64_t token);
  uint64_t read(uint64_t address, uint64_t size);
  uint64_t address(uint32_t buffer, uint64_t size);
  void fault(const std::string &text) { faults.push_back(text); }

  const link::ModelTables &tables;
  std::vector<dispatch::KernelOp> kernels;
  std::vector<int64_t> symbols, values;
  std::vector<Place> places;
  std::map<uint64_t, Cell> memory;
  uint64_t heapEnd = 0;
};

} // namespace lumen::test

#endif
