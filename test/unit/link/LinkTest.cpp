//===- LinkTest.cpp - outputs of the linking stage as files ---------------===//

#include "test/unit/link/Models.h"

#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

#include <cstring>
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

// Weights beside the artifact are a header and the region, byte for byte; files
// of different constants tell themselves apart.
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
  std::string file = readFile(folder.file("tiny.weights"));
  ASSERT_EQ(file.size(), sizeof(lumen_abi_weights_header) + expected.size());
  EXPECT_EQ(file.substr(sizeof(lumen_abi_weights_header)), expected);
  EXPECT_TRUE(StringRef(file).starts_with(LUMEN_ABI_WEIGHTS_MAGIC));

  ASSERT_EQ(message(ScaleModel("tiny", 4.0f).link(options)), "success");
  lumen_abi_weights_header one, two;
  memcpy(&one, file.data(), sizeof(one));
  memcpy(&two, readFile(folder.file("tiny.weights")).data(), sizeof(two));
  EXPECT_EQ(one.size, two.size);
  EXPECT_NE(StringRef(one.id, sizeof(one.id)), StringRef(two.id, sizeof(two.id)));
}

// A splat is a piece that is repeated, whatever the sizes.
TEST(Link, WritesRepeatedPieces) {
  for (size_t length : {1, 3, 4, 70000}) {
    Folder folder;
    ScaleModel model("tiny");
    std::string pattern;
    for (size_t i = 0; i < length; ++i)
      pattern += char('a' + i % 23);
    constexpr uint64_t kCount = 50001;
    uint64_t count = length > 4 ? 3 : kCount;
    model.weights.pieces = {{0, ArrayRef<char>(pattern.data(), pattern.size()), count}};
    model.weights.size = length * count;
    LinkOptions options = output(folder, "m.so");
    options.weightsInFile = true;
    ASSERT_EQ(message(model.link(options)), "success");
    std::string expected;
    for (uint64_t i = 0; i < count; ++i)
      expected += pattern;
    EXPECT_TRUE(StringRef(readFile(folder.file("tiny.weights"))).ends_with(expected)) << length;
  }
}

// What no disk holds is refused before it is written, with both sizes.
TEST(Link, RefusesWeightsThatDoNotFit) {
  Folder folder;
  ScaleModel model("tiny");
  model.weights.pieces = {{0, ArrayRef<char>(model.constants).take_front(4), uint64_t(1) << 60}};
  model.weights.size = uint64_t(1) << 62;
  std::string text = message(model.link(output(folder, "m.so")));
  EXPECT_EQ(text.find("cannot write '" + folder.file("m.so") +
                      "': weights need 4.6 EB, the file system of '"),
            0u)
      << text;
  EXPECT_TRUE(StringRef(text).ends_with(" free")) << text;
  EXPECT_TRUE(folder.files().empty());
}

// An operation of the runtime is linked in where a model calls it, and only there.
TEST(Link, BringsWhatIsCalled) {
  Folder folder;
  ScaleModel model("tiny");
  model.addSteps();
  auto size = [&](const char *function) {
    model.tables.calls[0].function = function;
    EXPECT_EQ(message(model.link(output(folder, "m.so"))), "success") << function;
    return readFile(folder.file("m.so")).size();
  };
  size_t without = size("start");
  size_t regex = size("lumen_call_regex_full_match");
  EXPECT_GT(regex, without + 8000);
  // Smaller than a page of the file, maybe; but no symbol is left open.
  EXPECT_GE(size("lumen_call_sequence_at"), without);
  EXPECT_LT(regex, without + 40000);
}

