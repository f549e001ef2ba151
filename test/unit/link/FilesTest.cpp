//===- FilesTest.cpp - outputs appear whole or not at all -----------------===//

#include "compiler/link/Files.h"
#include "test/unit/link/Models.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/resource.h>

using namespace llvm;
using namespace lumen::link;
using namespace lumen::link::test;

namespace {

Expected<PendingFile> pending(const Folder &folder, StringRef text) {
  Expected<PendingFile> file = PendingFile::create(folder.file("out"));
  if (file)
    if (Error error = file->write([&](raw_fd_ostream &stream) { stream << text; }))
      return error;
  return file;
}

// A file has its name once it is kept, and never before.
TEST(PendingFile, AppearsWhenKept) {
  Folder folder;
  {
    PendingFile dropped = cantFail(pending(folder, "dropped"));
    EXPECT_EQ(folder.files().size(), 1u);
    EXPECT_EQ(readFile(folder.file("out")), "");
  }
  EXPECT_TRUE(folder.files().empty());
  PendingFile kept = cantFail(pending(folder, "kept"));
  cantFail(kept.keep());
  EXPECT_EQ(folder.files(), std::vector<std::string>{"out"});
  EXPECT_EQ(readFile(folder.file("out")), "kept");
}

// Ctrl-C and kill leave nothing behind.
TEST(PendingFileDeathTest, GoesWithTheProcess) {
  for (int signal : {SIGINT, SIGTERM}) {
    Folder folder;
    EXPECT_EXIT(
        {
          PendingFile file = cantFail(pending(folder, "half"));
          raise(signal);
        },
        ::testing::KilledBySignal(signal), "");
    EXPECT_TRUE(folder.files().empty());
  }
}

// A write that the system refuses, as on a full disk, is named and cleaned up.
TEST(PendingFileDeathTest, NamesARefusedWrite) {
  Folder folder;
  auto link = [&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    ScaleModel model("tiny");
    ArrayRef<char> bytes = model.constants;
    model.weights.size = 4 << 20;
    model.weights.pieces = {{(4 << 20) - 100, bytes.take_front(100)}};
    LinkOptions options;
    options.output = folder.file("tiny.so");
    std::string message = toString(model.link(options));
    errs() << message << "\n";
    exit(message == "cannot write '" + options.output + "': File too large" ? 0 : 1);
  };
  EXPECT_EXIT(link(), ::testing::ExitedWithCode(0), "");
  EXPECT_TRUE(folder.files().empty());
}

} // namespace
