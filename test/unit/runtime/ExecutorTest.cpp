// The pool runs every chunk once, whoever calls it and whatever else goes on.
#include "FakeModel.h"
#include "threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace lumen::test;

namespace {

struct Executor {
  explicit Executor(uint32_t threads) {
    lumen_status status = {};
    FakeModel fake;
    pool = lumen_executor_create(&fake.module, threads, &status);
    EXPECT_NE(pool, nullptr) << status.message;
  }
  ~Executor() { lumen_executor_free(pool); }

  template <typename Fn> void parallelFor(uint32_t chunks, Fn fn) {
    pool->parallel_for(
        pool->self, chunks,
        [](void *fn, uint32_t chunk, uint32_t worker) { (*static_cast<Fn *>(fn))(chunk, worker); },
        &fn);
  }

  lumen_executor *pool;
};

int countThreads() {
  int count = 0;
  for ([[maybe_unused]] auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

// Plain memory, so that a data race is one for TSan too.
TEST(ExecutorTest, EachChunkOnce) {
  for (uint32_t threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    EXPECT_EQ(executor.pool->num_workers(executor.pool->self), threads);
    for (uint32_t chunks : {0, 1, 2, 3, 7, 8, 9, 100, 1000})
      for (int round = 0; round < 20; ++round) {
        std::vector<int> runs(chunks);
        executor.parallelFor(chunks, [&](uint32_t chunk, uint32_t) { ++runs[chunk]; });
        ASSERT_EQ(runs, std::vector<int>(chunks, 1)) << threads << " threads";
      }
  }
}

// Two calls at the same time never have the same worker.
TEST(ExecutorTest, WorkersAreExclusive) {
  Executor executor(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<int> clashes = 0;
  for (int round = 0; round < 300; ++round)
    executor.parallelFor(16, [&](uint32_t, uint32_t worker) {
      if (worker >= busy.size() || busy[worker].exchange(1))
        ++clashes;
      std::this_thread::yield();
      if (worker < busy.size())
        busy[worker] = 0;
    });
  EXPECT_EQ(clashes, 0);
}

// Callers that meet a busy pool run alone instead of waiting for it.
TEST(ExecutorTest, ManyCallers) {
  Executor executor(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        std::vector<int> results(24);
        executor.parallelFor(24, [&](uint32_t chunk, uint32_t) { results[chunk] = chunk * 3; });
        for (uint32_t chunk = 0; chunk < 24; ++chunk)
          wrong += results[chunk] != static_cast<int>(chunk) * 3;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

// A long pause sends the workers to sleep; they wake up again.
TEST(ExecutorTest, Sleep) {
  Executor executor(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> sum = 0;
    executor.parallelFor(10, [&](uint32_t chunk, uint32_t) { sum += chunk; });
    EXPECT_EQ(sum, 45);
  }
}

// A chunk that starts a job of its own does not wait for itself.
TEST(ExecutorTest, Nested) {
  Executor executor(2);
  std::atomic<int> sum = 0;
  executor.parallelFor(
      4, [&](uint32_t, uint32_t) { executor.parallelFor(4, [&](uint32_t, uint32_t) { ++sum; }); });
  EXPECT_EQ(sum, 16);
}

TEST(ExecutorTest, NoThreadForOne) {
  // ThreadSanitizer starts a thread of its own along with the first one. This one
  // stays, since a thread that was joined may be counted for a moment more.
  std::atomic<bool> done = false;
  std::thread first([&] {
    while (!done)
      std::this_thread::yield();
  });
  int before = countThreads();
  {
    Executor one(1);
    EXPECT_EQ(countThreads(), before);
    Executor three(3);
    EXPECT_EQ(countThreads(), before + 2);
  }
  done = true;
  first.join();
}

TEST(ExecutorTest, ThreadsFromEnvironment) {
  ScopedEnv environment("LUMEN_NUM_THREADS", "5");
  Executor executor(0);
  EXPECT_EQ(executor.pool->num_workers(executor.pool->self), 5u);
}

// The child has no workers: its caller does all, and frees without waiting.
TEST(ExecutorTest, Fork) {
  Executor executor(3);
  executor.parallelFor(8, [](uint32_t, uint32_t) {});
  pid_t child = fork();
  if (child == 0) {
    std::atomic<int> sum = 0;
    executor.parallelFor(8, [&](uint32_t chunk, uint32_t) { sum += chunk; });
    lumen_executor_free(executor.pool);
    _exit(sum == 28 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ExecutorTest, TooManyThreads) {
  FakeModel fake;
  lumen_status status = {};
  EXPECT_EQ(lumen_executor_create(&fake.module, 5000, &status), nullptr);
  EXPECT_STREQ(status.message, "5000 threads wanted, expected at most 1024");
}

class CgroupTest : public testing::Test {
protected:
  CgroupTest() {
    root = testing::TempDir() + "lumen-cgroup-" + std::to_string(getpid());
    std::filesystem::create_directories(root);
  }
  ~CgroupTest() override { std::filesystem::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = root + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  uint32_t cpus() { return lumen_cgroup_cpus((root + "/cgroup").c_str(), root.c_str()); }

  std::string root;
};

TEST_F(CgroupTest, Version2) {
  write("cgroup", "0::/app/job\n");
  write("app/job/cpu.max", "max 100000\n");
  EXPECT_EQ(cpus(), 0u) << "no quota";
  write("app/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpus(), 2u) << "1.5 CPUs, rounded up";
  write("app/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpus(), 1u) << "the outer limit holds too";
}

TEST_F(CgroupTest, Version1) {
  write("cgroup", "5:memory:/x\n4:cpuset:/c\n3:cpu,cpuacct:/job\n0::/\n");
  write("cpu/job/cpu.cfs_quota_us", "-1\n");
  write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpus(), 0u) << "no quota";
  write("cpu/job/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(cpus(), 3u);
}

// In a container the group's own path is not to be seen, its root is.
TEST_F(CgroupTest, Container) {
  write("cgroup", "0::/docker/0123abcd\n");
  write("cpu.max", "200000 100000\n");
  EXPECT_EQ(cpus(), 2u);
}

TEST_F(CgroupTest, Nothing) {
  EXPECT_EQ(cpus(), 0u);
  EXPECT_GE(lumen_available_cpus(), 1u);
}

} // namespace
