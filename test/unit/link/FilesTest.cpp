//===- FilesTest.cpp - outputs appear whole or not at all -----------------===//

#include "compiler/link/Files.h"
#include "test/unit/link/Models.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

// A link stays a link, and leads to the output, whether that exists or not.
TEST(PendingFile, FollowsLinks) {
  Folder folder;
  ASSERT_EQ(symlink("real", folder.file("middle").c_str()), 0);
  ASSERT_EQ(symlink(folder.file("middle").c_str(), folder.file("out").c_str()), 0);
  for (StringRef text : {"first", "second"}) {
    cantFail(cantFail(pending(folder, text)).keep());
    EXPECT_EQ(folder.files(), (std::vector<std::string>{"middle", "out", "real"}));
    EXPECT_TRUE(sys::fs::is_symlink_file(folder.file("out")));
    EXPECT_EQ(readFile(folder.file("real")), text);
  }
}

// What is no regular file stays what it is.
TEST(PendingFile, ReplacesFilesOnly) {
  Folder folder;
  ASSERT_EQ(mkfifo(folder.file("out").c_str(), 0600), 0);
  EXPECT_EQ(toString(pending(folder, "text").takeError()),
            "cannot write '" + folder.file("out") + "': is a FIFO, expected a regular file");
  EXPECT_EQ(folder.files(), std::vector<std::string>{"out"});
  remove(folder.file("out").c_str());
  ASSERT_EQ(symlink("out", folder.file("out").c_str()), 0);
  EXPECT_EQ(toString(pending(folder, "text").takeError()),
            "cannot write '" + folder.file("out") + "': Too many levels of symbolic links");
  EXPECT_EQ(toString(PendingFile::create("/dev/null").takeError()),
            "cannot write '/dev/null': is a character device, expected a regular file");
}

std::string message(Error error) { return error ? toString(std::move(error)) : "success"; }

// No output replaces a file that is read or another output, under whatever name.
TEST(OutputFiles, NeverCollide) {
  Folder folder;
  std::ofstream(folder.file("model")) << "model";
  ASSERT_EQ(link(folder.file("model").c_str(), folder.file("hard").c_str()), 0);
  ASSERT_EQ(symlink("model", folder.file("soft").c_str()), 0);
  ASSERT_EQ(symlink("new", folder.file("dangling").c_str()), 0);
  OutputFiles outputs;
  EXPECT_EQ(message(outputs.protect(folder.file("model"), "the model")), "success");
  for (const char *name : {"model", "hard", "soft", "./model"})
    EXPECT_EQ(message(outputs.claim(folder.file(name))),
              "cannot write '" + folder.file(name) + "': it is the model, expected another file");
  EXPECT_EQ(message(outputs.claim(folder.file("new"))), "success");
  for (const char *name : {"new", "dangling", "./new"})
    EXPECT_EQ(message(outputs.claimText(folder.file(name))),
              "cannot write '" + folder.file(name) +
                  "': it is another output of this compilation, expected another file");
  EXPECT_EQ(message(outputs.protect(folder.file("new"), "data of the model")),
            "cannot write '" + folder.file("new") +
                "': it is data of the model, expected another file");
  EXPECT_EQ(message(outputs.claim(folder.file("none/out"))),
            "cannot write '" + folder.file("none/out") + "': No such file or directory");
}

// All outputs appear when they are kept; texts go into a stream that is there.
TEST(OutputFiles, AppearTogether) {
  Folder folder;
  ASSERT_EQ(mkfifo(folder.file("fifo").c_str(), 0600), 0);
  int reader = open(folder.file("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  OutputFiles outputs;
  for (const char *name : {"fifo", "text"}) {
    EXPECT_EQ(message(outputs.claimText(folder.file(name))), "success");
    EXPECT_EQ(message(outputs.addText(folder.file(name), [](raw_ostream &os) { os << "hello"; })),
              "success");
  }
  EXPECT_EQ(readFile(folder.file("text")), "");
  EXPECT_EQ(message(outputs.keep()), "success");
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"fifo", "text"}));
  EXPECT_EQ(readFile(folder.file("text")), "hello");
  char bytes[10];
  EXPECT_EQ(read(reader, bytes, sizeof(bytes)), 5);
  close(reader);
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