// The weights grow the only member of a static library, whatever their size, and
// other tools still read it.
TEST(Link, WritesAWellFormedArchive) {
  for (uint64_t size : {0, 300, 301}) {
    Folder folder;
    ScaleModel model("tiny");
    ArrayRef<char> bytes = model.constants;
    model.weights.size = size;
    model.weights.pieces.clear();
    if (size)
      model.weights.pieces = {{size - 300, bytes}};
    else
      model.dropWeights();
    LinkOptions options = output(folder, "tiny.a", Emit::StaticLibrary);
    ASSERT_EQ(message(model.link(options)), "success");
    auto file = MemoryBuffer::getFile(options.output);
    ASSERT_TRUE(static_cast<bool>(file));
    EXPECT_EQ((*file)->getBufferSize() % 2, 0u);
    auto archive = cantFail(object::Archive::create((*file)->getMemBufferRef()));
    unsigned members = 0;
    Error error = Error::success();
    for (const object::Archive::Child &child : archive->children(error)) {
      ++members;
      EXPECT_EQ(cantFail(child.getName()), "tiny.o");
      auto object = cantFail(child.getAsBinary());
      std::string found;
      for (const object::SectionRef &section : cast<object::ObjectFile>(*object).sections())
        if (cantFail(section.getName()) == ".lrodata")
          found = cantFail(section.getContents()).str();
      EXPECT_EQ(found.size(), size);
      EXPECT_TRUE(StringRef(found).ends_with(size ? StringRef(bytes.data(), 300) : ""));
    }
    cantFail(std::move(error));
    EXPECT_EQ(members, 1u);
    EXPECT_EQ(cantFail(archive->findSym("lumen_module_tiny")).has_value(), true);
  }
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
  EXPECT_EQ(cantFail(sanitizeName("lumen")), "model_lumen");
  EXPECT_EQ(cantFail(sanitizeName("Lumen-library")), "model_Lumen_library");
  EXPECT_EQ(cantFail(sanitizeName("lumens")), "lumens");
  EXPECT_EQ(message(sanitizeName("--").takeError()),
            "model name '--' has no letter or digit, expected one such as 'my_model'");
}

/// Compiles a program of one file with the host's compiler, as its users would.
std::string build(const Folder &folder, StringRef language, ArrayRef<std::string> more) {
  std::string program = folder.file("program");
  std::string standard = language == "c" ? "-std=c11" : "-std=c++11";
  std::string include = "-I" + folder.file("");
  std::vector<StringRef> command = {LUMEN_TEST_CC,
                                    standard,
                                    "-O1",
                                    "-Wall",
                                    "-Wextra",
                                    "-pedantic",
                                    "-Werror",
                                    include,
                                    "-x",
                                    language,
                                    LUMEN_TEST_PROGRAM,
                                    "-x",
                                    "none",
                                    "-o",
                                    program,
                                    "-Wno-unused-command-line-argument"};
  for (const std::string &argument : more)
    command.push_back(argument);
  command.insert(command.end(), {"-lm", "-ldl", "-lpthread"});
  return sys::ExecuteAndWait(command[0], command) == 0 ? program : "";
}

struct Form {
  Emit emit;
  const char *suffix;
  const char *language;
};

class TwoModels : public ::testing::TestWithParam<Form> {};

// Two models run in one program, linked or loaded, although all their inner names
// are equal: each has a runtime of its own, and only the entry points are visible.
TEST_P(TwoModels, ShareAProgram) {
  const auto &[emit, suffix, language] = GetParam();
  Folder folder;
  std::vector<std::string> artifacts;
  for (auto [name, factor] : {std::pair("one", 2.0f), std::pair("two", 3.0f)}) {
    LinkOptions options = output(folder, std::string(name) + suffix, emit);
    ASSERT_EQ(message(ScaleModel(name, factor).link(options)), "success");
    artifacts.push_back(options.output);
  }
  bool linked = emit != Emit::SharedObject;
  std::vector<std::string> more;
  if (linked) {
    more = artifacts;
    more.push_back("-DLINKED");
  }
  std::string program = build(folder, language, more);
  ASSERT_FALSE(program.empty());
  std::vector<StringRef> command = {program};
  if (!linked)
    command.insert(command.end(), artifacts.begin(), artifacts.end());
  EXPECT_EQ(sys::ExecuteAndWait(program, command), 0);
}

INSTANTIATE_TEST_SUITE_P(Forms, TwoModels,
                         ::testing::Values(Form{Emit::SharedObject, ".so", "c"},
                                           Form{Emit::SharedObject, ".so", "c++"},
                                           Form{Emit::Object, ".o", "c"},
                                           Form{Emit::StaticLibrary, ".a", "c"},
                                           Form{Emit::StaticLibrary, ".a", "c++"}));

} // namespace
