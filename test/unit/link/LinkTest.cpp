//===- LinkTest.cpp - outputs of the linking stage as files ---------------===//

#include "test/unit/link/Models.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

using namespace llvm;
using namespace lumen::link;
using namespace lumen::link::test;

namespace {

std::string message(Error error) { return error ? toString(std::move(error)) : "success"; }

LinkOptions output(const Folder &folder, StringRef name, Emit emit = Emit::SharedObject) {
  LinkOptions options;
  options.output = folder.file(name);
  options.emit = emit;
  return options;
}

// The bytes depend neither on the folder nor on the number of threads.
TEST(Link, IsDeterministic) {
  ScaleModel model("tiny");
  for (auto [emit, name] : {std::pair(Emit::SharedObject, "m.so"), std::pair(Emit::Object, "m.o"),
                            std::pair(Emit::StaticLibrary, "libm.a")}) {
    Folder one, two;
    LinkOptions first = output(one, name, emit), second = output(two, name, emit);
    first.threads = 1;
    second.threads = 2;
    ASSERT_EQ(message(model.link(first)), "success");
    ASSERT_EQ(message(model.link(second)), "success");
    EXPECT_EQ(one.files(), two.files());
    for (const std::string &file : one.files()) {
      EXPECT_FALSE(readFile(one.file(file)).empty());
      EXPECT_TRUE(readFile(one.file(file)) == readFile(two.file(file))) << file;
    }
  }
}

// Artifact and headers, and nothing of what was needed on the way.
TEST(Link, LeavesOnlyItsOutputs) {
  Folder folder;
  ASSERT_EQ(message(ScaleModel("tiny").link(output(folder, "tiny.so"))), "success");
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"lumen.h", "tiny.h", "tiny.so"}));
}

// Weights beside the artifact are its region, byte for byte.
TEST(Link, WritesWeightsBeside) {
  Folder folder;
  ScaleModel model("tiny");
  LinkOptions options = output(folder, "m.so");
  options.weightsInFile = true;
  ASSERT_EQ(message(model.link(options)), "success");
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"lumen.h", "m.h", "m.so", "tiny.weights"}));
  std::string expected(model.weights.size, '\0');
  for (const Weights::Piece &piece : model.weights.pieces)
    std::copy(piece.bytes.begin(), piece.bytes.end(), expected.begin() + piece.offset);
  EXPECT_EQ(readFile(folder.file("tiny.weights")), expected);
}

// An unwritable place is named with the system's reason.
TEST(Link, NamesAMissingFolder) {
  Folder folder;
  std::string path = folder.file("none/tiny.so");
  LinkOptions options;
  options.output = path;
  EXPECT_EQ(message(ScaleModel("tiny").link(options)),
            "cannot write '" + path + "': No such file or directory");
  options.output = folder.file(".");
  EXPECT_NE(message(ScaleModel("tiny").link(options)).find("s a directory"), std::string::npos);
  EXPECT_TRUE(folder.files().empty());
}

// What was there before stays when a link fails.
TEST(Link, FailureLeavesTheOldArtifact) {
  Folder folder;
  LinkOptions options = output(folder, "tiny.so");
  std::ofstream(options.output) << "old";
  ScaleModel model("tiny");
  model.tables.kernels[0].variants[0].symbol = "no_such_kernel";
  EXPECT_NE(message(model.link(options)).find("no_such_kernel"), std::string::npos);
  EXPECT_EQ(readFile(options.output), "old");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"tiny.so"});
}

// lumen.h would be both the model's header and the library's.
TEST(Link, RefusesTheNameOfTheHeader) {
  Folder folder;
  EXPECT_NE(message(ScaleModel("tiny").link(output(folder, "lumen.so"))).find("lumen.h"),
            std::string::npos);
  EXPECT_TRUE(folder.files().empty());
}

// The linker has one global state; callers need not know.
TEST(Link, IsThreadSafe) {
  Folder folder;
  std::string results[4];
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != 4; ++i)
    threads.emplace_back([&, i] {
      ScaleModel model("tiny" + std::to_string(i));
      LinkOptions options = output(folder, model.tables.name + ".so");
      options.writeHeaders = false;
      results[i] = message(model.link(options));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &result : results)
    EXPECT_EQ(result, "success");
  EXPECT_EQ(folder.files().size(), 4u);
}

TEST(SanitizeName, MakesCIdentifiers) {
  EXPECT_EQ(cantFail(sanitizeName("resnet50-v2-7")), "resnet50_v2_7");
  EXPECT_EQ(cantFail(sanitizeName("3d net")), "model_3d_net");
  EXPECT_EQ(cantFail(sanitizeName("lumen")), "lumen_model");
  EXPECT_EQ(message(sanitizeName("--").takeError()),
            "model name '--' has no letter or digit, expected one such as 'my_model'");
}

/// Compiles and runs a C or C++ program of one file with the host's compiler.
int runProgram(const Folder &folder, StringRef source, ArrayRef<std::string> arguments) {
  std::vector<StringRef> command = {LUMEN_TEST_CC, "-I" LUMEN_SOURCE_DIR, source, "-o"};
  std::string program = folder.file("program");
  command.push_back(program);
  for (const std::string &argument : arguments)
    command.push_back(argument);
  command.push_back("-lm");
  if (int code = sys::ExecuteAndWait(command[0], command))
    return 1000 + code;
  return sys::ExecuteAndWait(program, {program});
}

// Two static models and their runtimes share one program without clashing, though
// all their inner names are equal; only the entry points are visible.
TEST(StaticModels, ShareAProgram) {
  for (auto [emit, suffix] :
       {std::pair(Emit::Object, ".o"), std::pair(Emit::StaticLibrary, ".a")}) {
    Folder folder;
    std::vector<std::string> arguments;
    for (auto [name, factor] : {std::pair("one", 2.0f), std::pair("two", 3.0f)}) {
      LinkOptions options = output(folder, std::string(name) + suffix, emit);
      ASSERT_EQ(message(ScaleModel(name, factor).link(options)), "success");
      arguments.push_back(options.output);
    }
    std::string source = folder.file("main.c");
    std::ofstream(source) << R"(
#include "one.h"
#include "two.h"
#include "runtime-lite/include/lumen_abi.h"
static float factor(const lumen_module *module) {
  return *(const float *)*((const lumen_abi_model *)module->model)->weights;
}
int main(void) {
  const lumen_module *one = lumen_module_one(), *two = lumen_module_two();
  if (one == two || one->api == two->api || one->model == two->model)
    return 1;
  return factor(one) == 2.0f && factor(two) == 3.0f ? 0 : 2;
}
)";
    EXPECT_EQ(runProgram(folder, source, arguments), 0);
  }
}

} // namespace
